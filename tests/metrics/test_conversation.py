"""The ten metrics: by hand, for any dialogue, and against the published values."""

import csv
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyclinic.events import State
from polyclinic.metrics.conversation import METRICS, SECOND, compare, score, summarise
from polyclinic.metrics.dialogue import Dialogue, LeftOut, Turn, read_dialogues

pytestmark = pytest.mark.usefixtures("words")
DOCTORS = [(s, d) for s in ("HospitalCases", "MedicalExam") for d in ("chatgpt", "internlm-20b")]

spoken = st.text("ab cd,.?咳嗽发热", max_size=15)
dialogues = st.builds(
    Dialogue,
    id=st.integers(0, 3),
    language=st.sampled_from(["en", "zh"]),
    turns=st.lists(st.builds(Turn, spoken, st.sampled_from(list(State)), spoken), min_size=1, max_size=6).map(tuple),
    information=st.none() | spoken,
    options=st.sampled_from([{}, {"A": "x", "B": "y"}]),
    answers=st.just(("A",)),
    chosen=st.sampled_from([None, "A", "B", "C"]),
)


def test_by_hand(dialogue):
    values = score(dialogue).values
    assert list(values) == [*METRICS, SECOND[0]]
    assert values["DIAGNOSIS"] == 100
    # Of the record's 21 words 13 were said: three of four "a", one of two "the", and each of nine others once.
    assert values["COVERAGE"] == pytest.approx(100 * 13 / 21)
    assert values["COVERAGE_WITHOUT_O"] < values["COVERAGE"]
    assert values["INQUIRY_ACC"] == pytest.approx(100 / 3)
    assert values["INQUIRY_SPECIFIC"] == pytest.approx(200 / 3)
    assert values["ADVICE_ACC"] == 50
    assert values["ADVICE_SPECIFIC"] == 50
    assert values["AVG_TURN"] == 7
    assert values["AVG_LEN"] == pytest.approx((5 + 5 + 3 + 3 + 5 + 3 + 1) / 7)


def test_coverage_and_logic_by_hand(dialogue):
    turns = (Turn("Hello", State.OPENING, "A cough. "), Turn("Fever?", State.EFFECTIVE_INQUIRY, "fever"))
    values = score(msgspec.structs.replace(dialogue, turns=turns, information="fever, coughing, no pain")).values
    assert values["COVERAGE"] == 50  # fever and cough of four words
    assert values["COVERAGE_WITHOUT_O"] == 25
    # Collected "A cough. fever" is 14 characters, the record 24; their longest common subsequence is " cough ".
    assert values["INQUIRY_LOGIC"] == pytest.approx(100 * 2 * 7 / 38)


def test_what_is_missing_is_left_out_by_metric(dialogue):
    bare = score(msgspec.structs.replace(dialogue, information=None, options={}))
    assert "DIAGNOSIS" not in bare.values
    assert "COVERAGE" not in bare.values
    assert [problem.metrics for problem in bare.left_out] == [("DIAGNOSIS",), ("COVERAGE", "INQUIRY_LOGIC")]
    summary = summarise([bare, score(msgspec.structs.replace(dialogue, id="b"))])
    assert summary.metrics["DIAGNOSIS"].n == 1
    assert summary.metrics["AVG_TURN"].n == 2
    other = score(msgspec.structs.replace(dialogue, answers=("Z",)))
    assert "Z" in other.left_out[0].problem


def test_a_diagnosis_that_cannot_be_read_is_wrong_and_counted(dialogue):
    unread = [score(msgspec.structs.replace(dialogue, chosen=chosen)) for chosen in (None, "I think B", "A", "B")]
    summary = summarise(unread)
    assert summary.unreadable == 2
    assert summary.metrics["DIAGNOSIS"].mean == 25


def test_pooled_shares_count_turns(dialogue):
    without = msgspec.structs.replace(dialogue, id="b", turns=dialogue.turns[:1])
    summary = summarise([score(dialogue), score(without)])
    assert summary.metrics["INQUIRY_ACC"].mean == pytest.approx(100 / 6)
    assert summary.second["INQUIRY_ACC_POOLED"].mean == pytest.approx(100 / 3)
    assert summary.second["ADVICE_ACC_POOLED"].mean == 50
    assert summary.metrics["AVG_LEN"].n == 8
    alike = summarise([score(msgspec.structs.replace(without, id=id)) for id in "bcd"]).metrics["AVG_LEN"]
    assert (alike.n, alike.stderr) == (3, None)


