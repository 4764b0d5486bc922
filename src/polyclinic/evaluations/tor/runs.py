"""Methods on records: each with its settings and its model, or with the doctors by rules, and then their marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec

from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question, ShownPassage
from polyclinic.errors import UserError
from polyclinic.evaluations.evaluation import Elsewhere
from polyclinic.evaluations.tor.evaluation import AT_ONCE, RecordPlay, RecordScores, records, scores
from polyclinic.evaluations.tor.inpatients import Inpatient
from polyclinic.evidence_tree.meeting import Doctors
from polyclinic.judging.explanations import Explained, Rating, rate
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.methods.table import Answering, ChosenMethod, ModelFor, answering, looks_up_itself, settable
from polyclinic.methods.tree_of_reasoning import tree_of_reasoning
from polyclinic.models.model import Model
from polyclinic.models.scripted import Scripted
from polyclinic.retrieval.retriever import LookingUp

TREE = tree_of_reasoning.__name__
RULES = "rules"
"""The name of the doctors by rules, where a model's could stand."""


class RecordsAndMinds(NamedTuple):
    """What all methods are given: the patients, where something can be looked up, and what is drawn.

    `models` gives for the name of what is run the model for each record; `doctors` think where there is no model. With
    `looking_up` every method is shown passages: one that looks things up by itself those that it asks for, and every
    other those that fit the record, looked up once.
    """

    patients: Sequence[Inpatient]
    knowledge: Knowledge
    models: Callable[[str], ModelFor] | None = None
    doctors: Doctors | None = None
    looking_up: LookingUp | None = None
    temperature: float | None = None
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class MethodsOnRecords:
    """Methods on records, for one mind; see `run_on_records`."""

    ward: RecordsAndMinds
    chosen: Sequence[ChosenMethod]
    at_once: int = AT_ONCE
    _references: dict[str, tuple[ShownPassage, ...]] = field(default_factory=dict, init=False)
    _players: dict[str, Answering] = field(default_factory=dict, init=False)

    async def hold(
        self, *, advance: Callable[[], None] = lambda: None, elsewhere: Elsewhere | None = None
    ) -> dict[str, RecordScores]:
        """Puts every record to every method, all at once; calls `advance` after each."""
        ward = self.ward
        if ward.models is None and (unable := [one.name for one in self.chosen if one.name != TREE]):
            raise UserError(f"method {unable[0]!r} needs a model; by rules there is tree_of_reasoning alone")
        plays = records(ward.patients, ward.knowledge, seed=ward.seed, at_once=self.at_once)
        players: dict[str, Any] = dict.fromkeys(one.label for one in self.chosen)  # `compute` finds the method
        return await replace(plays, players=players).hold(advance=advance, elsewhere=elsewhere or self.compute)

    async def compute(self, item: tuple[str, int]) -> tuple[Outcome, RecordPlay]:
        """Puts a record, by its number, to a method, by its label; returns the outcome and its marks."""
        label, number = item
        ward, patient = self.ward, self.ward.patients[number]
        method = next(one for one in self.chosen if one.label == label)
        is_shown = ward.looking_up is not None and not looks_up_itself(method.named)
        if is_shown and ward.looking_up is not None and patient.id not in self._references:
            self._references[patient.id] = await ward.looking_up.references(patient.question.context)
        if label not in self._players:
            self._players[label] = _answering(ward, method, self._references if is_shown else None)
        plays = replace(records([patient], ward.knowledge, seed=ward.seed), players={label: self._players[label]})
        outcome, play = await plays.compute((label, 0))
        references = self._references.get(patient.id, ()) if is_shown else ()
        return outcome, msgspec.structs.replace(play, references=references)


async def run_on_records(
    ward: RecordsAndMinds, chosen: Sequence[ChosenMethod], *, advance: Callable[[], None] = lambda: None
) -> dict[str, RecordScores]:
    """Puts every record to every method, all at once; calls `advance` after each.

    Raises:
        UserError: a method needs a model, and there is none.
        WrongKey: the endpoint wants another key.
        StoppedEarly: the run has cost what it may cost, or somebody stopped it; holds what is over by then.
    """
    return await MethodsOnRecords(ward=ward, chosen=chosen).hold(advance=advance)


def _answering(
    ward: RecordsAndMinds, chosen: ChosenMethod, references: Mapping[str, tuple[ShownPassage, ...]] | None
) -> Answering:
    nobody = Scripted([], name=RULES)
    settings: dict[str, Any] = dict(chosen.settings)
    if ward.looking_up is not None and looks_up_itself(chosen.named) and "passages" in settable(chosen.named):
        settings.setdefault("passages", ward.looking_up.passages)
    put = answering(
        msgspec.structs.replace(chosen, settings=settings),
        (lambda _: nobody) if ward.models is None else ward.models(chosen.label),
        records={patient.id: patient.record for patient in ward.patients},
        retriever=None if ward.looking_up is None else ward.looking_up.retriever,
        doctors=ward.doctors,
        temperature=ward.temperature,
        seed=ward.seed,
    )

    if references is None:
        return put

    async def shown(question: Question) -> Outcome:
        return await put(msgspec.structs.replace(question, references=references[question.id]))

    return shown


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

    Raises:
        UserError: a person's mark is on a record or a method that is not here.
        WrongKey: the judge's endpoint wants another key.
        RunStopped: the run has cost what it may cost, or somebody stopped it.
    """
    given, cases = dict(people or {}), {patient.id: patient.case for patient in patients}
    for case, method in given:
        if case not in cases or method not in results:
            known = f"{len(cases)} cases" if case not in cases else ", ".join(results)
            what = f"case {case!r}" if case not in cases else f"method {method!r}"
            raise UserError(f"there are marks on {what}, which is none of the {known}")
    asked = [
        Explained(cases[one.id], name, one.outcome.rationale)
        for name, result in results.items()
        for one in result.chosen
        if one.outcome.answers and (one.id, name) not in given
    ]
    if judge is not None:
        marks = await rate(asked, judge)
        given |= {(one.case.id, one.method): mark for one, mark in zip(asked, marks, strict=True)}
    if not given and judge is None:
        return dict(results)
    marked = cases.keys() if judge is not None else {case for case, _ in given}

    def rated(name: str, one: RecordPlay) -> RecordPlay:
        silent = not one.failed and not one.outcome.answers and one.id in marked
        nothing = Rating(relevance=0.0, completeness=0.0) if silent else None
        return msgspec.structs.replace(one, rating=given.get((one.id, name), nothing))

    return {
        name: scores(name, [rated(name, one) for one in result.chosen], seed=seed) for name, result in results.items()
    }
