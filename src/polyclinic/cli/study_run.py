"""`polyclinic study run`: a plan's models, methods, sets and seeds in one run, with one journal and one table."""

from __future__ import annotations

import dataclasses
import io
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from cyclopts import CycloptsError, Parameter
from rich.console import Console

from polyclinic.cli.calling import call, check_words, complaint
from polyclinic.cli.config import keys_of
from polyclinic.cli.results_tables import show_compared, show_joined
from polyclinic.errors import (
    AccessLost,
    BadInput,
    BudgetSpent,
    PlayFailure,
    PolyclinicError,
    RunStopped,
    StoppedByHand,
    StoppedEarly,
    UserError,
)
from polyclinic.files import make_folder
from polyclinic.files import whole as whole_file
from polyclinic.models.dry_run import DryRunOver
from polyclinic.models.journal import KeptAnswers
from polyclinic.models.ledger import Spending
from polyclinic.models.session import ModelSettings
from polyclinic.parallel.pool import check_site
from polyclinic.protocols.study_plan import PlannedRun, StudyPlan, find_plan, read_plan
from polyclinic.results.comparing import compare_results
from polyclinic.results.folder import CALLS, RECORD, RunRecord, read_record, replacing
from polyclinic.results.joining import flat_rows, join, told_apart
from polyclinic.results.provenance import command_words, now, versions, without_secrets
from polyclinic.results.reading import RunResults, read_results
from polyclinic.run.options import (
    DIR,
    MODELS,
    MODELS_GROUP,
    NOWHERE,
    Json,
    KeptOptions,
    MaxFailures,
    Models,
    On,
    Several,
)
from polyclinic.run.output import write_record
from polyclinic.run.storing import answers_of, check_same, keep_results, results_folder
from polyclinic.sqlite_file import locked
from polyclinic.terminal.screen import console, note, print_json

T = TypeVar("T")

_FILES = ("questions", "cases", "train", "test", "memory")
LOCK = "study.lock"
_STAND_IN = "made-up"
_ASKED_AGAIN = "where an endpoint failed, the same command asks again"
_PAIRS = 21  # that are shown without a baseline


class StudyCell(NamedTuple):
    """One command of a study, and where its results lie."""

    folder: Path
    kind: str
    words: list[str]


def run(
    plan: Annotated[
        Path,
        Parameter(metavar="PLAN", help="The plan: a TOML file, or one that comes with polyclinic: papers/NAME.toml."),
    ],
    /,
    *,
    model: Annotated[
        list[str] | None, Several, Parameter(metavar="MODEL...", help="Models to evaluate, in place of the plan's.")
    ] = None,
    data: Annotated[Path, DIR, Parameter(help="Folder of the plan's data sets.")] = Path(),
    only: Annotated[
        list[str] | None, Several, Parameter(metavar="RUN...", help="Runs of the plan to execute; all by default.")
    ] = None,
    small: Annotated[
        bool, Parameter(help="Try it out: a few items of each set; without --model by rules, or made-up answers.")
    ] = False,
    max_failures: MaxFailures = 5.0,
    models: Models = MODELS,
    kept: KeptOptions = NOWHERE,
    on: Annotated[On, Parameter(group=MODELS_GROUP)] = None,
    json: Json = False,
) -> None:
    """Runs what is not done yet of a plan, and prints its table with the published figures beside."""
    planned = read_plan(find_plan(plan))
    if kept.out is None and not models.dry_run:
        raise UserError("name the folder of the study: --out FOLDER; answers and results are kept there")
    if on is not None:
        check_site(on)
    with results_folder(kept) as folder:
        out = folder or Path("study")
        cells = list(_cells(planned, out, model or (), data, only or (), small, max_failures, models))
        where = [] if on is None else ["--on", on]
        cells = [cell._replace(words=[*cell.words, *where, "--out", str(cell.folder)]) for cell in cells]
        if models.dry_run:
            raise DryRunOver.together(map(_estimated, cells))
        for cell in cells:
            # Before anybody is asked for the first of them.
            with _named(cell.words):
                this = check_words(cell.words)
            if _is_over(cell.folder):
                check_same(read_record(cell.folder), this, cell.folder)
        make_folder(out)
        with _alone(out):
            _hold_all(planned, cells, out, kept, json=json)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keeps the folder of a study to this process: two would take each other's runs for those that were stopped."""
    try:
        connection = locked(out / LOCK)
    except sqlite3.Error as error:
        raise BadInput(f"cannot be written to ({error})", path=out) from None
    if connection is None:
        raise UserError(f"{out}: another process is at this study; wait for it, or name another folder")
    try:
        with closing(connection):
            yield
    except UserError:
        with suppress(OSError):  # nothing was run
            (out / "runs").rmdir()
            (out / LOCK).unlink()
            out.rmdir()
        raise


