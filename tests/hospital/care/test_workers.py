"""Workers of the hospital: the same episodes from any number of them, one journal, and one budget."""

import asyncio
import dataclasses
import os
import signal

import msgspec
import pytest

from polyclinic.errors import BudgetSpent, UserError
from polyclinic.generation.draw import generate
from polyclinic.hospital.care.clinic import open_clinic
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.care.workers import open_clinic_workers
from polyclinic.hospital.record.episodes import EpisodeRequest
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import Limit, Share
from polyclinic.models.session import _limit, journal_of
from polyclinic.models.settings import ModelSettings
from polyclinic.parallel.holder import Holder
from polyclinic.testing.endpoint import Endpoint

SETUP = Setup(seed=4, diseases="respiratory", traces=True)


def requests(n, language="en"):
    cases = generate(read_knowledge().select("respiratory"), n=n, seed=9, language=language)
    return [
        EpisodeRequest(resident=f"r{i}", case=case, visit=1, departments=("respiratory",))
        for i, case in enumerate(cases)
    ]


async def pooled(workers, setup, asked, holder=None):
    async with open_clinic_workers(f"local:{workers}", setup, holder or Holder(None, Ledger())) as clinic:
        found = await asyncio.gather(*map(clinic.compute, asked), return_exceptions=True)
        for error in (one for one in found if isinstance(one, Exception)):
            raise error
        return found


async def alone(setup, asked):
    async with open_clinic(setup) as clinic:
        return [await clinic.compute(request) for request in asked]


@pytest.mark.slow
async def test_the_episodes_of_a_worker_that_is_killed_are_computed_by_others():
    asked, told = requests(10, "zh"), []
    here = await alone(SETUP, asked)
    assert not any(episode.failed for episode in here)
    async with open_clinic_workers("local:2", SETUP, Holder(None, Ledger()), told.append) as clinic:
        await clinic.compute(asked[0])
        going = [asyncio.create_task(clinic.compute(request)) for request in asked]
        await asyncio.sleep(0)
        victim = next(iter(clinic.pool._open))
        os.kill(victim._process._process.pid, signal.SIGKILL)
        assert await asyncio.gather(*going) == here
    assert any("SIGKILL" in line for line in told)


@pytest.mark.slow
async def test_a_wrong_setup_is_the_users_fault():
    for setup in (Setup(seed=1, diseases="dentistry"), Setup(seed=1, doctor="scripted:nowhere.json")):
        with pytest.raises(UserError):
            await pooled(1, setup, requests(1))


def test_the_limits_are_divided():
    assert [_limit(10, Share(n, 4)) for n in range(4)] == [3, 3, 2, 2]
    assert [_limit(1, Share(n, 2)) for n in range(2)] == [1, 1]
    adaptive = _limit(None, Share(1, 4))
    assert isinstance(adaptive, Limit)
    assert (adaptive.most, adaptive.adaptive) == (256, True)


@pytest.mark.slow
async def test_models_are_asked_by_every_worker_within_one_budget_and_one_journal_answers_again(tmp_path):
    asked = requests(4)
    async with Endpoint() as endpoint:
        asks = Setup(
            seed=4,
            diseases="respiratory",
            nurse="direct/test",
            models=ModelSettings(base_url=endpoint.url, concurrency=8),
        )

        async def held(token_budget=None, workers=2):
            models = dataclasses.replace(asks.models, token_budget=token_budget)
            setup = msgspec.structs.replace(asks, run="r", journal="the command", models=models)
            async with journal_of(tmp_path / "calls.sqlite", run="r") as journal:
                return await pooled(workers, setup, asked, Holder(journal, models.budget()))

        with pytest.raises(BudgetSpent):
            await held(token_budget=2)
        first = await held()
        calls = endpoint.requests
        assert sum(episode.calls for episode in first) == calls >= len(asked), "an answer on its way was lost"
        assert await held(workers=1) == first
        assert endpoint.requests == calls
