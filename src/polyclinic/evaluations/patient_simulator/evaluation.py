"""How well a simulated patient understands doctors: labelled questions (aie-saps §3.1, §4.4.1), recorded turns (§4.2).

    cases = read_labelled(Path("labelled.json"))
    rows = await simulate(cases, Minds(patient="rules", knowledge=read_knowledge(), seed=1))
    print(compare(rows).states.percent, summarise_replies(replies(rows)).metrics)

The layout of a labelled set is AIE's: a JSON array of cases, each with its vignette (`raw_data.question`) and
`patient_test`: context length, then key (the kind of question meant), then the question, its label `human_state` and a
person's answer, `human_answer`. `dialogue` has the rounds before a question (see `building`); the published set has
none.

Recorded dialogues have AIE's published layout: a JSON array of cases, each with its vignette and `history`, turns with
`doctor`, `state` and `patient`. Each turn but openings and conclusions is put to a patient that has observed the
recorded dialogue before it, so that earlier mistakes do not count.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from polyclinic.cases.loaders.aie import record_of
from polyclinic.cases.loaders.fields import age_in_years, sex_of
from polyclinic.cases.loaders.reader import read_elements
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.errors import BadInput, EndpointError, PlayFailure
from polyclinic.evaluations.evaluation import Play, Plays
from polyclinic.events import ADVICE, EFFECTIVE, INEFFECTIVE, INQUIRY, Role, Said, State
from polyclinic.files import NO_JSON, check_file, decode, split_place
from polyclinic.frames import Tabular
from polyclinic.language.language import Language, language_of
from polyclinic.metrics.dialogue import LeftOut, Turn, Unscorable, from_recorded
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

NOT_PUT = (State.OPENING, State.CONCLUSION)
"""Turns recorded as these are part of the dialogue, and are not judged."""

_SENTENCE = re.compile(r"[。；;！？!?\n]|\.(?=\s)")

EFFECT = ("A-A-", "B-A-")
"""Beginnings of the keys, and of the states, where effective must be told from ineffective."""


class LabelledQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's turn with its labels."""

    key: str  # the kind of turn that it was written to be; of a recorded turn its place in the dialogue
    turn: int  # the context length at which it was put, from 0
    text: str
    state: State  # what people say it is, or what was recorded
    answer: str = ""  # written with the question; what a person replied where the set has none
    replied: str = ""  # by a person in the patient's place
    recorded: str = ""  # by the set's own simulator
    recorded_state: State | None = None


class LabelledCase(msgspec.Struct, frozen=True, kw_only=True):
    """A patient and the turns that are put, each after as many rounds of the dialogue as its context is long.

    Recorded dialogues have a `file`, one for each doctor, and begin with the recorded opening; other patients open
    themselves.
    """

    id: str
    record: Record
    questions: tuple[LabelledQuestion, ...]
    dialogue: tuple[tuple[str, str], ...] = ()
    file: str = ""

    def place(self, question: LabelledQuestion | None) -> str:
        """Returns what a question is called among everything that is asked; None is the opening."""
        if self.file and question is not None:
            return f"{self.file}/{self.id}/{question.key}"
        return f"{self.id}/{'opening' if question is None else f'{question.turn}/{question.key}'}"


class LabelledReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a patient made of one turn."""

    case: str
    question: LabelledQuestion
    language: Language
    information: str  # everything that the patient knows, as the set has it
    file: str = ""
    state: State | None = None  # None where its mind tracks no states, or gave no answer
    reply: str = ""
    error: str = ""  # the name of the failure
    failed: bool = False  # the endpoint gave no answer at all: the question is outside all figures

    @property
    def other_language(self) -> bool:
        """Whether the turn is in another language than its case."""
        return language_of([self.question.text]) != self.language


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


class Effective(msgspec.Struct, frozen=True):
    """How well effective turns are found; None where there is nothing to be a share of."""

    n: int  # turns recorded as effective
    recall: float | None
    precision: float | None  # among the turns recorded as specific that the patient took for effective


class Recall(msgspec.Struct, frozen=True):
    """Turns recorded as one state, and the share of them that the patient took for it."""

    n: int
    recall: float


class TurnAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How a patient's states agree with the recorded ones, over turns in the language of their case."""

    states: Agreement  # recorded states by row
    constant: float | None  # percent on which a guess agrees that always says the commonest recorded state
    kind: float | None  # percent on which inquiry, advice and anything else are distinguished as recorded
    effective: Effective
    by_state: dict[State, Recall]
    other_language: Agreement  # over the turns in another language than their case
    failed: dict[str, int]  # turns without an answer, by the name of the failure


class RecordedResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How a patient took the turns of recorded dialogues: all of them, by file, and turn by turn."""

    rows: tuple[LabelledReply, ...]
    all: TurnAgreement
    by_file: dict[str, TurnAgreement]


Reply = PatientTurn | PlayFailure
"""What a patient made of a question: a turn, or why there is none."""

Result = TypeVar("Result")
SimulatorPlays = Plays[LabelledCase, Minds, list[Reply], list[LabelledReply], Result]


def patient_simulator(cases: Sequence[LabelledCase], *, seed: int = 0) -> SimulatorPlays[SimulatorResult]:
    """Returns the evaluation of one patient on labelled questions; its minds are the player."""

    def result(rows: tuple[LabelledReply, ...]) -> SimulatorResult:
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

    return _plays(cases, result)


def recorded_turns(dialogues: Sequence[LabelledCase]) -> SimulatorPlays[RecordedResult]:
    """Returns the evaluation of one patient on recorded turns; its minds are the player."""

    def result(rows: tuple[LabelledReply, ...]) -> RecordedResult:
        files = dict.fromkeys(row.file for row in rows)
        by_file = {file: compare_turns(row for row in rows if row.file == file) for file in files}
        return RecordedResult(rows=rows, all=compare_turns(rows), by_file=by_file)

    return _plays(dialogues, result)


def _plays(
    cases: Sequence[LabelledCase], result: Callable[[tuple[LabelledReply, ...]], Result]
) -> SimulatorPlays[Result]:
    async def score(case: LabelledCase, _: Minds, came: list[Reply]) -> list[LabelledReply]:
        return beside_labels(case, came)

    async def summarise(plays: Mapping[str, Sequence[Play[Any, Any, Any, list[LabelledReply]]]]) -> Result:
        return result(tuple(row for theirs in plays.values() for play in theirs for row in play.scored))

    return Plays(items=cases, play=put_questions, score=score, summarise=summarise)


async def simulate(cases: Iterable[LabelledCase], minds: Minds) -> list[LabelledReply]:
    """Puts every question of all cases to its patient; a failure is in its row and is not raised."""
    cases = list(cases)
    came = await asyncio.gather(*(put_questions(case, minds) for case in cases))
    return [row for case, theirs in zip(cases, came, strict=True) for row in beside_labels(case, theirs)]


async def put_questions(case: LabelledCase, minds: Minds) -> list[Reply]:
    """Puts the questions of a case to the patient that they are meant for, all at once; a failure is not raised.

    Each has a patient of its own, who has observed the dialogue before it: what it made of others does not count.
    """

    def patient(question: LabelledQuestion | None) -> Patient:
        return Patient(minds.patient(case.place(question)), case.record, setting="online")

    async def ask(question: LabelledQuestion) -> Reply:
        asked = patient(question)
        before = [
            (who, text)
            for turn in case.dialogue[: question.turn]
            for who, text in zip((Role.DOCTOR, Role.PATIENT), turn, strict=True)
            if text or not case.file
        ]
        if opening is not None:
            asked.observe(Said(seq=0, turn=0, who=Role.PATIENT, to=Role.DOCTOR, text=opening.say, state=opening.state))
        for seq, (who, text) in enumerate([*before, (Role.DOCTOR, question.text)], start=opening is not None):
            to = Role.DOCTOR if who is Role.PATIENT else Role.PATIENT
            asked.observe(Said(seq=seq, turn=(seq + (opening is not None)) // 2, who=who, to=to, text=text))
        try:
            replied = await asked.act(REPLY)
            if replied.state is None and opening and isinstance(tracker := minds.tracker(case.id), Saps):
                # A plain model tracks nothing: its states are a tracker's, asked beside what it said.
                replied = replace(replied, state=(await tracker.track(asked)).state)
        except PlayFailure as failure:
            return failure
        return replied

    opening: PatientTurn | None = None
    try:
        if not case.file:
            opening = await patient(None).act(OPEN)
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
            file=case.file,
            failed=isinstance(one, EndpointError),
            **(
                {"state": one.state, "reply": one.say}
                if isinstance(one, PatientTurn)
                else {"error": type(one).__name__}
            ),
        )
        for question, one in zip(case.questions, came, strict=True)
    ]


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


def compare_turns(rows: Iterable[LabelledReply]) -> TurnAgreement:
    """Compares the states that a patient gave with the recorded ones."""
    rows = list(rows)
    answered = [row for row in rows if not row.error]
    same = [row for row in answered if not row.other_language]
    counts = Counter(row.question.state for row in same)
    found = Counter(row.question.state for row in same if row.state is row.question.state)
    kinds = [kind_of(row.question.state) == kind_of(row.state) for row in same]
    effective = [row for row in same if row.question.state in EFFECTIVE]
    taken = [row for row in same if row.state in EFFECTIVE and row.question.state in (*EFFECTIVE, *INEFFECTIVE)]
    both = sum(row.state in EFFECTIVE for row in effective)

    def agree(some: Sequence[LabelledReply]) -> Agreement:
        return agreement([row.question.state for row in some], [row.state for row in some], labels=tuple(State))

    return TurnAgreement(
        states=agree(same),
        constant=100 * max(counts.values()) / len(same) if same else None,
        kind=100 * sum(kinds) / len(same) if same else None,
        effective=Effective(
            n=len(effective),
            recall=both / len(effective) if effective else None,
            precision=both / len(taken) if taken else None,
        ),
        by_state={state: Recall(counts[state], found[state] / counts[state]) for state in State if counts[state]},
        other_language=agree([row for row in answered if row.other_language]),
        failed=dict(Counter(row.error for row in rows if row.error)),
    )


def kind_of(state: State | None) -> Literal["inquiry", "advice", "other"] | None:
    """Returns the kind of a state; None without a state."""
    if state is None:
        return None
    return "inquiry" if state in INQUIRY else "advice" if state in ADVICE else "other"


class LabelledTest(msgspec.Struct, omit_defaults=True):
    """A question of a labelled set, as its file has it."""

    human_state: State
    human_answer: str
    question: str = ""
    answer: str = ""
    prediction: str = ""
    state_prediction: str | None = None


class Round(msgspec.Struct):
    """What a doctor and a patient say to each other, as a file has it."""

    doctor: str
    patient: str


class Vignette(msgspec.Struct):
    """The source of a case, as its file has it."""

    question: str


class LabelledRecord(msgspec.Struct, omit_defaults=True):
    """A case of a labelled set, as its file has it: its questions by context length and key."""

    id: int | str
    raw_data: Vignette
    patient_test: dict[str, dict[str, LabelledTest]]
    dialogue: list[Round] = []


def read_labelled(path: str | Path) -> list[LabelledCase]:
    """Reads a labelled set in AIE's layout.

    Raises:
        BadInput: the file cannot be read, or is none; says which field, and what was allowed.
    """
    path = Path(path)
    check_file(path)
    try:
        cases = msgspec.json.decode(decode(read_at_once(path), path=path), type=list[LabelledRecord])
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


def read_recorded(path: str | Path) -> tuple[list[LabelledCase], list[LeftOut]]:
    """Reads recorded dialogues in AIE's layout, and what is left out: each with the reason.

    Raises:
        BadInput: the file cannot be read, or holds no turn that could be put; says what was allowed.
    """
    path, dialogues, left_out = Path(path), [], []
    read: set[tuple[str, tuple[Turn, ...]]] = set()
    for element in read_elements(path):
        id = f"{element.part} {element.number}"
        try:
            fields = element.fields()
            id, record = record_of(fields, element.order)
            turns = from_recorded(fields, id).turns
        except (BadInput, Unscorable) as error:
            field = f"{error.field}: " if isinstance(error, BadInput) and error.field else ""
            left_out.append(LeftOut(id, f"{field}{error.problem}"))
        else:
            if (id, turns) in read:
                left_out.append(LeftOut(id, "the same dialogue stands in the file before; it is counted once"))
                continue
            read.add((id, turns))
            empty = sum(turn.state not in NOT_PUT and not turn.doctor.strip() for turn in turns)
            if empty:
                left_out.append(LeftOut(id, f"turns in which the doctor says nothing: {empty}; the others are put"))
            put = tuple(
                LabelledQuestion(key=str(place), turn=place, text=turn.doctor, state=turn.state)
                for place, turn in enumerate(turns)
                if turn.state not in NOT_PUT and turn.doctor.strip()
            )
            said = tuple((turn.doctor, turn.patient) for turn in turns)
            dialogues.append(LabelledCase(file=str(path), id=id, record=record, questions=put, dialogue=said))
    if not any(dialogue.questions for dialogue in dialogues):
        why = f" (the first record: {left_out[0].problem})" if left_out else ""
        raise BadInput(
            f"no doctor's turn in it can be put to a patient{why}; recorded dialogues have 'raw_data' with 'question', "
            "and 'history', turns with 'doctor', 'state' and 'patient'",
            path=path,
        )
    return dialogues, left_out
