"""The words of names and what was learnt from them, kept in the user's cache folder for the next process.

To read them anew takes about a second, which every command with a patient would wait. They are kept under a fingerprint
of the files and the code that they come from: what was changed since is read anew. So is what is not as it was
written, and where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import time
from pathlib import Path

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import whole
from polyclinic.fingerprints import of_parts
from polyclinic.knowledge.disease_names.vocabulary import KeptVocabulary, NameVocabulary, NameWord, unfolded
from polyclinic.seals import SEAL_BYTES, seal
from polyclinic.user_folders import cache_folder

_MADE_OF = ("knowledge/disease_names", "language", "yaml_files.py")

_NAME = re.compile("names-[0-9a-f]{16}")
_OLD = 24 * 60 * 60.0  # seconds after which a version that nobody has used is taken for one of the past

Definition = tuple[frozenset[str], str]
"""What a disease is by its parts, and which it is."""


class LearntNames(msgspec.Struct, frozen=True, array_like=True):
    """What the names of diseases say of one another; see `NameReader`."""

    parents: dict[str, frozenset[str]]
    usual: dict[str, frozenset[str]]
    definitions: dict[str, list[Definition]]
    entered: list[tuple[tuple[str, ...], NameWord]]


class KeptPhrase(msgspec.Struct, frozen=True, array_like=True):
    """What gives a disease away, by its units behind the first.

    Attributes:
        is_sure: it is said of this disease and no other.
        written: how it must be written; "" for in any way.
    """

    rest: tuple[str, ...]
    disease: str
    is_sure: bool
    written: str = ""


class KeptGiveaways(msgspec.Struct, frozen=True, array_like=True):
    """What gives diseases away.

    Attributes:
        phrases: by their first unit.
        codes: with their diseases, by their category.
        sounds: the diseases that long words give away, by how these sound.
    """

    phrases: dict[str, list[KeptPhrase]]
    codes: dict[str, list[tuple[str, str]]]
    sounds: dict[str, list[str]]


class _KeptNames(msgspec.Struct, frozen=True, array_like=True):
    words: KeptVocabulary
    learnt: LearntNames
    giveaways: KeptGiveaways


@functools.cache
def vocabulary() -> NameVocabulary:
    """Returns the words, read once."""
    kept = _kept()
    return NameVocabulary() if kept is None else unfolded(kept.words)


def learnt() -> LearntNames | None:
    """Returns what was learnt from `vocabulary`, or None where that was not kept."""
    kept = _kept()
    return None if kept is None else kept.learnt


def giveaways() -> KeptGiveaways | None:
    """Returns what gives diseases away, or None where that was not kept."""
    kept = _kept()
    return None if kept is None else kept.giveaways


def keep(words: KeptVocabulary, learnt: LearntNames, giveaways: KeptGiveaways) -> None:
    """Keeps them for the next process, where that can be, in place of those of other versions."""
    with contextlib.suppress(BadInput, OSError, RuntimeError):
        place = _place()
        place.parent.mkdir(parents=True, exist_ok=True)
        with whole(place) as temporary:
            raw = msgspec.msgpack.encode(_KeptNames(words, learnt, giveaways))
            temporary.write_bytes(seal(raw) + raw)
        _remove_old(place)


def _remove_old(kept: Path) -> None:
    """Removes what other versions kept, but for what somebody used lately: two versions may be in use side by side."""
    now = time.time()
    for other in kept.parent.glob("names-*"):
        if other != kept and _NAME.fullmatch(other.name) and now - other.stat().st_mtime > _OLD:
            other.unlink(missing_ok=True)


@functools.cache
def _kept() -> _KeptNames | None:
    try:
        place = _place()
        kept = place.read_bytes()
        told, raw = kept[:SEAL_BYTES], kept[SEAL_BYTES:]
        # A word that says something else would grade and withhold otherwise, and nobody would know.
        read = msgspec.msgpack.decode(raw, type=_KeptNames) if told == seal(raw) else None
        if read is not None and time.time() - place.stat().st_mtime > _OLD / 2:
            with contextlib.suppress(OSError):
                os.utime(place)
        return read
    except (OSError, RuntimeError, msgspec.DecodeError):  # a user without a home is a RuntimeError
        return None


def _place() -> Path:
    return cache_folder() / f"names-{of_parts(*_MADE_OF)}"
