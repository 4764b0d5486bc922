"""Treatments of drawn patients in the hospital: nothing against a caution, nothing before its examination."""

import asyncio
import random

import msgspec
import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.generation.draw import generate
from polyclinic.hospital.care.clinic import at_counter
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.disease_body import meets
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.safety import Known, objection, told_at_the_counter
from polyclinic.knowledge.treatment import PlannedTreatment, PlanPatient, WhyNot, chosen, visit_facts
from polyclinic.players.rules.staff import RulesPharmacist

KNOWLEDGE = read_knowledge()
TOLD = (
    {},
    {"allergies": "Allergic to penicillin and sulfonamides."},
    {"allergies": "NSAIDs are not tolerated.", "past": "Asthma and a stomach ulcer."},
    {"medications": "Warfarin and simvastatin every day.", "past": "Heart failure."},
    {"medications": "Sertraline. Bisoprolol.", "personal": "She is pregnant."},
)


@pytest.fixture(scope="module")
def reader():
    return Reader(KNOWLEDGE)


def finding(examination, item, value, language="en"):
    of = KNOWLEDGE.examinations[examination]
    one = next(i for i in of.items if i.id == item)
    text = one.values[value].get(language) if isinstance(value, str) else value
    return Finding(
        examination=of.name.get(language), item=one.name.get(language), value=text, unit="" if one.values else one.unit
    )


def facts_of(reader, findings=(), *, complaint="Weakness for 2 hours.", symptoms=(), **person):
    presentation = Presentation(complaint=complaint, **{"age": 60, "sex": "male", **person})
    return presentation, visit_facts(presentation, Known(), symptoms, findings, reader)


def test_a_visit_knows_what_was_found_said_and_told(reader):
    found = [
        finding("cardiovascular-examination", "systolic", 84.0),
        finding("head-ct", "brain_ct", "normal"),
        finding("anaemia-tests", "haemoglobin_now", 80.0),
        finding("biochemistry", "creatinine", 400.0),
    ]
    _, facts = facts_of(reader, found, complaint="A cough for 3 days.", symptoms=["fever"])
    assert facts.patient.findings["systolic"] == pytest.approx(84)
    assert facts.patient.findings["brain_ct"] == "normal"
    assert facts.patient.findings["hemoglobin"] == pytest.approx(80)
    assert facts.patient.findings["fever"] is True
    assert facts.patient.findings["cough"] is True
    assert facts.patient.days == pytest.approx(3)
    assert {"head-ct", "biochemistry"} <= set(facts.patient.examined)
    assert facts.known.egfr == pytest.approx(14, abs=2)
    assert not facts.known.pregnant


def test_limits_are_those_of_everybody_but_for_a_childs_vital_signs(reader):
    found = [finding("cardiovascular-examination", "systolic", 86.0), finding("blood-test", "hemoglobin", 72.0)]
    for age, sex in ((40, "female"), (3, "male")):
        _, facts = facts_of(reader, found, age=age, sex=sex)
        assert facts.patient.findings["hemoglobin"] == pytest.approx(72)
        assert (facts.patient.findings["systolic"] > 90) is (age == 3)
    anaemia = KNOWLEDGE.diseases["iron-deficiency-anaemia"].plan("severe")
    for value, transfused in ((72.0, False), (68.0, True)):
        presentation, facts = facts_of(reader, [finding("blood-test", "hemoglobin", value)], age=30, sex="female")
        planned = PlannedTreatment(anaemia, facts, KNOWLEDGE, presentation)
        assert ("red-cells" in {drugs[0].id for drugs in planned.measures}) is transfused


def test_what_is_taken_already_is_said_to_go_on(reader):
    angina = KNOWLEDGE.diseases["stable-angina"].plan("mild")
    for language, medications, said in (
        (
            "en",
            "Simvastatin 20 mg at night.",
            "goes on with simvastatin, which is taken already; to be adjusted to: ator",
        ),
        ("zh", "辛伐他汀每晚20 mg。", "患者已在用他汀，继续使用，并按此调整：阿托伐他汀"),
    ):
        presentation = Presentation(
            complaint="胸痛" if language == "zh" else "pain", language=language, age=60, sex="male"
        )
        facts = visit_facts(presentation, Known(medications=medications), (), (), reader)
        planned = PlannedTreatment(angina, facts, KNOWLEDGE, presentation)
        assert list(planned.continued) == ["atorvastatin"]
        assert "atorvastatin" not in {drugs[0].id for drugs in planned.measures}
        assert any(line.startswith(said) for line in planned.lines())
    bleeding = KNOWLEDGE.diseases["subarachnoid-haemorrhage"].plan("mild")
    presentation = Presentation(complaint="headache", age=60, sex="male")
    found = [finding("cardiovascular-examination", "systolic", 190.0)]
    facts = visit_facts(presentation, Known(medications="Bisoprolol 5 mg."), (), found, reader)
    planned = PlannedTreatment(bleeding, facts, KNOWLEDGE, presentation)
    assert "labetalol" in {drugs[0].id for drugs in planned.measures}
    assert any(line.endswith("for now in place of bisoprolol, which is taken already") for line in planned.lines())


