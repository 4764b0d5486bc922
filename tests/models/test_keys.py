"""A key never shows: not in an error, a log, a journal, a report or the output of a command."""

import asyncio
import contextlib
import json
import logging
import traceback

import pytest
from aiohttp import web

from polyclinic.cli import main
from polyclinic.errors import BadInput, PolyclinicError
from polyclinic.models.journal import Journal
from polyclinic.models.secrets import check_address, check_no_key
from polyclinic.models.server import SHORTEST_PIECE
from polyclinic.models.settings import ModelSettings
from polyclinic.testing.endpoint import ENDPOINT_FAULTS, MODEL_FAULTS, Endpoint

KEY = "sk-proj-THIS-IS-THE-SECRET-0123456789"


@pytest.fixture(autouse=True)
def _key(monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)


def shown(error, caplog):
    trace = traceback.TracebackException.from_exception(error, capture_locals=True)
    chain = [repr(error), str(error), repr(vars(error)), *trace.format()]
    while error is not None:
        chain.append(repr(error))
        error = error.__cause__ or error.__context__
    return "\n".join(chain) + caplog.text


def test_a_key_where_none_belongs_is_refused_and_not_said_again():
    for place in (f"http://h/{KEY}/v1", f"http://h/v1/{KEY}", f"direct/{KEY}", {"a": [{"b": f"Bearer {KEY}"}]}):
        check = check_address if str(place).startswith("http") else lambda said: check_no_key(said, "what is said")
        with pytest.raises(BadInput, match="holds what looks like a key") as refused:
            check(place)
        assert KEY not in str(refused.value)
    for name in (
        "direct/qwen3-8b-instruct-2507",
        "direct/sk-llama",
        "openai/gpt-4o-2024-08-06",
        {"on": True},
    ):
        check_no_key(name, "the name of a model")
    check_address("https://h/accounts/0123456789abcdef0123456789abcdef/v1")


@pytest.mark.parametrize("fault", sorted(set(ENDPOINT_FAULTS + MODEL_FAULTS) - {"hang", "429-after", "429-date"}))
async def test_not_in_any_error(fault, opened, echo, caplog):
    kind, answer = echo
    said = []
    async with (
        Endpoint(answers=answer, faults=1.0, kinds=[fault], key=KEY) as endpoint,
        opened(endpoint.url, attempts=2, report=said.append) as model,
    ):
        try:
            await model.ask("number 1", answer=kind, temperature=0.1)
        except PolyclinicError as error:
            assert KEY not in shown(error, caplog)
        assert KEY not in "".join(said) + repr(model)


async def test_not_where_tasks_are_pythons_own(opened, echo, caplog, monkeypatch):
    """As they are once Inspect has run: an error then has what woke its task as its context."""
    monkeypatch.setattr(asyncio.tasks, "Task", asyncio.tasks._PyTask)
    await asyncio.create_task(test_not_in_any_error("close", opened, echo, caplog))


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 422, 429, 500])
async def test_not_where_the_endpoint_says_it_back(status, opened, caplog, tmp_path):
    async def telltale(request):
        said = request.headers["Authorization"]
        error = {"error": {"message": f"no {said}", "code": said, "param": "temperature" if status == 422 else None}}
        good = {"choices": [{"message": {"content": f"You sent {said}"}}]}
        return web.json_response(good if status == 200 else error, status=status)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", telltale)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    said = []
    path = tmp_path / "run.journal"
    try:
        async with opened(url, attempts=2, report=said.append) as model, Journal(path) as journal:
            try:
                reply = await journal.wrap(model).ask("x", temperature=0.5)
                assert reply.text == "You sent Bearer [key]"
            except PolyclinicError as error:
                assert status != 200
                assert KEY not in shown(error, caplog)
    finally:
        await runner.cleanup()
    assert KEY not in "".join(said) + caplog.text
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def escaped(text):
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


def pieces_of(text):
    return {text[at : at + SHORTEST_PIECE] for at in range(len(text) - SHORTEST_PIECE + 1)}


