"""The folder of results that every kind of run writes, and how folders are found and read.

    results.json  command, configuration, versions, data, models, measures, and what the models cost
    items.jsonl   a line for each item and entrant: an `ItemRow`
    calls.jsonl   a line for each call to a model, if there were any: a `KeptCall`

Each kind of run adds its own files (`summary.json`, outcomes, traces). Nothing in them is secret.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from polyclinic.cases.case_share import CaseShare
from polyclinic.errors import BadInput, UserError
from polyclinic.files import NO_JSON, check_file, no_folder, read_records, split_place
from polyclinic.models.ledger import KeptCall
from polyclinic.opened_files import opened, read_at_once
from polyclinic.protocols.study_plan import PublishedValue
from polyclinic.storage.server import is_store

RECORD = "results.json"
ITEMS = "items.jsonl"
CALLS = "calls.jsonl"
_SUMS = "SHA256SUMS"  # in folders of earlier versions
FORMAT = 1

T = TypeVar("T")
Key = TypeVar("Key")


class ItemMeasure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A measure of an item.

    Attributes:
        percent: whether it is in percent.
        less_is_better: whether smaller values are better.
        share: whether each value is 100 or 0, so that the mean is a share of the items; None decides by the values.
    """

    name: str
    percent: bool = True
    less_is_better: bool = False
    share: bool | None = None


class ItemRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one item for one entrant.

    Attributes:
        item: the question, case or patient.
        values: by measure; without those that were not measured, or failed.
        weights: by measure, the weight of the item in the mean, by default 1.
        set: the data set.
        model: the model that answered, or the name of another mind.
        method: the method of answering, if there are several.
        case: rows of one case are resampled together; by default the item is the case.
        end: how it ended, if known.
        calls: calls that the item needed; `shared` of them also served other entrants. The sums of the run count
            shared calls, tokens, cost and seconds once.
        at: the place in the folder, `FILE:LINE`.
    """

    item: str
    values: dict[str, float]
    weights: dict[str, float] = {}
    set: str = ""
    model: str = ""
    method: str = ""
    seed: int = 0
    case: str = ""
    end: str = ""
    calls: float = 0
    shared: float = 0
    round_trips: float = 0
    tokens: float = 0
    cost: float | None = None
    seconds: float = 0
    at: str = ""

    @property
    def cluster(self) -> str:
        """The name under which rows are resampled together."""
        return self.case or self.item


def grouped(things: Iterable[T], key: Callable[[T], Key]) -> dict[Key, list[T]]:
    """Returns things by key, in the order in which the keys first come."""
    groups: dict[Key, list[T]] = {}
    for one in things:
        groups.setdefault(key(one), []).append(one)
    return groups


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read, and the SHA-256 of its content."""

    option: str
    file: str
    sha256: str


class OwnCode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Code of a user's own that an option named: the SHA-256 of its file, and the package that installed it."""

    option: str
    name: str
    sha256: str
    package: str = ""


class AskedModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model in a role, and how it was asked; its address has no user, password or query."""

    name: str
    role: str
    base_url: list[str] = []
    parameters: dict[str, Any] = {}


class CallSum(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The calls of a role for a purpose; those `replayed` from a journal cost nothing now.

    `unpriced` calls took tokens without a price, so that `cost` is a lower bound.
    """

    role: str
    purpose: str
    calls: int
    failures: int = 0
    replayed: int = 0
    requests: int = 0
    tokens_in: int = 0
    cached: int = 0
    tokens_out: int = 0
    cost: float | None = None
    unpriced: int = 0


