"""How illnesses go on: who is treated better fares better with the same luck, and every harm has its cause."""

import functools
import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.episodes import CareGiven
from polyclinic.hospital.record.happenings import DAY, FollowUpOutcome, HarmCause
from polyclinic.hospital.town.illness import Nature, Onset, Treatment
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.stays import read_stays

KNOWLEDGE = read_knowledge()
HOSPITAL = read_hospital(None, KNOWLEDGE)
TOWN = Town(HOSPITAL, KNOWLEDGE, Residents(3, 1), seed=1)
RIGHT = Treatment(treated=True, right=True, right_diagnosis=True, care=CareGiven(covered=1.0))


@dataclass
class Bare:
    """What of a case a course is drawn from."""

    id: str
    truth: object


@functools.cache
def case(disease, severity, number=0):
    named = TOWN.case_for(Onset(resident=0, day=number, disease="covid-19", severity=severity))
    truth = type(named.truth)(
        diagnoses=(type(named.truth.diagnoses[0])(KNOWLEDGE.diseases[disease].name.en),), severity=severity
    )
    return Bare(f"r1-d{number:04d}", truth)


def nature(disease, severity, treatment, *, seed=0, deaths=True):
    options = {"visit": 1, "treatment": treatment, "follow_up_days": 3, "seed": seed, "deaths": deaths}
    return Nature(case(disease, severity), KNOWLEDGE, **options)


def wrong(covered, *, diagnosis=False, needless=(), against=()):
    care = CareGiven(covered=covered, needless=needless, against=against)
    return Treatment(treated=True, right_diagnosis=diagnosis, care=care)


def harm(course):
    """How bad a course is, and how soon: less is worse."""
    if course.dies_after is not None:
        return (0, course.dies_after)
    if course.outcome is FollowUpOutcome.WORSE:
        return (1, course.worsens_after or 0)
    return (2, -course.recovers_after_days)


@given(
    st.sampled_from(sorted(KNOWLEDGE.diseases)),
    st.sampled_from(SEVERITIES),
    st.integers(0, 10**6),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_more_of_what_is_needed_is_never_worse_for_the_same_patient(disease, severity, seed, one, other):
    less, more = sorted([one, other])
    found = [nature(disease, severity, wrong(c, diagnosis=True), seed=seed).at_home() for c in (less, more)]
    dead = [course.dies_after is not None for course in found]
    # Whom a worse treatment brings back before it can die is still alive to die of it.
    assert dead[0] >= dead[1] or found[0].outcome is FollowUpOutcome.WORSE
    worse = [course.outcome is FollowUpOutcome.WORSE for course in found]
    assert worse[0] >= worse[1]
    if not any(worse):
        assert found[0].recovers_after_days >= found[1].recovers_after_days


@pytest.mark.slow
def test_a_wrong_diagnosis_harms_by_what_it_leaves_undone_and_more_than_a_wrong_plan():
    fewer = []
    for disease, severity in itertools.product(KNOWLEDGE.diseases, SEVERITIES):
        options = [RIGHT, wrong(0.7, diagnosis=True), wrong(0.0), wrong(0.0, needless=("x", "y"), against=("z",))]
        chances = [nature(disease, severity, treatment).chances(3)[-1][1] for treatment in options]
        if chances != sorted(chances) or len(set(chances[1:])) < 3:
            fewer.append((disease, severity, chances))
    assert not fewer


@pytest.mark.parametrize(
    ("treatment", "gives", "causes"),
    [
        (RIGHT, 3, {HarmCause.ILLNESS}),
        (RIGHT, 0, {HarmCause.ILLNESS, HarmCause.PLACE}),
        (Treatment(), 0, {HarmCause.ILLNESS, HarmCause.UNTREATED}),
        (wrong(0.0), 3, {HarmCause.ILLNESS, HarmCause.DIAGNOSIS}),
        (wrong(0.5, diagnosis=True), 3, {HarmCause.ILLNESS, HarmCause.PLAN}),
        (wrong(1.0, needless=("x",) * 9), 3, {HarmCause.ILLNESS, HarmCause.DRUG}),
        (
            Treatment(treated=True, right=True, right_diagnosis=True, care=CareGiven(covered=0.5)),
            3,
            {HarmCause.ILLNESS, HarmCause.LEFT_OUT},
        ),
    ],
)
def test_harm_has_the_cause_without_which_it_would_not_have_come(treatment, gives, causes):
    found = set()
    for seed in range(300):
        one = nature("community-acquired-pneumonia", "severe", treatment, seed=seed)
        turn = one.next_turn(gives)
        if turn is not None:
            found.add(one.cause_of(gives, death=turn[0]))
    assert found == causes


@pytest.mark.parametrize("disease", ["sepsis", "myocardial-infarction", "bacterial-meningitis"])
def test_as_many_die_as_the_table_says_where_nothing_else_comes_first(disease):
    dies = read_stays().fatality(disease)
    for treatment, shares in ((RIGHT, dies.treated), (Treatment(), dies.untreated)):
        for severity, share in zip(SEVERITIES, shares, strict=True):
            found = [nature(disease, severity, treatment, seed=seed) for seed in range(1500)]
            died = sum(one._death.drawn < one.fatalities(3)[-1][1] for one in found) / len(found)
            assert abs(died - share) < 0.045, (severity, share, died)


def test_in_a_hospital_file_without_deaths_nobody_dies():
    courses = [nature("sepsis", "severe", Treatment(), seed=seed, deaths=False).at_home() for seed in range(200)]
    assert not any(course.dies_after for course in courses)
    assert any(nature("sepsis", "severe", Treatment(), seed=seed).at_home().dies_after for seed in range(200))


def test_where_hours_decide_it_gets_worse_within_a_day_and_is_not_waited_for():
    for seed in range(200):
        course = nature("sepsis", "mild", Treatment(), seed=seed, deaths=False).at_home()
        if course.outcome is FollowUpOutcome.WORSE:
            assert 0 < course.worsens_after <= DAY
        slow = nature("acute-rhinitis", "mild", Treatment(), seed=seed).at_home()
        assert slow.worsens_after is None


def test_who_moves_to_a_better_place_runs_less_risk_from_then_on():
    earlier = 0
    for seed in range(200):
        moved = nature("myocardial-infarction", "severe", RIGHT, seed=seed, deaths=False)
        stays = nature("myocardial-infarction", "severe", RIGHT, seed=seed, deaths=False)
        turn = stays.next_turn(0)
        if turn is None:
            assert moved.next_turn(3) is None
            continue
        moved.spend(turn[1] / 2, 0)
        later = moved.next_turn(3)
        assert later is None or turn[1] / 2 + later[1] >= turn[1] - 1
        earlier += later is None
    assert earlier


def test_who_gets_worse_in_a_bed_is_drawn_anew_and_may_be_recognised():
    known = []
    for seed in range(100):
        one = nature("community-acquired-pneumonia", "mild", wrong(0.0), seed=seed)
        one.worsen()
        assert one.severity == "moderate"
        known.append(one.recognised)
        assert one.legs()[0][0] == "ward"
        one.worsen()
        assert one.severity == "severe" and one.legs()[0][0] == "intensive care"
        one.worsen()
        assert one.severity == "severe"
    assert 0.3 < sum(known) / len(known) < 0.7
