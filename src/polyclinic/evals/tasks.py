"""Our evaluations as tasks of Inspect: `inspect eval polyclinic/aie -T cases=FILE --model direct/NAME`.

What is played and how it is scored is what the evaluations of `polyclinic.evaluations` play and score.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, model_roles
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from polyclinic import errors
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.case import Case
from polyclinic.cases.check import unanswerable
from polyclinic.cases.loaders import left_out_lines, read_usable
from polyclinic.cases.report import Report
from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import BadInput, EndpointError, UnknownMind, UserError
from polyclinic.evals.adapter import (
    ModelTask,
    Tested,
    averaged,
    converted,
    in_role,
    kept_as,
    register,
    scoring,
    task_of,
    with_arguments,
)
from polyclinic.evals.methods import OUTCOME, as_sample, choices_of, chosen_with, outcome_of, put_to, solver_of
from polyclinic.evaluations.aie import evaluation as aie_evaluation
from polyclinic.evaluations.aie.distractors import with_questions
from polyclinic.evaluations.exams.evaluation import is_right
from polyclinic.evaluations.mvme.evaluation import answers_in, examinations_in, grade, linked_by
from polyclinic.evaluations.patient_simulator.evaluation import (
    LabelledCase,
    LabelledReply,
    beside_labels,
    put_questions,
    read_labelled,
    replies,
)
from polyclinic.evaluations.patient_simulator.recorded import (
    RecordedDialogue,
    RecordedRow,
    beside_recorded,
    kind_of,
    put_turns,
    read_recorded,
)
from polyclinic.evaluations.tor.evaluation import choose_marks
from polyclinic.evaluations.tor.inpatients import Inpatient, read_inpatients
from polyclinic.events import Chosen, End, Ended, Event, Examined, Failed, Reported, Role, Said, Trace
from polyclinic.files import check_file
from polyclinic.judging.director import ModelJudge, sections_of
from polyclinic.judging.director_by_rules import RulesJudge
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import Language
from polyclinic.language.words import rouge_1
from polyclinic.methods.table import PRESETS, Answering, answering
from polyclinic.methods.tree_of_reasoning import MeetingOutcome
from polyclinic.metrics.conversation import MCQE, METRICS
from polyclinic.metrics.conversation import Score as Values
from polyclinic.metrics.dialogue import LeftOut, from_trace, information_of, unusable_answer
from polyclinic.metrics.grades import Judgement, aspects_of
from polyclinic.metrics.icd.linking import Linker, linkers_for
from polyclinic.metrics.patient_replies import PATIENT_METRICS, score_reply
from polyclinic.players.language_model.mind import describe
from polyclinic.players.mind_names import model_of
from polyclinic.players.minds import Minds, check_mind
from polyclinic.players.patient_trust import trust_fields, trust_in
from polyclinic.players.roles.examiner import Missing
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts import parse_fields, read_exam
from polyclinic.questions.layouts import sample as draw
from polyclinic.questions.shown import show
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.revisit import revisit
from polyclinic.visits.visit import Staging, Visit, see

TRACE = "trace"
"""The key of a visit's events in the sample's store."""

ROW = "row"
"""The key in the sample's store of what a patient under test made of a question."""

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_log = logging.getLogger(__name__)


def cases_of(file: str, *, layout: str | None = None, options: int | None = None) -> dict[str, Case]:
    """Returns the cases of a file by their ids.

    Dataset, solver and scorer each ask for them by the file's name: their arguments are in the log, and the cases hold
    the truth. Every case needs a diagnosis; with a seed for `options`, a question: the seed gives the options, and
    their order, where the source has none. Unusable records are left out, which the log says.

    Raises:
        BadInput: the file cannot be used, or a case lacks what it needs.
    """
    path = shipped_path(file)
    check_file(path)
    about = path.stat()
    return _read(path, layout, options, (about.st_mtime_ns, about.st_size))


