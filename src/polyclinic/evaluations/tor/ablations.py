"""Tree-of-Reasoning's ablations: its Table 2, doctor by doctor, and its Table 3, mechanism by mechanism.

Table 2 is cumulative. Who is not there hands over its data to the outpatient doctor, as in the paper; beside that
stands the same with the data withheld, and everybody but one doctor, which shows what the data are worth: F1 in the
diseases that those data show, beside F1 of the whole team in the same diseases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from polyclinic.evaluations.tor.evaluation import RecordScores, shares
from polyclinic.evaluations.tor.inpatients import Inpatient
from polyclinic.evidence_tree.sources import KINDS, Kind
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.methods.table import ChosenMethod
from polyclinic.statistics.uncertainty import Difference, Estimate, paired_difference

OTHERS: tuple[Kind, ...] = KINDS[1:]

FULL = "ToR"
ALONE = "outpatient alone, its own data"
ONE = "one doctor, all data"

_KINDS: dict[str, Kind] = {
    "laboratory": "laboratory",
    "microbiology": "laboratory",
    "function": "laboratory",
    "imaging": "radiology",
    "endoscopy": "radiology",
    "pathology": "pathology",
}


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table: its name, and the settings of Tree-of-Reasoning that it stands for."""

    name: str
    settings: dict[str, object] = {}

    @property
    def method(self) -> ChosenMethod:
        """The method with these settings."""
        return ChosenMethod(name="tree_of_reasoning", settings=dict(self.settings))


def tables() -> dict[str, list[Row]]:
    """Returns the tables by name, each a list of rows; a row may stand in several."""
    cumulative = [KINDS[number:] for number in range(1, len(KINDS))]
    full = Row(name=FULL)
    handed_over = [Row(name=_present(absent), settings={"without": absent}) for absent in cumulative]
    withheld = [_withheld(absent, ALONE if absent == OTHERS else _present(absent)) for absent in cumulative]
    return {
        "Table 2, data of the others to the outpatient doctor": [
            msgspec.structs.replace(handed_over[0], name=ONE),
            *handed_over[1:],
            full,
        ],
        "Table 2, data of the others withheld": [*withheld, full],
        "One doctor's data withheld": [*(_withheld((kind,), without_one(kind)) for kind in OTHERS), full],
        "Table 3": [
            Row(name="w/o evidence tree", settings={"tree": False}),
            Row(name="w/o cross-verification", settings={"cross_verification": False}),
            Row(name="w/o retrieval", settings={"retrieval": False}),
            full,
        ],
    }


def _present(absent: tuple[Kind, ...]) -> str:
    return " + ".join(kind for kind in KINDS if kind not in absent)


def _withheld(absent: tuple[Kind, ...], name: str) -> Row:
    return Row(name=name, settings={"without": absent, "removed": "withheld"})


def without_one(kind: Kind) -> str:
    """Returns the name of the row in which one doctor's data are withheld."""
    return f"without {kind} data"


def rows_of(results: Mapping[str, RecordScores], rows: Sequence[Row]) -> list[RecordScores]:
    """Returns the results of rows under the rows' names; results are by the methods' labels."""
    return [msgspec.structs.replace(results[row.method.label], name=row.name) for row in rows]


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
    patients: Sequence[Inpatient],
    knowledge: Knowledge,
    *,
    every: Mapping[str, Sequence[Row]] | None = None,
    seed: int = 0,
) -> list[Shows]:
    """Returns for each kind of data what it costs to withhold it, where both rows are among the results by label.

    The rows are those of `tables` unless `every` has others.
    """
    by_name = {row.name: row.method.label for rows in (every or tables()).values() for row in rows}
    found = []
    for kind in OTHERS:
        full, less = (results.get(by_name[name]) for name in (FULL, without_one(kind)))
        if full is None or less is None:
            continue
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
