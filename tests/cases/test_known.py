"""What a patient knows of a disease, by how a clause speaks of it, and what this visit is to find out."""

from pathlib import Path

import msgspec
from tests.tables import each_row
from tests.truth_terms import truth_terms

from polyclinic.cases.case import Case
from polyclinic.cases.check import check_case, find_leaks
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.cases.withhold import Known, known_as, withhold
from polyclinic.knowledge.named_in import named_in
from polyclinic.language.folding import fold_term
from polyclinic.yaml_files import read_yaml


class Clause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of `known.yaml`."""

    term: str
    clause: str
    section: str = "present"
    earlier: str = ""
    known: Known | None = None


CLAUSES = read_yaml(Path(__file__).parent / "data" / "known.yaml", list[Clause])


@each_row("line", CLAUSES)
def test_how_a_patient_knows(line: Clause):
    known = known_as(fold_term(line.term), line.clause, section=line.section, earlier=line.earlier)
    assert known == line.known


def case_of(diagnosis: str, complaint: str = "pain", **history: str) -> Case:
    record = Record(presentation=Presentation(complaint=complaint), history=History(**history))
    return Case(id="1", record=record, truth=Truth(diagnoses=(Diagnosis(diagnosis),)))


def test_what_is_known_stays_and_what_this_visit_finds_goes():
    text = "She has had asthma since childhood, and coughs. Today the doctor suspects asthma, and she wheezes."
    told = withhold(text, ["asthma"], section="present")
    assert told == "She has had asthma since childhood, and coughs. She wheezes."
    assert withhold(text, ["asthma"]) == "Coughs. She wheezes."


def test_the_reason_for_what_goes_can_be_said():
    text = "He was told that it is gout, because his toe is red, and he rested."
    assert withhold(text, ["gout"], section="present") == "His toe is red, and he rested."


@each_row(
    ("text", "term", "rest"),
    [
        ("She has fever, chills, and gout.", "gout", "She has fever, and chills."),
        ("She denies fever, chills, or gout.", "gout", "She denies fever, or chills."),
        ("He presents with gout, mild fever, and chills.", "gout", "He presents with mild fever, and chills."),
        ("A smear shows gout, together with white cells.", "gout", "A smear shows white cells."),
        ("He has gout, treated with colchicine, and he drinks.", "gout", "Treated with colchicine, and he drinks."),
        ("Leukocytes were 12,000/mm3, which suggests gout.", "gout", "Leukocytes were 12,000/mm3."),
        ("On examination, he has gout.", "gout", ""),
        ("She limps, complaining of gout, and she cries.", "gout", "She limps, and she cries."),
        ("血清尿酸痛风项，9.6umol/L，H，其余正常。", "痛风", "其余正常。"),
        ("男，59岁，发现痛风2月 患者跛行，乏力。", "痛风", "男，59岁，患者跛行，乏力。"),
    ],
)
def test_what_is_left_of_a_sentence_is_one(text, term, rest):
    assert withhold(text, [term], section="present") == rest


@each_row(
    ("history", "said", "leaks"),
    [
        ({"past": "Asthma."}, "I have asthma.", False),
        ({"present": "She was told that it is asthma."}, "I have asthma.", True),
        ({}, "I have asthma.", True),
        # A relative's illness, or one that is denied, may be named as such and not otherwise.
        ({"family": "Her sister has asthma."}, "My sister has asthma.", False),
        ({"family": "Her sister has asthma."}, "I have asthma.", True),
        ({"present": "She denies asthma."}, "I have no asthma.", False),
        ({"present": "She denies asthma."}, "It is asthma.", True),
        ({}, "My sister has asthma.", True),
    ],
)
def test_what_is_known_is_no_leak(history, said, leaks):
    assert bool(find_leaks([said], case_of("Asthma", **history))) is leaks


def test_the_terms_of_the_truth_are_those_that_nobody_knows():
    assert truth_terms(case_of("Asthma")) == ("asthma",)
    assert truth_terms(case_of("Asthma", past="Asthma.")) == ()
    assert truth_terms(case_of("Asthma", complaint="My asthma is worse")) == ()
    assert truth_terms(case_of("Asthma", present="She was told that it is asthma.")) == ("asthma",)


def test_the_check_says_what_becomes_of_a_diagnosis_in_the_history():
    case = case_of("Asthma", past="Asthma since 2010.", present="She was told that it is asthma.")
    problems = {problem.field: problem.problem for problem in check_case(case)}
    assert "the patient withholds it" in problems["$.record.history.present"]
    assert "tells it when asked" in problems["$.record.history.past"]


def test_the_check_names_a_diagnosis_in_other_words_and_what_is_doubtful():
    case = case_of("Influenza A", "the flu", present="INFLUENZA-A was found. Some infection.", review="An infection?")
    problems = {problem.field: problem.problem for problem in check_case(case, namings=named_in)}
    assert "in other words where the doctor sees it" in problems["$.record.presentation.complaint"]
    assert "the patient withholds it" in problems["$.record.history.present"]
    assert "look at it" in problems["$.record.history.review"]


def test_the_check_names_what_somebody_concluded_in_words_that_nobody_listed():
    told = "The nurse said that the baby is growing in the wrong place. I am tired."
    case = case_of("Ectopic pregnancy", present=told, past="The doctor told me of it ten years ago.")
    problems = {problem.field: problem.problem for problem in check_case(case, namings=named_in)}
    assert "somebody concluded something" in problems["$.record.history.present"]
    assert "$.record.history.past" not in problems


def test_a_name_whose_points_look_like_the_ends_of_sentences_is_withheld_whole():
    assert withhold("They grew S. pneumoniae. I am tired.", ("S. pneumoniae",)) == "I am tired."
    assert withhold("The note ends S. L. E. I am tired.", ("S. L. E",)) in ("", "I am tired.")
    assert withhold("I had soup. L. was there.", ("S. L",)) == "I had soup. L. was there."
