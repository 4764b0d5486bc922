"""Runs a declared evaluation: opens the players, holds the work, and writes and prints the results."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from polyclinic.cases.case import Case
from polyclinic.errors import RunStopped, StoppedEarly, UserError
from polyclinic.evaluations.case_pictures import note_pictures
from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Setup, Work
from polyclinic.evaluations.memory_knowledge import say_other_knowledge
from polyclinic.evaluations.people import with_agreement
from polyclinic.evaluations.protocol import ByProtocol, held_by
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import Language
from polyclinic.parallel.holder import Holder
from polyclinic.parallel.pool import WorkerPool, check_site
from polyclinic.parallel.shipping import keys_of
from polyclinic.parallel.worker import WorkerSide
from polyclinic.players.mind_names import HUMAN, model_of
from polyclinic.players.patient_trust import PatientTrust
from polyclinic.retrieval.library import open_library
from polyclinic.run.batching import check_batches
from polyclinic.run.options import AskedModels, BatchOption, RunOptions, SessionOption, open_desk
from polyclinic.run.run import Run, resumable
from polyclinic.tasks import AT_ONCE, run_until_error
from polyclinic.terminal.screen import note

Options = TypeVar("Options")
OpenWorkers = Callable[..., AbstractAsyncContextManager[WorkerPool]]


async def evaluate(
    evaluation: Evaluation[Options, Any], options: Options, config: RunOptions, *, acted_on: Any = None
) -> None:
    """Runs an evaluation, and writes and prints the results; `acted_on` has the arguments of its command.

    Raises:
        UserError: the options cannot be used.
        RunStopped: the run was stopped; what was over was written and shown.
        PlayFailure: more failed than allowed; the results were written and shown.
    """
    run = Run(config)
    plan, setup, by = _planned(evaluation, options, run, acted_on)
    where = _where(plan, options, config)
    run.check_place()
    with nullcontext() if where is None else run.keeping_answers():
        async with _open(plan, options, setup) as (opened, trust):
            work = await plan.prepare(opened)
            if opened.session.at_once > AT_ONCE:  # in batches, what is asked together is sent together
                work = replace(work, at_once=opened.session.at_once)
            items = EvaluationItems(evaluation, options, config.for_worker(), acted_on)
            holder = Holder(opened.session.journal, opened.session.ledger)
            workers = None
            if where is not None:
                keys = keys_of(config.models)
                workers = partial(WorkerPool, where, items, holder, report=note, environment=keys)
            result = await _hold(run, work, plan, workers)
            if run.stopped is None:
                run.stopped = opened.ending
            if run.stopped is None and plan.afterwards is not None:
                _, stopped = await run_until_error([partial(plan.afterwards, opened)])
                if stopped is not None and not isinstance(stopped, RunStopped):
                    raise stopped
                run.stopped = stopped
    if work.report is None:
        raise TypeError("these plays have no report")
    output = work.report(result)
    if by is not None:
        output = output.beside({"temperatures": by.temperatures, "departures": by.departures}, by.show)
        output = replace(output, departures=by.departures)
    if plan.people:
        output = with_agreement(output, plan.people, seed=config.seed)
    if trust is not None and not (output.n and output.failed >= output.n):
        note(trust.line)
        output = output.with_trust(trust)
    run.finish(output, opened.session.ledger, purposes=plan.purposes, failure=plan.failure(result))
    plan.check(result)


@dataclass(frozen=True)
class EvaluationItems(Generic[Options]):
    """The work of an evaluation in a worker: it makes the same plan, and computes the items that it is given."""

    evaluation: Evaluation[Options, Any]
    options: Options
    config: RunOptions
    acted_on: Any = None

    @asynccontextmanager
    async def open(self, side: WorkerSide) -> AsyncIterator[Callable[[Any, WorkerSide], Awaitable[Any]]]:
        """Opens the players, and yields what computes an item."""
        plan, setup, _ = _planned(self.evaluation, self.options, Run(self.config, worker=side), self.acted_on)
        async with _open(plan, self.options, setup) as (opened, _trust):
            with side.uncounted():  # what is asked beforehand the command has asked, and counted
                work = await plan.prepare(opened)
            yield lambda item, _: work.compute(item)


def _planned(
    evaluation: Evaluation[Options, Any], options: Options, run: Run, acted_on: Any
) -> tuple[Plan, Setup[Any], ByProtocol[AskedModels] | None]:
    """Returns what is going to be done, and how it follows the protocol of a paper."""
    setup = Setup(run=run, paper=evaluation.paper, acted_on=acted_on)
    plan = evaluation.plan(options, setup)
    if setup.rules is None:
        return plan, setup, None
    by = held_by(setup.rules, run.config.models, plan.roles, cases=len(plan.cases))
    run.asking(replace(run.config, models=by.models))
    return plan, setup, by


def _where(plan: Plan, options: object, config: RunOptions) -> str | None:
    """Returns where the items are computed, None for this process."""
    if config.on is None:
        return None
    check_site(config.on)
    if HUMAN in (*plan.doctors, *(() if plan.visits is None else (plan.visits.patient,))):
        raise UserError(f"--on {config.on}: a person plays in one process; leave it out")
    if isinstance(options, BatchOption) and options.batch_api:
        note(f"models.batch-api: asked from here, in one file; no worker of --on {config.on} is kept waiting for it")
        return None
    return config.on


@asynccontextmanager
async def _open(plan: Plan, options: Any, setup: Setup[Any]) -> AsyncIterator[tuple[Opened, PatientTrust | None]]:
    """Opens what the plan names; with it comes how reliable the simulated patient is, where there is one."""
    run, knowledge = setup.run, read_knowledge()
    models = [name for name in plan.models if name is not None and model_of(name) is not None]
    batches = False
    if isinstance(options, BatchOption):
        asked = [*plan.doctors, *models, *(() if plan.visits is None else (plan.visits.patient, plan.visits.examiner))]
        talking = plan.visits is not None and plan.in_person
        batches = check_batches(run.config, asked, wanted=options.batch_api, methods=plan.methods, talking=talking)
    async with AsyncExitStack() as stack:
        if plan.visits is None:
            named = f"seed={run.config.seed} {plan.named}"
            stack.enter_context(resumable(run.config))
            session = await stack.enter_async_context(run.session(models, named=named, batches=batches))
            library = getattr(options, "library", None)
            looking_up = library and await stack.enter_async_context(open_library(library, session, run.config.models))
            yield Opened(minds={}, session=session, knowledge=knowledge, looking_up=looking_up, stack=stack), None
            return
        visits = plan.visits
        note_pictures(visits.cases, plan.cases, plan.doctors, run.config.models, visits.pictures)
        desk = open_desk(options, [*plan.doctors, visits.patient]) if isinstance(options, SessionOption) else None
        players = await stack.enter_async_context(
            run.players(
                plan.doctors,
                visits,
                director=plan.director,
                judges=models,
                languages=_languages(plan.cases),
                pictures=setup.pictures,
                batches=batches,
                desk=desk,
            )
        )
        say_other_knowledge(visits.memory)
        trust = players.patient_trust if plan.in_person else None
        in_worker = run.worker is not None
        opened = Opened(
            minds=players.minds, session=players.session, knowledge=knowledge, in_worker=in_worker, stack=stack
        )
        yield opened, trust


def _languages(cases: Sequence[Case]) -> set[Language]:
    return {case.presentation.language for case in cases}


async def _hold(run: Run, work: Work, plan: Plan, workers: OpenWorkers | None) -> Any:
    """Holds the work, here or by workers; if it was stopped, returns the summary of what was over.

    Raises:
        StoppedEarly: it was stopped, and there is no summary of what was over.
    """
    config = run.config
    seated = HUMAN in plan.doctors
    limited = config.models.token_budget is not None or config.models.cost_budget is not None
    if seated:
        work = replace(
            work, at_once=1
        )  # a person sees one patient at a time, and no record before the end of that visit
    elif limited:
        # Otherwise all plays would be half over when the budget is spent, and none would be in the table.
        most = 2 * (config.models.concurrency or AT_ONCE) * max(len(work.players), 1)
        work = replace(work, at_once=min(work.at_once, most))
    total = len(work.items) * len(work.players)
    async with AsyncExitStack() as stack:
        compute = None
        if workers is not None:
            pool = await stack.enter_async_context(workers(items=total))
            compute = pool.compute
            if not limited:
                work = replace(work, at_once=work.at_once * pool.workers)
        advance = stack.enter_context(run.progress(plan.doing, total, quiet=seated))
        try:
            result = await work.hold(advance=advance, elsewhere=compute)
        except StoppedEarly as stopped:
            if stopped.summary is None:
                raise
            run.stopped = stopped
            return stopped.summary
    return result
