"""MDAgents: what each level costs, who is shown what, and what becomes of failures."""

import re

import pytest
from tests.tables import each_row

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, Refused, Unreachable, UserError
from polyclinic.methods.mdagents import mdagents


def opinion(answer, why="Because."):
    return {"rationale": why, "answer": answer}


def team(name, members):
    return {"goal": f"Goal of {name}.", "lead": "internal medicine", "members": ["cardiology"] * members}


def answers(level, given=None, *, answer="B", experts=5, diagnostic=1, members=2):
    """Returns a clinic's answers by purpose; `given` replaces those whose purpose starts with its key."""

    def say(purpose, text):
        for start, value in (given or {}).items():
            if purpose == start or purpose.startswith(start + ","):
                return value
        if purpose == "triage":
            return {"reason": "So.", "level": level}
        if purpose == "recruit":
            if level == "moderate":
                return ["cardiology"] * experts
            diagnosis = [team(f"diagnosis {n}", members) for n in range(1, diagnostic + 1)]
            return {
                "assessment": team("assessment", members),
                "diagnosis": diagnosis,
                "review": team("review", members),
            }
        if purpose.startswith("opinion"):
            return opinion(answer, f"Why in {purpose}.")
        if purpose.startswith("remark"):
            return {"to": [], "text": ""}
        if purpose.startswith("assign"):
            return [f"Task {n} of {purpose}." for n in range(1, members + 1)]
        if purpose.startswith(("feedback", "investigate", "report")):
            return f"Text of {purpose}."
        assert purpose == "decision", purpose
        return opinion(answer, "Decided.")

    return say


DISSENT = {f"opinion {n}, expert 2": opinion("C", f"Against, {n}.") for n in range(1, 5)}


def cost(outcome):
    return outcome.calls, outcome.round_trips


@pytest.mark.parametrize(
    ("level", "given", "expected"),
    [
        ("low", {}, (2, 2)),
        ("moderate", {}, (8, 4)),
        ("moderate", {"opinion 1, expert 2": opinion("C")}, (8 + 11, 7)),
        ("moderate", DISSENT, (41, 13)),
        ("high", {}, (15, 12)),
    ],
)
async def test_what_a_level_costs(by_purpose, question, level, given, expected):
    model = by_purpose(answers(level, given))
    outcome = await mdagents(question, model)
    assert (outcome.answer, outcome.rationale, outcome.end) == ("B", "Decided.", OutcomeEnd.ANSWERED)
    assert cost(outcome) == expected
    assert len({call.purpose for call in model.seen}) == outcome.calls
    assert all("rumbling diastolic murmur" in call.user and "B. Mitral" in call.user for call in model.seen)


@pytest.mark.parametrize(
    ("level", "numbers", "expected"),
    [
        ("moderate", {"experts": 1}, (4, 4)),
        ("moderate", {"experts": 3, "max_rounds": 0}, (6, 4)),
        ("high", {"members": 1}, (3 + 3 * 3, 12)),
        ("high", {"diagnostic_teams": 0}, (3 + 2 * 4, 9)),
        ("high", {"diagnostic_teams": 3, "members": 3}, (3 + 5 * 5, 12)),
    ],
)
async def test_what_numbers_cost(by_purpose, question, level, numbers, expected):
    shape = {"experts": 5, "diagnostic": numbers.get("diagnostic_teams", 1)}
    shape |= {key: numbers[key] for key in ("experts", "members") if key in numbers}
    outcome = await mdagents(question, by_purpose(answers(level, **shape)), **numbers)
    assert cost(outcome) == expected
    assert outcome.answer == "B"


async def test_turns_are_paid_until_all_are_silent(by_purpose, question):
    talk = {"to": [1], "text": "Listen."}
    given = {"opinion 1, expert 2": opinion("C"), "remark 1.1, expert 3": talk, "remark 1.2, expert 3": talk}
    model = by_purpose(answers("moderate", given))
    outcome = await mdagents(question, model, turns=5)
    assert cost(outcome) == (8 + 3 * 5 + 1 + 5, 4 + 3 + 1 + 1)
    assert [len(model.shown(f"remark 1.{turn}")) for turn in (1, 2, 3, 4)] == [5, 5, 5, 0]


async def test_a_level_that_is_given_needs_no_triage(by_purpose, question):
    model = by_purpose(answers("high"))
    assert cost(await mdagents(question, model, level="high")) == (14, 11)
    assert not model.shown("triage")


@pytest.mark.parametrize(
    "said", ["It is complex.", {"reason": "", "level": "very high"}, {"reason": "", "level": None}, "moderate or high"]
)
async def test_an_unusable_triage_is_a_failure_and_no_level(by_purpose, question, said):
    model = by_purpose(answers("low", {"triage": said}))
    outcome = await mdagents(question, model)
    assert (outcome.end, outcome.answers, outcome.calls) == (OutcomeEnd.UNREADABLE, frozenset(), 1)


