"""The town's illness: epidemiology within statistical bounds, the same for the same seed in any order."""

import datetime
import math
import random
import re
from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.cases.check import check_case
from polyclinic.errors import PlayFailure, Refused, TimedOut, UnreadableReply
from polyclinic.generation.draw import generate
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.happenings import DAY, FollowUpOutcome
from polyclinic.hospital.town.forecast import course_by_model
from polyclinic.hospital.town.illness import (
    IllnessCourse,
    Nature,
    Onset,
    Treatment,
    disease_of,
    next_severity,
)
from polyclinic.hospital.town.residents import BANDS, Residents
from polyclinic.hospital.town.town import SEASONS, Town
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import read_days
from polyclinic.models.scripted import Scripted

KNOWLEDGE = read_knowledge().select("respiratory")
HOSPITAL = read_hospital(None, read_knowledge())
HOSPITAL = msgspec.structs.replace(
    HOSPITAL, illness=msgspec.structs.replace(HOSPITAL.illness, diseases="respiratory", per_day=0.02, weights={})
)
LIVING = Town(HOSPITAL, KNOWLEDGE, Residents(400, 1), seed=1)


def incidence(n, seed, **illness):
    hospital = msgspec.structs.replace(HOSPITAL, illness=msgspec.structs.replace(HOSPITAL.illness, **illness))
    return Town(hospital, KNOWLEDGE, Residents(n, seed), seed=seed)


@pytest.fixture(scope="module")
def year():
    town = Residents(3000, 4)
    chances = Town(HOSPITAL, KNOWLEDGE, town, seed=4)
    return town, [onset for day in range(365) for onset in chances.onsets(day)]


def near(count, share, n):
    return abs(count - share * n) < 4.5 * math.sqrt(max(n * share * (1 - share), 1))


@given(st.integers(0, 10**6), st.lists(st.integers(0, 800), min_size=1, max_size=5), st.integers(1, 200))
def test_who_falls_ill_depends_on_seed_resident_and_day_alone(seed, days, n):
    once = {day: incidence(n, seed, per_day=0.2).onsets(day) for day in days}
    again = incidence(2 * n, seed, per_day=0.2)
    random.Random(seed).shuffle(days)
    for day in days:
        everybody = again.onsets(day)
        assert tuple(o for o in everybody if o.resident < n) == once[day]
        assert all(o.day == day for o in everybody)
        numbers = [o.resident for o in everybody]
        assert numbers == sorted(set(numbers))


def test_over_a_year_the_town_is_as_ill_as_its_file_says(year):
    town, onsets = year
    # The drawn town differs from the expected one, and 365 days from the year: half a percent of slack.
    assert abs(len(onsets) / (0.02 * 365 * len(town)) - 1) < 4.5 / math.sqrt(len(onsets)) + 0.02
    counts = Counter(o.disease for o in onsets)
    assert set(counts) == set(KNOWLEDGE.diseases)
    for disease in KNOWLEDGE.diseases:
        assert abs(counts[disease] * len(KNOWLEDGE.diseases) / len(onsets) - 1) < 0.08, disease
    for severity, share in zip(SEVERITIES, HOSPITAL.illness.severities, strict=True):
        assert near(sum(o.severity == severity for o in onsets), share, len(onsets))


def test_patients_of_a_disease_are_as_its_epidemiology_says(year):
    town, onsets = year
    first = datetime.date.fromisoformat(HOSPITAL.first_day)
    for disease in KNOWLEDGE.diseases.values():
        patients = [o for o in onsets if o.disease == disease.id]
        for season, share in disease.epidemiology.season.items():
            months = {(SEASONS.index(season) * 3 + m + 11) % 12 + 1 for m in range(3)}
            count = sum((first + datetime.timedelta(days=o.day)).month in months for o in patients)
            assert near(count, share, len(patients)), (disease.id, season)
        for band, share in disease.epidemiology.age.items():
            # The town that was drawn is not exactly the expected one.
            drawn = float((town.bands == BANDS.index(band)).mean()) / town.town.age[band]
            count = sum(BANDS[town.bands[o.resident]] == band for o in patients)
            assert abs(count / len(patients) - share * drawn) < 4.5 * math.sqrt(share / len(patients)) + 0.02
        women = sum(town.sexes[o.resident] == 0 for o in patients)
        assert abs(women / len(patients) - disease.epidemiology.female) < 0.08


