"""The tree of thoughts: what it costs, which lines it keeps, and what becomes of failures."""

import re

import pytest
from tests.tables import each_row

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, Refused, Unreachable, UserError
from polyclinic.methods.tree_of_thought import tree_of_thought


def answers(given=None, *, breadth=3, scores=None, votes=None, answer="B"):
    """Returns answers by purpose. A thought is named for its parent and place: "T2", then "T2.3"."""

    def say(purpose, text):
        for start, value in (given or {}).items():
            if purpose == start or purpose.startswith(start + ","):
                return value
        thoughts = re.findall(r"T[\d.]*\d", text)
        if purpose.startswith("propose"):
            parent = thoughts[-1] + "." if thoughts else "T"
            return [f"{parent}{n}" for n in range(1, breadth + 1)]
        if purpose.startswith("value"):
            return {"reason": "So.", "score": (scores or {}).get(thoughts[-1], 5)}
        if purpose.startswith("vote"):
            return (votes or {}).get(purpose, "1")
        assert purpose == "decision", purpose
        return {"rationale": "Decided.", "answer": answer}

    return say


def cost(outcome):
    return outcome.calls, outcome.round_trips


def formula(depth, breadth, keep, evaluators=None):
    """As the card states it."""
    lines, calls = 1, 1
    for _ in range(depth):
        calls += lines + (evaluators or lines * breadth)
        lines = min(keep, lines * breadth)
    return calls, 2 * depth + 1


async def test_the_defaults_cost_thirteen_calls_in_five_round_trips(by_purpose, question):
    model = by_purpose(answers())
    outcome = await tree_of_thought(question, model)
    assert (outcome.answer, outcome.rationale, outcome.end) == ("B", "Decided.", OutcomeEnd.ANSWERED)
    assert cost(outcome) == (13, 5) == formula(2, 3, 2)
    assert [sum(call.round_trip == trip for call in outcome.trace) for trip in range(1, 6)] == [1, 3, 2, 6, 1]
    assert len({call.purpose for call in model.seen}) == 13
    assert all("rumbling diastolic murmur" in call.user and "B. Mitral" in call.user for call in model.seen)
    assert all(call.options["temperature"] == 0.7 for call in model.seen)


@each_row("depth", [1, 2, 3])
@each_row("breadth", [1, 4])
@each_row("keep", [1, 2, 9])
async def test_what_numbers_cost(by_purpose, question, depth, breadth, keep):
    size = {"depth": depth, "breadth": breadth, "keep": keep}
    assert cost(await tree_of_thought(question, by_purpose(answers(breadth=breadth)), **size)) == formula(**size)
    voting = await tree_of_thought(question, by_purpose(answers(breadth=breadth)), **size, evaluation="vote", voters=5)
    assert cost(voting) == formula(**size, evaluators=5)


async def test_the_best_by_value_are_kept(by_purpose, question):
    model = by_purpose(answers(scores={"T1": 2, "T2": 9, "T3": 7, "T2.1": 1, "T3.2": 10}))
    await tree_of_thought(question, model)
    grown = [call.user for call in model.shown("propose 2")]
    assert ["T2" in grown[0], "T3" in grown[1], any("T1" in text for text in grown)] == [True, True, False]
    decision = model.shown("decision")[0].user
    assert re.findall(r"T[\d.]*\d", decision) == ["T3", "T3.2"]


async def test_the_best_by_vote_are_kept(by_purpose, question):
    votes = {"vote 1, voter 1": "3", "vote 1, voter 2": "3", "vote 1, voter 3": "2", "vote 2, voter 2": "6"}
    votes |= {"vote 2, voter 3": "6"}
    model = by_purpose(answers(votes=votes))
    outcome = await tree_of_thought(question, model, evaluation="vote")
    assert cost(outcome) == (1 + 3 + 2 + 3 + 1, 5)
    assert all(f"T{n}" in call.user for call in model.shown("vote 1") for n in (1, 2, 3))
    assert ["T3" in model.shown("propose 2")[0].user, "T2" in model.shown("propose 2")[1].user] == [True, True]
    assert re.findall(r"T[\d.]*\d", model.shown("decision")[0].user) == ["T2", "T2.3"]


