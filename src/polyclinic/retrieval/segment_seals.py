"""The checksums that tantivy writes behind each of its files, and does not look at when it reads them."""

from __future__ import annotations

import zlib
from pathlib import Path

import msgspec

META = "meta.json"
_MAGIC = 1337
_NUMBER = 4  # bytes of each of the two numbers at a file's end: the footer's length, and the magic one
_AT_ONCE = 2**20
_LONGEST_FOOTER = 2**12


class _MetaSegment(msgspec.Struct):
    segment_id: str


class _IndexMeta(msgspec.Struct):
    segments: list[_MetaSegment]


class _Footer(msgspec.Struct):
    crc: int


_meta, _footer = msgspec.json.Decoder(_IndexMeta), msgspec.json.Decoder(_Footer)


def check_segments(folder: Path) -> None:
    """Checks the files of an index that is there, one that another process takes away meanwhile excepted.

    Raises:
        ValueError: one of them is not what was written; names it.
    """
    meta = folder / META
    if not meta.is_file():
        return
    for segment in _meta.decode(meta.read_bytes()).segments:
        for path in sorted(folder.glob(f"{segment.segment_id.replace('-', '')}.*")):
            try:
                whole = _is_whole(path)
            except FileNotFoundError:
                continue
            if not whole:
                raise ValueError(f"{path.name} is not what was written")


def _is_whole(path: Path) -> bool:
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - 2 * _NUMBER, 0))
        end = file.read()
        long, magic = (int.from_bytes(end[at : at + _NUMBER], "little") for at in (0, _NUMBER))
        body = size - 2 * _NUMBER - long
        if magic != _MAGIC or body < 0 or long > _LONGEST_FOOTER:
            return False
        file.seek(body)
        try:
            told = _footer.decode(file.read(long)).crc
        except msgspec.MsgspecError:
            return False
        file.seek(0)
        found = 0
        while body and (some := file.read(min(body, _AT_ONCE))):
            found, body = zlib.crc32(some, found), body - len(some)
    return not body and found == told
