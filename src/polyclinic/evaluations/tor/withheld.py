"""The cost of withholding one doctor's data: F1 in the diseases that those data show, with and without the data.

Tree-of-Reasoning's Table 2 gives the data of a doctor who is left out to the outpatient doctor; here they are withheld.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.console import Console

from polyclinic.evaluations.measuring import show_compared
from polyclinic.evaluations.tor.evaluation import RecordPlay, RecordScores, shares
from polyclinic.evaluations.tor.inpatients import Inpatient
from polyclinic.evidence_tree.sources import KIND_OF, KINDS, Kind
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.methods.table import ChosenMethod
from polyclinic.statistics.comparison import Compared, compare_values, of_means
from polyclinic.statistics.uncertainty import Estimate
from polyclinic.terminal.tables import Column


class Shows(Compared, frozen=True, kw_only=True):
    """What withholding one doctor's data costs in the diseases that those data show.

    Attributes:
        measure: the kind of data; the `difference` is of a record's F1, without less with the data.
        f1, without: in percent, of the whole team, and of the team without the data.
    """

    f1: Estimate
    without: Estimate


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
    f1: dict[str, list[Estimate]] = {}
    values: dict[str, dict[str, dict[str, float]]] = {"without": {}, "with": {}}
    for less in chosen:
        left = {key: value for key, value in less.settings.items() if key not in ("without", "removed")}
        kinds: Sequence[Kind] = tuple(less.settings.get("without", ()))
        label = by_settings.get((less.name, str(left)))
        is_withheld = less.settings.get("removed") == "withheld" and len(kinds) == 1 and less.label in results
        if label is None or not is_withheld:
            continue
        keys = _keys_shown(kinds[0], patients, knowledge)
        sides = {
            side: {one.id: one for one in results[name].chosen if not one.outcome.failed}
            for side, name in (("without", less.label), ("with", label))
        }
        f1[kinds[0]] = [shares(some.values(), among=keys, seed=seed)[2] for some in sides.values()]
        asked = {
            one.id for some in sides.values() for one in some.values() if keys[one.id] & (one.key | one.outcome.answers)
        }
        for side, some in sides.items():
            for id in (id for id in some if id in asked):
                values[side].setdefault(id, {})[kinds[0]] = _f1(some[id], keys)
    in_order = [kind for kind in KINDS if kind in f1]
    compared = compare_values(Compared, values, in_order, [("without", "with")], lambda _: of_means(seed))
    return [Shows(**msgspec.structs.asdict(one), f1=f1[one.measure][1], without=f1[one.measure][0]) for one in compared]


def _f1(one: RecordPlay, among: Mapping[str, frozenset[str]]) -> float:
    given, wanted = one.outcome.answers & among[one.id], one.key & among[one.id]
    both = len(given) + len(wanted)
    return 200.0 * len(given & wanted) / both if both else 100.0


def withheld_document(shown: Sequence[Shows]) -> dict[str, Any]:
    """Returns what `--json` prints of the kinds of data, by kind."""
    return {
        one.measure: {
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
    columns: dict[str, Column] = {
        "data withheld": "measure",
        "F1 % with": ("f1.mean", ".1f"),
        "without": ("without.mean", ".1f"),
    }
    show_compared(screen, "F1 in the diseases that the data show", shown, columns, form="+.1f")


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
