"""Claims held against what was measured: the number, its unit, its reference range, and what is said of it."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from polyclinic.cases.record import Finding, Record
from polyclinic.evidence_tree.claims import language_in
from polyclinic.evidence_tree.parts import names_of
from polyclinic.evidence_tree.printed import WORDS
from polyclinic.evidence_tree.sources import RecordText
from polyclinic.evidence_tree.support_words import SupportWords
from polyclinic.evidence_tree.values import (
    MARKED_HIGH,
    MARKED_LOW,
    Figure,
    Limits,
    Measured,
    Standing,
    figures,
    limits_of,
    measured,
    ranges_said,
    unit_of,
    without_thousands,
)
from polyclinic.knowledge.body import range_of, read_body
from polyclinic.knowledge.entries import Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.name_table import Named
from polyclinic.knowledge.quantities import converted
from polyclinic.knowledge.results import ItemReading, ResultReader
from polyclinic.language.clauses import clause_words
from polyclinic.language.language import CHINESE
from polyclinic.language.overlap import pieces

Said = Literal["supported", "contradicted", "not there", "no claim"]

_words = WORDS.section("support", SupportWords)
_DECIDED: tuple[Said, ...] = ("supported", "contradicted")
_SEGMENT = re.compile(r"(?:[^;；,，\n(（]|[(（][^()（）]*[)）]|,(?=\d{3}(?!\d)))+")
_NAMED = re.compile(
    rf"\s*(?P<name>[^:：;；\n]*?[^\s:：\d])\s*(?:[:：]\s*|\s+|(?<=[{CHINESE}]))(?P<value>[<>≤≥]?\s*\d[^:：]*)$"
)


_reader = functools.lru_cache(maxsize=4)(ResultReader)


class Result(NamedTuple):
    """A number of the record: the finding that it is, or the part of a longer one, and where it stands."""

    finding: Finding
    text: RecordText
    start: int
    end: int


class HeldAgainst(NamedTuple):
    """What the results say to a claim, those that it speaks of, and the one that says so."""

    verdict: Said
    spoken_of: tuple[Result, ...] = ()
    by: Result | None = None


class NumbersHeld:
    """The results of one record."""

    def __init__(self, record: Record, texts: Sequence[RecordText], knowledge: Knowledge) -> None:
        self._all = [
            part for text in texts if text.finding is not None for part in _parts(record.findings[text.finding], text)
        ]
        self._known = names_of(knowledge)
        self._names = self._known.of([result.finding for result in self._all])
        self._record, self._texts, self._knowledge = record, texts, knowledge

    def apart(self, claim: str) -> list[str]:
        """Returns a claim cut before every further name that stands behind a number ("Hb 84 troponin 900")."""
        cuts, at = [], 0
        numbers = figures(claim)
        for name in sorted(self._names.find(claim), key=lambda n: n.start):
            if any(at <= figure.start and figure.end <= name.start for figure in numbers if not _inside(figure, name)):
                before = [n for n in self._names.find(claim) if at <= n.start < name.start]
                if before:
                    cuts.append(claim[at : name.start])
                    at = name.start
        return [*cuts, claim[at:]]

    def hold(self, claim: str, before: tuple[Result, ...]) -> HeldAgainst:
        """Returns what the results say to a claim; one that names nothing may speak of what was spoken of `before`."""
        said, limits = ranges_said(without_thousands(claim))
        named = sorted(self._names.find(said), key=lambda n: n.start)
        bare = said
        for name in named:
            bare = bare[: name.start] + " " * (name.end - name.start) + bare[name.end :]
        numbers, standing = figures(bare), self.claimed(bare)
        results = self._spoken_of(said) if named else ()
        if not numbers and standing is None and not limits:
            return HeldAgainst("no claim", results)
        left = self._left(bare, results or before)
        if not named:
            if left:
                return HeldAgainst("no claim")
            results = before
        own = any(key.startswith(("item:", "finding:")) for name in named for key in name.keys)
        if not results or (named and not own and len(results) > 1):
            return HeldAgainst("not there" if not left and named and not own else "no claim")
        agree = [(result, self._agrees(result, numbers, standing, limits)) for result in results]
        for verdict in _DECIDED:
            by = next((result for result, agreed in agree if agreed == verdict), None)
            if by is not None and verdict == "supported" and left:
                return HeldAgainst("no claim", results)
            if by is not None and (verdict == "supported" or numbers or limits or not left):
                return HeldAgainst(verdict, results, by)
        return HeldAgainst("no claim", results)

    def of_item(self, item: str) -> list[tuple[Result, ItemReading]]:
        """Returns the results that are of an item of the knowledge, however it is called, as they are read."""
        return self._by_item.get(item, [])

    @functools.cached_property
    def _by_item(self) -> dict[str, list[tuple[Result, ItemReading]]]:
        reader, found = _reader(self._knowledge), dict[str, list[tuple[Result, ItemReading]]]()
        for text in self._texts:
            if text.finding is None:
                continue
            parts = [result for result in self._all if result.text is text]
            whole = Result(self._record.findings[text.finding], text, 0, len(text.text))
            known = set[str]()
            # What a text tells beside its numbers in a row ("BP 84/50, pulse 121") is read in the whole of it.
            for result in dict.fromkeys((*parts, whole)):
                for reading in reader.read(result.finding).readings:
                    if result != whole or len(parts) == 1 or reading.item not in known:
                        found.setdefault(reading.item, []).append((result, reading))
                        known.add(reading.item)
        return found

    def standing(self, result: Result, reading: ItemReading) -> Standing | None:
        """Returns where a result lies by its own reference range, or, where it has none, by that of the knowledge."""
        item = self._item(reading)
        if reading.values:
            return "normal" if reading.is_usual(item) else "high"
        value = measured(result.finding)
        if value is not None and value.standing is not None:
            return value.standing
        low, high = range_of(item, self._record.presentation.age, self._record.presentation.sex, read_body())
        if high is not None and reading.low >= high and reading.high > high:
            return "high"
        if low is not None and reading.high <= low and reading.low < low:
            return "low"
        within = (low is None or low <= reading.low) and (high is None or reading.high <= high)
        return "normal" if within else None

    def _item(self, reading: ItemReading) -> Item:
        items = self._knowledge.examinations[reading.examination].items
        return next(item for item in items if item.id == reading.item)

    def _usual(self, result: Result) -> Standing | None:
        """Returns where a number without a reference range of its own lies by that of the knowledge."""
        read = _reader(self._knowledge).read(result.finding).readings
        return self.standing(result, read[0]) if len(read) == 1 else None

    def _spoken_of(self, claim: str) -> tuple[Result, ...]:
        wanted = {id(finding) for finding in self._names.mentioned(claim)}
        return tuple(result for result in self._all if id(result.finding) in wanted)

    def _left(self, bare: str, results: Sequence[Result]) -> bool:
        """Whether anything is said beside name, number, unit and what is said of it, that the results do not bear."""
        words = _words(language_in(bare))
        for figure in reversed(figures(bare)):
            bare = bare[: figure.start] + " " + bare[figure.end :]
        patterns = (words.normal, words.low, words.high, words.abnormal, words.framing, words.degree)
        for pattern in (MARKED_LOW, MARKED_HIGH, *patterns):
            bare = pattern.sub(" ", bare)
        borne = frozenset[str]().union(*(pieces(r.text.label) | pieces(r.finding.value_text) for r in results))
        return bool(pieces(bare) - borne)

    def claimed(self, rest: str) -> Standing | None:
        """Returns what is said of a value: low, high or normal; None where nothing is, or several things are."""
        for figure in reversed(figures(rest)):
            rest = rest[: figure.start] + " " + rest[figure.end :]
        language = language_in(rest)
        words = _words(language)
        normal = words.normal.search(rest) is not None
        rest = words.normal.sub(" ", rest)  # "not raised" is normal, and raises nothing
        denied = clause_words(language).denial.search(rest) is not None
        low = (words.low.search(rest) or MARKED_LOW.search(rest)) is not None
        high = (words.high.search(rest) or MARKED_HIGH.search(rest)) is not None
        if normal:
            if low != high and not denied:  # "below the normal range"
                return "low" if low else "high"
            return "abnormal" if denied and not low and not high else "normal"
        if denied or low == high:
            return "abnormal" if words.abnormal.search(rest) and not denied else None
        return "low" if low else "high"

    def _agrees(
        self, result: Result, numbers: Sequence[Figure], claimed: Standing | None, limits: Sequence[Limits]
    ) -> Said:
        """Returns whether what is said of a result is so; "not there" where nothing can be held against it."""
        value = measured(result.finding)
        if value is None:
            return "not there"
        if limits:
            known = limits_of(result.finding)
            if known is None:
                return "not there"
            if any(said != known for said in limits):
                return "contradicted"
        if numbers:
            item = next(iter(self._items(result.finding)), "")
            borne = [_is_borne(figure, value, result.finding, item) for figure in numbers]
            if not all(borne):
                # What it was before is in no record of one value: neither borne nor denied.
                return "not there" if any(borne) and len(numbers) > 1 else "contradicted"
            return "supported" if _may_be(value.standing, claimed) else "contradicted"
        if claimed is None:
            return "supported" if limits else "not there"
        standing = value.standing or self._usual(result)
        if standing is None:
            return "not there"
        return "supported" if _may_be(standing, claimed) else "contradicted"

    def _items(self, finding: Finding) -> list[str]:
        return sorted(
            key.rpartition(":")[2].rpartition("/")[2]
            for key in self._known.keys(finding.item or finding.examination)
            if key.startswith("item:")
        )


def _inside(figure: Figure, name: Named) -> bool:
    return name.start <= figure.start < name.end


def _parts(finding: Finding, text: RecordText) -> list[Result]:
    """Returns a finding, or the numbers of one that gives several in a row ("heart rate 88 /min; temperature 37")."""
    whole = Result(finding, text, 0, len(text.text))
    if not isinstance(finding.value, str) or measured(finding) is not None:
        return [whole]
    found = []
    for segment in _SEGMENT.finditer(text.text, text.begins):
        named = _NAMED.match(segment[0].rstrip(" .。"))
        if named is None:
            continue
        one = Finding(examination=finding.examination, item=named["name"].strip(), value=named["value"].strip())
        if measured(one) is not None:
            found.append(Result(one, text, segment.start() + named.start("name"), segment.end()))
    return found or [whole]


def _is_borne(figure: Figure, value: Measured, finding: Finding, item: str) -> bool:
    unit = unit_of(finding)
    said = converted(figure.number, figure.unit, unit, item)
    further = converted(figure.number + 1, figure.unit, unit, item)
    if said is None or further is None:
        return False
    written = figures(finding.value_text)
    sign = written[0].sign if written else ""
    if figure.sign == "<":
        return value.value < said or (sign == "<" and value.value <= said)
    if figure.sign == ">":
        return value.value > said or (sign == ">" and value.value >= said)
    digits = len(f"{figure.number:g}".partition(".")[2])
    return abs(value.value - said) <= (0.5 * 0.1**digits + 1e-9) * abs(further - said)


def _may_be(standing: Standing | None, claimed: Standing | None) -> bool:
    if standing is None or claimed is None:
        return True
    return standing == claimed or (claimed == "abnormal" and standing != "normal")
