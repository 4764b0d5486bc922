"""What evaluations have in common on the command line: who plays is opened, how far it is is shown, results go out."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from polyclinic.benchmarks.benchmark import Benchmark, Output, StoppedEarly
from polyclinic.benchmarks.mvme.results import Entrant
from polyclinic.cases.case import Case
from polyclinic.cases.pictures import CasePictures
from polyclinic.cli.case_files import case_shares, read_case_file
from polyclinic.cli.command_words import is_given
from polyclinic.cli.configuration import kind_of_command, write_results
from polyclinic.cli.memory_knowledge import say_other_knowledge
from polyclinic.cli.options import CaseOptions, KeptOptions, RunOptions
from polyclinic.cli.parts import end_of_part
from polyclinic.cli.storing import keep_results, results_folder
from polyclinic.cli.trust import note_trust
from polyclinic.errors import PlayFailure, RunStopped, UserError
from polyclinic.files import make_empty_folder
from polyclinic.judges.until_stopped import UntilStopped
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import Language
from polyclinic.methods.table import ChosenMethod
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Model
from polyclinic.models.open import meant_model
from polyclinic.players.human.desk import Desk
from polyclinic.players.mind_names import HUMAN, model_of
from polyclinic.players.minds import Minds
from polyclinic.players.opening import Cast, OpenMinds, open_minds
from polyclinic.players.patient_trust import PatientTrust
from polyclinic.results.provenance import server_sums
from polyclinic.results.replacing import part_in, replacing
from polyclinic.stopping import is_stopped
from polyclinic.tasks import AT_ONCE, interruptible
from polyclinic.terminal.screen import console, note, print_json, progress
from polyclinic.terminal.usage import show_usage

_STOPPED: ContextVar[StoppedEarly | None] = ContextVar("stopped", default=None)
"""What ended the evaluation that is being held, from `hold` to `finish`."""

_AGAIN = "the same command goes on from there"

Who = TypeVar("Who")
Summary = TypeVar("Summary")


def cases_of(options: CaseOptions, *, needs: Callable[[Case], str] | None = None) -> list[Case]:
    """Reads all cases of the file that can be used; `needs` says what one lacks, "" where it lacks nothing."""
    return read_case_file(options.cases, layout=options.layout, strict=options.strict, needs=needs)


def judge_of(name: str | None, *, option: str = "--judge") -> list[str]:
    """Returns the models to open for a judge, none where there is none; a UserError where it is no model."""
    if name is not None and model_of(name) is None:
        raise UserError(f"{option} {name!r} is no model{meant_model(name)}; a judge is one, such as direct/NAME")
    return [] if name is None else [name]


def judge_as_it_goes(model: Model, run: RunOptions) -> Model:
    """Returns a judge of what is played, where a spent budget leaves what was played by then unjudged, and not lost.

    A part of the items ends with what stopped it, as whoever started it must hear.
    """
    return model if run.share is not None else UntilStopped(model, is_stopped=is_stopped, judges_as_it_goes=True)


def first_ending(*judges: Model | None) -> RunStopped | None:
    """Returns what ended the first of these judges that was stopped, with what it was not asked; None of no others."""
    return next((one.ending for one in judges if isinstance(one, UntilStopped) and one.stopped is not None), None)


def check_looks_up(chosen: Sequence[ChosenMethod], corpus: str | None) -> None:
    """Refuses a corpus that no method would look anything up in; no methods at all are not judged."""
    if corpus is not None and chosen and all(one.settings.get("retrieval") is False for one in chosen):
        problem = f"--corpus {corpus} has no effect with retrieval=false, which looks nothing up"
        raise UserError(f"{problem}; leave one of them out")


@contextmanager
def within_budget(run: RunOptions, what: str = "evaluation") -> Iterator[None]:
    """Makes the folder for the results; where the models have cost what they may, says how `what` goes on.

    Raises:
        BadInput: the folder cannot be made, or holds something.
    """
    make_results_folder(run)
    with saying_how_it_goes_on(run, what):
        yield


@contextmanager
def saying_how_it_goes_on(kept: KeptOptions, what: str, over: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Where what is done meanwhile is stopped, says how much of it is `over`, and how `what` goes on."""
    try:
        yield
    except RunStopped as stopped:
        done = over()
        raise goes_on(type(stopped)(f"{stopped}; {done}") if done else stopped, kept, what) from None


