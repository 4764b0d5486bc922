"""A run's log for other tools: JSON lines, Parquet and CSV.

JSON lines hold each happening as it is; their BLAKE2b hash of 16 bytes (`b2sum -l 128`) is the run's `log_hash`.
Parquet and CSV have one column for each field there is; what a happening does not have stays empty.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from polyclinic.errors import MissingExtra
from polyclinic.files import whole
from polyclinic.frames import cell
from polyclinic.hospital.record.account import encode
from polyclinic.hospital.record.happenings import What
from polyclinic.hospital.record.recorded import RecordedRun

_ENVELOPE = ("seq", "t", "who", "what")
_AT_ONCE = 10_000  # rows of a group in Parquet


class LogLayout(StrEnum):
    """How an exported log is laid out."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    CSV = "csv"

    @property
    def file(self) -> str:
        """The name of its file where nobody gives another."""
        return f"happenings.{self}"


def export(run: RecordedRun, path: str | Path, layout: LogLayout) -> int:
    """Writes the log of a run to a file, whole or not at all; returns how many happenings were written."""
    write = {
        LogLayout.JSONL: _write_lines,
        LogLayout.PARQUET: _write_parquet,
        LogLayout.CSV: _write_csv,
    }[layout]
    with whole(Path(path)) as temporary:
        return write(run, temporary)


def columns() -> dict[str, Any]:
    """Returns the columns of Parquet and CSV with their types: `int`, `bool`, `str`, or "int list", "str list"."""
    found: dict[str, Any] = {"seq": int, "t": int, "who": str, "what": str}
    for kind in get_args(What):
        for field in cast(msgspec.inspect.StructType, msgspec.inspect.type_info(kind)).fields:
            found[_column(field.encode_name)] = _type(field.type)
    return found


def _column(field: str) -> str:
    return f"what_{field}" if field in _ENVELOPE else field


def _type(info: msgspec.inspect.Type) -> Any:
    if isinstance(info, msgspec.inspect.UnionType):
        return _type(next(part for part in info.types if not isinstance(part, msgspec.inspect.NoneType)))
    if isinstance(info, msgspec.inspect.VarTupleType):
        return f"{_type(info.item_type).__name__} list"
    if isinstance(info, msgspec.inspect.BoolType):
        return bool
    return int if isinstance(info, msgspec.inspect.IntType) else str


def _rows(run: RecordedRun) -> Iterator[dict[str, Any]]:
    for happening in run.happenings():
        info = happening.what
        row: dict[str, Any] = {"seq": happening.seq, "t": happening.t, "who": happening.who}
        row["what"] = type(info).__struct_config__.tag
        row.update((_column(name), getattr(info, name)) for name in info.__struct_fields__)
        yield row


def _write_lines(run: RecordedRun, path: Path) -> int:
    n = 0
    with path.open("wb") as file:
        for n, happening in enumerate(run.happenings(), 1):  # noqa: B007
            file.write(encode(happening) + b"\n")
    return n


def _write_csv(run: RecordedRun, path: Path) -> int:
    n = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns()), restval="", lineterminator="\n")
        writer.writeheader()
        for n, row in enumerate(_rows(run), 1):  # noqa: B007
            writer.writerow({k: encode(v).decode() if isinstance(v, tuple) else cell(v) for k, v in row.items()})
    return n


def _write_parquet(run: RecordedRun, path: Path) -> int:
    try:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise MissingExtra(
            "what writes Parquet is not installed: pip install 'polyclinic[parquet]'; jsonl and csv need nothing"
        ) from None
    # Words that come again and again are stored once.
    types = {
        int: pa.int64(),
        bool: pa.bool_(),
        str: pa.dictionary(pa.int32(), pa.string()),
        "str list": pa.list_(pa.string()),
        "int list": pa.list_(pa.int64()),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in columns().items()])
    rows, n = _rows(run), 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while group := list(islice(rows, _AT_ONCE)):
            # A str of an enumeration is a str to everybody but pyarrow.
            plain = [{k: str(v) if isinstance(v, StrEnum) else v for k, v in row.items()} for row in group]
            writer.write_table(pa.Table.from_pylist(plain, schema=schema))
            n += len(group)
    return n
