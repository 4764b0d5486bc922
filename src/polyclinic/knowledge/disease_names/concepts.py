"""What a name of a disease says: the disease with all that is said of it, and what is said to stand beside it.

The parts of a name are found by grammar. "Y due to X", "X-induced Y", "Y with X", X所致Y, Y伴X and X性Y all name Y, and
X beside it. Commas turn a name round as in ICD-10 ("Fracture of femur, left"). Atoms beside are marked "~". What is
excluded ("without perforation", "non-alcoholic") is an atom of its own.

The units of a name are first cut into known words: as few words and as little unknown as possible. A Latin word that
is not known is taken apart as a Greek or Latin compound ("nephro-lithiasis"). Two organs in one compound, or next to
each other in Chinese, are a place of their own.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    """A word in a name."""

    kind: Kind | Literal["unknown", "separator"]
    atoms: tuple[str, ...]  # what it means; of an unknown word, itself
    chinese: bool = False  # whether it is written in Chinese


# 肾动脉瘤 is no tumour of the artery.
_GROWTH, _ANEURYSM = NamePiece("process", ("tumour",), chinese=True), NamePiece("process", ("aneurysm",), chinese=True)


def cut(row: tuple[str, ...], words: NameVocabulary) -> list[NamePiece]:
    """Returns the pieces of a name, in order, with the separators between them."""
    pieces: list[NamePiece] = []
    begin = 0
    for end in range(len(row) + 1):
        if end == len(row) or row[end] in SEPARATORS:
            pieces += _joined([piece for _, _, found in placed(row[begin:end], words) for piece in found], words)
            if end < len(row):
                pieces.append(NamePiece("separator", (row[end],)))
            begin = end + 1
    return pieces


def cost(row: tuple[str, ...], words: NameVocabulary) -> float:
    """Returns how badly a row of units is made of known words; fewer words are better."""
    return _ways(row, words)[0][0]


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


BESIDE = "~"
"""What an atom begins with that stands beside the disease."""

INFLAMMATION, CANCER, METASTASIS = "inflammation", "cancer", "metastasis"
ORGANISMS = frozenset(("bacteria", "virus", "fungus", "parasite"))
"""Kinds of all that brings an infection."""
_HEADS = ("process", "state", "disease")
_LATIN = re.compile(r"(?:[^o]us|is|um|ans|ens|osa|ica|ata|iva|ilis)$")
_TOGETHER = frozenset("/、+")
_OPENING = frozenset("(（[【")
_CLOSING = frozenset(")）]】")
_BRACKETS = _OPENING | _CLOSING
_WEAK = frozenset(("part", "bracket", "and"))
_SURGERY, _AFTER_SURGERY = "surgery", "after surgery"
_AFTER = NamePiece("quality", ("after",))
_MARKS = frozenset("?？")


class NameMeaning(NamedTuple):
    """What a name says."""

    atoms: frozenset[str]  # of the disease itself; those beside it begin with "~"
    denied: bool = False  # whether the name says that the disease is not there
    plain: bool = True  # whether all its words are known
    heads: bool = True  # whether it names a disease, and not only what could be said of one
    linked: bool = False  # whether it has a word such as "with", "due to" or "without"; there the order of words counts
    causes: frozenset[str] = frozenset()  # of what brings the disease about ("diabetic nephropathy")

    @property
    def empty(self) -> bool:
        """Whether nothing is said."""
        return not self.atoms


class _NamePart:
    """What stands between two links or separators."""

    def __init__(self, role: str, words: NameVocabulary, entails: Entails) -> None:
        self.role, self.pieces, self.of = role, list[NamePiece](), list[int]()
        self._words, self._entails = words, entails

    def read(self) -> tuple[set[str], set[str], bool]:
        """Returns the atoms of what the part names, of what brings it about, and whether it names a disease."""
        head = self._head()
        main: set[str] = set()
        aside: set[str] = set()
        if head is None:
            return {atom for piece in self.pieces for atom in piece.atoms}, aside, False
        merged = self._merged(head)
        for place, piece in enumerate(self.pieces):
            if piece.kind in ("disease", "state") and place not in merged and place != head:
                aside.update(piece.atoms)
            else:
                main.update(piece.atoms)
        return main, aside, True

    def befalls(self) -> bool:
        """Whether it names no disease, but only what befalls one ("due to thrombosis" is "thrombotic")."""
        return all(piece.kind not in ("disease", "state", "unknown") for piece in self.pieces)

    def _head(self) -> int | None:
        """Returns where the head stands: the last of the words before "of" that can be one, or else behind it."""
        border = self.of[0] if self.of else len(self.pieces)
        for begin, end in ((0, border), (border, len(self.pieces))):
            found = [place for place in range(begin, end) if self._can_head(place, end)]
            if found:
                is_so = [self._entails(frozenset(self.pieces[place].atoms)) for place in found]
                if METASTASIS in is_so[-1]:
                    own = [
                        at
                        for at, known in zip(found, is_so, strict=True)
                        if CANCER in known and METASTASIS not in known
                    ]
                    return own[-1] if own else found[-1]
                return found[-1]
        events = [place for place, piece in enumerate(self.pieces) if piece.kind == "event"]
        return events[-1] if events else None

    def _can_head(self, place: int, end: int) -> bool:
        piece = self.pieces[place]
        if piece.kind in _HEADS:
            return True
        # What ends an English phrase is what it speaks of, known or not, but for a Latin adjective.
        ends = piece.kind == "unknown" and not piece.chinese and place == end - 1
        return ends and not _LATIN.search(piece.atoms[0])

    def _merged(self, head: int) -> set[int]:
        """Returns where the diseases stand of which the head only says what they are ("COVID-19 infection").

        A head with a place of its own between ("diabetic eye disease") is another disease.
        """
        head_piece = self.pieces[head]
        merged: set[int] = set()
        if head_piece.kind == "state":
            return merged
        for place, piece in enumerate(self.pieces):
            if piece.kind != "disease" or place == head:
                continue
            between = self.pieces[min(place, head) + 1 : max(place, head)]
            if any(one.kind in ("place", "part", "disease") for one in between):
                continue
            known = self._entails(frozenset(piece.atoms))
            over = self._entails(frozenset(head_piece.atoms))
            if set(head_piece.atoms) <= known or (head_piece.kind == "disease" and set(piece.atoms) <= over):
                merged.add(place)
        return merged


Entails = Callable[[frozenset[str]], frozenset[str]]


def read(row: tuple[str, ...], words: NameVocabulary, entails: Entails) -> NameMeaning:
    """Returns what the units of a name say."""
    whole = words.whole.get(row)
    if whole is not None:
        return NameMeaning(frozenset(whole.atoms))
    pieces = cut(_turned(row, words), words)
    said = [piece for piece in pieces if piece.kind not in ("nothing", "doubt", "denied")]
    if all(piece.kind in ("separator", "link") for piece in said):
        # A name of words that add nothing, such as "type", is taken as it stands.
        return NameMeaning(frozenset(unit for unit in row if unit not in SEPARATORS), plain=False, heads=False)
    said = _done(said, row, entails)
    denied = _is_denied(pieces) or _is_negated(row, pieces)
    atoms, causes, heads = _put_together(_Divider(said, words, entails).divide())
    atoms = _with_infection(atoms, causes, entails)
    linked = any(piece.kind == "link" and piece.atoms[0] not in ("of", "and", "or") for piece in said)
    return NameMeaning(
        frozenset(atoms), denied, all(piece.kind != "unknown" for piece in said), heads, linked, frozenset(causes)
    )


def _done(pieces: Sequence[NamePiece], row: tuple[str, ...], entails: Entails) -> list[NamePiece]:
    """Returns the pieces of a name that says what operation somebody had, in whatever words, with one "after" for all.

    "Status post X", "X status", "s/p X" and X术后 say the same; a disease after an operation is the disease.
    """
    others = [piece for piece in pieces if piece.atoms[0] not in ("after", "since", _AFTER_SURGERY)]
    done = [_SURGERY in entails(frozenset(piece.atoms)) for piece in others]
    kinds = {piece.kind for piece, so in zip(others, done, strict=True) if not so}
    if not any(done) or not kinds <= {"place", "part", "quality", "separator"}:
        return list(pieces)
    status = row[-1] == "status" or row[-2:] == ("状", "态") or row[-2:] == ("in", "situ")
    return [*others, _AFTER] if status or len(others) < len(pieces) else list(pieces)


def _is_denied(pieces: Sequence[NamePiece]) -> bool:
    first = next((piece for piece in pieces if piece.kind not in ("separator", "nothing")), None)
    last = next((piece for piece in reversed(pieces) if piece.kind not in ("separator", "nothing")), None)
    return any(piece is not None and piece.kind == "denied" for piece in (first, last))


def _is_negated(row: tuple[str, ...], pieces: Sequence[NamePiece]) -> bool:
    """Whether a name begins with what excludes the rest: "without gout", "not gout", 无痛风."""
    first = next((at for at, piece in enumerate(pieces) if piece.kind not in ("separator", "nothing", "doubt")), None)
    if first is None or pieces[first].kind != "link" or pieces[first].atoms[0] not in ("without", "not"):
        return False
    if pieces[first].atoms[0] == "not":
        return "not" in row[:2]
    behind = [piece.kind for piece in pieces[first + 1 : first + 3]]
    return not (pieces[first].chinese and len(pieces) > first + 3 and behind[1:] == ["nothing"])


def _turned(row: tuple[str, ...], words: NameVocabulary) -> tuple[str, ...]:
    """Returns a name with commas the other way round where more of its words are known so ("arthritis, rheumatoid")."""
    if not {",", "，"} & set(row) or SEPARATORS & set(row) - {",", "，"}:
        return row
    parts = [tuple(group) for comma, group in itertools.groupby(row, lambda unit: unit in ",，") if not comma]
    turned = tuple(unit for part in reversed(parts) for unit in part)
    return turned if cost(turned, words) < sum(cost(part, words) for part in parts) - 0.5 else row


class _Divider:
    """Divides the pieces of a name into parts, each with its role: what the link before or behind it says of it."""

    def __init__(self, pieces: Sequence[NamePiece], words: NameVocabulary, entails: Entails) -> None:
        self._pieces, self._words, self._entails = pieces, words, entails
        self._negated = False
        self.parts = [self._part("part")]

    def divide(self) -> list[_NamePart]:
        """Returns the parts that say something."""
        for place, piece in enumerate(self._pieces):
            if piece.kind == "separator":
                self._separate(place, piece.atoms[0])
            elif piece.kind == "link":
                self._link(place, piece.atoms[0])
            else:
                self._take(place, piece)
        return [part for part in self.parts if part.pieces]

    def _part(self, role: str) -> _NamePart:
        return _NamePart(role, self._words, self._entails)

    def _begin(self, role: str) -> None:
        if self.parts[-1].pieces:
            self.parts.append(self._part(role))
        elif role not in _WEAK or self.parts[-1].role in _WEAK:
            self.parts[-1].role = role

    def _separate(self, place: int, mark: str) -> None:
        if mark in _MARKS or (mark in _BRACKETS and _within_phrase(self._pieces, place)):
            return
        if mark in _TOGETHER:
            if not self._between_places(place):
                self._begin("and")
        else:
            self._begin("bracket" if mark in _BRACKETS else "part")

    def _link(self, place: int, link: str) -> None:
        part = self.parts[-1]
        link = "and" if link == "or" else link
        if link == "not":
            self._negated = True
        elif link == "of":
            part.of.append(len(part.pieces))
        elif link in ("brings", "since"):
            # What brings it stands before; a name that ends so says nothing of what was brought.
            if part.pieces:
                part.role = "due"
                self.parts.append(self._part("part"))
            if link == "since":
                self.parts[-1].pieces.append(_AFTER)
        elif link == "after":
            begun = bool(part.pieces)
            part.pieces.append(_AFTER)
            if begun:
                self._begin("due")
        elif link != "and" or not self._between_places(place):
            self._begin(link)

    def _take(self, place: int, piece: NamePiece) -> None:
        pieces = self.parts[-1].pieces
        if self._negated:
            pieces.append(NamePiece("quality", (_excluded(piece.atoms),)))
            self._negated = False
        elif pieces and piece.kind == "place" and self._joined_before(place):
            pieces[-1] = beside(pieces[-1], piece, self._words)
        else:
            pieces.append(piece)

    def _between_places(self, place: int) -> bool:
        """Whether what stands at a place joins two organs ("stomach and duodenum")."""
        before, following = self.parts[-1].pieces, self._pieces[place + 1 : place + 2]
        return bool(before) and before[-1].kind == "place" and any(piece.kind == "place" for piece in following)

    def _joined_before(self, place: int) -> bool:
        before = self._pieces[place - 1]
        joint = before.atoms[0] in _TOGETHER if before.kind == "separator" else before.atoms in (("and",), ("or",))
        return joint and before.kind in ("separator", "link") and self._pieces[place - 2].kind == "place"


def _within_phrase(pieces: Sequence[NamePiece], place: int) -> bool:
    """Whether a bracket stands before a word of the same phrase, "(congestive) heart failure", or ends so."""
    opens = pieces[place].atoms[0] in _OPENING
    at = place
    if opens:
        at = next((i for i in range(place, len(pieces)) if pieces[i].atoms[0] in _CLOSING), len(pieces) - 1)
    following = pieces[at + 1] if at + 1 < len(pieces) else None
    return following is not None and following.kind not in ("separator", "link")


def _put_together(parts: Sequence[_NamePart]) -> tuple[set[str], set[str], bool]:
    """Returns the atoms of a name from its parts: the first that names a disease, and what the others say of it."""
    read_parts = [(part.role, *part.read()) for part in parts]
    leads = next((i for i, (role, _, _, names) in enumerate(read_parts) if names and role in ("part", "and")), None)
    if leads is None:
        leads = next((i for i, (_, _, _, names) in enumerate(read_parts) if names), None)
    atoms: set[str] = set()
    causes: set[str] = set()
    for place, (role, main, aside, names) in enumerate(read_parts):
        if role == "without":
            atoms.add(_excluded(main))
            continue
        atoms |= {BESIDE + atom for atom in aside}
        causes |= aside if place == leads else main if role == "due" else set()
        if place == leads or not names or role in ("and", "bracket") or (role == "due" and parts[place].befalls()):
            atoms |= main
        else:
            atoms |= {BESIDE + atom for atom in main}
    return atoms, causes, leads is not None


def _with_infection(atoms: set[str], causes: set[str], entails: Entails) -> set[str]:
    """Returns the atoms of a name, where an infection that inflames an organ is both: the infection and the organ's."""
    if not causes or INFLAMMATION not in entails(frozenset(atom for atom in atoms if not atom.startswith(BESIDE))):
        return atoms
    organisms = {cause: ORGANISMS & entails(frozenset((cause,))) for cause in causes}
    infections = {BESIDE + cause for cause, found in organisms.items() if found}
    own = {atom.removeprefix(BESIDE) if atom in infections else atom for atom in atoms}
    # A tuberculous meningitis is not what is called a bacterial one.
    return own.union(*(organisms[cause] - {"bacteria"} for cause in causes if BESIDE + cause in atoms))


def _excluded(atoms: Iterable[str]) -> str:
    return f"not {' '.join(sorted(atoms))}"