def make_results_folder(run: RunOptions) -> None:
    """Makes the folder for the results, where there is to be one; a BadInput where it cannot be made, or holds some.

    What is over of a run of the same kind that was stopped, or failed, may lie there where a journal has its answers:
    it gives way to what comes of this one, once that is written.
    """
    if run.out is not None and not run.models.dry_run:
        goes_on = run.store is not None or (run.journal is not None and run.journal.is_file())
        part = part_in(run.out, kind_of_command()) if goes_on and run.out.is_dir() else ()
        make_empty_folder(run.out, beside=run.journal, besides=part)


def goes_on(stopped: RunStopped, kept: KeptOptions, what: str = "evaluation") -> RunStopped:
    """Returns the same with how `what` goes on."""
    # Parts whose answers are kept nowhere have a journal as long as the command runs.
    is_kept = kept.answers and (not is_given("--on") or is_given("--journal") or is_given("--store"))
    again = _AGAIN if is_kept else "with --journal FILE a run can go on"
    ending = stopped.why if isinstance(stopped, StoppedEarly) else stopped
    return type(ending)(f"{stopped}; the {what} is not over, and {again}")


@contextmanager
def underway(what: str, total: int, run: RunOptions, *, quiet: bool = False) -> Iterator[Callable[[], None]]:
    """Shows how far it is, and yields what advances it; who interrupts meanwhile gets what is over by then."""
    telling = run.share is not None
    with interruptible(is_stopped), progress(what, total, quiet=run.json or quiet, told=telling) as advance:
        yield advance


@asynccontextmanager
async def open_players(
    doctors: Sequence[str],
    options: CaseOptions,
    run: RunOptions,
    *,
    director: str = "rules",
    judges: Sequence[str] = (),
    what: str = "evaluation",
    one_step: bool = False,
    languages: Iterable[Language] = (),
    pictures: CasePictures | None = None,
    batches: Path | str | None = None,
    desk: Desk | None = None,
) -> AsyncIterator[OpenMinds]:
    """Opens who plays the visits, and further models that judge, as long as they are needed; see `within_budget`.

    A memory must be in the `languages` of the visits, as far as they are given. In one step nobody meets the patient,
    and nothing is said of how far it is to be trusted. Doctors who see are shown the pictures. With `batches`, where
    their ids are kept, models are asked by batches.
    """
    cast = Cast(patient=options.patient, examiner=options.examiner, director=director)
    known = read_knowledge()
    with within_budget(run, what):
        async with open_minds(
            doctors,
            cast,
            run.models,
            knowledge=known,
            seed=run.seed,
            journal=run.answers,
            others=judges,
            library=options.library,
            memory=options.memory,
            languages=languages,
            share=run.part,
            pictures=pictures,
            batches=batches,
            report=note,
            desk=desk,
        ) as opened:
            say_other_knowledge(options.memory)
            yield opened._replace(patient_trust=None) if one_step else opened


def _minds_of(player: object) -> tuple[Minds, ...]:
    """Returns the minds of whoever is evaluated: a doctor's, or those of a team."""
    if isinstance(player, Entrant):
        return player.minds
    return (player,) if isinstance(player, Minds) else ()


async def _nothing(_: object) -> Any:
    """Sums nothing up: that is done where all of it is."""


def _under_a_budget(run: RunOptions) -> int:
    """Returns how many plays of a player go on at a time where what they cost is limited.

    An endpoint has enough to do while some of them are with other players.
    """
    return 2 * (run.models.concurrency or AT_ONCE)