def test_failed_visits_are_outside_and_counted(dialogue):
    left_out = [LeftOut("x", "the visit failed", failed=True), LeftOut("y", "turn 1 has no state")]
    summary = summarise([score(dialogue)], left_out=left_out)
    assert (summary.failed, len(summary.left_out), summary.metrics["AVG_TURN"].n) == (1, 2, 1)


def test_an_opening_of_the_patient_alone_is_no_turn_of_the_doctor_s(dialogue):
    turns = (Turn("", State.OPENING, "I have a cough."), *dialogue.turns[1:])
    scored = score(msgspec.structs.replace(dialogue, turns=turns))
    assert scored.values["AVG_TURN"] == 7
    assert len(scored.lengths) == 6


@given(dialogues)
def test_bounds(dialogue):
    scored = score(dialogue)
    for name, value in scored.values.items():
        assert value >= 0
        assert name.startswith("AVG") or value <= 100
    values = scored.values
    assert values["INQUIRY_ACC"] <= values["INQUIRY_SPECIFIC"]
    assert values["ADVICE_ACC"] <= values["ADVICE_SPECIFIC"]
    if "COVERAGE" in values and dialogue.language == "en":
        assert scored == score(dialogue)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(dialogues, min_size=1, max_size=5))
def test_the_order_of_the_dialogues_changes_no_mean(several):
    scores = [score(dialogue) for dialogue in several]
    one, other = summarise(scores), summarise(scores[::-1])
    for name in METRICS:
        assert one.metrics[name].mean == pytest.approx(other.metrics[name].mean)
        assert one.metrics[name].stderr == pytest.approx(other.metrics[name].stderr)


def test_doctors_are_compared_on_the_cases_of_both(dialogue):
    def doctor(ids, chosen):
        return summarise([score(msgspec.structs.replace(dialogue, id=i, chosen=chosen)) for i in ids])

    found = compare({"one": doctor(range(8), "B"), "two": doctor(range(2, 12), "A"), "far": doctor([99], "A")})
    assert {(c.first, c.second) for c in found} == {("one", "two")}
    diagnosis = found[0]
    assert (diagnosis.measure, diagnosis.difference.mean, diagnosis.difference.n) == ("DIAGNOSIS", 100, 6)
    assert diagnosis.difference.p == pytest.approx(2 / 2**6)  # McNemar: six against none
    assert diagnosis.p_holm == pytest.approx(10 * 2 / 2**6)
    assert all(c.difference.p == 1 for c in found[1:])


@pytest.fixture(scope="module", params=DOCTORS, ids="-".join)
def recorded(request, shared_data):
    data_set, doctor = request.param
    folder = shared_data / "cases" / "aie" / "recorded"
    if not folder.is_dir():
        pytest.skip("the recorded dialogues are not there")
    path = folder / data_set / f"{doctor}.json"
    read, left_out = read_dialogues(path)
    with (folder / f"{data_set}.csv").open(encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["MODEL"] == doctor)
    return summarise([score(d) for d in read], left_out=left_out), row, json.loads(path.read_text("utf-8"))


@pytest.mark.slow
def test_every_published_mean_and_error_to_a_hundredth(recorded):
    summary, row, _ = recorded
    assert not summary.left_out
    assert list(row)[1:] == list(summary.metrics)
    for name, estimate in summary.metrics.items():
        mean, error = row[name].split(r"$\pm$")
        # They are printed to a hundredth, cut or rounded.
        assert estimate.mean == pytest.approx(float(mean), abs=0.0051), name
        assert estimate.stderr == pytest.approx(float(error), abs=0.0051), name


@pytest.mark.slow
def test_every_stored_score_of_every_case(recorded):
    summary, _, records = recorded
    for scored, record in zip(summary.scores, records, strict=True):
        assert scored.id == record["id"]
        for name in ("COVERAGE", "INQUIRY_LOGIC", "DISTINCT"):
            assert scored.values[name] == pytest.approx(record["eval_results"][name], abs=1e-9), (scored.id, name)
        assert (scored.values["DIAGNOSIS"] == 100) is record["eval_results"]["DIAGNOSIS"]
