"""What withholding one doctor's data costs: F1 in the diseases that those data show, with the data and without.

Tree-of-Reasoning's Table 2 hands the data of a doctor who is left out over to the outpatient doctor; here they are
withheld, which shows what the data themselves are worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.console import Console

from polyclinic.evaluations.tor.evaluation import RecordScores, shares
from polyclinic.evaluations.tor.inpatients import Inpatient
from polyclinic.evidence_tree.sources import KINDS, Kind
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.methods.table import ChosenMethod
from polyclinic.statistics.uncertainty import Difference, Estimate, holm, paired_difference
from polyclinic.terminal.figures import number
from polyclinic.terminal.tables import DETECTABLE, difference_cells, table

OTHERS: tuple[Kind, ...] = KINDS[1:]
"""The kinds of data that doctors other than the outpatient doctor have."""

_KINDS: dict[str, Kind] = {
    "laboratory": "laboratory",
    "microbiology": "laboratory",
    "function": "laboratory",
    "imaging": "radiology",
    "endoscopy": "radiology",
    "pathology": "pathology",
}


class Shows(msgspec.Struct, frozen=True, kw_only=True):
    """What withholding one doctor's data costs in the diseases that those data show.

    Attributes:
        kind: whose data.
        diseases: options of such diseases, over all records.
        f1, without: of the whole team, and without the data, in percent.
        difference: of a record's F1 among such diseases, without less with, paired; of records that have such options.
    """

    kind: Kind
    diseases: int
    f1: Estimate
    without: Estimate
    difference: Difference


def shown_by(
    results: Mapping[str, RecordScores],
    chosen: Sequence[ChosenMethod],
    patients: Sequence[Inpatient],
    knowledge: Knowledge,
    *,
    seed: int = 0,
) -> list[Shows]:
    """Returns for each kind of data what it costs to withhold it, where both methods are among the results by label."""
    found = []
    for kind in OTHERS:
        pair = _with_and_without(kind, chosen)
        if pair is None or not all(one.label in results for one in pair):
            continue
        full, less = (results[one.label] for one in pair)
        keys = _keys_shown(kind, patients, knowledge)
        others = {one.id: one for one in less.chosen if not one.failed}
        pairs = [
            (one, other)
            for one in full.chosen
            if not one.failed
            and (other := others.get(one.id)) is not None
            and keys[one.id] & (one.key | one.outcome.answers | other.outcome.answers)
        ]
        each = [
            [_of_record(one.outcome.answers & keys[one.id], one.key & keys[one.id]) for one in side]
            for side in (list(zip(*pairs, strict=True)) or [(), ()])
        ]
        found.append(
            Shows(
                kind=kind,
                diseases=sum(map(len, keys.values())),
                f1=shares([one for one in full.chosen if not one.failed], among=keys, seed=seed)[2],
                without=shares([one for one in less.chosen if not one.failed], among=keys, seed=seed)[2],
                difference=paired_difference(each[1], each[0], seed=seed),
            )
        )
    return found


def _with_and_without(kind: Kind, chosen: Sequence[ChosenMethod]) -> tuple[ChosenMethod, ChosenMethod] | None:
    """Returns the method with all data, and the same without one doctor's, if both were chosen."""
    for less in chosen:
        if tuple(less.settings.get("without", ())) == (kind,) and less.settings.get("removed") == "withheld":
            left = {key: value for key, value in less.settings.items() if key not in ("without", "removed")}
            full = next((one for one in chosen if one.name == less.name and one.settings == left), None)
            if full is not None:
                return full, less
    return None


def withheld_document(shown: Sequence[Shows]) -> dict[str, Any]:
    """Returns what `--json` prints of the kinds of data, by kind; p values are corrected after Holm."""
    corrected = holm([one.difference.p for one in shown])
    return {
        one.kind: {
            "f1": one.f1.mean,
            "f1_withheld": one.without.mean,
            "difference": one.difference.mean,
            "interval": [one.difference.low, one.difference.high],
            "p": one.difference.p,
            "p_holm": p_holm,
            "n": one.difference.n,
        }
        for one, p_holm in zip(shown, corrected, strict=True)
    }


def show_withheld(screen: Console, shown: Sequence[Shows]) -> None:
    """Prints F1 in the diseases that each kind of data shows, with the data and without."""
    columns = ("data withheld", "F1 % with", "without", "a record", "95 % interval", "p", "p (Holm)", "n", "detectable")
    costs = table("F1 in the diseases that the data show", columns)
    for one, p_holm in zip(shown, holm([one.difference.p for one in shown]), strict=True):
        cells = difference_cells(one.difference, p_holm, "+.1f")
        costs.add_row(one.kind, number(one.f1.mean, ".1f"), number(one.without.mean, ".1f"), *cells)
    screen.print(costs)
    told = f"a record: mean difference of its F1 in those diseases; p: sign-flip test; {DETECTABLE}"
    screen.print(told, style="dim")


def _of_record(given: frozenset[str], wanted: frozenset[str]) -> float:
    both = len(given) + len(wanted)
    return 100.0 if not both else 200.0 * len(given & wanted) / both


def _keys_shown(kind: Kind, patients: Sequence[Inpatient], knowledge: Knowledge) -> dict[str, frozenset[str]]:
    """Returns for each record the options that are diseases which such data show."""
    full = with_pathology(knowledge)
    shown = {disease.id for disease in full.diseases.values() if kind in _shows(disease, full)}
    keys = {}
    for patient in patients:
        diseases = {key: full.disease_named(text) for key, text in patient.question.options.items()}
        keys[patient.id] = frozenset(key for key, d in diseases.items() if d is not None and d.id in shown)
    return keys


def _shows(disease: Disease, knowledge: Knowledge) -> set[Kind]:
    """Returns which data show a disease: by an examination that is right for it, or a specimen."""
    specimens = [e for e in disease.findings if knowledge.examinations[e].kind == "pathology"]
    kinds = {knowledge.examinations[e].kind for e in (*disease.examinations, *specimens)}
    return {_KINDS[kind] for kind in kinds if kind in _KINDS}
