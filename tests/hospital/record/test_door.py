"""Triage in the summary: levels beside the right ones, kappa with its interval, waits against the scale's targets."""

import pytest

from polyclinic.hospital.record.account import account_of
from polyclinic.hospital.record.happenings import (
    Acuity,
    CalledIn,
    GotWorse,
    Happening,
    LeftUnseen,
    Queued,
    Triaged,
    TriagedAgain,
)

MINUTE = 60


def triaged(level, right):
    acuity = {1: Acuity.EMERGENCY, 2: Acuity.EMERGENCY, 3: Acuity.URGENT}.get(level, Acuity.ROUTINE)
    return Triaged(
        nurse="n1",
        department="urology",
        acuity=acuity,
        right_department="urology",
        right_acuity=acuity,
        level=level,
        right_level=right,
    )


def tally(*visits, more=()):
    """Visits of (level given, right level, minutes until the doctor calls, or None where it leaves)."""
    lines = []
    for number, (level, right, minutes) in enumerate(visits):
        who = f"r{number}"
        lines += [
            (0, who, Queued(queue="triage")),
            (60, who, triaged(level, right)),
            (70, who, Queued(queue="urology")),
        ]
        if minutes is None:
            lines.append((900, who, LeftUnseen(reason="closed")))
        else:
            lines.append((minutes * MINUTE, who, CalledIn(queue="urology", staff="d1", area="rooms", waited=0)))
    ordered = enumerate(sorted([*lines, *more], key=lambda line: line[0]))
    return account_of(Happening(seq=seq, t=t, who=who, what=what) for seq, (t, who, what) in ordered).summary()


def test_levels_stand_beside_those_that_were_right():
    found = tally((2, 2, 5), (3, 2, 20), (4, 5, 20), (4, 4, None))["levels"]
    assert (found["n"], found["right"]["right"], found["over"]["right"], found["under"]["right"]) == (4, 2, 1, 1)
    assert found["confusion"][1] == (0, 1, 1, 0, 0)
    assert found["low"] < found["kappa"] < found["high"]
    # Quadratic weights by hand: apart 1 + 1 of four visits.
    by_chance = sum((i - j) ** 2 for i in (2, 2, 5, 4) for j in (2, 3, 4, 4)) / 4
    assert found["kappa"] == pytest.approx(1 - 2 / by_chance)
    assert tally()["levels"]["kappa"] is None


def test_waits_run_from_coming_in_and_are_held_against_the_target():
    waits = tally((2, 2, 10), (2, 2, 40), (5, 5, 100), (4, 4, None))["level_waits"]
    assert list(waits) == ["2", "5"]
    two = waits["2"]
    assert (two["waits"]["n"], two["waits"]["mean"], two["target"], two["wanted"]) == (2, 25 * MINUTE, 15, 95)
    assert (two["within"]["right"], two["within"]["n"]) == (1, 2)
    assert waits["5"]["within"]["right"] == 1


def test_who_gets_worse_is_counted_and_who_is_called_again_is_not_waited_for_twice():
    more = [
        (700, "r0", CalledIn(queue="urology", staff="d1", area="rooms", waited=3)),
        (1, "r9", Queued(queue="triage")),
        (2, "r9", GotWorse(severity="severe")),
        (3, "r9", TriagedAgain(level=2, acuity=Acuity.EMERGENCY)),
    ]
    found = tally((3, 3, 10), more=more)
    assert (found["worse_waiting"], found["triaged_again"], found["level_waits"]["3"]["waits"]["n"]) == (1, 1, 1)
