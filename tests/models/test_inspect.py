"""Inspect's providers for us, and our fast door for Inspect."""

import pytest
from aiohttp import web

from polyclinic.errors import CutOff, RateLimited, Refused, TimedOut, UnreadableReply, UserError, WrongKey
from polyclinic.models.inspect import Inspect
from polyclinic.models.model import Image, Price, Text
from polyclinic.models.open import open_model
from polyclinic.testing.endpoint import Endpoint

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not __import__("importlib.util").util.find_spec("inspect_ai"), reason="the extra 'evals' is not installed"
    ),
    # Not ours: Inspect and what it imports warn as they like.
    pytest.mark.filterwarnings("default"),
]


def output(text, stop="stop"):
    """What a mock says. Without its usage, Inspect would fetch a tokenizer from the network to count it."""
    from inspect_ai.model import ModelOutput, ModelUsage

    made = ModelOutput.from_content("mockllm", text, stop_reason=stop)
    made.usage = ModelUsage(input_tokens=5, input_tokens_cache_read=2, output_tokens=3, total_tokens=10)
    return made


def mock(*outputs, **options):
    made = [output(one) if isinstance(one, str) else one for one in outputs]
    return Inspect("mockllm/model", custom_outputs=made, **options)


async def test_text_a_choice_a_value_and_a_repair(echo):
    kind, _ = echo
    async with mock("Hello.", "yes", '{"number": 1}', '{"number": 1, "word": "w1"}') as model:
        assert (await model.ask([("system", "s"), ("user", "u"), ("assistant", "a"), ("user", "u")])).value == "Hello."
        assert (
            await model.ask([("user", [Text("x"), Image("data:image/png;base64,aaaa")])], answer=("yes", "no"))
        ).value == "yes"
        reply = await model.ask("x", answer=kind, temperature=0.5, max_tokens=100, seed=1)
        assert (reply.value, reply.attempts) == (kind(1, "w1"), 2)
        assert (reply.usage.tokens_in, reply.usage.cached, reply.usage.tokens_out) == (14, 4, 6)
        assert model.name == "inspect/mockllm/model"


async def test_what_the_model_is_asked(echo):
    kind, _ = echo
    seen = []

    def answer(messages, tools, tool_choice, config):
        seen.append((messages, config))
        return output('{"number": 1, "word": "w1"}')

    model = Inspect("mockllm/model", custom_outputs=answer)
    await model.ask("x", answer=kind, temperature=0.5, reasoning="low", seed=7)
    ((messages, config),) = seen
    assert (config.temperature, config.reasoning_effort, config.seed) == (0.5, "low", 7)
    assert config.response_schema.json_schema.properties["word"].maxLength == 40
    assert '"additionalProperties":false' in messages[-1].text


async def test_failures_have_our_names(echo):
    kind, _ = echo
    with pytest.raises(CutOff):
        await mock(output("Hel", "max_tokens"), output("Hel", "max_tokens")).ask("x")
    with pytest.raises(Refused):
        await mock(output("no", "content_filter")).ask("x")
    with pytest.raises(UnreadableReply):
        await mock("no", "no").ask("x", answer=kind)


@pytest.mark.parametrize(("status", "name"), [(401, WrongKey), (429, RateLimited), (None, TimedOut)])
async def test_what_a_provider_raises_is_named_and_not_repeated(status, name):
    class Odd(TimeoutError if status is None else Exception):
        status_code = status

    def answer(*_):
        raise Odd("sk-secret")

    with pytest.raises(name) as caught:
        await Inspect("mockllm/model", custom_outputs=answer).ask("x")
    assert "sk-secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_provider_that_is_not_there():
    with pytest.raises(UserError, match="inspect/nobody/nothing cannot be opened"):
        open_model("inspect/nobody/nothing")


async def test_the_price_counts():
    async with mock("x", price=Price(tokens_in=1e6, tokens_out=1e6, cached=5e5)) as model:
        assert (await model.ask("x")).usage.cost == 5 + 1 + 3


async def test_by_name():
    async with open_model("inspect/mockllm/model", concurrency=7) as model:
        assert (model.name, model.limit.most) == ("inspect/mockllm/model", 7)


@pytest.fixture
def provider():
    import polyclinic.models.inspect_provider  # noqa: F401


