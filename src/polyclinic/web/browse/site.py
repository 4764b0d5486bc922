"""A copy of the results that opens from disk, or on any static file server.

A page opened from disk cannot fetch, but can load scripts, so each document is a script, `polyclinicTells(key, {...})`.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.files import make_folder, write_text
from polyclinic.web.browse.documents import Documents

_STATIC = files("polyclinic.web") / "static"
_TAKEN = ("assets/browse.js", "assets/browse.css", "icon.svg")
_HEAD = '<meta charset="utf-8" />'
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
)
_MARKS = (
    f'<meta http-equiv="content-security-policy" content="{_POLICY}" />',
    '<meta name="polyclinic-copy" content="1" />',
)
_ABOUT = """\
Open index.html in a browser; it needs no server and no network. Any host of files can serve this folder as it is.

It holds the truth of its cases and what was said. Keep it from anyone who will still be
examined on these cases. Simulated patients only. For research and teaching; never for the care of real people.
"""


class CopiedSite(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a copy."""

    holdings: int
    documents: int
    bytes: int
    left_out: tuple[str, ...] = ()  # what could not be read, each with the reason


def export_site(documents: Documents, out: Path) -> CopiedSite:
    """Writes a copy of everything that a page of results can show to a new or empty folder."""
    holdings = documents.library.look()
    if not holdings:
        raise UserError("there is nothing to copy: no evaluation, run, recording or journal; --out of a run makes one")
    make_folder(out, parents=True)
    if any(out.iterdir()):
        raise BadInput("the folder is not empty; name a new one", path=out)
    left_out: list[str] = []
    count = size = 0
    for key in documents.every_key():
        try:
            document = documents(key)
        except UserError as error:
            left_out.append(f"{key}: {error}")
            continue
        text = f"polyclinicTells({', '.join(msgspec.json.encode(one).decode() for one in (key, document))});\n"
        _write(out / "data" / f"{key}.js", text)
        count, size = count + 1, size + len(text.encode())
    for name in _TAKEN:
        _write(out / name, (_STATIC / name).read_text("utf-8"))
    page = (_STATIC / "browse.html").read_text("utf-8").replace(_HEAD, "\n    ".join((_HEAD, *_MARKS)), 1)
    _write(out / "README.txt", _ABOUT)
    _write(out / "index.html", page)  # the last, so that a copy that was cut off opens nowhere
    return CopiedSite(holdings=len(holdings), documents=count, bytes=size, left_out=tuple(left_out))


def _write(path: Path, text: str) -> None:
    make_folder(path.parent, parents=True)
    write_text(path, text)
