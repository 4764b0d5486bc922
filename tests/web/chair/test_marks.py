"""What students write is marked by what is meant, in either language; the rows of `held` were looked at once."""

import csv
from functools import cache
from pathlib import Path

import pytest

from polyclinic.generation.draw import draw_patients
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.web.chair.findings_told import FindingsTold
from polyclinic.web.chair.prescribing import due_points

ROWS = list(
    csv.DictReader(Path(__file__).with_name("marks.tsv").read_text(encoding="utf-8").splitlines(), delimiter="\t")
)


@cache
def patient(disease, severity, language):
    knowledge = read_knowledge().select(disease)
    drawn = draw_patients(knowledge, n=60, seed=8, language=language)
    return next(one.case for one in drawn if one.severity == severity and one.disease.id == disease)


def counts(row):
    knowledge = read_knowledge()
    case = patient(row["disease"], row["severity"], row["language"])
    if row["kind"] == "treatment":
        plan = knowledge.diseases[row["disease"]].plan(row["severity"]).get(row["language"])
        return any(point.named for point in due_points(plan, [row["written"]], knowledge))
    return bool(FindingsTold(case, knowledge).heard(row["written"]).right)


def wrong(half):
    rows = [row for row in ROWS if row["half"] == half]
    return rows, [row for row in rows if counts(row) is not (row["counts"] == "yes")]


@pytest.mark.parametrize(("half", "most"), [("dev", 0), ("held", 3)])
def test_what_students_write_is_marked_by_what_is_meant(half, most):
    rows, failed = wrong(half)
    assert len(rows) > 20
    assert len(failed) <= most, failed
