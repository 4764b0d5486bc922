"""Our evaluations as tasks of Inspect: `inspect eval polyclinic/aie -T cases=FILE --model direct/NAME`.

A task is made of an evaluation's declaration: its arguments are the options of `polyclinic eval NAME`, and the model
under test is one of the players. A sample is all that the evaluation puts to a player about one case; its score is the
row that the evaluation makes of it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Any, NamedTuple, cast

import msgspec
from cyclopts import CycloptsError
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, ModelOutput, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from polyclinic.answering.outcome import Outcome
from polyclinic.cli.calling import bind, complaint
from polyclinic.errors import EndpointError, UserError
from polyclinic.evals.methods import Tested, in_role, told
from polyclinic.evaluations.declared import DECLARATIONS, declaration
from polyclinic.evaluations.evaluation import Opened, Plan, Play, Work, planned
from polyclinic.evaluations.samples import ItemSample
from polyclinic.events import Examined, Failed, Role, Said
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.grades import Judgement
from polyclinic.models.ledger import Ledger
from polyclinic.models.scripted import Scripted
from polyclinic.models.session import OpenModels, Session
from polyclinic.players.mind_names import model_of
from polyclinic.players.minds import Minds
from polyclinic.run.output import Output
from polyclinic.run.run import Run
from polyclinic.visits.visit import Visit

RESULT = "result"
"""The key of a sample's result in its store: `values` by measure, the `document` and the `files` of its one item."""

VERSION = 2
"""Results of one version can be compared; it changes with prompts, scores and what a patient says."""

FAILURES = 0.05
"""Share of samples without an endpoint's answer above which the evaluation has failed; all are run all the same."""


def _not_yet(*_: Any) -> UserError:
    return UserError("a task of Inspect asks no model before its samples are known")


class _Prepared(NamedTuple):
    """An evaluation with its players, for one model under test."""

    plan: Plan
    work: Work
    samples: Mapping[str, ItemSample]  # by id
    numbers: Mapping[str, Sequence[int]]  # of the items of each sample
    models: Sequence[Tested]


async def _prepare(name: str, arguments: Mapping[str, Any], tested: Tested | None) -> _Prepared:
    """Makes the plan of an evaluation and opens its players; without a model under test, to list its items."""
    declared = declaration(name)
    if declared.tested is None:
        raise TypeError(f"{name} declares no model under test")
    option, defaults = declared.tested.option, declared.tested.defaults
    under_test = "inspect/tested/model" if tested is None else tested.name
    chosen = {**defaults, **arguments}
    mind = chosen.get(option)
    chosen[option] = f"{mind}:{under_test}" if mind else under_test
    try:
        bound = bind(f"eval {name}", chosen, f"-T of polyclinic/{name}").bound.arguments
    except CycloptsError as error:
        raise UserError(complaint(error)) from None
    options, run = bound["options"], Run(bound["run"])
    plan, _, _ = planned(declared, options, run, bound.get("acted_on"))
    for lent in ("library", "memory"):
        found = getattr(options, lent, None)
        if getattr(found, "corpus", None) or getattr(found, "memory", None):
            raise UserError(f"{name}: a task of Inspect has no corpus and no memory; take polyclinic eval {name}")
    settings, visits, knowledge = run.config.models, plan.visits, read_knowledge()
    seats: dict[str, Sequence[str | None]] = {"grader": [*plan.judges, *plan.models], "director": [plan.director]}
    if visits is not None:
        seats |= {"patient": [visits.patient], "examiner": [visits.examiner], "doctor": plan.doctors}
    models, opened = OpenModels(None, settings.said, None, settings.temperature), list[Tested]()
    for role, minds in seats.items():
        for called in filter(None, (model_of(one) for one in minds if one is not None)):
            if tested is None:
                models[called] = Scripted(_not_yet, name=called)
            elif called not in models:
                opened.append(tested if called == tested.name else in_role(role, called))
                models[called] = opened[-1]
    ledger = Ledger()
    given: dict[str, Any] = {"knowledge": knowledge, "seed": run.config.seed, "models": models, "ledger": ledger}
    if visits is not None:
        given |= {"patient": visits.patient, "examiner": visits.examiner, "director": plan.director}
    doctors = () if visits is None else plan.doctors
    players = {one: Minds(doctor=one, temperature=settings.temperature, **given) for one in doctors}
    session = Session(models, None, ledger)
    work = await plan.prepare(Opened(minds=players, session=session, knowledge=knowledge, stack=AsyncExitStack()))
    if len(work.players) != 1:
        raise UserError(f"{name}: {len(work.players)} take part ({', '.join(work.players)}); a task has one")
    samples = [declared.tested.sample(item) for item in work.items]
    numbers: dict[str, list[int]] = {}
    for number, sample in enumerate(samples):
        numbers.setdefault(sample.id, []).append(number)
    return _Prepared(plan, work, {sample.id: sample for sample in samples}, numbers, opened)


