"""Patients as the three tasks of Agent Hospital (§4.1), with their right answers."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from polyclinic.cases.case import Case
from polyclinic.cases.case_share import CaseShare
from polyclinic.cases.presentation import Question
from polyclinic.cases.record import Finding, read_out
from polyclinic.cases.truth import Severity
from polyclinic.errors import BadInput
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.language.language import MARKS, Language
from polyclinic.language.word_lists import WordLists
from polyclinic.memory.entries import GRADES, AskedTask, ClinicalTask, examinations_named, picture_of
from polyclinic.memory.recall import Put
from polyclinic.run.case_files import read_case_file
from polyclinic.seeds import derive
from polyclinic.terminal.screen import note
from polyclinic.terminal.tables import counted

_NAMED = 12  # diseases that an error names


_words = WordLists(Path(__file__).with_name("words")).section("task", dict[str, str])


class Choices:
    """The options of a doctor: the examinations and diseases of the knowledge, and three plans for each disease."""

    def __init__(self, knowledge: Knowledge, language: Language) -> None:
        self.language, self.knowledge = language, knowledge
        self.examinations = examinations_named(knowledge, language)
        self.diseases = {one.name.get(language): one.id for one in knowledge.diseases.values()}
        self.grades: dict[str, Severity] = {grade: severity for severity, grade in GRADES[language].items()}


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
        return self._put(ClinicalTask.EXAMINATION, {name: name for name in self.choices.examinations})

    def diagnosis(self, examination: str) -> Put:
        """Asks for the disease, given the symptoms and what an examination (a label, "" for none) showed."""
        return self._put(ClinicalTask.DIAGNOSIS, {name: name for name in self.choices.diseases}, examination)

    def treatment(self, examination: str, diagnosis: str) -> Put:
        """Asks for one of the three plans of a disease (a label), given all that is known."""
        choices, language = self.choices, self.choices.language
        disease, plan = choices.knowledge.diseases[choices.diseases[diagnosis]], _words(language)["plan"]
        join = MARKS[language].semicolon.join
        plans = {
            grade: plan.format(grade=grade, plan=join(disease.plan(severity).get(language)))
            for grade, severity in choices.grades.items()
        }
        return self._put(ClinicalTask.TREATMENT, plans, examination, diagnosis)

    def _put(
        self, task: ClinicalTask, options: Mapping[str, str], examination: str | None = None, diagnosis: str = ""
    ) -> Put:
        """Asks for one of the options, texts by label, given what is known with an examination and a diagnosis."""
        record, language = self.case.record, self.choices.language
        findings = None if examination is None else self.found(examination)
        known = "\n".join([self.symptoms, *read_out(findings or (), language)])
        picture = picture_of(record.presentation, record.history, findings, diagnosis=diagnosis)
        question = Question(
            id=f"{self.case.id}/{task}",
            stem=_words(language)[task.value].format(diagnosis=diagnosis),
            context=known.strip(),
            options=dict(zip(string.ascii_uppercase, options.values(), strict=False)),
            language=language,
        )
        asked = AskedTask(case=self.case.id, number=self.number, query=picture.strip(), options=tuple(options))
        return Put(task, question, asked)

    # --- what is right

    def right(self, task: ClinicalTask, *, diagnosis: str = "") -> tuple[str, ...]:
        """Returns the right labels; a plan is right only if the diagnosis (a label) is."""
        choices = self.choices
        if task is ClinicalTask.EXAMINATION:
            who = self.case.presentation
            ids = choices.knowledge.right_examinations(self.disease, sex=who.sex, age=who.age)
            return tuple(label for label, id in choices.examinations.items() if id in ids)
        right = next(label for label, id in choices.diseases.items() if id == self.disease.id)
        if task is ClinicalTask.DIAGNOSIS:
            return (right,)
        return tuple(g for g, severity in choices.grades.items() if severity == self.severity and diagnosis == right)

    # --- what is known

    @property
    def symptoms(self) -> str:
        """The complaint and history, before any examination."""
        presentation, words = self.case.presentation, _words(self.choices.language)
        lines = [presentation.complaint]
        if presentation.sex is not None:
            lines.append(words["female"] if presentation.sex == "female" else words["male"])
        if presentation.age is not None:
            years = int(presentation.age)
            lines.append(words["age"].format(years=years) if years else words["infant"])
        lines += [text for _, text in self.case.record.history.sections()]
        return "\n".join(lines)

    def found(self, examination: str) -> list[Finding]:
        """Returns what an examination (a label) shows."""
        return [f for f in self.case.record.findings if f.examination.casefold() == examination.casefold()]


def lacks(case: Case) -> str:
    """Returns what a case lacks to be a patient of a practice, "" if nothing."""
    if not case.truth.diagnoses:
        return "no diagnosis to learn from"
    return "" if case.truth.severity is not None else f"no severity; needed: {', '.join(SEVERITIES)}"


def practice_patients(cases: Sequence[Case], knowledge: Knowledge) -> list[PracticePatient]:
    """Returns cases as patients to practise on."""
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
        if problem := lacks(case):
            raise BadInput(f"case {case.id!r} has {problem}")
        named = case.truth.diagnoses[0].name
        disease = knowledge.disease_named(named)
        if disease is None:
            allowed = ", ".join(list(choices.diseases)[:_NAMED])
            raise BadInput(
                f"case {case.id!r} has the disease {named!r}; allowed: {allowed}. Patients of them are drawn by: "
                "polyclinic cases generate --preset agent-hospital --out DIR"
            )
        assert case.truth.severity is not None  # noqa: S101
        made.append(PracticePatient(case, number, disease, case.truth.severity, choices))
    return made


_DISEASES = "respiratory"
"""The paper's eight diseases, from which a doctor of the practice chooses."""


