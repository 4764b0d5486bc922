"""The fast door: what is sent, what is left out, what comes back."""

import asyncio

import jsonschema
import msgspec
import pytest

from polyclinic.errors import BadInput, Broken, Rejected
from polyclinic.models.batch import BatchLine, decoded
from polyclinic.models.direct import Direct
from polyclinic.models.model import Image, Price, Text
from polyclinic.models.wire import completion
from polyclinic.testing.endpoint import Endpoint

DOT = bytes.fromhex("89504e470d0a1a0a")


async def test_text_a_choice_and_a_value(opened, echo):
    kind, _ = echo
    async with (
        Endpoint(answers=["Hello.", "no", {"number": 1, "word": "w1"}]) as endpoint,
        opened(endpoint.url) as model,
    ):
        assert (await model.ask("Say hello")).value == "Hello."
        assert (await model.ask("Yes?", answer=("yes", "no"))).value == "no"
        reply = await model.ask([("system", "Be brief."), ("user", "One")], answer=kind)
        assert reply.value == kind(1, "w1")
        assert reply.text == '{"number":1,"word":"w1"}'
        assert reply.seconds > 0
        assert model.name == "direct/test"
        text, choice, value = endpoint.bodies
        assert text == {"model": "test", "messages": [{"role": "user", "content": "Say hello"}]}
        assert choice["response_format"]["json_schema"]["schema"]["properties"]["answer"] == {"enum": ["yes", "no"]}
        assert value["response_format"]["type"] == "json_schema"
        assert value["response_format"]["json_schema"]["strict"] is True
        assert [message["role"] for message in value["messages"]] == ["system", "user"]
        jsonschema.validate({"number": 1, "word": "w1"}, value["response_format"]["json_schema"]["schema"])


async def test_only_what_is_given_is_sent(opened):
    async with Endpoint() as endpoint, opened(endpoint.url) as model:
        await model.ask("x", temperature=0.0, top_p=0.5, max_tokens=9, reasoning="low", seed=0, purpose="not sent")
        sent = endpoint.bodies[0]
        del sent["messages"], sent["model"]
        assert sent == {"temperature": 0.0, "top_p": 0.5, "max_tokens": 9, "reasoning_effort": "low", "seed": 0}


