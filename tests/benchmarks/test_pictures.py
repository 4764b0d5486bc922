"""The papers' figures: each is one file of SVG that says what it shows, also where names are odd."""

from xml.etree import ElementTree

import pytest

from polyclinic.evaluations.drawing import MeasurePanel, lines, panels, radar, shares
from polyclinic.evaluations.evolution.curves import CurveLine

ODD = "<b>&'\""
SVG = "{http://www.w3.org/2000/svg}"

PICTURES = {
    "lines": lines([CurveLine(ODD, [(1.0, 10.0), (2.0, 90.0)]), CurveLine("b", [(1.0, 5.0)], 1, True)],
                   across="turn", up="percent", says="lines"),
    "shares": shares({1: {"A": 75.0, "B": 25.0}, 2: {"B": 100.0}}, {"A": ODD, "B": "b", "C": "c"},
                     across="turn", says="shares"),
    "radar": radar(["one", ODD, "three"], {"a": [50.0, None, 20.0], ODD: [25.0, 0.0, 40.0]}, says="radar"),
    "panels": panels([MeasurePanel(ODD, {"a": 50.0, "b": 100.0}, {"a": [(0, 10.0), (9, 90.0)], "b": []})] * 4,
                     across="turns", says="panels"),
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_stands_alone_and_says_what_it_is(name):
    drawn = ElementTree.fromstring(PICTURES[name])
    assert drawn.tag == f"{SVG}svg"
    assert drawn.find(f"{SVG}title").text == drawn.get("aria-label") == name
    assert drawn.find(f"{SVG}style") is not None
    texts = "".join(drawn.itertext())
    assert ODD in texts
    assert "http" not in PICTURES[name].replace("http://www.w3.org/2000/svg", "")


def test_shares_are_as_high_as_they_are_large_and_carry_their_code():
    drawn = ElementTree.fromstring(PICTURES["shares"])
    bars = [float(box.get("height")) for box in drawn.iter(f"{SVG}rect") if box.find(f"{SVG}title") is not None]
    assert bars == [165.0, 55.0, 220.0]
    assert [text.text for text in drawn.iter(f"{SVG}text") if text.get("class") == "code"] == ["A", "B", "B"]


def test_the_best_of_each_axis_is_at_the_rim():
    drawn = ElementTree.fromstring(PICTURES["radar"])
    first, second = [p.get("points").split() for p in drawn.iter(f"{SVG}polygon") if "line" in p.get("class")]
    rim = [p.get("points").split() for p in drawn.iter(f"{SVG}polygon") if p.get("class") == "grid"][-1]
    assert (first[0], second[2]) == (rim[0], rim[2])
    # Nobody has anything on the second axis.
    assert first[1] == second[1] == "230.0,250.0"
