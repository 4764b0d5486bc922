"""The words of names and what was learnt from them, kept in the user's cache folder for the next process.

To read them anew takes about a second, which every command with a patient would wait. They are kept under a fingerprint
of the files and the code that they come from: what was changed since is read anew. So is what is not as it was
written, and where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import whole
from polyclinic.fingerprints import of_parts
from polyclinic.knowledge.disease_names.vocabulary import KeptVocabulary, NameVocabulary, NameWord, unfolded
from polyclinic.seals import SEAL_BYTES, seal
from polyclinic.user_folders import cache_folder

_MADE_OF = ("knowledge/disease_names", "language/language.py", "yaml_files.py")

Definition = tuple[frozenset[str], str]
"""What a disease is by its parts, and which it is."""


class LearntNames(msgspec.Struct, frozen=True, array_like=True):
    """What the names of diseases say of one another; see `NameReader`."""

    parents: dict[str, frozenset[str]]
    usual: dict[str, frozenset[str]]
    definitions: dict[str, list[Definition]]
    entered: list[tuple[tuple[str, ...], NameWord]]


class _KeptNames(msgspec.Struct, frozen=True, array_like=True):
    words: KeptVocabulary
    learnt: LearntNames


@functools.cache
def vocabulary() -> NameVocabulary:
    """Returns the words, read once."""
    kept = _kept()
    return NameVocabulary() if kept is None else unfolded(kept.words)


def learnt() -> LearntNames | None:
    """Returns what was learnt from `vocabulary`, or None where that was not kept."""
    kept = _kept()
    return None if kept is None else kept.learnt


def keep(words: KeptVocabulary, learnt: LearntNames) -> None:
    """Keeps them for the next process, where that can be."""
    with contextlib.suppress(BadInput, OSError, RuntimeError):
        _place().parent.mkdir(parents=True, exist_ok=True)
        with whole(_place()) as temporary:
            raw = msgspec.msgpack.encode(_KeptNames(words, learnt))
            temporary.write_bytes(seal(raw) + raw)


@functools.cache
def _kept() -> _KeptNames | None:
    try:
        kept = _place().read_bytes()
        told, raw = kept[:SEAL_BYTES], kept[SEAL_BYTES:]
        # A word that says something else would grade and withhold otherwise, and nobody would know.
        return msgspec.msgpack.decode(raw, type=_KeptNames) if told == seal(raw) else None
    except (OSError, RuntimeError, msgspec.DecodeError):  # a user without a home is a RuntimeError
        return None


def _place() -> Path:
    return cache_folder() / f"names-{of_parts(*_MADE_OF)}"
