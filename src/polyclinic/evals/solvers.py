"""The model under test as the doctor of a visit, a solver of Inspect."""

# Inspect is an extra: without it, its classes and decorators are Any to the type checker.
# mypy: allow-subclassing-any, allow-untyped-decorators

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Self, cast, get_args

import msgspec
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    get_model,
    model_roles,
)
from inspect_ai.model import Model as InspectModel
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from polyclinic import errors
from polyclinic.benchmarks.aie.evaluation import TURNS
from polyclinic.cases.case import Case
from polyclinic.cases.report import Report
from polyclinic.errors import BadInput, PolyclinicError, UnknownMind
from polyclinic.evals.datasets import cases_of
from polyclinic.events import Chosen, Ended, Event, Examined, Failed, Reported, Role, Said, Trace
from polyclinic.judges.director import sections_of
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.language.language import Language
from polyclinic.metrics.dialogue import information_of
from polyclinic.models.inspect import Inspect
from polyclinic.players.minds import Minds, model_of, read_script
from polyclinic.players.roles.examiner import Missing
from polyclinic.visits.visit import see

TRACE = "trace"
"""Where in the sample's store the events of the visit lie."""

_ROLE = "patient"
_ANY_NUMBER = 1_000_000


@solver
def consultation(
    *,
    cases: str = "shipped",
    layout: str | None = None,
    patient: str = "rules",
    patient_base_url: str | None = None,
    max_turns: int | None = None,
    in_one_step: bool = False,
    seed: int = 0,
) -> Solver:
    """Lets the model under test see the patient of each case and answer the case's question.

    The visit becomes the sample's messages, and its events go into the sample's store under `TRACE`. Where a model
    answers and the answer cannot be used, the visit has failed, and the sample goes on to its scorer. Where no answer
    comes, the sample is an error of Inspect's, to be counted and tried again as its options say.

    Args:
        cases: the file that the samples are of.
        layout: of the file.
        patient: the patient's mind; the model of `saps:MODEL` is one of Inspect's, in the role `patient`.
        patient_base_url: the address of the patient's model.
        max_turns: the doctor's turns; the paper's by default.
        in_one_step: the doctor reads the whole record, without a dialogue.
        seed: of the patient's choices, and of options that are made.

    Raises:
        UserError: the file or the patient's mind cannot be used.
    """
    turns: dict[Language, int] = {
        language: TURNS[language] if max_turns is None else max_turns for language in get_args(Language)
    }
    return visiting(
        cases_of(cases, layout=layout, seed=seed),
        patient=patient,
        patient_base_url=patient_base_url,
        max_turns=turns,
        in_one_step=in_one_step,
        put_question=True,
        seed=seed,
    )


def visiting(
    known: Mapping[str, Case],
    *,
    patient: str,
    patient_base_url: str | None,
    max_turns: Mapping[Language, int],
    in_one_step: bool,
    put_question: bool,
    missing: Missing = "not recorded",
    seed: int,
) -> Solver:
    """Returns what lets the model under test see the patient of each case.

    Args:
        known: the cases of the samples, by id.
        patient: as in `consultation`.
        patient_base_url: as in `consultation`.
        max_turns: the doctor's turns, by the case's language.
        in_one_step: as in `consultation`.
        put_question: the doctor answers the case's question in place of a report.
        missing: what the examiner says of what is not recorded.
        seed: of the patient's choices.

    Raises:
        UserError: the patient's mind or the number of turns cannot be used.
    """
    knowledge = read_knowledge()
    _check(patient, min(max_turns.values()))
    made: dict[int, tuple[InspectModel, Minds, Tested | None]] = {}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        case = known[str(state.sample_id)]
        doctor = get_model()
        # One solver may serve several models; the minds' tables are made once for each.
        if id(doctor) not in made:
            made[id(doctor)] = doctor, *_minds(doctor, patient, patient_base_url, knowledge, seed)
        _, minds, patient_model = made[id(doctor)]
        trace = Trace()
        state.messages = [_at_the_door(case, state.input_text)]
        if in_one_step:
            state.messages.append(ChatMessageUser(content=information_of(case)))

        def watch(event: Event) -> None:
            trace.add(event)
            # One by one: a limit may end the visit, and what was said until then is to be read.
            for message in _messages(event, case):
                state.messages.append(message)

        try:
            async with patient_model or nullcontext():
                visit = await see(
                    case,
                    minds,
                    max_turns=max_turns[case.presentation.language],
                    in_one_step=in_one_step,
                    put_question=put_question,
                    missing=missing,
                    watch=watch,
                )
        finally:
            state.store.set(TRACE, msgspec.to_builtins(list(trace)))
        failure = visit.trace.last(Failed)
        if failure is not None and issubclass(getattr(errors, failure.error, object), errors.EndpointError):
            raise errors.EndpointError(f"the {failure.who}: {failure.error}: {failure.problem}")
        said = _report(visit.report) if visit.report is not None else visit.answer or ""
        state.output = ModelOutput.from_content(str(doctor), said)
        return state

    return solve


