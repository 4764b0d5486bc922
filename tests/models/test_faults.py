"""Every way an endpoint fails, against a server on loopback that really does it."""

import asyncio
import socket
import time
from collections import Counter

import aiohttp
import pytest
from aiohttp import web

from polyclinic.errors import (
    Broken,
    CutOff,
    EndpointError,
    ModelError,
    RateLimited,
    Refused,
    Rejected,
    TimedOut,
    TooLarge,
    UnknownModel,
    Unreachable,
    UnreadableReply,
    WrongKey,
)
from polyclinic.models.limits import Limit
from polyclinic.testing.endpoint import ENDPOINT_FAULTS, MODEL_FAULTS, Endpoint

SLOW = {"hang", "429-after", "429-date"}
NAMES = {
    "429": (RateLimited, "status 429"),
    "500": (Broken, "status 500"),
    "502": (Broken, "status 502"),
    "503": (Broken, "status 503"),
    "reset": (Broken, "the connection broke"),
    "close": (Broken, "the connection broke"),
    "empty": (Broken, "an empty body"),
    "html": (Broken, "HTML instead of JSON"),
    "cut": (Broken, "broken JSON"),
    "not-utf8": (Broken, "not UTF-8"),
}


def test_every_fault_of_the_endpoint_is_looked_at_here():
    assert set(ENDPOINT_FAULTS) == set(NAMES) | SLOW | {"huge"}


@pytest.mark.parametrize("fault", sorted(NAMES))
async def test_a_fault_of_the_endpoint_is_retried(fault, opened, echo):
    kind, answer = echo
    async with Endpoint(answers=answer, plan=[fault, fault, None]) as endpoint, opened(endpoint.url) as model:
        reply = await model.ask("number 7", answer=kind)
        assert reply.value == kind(7, "w7")
        assert (reply.attempts, endpoint.requests) == (3, 3)


@pytest.mark.parametrize("fault", sorted(NAMES))
async def test_a_fault_that_stays_is_named(fault, opened):
    name, told = NAMES[fault]
    async with Endpoint(faults=1.0, kinds=[fault]) as endpoint, opened(endpoint.url, attempts=3) as model:
        with pytest.raises(EndpointError, match=told) as caught:
            await model.ask("hello")
        assert type(caught.value) is name
        assert (caught.value.attempts, endpoint.requests) == (3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["429-after", "429-date"])
async def test_retry_after_is_honoured(fault, opened):
    async with Endpoint(plan=[fault, None]) as endpoint, opened(endpoint.url) as model:
        began = time.monotonic()
        reply = await model.ask("hello")
        # A date has whole seconds, so that "two seconds from now" may be little more than one.
        assert 0.9 < time.monotonic() - began < 20
        assert reply.attempts == 2


async def test_retry_after_beyond_our_patience_ends_at_once(opened):
    async with Endpoint(plan=["429-after"]) as endpoint, opened(endpoint.url, patience=0.5) as model:
        with pytest.raises(RateLimited):
            await model.ask("hello")
        assert endpoint.requests == 1


@pytest.mark.slow
async def test_a_hang_is_a_time_out(opened):
    async with Endpoint(plan=["hang", None]) as endpoint, opened(endpoint.url, timeout=0.2) as model:
        assert (await model.ask("hello")).attempts == 2
        endpoint._plan = ["hang", "hang"]
        model._attempts = 2
        with pytest.raises(TimedOut, match=r"no answer within 0\.2 seconds"):
            await model.ask("hello")


async def test_nobody_listens(opened):
    with socket.socket() as taken:
        # Bound and not listening: nobody else takes the port meanwhile.
        taken.bind(("127.0.0.1", 0))
        async with opened(f"http://127.0.0.1:{taken.getsockname()[1]}/v1", attempts=2) as model:
            with pytest.raises(Unreachable, match="cannot be reached") as caught:
                await model.ask("hello")
            assert caught.value.attempts == 2


