"""Reads symptoms out of text, with which of those are denied; and how long something has lasted."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from polyclinic.cases.presentation import Presentation
from polyclinic.knowledge.ages import SPEAKS_FROM
from polyclinic.knowledge.entries import Symptom
from polyclinic.knowledge.examination_words import WORDS
from polyclinic.knowledge.knowledge import Knowledge, ancestors
from polyclinic.language.clauses import clause_words, clauses
from polyclinic.language.language import Language
from polyclinic.language.word_lists import WORDS as LANGUAGE_WORDS
from polyclinic.language.word_lists import Pattern, Rule, rewritten

Unit = Literal["day", "week", "month", "year"]


class _DurationWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Pattern
    numbers: dict[str, float]
    units: dict[str, float]
    said: dict[Unit, tuple[str, str]]


_durations = LANGUAGE_WORDS.section("durations", _DurationWords)


def read_days(text: str, language: Language) -> float | None:
    """Returns the first duration that a text names, in days, or None."""
    words = _durations(language)
    match = words.pattern.search(text)
    if match is None:
        return None
    number, unit = match[1].lower(), match[2].lower()
    return (words.numbers[number] if number in words.numbers else float(number)) * words.units[unit]


def rounded(days: float) -> tuple[int, Unit]:
    """Returns a duration as people say it: a whole number of days, weeks, months or years."""
    if days < 14:
        return max(1, round(days)), "day"
    if days < 60:
        return round(days / 7), "week"
    if days < 730:
        return round(days / 30.4), "month"
    return round(days / 365.25), "year"


def say_days(days: float, language: Language) -> str:
    """Returns a duration in words: `3 days`, `2 weeks`; `3天`, `2周`."""
    number, unit = rounded(days)
    return _durations(language).said[unit][number != 1].format(number)


_CLAUSE = re.compile(r"[.;:!?\n。；：！？]|,\s*but\b|\bbut\b|\bhowever\b|，?但是?|(?<!喘)，?不过(?!气)", re.IGNORECASE)

_QUESTION = re.compile(r"(?<=[?？])")

_KNOWN = "\ufffc"
"""What stands for a word of the lexicon where a text is cut: no letter, and nothing that divides clauses."""


class _Questions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    of_parent: tuple[Rule, ...]
    of_companion: tuple[Rule, ...]


_questions = WORDS.section("questions", _Questions)


@functools.lru_cache(maxsize=4096)
def asked_of_parent(question: str, language: Language) -> str:
    """Returns a question to the patient as it is asked of the parent who speaks for a child."""
    return rewritten(question, _questions(language).of_parent)


@functools.lru_cache(maxsize=4096)
def asked_of_companion(question: str, language: Language) -> str:
    """Returns a question to the patient as it is asked of whoever came along with an adult who cannot tell."""
    return rewritten(asked_of_parent(question, language), _questions(language).of_companion)


def asked_of(question: str, person: Presentation) -> str:
    """Returns a question to the patient as it is asked of whoever tells its history."""
    if person.age is not None and person.age < SPEAKS_FROM:
        return asked_of_parent(question, person.language)
    return asked_of_companion(question, person.language) if person.companion else question


class Lexicon:
    """The words for every symptom of the knowledge, in one language.

    Longer words win over shorter ones that they hold, so that "high fever" is not read as "fever" beside it; a symptom
    that is there brings its parents with it.
    """

    def __init__(self, symptoms: Iterable[Symptom], language: Language) -> None:
        self.language = language
        self.symptoms = {s.id: s for s in symptoms}
        asked = {s.question.get(language): s.id for s in self.symptoms.values()}
        self._questions = {
            _bare(form): s
            for text, s in asked.items()
            for form in (asked_of_companion(text, language), asked_of_parent(text, language), text)
        }
        self._owner = {
            word.casefold(): symptom.id for symptom in self.symptoms.values() for word in symptom.words(language)
        }
        # Doctors ask in set words, and records repeat one another.
        self._mentions = functools.lru_cache(maxsize=4096)(self._find)

    @functools.cached_property
    def _words(self) -> re.Pattern[str]:
        edge = r"(?<!\w){}(?!\w)" if self.language == "en" else "{}"
        by_letter: dict[str, list[str]] = {}
        for word in sorted(self._owner, key=len, reverse=True):
            by_letter.setdefault(word[0], []).append(re.escape(word[1:]))
        beginning = (f"{re.escape(letter)}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
        return re.compile(edge.format(f"(?:{'|'.join(beginning) or '(?!)'})"), re.IGNORECASE)

    def mentions(self, text: str) -> list[tuple[str, bool]]:
        """Returns the symptoms named in a text, in order, each with whether it is affirmed."""
        return list(self._mentions(text))

    def _find(self, text: str) -> tuple[tuple[str, bool], ...]:
        found, denial = [], clause_words(self.language).denial
        for clause in _CLAUSE.split(text):
            named = list(self._words.finditer(clause))
            if not named:
                continue
            denied = denial.search(clause)
            denied_from = len(clause) if denied is None else denied.start()
            found += [(self._owner[m[0].casefold()], m.start() < denied_from) for m in named]
        return tuple(found)

    def read(self, text: str) -> dict[str, bool]:
        """Returns symptom id to presence, for the symptoms that the text speaks of and what follows from them."""
        seen: dict[str, bool] = {}
        for symptom, present in self.mentions(text):
            seen[symptom] = seen.get(symptom, False) or present
        for symptom, present in list(seen.items()):
            if present:
                for parent in self.ancestors(symptom):
                    seen[parent] = True
        return seen

    def present(self, *texts: str) -> set[str]:
        """Returns the symptoms that texts say are there."""
        return {symptom for text in texts for symptom, there in self.read(text).items() if there}

    def read_all(self, texts: Iterable[str]) -> dict[str, bool]:
        """Returns what several texts speak of; what one of them affirms is there."""
        seen: dict[str, bool] = {}
        for text in texts:
            for symptom, present in self.read(text).items():
                seen[symptom] = seen.get(symptom, False) or present
        return seen

    def question(self, text: str) -> str | None:
        """Returns the symptom that a question asks for in the knowledge's own words, or None."""
        return self._questions.get(_bare(text))

    def asked(self, text: str) -> list[str]:
        """Returns the symptoms that a text asks for: in the knowledge's own words, or else by their names."""
        questions = [(self.question(q), q) for q in _QUESTION.split(text) if q.strip()]
        return list(dict.fromkeys(s for known, q in questions for s in ([known] if known else self.read(q))))

    def knows_questions(self, text: str) -> bool:
        """Whether a text holds nothing but questions in the knowledge's own words."""
        asked = [q for q in _QUESTION.split(text) if q.strip()]
        return bool(asked) and all(self.question(q) is not None for q in asked)

    def ancestors(self, symptom: str) -> list[str]:
        """Returns a symptom's parent, the parent's parent, and so on."""
        return ancestors(self.symptoms, symptom)

    def clauses_outside(self, text: str) -> list[str]:
        """Returns the clauses of a text that hold no word of the lexicon.

        The words are looked up before the text is cut, as they may hold what divides clauses: "comes and goes",
        "pain after greasy or rich food".
        """
        return [clause for clause in clauses(self._words.sub(_KNOWN, text), self.language) if _KNOWN not in clause]

    def unread(self, text: str) -> str:
        """Returns the text without the words of the lexicon."""
        return self._words.sub(" ", text)


@functools.lru_cache(maxsize=16)
def lexicon_of(knowledge: Knowledge, language: Language) -> Lexicon:
    """Returns the words for the symptoms of a knowledge; the same for the same knowledge and language."""
    return Lexicon(knowledge.symptoms.values(), language)


def _bare(question: str) -> str:
    return question.strip(" ?？.。!！").casefold()
