"""The living hospital: what events cost, a long run with rules minds, and a run by models behind a slow endpoint.

The hospital of the package, with every doctor seeing every department of the knowledge, and larger towns than its own.
The endpoint is that of `bench.episodes`. No run by models can be quicker than all its calls x latency / calls in
flight, nor than its longest chain of what has to come one after the other, nor than both together (`LeastClock`). The
chain counts where somebody gets worse within hours of a visit: the next visit depends on the first, what comes later on
both. A number behind `events`, `rules`, `flat` or `endpoint` is that of the visits, for a shorter look.
"""

import asyncio
import itertools
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from bench.episodes import AT_ONCE, LATENCY, MODEL
from bench.hospital_kills import kills
from bench.hospital_load import load
from bench.serving import Served
from polyclinic.hospital.care.clinic import open_clinic
from polyclinic.hospital.care.registry import Registry
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.care.triage import TriageStation
from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.plan.file import DEFAULT, read_hospital
from polyclinic.hospital.plan.plan import Job
from polyclinic.hospital.record.episodes import ConsultationHeld, Episode
from polyclinic.hospital.record.happenings import DAY, HOUR, Acuity
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.running import Configuration, kinds_of
from polyclinic.hospital.running import run as run_hospital
from polyclinic.hospital.simulation import Simulation
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.lazy import collect_seldom
from polyclinic.models.settings import ModelSettings

SEED = 20_262
RESIDENTS = 12_000  # a town that the hospital can look after
MANY, AHEAD = 36_000, 2 * 24 * 60  # our town, and minutes in which enough falls due to keep an endpoint busy
DAYS = 10_000  # never reached: the visits end a run
EVENTS_FIRST, EVENTS_ALLOWED = 1_000, 10.0
FLAT, FLAT_WINDOW, FLAT_OVER, FLAT_ALLOWED = 50_000, 2_500, 4, 0.2  # the first window warms up; so many are held
FLAT_PLAYED = 200
VISITS, SECONDS_ALLOWED, MIB_ALLOWED = 10_000, 120.0, 1024
BY_MODEL, SHARE_WANTED = 2_000, 85
WITHOUT = 4  # visits without lookahead: one answer after the other, some ten seconds each
TRIVIAL = ConsultationHeld(department="", turns=8, examinations=("blood-test",), diagnosis="influenza A")


def measure(parts):
    if parts[0] == "load":
        load(parts[1:])
        return
    if parts[0] == "kills":
        kills(parts[1:])
        return
    collect_seldom()  # as the command line does
    knowledge = read_knowledge()
    hospital = filled(knowledge)
    if "events" in parts:
        events(hospital, knowledge, number_in(parts, VISITS))
    if "rules" in parts:
        rules(hospital, number_in(parts, VISITS))
    if "flat" in parts:
        flat(hospital, knowledge, number_in(parts, FLAT))
    if "endpoint" in parts:
        by_model(msgspec.structs.replace(hospital, residents=MANY), number_in(parts, BY_MODEL))


def run():
    measure(("events", "rules", "endpoint"))


def number_in(parts, otherwise):
    """Returns the number of visits that the command line names."""
    return next((int(part) for part in parts if part.isdecimal()), otherwise)


def filled(knowledge):
    """The package's hospital, with those departments that the knowledge has diseases of."""
    hospital = read_hospital(DEFAULT, knowledge)
    seen = {d.department for d in knowledge.diseases.values()}
    departments = {id: name for id, name in hospital.departments.items() if id in seen}
    staff = {
        id: msgspec.structs.replace(m, departments=tuple(departments)) if m.job is Job.DOCTOR else m
        for id, m in hospital.staff.items()
    }
    return msgspec.structs.replace(hospital, departments=departments, staff=staff, residents=RESIDENTS)


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def events(hospital, knowledge, most):
    """Queues, ways and the log, with episodes that cost nothing, of patients whose bodies cost nothing or are drawn.

    A body is a hundred and more findings that go together; where they are drawn, they are most of what a visit costs.
    """
    kinds = kinds_of(knowledge)

    async def compute(request):
        return Episode(
            key=request.key,
            department=request.departments[0],
            acuity=list(Acuity)[len(request.resident + request.case.id) % 3],
            seen=(TRIVIAL,),
            plan="mild",
            treatment=("rest",),
            dispensed=("drug",),
        )

    for what, of_town in (("events alone", LightTown), ("with bodies drawn", Town)):
        for visits in sorted({min(EVENTS_FIRST, most), most}):
            town = of_town(hospital, knowledge, Residents(RESIDENTS, SEED), seed=SEED)
            began = time.process_time()
            came = asyncio.run(
                Simulation(hospital, town, compute, days=DAYS, visits=visits, seed=SEED, kinds=kinds).run()
            )
            cpu = time.process_time() - began
            bar = f" (allowed: {EVENTS_ALLOWED:g} s)" if visits == VISITS and of_town is LightTown else ""
            print(
                f"{what}, {visits:6,} visits: {cpu:5.1f} s of CPU{bar}, {1e6 * cpu / visits:4.0f} us a visit, "
                f"{came.happenings:9,} happenings over {came.days:4.0f} days, memory at the peak {memory():.0f} MiB",
                flush=True,
            )


