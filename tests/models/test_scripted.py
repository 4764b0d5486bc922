"""The scripted door, and opening doors by name."""

import json
import sys

import pytest
from tests.tables import each_row

from polyclinic.errors import BadInput, MissingExtra, RateLimited, ScriptError, UnknownModel, UnreadableReply
from polyclinic.models.direct import Direct
from polyclinic.models.limits import Limit
from polyclinic.models.model import Text
from polyclinic.models.open import PROVIDERS, open_model
from polyclinic.models.scripted import Scripted


async def test_a_list_is_said_in_order_and_then_spent(echo):
    kind, _ = echo
    model = Scripted(["Hello.", {"number": 1, "word": "w1"}, "yes"])
    assert (await model.ask("x")).value == "Hello."
    assert (await model.ask("x", answer=kind)).value == kind(1, "w1")
    assert (await model.ask("x", answer=("yes", "no"))).value == "yes"
    with pytest.raises(ScriptError, match=r"question 4 \(plan\): the script is spent; it was asked: 'What now\?'"):
        await model.ask("What now?", purpose="plan")


async def test_a_mapping_answers_the_last_message():
    model = Scripted({"Cough?": "Yes.", "Fever?": "No."})
    assert (await model.ask([("system", "s"), ("user", "Fever?")])).text == "No."
    assert (await model.ask([("user", [Text("Cough?")])])).text == "Yes."
    with pytest.raises(ScriptError, match="no answer to: 'Pain"):
        await model.ask("Pain?")


async def test_a_function_sees_the_conversation():
    model = Scripted(lambda said: None if said[-1][1] == "?" else f"{len(said)} {said[0][0]}")
    assert (await model.ask([("system", "s"), ("user", "u")])).text == "2 system"
    with pytest.raises(ScriptError):
        await model.ask("?")


async def test_failures_can_be_scripted():
    with pytest.raises(RateLimited):
        await Scripted([RateLimited("later")]).ask("x")


async def test_a_script_that_is_wrong_is_not_bent_into_an_answer():
    model = Scripted(["maybe", "yes"])
    with pytest.raises(UnreadableReply):
        await model.ask("x", answer=("yes", "no"))
    assert (await Scripted(["maybe", "yes"], repairs=1).ask("x", answer=("yes", "no"))).attempts == 2


async def test_from_a_file(tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(["one", {"two": 2}]))
    async with open_model(f"scripted/{path}") as model:
        assert (await model.ask("x")).text == "one"
        assert (await model.ask("x")).text == '{"two":2}'
        assert model.name == "scripted/answers.json"
    for text in ("3", "[", "nonsense"):
        path.write_text(text)
        with pytest.raises(BadInput, match="a script is a JSON list or object"):
            open_model(f"scripted/{path}")
    with pytest.raises(BadInput, match="no such file"):
        open_model("scripted/nowhere.json")


@each_row("name", ["", "gpt-4o", "oracle/gpt-4o", "direct", "direct/", "inspect/", "scripted/", "DIRECT/x"])
def test_a_name_without_a_door_says_which_doors_there_are(name):
    with pytest.raises(UnknownModel) as caught:
        open_model(name)
    assert all(pattern in str(caught.value) for pattern in PROVIDERS)


def test_direct_by_name():
    model = open_model("direct/org/qwen3-8b", base_url="http://127.0.0.1:9/v1", concurrency="adaptive")
    assert isinstance(model, Direct)
    assert model.name == "direct/org/qwen3-8b"
    assert model.limit.adaptive
    limit = Limit(3)
    assert open_model("direct/x", base_url="http://127.0.0.1:9/v1", concurrency=limit).limit is limit


@pytest.mark.parametrize(
    ("name", "module", "line"),
    [
        ("local", "xllamacpp", "pip install 'polyclinic[local]'"),
        ("inspect/mockllm/model", "inspect_ai", "pip install 'polyclinic[evals]'"),
    ],
)
def test_an_extra_that_is_not_installed_says_the_pip_line(name, module, line, monkeypatch):
    from importlib import util

    found = util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *a: None if name == module else found(name, *a))
    with pytest.raises(MissingExtra) as caught:
        open_model(name)
    assert line in str(caught.value)


@pytest.mark.slow
def test_a_door_imports_only_what_it_needs():
    import subprocess

    code = (
        "import sys; from polyclinic.models.open import open_model; "
        "assert 'aiohttp' not in sys.modules; open_model('direct/x', base_url='http://127.0.0.1:9'); "
        "assert not {'inspect_ai', 'xllamacpp', 'sqlite3'} & set(sys.modules)"
    )
    players = "import sys, polyclinic.players.minds; assert 'aiohttp' not in sys.modules"
    for imported in (code, players):
        subprocess.run([sys.executable, "-c", imported], check=True)
