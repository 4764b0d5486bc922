"""The folder that a run leaves, whatever was run.

    results.json  what it was: command, configuration, versions, data, models, measures, and what the models cost
    items.jsonl   a line for each item that was put to each entrant: an `ItemRow`
    calls.jsonl   a line for each call to a model, where there were any: a `KeptCall`

Beside them lies what the kind of run writes besides (`summary.json`, outcomes, traces). Nothing in them is secret.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from polyclinic.cases.case_share import CaseShare
from polyclinic.errors import BadInput
from polyclinic.files import NO_JSON, check_file, read_records, split_place
from polyclinic.models.ledger import KeptCall
from polyclinic.opened_files import opened, read_at_once
from polyclinic.protocols.study_plan import PublishedValue

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
        percent: whether it is in percent, or another number.
        less_is_better: whether the smaller is the better.
        share: whether each value says yes or no, 100 or 0, so that their mean is a share of the items; None where
            nobody says, and the values are looked at.
    """

    name: str
    percent: bool = True
    less_is_better: bool = False
    share: bool | None = None


class ItemRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of one item that was put to one entrant.

    Attributes:
        item: the question, case or patient.
        values: by measure; what was not measured, or failed, is missing.
        weights: by measure, how much the item counts in its mean, as turns do in that of their length; else 1.
        set: the data set.
        model: who answered: a model, or a mind by its name.
        method: how, where there are several ways.
        case: what is resampled together; the item where it is empty.
        end: how it ended, where that is said.
        calls: those without which there would be nothing here; `shared` of them serve other entrants as well, and
            stand once in the sums of the run. So do tokens, cost and seconds.
        at: where it can be read, `FILE:LINE` in the folder.
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
        """What is resampled together."""
        return self.case or self.item


def grouped(things: Iterable[T], key: Callable[[T], Key]) -> dict[Key, list[T]]:
    """Returns things by key, in the order in which the keys first come."""
    groups: dict[Key, list[T]] = {}
    for one in things:
        groups.setdefault(key(one), []).append(one)
    return groups


def mean_of_parts(parts: Mapping[str, Sequence[float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Returns values and weights of an item that has several parts, of the measures that have any.

    So the mean over items is that over all parts, as of the turns of a visit.
    """
    having = {name: values for name, values in parts.items() if values}
    values = {name: sum(of) / len(of) for name, of in having.items()}
    return values, {name: float(len(of)) for name, of in having.items()}


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read, and the SHA-256 of what stood in it."""

    option: str
    file: str
    sha256: str


class OwnCode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Code that a user brought by an option's name: the SHA-256 of its file, and the installed package it is of."""

    option: str
    name: str
    sha256: str
    package: str = ""


class AskedModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model in a role, and how it was asked; the address without user, password and query."""

    name: str
    role: str
    base_url: list[str] = []
    parameters: dict[str, Any] = {}


class CallSum(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the calls of a role for a purpose came to; those `replayed` from a journal cost nothing now.

    Those `unpriced` took tokens without a price: beside others that have one, `cost` is the least that it can be.
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
    """What one of several servers of a model answered."""

    model: str
    server: str
    calls: int
    tokens_in: int = 0
    cached: int = 0
    tokens_out: int = 0
    cost: float | None = None
    unpriced: int = 0


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run was, for whoever finds its results.

    Attributes:
        kind: the command, `eval aie`.
        command: as it was typed, without what is secret.
        configuration: every option with its value, defaults too.
        finished: when, in UTC.
        cases: how many records of the case files are used, and which are not.
        measures: what the items have values of, the chief one first.
        servers: of models that several servers have, what each answered.
        stopped: why it ended before its end, "" where it did not; what is here is then what was over.
        failed: how it came to its end with more failures than may be, "" where it did not.
        files: what the run wrote besides, by name.
        departures: what was other than in the paper that is followed, what its file of one's own sets among it.
        title: of a study; paper: the one that it does again; published: what that prints.
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
    """Reads what a run was."""
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
    """Returns the files of traces that lie in a folder of results, one for each doctor."""
    found = [
        path for path in sorted(folder.glob("*.jsonl")) if path.name not in (CALLS, ITEMS) and _begins_a_visit(path)
    ]
    if not found:
        raise BadInput("no traces of visits are here; --out of consult and eval leaves them", path=folder)
    return found


def _begins_a_visit(path: Path) -> bool:
    with opened(path) as file:
        return file.readline(4096).startswith(b'{"event":')


def read_items(folder: Path) -> Sequence[ItemRow]:
    """Reads the items of a run; none where it has none."""
    return _rows(folder / ITEMS, ItemRow, "an item of a run")


def read_calls(folder: Path) -> Sequence[KeptCall]:
    """Reads the calls of a run; none where it has none."""
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
    """Yields where to write what then is put into a folder as a whole, in the place of what it holds of a run.

    Where it cannot be written whole, as on a disk that is full, nothing of it is left.
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
    """Puts what is whole where it belongs: the items first, the record last.

    As long as the items have not gone, nothing has, and what the old record names may still be taken away.
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