@lru_cache(maxsize=8)
def _read(path: Path, layout: str | None, options: int | None, _version: tuple[int, int]) -> dict[str, Case]:
    cases, share = read_usable(path, layout=layout, needs=None if options is None else unanswerable)
    for line in left_out_lines(share.left_out):
        _log.warning("left out: %s", line)
    if not cases:
        raise BadInput("there is no case in it", path=path)
    if options is None:
        without, what = [case.id for case in cases if not case.truth.diagnoses], "diagnosis to grade by"
    else:
        cases = with_questions(cases, read_knowledge(), seed=options)
        without, what = [case.id for case in cases if case.question is None], "question and no diagnosis"
    if without:
        raise BadInput(f"{len(without)} cases have no {what}, such as {without[0]}", path=path)
    return {case.id: case for case in cases}


class VisitTask(ModelTask, kw_only=True, frozen=True):
    """The model under test is the doctor of a visit to each case.

    The visit becomes the sample's messages, and its events the value of `TRACE` in the sample's store. If a model
    answers and the answer cannot be used, the visit has failed and the sample is scored. If no answer comes, the sample
    is an error. A model that plays the patient, `saps:MODEL`, is one of Inspect's, in the role `patient`.
    """

    asks: ClassVar[bool] = False  # whether the case's question is put
    cases: str = "shipped"
    layout: str | None = None
    seed: int = 0
    patient: str = "rules"
    patient_base_url: str | None = None

    def reads(self) -> bool:
        """Returns whether the doctor reads the whole record, without a dialogue."""
        return False

    def __post_init__(self) -> None:
        model = model_of(self.patient)
        if model is None:
            check_mind(Role.PATIENT, self.patient)
        elif model.partition("/")[0] == "local":
            raise UnknownMind(f"patient={self.patient}: Inspect cannot open {model}; serve it, and give direct/NAME")

    def items(self) -> Mapping[str, Case]:
        return cases_of(self.cases, layout=self.layout, options=self.seed if self.asks else None)

    def sample(self, id: str, item: Case) -> Sample:
        about = {"setting": item.setting} if self.asks else {"department": item.department}
        return Sample(
            id=id,
            input=describe(item.presentation),
            choices=choices_of(item.question) if self.asks else None,
            target=list(item.truth.answers if self.asks else (one.name for one in item.truth.diagnoses)),
            metadata={"language": item.presentation.language, **about, "source": item.source},
        )

    def player(self, tested: Tested, epoch: int) -> tuple[Minds, Tested | None]:
        models, patient = {tested.name: tested}, None
        if (name := model_of(self.patient)) is not None:
            models[name] = patient = in_role("patient", name, self.patient_base_url)
        knowledge = read_knowledge()
        minds = Minds(doctor=tested.name, patient=self.patient, knowledge=knowledge, seed=self.seed, models=models)
        return minds, patient

    async def play(self, item: Case, who: tuple[Minds, Tested | None], state: TaskState) -> str:
        (minds, patient), trace = who, Trace()
        state.messages = [ChatMessageSystem(content=f"Case {item.id}. Known at the door: {state.input_text}")]
        if self.reads():
            state.messages.append(ChatMessageUser(content=information_of(item)))

        def watch(event: Event) -> None:
            trace.add(event)
            # One by one: what was said until a limit ends the visit is to be read.
            state.messages.extend(_messages(event, item))

        try:
            async with patient or nullcontext():
                visit = await self.see(item, minds, watch)
        finally:
            state.store.set(TRACE, msgspec.to_builtins(list(trace)))
            if not self.reads():
                state.metadata |= trust_fields(trust_in(self.patient, [minds.names[Role.DOCTOR]]))
        failure = visit.trace.last(Failed)
        if failure is not None and issubclass(getattr(errors, failure.error, object), EndpointError):
            raise EndpointError(f"the {failure.who}: {failure.error}: {failure.problem}")
        return _report(visit.report) if visit.report is not None else visit.answer or ""

    async def see(self, case: Case, minds: Minds, watch: Callable[[Event], None]) -> Visit:
        """Lets the doctor see the patient of a case; calls `watch` with each event as it happens."""
        raise NotImplementedError

    def read(self, state: TaskState) -> Visit:
        return revisit(trace_of(state.store.get(TRACE)))


def _failed(visit: Visit) -> bool:
    """Returns whether a visit failed through no fault of the doctor's answer."""
    return visit.end is End.FAILED and unusable_answer(visit.trace) is None