@solver(name="evaluation")
def evaluation(name: str, **arguments: Any) -> Solver:
    """Puts each sample to the model under test, as the evaluation of this name does; see `polyclinic.evals.tasks`."""
    ready: dict[tuple[int, int], asyncio.Task[_Prepared]] = {}  # by model and epoch

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        model = get_model()
        key = id(model), state.epoch
        try:
            if key not in ready:
                ready[key] = asyncio.ensure_future(_prepare(name, arguments, Tested(model)))
            plan, work, _, numbers, models = await asyncio.shield(ready[key])
            async with AsyncExitStack() as stack:
                for one in models:
                    await stack.enter_async_context(one)
                ((player, who),) = work.players.items()
                items = numbers[str(state.sample_id)]
                came = await asyncio.gather(*(work.compute((player, number)) for number in items))
                plays = [Play(work.items[n], who, *theirs) for n, theirs in zip(items, came, strict=True)]
                summary = await work.summarise({player: plays})
            output = cast(Callable[[Any], Output], work.report)(summary)
            state.messages += [message for play in plays for message in _messages(play)]
            (row,) = output.rows
            problem = plan.failure(summary) or _unanswered(plays)
            if problem or not row.values:
                raise EndpointError(problem or output.failures or "no score")
        except BaseException:
            ready.pop(key, None)  # what was shared may hold the failure
            raise
        result = {
            "values": {one.name: row.values.get(one.name) for one in output.measures},
            "document": output.document,
            "files": {file: list(records) for file, records in output.files.items()},
        }
        state.store.set(RESULT, msgspec.to_builtins(result, order="deterministic", str_keys=True, enc_hook=str))
        answers = [message.text for message in _messages(plays[0]) if message.role == "assistant"]
        state.output = ModelOutput.from_content(str(model), answers[-1] if answers else "")
        return state

    return solve


def _unanswered(plays: Sequence[Play[Any, Any, Any, Any]]) -> str:
    """Returns who got no answer in a visit, or as its judge; "" if everybody did."""
    for play in plays:
        if isinstance(play.scored, Judgement) and play.scored.failed:
            return f"the judge {play.scored.judge}: {play.scored.failed}"
        failure = play.played.trace.last(Failed) if isinstance(play.played, Visit) else None
        if failure is not None and not failure.answered:
            return f"the {failure.who}: {failure.error}: {failure.problem}"
    return ""


def _messages(play: Play[Any, Any, Any, Any]) -> list[ChatMessage]:
    """Returns a play as it is read in a log; nothing of what only the truth says."""
    if isinstance(play.played, Visit):
        visit = play.played
        found: list[ChatMessage] = []
        for event in visit.trace:
            if isinstance(event, Said) and event.who is Role.DOCTOR:
                found.append(ChatMessageAssistant(content=event.text))
            elif isinstance(event, Said | Examined):
                found.append(ChatMessageUser(content=event.text))
        handed_in = visit.answer or (visit.report and "; ".join(one.name for one in visit.report.diagnoses))
        return [*found, *([ChatMessageAssistant(content=handed_in)] if handed_in else [])]
    scored = next(iter(play.scored.values()))[0] if isinstance(play.scored, dict) else play.scored
    outcome = getattr(scored, "outcome", None)
    return [ChatMessageAssistant(content=told(outcome))] if isinstance(outcome, Outcome) and outcome.answers else []


@scorer(metrics={"*": [mean(), stderr()]}, name="row")
def row() -> Scorer:
    """Scores a sample by the measures of its evaluation, with the document of the one item in the metadata."""

    async def score(state: TaskState, target: Target) -> Score:
        if (result := state.store.get(RESULT)) is None:
            problem = "the sample's store has no result; was it solved by polyclinic/evaluation?"
            return Score.unscored(reason="scoring_failed", explanation=problem)
        values = {name: math.nan if value is None else value for name, value in result["values"].items()}
        return Score(value=values, answer=state.output.completion, metadata=result["document"])

    return score


def _task_of(name: str) -> Callable[..., Task]:
    def made(**arguments: Any) -> Task:
        # In a thread: Inspect makes tasks in its loop, and without one.
        with ThreadPoolExecutor(1) as thread:
            samples = thread.submit(asyncio.run, _prepare(name, arguments, None)).result().samples
        return Task(
            dataset=MemoryDataset([Sample(**one._asdict()) for one in samples.values()], name=name),
            solver=evaluation(name, **arguments),
            scorer=row(),
            version=VERSION,
            fail_on_error=FAILURES,
            continue_on_fail=True,
        )

    made.__name__ = made.__qualname__ = name.replace("-", "_")
    made.__doc__ = f"`polyclinic eval {name}` with the model under test; the arguments are its options."
    registered: Callable[..., Task] = task(name=made.__name__)(made)
    return registered


TASKS = {name: _task_of(name) for name in DECLARATIONS}
"""The task of each evaluation, by the evaluation's name."""
