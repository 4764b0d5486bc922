"""The model under test as the doctor of a visit: what the solvers and scorers of visits share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from typing import NamedTuple, Protocol

import msgspec
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    get_model,
    model_roles,
)
from inspect_ai.model import Model as InspectModel
from inspect_ai.scorer import Score, Scorer, Target
from inspect_ai.solver import Solver, TaskState

from polyclinic import errors
from polyclinic.cases.case import Case
from polyclinic.cases.report import Report
from polyclinic.errors import BadInput, UnknownMind
from polyclinic.evals.adapter import Tested, Told, scoring, solving
from polyclinic.events import Chosen, End, Ended, Event, Examined, Failed, Reported, Role, Said, Trace
from polyclinic.judging.director import sections_of
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.dialogue import information_of, unusable_answer
from polyclinic.players.mind_names import model_of
from polyclinic.players.minds import Minds, check_mind
from polyclinic.players.patient_trust import trust_fields, trust_in
from polyclinic.visits.revisit import revisit
from polyclinic.visits.visit import Visit

TRACE = "trace"
"""Where in the sample's store the events of the visit lie."""

_ROLE = "patient"


class SeePatient(Protocol):
    """Lets a doctor see the patient of a case; calls `watch` with each event as it happens."""

    def __call__(self, case: Case, minds: Minds, /, *, watch: Callable[[Event], None]) -> Awaitable[Visit]:
        """Returns the visit."""
        ...


class _Players(NamedTuple):
    """Who plays, and the patient's model where it is opened here."""

    minds: Minds
    patient: Tested | None


def visiting(
    cases: Mapping[str, Case],
    see: SeePatient,
    *,
    patient: str,
    patient_base_url: str | None,
    max_turns: int | None,
    in_one_step: bool,
    seed: int,
) -> Solver:
    """Returns what lets the model under test see the patient of each case.

    The visit becomes the sample's messages, and its events go into the sample's store under `TRACE`. Where a model
    answers and the answer cannot be used, the visit has failed, and the sample goes on to its scorer. Where no answer
    comes, the sample is an error of Inspect's. The patient's model, that of `saps:MODEL`, is one of Inspect's, in the
    role `patient`.

    Raises:
        UserError: the patient's mind or the number of turns cannot be used.
    """
    knowledge = read_knowledge()
    _check(patient, max_turns)

    def players(doctor: InspectModel) -> _Players:
        tested = Tested(doctor)
        models, other = {tested.name: tested}, None
        if (name := model_of(patient)) is not None:
            # Not among the models that Inspect keeps for everybody: it is closed when no visit needs it.
            opened = get_model(name.removeprefix("inspect/"), role=_ROLE, base_url=patient_base_url, memoize=False)
            models[name] = playing = Tested(opened)
            other = None if _ROLE in model_roles() else playing
        return _Players(
            Minds(doctor=tested.name, patient=patient, knowledge=knowledge, seed=seed, models=models), other
        )

    async def play(case: Case, who: _Players, state: TaskState) -> Told:
        trace = Trace()
        known = f"Case {case.id}. Known at the door: {state.input_text}"
        state.messages = [ChatMessageSystem(content=known)]
        if in_one_step:
            state.messages.append(ChatMessageUser(content=information_of(case)))

        def watch(event: Event) -> None:
            trace.add(event)
            # One by one: a limit may end the visit, and what was said until then is to be read.
            for message in _messages(event, case):
                state.messages.append(message)

        try:
            async with who.patient or nullcontext():
                visit = await see(case, who.minds, watch=watch)
        finally:
            state.store.set(TRACE, msgspec.to_builtins(list(trace)))
            if not in_one_step:
                state.metadata |= trust_fields(trust_in(patient, [who.minds.names[Role.DOCTOR]]))
        failure = visit.trace.last(Failed)
        if failure is not None and issubclass(getattr(errors, failure.error, object), errors.EndpointError):
            return Told("", f"the {failure.who}: {failure.error}: {failure.problem}")
        return Told(_report(visit.report) if visit.report is not None else visit.answer or "")

    return solving(cases, players, play)


def visit_scoring(score: Callable[[str, Visit], Awaitable[Score]]) -> Scorer:
    """Returns what scores, by the case's id, visits that a doctor is to answer for; the others have no score."""

    async def scored(id: str, visit: Visit, target: Target) -> Score:
        del target
        if visit.end is End.FAILED and unusable_answer(visit.trace) is None:
            return unscored("the visit failed", visit.trace)
        return await score(id, visit)

    return scoring(lambda state: revisit(trace_of(state.store.get(TRACE))), scored)


def unscored(problem: str, trace: Trace) -> Score:
    """Returns a score that no mean counts, with the name of the failure where there is one."""
    failure = trace.last(Failed)
    if failure is None:
        return Score.unscored(reason="scoring_failed", explanation=problem)
    told = f"the visit failed, by the {failure.who}: {failure.error}: {failure.problem}"
    return Score.unscored(reason=failure.error, explanation=told)


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


def _check(patient: str, max_turns: int | None) -> None:
    if max_turns is not None and max_turns < 1:
        raise BadInput(f"max_turns={max_turns}; the doctor needs 1 or more")
    model = model_of(patient)
    if model is None:
        check_mind(Role.PATIENT, patient)
    elif model.partition("/")[0] == "local":
        raise UnknownMind(f"patient={patient}: Inspect cannot open {model}; serve it, and give direct/NAME")


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