async def test_pictures(opened, tmp_path):
    (tmp_path / "dot.png").write_bytes(DOT)
    async with Endpoint(answers=["A dot."]) as endpoint, opened(endpoint.url) as model:
        await model.ask([("user", [Text("What is this?"), Image.read(tmp_path / "dot.png")])])
        text, image = endpoint.bodies[0]["messages"][0]["content"]
        assert text == {"type": "text", "text": "What is this?"}
        assert image == {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    with pytest.raises(BadInput, match="not a picture"):
        (tmp_path / "dot.txt").write_text("x")
        Image.read(tmp_path / "dot.txt")


async def test_usage_and_cost(opened):
    price = Price(tokens_in=1.0, tokens_out=10.0, cached=0.5)
    async with Endpoint(answers=["one two three"]) as endpoint, opened(endpoint.url, price=price) as model:
        usage = (await model.ask("a b c d")).usage
        assert (usage.tokens_in, usage.cached, usage.tokens_out) == (4, 2, 3)
        assert usage.cost == pytest.approx((2 * 1.0 + 2 * 0.5 + 3 * 10.0) / 1e6)


@pytest.mark.parametrize("name", ["temperature", "top_p", "seed", "reasoning_effort", "max_tokens"])
async def test_a_parameter_that_is_not_taken_is_left_out_and_said_once(name, opened):
    said = []
    async with Endpoint(lacks=[name], latency=0.01) as endpoint, opened(endpoint.url, report=said.append) as model:
        options = {"temperature": 0.1, "top_p": 0.5, "seed": 1, "reasoning": "low", "max_tokens": 50}
        replies = await asyncio.gather(*(model.ask(f"hello {n}", **options) for n in range(20)))
        assert [reply.text for reply in replies] == [f"You said: hello {n}" for n in range(20)]
        await model.ask("hello", **options)
        assert endpoint.requests <= 20 + 20 + 1
        assert name not in endpoint.bodies[-1]
        assert len(endpoint.bodies[-1]) == 2 + 4
        assert said == [f"direct/test does not take {name}; it is left out"]
        assert model.parameters.left_out == [name]


async def test_a_parameter_that_has_another_name_is_sent_under_that(opened):
    said = []

    def answer(body):
        return "ok" if "max_completion_tokens" in body else "?"

    async with (
        Endpoint(answers=answer, lacks=["max_tokens"]) as endpoint,
        opened(endpoint.url, report=said.append) as model,
    ):
        endpoint.hints["max_tokens"] = "Use 'max_completion_tokens' instead."
        assert (await model.ask("x", max_tokens=5)).text == "ok"
        assert endpoint.bodies[-1]["max_completion_tokens"] == 5
        assert said == []


async def test_a_schema_that_is_not_taken_goes_into_the_prompt(opened, echo):
    kind, _ = echo
    said = []
    good = {"number": 2, "word": "w2"}
    async with (
        Endpoint(answers=[good], lacks=["response_format"]) as endpoint,
        opened(endpoint.url, report=said.append) as model,
    ):
        asked = [model.ask([("system", "s"), ("user", f"u{n}")], answer=kind) for n in range(10)]
        assert [reply.value for reply in await asyncio.gather(*asked)] == [kind(2, "w2")] * 10
        last = endpoint.bodies[-1]
        assert "response_format" not in last
        assert last["messages"][0] == {"role": "system", "content": "s"}
        assert '"additionalProperties":false' in last["messages"][1]["content"]
        assert said == ["direct/test takes no JSON Schema; it is put into the prompt"]


async def test_a_400_for_another_reason_is_not_taken_for_a_parameter(opened):
    async with Endpoint(lacks=["messages"]) as endpoint, opened(endpoint.url) as model:
        with pytest.raises(Rejected, match="'messages' is not supported"):
            await model.ask("x", temperature=0.5)
        assert endpoint.requests == 1


async def test_connections_are_kept(opened):
    async with Endpoint(latency=0.005) as endpoint, opened(endpoint.url, concurrency=8) as model:
        await asyncio.gather(*(model.ask(f"hello {n}") for n in range(200)))
        assert endpoint.most_in_flight == 8
        kept = model.servers[0].open().connector._conns
        assert len(kept[next(iter(kept))]) <= 8


async def test_equal_questions_make_equal_bytes(opened, echo):
    kind, answer = echo
    async with Endpoint(answers=answer) as endpoint, opened(endpoint.url) as model:
        for _ in range(2):
            await model.ask("number 1", answer=kind, temperature=0)
        first, second = endpoint.bodies
        assert msgspec.json.encode(first) == msgspec.json.encode(second)


@pytest.mark.parametrize("address", ["127.0.0.1:8000", "ftp://x/v1", "http://", "", "http://[::1", "nonsense"])
def test_an_address_that_is_none(address, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(BadInput, match="address"):
        Direct("x", base_url=address or "x")


async def test_a_query_of_the_address_is_sent_and_not_shown(opened):
    async with Endpoint(faults=1.0, kinds=["500"]) as endpoint:
        async with opened(f"{endpoint.url}?api-version=7", attempts=1) as model:
            assert model.servers[0].base.query_string == "api-version=7"
            with pytest.raises(Broken) as caught:
                await model.ask("x")
        assert "api-version" not in str(caught.value)
        assert endpoint.requests == 1


async def test_the_address_may_come_from_the_environment(monkeypatch):
    async with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url + "/")
        async with Direct("x") as model:
            assert (await model.ask("hello")).text == "You said: hello"


async def test_one_who_is_cancelled_leaves_its_place(opened):
    async with Endpoint(plan=["hang"]) as endpoint, opened(endpoint.url, concurrency=1) as model:
        task = asyncio.create_task(model.ask("never"))
        await endpoint.until(requests=1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await model.ask("hello")).text == "You said: hello"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\ud83d and", "\ufffd and"),
        (r"and \uDE00", "and \ufffd"),
        (r"\ud83d\ud83d\ude00 \ude00", "\ufffd\U0001f600 \ufffd"),
        (r"\\ud83d is text, and \"\ud83d\"", '\\ud83d is text, and "\ufffd"'),
    ],
)
def test_half_a_character_is_no_broken_answer(written, read):
    body = b'{"choices": [{"message": {"content": "%s"}, "finish_reason": "stop"}]}' % written.encode()
    assert completion(body).text == read
    line = b'{"custom_id": "1", "response": {"status_code": 200, "body": %s}}' % body
    of_batch = decoded(line, BatchLine)
    assert of_batch is not None and completion(bytes(of_batch.response.body)).text == read
