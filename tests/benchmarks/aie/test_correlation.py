"""Correlations between indicators: across doctors, over pairs of doctors, within groups."""

from itertools import combinations

import msgspec
import pytest

from polyclinic.evaluations.aie.correlation import FEWEST, MCQE, correlate
from polyclinic.evaluations.aie.evaluation import DoctorResult
from polyclinic.judging.pairs import CRITERIA, Preference, judgements_of
from polyclinic.judging.verdicts import PersonsVerdict
from polyclinic.metrics.conversation import METRICS, Score, summarise
from polyclinic.statistics.uncertainty import estimate

CASES = ("c0", "c1", "c2")


def doctor(name, level):
    """A doctor whose every metric is its level, COVERAGE apart, which goes down with it, and AVG_TURN, which is one."""
    values = dict.fromkeys(METRICS, 0.0)
    counts = dict.fromkeys(("INQUIRY_ACC", "INQUIRY_SPECIFIC", "ADVICE_ACC", "ADVICE_SPECIFIC"), (level, 10))
    scores = [
        Score(
            id=case,
            values={m: float(level + n) for m in values} | {"COVERAGE": 50.0 - level - n, "AVG_TURN": 4.0},
            counts=counts,
            lengths=(level,),
        )
        for n, case in enumerate(CASES)
    ]
    summary = summarise(scores)
    mcqe = estimate([float(level)], resamples=50)
    unused = {"by_length": {}, "by_turn": {}, "by_source": {}, "visits": ()}
    return DoctorResult(name=name, summary=summary, mcqe=mcqe, mcqe_failed=0, **unused)


def judged(levels, *, upside_down=(), undecided=()):
    """A judge who prefers the higher level; the lower by some criteria; and says tie by others."""
    calls = []
    names = list(levels)
    for case in CASES:
        for a in names:
            for b in names[names.index(a) + 1 :]:
                for view, criteria in CRITERIA.items():
                    for first, second in ((b, a), (a, b)):  # the evaluation has them the other way round
                        better = {}
                        for one in criteria:
                            wins = (levels[first] > levels[second]) != (one in upside_down)
                            better[one] = "tie" if one in undecided else "first" if wins else "second"
                        calls.append(Preference(case=case, view=view, first=first, second=second, better=better))
    return judgements_of("judge", "", tuple(calls), without=0, seed=1)


def cell(table, row, column):
    at = table.indicators.index(row), table.indicators.index(column)
    return table.matrix[at[0]][at[1]], table.n[at[0]][at[1]]


LEVELS = {"a": 1, "b": 3, "c": 2, "d": 7, "e": 5}
DOCTORS = [doctor(name, level) for name, level in LEVELS.items()]


@pytest.mark.slow
def test_across_doctors():
    came = correlate(DOCTORS, judged(LEVELS, upside_down=("logic",), undecided=("clear",))).doctors
    assert came.indicators[: len(METRICS) + 1] == (*METRICS, MCQE)
    assert len(came.indicators) == 21
    assert cell(came, "DIAGNOSIS", MCQE) == (pytest.approx(1), 5)
    assert cell(came, "DIAGNOSIS", "COVERAGE") == (pytest.approx(-1), 5)
    assert cell(came, "DIAGNOSIS", "doctor.total") == (pytest.approx(1), 5)
    assert cell(came, "doctor.logic", "DIAGNOSIS") == (pytest.approx(-1), 5)
    # Only ties: no win rate, for nobody.
    assert cell(came, "patient.clear", "DIAGNOSIS") == (None, 0)
    assert cell(came, "AVG_TURN", "DIAGNOSIS") == (None, 5)
    assert came.with_judge["AVG_TURN"] is None
    assert came.with_judge["DIAGNOSIS"] == pytest.approx((8 - 1) / 9)
    assert came.with_judge["patient.total"] == pytest.approx((7 - 1) / 8)
    assert "does not vary" in came.note
    assert "20 of 210 coefficients are left out: fewer than 4 doctors" in came.note