class ServerSum(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The calls that one of a model's servers answered."""

    model: str
    server: str
    calls: int
    tokens_in: int = 0
    cached: int = 0
    tokens_out: int = 0
    cost: float | None = None
    unpriced: int = 0


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The record of a run.

    Attributes:
        kind: the command, such as `eval aie`.
        command: as it was typed, without secrets.
        configuration: every option with its value, including defaults.
        finished: when, in UTC.
        cases: how many records of the case files are used, and which are not.
        measures: the measures of the items, the chief one first.
        servers: the calls of each server, of models with several.
        stopped: why the run was stopped, "" if it was not; the results are then those of the items that were over.
        failed: the line that more failed than allowed, "" if not.
        files: the names of further files.
        departures: differences from the paper that is followed.
        title: of a study; `paper` is the one that it repeats, and `published` are that paper's figures.
    """

    kind: str
    format: int = FORMAT
    command: list[str] = []
    configuration: dict[str, Any] = {}
    versions: dict[str, str] = {}
    finished: str = ""
    seed: int = 0
    data: list[DataFile] = []
    code: list[OwnCode] = []
    cases: list[CaseShare] = []
    models: list[AskedModel] = []
    measures: list[ItemMeasure] = []
    calls: list[CallSum] = []
    servers: list[ServerSum] = []
    stopped: str = ""
    failed: str = ""
    files: list[str] = []
    departures: list[str] = []
    title: str = ""
    paper: str = ""
    published: list[PublishedValue] = []


def read_record(folder: Path) -> RunRecord:
    """Reads the record of a run."""
    path = folder / RECORD
    record = decoded(path, RunRecord, "what a run was")
    if record.format > FORMAT:
        raise BadInput(f"format {record.format}; this version of polyclinic reads up to {FORMAT}: update it", path=path)
    return record


def decoded(path: Path, kind: type[T], what: str) -> T:
    """Reads a JSON file as a type."""
    check_file(path)
    try:
        return msgspec.json.decode(read_at_once(path), type=kind)
    except msgspec.ValidationError as error:
        problem, field = split_place(str(error))
        raise BadInput(f"not {what}: {problem}", path=path, field=field) from None
    except RecursionError:
        raise BadInput("the JSON is nested too deeply", path=path) from None
    except NO_JSON as error:
        raise BadInput(f"not JSON ({error})", path=path) from None


def traces_in(folder: Path) -> list[Path]:
    """Returns the files of traces in a folder of results, one for each doctor."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        with opened(path) as file:
            if path.name not in (CALLS, ITEMS) and file.readline(4096).startswith(b'{"event":'):
                found.append(path)
    if not found:
        raise BadInput("no traces of visits are here; --out of consult and eval leaves them", path=folder)
    return found


def read_items(folder: Path) -> Sequence[ItemRow]:
    """Reads the items of a run, if it has any."""
    return _rows(folder / ITEMS, ItemRow, "an item of a run")


def read_calls(folder: Path) -> Sequence[KeptCall]:
    """Reads the calls of a run, if it has any."""
    return _rows(folder / CALLS, KeptCall, "a call of a run")


def _rows(path: Path, kind: type[T], what: str) -> list[T]:
    if not path.exists() or not path.stat().st_size:
        return []
    return [row for _, row in read_records(path, kind, what)]


_BEGUN, _WHOLE = ".results-begun", ".results-whole"


def part_in(folder: Path, kind: str) -> frozenset[str]:
    """Returns the files of the results of a command of this kind; none if there are none."""
    _go_on(folder)
    if not (folder / RECORD).is_file():
        return frozenset()
    return _files(folder) if read_record(folder).kind == kind else frozenset()


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yields a folder whose files then replace the results in `folder`, all at once.

    If they cannot all be written, as on a full disk, none are.
    """
    begun = folder / _BEGUN
    try:
        shutil.rmtree(begun, ignore_errors=True)
        begun.mkdir(parents=True)
        yield begun
        begun.rename(folder / _WHOLE)
    except BadInput as error:
        if error.path is None or begun not in Path(error.path).parents:
            raise
        raise BadInput(error.problem, path=folder / Path(error.path).name) from None
    except OSError as error:
        raise BadInput(f"cannot be written to ({error.strerror or error})", path=folder) from None
    finally:
        shutil.rmtree(begun, ignore_errors=True)
    _go_on(folder)


def _files(folder: Path) -> frozenset[str]:
    names = (*read_record(folder).files, CALLS, ITEMS, RECORD, _SUMS)
    return frozenset(name for name in names if Path(name).name == name and (folder / name).is_file())


def _go_on(folder: Path) -> None:
    """Moves complete results into their folder: the items first, the record last.

    While the items have not moved, nothing has, and the files of the old record may still be removed.
    """
    shutil.rmtree(folder / _BEGUN, ignore_errors=True)
    new = folder / _WHOLE
    if not new.is_dir():
        return
    try:
        names = {one.name for one in new.iterdir()}
        if ITEMS in names and (folder / RECORD).is_file():
            for name in _files(folder) - names - {RECORD}:
                (folder / name).unlink(missing_ok=True)
        for name in (one for one in (ITEMS, *sorted(names - {ITEMS, RECORD}), RECORD) if one in names):
            (new / name).replace(folder / name)
        new.rmdir()
    except OSError as error:
        raise BadInput(f"cannot be written to ({error.strerror or error})", path=folder) from None


STUDY = "study run"
"""The kind of a folder that gathers what several runs of a plan came to."""

_RUNS = "runs"  # of a study, in its folder
_DEEPEST = 3  # folders below the one that is named


class RunResults(NamedTuple):
    """One folder: what was run, and its items; `name` is what it is called where it stands in a store, `#17`."""

    folder: Path
    record: RunRecord
    rows: Sequence[ItemRow]
    name: str = ""

    @property
    def called(self) -> str:
        """What it is called where it is named: its folder, or its number in a store."""
        return self.name or str(self.folder)

    @property
    def measures(self) -> list[str]:
        """The measures that items have values of, the chief one first."""
        named = [one.name for one in self.record.measures]
        found = dict.fromkeys(name for row in self.rows for name in row.values)
        return [*(name for name in named if name in found), *(name for name in found if name not in named)]


def read_results(*paths: Path | str) -> list[RunResults]:
    """Reads the results in folders, in those below a folder that has none itself, and in stores.

    A store is named by its address, `postgresql://HOST/DATABASE`, which means all that is in it, or with `#17` behind.
    """
    if not paths:
        raise UserError("name one or more folders of results, such as --out of a run made")
    found: dict[Path, RunResults] = {}
    for path in paths:
        if isinstance(path, str) and is_store(path):
            found |= {one.folder: one for one in _stored(path)}
        else:
            found |= {folder: _read(folder) for folder in _found(Path(path)) if folder not in found}
    return list(found.values())


def runs_of_study(results: RunResults) -> list[RunResults]:
    """Returns the runs of a study, with what the paper prints beside the first; anything else, and one alone, as it is.

    A study whose runs do not lie in its folder any more, as in a store, is as it is too.
    """
    folders = sorted(path for path in results.folder.glob(f"{_RUNS}/*") if (path / RECORD).is_file())
    if results.record.kind != STUDY or not folders or results.name:
        return [results]
    runs = [_read(folder) for folder in folders]
    first = msgspec.structs.replace(runs[0].record, published=results.record.published)
    return [runs[0]._replace(record=first), *runs[1:]]


def _stored(text: str) -> Iterator[RunResults]:
    from polyclinic.storage.results import StoredFolders, fetch_folders  # noqa: PLC0415 - for those who share a store

    wanted = StoredFolders.read(text)
    for number, folder in fetch_folders(wanted, _scratch_of(text), (RECORD, ITEMS, CALLS)):
        try:
            yield _read(folder)._replace(name=f"#{number}")
        except BadInput as problem:
            raise BadInput(f"{wanted.address.shown}#{number}: {problem.problem}") from None


def fetch(text: str) -> list[Path]:
    """Returns temporary folders with the results in a database, `postgresql://HOST/DATABASE#17`."""
    from polyclinic.storage.results import StoredFolders, fetch_folders  # noqa: PLC0415 - for those who share a store

    return [folder for _, folder in fetch_folders(StoredFolders.read(text), _scratch_of(f"{text} whole"))]


def is_fetched(folder: Path) -> bool:
    """Whether a folder is one of `fetch`, and nobody will find what is written there."""
    return _scratch.cache_info().currsize > 0 and folder.is_relative_to(_scratch())


def _scratch_of(text: str) -> Path:
    scratch = _scratch() / hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    scratch.mkdir(exist_ok=True)
    return scratch


@functools.cache
def _scratch() -> Path:
    """Returns a folder that lasts as long as this process."""
    folder = tempfile.TemporaryDirectory(prefix="polyclinic-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _found(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        raise BadInput(f"{no_folder(path)}; name one that --out made", path=path)
    if _holds(path):
        yield path
        return
    below = sorted(one for one in _below(path, _DEEPEST) if _holds(one))
    if not below:
        raise BadInput(
            "there are no results here, nor in the folders below; a run with --out FOLDER writes them "
            "when it ends; if it was stopped, give the same command again",
            path=path,
        )
    yield from below


def _below(path: Path, depth: int) -> Iterator[Path]:
    for one in path.iterdir():
        if one.is_dir() and not one.name.startswith("."):
            yield one
            if depth > 1 and not _holds(one):
                yield from _below(one, depth - 1)


def _holds(folder: Path) -> bool:
    return (folder / RECORD).is_file()


def _read(folder: Path) -> RunResults:
    return RunResults(folder, read_record(folder), read_items(folder))
