"""MDAgents: what each level costs, who is shown what, and what becomes of failures."""

import re

import pytest
from tests.tables import each_row

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, Refused, Unreachable, UserError
from polyclinic.methods.mdagents import mdagents
from polyclinic.questions.examples import Example


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
                return [{"field": "cardiology", "reports_to": 0}] * experts
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
        if purpose.startswith(("investigate", "report")):
            return f"Text of {purpose}."
        assert purpose == "decision", purpose
        return opinion(answer, "Decided.")

    return say


UNTIL_AGREED = {"ends": "agreement", "turns": 1, "max_rounds": 3}
TALK = {f"remark {n}.{t}": {"to": [1, 2], "text": "Listen."} for n in range(1, 6) for t in range(1, 6)}
DISSENT = {f"opinion {n}, expert 2": opinion("C", f"Against, {n}.") for n in range(1, 5)}


def cost(outcome):
    return outcome.calls, outcome.round_trips


@pytest.mark.parametrize(
    ("level", "given", "expected"),
    [
        ("low", {}, (2, 2)),
        ("moderate", {}, (14, 6)),
        ("moderate", TALK, (163, 39)),
        ("moderate", UNTIL_AGREED, (8, 4)),
        ("moderate", UNTIL_AGREED | {"opinion 1, expert 2": opinion("C")}, (8 + 11, 7)),
        ("moderate", UNTIL_AGREED | DISSENT, (41, 13)),
        ("high", {}, (15, 12)),
    ],
)
async def test_what_a_level_costs(by_purpose, question, level, given, expected):
    settings = {key: value for key, value in given.items() if key in UNTIL_AGREED}
    model = by_purpose(answers(level, given))
    outcome = await mdagents(question, model, **settings)
    assert (outcome.answer, outcome.rationale, outcome.end) == ("B", "Decided.", OutcomeEnd.ANSWERED)
    assert cost(outcome) == expected
    assert len({call.purpose for call in model.seen}) == outcome.calls
    assert all("rumbling diastolic murmur" in call.user and "B. Mitral" in call.user for call in model.seen)


