"""An illness: how it begins, what is done about it, and how it goes on after a visit and while its patient waits.

Nature is drawn once for an illness at a visit. What is done moves the limits that the draws are held against, so that
two doctors with the same patients meet the same luck, and a better treatment is never worse for any patient.

1. Getting worse. The knowledge's `course` says how many get worse at each severity treated as they should be, wrongly,
   and not at all. A visit covers a share of what the disease needs (`CareGiven`); the chance moves by that share from
   that of the untreated (or of the wrongly treated, if something wrong was given) to that of the rightly treated. A
   patient in a place with less care than its plan needs has less of that share. Each needless drug adds a chance of its
   own, and a drug against a caution a larger one.
2. Dying: the same between the fatalities of the disease at its severity (`knowledge/stays.yaml`).
3. When: the risk is spread evenly over the first days, one for getting worse and two for dying if the illness is severe
   or hours decide (`time_critical`), else over the days until the follow-up.
4. Why: the cause is the earliest thing that, done as it should be, would have prevented it.

Nature asks nobody: no model and no player. Where minutes decide (`time_critical` in the disease's file), an untreated
patient who gets worse does so within the hour; elsewhere within the days after which it would recover at the earliest,
so that an hour or two in a waiting hall seldom matters.
"""

from __future__ import annotations

import math
import random

import msgspec

from polyclinic.cases.case import Case
from polyclinic.hospital.record.episodes import CareGiven
from polyclinic.hospital.record.happenings import DAY, HOUR, FollowUpOutcome, HarmCause
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.entries import Disease, Disposition
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.stays import Fatality, Place, read_stays
from polyclinic.seeds import derive