def _hold_all(plan: StudyPlan, cells: Sequence[StudyCell], out: Path, kept: KeptOptions, *, json: bool) -> None:
    """Runs what is not over, and shows what there is then; raises what kept it from its end."""
    stopped: PolyclinicError | None = None
    refused: list[UserError] = []
    answers = answers_of(kept)
    if answers is not None:
        answers = answers._replace(spending=Spending())
    for number, cell in enumerate(cells, 1):
        if stopped is None and _is_to_be_held(cell.folder):
            try:
                stopped = _hold(cell, f"{number} of {len(cells)}", answers, json)
            except UserError as error:
                refused.append(error)  # the others are done all the same
    left = ", ".join(cell.folder.name for cell in cells if not _is_over(cell.folder))
    if begun := [cell.folder for cell in cells if (cell.folder / RECORD).is_file()]:
        _finish(plan, out, begun, kept, left=left, json=json)
        keep_results(kept.database, out)
    if stopped is not None:
        missing = f"not done yet: {left}. The same command goes on from there" if left else "every run of it is done"
        raise type(stopped)(f"{stopped}; {missing}")
    if refused:
        raise UserError(f"{'; '.join(map(str, refused))}; done: {len(cells) - len(refused)} of {len(cells)} runs")
    if failed := [cell.folder.name for cell in cells if _has_failed(cell.folder)]:
        raise PlayFailure(f"more failed than run.max-failures allows in {', '.join(failed)}; {_ASKED_AGAIN}")


def _cells(
    plan: StudyPlan,
    out: Path,
    models: Sequence[str],
    data: Path,
    only: Sequence[str],
    small: bool,
    max_failures: float,
    given: ModelSettings,
) -> Iterator[StudyCell]:
    names = [one.name for one in plan.runs]
    if unknown := [name for name in only if name not in names]:
        raise UserError(f"no run {unknown[0]!r} in the plan; there are: {', '.join(names)}")
    who = list(models or plan.models)
    if not who and not small:
        raise UserError("nobody is named: --model MODEL, or try it out without a model with --small")
    for one in plan.runs:
        if only and one.name not in only:
            continue
        options = {**one.options, **(plan.small if small else {}), **({} if who or not small else plan.small_offline)}
        for (name, swept), seed in product(_swept(one, _with_data(one, options, data)), plan.seeds):
            words = [*one.command.split(), *_told(one.command, swept), *_who(one, who, plan.offline)]
            words += [*_told(one.command, _changed(given)), "--seed", str(seed)]
            words += ["--set", f"run.max-failures={max_failures:g}"]
            folder = out / "runs" / f"{name}-seed-{seed}".replace(" ", "-")
            yield StudyCell(folder, one.command, words)