async def test_among_equals_the_first_is_kept(by_purpose, question):
    model = by_purpose(answers())
    await tree_of_thought(question, model, keep=1)
    assert re.findall(r"T[\d.]*\d", model.shown("decision")[0].user) == ["T1", "T1.1"]


async def test_equal_thoughts_are_evaluated_once(by_purpose, question):
    model = by_purpose(answers({"propose 1, line 1": ["T1", "T1", "T2"]}))
    assert len((await tree_of_thought(question, model)).trace) == 12
    assert len(model.shown("value 1")) == 2


async def test_a_line_that_cannot_be_read_ends_there(by_purpose, question):
    given = {"value 1, line 1": {"reason": "", "score": 11}, "propose 2, line 1": "I would not know."}
    model = by_purpose(answers(given))
    outcome = await tree_of_thought(question, model)
    assert outcome.answer == "B"
    assert cost(outcome) == (1 + 3 + 2 + 3 + 1, 5)
    assert [call.purpose for call in outcome.trace if call.error] == ["value 1, line 1", "propose 2, line 1"]
    assert re.findall(r"T[\d.]*\d", model.shown("decision")[0].user) == ["T3", "T3.1"]


async def test_a_vote_that_cannot_be_read_does_not_count(by_purpose, question):
    votes = {"vote 1, voter 1": "1 or 2", "vote 1, voter 2": "4", "vote 1, voter 3": "3"}
    model = by_purpose(answers(votes=votes))
    outcome = await tree_of_thought(question, model, evaluation="vote", depth=1)
    assert re.findall(r"T[\d.]*\d", model.shown("decision")[0].user) == ["T3"]
    assert outcome.answer == "B"


@each_row("stage", ["propose 1", "value 1", "propose 2", "value 2", "vote 1", "decision"])
@each_row(
    ("failure", "end"),
    [
        ("?", OutcomeEnd.UNREADABLE),
        (Refused("no"), OutcomeEnd.REFUSED),
        (CutOff("long"), OutcomeEnd.CUT_OFF),
        (Unreachable("nobody"), OutcomeEnd.FAILED),
    ],
)
async def test_where_nothing_can_be_used_the_end_has_its_name(by_purpose, question, stage, failure, end):
    evaluation = "vote" if stage.startswith("vote") else "value"
    outcome = await tree_of_thought(question, by_purpose(answers({stage: failure})), evaluation=evaluation)
    assert (outcome.end, outcome.answers) == (end, frozenset())
    assert outcome.problem


async def test_one_call_that_the_endpoint_fails_is_enough(by_purpose, question):
    model = by_purpose(answers({"value 2, line 4": Unreachable("nobody")}))
    assert (await tree_of_thought(question, model)).end is OutcomeEnd.FAILED


@pytest.mark.parametrize("name", ["depth", "breadth", "keep", "voters"])
async def test_too_few_are_refused_before_any_call(by_purpose, question, name):
    model = by_purpose(answers())
    with pytest.raises(UserError, match=f"{name} is 0"):
        await tree_of_thought(question, model, **{name: 0})
    assert not model.seen


async def test_options_of_any_kind(by_purpose):
    ten = Question(id="q", stem="Which?", options={key: f"Option {key}" for key in "ABCDEFGHIJ"})
    assert (await tree_of_thought(ten, by_purpose(answers(answer="J")))).answer == "J"
    one = Question(id="q", stem="Which?", options={"only": "This"})
    assert (await tree_of_thought(one, by_purpose(answers(answer="only")))).answer == "only"
    several = Question(id="q", stem="Which?", options=ten.options, several=True)
    assert (await tree_of_thought(several, by_purpose(answers(answer=["A", "C"])))).answers == frozenset("AC")


@pytest.mark.parametrize("evaluation", ["value", "vote"])
async def test_a_chinese_question_is_thought_about_in_chinese(by_purpose, evaluation):
    chinese = Question(id="q", stem="最可能的诊断是什么？", options={"A": "感冒", "B": "肺炎"}, language="zh")
    model = by_purpose(answers())
    assert (await tree_of_thought(chinese, model, evaluation=evaluation)).answer == "B"
    for call in model.seen:
        assert "研究和教学" in call.system
        assert not re.search(r"[A-Za-z]{2,}", call.user), call.user