async def hold(
    benchmark: Benchmark[Any, Who, Any, Any, Summary],
    players: Mapping[str, Who],
    run: RunOptions,
    what: str = "evaluating",
) -> Summary:
    """Holds the evaluation, and shows how far it is; of one that was stopped, returns what `finish` shows of it.

    Raises:
        StoppedEarly: it was stopped, and nothing can be said of what is over.
    """
    _STOPPED.set(None)
    if run.share is not None:
        benchmark = replace(benchmark, items=run.part.mine(benchmark.items), summarise=_nothing)
    seated = any(HUMAN in minds.names.values() for who in players.values() for minds in _minds_of(who))
    if seated:
        # A person sees one patient at a time, and no record before the talk with its patient is over.
        benchmark = replace(benchmark, at_once=1)
    elif run.models.max_tokens is not None or run.models.max_cost is not None:
        # Else all plays would be half over where the budget is spent, and none would be in the table.
        benchmark = replace(benchmark, at_once=min(benchmark.at_once, _under_a_budget(run) * max(len(players), 1)))
    with underway(what, len(benchmark.items) * len(players), run, quiet=seated) as advance:
        try:
            summary = await benchmark.hold(players, advance=advance)
            end_of_part(run)
            return summary
        except StoppedEarly as stopped:
            if stopped.summary is None:
                raise
            _STOPPED.set(stopped)
            so_far: Summary = stopped.summary
            return so_far


def is_part() -> bool:
    """Whether the evaluation that was held last was stopped; nobody is asked anything more for it."""
    return _STOPPED.get() is not None


def finish(
    output: Output,
    run: RunOptions,
    ledger: Ledger,
    *,
    purposes: bool = True,
    trust: PatientTrust | None = None,
    stopped: RunStopped | None = None,
    failure: str = "",
    what: str = "evaluation",
) -> None:
    """Writes and prints what came of the evaluation, and what the models cost, by role and purpose or by role alone.

    `trust` is how far the patient is to be trusted, which then is noted on stderr and stands in all of it. What is over
    of an evaluation that was `stopped`, here or where it was held, is marked as that wherever it stands. `failure` says
    how more failed than may, where the output does not count it; "" where no more did.

    Raises:
        PlayFailure: more failed than may; what came was written and shown, and the same command goes on from there.
        RunStopped: the evaluation was; what is over of it was written and shown.
    """
    stopped = _STOPPED.get() or stopped
    if stopped is not None:
        _STOPPED.set(None)
        note("stopped early; what is over:")
        output = replace(output, document={**output.document, "stopped": str(stopped)}, failed=0)
    failure = "" if stopped is not None else failure or _failure(output, run)
    held = output.failed < output.n or not output.n
    output = output.with_trust(note_trust(trust if held else None)).with_case_shares(case_shares())
    if servers := server_sums(ledger):
        output = replace(output, document={**output.document, "servers": msgspec.to_builtins(servers)})
    with results_folder(run.out, run.store) as folder:
        if folder is not None:
            with replacing(folder) as place:
                output.write(place)
                write_results(
                    place,
                    output.rows,
                    output.measures,
                    seed=run.seed,
                    models=run.models,
                    ledger=ledger,
                    stopped="" if stopped is None else str(stopped),
                    failed=failure,
                    files=[*output.files, output.document_file],
                    departures=output.departures,
                    asked_for=output.asked_for,
                )
        if run.json:
            print_json(output.document)
        else:
            output.show(console())
            show_usage(console(sys.stderr), ledger, purposes=purposes)
            if run.out is not None and output.written:
                note(output.written.format(run.out))
        keep_results(run.store, folder)
    if stopped is not None:
        raise goes_on(stopped, run, what)
    if failure:
        raise PlayFailure(f"{failure}; {_AGAIN}" if run.answers else failure)


def _failure(output: Output, run: RunOptions) -> str:
    """Says how more failed than may; "" where no more did."""
    if output.failed * 100 <= run.max_failures * output.n:
        return ""
    allowed = f"--max-failures allows {run.max_failures:g} %"
    why = f": {output.failures}" if output.failures else ""
    return f"{output.failed} of {output.n} {output.plays} failed{why}; {allowed}"