async def test_a_server_that_begins_anew_is_waited_for(opened):
    said, told = [], asyncio.Event()

    def report(line):
        said.append(line)
        told.set()

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        waits = opened(
            f"http://127.0.0.1:{port}/v1", attempts=2, pause=0.01, patience=0.05, wait_for_server=30, report=report
        )
        async with waits as model:
            asked = asyncio.ensure_future(model.ask("hello"))
            await asyncio.wait_for(told.wait(), 20)
            await asyncio.sleep(0.2)
            taken.close()
            async with Endpoint(port=port) as endpoint:
                reply = await asyncio.wait_for(asked, 20)
                assert reply.attempts > 3  # more than it has attempts, and longer than it has patience
                assert endpoint.requests == 1
    assert [line.split("/v1: ")[-1].split(": ")[-1].split(" (")[0] for line in said] == [
        "cannot be reached",
        "answers again",
    ]


@pytest.mark.parametrize("kind", ["502", "503"])
async def test_what_stands_before_a_server_that_begins_anew_is_waited_for_too(kind, opened):
    plan = [kind] * 5 + [None]
    async with Endpoint(plan=plan) as endpoint, opened(endpoint.url, attempts=2, wait_for_server=30) as model:
        assert (await model.ask("hello")).attempts == 6


async def test_a_server_is_waited_for_so_long_and_then_has_its_attempts(opened):
    async with (
        Endpoint(faults=1.0, kinds=["503"]) as endpoint,
        opened(endpoint.url, attempts=2, pause=0.01, wait_for_server=0.1) as model,
    ):
        began = time.monotonic()
        with pytest.raises(Broken, match="status 503"):
            await model.ask("hello")
        assert 0.1 <= time.monotonic() - began < 10
        assert endpoint.requests > 3


async def test_a_fault_that_is_no_absence_is_not_waited_for(opened):
    async with Endpoint(faults=1.0, kinds=["500"]) as endpoint, opened(endpoint.url, wait_for_server=30) as model:
        with pytest.raises(Broken, match="status 500"):
            await model.ask("hello")
        assert endpoint.requests == 6  # as many as it has attempts


async def test_an_answer_beyond_all_bounds_is_cut_off(opened):
    async with Endpoint(plan=["huge", None]) as endpoint, opened(endpoint.url) as model:
        with pytest.raises(TooLarge, match="more than 4 MiB"):
            await model.ask("hello")
        assert endpoint.requests == 1
        # The connection it came over is gone, and the next question has one of its own.
        assert (await model.ask("hello")).text == "You said: hello"


async def test_an_endless_answer_without_length_is_cut_off(opened):
    sent = 0

    async def endless(request):
        nonlocal sent
        await request.read()
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        while True:
            await response.write(b" " * 2**16)
            sent += 2**16

    async with _server(endless) as url, opened(url) as model:
        with pytest.raises(TooLarge):
            await model.ask("hello")
        assert sent < 2**25


@pytest.mark.parametrize("fault", ["wrong-type", "missing-field", "silent", "length"])
async def test_an_unreadable_answer_is_asked_for_again_with_the_error(fault, opened, echo):
    kind, answer = echo
    async with Endpoint(answers=answer, plan=[fault, None]) as endpoint, opened(endpoint.url) as model:
        reply = await model.ask("number 3", answer=kind)
        assert (reply.value, reply.attempts) == (kind(3, "w3"), 2)
        first, again = (body["messages"] for body in endpoint.bodies)
        assert again[: len(first)] == first
        assert [message["role"] for message in again[len(first) :]] == ["assistant", "user"]
        told = {"wrong-type": "$.number", "missing-field": "`number`", "silent": "empty", "length": "cut off"}[fault]
        assert told in again[-1]["content"]
        assert reply.usage.tokens_out >= 1


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("wrong-type", UnreadableReply),
        ("missing-field", UnreadableReply),
        ("silent", UnreadableReply),
        ("length", CutOff),
    ],
)
async def test_an_answer_that_stays_unreadable_is_named(fault, name, opened, echo):
    kind, answer = echo
    async with (
        Endpoint(answers=answer, faults=1.0, kinds=[fault]) as endpoint,
        opened(endpoint.url, repairs=2) as model,
    ):
        with pytest.raises(ModelError) as caught:
            await model.ask("number 3", answer=kind)
        assert type(caught.value) is name
        assert endpoint.requests == caught.value.attempts == 3
        assert caught.value.usage.tokens_in > 0