def test_winter_is_december_to_february():
    chances = incidence(10, 1)
    assert [SEASONS[chances.season(day)] for day in (0, 54, 55, 146, 147, 239, 330)] == [
        "winter", "winter", "spring", "spring", "summer", "autumn", "winter",
    ]  # fmt: skip
    influenza = incidence(500, 1, diseases="influenza-a")
    assert influenza.chances(0).mean() > 5 * influenza.chances(180).mean()


def test_weights_shift_what_is_caught_and_not_how_much():
    def caught(**illness):
        chances = incidence(2000, 8, **illness)
        return Counter(o.disease for day in range(0, 365, 3) for o in chances.onsets(day))

    plain, weighted = caught(), caught(weights={"respiratory": 1, "covid-19": 7, "influenza-a": 0})
    assert abs(weighted.total() / plain.total() - 1) < 0.1
    assert weighted["influenza-a"] == 0
    assert abs(weighted["covid-19"] / weighted.total() - 7 / 13) < 0.05


@pytest.mark.parametrize("per_day", [0.0, 1.0])
def test_chances_stay_between_never_and_surely(per_day):
    chances = incidence(300, 2, per_day=per_day)
    drawn = chances.chances(0)
    assert drawn.min() >= 0 and drawn.max() <= 1
    onsets = chances.onsets(0)
    assert len(onsets) <= 300
    assert bool(onsets) == bool(per_day)
    assert incidence(300, 2, weights={"respiratory": 0}).onsets(5) == ()


def test_a_disease_of_one_sex_and_age_meets_nobody_else():
    disease = KNOWLEDGE.diseases["covid-19"]
    ages = {band: float(band == "15-44") for band in BANDS}
    epidemiology = msgspec.structs.replace(disease.epidemiology, female=1.0, age=ages)
    knowledge = msgspec.structs.replace(
        KNOWLEDGE, diseases={disease.id: msgspec.structs.replace(disease, epidemiology=epidemiology)}
    )
    town = Residents(1000, 6)
    onsets = [o for day in range(60) for o in Town(HOSPITAL, knowledge, town, seed=6).onsets(day)]
    assert len(onsets) > 300
    assert all(town[o.resident].sex == "female" and 15 <= town[o.resident].age <= 44 for o in onsets)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_case_is_its_residents(language, year):
    _, onsets = year
    town = Residents(3000, 4, language=language)
    living = Town(HOSPITAL, KNOWLEDGE, town, seed=4)
    for onset in onsets[:300]:
        resident, case = town[onset.resident], living.case_for(onset)
        shown = case.presentation
        assert (shown.age, shown.sex, shown.language) == (resident.age, resident.sex, language)
        assert shown.about == resident.person.about
        assert case.truth.severity == onset.severity
        assert disease_of(case, KNOWLEDGE).id == onset.disease
        assert case.department == KNOWLEDGE.diseases[onset.disease].department
        for section, text in resident.history.sections():
            held = getattr(case.record.history, section)
            # In front of it stands at most when a woman had her last period.
            assert text in held and (held.startswith(text) or (section == "personal" and resident.sex == "female"))
        assert case.record.history.symptoms
        assert case.id == f"{resident.id}-d{onset.day:04d}"
        assert case == living.case_for(onset)
        assert not [p for p in check_case(case) if p.level == "error"]


