"""The town as the simulation needs it: who falls ill when, with which case, and how that goes on.

Who falls ill on a day depends on (seed, resident, day) alone: not on how many residents there are, nor on who was asked
for before. A disease's epidemiology says how its patients spread over ages, sexes and seasons; divided by how the town
spreads over them it gives the risk of each resident on each day. Over a year, and the whole town, the mean chance is
the hospital file's `per_day`, and every disease has its weight's share of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from polyclinic.cases.case import Case
from polyclinic.generation.draw import draw_for
from polyclinic.hospital.plan.events import Incident, IncidentKind
from polyclinic.hospital.plan.plan import AreaKind, Hospital
from polyclinic.hospital.plan.ways import Ways
from polyclinic.hospital.record.happenings import DAY, FellIll
from polyclinic.hospital.town.illness import (
    IllnessCourse,
    Nature,
    Onset,
    Treatment,
    Worsening,
    disease_of,
    next_severity,
    severity_of,
    worsens_after,
)
from polyclinic.hospital.town.residents import BANDS, Demography, Resident, Residents, uniforms
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.seeds import derive

STREET = 60
"""Metres from one street to the next."""

PLOT = 20
"""Metres from one house to the next on a street."""


def home_of(hospital: Hospital, seed: int, resident: int) -> tuple[int, int]:
    """Returns the place of a resident's home, (x, y) in whole metres from the entrance.

    Houses stand at both sides of streets over the area of the homes, as wide and high as the hospital's file says; it
    depends on the file, the seed and the resident's number alone. Some live in one house.
    """
    if (homes := hospital.home) is None:
        return 0, 0
    rng = derive(seed, "home", resident)
    plots, sides = max(1, int(homes.width // PLOT)), max(1, int(2 * homes.height // STREET))
    plot, side = rng.randrange(plots), rng.randrange(sides)
    x = homes.at[0] + (plot - (plots - 1) / 2) * PLOT
    # Two rows of houses face each other over a street.
    row = side // 2 * STREET + (side % 2) * STREET / 3
    y = homes.at[1] + row - ((sides - 1) // 2 * STREET + ((sides - 1) % 2) * STREET / 3) / 2
    return round(x), round(y)


SEASONS = ("winter", "spring", "summer", "autumn")
"""Of the northern half of the world, by month; winter is December to February."""

_SEASON_DAYS = (90.25, 92, 92, 91)
_YEAR = 365.25
_AT_THE_SAME_TIME = 20 * 60  # seconds within which many who come at once set out
_WAKES = (5.5 * 3600, 8.5 * 3600)  # earliest and latest, time of day
_DELAY: dict[Severity, tuple[float, float, float]] = {
    "mild": (0.0, 11 * 3600.0, 3600.0),
    "moderate": (0.0, 8 * 3600.0, 3600.0),
}
"""From falling ill to setting out: least, most, likeliest, of who can wait."""

_AT_ONCE = (2700.0, 0.75, 10 * 3600.0)
"""The same of who is severely ill, or has what hours decide about: median, spread of the logarithm, and the most.

