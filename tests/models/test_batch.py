"""Questions that go as batches: asked once, resumed by id, and what fails or expires is asked again."""

import asyncio
import re
from contextlib import asynccontextmanager

import pytest
from tests.batch_endpoint import BatchEndpoint

from polyclinic.errors import BadInput, Broken, UserError
from polyclinic.models import batch
from polyclinic.models.batch import Batched
from polyclinic.models.direct import Direct
from polyclinic.models.journal import Journal
from polyclinic.models.model import Price
from polyclinic.testing.endpoint import Endpoint


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(batch, "QUIET", 0.005)
    monkeypatch.setattr(batch, "FIRST_LOOK", 0.001)


@asynccontextmanager
async def batched(endpoint, path, run="", **options):
    direct = Direct("test", base_url=endpoint.url, report=lambda _: None, price=Price(2.0, 2.0))
    async with (
        Journal(path / "journal", run=run) as journal,
        Batched(direct, journal, **options) as model,
    ):
        yield model


async def ask(model, count, **options):
    asking = (model.ask(f"question {n}", temperature=0.5, **options) for n in range(count))
    return await asyncio.gather(*asking, return_exceptions=True)


async def test_what_is_asked_at_once_is_one_batch_and_what_follows_the_next(tmp_path):
    said = []
    async with BatchEndpoint(batches={}) as endpoint:
        async with batched(endpoint, tmp_path, price=Price(1.0, 1.0), report=said.append) as model:
            first = await ask(model, 20)
            second = await ask(model, 3, answer=("yes", "no"))
        assert len(endpoint.batches.made) == 2
        assert endpoint.requests == 23
    assert [reply.text for reply in first] == [f"You said: question {n}" for n in range(20)]
    assert {reply.value for reply in second} <= {"yes", "no"}
    tokens = first[0].usage.tokens_in + first[0].usage.tokens_out
    assert first[0].usage.cost == tokens / 1e6, "the price is that of batches"
    assert said == [f"direct/test: {n} questions are asked as batch batch_{k}" for n, k in ((20, 1), (3, 2))]


async def test_equal_questions_have_answers_of_their_own(tmp_path):
    async with BatchEndpoint(answers=["a", "b"], batches={}) as endpoint, batched(endpoint, tmp_path) as model:
        assert sorted(reply.text for reply in await asyncio.gather(model.ask("x"), model.ask("x"))) == ["a", "b"]


async def test_another_run_has_answers_of_its_own(tmp_path):
    """Its journal and the ids of its batches may be in the same file; a seed repeated would be no repetition."""
    async with BatchEndpoint(answers=["a", "b"], batches={}) as endpoint:
        came = []
        for run in ("seed=0", "seed=1", "seed=0"):
            async with batched(endpoint, tmp_path, run=run) as model:
                came.append((await model.ask("x")).text)
        assert came[0] == came[2] != came[1]
        assert len(endpoint.batches.made) == 2


@pytest.mark.parametrize("hidden", [0, 1])
async def test_a_run_that_was_ended_goes_on_with_its_batch(tmp_path, hidden):
    """It is ended while it waits; hidden: before it was told the id."""
    async with BatchEndpoint(batches={"looks": 3, "hidden": hidden}) as endpoint:
        async with batched(endpoint, tmp_path) as model:
            asking = asyncio.create_task(ask(model, 5))
            while not endpoint.batches.made:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            asking.cancel()
        said = []
        async with batched(endpoint, tmp_path, report=said.append) as model:
            replies = await ask(model, 6)
        assert [reply.text for reply in replies] == [f"You said: question {n}" for n in range(6)]
        assert sorted(said) == [
            "direct/test: 1 questions are asked as batch batch_2",
            "direct/test: goes on with batch batch_1, 5 of its answers are wanted",
        ]
        assert endpoint.requests == 6


