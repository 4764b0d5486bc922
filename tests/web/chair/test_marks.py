"""What students write is marked by what is meant, in either language; the rows of `held` were looked at once."""

import csv
from functools import cache
from pathlib import Path

import pytest

from polyclinic.generation.draw import draw_patients
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.metrics.prescribing import due_points, graded
from polyclinic.metrics.reasoning import FindingsTold, reasons_graded

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
    return bool(FindingsTold(case, knowledge).heard(row["written"])[0])


def wrong(half):
    rows = [row for row in ROWS if row["half"] == half]
    return rows, [row for row in rows if counts(row) is not (row["counts"] == "yes")]


@pytest.mark.slow
@pytest.mark.parametrize(("half", "most"), [("dev", 0), ("held", 3)])
def test_what_students_write_is_marked_by_what_is_meant(half, most):
    rows, failed = wrong(half)
    assert len(rows) > 20
    assert len(failed) <= most, failed


def appendicitis(shown):
    """Returns a drawn patient of whose appendix the ultrasound shows something."""
    drawn = draw_patients(read_knowledge().select("acute-appendicitis"), n=200, seed=8)
    return next(one.case for one in drawn if one.body.shown["appendix"] == shown and one.body.shown["wbc"] > 11)


def test_what_was_not_found_is_no_finding_and_what_is_not_named_is_not_found():
    knowledge = read_knowledge()
    seen, unseen = (FindingsTold(appendicitis(shown), knowledge) for shown in ("thick", "not_seen"))
    for written in ("thick appendix on ultrasound", "thickened appendix"):
        assert seen.named(written) == {"abdominal ultrasound"}
        assert unseen.named(written) == frozenset()
    assert seen.named("leukocytosis") == {"blood test"}
    assert seen.named("WBC 2.1") == seen.named("leucopenia") == frozenset()
    assert unseen.named("ultrasound: appendix not seen") == {"abdominal ultrasound"}


def test_a_wrong_finding_is_no_reason():
    case, knowledge = appendicitis("thick"), read_knowledge()
    found, lexicon = FindingsTold(case, knowledge), Lexicon(knowledge.symptoms.values(), "en")
    right, wrong = (
        reasons_graded(case.truth.rationale, given, lexicon, found)[1]
        for given in (["WBC raised"], ["blood test with a low white cell count"])
    )
    assert "Agrees: blood test" in right
    assert "Agrees" not in wrong


@pytest.mark.parametrize(
    ("point", "written", "against"),
    [
        ("laparoscopic appendectomy within 8 hours", "appendicectomy in three weeks", "put off"),
        ("laparoscopic appendectomy within 8 hours", "elective appendicectomy", "put off"),
        ("laparoscopic appendectomy within 8 hours", "appendicectomy within 6 hours", None),
        ("8小时内行腹腔镜阑尾切除术", "择期切除阑尾", "put off"),
        ("ureteroscopy for the stone some weeks later", "ureteroscopy in a month", None),
        ("paracetamol by vein, 15 mg/kg (at most 1 g) every 6 hours (for pain)", "paracetamol 50 g", "dose"),
        ("paracetamol by vein, 15 mg/kg (at most 1 g) every 6 hours (for pain)", "paracetamol 1 g every 6 hours", None),
        (
            "paracetamol by vein, 15 mg/kg (at most 1 g) every 6 hours (for pain)",
            "cefazolin 20 g, paracetamol 1 g",
            None,
        ),
        ("methotrexate into the muscle, 50 mg/m2 once", "methotrexate 500 mg by mouth once a day", "dose"),
        ("methotrexate into the muscle, 50 mg/m2 once", "MTX 50 mg/m2 IM", None),
    ],
)
def test_what_kills_or_comes_too_late_earns_nothing_and_why_is_told(point, written, against):
    (found,) = due_points([point], [written], read_knowledge())
    assert (found.named, found.against) == (against is None, against)
    _, told = graded([found], "en")
    assert ("nobody survives" in told) == (against == "dose") and ("cannot wait" in told) == (against == "put off")
