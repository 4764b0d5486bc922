"""What came of each visit of the study of reliability, for results that last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyclinic.benchmarks.benchmark import trace_places
from polyclinic.benchmarks.reliability.evaluation import Reliability
from polyclinic.events import End
from polyclinic.results.folder import ItemMeasure, ItemRow, mean_of_parts
from polyclinic.visits.visit import Visit

MEASURES = [
    ItemMeasure(name="relevance", share=False),
    ItemMeasure(name="consistency", share=False),
    ItemMeasure(name="accuracy", share=False),
    ItemMeasure(name="questions_a_visit", percent=False, share=False),
    ItemMeasure(name="examinations_a_visit", percent=False, share=False),
]
"""The first three are means over the rounds of all visits; the others are how many rounds a visit has."""


def reliability_rows(one: Reliability, visits: Sequence[Visit], file: str, *, seed: int) -> Iterator[ItemRow]:
    """Yields the shares of each visit's rounds, and how many they are; a visit that failed has none."""
    at = trace_places(file, visits)
    for visit in visits:
        rounds = [each for each in one.rounds if each.case == visit.case]
        verdicts = [each.verdict for each in one.judgements if each.case == visit.case and each.verdict is not None]
        values, weights = mean_of_parts({
            "relevance": [100.0 * (verdict.relevant == "yes") for verdict in verdicts],
            "consistency": [100.0 * (verdict.consistent == "yes") for verdict in verdicts],
            "accuracy": [100.0 * each.reached for each in rounds if each.ordered],
        })  # fmt: skip
        counts = {
            "questions_a_visit": float(len(rounds)),
            "examinations_a_visit": float(sum(each.reached for each in rounds)),
        }
        failed = visit.end is End.FAILED
        yield ItemRow(
            item=visit.case,
            values={} if failed else values | counts,
            weights={} if failed else weights,
            model=one.doctor,
            seed=seed,
            end=str(visit.end),
            at=at[visit.case],
        )
