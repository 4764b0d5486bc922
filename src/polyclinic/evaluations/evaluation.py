"""An evaluation is a declaration; `evaluate` runs it: it opens the players, holds the plays, writes and prints.

    AIE = Evaluation(name="aie", help="...", options=AieOptions, paper=AieSettings, plan=plan)

`plan` reads what the options name and refuses what cannot be evaluated, before a model is asked. `Plan.prepare` is then
called with the open players; it may ask models, and returns `Plays`: items, players, what a play is and what it is
worth. `docs/extend.md` shows a whole one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Self, SupportsIndex, TypeVar

from polyclinic.cases.case import Case
from polyclinic.cases.pictures import CasePictures
from polyclinic.errors import (
    AccessLost,
    BadInput,
    PolyclinicError,
    RunStopped,
    StoppedEarly,
    UnknownModel,
    UserError,
    WrongKey,
    meant,
)
from polyclinic.evaluations.case_pictures import cases_with_pictures
from polyclinic.evaluations.memory_knowledge import say_other_knowledge
from polyclinic.evaluations.people import with_people
from polyclinic.evaluations.protocol import ByProtocol, followed, held_by
from polyclinic.evaluations.samples import UnderTest
from polyclinic.judging.model_judging import UntilStopped
from polyclinic.judging.verdicts import Known, PersonsVerdict, read_verdicts
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.methods.table import ChosenMethod, ModelFor
from polyclinic.models.model import Model
from polyclinic.models.open import meant_model
from polyclinic.models.pipeline import Asker, Tuning, with_hooks
from polyclinic.models.session import Session
from polyclinic.parallel.holder import Holder
from polyclinic.parallel.pool import WorkerPool, check_site
from polyclinic.parallel.shipping import keys_of
from polyclinic.parallel.worker import WorkerSide
from polyclinic.players.human.desk import Desk
from polyclinic.players.mind_names import HUMAN, model_of
from polyclinic.players.minds import Minds
from polyclinic.players.patient_trust import PatientTrust
from polyclinic.plugins import find, full_name
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import Settings
from polyclinic.retrieval.library import open_library
from polyclinic.retrieval.retriever import LookingUp
from polyclinic.run.batching import check_batches
from polyclinic.run.options import AskedModels, BatchOption, CaseOptions, RunOptions, SessionOption, open_desk
from polyclinic.run.output import Output, finish
from polyclinic.run.run import Run, resumable
from polyclinic.run.storing import check_place
from polyclinic.stopping import is_stopped
from polyclinic.tasks import AT_ONCE, run_until_error
from polyclinic.terminal.screen import note

Item = TypeVar("Item")
Who = TypeVar("Who")
Played = TypeVar("Played")
Scored = TypeVar("Scored")
Summary = TypeVar("Summary")
Options = TypeVar("Options")
S = TypeVar("S", bound=Settings)


QUESTIONS_AT_ONCE = 1024
"""Plays at a time if only models are asked: the models' own limits count, and what has not begun can be stopped."""

Elsewhere = Callable[[Any], Awaitable[Any]]
"""Has an item of the work computed by another process, with `Plays.compute`."""


@dataclass(frozen=True)
class Play(Generic[Item, Who, Played, Scored]):
    """One item, its player, the course of the play, and its score."""

    item: Item
    player: Who
    played: Played
    scored: Scored


