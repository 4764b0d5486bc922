"""The evaluation: every doctor on every case, what is counted, what is outside the means, who is compared."""

import pytest

from polyclinic.cases.loaders import read_cases
from polyclinic.errors import BadInput, Refused, TimedOut
from polyclinic.evaluations.aie.declaration import aie
from polyclinic.evaluations.aie.distractors import with_questions
from polyclinic.evaluations.aie.evaluation import LIMITS
from polyclinic.events import End
from polyclinic.generation.draw import generate
from polyclinic.judging.pairs import CRITERIA
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.conversation import METRICS
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.players.player import Choice, DoctorTurn, Purpose

N = 6
SPLITTERS = {"en": "nltk", "zh": "rjieba"}


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


@pytest.fixture(params=["en", "zh"])
def language(request):
    pytest.importorskip(SPLITTERS[request.param], reason="cuts text into words; of the extra 'evals'")
    return request.param


@pytest.fixture
def cases(knowledge, language):
    return with_questions(list(generate(knowledge, n=N, seed=5, language=language)), knowledge, seed=5)


def scripted(cases, *, turns=1, right=True, failing=None):
    """A doctor of few words who knows, or never knows; `failing` maps a case's id to what goes wrong, and when."""
    by_presentation = {case.presentation: case for case in cases}

    def answer(ask, role):
        case = by_presentation[role.presentation]
        error, with_dialogue = (failing or {}).get(case.id, (None, None))
        if error is not None and with_dialogue == (role.record is None):
            raise error
        if ask.purpose is Purpose.CHOOSE:
            keys = [key for key in case.question.options if (key in case.truth.answers) == right]
            return Choice(keys[0])
        done = role.max_turns - role.turns_left() + 1 >= turns
        return DoctorTurn(say="Since when? 多久了？", conclude=done)

    return answer


def minds(knowledge, doctor="rules"):
    return Minds(doctor=doctor, knowledge=knowledge, seed=5)


@pytest.mark.slow
async def test_two_doctors(cases, knowledge, language):
    steps = []
    came = await aie(cases, seed=1).hold(
        {"rules": minds(knowledge), "wrong": minds(knowledge, scripted(cases, right=False, turns=2))},
        advance=lambda: steps.append(1),
    )
    assert len(steps) == 2 * 2 * N
    rules, wrong = came.doctors
    assert (rules.name, wrong.name) == ("rules", "wrong")
    for doctor in came.doctors:
        assert [visit.case for visit in doctor.visits] == [case.id for case in cases]
        assert all(visit.turns < LIMITS[language] for visit in doctor.visits)
        assert set(doctor.summary.metrics) == set(METRICS)
        assert {doctor.summary.metrics[name].n for name in METRICS if name != "AVG_LEN"} == {N}
        assert (doctor.mcqe.n, doctor.mcqe_failed, doctor.summary.failed, doctor.summary.left_out) == (N, 0, 0, ())
        assert sum(one["diagnosis"].n for one in doctor.by_length.values()) == N
        assert {one["coverage"].n for one in doctor.by_length.values()} == {
            one["diagnosis"].n for one in doctor.by_length.values()
        }
        assert all(sum(shares.values()) == pytest.approx(100) for shares in doctor.by_turn.values())
        assert sum(one["diagnosis"].n for one in doctor.by_source.values()) == N
        assert sum(one["mcqe"].n for one in doctor.by_source.values()) == N
        assert list(doctor.by_length) == sorted({visit.turns for visit in doctor.visits})
    assert list(wrong.by_length) == [2]
    assert wrong.summary.metrics["DIAGNOSIS"].mean == wrong.mcqe.mean == 0
    # None of them right is no certainty: the interval is that of a share.
    assert wrong.summary.metrics["DIAGNOSIS"].high > 5 < wrong.mcqe.high
    assert rules.mcqe.mean >= 50
    assert rules.summary.metrics["COVERAGE"].mean > wrong.summary.metrics["COVERAGE"].mean


@pytest.mark.slow
async def test_doctors_are_compared_with_holm(cases, knowledge):
    doctors = {
        "right": minds(knowledge, scripted(cases)),
        "wrong": minds(knowledge, scripted(cases, right=False)),
        "rules": minds(knowledge),
    }
    came = await aie(cases, seed=1).hold(doctors)
    assert len(came.comparisons) == 3 * len(METRICS)
    for one in came.comparisons:
        assert one.difference.n == N
        assert one.p_holm >= one.difference.p
    (diagnosis,) = [
        one for one in came.comparisons if (one.first, one.second, one.measure) == ("right", "wrong", "DIAGNOSIS")
    ]
    assert diagnosis.difference.mean == 100
    assert diagnosis.difference.p == pytest.approx(2 / 2**N)  # McNemar: all cases are decided one way
    # The same words: nothing but the choice differs.
    (length,) = [
        one for one in came.comparisons if (one.first, one.second, one.measure) == ("right", "wrong", "AVG_LEN")
    ]
    assert (length.difference.mean, length.p_holm) == (0, 1)
    assert came == await aie(cases, seed=1).hold(doctors)


