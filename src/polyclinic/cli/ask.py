"""`polyclinic ask`: questions to the patient of a case, or orders to its examiner."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import nullcontext
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from polyclinic.cases.case import Case
from polyclinic.cli.show import show_line, show_person
from polyclinic.errors import PlayFailure, RunStopped, UserError
from polyclinic.events import Examined, Role, Said
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.minds import Cast, Minds, open_minds
from polyclinic.players.player import ALONE, EXAMINE, OPEN, REPLY
from polyclinic.run import options
from polyclinic.run.case_files import case_named
from polyclinic.run.output import DOCUMENT, Output, finish
from polyclinic.run.run import Run
from polyclinic.run.storing import check_place
from polyclinic.stopping import is_stopped
from polyclinic.tasks import ended_by_hand
from polyclinic.terminal.screen import console, note
from polyclinic.terminal.tables import counted
from polyclinic.terminal.typed import TypedLines
from polyclinic.visits.visit import examiner_of, patient_of


async def ask(
    case: Annotated[str, options.ONE_CASE],
    /,
    *question: Annotated[str, Parameter(metavar="QUESTION")],
    layout: options.Layout = None,
    patient: Annotated[options.Patient | None, Parameter(show_default="rules")] = None,
    examiner: Annotated[str | None, options.MIND] = None,
    how: options.AskOptions = options.ASK,
) -> None:
    """Prints each answer as it comes; the patient remembers what was asked before.

    Args:
        question: What is asked, or ordered; each in quotation marks. Without one, at a terminal, you type them, one
            after the other.
        examiner: Put orders to this examiner instead of questions to the patient: rules, a model, or FILE.py:NAME.
    """
    if patient is not None and examiner is not None:
        raise UserError(
            f"--patient {patient} and --examiner {examiner}; one of the two is asked: give --patient for questions, "
            "--examiner for orders"
        )
    for place, text in enumerate(question, start=1):
        if not text.strip():
            raise UserError(f"question {place} of {len(question)} is empty; each QUESTION needs words")
    typed = not question
    if typed and not sys.stdin.isatty():
        raise UserError('QUESTION is missing; give one or more, such as "Do you have a fever?"')
    asked, run = case_named(case, layout), Run(how, what="conversation")
    check_place(run.config)
    cast = Cast(patient=patient or "rules", examiner=examiner or "rules")
    screen = console(sys.stderr) if how.json else console()
    screen.quiet = how.json and not typed
    conversation, failure = _Conversation(asked, screen, question), ""
    opening = open_minds(["rules"], cast, how.models, knowledge=read_knowledge(), seed=how.seed, journal=run.answers)
    async with opening as opened:
        minds = opened.minds["rules"]
        try:
            with nullcontext() if typed else ended_by_hand(is_stopped):
                await (conversation.with_patient(minds) if examiner is None else conversation.with_examiner(minds))
        except RunStopped as stopped:
            done = f"; {conversation.answered} are answered" if question else ""
            run.stopped = type(stopped)(f"{stopped}{done}")
        except PlayFailure as failed:
            failure = f"{type(failed).__name__}: {failed}"
    if not failure and conversation.left and len(conversation.documents) < len(question):
        failure = f"the patient left after question {conversation.answered}"
    if conversation.ordered and not how.json:
        note(f'The patient would turn to the examiner. To ask that one: polyclinic ask {case} --examiner rules "…"')
    output = Output(document=conversation.documents, document_file=DOCUMENT, written="")
    finish(run, output, opened.session.ledger, failure=failure)


class _Conversation:
    """Shows what is asked and answered, and keeps it as what `--json` prints.

    Without questions, they are typed at the terminal.
    """

    def __init__(self, case: Case, screen: Console, given: Sequence[str]) -> None:
        self._case, self._screen, self._given = case, screen, given
        self.documents: list[dict[str, Any]] = []
        self.ordered = self.left = False

    @property
    def answered(self) -> str:
        """How many of the questions are answered."""
        return f"{len(self.documents)} of {counted(len(self._given), 'question')}"

    async def _questions(self) -> AsyncIterator[str]:
        """Yields the given questions, or what is typed at the terminal up to an empty line."""
        for question in self._given:
            yield question
        lines = TypedLines()
        while not self._given:
            self._screen.print(Text.assemble((f"{len(self.documents) + 1:>3} ", "dim"), ("You: ", "bold cyan")), end="")
            line = (await lines.read()).strip()
            if not line:
                self._screen.print()
                return
            yield line

    async def with_patient(self, minds: Minds) -> None:
        """Puts questions to the patient, who opens as in a visit, until it leaves; nobody answers its requests."""
        patient = patient_of(self._case, minds, ALONE, key=self._case.id)
        self._begin(f"patient: {minds.names[Role.PATIENT]}", minds.seed)
        opening = await patient.act(OPEN)
        said = Said(seq=0, turn=0, who=Role.PATIENT, to=Role.DOCTOR, text=opening.say, state=opening.state)
        patient.observe(said)
        show_line(self._screen, "Patient", Role.PATIENT, opening.say)
        turn = 0
        async for question in self._questions():
            turn += 1
            patient.observe(Said(seq=2 * turn - 1, turn=turn, who=Role.DOCTOR, to=Role.PATIENT, text=question))
            reply = await patient.act(REPLY)
            to, state = Role(reply.to), reply.state
            patient.observe(Said(seq=2 * turn, turn=turn, who=Role.PATIENT, to=to, text=reply.say, state=state))
            to_examiner = to is Role.EXAMINER
            document = {"question": question, "answer": reply.say, "state": None if state is None else state.value}
            self._answer(document, f"Patient{' to the examiner' if to_examiner else ''}", Role.PATIENT)
            if state is not None:
                self._aside(f"{state.value}, {state.name.lower().replace('_', ' ')}")
            self.ordered, self.left = self.ordered or to_examiner, reply.leave
            if reply.leave:
                self._aside("The patient leaves.")
                return

    async def with_examiner(self, minds: Minds) -> None:
        """Puts orders to the examiner, who holds all findings of the record, also in an online visit."""
        examiner = examiner_of(self._case, minds, ALONE, "not recorded", key=self._case.id)
        self._begin(f"examiner: {minds.names[Role.EXAMINER]}", minds.seed)
        turn = 0
        async for order in self._questions():
            turn += 1
            examiner.observe(Said(seq=2 * turn - 2, turn=turn, who=Role.DOCTOR, to=Role.EXAMINER, text=order))
            results = await examiner.act(EXAMINE)
            examiner.observe(Examined(seq=2 * turn - 1, turn=turn, **msgspec.structs.asdict(results)))
            findings = [{"examination": f.examination, "item": f.item, "value": f.value_text} for f in results.findings]
            told = {"answer": results.text, "findings": findings, "not_recorded": results.not_recorded}
            self._answer({"question": order, **told}, "Examiner", Role.EXAMINER)

    def _begin(self, who: str, seed: int) -> None:
        show_person(self._screen, self._case.id, self._case.presentation)
        self._screen.print(f"    {who}; {self._case.setting}; seed {seed}", style="dim")
        self._screen.print("" if self._given else "    An empty line ends it.\n", style="dim")

    def _answer(self, document: dict[str, Any], who: str, role: Role) -> None:
        """Keeps a question with its answer, and shows them."""
        self.documents.append(document)
        if self._given:
            label = f"{len(self.documents):>3} "
            show_line(self._screen, "You", Role.DOCTOR, document["question"], label=label)
        show_line(self._screen, who, role, document["answer"])

    def _aside(self, text: str) -> None:
        self._screen.print(f"        {text}", style="dim")