def _unscored(problem: str, trace: Trace) -> Score:
    """Returns a score that no mean counts, with the name of the failure if there is one."""
    failure = trace.last(Failed)
    if failure is None:
        return Score.unscored(reason="scoring_failed", explanation=problem)
    told = f"the visit failed, by the {failure.who}: {failure.error}: {failure.problem}"
    return Score.unscored(reason=failure.error, explanation=told)


def trace_of(kept: object) -> Trace:
    """Returns the trace that a sample's store keeps under `TRACE`; BadInput if there is none."""
    return Trace(kept_as(list[Event], kept, "trace", "polyclinic/consultation"))


def _messages(event: Event, case: Case) -> list[ChatMessage]:
    """Returns an event as it is read in a log; nothing of what only the truth says."""
    match event:
        case Said(who=Role.DOCTOR):
            return [ChatMessageAssistant(content=event.text)]
        case Said():
            to = " to the examiner" if event.to is Role.EXAMINER else ""
            state = f" [{event.state}, {event.state.name.lower().replace('_', ' ')}]" if event.state else ""
            return [ChatMessageUser(content=f"Patient{to}{state}: {event.text}")]
        case Examined():
            return [ChatMessageUser(content=f"Examiner: {event.text}")]
        case Chosen() if case.question is not None:
            options = "\n".join(f"{key}. {text}" for key, text in case.question.options.items())
            return [
                ChatMessageUser(content=f"{case.question.stem}\n\n{options}"),
                ChatMessageAssistant(content=event.answer or "(none of them)"),
            ]
        case Reported():
            return [ChatMessageAssistant(content=_report(event.report))]
        case Failed():
            return [ChatMessageSystem(content=f"The {event.who} failed: {event.error}: {event.problem}")]
        case Ended():
            return [ChatMessageSystem(content=f"The visit is over: {event.reason}, {event.turns} turns.")]
        case _:
            return []


def _report(report: Report) -> str:
    """Returns a report as it is read in a log, a line for each of its parts."""
    parts = sections_of(report).items()
    return "\n".join(f"{aspect.capitalize()}: {'; '.join(points) or '(nothing)'}" for aspect, points in parts)


class Aie(VisitTask, kw_only=True, frozen=True):
    """The model under test questions a patient in turns, then chooses a diagnosis among options.

    A doctor whose answer cannot be used has a wrong diagnosis. A visit that failed otherwise, or that a limit ended,
    has no score. All metrics are in percent, but turns and length.
    """

    name, solver_name, scorer_name = "aie", "consultation", "conversation"
    metrics: ClassVar[Sequence[str]] = METRICS
    asks: ClassVar[bool] = True
    max_turns: _Positive | None = None

    async def see(self, case: Case, minds: Minds, watch: Callable[[Event], None]) -> Visit:
        return await aie_evaluation.see_patient(
            case, minds, one_step=self.reads(), max_turns=self.max_turns, watch=watch
        )

    def ready(self) -> None:
        for language in {case.presentation.language for case in self.items().values()}:
            rouge_1("words", "words", language)  # a missing extra is reported before the first call, not after the last

    async def values(self, case: Case, visit: Visit) -> Values | LeftOut:
        """Returns the metrics of a visit, or why it has none."""
        return await aie_evaluation.score_dialogue(case, visit)

    async def score(self, case: Case, visit: Visit, _: Any) -> Score:
        scored = LeftOut(case.id, "the visit failed") if _failed(visit) else await self.values(case, visit)
        if isinstance(scored, LeftOut):
            return _unscored(scored.problem, visit.trace)
        values = {name: scored.values.get(name, math.nan) for name in self.metrics}
        unusable, failure, chosen = unusable_answer(visit.trace), visit.trace.last(Failed), visit.answer
        if unusable is not None and failure is not None:
            told = f"{unusable}: {failure.problem}"
            return Score(value=values, answer=None, explanation=told, metadata={"unusable": unusable})
        options = {} if case.question is None else case.question.options
        named = f"{chosen}. {options[chosen]}" if chosen in options else chosen or "none of the options"
        told = f"The doctor chose {named}; right: {', '.join(visit.truth.answers)}."
        about = {
            "states": "" if self.reads() else " ".join(turn.state for turn in from_trace(visit.trace).turns),
            "left out": [problem.problem for problem in scored.left_out],
        }
        return Score(value=values, answer=chosen, explanation=told, metadata=about)


