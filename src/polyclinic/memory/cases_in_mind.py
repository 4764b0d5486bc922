"""A memory from which `recall` decides: all of it, so that what is alike can be learnt from it.

Where of some patients only the outcome is known, what is tried is drawn by how patients like this one did after it
(Thompson, Biometrika 25:285, 1933), so that what is better can be found though nobody says what is right.
"""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np

from polyclinic.language.language import Language
from polyclinic.memory.entries import ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.learner import CameToMind, Put, TaskAnswer
from polyclinic.memory.memory import DoctorMemory
from polyclinic.memory.recall import RecallDoctor
from polyclinic.memory.remembering import Recollection
from polyclinic.retrieval.embedders import Embedder
from polyclinic.seeds import derive

_WEIGHED = 100
_SHARPNESS = 6.0
_LEAST = 1e-6

_BEFOREHAND = 4.0
"""How many patients it counts as much as that an answer is as good as what was tried."""

_TRIED: dict[Language, str] = {
    "en": "Of {n} like it, so many did well after {answer}, or too few had it.",
    "zh": "{n}例相似的情况中，{answer}之后好转者较多，或尚少尝试。",
}


class CaseMemory(Recollection):
    """A memory as it is when visits begin, from which `recall` decides as well; see `Recollection`.

    Args:
        memory: what is remembered; must not grow.
        embedder: made its vectors.
    """

    def __init__(self, memory: DoctorMemory, embedder: Embedder, *, records: int, experience: int, source: str) -> None:
        super().__init__(memory, embedder, records=records, experience=experience, source=source)
        self._cases, self._maker = memory, embedder
        self._doctors: dict[int, RecallDoctor] = {}

    def options(self, task: ClinicalTask) -> tuple[str, ...]:
        """Returns among what its last cases had to choose."""
        records, experience = self._cases.records[task].entries, self._cases.experience[task].entries
        last = [one.asked for one in records[-1:]] + [one.asked for one in experience[-1:]]
        return tuple(dict.fromkeys(option for asked in last for option in asked.options))

    async def decide(self, put: Put, *, seed: int) -> TaskAnswer:
        """Answers by cases alone."""
        brought = await self.think(put, seed=seed)
        if any(_came_to_worse(one) for one in _of_experience(brought)):
            return _try(put, brought, derive(seed, put.asked.case, put.task, "try"))
        return await self.doctor(seed).answer(put, brought)

    def doctor(self, seed: int) -> RecallDoctor:
        """Returns the doctor that answers; one for all visits, as it learns what is alike."""
        return self._doctors.setdefault(seed, RecallDoctor(seed=seed))

    async def think(self, put: Put, *, seed: int) -> CameToMind:
        """Returns what comes to its mind."""
        vector = await self._maker.query(put.asked.query)
        records, experience = self.doctor(seed).wanted
        memory = self._cases
        (near,) = memory.recall(put.task, vector[None, :], records=records, experience=experience)
        diagnosed = memory.records[ClinicalTask.DIAGNOSIS], memory.experience[ClinicalTask.DIAGNOSIS]
        return CameToMind(
            memory.records[put.task], near.records, memory.experience[put.task], near.experience, diagnosed
        )


def _of_experience(brought: CameToMind) -> list[Experience]:
    return [brought.experience.entries[place] for place in brought.near_experience.places]


def _came_to_worse(entry: Experience) -> bool:
    """Whether an entry says only that somebody got worse after an answer, and not what would have been right."""
    return not entry.right


def _try(put: Put, brought: CameToMind, rng: random.Random) -> TaskAnswer:
    """Draws of each answer how often patients like this one do well after it, by how they did, and takes the best."""
    records = [brought.records.entries[place] for place in brought.near_records.places]
    entries: list[MedicalRecord | Experience] = [*records, *_of_experience(brought)]
    cosines = np.concatenate([brought.near_records.cosines, brought.near_experience.cosines]).astype(float)
    nearest = np.argsort(-cosines, kind="stable")[:_WEIGHED].tolist()
    weights = np.round(np.maximum(cosines[nearest], 0.0) ** _SHARPNESS, 9)
    weights *= len(nearest) / max(float(weights.sum()), _LEAST)
    well: dict[str, float] = defaultdict(float)
    badly: dict[str, float] = defaultdict(float)
    for place, weight in zip(nearest, weights.tolist(), strict=True):
        entry = entries[place]
        if isinstance(entry, MedicalRecord):
            well[entry.answer] += weight
        else:
            badly[entry.before] += weight
    so_far = sum(well.values()), sum(badly.values())
    usual = (so_far[0] + 1) / (sum(so_far) + 2)
    hoped = {
        label: rng.betavariate(_BEFOREHAND * usual + well[label], _BEFOREHAND * (1 - usual) + badly[label])
        for label in put.labels
    }
    best = max(put.labels, key=lambda label: hoped[label])
    return TaskAnswer(best, _TRIED[put.question.language].format(n=len(nearest), answer=best))