def read_patients(
    train: str,
    test: str,
    *,
    strict: bool = False,
    shuffled_by: int | None = None,
    shares: list[CaseShare] | None = None,
) -> tuple[list[PracticePatient], list[PracticePatient]]:
    """Returns the patients to practise on, perhaps in an order `shuffled_by` a seed, and those of the test."""
    every = {name: read_case_file(name, strict=strict, needs=lacks, shares=shares) for name in (train, test)}
    knowledge, patients = read_knowledge().select(_DISEASES), {}
    for name, cases in every.items():
        try:
            patients[name] = practice_patients(cases, knowledge)
        except BadInput as problem:
            raise BadInput(str(problem), path=Path(name)) from None
    practising, tested = patients[train], patients[test]
    here, there = practising[0].choices.language, tested[0].choices.language
    if here != there:
        raise BadInput(f"is in {there!r}, and {train} in {here!r}", path=Path(test))
    known_by = {_content(one.case) for one in practising} | {one.case.id for one in practising}
    met = [one.case.id for one in tested if one.case.id in known_by or _content(one.case) in known_by]
    if met:
        raise BadInput(f"shares {counted(len(met), 'patient')} with {train}: {', '.join(met[:3])}", path=Path(test))
    if untaught := sorted({one.disease.id for one in tested} - {one.disease.id for one in practising}):
        note(f"nobody in {train} has what some in {test} have: {', '.join(untaught)}")
    if shuffled_by is not None:
        derive(shuffled_by, "order").shuffle(practising)
        # Progress and snapshots count patients in the order in which they come.
        practising = [one._replace(number=number) for number, one in enumerate(practising, start=1)]
    return practising, tested


def _content(case: Case) -> str:
    """Returns the content of a case without names; no two patients have exactly the same results."""
    record, came = case.record, case.presentation
    door = () if record.findings else (came.complaint, came.age, came.sex)
    return msgspec.json.encode((door, record.history, record.findings)).decode()


FOLLOW_UP = 10  # days from the treatment to the follow-up


class Came(StrEnum):
    """The state of a patient at the follow-up; `ill` is neither recovered nor worse."""

    RECOVERED = "recovered"
    ILL = "ill"
    WORSE = "worse"


def came_of(patient: PracticePatient, *, right: bool, seed: int) -> Came:
    """Returns the state of a patient after the treatment."""
    luck = derive(seed, patient.case.id, "outcome")
    chance, share = luck.random(), luck.random()
    course = patient.disease.course.treated if right else patient.disease.course.wrongly
    if chance < course.worsening[SEVERITIES.index(patient.severity)]:
        return Came.WORSE
    first, last = course.days
    return Came.RECOVERED if first + int(share * (last - first + 1)) <= FOLLOW_UP else Came.ILL


def cap_of(patients: Sequence[PracticePatient]) -> dict[ClinicalTask, int]:
    """Returns for each task how many of the patients the exact reader of the knowledge treats rightly.

    The examination is the one that is right with the highest probability, by the symptoms; the disease the likeliest
    by symptoms and that examination's result; the plan that of the likeliest severity of this disease.
    """
    if not patients:
        return dict.fromkeys(ClinicalTask, 0)
    choices = patients[0].choices
    reader = Reader(choices.knowledge)
    # Row e, column d: whether examination e is right for disease d.
    fits = np.array([[id in d.examinations for d in reader.diseases] for id in choices.examinations.values()], float)
    labels, names = list(choices.examinations), {id: name for name, id in choices.diseases.items()}
    right = dict.fromkeys(ClinicalTask, 0)
    for patient in patients:
        said, reading = reader.read_history(patient.case.record)
        diseases = reader.members[:-1] @ normalise(said + reading.log())
        who = patient.case.presentation
        can_be_done = [
            choices.knowledge.examinations[id].possible(who.age, who.sex) for id in choices.examinations.values()
        ]
        chosen = labels[int(np.argmax(fits @ diseases * can_be_done))]
        right[ClinicalTask.EXAMINATION] += chosen in patient.right(ClinicalTask.EXAMINATION)
        reader.read_findings(patient.found(chosen), reading)
        posterior = normalise(said + reading.log())
        place = int(np.argmax(reader.members[:-1] @ posterior))
        name = names[reader.diseases[place].id]
        right[ClinicalTask.DIAGNOSIS] += name in patient.right(ClinicalTask.DIAGNOSIS)
        of_disease = posterior[place * len(SEVERITIES) : (place + 1) * len(SEVERITIES)]
        grade = list(choices.grades)[int(np.argmax(of_disease))]
        right[ClinicalTask.TREATMENT] += grade in patient.right(ClinicalTask.TREATMENT, diagnosis=name)
    return right


def constant_of(patients: Sequence[PracticePatient]) -> dict[ClinicalTask, int]:
    """Returns for each task for how many of the patients the best single answer is right.

    Of a plan it is the commonest disease at its commonest severity. The answers are the best on these very patients,
    so that no doctor who gives everybody the same is right more often.
    """
    given: dict[ClinicalTask, Counter[tuple[str, ...]]] = {task: Counter() for task in ClinicalTask}
    for patient in patients:
        given[ClinicalTask.EXAMINATION].update((label,) for label in patient.right(ClinicalTask.EXAMINATION))
        given[ClinicalTask.DIAGNOSIS][patient.disease.id,] += 1
        given[ClinicalTask.TREATMENT][patient.disease.id, patient.severity] += 1
    return {task: max(counts.values(), default=0) for task, counts in given.items()}
