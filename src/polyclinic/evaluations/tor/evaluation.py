"""Methods on whole records, as Tree-of-Reasoning's Table 1: precision, recall, F1, and the evidence of the diagnoses.

Records are independent and run at once. Shares are pooled over the options of all records, as in the paper; the mean F1
of a record is reported, too. A record that no endpoint answered is failed, and outside of everything; an unreadable
answer (a refusal or a cut-off one included) and a mistake of a user's own method choose nothing, which costs recall.

Every piece of evidence in a tree is compared with the record, including pieces that were dropped later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import msgspec

from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question, ShownPassage
from polyclinic.errors import UserError
from polyclinic.evaluations.evaluation import QUESTIONS_AT_ONCE, Play, Plays
from polyclinic.evaluations.tor.inpatients import Inpatient
from polyclinic.evidence_tree.meeting import Doctors, Remark
from polyclinic.evidence_tree.support import Support, Supporter
from polyclinic.evidence_tree.tree import EvidenceTree
from polyclinic.judging.explanations import Explained, Rating, rate
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.methods.table import Answering, ChosenMethod, ModelFor, answering, looks_up_itself, settable
from polyclinic.methods.tree_of_reasoning import MeetingOutcome, tree_of_reasoning
from polyclinic.models.model import Model
from polyclinic.models.scripted import Scripted
from polyclinic.retrieval.retriever import LookingUp, looked_up_once
from polyclinic.statistics.uncertainty import Estimate, estimate, ratio

RULES = "rules"
"""The name of the doctors by rules, in place of a model's."""

MARKS = ("relevance", "completeness")
"""What explanations are given, from 0 to 5."""


class RecordPlay(msgspec.Struct, frozen=True, kw_only=True):
    """One record and what a method made of it."""

    id: str
    key: frozenset[str]
    outcome: Outcome
    evidence: dict[str, Support] = {}  # what the record says to each piece, by its text; empty without trees
    rating: Rating | None = None
    references: tuple[ShownPassage, ...] = ()  # shown with the question; its own look-ups are in the outcome

    @property
    def unsupported(self) -> int:
        """How many pieces of evidence the record does not bear."""
        return sum(one.status != "supported" for one in self.evidence.values())

    @property
    def values(self) -> dict[str, float]:
        """Precision, recall and F1 of the record by itself, in percent, and the marks of its explanation."""
        chosen, right = self.outcome.answers, len(self.outcome.answers & self.key)
        values = {"f1_of_a_record": 100.0 * (2 * right / max(len(chosen) + len(self.key), 1))}
        values["recall_of_a_record"] = 100.0 * right / max(len(self.key), 1)
        if chosen:
            values["precision_of_a_record"] = 100.0 * right / len(chosen)
        marks = {name: getattr(self.rating, name, None) for name in MARKS}
        return values | {name: float(mark) for name, mark in marks.items() if mark is not None}


class RecordScores(msgspec.Struct, frozen=True, kw_only=True):
    """How a method did on records; shares are percentages, and precision, recall and F1 pool all options.

    Attributes:
        unsupported: pieces of evidence that the record does not bear; over nothing without trees.
        relevance, completeness: marks from 0 to 5; over nothing if nobody marked.
        calls, round_trips, unusable: a record; `unusable` are replies that could not be used.
        n: records that an endpoint answered, unreadable and broken ones included.
        unjudged: explanations without marks of the judge, by the name of the failure.
    """

    name: str
    precision: Estimate
    recall: Estimate
    f1: Estimate
    f1_of_a_record: Estimate
    unsupported: Estimate
    relevance: Estimate
    completeness: Estimate
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


class RecordEntrant(NamedTuple):
    """A method of a mind; with `is_shown` it is shown the passages that fit the record."""

    mind: str
    label: str
    put: Answering
    is_shown: bool


Results = dict[str, dict[str, RecordScores]]
"""The scores of the methods, by mind and by label."""

Answer = tuple[Outcome, tuple[ShownPassage, ...]]


def entrants(
    chosen: Sequence[ChosenMethod],
    patients: Sequence[Inpatient],
    *,
    mind: str = "",
    models: Callable[[str], ModelFor] | None = None,
    doctors: Doctors | None = None,
    looking_up: LookingUp | None = None,
    temperature: float | None = None,
    seed: int = 0,
) -> list[RecordEntrant]:
    """Returns methods with the model of a mind by the method's label, or with `doctors` who think by rules."""
    if models is None and (unable := [one.name for one in chosen if one.name != tree_of_reasoning.__name__]):
        raise UserError(f"method {unable[0]!r} needs a model; by rules there is tree_of_reasoning alone")
    nobody = Scripted([], name=RULES)
    made = []
    for one in chosen:
        settings, by_itself = dict(one.settings), looks_up_itself(one.named)
        if looking_up is not None and by_itself and "passages" in settable(one.named):
            settings.setdefault("passages", looking_up.passages)
        put = answering(
            msgspec.structs.replace(one, settings=settings),
            (lambda _: nobody) if models is None else models(one.label),
            records={patient.id: patient.record for patient in patients},
            retriever=None if looking_up is None else looking_up.retriever,
            doctors=doctors,
            temperature=temperature,
            seed=seed,
        )
        made.append(RecordEntrant(mind, one.label, put, looking_up is not None and not by_itself))
    return made