async def test_the_fast_door_in_inspect(provider):
    from inspect_ai.model import (
        ChatMessageSystem,
        ChatMessageUser,
        ContentImage,
        ContentText,
        GenerateConfig,
        get_model,
    )

    async with Endpoint(plan=["503", None]) as endpoint:
        async with get_model("direct/test", base_url=endpoint.url, memoize=False) as model:
            config = GenerateConfig(temperature=0.5, max_tokens=9, stop_seqs=["\n"])
            parts = [ContentText(text="hello"), ContentImage(image="data:image/png;base64,aaaa")]
            messages = [ChatMessageSystem(content="s"), ChatMessageUser(content=parts)]
            output = await model.generate(messages, config=config)
        assert output.completion.startswith("You said: ")
        assert output.stop_reason == "stop"
        assert output.usage.total_tokens > 0
        body = endpoint.bodies[-1]
        assert (body["temperature"], body["max_tokens"], body["stop"]) == (0.5, 9, ["\n"])
        assert [part["type"] for part in body["messages"][1]["content"]] == ["text", "image_url"]


async def test_inspect_is_told_no_unfinished_thought_as_an_answer(provider):
    from inspect_ai.model import get_model

    said = "<think>First idea: ANSWER: B. But"
    async with Endpoint(answers=lambda _: said) as endpoint:
        async with get_model("direct/test", base_url=endpoint.url, memoize=False) as model:
            output = await model.generate("Which?")
        assert (output.completion, output.stop_reason) == ("", "max_tokens")
        assert "First idea" in output.message.content[0].reasoning
        async with Inspect("direct/test", base_url=endpoint.url) as model:
            with pytest.raises(CutOff):
                await model.ask("Which?")


async def test_tools_and_schemas_in_inspect(provider):
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageTool,
        ChatMessageUser,
        GenerateConfig,
        ResponseSchema,
        get_model,
    )
    from inspect_ai.tool import ToolInfo
    from inspect_ai.util import JSONSchema

    async def call(request):
        bodies.append(await request.json())
        function = {"name": "look", "arguments": '{"at": "ear"}'}
        broken = {"name": "look", "arguments": '{"at": '}
        calls = [{"id": "1", "type": "function", "function": function}, {"id": "2", "function": broken}]
        return web.json_response({"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]})

    bodies = []
    app = web.Application()
    app.router.add_post("/v1/chat/completions", call)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    look = ToolInfo(name="look", description="Look at a part.")
    schema = ResponseSchema(
        name="x", json_schema=JSONSchema(type="object", properties={"a": JSONSchema(type="string")})
    )
    try:
        async with get_model("direct/test", base_url=url, memoize=False) as model:
            output = await model.generate(
                "x", tools=[look], tool_choice="any", config=GenerateConfig(response_schema=schema)
            )
            good, broken = output.message.tool_calls
            assert output.stop_reason == "tool_calls"
            assert (good.function, good.arguments, good.parse_error) == ("look", {"at": "ear"}, None)
            assert broken.parse_error
            await model.generate(
                [
                    ChatMessageUser(content="x"),
                    ChatMessageAssistant(content="", tool_calls=[good]),
                    ChatMessageTool(content="red", tool_call_id="1", function="look"),
                ]
            )
    finally:
        await runner.cleanup()
    assert bodies[0]["tools"][0]["function"]["name"] == "look"
    assert bodies[0]["tool_choice"] == "required"
    assert bodies[0]["response_format"]["json_schema"]["schema"]["properties"] == {"a": {"type": "string"}}
    _, asked, told = bodies[1]["messages"]
    assert asked["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at":"ear"}'}
    assert told == {"role": "tool", "tool_call_id": "1", "content": "red"}


def test_a_key_is_not_taken_as_an_argument(provider):
    from inspect_ai.model import get_model

    with pytest.raises(ValueError, match="from the environment variable"):
        get_model("direct/test", api_key="sk-x", memoize=False)


def test_a_host_out_of_reach_is_named():
    from polyclinic.models.inspect import Inspect

    door = Inspect("mockllm/model")
    told = door._named(ConnectionError("HTTPSConnection(host='example.org', port=443): key=sesame"))
    assert "example.org cannot be reached" in str(told) and "sesame" not in str(told) and "made-up" in str(told)