async def test_an_option_that_does_not_exist(opened):
    async with Endpoint(faults=1.0, kinds=["no-option"]) as endpoint, opened(endpoint.url) as model:
        with pytest.raises(UnreadableReply, match=r"none of the options: yes \| no"):
            await model.ask("Is it so?", answer=("yes", "no"))
        assert endpoint.requests == 2


@pytest.mark.parametrize("fault", ["prose", "fenced"])
async def test_json_among_prose_and_in_fences_is_read_at_once(fault, opened, echo):
    kind, answer = echo
    async with Endpoint(answers=answer, faults=1.0, kinds=[fault]) as endpoint, opened(endpoint.url) as model:
        reply = await model.ask("number 5", answer=kind)
        assert (reply.value, reply.attempts, endpoint.requests) == (kind(5, "w5"), 1, 1)


async def test_a_refusal_is_not_argued_with(opened, echo):
    kind, answer = echo
    async with Endpoint(answers=answer, faults=1.0, kinds=["refusal"]) as endpoint, opened(endpoint.url) as model:
        with pytest.raises(Refused, match="can't help"):
            await model.ask("number 5", answer=kind)
        assert endpoint.requests == 1


async def test_text_that_was_cut_off_is_not_taken_for_whole(opened):
    async with Endpoint(faults=1.0, kinds=["length"]) as endpoint, opened(endpoint.url, repairs=0) as model:
        with pytest.raises(CutOff) as caught:
            await model.ask("hello")
        assert "You said: hello".startswith(caught.value.text)