@dataclass(frozen=True, kw_only=True)
class Plays(Generic[Item, Who, Played, Scored, Summary]):
    """Every item is put to every player, all at once.

    Attributes:
        items: what is put to every player.
        players: by name.
        play: puts an item to a player; a failure of the player is part of what it returns, and not raised.
        score: scores a play, and may ask a judge.
        summarise: sums up the plays of every player, in the order of the items; of a stopped run some are missing.
        report: returns the output of a summary.
        at_once: how many plays run at a time.
        goes_on_without: whether the other players go on without one whose model refuses the key or is unknown.
    """

    items: Sequence[Item]
    players: Mapping[str, Who] = field(default_factory=dict)
    play: Callable[[Item, Who], Awaitable[Played]]
    score: Callable[[Item, Who, Played], Awaitable[Scored]]
    summarise: Callable[[Mapping[str, Sequence[Play[Item, Who, Played, Scored]]]], Awaitable[Summary]]
    report: Callable[[Summary], Output] | None = None
    at_once: int = AT_ONCE
    goes_on_without: bool = False

    def by(self, players: Mapping[str, Who], report: Callable[[Summary], Output]) -> Self:
        """Returns the same plays by these players, with what makes the output of a summary."""
        return replace(self, players=players, report=report)

    async def compute(self, item: tuple[str, int]) -> tuple[Played, Scored]:
        """Returns the play of an item, by its number, and a player, by name, and its score."""
        name, number = item
        player, put = self.players[name], self.items[number]
        played = await self.play(put, player)
        return played, await self.score(put, player, played)

    async def hold(
        self,
        players: Mapping[str, Who] | None = None,
        *,
        advance: Callable[[], None] = lambda: None,
        elsewhere: Elsewhere | None = None,
    ) -> Summary:
        """Puts every item to every player, here or `elsewhere`, and calls `advance` after each play.

        Raises:
            WrongKey: an endpoint wants another key, and nothing is over.
            UnknownModel: it has no such model, and nothing is over.
            StoppedEarly: the budget is spent, the user stopped the run, or a model cannot be asked any more.
        """
        if players is not None:
            return await replace(self, players=players).hold(advance=advance, elsewhere=elsewhere)
        entrants, compute = self.players, elsewhere or self.compute

        refused: dict[str, WrongKey | UnknownModel] = {}
        over: dict[tuple[str, int], Play[Item, Who, Played, Scored]] = {}

        async def one(name: str, number: int) -> None:
            if name in refused:
                return
            try:
                played, scored = await compute((name, number))
            except (WrongKey, UnknownModel) as error:
                if not self.goes_on_without:
                    raise
                if str(error) not in map(str, refused.values()):
                    note(f"{error}; the other models are asked meanwhile")
                refused.setdefault(name, error)
                return
            advance()
            over[name, number] = Play(self.items[number], entrants[name], played, scored)

        n = len(self.items)
        makes = (partial(one, name, number) for name in entrants for number in range(n))
        _, stopped = await run_until_error(makes, at_once=self.at_once)
        stopped = stopped or next(iter(refused.values()), None)
        if over and isinstance(stopped, (WrongKey, UnknownModel)):
            stopped = AccessLost(str(stopped))
        if stopped is not None and not isinstance(stopped, RunStopped):
            raise stopped
        plays = {name: [over[name, number] for number in range(n) if (name, number) in over] for name in entrants}
        if stopped is None:
            return await self.summarise(plays)
        summary = None
        # A judge may not be asked any more, or too little is over.
        with suppress(PolyclinicError, ArithmeticError, LookupError, ValueError):
            summary = await self.summarise(plays)
        left = [f"{name} {n - len(theirs)} of {n}" for name, theirs in plays.items() if len(theirs) < n]
        raise StoppedEarly(stopped, f"missing: {', '.join(left)}", summary=summary) from None


