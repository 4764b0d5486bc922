"""What counts as the truth standing in a text, and taking it out."""

from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row
from tests.truth_terms import truth_terms

from polyclinic.cases.case import Case
from polyclinic.cases.check import Leak, find_leaks
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.terms import result_terms
from polyclinic.cases.truth import Truth
from polyclinic.cases.withhold import withhold
from polyclinic.language.folding import stands_in


def case_of(*names: str, complaint: str = "pain", values: tuple[str | float, ...] = (), unit: str = "") -> Case:
    findings = tuple(Finding(examination="examination", value=value, unit=unit) for value in values)
    record = Record(presentation=Presentation(complaint=complaint), findings=findings)
    return Case(id="1", record=record, truth=Truth(diagnoses=tuple(map(Diagnosis, names))))


@each_row(
    ("name", "terms"),
    [
        ("Gout", {"gout"}),
        ("1. Gout", {"gout"}),
        ("Positional Vertigo (PV1A)", {"positional vertigo (pv1a)", "positional vertigo", "PV1A"}),
        ("COPD", {"COPD"}),
        ("Flu", set()),
        ("Gouty arthritis, old", {"gouty arthritis, old", "gouty arthritis"}),
        ("痛风", {"痛风"}),
        ("痛", set()),
        ("慢性湿疹症（2期，手部）", {"慢性湿疹症(2期,手部)", "慢性湿疹症"}),
        ("鼻窦病：慢性额窦炎", {"鼻窦病:慢性额窦炎", "鼻窦病", "慢性额窦炎"}),
        ("中耳炎并鼻窦感染", {"中耳炎并鼻窦感染", "中耳炎", "鼻窦感染"}),
    ],
)
def test_truth_terms(name, terms):
    assert set(truth_terms(case_of(name))) == terms


def test_finding_terms():
    values = (
        "Normal",
        "Negative",
        "7",
        "Within normal limits",
        "140 mmol/L",
        "A wedge of cartilage floats in the joint.",
    )
    assert result_terms(case_of("gout", values=values).record.findings) == (
        "a wedge of cartilage floats in the joint",
        "140 mmol/l",
    )
    assert result_terms(case_of("gout", values=(310.5,), unit="umol/L").record.findings) == ("310.5 umol/l",)
    assert result_terms(case_of("gout", values=("阴性", "未见异常", "双侧髋关节间隙明显变窄")).record.findings) == (
        "双侧髋关节间隙明显变窄",
    )


@each_row(
    ("text", "name", "found"),
    [
        ("He has GOUT.", "Gout", True),
        ("He has gouty toes.", "Gout", False),
        ("They all came.", "Leukemia (ALL)", False),
        ("It is ALL.", "Leukemia (ALL)", True),
        ("hodgkin’s\n  disease", "Hodgkin's Disease", True),
        ("ｇｏｕｔ", "Gout", True),
        ("患者有痛 风病史", "痛风", True),
        ("Legg–Perthes", "Legg-Perthes", True),
        ("Graves", "Graves disease", False),
    ],
)
def test_a_diagnosis_stands_in_a_text(text, name, found):
    assert (stands_in(text, truth_terms(case_of(name))) is not None) is found


def test_find_leaks():
    case = case_of("Gout (GTX)", values=("A wedge of cartilage floats in the joint.",))
    texts = ["You are a doctor.", "The patient has gout (GTX). A wedge of cartilage floats in the joint"]
    assert find_leaks(texts, case) == [
        Leak(
            kind="diagnosis",
            term="gout (gtx)",
            where=1,
            excerpt="The patient has gout (GTX). A wedge of cartilage floats in the joi…",
        ),
        Leak(
            kind="finding",
            term="a wedge of cartilage floats in the joint",
            where=1,
            excerpt="The patient has gout (GTX). A wedge of cartilage floats in the joint",
        ),
    ]
    revealed = ["Examiner: a wedge of cartilage floats in the joint."]
    assert [leak.kind for leak in find_leaks(texts, case, revealed=revealed)] == ["diagnosis"]


def test_what_the_presentation_says_is_no_leak():
    assert find_leaks(["It could be gout."], case_of("Gout", complaint="My gout hurts")) == []


def test_a_number_is_no_part_of_another():
    case = case_of("gout", values=("1.02 mmol/L",))
    assert not find_leaks(["11.02 mmol/L, 2.1.02 mmol/L"], case)
    assert find_leaks(["it was 1.02 mmol/L."], case)


@each_row(
    ("text", "term", "rest"),
    [
        ("He limps. He has had gout for years, and drinks beer.", "gout", "He limps. Drinks beer."),
        ("He limps, which is due to gout, and he swims.", "gout", "He limps, and he swims."),
        ("Gout, which runs in the family. He swims.", "gout", "He swims."),
        ("He has gout.", "gout", ""),
        ("有痛风病史一年，平时爱吃海鲜。睡眠好。", "痛风", "平时爱吃海鲜。睡眠好。"),
        ("平时爱吃海鲜，曾诊断为“痛风，关节炎”，口服药物。", "痛风", "平时爱吃海鲜，口服药物。"),
        ("无痛风史。", "痛风", ""),
        ("Nothing to hide, he says.", "gout", "Nothing to hide, he says."),
        ("有鼻窦病，额窦炎，乏力。", "鼻窦病，额窦炎", ""),
    ],
)
def test_withhold(text, term, rest):
    assert withhold(text, [term]) == rest


letters = st.text("ab痛风，。, .;；\n“（)", max_size=40)


@given(letters, st.lists(st.text("ab痛风，. ", min_size=1, max_size=6), max_size=3))
def test_nothing_that_is_withheld_is_left(text, terms):
    rest = withhold(text, terms)
    assert stands_in(rest, [term for term in terms if term.strip()]) is None
    assert len(rest) <= len(text)


def test_patients_of_published_cases_can_withhold_their_diagnoses(shared_data):
    for name in ("agentclinic/agentclinic_medqa.jsonl", "ai_hospital/patients_small_10.json", "aie/HospitalCases.json"):
        for case in read_cases(shared_data / "cases" / name):
            told = [withhold(text, truth_terms(case)) for _, text in case.record.history.sections()]
            assert not [leak for leak in find_leaks(told, case) if leak.kind == "diagnosis"]
            assert any(told)
