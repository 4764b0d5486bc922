"""MedAgents: what it costs, who is shown what, and what becomes of failures."""

import asyncio
import re

import pytest
from bench.virtual_time import latencies_of
from tests.tables import each_row

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, Refused, ScriptError, Unreachable, UserError
from polyclinic.methods.medagents import PROMPTS, medagents
from polyclinic.models.direct import Direct
from polyclinic.prompts import read_prompts
from polyclinic.testing.endpoint import Endpoint

YES = {"assessment": "It stands.", "vote": "yes", "modification": ""}


def no(text=None):
    return {"assessment": "It does not.", "vote": "no", "modification": text or ""}


def answers(given=None, *, field="cardiology"):
    """Returns a panel's answers by purpose; `given` replaces those whose purpose starts with its key."""

    def answer(purpose, text):
        for start, value in (given or {}).items():
            if purpose == start or purpose.startswith(start + ","):
                return value(purpose, text) if callable(value) else value
        if purpose.startswith("gather"):
            number = int(
                re.search(r"exactly (\d+) fields|恰好(\d+)个", text).group(1) or re.search(r"恰好(\d+)", text)[1]
            )
            return [field] * number
        if purpose.startswith("analyse"):
            return f"Finding of {purpose}."
        if purpose == "report" or purpose.startswith("revision"):
            return {"key_knowledge": [f"Knowledge of {purpose}."], "total_analysis": f"Analysis of {purpose}."}
        if purpose.startswith("vote"):
            return YES
        if purpose.startswith("modification"):
            return f"Wish of {purpose}."
        assert purpose == "decision", purpose
        return {"rationale": "The murmur.", "answer": "B"}

    return answer


def cost(outcome):
    return outcome.calls, outcome.round_trips


async def test_eighteen_calls_in_six_round_trips_where_all_agree(by_purpose, question):
    model = by_purpose(answers())
    outcome = await medagents(question, model)
    assert (outcome.answer, outcome.rationale, outcome.end) == ("B", "The murmur.", OutcomeEnd.ANSWERED)
    assert cost(outcome) == (18, 6)
    trips = [sum(call.round_trip == trip for call in outcome.trace) for trip in range(1, 7)]
    assert trips == [2, 5, 2, 1, 7, 1]
    assert all(call.options["temperature"] == 1.0 and call.options["top_p"] == 1.0 for call in model.seen)
    assert len({call.purpose for call in model.seen}) == 18


async def test_experts_of_one_name_all_speak_and_are_told_apart(by_purpose, question):
    model = by_purpose(answers(field="cardiology"))
    assert cost(await medagents(question, model)) == (18, 6)
    analysts = model.shown("analyse")
    assert len({call.user for call in analysts}) == 7
    report = model.shown("report")[0].user
    assert all(f"by expert {number} (cardiology)" in report for number in range(1, 8))
    assert len({call.user for call in model.shown("vote")}) == 7


async def test_who_is_shown_what(by_purpose, question):
    model = by_purpose(answers())
    await medagents(question, model)
    without_options = [*model.shown("gather experts on the question"), *model.shown("analyse the question")]
    assert len(without_options) == 6
    for call in model.seen:
        assert "rumbling diastolic murmur" in call.user
        assert ("B. Mitral" in call.user) is (call not in without_options)
    for call in model.shown("analyse the options"):
        for number in range(1, 6):
            assert f"Finding of analyse the question, expert {number}." in call.user
        assert "Finding of analyse the options" not in call.user
    report = model.shown("report")[0].user
    assert all(f"Finding of {call.purpose}." in report for call in model.shown("analyse"))
    for call in [*model.shown("vote"), *model.shown("decision")]:
        assert "Knowledge of report." in call.user
        assert "Analysis of report." in call.user


async def test_what_a_stage_has_in_common_is_a_common_prefix(by_purpose, question):
    model = by_purpose(answers())
    await medagents(question, model)
    votes = model.shown("vote")
    assert len({call.system for call in votes}) == 1
    assert len({call.user.rpartition("You are expert")[0] for call in votes}) == 1


