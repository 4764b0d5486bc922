"""What people say of pairs of doctors, criterion by criterion, and how far the judge says the same (AIE, Figure 4)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from polyclinic.judging.pairs import CRITERIA, Judgements, View
from polyclinic.judging.people import comparisons, criteria_by_people
from polyclinic.judging.verdicts import PersonsVerdict
from polyclinic.statistics.agreement import Agreement, agreement
from polyclinic.statistics.pairwise import Comparison, Standings

_LABELS = ("first", "second", "tie")


class ViewByPeople(msgspec.Struct, frozen=True, kw_only=True):
    """What people say from one view, by criterion.

    Attributes:
        with_judge: how far the judge says the same of the pairs that both judged, ties included; empty without one.
    """

    criteria: dict[str, Standings]
    with_judge: dict[str, Agreement]


def views_by_people(
    verdicts: Sequence[PersonsVerdict], judgements: Judgements | None = None, *, seed: int = 0
) -> dict[View, ViewByPeople]:
    """Returns what people say from each view from which anybody spoke."""
    found: dict[View, ViewByPeople] = {}
    for view in CRITERIA:
        said = criteria_by_people(verdicts, f"pairs {view}", seed=seed)
        if said:
            alike = {} if judgements is None else {one: _alike(verdicts, judgements, view, one) for one in said}
            found[view] = ViewByPeople(criteria=said, with_judge=alike)
    return found


def _alike(verdicts: Sequence[PersonsVerdict], judgements: Judgements, view: View, criterion: str) -> Agreement:
    """Returns how far judge and people agree on who wins; of several visits to a case the judge's first counts."""
    judged: dict[tuple[str, frozenset[str]], Comparison] = {}
    for one in judgements.comparisons(view, criterion):
        judged.setdefault((one.case, frozenset((one.first, one.second))), one)
    pairs = [
        (_side(one, one.winner), _side(one, judged[key].winner))
        for one in comparisons(verdicts, f"pairs {view}", criterion)
        if (key := (one.case, frozenset((one.first, one.second)))) in judged
    ]
    return agreement([people for people, _ in pairs], [judge for _, judge in pairs], labels=_LABELS)


def _side(pair: Comparison, winner: str | None) -> str:
    return "tie" if winner is None else "first" if winner == pair.first else "second"
