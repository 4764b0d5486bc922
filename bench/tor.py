"""Wall time of Tree-of-Reasoning on whole records: one, and two hundred at once; and the doctors by rules.

The model stands in a process of its own (`python -m bench.tor serve`), takes a fixed time for each answer, and every
doctor speaks to one other in every turn: 45 calls in 12 round trips a record of four doctors. One record is held
against its round trips, many against what the calls in flight allow, or the round trips where those are longer.
"""

import asyncio
import statistics
import time
from itertools import islice

from bench.serving import Served, held_against, serve_or_run
from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.loaders import read_cases
from polyclinic.evaluations.tor.evaluation import entrants, records
from polyclinic.evaluations.tor.inpatients import inpatients
from polyclinic.evidence_tree import divide
from polyclinic.generation.inpatients import generate_inpatients
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.methods.table import choose
from polyclinic.methods.tree_of_reasoning import tree_of_reasoning
from polyclinic.models.open import open_model
from polyclinic.players.rules.specialists import RulesDoctors

RECORDS, AT_ONCE = 200, 256
CALLS, TRIPS = 45, 12
BAR = 1.2
LEAST = 10.0  # points of F1 that a team by rules is to be above the outpatient doctor alone

TREE = {"suspected": [{"diagnosis": "Gout", "reasonings": [{"analysis": "So.", "evidence": ["a red toe"]}]}]}
NEXT = {"outpatient": "laboratory", "laboratory": "radiology", "radiology": "pathology", "pathology": "outpatient"}


def answer(body):
    """Answers as a doctor who speaks to the next, and as a head that chooses the first option."""
    form = body.get("response_format")
    if form is None:
        return "I agree, and my part adds nothing to it."
    fields = form["json_schema"]["schema"]["properties"]
    if "answer" in fields:
        return {"tree": TREE, "answer": ["A"]}
    if "to" in fields:
        said = body["messages"][-1]["content"]
        me = next(doctor for doctor in NEXT if f"You are the {doctor} doctor" in said)
        return {"reason": "So.", "to": [NEXT[me]]}
    return TREE


def patients(number):
    """Returns inpatients of four doctors."""
    knowledge = read_knowledge()
    four = (one for one in inpatients(read_cases("inpatients"), knowledge) if len(divide(one.record, knowledge)) == 4)
    found = list(islice(four, number))
    return [found[place % len(found)] for place in range(number)]


async def measure(url, *, records, at_once=AT_ONCE):
    """Returns wall seconds for all records together."""
    every = patients(records)
    async with open_model("direct/test", base_url=url, concurrency=at_once) as model:
        began = time.perf_counter()
        asked = (tree_of_reasoning(one.question, model, record=one.record) for one in every)
        outcomes = await asyncio.gather(*asked)
        wall = time.perf_counter() - began
    for outcome in outcomes:
        assert (outcome.end, outcome.calls, outcome.round_trips) == (OutcomeEnd.ANSWERED, CALLS, TRIPS), outcome
    return wall


def run():
    latency = 0.1
    with Served("bench.tor", latency) as url:
        walls = [asyncio.run(measure(url, records=1)) for _ in range(5)]
    wall = statistics.median(walls)
    print(f"tree_of_reasoning, one record at {1000 * latency:.0f} ms (median of {len(walls)}): {wall:.2f} s;")
    print(f"  {TRIPS} round trips {TRIPS * latency:.2f} s, {held_against(wall / (TRIPS * latency), BAR)}")
    latency = 1.0
    with Served("bench.tor", latency) as url:
        wall = asyncio.run(measure(url, records=RECORDS))
    calls, path = RECORDS * CALLS, TRIPS * latency
    least = max(calls * latency / AT_ONCE, path)
    print(f"tree_of_reasoning, {RECORDS} records at {latency:g} s, at most {AT_ONCE} calls in flight: {wall:.1f} s;")
    print(
        f"  {calls:,} calls x latency / {AT_ONCE} {calls * latency / AT_ONCE:.1f} s, critical path {path:.0f} s, "
        f"{held_against(wall / least, BAR)}"
    )
    asyncio.run(by_rules())


async def by_rules(seed=12_345):
    knowledge = read_knowledge()
    drawn = inpatients(generate_inpatients(knowledge, n=RECORDS, seed=seed), knowledge)

    async def scores_of(methods):
        (entrant,) = entrants(methods, drawn, doctors=RulesDoctors(knowledge))
        results = await records(drawn, knowledge).hold({entrant.label: entrant})
        return results[""][entrant.label]

    began = time.perf_counter()
    team = await scores_of(choose("tree_of_reasoning"))
    wall = time.perf_counter() - began
    settings = ["without=laboratory,radiology,pathology", "removed=withheld"]
    alone = await scores_of(choose("tree_of_reasoning", settings))
    gain = team.f1.mean - alone.f1.mean
    each = 1000 * wall / RECORDS
    print(f"by rules, {RECORDS} inpatients of seed {seed}: F1 {team.f1.mean:.1f}, {each:.0f} ms a record;")
    met = "met" if gain >= LEAST else "MISSED"
    print(f"  outpatient doctor alone {alone.f1.mean:.1f}; {gain:+.1f} points  bar +{LEAST:g}: {met}")


if __name__ == "__main__":
    serve_or_run(answer, run)
