"""`recall`: a doctor by cases alone. It knows no disease; it weighs what came to mind, and guesses where nothing did.

The nearest cases speak for what was right for them, the more the liker they are: a weighted vote of neighbours (Dudani,
IEEE Trans. SMC 6:325, 1976). How like two are is learnt from its own memory, see `polyclinic.memory.likeness`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from polyclinic.language.language import Language
from polyclinic.memory.case_table import NOT_THERE, CaseTable
from polyclinic.memory.entries import ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.learner import CameToMind, Lesson, Put, TaskAnswer
from polyclinic.memory.library import MemoryLibrary
from polyclinic.memory.likeness import LearntLikeness, TurnedOut
from polyclinic.seeds import derive

PRACTICE = "practice"
"""When a patient is put to a learner that it learns from (`Put.when`)."""

NEIGHBOURS = 300

_SHARPNESS = 2.0
"""The power of a cosine."""

_TRUST = {ClinicalTask.EXAMINATION: 1.0, ClinicalTask.DIAGNOSIS: 0.5, ClinicalTask.TREATMENT: 0.5}
"""See `LearntLikeness`: complaints come more by themselves than the results of one examination do."""

_SILENCE = {ClinicalTask.EXAMINATION: 0.5, ClinicalTask.DIAGNOSIS: 0.0, ClinicalTask.TREATMENT: 0.0}
"""See `LearntLikeness`: patients say all that they feel, and what one examination leaves unsaid was not looked for."""

_FOCUS = {ClinicalTask.EXAMINATION: 4.0, ClinicalTask.DIAGNOSIS: 2.0, ClinicalTask.TREATMENT: 1.0}
"""The power of a learnt likeness."""

_LATER = 0.25
"""What it counts beside an examination's own rightness that all after it came out right."""

_DOUBT = 1.0
"""How much the usual weighs beside what came after an examination: as much as one patient just like this one."""

_SURE = 10.0
"""What a principle weighs for the very patient that it was drawn from."""

_ANSWERS = 256
"""So many answers of the practice are kept, for what may be learnt from them."""

