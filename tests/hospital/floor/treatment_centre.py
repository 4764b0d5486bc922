"""Nelson's treatment centre (Foundations and Methods of Stochastic Simulation, 2013, exercise 13) on our queues.

As `treat-sim` 3.0.0 (Monks and Harper, MIT) has it: all are triaged; one in eight has a trauma, is stabilised and
treated; the others register, are examined, and three in five treated. Times are drawn in minutes and lived in seconds.

    python -m tests.hospital.floor.treatment_centre    prints both tables and what a replication takes
"""

import asyncio
import json
import math
import statistics
import sys
import time
from pathlib import Path

from tests.hospital.floor.stations import interval, live

from polyclinic.seeds import derive

THEIRS = json.loads((Path(__file__).parent / "data" / "treat_sim.json").read_text())["figures"]
"""Mean and standard deviation of their replications, by figure."""

PERIOD = 19 * 60  # minutes
AN_HOUR = tuple(
    month / 30 for month in (71, 84, 265, 313, 444, 788, 942, 542, 494, 361, 348, 866, 541, 345, 159, 122, 66, 63)
)
"""Arrivals an hour from 6:00 on; they count 30 days."""
STATIONS = {"triage": 1, "registration": 1, "exam": 3, "trauma": 2, "cubicle 1": 1, "cubicle 2": 1}


def log_normal(rng, mean, variance):
    spread = math.log(1 + variance / mean**2)
    return math.exp(rng.gauss(math.log(mean) - spread / 2, math.sqrt(spread)))


class Day:
    """One replication."""

    def __init__(self, seed):
        self.seed, self.waits, self.totals = seed, {}, {"trauma": [], "non-trauma": []}
        self.arrived = 0

    def arrivals(self, stations, clock):
        rng, most = derive(self.seed, "arrivals"), max(AN_HOUR)
        minutes = 0.0
        while True:
            # The rate of the hour in which the one before has come, as theirs.
            rate = AN_HOUR[int(minutes // 60) % len(AN_HOUR)]
            minutes += rng.expovariate(most / 60)
            while rng.random() >= rate / most:
                minutes += rng.expovariate(most / 60)
            yield clock.at(round(minutes * 60))
            self.arrived += 1
            clock.start(self.patient(stations, clock, derive(self.seed, "patient", self.arrived)))

    def patient(self, stations, clock, rng):
        came, trauma = clock.now, rng.random() < 0.12
        whose = "trauma" if trauma else "non-trauma"

        def at(station, minutes, name):
            waits = self.waits.setdefault(name, [])
            yield from stations.serve(station, max(1, round(60 * minutes)), note=lambda w: waits.append(w / 60))

        yield from at("triage", rng.expovariate(1 / 3), "01a_triage_wait")
        if trauma:
            yield from at("trauma", rng.expovariate(1 / 90), "06a_trauma_wait")
            yield from at("cubicle 2", log_normal(rng, 30, 4), "07a_treatment_wait(trauma)")
        else:
            yield from at("registration", log_normal(rng, 5, 2), "02a_registration_wait")
            yield from at("exam", max(0.5, rng.gauss(16, math.sqrt(3))), "03a_examination_wait")
            if rng.random() < 0.6:
                yield from at("cubicle 1", log_normal(rng, 13.3, 2), "04a_treatment_wait(non_trauma)")
        self.totals[whose].append((clock.now - came) / 60)

    def figures(self):
        """Mean waits, total times and throughput, under their names."""
        means = {name: statistics.fmean(waits) for name, waits in self.waits.items()}
        return {
            "00_arrivals": self.arrived,
            **means,
            "05_total_time(non-trauma)": statistics.fmean(self.totals["non-trauma"]),
            "08_total_time(trauma)": statistics.fmean(self.totals["trauma"]),
            "09_throughput": sum(map(len, self.totals.values())),
        }


async def replications(n):
    """Our figures of so many days, by name."""
    days = [Day(seed) for seed in range(n)]
    for day in days:
        await live(STATIONS, day.arrivals, PERIOD * 60)
    came = [day.figures() for day in days]
    return {name: [one[name] for one in came] for name in came[0]}


def apart(ours, n=200):
    """Figures whose 95 % intervals over replications, ours and theirs, have nothing in common."""
    wrong = []
    for name, values in ours.items():
        mean, half = interval(values)
        theirs = THEIRS[name]
        other = 1.972 * theirs["sd"] / math.sqrt(n)
        if abs(mean - theirs["mean"]) > half + other:
            wrong.append(f"{name}: {mean:.1f} ± {half:.1f}, theirs {theirs['mean']:.1f} ± {other:.1f}")
    return wrong


def main(n=200):
    began = time.process_time()
    ours = asyncio.run(replications(n))
    lines = [f"{1000 * (time.process_time() - began) / n:.1f} ms a replication"]
    for name, values in sorted(ours.items()):
        mean, half = interval(values)
        theirs = THEIRS[name]
        other = 1.972 * theirs["sd"] / math.sqrt(200)
        lines.append(f"{name:32s} {mean:7.2f} ± {half:5.2f}   theirs {theirs['mean']:7.2f} ± {other:5.2f}")
    sys.stdout.write("\n".join([*lines, *(apart(ours) or ["all agree"])]) + "\n")


if __name__ == "__main__":
    main()
