"""What speaks against a drug: filtration of the kidneys, earlier illness, pregnancy, other drugs; and what is given."""

import pytest
from tests.knowledge.plans import KNOWLEDGE, plan_of
from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History
from polyclinic.knowledge.data import Name
from polyclinic.knowledge.entries import Drug
from polyclinic.knowledge.safety import (
    Known,
    egfr,
    goes_on,
    objection,
    told_at_the_counter,
    with_results,
)
from polyclinic.knowledge.treatment import PlannedTreatment, PlanPatient, VisitFacts

ATC = {"trimethoprim": "J01EA01", "codeine": "R05DA04", "sildenafil": "G04BE03", "valproate": "N03AG01"}


def drug(name):
    if name in ATC:
        return Drug(id=name, name=Name(en=name, zh=name), atc=ATC[name])
    return KNOWLEDGE.drugs[name]


def against(name, *, age=40.0, sex="female", before=(), language="en", **known):
    presentation = Presentation(complaint="cough", age=age, sex=sex, language=language)
    found = objection(drug(name), Known(**known), presentation, [drug(b) for b in before])
    return None if found is None else found.kind


@pytest.mark.parametrize(
    ("creatinine", "age", "sex", "filtered"),
    [
        # 1.0 mg/dL; CKD-EPI 2021 by the calculator of the National Kidney Foundation.
        (88.42, 50, "female", 69),
        (88.42, 50, "male", 92),
        (176.84, 70, "male", 35),
        (53, 25, "female", 128),
        # Schwartz: 0.413 x height / mg/dL.
        (88.42, 10, "male", 57),
        (44.21, 5, None, 90),
    ],
)
def test_filtration_of_the_kidneys(creatinine, age, sex, filtered):
    assert egfr(creatinine, age, sex) == pytest.approx(filtered, abs=1)


def test_without_age_or_sex_the_filtration_is_not_known():
    assert egfr(90, None, "male") is None
    assert egfr(90, 40, None) is None


@each_row(
    ("name", "known", "kind"),
    [
        ("metformin", {"egfr": 29.0}, "kidney"),
        ("metformin", {"egfr": 30.0}, None),
        ("nitrofurantoin", {"egfr": 44.0}, "kidney"),
        ("ibuprofen", {"egfr": 25.0}, "kidney"),
        ("apixaban", {"egfr": 14.0}, "kidney"),
        ("apixaban", {"egfr": 40.0}, None),
        ("enoxaparin", {"egfr": 10.0}, "kidney"),
        ("bisoprolol", {"past": "Asthma since childhood."}, "condition"),
        ("bisoprolol", {"past": "No asthma."}, None),
        ("bisoprolol", {"past": "自幼哮喘。", "language": "zh"}, "condition"),
        ("ibuprofen", {"past": "A stomach ulcer two years ago."}, "condition"),
        ("ibuprofen", {"past": "有胃溃疡病史。", "language": "zh"}, "condition"),
        ("ibuprofen", {"past": "Heart failure."}, "condition"),
        ("paracetamol", {"past": "Heart failure and a stomach ulcer."}, None),
        ("trimethoprim", {"allergies": "sulfonamides"}, None),
        ("co-trimoxazole", {"allergies": "sulfonamides"}, "allergy"),
        ("trimethoprim", {"allergies": "trimethoprim"}, "allergy"),
        ("meropenem", {"allergies": "penicillin"}, None),
        ("ramipril", {"pregnant": True}, "pregnancy"),
        ("valproate", {"pregnant": True}, "pregnancy"),
        ("atorvastatin", {"pregnant": True}, "pregnancy"),
        ("doxycycline", {"pregnant": True}, "pregnancy"),
        ("ibuprofen", {"pregnant": True}, "pregnancy"),
        ("paracetamol", {"pregnant": True}, None),
        ("aspirin", {"age": 15.0}, "age"),
        ("codeine", {"age": 11.0}, "age"),
        ("codeine", {"age": 12.0}, None),
        ("ceftriaxone", {"age": 0.05}, "age"),
        ("ceftriaxone", {"age": 0.2}, None),
        ("ceftriaxone", {"age": 0.0}, None),
        ("sildenafil", {"medications": "isosorbide mononitrate"}, "interaction"),
        ("glyceryl-trinitrate", {"medications": "sildenafil"}, "interaction"),
        ("enoxaparin", {"medications": "apixaban 5 mg"}, "interaction"),
        ("diltiazem", {"before": ["bisoprolol"]}, "interaction"),
        ("apixaban", {"before": ["enoxaparin"]}, "duplicate"),
        ("paracetamol", {"before": ["paracetamol"]}, "duplicate"),
        ("prednisolone", {"before": ["dexamethasone"]}, "duplicate"),
        # Whichever of the two is handed out first.
        ("apixaban", {"before": ["ibuprofen"]}, "interaction"),
        ("bisoprolol", {"before": ["diltiazem"]}, "interaction"),
        ("insulin-human", {"before": ["insulin-glargine"]}, None),
        # What is said of it in other words.
        ("ibuprofen", {"allergies": "A bad reaction to salicylates."}, "allergy"),
        ("diclofenac-gel", {"allergies": "NSAIDs are not tolerated."}, "allergy"),
        ("acetazolamide", {"allergies": "Sulfonamides are not tolerated."}, "allergy"),
        ("sumatriptan", {"past": "A stent in the heart."}, "condition"),
        ("etoricoxib", {"past": "Narrow heart arteries that were found before."}, "condition"),
        ("etoricoxib", {"past": "心脏支架术后。", "language": "zh"}, "condition"),
        ("timolol-eye", {"medications": "A blue inhaler that eases it."}, "condition"),
        ("alteplase", {"past": "A recent operation."}, "condition"),
        ("tranexamic-acid", {"past": "An earlier blood clot."}, "condition"),
        ("nirmatrelvir-ritonavir", {"medications": "Tamsulosin at night."}, "interaction"),
        ("clarithromycin", {"medications": "Tablets against a transplant being rejected."}, "interaction"),
        ("omeprazole", {"medications": "Clopidogrel 75 mg."}, "interaction"),
        ("dapagliflozin", {"age": 17.0}, "age"),
        ("budesonide-formoterol", {"age": 5.0}, "age"),
        # Painkillers of one kind are one too many; what is no longer taken speaks against nothing.
        ("ibuprofen", {"medications": "Painkillers nearly every day."}, "taken"),
        ("ibuprofen", {"medications": "几乎每天吃止痛药。", "language": "zh"}, "taken"),
        ("ibuprofen", {"medications": "Naproxen until last week, no longer."}, None),
        ("clarithromycin", {"medications": "Simvastatin, stopped a year ago."}, None),
    ],
)
def test_what_speaks_against_a_drug(name, known, kind):
    assert against(name, **known) == kind