class AieMcqe(Aie, kw_only=True, frozen=True):
    """The model under test reads all that is known of a patient and answers the case's question, without a dialogue.

    There is no patient to talk with.
    """

    name, solver_name, scorer_name = "aie_mcqe", "reading", "choice"
    metrics: ClassVar[Sequence[str]] = (MCQE,)

    def reads(self) -> bool:
        return True

    def ready(self) -> None:
        pass

    async def values(self, case: Case, visit: Visit) -> Values | LeftOut:
        return aie_evaluation.score_choice(visit)


GRADER = "grader"
"""The role of a director among Inspect's models."""


class Mvme(VisitTask, kw_only=True, frozen=True):
    """The model under test sees patients as an intern and hands in reports, which a director grades (ai-hospital §3).

    Five aspects from 1 to 4, ICD-10 codes in percent, questions and tests. An intern whose answer cannot be used has
    handed in no report: 1 in every aspect, no code right. An aspect without a grade is outside the mean of that aspect,
    and a visit that failed otherwise outside all. A judge whose endpoint gives no answer is an error of the sample.
    """

    name, solver_name, scorer_name = "mvme", "intern", "director"
    one_step: bool = False
    judge: Literal["rules", "grader"] = "rules"
    table: str | None = None
    max_turns: _Positive = MAX_TURNS
    missing: Missing = "not recorded"

    def reads(self) -> bool:
        return self.one_step

    def player(self, tested: Tested, epoch: int) -> tuple[Minds, Tested | None]:
        if self.judge == GRADER and GRADER not in model_roles():
            # Inspect would let the intern grade itself.
            raise UserError(f"judge={GRADER} is the model in that role; give --model-role {GRADER}=MODEL")
        return super().player(tested, epoch)

    async def see(self, case: Case, minds: Minds, watch: Callable[[Event], None]) -> Visit:
        staging = Staging(missing=self.missing)
        return await see(case, minds, max_turns=self.max_turns, in_one_step=self.one_step, staging=staging, watch=watch)

    def ready(self) -> Mapping[Language, Linker]:
        languages = {case.presentation.language for case in self.items().values()}
        return linkers_for(languages, None if self.table is None else Path(self.table))

    async def score(self, case: Case, visit: Visit, ready: Mapping[Language, Linker]) -> Score:
        judge = _rules() if self.judge == "rules" else ModelJudge(in_role(GRADER))
        judgement = None if _failed(visit) else await grade(case, visit, judge, one_step=self.one_step)
        if judgement is None:
            return _unscored("the visit failed", visit.trace)
        if judgement.failed:
            raise EndpointError(f"the judge {judgement.judge}: {judgement.failed}")
        values: dict[str, float | None] = {
            aspect.upper(): judgement.grades.get(aspect) for aspect in aspects_of(one_step=self.one_step)
        }
        if ready:
            linked = linked_by(ready, [(case, visit)]).get(case.presentation.language)
            for name in ("precision", "recall", "f1"):
                values[f"ICD_{name.upper()}"] = linked.per_case[name].mean if linked else None
        if not self.one_step:
            values |= {"QA": answers_in(visit), "TESTS": examinations_in(visit)}
        return Score(
            value={name: math.nan if value is None else float(value) for name, value in values.items()},
            answer=None if visit.report is None else "; ".join(one.name for one in visit.report.diagnoses),
            explanation="\n".join(_graded(judgement)),
            metadata={"judge": judgement.judge, "version": judgement.version, "prompts": judgement.prompts},
        )


@lru_cache(maxsize=1)
def _rules() -> RulesJudge:
    return RulesJudge(read_knowledge())


def _graded(judgement: Judgement) -> list[str]:
    lines = []
    for aspect, given in judgement.grades.items():
        letter = given.name if given is not None else f"no grade ({judgement.unreadable.get(aspect, 'none was given')})"
        lines.append(f"{aspect}: {letter}. {judgement.analyses.get(aspect, '')}".strip())
    return lines


