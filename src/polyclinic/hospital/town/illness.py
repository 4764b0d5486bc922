"""How the town falls ill, and how an illness goes on.

Who falls ill on a day depends on (seed, resident, day) alone: not on how many residents there are, nor on who was asked
for before. A disease's epidemiology says how its patients spread over ages, sexes and seasons; divided by how the town
spreads over them it gives the risk of each resident on each day. Over a year, and the whole town, the mean chance is
the hospital file's `per_day`, and every disease has its weight's share of it.
"""

from __future__ import annotations

import datetime

import msgspec
import numpy as np
import numpy.typing as npt

from polyclinic.cases.case import Case
from polyclinic.generation.draw import draw_for
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record.happenings import FollowUpOutcome
from polyclinic.hospital.town.residents import BANDS, Demography, Resident, Residents, uniforms
from polyclinic.knowledge.knowledge import SEVERITIES, Disease, Knowledge, Severity
from polyclinic.seeds import derive

SEASONS = ("winter", "spring", "summer", "autumn")
"""Of the northern half of the world, by month; winter is December to February."""

_SEASON_DAYS = (90.25, 92, 92, 91)
_YEAR = 365.25


class Onset(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody falls ill."""

    resident: int  # its number, from 0
    day: int  # from 0
    disease: str  # its id in the knowledge
    severity: Severity  # how badly


class IllnessCourse(msgspec.Struct, frozen=True, kw_only=True):
    """How an illness goes on after a visit."""

    outcome: FollowUpOutcome  # how the patient is at the follow-up
    recovers_after_days: int | None  # days from the visit until it is healthy; None where it gets worse
    severity: Severity  # of the illness from now on: one up where it gets worse


class Treatment(msgspec.Struct, frozen=True, kw_only=True):
    """What a visit did for a patient."""

    treated: bool = False  # anything at all
    right: bool = False  # the plan of the disease at its severity
    diagnosis: str = ""  # what the doctor took it for; "" where it committed to none
    items: tuple[str, ...] = ()  # what was prescribed and handed out


class Incidence:
    """Who falls ill, day by day.

    Args:
        hospital: how its town falls ill, and on which day of the calendar day 0 is.
        knowledge: the diseases.
        residents: of the town.
        seed: the run's seed.
    """

    def __init__(self, hospital: Hospital, knowledge: Knowledge, residents: Residents, *, seed: int) -> None:
        illness = hospital.illness
        self._seed, self._n = seed, len(residents)
        self._first = datetime.date.fromisoformat(hospital.first_day)
        self._severities = illness.severities
        self._diseases = tuple(knowledge.select(illness.diseases).diseases.values())
        self._classes = residents.bands.astype(np.intp) * 2 + residents.sexes
        risks = illness.per_day * _relative_risks(self._diseases, illness.weights, residents.town)
        chances = np.minimum(risks.sum(axis=0), 1.0)
        self._chances = chances.reshape(len(SEASONS), -1)
        self._cumulative = np.cumsum(risks, axis=0).reshape(len(self._diseases), len(SEASONS), -1)

    def season(self, day: int) -> int:
        """Returns the season of a day, as its place in `SEASONS`."""
        return (self._first + datetime.timedelta(days=day)).month % 12 // 3

    def chances(self, day: int) -> npt.NDArray[np.float64]:
        """Returns the chance of each resident to fall ill on a day, (residents,)."""
        chances: npt.NDArray[np.float64] = self._chances[self.season(day)][self._classes]
        return chances

    def onsets(self, day: int) -> tuple[Onset, ...]:
        """Returns who falls ill on a day, in the order of the residents; who is ill already is up to the caller."""
        drawn = uniforms(self._seed, "onsets", day, n=self._n)
        ill = np.flatnonzero(drawn < self.chances(day))
        return tuple(self._onset(int(number), day) for number in ill)

    def _onset(self, number: int, day: int) -> Onset:
        rng = derive(self._seed, "onset", day, number)
        cumulative = self._cumulative[:, self.season(day), self._classes[number]]
        disease = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        severity = rng.choices(SEVERITIES, self._severities)[0]
        return Onset(resident=number, day=day, disease=self._diseases[disease].id, severity=severity)


def _relative_risks(
    diseases: tuple[Disease, ...], weights: dict[str, float], town: Demography
) -> npt.NDArray[np.float64]:
    """Returns risks relative to the mean of year and town, (diseases, seasons, bands, sexes); their mean sums to 1."""
    own = np.array([weights.get(d.id, weights.get(d.department, 1.0)) for d in diseases])
    total = own.sum()
    age = np.array([[d.epidemiology.age.get(band, 0.0) for band in BANDS] for d in diseases])
    sex = np.array([[d.epidemiology.female, 1 - d.epidemiology.female] for d in diseases])
    season = np.array([[d.epidemiology.season.get(name, 0.0) for name in SEASONS] for d in diseases])  # type: ignore[call-overload]
    season = season / (np.array(_SEASON_DAYS) / _YEAR)
    patients = (age / age.sum(axis=1, keepdims=True))[:, :, None] * sex[:, None, :]
    risks = patients / town.shares()[None]
    share = own / total if total else own
    relative: npt.NDArray[np.float64] = share[:, None, None, None] * season[:, :, None, None] * risks[:, None]
    return relative


def case_for(resident: Resident, onset: Onset, knowledge: Knowledge, *, seed: int) -> Case:
    """Draws the case of an onset: symptoms and findings of the disease, in a record that is the resident's.

    Args:
        resident: who falls ill.
        onset: when, with what, how badly.
        knowledge: the diseases, and the examinations that there are.
        seed: the run's seed; with it the same onset gives the same case.
    """
    case_id = f"{resident.id}-d{onset.day:04d}"
    disease = knowledge.diseases[onset.disease]
    return _case(resident, disease, onset.severity, knowledge, case_id=case_id, seed=seed)


def worsened(case: Case, resident: Resident, knowledge: Knowledge, *, seed: int) -> Case:
    """Draws the case that a patient comes back with who got worse: the same disease, a severity up, all drawn anew.

    Args:
        case: as it was, drawn by `case_for` or here.
        resident: whose case it is.
        knowledge: that the case was drawn from.
        seed: the run's seed.

    Returns:
        A case with an id of its own: `.2` behind that of the illness, then `.3`.
    """
    illness, _, time = case.id.partition(".")
    case_id = f"{illness}.{int(time or 1) + 1}"
    return _case(
        resident, disease_of(case, knowledge), next_severity(severity_of(case)), knowledge, case_id=case_id, seed=seed
    )


def _case(
    resident: Resident, disease: Disease, severity: Severity, knowledge: Knowledge, *, case_id: str, seed: int
) -> Case:
    return draw_for(
        resident.person,
        knowledge,
        (disease, severity),
        derive(seed, "case", case_id),
        language=resident.language,
        case_id=case_id,
        source=f"polyclinic hospital, seed {seed}",
    )


def disease_of(case: Case, knowledge: Knowledge) -> Disease:
    """Returns the disease that a case was drawn from.

    Raises:
        ValueError: it is none of the knowledge's; such a case does not come from here.
    """
    disease = knowledge.disease_named(case.truth.diagnoses[0].name)
    if disease is None:
        raise ValueError(f"{case.id}: {case.truth.diagnoses[0].name!r} is no disease of the knowledge")
    return disease


def severity_of(case: Case) -> Severity:
    """Returns how badly the patient of a case is ill.

    Raises:
        ValueError: the case does not say; such a case does not come from here.
    """
    if case.truth.severity is None:
        raise ValueError(f"{case.id}: no severity")
    return case.truth.severity


def next_severity(severity: Severity) -> Severity:
    """Returns the next severity up; severe stays severe, as nobody dies here."""
    return SEVERITIES[min(SEVERITIES.index(severity) + 1, len(SEVERITIES) - 1)]


def course(
    case: Case,
    knowledge: Knowledge,
    *,
    visit: int,
    treatment: Treatment,
    follow_up_days: int,
    seed: int,
) -> IllnessCourse:
    """Draws how an illness goes on, by its disease's courses.

    Args:
        case: the illness at this visit.
        knowledge: that the case was drawn from.
        visit: from 1 within the illness.
        treatment: what was done about it.
        follow_up_days: days from the visit to the follow-up.
        seed: the run's seed; it gives the same course for the same case and visit.
    """
    courses, severity = disease_of(case, knowledge).course, severity_of(case)
    way = (courses.treated if treatment.right else courses.wrongly) if treatment.treated else courses.untreated
    rng = derive(seed, "course", case.id, visit)
    # Both are drawn whatever comes of the first: a treatment whose course is better is so for each patient.
    chance, share = rng.random(), rng.random()
    first, last = way.days
    if chance < way.worsening[SEVERITIES.index(severity)]:
        return IllnessCourse(outcome=FollowUpOutcome.WORSE, recovers_after_days=None, severity=next_severity(severity))
    return recovering(first + int(share * (last - first + 1)), severity, follow_up_days=follow_up_days)


def recovering(days: int, severity: Severity, *, follow_up_days: int) -> IllnessCourse:
    """Returns the course of somebody who is healthy `days` after a visit."""
    outcome = FollowUpOutcome.RECOVERED if days <= follow_up_days else FollowUpOutcome.BETTER
    return IllnessCourse(outcome=outcome, recovers_after_days=days, severity=severity)
