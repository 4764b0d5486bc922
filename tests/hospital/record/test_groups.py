"""Figures by disease, department, acuity, level and hour: counted from a log by hand, and summing to the whole."""

import pytest

from polyclinic.hospital.record.account import account_of
from polyclinic.hospital.record.figures import utilisation
from polyclinic.hospital.record.happenings import (
    HOUR,
    Acuity,
    Admitted,
    CalledIn,
    Diagnosed,
    Died,
    Discharged,
    FellIll,
    FollowedUp,
    FollowUpOutcome,
    Happening,
    HarmCause,
    LeftUnseen,
    Prescribed,
    Queued,
    Registered,
    ShiftBegan,
    ShiftEnded,
    Triaged,
    VisitFailed,
    WentHome,
    Worsened,
)

EIGHT = 8 * HOUR


def tally(*events, **how):
    lines = (Happening(seq=seq, t=t, who=who, what=what) for seq, (t, who, what) in enumerate(events))
    return account_of(lines, **how)


def ill(who, disease="influenza-a", t=EIGHT - HOUR):
    return t, who, FellIll(case=f"{who}-d0000", disease=disease, severity="mild", department="respiratory")


def comes(who, t, *, waits=600, acuity=Acuity.ROUTINE, right=Acuity.ROUTINE, level=4, department="respiratory"):
    """From the door to the first doctor."""
    triaged = Triaged(
        nurse="n",
        department=department,
        acuity=acuity,
        right_department="respiratory",
        right_acuity=right,
        level=level,
    )
    return [
        (t, who, Queued(queue="triage")),
        (t + 1, who, CalledIn(queue="triage", staff="n", area="triage", waited=1)),
        (t + 60, who, triaged),
        (t + 61, who, Registered(department=department, visit=1)),
        (t + 62, who, Queued(queue=department, acuity=acuity)),
        (t + waits, who, CalledIn(queue=department, staff="d", area="rooms", waited=waits - 62)),
    ]


def told(who, t, *, diagnosis=True, treatment=True):
    return [
        (t, who, Diagnosed(staff="d", diagnosis="influenza", right=diagnosis)),
        (t, who, Prescribed(staff="d", plan="mild", treatment=("rest",), right=treatment)),
    ]


def test_each_coming_counts_once_in_each_part():
    groups = tally(
        ill("a"),
        ill("b", "croup"),
        ill("c"),
        *comes("a", EIGHT, waits=600),
        *told("a", EIGHT + 900, treatment=False),
        (EIGHT + 1000, "a", CalledIn(queue="respiratory", staff="d", area="rooms", waited=1)),  # the second talk
        (EIGHT + 1200, "a", WentHome()),
        *comes("b", EIGHT + HOUR, waits=300, acuity=Acuity.EMERGENCY, right=Acuity.URGENT, level=2, department="skin"),
        *told("b", EIGHT + HOUR + 600, diagnosis=False),
        (EIGHT + HOUR + 700, "b", Admitted(area="ward", care="ward")),
        (EIGHT + HOUR + 800, "b", Worsened(severity="severe", cause=HarmCause.DIAGNOSIS)),
        (EIGHT + HOUR + 900, "b", Died(disease="croup", cause=HarmCause.DIAGNOSIS, area="ward")),
        (EIGHT + HOUR + 950, "c", Queued(queue="triage")),
        (EIGHT + HOUR + 990, "c", LeftUnseen(reason="closed")),
        (EIGHT + 30 * HOUR, "a", FollowedUp(outcome=FollowUpOutcome.WORSE)),
        *comes("a", EIGHT + 31 * HOUR, waits=1200),
        (EIGHT + 32 * HOUR, "a", VisitFailed(who="doctor", error="Refused", problem="no")),
    ).groups()
    everybody = groups["all"]
    assert (everybody["visits"], everybody["seen"], everybody["left"], everybody["failed"], everybody["died"]) == (
        4,
        1,
        1,
        1,
        1,
    )
    influenza, croup = groups["by_disease"]["influenza-a"], groups["by_disease"]["croup"]
    assert (influenza["visits"], influenza["seen"], influenza["left"], influenza["failed"], influenza["worse"]) == (
        3,
        1,
        1,
        1,
        1,
    )
    assert (influenza["diagnosis"]["right"], influenza["diagnosis"]["n"], influenza["treatment"]["right"]) == (1, 1, 0)
    assert (influenza["waiting"]["mean"], influenza["waiting"]["p90"], influenza["waiting"]["n"]) == (15.0, 20.0, 2)
    assert influenza["outcomes"] == {"recovered": 0, "better": 0, "worse": 1}
    assert (croup["visits"], croup["admitted"], croup["worse"], croup["died"], croup["diagnosis"]["percent"]) == (
        1,
        1,
        1,
        1,
        0.0,
    )
    assert {name: part["visits"] for name, part in groups["by_acuity"].items()} == {
        "emergency": 1,
        "urgent": 0,
        "routine": 2,
    }
    assert groups["by_acuity"]["urgent"]["waiting"]["mean"] is groups["by_acuity"]["urgent"]["waiting"]["p90"] is None
    assert groups["by_acuity"]["emergency"]["acuity"]["right"] == 0
    assert {name: part["visits"] for name, part in groups["by_level"].items()} == {"2": 1, "4": 2}
    assert {name: part["visits"] for name, part in groups["by_department"].items()} == {"respiratory": 2, "skin": 1}
    assert groups["by_department"]["skin"]["department"]["right"] == 0
    assert {name: part["visits"] for name, part in groups["by_hour"].items()} == {"08": 1, "09": 2, "15": 1}