@pytest.mark.slow
def test_cases_for_persons_are_drawn_as_those_that_are_generated():
    shares, heat = [], []
    living = Town(HOSPITAL, KNOWLEDGE, Residents(300, 1), seed=2)
    items = KNOWLEDGE.examinations["physical-examination"].items
    temperature = next(item.name.en for item in items if item.id == "temperature")
    for cases in (
        [c for c in generate(KNOWLEDGE.select("influenza-a"), n=900, seed=2) if c.truth.severity == "moderate"],
        [living.case_for(Onset(resident=i, day=1, disease="influenza-a", severity="moderate")) for i in range(300)],
    ):  # fmt: skip
        words = KNOWLEDGE.symptoms["fever"].phrases.en
        shares.append(np.mean([any(w in c.record.history.symptoms for w in words) for c in cases]))
        heat.append(np.mean([f.value for c in cases for f in c.record.findings if f.item == temperature]))
    assert abs(shares[0] - shares[1]) < 0.12
    assert abs(heat[0] - heat[1]) < 0.25


def test_who_gets_worse_comes_back_one_up():
    town = Residents(20, 1)
    living = Town(HOSPITAL, KNOWLEDGE, town, seed=1)
    onset = Onset(resident=3, day=7, disease="covid-19", severity="mild")
    case = living.case_for(onset)
    seen = [case]
    for severity in ("moderate", "severe", "severe"):
        case = living.worsened(onset, case)
        assert case.truth.severity == severity
        assert case.truth.diagnoses == seen[0].truth.diagnoses
        assert case.presentation.about == seen[0].presentation.about
        # Who is severely ill already is as ill as before.
        assert (case.record == seen[-1].record) == (seen[-1].truth.severity == severity)
        seen.append(case)
    assert [c.id for c in seen] == ["r00004-d0007", "r00004-d0007.2", "r00004-d0007.3", "r00004-d0007.4"]
    assert living.worsened(onset, seen[0]) == seen[1]


def case_of(disease, severity, number=0):
    onset = Onset(resident=number, day=number, disease=disease, severity=severity)
    return LIVING.case_for(onset)


@given(
    st.sampled_from(sorted(KNOWLEDGE.diseases)),
    st.sampled_from(SEVERITIES),
    st.integers(0, 10**6),
    st.booleans(),
    st.booleans(),
    st.integers(1, 10),
)
def test_a_course_is_within_the_knowledges_bounds(disease, severity, seed, treated, right, days):
    options = {"visit": 1, "treatment": Treatment(treated=treated, right=right), "follow_up_days": days, "seed": seed}
    case = case_of(disease, severity)
    result = Nature(case, KNOWLEDGE, **options).at_home()
    assert result == Nature(case, KNOWLEDGE, **options).at_home()
    courses = KNOWLEDGE.diseases[disease].course
    way = (courses.treated if right else courses.wrongly) if treated else courses.untreated
    if result.dies_after is not None:
        assert 0 < result.dies_after <= 2 * DAY and result.recovers_after_days is None
    elif result.outcome is FollowUpOutcome.WORSE:
        assert result.recovers_after_days is None
        assert result.severity == next_severity(severity)
    else:
        assert way.days[0] <= result.recovers_after_days <= way.days[1]
        assert (result.outcome is FollowUpOutcome.RECOVERED) == (result.recovers_after_days <= days)
        assert result.severity == severity


@pytest.mark.parametrize(
    ("treated", "right", "way"), [(True, True, "treated"), (True, False, "wrongly"), (False, False, "untreated")]
)
def test_courses_get_worse_and_end_as_often_as_the_knowledge_says(treated, right, way):
    expected = getattr(KNOWLEDGE.diseases["influenza-a"].course, way)
    case, n = case_of("influenza-a", "severe"), 4000
    treatment = Treatment(treated=treated, right=right)
    options = {"visit": 1, "treatment": treatment, "follow_up_days": 3, "deaths": False}
    results = [Nature(case, KNOWLEDGE, seed=seed, **options).at_home() for seed in range(n)]
    counts = Counter(r.outcome for r in results)
    assert counts.total() == n
    assert near(counts[FollowUpOutcome.WORSE], expected.worsening[2], n)
    days = [r.recovers_after_days for r in results if r.recovers_after_days is not None]
    assert abs(np.mean(days) - sum(expected.days) / 2) < 0.3
    assert set(days) == set(range(expected.days[0], expected.days[1] + 1))