@pytest.mark.parametrize("against", [1, 7])
async def test_a_dissenting_round_adds_a_revision_and_another_round_its_votes(by_purpose, question, against):
    first = {f"vote 1, expert {n}": no(f"Wish {n}.") for n in range(1, against + 1)}
    model = by_purpose(answers(first))
    outcome = await medagents(question, model)
    assert cost(outcome) == (18 + 1 + 7, 8)
    (revision,) = model.shown("revision")
    assert all(f"Wish {n}." in revision.user for n in range(1, against + 1))
    assert "Analysis of report." in revision.user
    for call in [*model.shown("vote 2"), *model.shown("decision")]:
        assert "Analysis of revision 1." in call.user
        assert "Knowledge of revision 1." in call.user
        assert "Analysis of report." not in call.user


async def test_the_modification_of_a_yes_is_not_read(by_purpose, question):
    model = by_purpose(answers({"vote 1": YES | {"modification": "Change it."}}))
    assert cost(await medagents(question, model)) == (18, 6)


@pytest.mark.parametrize("blank", [None, " \n"])
async def test_a_no_without_a_modification_is_a_dissent(by_purpose, question, blank):
    model = by_purpose(answers({"vote 1, expert 3": no(blank)}))
    assert cost(await medagents(question, model)) == (26, 8)
    assert "Expert 3 (cardiology) does not agree, and has not said" in model.shown("revision")[0].user


@pytest.mark.parametrize(("votes", "expected"), [("combined", (35, 11)), ("separate", (56, 14))])
async def test_the_most_that_it_costs(by_purpose, question, votes, expected):
    against = no("Change it.") if votes == "combined" else "no"
    model = by_purpose(answers({f"vote {n}": against for n in (1, 2, 3)}))
    outcome = await medagents(question, model, votes=votes)
    assert cost(outcome) == expected
    assert "Analysis of revision 3." in model.shown("decision")[0].user
    assert outcome.answer == "B"


async def test_separate_asks_only_those_who_said_no_for_modifications(by_purpose, question):
    model = by_purpose(answers({f"vote 1, expert {n}": "no" for n in (2, 6)} | {"vote 1": "yes", "vote 2": "yes"}))
    outcome = await medagents(question, model, votes="separate")
    assert cost(outcome) == (18 + 2 + 1 + 7, 9)
    assert [call.purpose for call in model.shown("modification")] == [f"modification 1, expert {n}" for n in (2, 6)]
    assert all("Analysis of report." in call.user for call in model.shown("modification"))
    revision = model.shown("revision")[0].user
    assert "Wish of modification 1, expert 2." in revision
    assert "Wish of modification 1, expert 6." in revision


async def test_separate_costs_the_same_where_all_agree(by_purpose, question):
    assert cost(await medagents(question, by_purpose(answers({"vote 1": "yes"})), votes="separate")) == (18, 6)


@each_row("votes", ["combined", "separate"])
@each_row("said", ["I know the report: YES", "maybe", "", Refused("no")])
async def test_an_unusable_vote_is_no_yes(by_purpose, question, votes, said):
    yes = YES if votes == "combined" else "yes"
    model = by_purpose(answers({"vote 1, expert 4": said, "vote": yes, "vote 1": yes, "vote 2": yes}))
    outcome = await medagents(question, model, votes=votes)
    assert cost(outcome) == (26, 8)
    assert "Expert 4 (cardiology) does not agree, and has not said" in model.shown("revision")[0].user
    assert [call.purpose for call in outcome.trace if call.error] == ["vote 1, expert 4"]
    assert outcome.answer == "B"


async def test_an_unusable_modification_is_a_dissent_without_one(by_purpose, question):
    given = {"vote 1, expert 5": "no", "vote 1": "yes", "vote 2": "yes", "modification 1, expert 5": " "}
    model = by_purpose(answers(given))
    assert cost(await medagents(question, model, votes="separate")) == (27, 9)
    assert "Expert 5 (cardiology) does not agree, and has not said" in model.shown("revision")[0].user


@pytest.mark.parametrize(
    ("stages", "expected"), [("analysis", (10, 4)), ("summary", (11, 5)), ("consultation", (18, 6))]
)
async def test_stages_of_the_ablation(by_purpose, question, stages, expected):
    model = by_purpose(answers())
    outcome = await medagents(question, model, stages=stages)
    assert cost(outcome) == expected
    decision = model.shown("decision")[0].user
    assert ("Finding of analyse the options, expert 7." in decision) is (stages == "analysis")
    assert ("Analysis of report." in decision) is (stages != "analysis")
    assert outcome.answer == "B"