Work = Plays[Any, Any, Any, Any, Any]
"""What `Plan.prepare` returns."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What is open while an evaluation runs.

    Attributes:
        minds: the players of each doctor's visits, by doctor.
        session: the models, their kept answers and what they cost.
        knowledge: the medical knowledge.
        looking_up: the corpus, None if there is none.
        in_worker: whether this process is a worker, which computes only the items it is given.
        trust: how reliable the simulated patient is, None if there is none or nobody has measured it.
        stack: what is entered on it is closed at the end.
    """

    minds: Mapping[str, Minds]
    session: Session
    knowledge: Knowledge
    stack: AsyncExitStack
    looking_up: LookingUp | None = None
    in_worker: bool = False
    trust: PatientTrust | None = None
    judges: list[UntilStopped] = field(default_factory=list)

    def judge(self, name: str, *, as_it_goes: bool = False) -> Model:
        """Returns a model that judges; if it cannot be asked, that ends the run only if it judges `as_it_goes`."""
        model = self.session.model(name, Asker("judge", "judge"))
        if as_it_goes and self.in_worker:
            return model  # the command must hear of it
        until = UntilStopped(is_stopped=is_stopped, judges_as_it_goes=as_it_goes)
        self.judges.append(until)
        return until.of(model)

    def episodes(self, model: str, *, max_tokens: int | None = None) -> Callable[[str], ModelFor]:
        """Returns, for a method's label, the model for each item; its answers are kept under label and item."""
        tuning = [] if max_tokens is None else [Tuning(max_tokens=max_tokens)]

        def model_for(label: str, item: str) -> Model:
            asker = Asker(label, f"{label} {item}", item=item, player=label)
            return with_hooks(self.session.model(model, asker), *tuning)

        return lambda label: partial(model_for, label)

    @property
    def ending(self) -> RunStopped | None:
        """The reason a judge was stopped, with how many of its questions are missing."""
        return next((one.ending for one in self.judges if one.stopped is not None), None)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What one run of an evaluation is going to do.

    Attributes:
        prepare: is called when all is open, and returns the work.
        visits: the cases and the other players, None if only models are asked.
        doctors: the minds that see patients.
        judges: the models that judge; None is nobody.
        models: further models.
        director: the mind that chairs teams.
        cases: what the doctors see.
        methods: by which questions are put, if there are no visits.
        in_person: whether doctors talk with patients; if so, the patient's reliability is printed, and no model is
            asked in batches.
        named: the name of the run among kept answers; by default made of seed, patient and examiner.
        doing: shown beside the progress.
        purposes: whether costs are printed by purpose, too.
        people: verdicts that are printed beside the results.
        afterwards: is called when the plays are over, such as to attack the examiner.
        failure: says of a result that more failed than allowed, if the output does not count it; "" if not.
        check: is called at the end with the result.
    """

    prepare: Callable[[Opened], Awaitable[Work]]
    visits: CaseOptions | None = None
    doctors: Sequence[str] = ("rules",)
    judges: Sequence[str | None] = ()
    models: Sequence[str | None] = ()
    director: str = "rules"
    cases: Sequence[Case] = ()
    methods: Sequence[ChosenMethod] = ()
    in_person: bool = True
    named: str = ""
    doing: str = "evaluating"
    purposes: bool = True
    people: Sequence[PersonsVerdict] = ()
    afterwards: Callable[[Opened], Awaitable[Any]] | None = None
    failure: Callable[[Any], str] = lambda _: ""
    check: Callable[[Any], None] = lambda _: None

    @property
    def seats(self) -> list[str]:
        """Everybody who plays in a visit."""
        others = [] if self.visits is None else [self.visits.patient, self.visits.examiner]
        return [*self.doctors, *others]


@dataclass(kw_only=True)
class Setup(Generic[S]):
    """What a plan is made with.

    Attributes:
        run: the run.
        paper: the settings of the evaluation's paper.
        acted_on: the arguments of the command, as `Evaluation.acted_on` declares them.
        rules: the protocol that is followed; set by `follow`.
        pictures: what doctors are shown; set by `cases`.
    """

    run: Run
    paper: type[S] | None = None
    acted_on: Any = None
    rules: FollowedProtocol[S] | None = None
    pictures: CasePictures | None = None

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.run.config.seed

    def follow(self, given: str, **minds: str | None) -> FollowedProtocol[S]:
        """Returns the protocol that is followed; refuses minds that may not play their roles in it."""
        if self.paper is None:
            raise TypeError("this evaluation follows no paper")
        self.rules = followed(self.paper, given, **minds)
        return self.rules

    def cases(
        self, options: CaseOptions, doctors: Sequence[str], *, needs: Callable[[Case], str] = lambda _: ""
    ) -> list[Case]:
        """Reads the usable cases, of which `needs` returns what one lacks; counts and names the others."""

        def read(unseen: Callable[[Case], str]) -> list[Case]:
            return self.run.cases(options, needs=lambda case: needs(case) or unseen(case))

        models = self.run.config.models
        cases, self.pictures = cases_with_pictures(read, options.cases, doctors, models, options.pictures)
        return cases

    def verdicts(
        self, paths: Sequence[Path] | None, known: Callable[[], Known], *, form: str | None = None
    ) -> list[PersonsVerdict]:
        """Reads people's verdicts on what is `known`, and refuses all others; those of this `form` need not name it."""
        if not paths:
            return []
        items = known()
        said = read_verdicts(paths, known=items, form=form)
        if (other := next((one.form for one in said if one.form not in items), None)) is not None:
            problem = f"there are verdicts of the form {other!r}; here it is {' or '.join(items)}"
            raise BadInput(problem, path=paths[0])
        return said


