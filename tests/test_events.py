"""Traces: what is written is what is read; what was tampered with is named."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import BadInput
from polyclinic.events import (
    Convened,
    Disputed,
    End,
    Ended,
    Established,
    Examined,
    Failed,
    Opened,
    Order,
    Reported,
    Revealed,
    Revised,
    Role,
    Said,
    Shared,
    State,
    Trace,
)

text = st.text(max_size=40)
texts = st.lists(text, max_size=3).map(tuple)
diagnoses = st.lists(
    st.builds(Diagnosis, text, icd10=st.none() | text, probability=st.none() | st.floats(0, 1)), max_size=3
).map(tuple)
findings = st.lists(
    st.builds(Finding, examination=text, item=text, value=text | st.floats(allow_nan=False, allow_infinity=False)),
    max_size=3,
).map(tuple)
reports = st.builds(Report, symptoms=texts, examinations=texts, diagnoses=diagnoses, rationale=texts, treatment=texts)
turn = st.integers(0, 50)
bodies = st.one_of(
    st.tuples(
        st.just(Said),
        st.fixed_dictionaries(
            {
                "turn": turn,
                "who": st.sampled_from(Role),
                "to": st.sampled_from(Role),
                "text": text,
                "state": st.none() | st.sampled_from(State),
            }
        ),
    ),
    st.tuples(
        st.just(Examined),
        st.fixed_dictionaries({"turn": turn, "findings": findings, "not_recorded": texts, "text": text}),
    ),
    st.tuples(st.just(Reported), st.fixed_dictionaries({"report": reports})),
    st.tuples(st.just(Failed), st.fixed_dictionaries({"who": st.sampled_from(Role), "error": text, "problem": text})),
    st.tuples(
        st.just(Failed),
        st.fixed_dictionaries(
            {"who": st.sampled_from(Role), "error": text, "problem": text, "answered": st.booleans(), "doctor": turn}
        ),
    ),
    st.tuples(
        st.just(Shared),
        st.fixed_dictionaries(
            {"doctor": turn, "name": text, "symptoms": texts, "examinations": texts, "findings": findings}
        ),
    ),
    st.tuples(
        st.just(Established),
        st.fixed_dictionaries({"symptoms": texts, "examinations": texts, "findings": findings}),
    ),
    st.tuples(
        st.just(Revised),
        st.fixed_dictionaries({"doctor": turn, "name": text, "round": turn, "report": reports, "kept": st.booleans()}),
    ),
    st.tuples(st.just(Disputed), st.fixed_dictionaries({"round": turn, "points": texts})),
    st.tuples(st.just(Ended), st.fixed_dictionaries({"reason": st.sampled_from(End), "turns": turn})),
    st.tuples(st.just(Revealed), st.fixed_dictionaries({"diagnoses": diagnoses, "rationale": texts})),
)


def opened(**more) -> Opened:
    fields = {
        "seq": 0,
        "format": 1,
        "case": "c1",
        "presentation": Presentation(complaint="cough"),
        "minds": {Role.DOCTOR: "rules"},
        "seed": 3,
        "max_turns": 10,
    }
    return Opened(**(fields | more))


def convened() -> Convened:
    fields = {"case": "c1", "presentation": Presentation(complaint="cough"), "doctors": ("rules", "rules"), "seed": 3}
    order = Order.SEQUENTIAL
    return Convened(seq=0, format=1, director="rules", order=order, max_rounds=4, dispute_resolution=False, **fields)


def make_trace(events, first=None) -> Trace:
    trace = Trace([first or opened()])
    for kind, fields in events:
        trace.add(kind(seq=trace.next, **fields))
    return trace


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.lists(bodies, max_size=6), min_size=1, max_size=3))
def test_round_trip(tmp_path_factory, visits):
    traces = [make_trace(events, first) for first in (opened(doctor=2), convened()) for events in visits]
    path = tmp_path_factory.mktemp("traces") / "trace.jsonl"
    path.write_text("".join(t.lines() for t in traces), encoding="utf-8", newline="")
    read = Trace.read(path)
    assert read == traces
    assert [t.lines() for t in read] == [t.lines() for t in traces]


def a_visit(case="c1"):
    said = {"turn": 1, "who": Role.DOCTOR, "to": Role.PATIENT}
    texts = ("Is it so?", "And for 3 days?")
    ended = Ended(seq=3, reason=End.CONCLUDED, turns=2)
    return Trace([opened(case=case), *(Said(seq=n, text=text, **said) for n, text in enumerate(texts, 1)), ended])


def test_a_sealed_trace_is_read_as_it_was_and_not_otherwise(tmp_path):
    path, visit = tmp_path / "trace.jsonl", a_visit()
    visit.write(path)
    assert Trace.read(path) == [visit]
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    for text in (
        whole.replace("3 days", "8 days"),
        whole.replace('"case":"c1"', '"case":"c2"'),
        "".join(lines[:-1]),
        lines[0],
    ):
        assert text != whole
        path.write_text(text)
        with pytest.raises(BadInput, match=r"line 1.*not the trace that was written"):
            Trace.read(path)


def test_a_trace_with_whole_numbers_where_others_are_read_is_whole(tmp_path):
    first = msgspec.structs.replace(opened(), presentation=Presentation(complaint="Cough", age=40))
    found = (Finding(examination="x", item="y", value=5),)
    visit = Trace([first, Examined(seq=1, turn=1, findings=found, not_recorded=(), text="")])
    visit.write(tmp_path / "trace.jsonl")
    assert Trace.read(tmp_path / "trace.jsonl") == [visit]


def test_of_sealed_traces_the_whole_ones_are_read(tmp_path):
    path, visits = tmp_path / "trace.jsonl", [a_visit("c1"), a_visit("c2"), Trace([convened()])]
    path.write_text("".join(visit.sealed() for visit in visits).replace("Is it so?", "Is it?", 1))
    bad = []
    assert Trace.read(path, bad=bad) == visits[1:]
    assert ["line 1" in str(told) for told in bad] == [True]


@each_row(
    ("lines", "says"),
    [
        (['{"event":"said","seq":0,"turn":1,"who":"doctor","to":"patient","text":"x"}'], "begins with"),
        (['{"event":"sung","seq":0}'], "not an event"),
        (["nonsense"], "not JSON"),
        ([opened(format=99)], "format 99"),
        ([opened(), convened(), Ended(seq=2, reason=End.CONSENSUS, turns=1)], "event 2 where event 1 was due"),
        ([opened(), opened(), Ended(seq=2, reason=End.CONCLUDED, turns=1)], "event 2 where event 1 was due"),
        ([opened(), '{"event":"ended","seq":1,"reason":"bored","turns":1}'], "bored"),
    ],
)
def test_what_is_no_trace_is_named_with_its_line(tmp_path, lines, says):
    path = tmp_path / "trace.jsonl"
    raw = [line if isinstance(line, str) else msgspec.json.encode(line).decode() for line in lines]
    path.write_text("\n".join(raw))
    with pytest.raises(BadInput, match=rf"line {len(lines)}.*{says}"):
        Trace.read(path)


def test_events_are_numbered_in_order():
    trace = Trace([opened()])
    with pytest.raises(ValueError, match="event 5 where event 1 was due"):
        trace.add(Ended(seq=5, reason=End.CONCLUDED, turns=1))
