"""MMA: what it costs, what the pool holds, and who sees it."""

import pytest

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.errors import UserError
from polyclinic.methods.mma import mma


def added(purpose):
    return {
        "findings": [f"Finding of {purpose}.", "Known to all."],
        "hypotheses": [{"name": "Stenosis", "reason": f"Reason of {purpose}.", "confidence": "high"}],
    }


def answers(given=None):
    def answer(purpose, text):
        for start, value in (given or {}).items():
            if purpose.startswith(start):
                return value
        if purpose == "gather":
            return ["cardiology"] * 4
        return added(purpose) if purpose.startswith("contribute") else {"rationale": "The pool.", "answer": "B"}

    return answer


async def test_ten_calls_in_four_round_trips(by_purpose, question):
    model = by_purpose(answers())
    outcome = await mma(question, model)
    assert (outcome.answer, outcome.calls, outcome.round_trips) == ("B", 10, 4)
    assert [sum(call.round_trip == trip for call in outcome.trace) for trip in range(1, 5)] == [1, 4, 4, 1]


async def test_the_pool_is_what_was_there_before_the_round(by_purpose, question):
    model = by_purpose(answers())
    await mma(question, model)
    first, second = model.shown("contribute 1"), model.shown("contribute 2")
    assert not any("Findings" in call.user for call in first)
    for call in second:
        assert all(f"Finding of contribute 1, specialist {n}." in call.user for n in range(1, 5))
        assert "Finding of contribute 2" not in call.user
    (decision,) = model.shown("decision")
    assert decision.user.count("Known to all.") == 1
    assert decision.user.count("Stenosis (high confidence") == 8
    assert all("B. Mitral" not in call.user for call in [*first, *second, *model.shown("gather")])
    assert "B. Mitral" in decision.user


async def test_who_cannot_be_read_adds_nothing(by_purpose, question):
    outcome = await mma(question, by_purpose(answers({"contribute 1, specialist 2": "words", "contribute 2": ""})))
    assert outcome.answer == "B"
    all_lost = await mma(question, by_purpose(answers({"contribute 1": ""})))
    assert (all_lost.end, all_lost.calls) == (OutcomeEnd.UNREADABLE, 5)


@pytest.mark.parametrize(("settings", "cost"), [({"specialists": 1, "rounds": 1}, (3, 3)), ({"rounds": 3}, (14, 5))])
async def test_settings(by_purpose, question, settings, cost):
    given = {"gather": ["cardiology"]} if "specialists" in settings else {}
    outcome = await mma(question, by_purpose(answers(given)), **settings)
    assert (outcome.calls, outcome.round_trips) == cost


@pytest.mark.parametrize("wrong", [{"specialists": 0}, {"rounds": 0}])
async def test_too_few_are_refused(by_purpose, question, wrong):
    with pytest.raises(UserError):
        await mma(question, by_purpose(answers()), **wrong)