def records(
    patients: Sequence[Inpatient],
    knowledge: Knowledge,
    *,
    looking_up: LookingUp | None = None,
    judge: Model | None = None,
    seed: int = 0,
) -> Plays[Inpatient, RecordEntrant, Answer, RecordPlay, Results]:
    """Returns the evaluation: records are put to methods, which do not see the keys; the seed is the bootstrap's."""

    async def of_context(question: Question) -> Question:
        assert looking_up is not None  # noqa: S101
        return msgspec.structs.replace(question, references=await looking_up.references(question.context))

    look_up = looked_up_once(of_context)

    async def play(patient: Inpatient, entrant: RecordEntrant) -> Answer:
        question = await look_up(patient.question) if entrant.is_shown else patient.question
        return await entrant.put(question), question.references

    async def score(patient: Inpatient, _: RecordEntrant, played: Answer) -> RecordPlay:
        return with_support(patient, played[0], knowledge, references=played[1])

    async def summarise(plays: Mapping[str, Sequence[Play[Inpatient, RecordEntrant, Answer, RecordPlay]]]) -> Results:
        by_mind: dict[str, dict[str, list[RecordPlay]]] = {}
        for theirs in filter(None, plays.values()):
            entrant = theirs[0].player
            by_mind.setdefault(entrant.mind, {})[entrant.label] = [one.scored for one in theirs]
        results: Results = {}
        for mind, methods in by_mind.items():
            rated = methods if judge is None else await with_ratings(methods, patients, judge)
            results[mind] = {label: scores(label, some, seed=seed) for label, some in rated.items()}
        return results

    return Plays(items=patients, play=play, score=score, summarise=summarise, at_once=QUESTIONS_AT_ONCE)


def with_support(
    patient: Inpatient, outcome: Outcome, knowledge: Knowledge, *, references: tuple[ShownPassage, ...] = ()
) -> RecordPlay:
    """Returns what a method made of a record beside what holds, its evidence looked up."""
    evidence = {}
    if isinstance(outcome, MeetingOutcome):
        supporter = Supporter(patient.record, knowledge)
        trees = [one.opinion for one in outcome.log if not isinstance(one, Remark)]
        leaves = [leaf for tree in trees if isinstance(tree, EvidenceTree) for leaf in tree.leaves()]
        evidence = {leaf.evidence: supporter.support(leaf.evidence) for leaf in leaves}
    return RecordPlay(id=patient.id, key=patient.key, outcome=outcome, evidence=evidence, references=references)


def scores(name: str, chosen: Sequence[RecordPlay], *, seed: int = 0) -> RecordScores:
    """Sums up what a method made of the records."""
    answered = [one for one in chosen if not one.outcome.failed]
    borne = [one for one in answered if one.evidence]
    values = [one.values for one in answered]
    judged = [one.rating for one in answered if one.rating is not None]
    precision, recall, f1 = shares(answered, seed=seed)
    means = {
        measure: estimate([one[measure] for one in values if measure in one], seed=seed)
        for measure in ("f1_of_a_record", *MARKS)
    }
    return RecordScores(
        name=name,
        precision=precision,
        recall=recall,
        f1=f1,
        **means,
        unsupported=ratio(
            [100.0 * one.unsupported for one in borne], [float(len(one.evidence)) for one in borne], seed=seed
        ),
        calls=fmean([one.outcome.calls for one in answered] or [0]),
        round_trips=fmean([one.outcome.round_trips for one in answered] or [0]),
        unusable=fmean([sum(call.unusable for call in one.outcome.trace) for one in answered] or [0]),
        n=len(answered),
        unreadable=sum(one.outcome.unreadable for one in answered),
        broken=sum(one.outcome.broken for one in answered),
        failed=len(chosen) - len(answered),
        judged=sum(one.relevance is not None for one in judged if one.raters),
        unjudged=dict(Counter(one.error for one in judged if one.error)),
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


async def with_ratings(
    methods: Mapping[str, Sequence[RecordPlay]], patients: Sequence[Inpatient], judge: Model
) -> dict[str, list[RecordPlay]]:
    """Returns plays with the judge's marks for relevance and completeness.

    What a method wrote is its rationale. A record that was answered with nothing that can be read has none: 0 and 0, so
    that no method gains by silence.
    """
    cases = {patient.id: patient.case for patient in patients}
    asked = [
        Explained(cases[one.id], name, one.outcome.rationale)
        for name, plays in methods.items()
        for one in plays
        if one.outcome.answers
    ]
    marks = await rate(asked, judge)
    given = {(one.case.id, one.method): mark for one, mark in zip(asked, marks, strict=True)}
    nothing = Rating(relevance=0.0, completeness=0.0)
    return {
        name: [
            one if one.outcome.failed else msgspec.structs.replace(one, rating=given.get((one.id, name), nothing))
            for one in plays
        ]
        for name, plays in methods.items()
    }