async def test_what_expired_or_failed_is_asked_again_and_given_up_in_the_end(tmp_path):
    said = []
    async with (
        BatchEndpoint(batches={"expire": 1}, plan=["500"]) as endpoint,
        batched(endpoint, tmp_path, report=said.append) as model,
    ):
        replies = await ask(model, 4)
    assert [reply.text for reply in replies] == [f"You said: question {n}" for n in range(4)]
    assert [reply.attempts for reply in replies] == [2, 2, 1, 2]
    assert said[1] == "direct/test: batch batch_1 expired without 3 of 4 answers"
    async with BatchEndpoint(batches={}, faults=1.0, kinds=["500"]) as endpoint:
        async with batched(endpoint, tmp_path) as model:
            failed = await ask(model, 2)
        assert len(endpoint.batches.made) == 3
    assert all(isinstance(one, Broken) and "without an answer, 3 batches" in str(one) for one in failed)


async def test_a_parameter_that_the_model_does_not_take_is_left_out(tmp_path):
    async with BatchEndpoint(batches={}, lacks=["temperature"]) as endpoint, batched(endpoint, tmp_path) as model:
        assert [reply.text for reply in await ask(model, 2)] == ["You said: question 0", "You said: question 1"]


async def test_what_cannot_be_asked_so_is_one_line(tmp_path):
    async with BatchEndpoint(batches={"refuse": 1}) as endpoint, batched(endpoint, tmp_path) as model:
        (refused,) = await ask(model, 1)
        assert isinstance(refused, BadInput)
        assert str(refused).endswith("batch batch_1 is refused: the file is refused on purpose")
    async with Endpoint() as endpoint, batched(endpoint, tmp_path) as model:
        (none,) = await ask(model, 1)
        assert isinstance(none, UserError)
        assert str(none).endswith("has no batches (/files, /batches); leave models.batch-api out")


@pytest.mark.parametrize("kind", ["limited", "silent", "unread", "short"])
async def test_what_fails_for_a_while_around_a_batch_is_tried_again_and_nothing_asked_twice(tmp_path, kind):
    often = 1 if kind == "short" else 5
    async with BatchEndpoint(batches={kind: often, "hidden": 1}) as endpoint:
        async with batched(endpoint, tmp_path) as model:
            replies = await ask(model, 6)
        assert [reply.text for reply in replies] == [f"You said: question {n}" for n in range(6)]
        assert (endpoint.requests, len(endpoint.batches.made)) == (6, 1)


async def test_what_is_waited_for_is_said_once_and_again_when_it_is_something_else(tmp_path):
    said = []
    async with (
        BatchEndpoint(batches={"limited": 4, "silent": 2, "unread": 1}) as endpoint,
        batched(endpoint, tmp_path, report=said.append) as model,
    ):
        await ask(model, 2)
    at = f"direct/test at {endpoint.url}: status"
    assert [re.sub(r"up to \d[\d,]* s", "up to N s", line) for line in said] == [
        f"{at} 429: too many batches; the batch is asked for again until that is over, for up to N s",
        "direct/test: 2 questions are asked as batch batch_1",
        f"{at} 500: not now; batch batch_1 is looked at again until that is over, for up to N s",
        f"{at} 500: not now; the answers of batch batch_1 are fetched again until that is over, for up to N s",
    ]


@pytest.mark.parametrize(
    ("kind", "said"), [("unread", "batch_1 cannot be fetched (status 500"), ("silent", "status 500: not now")]
)
async def test_a_batch_that_fails_for_too_long_is_taken_up_later_and_not_paid_for_again(
    tmp_path, monkeypatch, kind, said
):
    monkeypatch.setattr(batch, "AWAY", 0.05)
    async with BatchEndpoint(batches={kind: 10**6}) as endpoint:
        async with batched(endpoint, tmp_path) as model:
            failed = await ask(model, 3)
        assert all(isinstance(one, Broken) and said in str(one) for one in failed), failed
        endpoint.batches._met[kind] = 0
        async with batched(endpoint, tmp_path) as model:
            replies = await ask(model, 3)
        assert [reply.text for reply in replies] == [f"You said: question {n}" for n in range(3)]
        assert (endpoint.requests, len(endpoint.batches.made)) == (3, 1)


async def test_a_batch_that_is_not_taken_is_one_line(tmp_path):
    async with BatchEndpoint(batches={"declined": 1}) as endpoint, batched(endpoint, tmp_path) as model:
        refused = await ask(model, 3)
        assert {type(one) for one in refused} == {BadInput}
        assert str(refused[0]).endswith("the batch is refused: status 400: Enqueued token limit reached")
