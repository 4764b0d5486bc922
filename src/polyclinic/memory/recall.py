"""`recall`: a doctor by cases alone. It knows no disease; it weighs what came to mind, and guesses where nothing did.

A record speaks for its answer, a principle for all that would have been right, each with its likeness to a power: a
kernel-weighted vote of neighbours (Dudani, IEEE Trans. SMC 6:325, 1976).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from polyclinic.language.language import Language
from polyclinic.memory.entries import ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.learner import CameToMind, Lesson, Put, TaskAnswer
from polyclinic.seeds import derive

PRACTICE = "practice"
"""When a patient is put to a learner that it learns from (`Put.when`)."""

NEIGHBOURS = 300
_WEIGHED = {ClinicalTask.DIAGNOSIS: 100, ClinicalTask.TREATMENT: 150}
_SHARPNESS = 6.0
_SURE = 10.0
"""What a principle weighs for the very patient that it was drawn from."""

_LATER = 0.25
"""What each task that came out right after an examination counts beside the examination's own rightness."""

_HOPED = 1 + _LATER * 1.5
"""What is expected of an examination that would have been right, or was never tried."""

_DOUBT = 0.03
"""How much that expectation weighs beside what is known: a thirtieth of a patient just like this one."""

_UNTRIED = 0.02
"""What each answer weighs besides, where answers are tried: as much as a patient that is hardly like this one."""

_PRINCIPLE: dict[Language, str] = {
    "en": "With this picture it was not {wrong}; right would have been: {right}.",
    "zh": "此类表现并非{wrong}；正确的是：{right}。",
}
_REASONING: dict[Language, str] = {
    "en": "{n} like it came to mind; most speak for {answer}.",
    "zh": "想起{n}例相似的情况，多数支持{answer}。",
}
_TRY: dict[Language, str] = {"en": "Tried, to see what comes of it.", "zh": "试用，以观后效。"}
_GUESS: dict[Language, str] = {"en": "Nothing like it came to mind; a guess.", "zh": "没有想起相似的情况，只是猜测。"}


class RecallDoctor:
    """Answers by what came to mind; see the module.

    Args:
        seed: of its guesses.
        records, experience: how many of each it wants to think of.
        tries: draws its answer in practice, each as often as is spoken for it, so that what is better can be found
            where nobody says what is right (Roth and Erev, Games Econ. Behav. 8:164, 1995).
    """

    name = "recall"

    def __init__(
        self, *, seed: int, records: int = NEIGHBOURS, experience: int = NEIGHBOURS, tries: bool = False
    ) -> None:
        self._seed, self._tries, self.wanted = seed, tries, (records, experience)

    async def answer(self, put: Put, brought: CameToMind) -> TaskAnswer:
        """See `Learner.answer`."""
        return self._decide(put, brought, _votes(put, brought, self._most(put)))

    async def learn(self, put: Put, brought: CameToMind, answered: TaskAnswer, right: Sequence[str]) -> Lesson | None:
        """Asks itself again with what would have been right as one principle more, which fits this patient fully."""
        votes = _votes(put, brought, self._most(put))
        for label in right:
            votes[label] = votes.get(label, 0.0) + _SURE
        again = self._decide(put, brought, votes)
        if again.label not in right:
            return None
        principle = _PRINCIPLE[put.question.language].format(wrong=answered.label, right=", ".join(right))
        return Lesson(principle, again.label)

    def _most(self, put: Put) -> int:
        """Returns how many are weighed: of those that were wanted, fewer where details decide."""
        return min(max(self.wanted), _WEIGHED.get(put.task, max(self.wanted)))

    def _decide(self, put: Put, brought: CameToMind, votes: dict[str, float]) -> TaskAnswer:
        language = put.question.language
        possible = {label: votes[label] for label in put.labels if votes.get(label)}
        if not possible:
            guess = derive(self._seed, put.asked.case, put.task, "guess").choice(put.labels)
            return TaskAnswer(guess, _GUESS[language])
        if self._tries and put.when == PRACTICE:
            drawn = derive(self._seed, put.asked.case, put.task, "try")
            tried = drawn.choices(put.labels, [votes.get(label, 0.0) + _UNTRIED for label in put.labels])[0]
            return TaskAnswer(tried, _TRY[language])
        n = min(len(brought.near_records.places) + len(brought.near_experience.places), self._most(put))
        best = max(possible, key=lambda label: possible[label])
        return TaskAnswer(best, _REASONING[language].format(n=n, answer=best))


def _thought_of(brought: CameToMind, most: int) -> Iterator[tuple[MedicalRecord | Experience, float]]:
    """Yields the nearest, records and principles together, each with its weight."""
    near = np.concatenate([brought.near_records.cosines, brought.near_experience.cosines])
    weights = (np.maximum(near, 0.0).astype(float) ** _SHARPNESS).tolist()
    first = len(brought.near_records.places)
    for place in np.argsort(-near, kind="stable")[:most].tolist():
        if place < first:
            yield brought.records.entries[brought.near_records.places[place]], weights[place]
        else:
            yield brought.experience.entries[brought.near_experience.places[place - first]], weights[place]


def _votes(put: Put, brought: CameToMind, most: int) -> dict[str, float]:
    """Returns what the nearest speak for."""
    votes: dict[str, float] = defaultdict(float)
    if put.task is ClinicalTask.EXAMINATION:
        return _worth(put, brought, most)
    for entry, weight in _thought_of(brought, most):
        for label in (entry.answer,) if isinstance(entry, MedicalRecord) else entry.right:
            votes[label] += weight
    return votes


def _worth(put: Put, brought: CameToMind, most: int) -> dict[str, float]:
    """Returns of each examination what it is worth: how often it was right, and what was right after it.

    Several are right for one patient, so that of those not chosen a record says nothing; what one would have led to
    that was not done is hoped for.
    """
    worth: dict[str, float] = defaultdict(float)
    known: dict[str, float] = defaultdict(float)
    for entry, weight in _thought_of(brought, most):
        if isinstance(entry, MedicalRecord):
            worth[entry.answer] += weight * (1 + _LATER * len(entry.led_to))
            known[entry.answer] += weight
        else:
            for label in put.labels:
                worth[label] += weight * _HOPED * (label in entry.right)
                known[label] += weight
    # Where mistakes leave no trace, what was never right was perhaps never tried, or perhaps always wrong.
    hoped = _DOUBT * _HOPED if len(brought.near_experience.places) else 0.0
    return {label: (worth[label] + hoped) / (known[label] + _DOUBT) for label in put.labels} if known else worth
