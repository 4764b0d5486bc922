"""What methods made of questions, as rows, means and tables: the same for exams and for whole records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from polyclinic.answering.outcome import Outcome
from polyclinic.errors import PlayFailure
from polyclinic.evaluations.measuring import Value, item_row
from polyclinic.results.folder import ItemRow
from polyclinic.statistics.comparison import Against, Test, compare_values


def outcome_row(outcome: Outcome, values: Mapping[str, Value], **facts: Any) -> ItemRow:
    """Returns the row of an outcome; a failed one has no value."""
    usage = outcome.usage
    return item_row(
        {} if outcome.failed else values,
        end=str(outcome.end),
        calls=outcome.calls,
        round_trips=outcome.round_trips,
        tokens=usage.tokens_in + usage.tokens_out,
        cost=usage.cost,
        **facts,
    )


def compare_methods(
    values: Mapping[str, Mapping[str, float]], test: Test, pairs: Sequence[tuple[str, str]] | None = None
) -> tuple[Against, ...]:
    """Compares methods by their values of each item: these pairs, or every two, the later less the earlier."""
    every = [(second, first) for first, second in combinations(values, 2)] if pairs is None else pairs
    by_measure = {name: {item: {"": value} for item, value in of.items()} for name, of in values.items()}
    return compare_values(Against, by_measure, [""], every, lambda _: test)


def failures(outcomes: Iterable[Outcome]) -> str:
    """Returns why questions failed: each kind of failure, how many those are, and the words of the first."""
    kinds: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.failed:
            raised = (call.error for call in outcome.trace if call.error and call.problem == outcome.problem)
            kinds.setdefault(next(raised, PlayFailure.__name__), []).append(outcome.problem)
    return "; ".join(f"{len(problems)} {kind} ({problems[0]})" for kind, problems in kinds.items())
