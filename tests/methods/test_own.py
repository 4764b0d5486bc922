"""Methods of the user's: any function of a question and a model, by file or from a package."""

import pytest

from polyclinic import doors
from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import Unreachable, UserError
from polyclinic.methods.table import answering, choose, find_method, settable
from polyclinic.models.scripted import Scripted

QUESTION = Question(id="q1", stem="Which valve?", options={"A": "Mitral", "B": "Aortic"})
SIGNS = Question(id="q2", stem="Which signs?", options={"A": "Fever", "B": "Rash", "C": "Cough"}, several=True)

ASK_TWICE = """
from polyclinic.questions import show

async def ask_twice(question, model, times: int = 2, seed: int = 0):
    for _ in range(times):
        reply = await model.ask(show(question), seed=seed)
    return reply.text
"""


def method(tmp_path, text, name="method"):
    path = tmp_path / "mine.py"
    path.write_text(text)
    return f"{path}:{name}"


async def outcome_of(name, *replies, settings=(), question=QUESTION):
    (chosen,) = choose([name], settings)
    return await answering(chosen, lambda _: Scripted(list(replies)), seed=7)(question)


async def test_a_method_of_a_file_is_asked_and_its_calls_are_counted(tmp_path):
    name = method(tmp_path, ASK_TWICE, "ask_twice")
    outcome = await outcome_of(name, "Hm.", "The answer is B.")
    assert (outcome.answer, outcome.rationale, outcome.end) == ("B", "The answer is B.", OutcomeEnd.ANSWERED)
    assert [(call.round_trip, call.purpose, call.text) for call in outcome.trace] == [
        (1, "call 1", "Hm."),
        (2, "call 2", "The answer is B."),
    ]


async def test_its_parameters_are_its_settings(tmp_path):
    name = method(tmp_path, ASK_TWICE, "ask_twice")
    assert settable(name) == {"times": int}
    for setting in ("times=3", f"{name}.times=3"):
        assert (await outcome_of(name, "?", "?", "B", settings=[setting])).calls == 3
    with pytest.raises(UserError, match="times='often'"):
        choose([name], ["times=often"])
    assert choose([name], ["times=3"])[0].label == f"{name} (times=3)"


def test_a_setting_without_a_type_is_of_its_default_s(tmp_path):
    name = method(tmp_path, "def method(question, model, times=2, way='up', other=None): ...")
    assert choose([name], ["times=3", "way=4", "other=5"])[0].settings == {"times": 3, "way": "4", "other": "5"}


async def test_calls_at_once_are_one_round_trip(tmp_path):
    text = """
import asyncio
async def method(question, model):
    await asyncio.gather(model.ask("one"), model.ask("two"))
    return (await model.ask("three")).text
"""
    outcome = await outcome_of(method(tmp_path, text), "B", "B", "B")
    assert (outcome.calls, outcome.round_trips) == (3, 2)


@pytest.mark.parametrize(
    ("returned", "question", "keys"),
    [
        ('"B"', QUESTION, "B"),
        ('"I choose B."', QUESTION, "B"),
        ('{"B"}', QUESTION, "B"),
        ('("A", "C")', SIGNS, "AC"),
        ("await model.ask('?')", QUESTION, "A"),
    ],
)
async def test_what_a_method_may_return(tmp_path, returned, question, keys):
    name = method(tmp_path, f"async def method(question, model):\n    return {returned}\n")
    assert (await outcome_of(name, "Answer: A", question=question)).answers == set(keys)


@pytest.mark.parametrize(
    "returned", ['"E"', '"I do not know"', '{"E"}', '{"A", "B"}', "set()", "None", "3", "object()"]
)
async def test_what_is_no_option_is_no_answer(tmp_path, returned):
    name = method(tmp_path, f"def method(question, model):\n    return {returned}\n")
    outcome = await outcome_of(name)
    assert (outcome.answers, outcome.end) == (frozenset(), OutcomeEnd.UNREADABLE)
    assert outcome.problem


async def test_an_outcome_of_one_of_ours_is_taken_as_it_is(tmp_path):
    text = """
from polyclinic.methods.zero_shot import zero_shot
async def method(question, model):
    return await zero_shot(question, model)
"""
    outcome = await outcome_of(method(tmp_path, text), "Answer: B")
    assert (outcome.answer, [call.purpose for call in outcome.trace]) == ("B", ["answer"])


async def test_an_endpoint_that_fails_is_no_fault_of_the_method(tmp_path):
    outcome = await outcome_of(method(tmp_path, ASK_TWICE, "ask_twice"), Unreachable("nobody there"))
    assert (outcome.end, outcome.problem) == (OutcomeEnd.FAILED, "nobody there")


async def test_a_mistake_in_the_method_is_said_in_one_line(tmp_path):
    name = method(tmp_path, "def method(question, model):\n    return 1 / 0\n")
    with pytest.raises(UserError, match=r"failed on question 'q1': ZeroDivisionError: division by zero"):
        await outcome_of(name)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("method = 3", "is no function, but int"),
        ("def method(question): ...", "takes 1 parameters; a question and a model are needed"),
        ("other = 3", "holds no 'method'"),
        ("def method(question, model, size: Undefined = 3): ...", "name 'Undefined' is not defined"),
    ],
)
def test_what_is_no_method_is_said_in_one_line(tmp_path, text, problem):
    with pytest.raises(UserError, match=problem):
        choose([method(tmp_path, text)], ["size=1"])


def test_a_method_of_an_installed_package_is_found(monkeypatch):
    def theirs(question, model, depth: int = 1):
        return "A"

    monkeypatch.setattr("polyclinic.methods.table.find", lambda name, group: theirs if name == "theirs" else None)
    find_method.cache_clear()
    assert settable("theirs") == {"depth": int}
    assert doors.offered("methods") == ()


@pytest.mark.parametrize(("name", "near"), [("zero-shot", "zero_shot"), ("medagent", "medagents")])
def test_a_name_nearly_right_is_told_which_is_meant(name, near):
    with pytest.raises(UserError, match=f"no method '{name}'; did you mean {near}?"):
        choose([name])
