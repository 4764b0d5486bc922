"""Pages in one file, and texts and tables as they may stand in one, whoever wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template

_PAGE = Path(__file__).with_name("page.html")

# Also what turns the direction of the text round, and what no XML may hold.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def shown(text: str) -> str:
    """Returns a text as it may stand in a page: escaped, control characters as signs, each as long as it was."""
    return escape(_CONTROL.sub(_sign, text))


def _sign(control: re.Match[str]) -> str:
    code = ord(control[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def page_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Returns a table of texts; all but the first `left` columns hold numbers, of the class `n`."""

    def row(tag: str, cells: Sequence[str]) -> str:
        side = [*[""] * left, *[' class="n"'] * (len(cells) - left)]
        inner = "".join(f"<{tag}{c}>{shown(cell)}</{tag}>" for c, cell in zip(side, cells, strict=True))
        return f"<tr>{inner}</tr>"

    return f"<table><thead>{row('th', heads)}</thead><tbody>{''.join(row('td', r) for r in rows)}</tbody></table>"


def whole_page(title: str, body: str, *, made_from: str, made_by: str, style: str = "") -> str:
    """Returns a page that needs no network and no script.

    Args:
        title: a text, as are the two below.
        body: what stands between them, as HTML.
        made_from: stands below the title.
        made_by: stands at the foot.
        style: beside that of all pages.
    """
    texts = {"title": title, "made_from": made_from, "made_by": made_by}
    escaped = {name: shown(text) for name, text in texts.items()}
    return Template(_PAGE.read_text("utf-8")).substitute(escaped, body=body, style=style)