async def test_two_questions_do_not_share_a_level(by_purpose, question):
    first = await mdagents(question, by_purpose(answers("low")))
    second = await mdagents(question, by_purpose(answers("low", {"triage": "?"})))
    assert (first.end, second.end) == (OutcomeEnd.ANSWERED, OutcomeEnd.UNREADABLE)


async def test_what_is_said_reaches_those_it_is_said_to(by_purpose, question):
    given = {
        "opinion 1, expert 2": opinion("C", "An opening snap."),
        "remark 1.1, expert 2": {"to": [4, 2], "text": "Ahem."},
    }
    model = by_purpose(answers("moderate", given))
    await mdagents(question, model)
    heard = {call.purpose for call in model.shown("opinion 2") if "Ahem." in call.user}
    assert heard == {"opinion 2, expert 4"}
    assert "Ahem." in model.shown("feedback 1")[0].user
    for call in [*model.shown("remark"), *model.shown("feedback"), *model.shown("opinion 2")]:
        assert "An opening snap." in call.user
        assert "Opinion of expert 2 (cardiology): C" in call.user
    for call in model.shown("opinion 2"):
        assert "Text of feedback 1." in call.user
    assert not any("An opening snap." in call.user for call in model.shown("opinion 1"))
    decision = model.shown("decision")[0].user
    assert all(f"Why in opinion 2, expert {n}." in decision for n in range(1, 6))
    assert len({call.user for call in model.shown("opinion 1")}) == 5


async def test_second_turn_hears_the_first(by_purpose, question):
    given = {"opinion 1, expert 2": opinion("C"), "remark 1.1, expert 2": {"to": [3], "text": "Ahem."}}
    model = by_purpose(answers("moderate", given))
    await mdagents(question, model, turns=2)
    assert {call.purpose for call in model.shown("remark 1.2") if "Ahem." in call.user} == {"remark 1.2, expert 3"}


async def test_teams_work_in_order_and_on_what_was_found(by_purpose, question):
    model = by_purpose(answers("high", diagnostic=2))
    outcome = await mdagents(question, model, diagnostic_teams=2)
    assert cost(outcome) == (3 + 4 * 4, 12)
    for call in model.seen:
        if "assessment team" in call.purpose:
            assert "Text of report" not in call.user
        elif "diagnosis" in call.purpose:
            assert "Text of report, assessment team." in call.user
            assert call.user.count("Text of report") == 1
        elif "review team" in call.purpose or call.purpose == "decision":
            assert "Text of report, diagnosis 2 team." in call.user
    assert "Text of report, review team." in model.shown("decision")[0].user
    for name in ("assessment", "diagnosis 1", "diagnosis 2", "review"):
        (first, second) = model.shown(f"investigate, {name} team")
        assert f"Task 1 of assign, {name} team." in first.user
        assert f"Task 2 of assign, {name} team." in second.user
        (report,) = model.shown(f"report, {name} team")
        assert all(f"Text of investigate, {name} team, member {n}." in report.user for n in (1, 2))


@pytest.mark.parametrize("said", ["C, or perhaps B", Refused("no"), opinion("E")])
async def test_an_unusable_opinion_is_no_agreement(by_purpose, question, said):
    model = by_purpose(answers("moderate", {"opinion 1, expert 2": said}))
    outcome = await mdagents(question, model)
    assert cost(outcome) == (19, 7)
    assert [call.purpose for call in outcome.trace if call.error] == ["opinion 1, expert 2"]
    assert "Opinion of expert 2" not in model.shown("feedback")[0].user
    assert outcome.answer == "B"


async def test_an_opinion_that_was_lost_is_not_replaced_by_the_one_before(by_purpose, question):
    given = {"opinion 1, expert 2": opinion("C", "Before."), "opinion 2, expert 2": "?"}
    model = by_purpose(answers("moderate", given))
    await mdagents(question, model, max_rounds=1)
    assert "Before." not in model.shown("decision")[0].user


async def test_an_unusable_remark_or_feedback_is_silence(by_purpose, question):
    given = {"opinion 1, expert 2": opinion("C"), "remark 1.1": "To all!", "feedback 1": " "}
    outcome = await mdagents(question, by_purpose(answers("moderate", given)))
    assert (outcome.answer, *cost(outcome)) == ("B", 19, 7)


