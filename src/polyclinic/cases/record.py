"""The medical record without diagnosis and treatment: what a one-step doctor or a ward's specialists read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from polyclinic.cases.presentation import Presentation
from polyclinic.language.language import MARKS, Language

_PRINTED = {
    "Cel": "°C",
    "{score}": "",
    "[pH]": "",
    "m[IU]/L": "mIU/L",
    "10*9/L": "×10⁹/L",
    "10*12/L": "×10¹²/L",
    "mm[Hg]": "mmHg",
    "mg/L{FEU}": "mg/L FEU",
    "[IU]/mL": "IU/mL",
    "[IU]/L": "IU/L",
    "10*6/L": "×10⁶/L",
    "cm[H2O]": "cmH₂O",
    "{ratio}": "",
}
"""UCUM units that people do not write as UCUM does."""


_DATE: dict[Language, str] = {"en": " ({})", "zh": "（{}）"}
_REFERENCE: dict[Language, str] = {"en": " (reference {})", "zh": "（参考值{}）"}


class Code(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A code in a public system, such as LOINC 718-7."""

    system: Literal["loinc", "icd10", "snomed", "atc"]
    code: str


class History(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the patient can tell.

    Attributes:
        symptoms: single symptoms as short phrases ("dry cough for three days").
        present: history of the present illness.
        past: past illnesses, operations, admissions.
        medications: what the patient takes.
        allergies: allergies and intolerances.
        personal: smoking, alcohol, work, home, contacts, travel.
        family: illnesses in the family.
        review: review of systems.
        other: anything that fits nowhere else.
    """

    symptoms: tuple[str, ...] = ()
    present: str = ""
    past: str = ""
    medications: str = ""
    allergies: str = ""
    personal: str = ""
    family: str = ""
    review: str = ""
    other: str = ""

    def sections(self) -> tuple[tuple[str, str], ...]:
        """Returns the sections that say something as (name, text), each symptom as a section of its own."""
        texts = [("symptoms", s) for s in self.symptoms]
        texts += [(f, getattr(self, f)) for f in self.__struct_fields__ if f != "symptoms"]
        return tuple((name, text) for name, text in texts if text.strip())


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One result of one examination.

    Attributes:
        examination: what was done ("complete blood count", "chest X-ray", "physical examination").
        item: what was looked at in it ("hemoglobin"); empty where the examination has one result.
        value: the result; text is kept word for word, a number is in `unit`.
        unit: UCUM where the source allows ("g/dL", "10*9/L"); empty for text.
        reference: the reference range as text ("13.5-17.5", "< 5", "negative").
        code: LOINC code of the item where one exists.
        date: when it was found, as an ISO date, where the source tells of several days.
    """

    examination: str
    item: str = ""
    value: str | float
    unit: str = ""
    reference: str = ""
    code: Code | None = None
    date: str = ""

    @property
    def value_text(self) -> str:
        """The value as it is read out."""
        return self.value if isinstance(self.value, str) else f"{self.value:g}"

    @property
    def printed_unit(self) -> str:
        """The unit as people write it; "" where there is none."""
        return printed_unit(self.unit)

    def text(self, language: Language = "en") -> str:
        """Returns the finding in one line: `complete blood count, hemoglobin: 9.1 g/dL (reference 13.5-17.5)`."""
        marks = MARKS[language]
        name = f"{self.examination}{marks.comma}{self.item}" if self.item else self.examination
        return f"{name}{marks.colon}{self._value(language)}"

    def result(self, language: Language) -> str:
        """Returns item and value, for a list under the examination's name: `hemoglobin 9.1 g/dL`, `lungs: clear`."""
        if not self.item:
            return self._value(language)
        between = " " if isinstance(self.value, float) else MARKS[language].colon
        return f"{self.item}{between}{self._value(language)}"

    def _value(self, language: Language) -> str:
        unit = self.printed_unit and f" {self.printed_unit}"
        reference = self.reference and _REFERENCE[language].format(self.reference)
        date = self.date and _DATE[language].format(self.date)
        return f"{self.value_text}{unit}{reference}{date}"


def printed_unit(unit: str) -> str:
    """Returns a UCUM unit as people write it; "" where they write none."""
    return _PRINTED.get(unit, unit)


def read_out(findings: Iterable[Finding], language: Language) -> list[str]:
    """Returns findings as they are read out: one text an examination, its items in order."""
    marks = MARKS[language]
    by_examination: dict[str, list[str]] = {}
    for finding in findings:
        by_examination.setdefault(finding.examination, []).append(finding.result(language))
    return [f"{examination}{marks.colon}{marks.semicolon.join(items)}" for examination, items in by_examination.items()]


class Opening(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a dialogue begins where its source says it word for word (AIE).

    Attributes:
        said: what the patient says first.
        greeting: what the doctor greets with before; "" where the source has the patient begin.
    """

    said: str
    greeting: str = ""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Presentation, history and findings; everything but diagnosis and treatment.

    Attributes:
        opening: the first words of the dialogue, where the source has them; None leaves them to who plays.
        vignette: all of it as one text, where the source has it so and parting it took something away (AIE, whose
            measures of how much was collected are against this text).
    """

    presentation: Presentation
    history: History = msgspec.field(default_factory=History)
    findings: tuple[Finding, ...] = ()
    opening: Opening | None = None
    vignette: str = ""


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_BETWEEN = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|~|to|至)\s*(-?\d+(?:\.\d+)?)\s*")
_BEYOND = re.compile(r"\s*([<≤＜>≥＞])\s*=?\s*(-?\d+(?:\.\d+)?)\s*")


def flag_of(finding: Finding) -> str:
    """Returns "H" or "L" where a number lies above or below the reference range that stands beside it, or ""."""
    if isinstance(finding.value, str):
        if not _NUMBER.fullmatch(finding.value.strip()):
            return ""
        value = float(finding.value)
    else:
        value = finding.value
    return {"low": "L", "normal": "", "high": "H"}[side_of(value, *limits_of(finding))]


def side_of(value: float, low: float | None, high: float | None) -> Literal["low", "normal", "high"]:
    """Returns where a value lies by the ends of a reference range; an end may be unknown."""
    if low is not None and value < low:
        return "low"
    return "high" if high is not None and value > high else "normal"


def limits_of(finding: Finding) -> tuple[float | None, float | None]:
    """Returns the lower and the upper end of the reference range that stands beside a result, where it has them."""
    if match := _BETWEEN.fullmatch(finding.reference):
        return float(match[1]), float(match[2])
    if match := _BEYOND.fullmatch(finding.reference):
        end = float(match[2])
        return (None, end) if match[1] in "<≤＜" else (end, None)
    return None, None
