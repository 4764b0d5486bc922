"""Patients as the three tasks of Agent Hospital (§4.1): what is asked of each, and what is right."""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.flags import flag_of, limits_of
from polyclinic.cases.presentation import Question
from polyclinic.cases.record import Finding, read_out
from polyclinic.cases.truth import Severity
from polyclinic.errors import BadInput
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.duration import read_days, say_days
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import MARKS, Language
from polyclinic.language.word_lists import WordLists
from polyclinic.memory.entries import AskedTask, ClinicalTask
from polyclinic.memory.learner import Put

PHYSICAL = "physical-examination"
"""Free in the paper's hospital, and none of the sixteen that a doctor chooses from."""

_DECADE = 10

_MARKED = 1.5
"""A result so many times beyond its limit is markedly high, or low."""


class _TaskWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    examination: str
    diagnosis: str
    treatment: str
    age: str
    ages: str
    infant: str
    female: str
    male: str
    lasting: str
    complaints: str
    high: str
    very_high: str
    low: str
    very_low: str
    usual: str
    plan: str
    diagnosed: str
    grades: dict[Severity, str]


_words = WordLists(Path(__file__).with_name("words")).section("task", _TaskWords)


class Choices:
    """What a doctor chooses from: the examinations and the diseases of a knowledge, and three plans of each."""

    def __init__(self, knowledge: Knowledge, language: Language) -> None:
        self.language, self.knowledge = language, knowledge
        self.examinations = {
            one.name.get(language): one.id for one in knowledge.examinations.values() if one.id != PHYSICAL
        }
        self.diseases = {one.name.get(language): one.id for one in knowledge.diseases.values()}
        self.grades: dict[str, Severity] = {_words(language).grades[severity]: severity for severity in SEVERITIES}


