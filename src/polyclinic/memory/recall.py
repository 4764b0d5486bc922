"""`recall`: a doctor who knows only cases, and no disease. It weighs recalled cases, and guesses if there are none.

The nearest cases vote for what was right for them, weighted by likeness: a weighted vote of neighbours (Dudani, IEEE
Trans. SMC 6:325, 1976). The likeness of two cases is learnt from its own memory: a statement is worth what the patients
it was said of turned out to need; "feverish" and "a temperature" are alike if the same was right after both. This is
memory-based reasoning's measure of values (Stanfill and Waltz, CACM 29:1213, 1986). Statements that no remembered
patient made count for nothing.

Two cases are of one kind if they turned out to be the same disease or, if that is not known, if the same answers were
right. After a wrong answer all right answers are known; after a right answer alone, the case may be of any kind for
which that answer is right, in proportion to what its statements say.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polyclinic.cases.presentation import Question
from polyclinic.language.word_lists import WordLists
from polyclinic.memory.entries import AskedTask, ClinicalTask, Entry, Experience, Lesson, MedicalRecord
from polyclinic.memory.library import Found, MemoryLibrary, with_room
from polyclinic.seeds import derive

Numbers = NDArray[np.signedinteger[Any]]
Shares = NDArray[np.float64]

NOT_THERE = -1
KIND, RIGHT, ANSWERED, LED_TO = range(4)
"""What is known of a case: its kind, the one label that was right, the label answered, the later tasks done rightly."""

_SMOOTH = 3.0  # cases of the usual kinds that are assumed for each statement
_LEAST = 1e-12  # a kind without any evidence is still possible
_SURELY = 0.98  # maximum frequency of a statement in a kind: a missing statement never rules a kind out
_GUIDED = 32  # cases that are added before the worth of statements is computed again
_DOUBT = 1.0  # weight of the usual outcome of an answer: that of one patient just like this one
_KEPT = 1 << 20  # maximum number of shares that are cached until something new is learnt

_Places = Sequence[int] | NDArray[np.int64]
Records = MemoryLibrary[MedicalRecord] | None
Experiences = MemoryLibrary[Experience] | None  # None if they are not used


class TurnedOut:
    """The disease of each remembered patient, by the records and the experience of diagnoses."""

    def __init__(self, records: Records, experience: Experiences) -> None:
        self.of_case: dict[str, str] = {}
        self._libraries = records, experience
        self._learnt = [0, 0]

    def learn(self) -> dict[str, str]:
        """Adds the new entries of the libraries, and returns all of it."""
        for which, library in enumerate(self._libraries):
            entries: Sequence[Entry] = () if library is None else library.entries[self._learnt[which] :]
            for entry in entries:
                right = [entry.answer] if isinstance(entry, MedicalRecord) else sorted(entry.right)
                self.of_case[entry.asked.case] = " / ".join(right)
            self._learnt[which] += len(entries)
        return self.of_case


class LearntLikeness:
    """The worth of statements for one task, learnt as its libraries grow.

    Args:
        records, experience: the libraries.
        labels: what could be answered.
        group: the last statement of the cases that count; "" for all.
        trust: weight of a statement, below 1 as the statements of a patient depend on one another.
        silence: weight of a missing statement, relative to its weight if statements were independent.
    """

    def __init__(
        self,
        records: Records,
        experience: Experiences,
        labels: Sequence[str],
        group: str = "",
        *,
        trust: float = 1.0,
        silence: float = 0.0,
    ) -> None:
        self._libraries, self._trust, self._silence = (records, experience), trust, silence
        self._labels = {label: place for place, label in enumerate(labels)}
        self._group = group
        self._numbers: dict[str, int] = {}
        self._kinds: dict[str | frozenset[str], int] = {}
        # A row for each statement, from 1; row 0 is no statement, which has no worth.
        self._counts = np.zeros((256, 0))
        # The row of each entry of the records and of the experience, from 1, with 0 for a case of another group; of
        # each case the numbers of its statements, from 1, with 0 for none; and what is known of it.
        self._row_of = [np.zeros(256, dtype=np.int32), np.zeros(256, dtype=np.int32)]
        self._learnt = [0, 0]
        self._statements: Numbers = np.zeros((256, 8), dtype=np.int32)
        self._facts: Numbers = np.zeros((256, 4), dtype=np.int32)
        self._n = self._added = self._looked_at = 0
        self._worth: tuple[Shares, Shares] | None = None
        self._every: tuple[Shares, Shares] | None = None
        self._guide: tuple[Shares, Shares] | None = None
        self._right = np.zeros((2, len(labels), 0))
        """How often each label, a row, was right for each kind, of how often that is known."""
        self.usual: Shares = np.zeros(0)
        """How many cases are of each kind."""

    @property
    def fits(self) -> Shares:
        """For what part of the cases of each kind each label, a row, is right."""
        right, known = self._right
        shares: Shares = right / np.maximum(known, 1.0)
        return shares

    def learn(self, turned_out: Mapping[str, str]) -> None:
        """Adds the new entries of the libraries."""
        new: list[tuple[int, int, int, Entry]] = []
        for which, library in enumerate(self._libraries):
            first = self._learnt[which]
            entries: Sequence[Entry] = () if library is None else library.entries[first:]
            new += [(entry.asked.number, which, place, entry) for place, entry in enumerate(entries, first)]
            self._learnt[which] += len(entries)
            self._row_of[which] = with_room(self._row_of[which], self._learnt[which])
        # In the order of the patients, so that the result does not depend on when it is called.
        for _, which, place, entry in sorted(new, key=lambda one: one[:3]):
            if entry.asked.query.endswith(self._group):
                self._take_in(which, place, entry, turned_out.get(entry.asked.case))
            self._added += 1

    def kinds(self, query: str) -> Shares:
        """Returns the probability of each kind for a patient with these statements."""
        numbers = [self._numbers[one] for one in query.splitlines() if one in self._numbers]
        worth, silent = self._scores()
        return self._shares(worth[numbers].sum(axis=0) + silent)

    def kinds_of(self, records: _Places, experience: _Places) -> tuple[Shares, Shares]:
        """Returns the probabilities for entries, records before experience: by statements, and with their answers.

        Both are 0 for a case of another group.
        """
        rows = self.rows_of(records, experience)
        there = np.flatnonzero(rows != NOT_THERE)
        shares = self._of(rows if len(there) == len(rows) else rows[there])
        if len(there) == len(rows):
            return shares
        whole = np.zeros((2, len(rows), len(self._kinds)))
        whole[:, there] = shares
        return whole[0], whole[1]

    def rows_of(self, records: _Places, experience: _Places) -> Numbers:
        """Returns the rows of entries among the cases, `NOT_THERE` for a case of another group."""
        both = zip(self._row_of, (records, experience), strict=True)
        rows: Numbers = np.concatenate([row_of[places] for row_of, places in both]) - 1
        return rows

    def later(self, records: _Places, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns for each label the share of later tasks that were done rightly after it."""
        rows = self.rows_of(records, [])
        there = rows != NOT_THERE
        facts, weights = self._facts[rows[there]], weights[there]
        led = np.bincount(facts[:, ANSWERED], weights * facts[:, LED_TO], len(self._labels))
        tried = np.bincount(facts[:, ANSWERED], weights, len(self._labels))
        usual = led.sum() / max(tried.sum(), 1e-9)
        shares: NDArray[np.float64] = (led + _DOUBT * usual) / (tried + _DOUBT) / 2
        return shares

    def _of(self, rows: Numbers) -> tuple[Shares, Shares]:
        """Returns the probabilities of each kind for cases, by row: by their statements, and with their answers."""
        if self._every is None:
            # If there are many queries and nothing new, all cases are computed at once and cached.
            self._looked_at += len(rows)
            if self._looked_at <= self._n or self._n * len(self._kinds) > _KEPT:
                return self._worked_out(rows)
            self._every = self._worked_out(np.arange(self._n, dtype=np.int32))
        said, known = self._every
        return said.take(rows, axis=0), known.take(rows, axis=0)

    def _worked_out(self, rows: Numbers) -> tuple[Shares, Shares]:
        worth, silent = self._scores()
        added = np.zeros((len(rows), len(self._kinds)))
        # One statement of all cases at a time, to save memory.
        for numbers in self._statements.take(rows, axis=0).T:
            added += worth.take(numbers, axis=0)
        said = self._shares(added + silent)
        facts = self._facts[rows]
        return said, self._known(said, facts[:, KIND], facts[:, RIGHT])

    def _take_in(self, which: int, place: int, entry: Entry, turned_out: str | None) -> None:
        """Adds a case, unless it is of another group or no label was right for it."""
        right = {entry.answer} if isinstance(entry, MedicalRecord) else set(entry.right)
        statements = list(dict.fromkeys(entry.asked.query.splitlines() or [""]))
        if not right & self._labels.keys() or (self._group and statements[-1] != self._group):
            return
        numbers = np.array([self._numbers.setdefault(one, len(self._numbers) + 1) for one in statements], dtype=np.intp)
        self._counts = with_room(self._counts, len(self._numbers) + 1)
        kind, label, answered, led_to = NOT_THERE, NOT_THERE, NOT_THERE, 0
        if isinstance(entry, MedicalRecord):
            label = answered = self._labels[entry.answer]
            led_to = len(entry.led_to)
        if entry.judged_by == "outcome":
            # A recovery does not show that the answer was right: it speaks for the answer only.
            turned_out, label = None, NOT_THERE
        if turned_out is not None or label < 0 or not self._right[0, label].any():
            kind = self._kind(turned_out or frozenset(right))
            for one in self._labels.values() if label < 0 else (label,):
                self._right[1, one, kind] += 1
            for name in right & self._labels.keys():
                self._right[0, self._labels[name], kind] += 1
        share = self._share(numbers, kind, label)
        self._counts[numbers] += share
        self.usual += share
        self._worth, self._every, self._looked_at = None, None, 0
        self._statements = with_room(with_room(self._statements, self._n + 1), len(numbers), 1)
        self._statements[self._n, : len(numbers)] = numbers
        self._facts = with_room(self._facts, self._n + 1)
        self._facts[self._n] = kind, label, answered, led_to
        self._n += 1
        self._row_of[which][place] = self._n

    def _share(self, numbers: NDArray[np.intp], kind: int, label: int) -> Shares:
        """Returns the share of a new case in each kind; their sum is 1."""
        fitting = [kind] if kind >= 0 else np.flatnonzero(self._right[0, label])
        share = np.zeros(len(self._kinds))
        if len(fitting) == 1:
            share[fitting] = 1.0
            return share
        # The worth of statements is not computed for each case, nor does it depend on queries in between.
        if self._guide is None or self._guide[0].shape[1] != len(self._kinds) or self._added % _GUIDED == 0:
            self._guide = self._scores()
        worth, silent = self._guide
        said = self._shares(worth[numbers[numbers < len(worth)]].sum(axis=0) + silent)[fitting] + _LEAST
        share[fitting] = said / said.sum()
        return share

    def _kind(self, name: str | frozenset[str]) -> int:
        place = self._kinds.setdefault(name, len(self._kinds))
        if place == self._right.shape[2]:
            self._right = np.concatenate([self._right, np.zeros((2, len(self._labels), 1))], axis=2)
            self._counts = np.concatenate([self._counts, np.zeros((len(self._counts), 1))], axis=1)
            self.usual = np.append(self.usual, 0.0)
            self._worth = None
        return place

    def _known(self, said: Shares, kinds: Numbers, labels: Numbers) -> Shares:
        """Returns the probability of each kind for each case, given its right answers."""
        every = np.concatenate([np.eye(len(self._kinds)), self._right[0] > 0])
        possible = (said + _LEAST) * every.take(np.where(kinds >= 0, kinds, len(self._kinds) + labels), axis=0)
        shares: Shares = possible / possible.sum(axis=1, keepdims=True)
        return shares

    def _scores(self) -> tuple[Shares, Shares]:
        """Returns the log-likelihood ratio of each statement for each kind, and that of no statement."""
        if self._worth is None:
            usual = (self.usual + 1) / (self.usual + 1).sum()
            counts = self._counts[: len(self._numbers) + 1]
            shares = (counts + _SMOOTH * usual) / (counts.sum(axis=1, keepdims=True) + _SMOOTH)
            worth = np.log(shares / usual)
            worth[0], silent = 0.0, np.zeros(len(usual))
            if self._silence:
                unsaid = self._silence * np.log1p(-np.minimum(counts / (self.usual + 2), _SURELY))
                worth -= unsaid
                silent = unsaid.sum(axis=0)
            self._worth = worth, silent
        return self._worth

    def _shares(self, scores: Shares) -> Shares:
        whole = self._trust * scores + np.log(self.usual + 1)
        # With few kinds and many cases, comparing kind by kind is faster.
        most = np.ascontiguousarray(whole.T).max(axis=0, initial=-np.inf)
        shares: Shares = np.exp(whole - most[..., None])
        shares /= shares.sum(axis=-1, keepdims=True)
        return shares


