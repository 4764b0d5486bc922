"""What is sent to a model in a run of each protocol, in English and in Chinese, kept word for word.

A run is a function of a language and a model; `RUNS` names it, and the rows of `audit/NAME.yaml` are about it. Its
model says whatever the schema allows, always the same, so that a run needs no script. It returns what nobody who plays
may be told (truth, keys).
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec
import numpy as np

from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Finding, Record
from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience
from polyclinic.memory.learner import CameToMind, Put, TaskAnswer
from polyclinic.memory.library import MemoryLibrary
from polyclinic.methods.medagent_zero_practice import MedAgentZero
from polyclinic.methods.medagents import medagents
from polyclinic.methods.tree_of_reasoning import tree_of_reasoning
from polyclinic.models.answers import Completion
from polyclinic.models.door import Door
from polyclinic.seeds import derive
from polyclinic.testing.instances import instance


class Sent(NamedTuple):
    """One call: what it was for, what was told as a system, what besides, and the form of the answer."""

    purpose: str
    system: str
    user: str
    form: str

    @property
    def text(self) -> str:
        return f"{self.system}\n\n{self.user}"


class Listening(Door):
    """A model that says what the schema allows, or `text`, and keeps what it was sent.

    `given` is said in place of that to a purpose that begins so.
    """

    name, repairs = "direct/listening", 0

    def __init__(self, given=None, text="Nothing more."):
        self.sent: list[Sent] = []
        self._given, self._text = given or {}, text

    async def complete(self, said, form, options):
        purpose, system = options.get("purpose", ""), next((text for who, text in said if who == "system"), "")
        user = "\n\n".join(text for who, text in said if who != "system")
        self.sent.append(Sent(purpose, system, user, "" if form is None else form.text))
        for start, answer in self._given.items():
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


async def _tor(language, model):
    question = msgspec.structs.replace(QUESTIONS[language], several=True)
    await tree_of_reasoning(question, model, record=RECORDS[language], rounds=1, turns=1)


async def _agent_hospital(language, model):
    question = TASKS[language]
    asked = AskedTask(case="c", number=1, query=question.context, options=LABELS)
    put = Put(ClinicalTask.DIAGNOSIS, question, LABELS, asked, "practice")
    records, experience = MemoryLibrary(2), MemoryLibrary(2)
    other = AskedTask(case="c0", number=1, query="of another patient", options=LABELS)
    experience.add(
        Experience(asked=other, before="x", after="y", right=("y",), principle="Look twice."), np.array([1, 0], "f4")
    )
    near = [library.nearest(np.array([[1, 0]], "f4"), 1)[0] for library in (records, experience)]
    doctor = MedAgentZero("direct/listening", lambda _: model)
    await doctor.answer(put, CameToMind(records, near[0], experience, near[1]))
    await doctor.learn(put, CameToMind(records, near[0], experience, near[1]), TaskAnswer("influenza", "So."), LABELS)


RUNS: dict[str, Callable[[str, Listening], Awaitable[tuple[str, ...] | None]]] = {
    "medagents": _medagents,
    "tor": _tor,
    "agent-hospital": _agent_hospital,
}
"""By the name of the file of rows."""

GIVEN = {
    "medagents": {"vote 1, expert 2": "no"},
    "tor": {"outpatient speaks": {"reason": "So.", "to": ["laboratory"]}},
    "agent-hospital": {"helpful": {"numbers": [1]}},
}
"""What the model of a run says to some purposes."""

SLOW = {"tor"}
"""Runs that read the medical knowledge first."""
