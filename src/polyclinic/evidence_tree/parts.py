"""A record divided among the doctors of Tree-of-Reasoning by the kind of data (§3.1).

Outpatient: complaint, history, physical examination, age and sex, and whatever is nobody else's. Laboratory: blood,
urine, other fluids, microbes, and what else is measured (an electrocardiogram, lung function). Radiology: X-ray, CT,
magnetic resonance, ultrasound, and what is seen through an endoscope. Pathology: biopsies, specimens, smears. An
examination that the knowledge knows by name is of the kind that it has there; of others the name's words decide.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import Literal

import msgspec

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, Record
from polyclinic.evidence_tree.sources import RecordText, part_words, texts_of
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names
from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern

Kind = Literal["outpatient", "laboratory", "radiology", "pathology"]
"""A kind of data, and the doctor who reads it."""

KINDS: tuple[Kind, ...] = ("outpatient", "laboratory", "radiology", "pathology")

Removed = Literal["reassigned", "withheld"]
"""What becomes of the data of a doctor who is removed: the outpatient doctor gets it (the paper), or nobody."""

_BY_KIND: dict[str, Kind] = {
    "physical": "outpatient",
    "function": "laboratory",
    "endoscopy": "radiology",
    "laboratory": "laboratory",
    "microbiology": "laboratory",
    "imaging": "radiology",
    "pathology": "pathology",
}

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

    Raises:
        ValueError: the outpatient doctor is to be removed.
    """
    if "outpatient" in without:
        raise ValueError("the outpatient doctor cannot be removed: the complaint is read by nobody else")
    mine: dict[Kind, list[RecordText]] = {kind: [] for kind in KINDS}
    for text in texts_of(record):
        kind = "outpatient" if text.finding is None else kind_of(record.findings[text.finding], record, knowledge)
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


def withheld(record: Record, knowledge: Knowledge, kinds: Collection[Kind]) -> Record:
    """Returns the record without the findings of some kinds of data."""
    kept = tuple(f for f in record.findings if kind_of(f, record, knowledge) not in kinds)
    return msgspec.structs.replace(record, findings=kept)


def kind_of(finding: Finding, record: Record, knowledge: Knowledge) -> Kind:
    """Returns whose a finding is."""
    return _kind(finding.examination, record.presentation.language, knowledge)


@functools.lru_cache(maxsize=4096)
def _kind(examination: str, language: Language, knowledge: Knowledge) -> Kind:
    words, names = part_words(language), names_of(knowledge)
    named = names.keys(examination)
    # What is looked at may stand where the examination should ("C-reactive protein: 5").
    holding = {key for key, items in names.items.items() if items & named}
    for keys in (named & names.kinds.keys(), holding):
        kinds = {_BY_KIND[names.kinds[key]] for key in keys}
        if len(kinds) == 1:
            return kinds.pop()
    by_words: Mapping[Kind, Pattern] = {
        "pathology": words.pathology,
        "radiology": words.radiology,
        "laboratory": words.laboratory,
    }
    return next((kind for kind, pattern in by_words.items() if pattern.search(examination)), "outpatient")
