"""`polyclinic ask`: questions to the patient of a case, or orders to its examiner."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import nullcontext
from itertools import count
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from polyclinic.cases.case import Case
from polyclinic.cli.show import show_line, show_person
from polyclinic.errors import PlayFailure, RunStopped, UserError
from polyclinic.events import Examined, Role, Said, State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.minds import Cast, Minds, open_minds
from polyclinic.players.player import ALONE, EXAMINE, OPEN, REPLY
from polyclinic.run import options
from polyclinic.run.case_files import case_named
from polyclinic.run.output import keep_outcome
from polyclinic.run.run import resumable
from polyclinic.run.storing import answers_of, check_place
from polyclinic.stopping import is_stopped
from polyclinic.tasks import ended_by_hand
from polyclinic.terminal.screen import console, note, print_json
from polyclinic.terminal.tables import counted
from polyclinic.terminal.typed import TypedLines
from polyclinic.terminal.usage import show_usage
from polyclinic.visits.visit import examiner_of, patient_of


async def ask(
    *question: Annotated[
        str,
        Parameter(
            metavar="QUESTION",
            help="What is asked, or ordered; each in quotation marks. Without one, at a terminal, you type them, one "
            "after the other.",
        ),
    ],
    case: Annotated[
        str,
        Parameter(
            metavar="FILE#ID",
            help="A case of a file, such as shipped#p1-00001; 'shipped' and 'shipped-zh' are installed.",
        ),
    ],
    layout: options.Layout = None,
    patient: Annotated[options.Patient | None, Parameter(show_default="rules")] = None,
    examiner: Annotated[
        options.Examiner | None,
        Parameter(
            help="Put orders to this examiner instead of questions to the patient: rules, a model, or FILE.py:NAME.",
        ),
    ] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    models: options.Models = options.MODELS,
    kept: options.KeptOptions = options.NOWHERE,
) -> None:
    """Prints each answer as it comes; the patient remembers what was asked before."""
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
    asked, knowledge = case_named(case, layout), read_knowledge()
    cast = Cast(patient=patient or "rules", examiner=examiner or "rules")
    screen = console(sys.stderr) if json else console()
    screen.quiet = json and not typed
    conversation = _Conversation(asked, screen, question)
    check_place(kept)
    failed: PlayFailure | RunStopped | None = None
    opening = open_minds(["rules"], cast, models, knowledge=knowledge, seed=seed, journal=answers_of(kept))
    async with opening as opened:
        minds = opened.minds["rules"]
        try:
            by_hand = nullcontext() if typed else ended_by_hand(is_stopped)
            with resumable(kept, "conversation", conversation.answered), by_hand:
                await (conversation.with_patient(minds) if examiner is None else conversation.with_examiner(minds))
        except (PlayFailure, RunStopped) as failure:
            failed = failure
    keep_outcome(kept, conversation.documents, models=models, ledger=opened.session.ledger, seed=seed, stopped=failed)
    if json:
        print_json(conversation.documents)
    else:
        show_usage(console(sys.stderr), opened.session.ledger)
        if conversation.ordered:
            note(
                f"The patient would turn to the examiner. To ask that one: polyclinic ask --case {case} --examiner "
                'rules "…"'
            )
    if failed is not None:
        raise failed
    if question and conversation.left and len(conversation.documents) < len(question):
        raise PlayFailure(f"the patient left after question {len(conversation.documents)} of {len(question)}")


class _Conversation:
    """Shows what is asked and answered, and keeps it as what `--json` prints.

    Without questions, they are typed at the terminal.
    """

    def __init__(self, case: Case, screen: Console, given: Sequence[str]) -> None:
        self._case, self._screen, self._given = case, screen, given
        self.documents: list[dict[str, Any]] = []
        self.ordered = self.left = False

    def answered(self) -> str:
        """Says how many of the given questions are answered."""
        done, given = len(self.documents), len(self._given)
        return f"{done} of {counted(given, 'question')} {'is' if given == 1 else 'are'} answered" if given else ""

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
        said = count()

        def happen(turn: int, who: Role, to: Role, text: str, state: State | None = None) -> None:
            patient.observe(Said(seq=next(said), turn=turn, who=who, to=to, text=text, state=state))

        self._begin(f"patient: {minds.names[Role.PATIENT]}", minds.seed)
        opening = await patient.act(OPEN)
        happen(0, Role.PATIENT, Role.DOCTOR, opening.say, opening.state)
        show_line(self._screen, "Patient", Role.PATIENT, opening.say)
        turn = 0
        async for question in self._questions():
            turn += 1
            happen(turn, Role.DOCTOR, Role.PATIENT, question)
            reply = await patient.act(REPLY)
            to = Role(reply.to)
            happen(turn, Role.PATIENT, to, reply.say, reply.state)
            state = None if reply.state is None else reply.state.value
            to_examiner = to is Role.EXAMINER
            document = {"question": question, "answer": reply.say, "state": state}
            self._answer(document, f"Patient{' to the examiner' if to_examiner else ''}", Role.PATIENT)
            if reply.state is not None:
                self._aside(f"{reply.state.value}, {reply.state.name.lower().replace('_', ' ')}")
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
