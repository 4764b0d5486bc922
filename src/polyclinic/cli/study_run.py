"""`polyclinic study run`: a plan's models, methods, sets and seeds in one run, with one journal and one table."""

from __future__ import annotations

import dataclasses
import io
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from cyclopts import CycloptsError, Parameter
from rich.console import Console

from polyclinic.cli.calling import BoundCommand, bind, complaint
from polyclinic.cli.config import keys_of
from polyclinic.cli.dry_run import rehearse
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
from polyclinic.models.settings import ModelSettings
from polyclinic.parallel.pool import check_site
from polyclinic.protocols.study_plan import PlannedRun, StudyPlan, find_plan, read_plan
from polyclinic.results.folder import CALLS, RECORD, RunResults, read_record, read_results, replacing
from polyclinic.results.joining import compare_results, flat_rows, join, told_apart
from polyclinic.results.printed import differences, printed, show
from polyclinic.run.options import DIR, MODELS, RunOptions, Several
from polyclinic.run.output import record_of, write_record
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
    """One command of a study, and the folder of its results."""

    folder: Path
    command: BoundCommand

    @property
    def is_finished(self) -> bool:
        """Whether the command has come to its end."""
        return (self.folder / RECORD).is_file() and not read_record(self.folder).stopped

    @property
    def has_failed(self) -> bool:
        """Whether more failed than is allowed, so that it is run again."""
        return bool(read_record(self.folder).failed)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class StudyOptions(RunOptions):
    """The options of a study, whose plan has the seeds."""

    seed: Annotated[int, Parameter(parse=False)] = 0


_STUDY = StudyOptions()


def run(
    plan: Annotated[Path, Parameter(metavar="PLAN")],
    /,
    *,
    model: Annotated[list[str] | None, Several, Parameter(metavar="MODEL...")] = None,
    data: Annotated[Path, DIR] = Path(),
    only: Annotated[list[str] | None, Several, Parameter(metavar="RUN...")] = None,
    small: bool = False,
    how: StudyOptions = _STUDY,
) -> None:
    """Runs what is not done yet of a plan, and prints its table with the published figures beside.

    Args:
        plan: The plan: a TOML file, or one that comes with polyclinic: papers/NAME.toml.
        model: Models to evaluate, in place of the plan's.
        data: Folder of the plan's data sets.
        only: Runs of the plan to execute; all by default.
        small: Try it out: a few items of each set; without --model by rules, or made-up answers.
    """
    planned = read_plan(find_plan(plan))
    if how.out is None and not how.models.dry_run:
        raise UserError("name the folder of the study: --out FOLDER; answers and results are kept there")
    if how.on is not None:
        check_site(how.on)
    with results_folder(how) as folder:
        out = folder or Path("study")
        given = {field.name: getattr(how.models, field.name) for field in dataclasses.fields(ModelSettings)}
        common = {name: value for name, value in given.items() if value != getattr(MODELS, name)}
        common |= {"max_failures": how.max_failures, "on": how.on}
        # All are bound before the first is run, so that mistakes are reported at once.
        cells = list(_cells(planned, out, model or (), data, only or (), small, common))
        if how.models.dry_run:
            raise DryRunOver.together([rehearse(cell.command) for cell in cells])
        for cell in cells:
            if cell.is_finished:
                check_same(read_record(cell.folder), cell.command.invocation, cell.folder)
        make_folder(out)
        with _alone(out):
            _hold_all(planned, cells, out, how)


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


def _hold_all(plan: StudyPlan, cells: Sequence[StudyCell], out: Path, how: StudyOptions) -> None:
    """Runs what is not over, and shows what there is then; raises what kept it from its end."""
    stopped: PolyclinicError | None = None
    refused: list[UserError] = []
    answers = answers_of(how)
    if answers is not None:
        answers = answers._replace(spending=Spending())
    for number, cell in enumerate(cells, 1):
        if stopped is None and (not cell.is_finished or cell.has_failed):
            try:
                stopped = _hold(cell, f"{number} of {len(cells)}", answers, how.json)
            except UserError as error:
                refused.append(error)  # the others are done all the same
    left = ", ".join(cell.folder.name for cell in cells if not cell.is_finished)
    if begun := [cell.folder for cell in cells if (cell.folder / RECORD).is_file()]:
        _finish(plan, out, begun, how, left)
        keep_results(how.database, out)
    if stopped is not None:
        missing = f"not done yet: {left}. The same command resumes from there" if left else "every run of it is done"
        raise type(stopped)(f"{stopped}; {missing}")
    if refused:
        raise UserError(f"{'; '.join(map(str, refused))}; done: {len(cells) - len(refused)} of {len(cells)} runs")
    if failed := [cell.folder.name for cell in cells if cell.has_failed]:
        raise PlayFailure(f"more failed than run.max-failures allows in {', '.join(failed)}; {_ASKED_AGAIN}")


def _cells(
    plan: StudyPlan,
    out: Path,
    models: Sequence[str],
    data: Path,
    only: Sequence[str],
    small: bool,
    common: Mapping[str, Any],
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
        by_rules = one.command == "eval tor" and plan.offline and not who
        takes_models = any(key.key == "model" for key in keys_of(one.command))
        role = "model" if takes_models and not by_rules else "doctor"
        played = {role: who or [plan.offline or _STAND_IN]}
        for (name, swept), seed in product(_swept(one, _with_data(one, options, data)), plan.seeds):
            folder = out / "runs" / f"{name}-seed-{seed}".replace(" ", "-")
            given = {**swept, **played, **common, "seed": seed, "out": str(folder)}
            try:
                yield StudyCell(folder, bind(one.command, given, f"run {folder.name}"))
            except CycloptsError as error:
                raise UserError(f"run {folder.name}: {complaint(error)}") from None


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
    show(screen, [differences(compare_results(results, baseline=baseline))])


def _hold(cell: StudyCell, place: str, answers: KeptAnswers | None, json: bool) -> PolyclinicError | None:
    """Runs a command, and returns what stopped it before its end, if anything did.

    What was over of an earlier one stays until this writes more.
    """
    cell.folder.parent.mkdir(exist_ok=True)
    if not json:
        note(f"{place}: {cell.folder.name}")
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            cell.command(answers)
    except (RunStopped, PlayFailure) as failure:
        if cell.is_finished:  # more failed than may, and what came is there
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


def _each_once(things: Iterable[T]) -> list[T]:
    found = list(things)
    return [thing for place, thing in enumerate(found) if thing not in found[:place]]


def _finish(plan: StudyPlan, out: Path, begun: Sequence[Path], how: StudyOptions, left: str) -> None:
    """Writes what is over of it, and prints it; `left` names what is not done yet."""
    results = told_apart(read_results(*begun))
    records = [one.record for one in results]
    record = record_of(
        how.invocation,
        how.invocation.options,
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
    if how.json:
        print_json(flat_rows(joined))
        return
    if left:
        note("stopped early; what is over:")
    screen = console()
    screen.print(f"{plan.title}, so far" if left else plan.title, style="bold")
    show(screen, printed(joined))
    _show_comparisons(screen, plan, whole, out)
    note(f"Results: {out}. All again: polyclinic results show {out}; as a page: polyclinic report {out}")
