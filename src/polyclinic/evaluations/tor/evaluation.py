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
from typing import Any, NamedTuple

import msgspec

from polyclinic.answering.outcome import Outcome, OutcomeEnd
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


class RecordPlay(msgspec.Struct, frozen=True, kw_only=True):
    """One record and what a method made of it."""

    id: str
    key: frozenset[str]
    outcome: Outcome
    evidence: dict[str, Support] = {}  # what the record says to each piece, by its text; empty without trees
    rating: Rating | None = None
    references: tuple[ShownPassage, ...] = ()  # shown with the question; its own look-ups are in the outcome

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
    """How a method did on records; shares are percentages, and precision, recall and F1 pool all options."""

    name: str
    precision: Estimate
    recall: Estimate
    f1: Estimate
    f1_of_a_record: Estimate
    unsupported: Estimate | None  # pieces of evidence that the record does not bear; None without trees
    relevance: Estimate | None  # from 0 to 5, like completeness; None without a judge
    completeness: Estimate | None
    calls: float  # a record, like round trips and unusable replies
    round_trips: float
    unusable: float
    n: int  # records that an endpoint answered, unreadable and broken ones included
    unreadable: int
    broken: int
    failed: int
    judged: int
    unjudged: dict[str, int]  # explanations without marks of the judge, by the name of the failure
    chosen: tuple[RecordPlay, ...]


class RecordsAndMinds(NamedTuple):
    """What all methods of a mind are given.

    `models` returns the model for each record by the method's label; `doctors` think if there is no model. With
    `looking_up` a method that does not look things up itself is shown passages that fit the record.
    """

    patients: Sequence[Inpatient]
    knowledge: Knowledge
    models: Callable[[str], ModelFor] | None = None
    doctors: Doctors | None = None
    looking_up: LookingUp | None = None
    temperature: float | None = None
    seed: int = 0


class RecordEntrant(NamedTuple):
    """A method of a mind; with `is_shown` it is shown the passages that fit the record."""

    mind: str
    label: str
    put: Answering
    is_shown: bool


Results = dict[str, dict[str, RecordScores]]
"""The scores of the methods, by mind and by label."""

Answer = tuple[Outcome, tuple[ShownPassage, ...]]
RecordPlays = Plays[Inpatient, RecordEntrant, Answer, RecordPlay, Results]


def entrants(given: RecordsAndMinds, chosen: Sequence[ChosenMethod], *, mind: str = "") -> list[RecordEntrant]:
    """Returns methods with the model of a mind, or with the doctors by rules."""
    if given.models is None and (unable := [one.name for one in chosen if one.name != tree_of_reasoning.__name__]):
        raise UserError(f"method {unable[0]!r} needs a model; by rules there is tree_of_reasoning alone")
    nobody = Scripted([], name=RULES)
    made = []
    for one in chosen:
        settings, by_itself = dict(one.settings), looks_up_itself(one.named)
        if given.looking_up is not None and by_itself and "passages" in settable(one.named):
            settings.setdefault("passages", given.looking_up.passages)
        put = answering(
            msgspec.structs.replace(one, settings=settings),
            (lambda _: nobody) if given.models is None else given.models(one.label),
            records={patient.id: patient.record for patient in given.patients},
            retriever=None if given.looking_up is None else given.looking_up.retriever,
            doctors=given.doctors,
            temperature=given.temperature,
            seed=given.seed,
        )
        made.append(RecordEntrant(mind, one.label, put, given.looking_up is not None and not by_itself))
    return made


def records(given: RecordsAndMinds) -> RecordPlays:
    """Returns the evaluation: records are put to methods, which do not see the keys; the seed is the bootstrap's."""

    async def of_context(question: Question) -> Question:
        assert given.looking_up is not None  # noqa: S101
        return msgspec.structs.replace(question, references=await given.looking_up.references(question.context))

    look_up = looked_up_once(of_context)

    async def play(patient: Inpatient, entrant: RecordEntrant) -> Answer:
        question = await look_up(patient.question) if entrant.is_shown else patient.question
        return await entrant.put(question), question.references

    async def score(patient: Inpatient, _: RecordEntrant, played: Answer) -> RecordPlay:
        marked = choose_marks(patient, played[0], given.knowledge)
        return msgspec.structs.replace(marked, references=played[1])

    async def summarise(plays: Mapping[str, Sequence[Play[Any, RecordEntrant, Any, RecordPlay]]]) -> Results:
        results: Results = {}
        for theirs in filter(None, plays.values()):
            entrant = theirs[0].player
            summed = scores(entrant.label, [one.scored for one in theirs], seed=given.seed)
            results.setdefault(entrant.mind, {})[entrant.label] = summed
        return results

    return Plays(
        items=given.patients,
        play=play,
        score=score,
        summarise=summarise,
        at_once=QUESTIONS_AT_ONCE,
    )


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
    precision, recall, f1 = shares(answered, seed=seed)

    def mean_mark(name: str) -> Estimate | None:
        marks = [mark for one in rated if (mark := getattr(one, name)) is not None]
        return estimate(marks, seed=seed) if marks else None

    def a_record(numbers: Iterable[float]) -> float:
        return fmean([*numbers] or [0])

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
        relevance=mean_mark("relevance"),
        completeness=mean_mark("completeness"),
        calls=a_record(one.outcome.calls for one in answered),
        round_trips=a_record(one.outcome.round_trips for one in answered),
        unusable=a_record(sum(call.unusable for call in one.outcome.trace) for one in answered),
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


def check_ratings(given: Iterable[tuple[str, str]], cases: Collection[str], methods: Collection[str]) -> None:
    """Refuses people's marks on a record or a method that is not here."""
    for case, method in given:
        if case not in cases:
            raise UserError(f"there are marks on case {case!r}, which is none of the {len(cases)} cases")
        if method not in methods:
            raise UserError(f"there are marks on method {method!r}, which is none of the {', '.join(methods)}")


async def with_ratings(
    results: Mapping[str, RecordScores],
    patients: Sequence[Inpatient],
    *,
    judge: Model | None = None,
    people: Mapping[tuple[str, str], Rating] | None = None,
    seed: int = 0,
) -> dict[str, RecordScores]:
    """Returns the results with marks for relevance and completeness: of people where they gave some, else the judge's.

    What a method wrote is its rationale. A record that was answered with nothing that can be read has none: 0 and 0,
    where the judge was asked, or people marked another method on it, so that no method gains by silence.
    """
    given, cases = dict(people or {}), {patient.id: patient.case for patient in patients}
    marked = {case for case, _ in given}
    if judge is not None:
        asked = [
            Explained(cases[one.id], name, one.outcome.rationale)
            for name, result in results.items()
            for one in result.chosen
            if one.outcome.answers and (one.id, name) not in given
        ]
        marks = await rate(asked, judge)
        given |= {(one.case.id, one.method): mark for one, mark in zip(asked, marks, strict=True)}
        marked = set(cases)
    if not marked:
        return dict(results)

    def rated(name: str, one: RecordPlay) -> RecordPlay:
        silent = not one.failed and not one.outcome.answers and one.id in marked
        nothing = Rating(relevance=0.0, completeness=0.0) if silent else None
        return msgspec.structs.replace(one, rating=given.get((one.id, name), nothing))

    return {
        name: scores(name, [rated(name, one) for one in result.chosen], seed=seed) for name, result in results.items()
    }