def test_what_is_told_again_is_no_second_outcome_and_the_next_illness_is_another():
    groups = tally(
        ill("a"),
        *comes("a", EIGHT),
        (EIGHT + 900, "a", Admitted(area="ward", care="ward")),
        (EIGHT + 950, "a", Discharged(area="ward", stayed=50, days=0.1)),
        (EIGHT + 999, "a", WentHome()),
        (EIGHT + 30 * HOUR, "a", FollowedUp(outcome=FollowUpOutcome.BETTER)),
        (EIGHT + 60 * HOUR, "a", FollowedUp(outcome=FollowUpOutcome.RECOVERED)),
        ill("a", "croup", t=EIGHT + 90 * HOUR),
        *comes("a", EIGHT + 96 * HOUR),
        (EIGHT + 97 * HOUR, "a", WentHome()),
    ).groups()
    assert groups["by_disease"]["influenza-a"]["outcomes"] == {"recovered": 0, "better": 1, "worse": 0}
    assert groups["by_disease"]["croup"]["outcomes"] == {"recovered": 0, "better": 0, "worse": 0}
    assert (groups["all"]["visits"], groups["all"]["admitted"]) == (2, 1)


@pytest.fixture(scope="module")
def account(lived):
    return account_of(lived)


@pytest.mark.slow
def test_the_parts_sum_to_the_whole(account):
    summary, groups = account.summary(), account.groups()
    assert groups["all"]["visits"] == summary["arrived"] > 200
    assert groups["all"]["seen"] == summary["seen"]
    assert groups["all"]["failed"] == sum(summary["failed"].values()) > 0
    assert groups["all"]["left"] == sum(summary["left"].values())
    assert groups["all"]["admitted"] == sum(summary["admitted"].values())
    assert groups["all"]["died"] == summary["died"]
    assert (groups["all"]["diagnosis"], groups["all"]["treatment"]) == (summary["diagnosis"], summary["treatment"])
    assert (groups["all"]["department"], groups["all"]["acuity"]) == (summary["triage"], summary["acuity"])
    # Who is referred waits for a doctor of another department, and that is no first one.
    referred = sum(waits["n"] for waits in summary["waits"].values()) - groups["all"]["waiting"]["n"]
    assert 0 < referred <= summary["referred"]
    # Who is turned away, or leaves, may not have seen any.
    assert groups["all"]["visits"] - groups["all"]["left"] <= groups["all"]["waiting"]["n"] <= groups["all"]["visits"]
    for parts in (groups["by_disease"], groups["by_hour"]):
        assert sum(part["visits"] for part in parts.values()) == groups["all"]["visits"]
        assert sum(part["died"] for part in parts.values()) == summary["died"]
    for parts in (groups["by_department"], groups["by_acuity"]):
        assert sum(part["visits"] for part in parts.values()) == summary["triage"]["n"]
    assert account.groups() == groups  # asking changes nothing


def test_utilisation_is_time_with_patients_of_time_at_work_by_job():
    work = {
        "d1": {"at_work": 100, "busy": 80, "called": 3},
        "d2": {"at_work": 300, "busy": 120, "called": 3},
        "n1": {"at_work": 50, "busy": 50, "called": 3},
        "c1": {"at_work": 0, "busy": 0, "called": 0},
    }
    jobs = {"d1": "doctor", "n1": "nurse", "d2": "doctor", "c1": "clerk", "p1": "pharmacist"}
    assert utilisation(work, jobs) == {"doctor": 50.0, "nurse": 100.0}


