"""Finds what names a disease in a text, in whatever words: synonyms, abbreviations, lay names, the other language.

Words in a row that the vocabulary of disease names knows are read as a name and compared with the disease's by the
relation of names. What is the disease, a kind of it, or what it is a kind of ("pneumonia", of a pneumococcal one)
names it; a symptom, and what would be said of many diseases ("infection"), does not.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from rapidfuzz.distance import OSA

from polyclinic.cases.terms import DiseaseNaming
from polyclinic.knowledge.disease_names.concepts import CANCER, ORGANISMS, placed
from polyclinic.knowledge.disease_names.giveaways import (
    codes_like,
    giveaways,
    in_other_sense,
    is_code,
)
from polyclinic.knowledge.disease_names.relation import Relation, reader
from polyclinic.knowledge.disease_names.running_text import TextWord, rows, vocabulary
from polyclinic.knowledge.disease_names.spelling import units
from polyclinic.knowledge.disease_names.vocabulary import DISEASE, Kind
from polyclinic.knowledge.entries import Symptom
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.disguises import Undisguised, heard, is_pinyin, pinyin, readings, sound
from polyclinic.language.folding import ABBREVIATION, Folded, fold_term
from polyclinic.language.language import is_chinese

LEAST_MISSPELT = 4
"""Letters of a word that may be misspelt."""

_LEAST_SLIP = 6  # letters of a word of which one may be wrong
_ENDING = 3  # letters of an ending: "hyperthyroid", of a hyperthyroidism
_LONG = 9  # letters of a word of which two may be wrong
_LEAST_SOUND = 4
_LONG_SOUND = 7  # sounds of which one may be wrong
_LEAST_PINYIN = 6
_MOST_SYLLABLES = 6
_FEW = 2  # characters of a name, of which one at least must be right, tones and all
_BETWEEN = " -'’"
_WORD = re.compile(r"[A-Za-z]+")


@functools.lru_cache(maxsize=1 << 14)
def is_misspelt(word: str, names: frozenset[str], *, known: bool) -> bool:
    """Whether a word is one of some names but for its end, or, where nobody knows it, for a letter or for its sound."""
    for own in names:
        if len(word) >= _LEAST_SLIP and own.startswith(word) and len(own) - len(word) <= _ENDING:
            return True
        if known or word == own:
            continue
        wrong = 2 if min(len(own), len(word)) >= _LONG else 1
        if min(len(own), len(word)) >= _LEAST_SLIP and OSA.distance(word, own, score_cutoff=wrong) <= wrong:
            return True
        if _sounds_like(word, own):
            return True
    return False


def _sounds_like(word: str, own: str) -> bool:
    one, other = sound(word), sound(own)
    if one == other:
        return len(one) >= _LEAST_SOUND or OSA.distance(word, own) == 1
    return min(len(one), len(other)) >= _LONG_SOUND and one[0] == other[0] and OSA.distance(one, other) == 1


def may_be_chinese(text: str) -> bool:
    """Whether a text has something in Chinese, or what can be pinyin."""
    return is_chinese(text) or bool(_in_pinyin(text))


def written_by_ear(text: str, names: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yields where a text has other characters that sound like a Chinese name, or its pinyin."""
    in_pinyin = _in_pinyin(text)
    for name in names if in_pinyin else ():
        yield from in_pinyin.get(pinyin(name), ())
    if not is_chinese(text):
        return
    for name in names:
        few = len(name) <= _FEW
        sounds, wanted = heard(text, tones=few), heard(name, tones=few)
        at = sounds.find(wanted)
        while at >= 0:
            said = text[at : at + len(name)]
            right = sum(one == other for one, other in zip(said, name, strict=True))
            if said != name and right * 2 >= len(name):
                yield at, at + len(name)
            at = sounds.find(wanted, at + 1)


@functools.lru_cache(maxsize=1 << 12)
def _in_pinyin(text: str) -> dict[str, list[tuple[int, int]]]:
    """Returns where a text has what can be pinyin, by its letters: words in a row, and all that stands within these."""
    found: dict[str, list[tuple[int, int]]] = {}
    words = [word for word in _WORD.finditer(text) if is_pinyin(word[0].casefold())]
    for first, word in enumerate(words):
        letters, end = "", word.start()
        for other in words[first : first + _MOST_SYLLABLES]:
            if len(text[end : other.start()].strip(_BETWEEN)) > 0:
                break
            letters, end = letters + other[0].casefold(), other.end()
            if letters in _all_pinyin():
                found.setdefault(letters, []).append((word.start(), end))
    return found


