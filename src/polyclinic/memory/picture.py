"""What a patient is found again by (§4.3.1): what is known of it as others have it too, one statement a line.

Practice, consultations and the hospital write it with the same functions, so that a memory of one serves in the others.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from polyclinic.cases.flags import flag_of, limits_of
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History
from polyclinic.knowledge.duration import read_days, say_days
from polyclinic.language.language import MARKS, Language
from polyclinic.language.word_lists import Pattern, WordLists

_DECADE = 10

_MARKED = 1.5
"""A result so many times beyond its limit is markedly high, or low."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+|[。！？\n]+")


class _PictureWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ages: str
    female: str
    male: str
    lasting: str
    complaints: str
    high: str
    very_high: str
    low: str
    very_low: str
    usual: str
    diagnosed: str
    leads_in: Pattern
    says_no: Pattern
    as_ever: Pattern


_words = WordLists(Path(__file__).with_name("words")).section("picture", _PictureWords)


def picture_of(
    presentation: Presentation,
    history: History,
    findings: Iterable[Finding] | None = None,
    *,
    diagnosis: str = "",
    said: Iterable[str] = (),
) -> str:
    """Returns the picture of a patient: time and age in steps, each result as high, low or within its range.

    Args:
        presentation: who came, and with what; of the complaint only how long it has lasted.
        history: what is known of it, by section; a symptom is a line, of other sections each sentence.
        findings: what was found, an item a line; None where nothing was looked for yet.
        diagnosis: what the doctor takes it for, where it has decided that.
        said: what the patient said in its own words, where that is how the doctor knows; each sentence is a line,
            without the words in front of what it has, and what it denies is left out.
    """
    language = presentation.language
    words = _words(language)
    lines = [words.female if presentation.sex == "female" else words.male] if presentation.sex else []
    if presentation.age is not None:
        first = int(presentation.age) // _DECADE * _DECADE
        lines.append(words.ages.format(first=first, last=first + _DECADE - 1))
    days = read_days(presentation.complaint, language)
    if days is not None:
        lines.append(words.lasting.format(days=say_days(2.0 ** round(math.log2(max(days, 1))), language)))
    if history.symptoms:
        lines.append(words.complaints.format(n=len(history.symptoms)))
    for section, text in history.sections():
        lines += [text] if section == "symptoms" else _statements(text, language)
    lines += dict.fromkeys(line for text in said for line in _told(text, language))
    if findings is not None:
        lines.append(result_lines(findings, language))
    if diagnosis:
        lines.append(words.diagnosed.format(disease=diagnosis))
    return "\n".join(lines).strip()


def result_lines(findings: Iterable[Finding], language: Language) -> str:
    """Returns findings an item a line, as high, low, within its range, or in words."""
    words = _words(language)
    return "\n".join(
        dict.fromkeys(f"{f.item or f.examination}{MARKS[language].colon}{_state(f, words)}" for f in findings)
    )


def _state(finding: Finding, words: _PictureWords) -> str:
    if isinstance(finding.value, str):
        return finding.value
    flag = flag_of(finding)
    if not flag:
        return words.usual
    low, high = limits_of(finding)
    if flag == "H":
        return words.very_high if high and finding.value > _MARKED * high else words.high
    return words.very_low if low and finding.value < low / _MARKED else words.low


@functools.lru_cache(maxsize=1 << 12)
def _told(text: str, language: Language) -> tuple[str, ...]:
    """Returns what somebody says that it has, a line each."""
    words = _words(language)
    sentences = (sentence.strip() for sentence in _SENTENCE.split(text) if sentence)
    told = (words.leads_in.sub("", one, count=1).rstrip(".") for one in sentences if not words.says_no.match(one))
    return tuple(line for line in told if line)


@functools.lru_cache(maxsize=1 << 12)
def _statements(text: str, language: Language) -> tuple[str, ...]:
    stop, as_ever = "." if language == "en" else "。", _words(language).as_ever
    return tuple(part for part in map(str.strip, text.split(stop)) if part and not as_ever.search(part))
