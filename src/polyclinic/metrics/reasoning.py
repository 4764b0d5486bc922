"""The diagnoses, findings and reasons of a report, graded for learners: a grade never contradicts what is shown.

The director by rules is fitted to letters of models, which name one diagnosis and write whole sentences. A student who
lists five diseases has not made the diagnosis, and one who writes "typical" has given no reason.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import Finding, limits_of, side_of
from polyclinic.cases.report import Report
from polyclinic.cases.truth import Truth
from polyclinic.knowledge.disease_names.relation import known_relation
from polyclinic.knowledge.entries import Symptom
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.names import names_of
from polyclinic.knowledge.results import ItemReading, ResultReader
from polyclinic.language.content_words import pieces
from polyclinic.language.language import MARKS, Language, is_chinese
from polyclinic.metrics.accuracy import RIGHT, Verdict, verdict
from polyclinic.metrics.grades import QUARTERS, AspectMatch, Grade, Link, Scale, analysis
from polyclinic.metrics.prescribing import says
from polyclinic.yaml_files import read_yaml

_NEAR = 0.06  # of a value, by which one that is written may differ
_CLAUSE = re.compile(r"[,;/\n，；、。]|\.(?!\d)|\b(?:and|with|but)\b", re.IGNORECASE)
_STEM = 5  # letters by which words that differ in their endings are one
_PLACES = frozenset(
    {"on", "of", "in", "and", "the", "ultra", "ct", "exam", "exami", "chest", "abdom", "belly", "x", "ray"}
)
_SHOWN = 4  # findings of an examination that are told of it


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
        self._names = names_of(knowledge).of(self._findings)

    def heard(self, text: str) -> tuple[frozenset[str], frozenset[str]]:
        """Returns the examinations of which a text reports something right, and those of which only something wrong."""
        right, wrong = set[str](), set[str]()
        for clause in dict.fromkeys((text, *_CLAUSE.split(text))):
            for told in self._told(clause.strip()):
                recorded, finding = self._known[told.item]
                if (agrees := self._agrees(told, recorded, finding)) is not None:
                    (right if agrees else wrong).add(finding.examination)
        return frozenset(right), frozenset(wrong - right)

    def named(self, item: str) -> frozenset[str]:
        """Returns the examinations that an item of a report names, or reports rightly; not those reported wrongly."""
        right, wrong = self.heard(item)
        by_name = {finding.examination for finding in self._names.mentioned(item)}
        return right | (by_name - wrong)

    def wanted(self, rationale: Sequence[str]) -> tuple[str, ...]:
        """Returns the examinations by which the illness is shown; all if the record does not say which."""
        shown = self._names.mentioned("\n".join(rationale))
        return tuple(dict.fromkeys(finding.examination for finding in shown)) or self._names.recorded()

    def expected(self, examination: str) -> str:
        """Returns an examination with what was found out of the usual in it."""
        marks = MARKS[self._language]
        off = [f.result(self._language) for f in self._findings if f.examination == examination and self._is_off(f)]
        return f"{examination}{marks.colon}{marks.item.join(off[:_SHOWN])}" if off else examination

    def graded(self, rationale: Sequence[str], given: Sequence[str]) -> tuple[Grade, str] | None:
        """Returns the grade of the findings, and those reported; None for a case without findings.

        Three examinations that show the illness, or all if there are fewer, are an A.
        """
        wanted = self.wanted(rationale)
        if not wanted:
            return None
        named = frozenset[str]().union(*map(self.named, given))
        matched, missed = ([self.expected(one) for one in wanted if (one in named) is had] for had in (True, False))
        return _enough(matched, missed, self._language)

    def _told(self, text: str) -> list[ItemReading]:
        """Returns what a text says of items of the record that it names, or whose examination it names.

        It is read as a result of each examination, as doctors seldom write which.
        """
        if not text:
            return []
        language: Language = "zh" if is_chinese(text) else "en"
        items = {known.item.id for mention in self._reader.mentions(text, language) for known in mention.items}
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
        """Whether it is abnormal in words that nothing else has: a consolidation, a stone."""
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
        """Whether a text agrees with the record on an item; None if the two cannot be compared."""
        if told.values or recorded.values:
            return bool(told.values & recorded.values) if told.values and recorded.values else None
        if told.low == told.high:
            return abs(told.low - recorded.low) <= _NEAR * abs(recorded.low)
        side = "low" if told.low == -inf and told.high < inf else "normal"
        side = "high" if told.low > -inf and told.high == inf else side
        return side == self._side(recorded, finding)

    def _side(self, recorded: ItemReading, finding: Finding) -> str:
        """Returns where a recorded number lies: by the reference range that stands with it, else by the knowledge's."""
        low, high = limits_of(finding)
        if low is None and high is None:
            item = self._items[recorded.item]
            low, high = item.low, item.high
        value = finding.value if isinstance(finding.value, float) else recorded.low
        return side_of(value, low, high)

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


@functools.lru_cache(maxsize=8)
def _reader_of(knowledge: Knowledge) -> ResultReader:
    return ResultReader(knowledge)


def is_named(name: str, truth: Truth, knowledge: Knowledge) -> bool:
    """Whether a name is that of what a patient has, or of a kind of it."""
    wanted = [*(one.name for one in truth.diagnoses), *(title for _, title in _coded(truth))]
    return any(known_relation(name, one, knowledge) in RIGHT for one in wanted)


