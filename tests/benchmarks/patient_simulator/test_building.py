"""A test set for patients: rounds of dialogue, questions of eight kinds behind each, answers out of the record."""

import json

import pytest

from polyclinic.evaluations.patient_simulator.building import KINDS, build_by_model, build_by_rules
from polyclinic.evaluations.patient_simulator.evaluation import put_questions, read_labelled
from polyclinic.events import Role, Said, State
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.dialogue import information_of
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.players.player import PatientTurn, Purpose

KNOWLEDGE = read_knowledge()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_offline_every_round_has_its_eight_questions(language, tmp_path):
    cases = list(generate(KNOWLEDGE.select("respiratory"), n=1, seed=2, language=language))
    built = [await build_by_rules(case, KNOWLEDGE, rounds=10, seed=1) for case in cases]
    for case, one in zip(cases, built, strict=True):
        assert one == await build_by_rules(case, KNOWLEDGE, rounds=10, seed=1)
        tests = one.record["patient_test"]
        assert (list(tests), len(one.record["dialogue"])) == (list(map(str, range(10))), 10)
        assert one.questions + one.lacking == 80
        known = information_of(case)
        for of_round in tests.values():
            assert list(of_round) == [kind for kind in KINDS if kind in of_round]
            assert all(of_round[kind]["answer"] in known for kind in ("A-A-A", "B-A-A") if kind in of_round)
            assert not any(of_round[kind]["answer"] in known for kind in ("A-A-B", "B-A-B") if kind in of_round)
        # What is asked for is not asked for twice as long as there is something else.
        assert len({of_round["A-A-B"]["question"] for of_round in tests.values()}) == 10
    path = tmp_path / "set.json"
    path.write_text(json.dumps([one.record for one in built]), encoding="utf-8")
    read = read_labelled(path)
    assert [len(case.questions) for case in read] == [one.questions for one in built]
    assert all(question.replied == "" for case in read for question in case.questions)


@pytest.mark.slow
async def test_a_question_is_put_behind_the_dialogue_before_it(tmp_path):
    case = next(generate(KNOWLEDGE, n=1, seed=2))
    path = tmp_path / "set.json"
    built = await build_by_rules(case, KNOWLEDGE, rounds=3, seed=1)
    path.write_text(json.dumps([built.record]), encoding="utf-8")
    heard = {}

    def patient(ask, role):
        if ask.purpose is Purpose.OPEN:
            return PatientTurn("I am ill.")
        said = [event for event in role.seen if isinstance(event, Said)]
        heard[said[-1].text] = said
        return PatientTurn("Yes.")

    (labelled,) = read_labelled(path)
    await put_questions(labelled, Minds(patient=patient, knowledge=KNOWLEDGE, seed=1))
    for question in labelled.questions:
        said = heard[question.text]
        assert len(said) == 2 + 2 * question.turn
        assert [event.text for event in said if event.who is Role.DOCTOR][:-1] == [
            one["doctor"] for one in built.record["dialogue"][: question.turn]
        ]


async def test_a_model_writes_it_and_what_is_effective_is_matched():
    case = next(generate(KNOWLEDGE, n=1, seed=2))
    passage = case.record.history.symptoms[0]
    told = []

    def answer(messages):
        told.append(messages[-1][1])
        if "`rounds`" in messages[0][1]:
            return {"rounds": [{"doctor": f"Question {n}?", "patient": f"Answer {n}."} for n in range(3)]}
        kinds = {state.name.lower(): {"question": f"{state}?", "answer": "No."} for state in KINDS}
        kinds["effective_inquiry"]["answer"] = passage
        kinds["effective_advice"]["answer"] = f"It says: {passage}, or so"
        return {"analysis": "", **kinds}

    built = await build_by_model(case, Scripted(answer), rounds=2)
    assert (built.questions, built.matched, len(built.record["dialogue"])) == (16, 2, 2)
    assert "Question 0?" not in told[1]
    assert "Doctor: Question 0?\nPatient: Answer 0." in told[2]
    for of_round in built.record["patient_test"].values():
        assert of_round[State.EFFECTIVE_INQUIRY]["answer"] == passage
        assert of_round[State.EFFECTIVE_ADVICE]["answer"] in information_of(case)
        assert all(one["human_state"] == kind and one["human_answer"] == "" for kind, one in of_round.items())