def configuration(hospital, visits, setup):
    return Configuration(
        hospital=hospital, residents=hospital.residents, days=DAYS, visits=visits, seed=SEED, setup=setup
    )


class Progress:
    """Says every ten seconds how far a run is; looks on while it goes on."""

    def __init__(self, visits):
        self._visits, self._done, self._calls = visits, 0, 0
        self._began = self._next = time.monotonic()

    def computed(self, episode):
        self._done += 1
        self._calls += episode.calls
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 10
            share = 100 * self._calls * LATENCY / AT_ONCE / max(now - self._began, 1e-9)
            print(
                f"  {now - self._began:4.0f} s: {self._done:,} of {self._visits:,} visits computed, "
                f"{self._calls:,} calls, {share:.0f} % of the ideal",
                file=sys.stderr,
                flush=True,
            )

    def add(self, happening, account):
        """Takes no note of what happens."""


def rules(hospital, visits):
    hashes = set()
    for workers in (2, 1):
        came, cpu, size = kept(hospital, visits, workers)
        hashes.add(came.run.log_hash)
        s = came.run.summary
        print(
            f"rules, {visits:,} visits with traces, on disk, {workers} worker{'s' * (workers > 1)}: "
            f"{came.wall_seconds:.1f} s (allowed with two: {SECONDS_ALLOWED:g} s), {1000 * cpu / visits:.1f} ms of CPU "
            f"a visit, {came.run.days:.0f} days, {sum(s['admitted'].values())} admitted, memory of this process at the "
            f"peak {memory():.0f} MiB (allowed: {MIB_ALLOWED}), {size:.0f} MiB on disk",
            flush=True,
        )
    print(f"  {len(hashes)} log hash of 2 runs" + ("" if len(hashes) == 1 else ": NOT THE SAME HISTORY"))
    print(
        f"  seen {s['seen']}, left {s['left']}, failed {s['failed']}; triage {s['triage']['percent']:.1f} % right, "
        f"diagnosis {s['diagnosis']['percent']:.1f} %, treatment {s['treatment']['percent']:.1f} %"
    )


def kept(hospital, visits, workers):
    """Makes a run as the command line does with `--out` and `--traces`; returns it, seconds of CPU and MiB on disk."""
    setup = Setup(seed=SEED, departments=hospital.departments, max_examinations=hospital.examinations, traces=True)
    made = configuration(hospital, visits, setup)
    cpu = processor()
    with tempfile.TemporaryDirectory() as folder:
        with Store.create(folder, made.kept()) as store:
            came = asyncio.run(run_hospital(made, store=store, on=f"local:{workers}" if workers > 1 else None))
        size = sum(path.stat().st_size for path in Path(folder).rglob("*"))
    return came, processor() - cpu, size / 2**20


