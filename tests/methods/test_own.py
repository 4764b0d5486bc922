"""Methods of the user's: any function of a question and a model, by file or from a package."""

import gc
import re

import msgspec
import pytest

from polyclinic import plugins
from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import BudgetSpent, Unreachable, UserError
from polyclinic.methods import chain_of_thought, zero_shot
from polyclinic.methods.table import answering, choose, settable
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


@pytest.mark.parametrize("returned", ['"E"', '"I do not know"', '{"E"}', '{"A", "B"}', "set()"])
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


OUTCOME = "from polyclinic.answering.outcome import Outcome\ndef method(question, model):\n    return Outcome("


async def broken(name, *replies, question=QUESTION):
    outcome = await outcome_of(name, *replies, question=question)
    assert (outcome.answers, outcome.end) == (frozenset(), OutcomeEnd.BROKEN)
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome) == outcome
    return outcome


@pytest.mark.parametrize(
    ("raised", "problem"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero (mine.py:3)"),
        ("int('x')", "ValueError: invalid literal for int() with base 10: 'x' (mine.py:3)"),
        ("exit(3)", "SystemExit: 3 (mine.py:3)"),
        ("len", "returned builtin_function_or_method, which is no answer"),
        ("(_ for _ in ()).throw(asyncio.CancelledError())", "CancelledError (mine.py:3)"),
        ("(_ for _ in ()).throw(ValueError(object()))", "ValueError: <object object> (mine.py:3)"),
    ],
)
async def test_an_error_in_the_method_breaks_the_question_with_its_line(tmp_path, raised, problem):
    name = method(tmp_path, f"import asyncio\nasync def method(question, model):\n    return {raised}\n")
    assert (await broken(name)).problem.startswith(problem)


@pytest.mark.parametrize(
    ("returned", "named"),
    [
        ("None", "None, which is no answer (a forgotten return)"),
        ("3", "int"),
        ("object()", "object"),
        ("{'A': 1}", "dict"),
        ("(key for key in 'A')", "generator"),
        ("str", "type"),
        ("[3]", "list of int"),
        ("[['A']]", "list of list"),
        ("model.ask('?')", "coroutine, which is no answer (a forgotten await)"),
        ("[model.ask('?')]", "list of coroutine"),
    ],
)
async def test_what_can_be_no_answer_breaks_the_question(tmp_path, returned, named, recwarn):
    name = method(tmp_path, f"async def method(question, model):\n    return {returned}\n")
    gc.freeze()  # only what this makes is looked through
    outcome = await broken(name)
    assert outcome.problem.startswith(f"returned {named}")
    assert "0x" not in outcome.problem
    gc.collect()
    assert not [one for one in recwarn if "never awaited" in str(one.message)]


async def test_a_forgotten_await_is_an_error_and_no_warning(tmp_path, recwarn):
    text = "async def method(question, model):\n    reply = model.ask('?')\n    return reply.text\n"
    told = "AttributeError: 'coroutine' object has no attribute 'text' (mine.py:3)"
    gc.freeze()
    assert (await broken(method(tmp_path, text))).problem == told
    gc.collect()
    assert not [one for one in recwarn if "never awaited" in str(one.message)]


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        ("question=question.id, answers=frozenset('E'))", "returned {'E'}|returned frozenset"),
        ("question=question.id)", "with end answered and no answers"),
        ("question=question.id, answers=frozenset('AB'))", "one key of A, B"),
        ("question=question.id, answers=3)", "Expected `array`, got `int`"),
        ("question=question.id, answers=None)", "Expected `array`, got `null`"),
        ("question=question.id, answers=frozenset('A'), end='sure')", "Invalid enum value 'sure'"),
        ("question=question.id, answers=frozenset('A'), end='failed')", "with end failed and 1 answers"),
        ("question=question.id, end='failed', problem='too hard')", "every call was answered: too hard"),
        ("question='q9', answers=frozenset('A'))", "of another question, 'q9'"),
        ("question=question.id, answers=frozenset('A'), rationale=None)", "rationale"),
    ],
)
async def test_an_outcome_that_contradicts_itself_breaks_the_question(tmp_path, made, problem):
    assert re.search(problem, (await broken(method(tmp_path, OUTCOME + made))).problem)


