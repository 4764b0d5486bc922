"""Wall time of state-aware patients: 150 cases of 10 turns against a model that answers after one second.

Everybody on stage is a model, the doctor too. The model stands in a process of its own (`python -m bench.saps serve`)
and answers as plausible doctors and patients would, so that each turn takes the road through the tracker that its state
takes. Critical path: the round trips that were really made, counted for each case as the calls are made. A call's place
in the row is one more than the longest row of answers that its case had before it was asked; the path is the longest
row of any case, times the latency.
"""

import asyncio
import time

from bench.serving import Served, serve_or_run
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.events import End, Ended, Role, Said
from polyclinic.models.open import open_model
from polyclinic.players.language_model.mind import ModelMind
from polyclinic.players.language_model.saps import Saps
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.patient import Patient
from polyclinic.seeds import derive
from polyclinic.visits.consultation import consultation

CASES, TURNS, LATENCY, AT_ONCE = 150, 10, 1.0, 256
BARS = {"staged": 1.2, "parallel": 1.35}
STATES = {  # how often a doctor's turn is of which kind; a conclusion would end the visit before its ten turns
    ("inquiry", "specific", True): 40,
    ("inquiry", "specific", False): 25,
    ("inquiry", "ambiguous", False): 5,
    ("advice", "specific", True): 8,
    ("advice", "specific", False): 15,
    ("advice", "ambiguous", False): 3,
    ("demand", "", False): 2,
    ("other topic", "", False): 2,
}


def answer(body):
    """Answers as the doctor, the tracker or the patient would; the doctor's words say which road the turn takes."""
    schema = body["response_format"]["json_schema"]["schema"]["properties"]
    said = body["messages"][-1]["content"]
    if "conclude" in schema:
        number = int(body["messages"][0]["content"].rsplit("number ", 1)[1].split(";")[0])
        rng = derive(number, "road", len(body["messages"]))
        kind, specific, held = rng.choices(list(STATES), STATES.values())[0]
        return {"say": f"This is {kind}; {specific}; {'held' if held else 'not held'}.", "conclude": False}
    if "say" in schema:
        return {"say": "It is worse at night."}
    if "diagnoses" in schema:
        return {part: [] for part in schema}
    if "texts" in schema:
        held = "; held" in said
        return {"relevant": held, "texts": ["worse at night"] if held else []}
    options = schema["answer"]["enum"]
    return {"answer": next((o for o in options if f"is {o};" in said or f"; {o};" in said), options[0])}


class Watch:
    """A model that counts one case's calls, and its round trips in a row."""

    def __init__(self, model):
        self.name, self._model = model.name, model
        self.calls = self.trips = 0

    async def ask(self, messages, **options):
        trip = self.trips + 1
        self.calls += 1
        reply = await self._model.ask(messages, **options)
        self.trips = max(self.trips, trip)
        return reply


async def measure(url, tracker, *, cases=CASES, turns=TURNS, at_once=AT_ONCE):
    """Returns wall seconds, calls, and the longest row of round trips of a case."""

    async def visit(number, model):
        watch = Watch(model)
        presentation = Presentation(complaint=f"Cough number {number}", age=40)
        record = Record(presentation=presentation, history=History(present="A dry cough, worse at night."))
        doctor = Doctor(ModelMind(watch, name="direct/test"), presentation, max_turns=turns)
        patient = Patient(Saps(watch, name="saps:direct/test", tracker=tracker), record, setting="online")
        trace = await consultation(doctor, patient, None, max_turns=turns)
        ended = trace.last(Ended)
        assert (ended.reason, ended.turns) == (End.TURN_LIMIT, turns), trace.lines()
        states = [e.state for e in trace if isinstance(e, Said) and e.who is Role.PATIENT]
        return watch, states

    async with open_model("direct/test", base_url=url, concurrency=at_once) as model:
        began = time.perf_counter()
        came = await asyncio.gather(*(visit(number, model) for number in range(cases)))
        wall = time.perf_counter() - began
    return wall, sum(w.calls for w, _ in came), max(w.trips for w, _ in came), [states for _, states in came]


def figures(tracker, wall, calls, trips, *, latency=LATENCY, at_once=AT_ONCE):
    """Returns the critical path, what the wall time is held against, and their ratio."""
    path = trips * latency
    least = path if tracker == "staged" else max(calls * latency / at_once, path)
    return path, least, wall / least


def run():
    print(f"{CASES} cases of {TURNS} turns, doctor and patient on a model that answers after {LATENCY:g} s,")
    print(f"at most {AT_ONCE} calls in flight")
    told = {}
    with Served("bench.saps", LATENCY) as url:
        for tracker, bar in BARS.items():
            wall, calls, trips, told[tracker] = asyncio.run(measure(url, tracker))
            path, least, ratio = figures(tracker, wall, calls, trips)
            print(
                f"{tracker:8}  wall {wall:5.1f} s  calls {calls:6,}  calls x latency / {AT_ONCE} "
                f"{calls * LATENCY / AT_ONCE:5.1f} s  critical path {path:4.0f} s  "
                f"wall / {least:.1f} s = {ratio:.3f} (allowed: {bar:g})"
            )
    print(f"states: {'the same' if told['staged'] == told['parallel'] else 'NOT THE SAME'} in both")


if __name__ == "__main__":
    serve_or_run(answer, run)