class Onset(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody falls ill."""

    resident: int  # its number, from 0
    day: int  # from 0
    disease: str  # its id in the knowledge
    severity: Severity  # how badly
    at: int | None = None  # when, of one of many who come at once, in seconds; None: at waking


class IllnessCourse(msgspec.Struct, frozen=True, kw_only=True):
    """How an illness goes on after a visit."""

    outcome: FollowUpOutcome  # how the patient is at the follow-up
    recovers_after_days: int | None  # days from the visit until it is healthy; None where it gets worse
    severity: Severity  # of the illness from now on: one up where it gets worse
    worsens_after: int | None = None  # seconds from the visit until it is worse, where it cannot wait for the follow-up
    dies_after: int | None = None  # seconds from the visit until the patient dies; None where it does not
    cause: HarmCause | None = None  # why it gets worse or dies


class Treatment(msgspec.Struct, frozen=True, kw_only=True):
    """What a visit did for a patient."""

    treated: bool = False  # anything at all
    right: bool = False  # the plan of the disease at its severity
    diagnosis: str = ""  # what the doctor took it for; "" where it committed to none
    items: tuple[str, ...] = ()  # what was prescribed and handed out
    right_diagnosis: bool = False  # it is what it was taken for
    treated_for: str = ""  # the disease whose plan was followed, by id; "" where there was none
    plan: Severity = "mild"  # which of its plans
    disposition: Disposition = "home"  # where that plan treats
    care: CareGiven | None = None  # held against what the disease needs; None where that is not known


def disease_of(case: Case, knowledge: Knowledge) -> Disease:
    """Returns the disease that a case was drawn from."""
    disease = knowledge.disease_named(case.truth.diagnoses[0].name)
    if disease is None:
        raise ValueError(f"{case.id}: {case.truth.diagnoses[0].name!r} is no disease of the knowledge")
    return disease


def severity_of(case: Case) -> Severity:
    """Returns how badly the patient of a case is ill."""
    if case.truth.severity is None:
        raise ValueError(f"{case.id}: no severity")
    return case.truth.severity


def next_severity(severity: Severity) -> Severity:
    """Returns the next severity up; severe stays severe."""
    return SEVERITIES[min(SEVERITIES.index(severity) + 1, len(SEVERITIES) - 1)]


def recovering(days: int, severity: Severity, *, follow_up_days: int) -> IllnessCourse:
    """Returns the course of somebody who is healthy `days` after a visit."""
    outcome = FollowUpOutcome.RECOVERED if days <= follow_up_days else FollowUpOutcome.BETTER
    return IllnessCourse(outcome=outcome, recovers_after_days=days, severity=severity)


NEEDS: dict[Disposition, int] = {"home": 0, "observation": 1, "ward": 2, "operation": 2, "intensive care": 3}
"""How much care a plan needs; an operation is one of its measures, and the bed after it is on a ward."""

GIVES: dict[Place | None, int] = {None: 0, "observation": 1, "ward": 2, "theatre": 3, "intensive care": 3}
"""How much care is given where somebody lies; None is at home, and whoever waits in the hospital is observed."""

_PER_LEVEL = 0.25
"""Of what a treatment covers, what is lost for each level of care that is missing. Ours: patients who need intensive
care and wait for it on a ward die about a quarter more often for each day (Cardoso et al., Crit Care 2011)."""

_NEEDLESS = 0.01
"""Chance that a drug without need makes a patient worse: of out-patients one in four has an adverse event over several
drugs, of which one in eight is serious (Gandhi et al., NEJM 2003)."""

_AGAINST = 0.1
"""The same of a drug that a caution speaks against; ours, between rash and shock."""

_RECOGNISED = 0.5
"""Chance that the disease is recognised when a patient gets worse in a bed, and treated for it from then on. Ours: of
those who died or went to intensive care in 29 hospitals, 23 % had a wrong or late diagnosis (Auerbach et al., JAMA
Internal Medicine 2024)."""

_RIGHT = Treatment(treated=True, right=True, right_diagnosis=True, care=CareGiven(covered=1.0))

_NOBODY = Fatality(treated=(0, 0, 0), untreated=(0, 0, 0))

_SURE = 0.9999


class _Threshold:
    """Something that happens when the risk that was run comes up to what was drawn."""

    def __init__(self, drawn: float) -> None:
        self.drawn = drawn
        self._left = _hazard(drawn)

    def within(self, chance: float, window: float) -> float:
        """Returns the seconds until it happens at a chance over a window, where the window does not end before."""
        hazard = _hazard(chance)
        return max(0.0, self._left) / hazard * window if hazard > 0 else math.inf

    def spend(self, seconds: float, chance: float, window: float) -> None:
        """Runs the risk for some time."""
        self._left -= _hazard(chance) * seconds / window


def _hazard(chance: float) -> float:
    return -math.log1p(-min(chance, _SURE))


Chances = tuple[tuple[HarmCause, float], ...]
"""Causes in their order, each with the chance up to and with it."""


class Nature:
    """How one patient's illness goes on from a visit, which is counted from 1 within the illness.

    The run's seed gives the same draws for the same case and visit, whatever the treatment was.
    """

    def __init__(
        self,
        case: Case,
        knowledge: Knowledge,
        *,
        visit: int,
        treatment: Treatment,
        follow_up_days: int,
        seed: int,
        deaths: bool = True,
    ) -> None:
        self.disease: Disease = disease_of(case, knowledge)
        self.severity: Severity = severity_of(case)
        self.recognised = treatment.right_diagnosis or treatment.right
        self._treatment, self._days, self._knowledge = treatment, follow_up_days, knowledge
        self._key = (seed, "course", case.id, visit)
        self._fatality = read_stays().fatality(self.disease.id) if deaths else _NOBODY
        self.stage = 0  # how often it got worse since the visit
        self.since = 0  # seconds since the visit, when the patient goes home
        self._begin()

    def _begin(self) -> None:
        rng = derive(*self._key, *((self.stage,) if self.stage else ()))
        # All are drawn whatever comes of the first: a treatment whose course is better is so for each patient.
        chance, self._share, death, self._insight, self._stay_share = (rng.random() for _ in range(5))
        self._worse, self._death = _Threshold(chance), _Threshold(death)
        self._passed = 0.0

    @property
    def urgent(self) -> bool:
        """Whether hours decide."""
        return self.severity == "severe" or self.severity in self.disease.time_critical

    @property
    def needs(self) -> int:
        """How much care it needs; see `GIVES`."""
        return NEEDS[self.disease.plan(self.severity).disposition]

    def _windows(self) -> tuple[float, float]:
        usual = float(self._days * DAY)
        return (min(float(DAY), usual), min(2.0 * DAY, usual)) if self.urgent else (usual, usual)

    def chances(self, gives: int) -> Chances:
        """Returns the chance of getting worse at this severity where so much care is given, and what adds to it."""
        courses, number = self.disease.course, SEVERITIES.index(self.severity)
        treated, wrongly, untreated = (
            way.worsening[number] for way in (courses.treated, courses.wrongly, courses.untreated)
        )
        care = self._treatment.care
        if care is None or not self._treatment.treated:
            return self._by_table(treated, wrongly, untreated)
        base = max(wrongly, untreated) if care.needless else untreated
        found = list(self._by_care(treated, base, gives))
        for _ in care.needless:
            found.append((HarmCause.DRUG, 1 - (1 - found[-1][1]) * (1 - _NEEDLESS)))
        for _ in care.against:
            found.append((HarmCause.DRUG, 1 - (1 - found[-1][1]) * (1 - _AGAINST)))
        return tuple(found)

    def fatalities(self, gives: int) -> Chances:
        """Returns the chance of dying at this severity, in the same way."""
        number = SEVERITIES.index(self.severity)
        treated, untreated = self._fatality.treated[number], self._fatality.untreated[number]
        if self._treatment.care is None or not self._treatment.treated:
            return self._by_table(treated, untreated, untreated)
        return tuple(self._by_care(treated, untreated, gives))

    def _by_table(self, treated: float, wrongly: float, untreated: float) -> Chances:
        if self._treatment.right:
            return ((HarmCause.ILLNESS, treated),)
        if self._treatment.treated:
            return (HarmCause.ILLNESS, treated), (self._missed(), wrongly)
        return (HarmCause.ILLNESS, treated), (HarmCause.UNTREATED, untreated)

    def _by_care(self, treated: float, untreated: float, gives: int) -> Chances:
        care = self._treatment.care
        covered = 0.0 if care is None else care.covered
        lost = _PER_LEVEL * max(0, self.needs - gives)
        return (
            (HarmCause.ILLNESS, treated),
            (self._missed(), untreated - covered * (untreated - treated)),
            (HarmCause.PLACE, untreated - covered * max(0.0, 1 - lost) * (untreated - treated)),
        )

    def _missed(self) -> HarmCause:
        if not self.recognised:
            return HarmCause.DIAGNOSIS
        return HarmCause.LEFT_OUT if self._treatment.right else HarmCause.PLAN

    def gives(self, place: Place | None) -> int:
        """Returns how much care is given in a place."""
        return GIVES[place]

    def legs(self) -> tuple[tuple[Place, int], ...]:
        """Returns where somebody lies and for how long, in seconds, as the plan has it that is followed.

        Who has got worse lies as its severity needs: for its disease where that is recognised, else for what it is
        treated for.
        """
        treatment = self._treatment
        if not self.stage:
            return read_stays().stay(treatment.treated_for, treatment.plan, treatment.disposition, self._stay_share)
        known = self.disease.id if self.recognised else treatment.treated_for
        disease = self._knowledge.diseases.get(known)
        disposition = treatment.disposition if disease is None else disease.plan(self.severity).disposition
        if NEEDS[disposition] <= NEEDS["ward"]:
            disposition = "intensive care" if self.severity == "severe" else "ward"
        return read_stays().stay(known, self.severity, disposition, self._stay_share)

    def next_turn(self, gives: int) -> tuple[bool, float] | None:
        """Returns whether death comes next (else getting worse), and in how many seconds; None where neither does.

        `gives` is how much care is given from now on.
        """
        until_worse, until_death = self._windows()
        worse = self._worse.within(self.chances(gives)[-1][1], until_worse)
        death = self._death.within(self.fatalities(gives)[-1][1], until_death)
        coming = [
            (after, dies)
            for after, dies, window in ((worse, False, until_worse), (death, True, until_death))
            if self._passed + after <= window
        ]
        if not coming:
            return None
        after, dies = min(coming)
        return dies, after

    def spend(self, seconds: float, gives: int) -> None:
        """Lets time pass in which nothing came."""
        until_worse, until_death = self._windows()
        self._worse.spend(min(seconds, max(0.0, until_worse - self._passed)), self.chances(gives)[-1][1], until_worse)
        self._death.spend(
            min(seconds, max(0.0, until_death - self._passed)), self.fatalities(gives)[-1][1], until_death
        )
        self._passed += seconds

    def cause_of(self, gives: int, *, death: bool) -> HarmCause:
        """Returns why it dies, or gets worse, where so much care is given."""
        if death:
            chances, drawn = self.fatalities(gives), self._death.drawn
        else:
            chances, drawn = self.chances(gives), self._worse.drawn
        return next((cause for cause, chance in chances if drawn < chance), chances[-1][0])

    def worsen(self) -> None:
        """Gets worse in a bed: the next severity up, drawn anew, and perhaps recognised."""
        self.recognised = self.recognised or self._insight < _RECOGNISED
        self.severity = next_severity(self.severity)
        if self.recognised:
            self._treatment = _RIGHT
        self.stage += 1
        self._begin()

    def at_home(self) -> IllnessCourse:
        """Returns how it goes on at home from now on."""
        turn = self.next_turn(0)
        if turn is not None:
            dies, after = turn
            worse = self.severity if dies else next_severity(self.severity)
            at_once = self.urgent or worse in self.disease.time_critical or worse == "severe"
            seconds = max(1, round(after))
            return IllnessCourse(
                outcome=FollowUpOutcome.WORSE,
                recovers_after_days=None,
                severity=worse,
                worsens_after=seconds if at_once and not dies else None,
                dies_after=seconds if dies else None,
                cause=self.cause_of(0, death=dies),
            )
        first, last = self._recovery()
        days = first + int(self._share * (last - first + 1))
        return recovering(max(1, days - round(self.since / DAY)), self.severity, follow_up_days=self._days)

    def _recovery(self) -> tuple[int, int]:
        """Returns the least and the most days until it is healthy."""
        courses, treatment = self.disease.course, self._treatment
        if not treatment.treated:
            return courses.untreated.days
        if treatment.right:
            return courses.treated.days
        if treatment.care is None:
            return courses.wrongly.days
        covered = treatment.care.covered
        first, last = (
            round(wrong - covered * (wrong - right))
            for right, wrong in zip(courses.treated.days, courses.wrongly.days, strict=True)
        )
        return first, last


LONGEST = 12 * HOUR
"""Seconds; nobody waits longer than a hospital is open."""


class Worsening(msgspec.Struct, frozen=True):
    """How an illness goes on while nobody treats it."""

    after: int  # seconds after coming in
    case: Case  # the illness from then on


def worsens_after(case: Case, knowledge: Knowledge, rng: random.Random) -> int | None:
    """Returns after how many seconds somebody who came in gets worse, if nobody treats it; None: not while it waits.

    Who is severely ill stays so here; what becomes of that, a ward's course says.
    """
    chance, share = rng.random(), rng.random()
    disease, severity = disease_of(case, knowledge), severity_of(case)
    if severity == SEVERITIES[-1]:
        return None
    untreated = disease.course.untreated
    if chance >= untreated.worsening[SEVERITIES.index(severity)]:
        return None
    within = HOUR if severity in disease.time_critical else untreated.days[0] * DAY
    after = round(share * within)
    return after if after < LONGEST else None
