"""Illness beyond the season's: epidemics, and many who come at once.

It adds to what befalls the town anyhow and changes nothing of it, so that a run with an event and one without have the
same patients otherwise. Those who come at once are strangers, numbered after the town's residents.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from polyclinic.hospital.plan.events import Incident, IncidentKind
from polyclinic.hospital.plan.plan import AreaKind, Hospital
from polyclinic.hospital.plan.ways import Ways
from polyclinic.hospital.record.happenings import DAY
from polyclinic.hospital.town.illness import Onset
from polyclinic.hospital.town.residents import Resident, Residents, uniforms
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.seeds import derive


class MoreIllness:
    """What epidemics and events add to a town's illness.

    Args:
        hospital: its epidemics.
        knowledge: the diseases.
        residents: those of the town.
        risks: each disease's chance on a day, (diseases, seasons, bands, sexes).
        seed: the run's.
        events: of the run.
    """

    def __init__(
        self,
        hospital: Hospital,
        knowledge: Knowledge,
        residents: Residents,
        risks: npt.NDArray[np.float64],
        *,
        seed: int,
        events: Sequence[Incident] = (),
    ) -> None:
        self._residents, self._seed = residents, seed
        self._severities = hospital.illness.severities
        self._diseases = tuple(knowledge.select(hospital.illness.diseases).diseases)
        self._risks = risks.reshape(len(self._diseases), risks.shape[1], -1)
        self._first = datetime.date.fromisoformat(hospital.first_day)
        self._events = events
        self._epidemics = [(e, tuple(knowledge.select(e.diseases).diseases)) for e in hospital.illness.epidemics]
        many = [int(event.many) for event in events if event.kind is IncidentKind.MASS_ARRIVAL]
        self._strangers = residents.with_more(sum(many)) if many else residents
        self._walk = 0
        if many:
            first = {kind: next((id for id, a in hospital.areas.items() if a.kind is kind), "") for kind in AreaKind}
            home = first[AreaKind.HOME] or first[AreaKind.ENTRANCE]
            self._walk = Ways(hospital.areas).find(home, first[AreaKind.TRIAGE]).seconds

    def person(self, number: int) -> Resident:
        """Returns a resident, or a stranger."""
        return self._residents[number] if number < len(self._residents) else self._strangers[number]

    def comes(self, at: int) -> int:
        """Returns when somebody falls ill who is to be at the door at a time or soon after it."""
        return at - self._walk

    def onsets(self, day: int, season: int, classes: npt.NDArray[np.intp], usual: Iterable[Onset]) -> Iterator[Onset]:
        """Yields those who fall ill anyhow, those of epidemics, and those who come at once."""
        ill = set()
        for onset in usual:
            ill.add(onset.resident)
            yield onset
        for disease, more in self._factors(day):
            chances = more * self._risks[self._diseases.index(disease), season][classes]
            drawn = uniforms(self._seed, "epidemic", disease, day, n=len(self._residents))
            for number in map(int, np.flatnonzero(drawn < chances)):
                if number not in ill:
                    ill.add(number)
                    rng = derive(self._seed, "epidemic", disease, day, number)
                    severity = rng.choices(SEVERITIES, self._severities)[0]
                    yield Onset(resident=number, day=day, disease=disease, severity=severity)
        yield from self._at_once(day)

    def _factors(self, day: int) -> Iterator[tuple[str, float]]:
        """Yields the diseases of epidemics that go on, and how many times as often they are caught, less one."""
        date = self._first + datetime.timedelta(days=day)
        more: dict[str, float] = {}
        for epidemic, diseases in self._epidemics:
            if epidemic.goes_on(date.month, date.day):
                for disease in diseases:
                    more[disease] = more.get(disease, 0.0) + epidemic.times - 1
        for event in self._events:
            if event.kind is IncidentKind.EPIDEMIC and event.begin < (day + 1) * DAY and day * DAY < event.end:
                for disease in event.what:
                    more[disease] = more.get(disease, 0.0) + event.many - 1
        yield from ((disease, times) for disease, times in more.items() if disease in self._diseases)

    def _at_once(self, day: int) -> Iterator[Onset]:
        number = len(self._residents)
        for event in self._events:
            if event.kind is not IncidentKind.MASS_ARRIVAL:
                continue
            for one in range(number, number + int(event.many)):
                if event.begin // DAY == day:
                    rng = derive(self._seed, "mass arrival", one)
                    disease = rng.choice([d for d in event.what if d in self._diseases] or self._diseases)
                    severity = rng.choices(SEVERITIES, self._severities)[0]
                    yield Onset(resident=one, day=day, disease=disease, severity=severity, at=event.begin)
            number += int(event.many)
