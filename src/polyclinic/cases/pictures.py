"""The pictures of cases, for whoever sees: read from beside the case file, and never fetched from anywhere."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

import msgspec

from polyclinic.cases.presentation import ShownPicture
from polyclinic.errors import BadInput
from polyclinic.files import check_file
from polyclinic.opened_files import read_at_once

PictureChoice = Literal["none", "local", "addresses"]
"""Which pictures are shown: none, those that are here, or also the addresses of others, which endpoints fetch."""

MOST_BYTES = 5 * 2**20
"""Of one picture; providers take no larger ones."""

MOST_PICTURES = 20
"""Of one case."""

_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF87a": "gif", b"GIF89a": "gif"}
_PARTED = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
_NETWORK = ("http", "https")


class SeenPicture(msgspec.Struct, frozen=True, kw_only=True):
    """A picture as a model is sent it."""

    url: str  # the picture itself as a `data:` URL, or its address
    shown: ShownPicture  # what is kept of it


class CasePictures:
    """Reads the pictures of the cases of one folder."""

    def __init__(self, folder: Path, *, addresses: bool = False) -> None:
        self._folder, self._addresses = folder, addresses
        self._read: dict[str, SeenPicture] = {}

    def of(self, urls: Sequence[str]) -> tuple[SeenPicture, ...]:
        """Returns the pictures of a case that can be shown, by where its attachments lie."""
        if len(urls) > MOST_PICTURES:
            raise BadInput(f"a case of {len(urls)} pictures; at most {MOST_PICTURES} are shown")
        seen = [url for url in urls if self._addresses or not is_address(url)]
        for url in seen:
            if url not in self._read:
                self._read[url] = _of_network(url) if is_address(url) else _here(url, self._folder)
        return tuple(self._read[url] for url in seen)


def bytes_of(picture: SeenPicture) -> tuple[str, bytes]:
    """Returns the media type of a picture that was read, and what it is made of."""
    return picture.url[5 : picture.url.index(";")], _decoded(picture.url)


def words_of_place(place: str) -> str:
    """Returns the words of a file's place or an address, in which `_`, `-` and the like part them."""
    return " ".join(_PARTED.sub(" ", place).split())


def is_address(url: str) -> bool:
    """Whether a picture lies somewhere on the network."""
    return url.partition(":")[0].lower() in _NETWORK


def _of_network(url: str) -> SeenPicture:
    # What stands behind the path may be a key.
    parts = urlsplit(url)
    name = urlunsplit((parts.scheme, parts.hostname or "", parts.path, "", ""))
    return SeenPicture(url=url, shown=ShownPicture(name=name))


def _here(url: str, folder: Path) -> SeenPicture:
    if url.startswith("data:"):
        return _checked(_decoded(url), "a data: URL", None)
    path = (folder / url).resolve()
    if not path.is_relative_to(folder.resolve()):
        problem = f"the picture {url} lies outside of the folder of its case; pictures are read from there only"
        raise BadInput(problem, path=folder)
    check_file(path)
    if path.stat().st_size > MOST_BYTES:
        raise BadInput(_too_large(path.stat().st_size), path=path)
    try:
        return _checked(read_at_once(path), url, path)
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None


def _decoded(url: str) -> bytes:
    head, comma, said = url.partition(",")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        raise BadInput(f"a picture as a data: URL begins with data:image/KIND;base64, and not with {head[:40]!r}")
    try:
        return base64.b64decode(said, validate=True)
    except binascii.Error as error:
        raise BadInput(f"a picture as a data: URL is no base64 ({error})") from None


def _checked(data: bytes, name: str, path: Path | None) -> SeenPicture:
    if len(data) > MOST_BYTES:
        raise BadInput(_too_large(len(data)), path=path)
    kind = next((kind for sign, kind in _KINDS.items() if data.startswith(sign)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "webp"
    if not kind:
        raise BadInput("no picture that models take, by its first bytes; PNG, JPEG, GIF and WebP are", path=path)
    shown = ShownPicture(name=name, sha256=hashlib.sha256(data).hexdigest())
    return SeenPicture(url=f"data:image/{kind};base64,{base64.b64encode(data).decode()}", shown=shown)


def _too_large(size: int) -> str:
    return f"a picture of {size / 2**20:.1f} MiB; at most {MOST_BYTES >> 20} MiB are shown; make it smaller"
