"""Wrong options that a model made are checked; those of the knowledge are what the patient might have."""

import pytest

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import TimedOut
from polyclinic.evaluations.aie.distractors import with_made_questions, with_questions
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted

KNOWLEDGE = read_knowledge()


def case(id, name, *, language="en", told=""):
    record = Record(presentation=Presentation(complaint=told or "?", language=language), history=History(present=told))
    return Case(id=id, record=record, truth=Truth(diagnoses=(Diagnosis(name=name),)))


def test_wrong_options_look_like_the_right_disease_or_are_of_its_department():
    wrong = []
    for language in ("en", "zh"):
        by_name = {disease.name.get(language): disease for disease in KNOWLEDGE.diseases.values()}
        cases = [case(name, name, language=language) for name in by_name]
        for one in with_questions(cases, KNOWLEDGE, seed=1):
            right = by_name[one.id]
            for option in one.question.options.values():
                other = by_name[option]
                alike = other.id in right.differential or right.id in other.differential
                if not alike and other.department != right.department:
                    wrong.append((one.id, option))
    # Groups of five go beyond small departments; by chance one in ten would be alike.
    assert len(wrong) < 0.5 * 4 * 2 * len(KNOWLEDGE.diseases)


def test_what_the_knowledge_has_not_stands_beside_what_fits_the_patient():
    ill = case("1", "Quokka fever", told="I have had ear pain and a fever for two days, and I hear badly.")
    (asked,) = with_questions([ill], KNOWLEDGE, seed=1)
    assert "Acute Otitis Media" in asked.question.options.values()
    assert not {"Pulmonary Embolism", "Gout"} & set(asked.question.options.values())


def test_a_part_or_another_spelling_of_the_right_one_is_no_wrong_one():
    ill = case("1", "Bleeding peptic ulcer of the stomach", told="Black stools and pain in the belly.")
    others = [case("2", "bleeding peptic ulcer of stomach"), case("3", "peptic ulcer")]
    (asked, *_) = with_questions([ill, *others], KNOWLEDGE, seed=1)
    assert not {"bleeding peptic ulcer of stomach", "peptic ulcer", "Peptic Ulcer"} & {
        *asked.question.options.values()
    } - {ill.truth.diagnoses[0].name}


def model(*answers, alone="A"):
    told = []
    script = iter(answers)

    def answer(messages):
        told.append(messages)
        return alone if "without the question" in messages[0][1] else next(script)

    return Scripted(answer), told


def named(*names):
    return {"analysis": "", "diseases": list(names)}


@pytest.mark.parametrize("alone", ["A", "B", "C", "D", "E"])
async def test_what_a_model_names_is_checked_and_asked_for_again(alone):
    ill = case("1", "Influenza A")
    door, told = model(
        named("flu A", "Influenza A (H1N1)", "Measles", "Dengue", "measles"),
        named("Malaria", "Typhoid fever", "Influenza A"),
        alone=alone,
    )
    came = await with_made_questions([ill], door, KNOWLEDGE, seed=1)
    (asked,) = came.cases
    wrong = {text for key, text in asked.question.options.items() if key not in asked.truth.answers}
    assert wrong == {"Measles", "Dengue", "Malaria", "Typhoid fever"}
    assert (came.made, came.filled, came.asked, came.alone) == (1, 0, 1, alone in asked.truth.answers)
    assert came.dropped >= 3
    assert "flu A" in told[1][-1][1]


async def test_a_model_that_fails_leaves_the_options_to_the_knowledge():
    ill = case("1", "Influenza A")
    came = await with_made_questions([ill], Scripted(lambda _: TimedOut("late")), KNOWLEDGE, seed=1)
    assert came.cases == tuple(with_questions([ill], KNOWLEDGE, seed=1))
    assert (came.made, came.filled, came.asked) == (1, 4, 0)