class Put(NamedTuple):
    """A task as it is put to a learner."""

    task: ClinicalTask
    question: Question
    asked: AskedTask
    when: str = ""  # the moment of the practice; the same question may be put at many

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the options in a memory, in their order; the grade of a plan, else its text."""
        return self.asked.options


class CameToMind(NamedTuple):
    """The records and experience that came to mind for a task.

    Attributes:
        diagnosed: the records and the experience of diagnoses, from which the disease of each remembered patient is
            known; None if they are not.
    """

    records: Found[MedicalRecord]
    experience: Found[Experience]
    diagnosed: tuple[MemoryLibrary[MedicalRecord], MemoryLibrary[Experience]] | None = None


NOTHING = CameToMind(MemoryLibrary(0).nearest(np.zeros(0, "f4"), 0), MemoryLibrary(0).nearest(np.zeros(0, "f4"), 0))
"""The case of an empty memory."""


class TaskAnswer(NamedTuple):
    """An answer: a label, "" for none, and the reasoning."""

    label: str
    reasoning: str = ""


class Learner(Protocol):
    """A doctor who answers with a memory, and draws lessons from wrong answers."""

    async def answer(self, put: Put, brought: CameToMind) -> TaskAnswer:
        """Answers; without a label if the answer cannot be used. An EndpointError ends the practice for now."""

    async def learn(self, put: Put, brought: CameToMind, answered: TaskAnswer, right: Sequence[str]) -> Lesson | None:
        """Draws a lesson from a wrong answer and the right ones; None if the retest fails."""


PRACTICE = "practice"  # `Put.when` of patients to learn from

NEIGHBOURS = 300

_SHARPNESS = 2.0  # power of a cosine

_TRUST = {ClinicalTask.EXAMINATION: 1.0, ClinicalTask.DIAGNOSIS: 0.5, ClinicalTask.TREATMENT: 0.5}
"""See `LearntLikeness`: complaints depend less on one another than the results of one examination."""

_SILENCE = {ClinicalTask.EXAMINATION: 0.5, ClinicalTask.DIAGNOSIS: 0.0, ClinicalTask.TREATMENT: 0.0}
"""See `LearntLikeness`: patients report all complaints, but one examination does not look for everything."""

_FOCUS = {ClinicalTask.EXAMINATION: 4.0, ClinicalTask.DIAGNOSIS: 2.0, ClinicalTask.TREATMENT: 1.0}
"""The power of a learnt likeness."""

_LATER = 0.25  # weight of the later tasks of an examination, relative to its own result
_SURE = 10.0  # weight of a principle for the patient from whom it was drawn
_ANSWERS = 256  # answers of the practice whose votes are kept for lessons
_DECIMALS = 9  # of a vote; its last bits depend on the machine

_sayings = WordLists(Path(__file__).with_name("words")).section("recall", dict[str, str])


class RecallDoctor:
    """Answers by recalled cases; see the module.

    Args:
        seed: of its guesses.
        tries: draws its answers in practice, all evenly, as a trial does: where only what went well is remembered, and
            nobody says what is right, what is done often is remembered often, however bad it is.
    """

    def __init__(self, *, seed: int, tries: bool = False) -> None:
        self._seed, self._tries = seed, tries
        # These refer to their libraries, so that no other library gets the same id.
        self._likeness: dict[tuple[object, ...], LearntLikeness] = {}
        self._known: dict[tuple[int, int], TurnedOut] = {}
        self._voted: dict[int, tuple[CameToMind, dict[str, float]]] = {}

    async def answer(self, put: Put, brought: CameToMind) -> TaskAnswer:
        """See `Learner.answer`."""
        votes = self._votes(put, brought)
        if put.when == PRACTICE:
            # It may have to learn from this answer before anything else is remembered.
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
        principle = _sayings(put.question.language)["principle"].format(wrong=answered.label, right=", ".join(right))
        return Lesson(principle, again.label)

    def _decide(self, put: Put, brought: CameToMind, votes: dict[str, float]) -> TaskAnswer:
        say = _sayings(put.question.language)
        possible = {label: votes[label] for label in put.labels if votes.get(label)}
        if self._tries and put.when == PRACTICE:
            drawn = derive(self._seed, put.asked.case, put.task, "try")
            return TaskAnswer(drawn.choice(put.labels), say["try"])
        if not possible:
            guess = derive(self._seed, put.asked.case, put.task, "guess").choice(put.labels)
            return TaskAnswer(guess, say["guess"])
        n = len(brought.records.places) + len(brought.experience.places)
        best = max(possible, key=lambda label: round(possible[label], _DECIMALS))
        return TaskAnswer(best, say["reasoning"].format(n=n, answer=best))

    def _votes(self, put: Put, brought: CameToMind) -> dict[str, float]:
        """Returns how many in one of those that came to mind each answer was right for, the most like counting most."""
        both = brought.records, brought.experience
        records = both[0].library if len(both[0].places) else None
        experience = both[1].library if len(both[1].places) else None
        if records is None and experience is None:
            return {}
        group = put.asked.query.splitlines()[-1] if put.task is ClinicalTask.TREATMENT else ""
        key = (put.task, put.labels, group, id(records), id(experience))
        if key not in self._likeness:
            self._likeness[key] = LearntLikeness(
                records, experience, put.labels, group, trust=_TRUST[put.task], silence=_SILENCE[put.task]
            )
        likeness, turned_out = self._likeness[key], dict[str, str]()
        if put.task is ClinicalTask.EXAMINATION and brought.diagnosed is not None:
            of = (
                (None if records is None else brought.diagnosed[0]),
                (None if experience is None else brought.diagnosed[1]),
            )
            turned_out = self._known.setdefault((id(of[0]), id(of[1])), TurnedOut(*of)).learn()
        likeness.learn(turned_out)
        of_this = likeness.kinds(put.asked.query)
        # Each library brought its nearest entries; the nearest of both together count.
        sizes = [found.places.size for found in both]
        every = np.concatenate([found.cosines for found in both]).astype(float)
        counts = np.zeros(len(every), dtype=bool)
        counts[np.argsort(-every, kind="stable")[: max(sizes)]] = True
        cosines, (first, second) = every[counts], np.split(counts, sizes[:1])
        places = both[0].places[first], both[1].places[second]
        said, known = likeness.kinds_of(*places)
        weights = np.maximum(cosines, 0.0) ** _SHARPNESS * (said @ of_this) ** _FOCUS[put.task]
        votes = likeness.fits @ (weights @ known)
        if put.task is ClinicalTask.EXAMINATION:
            votes *= 1 + _LATER * likeness.later(places[0], weights[: len(places[0])])
        return dict(zip(put.labels, votes.tolist(), strict=True))


_WEIGHED = 100
_STEEPNESS = 6.0
_LEAST_WEIGHT = 1e-6

_BEFOREHAND = 4.0  # weight, in patients, of the prior that an answer is as good as those tried


def try_out(put: Put, brought: CameToMind, rng: random.Random) -> TaskAnswer:
    """Draws the success rate of each answer for patients like this one, and takes the best answer.

    This is for patients of whom only the outcome is known (Thompson, Biometrika 25:285, 1933).
    """
    pairs: list[tuple[Entry, float]] = [*brought.records.pairs, *brought.experience.pairs]
    nearest = sorted(pairs, key=lambda pair: -pair[1])[:_WEIGHED]
    weights = np.round(np.maximum([cosine for _, cosine in nearest], 0.0) ** _STEEPNESS, 9)
    weights *= len(nearest) / max(float(weights.sum()), _LEAST_WEIGHT)
    well: dict[str, float] = defaultdict(float)
    badly: dict[str, float] = defaultdict(float)
    for (entry, _), weight in zip(nearest, weights.tolist(), strict=True):
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
    return TaskAnswer(best, _sayings(put.question.language)["tried"].format(n=len(nearest), answer=best))
