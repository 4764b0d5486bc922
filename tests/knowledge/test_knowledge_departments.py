"""The knowledge of all departments: what a disease does not name, who can have what, how well they are told apart."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict

import numpy as np
import pytest

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.events import Examined, Opened, Role, Said
from polyclinic.generation.ceiling import measure
from polyclinic.generation.draw import generate
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.body import read_body
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.knowledge import ancestors, read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.reading import PatientReading
from polyclinic.knowledge.safety import says_pregnant
from polyclinic.metrics.accuracy import Verdict, verdict
from polyclinic.players.minds import Minds
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.rules.belief import Belief
from polyclinic.players.rules.doctor import RulesDoctor
from polyclinic.visits.visit import see

REPORT = {"symptoms": [], "examinations": [], "diagnoses": [], "rationale": [], "treatment": []}


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


@pytest.fixture(scope="module")
def reader(knowledge):
    return Reader(knowledge, something_else=0.04)


def test_every_disease_says_where_it_comes_from_and_has_plans_in_both_languages(knowledge):
    for disease in knowledge.diseases.values():
        assert len(disease.sources) >= 2, disease.id
        assert all(1950 <= source.year <= 2026 for source in disease.sources), disease.id
        assert disease.department in knowledge.departments
        for severity in SEVERITIES:
            plan = disease.plan(severity)
            assert len(plan.en) == len(plan.zh) >= 2, disease.id
        assert disease.plan("mild") != disease.plan("severe"), disease.id


def test_what_a_department_adds_changes_nothing_in_another(knowledge):
    respiratory = knowledge.select("respiratory")
    assert set(respiratory.departments) == {"respiratory"}
    assert "heartburn" not in respiratory.symptoms
    assert "gastroscopy" not in respiratory.examinations
    # Its diseases change haemoglobin, which is counted in the blood; nobody orders iron and vitamins for it.
    assert "blood-test" in respiratory.examinations
    assert "anaemia-tests" not in respiratory.examinations
    assert {"cough", "rash"} <= set(respiratory.symptoms)
    # A single disease is drawn in the vocabulary of its department.
    assert knowledge.select("covid-19").symptoms == respiratory.symptoms
    assert set(knowledge.select("皮肤科").diseases) == set(knowledge.select("dermatology").diseases)
    assert len(knowledge.select("cardiology, 血液科").departments) == 2
    # Parents come with their children.
    assert all(s.parent is None or s.parent in respiratory.symptoms for s in respiratory.symptoms.values())
    with pytest.raises(BadInput, match="departments: cardiology"):
        knowledge.select("astrology")


def test_what_a_disease_does_not_name_has_a_documented_frequency(knowledge):
    migraine, cough = knowledge.diseases["migraine"], knowledge.symptoms["cough"]
    assert "cough" not in migraine.symptoms
    assert migraine.background < 1
    assert migraine.share(cough, "mild") == pytest.approx(cough.base * migraine.background)
    # What is not the patient's complaint, or has a parent that is there, keeps its frequency.
    smoke, phlegm = knowledge.symptoms["tobacco_smoke"], knowledge.symptoms["productive_cough"]
    assert migraine.share(smoke, "severe") == smoke.base
    assert migraine.share(phlegm, "severe") == phlegm.base
    covid = knowledge.diseases["covid-19"]
    assert covid.background == 1
    assert covid.share(knowledge.symptoms["heartburn"], "mild") == knowledge.symptoms["heartburn"].base


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_complaint_is_of_the_disease(knowledge, language):
    lexicon = Lexicon(knowledge.symptoms.values(), language)
    for case in generate(knowledge, n=3 * len(knowledge.diseases), seed=12, language=language):
        disease = knowledge.disease_named(case.truth.diagnoses[0].name)
        if disease.background < 1:
            told = lexicon.read(case.presentation.complaint)
            assert told, case.presentation.complaint
            assert not disease.symptoms.keys().isdisjoint(told), case.presentation.complaint


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nobody_has_what_cannot_be(knowledge, language):
    lexicon = Lexicon(knowledge.symptoms.values(), language)
    seen, avoided = set(), read_body().beside["pregnancy"].without
    for case in generate(knowledge, n=6 * len(knowledge.diseases), seed=4, language=language):
        person = case.presentation
        for _, text in case.record.history.sections():
            for symptom, present in lexicon.read(text).items():
                assert present, text
                assert knowledge.symptoms[symptom].possible(person.age, person.sex), (symptom, person)
                seen.add(symptom)
        examined = {f.examination for f in case.record.findings}
        for examination in knowledge.examinations.values():
            is_done = examination.name.get(language) in examined
            assert is_done <= examination.possible(person.age, person.sex)
            if not (examination.id in avoided and says_pregnant(case.record.history.past, language)):
                assert is_done == examination.possible(person.age, person.sex)
    assert {"vaginal_discharge", "alcohol_rich_meals"} <= seen


def test_what_cannot_be_is_not_asked_for_and_its_absence_says_nothing(knowledge, reader):
    man, woman = (Presentation(complaint="Fatigue for 3 weeks", age=40, sex=sex) for sex in ("male", "female"))
    doctor = RulesDoctor(reader)
    for person, asks in ((man, False), (woman, True)):
        role = Doctor(doctor, person, max_turns=10)
        belief = Belief(reader, role)
        impossible = reader.impossible(person.age, person.sex)
        assert impossible == {s.id for s in knowledge.symptoms.values() if not s.possible(person.age, person.sex)}
        assert belief.askable()[list(knowledge.symptoms).index("heavy_periods")] == asks
        assert ("vaginal-secretion-test" in belief.open_examinations()) == asks
    # Nothing is known of age and sex: everything may be.
    assert all(s.possible(None, None) for s in knowledge.symptoms.values())
    periods = knowledge.symptoms["heavy_periods"]
    assert [periods.possible(age, "female") for age in (5, 12, 54.5, 55, 80)] == [False, True, True, False, False]
    said, read = reader.read_history(Record(presentation=man))
    assert said == pytest.approx(reader.prior() + reader.person(man) + reader.duration(21))
    expected = PatientReading(reader.tables, 40, "male")
    for symptom in knowledge.symptoms.values():
        if symptom.possible(40, "male") and (symptom.parent is None or symptom.parent == "fatigue"):
            expected.symptom(symptom.id, symptom.id == "fatigue")
    assert read.log() == pytest.approx(expected.log())


def test_a_disease_of_one_sex_is_impossible_in_nobody_and_unlikely_in_the_other(reader):
    known = [d.id for d in reader.diseases]
    likelihood = reader.person(Presentation(complaint="x", age=30, sex="male"))
    assert np.isfinite(likelihood).all()
    row = 3 * known.index("bacterial-vaginosis")
    assert likelihood[row] < likelihood[3 * known.index("psoriasis")] - 4


def _patient(symptom, knowledge, language, *, present):
    told = [symptom, *(knowledge.symptoms[s] for s in ancestors(knowledge.symptoms, symptom.id))] if present else []
    parts = {}
    for one in told:
        phrase = one.phrases.get(language)[0]
        parts.setdefault(one.section, []).append(phrase)
    history = {
        section: tuple(phrases) if section == "symptoms" else ("。" if language == "zh" else ". ").join(phrases) + "."
        for section, phrases in parts.items()
    }
    complaint = "A nosebleed" if language == "en" else "流鼻血"
    presentation = Presentation(complaint=complaint, language=language, age=30, sex=symptom.sex or "male")
    record = Record(presentation=presentation, history=History(**history))
    truth = Truth(diagnoses=(Diagnosis(name="Scurvy" if language == "en" else "坏血病"),))
    return Case(id=f"{symptom.id}-{language}-{present}", record=record, truth=truth)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_question_is_understood_and_answered_as_it_is(knowledge, language):
    lexicon = Lexicon(knowledge.symptoms.values(), language)
    for symptom in knowledge.symptoms.values():
        question = symptom.question.get(language)
        assert lexicon.question(question) == symptom.id
        for present in (True, False):
            script = {"speak": [{"say": question}] * 2, "report": [REPORT]}
            minds = Minds(doctor=script, knowledge=knowledge, seed=1)
            visit = await see(_patient(symptom, knowledge, language, present=present), minds, max_turns=2)
            answer = next(e.text for e in visit.trace if isinstance(e, Said) and e.who is Role.PATIENT and e.turn == 1)
            assert lexicon.read(answer).get(symptom.id, False) is present, (symptom.id, answer)


def drawn(knowledge, language):
    return list(
        generate(knowledge, n=(2 if language == "en" else 1) * len(knowledge.diseases), seed=3, language=language)
    )


@pytest.fixture(scope="module")
def ceiling(knowledge):
    return measure(drawn(knowledge, "en"), knowledge)


@pytest.mark.slow
def test_the_ceiling_of_all_departments_is_neither_trivial_nor_impossible(knowledge, ceiling):
    assert ceiling.percent >= 93
    # There is something to ask and to order for.
    assert 60 <= ceiling.steps[0].percent <= 90
    # What it holds for probable is so.
    assert abs(ceiling.stated - ceiling.percent) <= 3
    for name, row, place in zip(ceiling.diseases, ceiling.confusion, range(len(ceiling.diseases)), strict=True):
        assert row[place] >= 0.3 * sum(row), name  # two patients each, more or less: few for more
    departments = ceiling.by_department()
    assert set(departments) == {d.name.en for d in knowledge.departments.values()}
    assert sum(cases for cases, _, _ in departments.values()) == ceiling.n
    assert sum(right for _, right, _ in departments.values()) == round(ceiling.percent * ceiling.n / 100)
    # Whoever is mistaken for another is nearly always of the same department.
    assert sum(elsewhere for _, _, elsewhere in departments.values()) <= 0.01 * ceiling.n


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_rules_doctor_of_all_departments_comes_close(knowledge, ceiling, language):
    cases = drawn(knowledge, language)[: len(knowledge.diseases)]
    minds = Minds(knowledge=knowledge, seed=2)
    visits = [await see(case, minds) for case in cases]
    right = [v for v in visits if verdict(v.report, v.truth, knowledge) is Verdict.RIGHT]
    # What a case holds does not depend on the language that it is told in.
    assert 100 * len(right) / len(cases) >= ceiling.percent - 6
    assert statistics.mean(v.turns for v in visits) <= 10
    elsewhere = 0
    for visit in visits:
        named = knowledge.disease_named(visit.report.diagnoses[0].name) if visit.report.diagnoses else None
        truth = knowledge.disease_named(visit.truth.diagnoses[0].name)
        elsewhere += named is not None and named.department != truth.department
    assert elsewhere <= 0.02 * len(cases)
    assert_the_needed_was_done(right, knowledge, language)


def assert_the_needed_was_done(right, knowledge, language):
    """Of right diagnoses of each disease at least 85 % were made after all that it needs, as far as it can be had."""
    done, lacking = Counter(), defaultdict(list)
    for visit in right:
        disease = knowledge.disease_named(visit.truth.diagnoses[0].name)
        examined = {f.examination for e in visit.trace if isinstance(e, Examined) for f in e.findings}
        person = next(e.presentation for e in visit.trace if isinstance(e, Opened))
        needed = [knowledge.examinations[e] for e in disease.indicated.needed]
        lack = {e.id for e in needed if e.possible(person.age, person.sex) and e.name.get(language) not in examined}
        done[disease.id] += 1
        if lack:
            lacking[disease.id].append(sorted(lack))
    # One of a few is chance.
    often = {id: lacks for id, lacks in lacking.items() if len(lacks) > max(1, 0.15 * done[id])}
    assert not often
    assert sum(map(len, lacking.values())) <= 0.05 * len(right)


def test_who_knows_more_diseases_meets_less_that_is_unknown(knowledge):
    def unknown(known):
        return np.exp(Minds(knowledge=known, seed=1)._reader.prior()[-1])

    assert unknown(knowledge.select("respiratory")) == pytest.approx(0.2)
    assert unknown(knowledge) == pytest.approx(2 / (2 + len(knowledge.diseases)))


@pytest.mark.slow
def test_the_ceiling_is_printed_by_department(run, monkeypatch):
    monkeypatch.setattr("polyclinic.cli.cases._DRAWN", 30)
    shown = run("cases", "check", "--ceiling", "--diseases", "ophthalmology,haematology").stdout
    assert "by department" in shown
    assert "ophthalmology" in shown and "haematology" in shown
    assert "by disease" in shown