@each_row(
    ("options", "known", "on"),
    [
        ("atorvastatin", {"medications": "Atorvastatin 20 mg at night."}, (0, "atorvastatin")),
        ("atorvastatin", {"medications": "Simvastatin 20 mg at night."}, (0, "simvastatin")),
        ("atorvastatin", {"medications": "辛伐他汀每晚20 mg。", "language": "zh"}, (0, "他汀")),
        ("ramipril", {"medications": "Losartan 50 mg once a day."}, (0, "losartan")),
        ("apixaban", {"medications": "Warfarin by the blood test."}, (0, "warfarin")),
        ("insulin-glargine", {"medications": "Insulin with every meal."}, (0, "insulin")),
        ("amlodipine", {"medications": ""}, None),
        ("amlodipine", {"medications": "Tamsulosin."}, None),
        # The first that may be given is new, whatever of the others is taken.
        ("aspirin clopidogrel", {"medications": "Clopidogrel 75 mg."}, None),
        ("aspirin clopidogrel", {"medications": "Clopidogrel 75 mg.", "allergies": "aspirin"}, (1, "clopidogrel")),
        # What it takes and must not have does not go on.
        ("ramipril", {"medications": "Ramipril 5 mg.", "pregnant": True}, None),
        ("metformin sitagliptin", {"medications": "Metformin.", "egfr": 20.0}, None),
        # Of painkillers another kind is looked for, but for the one itself.
        ("naproxen", {"medications": "Painkillers nearly every day."}, None),
        ("naproxen", {"medications": "Naproxen twice a day."}, (0, "naproxen")),
        ("amoxicillin", {"medications": "A course of amoxicillin behind me that changed little."}, None),
        ("amoxicillin", {"medications": "Already had amoxicillin from another doctor."}, None),
        ("amoxicillin", {"medications": "吃过阿莫西林效果不大。", "language": "zh"}, None),
    ],
)
def test_what_is_taken_already_goes_on(options, known, on):
    language = known.pop("language", "en")
    presentation = Presentation(complaint="cough", age=60, sex="male", language=language)
    assert goes_on([drug(name) for name in options.split()], Known(**known), presentation) == on


def handed_out(plan, known, presentation):
    facts = VisitFacts(PlanPatient(age=presentation.age, sex=presentation.sex), known)
    planned = PlannedTreatment(plan, facts, KNOWLEDGE, presentation)
    numbers = zip(planned.measures, planned.suitable(), strict=True)
    return planned, [None if number is None else drugs[number].id for drugs, number in numbers]


def test_what_goes_on_is_not_handed_out_but_by_the_needle():
    plan = plan_of(
        "- give: [{drug: ramipril, route: oral, D}]\n"
        "- give: [{drug: labetalol, route: intravenous, D}]\n"
        "- give: [{drug: heparin, route: intravenous, D}]\n"
        "- give: [{drug: ibuprofen, route: oral, D}, {drug: paracetamol, route: oral, D}]\n"
    )
    presentation = Presentation(complaint="cough", age=60, sex="male")
    known = Known(medications="Ramipril. Bisoprolol. Apixaban.")
    planned, given = handed_out(plan, known, presentation)
    assert planned.continued == {"ramipril": "ramipril", "labetalol": "bisoprolol", "heparin": "apixaban"}
    assert given == ["labetalol", "paracetamol"]


def test_a_test_tells_of_pregnancy_and_kidneys():
    presentation = Presentation(complaint="cough", age=60, sex="female")
    told = told_at_the_counter(presentation, History(past="Asthma."))
    assert (told.past, told.egfr, told.pregnant) == ("Asthma.", None, False)
    found = with_results(told, presentation, {"creatinine": 300.0, "beta_hcg": 2000.0})
    assert found.pregnant
    assert found.egfr == pytest.approx(15, abs=0.5)
    assert not with_results(told, presentation, {"beta_hcg": 10.0}).pregnant


def test_the_next_alternative_is_handed_out_and_no_drug_twice():
    plan = plan_of(
        "- give: [{drug: amoxicillin, route: oral, D}, {drug: azithromycin, route: oral, D}]\n"
        "- give: [{drug: ibuprofen, route: oral, D}, {drug: paracetamol, route: oral, D}]\n"
        "- give: [{drug: diclofenac, route: oral, D}]\n"
    )
    presentation = Presentation(complaint="cough", age=40, sex="male")
    _, given = handed_out(plan, Known(allergies="penicillin"), presentation)
    assert given == ["azithromycin", "ibuprofen", None]
