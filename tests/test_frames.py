"""Results in short, as HTML and as frames."""

import asyncio
import sys
from types import SimpleNamespace

import pytest

from polyclinic import Minds, consult, read_cases, read_knowledge, see
from polyclinic.cases import Case, Diagnosis, History, Presentation, Record, Truth
from polyclinic.errors import MissingExtra, UserError
from polyclinic.evaluations.aie.declaration import aie
from polyclinic.evaluations.aie.distractors import with_questions
from polyclinic.evaluations.exams import run_methods
from polyclinic.frames import cell, cell_text, flat, html_table, to_frame
from polyclinic.hospital import Configuration, Setup, read_hospital
from polyclinic.hospital import run as run_hospital
from polyclinic.methods import choose
from polyclinic.models import Scripted
from polyclinic.questions import ExamQuestion, Question
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


def test_a_visit_that_failed_says_why():
    minds = Minds(doctor=lambda ask, role: 5, knowledge=read_knowledge(), seed=1)
    failed = asyncio.run(see(next(read_cases("shipped")), minds))
    assert "failed='WrongAnswer: " in repr(failed)
    assert "WrongAnswer: asked to speak" in failed._repr_html_()
    assert len(repr(failed)) < 400
    assert "failed" not in repr(consult(next(read_cases("shipped")), seed=1))


@pytest.mark.parametrize("library", ["panda", "pyarrow"])
def test_there_are_two_libraries_of_frames(visit, library):
    with pytest.raises(UserError, match=f"no data frame of '{library}'; allowed: pandas, polars"):
        visit.to_frame(library)


@pytest.mark.slow
def test_its_events_are_rows(visit):
    frame = visit.to_frame()
    assert frame["event"].iloc[0] == "opened"
    assert frame["event"].iloc[-1] == "revealed"
    assert len(frame) == len(visit.trace)
    assert frame["presentation.complaint"][0] == visit.trace[0].presentation.complaint
    pandas = pytest.importorskip("pandas")
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
    with pytest.raises(MissingExtra, match=r"pip install 'polyclinic\[frames\]'"):
        to_frame(rows)
    with pytest.raises(MissingExtra, match="pip install polars"):
        to_frame(rows, "polars")


@pytest.mark.slow
def test_results_are_rows():
    knowledge = read_knowledge()
    cases = with_questions(list(read_cases("shipped"))[:2], knowledge, seed=1)
    held = asyncio.run(aie(cases, seed=1).hold({"rules": Minds(knowledge=knowledge, seed=1)}))
    frame = held.to_frame()
    assert (list(frame["name"]), frame["mcqe.n"][0]) == (["rules"], 2)
    assert list(held.doctors[0].to_frame()["case"]) == [case.id for case in cases]
    question = ExamQuestion(question=Question(id="1", stem="Which?", options={"A": "a", "B": "b"}), key=("B",))
    model = Scripted(lambda _: "Answer: B")
    (method,) = asyncio.run(run_methods([question], choose(["zero_shot"]), lambda _: lambda _: model))
    assert list(method.to_frame()["outcome.answers"]) == ["B"]
    town = Configuration(
        hospital=read_hospital(None, knowledge), residents=60, days=1, visits=3, seed=1, setup=Setup(seed=1)
    )
    came = asyncio.run(run_hospital(town))
    assert came.to_frame()["run.visits"][0] == came.run.visits
    for result in (held, held.doctors[0], method, method.answered[0].outcome, came):
        assert len(repr(result)) < 1500
        assert result._repr_html_().startswith("<table>")


def test_no_cell_of_a_table_is_a_formula():
    for text in (
        "=HYPERLINK(1)",
        "+cmd",
        "@SUM(A1)",
        "-2+3",
        "\t=1",
        "\r=1",
        "\n=1",
        " =1",
        "＝1+1",
        "＋1",
        "－1+2",
        "＠x",
    ):
        assert cell(text) == f"'{text}" and cell_text(cell(text)) == text
    for value in ("-2", " -2", "+3.5e3", "a=b", "", "'quoted'", "'=", 3, -4.5, None):
        assert cell(value) == value