@functools.cache
def _all_pinyin() -> frozenset[str]:
    """Returns the pinyin of all Chinese names."""
    names = (called for row in vocabulary().said for called in row.names if is_chinese(called))
    return frozenset(letters for name in names if len(letters := pinyin(name.lstrip("=^"))) >= _LEAST_PINYIN)


@functools.cache
def names_by_atom() -> dict[str, tuple[str, ...]]:
    """Returns all that each atom is called, in small letters."""
    return {row.atom: tuple(called.lstrip("=^").casefold() for called in row.names) for row in vocabulary().said}


_SHORT = 4  # letters of a name that may stand in any word
_LONGEST = 7  # words of a name
_LEAST_TOGETHER = 8  # letters of words that are read as a name though nothing parts them
_HEADS: frozenset[Kind] = frozenset(("disease", "process", "event", "cause", "place"))
_AMONG: frozenset[Kind] = frozenset(("nothing", "link", "doubt", "denied"))
_LEAST_SPELLING = 4  # letters of a name that may be misspelt

_SIGNS = frozenset(("jaundice", "rash", "oedema", "bleeding", "pain", "mass", "discharge", "injury", "wound"))
"""What anybody sees or feels, whatever it comes from."""


def named_in(text: str, names: Iterable[str]) -> tuple[DiseaseNaming, ...]:
    """Returns what names one of these diseases in a text, each naming once, the shortest words that do."""
    read = [_meant(one) for one in readings(text)]
    found: dict[str, DiseaseNaming] = {}
    for name in dict.fromkeys(names):
        for naming in (naming for one in read for naming in _found(one, text, name)):
            before = found.get(naming.text)
            if before is None or (naming.is_sure and not before.is_sure):
                found[naming.text] = naming
    return tuple(found.values())


def _meant(read: Undisguised) -> Undisguised:
    """Returns what is read with marks in place of words that are the name of a disease and mean something else."""
    text = read.text
    for begin, end in in_other_sense(text):
        text = f"{text[:begin]}{';' * (end - begin)}{text[end:]}"
    return Undisguised(text, read.places)


def _found(read: Undisguised, text: str, name: str) -> Iterator[DiseaseNaming]:
    for begin, end in _word_for_word(read.text, name):
        yield DiseaseNaming(read.original(text, begin, end), name)
    if is_code(name):
        for begin, end in codes_like(name, read.text):
            yield DiseaseNaming(read.original(text, begin, end), name)
        return
    for given in giveaways(read.text):
        of_it = reader().relation(given.disease, name)
        if of_it is not Relation.DIFFERENT:
            said = read.original(text, given.begin, given.end)
            yield DiseaseNaming(said, name, given.is_sure, of_it is Relation.BROADER)
    for begin, end in written_by_ear(read.text, _chinese_names(name)) if may_be_chinese(read.text) else ():
        yield DiseaseNaming(read.original(text, begin, end), name)
    for begin, end, says in _by_meaning(read.text, name):
        yield DiseaseNaming(read.original(text, begin, end), name, says is not _Says.PERHAPS, says is not _Says.SURELY)


def _by_meaning(text: str, name: str) -> Iterator[tuple[int, int, _Says]]:
    """Yields where words are a name of the disease by what they say, or are nearly one."""
    taken: list[tuple[int, int]] = []
    for phrase in _phrases(text):
        if any(phrase.begin <= first and last <= phrase.end for first, last in taken):
            continue
        says = _says(phrase.words, name) if phrase.known else _Says.NOT
        if says in (_Says.NOT, _Says.PERHAPS) and is_misspelt(
            phrase.words.casefold(), _spellings(name), known=phrase.known
        ):
            says = _Says.SURELY
        if says is _Says.NOT:
            continue
        if says is not _Says.PERHAPS:
            taken.append((phrase.begin, phrase.end))
        yield phrase.begin, phrase.end, says


def _word_for_word(text: str, name: str) -> Iterator[tuple[int, int]]:
    term = fold_term(name)
    found = re.compile(re.escape(term).replace(r"\ ", r"\s+"), 0 if ABBREVIATION.fullmatch(term) else re.IGNORECASE)
    for match in found.finditer(text):
        if Folded(text[max(0, match.start() - 1) : match.end() + 1]).find(term) >= 0:
            yield match.span()
    letters = [one for one in term if not one.isspace()]
    if term.isascii() and len(letters) < len(term) and len(letters) >= _LEAST_TOGETHER:
        for match in _together("".join(letters)).finditer(text):
            yield match.span()


