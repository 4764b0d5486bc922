"""Items in worker processes: each is computed once, an answer is kept before it is used, one budget is for all."""

import asyncio
import os
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.parallel.tasks import Asks, Squares, Unopened

from polyclinic.errors import BadInput, BudgetSpent, EndpointError, UserError
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.settings import ModelSettings
from polyclinic.parallel.holder import Holder
from polyclinic.parallel.pool import WorkerPool, check_site
from polyclinic.parallel.sites import WorkerLost

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _workers_import_the_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT}")


@asynccontextmanager
async def workers(task, journal=None, ledger=None, where="local:2", **more):
    said = []
    holder = Holder(journal, ledger or Ledger())
    async with WorkerPool(where, task, holder, items=more.pop("items", 8), report=said.append, **more) as pool:
        pool.said = said
        yield pool


@pytest.mark.slow
async def test_each_item_is_computed_once_and_all_workers_have_some():
    async with workers(Squares(0.4), at_once=1) as pool:
        came = await asyncio.gather(*map(pool.compute, range(8)))
    assert [square for square, _ in came] == [n * n for n in range(8)]
    assert len(Counter(process for _, process in came)) == 2


@pytest.mark.slow
async def test_errors_come_back_as_they_are_and_what_cannot_be_sent_is_one():
    async with workers(Squares(), items=1) as pool:
        with pytest.raises(BadInput, match=r"^numbers\.txt, line 3: no number$"):
            await pool.compute("wrong")
        with pytest.raises(EndpointError) as failed:
            await pool.compute("failed")
        assert failed.value.attempts == 4
        with pytest.raises(RuntimeError, match="a worker's result cannot be sent"):
            await pool.compute("lock")
        assert (await pool.compute(3))[0] == 9  # the worker is still there


@pytest.mark.slow
async def test_what_endpoints_take_is_divided_among_the_workers():
    async with workers(Squares()) as pool:
        assert await pool.compute("pace") == 2


@pytest.mark.slow
async def test_a_task_that_cannot_be_opened_is_said_once():
    with pytest.raises(BadInput, match=r"^cases\.jsonl: no such file$"):
        async with workers(Unopened()) as pool:
            await pool.compute(1)


@pytest.mark.slow
async def test_a_worker_that_is_killed_asks_nothing_twice_and_is_named(tmp_path):
    asked, ledger = tmp_path / "asked", Ledger()
    items = [f"item {n}" for n in range(6)]
    async with Journal(tmp_path / "j.sqlite", run="test") as journal:
        task = Asks(str(asked), dies_at="item 0")
        async with workers(task, journal, ledger, items=6, at_once=1) as pool:
            came = await asyncio.gather(*map(pool.compute, items))
    assert came == [[f"answer to {item} {n}" for n in range(3)] for item in items]
    assert len(asked.read_text().splitlines()) == 18  # the worker died when its answers were there
    (line,) = pool.said
    assert line.endswith("ended with signal SIGKILL; 1 items are given to others")
    assert ledger.total.calls == 18
    async with Journal(tmp_path / "j.sqlite", run="test") as journal, workers(Asks(str(asked)), journal) as pool:
        assert await asyncio.gather(*map(pool.compute, items)) == came
    assert len(asked.read_text().splitlines()) == 18


@pytest.mark.slow
async def test_an_item_that_ends_all_its_workers_is_given_up(tmp_path):
    task = Asks(str(tmp_path / "asked"), questions=0, dies_at="item", always=True)
    async with Journal(tmp_path / "j.sqlite") as journal, workers(task, journal, items=1) as pool:
        with pytest.raises(WorkerLost, match=r"SIGKILL.*given up after 5 times"):
            await pool.compute("item")


@pytest.mark.slow
async def test_one_budget_is_for_all_workers(tmp_path):
    """Ten tokens a question: the limit is passed by no more than is under way when the first answers come."""
    asked, settings = tmp_path / "asked", ModelSettings(token_budget=100)
    ledger = settings.budget()
    task = Asks(str(asked), settings=settings)
    async with (
        Journal(tmp_path / "j.sqlite", run="test") as journal,
        workers(task, journal, ledger, items=20) as pool,
    ):
        came = await asyncio.gather(*(pool.compute(f"item {n}") for n in range(20)), return_exceptions=True)
    spent = [one for one in came if isinstance(one, BudgetSpent)]
    assert spent
    assert all("--token-budget allows: 100" in str(one) for one in spent)
    assert ledger.asked.usage.tokens == 10 * len(asked.read_text().splitlines()) <= 200 + 100


@pytest.mark.slow
async def test_equal_questions_of_two_workers_have_one_answer(tmp_path):
    task = Asks(str(tmp_path / "asked"), episode="judge")
    async with Journal(tmp_path / "j.sqlite", run="test") as journal, workers(task, journal, items=2) as pool:
        came = await asyncio.gather(pool.compute("a"), pool.compute("b"))
    assert came[0] == came[1]


@pytest.mark.slow
async def test_an_item_that_is_not_wanted_any_more_leaves_its_place():
    async with workers(Squares(), where="local:1", items=1) as pool:
        waiting = asyncio.create_task(pool.compute(2))
        await asyncio.sleep(0)
        waiting.cancel()
        assert (await pool.compute(3))[0] == 9


@pytest.mark.parametrize("name", ["mars", "local:0", "local:x", "processes:2", "ray:0"])
def test_a_place_that_is_none_is_refused_in_one_line(name):
    with pytest.raises(UserError, match=f"^--on '{name}'; (allowed: local, local:N, ray, ray:N|write --on local:2$)"):
        check_site(name)