@each_row("m", [0, 1, 2, 10])
@each_row("n", [0, 1, 2, 8])
async def test_any_number_of_experts(by_purpose, question, m, n):
    if not m + n:
        return
    model = by_purpose(answers())
    outcome = await medagents(question, model, question_experts=m, option_experts=n)
    kinds = (m > 0) + (n > 0)
    assert cost(outcome) == (kinds + 2 * (m + n) + 2, 4 + kinds)
    assert len(model.shown("analyse the question")) == m
    assert len(model.shown("analyse the options")) == n


@pytest.mark.parametrize(
    "wrong", [{"question_experts": 0, "option_experts": 0}, {"question_experts": -1}, {"max_rounds": 0}]
)
async def test_too_few_are_refused_before_any_call(by_purpose, question, wrong):
    model = by_purpose(answers())
    with pytest.raises(UserError):
        await medagents(question, model, **wrong)
    assert not model.seen


@pytest.mark.parametrize("number", [4, 6])
async def test_a_list_of_experts_of_the_wrong_length_ends_the_question(by_purpose, question, number):
    model = by_purpose(answers({"gather experts on the question": ["cardiology"] * number}))
    outcome = await medagents(question, model)
    assert (outcome.end, outcome.answers, outcome.calls) == (OutcomeEnd.UNREADABLE, frozenset(), 2)


STAGES = ["gather experts on the question", "gather experts on the options", "report", "revision 1", "decision"]


@each_row("stage", STAGES)
@each_row(
    ("failure", "end"),
    [
        ("A or perhaps E.", OutcomeEnd.UNREADABLE),
        (Refused("I cannot help"), OutcomeEnd.REFUSED),
        (CutOff("too long"), OutcomeEnd.CUT_OFF),
        (Unreachable("nobody there"), OutcomeEnd.FAILED),
        (ScriptError("spent"), OutcomeEnd.FAILED),
    ],
)
async def test_a_failure_of_what_is_needed_is_the_end_by_name(by_purpose, question, stage, failure, end):
    outcome = await medagents(question, by_purpose(answers({stage: failure, "vote 1, expert 1": no("More.")})))
    assert (outcome.end, outcome.answers, outcome.rationale) == (end, frozenset(), "")
    assert outcome.problem
    assert outcome.trace[-1].purpose == stage or stage.startswith("gather")
    assert [call.purpose for call in outcome.trace if call.error] == [stage]


async def test_an_expert_whose_analysis_cannot_be_used_falls_silent(by_purpose, question):
    model = by_purpose(answers({"analyse the question, expert 2": " ", "analyse the options, expert 6": Refused("no")}))
    outcome = await medagents(question, model)
    assert outcome.answer == "B"
    assert cost(outcome) == (16, 6)
    assert [(call.purpose, call.error) for call in outcome.trace if call.error] == [
        ("analyse the question, expert 2", "UnreadableReply"),
        ("analyse the options, expert 6", "Refused"),
    ]
    assert [call.purpose for call in model.shown("vote")] == [f"vote 1, expert {n}" for n in (1, 3, 4, 5, 7)]
    report = model.shown("report")[0].user
    assert "expert 2 " not in report
    assert "expert 6 " not in report


async def test_all_silent_is_the_end_by_the_first_failure(by_purpose, question):
    model = by_purpose(answers({"analyse the question": Refused("no"), "analyse the options": ""}))
    outcome = await medagents(question, model)
    assert (outcome.end, outcome.calls) == (OutcomeEnd.REFUSED, 9)


async def test_one_kind_all_silent_leaves_the_other(by_purpose, question):
    model = by_purpose(answers({"analyse the question": ""}))
    outcome = await medagents(question, model)
    assert (outcome.answer, outcome.calls) == ("B", 2 + 5 + 2 + 1 + 2 + 1)


@pytest.mark.parametrize("stage", ["analyse the question, expert 3", "vote 1, expert 7"])
async def test_an_endpoint_that_fails_ends_the_question_as_failed(by_purpose, question, stage):
    outcome = await medagents(question, by_purpose(answers({stage: Unreachable("nobody there")})))
    assert (outcome.end, outcome.problem, outcome.answers) == (OutcomeEnd.FAILED, "nobody there", frozenset())
    assert not any(call.purpose == "decision" for call in outcome.trace)


