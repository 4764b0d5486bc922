"""The texts of a record, each with its place in it, and what points at a stretch of one.

Whatever can be evidence is a stretch of one of these texts. A `Pointer` is made by `RecordText.at` alone, which knows
how long the text is, so that none points outside the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from polyclinic.cases.record import Finding, Record
from polyclinic.evidence_tree.printed import WORDS
from polyclinic.language.ages import say_age
from polyclinic.language.language import MARKS, Language
from polyclinic.language.word_lists import Pattern

How = Literal["word for word", "by value", "by name"]
"""Why a stretch of the record is what evidence speaks of: the same words, the same value, the same finding."""


class Pointer(msgspec.Struct, frozen=True):
    """A stretch of a record's text: characters `start` up to `end` of the text at `field`."""

    field: str
    start: int
    end: int
    how: How


class RecordText(msgspec.Struct, frozen=True, kw_only=True):
    """A text of a record.

    Attributes:
        field: where it stands, such as `$.history.present`, `$.findings[3]`.
        label: what it is, in the record's language.
        text: as it is read out; the text of a finding begins with its name.
        begins: where behind the name the result begins.
        finding: which of the findings it is; None where it is none.
    """

    field: str
    label: str
    text: str
    begins: int = 0
    finding: int | None = None

    def at(self, start: int, end: int, how: How) -> Pointer:
        """Returns what points at a stretch of this text; a ValueError where it is none."""
        if not 0 <= start < end <= len(self.text):
            raise ValueError(f"characters {start} to {end} are no stretch of {self.field}")
        return Pointer(self.field, start, end, how)

    def line(self, language: Language) -> str:
        """Returns the text behind what it is; a finding says so itself."""
        return self.text if self.finding is not None else f"{self.label}{MARKS[language].colon}{self.text}"


class _Sexes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    female: str
    male: str


class PartWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How examinations are told apart by their names, and how the texts of a record are called."""

    pathology: Pattern
    radiology: Pattern
    laboratory: Pattern
    labels: dict[str, str]
    sexes: _Sexes


part_words = WORDS.section("parts", PartWords)


def texts_of(record: Record) -> tuple[RecordText, ...]:
    """Returns the texts of a record in its order: who it is, the complaint, the history, every finding."""
    return tuple(_texts(record))


def _texts(record: Record) -> Iterator[RecordText]:
    person, language = record.presentation, record.presentation.language
    words = part_words(language)
    if person.age is not None:
        yield _told("presentation.age", "age", say_age(person.age, language), language)
    if person.sex is not None:
        yield _told("presentation.sex", "sex", getattr(words.sexes, person.sex), language)
    if person.about.strip():
        yield _told("presentation.about", "about", person.about, language)
    yield _told("presentation.complaint", "complaint", person.complaint, language)
    seen: dict[str, int] = {}
    for section, text in record.history.sections():
        place = f"history.{section}"
        if section == "symptoms":
            place = f"{place}[{seen.setdefault(section, 0)}]"
            seen[section] += 1
        yield _told(place, section, text, language)
    for number, finding in enumerate(record.findings):
        yield _finding(number, finding, language)


def _told(place: str, section: str, text: str, language: Language) -> RecordText:
    return RecordText(field=f"$.{place}", label=part_words(language).labels[section], text=text)


def _finding(number: int, finding: Finding, language: Language) -> RecordText:
    marks, text = MARKS[language], finding.text(language)
    label = f"{finding.examination}{marks.comma}{finding.item}" if finding.item else finding.examination
    begins = len(label) + len(marks.colon)
    return RecordText(field=f"$.findings[{number}]", label=label, text=text, begins=begins, finding=number)
