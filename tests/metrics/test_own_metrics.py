"""Metrics that are wanted: built-in ones by name, functions of users' files, and what does not fit."""

import pytest

from polyclinic.errors import BadInput, UserError
from polyclinic.events import State
from polyclinic.metrics.conversation import (
    METRICS,
    TEN,
    BrokenMetric,
    check_measured,
    choose_metrics,
    compare,
    measure,
    summarise,
    unusable,
)
from polyclinic.metrics.dialogue import Dialogue, Turn

OWN = """
import asyncio

from polyclinic.metrics.dialogue import Dialogue

TABLE = {"no": "function"}


def questions(dialogue: Dialogue) -> float:
    return sum("?" in turn.doctor for turn in dialogue.turns)


async def waits(dialogue):
    await asyncio.sleep(0)
    return 50


def breaks(dialogue):
    if dialogue.id == "b":
        raise KeyError("nothing there")
    return 1


def silent(dialogue, least=3):
    return None if len(dialogue.turns) < least else 1.0


def endless(dialogue):
    return float("nan")


def huge(dialogue):
    return 10**400


def talks(dialogue):
    return "very well"


def two(dialogue, case):
    return 1


def none():
    return 1


class Metric:
    def __init__(self, dialogue):
        pass
"""


def dialogue(id):
    turns = [Turn("", State.OPENING, "I cough."), Turn("Since when?", State.EFFECTIVE_INQUIRY, "Since Monday.")]
    return Dialogue(id=id, language="en", turns=tuple(turns), options={"A": "flu"}, answers=("A",), chosen="A")


@pytest.fixture
def own(tmp_path):
    pytest.importorskip("nltk", reason="the extra 'evals' is not installed")
    path = tmp_path / "own.py"
    path.write_text(OWN, encoding="utf-8")
    return lambda name: f"{path}:{name}"


def test_without_a_name_all_ten_and_with_names_those():
    assert choose_metrics([]) == TEN
    assert choose_metrics(["DISTINCT", "COVERAGE", "COVERAGE"]).names == ("COVERAGE", "DISTINCT")


async def test_a_function_stands_beside_the_ten(own):
    wanted = choose_metrics([own("questions"), own("waits")])
    assert wanted.names == (*METRICS, own("questions"), own("waits"))
    scored = await measure(dialogue("a"), wanted)
    assert (scored.values[own("questions")], scored.values[own("waits")]) == (1.0, 50.0)
    summary = summarise([scored], names=wanted.names)
    assert list(summary.metrics) == list(wanted.names)
    assert (summary.metrics[own("waits")].mean, summary.metrics[own("waits")].n) == (50, 1)


async def test_only_what_is_wanted_is_summed_up_and_compared(own):
    wanted = choose_metrics(["INQUIRY_ACC", own("questions")])
    scores = [await measure(dialogue(id), wanted) for id in "abc"]
    summary = summarise(scores, names=wanted.names)
    assert list(summary.metrics) == ["INQUIRY_ACC", own("questions")]
    assert list(summary.second) == ["INQUIRY_ACC_POOLED"]
    assert summary.left_out == ()  # COVERAGE lacks its record, and is not wanted.
    compared = compare({"x": summary, "y": summary})
    assert [one.measure for one in compared] == ["INQUIRY_ACC", own("questions")]
    assert all(one.difference.mean == 0 for one in compared)


async def test_what_it_raises_is_left_out_under_its_name_and_never_a_number(own):
    wanted = choose_metrics([own("breaks"), own("endless")])
    scores = [await measure(dialogue(id), wanted) for id in "ab"]
    summary = summarise(scores, names=wanted.names)
    assert (summary.metrics[own("breaks")].mean, summary.metrics[own("breaks")].n) == (1, 1)
    assert summary.metrics[own("endless")].n == 0
    told = {(one.id, one.problem) for one in summary.left_out if set(one.metrics) & {own("breaks"), own("endless")}}
    assert told == {
        ("b", "KeyError: 'nothing there'"),
        ("a", "the metric returned nan"),
        ("b", "the metric returned nan"),
    }


async def test_a_number_beyond_all_bounds_is_left_out(own):
    scored = await measure(dialogue("a"), choose_metrics([own("huge")]))
    assert own("huge") not in scored.values
    assert [one.problem for one in scored.left_out if one.metrics == (own("huge"),)] == [
        "OverflowError: int too large to convert to float"
    ]


async def test_none_is_not_measured_and_no_fault(own):
    scored = await measure(dialogue("a"), choose_metrics([own("silent")]))
    assert own("silent") not in scored.values
    assert not any(own("silent") in one.metrics for one in scored.left_out)


def test_a_doctor_whose_answer_could_not_be_used_has_none_of_the_users(own):
    scored = unusable("a", "refused", choose_metrics([own("questions")]).names)
    assert scored.values == {"DIAGNOSIS": 0.0}
    assert own("questions") in scored.left_out[0].metrics


async def test_what_is_no_number_leaves_the_dialogue_out_as_what_is_raised_does(own):
    scored = await measure(dialogue("a"), choose_metrics([own("talks")]))
    assert own("talks") not in scored.values
    assert [one.problem for one in scored.left_out if one.metrics == (own("talks"),)] == [
        "the metric returned 'very well'; it returns a number, or None where there is nothing to measure"
    ]


async def test_a_metric_that_is_wrong_everywhere_is_told_and_one_that_has_nothing_to_measure_is_not(own):
    wanted = choose_metrics([own("talks"), own("silent")])
    scores = [await measure(dialogue(name), wanted) for name in "ab"]
    with pytest.raises(BrokenMetric, match=r"talks measured none of 2 dialogues; the first, a: the metric returned"):
        check_measured(wanted, [scores[:1], scores[1:]])
    wanted = choose_metrics([own("silent"), own("questions")])
    check_measured(wanted, [[await measure(dialogue("a"), wanted)]])


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("TABLE", "is not a callable object.*; a metric is a function of one"),
        ("two", "missing a required argument: 'case'.*; a metric is a function of one"),
        ("none", "too many positional arguments"),
        ("Metric", "is a class"),
    ],
)
def test_what_does_not_fit_is_told(own, name, problem):
    with pytest.raises(UserError, match=problem):
        choose_metrics([own(name)])


def test_names_that_are_not_there_are_told(own, tmp_path):
    with pytest.raises(UserError, match="no metric 'EMPATHY'; there are DIAGNOSIS, COVERAGE"):
        choose_metrics(["EMPATHY"])
    with pytest.raises(BadInput, match="holds no 'humour'"):
        choose_metrics([own("humour")])
    with pytest.raises(BadInput, match="no such file"):
        choose_metrics([f"{tmp_path}/none.py:metric"])
