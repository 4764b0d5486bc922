"""Who is asked where, and how: the file of models is read, and its mistakes are named with their places."""

import asyncio
from pathlib import Path

import pytest
from tests.tables import each_row

from polyclinic.errors import BadInput, NoAddress, UserError
from polyclinic.models.model_file import read_model_file
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import journal_of, open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.testing.endpoint import Endpoint

NAME = "direct/a"


def written(folder: Path, text: str) -> Path:
    path = folder / "models.toml"
    path.write_text(text, "utf-8")
    return path


@each_row(
    ("text", "place", "problem"),
    [
        (
            "[models.x]\ntemprature = 1\n",
            "models.x.temprature",
            "unknown key 'temprature'; allowed: base_url",
        ),
        ('[models.x]\n\ntemperature = "hot"\n', "models.x.temperature", "float"),
        ("[models.x]\ntemperature = 3\n", "models.x.temperature", "<= 2"),
        ("[models.x]\ntimeout = 0\n", "models.x.timeout", "> 0"),
        ('[models."direct/x"]\neffort = "much"\n', "models.direct/x.effort", "much"),
        ("[models.x]\nbase_url = []\n", "models.x.base_url", "length"),
        ("[models.x]\nprice = [1]\n", "models.x.price", "length"),
        ("[models.x]\nprice = [1, nan]\n", "models.x.price", "float"),
        ("[models.x]\nbatch_price = [1, -1]\n", "models.x.batch_price", ">= 0"),
        ('[models.x]\nextra_body = {a = [{b = "sk-abcdefgh12345678"}]}\n', "models.x", "holds what looks like a key"),
        ('[models.x]\napi_key = "sk-1"\n', "models.x.api_key", "a key never stands in a file"),
        ("# roles\n[roles.doctr]\n", "roles.doctr", "no role 'doctr'; roles: doctor, patient"),
        ("models = 3\n", "models", "object"),
        ("[models]\nx = 3\n", "models.x", "object"),
        ("rolls = {}\n", "rolls", "unknown key 'rolls'; allowed: models, roles"),
        ("[models.x\n", "line 1", "not TOML"),
        ("[models.x]\n[models.x]\n", "line 2", "not TOML"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path, text, place, problem):
    with pytest.raises(BadInput) as raised:
        read_model_file(written(tmp_path, text))
    assert f"models.toml, {place}" in str(raised.value) and problem in str(raised.value)


@each_row(
    ("text", "options", "names", "problem"),
    [
        ("# none", {}, [NAME], "nobody said where direct/a is asked"),
        (
            f'[models."{NAME}"]\napi_key_env = "NOT_SET"\n',
            {"base_url": "http://127.0.0.1:9"},
            [NAME],
            "models.direct/a.api_key_env: the env",
        ),
        ("# none", {"base_url": "http://127.0.0.1:9"}, ["openai/x"], "--base-url is the address of direct/ models"),
        ("[models.local]\ntimeout = 3\n", {}, ["local"], "it is no endpoint's: timeout"),
        (f'[models."{NAME}"]\nthreads = 1\n', {"base_url": "http://127.0.0.1:9"}, [NAME], "models on this machine"),
        ("[models.local]\nthreads = 0\n", {}, ["local"], ">= 1"),
    ],
)
async def test_what_cannot_be_opened_is_said_at_once(tmp_path, monkeypatch, text, options, names, problem):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UserError) as raised:
        async with open_models(names, ModelSettings(model_file=written(tmp_path, text), **options)):
            pass
    assert problem in str(raised.value)


async def test_each_question_says_what_its_role_and_model_say(tmp_path, monkeypatch):
    """A role goes before its model, both before the command line, and a method's temperature is its own."""
    monkeypatch.setenv("JUDGE_KEY", "a-key-of-the-judge")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-rest")
    async with (
        Endpoint(key="a-key-of-the-judge") as judges,
        Endpoint(key="a-key-of-the-rest") as others,
        Endpoint() as second,
    ):
        path = written(
            tmp_path,
            f"""
            [models."{NAME}"]
            base_url = ["{others.url}", "{second.url}"]
            temperature = 0.6
            extra_body = {{chat_template_kwargs = {{enable_thinking = false}}}}
            price = [1.0, 2.0]
            [roles.judge]
            base_url = "{judges.url}"
            api_key_env = "JUDGE_KEY"
            temperature = 0.0
            effort = "high"
            extra_body = {{}}
            """,
        )
        options = ModelSettings(
            model_file=path, temperature=1.5, api_key_env="JUDGE_KEY", base_url="http://127.0.0.1:9/v1"
        )
        async with open_models([NAME], options) as session:

            async def ask(role, **how):
                return await session.model(NAME, Asker(role, "e")).ask("x", **how)

            reply = await ask("doctor", temperature=1.5)
            await ask("doctor")
            await ask("medagents", temperature=1.0)
            await ask("zero_shot")
            await ask("judge", temperature=1.5)
    thinking = {"chat_template_kwargs": {"enable_thinking": False}}
    told = ("temperature", "reasoning_effort", "chat_template_kwargs")
    by_rest = [{key: body[key] for key in told if key in body} for body in (*others.bodies, *second.bodies)]
    by_judge = [{key: body[key] for key in told if key in body} for body in judges.bodies]
    firm, own = {"temperature": 0.6} | thinking, {"temperature": 1.0} | thinking
    assert sorted(by_rest, key=repr) == sorted([firm, own, firm, firm], key=repr)
    assert by_judge == [{"temperature": 0.0, "reasoning_effort": "high"}]
    assert reply.usage.cost == (reply.usage.tokens_in + 2 * reply.usage.tokens_out) / 1e6


async def test_a_judge_is_asked_at_the_temperature_of_the_command_line():
    async with (
        Endpoint() as endpoint,
        open_models([NAME], ModelSettings(base_url=endpoint.url, temperature=0.3)) as session,
    ):
        await session.model(NAME, Asker("judge")).ask("x")
        await session.model(NAME, Asker("judge")).ask("x", temperature=0.1)
        await session.model(NAME, Asker("zero_shot")).ask("x")
        assert [body.get("temperature") for body in endpoint.bodies] == [0.3, 0.1, None]


async def test_a_model_with_an_address_in_some_roles_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    async with Endpoint() as endpoint:
        path = written(tmp_path, f'[roles.patient]\nbase_url = "{endpoint.url}"\n')
        async with open_models([NAME], ModelSettings(model_file=path)) as session:
            await session.model(NAME, Asker("patient")).ask("x")
            with pytest.raises(NoAddress):
                session.model(NAME, Asker("doctor"))
        assert endpoint.requests == 1


async def test_another_body_is_another_request_to_a_journal(tmp_path):
    async with Endpoint() as endpoint:
        for thinking in ("true", "true", "false"):
            text = f'[models."{NAME}"]\nbase_url = "{endpoint.url}"\nextra_body = {{thinking = {thinking}}}\n'
            options = ModelSettings(model_file=written(tmp_path, text))
            async with open_models([NAME], options, journal=journal_of(tmp_path / "journal")) as session:
                ask = session.model(NAME, Asker("doctor")).ask
                await asyncio.gather(ask("x"), ask("x"))
        assert endpoint.requests == 4


@pytest.mark.slow
async def test_a_call_has_a_time_out_of_its_own(tmp_path):
    async with Endpoint(plan=["hang"]) as endpoint:
        text = f'[models."{NAME}"]\nbase_url = "{endpoint.url}"\ntimeout = 0.05\n'
        async with open_models([NAME], ModelSettings(model_file=written(tmp_path, text))) as session:
            reply = await session.model(NAME, Asker("doctor")).ask("x")
        assert reply.attempts == 2