class PatientTask(ModelTask, kw_only=True, frozen=True):
    """The model under test plays the state-aware patient."""

    row: ClassVar[Any]
    tracker: Literal["staged", "parallel"] = "staged"
    seed: int = 0

    def player(self, tested: Tested, epoch: int) -> Minds:
        name = f"{'saps' if self.tracker == 'staged' else 'saps-parallel'}:{tested.name}"
        return Minds(patient=name, knowledge=read_knowledge(), seed=self.seed, models={tested.name: tested})

    def read(self, state: TaskState) -> Any:
        return msgspec.convert(state.store.get(ROW), self.row)

    def keep(self, item: Any, row: Any, said: Iterable[tuple[str, str]], state: TaskState) -> str:
        """Writes what doctor and patient `said` to the sample's messages, and the row to its store."""
        known = f"Case {item.id}. The patient: {describe(item.record.presentation)}"
        state.messages = [ChatMessageSystem(content=known)]
        for asked, reply in said:
            state.messages += [ChatMessageUser(content=asked), ChatMessageAssistant(content=reply)]
        state.store.set(ROW, msgspec.to_builtins(row))
        return str(row.reply)


class PatientSimulator(PatientTask, kw_only=True, frozen=True):
    """The model under test plays the state-aware patient; people have labelled what every question is.

    As `polyclinic eval patient-simulator --patient saps:MODEL` (Liao et al., arXiv:2403.08495, §3.1, §4.4.1): whether
    the state is the label, in percent, and those of the six metrics that speak of the reply. A model that answered, and
    whose answer cannot be used, has a wrong state.
    """

    name, solver_name, scorer_name = "patient_simulator", "patient", "states_and_replies"
    metrics: ClassVar[Sequence[str]] = ("STATE", *PATIENT_METRICS)
    row: ClassVar[Any] = LabelledReply
    cases: str

    def items(self) -> Mapping[str, LabelledCase]:
        return {
            f"{case.id}/{question.turn}/{question.key}": msgspec.structs.replace(case, questions=(question,))
            for case in read_labelled(Path(self.cases))
            for question in case.questions
        }

    def sample(self, id: str, item: LabelledCase) -> Sample:
        (question,) = item.questions
        return Sample(id=id, input=question.text, target=question.state, metadata={"key": question.key})

    async def play(self, item: LabelledCase, who: Minds, state: TaskState) -> str:
        (row,) = beside_labels(item, await put_questions(item, who))
        if row.failed:
            raise EndpointError(f"the patient: {row.error}")
        told = f"[{row.state}] {row.reply}" if row.state is not None else f"The patient failed: {row.error}"
        return self.keep(item, row, [(item.questions[0].text, told)], state)

    async def score(self, item: LabelledCase, row: LabelledReply, _: None) -> Score:
        label = item.questions[0].state
        values = dict.fromkeys(self.metrics, math.nan)
        values["STATE"] = 100.0 * (row.state == label)
        for reply in replies([row]):
            values |= {name: value for name, value in score_reply(reply).items() if name in values}
        told = f"labelled {label}, taken for {row.state or 'nothing'}{f': {row.error}' if row.error else ''}"
        return Score(value=values, answer=row.state, explanation=told)


class RecordedTurns(PatientTask, kw_only=True, frozen=True):
    """The model under test plays the state-aware patient; each turn of recorded doctors is put in its place.

    As `polyclinic eval patient-simulator --recorded FILE --patient saps:MODEL` (Liao et al., arXiv:2403.08495, §4.2):
    whether state and kind of turn are as recorded, in percent; the state apart in another language.
    """

    name, solver_name, scorer_name, file = "recorded_turns", "recorded_patient", "recorded_states", "recorded"
    metrics: ClassVar[Sequence[str]] = ("STATE", "KIND", "OTHER_LANGUAGE")
    row: ClassVar[Any] = RecordedRow
    recorded: str

    def items(self) -> Mapping[str, RecordedDialogue]:
        turns: dict[str, RecordedDialogue] = {}
        seen: Counter[str] = Counter()
        for dialogue in read_recorded(Path(self.recorded)).dialogues:
            seen[dialogue.id] += 1
            name = dialogue.id if seen[dialogue.id] == 1 else f"{dialogue.id}#{seen[dialogue.id]}"
            turns |= {f"{name}/{place}": msgspec.structs.replace(dialogue, put=(place,)) for place in dialogue.put}
        return turns

    def sample(self, id: str, item: RecordedDialogue) -> Sample:
        (place,) = item.put
        turn = item.turns[place]
        return Sample(id=id, input=turn.doctor, target=turn.state, metadata={"case": item.id, "turn": place})

    async def play(self, item: RecordedDialogue, who: Minds, state: TaskState) -> str:
        (row,) = beside_recorded(item, await put_turns(item, who))
        if row.error:
            raise EndpointError(f"the patient: {row.error}")
        before = [(turn.doctor, turn.patient) for turn in item.turns[: row.number]]
        return self.keep(item, row, [*before, (row.text, f"[{row.state}] {row.reply}")], state)

    async def score(self, item: RecordedDialogue, row: RecordedRow, _: None) -> Score:
        values = dict.fromkeys(self.metrics, math.nan)
        values["OTHER_LANGUAGE" if row.other_language else "STATE"] = 100.0 * (row.state is row.recorded)
        if not row.other_language:
            values["KIND"] = 100.0 * (kind_of(row.state) == kind_of(row.recorded))
        told = f"recorded as {row.recorded}, taken for {row.state or 'nothing'}"
        return Score(value=values, answer=row.state, explanation=told)


