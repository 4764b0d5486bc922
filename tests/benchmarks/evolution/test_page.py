"""The page of a practice: whole, escaped, without a script; and the lines on it where they belong."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from polyclinic.evaluations.evolution.ablations import Ablations, AnswerShown, CaseStudy, Gain, NearCase
from polyclinic.evaluations.evolution.page import CurveLine, curves, page
from polyclinic.evaluations.evolution.practice import Point
from polyclinic.evaluations.evolution.results import Evolution
from polyclinic.memory.entries import ClinicalTask

EVIL = "<script>alert(1)</script>\x07"


def point(patients, right):
    def each(n):
        return dict.fromkeys(ClinicalTask, n)

    return Point(
        patients=patients,
        n=40,
        right=each(right),
        by_disease={"flu": (40, each(right))},
        train=each(patients // 2),
        records=each(patients // 2),
        experience=each(patients // 4),
    )


def shown(said):
    some = (NearCase(case="p1", cosine=0.5, says=said),)
    answer = AnswerShown(answer=said, is_right=True, reasoning=said, records=some, experience=some)
    return CaseStudy(
        case="p9", symptoms=said, disease="flu", severity="mild", answers={"both": dict.fromkeys(ClinicalTask, answer)}
    )


@pytest.fixture(scope="module")
def evolution():
    gain = Gain(task=ClinicalTask.DIAGNOSIS, over="records only", difference=5, low=1, high=9, p=0.01)
    return Evolution(
        learner=EVIL,
        curve=(point(0, 5), point(50, 20), point(100, 30)),
        cap=dict.fromkeys(ClinicalTask, 36),
        constant=dict.fromkeys(ClinicalTask, 7),
        names={"flu": "Influenza & more"},
        wall_seconds=1,
        ablations=Ablations(
            n=40,
            right={"both": dict.fromkeys(ClinicalTask, 30)},
            gains=(gain,),
            by_k={0: dict.fromkeys(ClinicalTask, 5), 3: dict.fromkeys(ClinicalTask, 20)},
            study=shown(EVIL),
        ),
        every=50,
    )


def test_the_page_has_the_papers_figures_and_nothing_that_runs(evolution):
    made = page(evolution)
    for words in (
        *(f"Figure {n}" for n in range(6, 15)),
        "Table 1",
        "Table 3",
        "Table 4",
        "+5.0",
        "+1.0 to +9.0",
        "90.0",
        "17.5",
    ):
        assert words in made, words
    assert "<script" not in made
    assert "&lt;script&gt;alert(1)&lt;/script&gt;␇" in made
    assert not re.search(r"(src|href)=", made)
    assert made.count("<svg") == 10
    for picture in re.findall(r"<svg.*?</svg>", made, flags=re.DOTALL):
        ElementTree.fromstring(picture)


def test_snapshots_are_the_points_at_their_steps(evolution):
    assert [one.patients for one in evolution.snapshots()] == [0, 50, 100]
    assert [one["patients"] for one in evolution.document()["snapshots"]] == [0, 50, 100]


def test_a_line_ends_where_its_numbers_do_and_no_name_covers_another():
    made = curves([CurveLine(f"l{n}", [(0, 0), (10, 50)], n) for n in range(5)], across="x", up="y", says="s", top=100)
    points = re.findall(r'<polyline[^>]*points="([^"]*)"', made)
    assert len(set(points)) == 1
    first, last = (tuple(map(float, one.split(","))) for one in points[0].split())
    assert first[0] < last[0]
    assert first[1] > last[1]
    names = sorted(float(y) for y in re.findall(r'<text x="\d+" y="([\d.]+)" text-anchor="start">l\d 50</text>', made))
    assert len(names) == 5
    assert all(b - a >= 13 for a, b in pairwise(names))
