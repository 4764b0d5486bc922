"""Wall time of one discussion: 3 doctors, 4 rounds, a model that answers after 50 ms.

Doctors and director are models, patient and examiner are rules. The model stands in a process of its own
(`python -m bench.discussion serve`). Critical path: the calls that must wait for one another, times the latency. They
are counted from what happened: the longest consultation's turns and its report, the facts, the pre-diagnoses, the first
points of dispute, each round (all doctors at once, or one after another) with its points, and the final report.
"""

import asyncio
import statistics
import time

from bench.serving import Served, serve_or_run
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.shipped import SHIPPED
from polyclinic.events import End, Order
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.open import open_model
from polyclinic.players.minds import Minds
from polyclinic.visits.team import confer

DOCTORS, ROUNDS, TURNS, LATENCY, TIMES, BAR = 3, 4, 4, 0.05, 7, 1.2
NAME = "direct/test"


def answer(body):
    """Answers as doctors would who never agree; a form that is asked for tells what the call is for."""
    schema = body["response_format"]["json_schema"]["schema"]["properties"]
    if "conclude" in schema:
        spoken = sum(message["role"] == "assistant" for message in body["messages"])
        return {"say": "Do you have a fever?", "conclude": spoken == TURNS - 1}
    if "points" in schema:
        return {"points": ["Which diagnosis comes first?"]}
    return {part: [] for part in schema}


class Counted:
    """A model that counts its calls."""

    def __init__(self, model):
        self.name, self._model, self.calls = model.name, model, 0

    async def ask(self, messages, **options):
        self.calls += 1
        return await self._model.ask(messages, **options)


def in_a_row(visit, order):
    """Returns the calls of a visit that must wait for one another."""
    a_round = (1 if order is Order.PARALLEL else len(visit.consultations)) + 1
    consulting = max(consultation.turns for consultation in visit.consultations) + 1
    return consulting + 3 + visit.rounds * a_round + 1


async def measure(url, order, *, times=TIMES, latency=LATENCY, rounds=ROUNDS):
    """Returns the wall seconds of each time, the calls of one, and its critical path in seconds."""
    case, knowledge = next(read_cases(SHIPPED["shipped"])), read_knowledge()
    walls = []
    async with open_model(NAME, base_url=url) as model:
        for _ in range(times + 1):
            counted = Counted(model)
            minds = Minds(doctor=NAME, director=NAME, knowledge=knowledge, seed=0, models={NAME: counted})
            began = time.perf_counter()
            visit = await confer(case, [minds] * DOCTORS, order=order, max_rounds=rounds)
            walls.append(time.perf_counter() - began)
            assert (visit.end, visit.rounds) == (End.ROUND_LIMIT, rounds), visit.trace.lines()
            expected = DOCTORS * (TURNS + 1) + 1 + DOCTORS + 1 + rounds * (DOCTORS + 1) + 1
            assert counted.calls == expected, (counted.calls, expected)
    # The first time loads what is loaded once.
    return walls[1:], counted.calls, in_a_row(visit, order) * latency


def run():
    print(f"{DOCTORS} doctors, {TURNS} turns each, {ROUNDS} rounds; a model that answers after {LATENCY * 1000:g} ms;")
    print(f"the median of {TIMES} visits")
    with Served("bench.discussion", LATENCY) as url:
        for order in Order:
            walls, calls, path = asyncio.run(measure(url, order))
            wall = statistics.median(walls)
            bar = f" (allowed: {BAR:g})" if order is Order.PARALLEL else ""
            print(
                f"{order:10}  wall {wall:5.2f} s (slowest {max(walls):.2f} s)  calls {calls}  "
                f"calls x latency {calls * LATENCY:5.2f} s  critical path {path:5.2f} s  "
                f"wall / critical path {wall / path:.3f}{bar}"
            )


if __name__ == "__main__":
    serve_or_run(answer, run)
