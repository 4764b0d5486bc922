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

from polyclinic.cases.naming import DiseaseNaming
from polyclinic.knowledge.disease_names.kept_words import vocabulary
from polyclinic.knowledge.disease_names.meaning import CANCER
from polyclinic.knowledge.disease_names.relation import Relation, reader
from polyclinic.knowledge.disease_names.segments import placed
from polyclinic.knowledge.disease_names.spelling import units
from polyclinic.knowledge.disease_names.vocabulary import DISEASE, Kind
from polyclinic.knowledge.entries import Symptom
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.disguises import Undisguised, readings
from polyclinic.language.folding import ABBREVIATION, Folded, fold_term
from polyclinic.language.language import CHINESE

_TOKEN = re.compile(rf"[A-Za-z0-9]+|[{CHINESE}]")
_SPELT = re.compile(
    r"\b(?:(?:[A-Za-z][.·-]){2,24}[A-Za-z]\b|(?:[A-Za-z][.·-]?\s){2,24}[A-Za-z]\b|[A-Z]\.\s?[A-Z]\b(?=\.))"
)
_JOINS = re.compile(r"(?:\s+|\s?[-/’'·(]\s?|['’]s\s+)?")
_LONGEST = 7  # words of a name
_LEAST_TOGETHER = 8  # letters of words that are read as a name though nothing parts them
_HEADS: frozenset[Kind] = frozenset(("disease", "process", "event", "cause", "place"))
_AMONG: frozenset[Kind] = frozenset(("nothing", "link", "doubt", "denied"))
_LEAST_MISSPELT = 6
_ENDING = 3  # letters of an ending: "hyperthyroid", of a hyperthyroidism
_LONG = 9  # letters of a word of which two may be wrong

_SIGNS = frozenset(("jaundice", "rash", "oedema", "bleeding", "pain", "mass", "discharge", "injury", "wound"))
"""What anybody sees or feels, whatever it comes from."""


def named_in(text: str, names: Iterable[str]) -> tuple[DiseaseNaming, ...]:
    """Returns what names one of these diseases in a text, each naming once, the shortest words that do."""
    read = readings(text)
    found: dict[str, DiseaseNaming] = {}
    for name in dict.fromkeys(names):
        for naming in (naming for one in read for naming in _found(one, text, name)):
            before = found.get(naming.text)
            if before is None or (naming.is_sure and not before.is_sure):
                found[naming.text] = naming
    return tuple(found.values())


def _found(read: Undisguised, text: str, name: str) -> Iterator[DiseaseNaming]:
    for begin, end in _word_for_word(read.text, name):
        yield DiseaseNaming(read.original(text, begin, end), name)
    taken: list[tuple[int, int]] = []
    for phrase in _phrases(read.text):
        if any(phrase.begin <= first and last <= phrase.end for first, last in taken):
            continue
        says = _says(phrase.words, name) if phrase.known else _Says.NOT
        if says in (_Says.NOT, _Says.PERHAPS) and _is_misspelt(phrase.words.casefold(), name, known=phrase.known):
            says = _Says.SURELY
        if says is _Says.NOT:
            continue
        if says is not _Says.PERHAPS:
            taken.append((phrase.begin, phrase.end))
        original = read.original(text, phrase.begin, phrase.end)
        yield DiseaseNaming(original, name, says is not _Says.PERHAPS, says is not _Says.SURELY)


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


class _PhraseWord(NamedTuple):
    begin: int
    end: int
    units: tuple[str, ...]
    spelt: str  # letter by letter; "" where it is not


class _Phrase(NamedTuple):
    """A row of known words that may be a name, or one word that is unknown."""

    begin: int
    end: int
    words: str
    known: bool = True


@functools.lru_cache(maxsize=1 << 13)
def _phrases(text: str) -> tuple[_Phrase, ...]:
    """Returns what may be a name, the shortest first."""
    found = (phrase for run in _runs(text) for phrase in _phrases_of(text, run))
    return tuple(sorted(found, key=lambda one: one.end - one.begin))


def _phrases_of(text: str, run: list[_PhraseWord]) -> Iterator[_Phrase]:
    row = tuple(unit for token in run for unit in token.units)
    owner = [at for at, token in enumerate(run) for _ in token.units]
    felt = _felt_in(row)
    pieces: list[tuple[_PhraseWord, _PhraseWord, Kind | None, bool]] = []
    for begin, end, said in placed(row, vocabulary()):
        kinds = {piece.kind for piece in said}
        first, last = run[owner[begin]], run[owner[end - 1]]
        kind: Kind = next((piece.kind for piece in said if piece.kind in _HEADS or piece.kind in _AMONG), "quality")
        unknown = kinds == {"unknown"}
        if unknown and last.end - first.begin >= _LEAST_MISSPELT and row[begin].isascii():
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


def _as_written(text: str, run: list[_PhraseWord], first: _PhraseWord, last: _PhraseWord) -> str:
    words = text[first.begin : last.end]
    if any(token.spelt for token in run):
        words = " ".join(
            token.spelt or text[token.begin : token.end] for token in run if first.begin <= token.begin <= last.begin
        )
    return " ".join(words.split())


def _runs(text: str) -> Iterator[list[_PhraseWord]]:
    """Yields the tokens that stand together, with no mark between them."""
    spelt = {match.start(): match for match in _SPELT.finditer(text)}
    run: list[_PhraseWord] = []
    at = 0
    while match := _TOKEN.search(text, at):
        begin, end = match.span()
        letters = ""
        if begin in spelt:
            end = spelt[begin].end()
            letters = "".join(c for c in spelt[begin][0] if c.isalpha()).upper()
        if run and _JOINS.fullmatch(text, at, begin) is None:
            yield run
            run = []
        written = letters or match[0]
        run.append(_PhraseWord(begin, end, units(written) or (written.casefold(),), letters))
        at = end
    if run:
        yield run


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
    return _Says.PERHAPS if process or "cause" in what else _Says.NOT


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


@functools.lru_cache(maxsize=1 << 14)
def _is_misspelt(word: str, name: str, *, known: bool) -> bool:
    """Whether a word is one of the disease's names but for its end, or, where nobody knows it, for a letter."""
    for own in _spellings(name):
        if len(word) >= _LEAST_MISSPELT and own.startswith(word) and len(own) - len(word) <= _ENDING:
            return True
        if known:
            continue
        wrong = 2 if min(len(own), len(word)) >= _LONG else 1
        if OSA.distance(word, own, score_cutoff=wrong) <= wrong:
            return True
    return False


@functools.lru_cache(maxsize=1 << 12)
def _spellings(name: str) -> frozenset[str]:
    """Returns the single Latin words that name the disease, or what it is a kind of."""
    own = _own(name)
    names = [name, *(called for row in vocabulary().said if row.atom in own for called in row.names)]
    words = (called.lstrip("=^").casefold() for called in names)
    return frozenset(word for word in words if word.isascii() and word.isalpha() and len(word) >= _LEAST_MISSPELT)


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
