"""Methods on whole records, as Tree-of-Reasoning's Table 1: precision, recall, F1, and what bears the diagnoses.

Records do not depend on one another and run at once. Shares are pooled over the options of all records, as in the
paper; beside them stands the mean F1 of a record. A record that no endpoint answered is failed, and outside of
everything; one that was answered without an answer that can be read (refused and cut off among them) is unreadable, and
chooses nothing, which costs recall. A mistake of a user's own method is broken, and chooses nothing either.

Of a method that writes trees every piece of evidence is held against the record, whoever wrote it and when: what is not
borne by it is unsupported, and an invention that was dropped again counts too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import msgspec

from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.presentation import ShownPassage
from polyclinic.evaluations.evaluation import Play, Plays
from polyclinic.evaluations.tor.inpatients import Inpatient
from polyclinic.evidence_tree.meeting import Remark
from polyclinic.evidence_tree.support import Support, Supporter
from polyclinic.evidence_tree.tree import EvidenceTree
from polyclinic.judging.explanations import Rating
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.methods.table import Answering
from polyclinic.methods.tree_of_reasoning import MeetingOutcome
from polyclinic.statistics.uncertainty import Estimate, estimate, ratio

AT_ONCE = 1024  # What has not begun can still be stopped; what is in flight is the model's limit to say.


class RecordPlay(msgspec.Struct, frozen=True, kw_only=True):
    """One record and what a method made of it.

    Attributes:
        evidence: what the record says to each piece of evidence, by its text; empty where no tree was written.
        rating: relevance and completeness; None without a judge.
        references: what the method was shown with the question; what it looked up by itself stands in its outcome.
    """

    id: str
    key: frozenset[str]
    outcome: Outcome
    evidence: dict[str, Support] = {}
    rating: Rating | None = None
    references: tuple[ShownPassage, ...] = ()

    @property
    def failed(self) -> bool:
        """No endpoint answered."""
        return self.outcome.end is OutcomeEnd.FAILED

    @property
    def broken(self) -> bool:
        """A method of the user's made a mistake."""
        return self.outcome.end is OutcomeEnd.BROKEN

    @property
    def unreadable(self) -> bool:
        """It was answered, and without an answer that can be read."""
        return not self.outcome.answers and not self.failed and not self.broken

    @property
    def unusable(self) -> int:
        """How many replies could not be used, whether the record was answered in spite of them or not."""
        return sum(call.unusable for call in self.outcome.trace)

    @property
    def f1(self) -> float:
        """F1 of the record by itself, from 0 to 1."""
        both = len(self.outcome.answers) + len(self.key)
        return 2 * self.right / both if both else 0.0

    @property
    def right(self) -> int:
        """How many of the options chosen hold."""
        return len(self.outcome.answers & self.key)

    @property
    def unsupported(self) -> int:
        """How many pieces of evidence the record does not bear."""
        return sum(one.status != "supported" for one in self.evidence.values())


class RecordScores(msgspec.Struct, frozen=True, kw_only=True):
    """How a method did on records.

    Attributes:
        precision, recall, f1: pooled over all options, in percent.
        f1_of_a_record: mean over the records, in percent.
        unsupported: share of the pieces of evidence that the record does not bear, in percent; None without trees.
        relevance, completeness: from 0 to 5; None without a judge.
        calls, round_trips: a record.
        unusable: replies that the method could not use, a record; most methods go on without one.
        n: records that an endpoint answered; the unreadable and the broken are among them, the failed are not.
        judged: of those that were put to a judge or marked by people, how many have marks.
        unjudged: by the name of the failure, how many a judge was asked about and has no marks of.
    """

    name: str
    precision: Estimate
    recall: Estimate
    f1: Estimate
    f1_of_a_record: Estimate
    unsupported: Estimate | None
    relevance: Estimate | None
    completeness: Estimate | None
    calls: float
    round_trips: float
    unusable: float
    n: int
    unreadable: int
    broken: int
    failed: int
    judged: int
    unjudged: dict[str, int]
    chosen: tuple[RecordPlay, ...]


RecordBenchmark = Plays[Inpatient, Answering, Outcome, RecordPlay, dict[str, "RecordScores"]]


