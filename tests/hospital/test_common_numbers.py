"""Two doctors on one seed see the same patients, onset by onset, with the same luck."""

import msgspec
import pytest

from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.episodes import CareGiven, ConsultationHeld, Episode
from polyclinic.hospital.record.happenings import DAY, Acuity, Died, FellIll, FollowedUp, FollowUpOutcome
from polyclinic.hospital.running import kinds_of
from polyclinic.hospital.simulation import Simulation
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.knowledge import read_knowledge

KNOWLEDGE = read_knowledge()


async def lived(small, *, covered, right):
    """A town whose doctors all cover so much of what is needed; returns the log, and the cases that they saw."""
    hospital = read_hospital(None, KNOWLEDGE)
    illness = msgspec.structs.replace(hospital.illness, per_day=0.06)
    hospital = msgspec.structs.replace(hospital, illness=illness)
    town = Town(hospital, KNOWLEDGE, Residents(60, 5), seed=5)
    seen = {}

    async def compute(request):
        seen[request.case.id] = request.case
        disease = KNOWLEDGE.disease_named(request.case.truth.diagnoses[0].name)
        severity = request.case.truth.severity
        return Episode(
            key=request.key,
            department=disease.department,
            acuity=Acuity.EMERGENCY,
            seen=(ConsultationHeld(department=disease.department, turns=4),),
            plan=severity if right else "mild",
            treatment=("something",),
            treated_for=disease.id,
            disposition=disease.plan(severity).disposition if right else "home",
            right_diagnosis=right,
            right_treatment=right,
            care=CareGiven(covered=covered),
        )

    keep = small.Keep()
    run = await Simulation(hospital, town, compute, days=12, seed=5, kinds=kinds_of(KNOWLEDGE), sinks=[keep]).run()
    return run, keep, seen


def onsets(log):
    return {(h.who, h.t // DAY): (h.t, h.what) for h in log if isinstance(h.what, FellIll)}


def ill(log, who, t):
    """Whether somebody is still ill, or dead, at a time."""
    state = False
    for h in log:
        if h.t >= t:
            break
        if h.who == who and isinstance(h.what, FellIll | Died):
            state = True
        if h.who == who and isinstance(h.what, FollowedUp) and h.what.outcome is FollowUpOutcome.RECOVERED:
            state = False
    return state


@pytest.mark.slow
async def test_two_doctors_see_the_same_patients_and_the_better_one_harms_fewer(small):
    good, good_log, good_cases = await lived(small, covered=1.0, right=True)
    bad, bad_log, bad_cases = await lived(small, covered=0.0, right=False)
    for one, other, other_log in ((good_log, bad_log, bad_log), (bad_log, good_log, good_log)):
        theirs = onsets(other)
        for (who, day), onset in onsets(one).items():
            # An onset is missing only where its resident is ill already with the other doctor, or dead.
            assert theirs.get((who, day), onset) == onset
            assert (who, day) in theirs or ill(other_log, who, onset[0]), (who, day)
    common = good_cases.keys() & bad_cases.keys()
    assert len([case for case in common if "." not in case]) > 20
    assert all(good_cases[case] == bad_cases[case] for case in common if "." not in case)
    assert sum(good.summary["worse_by_cause"].values()) < sum(bad.summary["worse_by_cause"].values())
    assert good.summary["died"] <= bad.summary["died"]
    assert set(good.summary["worse_by_cause"]) <= {"the illness itself", "less care than needed"}
    assert bad.summary["worse_by_cause"]["wrong diagnosis"] > 0
