"""Chinese in a terminal: a line is full wherever its letters are, as there are no blanks to break at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.containers import Lines
from rich.text import Text

from polyclinic.language.language import is_chinese

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, OverflowMethod

# What is not parted: what opens, a word or a number in other letters, or one letter, what closes, and blanks after it.
_TOGETHER = re.compile(r"[（《“「【]*(?:[\x21-\x7e°µ²³]+|\S)?[，。、；：？！）》”」】]*\s*")


class ChineseText(Text):
    """A text that is broken between letters where it is Chinese, and like any other where it is not."""

    def wrap(
        self,
        console: Console,
        width: int,
        *,
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        tab_size: int = 8,
        no_wrap: bool | None = None,
    ) -> Lines:
        """Breaks it into lines of a width in cells, as rich asks for."""
        if no_wrap or not is_chinese(self.plain):
            return super().wrap(console, width, justify=justify, overflow=overflow, tab_size=tab_size, no_wrap=no_wrap)
        lines = Lines()
        for line in self.split(allow_blank=True):
            lines.extend(line.divide(_breaks(line.plain, width)))
        for line in lines:
            line.rstrip_end(width)
        if justify:
            lines.justify(console, width, justify=justify, overflow=overflow or "fold")
        return lines


def _breaks(text: str, width: int) -> list[int]:
    """Returns where lines begin, but for the first."""
    breaks, used, at = [], 0, 0
    while at < len(text):
        part = _TOGETHER.match(text, at)
        together = part.group() if part is not None and part.group() else text[at]
        if cell_len(together.rstrip()) > width:
            together = together[0]
        if used and used + cell_len(together.rstrip()) > width:
            breaks.append(at)
            used = 0
        used += cell_len(together)
        at += len(together)
    return breaks
