"""Wall time of teams that answer questions: MedAgents, alone and two hundred questions at once.

The model stands in a process of its own (`python -m bench.methods serve`), takes a fixed time for each answer, and
everybody agrees: 18 calls in 6 round trips a question. One question is held against its round trips and against the
same calls one after another; many are held against what the calls in flight allow, or the round trips where those are
longer.
"""

import asyncio
import statistics
import time

from bench.serving import Served, held_against, serve_or_run
from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.methods.medagents import medagents
from polyclinic.models.open import open_model

QUESTIONS, AT_ONCE = 200, 256
CALLS, TRIPS = 18, 6
BAR = 1.2


def answer(body):
    """Answers as a panel that agrees."""
    form = body.get("response_format")
    if form is None:
        return "The findings point to one option; the others do not fit the course."
    fields = form["json_schema"]["schema"]["properties"]
    if "vote" in fields:
        return {"assessment": "It stands.", "vote": "yes", "modification": ""}
    if "key_knowledge" in fields:
        return {"key_knowledge": ["A fact."], "total_analysis": "A line of reasoning."}
    if "rationale" in fields:
        return {"rationale": "It fits best.", "answer": fields["answer"]["enum"][0]}
    return {"answer": ["cardiology"] * fields["answer"]["minItems"]}


def question(number):
    options = {"A": "Mitral stenosis", "B": "Aortic stenosis", "C": "Mitral regurgitation", "D": "Myxoma"}
    stem = f"Patient {number}, aged {20 + number % 60}, has a rumbling diastolic murmur. What is the diagnosis?"
    return Question(id=f"q{number}", stem=stem, options=options)


async def measure(url, *, questions, at_once=AT_ONCE):
    """Returns wall seconds for all questions together."""
    async with open_model("direct/test", base_url=url, concurrency=at_once) as model:
        began = time.perf_counter()
        outcomes = await asyncio.gather(*(medagents(question(number), model) for number in range(questions)))
        wall = time.perf_counter() - began
    for outcome in outcomes:
        assert (outcome.end, outcome.calls, outcome.round_trips) == (OutcomeEnd.ANSWERED, CALLS, TRIPS), outcome
    return wall


def run():
    latency = 0.1
    with Served("bench.methods", latency) as url:
        walls = [asyncio.run(measure(url, questions=1)) for _ in range(5)]
    wall = statistics.median(walls)
    print(f"medagents, one question at {1000 * latency:.0f} ms (median of {len(walls)}): {wall:.2f} s;")
    print(f"  {TRIPS} round trips {TRIPS * latency:.2f} s, {held_against(wall / (TRIPS * latency), BAR)}")
    print(f"  {CALLS} calls one after another {CALLS * latency:.2f} s, {CALLS * latency / wall:.1f} times as long")
    latency = 1.0
    with Served("bench.methods", latency) as url:
        wall = asyncio.run(measure(url, questions=QUESTIONS))
    calls, path = QUESTIONS * CALLS, TRIPS * latency
    least = max(calls * latency / AT_ONCE, path)
    print(f"medagents, {QUESTIONS} questions at {latency:g} s, at most {AT_ONCE} calls in flight: {wall:.1f} s;")
    print(
        f"  {calls:,} calls x latency / {AT_ONCE} {calls * latency / AT_ONCE:.1f} s, critical path {path:.0f} s, "
        f"{held_against(wall / least, BAR)}"
    )


if __name__ == "__main__":
    serve_or_run(answer, run)