@pytest.mark.slow
async def test_no_answer_is_outside_every_mean_and_an_unusable_one_is_wrong(cases, knowledge):
    failing = {
        cases[0].id: (TimedOut("late"), True),
        cases[1].id: (Refused("no"), True),
        cases[2].id: (TimedOut("late"), False),
    }
    doctors = {"right": minds(knowledge, scripted(cases, failing=failing)), "rules": minds(knowledge)}
    came = await aie(cases, seed=1).hold(doctors)
    doctor = came.doctors[0]
    assert [visit.end for visit in doctor.visits[:3]] == [End.FAILED, End.FAILED, End.CONCLUDED]
    assert (doctor.summary.failed, doctor.summary.unreadable) == (1, 1)
    assert [(one.id, one.problem, one.failed) for one in doctor.summary.left_out] == [
        (cases[0].id, "the visit failed: TimedOut", True),
        (cases[1].id, "the doctor's answer could not be used: Refused", False),
    ]
    diagnosis = doctor.summary.metrics["DIAGNOSIS"]
    assert (diagnosis.mean, diagnosis.n) == (pytest.approx(100 * (N - 2) / (N - 1)), N - 1)
    assert doctor.summary.metrics["COVERAGE"].n == N - 2
    assert (doctor.mcqe.mean, doctor.mcqe.n, doctor.mcqe_failed) == (100, N - 1, 1)
    assert sum(one["diagnosis"].n for one in doctor.by_length.values()) == N - 1
    assert sum(one["mcqe"].n for one in doctor.by_source.values()) == N - 1
    assert {c.measure: c.difference.n for c in came.comparisons}["DIAGNOSIS"] == N - 1


@pytest.mark.slow
async def test_the_number_of_turns_can_be_given(cases, knowledge):
    came = await aie(cases[:2], max_turns=3, seed=1).hold({"talks": minds(knowledge, scripted(cases, turns=99))})
    assert {visit.turns for visit in came.doctors[0].visits} == {3}
    assert came.comparisons == ()


async def test_no_doctors():
    assert (await aie([], seed=1).hold({})).doctors == ()


def test_a_case_without_a_question(knowledge):
    (case,) = generate(knowledge, n=1, seed=1)
    with pytest.raises(BadInput, match=f"1 cases have no question with options, such as {case.id}"):
        aie([case])


@pytest.mark.slow
@pytest.mark.parametrize(("file", "needs"), [("HospitalCases.json", "rjieba"), ("MedicalExam.json", "nltk")])
async def test_real_cases_evaluated_judged_and_correlated(shared_data, knowledge, file, needs):
    pytest.importorskip(needs, reason="cuts text into words; of the extra 'evals'")
    cases = list(read_cases(shared_data / "cases" / "aie" / file))[:4]
    doctors = {"rules": minds(knowledge), "right": minds(knowledge, scripted(cases, turns=3))}
    came = await aie(cases, seed=1).hold(doctors)
    for doctor in came.doctors:
        assert len(doctor.summary.scores) + len(doctor.summary.left_out) == len(cases)
        assert sum(one["diagnosis"].n for one in doctor.by_length.values()) == len(doctor.summary.scores)
    right = came.doctors[1]
    assert (right.summary.metrics["DIAGNOSIS"].mean, right.mcqe.mean) == (100, 100)

    def judge(messages):
        view = "doctor" if "`inquiry`" in messages[0][1] else "patient"
        first, second = messages[1][1].split("\n\n=====")[-2:]
        better = "first" if first.count("\n") > second.count("\n") else "second"
        return {"analysis": ""} | dict.fromkeys(CRITERIA[view], better)

    judging = aie(cases, judge=Scripted(judge), groups={"rules": "ours", "right": "theirs"}, seed=1)
    came = await judging.hold(doctors)
    assert came.judgements.views["doctor"]["total"].n == len(cases)
    assert came.correlations.pairs.n[0][-1] == len(cases)
    assert set(came.correlations.groups) == {"ours - theirs"}
