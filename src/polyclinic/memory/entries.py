"""Entries of a memory: a record of a right answer, or a principle from a wrong one; and the text that finds them.

Paper: Li et al., Agent Hospital, arXiv:2405.02957, §4.3. A patient is found again by what is known of it, one statement
a line (§4.3.1). In a prompt a memory stands between rows of equals signs, which its own text cannot contain.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, flag_of, limits_of
from polyclinic.knowledge.data import Severity
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import read_days, say_days
from polyclinic.language.language import MARKS, Language
from polyclinic.language.word_lists import Pattern, WordLists


class ClinicalTask(StrEnum):
    """What a doctor decides of a patient (§4.1); each has a library and an experience base of its own."""

    EXAMINATION = "examination"
    DIAGNOSIS = "diagnosis"
    TREATMENT = "treatment"


class AskedTask(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A task on a patient, as it is kept: by what it is found again, and what was asked."""

    case: str  # the patient
    number: int  # of the patient in the practice, from 1
    query: str  # the text that is compared (§4.3.1): symptoms, and the result, and the plans
    options: tuple[str, ...]  # the options, in the order of the question


class MedicalRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A right answer, with the reasoning that led to it."""

    asked: AskedTask
    answer: str
    reasoning: str = ""
    led_to: tuple[ClinicalTask, ...] = ()  # the later tasks that were done rightly
    judged_by: str = "truth"  # who said that it was right: `truth`, or `outcome`


class Experience(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A principle that turned a wrong answer into a right one; judged by `outcome`, that somebody got worse after it.

    Attributes:
        before, after: the answer without the principle, and with it; `after` is "" where nobody says what is right.
        right: all that would have been right; empty where nobody says it.
        principle: in words that hold for others, too.
        judged_by: see `MedicalRecord`.
    """

    asked: AskedTask
    before: str
    after: str
    right: tuple[str, ...]
    principle: str
    judged_by: str = "truth"


Entry = MedicalRecord | Experience
KINDS: dict[str, type[Entry]] = {"record": MedicalRecord, "experience": Experience}


def kind_of(entry: Entry) -> str:
    """Returns the name of its kind."""
    return "record" if isinstance(entry, MedicalRecord) else "experience"


class Lesson(NamedTuple):
    """A principle that turned a wrong answer into a right one, `after`."""

    principle: str
    after: str


def entry_of(
    asked: AskedTask,
    answer: str,
    reasoning: str,
    right: tuple[str, ...],
    *,
    lesson: Lesson | None = None,
    led_to: tuple[ClinicalTask, ...] = (),
    judged_by: str = "truth",
) -> Entry | None:
    """Returns what is remembered of an answer: a record if it was right, experience if it taught a lesson."""
    if answer and answer in right:
        return MedicalRecord(asked=asked, answer=answer, reasoning=reasoning, led_to=led_to, judged_by=judged_by)
    if lesson is None:
        return None
    principle, after = lesson
    return Experience(asked=asked, before=answer, after=after, right=right, principle=principle, judged_by=judged_by)


PHYSICAL = "physical-examination"  # free in the paper's hospital, and not among the sixteen options

GRADES: dict[Language, dict[Severity, str]] = {
    "en": {"mild": "mild", "moderate": "moderate", "severe": "severe"},
    "zh": {"mild": "轻度", "moderate": "中度", "severe": "重度"},
}
"""What a plan is called by its severity."""


def examinations_named(knowledge: Knowledge, language: Language) -> dict[str, str]:
    """Returns the examinations that can be chosen, name to id."""
    return {one.name.get(language): one.id for one in knowledge.examinations.values() if one.id != PHYSICAL}


def name_of_choices(knowledge: Knowledge, language: Language) -> str:
    """Names what the answers of a memory are among; the same for the same choices."""
    diseases = [disease.name.get(language) for disease in knowledge.diseases.values()]
    return named(language, diseases, examinations_named(knowledge, language), GRADES[language].values())


