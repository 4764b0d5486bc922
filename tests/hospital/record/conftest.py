"""A hospital that has lived a few days: real happenings, with episodes that are drawn and not played."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.episodes import Compute, ConsultationHeld, Episode, EpisodeRequest
from polyclinic.hospital.record.happenings import Acuity, Happening
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.simulation import SimulatedRun, Simulation
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.seeds import derive

LIVED_SEED = 11


async def drawn_episode(request: EpisodeRequest) -> Episode:
    """An episode by chance: referred one time in eight, failed one time in twenty."""
    rng = derive(LIVED_SEED, request.key, "drawn")
    first, second = rng.sample(request.departments, 2)
    seen = [
        ConsultationHeld(
            department=first,
            turns=rng.randint(4, 12),
            examinations=("physical-examination", "blood-test", "chest-x-ray"),
        )
    ]
    if rng.random() < 0.125:
        seen = [
            ConsultationHeld(department=first, turns=3, refer_to=second),
            ConsultationHeld(department=second, turns=5),
        ]
    failed = rng.random() < 0.05
    return Episode(
        key=request.key,
        department=first,
        acuity=rng.choice(list(Acuity)),
        seen=tuple(seen),
        plan=None if failed else "mild",
        treatment=() if failed else ("rest", "paracetamol 500 mg"),
        dispensed=() if failed else ("paracetamol",),
        right_examination=rng.random() < 0.7,
        right_diagnosis=rng.random() < 0.6,
        right_treatment=rng.random() < 0.5,
        failed="doctor" if failed else "",
        error="UnreadableReply" if failed else "",
        problem="<b>neither</b> A nor B" if failed else "",
    )


def make_live() -> Callable[..., SimulatedRun]:
    """Returns what lets a small town live, and hands what happens to a sink."""
    knowledge = read_knowledge()
    hospital = read_hospital(None, knowledge)
    kinds = {id: examination.kind for id, examination in knowledge.examinations.items()}
    people = Residents(2000, LIVED_SEED)

    def live(*sinks, compute=drawn_episode, visits=250, seed=LIVED_SEED):
        town = Town(hospital, knowledge, people, seed=seed)
        return asyncio.run(
            Simulation(hospital, town, compute, days=60, seed=seed, kinds=kinds, visits=visits, sinks=sinks).run()
        )

    return live


@pytest.fixture(scope="session")
def live() -> Callable[..., SimulatedRun]:
    return make_live()


@pytest.fixture(scope="session")
def drawn() -> Compute:
    return drawn_episode


class Kept(list):
    """A sink that keeps all in memory."""

    def add(self, happening, account):
        self.append(happening)


@pytest.fixture(scope="session")
def lived_and_stored(live, tmp_path_factory) -> tuple[list[Happening], Path]:
    """What happened over 250 visits, in order, and the folder in which it was stored meanwhile."""
    kept, folder = Kept(), tmp_path_factory.mktemp("lived") / "run-seven"
    with Store.create(folder, {"seed": LIVED_SEED}) as store:
        run = live(kept, store, compute=store.remember(drawn_episode))
        store.finish({"visits": run.summary["arrived"], "log_hash": run.log_hash})
    return list(kept), folder


@pytest.fixture(scope="session")
def lived(lived_and_stored) -> list[Happening]:
    """What happened over 250 visits, in order."""
    return lived_and_stored[0]


@pytest.fixture(scope="session")
def lived_run(lived_and_stored) -> Path:
    """The folder of that run, which has come to its end; not to be changed."""
    return lived_and_stored[1]
