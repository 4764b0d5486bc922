"""How well a simulated patient does on questions that people have labelled (aie-saps §3.1, §4.4.1).

    cases = read_labelled(Path("labelled.json"))
    rows = await simulate(cases, Minds(patient="rules", knowledge=read_knowledge(), seed=1))
    print(compare(rows).states.percent, summarise_replies(replies(rows)).metrics)

The layout is AIE's: a JSON array of cases, each with its vignette (`raw_data.question`) and `patient_test`: context
length, then key (the kind of question meant), then the question, its label `human_state` and a person's answer,
`human_answer`. `dialogue` has the rounds before a question (see `building`); the published set has none.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from polyclinic.cases.loaders.fields import age_in_years, sex_of
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.errors import BadInput, EndpointError, PlayFailure
from polyclinic.evaluations.evaluation import Play, Plays
from polyclinic.events import EFFECTIVE, Role, Said, State
from polyclinic.files import NO_JSON, check_file, decode, split_place
from polyclinic.frames import Tabular
from polyclinic.language.language import Language, language_of
from polyclinic.metrics.patient_replies import (
    PATIENT_METRICS,
    PatientReply,
    PatientSummary,
    score_reply,
    summarise_replies,
)
from polyclinic.opened_files import read_at_once
from polyclinic.players.language_model.saps import Saps
from polyclinic.players.minds import Minds
from polyclinic.players.player import OPEN, REPLY, PatientTurn
from polyclinic.players.roles.patient import Patient
from polyclinic.statistics.agreement import Agreement, agreement, spearman

_BEGINNING = 160
"""Characters of a vignette in which its patient is introduced; later people are relatives."""

OPENING = "opening"
"""How the part of a case is called in which the patient opens."""

_SENTENCE = re.compile(r"[。；;！？!?\n]|\.(?=\s)")

EFFECT = ("A-A-", "B-A-")
"""Beginnings of the keys, and of the states, where effective must be told from ineffective."""


class LabelledQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's turn with its labels."""

    key: str  # the kind of turn that it was written to be
    turn: int  # the context length at which it was put, from 0
    text: str
    state: State  # what people say it is
    answer: str  # written with the question; what a person replied where the set has none
    replied: str = ""  # by a person in the patient's place
    recorded: str = ""  # by the set's own simulator
    recorded_state: State | None = None


class LabelledCase(msgspec.Struct, frozen=True, kw_only=True):
    """A patient and its labelled questions, each put after as many rounds of the dialogue as its context is long."""

    id: str
    record: Record
    questions: tuple[LabelledQuestion, ...]
    dialogue: tuple[tuple[str, str], ...] = ()


class LabelledReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a patient made of one question."""

    case: str
    question: LabelledQuestion
    language: Language
    information: str  # everything that the patient knows, as the set has it
    state: State | None = None  # None where its mind tracks no states, or gave no answer
    reply: str = ""
    error: str = ""  # the name of the failure
    failed: bool = False  # the endpoint gave no answer at all: the question is outside all figures


class StateAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How the patient's states agree with the labels.

    `constant` is the percent on which a guess agrees that knows from the key what kind of turn was meant, and takes all
    specific ones for effective, or all for ineffective, whichever is more frequent; NaN without questions.
    """

    states: Agreement  # labels by row; an answer that could not be used is a disagreement
    constant: float
    failed: int  # questions that the endpoint did not answer; they are in neither


class InstanceCorrelation(msgspec.Struct, frozen=True, kw_only=True):
    """Spearman's coefficient of two who replied to the same questions; None where one is constant."""

    coefficient: float | None
    n: int


class SimulatorResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How a patient did, question by question: its states, and the six metrics of its replies."""

    rows: tuple[LabelledReply, ...]
    all_states: StateAgreement
    effect: StateAgreement  # over the questions of `EFFECT`
    told: PatientSummary
    people: PatientSummary  # what people replied to the same questions
    recorded: PatientSummary  # what the set's own simulator replied
    like_people: dict[str, InstanceCorrelation] = {}  # by metric (Figure 3b)


Reply = PatientTurn | PlayFailure
"""What a patient made of a question: a turn, or why there is none."""

SimulatorPlay = Play[LabelledCase, Minds, list[Reply], list[LabelledReply]]


def patient_simulator(
    cases: Sequence[LabelledCase], *, seed: int = 0
) -> Plays[LabelledCase, Minds, list[Reply], list[LabelledReply], SimulatorResult]:
    """Returns the evaluation of one patient, whose minds are its player."""

    async def score(case: LabelledCase, _: Minds, came: list[Reply]) -> list[LabelledReply]:
        return beside_labels(case, came)

    async def summarise(plays: Mapping[str, Sequence[SimulatorPlay]]) -> SimulatorResult:
        rows = tuple(row for theirs in plays.values() for play in theirs for row in play.scored)
        by_people = [
            replace(row, reply=row.question.replied, state=row.question.state) for row in rows if row.question.replied
        ]
        return SimulatorResult(
            rows=rows,
            all_states=compare(rows),
            effect=compare(rows, EFFECT),
            told=summarise_replies(replies(rows), seed=seed),
            people=summarise_replies(replies(by_people), seed=seed),
            recorded=summarise_replies(replies(rows, recorded=True), seed=seed),
            like_people=like_people(rows),
        )

    return Plays(items=cases, play=put_questions, score=score, summarise=summarise)


async def simulate(cases: Iterable[LabelledCase], minds: Minds) -> list[LabelledReply]:
    """Puts every question of all cases to its patient; a failure is in its row and is not raised."""
    cases = list(cases)
    came = await asyncio.gather(*(put_questions(case, minds) for case in cases))
    return [row for case, theirs in zip(cases, came, strict=True) for row in beside_labels(case, theirs)]


async def put_questions(case: LabelledCase, minds: Minds) -> list[Reply]:
    """Puts the questions of a case to the patient that they are meant for, all at once; a failure is not raised."""

    def patient(part: str) -> Patient:
        return Patient(minds.patient(f"{case.id}/{part}"), case.record, setting="online")

    async def ask(question: LabelledQuestion) -> Reply:
        asked = patient(f"{question.turn}/{question.key}")
        asked.observe(Said(seq=0, turn=0, who=Role.PATIENT, to=Role.DOCTOR, text=opening.say, state=opening.state))
        before = [text for said in case.dialogue[: question.turn] for text in said]
        for seq, text in enumerate([*before, question.text], start=1):
            # The doctor's are the odd ones.
            who, to = (Role.DOCTOR, Role.PATIENT) if seq % 2 else (Role.PATIENT, Role.DOCTOR)
            asked.observe(Said(seq=seq, turn=(seq + 1) // 2, who=who, to=to, text=text))
        try:
            replied = await asked.act(REPLY)
            if replied.state is None and isinstance(tracker := minds.tracker(case.id), Saps):
                # A plain model tracks nothing: its states are a tracker's, asked beside what it said.
                replied = replace(replied, state=(await tracker.track(asked)).state)
        except PlayFailure as failure:
            return failure
        return replied

    try:
        opening = await patient(OPENING).act(OPEN)
    except PlayFailure as failure:
        return [failure for _ in case.questions]
    return await asyncio.gather(*map(ask, case.questions))


def beside_labels(case: LabelledCase, came: Sequence[Reply]) -> list[LabelledReply]:
    """Returns what came of the questions of a case, each beside its labels."""
    return [
        LabelledReply(
            case=case.id,
            question=question,
            language=case.record.presentation.language,
            information=case.record.history.present,
            failed=isinstance(one, EndpointError),
            **outcome(one),
        )
        for question, one in zip(case.questions, came, strict=True)
    ]


def outcome(reply: Reply) -> dict[str, Any]:
    """Returns the fields of a row that say what a patient made of a turn."""
    if isinstance(reply, PatientTurn):
        return {"state": reply.state, "reply": reply.say}
    return {"error": type(reply).__name__}


def compare(rows: Iterable[LabelledReply], keys: Sequence[str] = ("",)) -> StateAgreement:
    """Compares the patient's states with the labels, of the questions whose keys begin so; see `EFFECT`."""
    wanted = [row for row in rows if row.question.key.startswith(tuple(keys))]
    answered = [row for row in wanted if not row.failed]
    asked = [row.question for row in answered]
    # "A-A-" or "B-A-" is what was meant; the letter after it, whether it came to anything.
    effects = Counter(q.state[4:] for q in asked if q.key.startswith(EFFECT) and q.state[:4] == q.key[:4])
    others = sum(q.state == q.key for q in asked if not q.key.startswith(EFFECT))
    guessed = others + max(effects.values(), default=0)
    return StateAgreement(
        states=agreement([q.state for q in asked], [row.state for row in answered], labels=tuple(State)),
        constant=100 * guessed / len(asked) if asked else math.nan,
        failed=len(wanted) - len(answered),
    )