def verdict_by_code(report: Report | None, truth: Truth, knowledge: Knowledge) -> Verdict:
    """Returns what a report is worth; see `metrics.accuracy.verdict`."""
    found = verdict(report, truth, knowledge)
    if found is not Verdict.WRONG or report is None:
        return found
    return Verdict.RIGHT if is_named(report.diagnoses[0].name, truth, knowledge) else found


def link_by_code(truth: Truth, knowledge: Knowledge) -> Link:
    """Returns what gives names the codes of a record, where they are those of its diagnoses."""
    named = {one.name: one.icd10 for one in truth.diagnoses}

    def link(name: str) -> frozenset[str]:
        if name in named:
            return frozenset(filter(None, [named[name]]))
        return frozenset(code for code, title in _coded(truth) if known_relation(name, title, knowledge) in RIGHT)

    return link


def _coded(truth: Truth) -> Iterator[tuple[str, str]]:
    """Yields the codes of a record's diagnoses with what they are called, in both languages."""
    for one in truth.diagnoses:
        for title in _titles().get(one.icd10 or "", ()):
            yield one.icd10 or "", title


@functools.cache
def _titles() -> dict[str, tuple[str, str]]:
    return read_yaml(Path(__file__).with_name("diagnosis_codes.yaml"), dict[str, tuple[str, str]])


ENOUGH = 3  # so many of the record's reasons are as good as all
_BY_PLACE = (Grade.A, Grade.B, Grade.C)
_LABEL = re.compile(r"^[^:：,，、]{1,24}[:：]\s*")
_BETWEEN = re.compile(r"\s*[,，、;；]\s*")


def likeliest_first(report: Report) -> Report:
    """Returns a report whose diagnoses stand as their probabilities say, where each has one."""
    if any(one.probability is None for one in report.diagnoses):
        return report
    ordered = sorted(report.diagnoses, key=lambda one: -(one.probability or 0.0))
    return msgspec.structs.replace(report, diagnoses=tuple(ordered))


def by_place(judged: Grade | None, report: Report, truth: Truth, knowledge: Knowledge) -> Grade | None:
    """Returns a grade of the diagnoses that is no better than the place at which the right one stands: A the first."""
    if judged is None:
        return None
    names = [one.name for one in likeliest_first(report).diagnoses]
    place = next((n for n, name in enumerate(names) if is_named(name, truth, knowledge)), None)
    if place is None:
        return judged
    return min(judged, _BY_PLACE[place] if place < len(_BY_PLACE) else Grade.D)


def reasons_graded(
    reference: Sequence[str], given: Sequence[str], lexicon: Lexicon, found: FindingsTold
) -> tuple[Grade, str] | None:
    """Returns the grade of the reasons, and which were named; None if the record does not list its reasons.

    In a list with a heading, "Typical: thirst, belly ache", each item is a reason. Three of them, or all if there are
    fewer, are an A. An examination is a reason if the report tells what was `found` in it.
    """
    if not reference or not all(_LABEL.match(line) for line in reference):
        return None
    wanted = tuple(dict.fromkeys(_listed(reference)))
    items = tuple(_listed(given))
    said = lexicon.present(*items)
    heard = {item: found.heard(item) for item in (*given, *items)}
    shown = frozenset[str]().union(*(right for right, _ in heard.values()))

    def is_named(point: str) -> bool:
        meant = lexicon.present(point)
        # A wrong finding of an examination is no reason.
        right = (item for item in items if point not in heard[item][1])
        return point in shown or (bool(meant) and meant <= said) or any(says(point, item) for item in right)

    named = [point for point in wanted if is_named(point)]
    return _enough(named, [point for point in wanted if point not in named], lexicon.language)


def _enough(matched: Sequence[str], missed: Sequence[str], language: Language) -> tuple[Grade, str]:
    """Returns a grade by the points that were named, of which `ENOUGH` are an A, and which those are."""
    shares = {"named": min(1.0, len(matched) / min(ENOUGH, len(matched) + len(missed)))}
    match = AspectMatch(shares, matched=tuple(matched), missed=tuple(missed))
    return Scale(weights={"named": 1.0}, cuts=QUARTERS).grade(shares), analysis(match, language)


def _listed(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield from filter(None, (one.strip(" .。") for one in _BETWEEN.split(_LABEL.sub("", line))))


def by_symptom(case: Case, report: Report, symptoms: Mapping[str, Symptom], lexicon: Lexicon) -> Case:
    """Returns a case in whose history each symptom stands as particularly as the report names it.

    What the report does not name at all stays as it is; so does all that the lexicon does not know.
    """
    known = lexicon.present(*report.symptoms)
    language, history = case.presentation.language, case.record.history

    def point(text: str) -> str:
        meant = lexicon.present(text)
        named = {id: next((one for one in _line(id, symptoms) if one in known), "") for id in sorted(meant)}
        if meant <= known or not all(named.values()):
            return text
        return ", ".join(dict.fromkeys(symptoms[id].name.get(language) for id in named.values()))

    points = tuple(point(text) for text in history.symptoms)
    record = msgspec.structs.replace(case.record, history=msgspec.structs.replace(history, symptoms=points))
    return msgspec.structs.replace(case, record=record)


def _line(id: str, symptoms: Mapping[str, Symptom]) -> Iterator[str]:
    """Yields a symptom, and then what it is a kind of, to the broadest."""
    line: str | None = id
    while line is not None:
        yield line
        line = symptoms[line].parent