Half set out within two hours of the first signs of a heart attack or of a stroke, some wait for half a day (Goldberg
et al., Am Heart J 2009; Evenson et al., Int J Stroke 2009); here the time is from when it is as bad as that."""


class Town:
    """Residents, illnesses and courses drawn from the knowledge; each answer depends on seed and arguments alone."""

    def __init__(
        self,
        hospital: Hospital,
        knowledge: Knowledge,
        residents: Residents,
        *,
        seed: int,
        events: Sequence[Incident] = (),
    ) -> None:
        illness = hospital.illness
        # Whoever knows a department alone reads its words alone, so its patients are drawn in them.
        knowledge = knowledge.select(illness.diseases)
        self._hospital = hospital
        self._knowledge, self._residents, self._seed = knowledge, residents, seed
        self._by_night = bool(hospital.emergencies)
        self._follow_up_days, self._deaths = illness.follow_up_days, hospital.deaths
        self._severities = illness.severities
        self._diseases = tuple(knowledge.diseases.values())
        self._classes = residents.bands.astype(np.intp) * 2 + residents.sexes
        risks = illness.per_day * _relative_risks(self._diseases, illness.weights, residents.town)
        chances = np.minimum(risks.sum(axis=0), 1.0)
        self._chances = chances.reshape(len(SEASONS), -1)
        self._risks = risks.reshape(len(self._diseases), len(SEASONS), -1)
        self._cumulative = np.cumsum(risks, axis=0).reshape(len(self._diseases), len(SEASONS), -1)
        # What epidemics and events add
        self._events = events
        self._epidemics = [(e, tuple(knowledge.select(e.diseases).diseases)) for e in illness.epidemics]
        many = [int(event.many) for event in events if event.kind is IncidentKind.MASS_ARRIVAL]
        self._strangers = residents.having(sum(many)) if many else residents
        self._walk = 0
        if many:
            home, *_ = [*hospital.of_kind(AreaKind.HOME), *hospital.of_kind(AreaKind.ENTRANCE)]
            self._walk = Ways(hospital.areas).find(home, hospital.of_kind(AreaKind.TRIAGE)[0]).seconds

    def _person(self, number: int) -> Resident:
        """Returns a resident, or a stranger."""
        return self._residents[number] if number < len(self._residents) else self._strangers[number]

    def season(self, day: int) -> int:
        """Returns the season of a day, as its place in `SEASONS`."""
        return self._hospital.date(day).month % 12 // 3

    def chances(self, day: int) -> npt.NDArray[np.float64]:
        """Returns the chance of each resident to fall ill on a day, (residents,)."""
        chances: npt.NDArray[np.float64] = self._chances[self.season(day)][self._classes]
        return chances

    def onsets(self, day: int) -> tuple[Onset, ...]:
        """Returns who falls ill on a day: residents in their order, those of epidemics, and those who come at once.

        Who is ill already is up to the caller.
        """
        drawn = uniforms(self._seed, "onsets", day, n=len(self._residents))
        found = [self._onset(int(number), day) for number in np.flatnonzero(drawn < self.chances(day))]
        ill = {onset.resident for onset in found}
        ids = [disease.id for disease in self._diseases]
        for name, more in self._factors(day).items():
            if name not in ids:
                continue
            chances = more * self._risks[ids.index(name), self.season(day)][self._classes]
            drawn = uniforms(self._seed, "epidemic", name, day, n=len(self._residents))
            for number in map(int, np.flatnonzero(drawn < chances)):
                if number not in ill:
                    ill.add(number)
                    rng = derive(self._seed, "epidemic", name, day, number)
                    severity = rng.choices(SEVERITIES, self._severities)[0]
                    found.append(Onset(resident=number, day=day, disease=name, severity=severity))
        number = len(self._residents)
        for event in self._events:
            if event.kind is not IncidentKind.MASS_ARRIVAL:
                continue
            for one in range(number, number + int(event.many)):
                if event.begin // DAY == day:
                    rng = derive(self._seed, "mass arrival", one)
                    disease = rng.choice([d for d in event.what if d in ids] or ids)
                    severity = rng.choices(SEVERITIES, self._severities)[0]
                    found.append(Onset(resident=one, day=day, disease=disease, severity=severity, at=event.begin))
            number += int(event.many)
        return tuple(found)

    def _factors(self, day: int) -> dict[str, float]:
        """Returns the diseases of epidemics that go on, and how many times as often they are caught, less one."""
        date = self._hospital.date(day)
        more: dict[str, float] = {}
        for epidemic, diseases in self._epidemics:
            if epidemic.goes_on(date.month, date.day):
                for disease in diseases:
                    more[disease] = more.get(disease, 0.0) + epidemic.times - 1
        for event in self._events:
            if event.kind is IncidentKind.EPIDEMIC and event.begin < (day + 1) * DAY and day * DAY < event.end:
                for disease in event.what:
                    more[disease] = more.get(disease, 0.0) + event.many - 1
        return more

    def _onset(self, number: int, day: int) -> Onset:
        rng = derive(self._seed, "onset", day, number)
        cumulative = self._cumulative[:, self.season(day), self._classes[number]]
        disease = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        severity = rng.choices(SEVERITIES, self._severities)[0]
        return Onset(resident=number, day=day, disease=self._diseases[disease].id, severity=severity)

    def name(self, resident: int) -> str:
        """Returns the id of a resident, by its number."""
        return f"r{resident + 1:05d}"

    def department(self, onset: Onset) -> str:
        """Returns the department that an illness belongs to."""
        return self._knowledge.diseases[onset.disease].department

    def fell_ill(self, onset: Onset, case: Case) -> FellIll:
        """Returns what the log says of somebody who falls ill."""
        return FellIll(
            case=case.id,
            disease=onset.disease,
            severity=onset.severity,
            department=self.department(onset),
            name=self._person(onset.resident).name,
            home=home_of(self._hospital, self._seed, onset.resident),
        )

    def times(self, onset: Onset) -> tuple[int, int]:
        """Returns when somebody falls ill, and how many seconds later it is ready to go to hospital.

        Most wake up ill and are ready after an hour or two, some in the evening (triangular). Who is severely ill, or
        has what hours decide about, is within an hour or two, and hardly anybody waits for six (log-normal); where the
        hospital has a door for emergencies, that begins at any time of the day and night.
        """
        rng = derive(self._seed, "wakes", onset.day, onset.resident)
        if onset.at is not None:
            return onset.at - self._walk, rng.randrange(_AT_THE_SAME_TIME)
        hours = (0.0, float(DAY - 1)) if self._by_night and self.at_once(onset) else _WAKES
        wakes, share = onset.day * DAY + round(rng.uniform(*hours)), rng.random()
        if not self.at_once(onset):
            return wakes, round(_triangular(share, *_DELAY[onset.severity]))
        median, spread, most = _AT_ONCE
        delay = median * math.exp(spread * NormalDist().inv_cdf(min(max(share, 1e-9), 1 - 1e-9)))
        return wakes, round(min(delay, most))

    def at_once(self, onset: Onset) -> bool:
        """Whether somebody who falls ill so does not wait."""
        return onset.severity == "severe" or onset.severity in self._knowledge.diseases[onset.disease].time_critical

    def case_for(self, onset: Onset) -> Case:
        """Draws the case of the first visit: symptoms and findings of the disease, in the resident's own record."""
        disease, resident = self._knowledge.diseases[onset.disease], self._person(onset.resident)
        return self._case(resident, disease, onset.severity, f"{resident.id}-d{onset.day:04d}")

    def worsened(self, onset: Onset, case: Case, days: float = 0) -> Case:
        """Draws the case that a patient comes back with who got worse: the same illness, a severity up, days later.

        Its id has `.2` behind that of the illness, then `.3`.
        """
        illness, _, time = case.id.partition(".")
        disease, severity = disease_of(case, self._knowledge), next_severity(severity_of(case))
        resident, case_id = self._person(onset.resident), f"{illness}.{int(time or 1) + 1}"
        return self._case(resident, disease, severity, case_id, began=onset.severity, days=days)

    def worsening(self, onset: Onset, case: Case, visit: int) -> Worsening | None:
        """Returns how an illness gets worse while its patient waits at a visit and nobody treats it; None: not so soon.

        It depends on seed, resident, day of onset and visit alone.
        """
        rng = derive(self._seed, "waits", onset.resident, onset.day, visit)
        after = worsens_after(case, self._knowledge, rng)
        return None if after is None else Worsening(after, self.worsened(onset, case))

    def course(self, case: Case, visit: int, treatment: Treatment) -> IllnessCourse:
        """Returns how the illness goes on after a visit, which is counted from 1 within the illness."""
        return self.nature(case, visit, treatment).at_home()

    def nature(self, case: Case, visit: int, treatment: Treatment) -> Nature:
        """Returns how the illness goes on for somebody who stays in the hospital after a visit."""
        return Nature(
            case,
            self._knowledge,
            visit=visit,
            treatment=treatment,
            follow_up_days=self._follow_up_days,
            seed=self._seed,
            deaths=self._deaths,
        )

    def _case(
        self,
        resident: Resident,
        disease: Disease,
        severity: Severity,
        case_id: str,
        *,
        began: Severity | None = None,
        days: float = 0,
    ) -> Case:
        return draw_for(
            resident.person,
            self._knowledge,
            (disease, severity),
            derive(self._seed, "case", case_id.partition(".")[0]),
            life=derive(self._seed, "life", resident.id),
            began=began or severity,
            days=days,
            language=resident.language,
            case_id=case_id,
            source=f"polyclinic hospital, seed {self._seed}",
        )


def _triangular(share: float, least: float, most: float, likeliest: float) -> float:
    """Returns the value below which a share of a triangular distribution lies."""
    middle = (likeliest - least) / (most - least)
    if share < middle:
        return least + math.sqrt(share * (most - least) * (likeliest - least))
    return most - math.sqrt((1 - share) * (most - least) * (most - likeliest))


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
