"""What is sent to a model in a run of each protocol, in English and in Chinese, kept word for word.

A run is a function of a language and a model; `RUNS` names it, and the rows of `audit/NAME.yaml` are about it. Its
model says whatever the schema allows, always the same, so that a run needs no script. It returns what nobody who plays
may be told (truth, keys).
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec
import numpy as np

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Finding, History, Opening, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.evaluations.aie.distractors import with_made_questions
from polyclinic.evaluations.aie.evaluation import LIMITS
from polyclinic.evaluations.aie.tracking import with_states
from polyclinic.judging.director import ModelJudge
from polyclinic.judging.disease_names import extract_diseases
from polyclinic.judging.pairs import judge_pairs
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience
from polyclinic.memory.library import MemoryLibrary
from polyclinic.memory.recall import CameToMind, Put, TaskAnswer
from polyclinic.methods.medagent_zero_practice import MedAgentZero
from polyclinic.methods.medagents import medagents
from polyclinic.methods.tree_of_reasoning import tree_of_reasoning
from polyclinic.models.answers import Completion
from polyclinic.models.provider import Provider
from polyclinic.players.language_model.personas import persona_by_model
from polyclinic.players.minds import Minds
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.roles.patient import Patient
from polyclinic.players.staging import AI_HOSPITAL, Staging
from polyclinic.seeds import derive
from polyclinic.testing.instances import instance
from polyclinic.visits.team import confer
from polyclinic.visits.visit import see


class Sent(NamedTuple):
    """One call: what it was for, what was told as a system, what besides, and the form of the answer."""

    purpose: str
    system: str
    user: str
    form: str

    @property
    def text(self) -> str:
        return f"{self.system}\n\n{self.user}"


class Listening(Provider):
    """A model that says what the schema allows, or `text`, and keeps what it was sent.

    `given` is said in place of that to a purpose that begins so.
    """

    name, repairs = "direct/listening", 0

    def __init__(self, given=None, text="Nothing more."):
        self.sent: list[Sent] = []
        self.given, self._text = dict(given or {}), text

    async def complete(self, said, form, options):
        purpose, system = options.get("purpose", ""), next((text for who, text in said if who == "system"), "")
        user = "\n\n".join(text for who, text in said if who != "system")
        self.sent.append(Sent(purpose, system, user, "" if form is None else form.text))
        for start, answer in self.given.items():
            if purpose.startswith(start):
                return Completion(answer if isinstance(answer, str) else msgspec.json.encode(answer).decode())
        if form is None:
            return Completion(self._text)
        made = instance(msgspec.json.decode(form.text), derive(0, purpose))
        return Completion(msgspec.json.encode(made).decode())


QUESTIONS = {
    "en": Question(
        id="q", stem="Which valve is affected?", context="A woman of 34 has a rumbling diastolic murmur.",
        options={"A": "Aortic valve", "B": "Mitral valve"},
    ),
    "zh": Question(
        id="q", stem="受累的是哪个瓣膜？", context="女，34岁，舒张期隆隆样杂音。",
        options={"A": "主动脉瓣", "B": "二尖瓣"}, language="zh",
    ),
}  # fmt: skip

RECORDS = {
    "en": Record(
        presentation=Presentation(complaint="Hoarse for two months", age=70, sex="male"),
        findings=(
            Finding(examination="blood test", item="hemoglobin", value=98.0, unit="g/L"),
            Finding(examination="CT", value="thickening of the left vocal cord of 9 mm"),
            Finding(examination="pathology", value="keratosis with severe dysplasia"),
        ),
    ),
    "zh": Record(
        presentation=Presentation(complaint="声嘶两个月", age=70, sex="male", language="zh"),
        findings=(
            Finding(examination="血液检查", item="血红蛋白", value=98.0, unit="克"),
            Finding(examination="磁共振检查", value="左声带增厚"),
            Finding(examination="病理检查", value="重度异型增生"),
        ),
    ),
}

LABELS = ("influenza", "common cold")
TASKS = {
    "en": Question(id="c", stem="Which disease?", context="a high fever", options=dict(zip("AB", LABELS, strict=True))),
    "zh": Question(
        id="c", stem="是哪种病？", context="高热", options=dict(zip("AB", LABELS, strict=True)), language="zh"
    ),
}


async def _medagents(language, model):
    await medagents(QUESTIONS[language], model, question_experts=2, option_experts=1, max_rounds=1, votes="separate")
    await medagents(QUESTIONS[language], model, question_experts=1, option_experts=1, max_rounds=1)


async def _tor(language, model, **settings):
    question = msgspec.structs.replace(QUESTIONS[language], several=True)
    paper = {"form": "printed", "update_from": "first", "targets": "random"}
    await tree_of_reasoning(question, model, record=RECORDS[language], rounds=1, turns=1, **(settings or paper))


async def _tor_ours(language, model):
    await _tor(language, model, form="typed")


async def _agent_hospital(language, model):
    question = TASKS[language]
    asked = AskedTask(case="c", number=1, query=question.context, options=LABELS)
    put = Put(ClinicalTask.DIAGNOSIS, question, asked, "practice")
    records, experience = MemoryLibrary(2), MemoryLibrary(2)
    other = AskedTask(case="c0", number=1, query="of another patient", options=LABELS)
    experience.add(
        Experience(asked=other, before="x", after="y", right=("y",), principle="Look twice."), np.array([1, 0], "f4")
    )
    came = CameToMind(*(library.nearest(np.array([1, 0], "f4"), 1) for library in (records, experience)))
    doctor = MedAgentZero(lambda _: model)
    await doctor.answer(put, came)
    await doctor.learn(put, came, TaskAnswer("influenza", "So."), LABELS)


VIGNETTES = {
    "en": "A woman of 34 coughs and has no fever. She bakes bread. Which is it?",
    "zh": "女，34岁，咳嗽，无发热。从事面包师工作。是哪种病？",
}
ONLINE = {
    language: Case(
        id="c",
        record=Record(
            presentation=Presentation(complaint=complaint, age=34, sex="female", language=language),
            history=History(present=VIGNETTES[language].rsplit(" " if language == "en" else "。", 1)[0]),
            opening=Opening(said=complaint),
            vignette=VIGNETTES[language],
        ),
        truth=Truth(diagnoses=(Diagnosis("Bordetella infection"),), answers=("A",)),
        setting="online",
        question=Question(id="c", stem=stem, options={"A": a, "B": b}, language=language),
    )
    for language, complaint, stem, a, b in (
        ("en", "I cough.", "Which is it?", "whooping cough", "a cold"),
        ("zh", "我咳嗽。", "是哪种病？", "百日咳", "感冒"),
    )
}


async def _aie(language, model, staging=None):
    """Two doctors see an online patient whose tracker is asked everything at once; a judge compares them."""
    paper = Staging(online=True, greets=True, dialogue_alone=True, concludes=False, whole=True)
    case, visits = ONLINE[language], {}
    for doctor in ("direct/a", "direct/b"):
        minds = Minds(
            doctor=doctor,
            patient="saps-parallel:direct/p",
            knowledge=read_knowledge(),
            seed=0,
            models=dict.fromkeys((doctor, "direct/p"), model),
        )
        visits[doctor] = [
            await see(case, minds, max_turns=LIMITS[language] - 1, put_question=True, staging=staging or paper)
        ]
    await judge_pairs(visits, model, cases=[case], seed=0)
    await with_made_questions([msgspec.structs.replace(case, question=None)], model, read_knowledge(), seed=0)
    return ("Bordetella infection",)


async def _aie_ours(language, model):
    """The same with a doctor that thinks first, and with a patient that is a plain model and tracked afterwards."""
    await _aie(language, model, Staging(thinks=True))
    case = ONLINE[language]
    minds = Minds(doctor="rules", patient="direct/p", knowledge=read_knowledge(), seed=0, models={"direct/p": model})
    await with_states(case, await see(case, minds, max_turns=2, put_question=True), minds)
    return ("Bordetella infection",)


async def _mvme(language, model):
    chinese = language == "zh"
    presentation = Presentation(
        complaint="咳嗽一周" if chinese else "cough for a week", age=50, sex="male", language=language
    )
    shown = Finding(
        examination="胸部X线" if chinese else "chest X-ray", value="右侧阴影" if chinese else "a shadow on the right"
    )
    secret = "军团菌病" if chinese else "legionellosis"
    reported = "心电图示窦性心律。" if chinese else "The ECG showed sinus rhythm."
    record = Record(presentation=presentation, history=History(present=reported), findings=(shown,))
    truth = Truth(diagnoses=(Diagnosis(secret),), rationale=("antigen",), treatment=("levofloxacin",))
    case = Case(id="c", record=record, truth=truth)
    mind = "direct/listening"
    minds = Minds(
        doctor=mind, patient=mind, examiner=mind, director=mind,
        knowledge=read_knowledge(), seed=1, models={mind: model},
    )  # fmt: skip
    model.given["speak"] = {"say": "请做胸部X线。" if chinese else "Please have a chest X-ray."}
    visit = await see(case, minds, staging=AI_HOSPITAL, max_turns=2)
    assert visit.report is not None
    team = await confer(case, [minds, minds], staging=AI_HOSPITAL, max_turns=1, max_rounds=1)
    assert team.report is not None
    await ModelJudge(model).grade(case, visit.report)
    await extract_diseases([secret], model)
    await persona_by_model(Patient(ScriptedMind([]), record), model, derive(0, "persona"))
    return (secret, "levofloxacin")


RUNS: dict[str, Callable[[str, Listening], Awaitable[tuple[str, ...] | None]]] = {
    "medagents": _medagents,
    "tor": _tor,
    "tor-ours": _tor_ours,
    "agent-hospital": _agent_hospital,
    "aie": _aie,
    "aie-ours": _aie_ours,
    "mvme": _mvme,
}
"""By the name of the file of rows."""

TRACKED = {
    "kind": "inquiry",
    "specific": "specific",
    "relevant": {"analysis": "", "relevant": True, "texts": ["no fever", "无发热"]},
}
PRINTED = "Reasoning pathway\n  A disease\n    Analysis: So.\n      Evidence 1: a finding\n"
GIVEN = {
    "medagents": {"vote 1, expert 2": "no"},
    "tor": dict.fromkeys(("outpatient reads", "laboratory reads", "radiology reads", "pathology reads"), PRINTED),
    "tor-ours": {"outpatient speaks": {"reason": "So.", "to": ["laboratory"]}},
    "agent-hospital": {"helpful": {"numbers": [1]}},
    "aie": TRACKED,
    "aie-ours": TRACKED | {"speak": {"thought": "", "say": "Since when? 多久了？", "conclude": False}},
    "mvme": {
        "reply": {"say": "I need a chest X-ray. 我要做胸部X线。", "to": "examiner", "leave": False},
        "read request": {"numbers": [1]},
        "merge": {"symptoms": ["cough"], "examinations": [], "ask_patient": [], "ask_examiner": []},
        "dispute": {"analysis": "-", "points": ["one"]},
    },
}
"""What the model of a run says to some purposes."""

SLOW = {"tor", "tor-ours", "aie", "aie-ours", "mvme"}
"""Runs that read the medical knowledge first."""
