"""Visits held against their cases by an auditor apart from the pharmacist; and that it sees what is wrong."""

import asyncio

import msgspec
import pytest
from tests.tables import each_row

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.events import Examined
from polyclinic.hospital.record.episodes import ConsultationHeld, Episode
from polyclinic.knowledge.knowledge import read_knowledge

auditor = pytest.importorskip("bench.auditor", reason="the measurements are not part of the package")
visits = pytest.importorskip("bench.visits")
KNOWLEDGE = read_knowledge()


def audit_of(
    disease, plan, given=(), *, age=40.0, sex="male", found=(), examined=(), complaint="Pain for 2 days.", **rest
):
    names = {f: rest.pop(f) for f in ("allergies", "medications", "past", "personal") if f in rest}
    person = Presentation(complaint=complaint, age=age, sex=sex)
    findings = []
    for examination, item, value in found:
        of = KNOWLEDGE.examinations[examination]
        name = next(i.name.en for i in of.items if i.id == item)
        findings.append(Finding(examination=of.name.en, item=name, value=value))
    shown = Examined(seq=0, turn=1, findings=tuple(findings), not_recorded=(), text="")
    seen = ConsultationHeld(
        department="x",
        turns=1,
        examinations=(*examined, *(e for e, _, _ in found)),
        diagnosis=KNOWLEDGE.diseases[disease].name.en,
        trace=msgspec.json.encode(shown).decode(),
    )
    case = Case(
        id="c",
        source="test",
        record=Record(presentation=person, history=History(**names), findings=tuple(findings)),
        truth=Truth(diagnoses=(Diagnosis(name="x"),)),
    )
    audit = auditor.Audit(KNOWLEDGE)
    audit.look_at(case, Episode(key="c/1", seen=(seen,), plan=plan, dispensed=tuple(given), **rest))
    return audit


def failing(*args, **options):
    audit = audit_of(*args, **options)
    return [check for check in audit.CHECKS if audit.failed[check]]


PNEUMONIA, STROKE, ANGINA = "community-acquired-pneumonia", "ischaemic-stroke", "stable-angina"
TAKEN, UNMET, SKIPPED = (
    "nothing anew that is taken already",
    "no condition of a measure disregarded",
    "no examination skipped that comes first",
)
LEFT_OUT = "every due drug given, continued or withheld"


@each_row(
    ("disease", "plan", "given", "options", "fails"),
    [
        (PNEUMONIA, "mild", ("amoxicillin", "paracetamol"), {}, []),
        (
            PNEUMONIA,
            "mild",
            ("amoxicillin", "paracetamol"),
            {"allergies": "Penicillin is not tolerated."},
            ["no allergy disregarded"],
        ),
        (PNEUMONIA, "mild", ("amoxicillin", "paracetamol"), {"allergies": "No allergy to penicillin."}, []),
        (PNEUMONIA, "mild", ("doxycycline", "paracetamol"), {"age": 14.0}, []),
        (PNEUMONIA, "mild", ("amoxicillin", "doxycycline", "paracetamol"), {}, ["one alternative of a measure"]),
        (PNEUMONIA, "mild", ("amoxicillin", "metformin", "paracetamol"), {}, ["no drug outside the plan"]),
        (PNEUMONIA, "mild", ("amoxicillin",), {}, [LEFT_OUT]),
        (
            PNEUMONIA,
            "mild",
            ("amoxicillin",),
            {"withheld": ("paracetamol: no",)},
            ["every withheld drug replaced or its lack explained"],
        ),
        (
            PNEUMONIA,
            "mild",
            ("amoxicillin",),
            {"withheld": ("paracetamol: no",), "lacking": ("paracetamol: none",)},
            [],
        ),
        (
            PNEUMONIA,
            "mild",
            ("amoxicillin", "ibuprofen"),
            {"past": "A stomach ulcer."},
            ["no drug against an illness told"],
        ),
        (PNEUMONIA, "mild", ("amoxicillin", "ibuprofen"), {"medications": "Painkillers every day."}, [TAKEN]),
        (
            PNEUMONIA,
            "mild",
            ("amoxicillin", "ibuprofen"),
            {"medications": "Apixaban."},
            ["no drug against another taken or handed out"],
        ),
        (
            PNEUMONIA,
            "mild",
            ("amoxicillin", "ibuprofen"),
            {"found": [("biochemistry", "creatinine", 400.0)]},
            ["no drug against the kidneys"],
        ),
        (
            PNEUMONIA,
            "mild",
            ("amoxicillin", "ibuprofen"),
            {"sex": "female", "personal": "She is pregnant."},
            ["no drug against pregnancy"],
        ),
        (ANGINA, "mild", ("aspirin", "atorvastatin"), {"medications": "Simvastatin."}, [TAKEN]),
        (
            ANGINA,
            "mild",
            ("aspirin",),
            {"medications": "Simvastatin.", "continued": ("atorvastatin: simvastatin",)},
            [],
        ),
        (ANGINA, "mild", ("aspirin", "atorvastatin"), {"age": 15.0}, ["no drug below its age"]),
        (STROKE, "mild", ("aspirin", "clopidogrel", "atorvastatin"), {"examined": ["head-ct"]}, []),
        (STROKE, "mild", ("aspirin", "clopidogrel", "atorvastatin"), {}, [SKIPPED]),
        (STROKE, "moderate", ("alteplase", "atorvastatin"), {"examined": ["head-ct"]}, [UNMET, LEFT_OUT]),
    ],
)
def test_the_auditor_sees_what_is_wrong(disease, plan, given, options, fails):
    assert failing(disease, plan, given, **options) == fails


def test_what_nobody_measured_is_no_violation():
    names = auditor.names_of(KNOWLEDGE, "en")
    examination, item = next(name for name, (id, _) in names.items() if id == "creatinine")
    finding = Finding(examination=examination, item=item, value=400.0)
    person = Presentation(complaint="Pain.", age=60, sex="male")
    record, truth = Record(presentation=person, findings=(finding,)), Truth(diagnoses=(Diagnosis(name="x"),))
    audit = auditor.Audit(KNOWLEDGE)
    audit.look_at(Case(id="c", source="test", record=record, truth=truth), Episode(key="c/1", dispensed=("ibuprofen",)))
    assert audit.unknowable == {"kidneys that nobody measured": 1}
    assert not audit.violations


def test_the_auditor_has_read_of_every_class_and_knows_no_other_drugs():
    table = auditor.table()
    named = set().union(
        *table["classes"].values(), *table["ages"].values(), *table["kidney"].values(), table["pregnancy"]
    )
    for row in (*table["allergies"], *table["conditions"], *table["taken"]):
        named |= auditor.drugs_of(row)
    assert named <= KNOWLEDGE.drugs.keys()


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "language"), [(60_601, "en"), (60_602, "zh")])
def test_no_visit_goes_against_a_caution_or_a_plan(seed, language):
    audit = asyncio.run(visits.audited(30, seed, language=language))
    assert audit.visits > 22
    assert audit.handed_out > 37
    assert not audit.violations, "\n".join(audit.lines())
