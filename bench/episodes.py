"""Episodes of a hospital a second, with rules minds, in this process and in workers; and what a model's call costs."""

import asyncio
import resource
import time

from bench.serving import Served, serve_or_run
from polyclinic.generation.draw import generate
from polyclinic.hospital.care.clinic import open_clinic
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.care.workers import open_clinic_workers
from polyclinic.hospital.record.episodes import EpisodeRequest
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.ledger import Ledger
from polyclinic.models.settings import ModelSettings
from polyclinic.parallel.holder import Holder

EPISODES = 2000
SEED = 20_261
MS_ALLOWED = 10.0
BY_MODEL = 400
LATENCY, AT_ONCE = 0.5, 256
MS_A_CALL = 1.0
MODEL = "direct/test"
DOCTOR_TURNS = 8
DISEASE = "bronchial asthma"


def run() -> None:
    knowledge = read_knowledge()
    departments = tuple(sorted({d.department for d in knowledge.diseases.values()}))
    start = time.perf_counter()
    cases = list(generate(knowledge, n=EPISODES, seed=SEED))
    print(f"{EPISODES} cases of {len(knowledge.diseases)} diseases drawn in {time.perf_counter() - start:.1f} s")
    requests = [EpisodeRequest(resident=f"r{i}", case=c, visit=1, departments=departments) for i, c in enumerate(cases)]
    setup = Setup(seed=SEED)
    alone, cpu = asyncio.run(_alone(setup, requests))
    print(f"in process: {1000 * cpu / EPISODES:.2f} ms of CPU an episode (allowed: {MS_ALLOWED:.0f})")
    home = [knowledge.disease_named(case.truth.diagnoses[0].name).department for case in cases]
    for what, share in (
        ("sent to the right department", [e.department == d for e, d in zip(alone, home, strict=True)]),
        ("right examination", [e.right_examination for e in alone]),
        ("right diagnosis", [e.right_diagnosis for e in alone]),
        ("right treatment", [e.right_treatment for e in alone]),
        ("referred", [len(e.seen) > 1 for e in alone]),
    ):
        print(f"  {what}: {100 * sum(share) / EPISODES:.1f} %")
    for workers in (1, 2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        pooled, wall, opening = asyncio.run(_pooled(workers, setup, requests))
        cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        same = "the same episodes" if pooled == alone else "OTHER EPISODES"
        print(
            f"{workers} workers: {EPISODES / wall:.0f} episodes a second, "
            f"{1000 * cpu / EPISODES:.2f} ms of their CPU each, opened in {opening:.1f} s; {same}"
        )
    print(f"memory at the peak: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    with Served("bench.episodes", LATENCY) as url:
        asyncio.run(_by_model(requests[:BY_MODEL], url))


async def _alone(setup, requests):
    async with open_clinic(setup) as clinic:
        for request in requests[:50]:
            await clinic.compute(request)
        start = time.process_time()
        return [await clinic.compute(request) for request in requests], time.process_time() - start


async def _pooled(workers, setup, requests):
    start = time.perf_counter()
    async with open_clinic_workers(f"local:{workers}", setup, Holder(None, Ledger())) as pool:
        opening = time.perf_counter() - start
        start = time.perf_counter()
        return list(await asyncio.gather(*map(pool.compute, requests))), time.perf_counter() - start, opening


def answer(body):
    """Answers as anybody in the hospital would: the doctor asks, orders once, and concludes after its eighth turn."""
    schema = body["response_format"]["json_schema"]["schema"]["properties"]
    messages = body["messages"]
    spoken = sum(message["role"] == "assistant" for message in messages)
    if "acuity" in schema:
        return {"department": schema["department"]["enum"][0], "acuity": "routine", "reason": "The complaint fits."}
    if "conclude" in schema:
        say = "Please have a complete blood count." if spoken == 4 else "Has it been worse at night, or on some days?"
        return {"say": say, "conclude": spoken == DOCTOR_TURNS - 1}
    if "say" in schema:
        ordered = "blood count" in messages[-1]["content"]
        to = "examiner" if ordered else "doctor"
        say = "complete blood count" if ordered else "It is worse at night, and I sleep badly because of it."
        return _filled(schema) | {"say": say, "to": to, "leave": False}
    if "diagnoses" in schema:
        return {part: [] for part in schema} | {"diagnoses": [{"name": DISEASE, "icd10": None, "probability": 0.8}]}
    if "withheld" in schema:
        return {"withheld": []}
    return _filled(schema)


def _filled(schema):
    """Returns a value of each property: the first that is allowed of a few, else what says least."""
    said = {"array": [], "boolean": False, "integer": 0, "number": 0, "string": "It fits."}
    return {name: part["enum"][0] if "enum" in part else said.get(part.get("type")) for name, part in schema.items()}


async def _by_model(requests, url):
    """What a call costs of this process's CPU: players, client and what holds an episode together."""
    setup = Setup(
        seed=SEED,
        doctor=MODEL,
        patient=MODEL,
        nurse=MODEL,
        pharmacist=MODEL,
        models=ModelSettings(base_url=url, concurrency=AT_ONCE),
    )
    async with open_clinic(setup) as clinic:
        await asyncio.gather(*map(clinic.compute, requests[:8]))
        wall, cpu = time.perf_counter(), time.process_time()
        episodes = await asyncio.gather(*map(clinic.compute, requests))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    calls = sum(e.calls for e in episodes)
    ideal = calls * LATENCY / AT_ONCE
    print(
        f"by a model that answers after {1000 * LATENCY:.0f} ms, {AT_ONCE} at once: {len(episodes)} episodes, "
        f"{calls:,} calls, {sum(bool(e.failed) for e in episodes)} failed"
    )
    print(f"  {1000 * cpu / calls:.2f} ms of CPU a call (allowed: {MS_A_CALL:g})")
    print(f"  wall {wall:.1f} s; calls x latency / {AT_ONCE}: {ideal:.1f} s, {100 * ideal / wall:.0f} % of the ideal")


if __name__ == "__main__":
    serve_or_run(answer, run)