_DECIMALS = 9
"""Of a vote; a machine's last bits are not the next one's."""

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
        tries: draws its answers in practice, all evenly, as a trial does: where only what went well is remembered, and
            nobody says what is right, what is done often is remembered often, however bad it is.
    """

    name = "recall"

    def __init__(
        self, *, seed: int, records: int = NEIGHBOURS, experience: int = NEIGHBOURS, tries: bool = False
    ) -> None:
        self._seed, self._tries, self.wanted = seed, tries, (records, experience)
        self._likeness: dict[tuple[object, ...], tuple[LearntLikeness, object, object]] = {}
        self._known: dict[tuple[int, int], tuple[TurnedOut, object, object]] = {}
        self._voted: dict[int, tuple[CameToMind, dict[str, float]]] = {}

    async def answer(self, put: Put, brought: CameToMind) -> TaskAnswer:
        """See `Learner.answer`."""
        votes = self._votes(put, brought)
        if put.when == PRACTICE:
            # It may be asked to learn from this very answer, before anything else is remembered.
            while len(self._voted) >= _ANSWERS:
                del self._voted[next(iter(self._voted))]
            self._voted[id(brought)] = brought, votes
        return self._decide(put, brought, votes)

    async def learn(self, put: Put, brought: CameToMind, answered: TaskAnswer, right: Sequence[str]) -> Lesson | None:
        """Asks itself again with what would have been right as one principle more, which fits this patient fully."""
        _, votes = self._voted.pop(id(brought)) if id(brought) in self._voted else (brought, self._votes(put, brought))
        for label in right:
            votes[label] = votes.get(label, 0.0) + _SURE
        again = self._decide(put, brought, votes)
        if again.label not in right:
            return None
        principle = _PRINCIPLE[put.question.language].format(wrong=answered.label, right=", ".join(right))
        return Lesson(principle, again.label)

    def _decide(self, put: Put, brought: CameToMind, votes: dict[str, float]) -> TaskAnswer:
        language = put.question.language
        possible = {label: votes[label] for label in put.labels if votes.get(label)}
        if self._tries and put.when == PRACTICE:
            drawn = derive(self._seed, put.asked.case, put.task, "try")
            return TaskAnswer(drawn.choice(put.labels), _TRY[language])
        if not possible:
            guess = derive(self._seed, put.asked.case, put.task, "guess").choice(put.labels)
            return TaskAnswer(guess, _GUESS[language])
        n = len(brought.near_records.places) + len(brought.near_experience.places)
        best = max(possible, key=lambda label: round(possible[label], _DECIMALS))
        return TaskAnswer(best, _REASONING[language].format(n=n, answer=best))

    def _votes(self, put: Put, brought: CameToMind) -> dict[str, float]:
        """Returns how many in one of those that came to mind each answer was right for, the most like counting most."""
        records = brought.records if len(brought.near_records.places) else None
        experience = brought.experience if len(brought.near_experience.places) else None
        if records is None and experience is None:
            return {}
        group = put.asked.query.splitlines()[-1] if put.task is ClinicalTask.TREATMENT else ""
        key = (put.task, put.labels, group, id(records), id(experience))
        # The libraries are kept with what was learnt of them, so that no other gets their ids.
        likeness, *_ = self._likeness.setdefault(
            key,
            (
                LearntLikeness(put.labels, group, trust=_TRUST[put.task], silence=_SILENCE[put.task]),
                records,
                experience,
            ),
        )
        likeness.learn(records, experience, self._turned_out(put, brought, records, experience))
        of_this = likeness.kinds(put.asked.query)
        # Of each library its nearest were brought; those of both together are what counts.
        both = brought.near_records, brought.near_experience
        sizes = [near.places.size for near in both]
        every = np.concatenate([near.cosines for near in both]).astype(float)
        counts = np.zeros(len(every), dtype=bool)
        counts[np.argsort(-every, kind="stable")[: max(sizes)]] = True
        cosines, (first, second) = every[counts], np.split(counts, sizes[:1])
        places = both[0].places[first], both[1].places[second]
        said, known = likeness.kinds_of(*places)
        weights = np.maximum(cosines, 0.0) ** _SHARPNESS * (said @ of_this) ** _FOCUS[put.task]
        votes = likeness.fits @ (weights @ known)
        if put.task is ClinicalTask.EXAMINATION:
            votes *= 1 + _LATER * self._later(likeness.cases, places[0], weights[: len(places[0])], len(put.labels))
        return dict(zip(put.labels, votes.tolist(), strict=True))

    def _turned_out(
        self,
        put: Put,
        brought: CameToMind,
        records: MemoryLibrary[MedicalRecord] | None,
        experience: MemoryLibrary[Experience] | None,
    ) -> Mapping[str, str]:
        """Returns what remembered patients turned out to have, where an examination is to be chosen."""
        if put.task is not ClinicalTask.EXAMINATION or brought.diagnosed is None:
            return {}
        of_records = None if records is None else brought.diagnosed[0]
        of_experience = None if experience is None else brought.diagnosed[1]
        key = id(of_records), id(of_experience)
        known, *_ = self._known.setdefault(key, (TurnedOut(), of_records, of_experience))
        known.learn(of_records, of_experience)
        return known.of_case

    def _later(
        self, cases: CaseTable, places: NDArray[np.int64], weights: NDArray[np.float64], labels: int
    ) -> NDArray[np.float64]:
        """Returns of each examination how much, of all there is, was right after it where it was."""
        rows = cases.rows_of(0, places)
        there = rows != NOT_THERE
        rows, weights = rows[there], weights[there]
        answered = cases.answered[rows]
        led = np.bincount(answered, weights * cases.led_to[rows], labels)
        tried = np.bincount(answered, weights, labels)
        usual = led.sum() / max(tried.sum(), 1e-9)
        shares: NDArray[np.float64] = (led + _DOUBT * usual) / (tried + _DOUBT) / 2
        return shares