async def test_ten_options_can_all_be_chosen(by_purpose):
    options = {key: f"Option {key}" for key in "ABCDEFGHIJ"}
    ten = Question(id="q", stem="Which?", options=options)
    for key in options:
        model = by_purpose(answers({"decision": {"rationale": "", "answer": key}}))
        assert (await medagents(ten, model)).answer == key
    model = by_purpose(answers({"decision": {"rationale": "", "answer": "K"}}))
    assert (await medagents(ten, model)).end is OutcomeEnd.UNREADABLE


async def test_one_option(by_purpose):
    one = Question(id="q", stem="Which?", options={"only": "This"})
    model = by_purpose(answers({"decision": {"rationale": "", "answer": "only"}}))
    assert (await medagents(one, model)).answer == "only"


async def test_no_option_is_refused(by_purpose):
    with pytest.raises(UserError, match="no options"):
        await medagents(Question(id="q", stem="Which?", options={}), by_purpose(answers()))


async def test_several_answers(by_purpose, question):
    several = Question(id="q", stem="Which?", options=question.options, several=True)
    model = by_purpose(answers({"decision": {"rationale": "Both.", "answer": ["B", "D", "B"]}}))
    outcome = await medagents(several, model)
    assert (outcome.answers, outcome.answer) == (frozenset("BD"), None)
    assert "one or more are right" in model.shown("decision")[0].user
    empty = by_purpose(answers({"decision": {"rationale": "None.", "answer": []}}))
    assert (await medagents(several, empty)).end is OutcomeEnd.UNREADABLE


async def test_a_chinese_question_is_discussed_in_chinese(by_purpose):
    chinese = Question(id="q", stem="最可能的诊断是什么？", options={"A": "感冒", "B": "肺炎"}, language="zh")
    for votes, against, agreed in (("combined", no("修改。"), YES), ("separate", "no", "yes")):
        model = by_purpose(answers({"vote 1, expert 1": against, "vote 1": agreed, "vote 2": agreed}, field="呼吸内科"))
        assert (await medagents(chinese, model, votes=votes)).answer == "B"
        for call in model.seen:
            assert "研究和教学" in call.system
            told = re.sub(r"(Finding|Knowledge|Analysis|Wish) of [^.]*\.", "", call.user)
            assert not re.search(r"[A-Za-z]{2,}", told), told


def test_braces_in_prompts_are_blanks_only():
    assert read_prompts(PROMPTS)["en"].blanks["question experts"] == {"number"}


async def test_braces_in_a_question_are_text(by_purpose):
    odd = Question(id="q", stem="What is {stem}?", options={"A": "{number}", "B": "{}"})
    model = by_purpose(answers(field="{field}"))
    assert (await medagents(odd, model)).answer == "B"
    assert all("What is {stem}?" in call.user for call in model.seen)


def panel_answers(body):
    """Returns what an endpoint says to a panel: everybody agrees."""
    form = body.get("response_format")
    if form is None:
        return "An analysis."
    fields = form["json_schema"]["schema"]["properties"]
    if "vote" in fields:
        return YES
    if "key_knowledge" in fields:
        return {"key_knowledge": ["A fact."], "total_analysis": "A line of reasoning."}
    if "rationale" in fields:
        return {"rationale": "So.", "answer": fields["answer"]["enum"][0]}
    return {"answer": ["cardiology"] * fields["answer"]["minItems"]}


def test_one_question_takes_six_latencies(question):
    """In virtual time, so that nothing depends on ours."""
    outcome, in_a_row, answers = latencies_of(lambda model: medagents(question, model), panel_answers)
    assert (*cost(outcome), outcome.answer) == (18, 6, "A")
    assert (answers, in_a_row) == (18, pytest.approx(6))


async def test_a_question_that_is_given_up_leaves_no_call_behind(by_purpose, question):
    async with Endpoint(latency=30) as endpoint, Direct("test", base_url=endpoint.url) as model:
        asked = asyncio.ensure_future(medagents(question, model))
        await endpoint.until(requests=2)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not any("_or_model_error" in repr(task) for task in others)