def test_visits_of_one_illness_have_courses_of_their_own():
    case = case_of("influenza-a", "severe")
    options = {"treatment": Treatment(), "follow_up_days": 3, "seed": 1}
    assert len({Nature(case, KNOWLEDGE, visit=visit, **options).at_home() for visit in range(1, 30)}) > 3


async def forecast(answer, *, language="en"):
    onset = Onset(resident=0, day=0, disease="influenza-a", severity="mild")
    case = Town(HOSPITAL, KNOWLEDGE, Residents(1, 1, language=language), seed=1).case_for(onset)
    treatment = Treatment(treated=True, diagnosis="a cold", items=("honey", "rest"))
    return case, await course_by_model(case, 2, treatment, model=Scripted(answer), follow_up_days=3)


@each_row("language", ["en", "zh"])
@each_row(
    ("answer", "expected"),
    [
        (("recovers", 2), IllnessCourse(outcome=FollowUpOutcome.RECOVERED, recovers_after_days=2, severity="mild")),
        (("recovers", 9), IllnessCourse(outcome=FollowUpOutcome.BETTER, recovers_after_days=9, severity="mild")),
        (("worsens", 5), IllnessCourse(outcome=FollowUpOutcome.WORSE, recovers_after_days=None, severity="moderate")),
    ],
)
async def test_a_model_says_how_it_goes_on(language, answer, expected):
    said = []

    def reply(messages):
        said.append(messages)
        return {"reason": "so", "course": answer[0], "days": answer[1]}

    case, result = await forecast(reply, language=language)
    assert result == expected
    text = said[0][-1][1]
    assert all(words in text for words in ("a cold", "- honey", case.truth.diagnoses[0].name, *case.truth.treatment))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Refused("no"), "Refused"),
        (TimedOut("late"), "TimedOut"),
        ({"reason": "so", "course": "dies", "days": 1}, UnreadableReply.__name__),
        ({"reason": "so", "course": "recovers", "days": 0}, UnreadableReply.__name__),
        ("It will pass.", UnreadableReply.__name__),
    ],
)
async def test_a_models_failure_is_no_course(answer, error):
    _, result = await forecast([answer])
    assert isinstance(result, PlayFailure)
    assert type(result).__name__ == error
    assert str(result)


DAYS_AGO = re.compile(r"(\d+)(?: days ago|天前)")


def undated(text):
    return DAYS_AGO.sub("", text)


@pytest.mark.slow
@each_row("language", ["en", "zh"])
def test_who_comes_back_is_the_same_person_with_the_same_illness_later(language):
    town = Town(HOSPITAL, KNOWLEDGE, Residents(400, 1, language=language), seed=1)
    kept = all_of_them = 0
    days, periods = [], []
    for onset in [o for day in range(12) for o in town.onsets(day) if o.severity != "severe"]:
        first = town.case_for(onset)
        later = town.worsened(onset, first, 6)
        then, now = first.record.history, later.record.history
        for section in ("past", "medications", "allergies", "personal", "family"):
            assert undated(getattr(then, section)) == undated(getattr(now, section)), (onset, section)
        periods += [
            (int(before[1]), int(after[1]))
            for before, after in [[DAYS_AGO.search(history.personal) for history in (then, now)]]
            if before and after
        ]
        assert first.presentation.about == later.presentation.about
        days.append([read_days(case.presentation.complaint, language) for case in (first, later)])
        kept += len({*then.symptoms} & {*now.symptoms})
        all_of_them += len(then.symptoms)
    # Six days later a period was six days longer ago, or there was another since.
    assert len(periods) > 5 and all(now == then + 6 or (now < then and then + 6 > 27) for then, now in periods)
    assert all(now >= then for then, now in days)
    assert sum(now > then for then, now in days) > 0.8 * len(days)
    assert all_of_them > 100
    assert kept > 0.85 * all_of_them