@functools.lru_cache(maxsize=1 << 12)
def _together(letters: str) -> re.Pattern[str]:
    """Finds the letters of a name of several words without blanks, or each parted from the next in the same way."""
    joined, parted = re.escape(letters), "-".join(re.escape(one) for one in letters)
    blanks = parted.replace("-", "[- ]")
    return re.compile(rf"(?<![A-Za-z0-9])(?:{joined}|{blanks})(?![A-Za-z0-9])", re.IGNORECASE)


class _Phrase(NamedTuple):
    """A row of known words that may be a name, or one word that is unknown."""

    begin: int
    end: int
    words: str
    known: bool = True


@functools.lru_cache(maxsize=1 << 13)
def _phrases(text: str) -> tuple[_Phrase, ...]:
    """Returns what may be a name, the shortest first."""
    found = (phrase for run in rows(text) for phrase in _phrases_of(text, run))
    return tuple(sorted(found, key=lambda one: one.end - one.begin))


def _phrases_of(text: str, run: list[TextWord]) -> Iterator[_Phrase]:
    row = tuple(unit for token in run for unit in token.units)
    owner = [at for at, token in enumerate(run) for _ in token.units]
    felt = _felt_in(row)
    pieces: list[tuple[TextWord, TextWord, Kind | None, bool]] = []
    for begin, end, said in placed(row, vocabulary()):
        kinds = {piece.kind for piece in said}
        first, last = run[owner[begin]], run[owner[end - 1]]
        kind: Kind = next((piece.kind for piece in said if piece.kind in _HEADS or piece.kind in _AMONG), "quality")
        unknown = kinds == {"unknown"}
        if unknown and last.end - first.begin >= LEAST_MISSPELT and row[begin].isascii():
            yield _Phrase(first.begin, last.end, text[first.begin : last.end], known=False)
        is_head = not kinds.isdisjoint(_HEADS) and not felt.issuperset(range(begin, end))
        pieces.append((first, last, None if unknown else kind, is_head))
    for at, (first, _, begins, _) in enumerate(pieces):
        if begins is None or begins in _AMONG:
            continue
        heads = False
        for _, last, other, head in pieces[at : at + _LONGEST]:
            if other is None:
                break
            heads = heads or head
            if heads and other not in _AMONG:
                yield _Phrase(first.begin, last.end, _as_written(text, run, first, last))


def _as_written(text: str, run: list[TextWord], first: TextWord, last: TextWord) -> str:
    words = text[first.begin : last.end]
    if any(token.spelt for token in run):
        words = " ".join(
            token.spelt or text[token.begin : token.end] for token in run if first.begin <= token.begin <= last.begin
        )
    return " ".join(words.split())


class _Says(Enum):
    """Whether words name a disease."""

    SURELY = "surely"
    WIDER = "wider"  # what it is a kind of
    PERHAPS = "perhaps"  # so much is said of many diseases
    NOT = "not"


@functools.lru_cache(maxsize=1 << 16)
def _says(words: str, name: str) -> _Says:
    names = reader()
    said = names.known(words).said
    if names.closure(said).isdisjoint(_own(name) | _places(name)):
        return _Says.NOT
    relation = names.relation(words, name)
    if relation is Relation.DIFFERENT:
        if _is_sibling(words, said, name):
            return _Says.WIDER
        return _Says.PERHAPS if _comes_close(said, name) else _Says.NOT
    if relation is not Relation.BROADER:
        return _Says.SURELY
    if said <= _symptoms() or said <= _SIGNS:
        return _Says.NOT
    what = {names.kinds.get(atom) for atom in said if atom != DISEASE}
    process = bool(what & {"process", "event"})
    if (process and what & {"place", "part", "cause"}) or CANCER in said:
        return _Says.WIDER
    if "disease" in what:
        return _Says.PERHAPS if _is_shortened(words) else _Says.WIDER
    if any(_is_organism(atom) for atom in said):
        return _Says.WIDER
    return _Says.PERHAPS if process or "cause" in what else _Says.NOT


@functools.lru_cache(maxsize=1 << 12)
def _is_organism(atom: str) -> bool:
    """Whether an atom is one organism or kind of organisms, and not only a bacterium or a virus."""
    return atom not in ORGANISMS and not reader().closure(frozenset((atom,))).isdisjoint(ORGANISMS)