def like_people(rows: Iterable[LabelledReply]) -> dict[str, InstanceCorrelation]:
    """Correlates the patient's and people's scores of each question that both replied to (aie-saps §2.3, Figure 3b)."""
    both = [row for row in rows if row.reply and row.question.replied]
    ours = [score_reply(reply) for reply in replies(both)]
    theirs = [score_reply(reply) for reply in replies(replace(row, reply=row.question.replied) for row in both)]
    found = {}
    for metric in PATIENT_METRICS:
        pairs = [(one[metric], other[metric]) for one, other in zip(ours, theirs, strict=True) if metric in one]
        matrix = spearman([[one for one, _ in pairs], [other for _, other in pairs]])
        found[metric] = InstanceCorrelation(coefficient=matrix[0][1], n=len(pairs))
    return found


def replies(rows: Iterable[LabelledReply], *, recorded: bool = False) -> list[PatientReply]:
    """Returns what the patient, or the set's own simulator (`recorded`), replied; rows without a reply are left out."""
    return [
        PatientReply(
            case=row.case,
            turn=row.question.turn,
            state=row.question.state,
            text=text,
            language=row.language,
            information=row.information,
            answer=row.question.answer if row.question.state in EFFECTIVE else None,
            heard=row.question.recorded_state if recorded else row.state,
        )
        for row in rows
        if (text := row.question.recorded if recorded else row.reply)
    ]


class _Test(msgspec.Struct):
    human_state: State
    human_answer: str
    question: str = ""
    answer: str = ""
    prediction: str = ""
    state_prediction: str | None = None


class _RecordedRound(msgspec.Struct):
    doctor: str
    patient: str


class _Vignette(msgspec.Struct):
    question: str


class _LabelledRecord(msgspec.Struct):
    id: int | str
    raw_data: _Vignette
    patient_test: dict[str, dict[str, _Test]]
    dialogue: list[_RecordedRound] = []


def read_labelled(path: str | Path) -> list[LabelledCase]:
    """Reads a labelled set in AIE's layout.

    Raises:
        BadInput: the file cannot be read, or is none; says which field, and what was allowed.
    """
    path = Path(path)
    check_file(path)
    try:
        cases = msgspec.json.decode(decode(read_at_once(path), path=path), type=list[_LabelledRecord])
    except NO_JSON as error:
        problem, field = split_place(str(error))
        raise BadInput(f"not a labelled set for patient simulators: {problem}", path=path, field=field) from None
    known = {state.value: state for state in State}
    read = []
    for case in cases:
        vignette = case.raw_data.question
        about = vignette[:_BEGINNING]
        presentation = Presentation(
            complaint=_SENTENCE.split(vignette, maxsplit=1)[0].strip() or vignette.strip(),
            language=language_of([vignette]),
            age=age_in_years(about),
            sex=sex_of(about),
        )
        questions = tuple(
            LabelledQuestion(
                key=key,
                turn=int(length) if length.isdigit() else 0,
                text=test.question,
                state=test.human_state,
                answer=test.answer or test.human_answer,
                replied=test.human_answer,
                recorded=test.prediction,
                recorded_state=known.get(test.state_prediction or ""),
            )
            for length, tests in case.patient_test.items()
            for key, test in tests.items()
            if test.question.strip()
        )
        record = Record(presentation=presentation, history=History(present=vignette))
        dialogue = tuple((said.doctor, said.patient) for said in case.dialogue)
        read.append(LabelledCase(id=str(case.id), record=record, questions=questions, dialogue=dialogue))
    if not any(case.questions for case in read):
        raise BadInput("no question in it has a text", path=path)
    return read
