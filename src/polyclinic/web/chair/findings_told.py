"""What a doctor writes about findings, against the record: "leukocytosis", 白细胞升高 and "CRP 120" name a finding.

A finding is told where the analyte and its direction, or its value, agree with the record and its reference range; a
wrong direction tells none.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from polyclinic.cases.case import Case
from polyclinic.cases.record import Finding
from polyclinic.judges.director_by_rules import QUARTERS, AspectMatch, Scale, analysis
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names
from polyclinic.knowledge.results import ItemReading, ResultReader
from polyclinic.language.language import MARKS, Language, is_chinese
from polyclinic.language.overlap import pieces
from polyclinic.metrics.grades import Grade
from polyclinic.web.chair.shown_results import reference_ends

ENOUGH = 3
"""So many of the examinations that show the illness are as good as all."""

_SCALE = Scale(weights={"named": 1.0}, cuts=QUARTERS)
_NEAR = 0.06  # of a value, by which one that is written may differ
_CLAUSE = re.compile(r"[,;/\n，；、。]|\.(?!\d)|\b(?:and|with|but)\b", re.IGNORECASE)
_STEM = 5  # letters by which words that differ in their endings are one
_PLACES = frozenset(
    {"on", "of", "in", "and", "the", "ultra", "ct", "exam", "exami", "chest", "abdom", "belly", "x", "ray"}
)
_SHOWN = 4  # findings of an examination that are told of it


class HeardOfFindings(NamedTuple):
    """What a text says of the findings: names of examinations of which something right, or something wrong, is told."""

    right: frozenset[str]
    wrong: frozenset[str]


class FindingsTold:
    """The findings of one case, and what texts say of them."""

    def __init__(self, case: Case, knowledge: Knowledge) -> None:
        self._language: Language = case.presentation.language
        self._reader = _reader_of(knowledge)
        self._items = {item.id: item for one in knowledge.examinations.values() for item in one.items}
        self._findings = case.record.findings
        self._known: dict[str, tuple[ItemReading, Finding]] = {}
        for finding in self._findings:
            for reading in self._reader.read(finding).readings:
                self._known.setdefault(reading.item, (reading, finding))
        self._examinations = {reading.examination: finding.examination for reading, finding in self._known.values()}
        self._names = Names(knowledge).of(self._findings)

    def heard(self, text: str) -> HeardOfFindings:
        """Returns what a text tells of the findings, in words or numbers of its own."""
        right, wrong = set[str](), set[str]()
        for clause in dict.fromkeys((text, *_CLAUSE.split(text))):
            for told in self._told(clause.strip()):
                recorded, finding = self._known[told.item]
                if (agrees := self._agrees(told, recorded, finding)) is not None:
                    (right if agrees else wrong).add(finding.examination)
        return HeardOfFindings(frozenset(right), frozenset(wrong - right))

    def named(self, item: str) -> frozenset[str]:
        """Returns the examinations that an item of a report names, by themselves or by what was found in them.

        What is told wrongly of an examination is no naming of it.
        """
        heard = self.heard(item)
        by_name = {finding.examination for finding in self._names.mentioned(item)}
        return frozenset(heard.right | (by_name - heard.wrong))

    def wanted(self, rationale: Sequence[str]) -> tuple[str, ...]:
        """Returns the examinations by which the illness is shown; all where the record does not say which."""
        told = self._names.mentioned("\n".join(rationale))
        return tuple(dict.fromkeys(finding.examination for finding in told)) or self._names.recorded()

    def expected(self, examination: str) -> str:
        """Returns an examination with what was found out of the usual in it."""
        marks = MARKS[self._language]
        off = [f.result(self._language) for f in self._findings if f.examination == examination and self._is_off(f)]
        return f"{examination}{marks.colon}{marks.item.join(off[:_SHOWN])}" if off else examination

    def graded(self, rationale: Sequence[str], given: Sequence[str]) -> tuple[Grade, str] | None:
        """Returns the grade of what was found, and which of it was told; None of a case without findings.

        Three examinations that show the illness, or all where there are fewer, are an A.
        """
        wanted = self.wanted(rationale)
        if not wanted:
            return None
        named = frozenset(one for item in given for one in self.named(item))
        there = [one for one in wanted if one in named]
        missed = [self.expected(one) for one in wanted if one not in named]
        shares = {"named": min(1.0, len(there) / min(ENOUGH, len(wanted)))}
        match = AspectMatch(shares, matched=tuple(self.expected(one) for one in there), missed=tuple(missed))
        return _SCALE.grade(shares), analysis(match, self._language)

    def _told(self, text: str) -> list[ItemReading]:
        """Returns what a text says of items of the record: of those that it names or whose examination it names.

        Read as a result of each examination, for a doctor seldom writes which: of what is not named a number or a
        denial says nothing.
        """
        if not text:
            return []
        language: Language = "zh" if is_chinese(text) else "en"
        items = {known.item.id for mention in self._reader.names.mentions(text, language) for known in mention.items}
        looked = {finding.examination for finding in self._names.mentioned(text)}
        told = {one.item: one for one in self._in_similar_words(text)}
        for title in dict.fromkeys(self._examinations.values()):
            for reading in self._reader.read(Finding(examination=title, value=text)).readings:
                recorded = self._known.get(reading.item)
                if recorded is None or recorded[1].examination != title:
                    continue
                if reading.item in items or title in looked or self._is_seen(reading):
                    told.setdefault(reading.item, reading)
        # "Thick appendix on ultrasound" says nothing of the CT.
        return [one for one in told.values() if not looked or self._known[one.item][1].examination in looked]

    def _is_seen(self, told: ItemReading) -> bool:
        """Whether it is something out of the usual in words that no other thing has: a consolidation, a stone."""
        item = self._items[told.item]
        return bool(told.values) and "negative" not in item.values and not told.is_usual(item)

    def _in_similar_words(self, text: str) -> Iterator[ItemReading]:
        """Yields of what is looked at and named ("thick appendix") which of its wordings the text is nearest to."""
        words = _stems(text)
        for id, (recorded, finding) in self._known.items():
            item = self._items[id]
            # The examination's own name says nothing of what it found.
            title = _stems(finding.examination)
            name = _stems(finding.item) - _PLACES - title
            if item.numeric or not recorded.values or not words & name:
                continue
            shared = {
                value: len((words - name - title) & (_stems(of.get(self._language)) - name - title))
                for value, of in item.values.items()
            }
            most = max(shared.values())
            best = frozenset(value for value, count in shared.items() if count == most)
            if most and len(best) < len(item.values):
                yield ItemReading(recorded.examination, id, values=best)

    def _agrees(self, told: ItemReading, recorded: ItemReading, finding: Finding) -> bool | None:
        """Whether what is told of an item is as it is recorded; None where the two cannot be held together."""
        if told.values or recorded.values:
            return bool(told.values & recorded.values) if told.values and recorded.values else None
        if told.low == told.high:
            return abs(told.low - recorded.low) <= _NEAR * abs(recorded.low)
        return _side_told(told) == self._side(recorded, finding)

    def _side(self, recorded: ItemReading, finding: Finding) -> str:
        """Returns where a recorded number lies: by the reference range that stands with it, else by the knowledge's."""
        low, high = reference_ends(finding.reference)
        if low is None and high is None:
            item = self._items[recorded.item]
            low, high = item.low, item.high
        value = finding.value if isinstance(finding.value, float) else recorded.low
        if low is not None and value < low:
            return "low"
        return "high" if high is not None and value > high else "normal"

    def _is_off(self, finding: Finding) -> bool:
        """Whether a finding is out of the usual."""
        for reading in self._reader.read(finding).readings:
            item = self._items.get(reading.item)
            if item is not None and item.numeric:
                return self._side(reading, finding) != "normal"
            return item is not None and not reading.is_usual(item)
        return False


def _stems(text: str) -> frozenset[str]:
    """Returns the pieces of a text, English ones without their endings: "thick", "thickened"."""
    return frozenset(piece[:_STEM] if piece.isascii() else piece for piece in pieces(text))


def _side_told(told: ItemReading) -> str:
    if told.low > -inf and told.high == inf:
        return "high"
    return "low" if told.low == -inf and told.high < inf else "normal"


@functools.lru_cache(maxsize=8)
def _reader_of(knowledge: Knowledge) -> ResultReader:
    return ResultReader(knowledge)