class PracticePatient(NamedTuple):
    """A patient to learn from or to be tested on; `number` counts from 1."""

    case: Case
    number: int
    disease: Disease
    severity: Severity
    choices: Choices

    # --- what is asked

    def examination(self) -> Put:
        """Asks for an examination, given the symptoms."""
        return self._put(ClinicalTask.EXAMINATION, self._symptoms, self._picture, self.choices.examinations)

    def diagnosis(self, examination: str) -> Put:
        """Asks for the disease, given the symptoms and what an examination (a label, "" for none) showed."""
        seen, result = self._seen(examination)
        known, picture = f"{self._symptoms}\n{seen}", f"{self._picture}\n{result}"
        return self._put(ClinicalTask.DIAGNOSIS, known, picture, self.choices.diseases)

    def treatment(self, examination: str, diagnosis: str) -> Put:
        """Asks for one of the three plans of a disease (a label), given all that is known."""
        words, language = _words(self.choices.language), self.choices.language
        disease = self.choices.knowledge.diseases[self.choices.diseases[diagnosis]]
        seen, result = self._seen(examination)
        diagnosed = words.diagnosed.format(disease=diagnosis)
        join = MARKS[language].semicolon.join
        plans = {
            grade: words.plan.format(grade=grade, plan=join(disease.plan(severity).get(language)))
            for grade, severity in self.choices.grades.items()
        }
        return self._put(
            ClinicalTask.TREATMENT,
            f"{self._symptoms}\n{seen}",
            f"{self._picture}\n{result}\n{diagnosed}",
            plans,
            texts=plans,
            stem=words.treatment.format(diagnosis=diagnosis),
        )

    # --- what is right

    def right(self, task: ClinicalTask, *, diagnosis: str = "") -> tuple[str, ...]:
        """Returns the labels that are right; a plan is right only where the diagnosis (a label) is."""
        choices = self.choices
        if task is ClinicalTask.EXAMINATION:
            return tuple(label for label, id in choices.examinations.items() if id in self.disease.examinations)
        right = next(label for label, id in choices.diseases.items() if id == self.disease.id)
        if task is ClinicalTask.DIAGNOSIS:
            return (right,)
        return tuple(g for g, severity in choices.grades.items() if severity == self.severity and diagnosis == right)

    # --- what is known

    @property
    def _symptoms(self) -> str:
        """What is known before any examination, in full."""
        presentation, words = self.case.presentation, _words(self.choices.language)
        lines = [presentation.complaint]
        if presentation.sex is not None:
            lines.append(words.female if presentation.sex == "female" else words.male)
        if presentation.age is not None:
            years = int(presentation.age)
            lines.append(words.age.format(years=years) if years else words.infant)
        lines += [text for _, text in self.case.record.history.sections()]
        return "\n".join(lines)

    @property
    def _picture(self) -> str:
        """The same as others have it too: one statement a line, time and age in steps."""
        presentation, words = self.case.presentation, _words(self.choices.language)
        language = self.choices.language
        lines = [words.female if presentation.sex == "female" else words.male]
        if presentation.age is not None:
            first = int(presentation.age) // _DECADE * _DECADE
            lines.append(words.ages.format(first=first, last=first + _DECADE - 1))
        days = read_days(presentation.complaint, language)
        if days is not None:
            lines.append(words.lasting.format(days=say_days(2.0 ** round(math.log2(max(days, 1))), language)))
        lines.append(words.complaints.format(n=len(self.case.record.history.symptoms)))
        for section, text in self.case.record.history.sections():
            lines += [text] if section == "symptoms" else _statements(text, language)
        return "\n".join(lines)

    def _seen(self, examination: str) -> tuple[str, str]:
        """Returns what an examination showed: as it is read out, and an item a line, high, low or within its range."""
        found = [f for f in self.case.record.findings if f.examination.casefold() == examination.casefold()]
        words, language = _words(self.choices.language), self.choices.language
        lines = (f"{f.item or f.examination}{MARKS[language].colon}{_state(f, words)}" for f in found)
        return "\n".join(read_out(found, language)), "\n".join(lines)

    def _put(
        self,
        task: ClinicalTask,
        known: str,
        picture: str,
        labels: Iterable[str],
        *,
        texts: Mapping[str, str] | None = None,
        stem: str = "",
    ) -> Put:
        labels, language = tuple(labels), self.choices.language
        keyed = zip(string.ascii_uppercase, labels, strict=False)
        options = {key: (texts or {}).get(label, label) for key, label in keyed}
        question = Question(
            id=f"{self.case.id}/{task}",
            stem=stem or getattr(_words(language), task.value),
            context=known.strip(),
            options=options,
            language=language,
        )
        asked = AskedTask(case=self.case.id, number=self.number, query=picture.strip(), options=labels)
        return Put(task, question, labels, asked)


def _state(finding: Finding, words: _TaskWords) -> str:
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
def _statements(text: str, language: Language) -> tuple[str, ...]:
    stop = "." if language == "en" else "。"
    return tuple(filter(None, (part.strip() for part in text.split(stop))))


def practice_patients(cases: Sequence[Case], knowledge: Knowledge) -> list[PracticePatient]:
    """Returns cases as patients to practise on.

    Raises:
        BadInput: there is none; one has no severity, or a disease that is none of the knowledge's; two have one id; or
            they are in two languages.
    """
    if not cases:
        raise BadInput("no patients; needed: at least one case")
    languages = {case.presentation.language for case in cases}
    if len(languages) > 1:
        raise BadInput(f"patients in {' and '.join(sorted(languages))}; they must be in one language")
    choices = Choices(knowledge, languages.pop())
    seen: set[str] = set()
    made = []
    for number, case in enumerate(cases, start=1):
        if case.id in seen:
            raise BadInput(f"two cases have the id {case.id!r}; every case needs its own")
        seen.add(case.id)
        named = case.truth.diagnoses[0].name if case.truth.diagnoses else ""
        disease = knowledge.disease_named(named)
        if disease is None:
            known = ", ".join(choices.diseases)
            raise BadInput(f"case {case.id!r} has the disease {named!r}; allowed: {known}")
        if case.truth.severity is None:
            raise BadInput(f"case {case.id!r} has no severity; needed: {', '.join(SEVERITIES)}")
        made.append(PracticePatient(case, number, disease, case.truth.severity, choices))
    return made
