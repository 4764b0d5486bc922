"""The right treatment of a drawn patient: the plan of the illness as it is chosen for that very patient."""

from __future__ import annotations

from polyclinic.cases.record import Record
from polyclinic.generation.bodies import DrawnBody
from polyclinic.knowledge.data import Severity
from polyclinic.knowledge.dispensing import hand_out, is_new, told_at_the_counter, with_results
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge, plan_vocabulary
from polyclinic.knowledge.physiology import physiology_of
from polyclinic.knowledge.plan_choice import PlanPatient, chosen
from polyclinic.knowledge.plan_words import MeasureWords
from polyclinic.knowledge.precautions import added_lines
from polyclinic.knowledge.safety import read_cautions
from polyclinic.knowledge.treatment import MOVES_WITH_AGE, as_planned


def treatment_of(
    stratum: tuple[Disease, Severity], record: Record, body: DrawnBody, days: float, knowledge: Knowledge
) -> tuple[str, ...]:
    """Returns what is done for a patient of whom everything is known, in words: one drug of each measure that is due.

    A measure of whose drugs this patient may have none is left out.

    Args:
        stratum: the disease at its severity.
        record: the patient's, with all of its history.
        body: the patient's.
        days: how long it has been ill.
        knowledge: what both were drawn from.
    """
    presentation = record.presentation
    language, cautions, physiology = presentation.language, read_cautions(), physiology_of(knowledge)
    wanted = ("creatinine", "beta_hcg") if presentation.sex == "female" else ("creatinine",)
    results = {item: float(body.shown[item]) for item in wanted if item in body.shown}
    known = with_results(told_at_the_counter(presentation, record.history), presentation, cautions, results)
    measured = {id: body.shown.get(id, value) for id, value in body.values.items()}
    patient = PlanPatient(
        age=presentation.age,
        sex=presentation.sex,
        pregnant=known.pregnant,
        days=days,
        findings={
            **dict.fromkeys(knowledge.symptoms, False),
            **measured,
            **{id: as_planned(id, measured[id], presentation, physiology) for id in MOVES_WITH_AGE & measured.keys()},
            **{s.id: True for s in body.present},
        },
    )
    due = chosen(stratum[0].plan(stratum[1]), patient, knowledge.quantities).due
    handed = hand_out((one.options for one in due), knowledge.drugs, known, presentation, cautions)
    say = MeasureWords(plan_vocabulary(knowledge), language, presentation.age)
    lines = (
        say.done(one.measure, come.given)
        if come.given is None or not come.taken
        else say.beside_taken(
            one.measure, come.given, come.taken, new=is_new(come.given, knowledge.drugs[come.given.drug])
        )
        for one, come in zip(due, handed, strict=True)
        if come.given is not None or not one.options
    )
    items = knowledge.quantities
    added = added_lines(stratum, patient, known, body.measured(), language=language, items=items)
    return (*lines, *added)
