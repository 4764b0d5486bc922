"""Inpatients with several diseases: who they are, what their records hold, and the layout they are written in."""

from collections import Counter

import pytest

from polyclinic.cases.check import check_cases
from polyclinic.cases.loaders import read_cases
from polyclinic.evidence_tree import divide
from polyclinic.generation.inpatients import _comorbidities, as_tor, generate_inpatients, tor_lines
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.pathology import with_pathology

KNOWLEDGE = read_knowledge()
FULL = with_pathology(KNOWLEDGE)


@pytest.fixture(scope="module")
def drawn():
    return list(generate_inpatients(KNOWLEDGE, n=120, seed=5))


@pytest.fixture(scope="module", params=["en", "zh"])
def read_back(request, tmp_path_factory):
    cases = list(generate_inpatients(KNOWLEDGE, n=12, seed=6, language=request.param))
    path = tmp_path_factory.mktemp("tor") / "cases.jsonl"
    path.write_text(tor_lines(cases, FULL), "utf-8")
    assert check_cases(path).errors == 0
    return cases, list(read_cases(path))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_inpatients_whatever_their_number(drawn):
    assert list(generate_inpatients(KNOWLEDGE, n=20, seed=5)) == drawn[:20]
    assert list(generate_inpatients(KNOWLEDGE, n=20, seed=4)) != drawn[:20]


@pytest.mark.slow
def test_each_has_two_to_five_diseases_and_every_department_is_there(drawn):
    numbers = Counter(len(case.truth.diagnoses) for case in drawn)
    assert set(numbers) == {2, 3, 4, 5}
    assert all(len({d.name for d in case.truth.diagnoses}) == len(case.truth.diagnoses) for case in drawn)
    assert {case.department for case in drawn} == {d.department for d in KNOWLEDGE.diseases.values()}


@pytest.mark.slow
def test_what_nobody_has_at_once_is_never_together(drawn):
    for case in drawn:
        names = {d.name for d in case.truth.diagnoses}
        assert not {"Hyperthyroidism", "Hypothyroidism"} <= names
        assert len(names & {"Influenza A", "Influenza B", "COVID-19"}) <= 1
        sex = case.presentation.sex
        for name in names:
            female = KNOWLEDGE.disease_named(name).epidemiology.female
            assert (female if sex == "female" else 1 - female) > 0, (name, sex)
        # Nor is anything offered that somebody of that sex cannot have.
        for name in case.question.options.values():
            female = KNOWLEDGE.disease_named(name).epidemiology.female
            assert (female if sex == "female" else 1 - female) > 0, (name, sex)


def test_what_comes_together_may():
    given = _comorbidities()
    groups = [set(group) for group in given.never]
    known = set(KNOWLEDGE.diseases)
    assert {one.of for one in given.together} == known
    assert all(group <= known for group in groups)
    for one in given.together:
        assert set(one.with_) <= known - {one.of}
        assert not [other for other in one.with_ if any({one.of, other} <= group for group in groups)], one.of


def test_no_two_emergencies_of_a_kind_at_once(drawn):
    groups = [set(group) for group in _comorbidities().never]
    for case in drawn:
        ids = {KNOWLEDGE.disease_named(d.name).id for d in case.truth.diagnoses}
        assert not [group & ids for group in groups if len(group & ids) > 1]


def test_numbers_stand_beside_the_range_of_the_age():
    cases = generate_inpatients(KNOWLEDGE.select("paediatrics"), n=12, seed=2)
    ranges = {
        f.reference
        for case in cases
        if case.presentation.age <= 2
        for f in case.record.findings
        if f.item == "heart rate"
    }
    assert ranges and "60-100" not in ranges


def test_options_hold_the_diagnoses_and_others(drawn):
    for case in drawn:
        options = case.question.options
        assert case.question.several
        assert {options[key] for key in case.truth.answers} == {d.name for d in case.truth.diagnoses}
        assert len(set(options.values())) == len(options) >= len(case.truth.answers) + 5
    # The order tells nothing: the right ones stand anywhere.
    first = sum(case.truth.answers[0] == "A" for case in drawn)
    assert 10 < first < 80


def test_a_specimen_or_an_image_is_there_for_most(drawn):
    kinds = Counter(kind for case in drawn for kind in divide(case.record, FULL))
    assert kinds["outpatient"] == kinds["laboratory"] == len(drawn)
    assert kinds["radiology"] > 0.6 * len(drawn)
    assert kinds["pathology"] > 0.6 * len(drawn)


def test_examinations_are_not_those_of_the_diagnoses_alone(drawn):
    """Who sees what was ordered does not know by that what is there."""
    beside = 0
    for case in drawn:
        diseases = [FULL.diseases[KNOWLEDGE.disease_named(d.name).id] for d in case.truth.diagnoses]
        named = {FULL.examinations[e].name.en for d in diseases for e in (*d.findings, *d.examinations)}
        beside += bool({f.examination for f in case.record.findings} - named)
    assert beside > 0.7 * len(drawn)


def test_the_layout_of_the_paper_is_read_back(read_back):
    for drawn, case in zip(*read_back, strict=True):
        assert [d.name for d in case.truth.diagnoses] == [d.name for d in drawn.truth.diagnoses]
        assert case.truth.answers == drawn.truth.answers
        assert case.question.options == drawn.question.options
        assert case.question.several
        assert (case.presentation, case.department) == (drawn.presentation, drawn.department)
        assert case.record.history.present == drawn.record.history.present
        assert list(divide(case.record, FULL)) == list(divide(drawn.record, FULL))
        # Nothing that was found is lost on the way.
        text = " ".join(finding.text(case.presentation.language) for finding in case.record.findings)
        for finding in drawn.record.findings:
            # Chinese physical examinations are sorted by clauses into systems.
            assert all(part in text for part in finding.value_text.split("，")), finding


def test_no_record_names_its_diagnoses(read_back):
    for _, case in zip(*read_back, strict=True):
        texts = [case.presentation.complaint, case.record.history.present]
        for diagnosis in case.truth.diagnoses:
            assert not any(diagnosis.name.casefold() in text.casefold() for text in texts)


def test_the_keys_are_those_of_the_published_layout(drawn):
    keys = {key for case in drawn for key in as_tor(case, FULL)}
    published = {
        "Age", "Sex", "Chief-Complaints", "Present-Illness", "Physical-Examination", "Laboratory-Examination",
        "Ultrasonic-Imaging-Examination", "X-ray-Imaging-Examination", "CT-Imaging-Examination",
        "Magnetic-Resonance-Imaging-Examination", "Pathological-Examination", "Diagnosis", "Options", "Label",
    }  # fmt: skip
    ours = {"Department", "Past-History", "Personal-History", "Family-History", "Endoscopic-Examination"}
    assert keys == published | ours


def test_a_part_of_the_knowledge_is_enough():
    cases = list(generate_inpatients(KNOWLEDGE.select("cardiology,endocrinology"), n=8, seed=1))
    departments = {KNOWLEDGE.disease_named(d.name).department for case in cases for d in case.truth.diagnoses}
    assert departments <= {"cardiology", "endocrinology"}
