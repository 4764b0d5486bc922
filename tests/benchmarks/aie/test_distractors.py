"""Wrong options: four, none of them right under another name, the same for the same seed."""

import msgspec
import pytest
from bench import options
from hypothesis import given, settings
from hypothesis import strategies as st

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.evaluations.aie.distractors import WRONG_OPTIONS, with_questions
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.accuracy import identity

KNOWLEDGE = read_knowledge()
NAMES = {
    language: [name for disease in KNOWLEDGE.diseases.values() for name in [disease.name.get(language)]]
    for language in ("en", "zh")
}


def case(id, *diagnoses, language="en"):
    record = Record(presentation=Presentation(complaint="?", language=language))
    return Case(id=id, record=record, truth=Truth(diagnoses=tuple(Diagnosis(name=name) for name in diagnoses)))


def check(case):
    right = [case.question.options[key] for key in case.truth.answers]
    assert right == [case.truth.diagnoses[0].name]
    options = list(case.question.options.values())
    assert len(options) == 1 + WRONG_OPTIONS
    assert list(case.question.options) == ["A", "B", "C", "D", "E"]
    meant = [identity(option, KNOWLEDGE) for option in options]
    assert len(set(meant)) == len(meant)
    for diagnosis in case.truth.diagnoses:
        same = identity(diagnosis.name, KNOWLEDGE)
        wrong = [identity(option, KNOWLEDGE) for option in options if option not in right]
        assert not any(same in one or one in same for one in wrong)
    assert case.question.language == case.presentation.language


@pytest.mark.slow
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32), language=st.sampled_from(["en", "zh"]))
def test_generated_cases(seed, language):
    cases = list(generate(KNOWLEDGE, n=6, seed=seed, language=language))
    made = with_questions(cases, KNOWLEDGE, seed=seed)
    for one, before in zip(made, cases, strict=True):
        check(one)
        assert (one.id, one.record, one.truth.diagnoses) == (before.id, before.record, before.truth.diagnoses)
    assert made == with_questions(cases, KNOWLEDGE, seed=seed)


@pytest.mark.slow
@settings(max_examples=15)
@given(
    names=st.lists(
        st.lists(
            st.sampled_from([*NAMES["en"], "flu", "Common Cold", "the asthma", "Gout", "Acute gout"]),
            min_size=1,
            max_size=3,
        ),
        min_size=1,
        max_size=5,
    ),
    seed=st.integers(0, 9),
)
def test_any_names(names, seed):
    for one in with_questions([case(f"c{n}", *some) for n, some in enumerate(names)], KNOWLEDGE, seed=seed):
        options = list(one.question.options.values())
        meant = [identity(option, KNOWLEDGE) for option in options]
        assert len(set(meant)) == len(meant)
        assert [one.question.options[key] for key in one.truth.answers] == [one.truth.diagnoses[0].name]
        others = {identity(diagnosis.name, KNOWLEDGE) for diagnosis in one.truth.diagnoses[1:]}
        assert not others & {m for m in meant if m != identity(one.truth.diagnoses[0].name, KNOWLEDGE)}


@pytest.mark.slow
def test_the_right_one_under_another_name_is_no_wrong_one():
    disease = next(iter(KNOWLEDGE.diseases.values()))
    cases = [
        case("mine", disease.name.en),
        case("other", disease.name.en.upper()),
        case("part", f"Severe {disease.name.en}"),
    ]
    (mine, other, _) = with_questions(cases, KNOWLEDGE, seed=3)
    for one in (mine, other):
        meant = [identity(option, KNOWLEDGE) for option in one.question.options.values()]
        assert meant.count(disease.id) == 1


def test_the_place_of_the_right_one_says_nothing():
    cases = [case(f"c{n}", NAMES["en"][0]) for n in range(200)]
    keys = [one.truth.answers[0] for one in with_questions(cases, KNOWLEDGE, seed=1)]
    assert all(20 < keys.count(key) < 60 for key in "ABCDE")
    assert keys != [one.truth.answers[0] for one in with_questions(cases, KNOWLEDGE, seed=2)]


def test_a_cases_options_hang_on_neither_its_place_nor_its_neighbours_order():
    cases = [case(f"c{n}", name) for n, name in enumerate(NAMES["en"])]
    made = {one.id: one for one in with_questions(cases, KNOWLEDGE, seed=1)}
    assert made == {one.id: one for one in with_questions(cases[::-1], KNOWLEDGE, seed=1)}


def test_own_questions_are_kept_and_no_diagnosis_gives_none():
    question = Question(id="q", stem="Which?", options={"A": "x", "B": "y"})
    own = msgspec.structs.replace(case("own", "Gout"), question=question)
    kept, nothing = with_questions([own, case("nothing")], KNOWLEDGE, seed=1)
    assert kept is own
    assert nothing.question is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", ["aie/HospitalCases.json", "aie/MedicalExam.json", "ai_hospital/patients_small_10.json"]
)
def test_real_cases(shared_data, file):
    cases = list(read_cases(shared_data / "cases" / file))
    for one, before in zip(with_questions(cases, KNOWLEDGE, seed=1), cases, strict=True):
        if before.question is not None:
            assert one is before
        elif before.truth.diagnoses:
            check(one)


def test_a_kind_of_the_right_one_is_no_wrong_one():
    cases = [
        case("a", "Influenza A"),
        case("b", "Influenza A (H1N1)"),
        case("c", "influenza"),
        case("d", "flu A, left"),
    ]
    options = with_questions(cases, KNOWLEDGE, seed=0)[0].question.options.values()
    assert not {"Influenza A (H1N1)", "influenza", "flu A, left"} & set(options)
    assert "Influenza B" in options


@pytest.mark.slow
@pytest.mark.parametrize("diseases", ["all", "respiratory"])
def test_who_sees_the_options_alone_guesses_no_better_than_by_chance(diseases):
    learnt, asked = (options.questions(KNOWLEDGE, diseases, 2_000, "en", seed=seed) for seed in (1, 2))
    right = options.guessed(learnt, asked, KNOWLEDGE, "en")
    assert max(right.values()) <= options.CHANCE + options.ALLOWED, right


def test_a_disease_has_other_options_in_other_cases():
    made = with_questions([case(f"c{n}", "Gout") for n in range(20)], KNOWLEDGE, seed=0)
    assert len({tuple(sorted(one.question.options.values())) for one in made}) >= 4
