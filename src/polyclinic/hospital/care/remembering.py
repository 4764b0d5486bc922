"""The memories of the doctors of a clinic, in the process that computes their visits, and their lessons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.cases.report import Report
from polyclinic.cases.truth import Severity
from polyclinic.errors import UserError
from polyclinic.events import Event, Examined
from polyclinic.hospital.care.setup import LearningSetup, Setup
from polyclinic.hospital.record.episodes import (
    AnsweredTask,
    LearnDone,
    LearnRequest,
    LessonDrawn,
    LessonRequest,
    StudyDone,
)
from polyclinic.knowledge.disease_names.relation import disease_meant
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import MARKS
from polyclinic.memory.entries import GRADES, AskedTask, ClinicalTask, Lesson, examinations_named, name_of_choices
from polyclinic.memory.library import DIMENSIONS, CaseWordsEmbedder
from polyclinic.memory.memory import About, open_memory
from polyclinic.memory.opening import PublishedMemories
from polyclinic.memory.reading import study
from polyclinic.memory.recall import Learner, Put, TaskAnswer
from polyclinic.memory.remembering import Situation, situation_text
from polyclinic.methods.medagent_zero_practice import MedAgentZero
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import Session
from polyclinic.players.mind_names import model_of
from polyclinic.players.recalling import RecallMind
from polyclinic.players.roles.doctor import Doctor


def answered_tasks(
    doctor: Doctor, report: Report, plan: Severity | None, knowledge: Knowledge
) -> tuple[AnsweredTask, ...]:
    """Returns a doctor's first examination, diagnosis and plan, with what was known for each."""
    language, events = doctor.presentation.language, doctor.seen
    named = report.diagnoses[0].name if report.diagnoses else ""
    disease = disease_meant(named, knowledge) if named else None
    diagnosis = named if disease is None else disease.name.get(language)
    reasoning = MARKS[language].blank.join(report.rationale)

    def answer(
        task: ClinicalTask, options: Iterable[str], chosen: str, *, until: int | None = None, after: str = ""
    ) -> AnsweredTask:
        picture = doctor.picture(task, diagnosis=after, until=until)
        return AnsweredTask(task=task, picture=picture, options=tuple(options), answer=chosen, reasoning=reasoning)

    ordered = next((n for n, event in enumerate(events) if _ordered(event, doctor)), None)
    answered = []
    if ordered is not None:
        first = _ordered(events[ordered], doctor)[0]
        answered.append(answer(ClinicalTask.EXAMINATION, examinations_named(knowledge, language), first, until=ordered))
    diseases = (one.name.get(language) for one in knowledge.diseases.values())
    answered.append(answer(ClinicalTask.DIAGNOSIS, diseases, diagnosis))
    if disease is not None and plan is not None:
        grades = GRADES[language]
        answered.append(answer(ClinicalTask.TREATMENT, grades.values(), grades[plan], after=diagnosis))
    return tuple(answered)


def _ordered(event: Event, doctor: Doctor) -> list[str]:
    """Returns the examinations that were done, except free ones."""
    if not isinstance(event, Examined):
        return []
    return [name for name in dict.fromkeys(f.examination for f in event.findings) if name not in doctor.free]


def reflects(mind: str) -> bool:
    """Whether a mind draws lessons from wrong answers; others keep only right ones."""
    return mind == RecallMind.name or model_of(mind) is not None


def check_learns(mind: str) -> None:
    """Checks that a mind can learn."""
    if mind.partition(":")[0] == "scripted":
        raise UserError(f"--doctor {mind} says what its file says and cannot learn; recall, rules or a model can")


def holder_of(setup: LearningSetup, doctor: str, department: str) -> str:
    """Returns the holder of a doctor's memory: the doctor, or the department."""
    return doctor if setup.holder == "doctor" and doctor else department


def about_memories(knowledge: Knowledge, setup: LearningSetup) -> About:
    """Returns the embedder and choices of the memories of a run."""
    choices = name_of_choices(knowledge, setup.language)
    return About(embedder=CaseWordsEmbedder.name, dimensions=DIMENSIONS, knowledge=choices)


@dataclass(frozen=True)
class ClinicMemory:
    """The memories of the doctors of a clinic, and their learning."""

    setup: Setup
    learning: LearningSetup
    knowledge: Knowledge
    memories: PublishedMemories
    session: Session

    async def learn(self, request: LearnRequest) -> LearnDone:
        """Lets a doctor draw a lesson from a wrong answer, with the memory of that visit, or read a passage."""
        ledger, name = Ledger(wanted=request.wanted), model_of(self.setup.doctor)
        done: LearnDone
        if isinstance(request, LessonRequest):
            lesson = await self._reflect(request, name, ledger)
            done = LessonDrawn(key=request.key, principle=lesson.principle, after=lesson.after)
        else:
            assert name is not None  # noqa: S101
            studied = await study(
                request.passage,
                writer=self._model(name, f"{request.key}, writer", ledger=ledger),
                doctor=self._model(name, f"{request.key}, doctor", ledger=ledger),
                language=request.language,
                seed=self.setup.seed,
                day=request.date,
                temperature=self.setup.models.temperature,
            )
            done = StudyDone(studied=studied)
        usage = ledger.total.usage
        calls, tokens = ledger.total.calls, usage.tokens_in + usage.tokens_out
        return msgspec.structs.replace(done, calls=calls, tokens=tokens, cost=usage.cost)

    async def _reflect(self, request: LessonRequest, name: str | None, ledger: Ledger) -> Lesson:
        """Returns the lesson that the doctor, a model of this name, draws; an empty one for none."""
        answered, language = request.answered, request.language
        situation = Situation(answered.task, answered.picture, answered.picture, language)
        question = Question(
            id=request.key,
            stem=situation_text(situation),
            options={option: option for option in answered.options},
            language=language,
        )
        asked = AskedTask(case=request.case, number=0, query=answered.picture, options=answered.options)
        put = Put(answered.task, question, asked, when=f"on day {request.day + 1}")
        memory = self.memories.of(request.holder, request.memory)
        brought = await memory.think(put, seed=self.setup.seed)
        learner: Learner = memory.doctor(self.setup.seed)
        if name is not None:
            learner = MedAgentZero(partial(self._model, name, ledger=ledger), temperature=self.setup.models.temperature)
        wrong = TaskAnswer(answered.answer, answered.reasoning)
        return await learner.learn(put, brought, wrong, request.right) or Lesson("", "")

    def _model(self, name: str, episode: str, *, ledger: Ledger) -> Model:
        return ledger.meter(self.session.model(name, Asker("doctor", episode), repeating=True), "doctor")


@contextmanager
def open_clinic_memory(setup: Setup, knowledge: Knowledge, session: Session) -> Iterator[ClinicMemory | None]:
    """Opens the memories of the doctors of a clinic; None if they have none."""
    learning = setup.learning
    if learning is None:
        yield None
        return
    about = about_memories(knowledge, learning)
    with open_memory(Path(learning.brought), about) if learning.brought else nullcontext() as brought:
        yield ClinicMemory(setup, learning, knowledge, PublishedMemories(about, brought), session)
