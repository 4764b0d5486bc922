"""What a judge's answers on pairs of dialogues come to (aie-saps §2.4, §4.4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from polyclinic.judges.judging import failures
from polyclinic.statistics.pairwise import Comparison, Strength, WinRate, of_both_orders, strengths, win_rates

View = Literal["doctor", "patient"]
Better = Literal["first", "second", "tie"]

CRITERIA: dict[View, tuple[str, ...]] = {
    "doctor": ("inquiry", "logic", "diagnosis", "patient", "total"),
    "patient": ("effective", "clear", "understand", "empathy", "total"),
}


class Preference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a judge prefers of two dialogues in one order, by criterion; nothing where no answer could be used.

    Its view is as whom it judged; the first doctor is the one whose dialogue was shown first.
    """

    case: str
    view: View
    first: str
    second: str
    analysis: str = ""
    better: dict[str, Better] = {}
    error: str = ""
    failed: bool = False

    def winner(self, criterion: str) -> str | None:
        """Returns the doctor who is better by a criterion; None is a tie."""
        return {"first": self.first, "second": self.second}.get(self.better[criterion])


class CriterionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one criterion; rates and strengths are by doctor.

    Attributes:
        n: comparisons, each judged in both orders.
        ties: those that nobody won, disagreements included.
        disagreements: those in which the orders did not agree.
        first_wins: percent of the decided answers that went to the dialogue shown first; 50 where the order does not
            matter, None where nothing was decided.
    """

    n: int
    ties: int
    disagreements: int
    first_wins: float | None
    win_rates: dict[str, WinRate]
    strengths: dict[str, Strength]


class Judgements(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a judge said, and the hash of its prompts.

    Attributes:
        unreadable: as in `failures`, and so is `failed`.
        incomplete: comparisons of a view that lack an order for that, and count for nobody.
        without: pairs of doctors on a case that were not judged, as a visit failed or its doctor said nothing.
        calls: every question; the two orders of a comparison follow each other.
    """

    judge: str
    prompts: str
    views: dict[View, dict[str, CriterionResult]]
    unreadable: dict[str, int]
    failed: dict[str, int]
    incomplete: int
    without: int
    calls: tuple[Preference, ...]

    def comparisons(self, view: View, criterion: str) -> list[Comparison]:
        """Returns who won against whom by a criterion, in both orders of asking."""
        return _compared(_complete(self.calls, view), criterion)


def _complete(calls: Sequence[Preference], view: View) -> list[tuple[Preference, Preference]]:
    """Returns a view's comparisons for which both orders were answered."""
    pairs = zip(calls[::2], calls[1::2], strict=True)
    return [(one, other) for one, other in pairs if one.view == view and one.better and other.better]


def _compared(pairs: Sequence[tuple[Preference, Preference]], criterion: str) -> list[Comparison]:
    return [
        Comparison(one.first, one.second, of_both_orders(one.winner(criterion), other.winner(criterion)), one.case)
        for one, other in pairs
    ]


def judgements_of(judge: str, prompts: str, calls: tuple[Preference, ...], *, without: int, seed: int) -> Judgements:
    """Returns what a judge's answers come to; the two orders of a comparison follow each other among the calls."""
    unreadable, failed = failures(calls)
    pairs = {view: _complete(calls, view) for view in CRITERIA}
    return Judgements(
        judge=judge,
        prompts=prompts,
        views={view: {one: _result(pairs[view], one, seed) for one in CRITERIA[view]} for view in CRITERIA},
        unreadable=unreadable,
        failed=failed,
        incomplete=len(calls) // 2 - sum(map(len, pairs.values())),
        without=without,
        calls=calls,
    )


def _result(pairs: Sequence[tuple[Preference, Preference]], criterion: str, seed: int) -> CriterionResult:
    comparisons = _compared(pairs, criterion)
    decided = [call.better[criterion] for pair in pairs for call in pair if call.better[criterion] != "tie"]
    return CriterionResult(
        n=len(comparisons),
        ties=sum(one.winner is None for one in comparisons),
        disagreements=sum(one.winner(criterion) != other.winner(criterion) for one, other in pairs),
        first_wins=100 * decided.count("first") / len(decided) if decided else None,
        win_rates=win_rates(comparisons),
        strengths=strengths(comparisons, seed=seed),
    )