async def test_an_outcome_of_one_s_own_names_a_key_as_text_or_says_why_there_is_none(tmp_path):
    outcome = await outcome_of(method(tmp_path, OUTCOME + "question=question.id, answers='B')"))
    assert (outcome.answer, outcome.end) == ("B", OutcomeEnd.ANSWERED)
    refused = method(tmp_path / "..", OUTCOME + "question=question.id, end='refused', problem='no')")
    outcome = await outcome_of(refused)
    assert (outcome.answer, outcome.end, outcome.problem) == (None, OutcomeEnd.REFUSED, "no")


async def test_an_outcome_of_one_s_own_counts_the_calls_that_were_made(tmp_path):
    text = """
import asyncio
from polyclinic.answering.outcome import Outcome
async def method(question, model):
    await asyncio.gather(*(model.ask(str(n)) for n in range(3)))
    return Outcome(question=question.id, answers=frozenset("A"))
"""
    outcome = await outcome_of(method(tmp_path, text), "?", "?", "?")
    assert (outcome.calls, outcome.round_trips, outcome.answer) == (3, 1, "A")


async def test_of_two_of_our_methods_the_calls_of_both_count(tmp_path):
    text = """
import asyncio
from polyclinic.methods import chain_of_thought, zero_shot
async def method(question, model):
    first, second = await asyncio.gather(zero_shot(question, model), chain_of_thought(question, model))
    return first
"""
    outcome = await outcome_of(method(tmp_path, text), "Answer: B", "Answer: B")
    assert (outcome.calls, outcome.round_trips, outcome.answer) == (2, 1, "B")


async def test_a_call_that_nobody_waits_for_is_counted(tmp_path):
    text = """
import asyncio
async def method(question, model):
    left = asyncio.ensure_future(model.ask("slow"))
    await asyncio.sleep(0)
    left.cancel()
    return (await model.ask("fast")).text
"""
    outcome = await outcome_of(method(tmp_path, text), "B", "B")
    assert sorted(call.error for call in outcome.trace) == ["", "Abandoned"]


@pytest.mark.parametrize("swallowed", ["raise", "return 'B'", "1 / 0"])
async def test_a_spent_budget_ends_the_run_whatever_the_method_makes_of_it(tmp_path, swallowed):
    text = f"""
async def method(question, model):
    try:
        return (await model.ask("?")).text
    except Exception:
        {swallowed}
"""
    with pytest.raises(BudgetSpent, match="all gone"):
        await outcome_of(method(tmp_path, text), BudgetSpent("all gone"))


async def test_half_a_character_can_be_written(tmp_path):
    name = method(tmp_path, "def method(question, model):\n    return 'half \\ud800. The answer is B.'\n")
    outcome = await outcome_of(name)
    assert (outcome.answer, outcome.rationale) == ("B", "half \\ud800. The answer is B.")
    msgspec.json.encode(outcome)


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
    assert settable("theirs") == {"depth": int}
    assert plugins.offered("methods") == ()


@pytest.mark.parametrize(("name", "near"), [("zero-shot", "zero_shot"), ("medagent", "medagents")])
def test_a_name_nearly_right_is_told_which_is_meant(name, near):
    with pytest.raises(UserError, match=rf"no method '{name}' \(did you mean {near}\?\)"):
        choose([name])


MANY = """
import functools
from dataclasses import dataclass

@dataclass
class Voting:
    k: int = 1
    def __call__(
        self, question, model, n: int = 2, deep: bool = False, items: list[str] = (), sizes: tuple[int, ...] = ()
    ):
        return "A" if n == 2 else "B"

class Plain:
    def __call__(self, question, model): return "A"

voting = Voting()
given = functools.partial(voting, n=3)
def asks(question, model, n: int, *, way): return "A"
"""


