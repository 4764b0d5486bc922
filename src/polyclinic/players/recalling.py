"""`recall` as the doctor of a visit: it goes by cases alone, and knows no disease.

It asks for every symptom that there is a question for in its department, some in a breath, orders the one examination
that its memory speaks for and whatever is free, and takes the patient for what most of those like it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyclinic.cases.presentation import Question
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.events import Examined
from polyclinic.knowledge.ages import SPEAKS_FROM
from polyclinic.knowledge.data import Severity
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import asked_of_parent
from polyclinic.language.language import MARKS
from polyclinic.memory.entries import GRADES, AskedTask, ClinicalTask, examinations_named
from polyclinic.memory.recall import NOTHING, Put, RecallDoctor, TaskAnswer
from polyclinic.players.mind_names import RECALL
from polyclinic.players.player import Ask, Choice, DoctorTurn, NextStep, Purpose
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.rules.sayings import doctor_sayings

_LATER = 3  # Turns that are kept for the examination, for what is free, and for the end


class RecallMind:
    """A doctor by cases alone; see the module."""

    name = RECALL
    reminds_itself = True

    def __init__(self, knowledge: Knowledge, *, case: str, seed: int) -> None:
        self._knowledge, self._case = knowledge, case
        self._seed = seed
        self._asked = 0
        self._ordered: list[str] = []
        self._diagnosis: TaskAnswer | None = None

    async def answer(self, ask: Ask[Any], role: Doctor) -> object:
        """Asks, orders, or says what it takes the patient for."""
        match ask.purpose:
            case Purpose.REPORT | Purpose.REVISE:
                return await self._report(role)
            case Purpose.NEXT_STEP:
                return NextStep("")
            case Purpose.PLAN:
                return await self._plan(ask, role)
            case Purpose.CHOOSE if ask.question is not None:
                options = ask.question.options
                answered = await self._decide(ClinicalTask.DIAGNOSIS, role, tuple(options.values()))
                return Choice(next((key for key, text in options.items() if text == answered.label), None))
        return await self._turn(role)

    async def _turn(self, role: Doctor) -> DoctorTurn:
        language, say = role.presentation.language, doctor_sayings(role.presentation.language)
        symptoms = list(self._knowledge.symptoms.values())
        left = role.turns_left() - _LATER
        if left > 0 and self._asked < len(symptoms):
            # As many in a breath as are needed to get through them.
            some = symptoms[self._asked : self._asked - (self._asked - len(symptoms)) // left]
            self._asked += len(some)
            asked, age = [one.question.get(language) for one in some], role.presentation.age
            if age is not None and age < SPEAKS_FROM:
                asked = [asked_of_parent(text, language) for text in asked]
            return DoctorTurn(MARKS[language].blank.join(asked))
        for name in sorted(role.free - set(self._ordered)):
            if role.turns_left() > _LATER - 1 and name in self._possible(role, free=True):
                return self._order(name, say["order"])
        if role.turns_left() > 1 and role.may_order() and not set(self._ordered) - role.free:
            answered = await self._decide(ClinicalTask.EXAMINATION, role, tuple(self._possible(role)))
            if answered.label:
                return self._order(answered.label, say["order"])
        diagnosis = await self._taken_for(role)
        if not diagnosis.label:
            return DoctorTurn(say["no_conclusion"], conclude=True)
        return DoctorTurn(say["conclusion"].format(disease=diagnosis.label), conclude=True)

    def _order(self, name: str, said: str) -> DoctorTurn:
        self._ordered.append(name)
        return DoctorTurn(said.format(examination=name))

    def _possible(self, role: Doctor, *, free: bool = False) -> list[str]:
        """Returns what it may order, in words."""
        language = role.presentation.language
        if role.post is not None and role.post.orders:
            return [name for name in role.post.orders if free or name not in role.free]
        return list(examinations_named(self._knowledge, language))

    async def _report(self, role: Doctor) -> Report:
        language = role.presentation.language
        diagnosis = await self._taken_for(role)
        found = [finding for event in role.seen if isinstance(event, Examined) for finding in event.findings]
        return Report(
            symptoms=(),
            examinations=tuple(dict.fromkeys(finding.examination for finding in found)),
            diagnoses=(Diagnosis(diagnosis.label),) if diagnosis.label else (),
            rationale=(diagnosis.reasoning,) if diagnosis.reasoning else (),
            treatment=() if diagnosis.label else (doctor_sayings(language)["refer"],),
        )

    async def _taken_for(self, role: Doctor) -> TaskAnswer:
        if self._diagnosis is None:
            candidates = () if role.post is None else role.post.candidates
            self._diagnosis = await self._decide(ClinicalTask.DIAGNOSIS, role, candidates)
        return self._diagnosis

    async def _plan(self, ask: Ask[Any], role: Doctor) -> Choice:
        grades: dict[Severity, str] = GRADES[role.presentation.language]
        assert ask.question is not None  # noqa: S101
        answered = await self._decide(ClinicalTask.TREATMENT, role, tuple(grades.values()), diagnosis=ask.question.stem)
        return Choice(next((severity for severity, grade in grades.items() if grade == answered.label), None))

    async def _decide(
        self, task: ClinicalTask, role: Doctor, labels: Sequence[str], *, diagnosis: str = ""
    ) -> TaskAnswer:
        """Answers one of the three tasks; what it may be, where nobody says so, is what it remembers."""
        language, picture = role.presentation.language, role.picture(task, diagnosis=diagnosis)
        mind = role.remembering
        if not labels and mind is not None:
            labels = mind.options(task)
        if not labels:
            return TaskAnswer("")
        question = Question(id=self._case, stem="", options={}, language=language)
        asked = AskedTask(case=self._case, number=0, query=picture, options=tuple(labels))
        put = Put(task, question, asked)
        if mind is None:
            return await RecallDoctor(seed=self._seed).answer(put, NOTHING)
        return await mind.decide(put, seed=self._seed)
