"""How full the default hospital is, who waits, and how soon emergencies are with a doctor.

`python -m bench.hospital load [SEED...]`: at the town's own load for a week, and at twice that for four days, each with
several seeds, or with those given. An emergency is one for the nurse; beside that stand those who are one by the
five-level index, whatever she thought.
"""

import asyncio
import statistics

from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.figures import utilisation
from polyclinic.hospital.record.happenings import Acuity, CalledIn, LeftUnseen, Queued, Triaged
from polyclinic.hospital.running import Configuration
from polyclinic.hospital.running import run as run_hospital
from polyclinic.knowledge.knowledge import read_knowledge

SEEDS = (11, 12, 13, 14)  # the hospital file was made with others
DAYS = {1: 7, 2: 4}
WITHIN = {1: 10, 2: 25}  # minutes in which an emergency is to be with a doctor, by load
SHARE_WANTED, BUSY_WANTED = 95, (60, 85)  # percent


def load(seeds=()):
    hospital = read_hospital(None, read_knowledge())
    for factor, days in DAYS.items():
        for seed in map(int, seeds or SEEDS):
            measure(hospital, factor, days, seed)


def measure(hospital, factor, days, seed):
    """Makes a run and prints what came of it."""
    setup = Setup(seed=seed, departments=hospital.departments)
    configuration = Configuration(
        hospital=hospital, residents=hospital.residents, load=factor, days=days, seed=seed, setup=setup
    )
    ways = Ways()
    came = asyncio.run(run_hospital(configuration, watching=ways, on="local:2")).run
    summary = came.summary
    busy = utilisation(summary["work"], {one.id: str(one.job) for one in hospital.staff.values()})
    low, high = BUSY_WANTED
    shares = ", ".join(f"{job} {percent:.0f} %" for job, percent in busy.items())
    wanted = f"; wanted of doctors: {low} to {high} %" if factor == 1 else ""
    print(f"load {factor}, seed {seed}, {days} days, {came.visits:,} visits; busy: {shares}{wanted}")
    for name, by in (("for the nurse", "judged"), ("by the index", "right")):
        print(f"  {name}: {'; '.join(ways.told(by, acuity, WITHIN[factor]) for acuity in Acuity)}")
    print(f"  {ways.late(WITHIN[factor])}")
    waits = [of_department for of_department in summary["waits"].values() if of_department["n"]]
    unseen = ", ".join(f"{n} {why}" for why, n in summary["left"].items())
    print(f"  p90 above 0 in {sum(one['p90'] > 0 for one in waits)} of {len(waits)} departments; left unseen: {unseen}")
    admitted = 100 * sum(summary["admitted"].values()) / summary["arrived"]
    beds = ", ".join(f"{area} {bed['mean']:.0f}, at most {bed['most']}" for area, bed in summary["beds"].items())
    print(f"  admitted {admitted:.0f} % of visits, died {summary['died']}; in beds on the mean: {beds}", flush=True)


class Ways:
    """Everybody's way from the first queue to the first doctor; looks on while a run goes on."""

    def __init__(self):
        self.done, self._here = [], {}

    def computed(self, episode):
        """Takes no note of what is said."""

    def add(self, happening, account):
        what, who, t = happening.what, happening.who, happening.t
        if isinstance(what, Queued) and what.queue == "triage":
            self._here[who] = {"came": t}
            return
        way = self._here.get(who)
        if way is None:
            return
        if isinstance(what, LeftUnseen):
            del self._here[who]
        elif isinstance(what, CalledIn) and what.queue == "triage":
            way["nurse"] = t
        elif isinstance(what, Triaged):
            way |= {"triaged": t, "judged": what.acuity, "right": what.right_acuity, "department": what.department}
        elif isinstance(what, CalledIn) and what.queue == way.get("department"):
            self.done.append({**self._here.pop(who), "doctor": t})

    def told(self, by, acuity, within):
        """Returns how long those of an acuity waited until the first doctor called them."""
        waits = [(way["doctor"] - way["came"]) / 60 for way in self.done if way[by] is acuity]
        if len(waits) < 2:
            return f"{acuity} {len(waits)}"
        share = f"{100 * sum(wait <= within for wait in waits) / len(waits):.1f} % within {within}"
        wanted = f" ({SHARE_WANTED} wanted)" if acuity is Acuity.EMERGENCY and by == "judged" else ""
        p90 = statistics.quantiles(waits, n=10)[-1]
        return f"{acuity} {len(waits)}, median {statistics.median(waits):.0f}, p90 {p90:.0f} min, {share}{wanted}"

    def late(self, within):
        """Returns by what the nurse's emergencies were kept that were late."""
        late = [
            way for way in self.done if way["judged"] is Acuity.EMERGENCY and way["doctor"] - way["came"] > within * 60
        ]
        if not late:
            return "no emergency was late"
        parts = (("at the door", "came", "nurse"), ("triage", "nurse", "triaged"), ("a doctor", "triaged", "doctor"))
        minutes = (
            f"{name} {statistics.mean(way[end] - way[begin] for way in late) / 60:.1f}" for name, begin, end in parts
        )
        return f"{len(late)} emergencies were late; their minutes on the mean: {', '.join(minutes)}"
