"""Results in short, as HTML and as frames."""

import sys
from types import SimpleNamespace

import pandas
import pytest

from polyclinic import consult, read_cases
from polyclinic.cases import Case, Diagnosis, History, Presentation, Record, Truth
from polyclinic.errors import MissingExtra
from polyclinic.frames import flat, html_table, to_frame
from polyclinic.statistics.uncertainty import Estimate


@pytest.fixture(scope="module")
def visit():
    return consult(next(read_cases("shipped")), seed=1)


def test_a_visit_is_read_in_a_line(visit):
    for one in (visit, visit.trace):
        assert repr(one).count("\n") == 0
        assert len(repr(one)) < 400
    assert "p1-00001" in repr(visit)
    assert f"{len(visit.trace)} events, concluded" in repr(visit.trace)


def test_its_events_are_rows(visit):
    frame = visit.to_frame()
    assert frame["event"].iloc[0] == "opened"
    assert frame["event"].iloc[-1] == "revealed"
    assert len(frame) == len(visit.trace)
    assert frame["presentation.complaint"][0] == visit.trace[0].presentation.complaint
    pandas.testing.assert_frame_equal(visit.trace.to_frame(), frame)


def test_what_somebody_wrote_is_text_and_no_markup():
    case = Case(
        id="<b>1</b>",
        record=Record(
            presentation=Presentation(complaint="<script>alert(1)</script> a cough"), history=History(present="Ill.")
        ),
        truth=Truth(diagnoses=(Diagnosis(name="COVID-19"),)),
    )
    html = consult(case, max_turns=1)._repr_html_()
    assert "&lt;script&gt;" in html and "&lt;b&gt;" in html
    assert "<script" not in html and "<b>" not in html
    assert len(html_table("many", [{"text": "x" * 10_000}] * 1000)) < 10**6


def test_parts_have_dots_and_words_are_joined():
    row = flat({"accuracy": Estimate(mean=1.0, stderr=None, low=None, high=None, n=3), "names": ("a", "b"), "of": [1]})
    assert row["accuracy.mean"] == 1.0
    assert row["names"] == "a; b"
    assert "of" not in row


def test_which_library_makes_the_frame(monkeypatch):
    rows = [{"a": 1}, {"a": 2, "b": "x"}]
    assert to_frame(rows).fillna("-").to_dict("list") == {"a": [1, 2], "b": ["-", "x"]}
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(DataFrame=lambda columns: ("polars", columns)))
    assert to_frame(rows, "polars") == ("polars", {"a": [1, 2], "b": [None, "x"]})
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert to_frame(rows)[0] == "polars"
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtra, match="pip install pandas"):
        to_frame(rows)
    with pytest.raises(MissingExtra, match="pip install polars"):
        to_frame(rows, "polars")