def _swept(one: PlannedRun, options: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields a run's options, with its name: a list for an option that takes one value is a run for each of them."""
    several = {key.key.rpartition(".")[2] for key in keys_of(one.command) if key.several}
    sweeps = {
        name: value
        for name, value in options.items()
        if isinstance(value, list) and name.replace("_", "-") not in several
    }
    if empty := next((name for name, values in sweeps.items() if not values), None):
        raise UserError(f"run {one.name!r}: {empty} is an empty list; give it a value, or one for each run")
    for values in product(*sweeps.values()):
        told = "".join(f" {name} {value}" for name, value in zip(sweeps, values, strict=True))
        yield f"{one.name}{told}", {**options, **dict(zip(sweeps, values, strict=True))}


def _with_data(one: PlannedRun, options: dict[str, Any], data: Path) -> dict[str, Any]:
    """Returns the options with the files in the folder of the data."""
    found = dict(options)
    for name in _FILES:
        if isinstance(file := found.get(name), str) and (there := data / file).exists():
            found[name] = str(there)
        elif isinstance(file, str) and "/" in file and not Path(file).exists():
            raise UserError(
                f"run {one.name!r}: no file {data / file}; name the folder of the data sets with --data DIR, leave the "
                "run out with --only, or try it out with --small"
            )
    return found


def _told(command: str, options: Mapping[str, Any]) -> Iterator[str]:
    """Yields options and settings as they are given on the command line; "" and false leave one out."""
    keys = {one.key.rpartition(".")[2]: one.key for one in keys_of(command)}
    for name, value in options.items():
        option = name.replace("_", "-")
        key = keys.get(option, option)
        if value is True and key == option:
            yield f"--{option}"
        elif value not in (False, "", None):
            for one in value if isinstance(value, list) else [value]:
                told = "true" if one is True else str(one)
                yield from (f"--{option}", told) if key == option else ("--set", f"{key}={told}")


def _who(one: PlannedRun, models: Sequence[str], offline: str) -> list[str]:
    option = "model" if any(key.key == "model" for key in keys_of(one.command)) else "doctor"
    if not models and offline and one.command == "eval tor":
        option = "doctor"
    return [word for name in models or [offline or _STAND_IN] for word in (f"--{option}", name)]


def _changed(given: ModelSettings) -> dict[str, Any]:
    """Returns how models are asked, where it is not the default."""
    known = dataclasses.fields(ModelSettings)
    values = {field.name: (getattr(given, field.name), field.default) for field in known}
    return {name: value for name, (value, default) in values.items() if value != default}


def _show_comparisons(screen: Console, plan: StudyPlan, results: Sequence[RunResults], out: Path) -> None:
    """Prints paired differences, from the plan's baseline where it names one, and where they are not too many."""
    baseline = next((str(name) for one in plan.runs if (name := one.options.get("baseline"))), None)
    entrants = {(row.set, row.model, row.method) for one in results for row in one.rows}
    sets = {name for name, _, _ in entrants}
    pairs = sum(n * (n - 1) // 2 for n in (sum(one[0] == name for one in entrants) for name in sets))
    if not pairs:
        return
    if baseline is None and pairs > _PAIRS:
        screen.print(f"{pairs} pairs: polyclinic results compare {out} --baseline NAME", style="dim", soft_wrap=True)
        return
    screen.print()
    show_compared(screen, compare_results(results, baseline=baseline))


def _call(words: Sequence[str], answers: KeptAnswers | None = None) -> None:
    """Runs a command of ours without its output, with its answers among those of the study."""
    with _named(words), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        call(words, answers=answers)


@contextmanager
def _named(words: Sequence[str]) -> Iterator[None]:
    """Names the command whose words are none."""
    try:
        yield
    except CycloptsError as error:
        raise UserError(f"{complaint(error)} (polyclinic {' '.join(words)})") from None


def _is_over(folder: Path) -> bool:
    """Whether a run has come to its end."""
    return (folder / RECORD).is_file() and not read_record(folder).stopped


def _is_to_be_held(folder: Path) -> bool:
    """Whether a run is not over, or came to its end with more failures than may be, which are asked for again."""
    return not _is_over(folder) or _has_failed(folder)


def _has_failed(folder: Path) -> bool:
    """Whether a run came to its end with more failures than may be."""
    return bool(read_record(folder).failed)


def _hold(cell: StudyCell, place: str, answers: KeptAnswers | None, json: bool) -> PolyclinicError | None:
    """Runs a command, and returns what stopped it before its end, if anything did.

    What was over of an earlier one stays until this writes more.
    """
    cell.folder.parent.mkdir(exist_ok=True)
    if not json:
        note(f"{place}: {cell.folder.name}")
    try:
        _call(cell.words, answers)
    except (RunStopped, PlayFailure) as failure:
        if _is_over(cell.folder):  # more failed than may, and what came is there
            note(f"{cell.folder.name}: {failure}")
            return None
        ending = failure.why if isinstance(failure, StoppedEarly) else failure
        kinds = (StoppedByHand, BudgetSpent, AccessLost, RunStopped, PlayFailure)
        kind = next(one for one in kinds if isinstance(ending, one))
        return kind(f"{cell.folder.name}: {str(failure).partition(';')[0]}")
    except KeyboardInterrupt:
        return StoppedByHand(f"{cell.folder.name}: interrupted")
    except UserError as error:
        raise UserError(f"run {cell.folder.name}: {error}") from None
    return None


def _estimated(cell: StudyCell) -> DryRunOver:
    try:
        _call(cell.words)
    except DryRunOver as over:
        return over
    raise UserError(f"{cell.words[0]} {cell.words[1]} asks no models")


def _each_once(things: Iterable[T]) -> list[T]:
    found: list[T] = []
    for thing in things:
        if thing not in found:
            found.append(thing)
    return found


def _finish(plan: StudyPlan, out: Path, begun: Sequence[Path], kept: KeptOptions, *, left: str, json: bool) -> None:
    """Writes what is over of it, and prints it; `left` names what is not done yet."""
    results = told_apart(read_results(*begun))
    records = [one.record for one in results]
    record = RunRecord(
        kind=kept.invocation.kind,
        command=command_words(kept.invocation.words),
        configuration=without_secrets(kept.invocation.options),
        versions=versions(),
        finished=now(),
        data=_each_once(file for one in records for file in one.data),
        code=_each_once(code for one in records for code in one.code),
        models=_each_once(model for one in records for model in one.models),
        measures=_each_once(measure for one in records for measure in one.measures),
        calls=[call for one in records for call in one.calls],
        stopped=f"not done yet: {left}" if left else "",
        title=plan.title,
        paper=plan.paper,
        published=list(plan.published),
    )
    rows = [
        msgspec.structs.replace(row, at=f"{one.folder.relative_to(out)}/{row.at}" if row.at else "")
        for one in results
        for row in one.rows
    ]
    with replacing(out) as place:
        if asked := [folder / CALLS for folder in begun if (folder / CALLS).is_file()]:
            with whole_file(place / CALLS) as temporary, temporary.open("wb") as file:
                file.writelines(path.read_bytes() for path in asked)
        write_record(place, record, rows)
    whole = [RunResults(out, record, rows)]
    joined = join(whole)
    if json:
        print_json(flat_rows(joined))
        return
    if left:
        note("stopped early; what is over:")
    screen = console()
    screen.print(f"{plan.title}, so far" if left else plan.title, style="bold")
    show_joined(screen, joined)
    _show_comparisons(screen, plan, whole, out)
    note(f"Results: {out}. All again: polyclinic results show {out}; as a page: polyclinic report {out}")
