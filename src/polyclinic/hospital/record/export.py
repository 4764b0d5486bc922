"""A run's log for other tools: JSON lines and CSV.

JSON lines hold each happening as it is; their BLAKE2b hash of 16 bytes (`b2sum -l 128`) is the run's `log_hash`.
CSV has one column for each field there is; what a happening does not have stays empty.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Literal, get_args

import msgspec

from polyclinic.files import whole
from polyclinic.frames import cell
from polyclinic.hospital.record.account import encode
from polyclinic.hospital.record.happenings import What
from polyclinic.hospital.record.recorded import RecordedRun

LogLayout = Literal["jsonl", "csv"]
_ENVELOPE = ("seq", "t", "who", "what")


def export(run: RecordedRun, path: str | Path, layout: LogLayout) -> int:
    """Writes the log of a run to a file, whole or not at all; returns how many happenings were written."""
    n = 0
    with whole(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns(), restval="", lineterminator="\n")
        if layout == "csv":
            writer.writeheader()
        for n, happening in enumerate(run.happenings(), 1):  # noqa: B007
            if layout == "jsonl":
                file.write(encode(happening).decode() + "\n")
                continue
            what = happening.what
            fields = {_column(name): getattr(what, name) for name in what.__struct_fields__}
            row = {"seq": happening.seq, "t": happening.t, "who": happening.who, **fields}
            row["what"] = type(what).__struct_config__.tag
            writer.writerow({k: encode(v).decode() if isinstance(v, tuple) else cell(v) for k, v in row.items()})
    return n


def columns() -> list[str]:
    """Returns the columns of CSV."""
    fields = (_column(field.encode_name) for kind in get_args(What) for field in msgspec.structs.fields(kind))
    return list(dict.fromkeys([*_ENVELOPE, *fields]))


def _column(field: str) -> str:
    return f"what_{field}" if field in _ENVELOPE else field
