"""What a resident will do: the visit that it plans, and what a visit comes to for its illness."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.frames import Tabular
from polyclinic.hospital.floor.clock import Signal
from polyclinic.hospital.floor.lines import Encounter
from polyclinic.hospital.plan.opening_hours import OpeningHours
from polyclinic.hospital.record.episodes import Episode, EpisodeRequest
from polyclinic.hospital.record.figures import Groups, Learnt, RunSummary
from polyclinic.hospital.record.happenings import DAY, HOUR, Acuity
from polyclinic.hospital.town.forecast import NoCourse
from polyclinic.hospital.town.illness import IllnessCourse, Onset, Treatment, Worsening
from polyclinic.hospital.town.town import Town


class ConvalescenceEnd(Enum):
    """How convalescence ends."""

    HEALTHY = "healthy"
    WORSE = "worse"
    DEAD = "dead"


def treatment_of(episode: Episode | None) -> Treatment:
    """Returns what a visit did."""
    if episode is None or (episode.plan is None and not episode.treatment):
        return Treatment()
    return Treatment(
        treated=True,
        right=episode.right_treatment,
        diagnosis=episode.seen[-1].diagnosis if episode.seen else "",
        items=episode.treatment,
        right_diagnosis=episode.right_diagnosis,
        treated_for=episode.treated_for,
        plan=episode.plan or "mild",
        disposition=episode.disposition,
        care=episode.care,
    )


Forecasting = Callable[[Case, int, Treatment], Awaitable[IllnessCourse | NoCourse]]
"""Says how an illness goes on: of a case, after its visit of a number, with what was done."""


_AT_THE_DOORS = 30 * 60  # within so many seconds of their opening those come who could have come before
_LAST_CALL = 30 * 60  # nobody sets out who would arrive later than this before closing

SOON = 2 * 60 * 60
"""Seconds; who gets worse later than so long after coming in has nearly always been seen before."""


@dataclass(eq=False)
class PlannedVisit:
    """A visit that a resident will make unless the run ends before."""

    visit: Encounter  # as the hospital will see it
    onset: Onset
    drawn: Case | None  # None until it is wanted
    leaves: int  # when the resident sets out
    place: int  # among all plans, by which those who set out together are told apart
    gone: bool = False  # the resident has set out
    request: EpisodeRequest | None = None  # what its episode is computed from
    foreseen: bool = False  # `worsening` is known
    worsening: Worsening | None = None  # how the illness goes on while nobody treats it; None: as it is
    early: Signal | None = None  # happens with the episode of who gets worse before triage is over, where that may be
    decided: Signal = field(init=False)  # happens when the episode is due, with it; with None where none was needed

    def case(self, town: Town) -> Case:
        """Returns the case, which is drawn when it is first wanted."""
        if self.drawn is None:
            self.drawn = town.case_for(self.onset)
        return self.drawn

    def worsens(self, town: Town) -> Worsening | None:
        """Returns how the illness goes on while nobody treats it; None: as it is."""
        if not self.foreseen:
            self.foreseen = True
            self.worsening = town.worsening(self.onset, self.case(town), self.visit.number)
        return self.worsening

    def __lt__(self, other: PlannedVisit) -> bool:
        return (self.leaves, self.place) < (other.leaves, other.place)


class SimulatedRun(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What came of a simulation."""

    days: float  # simulated, the last perhaps in part
    visits: int  # that residents set out for; who was turned away and came again is counted once
    happenings: int  # lines of the log
    log_hash: str  # of the log
    still_ill: int  # residents who are ill at the end
    summary: RunSummary  # what the log says
    groups: Groups  # the same by disease, department, acuity, level and hour
    learnt: Learnt  # by the doctors
    incidents: tuple[dict[str, Any], ...] = ()  # of each event, results before, during and after it
    first_failure: str = ""  # whose visit failed first, and why


Looking = Callable[[Case], Acuity | None]
"""Says how urgent anybody sees that the patient of a case is; None where nobody sees anything."""


def look(visit: Encounter, case: Case, at_the_door: Looking | None) -> None:
    """Puts down how urgent a visit is, and what of that anybody sees at the door; once for each case."""
    if visit.seen_as is case:
        return
    visit.seen_as = case
    visit.is_of_level(case.truth.acuity)
    if at_the_door is not None:
        visit.acuity = at_the_door(case)


def opportunity(hours: OpeningHours, walk: int, ready: int, delay: int) -> int:
    """Returns when to set out: to arrive as soon as the doors are open, and not just before they close."""
    arrival = ready + walk
    if hours.is_open(arrival):
        closing = hours.next_closing(arrival)
        if arrival <= closing - _LAST_CALL or hours.is_open(closing):
            return ready
        arrival = closing
    opening = hours.next_opening(arrival)
    if opening // DAY == (ready + walk) // DAY:
        opening += delay % _AT_THE_DOORS
    else:
        # Who could not come on the same day does not stand at the doors at dawn.
        opening = max(opening, min(opening + delay, hours.next_closing(opening) - _LAST_CALL))
    return opening - walk


FOLLOW_UP = (7 * HOUR, 9 * HOUR)
"""When patients report back, from and to a time of day."""


def follow_up_due(course: IllnessCourse, now: int, hour: int, days: int) -> int:
    """Returns when it is known how a patient is."""
    after = course.worsens_after if course.dies_after is None else course.dies_after
    return (now // DAY + days) * DAY + hour if after is None else now + after


def comes_again(
    course: IllnessCourse, wakes: int, delay: int, *, since: int, follow_up_days: int
) -> tuple[int, int, bool]:
    """Returns when a patient who gets worse is ready to come again, its delay then, and whether that is urgent."""
    if course.worsens_after is not None:
        delay = min(delay, HOUR)
        return since + course.worsens_after + delay, delay, True
    told = since // DAY + follow_up_days
    return (told + 1) * DAY + wakes % DAY + delay, delay, False
