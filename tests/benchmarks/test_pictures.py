"""The papers' figures: each is one file of SVG that says what it shows, also where names are odd."""

from xml.etree import ElementTree

import pytest

from polyclinic.evaluations.drawing import MeasurePanel, panels

ODD = "<b>&'\""
SVG = "{http://www.w3.org/2000/svg}"

PICTURES = {
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