@pytest.mark.slow
def test_the_warm_up_is_left_out_and_who_came_in_it_too(lived):
    begin = 2 * 24 * HOUR
    whole, cut = account_of(lived), account_of(lived, begin=begin)
    assert cut.log_hash == whole.log_hash
    here = [h for h in lived if h.t >= begin]
    summary, groups = cut.summary(), cut.groups()
    assert summary["fell_ill"] == sum(isinstance(h.what, FellIll) for h in here)
    came = groups["all"]
    assert 0 < came["visits"] == summary["arrived"] < whole.summary()["arrived"]
    ended = summary["seen"] + sum(summary["left"].values()) + sum(summary["failed"].values()) + summary["died_inside"]
    assert summary["arrived"] == ended + summary["inside"]
    assert (came["seen"], came["diagnosis"], came["department"]) == (
        summary["seen"],
        summary["diagnosis"],
        summary["triage"],
    )
    assert [day["day"] for day in cut.series()["days"]][:1] == [3]
    assert sum(day["arrived"] for day in cut.series()["days"]) == summary["arrived"]
    assert sum(work["busy"] for work in summary["work"].values()) < sum(
        w["busy"] for w in whole.summary()["work"].values()
    )
    assert all(0 <= work["busy"] <= work["at_work"] for work in summary["work"].values())
    for day in (1, 2, 3, 5, 30):
        account_of(lived, begin=day * 24 * HOUR).summary()  # wherever it is cut


def test_who_is_inside_when_the_figures_begin_is_in_no_visit_and_its_bed_and_its_doctor_count_from_then_on():
    def at(hours, *, begin):
        return tally(
            (0, "d", ShiftBegan(area="rooms")),
            ill("a", t=60),
            *comes("a", HOUR),
            (2 * HOUR, "a", Admitted(area="ward", care="ward")),
            ill("b", "croup", t=2 * HOUR),
            *comes("b", 3 * HOUR, waits=HOUR),
            (5 * HOUR, "b", WentHome()),
            (hours * HOUR, "a", Discharged(area="ward", stayed=(hours - 2) * HOUR, days=1)),
            (hours * HOUR, "a", WentHome()),
            (hours * HOUR, "d", ShiftEnded()),
            begin=begin,
        )

    account = at(6, begin=4 * HOUR + 60)
    summary = account.summary()
    assert (summary["arrived"], summary["seen"], summary["inside"], account.groups()["all"]["visits"]) == (0, 0, 0, 0)
    assert (summary["beds"]["ward"]["patients"], summary["beds"]["ward"]["most"], summary["beds"]["ward"]["stays"]) == (
        0,
        1,
        1,
    )
    assert summary["beds"]["ward"]["mean"] == 1.0
    work = summary["work"]["d"]
    assert (work["at_work"], work["busy"]) == (2 * HOUR - 60, HOUR - 60)


def test_days_on_which_some_only_lie_in_bed_dilute_neither_work_nor_beds():
    days = [(day * 24 * HOUR + EIGHT, "d", what) for day in range(1, 9) for what in (ShiftBegan(area="rooms"),)]
    ends = [(t + 8 * HOUR, who, ShiftEnded()) for t, who, _ in days]
    account = tally(
        (EIGHT, "d", ShiftBegan(area="rooms")),
        ill("a", t=60),
        *comes("a", EIGHT + HOUR, waits=HOUR),
        (EIGHT + 4 * HOUR, "a", Admitted(area="ward", care="ward")),
        (EIGHT + 8 * HOUR, "d", ShiftEnded()),
        *sorted([*days, *ends]),
        (240 * HOUR, "a", Discharged(area="ward", stayed=228 * HOUR, days=10)),
        (240 * HOUR, "a", WentHome()),
    )
    summary = account.summary()
    assert summary["counted"] == (0, EIGHT + 4 * HOUR)
    assert (summary["work"]["d"]["at_work"], summary["work"]["d"]["busy"]) == (4 * HOUR, 2 * HOUR)
    assert (summary["beds"]["ward"]["mean"], summary["beds"]["ward"]["stays"]) == (0.0, 1)
    assert account.series()["hours"][8]["most"] == 0  # of the day with a service


def test_who_is_turned_away_and_comes_once_more_is_told_apart():
    away = LeftUnseen(reason="closed")
    again = [(t, "a", what) for t, what in ((EIGHT + 25 * HOUR, Queued(queue="triage")), (EIGHT + 26 * HOUR, away))]
    account = tally(ill("a"), (EIGHT, "a", Queued(queue="triage")), (EIGHT + HOUR, "a", away), *again)
    assert (account.summary()["arrived"], account.summary()["came_again"], account.summary()["left"]) == (
        2,
        1,
        {"closed": 2},
    )
