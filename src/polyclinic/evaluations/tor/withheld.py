"""The cost of withholding one doctor's data: F1 in the diseases that those data show, with and without the data.

Tree-of-Reasoning's Table 2 gives the data of a doctor who is left out to the outpatient doctor; here they are withheld.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console

from polyclinic.evaluations.tor.evaluation import RecordPlay, RecordScores, shares
from polyclinic.evaluations.tor.inpatients import Inpatient
from polyclinic.evidence_tree.sources import KIND_OF, KINDS, Kind
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.methods.table import ChosenMethod
from polyclinic.statistics.uncertainty import Difference, Estimate, holm, paired_difference
from polyclinic.terminal.figures import number
from polyclinic.terminal.tables import DETECTABLE, difference_cells, table


class Shows(NamedTuple):
    """What withholding one doctor's data costs in the diseases that those data show."""

    kind: Kind
    f1: Estimate  # of the whole team, in percent
    without: Estimate  # of the team without the data
    difference: Difference  # of a record's F1, without less with, paired; of records with options of such diseases
    p_holm: float | None = None


def shown_by(
    results: Mapping[str, RecordScores],
    chosen: Sequence[ChosenMethod],
    patients: Sequence[Inpatient],
    knowledge: Knowledge,
    *,
    seed: int = 0,
) -> list[Shows]:
    """Returns for each kind of data the cost of withholding it, if both methods are among the results by label."""
    by_settings = {(one.name, str(one.settings)): one.label for one in chosen if one.label in results}
    found = []
    for less in chosen:
        left = {key: value for key, value in less.settings.items() if key not in ("without", "removed")}
        kinds: Sequence[Kind] = tuple(less.settings.get("without", ()))
        label = by_settings.get((less.name, str(left)))
        is_withheld = less.settings.get("removed") == "withheld" and len(kinds) == 1 and less.label in results
        if label is None or not is_withheld:
            continue
        keys = _keys_shown(kinds[0], patients, knowledge)
        full, without = ([one for one in results[name].chosen if not one.failed] for name in (label, less.label))
        others = {one.id: one for one in without}
        pairs = [
            (one, others[one.id])
            for one in full
            if one.id in others and keys[one.id] & (one.key | one.outcome.answers | others[one.id].outcome.answers)
        ]
        before, after = ([_f1(pair[side], keys) for pair in pairs] for side in (0, 1))
        whole, less_of = (shares(some, among=keys, seed=seed)[2] for some in (full, without))
        found.append(Shows(kinds[0], whole, less_of, paired_difference(after, before, seed=seed)))
    found.sort(key=lambda one: KINDS.index(one.kind))
    corrected = holm([one.difference.p for one in found])
    return [one._replace(p_holm=p) for one, p in zip(found, corrected, strict=True)]


def _f1(one: RecordPlay, among: Mapping[str, frozenset[str]]) -> float:
    given, wanted = one.outcome.answers & among[one.id], one.key & among[one.id]
    both = len(given) + len(wanted)
    return 200.0 * len(given & wanted) / both if both else 100.0


def withheld_document(shown: Sequence[Shows]) -> dict[str, Any]:
    """Returns what `--json` prints of the kinds of data, by kind."""
    return {
        one.kind: {
            "f1": one.f1.mean,
            "f1_withheld": one.without.mean,
            "difference": one.difference.mean,
            "interval": [one.difference.low, one.difference.high],
            "p": one.difference.p,
            "p_holm": one.p_holm,
            "n": one.difference.n,
        }
        for one in shown
    }


def show_withheld(screen: Console, shown: Sequence[Shows]) -> None:
    """Prints F1 in the diseases that each kind of data shows, with the data and without."""
    columns = ("data withheld", "F1 % with", "without", "a record", "95 % interval", "p", "p (Holm)", "n", "detectable")
    costs = table("F1 in the diseases that the data show", columns)
    for one in shown:
        cells = difference_cells(one.difference, one.p_holm, "+.1f")
        costs.add_row(one.kind, number(one.f1.mean, ".1f"), number(one.without.mean, ".1f"), *cells)
    screen.print(costs)
    told = f"a record: mean difference of its F1 in those diseases; p: sign-flip test; {DETECTABLE}"
    screen.print(told, style="dim")


def _keys_shown(kind: Kind, patients: Sequence[Inpatient], knowledge: Knowledge) -> dict[str, frozenset[str]]:
    """Returns for each record the options that are diseases which such data show.

    Data show a disease by an examination that is right for it, or by a specimen.
    """
    full = with_pathology(knowledge)
    shown = set()
    for disease in full.diseases.values():
        specimens = [name for name in disease.findings if full.examinations[name].kind == "pathology"]
        if kind in {KIND_OF[full.examinations[name].kind] for name in (*disease.examinations, *specimens)}:
            shown.add(disease.id)
    keys = {}
    for patient in patients:
        diseases = {key: full.disease_named(text) for key, text in patient.question.options.items()}
        keys[patient.id] = frozenset(key for key, one in diseases.items() if one is not None and one.id in shown)
    return keys
