"""The texts of a record, each with its place, divided among Tree-of-Reasoning's doctors by the kind of data (§3.1).

Whatever can be evidence is a stretch of one of these texts. A `Pointer` is made by `RecordText.at` alone, which knows
how long the text is, so that none points outside the record.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Mapping
from typing import Literal

import msgspec

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, Record
from polyclinic.evidence_tree.tree import WORDS
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names
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


class PartWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How examinations are told apart by their names, and how the texts of a record are called."""

    pathology: Pattern
    radiology: Pattern
    laboratory: Pattern
    labels: dict[str, str]
    sexes: dict[str, str]


_part_words = WORDS.section("parts", PartWords)


def texts_of(record: Record) -> tuple[RecordText, ...]:
    """Returns the texts of a record in its order: who it is, the complaint, the history, every finding."""
    person, language = record.presentation, record.presentation.language
    words, marks = _part_words(language), MARKS[language]
    told: list[tuple[str, str, str]] = []
    if person.age is not None:
        told.append(("presentation.age", "age", say_age(person.age, language)))
    if person.sex is not None:
        told.append(("presentation.sex", "sex", words.sexes[person.sex]))
    if person.about.strip():
        told.append(("presentation.about", "about", person.about))
    told.append(("presentation.complaint", "complaint", person.complaint))
    symptoms = itertools.count()
    for section, text in record.history.sections():
        place = f"[{next(symptoms)}]" if section == "symptoms" else ""
        told.append((f"history.{section}{place}", section, text))
    texts = [RecordText(field=f"$.{place}", label=words.labels[section], text=text) for place, section, text in told]
    for number, finding in enumerate(record.findings):
        label = f"{finding.examination}{marks.comma}{finding.item}" if finding.item else finding.examination
        one = RecordText(
            field=f"$.findings[{number}]",
            label=label,
            text=finding.text(language),
            begins=len(label) + len(marks.colon),
            finding=number,
        )
        texts.append(one)
    return tuple(texts)


Kind = Literal["outpatient", "laboratory", "radiology", "pathology"]
"""A kind of data, and the doctor who reads it."""

KINDS: tuple[Kind, ...] = ("outpatient", "laboratory", "radiology", "pathology")

Removed = Literal["reassigned", "withheld"]
"""What becomes of the data of a doctor who is removed: the outpatient doctor gets it (the paper), or nobody."""

KIND_OF: dict[str, Kind] = {
    "physical": "outpatient",
    "function": "laboratory",
    "endoscopy": "radiology",
    "laboratory": "laboratory",
    "microbiology": "laboratory",
    "imaging": "radiology",
    "pathology": "pathology",
}
"""The doctor who reads what an examination of a kind shows."""

names_of = functools.cache(Names)
"""The names of a knowledge's examinations, laid out once."""


class RecordPart(msgspec.Struct, frozen=True, kw_only=True):
    """What one doctor reads of a record."""

    kind: Kind
    presentation: Presentation
    texts: tuple[RecordText, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def language(self) -> Language:
        """The language that the record is written in."""
        return self.presentation.language

    def read_out(self) -> str:
        """Returns the part as text, a line each."""
        return "\n".join(text.line(self.language) for text in self.texts)


def divide(
    record: Record, knowledge: Knowledge, *, without: Collection[Kind] = (), removed: Removed = "reassigned"
) -> dict[Kind, RecordPart]:
    """Returns the doctors who have data, in the paper's order, with what each reads.

    The outpatient doctor always takes part, for there is a complaint. `without` names doctors who do not.
    """
    if "outpatient" in without:
        raise ValueError("the outpatient doctor cannot be removed: the complaint is read by nobody else")
    mine: dict[Kind, list[RecordText]] = {kind: [] for kind in KINDS}
    for text in texts_of(record):
        kind: Kind = "outpatient"
        if text.finding is not None:
            kind = kind_of(record.findings[text.finding].examination, record.presentation.language, knowledge)
        if kind in without:
            if removed == "withheld":
                continue
            kind = "outpatient"
        mine[kind].append(text)
    return {
        kind: RecordPart(
            kind=kind,
            presentation=record.presentation,
            texts=tuple(texts),
            findings=tuple(record.findings[text.finding] for text in texts if text.finding is not None),
        )
        for kind, texts in mine.items()
        if texts
    }


@functools.lru_cache(maxsize=4096)
def kind_of(examination: str, language: Language, knowledge: Knowledge) -> Kind:
    """Returns the doctor who reads an examination, by its name."""
    words, names = _part_words(language), names_of(knowledge)
    named = names.keys(examination)
    # What is looked at may stand where the examination should ("C-reactive protein: 5").
    holding = {key for key, items in names.items.items() if items & named}
    for keys in (named & names.kinds.keys(), holding):
        kinds = {KIND_OF[names.kinds[key]] for key in keys}
        if len(kinds) == 1:
            return kinds.pop()
    by_words: Mapping[Kind, Pattern] = {
        "pathology": words.pathology,
        "radiology": words.radiology,
        "laboratory": words.laboratory,
    }
    return next((kind for kind, pattern in by_words.items() if pattern.search(examination)), "outpatient")