@pytest.mark.parametrize(
    ("level", "numbers", "expected"),
    [
        ("moderate", {"experts": 1}, (6, 6)),
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
    outcome = await mdagents(question, model, **UNTIL_AGREED | {"turns": 5})
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
    await mdagents(question, model, max_rounds=1)
    heard = {call.purpose for call in model.shown("opinion 2") if "Ahem." in call.user}
    assert heard == {"opinion 2, expert 4"}
    for call in [*model.shown("remark"), *model.shown("report"), *model.shown("opinion 2")]:
        assert "An opening snap." in call.user
        assert "Opinion of expert 2 (cardiology): C" in call.user
    for call in [*model.shown("remark"), *model.shown("opinion 2")]:
        assert "Text of report 1." in call.user
    assert not any("An opening snap." in call.user for call in model.shown("opinion 1"))
    decision = model.shown("decision")[0].user
    assert all(f"Why in opinion 2, expert {n}." in decision for n in range(1, 6))
    assert len({call.user for call in model.shown("opinion 1")}) == 5


async def test_the_hierarchy_decides_who_is_shown_whose_opinion(by_purpose, question):
    """1 above 2, 2 above 3; 4 and 5 stand alone, hear everybody and are heard by all."""
    above = [0, 1, 2, 0, 9]
    given = {
        "recruit": [{"field": "cardiology", "reports_to": number} for number in above],
        "remark 1.1, expert 1": {"to": [2, 3, 4], "text": "Ahem."},
    }
    model = by_purpose(answers("moderate", given))
    await mdagents(question, model, max_rounds=1, turns=1)
    shown = {
        call.purpose[-1]: {n for n in range(1, 6) if f"Why in opinion 1, expert {n}." in call.user}
        for call in model.shown("opinion 2")
    }
    everybody = {1, 2, 3, 4, 5}
    assert shown == {"1": {1, 2, 4, 5}, "2": {1, 2, 3, 4, 5}, "3": {2, 3, 4, 5}, "4": everybody, "5": everybody}
    assert {call.purpose[-1] for call in model.shown("opinion 2") if "Ahem." in call.user} == {"2", "4"}
    for call in [*model.shown("report"), *model.shown("decision")]:
        assert "Expert 2 reports to expert 1." in call.user
        assert "Expert 5 reports" not in call.user


async def test_silence_in_the_first_round_leaves_the_first_opinions_to_the_decision(by_purpose, question):
    model = by_purpose(answers("moderate", DISSENT))
    outcome = await mdagents(question, model)
    assert cost(outcome) == (14, 6)
    decision = model.shown("decision")[0]
    assert "Opinion of expert 2 (cardiology): C" in decision.user
    assert all(f"Why in opinion 1, expert {n}." in decision.user for n in (1, 3, 4, 5))
    assert "the majority of their answers" in decision.system
    by_reasons = by_purpose(answers("moderate", DISSENT))
    await mdagents(question, by_reasons, moderator="reasons")
    assert "not the number of voices" in by_reasons.shown("decision")[0].system


async def test_silence_behind_a_remark_is_answered_and_ends_the_debate(by_purpose, question):
    given = {"remark 1.1, expert 3": {"to": [1], "text": "Listen."}}
    model = by_purpose(answers("moderate", given))
    outcome = await mdagents(question, model)
    # Triage, recruiting, opinions, report, a turn with a remark and a silent one, opinions anew, decision.
    assert cost(outcome) == (2 + 5 + 1 + 2 * 5 + 5 + 1, 2 + 1 + 1 + 2 + 1 + 1)
    assert not model.shown("report 2") and "Why in opinion 2, expert 1." in model.shown("decision")[0].user


@pytest.mark.parametrize("level", ["low", "moderate", "high"])
async def test_the_decision_has_a_temperature_of_its_own(by_purpose, question, level):
    model = by_purpose(answers(level))
    await mdagents(question, model, temperature=0.9)
    assert {call.options["temperature"] for call in model.seen if call.purpose != "decision"} == {0.9}
    assert model.shown("decision")[0].options["temperature"] == 0


async def test_five_solved_questions_are_drawn_and_shown_to_who_answers_first(by_purpose, question):
    pool = [
        Example(
            question=Question(id=f"e{n}", stem=f"Solved {n}?", options={"A": "x"}), key=("A",), reasoning=f"Why {n}."
        )
        for n in range(9)
    ]
    for level, purpose in (("low", "decision"), ("moderate", "opinion 1, expert 1")):
        model = by_purpose(answers(level))
        await mdagents(question, model, examples=pool, seed=1)
        told = model.shown(purpose)[0].user
        assert sum(f"Solved {n}?" in told and f"Why {n}." in told for n in range(9)) == 5
        assert not any("Solved" in call.user for call in model.seen if not call.purpose.startswith(purpose[:9]))


async def test_second_turn_hears_the_first(by_purpose, question):
    given = {"opinion 1, expert 2": opinion("C"), "remark 1.1, expert 2": {"to": [3], "text": "Ahem."}}
    model = by_purpose(answers("moderate", given))
    await mdagents(question, model, turns=2, max_rounds=1)
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
    outcome = await mdagents(question, model, **UNTIL_AGREED)
    assert cost(outcome) == (19, 7)
    assert [call.purpose for call in outcome.trace if call.error] == ["opinion 1, expert 2"]
    assert "Opinion of expert 2" not in model.shown("report")[0].user
    assert outcome.answer == "B"


async def test_an_opinion_that_was_lost_is_not_replaced_by_the_one_before(by_purpose, question):
    given = {"opinion 1, expert 2": opinion("C", "Before."), "opinion 2, expert 2": "?"}
    model = by_purpose(answers("moderate", given))
    await mdagents(question, model, **UNTIL_AGREED | {"max_rounds": 1})
    assert "Before." not in model.shown("decision")[0].user


async def test_an_unusable_remark_or_report_is_silence(by_purpose, question):
    given = {"opinion 1, expert 2": opinion("C"), "remark 1.1": "To all!", "report 1": " "}
    outcome = await mdagents(question, by_purpose(answers("moderate", given)), **UNTIL_AGREED)
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


@pytest.mark.parametrize("stage", ["remark 1.1, expert 1", "report 1", "opinion 2, expert 5"])
async def test_an_endpoint_that_fails_in_the_discussion_ends_it(by_purpose, question, stage):
    model = by_purpose(answers("moderate", {**DISSENT, stage: Unreachable("nobody")}))
    assert (await mdagents(question, model, **UNTIL_AGREED)).end is OutcomeEnd.FAILED


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
    for second, expected in ((["C", "A"], (8, 4)), (["A"], (19, 7))):
        model = by_purpose(answers("moderate", {"opinion 1, expert 2": opinion(second)}, answer=["A", "C"]))
        assert cost(await mdagents(several, model, **UNTIL_AGREED)) == expected


@pytest.mark.parametrize("level", ["low", "moderate", "high"])
async def test_a_chinese_question_is_discussed_in_chinese(by_purpose, level):
    chinese = Question(id="q", stem="最可能的诊断是什么？", options={"A": "感冒", "B": "肺炎"}, language="zh")
    given = {"opinion 1, expert 2": opinion("A"), "remark 1.1, expert 2": {"to": [1], "text": "请看。"}}
    model = by_purpose(answers(level, given))
    assert (await mdagents(chinese, model, max_rounds=1, examples=[])).answer == "B"
    for call in model.seen:
        assert "研究和教学" in call.system
        said = re.sub(r"(Text|Task \d|Goal|Why|Because)[^.]*\.|cardiology|internal medicine", "", call.user)
        assert not re.search(r"[A-Za-z]{2,}", said), said
