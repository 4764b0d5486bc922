"""Finding the state of the hospital at any time in a run of ten thousand visits, and writing such a run.

Who comes, waits and is served is simulated; what is said and decided with a patient is drawn, as it makes no difference
to a log's shape.
"""

import asyncio
import gc
import random
import resource
import statistics
import tempfile
import time
from pathlib import Path

from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.episodes import ConsultationHeld, Episode
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.simulation import Simulation
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.seeds import derive

VISITS = 10_000
RESIDENTS = 20_000
SEED = 20_261
SEEKS = 300
MS_ALLOWED = 20.0


def run() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        asyncio.run(live(visits=100, n=RESIDENTS, sinks=()))  # what is done once is done
        begun, cpu = time.perf_counter(), time.process_time()
        plain = asyncio.run(live(visits=VISITS, n=RESIDENTS, sinks=()))
        alone = time.process_time() - cpu
        cpu = time.process_time()
        with Store.create(folder, {"seed": SEED}) as store:
            lived = asyncio.run(live(visits=VISITS, n=RESIDENTS, sinks=(store,)))
            store.finish({"visits": lived.summary["arrived"], "log_hash": lived.log_hash})
        stored = time.process_time() - cpu
        assert lived.log_hash == plain.log_hash
        size = (folder / "run.sqlite").stat().st_size
        print(
            f"{lived.summary['arrived']} visits, {lived.happenings} happenings over {lived.days:.0f} days; "
            f"storing took {stored - alone:.1f} s of {stored:.1f} s CPU; {size / 2**20:.0f} MiB on disk"
        )
        seek(folder)
        print(f"all in {time.perf_counter() - begun:.0f} s wall, {peak():.0f} MiB at the peak")


def seek(folder: Path) -> None:
    draw = random.Random(SEED)
    with RecordedRun(folder) as recorded:
        last = next(recorded.happenings(begin=len(recorded) - 1)).t
        seconds, people = [], 0
        gc.collect()
        for _ in range(SEEKS):
            t = draw.randint(0, last)
            start = time.perf_counter()
            world = recorded.seek(t)
            seconds.append(time.perf_counter() - start)
            people = max(people, len(world.people))
    ms = sorted(1000 * s for s in seconds)
    print(
        f"{SEEKS} seeks: median {statistics.median(ms):.1f} ms (allowed: {MS_ALLOWED:.0f}), "
        f"95 % within {ms[int(0.95 * len(ms))]:.1f} ms, longest {ms[-1]:.1f} ms; up to {people} people at once"
    )


async def live(*, visits, n, sinks):
    knowledge = read_knowledge()
    hospital = read_hospital(None, knowledge)
    town = Town(hospital, knowledge, Residents(n, SEED), seed=SEED)
    kinds = {id: examination.kind for id, examination in knowledge.examinations.items()}
    names = sorted(kinds)

    async def drawn(request):
        rng = derive(SEED, request.key, "drawn")
        away = rng.random() < 0.1
        seen = ConsultationHeld(
            department=rng.choice(request.departments),
            turns=rng.randint(4, 12),
            examinations=tuple(rng.sample(names, rng.randint(0, 3))),
            diagnosis="influenza A",
        )
        first = [] if not away else [ConsultationHeld(department=seen.department, turns=3, refer_to=seen.department)]
        right = rng.random() < 0.8
        return Episode(
            key=request.key,
            department=seen.department,
            acuity=rng.choice(list(Acuity)),
            seen=(*first, seen),
            plan="mild",
            treatment=("rest", "paracetamol 500 mg"),
            dispensed=("paracetamol",),
            right_examination=right,
            right_diagnosis=right,
            right_treatment=right,
        )

    return await Simulation(hospital, town, drawn, days=3650, seed=SEED, kinds=kinds, visits=visits, sinks=sinks).run()


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
