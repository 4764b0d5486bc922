"""Worker processes: the same episodes from any number of them, and what happens when one dies."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import msgspec
import pytest

from polyclinic.errors import BadInput, BudgetSpent, UserError
from polyclinic.generation.draw import generate
from polyclinic.hospital.care.clinic import open_clinic
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.care.workers import EpisodeTask, NoMoreQuestions, WorkerDied, WorkerPool, _serve, frame
from polyclinic.hospital.record.episodes import Episode, EpisodeRequest
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import AnswerWanted, Limit
from polyclinic.models.session import _limit
from polyclinic.models.share import Share
from polyclinic.testing.endpoint import Endpoint

SETUP = Setup(seed=4, diseases="respiratory", traces=True)


def requests(n=24, language="en"):
    cases = generate(read_knowledge().select("respiratory"), n=n, seed=9, language=language)
    return [
        EpisodeRequest(resident=f"r{i}", case=case, visit=1, departments=("respiratory",))
        for i, case in enumerate(cases)
    ]


async def pooled(workers, setup, asked):
    async with WorkerPool(workers, setup) as pool:
        return list(await asyncio.gather(*map(pool.compute, asked)))


async def alone(setup, asked):
    async with open_clinic(setup) as clinic:
        return [await clinic.compute(request) for request in asked]


@pytest.mark.slow
async def test_any_number_of_workers_and_none_give_the_same_episodes():
    asked = requests(8, "zh")
    here = await alone(SETUP, asked)
    assert not any(episode.failed for episode in here)
    assert await pooled(2, SETUP, asked) == here  # of one, the tests below ask the same


@pytest.mark.slow
async def test_a_worker_that_is_killed_ends_the_run_with_its_name():
    asked = requests(20)
    async with WorkerPool(2, SETUP) as pool:
        first = await pool.compute(asked[0])
        assert first.key == asked[0].key
        going = [asyncio.create_task(pool.compute(request)) for request in asked]
        await asyncio.sleep(0)
        victim = pool._workers[0]._process
        os.kill(victim.pid, signal.SIGKILL)
        came = await asyncio.gather(*going, return_exceptions=True)
        died = [one for one in came if isinstance(one, BaseException)]
        assert died
        assert {type(one) for one in died} == {WorkerDied}
        assert str(died[0]) == "worker 1 of 2 ended with signal SIGKILL"
        # Once dead, dead: nothing waits for it for ever.
        with pytest.raises(WorkerDied):
            await pool._workers[0].compute(asked[0])
    for worker in pool._workers.values():
        assert worker._process.returncode is not None


@pytest.mark.slow
async def test_a_mistake_of_ours_in_a_worker_is_said_and_not_turned_into_an_episode(monkeypatch, tmp_path):
    # A module that stands in for one of polyclinic's, in the worker alone.
    (tmp_path / "sitecustomize.py").write_text(
        textwrap.dedent("""
            import polyclinic.hospital.care.clinic as care
            async def broken(self, request):
                raise ZeroDivisionError("oops")
            care.Clinic.compute = broken
        """)
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(WorkerDied, match="ZeroDivisionError: oops"):
        await pooled(1, SETUP, requests(2))


@pytest.mark.slow
async def test_what_a_library_prints_does_not_stand_among_the_answers(monkeypatch, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        textwrap.dedent("""
            import polyclinic.hospital.care.clinic as care
            honest = care.Clinic.compute
            async def chatty(self, request):
                print("hello from a library")
                return await honest(self, request)
            care.Clinic.compute = chatty
        """)
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    asked = requests(3)
    assert await pooled(1, SETUP, asked) == await alone(SETUP, asked)


@pytest.mark.slow
async def test_a_wrong_setup_is_the_users_fault():
    for setup in (Setup(seed=1, diseases="dentistry"), Setup(seed=1, doctor="scripted:nowhere.json")):
        with pytest.raises(UserError) as raised:
            await pooled(1, setup, requests(1))
        assert type(raised.value) is not BadInput or str(raised.value)
    with pytest.raises(ValueError, match="0 workers"):
        WorkerPool(0, SETUP)


@pytest.mark.slow
async def test_a_pool_that_is_left_early_leaves_no_process_and_does_not_finish_the_work_first():
    async def leave():
        async with WorkerPool(1, SETUP) as pool:
            kept.append(pool)
            going.extend(asyncio.create_task(pool.compute(request)) for request in requests(300))
            await asyncio.wait(going, return_when=asyncio.FIRST_COMPLETED)
            raise KeyError("the run ended")

    kept, going = [], []
    with pytest.raises(KeyError):
        await leave()
    assert kept[0]._workers[0]._process.returncode == 0
    came = await asyncio.gather(*going, return_exceptions=True)
    assert 0 < sum(isinstance(one, WorkerDied) for one in came) < 300


@pytest.mark.slow
def test_an_interrupt_ends_parent_and_workers(tmp_path):
    program = textwrap.dedent("""
        import asyncio
        from polyclinic.hospital.care.setup import Setup
        from polyclinic.hospital.care.workers import WorkerPool

        async def main():
            async with WorkerPool(2, Setup(seed=1, diseases="respiratory")) as pool:
                print(*(w._process.pid for w in pool._workers.values()), flush=True)
                await asyncio.sleep(600)

        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            raise SystemExit(130)
    """)
    (tmp_path / "program.py").write_text(program)
    with subprocess.Popen([sys.executable, tmp_path / "program.py"], stdout=subprocess.PIPE, text=True) as parent:
        pids = list(map(int, parent.stdout.readline().split()))
        assert len(pids) == 2
        parent.send_signal(signal.SIGINT)
        assert parent.wait(30) == 130
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_the_limits_are_divided():
    assert [_limit(10, Share(n, 4)) for n in range(4)] == [3, 3, 2, 2]
    assert [_limit(1, Share(n, 2)) for n in range(2)] == [1, 1]
    adaptive = _limit(None, Share(1, 4))
    assert isinstance(adaptive, Limit)
    assert (adaptive.most, adaptive.adaptive) == (256, True)


@pytest.mark.slow
async def test_models_are_asked_by_every_worker_and_their_journals_answer_again(tmp_path):
    asked = requests(4)
    async with Endpoint() as endpoint:
        setup = Setup(
            seed=4,
            diseases="respiratory",
            nurse="direct/test",
            base_url=endpoint.url,
            concurrency=8,
            journal=str(tmp_path / "calls.sqlite"),
            run="r",
        )
        # Of a spent budget every answer is kept that was on its way, and none is asked for again.
        with pytest.raises(BudgetSpent):
            await pooled(2, msgspec.structs.replace(setup, token_budget=2), asked)
        first = await pooled(2, setup, asked)
        calls = endpoint.requests
        assert sum(episode.calls for episode in first) == calls >= len(asked)
        assert sorted(p.name for p in tmp_path.glob("*.sqlite")) == ["calls.1-of-2.sqlite", "calls.2-of-2.sqlite"]
        assert await pooled(2, setup, asked) == first
        assert endpoint.requests == calls


async def test_a_worker_ends_at_once_where_its_input_does_but_keeps_what_is_asked_of_a_spent_budget():
    ledger = Ledger()

    async def compute(request):
        await asyncio.sleep(0.01)
        return Episode(key=request.key)

    async def computed(*messages):
        done, reader = [], asyncio.StreamReader()
        reader.feed_data(frame([EpisodeTask(1, requests(1)[0], AnswerWanted()), *messages]))
        reader.feed_eof()
        clinic = SimpleNamespace(compute=compute, minds=SimpleNamespace(ledgers=(ledger,)))
        await _serve(clinic, reader, done.append, at_once=2)
        return len(done)

    assert await computed() == 0
    assert await computed(NoMoreQuestions()) == 1
    with pytest.raises(BudgetSpent):
        ledger.check()
