"""Whether a diagnosis is right: the same disease or a kind of it, in whatever words."""

from tests.tables import each_row

from polyclinic.cases.report import Diagnosis, Report
from polyclinic.cases.truth import Truth
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.accuracy import Verdict, chosen_by_name, verdict

KNOWLEDGE = read_knowledge()


def report(*names):
    return Report(symptoms=(), examinations=(), diagnoses=tuple(map(Diagnosis, names)), rationale=(), treatment=())


def judged(given, *so):
    return verdict(report(given), Truth(diagnoses=tuple(map(Diagnosis, so))), KNOWLEDGE)


@each_row(
    ("given", "so"),
    [
        ("COVID-19 infection", "COVID-19"),
        ("Acute ischemic stroke", "Ischaemic Stroke"),
        ("Influenza A (H1N1)", "Influenza A"),
        ("Influenza A", "Influenza A (H1N1)"),
        ("Acute exacerbation of asthma", "Bronchial Asthma"),
        ("慢性心力衰竭急性加重", "心力衰竭"),
        ("心力衰竭", "慢性心力衰竭急性加重"),
        ("heart failure", "慢性心力衰竭急性加重"),
        ("possible common cold", "Acute Nasopharyngitis"),
        ("Left lower lobe pneumonia", "Pneumonia"),  # neither is in the knowledge
    ],
)
def test_the_same_disease_or_a_kind_of_it_is_right(given, so):
    assert judged(given, so) is Verdict.RIGHT
    assert judged(given, "gout", so) is Verdict.RIGHT


@each_row(
    ("given", "so"),
    [
        ("Influenza B", "Influenza A"),
        ("Acute rhinitis", "common cold"),
        ("Type 1 diabetes", "Type 2 Diabetes Mellitus"),
        ("Bacterial conjunctivitis", "Viral Conjunctivitis"),
        ("Influenza", "Influenza A"),  # broader
        ("Pneumonia", "Left lower lobe pneumonia"),
        ("no influenza A", "Influenza A"),
        ("history of gout", "Gout"),
    ],
)
def test_another_disease_or_a_broader_one_is_wrong(given, so):
    assert judged(given, so) is Verdict.WRONG


def test_no_report_and_no_diagnosis_are_not_wrong():
    truth = Truth(diagnoses=(Diagnosis("gout"),))
    assert verdict(None, truth, KNOWLEDGE) is Verdict.FAILED
    assert verdict(report(), truth, KNOWLEDGE) is Verdict.NO_DIAGNOSIS


def test_an_option_is_chosen_by_what_it_says():
    options = {"A": "Influenza B", "B": "Influenza A", "C": "Common cold", "D": "Influenza"}
    assert chosen_by_name("influenza a.", options) == "B"
    assert chosen_by_name("flu A", options) == "B"
    assert chosen_by_name("甲型流感", options) == "B"
    assert chosen_by_name("H1N1 influenza", options) is None  # a kind of two of them
    assert chosen_by_name("H1N1 influenza", {"A": "Influenza B", "B": "Influenza A"}) == "B"
    assert chosen_by_name("gout", options) is None
