"""Cells of tables that programs could not read as numbers."""

import re

from rich.table import Column

from polyclinic.terminal.figures import ShownFigure

SHOWN = re.compile(
    r"""[+-]?\d{1,3}(,\d{3})+(\.\d+)?   # 1,588
    | [+-]?\d[\d.,]*\s%.*               # 12 %
    | [+-]?\d[\d.]*\s?(-|to|±|\(|\[)\s?[+-]?\d.*   # 71.59-83.83
    | [+-]?\d+\.\d+                     # rounded, and nothing else known of it
    """,
    re.VERBOSE,
)


def unreadable(column: Column) -> list[str]:
    """Returns the cells of a column of numbers that would stand in a file as they are printed."""
    if column.justify != "right":
        return []
    texts = (getattr(one, "plain", one) for one in column.cells if not isinstance(one, ShownFigure))
    return [text for text in texts if SHOWN.fullmatch(text.strip())]
