"""One open run: where its answers and results are kept, how far it is, how it stops, and how it ends.

A command or an evaluation builds a `Run` from its options and hands it on; it knows nothing of folders, journals,
shards, budgets or stores itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from polyclinic.cases.case import Case
from polyclinic.cases.case_share import CaseShare
from polyclinic.cases.pictures import CasePictures
from polyclinic.errors import EndpointError, RunStopped, StoppedEarly
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import Language
from polyclinic.models.journal import Answers
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import WHOLE
from polyclinic.models.session import Session, journal_of, open_models
from polyclinic.players.human.desk import Desk
from polyclinic.players.minds import Cast, OpenMinds, open_minds
from polyclinic.run.case_files import read_case_file
from polyclinic.run.options import CaseOptions, KeptOptions, RunOptions
from polyclinic.run.storing import answers_of
from polyclinic.stopping import is_stopped
from polyclinic.tasks import AT_ONCE, ended_by_hand, run_numbered
from polyclinic.terminal.screen import note, progress
from polyclinic.terminal.tables import counted

if TYPE_CHECKING:
    from polyclinic.parallel.pool import WorkerPool
    from polyclinic.parallel.worker import WorkerSide

Item = TypeVar("Item")
Result = TypeVar("Result")

AGAIN = "the same command resumes from there"


class Run:
    """One open run.

    Attributes:
        config: its configuration.
        stopped: the reason it ended early, None if it did not.
        worker: what the command gives this process if it is one of its workers; None in the command itself.
        answers: where answers are kept; None where they are not.
        share: the part of the limits that this process has.
        case_shares: how many cases of each file are used.
    """

    def __init__(self, config: RunOptions, *, what: str = "evaluation", worker: WorkerSide | None = None) -> None:
        self.config = config
        self.what = what
        self.stopped: RunStopped | None = None
        self.worker = worker
        self.answers: Answers | None = answers_of(config) if worker is None else worker
        self.share = WHOLE if worker is None else worker.share
        self.case_shares: list[CaseShare] = []

    def cases(self, options: CaseOptions, *, needs: Callable[[Case], str] | None = None) -> list[Case]:
        """Reads the usable cases of a file; `needs` returns what a case lacks, "" if it lacks nothing."""
        how: Any = {"layout": options.layout, "strict": options.strict, "needs": needs, "shares": self.case_shares}
        return read_case_file(options.cases, **how)

    @contextmanager
    def progress(self, doing: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[], None]]:
        """Shows how far the run is, and yields what advances it; an interrupt keeps what is over."""
        with ended_by_hand(is_stopped), progress(doing, total, quiet=self.config.json or quiet) as advance:
            yield advance

    def session(
        self, names: Iterable[str], *, named: str, batches: bool = False
    ) -> AbstractAsyncContextManager[Session]:
        """Opens models with the answers, seed and shard of the run.

        Args:
            names: of the models.
            named: the name of the run among kept answers; answers of other names are not found.
            batches: whether the models are asked in batches.
        """
        return open_models(
            names,
            self.config.models,
            ledger=self._ledger(),
            journal=journal_of(self.answers, run=named),
            seed=self.config.seed,
            share=self.share,
            batches=batches,
            report=note,
        )

    @contextmanager
    def keeping_answers(self) -> Iterator[None]:
        """While it lasts, answers are kept, if nowhere else then in a file that goes away."""
        if self.answers is not None:
            yield
            return
        with tempfile.TemporaryDirectory(prefix="polyclinic-") as scratch:
            self.answers = Path(scratch) / "journal.sqlite"
            yield

    def _ledger(self) -> Ledger | None:
        return None if self.worker is None else self.worker.ledger(self.config.models)

    @asynccontextmanager
    async def players(
        self,
        doctors: Sequence[str],
        options: CaseOptions,
        *,
        director: str = "rules",
        judges: Sequence[str] = (),
        languages: Iterable[Language] = (),
        pictures: CasePictures | None = None,
        batches: bool = False,
        desk: Desk | None = None,
    ) -> AsyncIterator[OpenMinds]:
        """Opens the players of visits and further models that judge; a memory must be in one of the `languages`."""
        cast = Cast(patient=options.patient, examiner=options.examiner, director=director)
        known = read_knowledge()
        with resumable(self.config, self.what):
            async with open_minds(
                doctors,
                cast,
                self.config.models,
                knowledge=known,
                seed=self.config.seed,
                journal=self.answers,
                ledger=self._ledger(),
                others=judges,
                library=options.library,
                memory=options.memory,
                languages=languages,
                share=self.share,
                pictures=pictures,
                batches=batches,
                report=note,
                desk=desk,
            ) as opened:
                yield opened


async def run_items(
    items: Sequence[Item],
    compute: Callable[[Item], Awaitable[Result]],
    kept: KeptOptions,
    *,
    what: str,
    unit: str = "case",
    doing: str = "",
    show: Callable[[dict[int, Result]], None] | None = None,
    at_once: int = AT_ONCE,
    quiet: bool = False,
    is_written: bool = False,
    workers: Callable[..., WorkerPool] | None = None,
) -> list[Result]:
    """Computes items, here or by the worker processes that `workers` opens, and returns the results in order.

    A progress bar is labelled with what the command is `doing`. If the run is stopped, `show` prints the results so
    far, by the number of the item, and the error says how many units are done and how to resume `what`. `is_written`
    says that an item is written when it is done, and reports itself if there is no other.

    Raises:
        RunStopped: the run was stopped.
        PolyclinicError: an item failed.
    """
    async with AsyncExitStack() as stack:
        if workers is not None:
            compute = (await stack.enter_async_context(workers(items=len(items)))).compute
        advance = stack.enter_context(progress(doing, len(items), quiet=quiet or not doing))
        over, error = await run_numbered((partial(compute, item) for item in items), at_once=at_once, advance=advance)
    if error is None:
        return [over[number] for number in range(len(items))]
    if isinstance(error, EndpointError) and kept.out is not None:
        raise type(error)(f"{error.problem}; {AGAIN}", attempts=error.attempts)
    if not isinstance(error, RunStopped):
        raise error
    if show is not None and over:
        note("stopped early; what is over:")
        show(over)
    done = f"; {len(over)} of {counted(len(items), unit)} are done"
    if is_written:
        done = done if len(items) > 1 else ""
    else:
        done += ", and nothing is written"
    raise resume_hint(type(error)(f"{error}{done}"), kept, what)


@contextmanager
def resumable(kept: KeptOptions, what: str = "evaluation", over: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Adds to the error of a stopped run how much of it is `over`, and how to resume it."""
    try:
        yield
    except RunStopped as stopped:
        done = over()
        raise resume_hint(type(stopped)(f"{stopped}; {done}") if done else stopped, kept, what) from None


def resume_hint(stopped: RunStopped, kept: KeptOptions, what: str = "evaluation") -> RunStopped:
    """Returns the error with how to resume `what`."""
    again = AGAIN if kept.out is not None else "with --out a run can go on"
    ending = stopped.why if isinstance(stopped, StoppedEarly) else stopped
    return type(ending)(f"{stopped}; the {what} is not over, and {again}")