_Settings = dict[str, Any] | list[str] | str | None


def settings_by_name(given: _Settings) -> dict[str, Any]:
    """Returns a method's settings by name; Inspect's command line makes a list of what has commas."""
    if given is None or isinstance(given, dict):
        return dict(given or {})
    pairs = [text.partition("=") for text in ([given] if isinstance(given, str) else given)]
    if wrong := [key for key, sign, _ in pairs if not sign]:
        raise UserError(f"setting {wrong[0]!r}; needs KEY=VALUE, such as max_rounds=2")
    return {key.strip(): value.strip() for key, _, value in pairs}


class Tor(ModelTask, kw_only=True, frozen=True):
    """Which of several diagnoses hold, from inpatients' whole records, by a method with the model under test.

    Precision, recall and F1 are of a record, in percent; those over all records are quotients of the means of RIGHT,
    CHOSEN, WANTED. An answer that cannot be read chooses nothing. UNSUPPORTED is of methods that write trees.
    """

    name, solver_name, scorer_name = "tor", "diagnosing", "diagnoses"
    metrics: ClassVar[Sequence[str]] = ("F1", "PRECISION", "RECALL", "RIGHT", "CHOSEN", "WANTED", "UNSUPPORTED")
    cases: str = "inpatients"
    layout: str | None = None
    method: str = "tree_of_reasoning"
    settings: _Settings = None
    seed: int = 0

    def __post_init__(self) -> None:
        chosen_with(self.method, settings_by_name(self.settings))

    def items(self) -> Mapping[str, Inpatient]:
        cases_of(self.cases, layout=self.layout)  # as for every task: a file with cases, each id once
        found, _ = read_inpatients(shipped_path(self.cases), read_knowledge(), layout=self.layout)
        return {one.id: one for one in found}

    def sample(self, id: str, item: Inpatient) -> Sample:
        choices = choices_of(item.question)
        return Sample(
            id=id,
            input=show(item.question, options=choices is None),
            choices=choices,
            target=sorted(item.key),
            metadata={"language": item.question.language, "source": item.case.source},
        )

    def player(self, tested: Tested, epoch: int) -> Answering:
        records = {id: patient.record for id, patient in self.items().items()}
        chosen = chosen_with(self.method, settings_by_name(self.settings))
        return answering(chosen, lambda _: tested, records=records, seed=self.seed)

    async def play(self, item: Inpatient, who: Answering, state: TaskState) -> str:
        return await put_to(who, item.question, state)

    def read(self, state: TaskState) -> Outcome:
        kept = state.store.get(OUTCOME)
        return outcome_of(kept, MeetingOutcome if isinstance(kept, dict) and "log" in kept else Outcome)

    async def score(self, item: Inpatient, outcome: Outcome, _: None) -> Score:
        marks = choose_marks(item, outcome, read_knowledge())
        chosen, wanted = len(outcome.answers), len(marks.key)
        said = ", ".join(sorted(outcome.answers))
        return Score(
            value={
                "F1": 200.0 * marks.right / (chosen + wanted),
                "PRECISION": 100.0 * marks.right / chosen if chosen else math.nan,
                "RECALL": 100.0 * marks.right / wanted,
                "RIGHT": float(marks.right),
                "CHOSEN": float(chosen),
                "WANTED": float(wanted),
                "UNSUPPORTED": 100.0 * marks.unsupported / len(marks.evidence) if marks.evidence else math.nan,
            },
            answer=said or None,
            explanation=f"chosen: {said or 'nothing'}; hold: {', '.join(sorted(item.key))}",
            metadata={"end": str(outcome.end), "calls": outcome.calls, "round trips": outcome.round_trips},
        )