@dataclass(frozen=True, kw_only=True)
class Evaluation(Generic[Options, S]):
    """An evaluation.

    Attributes:
        name: the command is `eval NAME`, and so is the kind of its results.
        help: what the command does, in a line; of ours `declared` has it.
        options: a frozen dataclass; each field is an option.
        plan: returns what a run with these options is going to do; a UserError for what cannot be done.
        paper: the settings of the paper's protocol, None if it follows none.
        acted_on: a frozen dataclass whose fields are the arguments of the command, before its options.
        tested: what makes it a task of Inspect; None for no task.
        at: `FILE.py:NAME` of a user's declaration, or its entry point, by which a worker finds it.
    """

    name: str
    options: type[Options]
    plan: Callable[[Options, Setup[S]], Plan]
    help: str = ""
    paper: type[S] | None = None
    acted_on: type | None = None
    tested: UnderTest | None = None
    at: str = ""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return (find_evaluation, (self.at,)) if self.at else super().__reduce_ex__(protocol)


def find_evaluation(at: str) -> Evaluation[Any, Any] | None:
    """Returns a user's evaluation, `FILE.py:NAME` or an entry point's name; None if there is none.

    Raises:
        BadInput: the file cannot be run, or holds no such name.
        UserError: something else stands under that name.
    """
    declared = find(at, "evaluations")
    if declared is None:
        return None
    if not isinstance(declared, Evaluation):
        raise UserError(f"{at!r} is no evaluation; declare one: NAME = Evaluation(...), as docs/extend.md shows")
    return replace(declared, at=full_name(at))


def check_judge(name: str | None, *, option: str = "--judge", also: str = "") -> None:
    """Raises a UserError for a judge that is neither a model nor the one that is `also` allowed; None is no judge."""
    if name is not None and name != also and model_of(name) is None:
        named = f"name one, such as direct/NAME{f', or {also}' if also else ''}"
        near = meant(name, [also]) if also else ""
        raise UserError(f"{option} {name!r} is not a model{near or meant_model(name)}; {named}")


def judge_failure(lost: Mapping[str, int], of: int, problem: str, max_failures: float) -> str:
    """Returns that more questions to a judge were lost, by the names of the failures, than may be; "" if not."""
    if 100 * sum(lost.values()) <= max_failures * max(of, 1):
        return ""
    told = f"{sum(lost.values())} of {of} {problem} ({', '.join(lost)})"
    return f"{told}; run.max-failures allows {max_failures:g} %"


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
    plan, setup, by = planned(evaluation, options, run, acted_on)
    where = _where(plan, options, config)
    check_place(run.config)
    with nullcontext() if where is None else run.keeping_answers():
        async with _open(plan, options, setup) as opened:
            work = await plan.prepare(opened)
            if opened.session.at_once > AT_ONCE:  # in batches, what is asked together is sent together
                work = replace(work, at_once=opened.session.at_once)
            pool = None
            if where is not None:
                items = EvaluationItems(evaluation, options, config.for_worker(), acted_on)
                holder = Holder(opened.session.journal, opened.session.ledger)
                keys, plays = keys_of(config.models), len(work.items) * len(work.players)
                workers = WorkerPool(where, items, holder, report=note, environment=keys, items=plays)
                pool = await opened.stack.enter_async_context(workers)
            result = await _hold(run, work, plan, pool)
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
        output = with_people(output, plan.people, seed=config.seed)
    if opened.trust is not None and not (output.n and output.failed >= output.n):
        note(opened.trust.line)
        output = output.with_trust(opened.trust)
    finish(run, output, opened.session.ledger, purposes=plan.purposes, failure=plan.failure(result))
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
        plan, setup, _ = planned(self.evaluation, self.options, Run(self.config, worker=side), self.acted_on)
        async with _open(plan, self.options, setup) as opened:
            with side.uncounted():  # what is asked beforehand the command has asked, and counted
                work = await plan.prepare(opened)
            yield lambda item, _: work.compute(item)