@pytest.mark.slow
def test_over_pairs_the_order_of_the_doctors_changes_nothing():
    judgements = judged(LEVELS, upside_down=("logic",), undecided=("clear",))
    came = correlate(DOCTORS, judgements).pairs
    assert MCQE not in came.indicators
    assert cell(came, "DIAGNOSIS", "COVERAGE") == (pytest.approx(-1), 10 * len(CASES))
    assert cell(came, "doctor.total", "doctor.logic") == (pytest.approx(-1), 30)
    assert cell(came, "patient.clear", "DIAGNOSIS") == (None, 30)
    value, _ = cell(came, "DIAGNOSIS", "doctor.total")
    assert 0.8 < value < 1
    turned = correlate(DOCTORS[::-1], judgements).pairs
    assert turned.n == came.n
    for mine, theirs in zip(turned.matrix, came.matrix, strict=True):
        assert mine == pytest.approx(theirs)


@pytest.mark.slow
def test_within_and_between_groups():
    groups = {"a": "open", "b": "closed", "c": "open", "d": "closed", "e": "closed"}
    came = correlate(DOCTORS, judged(LEVELS), groups=groups).groups
    assert {name: cell(table, "DIAGNOSIS", "doctor.total")[1] for name, table in came.items()} == {
        "open": 1 * 3,
        "closed": 3 * 3,
        "open - closed": 6 * 3,
    }
    # Three pairs on a case are too few for anything.
    assert {value for row in came["open"].matrix for value in row} == {None}
    assert came["open"].note == "190 of 190 coefficients are left out: fewer than 4 open: pairs on a case"
    assert cell(came["closed"], "DIAGNOSIS", "doctor.total")[0] > 0.8


def test_few_doctors_and_no_judge():
    came = correlate(DOCTORS[: FEWEST - 1])
    assert came.groups == {}
    assert {value for row in came.doctors.matrix for value in row} == {None}
    assert came.doctors.note == "55 of 55 coefficients are left out: fewer than 4 doctors"
    assert cell(came.pairs, "DIAGNOSIS", "COVERAGE") == (pytest.approx(-1), 9)
    assert set(came.pairs.with_judge.values()) == {None}
    assert msgspec.to_builtins(came)["doctors"]["n"][1][0] == 3
    assert correlate([]).pairs.n[0][0] == 0


def votes(levels, *, upside_down=()):
    """Three people who vote for the higher level; the third always for the lower, and is outvoted."""
    said = []
    for case in CASES:
        for a, b in combinations(sorted(levels), 2):
            for view, criteria in CRITERIA.items():
                for who in "xyz":
                    higher = {one: (levels[a] > levels[b]) ^ (one in upside_down) ^ (who == "z") for one in criteria}
                    answers = {one: "first" if wins else "second" for one, wins in higher.items()}
                    said.append(PersonsVerdict(form=f"pairs {view}", item=(case, a, b), who=who, answers=answers))
    return said


@pytest.mark.slow
def test_the_study_of_28_indicators_with_people():
    people = votes(LEVELS, upside_down=("clear",))
    came = correlate(DOCTORS, judged(LEVELS), people=people)
    study = came.study
    assert len(study.indicators) == 28
    assert [name.split(" ")[0] for name in study.indicators[:10]] == ["people"] * 10
    assert not {"AVG_TURN", "AVG_LEN", MCQE} & set(study.indicators)
    assert cell(study, "people doctor.inquiry", "doctor.inquiry")[0] == pytest.approx(1)
    assert cell(study, "people patient.clear", "patient.clear")[0] == pytest.approx(-1)
    assert cell(study, "people doctor.total", "COVERAGE")[0] < -0.8
    # Nine of people's ten go with the judge, one against it.
    assert study.with_people["doctor.total"] == pytest.approx(0.8)
    assert cell(came.doctors, "people doctor.logic", "DISTINCT")[0] == pytest.approx(1)
    # People who judged other doctors say nothing here.
    assert correlate(DOCTORS, people=votes({"p": 1, "q": 2})).study is None
    assert correlate(DOCTORS, judged(LEVELS)).study is None
