"""Methods on records: each with its settings and its model, or with the doctors by rules, and then their marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from polyclinic.benchmarks.tor.evaluation import RecordPlay, RecordScores, records, scores
from polyclinic.benchmarks.tor.inpatients import Inpatient
from polyclinic.errors import UserError
from polyclinic.evidence_tree.meeting import Doctors
from polyclinic.judges.explanations import Explained, Rating, rate
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.methods.table import Answering, ChosenMethod, ModelFor, answering
from polyclinic.methods.tree_of_reasoning import tree_of_reasoning
from polyclinic.models.model import Model
from polyclinic.models.scripted import Scripted
from polyclinic.retrieval.retriever import Retriever

RULES = "rules"
"""The name of the doctors by rules, where a model's could stand."""


class RecordsAndMinds(NamedTuple):
    """What all methods are given: the patients, where something can be looked up, and what is drawn.

    `models` gives for the name of what is run the model for each record; `doctors` think where there is no model.
    """

    patients: Sequence[Inpatient]
    knowledge: Knowledge
    models: Callable[[str], ModelFor] | None = None
    doctors: Doctors | None = None
    retriever: Retriever | None = None
    temperature: float | None = None
    seed: int = 0


async def run_on_records(
    ward: RecordsAndMinds, chosen: Sequence[ChosenMethod], *, advance: Callable[[], None] = lambda: None
) -> dict[str, RecordScores]:
    """Puts every record to every method, all at once; calls `advance` after each.

    Raises:
        UserError: a method needs a model, and there is none.
        WrongKey: the endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    players = {one.label: _answering(ward, one) for one in chosen}
    return await records(ward.patients, ward.knowledge, seed=ward.seed).hold(players, advance=advance)


def _answering(ward: RecordsAndMinds, chosen: ChosenMethod) -> Answering:
    if ward.models is None and chosen.name != tree_of_reasoning.__name__:
        raise UserError(f"method {chosen.name!r} needs a model; by rules there is tree_of_reasoning alone")
    nobody = Scripted([], name=RULES)
    return answering(
        chosen,
        (lambda _: nobody) if ward.models is None else ward.models(chosen.label),
        records={patient.id: patient.record for patient in ward.patients},
        retriever=ward.retriever,
        doctors=ward.doctors,
        temperature=ward.temperature,
        seed=ward.seed,
    )


async def with_ratings(
    results: Mapping[str, RecordScores],
    patients: Sequence[Inpatient],
    *,
    judge: Model | None = None,
    people: Mapping[tuple[str, str], Rating] | None = None,
    seed: int = 0,
) -> dict[str, RecordScores]:
    """Returns the results with marks for relevance and completeness: of people where they gave some, else the judge's.

    What a method wrote is its rationale; a record without an answer has none, and no marks.

    Raises:
        UserError: a person's mark is on a record or a method that is not here.
        WrongKey: the judge's endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
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
    if not given:
        return dict(results)

    def rated(name: str, one: RecordPlay) -> RecordPlay:
        return msgspec.structs.replace(one, rating=given.get((one.id, name)))

    return {
        name: scores(name, [rated(name, one) for one in result.chosen], seed=seed) for name, result in results.items()
    }