aie, aie_mcqe, mvme, tor = register(Aie), register(AieMcqe), register(Mvme), register(Tor)
patient_simulator, recorded_turns = register(PatientSimulator), register(RecordedTurns)


# Exams: the solver is the method's own, and the scorer needs no file.


@scorer(metrics=averaged(("ACCURACY", "ACCURACY_READABLE", "READABLE")))
def answers() -> Scorer:
    """Scores what a method answered: whether exactly the right options were chosen, and whether any was, in percent.

    An answer that cannot be read is not correct; ACCURACY_READABLE leaves it out. A question that got no answer is an
    error of the sample, and one that a limit ended has no score.
    """

    async def score(_: str, outcome: Outcome, target: Target) -> Score:
        readable, chosen = bool(outcome.answers), ", ".join(sorted(outcome.answers))
        accuracy = 100.0 * is_right(outcome, target)
        told = f"chosen: {chosen or 'nothing'}; right: {', '.join(target)}"
        return Score(
            value={
                "ACCURACY": accuracy,
                "ACCURACY_READABLE": accuracy if readable else math.nan,
                "READABLE": 100.0 * readable,
            },
            answer=chosen or None,
            explanation=f"{told}; {outcome.end}: {outcome.problem}" if outcome.problem else told,
            metadata={"end": str(outcome.end), "calls": outcome.calls, "round trips": outcome.round_trips},
        )

    return scoring(lambda state: outcome_of(state.store.get(OUTCOME)), score)


class Published(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The questions of a published data set, put to a method with the model under test.

    Args:
        questions: the published file, of MMLU the folder.
        method: who answers, by its name on the command line; also `FILE.py:NAME`.
        settings: of the method: `KEY=VALUE`, several with commas between, or a mapping.
        sample: so many questions, drawn by the seed, 300 by default, of MMLU all; "all" takes all.
        seed: of the sample and of what the method draws.
    """

    questions: str
    method: str = "zero_shot"
    settings: _Settings = None
    sample: _Positive | Literal["all"] | None = None
    seed: int = 0

    def read(self, name: str) -> list[ExamQuestion]:
        """Returns the questions of a task."""
        return read_exam(Path(self.questions), layout=name)


class Exam(Published, kw_only=True, frozen=True):
    """Any multiple-choice questions, in any layout that `polyclinic.questions.layouts` reads. Arguments as `medqa`.

    Any JSON records are read with `fields`, which tell what is what (`question=stem,options=choices,answer=gold`), and
    `answer_base`, from where an answer that is a number counts the options.
    """

    fields: list[str] | str | None = None
    answer_base: Literal[0, 1] | None = None

    def read(self, name: str) -> list[ExamQuestion]:
        named = ",".join(self.fields) if isinstance(self.fields, list) else self.fields
        fields = None if named is None else parse_fields(named)
        return read_exam(Path(self.questions), fields=fields, answer_base=self.answer_base)


def _exam(name: str, kind: type[Published], *, whole: bool = False) -> Callable[..., Task]:
    """Registers a task of exam questions; its solver is that of the method."""

    def made(**arguments: Any) -> Task:
        one = converted(arguments, kind, name)
        asked, sample = one.read(name), one.sample or ("all" if whole else None)
        settings = {**PRESETS.get(name, {}).get(one.method, {}), **settings_by_name(one.settings)}
        return task_of(
            map(as_sample, asked if sample == "all" else draw(asked, sample, seed=one.seed)),
            one.questions,
            name=name,
            version=2,
            solver=solver_of(one.method)(**{"seed": one.seed, **settings}),
            scorer=answers(),
        )

    registered: Callable[..., Task] = task(name=name)(with_arguments(made, name, kind))
    return registered


medqa, medmcqa, pubmedqa = (_exam(name, Published) for name in ("medqa", "medmcqa", "pubmedqa"))
mmlu, exam = _exam("mmlu", Published, whole=True), _exam("exam", Exam)