def _is_sibling(words: str, said: frozenset[str], name: str) -> bool:
    """Whether words name another kind of what the disease is a kind of: "lobar pneumonia", of an acquired one."""
    names = reader()
    over = frozenset(parent for atom in names.known(name).said for parent in names.parents(atom))
    shared = {atom for atom in over & names.closure(said) if names.kinds.get(atom) == "disease"} - {DISEASE}
    return any(_holds_name(words, atom) and _says(atom, name) is _Says.WIDER for atom in shared)


def _holds_name(words: str, atom: str) -> bool:
    """Whether words hold one of the names of a disease, alone or in a compound."""
    called = names_by_atom().get(atom, ())
    return any(one in words.casefold() for one in called if len(one) > _SHORT or not one.isascii())


def _comes_close(said: frozenset[str], name: str) -> bool:
    """Whether what is no name of a disease is ill in its place, or is of one kind with it."""
    names = reader()
    ill = {atom for atom in said if names.kinds.get(atom) in ("process", "event", "disease")} - {DISEASE}
    if not ill or ill <= _symptoms() or ill <= _SIGNS:
        return False
    follows = names.closure(said)
    kinds = {atom for atom in follows & _own(name) - _symptoms() if names.kinds.get(atom) == "disease"}
    return bool(kinds - {DISEASE}) or not follows.isdisjoint(_places(name))


@functools.lru_cache(maxsize=1 << 12)
def _places(name: str) -> frozenset[str]:
    """Returns the organs of a disease, as closely as they are known."""
    names = reader()
    said = {atom for atom in names.known(name).all if names.kinds.get(atom) == "place"}
    wider = {over for atom in said for over in names.closure(frozenset((atom,))) if over != atom}
    return frozenset(said - wider)


def _is_shortened(word: str) -> bool:
    """Whether a single word is only the beginning of a name: "mental", of a mental disorder."""
    atoms = reader().known(word).said
    names = {called.lstrip("=^").casefold() for row in vocabulary().said if row.atom in atoms for called in row.names}
    return word.casefold() not in names and any(called.startswith(f"{word.casefold()} ") for called in names)


@functools.lru_cache(maxsize=1 << 12)
def _spellings(name: str) -> frozenset[str]:
    """Returns the single Latin words that name the disease, or what it is a kind of."""
    called = (one for atom in _own(name) for one in names_by_atom().get(atom, ()))
    words = (name.casefold(), *called)
    return frozenset(word for word in words if word.isascii() and word.isalpha() and len(word) >= _LEAST_SPELLING)


@functools.lru_cache(maxsize=1 << 12)
def _chinese_names(name: str) -> frozenset[str]:
    """Returns the Chinese names of the disease, or of what it is a kind of."""
    called = {name, *(one for atom in _own(name) for one in names_by_atom().get(atom, ()))}
    chinese = (one for one in called if is_chinese(one) and len(one) > 1 and not any(c.isascii() for c in one))
    return frozenset(one for one in chinese if one == name or _says(one, name) in (_Says.SURELY, _Says.WIDER))


@functools.lru_cache(maxsize=1 << 12)
def _own(name: str) -> frozenset[str]:
    """Returns what a name says, without what is said of many diseases."""
    names = reader()
    return frozenset(
        atom
        for atom in names.known(name).all
        if atom != DISEASE and names.kinds.get(atom.removeprefix("~")) not in ("quality", "place", "part", None)
    )


def _felt() -> Iterator[Symptom]:
    """Yields what patients come with: everybody may say so, whatever it is in a name."""
    return (one for one in read_knowledge().symptoms.values() if one.complaint and not one.prevalence)


def _felt_in(row: tuple[str, ...]) -> set[int]:
    """Returns which units of a row speak of a complaint."""
    felt: set[int] = set()
    for begin, unit in enumerate(row):
        for words in _complaints().get(unit, ()):
            if row[begin : begin + len(words)] == words:
                felt.update(range(begin, begin + len(words)))
    return felt


@functools.cache
def _complaints() -> dict[str, list[tuple[str, ...]]]:
    """Returns the words of complaints, as units, by the first of them."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for words in {units(word) for one in _felt() for word in (*one.words("en"), *one.words("zh"))}:
        found.setdefault(words[0], []).append(words)
    return found


@functools.cache
def _symptoms() -> frozenset[str]:
    """Returns what complaints are in names of diseases."""
    names = reader()
    read = [names.known(name) for one in _felt() for name in (one.name.en, one.name.zh)]
    return frozenset(atom for name in read if name.meaning.plain for atom in name.said)