def planned(
    evaluation: Evaluation[Options, Any], options: Options, run: Run, acted_on: Any
) -> tuple[Plan, Setup[Any], ByProtocol[AskedModels] | None]:
    """Returns what is going to be done, and how it follows the protocol of a paper."""
    setup = Setup(run=run, paper=evaluation.paper, acted_on=acted_on)
    plan = evaluation.plan(options, setup)
    if setup.rules is None:
        return plan, setup, None
    roles = {"doctor": plan.doctors, "director": [plan.director], "judge": plan.judges}
    if plan.visits is not None:
        roles |= {"patient": [plan.visits.patient], "examiner": [plan.visits.examiner]}
    by = held_by(setup.rules, run.config.models, roles, cases=len(plan.cases))
    run.config = replace(run.config, models=by.models)
    return plan, setup, by


def _where(plan: Plan, options: object, config: RunOptions) -> str | None:
    """Returns where the items are computed, None for this process."""
    if config.on is None:
        return None
    check_site(config.on)
    if HUMAN in plan.seats:
        raise UserError(f"--on {config.on}: a person plays in one process; leave it out")
    if isinstance(options, BatchOption) and options.batch_api:
        note(f"models.batch-api: asked from here, in one file; no worker of --on {config.on} is kept waiting for it")
        return None
    return config.on


@asynccontextmanager
async def _open(plan: Plan, options: Any, setup: Setup[Any]) -> AsyncIterator[Opened]:
    """Opens what the plan names."""
    run, knowledge = setup.run, read_knowledge()
    models = [name for name in (*plan.judges, *plan.models) if name is not None and model_of(name) is not None]
    batches = False
    if isinstance(options, BatchOption):
        asked, talking = [*plan.seats, *models], plan.visits is not None and plan.in_person
        batches = check_batches(run.config, asked, wanted=options.batch_api, methods=plan.methods, talking=talking)
    async with AsyncExitStack() as stack:
        if plan.visits is None:
            named = f"seed={run.config.seed} {plan.named}"
            stack.enter_context(resumable(run.config))
            session = await stack.enter_async_context(run.session(models, named=named, batches=batches))
            library = getattr(options, "library", None)
            looking_up = library and await stack.enter_async_context(open_library(library, session, run.config.models))
            yield Opened(minds={}, session=session, knowledge=knowledge, looking_up=looking_up, stack=stack)
            return
        visits = plan.visits
        desk = open_desk(options, plan.seats) if isinstance(options, SessionOption) else Desk()
        players = await stack.enter_async_context(
            run.players(
                plan.doctors,
                visits,
                director=plan.director,
                judges=models,
                languages={case.presentation.language for case in plan.cases},
                pictures=setup.pictures,
                batches=batches,
                desk=desk,
            )
        )
        say_other_knowledge(visits.memory)
        yield Opened(
            minds=players.minds,
            session=players.session,
            knowledge=knowledge,
            in_worker=run.worker is not None,
            trust=players.patient_trust if plan.in_person else None,
            stack=stack,
        )


async def _hold(run: Run, work: Work, plan: Plan, pool: WorkerPool | None) -> Any:
    """Holds the work, here or by workers; if it was stopped, returns the summary of what was over.

    Raises:
        StoppedEarly: it was stopped, and there is no summary of what was over.
    """
    models, seated, at_once = run.config.models, HUMAN in plan.doctors, work.at_once
    limited = models.token_budget is not None or models.cost_budget is not None
    if seated:  # a person sees one patient at a time, and no record before the end of that visit
        at_once = 1
    elif limited:
        # Otherwise all plays would be half over when the budget is spent, and none would be in the table.
        at_once = min(at_once, 2 * (models.concurrency or AT_ONCE) * max(len(work.players), 1))
    elif pool is not None:
        at_once *= pool.workers
    compute = None if pool is None else pool.compute
    with run.progress(plan.doing, len(work.items) * len(work.players), quiet=seated) as advance:
        try:
            return await replace(work, at_once=at_once).hold(advance=advance, elsewhere=compute)
        except StoppedEarly as stopped:
            if stopped.summary is None:
                raise
            run.stopped = stopped
            return stopped.summary
