"""Patients as three tasks: what is asked holds nothing of what is so, and what is right is right."""

import msgspec
import pytest

from polyclinic.errors import BadInput
from polyclinic.evaluations.evolution.patients import practice_patients
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.entries import ClinicalTask


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge().select("respiratory")


@pytest.fixture(scope="module", params=["en", "zh"])
def patients(request, knowledge):
    return practice_patients(list(generate(knowledge, n=24, seed=5, language=request.param)), knowledge)


def test_sixteen_examinations_eight_diseases_three_plans(patients):
    one = patients[0]
    assert [len(put.labels) for put in (one.examination(), one.diagnosis(""))] == [16, 8]
    assert len(one.treatment("", one.diagnosis("").labels[0]).labels) == 3


def test_nothing_of_what_is_so_is_asked(patients):
    for one in patients:
        (disease,) = one.right(ClinicalTask.DIAGNOSIS)
        for label in one.examination().labels:
            for put in (one.examination(), one.diagnosis(label)):
                told = f"{put.question.context}\n{put.asked.query}"
                assert disease not in told
                assert one.disease.id not in told
        put = one.treatment("", disease)
        assert set(put.labels).isdisjoint(put.asked.query.split())


def test_a_result_is_told_of_the_examination_that_was_chosen_alone(patients):
    one = patients[0]
    first, other = one.examination().labels[:2]
    results = [f for f in one.case.record.findings if f.examination.casefold() == first.casefold()]
    assert results
    assert all(f.value_text in one.diagnosis(first).question.context for f in results)
    assert all(f.item not in one.diagnosis(other).asked.query for f in results)
    assert all(f.item not in one.examination().question.context for f in results)


def test_what_is_right(patients):
    for one in patients:
        examinations = {one.choices.examinations[label] for label in one.right(ClinicalTask.EXAMINATION)}
        assert examinations == set(one.disease.examinations) - {"physical-examination"}
        (disease,) = one.right(ClinicalTask.DIAGNOSIS)
        assert one.choices.diseases[disease] == one.disease.id
        (grade,) = one.right(ClinicalTask.TREATMENT, diagnosis=disease)
        assert one.choices.grades[grade] == one.severity
        others = [label for label in one.choices.diseases if label != disease]
        assert not any(one.right(ClinicalTask.TREATMENT, diagnosis=label) for label in others)


def test_bad_input_is_named(knowledge):
    case = next(generate(knowledge, n=1, seed=5))
    chinese = next(generate(knowledge, n=1, seed=5, language="zh"))
    ungraded = msgspec.structs.replace(case, truth=msgspec.structs.replace(case.truth, severity=None))
    other = next(generate(read_knowledge().select("cardiology"), n=1, seed=5))
    for cases, problem in (
        ([], "no patients"),
        ([case, case], "two cases have the id 'p5-00001'"),
        ([case, chinese], "patients in en and zh"),
        ([ungraded], "case 'p5-00001' has no severity; needed: mild, moderate, severe"),
        ([other], "allowed: Acute Nasopharyngitis"),
    ):
        with pytest.raises(BadInput, match=problem):
            practice_patients(cases, knowledge)