async def test_a_wrong_key_stops_at_once_and_names_the_variable(opened, monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", "sk-wrong-0123456789")
    async with (
        Endpoint(key="right") as endpoint,
        opened(endpoint.url, api_key_env="CLINIC_KEY", concurrency=4) as model,
    ):
        results = await asyncio.gather(*(model.ask(f"hello {n}") for n in range(100)), return_exceptions=True)
        assert all(type(result) is WrongKey and "the key in CLINIC_KEY is refused" in str(result) for result in results)
        assert endpoint.requests <= 4


async def test_no_key_is_an_error_only_where_one_is_wanted(opened, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with Endpoint() as endpoint, opened(endpoint.url) as model:
        assert (await model.ask("hello")).text == "You said: hello"
    async with Endpoint(key="right") as endpoint, opened(endpoint.url) as model:
        with pytest.raises(WrongKey, match="a key is wanted; put it into OPENAI_API_KEY"):
            await model.ask("hello")
        assert endpoint.requests == 1


async def test_a_model_that_is_not_there(opened):
    async with Endpoint(models=["qwen3-8b", "llama"]) as endpoint, opened(endpoint.url) as model:
        with pytest.raises(UnknownModel, match=r"no model 'test'.*it has: qwen3-8b, llama"):
            await model.ask("hello")
        with pytest.raises(UnknownModel):
            await model.ask("hello")
        assert endpoint.requests == 1


@pytest.mark.parametrize("status", [400, 403, 413, 422])
async def test_a_request_that_is_not_taken_is_not_sent_again(status, opened):
    asked = 0

    async def no(_):
        nonlocal asked
        asked += 1
        return web.json_response({"error": {"message": "this question is not allowed"}}, status=status)

    async with _server(no) as url, opened(url) as model:
        with pytest.raises(Rejected, match=f"status {status}: this question is not allowed"):
            await model.ask("hello")
        assert asked == 1


async def test_a_redirect_is_not_followed_with_the_key(opened, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")

    async def elsewhere(_):
        raise web.HTTPTemporaryRedirect("http://127.0.0.1:9/elsewhere")

    async with _server(elsewhere) as url, opened(url) as model:
        with pytest.raises(Rejected, match="status 307"):
            await model.ask("hello")


async def test_an_error_with_status_200_is_none_the_less_an_error(opened):
    async def error(_):
        return web.json_response({"error": {"message": "upstream is gone", "code": 502}})

    async with _server(error) as url, opened(url, attempts=2) as model:
        with pytest.raises(Broken, match="upstream is gone"):
            await model.ask("hello")


async def test_spent_credit_is_not_waited_for(opened):
    async def spent(_):
        return web.json_response({"error": {"message": "no credit", "code": "insufficient_quota"}}, status=429)

    async with _server(spent) as url, opened(url) as model:
        with pytest.raises(RateLimited, match="no credit") as caught:
            await model.ask("hello")
        assert caught.value.attempts == 1


@pytest.mark.slow
async def test_a_thousand_asks_with_ten_percent_of_faults(opened, echo):
    """Each ends with the right answer or a named failure; none is lost, none is doubled, none is made up."""
    kind, answer = echo
    async with (
        Endpoint(answers=answer, faults=0.1, latency=0.001, seed=1) as endpoint,
        opened(endpoint.url, concurrency=64, attempts=3) as model,
    ):
        asked = [model.ask(f"number {n}", answer=kind) for n in range(1000)]
        results = await asyncio.gather(*asked, return_exceptions=True)
        failures = Counter(type(r).__name__ for r in results if isinstance(r, Exception))
        assert all(r.value == kind(n, f"w{n}") for n, r in enumerate(results) if not isinstance(r, Exception))
        assert all(isinstance(r, ModelError | EndpointError) for r in results if isinstance(r, Exception))
        assert 0 < sum(failures.values()) < 50, failures
        # Every request that the server saw belongs to an ask that knows of it.
        assert endpoint.requests == sum(r.attempts for r in results)
        assert set(endpoint.met) == set(ENDPOINT_FAULTS + MODEL_FAULTS) - SLOW
        assert endpoint.most_in_flight <= 64


@pytest.mark.slow
async def test_an_adaptive_limit_finds_what_the_endpoint_bears(opened):
    limit = Limit(256, adaptive=True, start=16)
    async with (
        Endpoint(latency=0.005, capacity=24) as endpoint,
        opened(endpoint.url, concurrency=limit, attempts=20, pause=0.01) as model,
    ):
        results = await asyncio.gather(*(model.ask(f"hello {n}") for n in range(1500)))
        assert len(results) == 1500
        assert 6 <= limit.now <= 48
        # Far fewer refusals than one for each answer, which is what a fixed limit of 256 would meet.
        assert 0 < endpoint.met["capacity"] < 400


def _server(handler):
    class Server:
        async def __aenter__(self):
            app = web.Application()
            app.router.add_post("/v1/chat/completions", handler)
            self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0, handler_cancellation=True)
            await self.runner.setup()
            await web.TCPSite(self.runner, "127.0.0.1", 0).start()
            return f"http://127.0.0.1:{self.runner.addresses[0][1]}/v1"

        async def __aexit__(self, *_):
            await self.runner.cleanup()

    return Server()


async def test_the_endpoint_counts(opened):
    async with Endpoint(plan=["503", None]) as endpoint, opened(endpoint.url) as model:
        await model.ask("hello")
        async with aiohttp.ClientSession() as session, session.get(endpoint.url[:-3] + "/counters") as response:
            counters = await response.json()
        assert counters == {"requests": 2, "answered": 1, "faults": {"503": 1}, "in_flight": 0, "most_in_flight": 1}