@contextlib.asynccontextmanager
async def telling(body, status):
    async def tell(_):
        return web.Response(body=body, status=status, content_type="application/json")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", tell)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


PIECES = (KEY[:14], KEY[-8:], KEY[9:20].lower(), f"{KEY[:10]}*****{KEY[-6:]}", escaped(KEY), escaped(KEY[:12]))


@pytest.mark.parametrize("status", [200, 400, 403, 404, 422, 429, 500])
async def test_not_a_piece_of_it_in_what_is_said_of_an_error(status, opened, caplog):
    for piece in PIECES:
        body = f'{{"error": {{"message": "no key {piece}, sorry"}}}}'
        async with telling(body, status) as url, opened(url, attempts=1) as model:
            with pytest.raises(PolyclinicError) as failed:
                await model.ask("x")
        told = str(failed.value)
        assert f"no key {'[key]*****[key]' if '*' in piece else '[key]'}, sorry" in told
        assert not pieces_of(KEY.lower()) & pieces_of(told.lower() + caplog.text.lower())


async def test_not_in_an_answer_however_it_is_written(opened):
    body = f'{{"choices": [{{"message": {{"content": "You sent {escaped(KEY)}", "reasoning": "{escaped(KEY)}"}}}}]}}'
    async with telling(body, 200) as url, opened(url) as model:
        reply = await model.ask("x")
    assert (reply.text, reply.thought) == ("You sent [key]", "[key]")


async def test_not_when_the_connection_fails(opened, caplog):
    async with opened("http://127.0.0.1:9/v1", attempts=1) as model:
        with pytest.raises(PolyclinicError) as caught:
            await model.ask("x")
        assert KEY not in shown(caught.value, caplog)


def test_not_in_the_address(opened):
    with pytest.raises(BadInput, match="keys come from the environment only") as caught:
        opened(f"http://user:{KEY}@127.0.0.1/v1")
    assert KEY not in str(caught.value)


def test_a_key_with_white_space_in_it_is_refused_unseen(opened, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY + "\nX-Other: 1")
    with pytest.raises(BadInput, match="OPENAI_API_KEY") as caught:
        opened("http://127.0.0.1/v1")
    assert KEY not in str(caught.value)


@pytest.mark.slow
def test_not_in_the_output_of_a_command(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["models", "check", "--model", "direct/x", "--base-url", "http://127.0.0.1:9/v1", "--json"])
    printed = capsys.readouterr()
    assert ended.value.code == 1
    assert json.loads(printed.out)["models"][0]["reachable"] is False
    assert KEY not in printed.out + printed.err


@pytest.mark.parametrize(
    "url",
    [
        "http://u:p@h/v1",
        "https://h/v1?api-key=abc",
        "https://h/v1?x=Zm9vYmFyYmF6cXV4MTIz",
        "https://h/v1?access_token=1",
    ],
)
def test_a_key_in_an_address_is_refused_and_not_said_again(url, tmp_path):
    with pytest.raises(BadInput) as refused:
        ModelSettings(base_url=url)
    assert "abc" not in str(refused.value) and "Zm9v" not in str(refused.value)
    (tmp_path / "m.toml").write_text(f'[models."direct/m"]\nbase_url = "{url}"\n')
    with pytest.raises(BadInput, match="keys come from the environment"):
        ModelSettings(model_file=tmp_path / "m.toml")
    ModelSettings(base_url="https://h/v1?api-version=2024-10-21")


@pytest.mark.parametrize(
    "pasted", ["sk-proj-abcdef0123456789", "gsk_a1b2c3d4e5f6g7h8", "AIzaSyA1234567890abcdef", "a b"]
)
def test_a_key_in_the_place_of_a_variables_name_is_refused_and_not_said_again(pasted):
    with pytest.raises(BadInput) as refused:
        ModelSettings(api_key_env=pasted)
    assert pasted not in str(refused.value)
    ModelSettings(api_key_env="MY_OPENAI_KEY_2")
