"""AIE's Figures 6a, 6c and 6d, drawn of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping

from polyclinic.evaluations.aie.evaluation import AieResult
from polyclinic.evaluations.drawing import lines, radar, shares
from polyclinic.evaluations.evolution.curves import CurveLine
from polyclinic.events import State
from polyclinic.judging.pairs import CriterionResult, View
from polyclinic.judging.people import CriterionByPeople
from polyclinic.results.output import file_names

NAMES = {
    State.EFFECTIVE_INQUIRY: "effective inquiry",
    State.INEFFECTIVE_INQUIRY: "ineffective inquiry",
    State.AMBIGUOUS_INQUIRY: "ambiguous inquiry",
    State.EFFECTIVE_ADVICE: "effective advice",
    State.INEFFECTIVE_ADVICE: "ineffective advice",
    State.AMBIGUOUS_ADVICE: "ambiguous advice",
    State.DEMAND: "demand",
    State.OTHER_TOPIC: "other topic",
    State.CONCLUSION: "conclusion",
}


def figures(result: AieResult) -> dict[str, str]:
    """Returns the pictures that there is something to draw for, by the name of their file."""
    drawn: dict[str, str] = {}
    files = file_names(one.name for one in result.doctors)
    if result.judgements is not None:
        judged = {view: {**criteria} for view, criteria in result.judgements.views.items()}
        drawn["figure-6a.svg"] = _win_rates(result, f"judged by {result.judgements.judge}", judged)
    if result.people:
        said = {view: {**one.criteria} for view, one in result.people.items()}
        drawn["figure-6a-people.svg"] = _win_rates(result, "judged by people", said)
    names = {str(state): name for state, name in NAMES.items()}
    for one in result.doctors:
        if one.by_turn:
            columns = {turn: {str(state): share for state, share in of.items()} for turn, of in one.by_turn.items()}
            says = f"{one.name}: what its turns were to the patient"
            drawn[f"figure-6c-{files[one.name]}.svg"] = shares(
                columns, names, across="turn behind the opening", says=says
            )
    if any(one.truncated for one in result.doctors):
        drawn["figure-6d.svg"] = _lengths(result)
    return drawn


def _win_rates(
    result: AieResult, by: str, judged: Mapping[View, Mapping[str, CriterionResult | CriterionByPeople]]
) -> str:
    axes = [(view, criterion) for view, criteria in judged.items() for criterion in criteria]
    rates = {
        one.name: [
            rate.percent if (rate := judged[view][criterion].win_rates.get(one.name)) else None
            for view, criterion in axes
        ]
        for one in result.doctors
    }
    says = f"Win rates without ties, {by}; the best of each criterion at the rim"
    return radar([f"{criterion} ({view})" for view, criterion in axes], rates, says=says)


def _lengths(result: AieResult) -> str:
    drawn = []
    for kind, one in enumerate(result.doctors):
        for metric, level in (("coverage", False), ("diagnosis", True)):
            means = {n: getattr(cut, metric).mean for n, cut in one.truncated.items()}
            points = [(float(n), mean) for n, mean in means.items() if mean is not None and not math.isnan(mean)]
            drawn += [CurveLine(f"{one.name}: {metric.upper()}", points, kind, level)] if points else []
    across = "turns of the dialogue, the opening among them"
    return lines(drawn, across=across, up="percent", says="COVERAGE and DIAGNOSIS, had the dialogue ended then")