def records(
    patients: Sequence[Inpatient], knowledge: Knowledge, *, seed: int = 0, at_once: int = AT_ONCE
) -> RecordBenchmark:
    """Returns the evaluation: records are put to methods, which do not see the keys; the seed is the bootstrap's."""

    async def put(patient: Inpatient, method: Answering) -> Outcome:
        return await method(patient.question)

    async def mark(patient: Inpatient, _: Answering, outcome: Outcome) -> RecordPlay:
        return choose_marks(patient, outcome, knowledge)

    async def summarise(plays: Mapping[str, Sequence[Play[Any, Any, Any, RecordPlay]]]) -> dict[str, RecordScores]:
        return {name: scores(name, [play.scored for play in theirs], seed=seed) for name, theirs in plays.items()}

    return Plays(items=patients, play=put, score=mark, summarise=summarise, at_once=at_once, sums_up_parts=True)


def choose_marks(patient: Inpatient, outcome: Outcome, knowledge: Knowledge) -> RecordPlay:
    """Returns what a method made of a record beside what holds, its evidence looked up."""
    evidence = {}
    if isinstance(outcome, MeetingOutcome):
        supporter = Supporter(patient.record, knowledge)
        trees = [one.opinion for one in outcome.log if not isinstance(one, Remark)]
        leaves = [leaf for tree in trees if isinstance(tree, EvidenceTree) for leaf in tree.leaves()]
        evidence = {leaf.evidence: supporter.support(leaf.evidence) for leaf in leaves}
    return RecordPlay(id=patient.id, key=patient.key, outcome=outcome, evidence=evidence)


def scores(name: str, chosen: Sequence[RecordPlay], *, seed: int = 0) -> RecordScores:
    """Sums up what a method made of the records."""
    answered = [one for one in chosen if not one.failed]
    borne = [one for one in answered if one.evidence]
    rated = [one.rating for one in answered if one.rating is not None]
    relevance = [one.relevance for one in rated if one.relevance is not None]
    completeness = [one.completeness for one in rated if one.completeness is not None]
    precision, recall, f1 = shares(answered, seed=seed)
    return RecordScores(
        name=name,
        precision=precision,
        recall=recall,
        f1=f1,
        f1_of_a_record=estimate([100.0 * one.f1 for one in answered], seed=seed),
        unsupported=ratio(
            [100.0 * one.unsupported for one in borne], [float(len(one.evidence)) for one in borne], seed=seed
        )
        if borne
        else None,
        relevance=estimate(relevance, seed=seed) if relevance else None,
        completeness=estimate(completeness, seed=seed) if completeness else None,
        calls=fmean([one.outcome.calls for one in answered] or [0]),
        round_trips=fmean([one.outcome.round_trips for one in answered] or [0]),
        unusable=fmean([one.unusable for one in answered] or [0]),
        n=len(answered),
        unreadable=sum(one.unreadable for one in answered),
        broken=sum(one.broken for one in answered),
        failed=len(chosen) - len(answered),
        judged=sum(one.relevance is not None for one in rated if one.raters),
        unjudged=dict(Counter(one.error for one in rated if one.error)),
        chosen=tuple(chosen),
    )


def shares(
    answered: Iterable[RecordPlay], *, among: Mapping[str, Collection[str]] | None = None, seed: int = 0
) -> tuple[Estimate, Estimate, Estimate]:
    """Returns precision, recall and F1, pooled, in percent; `among` keeps some keys of each record, by its id."""
    right, given, wanted = [], [], []
    for one in answered:
        keys = one.outcome.answers | one.key
        kept = keys if among is None else keys & frozenset(among.get(one.id, ()))
        right.append(float(len(one.outcome.answers & one.key & kept)))
        given.append(float(len(one.outcome.answers & kept)))
        wanted.append(float(len(one.key & kept)))
    percent = [100 * number for number in right]
    both = [a + b for a, b in zip(given, wanted, strict=True)]
    return (
        ratio(percent, given, seed=seed),
        ratio(percent, wanted, seed=seed),
        ratio([2 * number for number in percent], both, seed=seed),
    )