async def test_a_team_without_a_readable_lead_falls_silent(by_purpose, question):
    model = by_purpose(answers("high", {"assign, diagnosis 1 team": "?"}))
    outcome = await mdagents(question, model)
    assert (outcome.answer, *cost(outcome)) == ("B", 12, 10)
    assert {call.round_trip for call in outcome.trace} == set(range(1, 11))
    assert "Goal of diagnosis 1." not in model.shown("decision")[0].user
    assert "Text of report, review team." in model.shown("decision")[0].user


FAILURES = [
    ("?", OutcomeEnd.UNREADABLE),
    (Refused("no"), OutcomeEnd.REFUSED),
    (CutOff("long"), OutcomeEnd.CUT_OFF),
    (Unreachable("nobody"), OutcomeEnd.FAILED),
]


@each_row(
    ("level", "stage"),
    [
        ("low", "triage"),
        ("low", "decision"),
        ("moderate", "recruit"),
        ("moderate", "opinion 1"),
        ("moderate", "decision"),
        ("high", "recruit"),
        ("high", "decision"),
    ],
)
@each_row(("failure", "end"), FAILURES)
async def test_a_failure_of_what_is_needed_is_the_end_by_name(by_purpose, question, level, stage, failure, end):
    outcome = await mdagents(question, by_purpose(answers(level, {stage: failure})))
    assert (outcome.end, outcome.answers) == (end, frozenset())
    assert outcome.problem


@pytest.mark.parametrize("stage", ["remark 1.1, expert 1", "feedback 1", "opinion 2, expert 5"])
async def test_an_endpoint_that_fails_in_the_discussion_ends_it(by_purpose, question, stage):
    model = by_purpose(answers("moderate", {**DISSENT, stage: Unreachable("nobody")}))
    assert (await mdagents(question, model)).end is OutcomeEnd.FAILED


@pytest.mark.parametrize("stage", ["assign", "investigate", "report"])
async def test_all_teams_silent_is_the_end(by_purpose, question, stage):
    outcome = await mdagents(question, by_purpose(answers("high", {stage: Refused("no")})))
    assert (outcome.end, outcome.answers) == (OutcomeEnd.REFUSED, frozenset())
    gone = await mdagents(question, by_purpose(answers("high", {f"{stage}, review team": Unreachable("nobody")})))
    assert gone.end is (OutcomeEnd.FAILED)


@pytest.mark.parametrize(
    "wrong", [{"experts": 0}, {"max_rounds": -1}, {"turns": 0}, {"diagnostic_teams": -1}, {"members": 0}]
)
async def test_too_few_are_refused_before_any_call(by_purpose, question, wrong):
    model = by_purpose(answers("low"))
    with pytest.raises(UserError, match=next(iter(wrong))):
        await mdagents(question, model, **wrong)
    assert not model.seen


@pytest.mark.parametrize("level", ["low", "moderate", "high"])
async def test_options_of_any_kind(by_purpose, level):
    ten = Question(id="q", stem="Which?", options={key: f"Option {key}" for key in "ABCDEFGHIJ"})
    assert (await mdagents(ten, by_purpose(answers(level, answer="J")))).answer == "J"
    one = Question(id="q", stem="Which?", options={"only": "This"})
    assert (await mdagents(one, by_purpose(answers(level, answer="only")))).answer == "only"
    several = Question(id="q", stem="Which?", options=ten.options, several=True)
    assert (await mdagents(several, by_purpose(answers(level, answer=["C", "A"])))).answers == frozenset("AC")


async def test_several_answers_agree_as_sets(by_purpose):
    several = Question(id="q", stem="Which?", options={"A": "a", "B": "b", "C": "c"}, several=True)
    given = {"opinion 1, expert 2": opinion(["C", "A"])}
    assert cost(await mdagents(several, by_purpose(answers("moderate", given, answer=["A", "C"])))) == (8, 4)
    given = {"opinion 1, expert 2": opinion(["A"])}
    assert cost(await mdagents(several, by_purpose(answers("moderate", given, answer=["A", "C"])))) == (19, 7)


@pytest.mark.parametrize("level", ["low", "moderate", "high"])
async def test_a_chinese_question_is_discussed_in_chinese(by_purpose, level):
    chinese = Question(id="q", stem="最可能的诊断是什么？", options={"A": "感冒", "B": "肺炎"}, language="zh")
    given = {"opinion 1, expert 2": opinion("A"), "remark 1.1, expert 2": {"to": [1], "text": "请看。"}}
    model = by_purpose(answers(level, given))
    assert (await mdagents(chinese, model)).answer == "B"
    for call in model.seen:
        assert "研究和教学" in call.system
        said = re.sub(r"(Text|Task \d|Goal|Why|Because)[^.]*\.|cardiology|internal medicine", "", call.user)
        assert not re.search(r"[A-Za-z]{2,}", said), said