def test_a_pregnancy_test_makes_known_that_she_is_pregnant(reader):
    _, facts = facts_of(reader, [finding("pregnancy-test", "beta_hcg", 4000.0)], age=30, sex="female")
    assert facts.patient.pregnant
    assert facts.known.pregnant


def test_nothing_is_dissolved_in_a_stroke_before_the_head_was_seen(reader):
    stroke = KNOWLEDGE.diseases["ischaemic-stroke"]
    waiting = 0
    for severity in ("mild", "moderate", "severe"):
        plan = stroke.plan(severity)
        for found in ((), (finding("head-ct", "brain_ct", "normal"),)):
            presentation, facts = facts_of(reader, found)
            planned = PlannedTreatment(plan, facts, KNOWLEDGE, presentation)
            given = {drugs[0].id for drugs in planned.measures}
            assert found or "alteplase" not in given
            waiting += len(planned.not_begun())
            assert not found or not any("head CT" in line for line in planned.not_begun())
    assert waiting


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "n"), [(4711, 300), (815, 300)])
def test_no_drawn_patient_is_given_what_it_must_not_have(reader, seed, n):
    rng, withheld, waiting = random.Random(seed), 0, 0
    names = {e.name.en: e.id for e in KNOWLEDGE.examinations.values()}
    for case in generate(KNOWLEDGE, n=n, seed=seed):
        presentation, history = case.record.presentation, case.record.history
        done = {name for name in names if rng.random() < 0.3}
        found = [f for f in case.record.findings if f.examination in done]
        told = told_at_the_counter(presentation, msgspec.structs.replace(history, **rng.choice(TOLD)))
        facts = visit_facts(presentation, told, history.symptoms, found, reader)
        disease = KNOWLEDGE.disease_named(case.truth.diagnoses[0].name)
        plan = disease.plan(case.truth.severity)
        planned = PlannedTreatment(plan, facts, KNOWLEDGE, presentation)
        at = asyncio.run(at_counter(RulesPharmacist(), presentation, facts.known, planned.measures))
        given = [drugs[i] for drugs, i in zip(planned.measures, at.given, strict=True) if i is not None]
        for place, drug in enumerate(given):
            assert objection(drug, facts.known, presentation, given[:place]) is None, (case.id, drug.id)
        assert len({drug.id for drug in given}) == len(given)
        assert set(at.withheld) == {*at.instead, *at.lacking()}
        withheld += len(at.withheld)
        came = chosen(plan, facts.patient, KNOWLEDGE.quantities)
        for due in came.due:
            assert set(due.measure.after) <= set(facts.patient.examined)
            when = due.measure.when
            if when is not None and when.finding is not None:
                assert meets(when.finding, KNOWLEDGE.quantities, facts.patient.findings) is True
        waiting += sum(left.why_not is WhyNot.NOT_EXAMINED for left in came.left)
        assert len(came.due) + len(came.left) == len(plan.measures)
        lines = planned.lines(at.given)
        assert len(lines) == len(came.due) - at.given.count(None)
        assert all(lines)
    assert withheld > 25
    assert waiting > 25


@pytest.mark.slow
def test_the_right_treatment_of_a_drawn_patient_is_chosen_for_it():
    differing = 0
    for case in generate(KNOWLEDGE, n=400, seed=99):
        plan = KNOWLEDGE.disease_named(case.truth.diagnoses[0].name).plan(case.truth.severity)
        treatment, person = case.truth.treatment, case.record.presentation
        # One who takes what the illness forbids is told of that as well.
        added = 4 if case.record.history.medications or person.age < 5 else 0
        assert 1 <= len(treatment) <= len(plan.measures) + added, case.id
        text = "\n".join(treatment)
        assert person.age < 12 or "under the age" not in text
        differing += treatment != plan.en
    assert differing > 100


def test_a_treatment_is_the_same_whenever_it_is_asked_for(reader):
    patient = PlanPatient(age=40, sex="male", findings={"oxygen_saturation": 88.0})
    plan = KNOWLEDGE.diseases["covid-19"].plan("severe")
    assert chosen(plan, patient, KNOWLEDGE.quantities) == chosen(plan, patient, KNOWLEDGE.quantities)