def trace_of(kept: object) -> Trace:
    """Returns the trace that a sample's store keeps under `TRACE`, as far as the visit went.

    Raises:
        BadInput: there is none, or it is of another version.
    """
    if kept is None:
        raise BadInput("the sample's store holds no trace; was it solved by polyclinic/consultation?")
    try:
        return Trace(msgspec.convert(kept, list[Event]))
    except msgspec.ValidationError as error:
        raise BadInput(f"the trace in the sample's store cannot be read: {error}") from None


class Tested(Inspect):
    """A model that Inspect has opened, as a model of ours; what Inspect counts, limits and retries stays Inspect's.

    Inspect opens models and closes none. `async with` is for one that nobody else uses: the last visit that leaves
    closes the connections of our own provider, which opens them again when it is asked again.

    Args:
        model: the model under test, or one in a role of its own.
    """

    def __init__(self, model: InspectModel) -> None:
        # Inspect takes an open model for a name, and its own limit is the one that counts here.
        super().__init__(cast(str, model), concurrency=_ANY_NUMBER)
        self._model = cast(InspectModel, _AsConfigured(model))
        self._visits = 0

    async def __aenter__(self) -> Self:
        self._visits += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        self._visits -= 1
        if not self._visits and self.name.startswith("inspect/direct/"):
            await self._model.api.aclose()

    def _named(self, error: Exception) -> Exception:
        # A limit ends the sample, and our provider's errors have their names.
        return error if isinstance(error, LimitExceededError | PolyclinicError) else super()._named(error)


class _AsConfigured:
    """Leaves the time-out to Inspect's own options."""

    def __init__(self, model: InspectModel) -> None:
        self._model, self.api = model, model.api

    async def generate(self, messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        return await self._model.generate(messages, config=config.model_copy(update={"timeout": None}))


def _check(patient: str, max_turns: int) -> None:
    if max_turns < 1:
        raise BadInput(f"max_turns={max_turns}; the doctor needs 1 or more")
    model = model_of(patient)
    if model is None:
        read_script(Role.PATIENT, patient)
    elif model.partition("/")[0] == "local":
        raise UnknownMind(f"patient={patient}: Inspect cannot open {model}; serve it, and give direct/NAME")


def _minds(
    doctor: InspectModel, patient: str, base_url: str | None, knowledge: Knowledge, seed: int
) -> tuple[Minds, Tested | None]:
    """Returns who plays, and the patient's model where it is opened here."""
    tested = Tested(doctor)
    models, other = {tested.name: tested}, None
    if (name := model_of(patient)) is not None:
        # Not among the models that Inspect keeps for everybody: it is closed when no visit needs it.
        opened = get_model(name.removeprefix("inspect/"), role=_ROLE, base_url=base_url, memoize=False)
        models[name] = playing = Tested(opened)
        other = None if _ROLE in model_roles() else playing
    return Minds(doctor=tested.name, patient=patient, knowledge=knowledge, seed=seed, models=models), other


def _at_the_door(case: Case, known: str) -> ChatMessage:
    return ChatMessageSystem(content=f"Case {case.id}. Known at the door: {known}")


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