@pytest.mark.parametrize(("name", "answer", "n"), [("voting", "A", 2), ("given", "B", 3)])
async def test_objects_and_partials_are_methods(tmp_path, name, answer, n):
    name = method(tmp_path, MANY, name)
    assert settable(name)["n"] is int
    assert (await outcome_of(name)).answer == answer
    assert (await outcome_of(name, settings=["n=7"])).answer == "B"


def test_a_class_is_no_method(tmp_path):
    with pytest.raises(UserError, match="is no function, but a class; an object of it can be one"):
        choose([method(tmp_path, MANY, "Plain")])


def test_what_a_method_needs_is_asked_for_at_once(tmp_path):
    name = method(tmp_path, MANY, "asks")
    with pytest.raises(UserError, match="asks' needs --set n=… --set way=…"):
        choose([name])
    with pytest.raises(UserError, match="asks' needs --set way=…"):
        choose([name], ["n=3"])
    assert choose([name], ["n=3", "way=up"])[0].settings == {"n": 3, "way": "up"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("deep=on", True),
        ("deep=Yes", True),
        ("deep=true", True),
        ("deep=off", False),
        ("deep=no", False),
        ("items=a,b", ["a", "b"]),
        ("items=a", ["a"]),
        ("items=", []),
        ("sizes=1,2", (1, 2)),
    ],
)
def test_switches_and_lists_are_settings(tmp_path, text, value):
    (chosen,) = choose([method(tmp_path, MANY, "voting")], [text])
    assert chosen.settings == {text.partition("=")[0]: value}


@pytest.mark.parametrize(("text", "problem"), [("sizes=1,x", "sizes='1,x': Expected `int`"), ("n=1,2", "`int`")])
def test_a_setting_that_its_type_does_not_take_is_said(tmp_path, text, problem):
    with pytest.raises(UserError, match=problem):
        choose([method(tmp_path, MANY, "voting")], [text])


def test_a_setting_of_a_file_s_method_is_given_by_its_short_name_where_that_is_unique(tmp_path):
    name = method(tmp_path, MANY, "voting")
    mine, ours = choose([name, "few_shot"], ["voting.n=5"])
    assert (mine.settings, ours.settings) == ({"n": 5}, {})
    (tmp_path / "more").mkdir()
    with pytest.raises(UserError, match=r"'voting\.n' belongs to none"):
        choose([name, method(tmp_path / "more", MANY, "voting")], ["voting.n=5"])


async def test_a_function_goes_where_python_takes_a_name():
    async def mine(question, model, n: int = 2):
        return (await model.ask("?")).text if n == 3 else "A"

    (chosen,) = choose(mine, ["mine.n=3"])
    assert chosen.label == "mine (n=3)"
    assert (await answering(chosen, lambda _: Scripted(["B"]))(QUESTION)).answer == "B"
    assert [one.name for one in choose([mine, chain_of_thought, "zero_shot"])] == [
        "mine",
        "chain_of_thought",
        "zero_shot",
    ]
    assert choose("zero_shot") == choose(["zero_shot"]) == choose(zero_shot)


def test_names_of_files_and_packages_are_told_where_they_are_nearly_right(tmp_path, monkeypatch):
    with pytest.raises(UserError, match=r"holds no 'votin' \(did you mean voting\?\)"):
        choose([method(tmp_path, MANY, "votin")])
    monkeypatch.setattr("polyclinic.methods.table.offered", lambda _: ("second_look", "zero_shot"))
    with pytest.raises(UserError, match=r"did you mean second_look\?") as told:
        choose(["second_lok"])
    assert str(told.value).count("zero_shot,") == 1


def test_a_label_says_lists_as_they_are_given():
    def label(*given):
        return choose("tree_of_reasoning", given)[0].label

    told = "tree_of_reasoning (without laboratory, pathology (withheld), rounds=1)"
    assert label("without=laboratory,pathology", "removed=withheld", "rounds=1") == told
    assert label("without=laboratory") == "tree_of_reasoning (without laboratory)"
    assert label("rounds=1") == "tree_of_reasoning (rounds=1)"
