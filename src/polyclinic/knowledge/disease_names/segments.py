"""Cuts the units of a name into known words: as few words and as little unknown as can be.

A Latin word that is not known is taken apart as a Greek or Latin compound ("nephro-lithiasis"). Two organs in one
compound, or side by side in Chinese, are a place of their own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from polyclinic.knowledge.disease_names.vocabulary import Kind, NameVocabulary, NameWord
from polyclinic.language.language import is_chinese

SEPARATORS = frozenset(",;:、，；：()（）[]【】?？+/")

_UNKNOWN = 10.0  # what a unit costs that no word has
_COMPOUND = 1.5
_LONGER = 0.001  # what is given back for every unit more in a word, squared
_LEAST_COMPOUND = 6  # letters
_LINKING = ("o", "i", "a", "")
_NUMBERED = re.compile(r"[a-z]{1,3}\d+[a-z]?$")
_BESIDE = frozenset(("around", "below", "above", "within", "both legs"))


class NamePiece(NamedTuple):
    """A word in a name.

    Attributes:
        atoms: what it means; of an unknown word, itself.
        chinese: whether it is written in Chinese.
    """

    kind: Kind | Literal["unknown", "separator"]
    atoms: tuple[str, ...]
    chinese: bool = False


# 肾动脉瘤 is no tumour of the artery.
_GROWTH, _ANEURYSM = NamePiece("process", ("tumour",), chinese=True), NamePiece("process", ("aneurysm",), chinese=True)


def cut(row: tuple[str, ...], words: NameVocabulary) -> list[NamePiece]:
    """Returns the pieces of a name, in order, with the separators between them."""
    pieces: list[NamePiece] = []
    begin = 0
    for end in range(len(row) + 1):
        if end == len(row) or row[end] in SEPARATORS:
            pieces += _joined(_best(row[begin:end], words), words)
            if end < len(row):
                pieces.append(NamePiece("separator", (row[end],)))
            begin = end + 1
    return pieces


def cost(row: tuple[str, ...], words: NameVocabulary) -> float:
    """Returns how badly a row of units is made of known words; fewer words are better."""
    return _ways(row, words)[0][0]


def _best(row: tuple[str, ...], words: NameVocabulary) -> list[NamePiece]:
    return [piece for _, _, found in placed(row, words) for piece in found]


def placed(row: tuple[str, ...], words: NameVocabulary) -> Iterator[tuple[int, int, tuple[NamePiece, ...]]]:
    """Yields the words of a row of units without separators: where each begins and ends, and its pieces."""
    ways = _ways(row, words)
    at = 0
    while at < len(row):
        _, end, found = ways[at]
        yield at, end, found
        at = end


_Way = tuple[float, int, tuple[NamePiece, ...]]
"""A way on through a name: its cost, where its first word ends, and what that is."""


def _ways(row: tuple[str, ...], words: NameVocabulary) -> list[_Way]:
    """Returns the best way on from each place."""
    ways: list[_Way] = [(0.0, len(row), ())] * (len(row) + 1)
    for begin in range(len(row) - 1, -1, -1):
        unit = row[begin]
        chinese = is_chinese(unit)
        best: _Way = (_UNKNOWN + ways[begin + 1][0], begin + 1, ())
        if unit == "a" and begin == len(row) - 1 and begin:
            ways[begin] = (1.0, begin + 1, (NamePiece("quality", ("type:a",)),))
            continue
        if ":" in unit:
            best = (1 + ways[begin + 1][0], begin + 1, (NamePiece("quality", (unit,)),))
        elif not chinese and len(unit) >= _LEAST_COMPOUND and words.single(unit) is None:
            parts = compound(unit, words)
            if parts:
                best = (_COMPOUND + ways[begin + 1][0], begin + 1, parts)
        for end, word in words.starting(row, begin):
            total = 1 - _LONGER * (end - begin) ** 2 + ways[end][0]
            # 肾动脉, 瘤 rather than 肾, 动脉瘤: what is said first is said as closely as can be.
            if total < best[0] or (chinese and total == best[0] and word.kind == "place"):
                best = (total, end, (NamePiece(word.kind, word.atoms, chinese),))
        ways[begin] = best if best[2] else (*best[:2], (_unknown(unit, chinese),))
    return ways


def _unknown(unit: str, chinese: bool) -> NamePiece:
    if not chinese and (len(unit) == 1 or unit.isdigit()):
        return NamePiece("quality", (f"type:{unit}",))
    if not chinese and _NUMBERED.match(unit):
        return NamePiece("quality", (unit,))  # "M2", "S6": which one, not what
    return NamePiece("unknown", (unit,), chinese)


def _joined(pieces: Sequence[NamePiece], words: NameVocabulary) -> list[NamePiece]:
    """Returns the pieces with unknown Chinese characters that follow one another as one, and so organs."""
    joined: list[NamePiece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if last is not None and piece.chinese and last.chinese and piece.kind == last.kind == "unknown":
            joined[-1] = NamePiece("unknown", (last.atoms[0] + piece.atoms[0],), chinese=True)
        elif last is not None and piece.chinese and last.chinese and piece.kind == last.kind == "place":
            joined[-1] = beside(last, piece, words)
        elif piece == _GROWTH and last is not None and last.chinese and _is_artery(last, words):
            joined.append(_ANEURYSM)
        else:
            joined.append(piece)
    return joined


def _is_artery(piece: NamePiece, words: NameVocabulary) -> bool:
    return piece.kind in ("place", "part") and "artery" in _around(piece.atoms[0], words)


def beside(first: NamePiece, second: NamePiece, words: NameVocabulary) -> NamePiece:
    """Returns two places as the one that both are together; where the one lies in the other, that is the closer one."""
    one, other = first.atoms[0], second.atoms[0]
    if other in _around(one, words):
        return first
    if one in _around(other, words):
        return second
    return NamePiece("place", ("+".join(sorted({*one.split("+"), *other.split("+")})),), first.chinese)


def _around(place: str, words: NameVocabulary) -> set[str]:
    """Returns a place and all in which it lies."""
    found = {place}
    while (place := words.parents.get(place, "")) and place not in found:
        found.add(place)
    return found


@functools.lru_cache(maxsize=1 << 14)
def compound(word: str, words: NameVocabulary) -> tuple[NamePiece, ...]:
    """Returns the parts of a Greek or Latin compound, or nothing where it is none."""
    found = _compound(word, words, 0)
    if found is None:
        return ()
    pieces: list[NamePiece] = []
    for part in found:
        piece = NamePiece(part.kind, part.atoms)
        last = pieces[-1] if pieces else None
        if last is not None and piece.kind == "place" and (last.kind == "place" or last.atoms[0] in _BESIDE):
            pieces[-1] = beside(last, piece, words)
        else:
            pieces.append(piece)
    return tuple(pieces)


def _compound(word: str, words: NameVocabulary, depth: int) -> list[NameWord] | None:
    """Returns a compound's words: forms, and then a suffix or a word of its own; None where there is no such row."""
    best: list[NameWord] | None = None
    if depth:
        if word in words.suffixes:
            return [words.suffixes[word]]
        whole = words.single(word)
        if whole is not None and len(word) > 4 and whole.kind in ("disease", "process", "event", "place", "part"):
            return [whole]
    if depth > 4:
        return None
    for end in range(len(word) - 2, 1, -1):
        form = words.forms.get(word[:end])
        if form is None:
            continue
        for vowel in _LINKING:
            if not word.startswith(vowel, end) or len(word) - end - len(vowel) < 3:
                continue
            rest = _compound(word[end + len(vowel) :], words, depth + 1)
            if rest is not None and rest[0].kind == "disease" and form.atoms[0] in _BESIDE:
                continue  # a parapertussis is no pertussis
            if rest is not None and (best is None or len(rest) + 1 < len(best)):
                best = [form, *rest]
    return best