def named(language: Language, diseases: Iterable[str], examinations: Iterable[str], grades: Iterable[str]) -> str:
    """Returns how so many diseases are called, with a digest of all names."""
    diseases = list(diseases)
    text = "\n".join([language, *diseases, *examinations, *grades])
    return f"{len(diseases)} diseases, {hashlib.sha256(text.encode()).hexdigest()[:12]}"


_MARKS = re.compile(r"={3,}")


def quoted(text: str) -> str:
    """Returns a text on one line, without what could pass for a mark."""
    return unmarked(" ".join(text.split()))


def unmarked(text: str) -> str:
    """Returns a text without what could pass for a mark."""
    return _MARKS.sub("=", text)


_DECADE = 10

_MARKED = 1.5  # a result beyond its limit by this factor is markedly high or low

_SENTENCE = re.compile(r"(?<=[.!?])\s+|[。！？\n]+")


_lists = WordLists(Path(__file__).with_name("words"))
_words = _lists.section("picture", dict[str, str])
_patterns = _lists.section("picture_patterns", dict[str, Pattern])


def picture_of(
    presentation: Presentation,
    history: History,
    findings: Iterable[Finding] | None = None,
    *,
    diagnosis: str = "",
    said: Iterable[str] = (),
) -> str:
    """Returns the picture of a patient: time and age in steps, each result as high, low or within its range.

    `said` is what the patient said in its own words: each sentence is a line, without the words in front of what it
    has; what it denies is left out.
    """
    language = presentation.language
    words = _words(language)
    lines = [words["female"] if presentation.sex == "female" else words["male"]] if presentation.sex else []
    if presentation.age is not None:
        first = int(presentation.age) // _DECADE * _DECADE
        lines.append(words["ages"].format(first=first, last=first + _DECADE - 1))
    days = read_days(presentation.complaint, language)
    if days is not None:
        lines.append(words["lasting"].format(days=say_days(2.0 ** round(math.log2(max(days, 1))), language)))
    if history.symptoms:
        lines.append(words["complaints"].format(n=len(history.symptoms)))
    for section, text in history.sections():
        lines += [text] if section == "symptoms" else _statements(text, language)
    lines += dict.fromkeys(line for text in said for line in _told(text, language))
    if findings is not None:
        lines.append(result_lines(findings, language))
    if diagnosis:
        lines.append(words["diagnosed"].format(disease=diagnosis))
    return "\n".join(lines).strip()


def result_lines(findings: Iterable[Finding], language: Language) -> str:
    """Returns findings an item a line, as high, low, within its range, or in words."""
    words = _words(language)
    return "\n".join(
        dict.fromkeys(f"{f.item or f.examination}{MARKS[language].colon}{_state(f, words)}" for f in findings)
    )


def _state(finding: Finding, words: dict[str, str]) -> str:
    if isinstance(finding.value, str):
        return finding.value
    flag = flag_of(finding)
    if not flag:
        return words["usual"]
    low, high = limits_of(finding)
    if flag == "H":
        return words["very_high"] if high and finding.value > _MARKED * high else words["high"]
    return words["very_low"] if low and finding.value < low / _MARKED else words["low"]


@functools.lru_cache(maxsize=1 << 12)
def _told(text: str, language: Language) -> tuple[str, ...]:
    """Returns what somebody says that it has, a line each."""
    words = _patterns(language)
    sentences = (sentence.strip() for sentence in _SENTENCE.split(text) if sentence)
    told = (words["leads_in"].sub("", one, count=1).rstrip(".") for one in sentences if not words["says_no"].match(one))
    return tuple(line for line in told if line)


@functools.lru_cache(maxsize=1 << 12)
def _statements(text: str, language: Language) -> tuple[str, ...]:
    stop, as_ever = "." if language == "en" else "。", _patterns(language)["as_ever"]
    return tuple(part for part in map(str.strip, text.split(stop)) if part and not as_ever.search(part))