def processor():
    """Returns the seconds of CPU of this process and of those that it has ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


class LightTown(Town):
    """A town in which everybody with a disease at a severity has it alike; so a visit costs little but its way."""

    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        self._alike = {}

    def case_for(self, onset):
        key = (onset.disease, onset.severity)
        if key not in self._alike:
            self._alike[key] = super().case_for(onset)
        return msgspec.structs.replace(self._alike[key], id=f"{self.name(onset.resident)}-d{onset.day:04d}")

    def worsened(self, onset, case, days=0):
        illness, _, time = case.id.partition(".")
        key = (onset.disease, case.truth.severity, onset.severity, "worse")
        if key not in self._alike:
            self._alike[key] = super().worsened(onset, case, days)
        return msgspec.structs.replace(self._alike[key], id=f"{illness}.{int(time or 1) + 1}")


class Windows:
    """What the visits of each part of a run cost this process: CPU, memory and disk; looks on while it goes on."""

    def __init__(self, folder):
        self._folder, self._computed, self._last, self.ms = folder, 0, 0.0, []

    def computed(self):
        self._computed += 1
        if self._computed % FLAT_WINDOW:
            return
        now = time.process_time()
        self.ms.append(1000 * (now - self._last) / FLAT_WINDOW)
        self._last = now
        size = sum(path.stat().st_size for path in self._folder.rglob("*")) / 2**20
        print(
            f"  {self._computed:6,} visits: {self.ms[-1]:.2f} ms of CPU a visit since the last line, "
            f"memory at the peak {memory():.0f} MiB, {size:.0f} MiB on disk",
            flush=True,
        )


def flat(hospital, knowledge, visits):
    """What a visit costs the process that owns clock, queues, records and disk, early and late in a long run.

    What players do in a visit depends on its request alone, which holds no more than six visits of before: `rules`
    measures that. Here it is taken from visits that were computed beforehand.
    """
    setup = Setup(seed=SEED, departments=hospital.departments, max_examinations=hospital.examinations)
    made, town = asyncio.run(played(hospital, knowledge, setup))
    with tempfile.TemporaryDirectory() as folder:
        windows, numbers = Windows(Path(folder)), itertools.cycle(range(len(made)))

        async def compute(request):
            windows.computed()
            return msgspec.structs.replace(made[next(numbers)], key=request.key)

        with Store.create(folder, configuration(hospital, visits, setup).kept()) as store:
            simulating = Simulation(
                hospital,
                town,
                store.remember(compute),
                days=DAYS,
                visits=visits,
                seed=SEED,
                kinds=kinds_of(knowledge),
                sinks=[store],
                at_the_door=TriageStation(knowledge).at_the_door,
                look_again=TriageStation(knowledge).look_again,
            ).run()
            asyncio.run(simulating)
    early, late = statistics.mean(windows.ms[1:FLAT_OVER]), statistics.mean(windows.ms[-FLAT_OVER + 1 :])
    verdict = "flat" if abs(late / early - 1) <= FLAT_ALLOWED else "NOT FLAT"
    if visits < FLAT:
        verdict = "too few to tell"
    print(
        f"of {visits:,} visits, from the {FLAT_WINDOW + 1:,}th on {early:.2f} ms of CPU each, the last {late:.2f} ms: "
        f"{100 * (late / early - 1):+.0f} % (allowed: {100 * FLAT_ALLOWED:.0f} %), {verdict}"
    )


async def played(hospital, knowledge, setup):
    """Returns visits as rules play them, and a town for more of them."""
    town = LightTown(hospital, knowledge, Residents(RESIDENTS, SEED), seed=SEED)
    onsets = itertools.islice((onset for day in itertools.count() for onset in town.onsets(day)), FLAT_PLAYED)
    registry = Registry(hospital, seed=SEED)
    requests = [
        registry.request(town.name(o.resident), Town.case_for(town, o), 1, arrives=o.day * DAY + 12 * HOUR)
        for o in onsets
    ]
    async with open_clinic(setup) as clinic:
        return [await clinic.compute(request) for request in requests], town


class LeastClock(Clock):
    """Knows how long a run takes at least, whoever computes it: what must come before something, and then this.

    What enters the simulated world at a moment may depend on all that was due before, since everybody waits in the same
    queues. So whatever is launched at that moment begins no sooner than the calls of all that was due before could have
    been made, so many at once, and no sooner than the last of them could have ended; its own calls then follow one
    another. `chain` is the same without a limit to calls at once.
    """

    def __init__(self):
        super().__init__()
        self.calls = 0  # of what has been due up to now
        self.seconds = self.chain = 0.0

    def launch(self, work, *, due, name=""):
        decision, began, begins = super().launch(work, due=due, name=name), self.chain, self.seconds

        def ends(signal):
            takes = LATENCY * in_a_row(signal.value)
            self.calls += signal.value.calls
            self.chain = max(self.chain, began + takes)
            self.seconds = max(self.seconds, begins + takes, self.calls * LATENCY / AT_ONCE)

        decision.then.append(ends)
        return decision


def in_a_row(episode):
    """Returns how many calls of an episode come one after the other; what is computed along begins after triage."""
    along = 0 if episode.worse is None else episode.worse.calls
    return max(episode.calls - along, along + 1)


def by_model(hospital, visits):
    with Served("bench.episodes", LATENCY) as url:
        setup = Setup(
            seed=SEED,
            doctor=MODEL,
            patient=MODEL,
            nurse=MODEL,
            pharmacist=MODEL,
            models=ModelSettings(base_url=url, concurrency=AT_ONCE),
            departments=hospital.departments,
            max_examinations=hospital.examinations,
        )
        ahead = msgspec.structs.replace(configuration(hospital, visits, setup), lookahead=AHEAD)
        cpu = time.process_time()
        clock = LeastClock()
        came = asyncio.run(run_hospital(ahead, watching=Progress(visits), clock=clock))
        cpu = time.process_time() - cpu
        wanted = f" (wanted: {SHARE_WANTED} %)" if visits == BY_MODEL else ""
        told(came, visits, f"lookahead {ahead.lookahead} minutes", wanted, clock)
        print(f"  {cpu:.1f} s of this process's CPU, {1000 * cpu / came.calls:.2f} ms a call", flush=True)
        waiting = msgspec.structs.replace(configuration(hospital, WITHOUT, setup), lookahead=0)
        clock = LeastClock()
        came = asyncio.run(run_hospital(waiting, clock=clock))
        told(came, WITHOUT, "without lookahead", "", clock)


def told(came, visits, how, wanted, least):
    filled = came.calls * LATENCY / AT_ONCE
    ideal = max(filled, least.seconds)
    print(
        f"by a model that answers after {1000 * LATENCY:.0f} ms, {AT_ONCE} at once, {how}: {visits:,} visits, "
        f"{came.calls:,} calls, {came.wall_seconds:.1f} s; at best {ideal:.1f} s "
        f"(all calls {filled:.1f} s, the longest chain {least.chain:.1f} s): "
        f"{100 * ideal / came.wall_seconds:.0f} % of the ideal{wanted}; "
        f"{came.run.days:.0f} days, failed {came.run.summary['failed']}",
        flush=True,
    )


if __name__ == "__main__":
    measure(sys.argv[1:] or ("events", "rules", "endpoint"))
