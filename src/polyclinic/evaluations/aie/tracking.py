"""The states of a dialogue whose patient tracks none: AIE's tracker reads it afterwards (aie-saps §4.2.2).

A model that plays a patient has no states to tell. So what each turn of the doctor was is asked of the state-aware
patient's tracker, on the same model, when the dialogue is over; what the patient said is left as it is. Where a
person, a script or a mind of one's own gave none, the patient by rules is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import PlayFailure
from polyclinic.events import End, Event, Role, Said, State, Trace
from polyclinic.players.language_model.saps import Saps, Tracked
from polyclinic.players.minds import Minds
from polyclinic.players.player import ALONE
from polyclinic.players.rules.patient import RulesPatient
from polyclinic.visits.visit import OURS, Staging, Visit, patient_of


async def with_states(case: Case, visit: Visit, minds: Minds, *, staging: Staging = OURS) -> Visit:
    """Returns the visit with a state for each reply of a patient that gave none; as it is where its patient tracks.

    A turn on which the tracker gave no usable answer stays without, so that its dialogue is left out of the scores.
    """
    if visit.end is End.FAILED:
        return visit
    tracker = minds.tracker(case.id) or minds.tracker_by_rules(case.id)
    if tracker is None:
        return visit
    heard = {event.turn: event for event in visit.trace if isinstance(event, Said) and event.who is Role.DOCTOR}
    answered = {event.turn for event in visit.trace if isinstance(event, Said) and event.who is Role.PATIENT}
    turns = [turn for turn in heard if turn in answered and turn > 0]
    found = await asyncio.gather(*(_track(tracker, case, minds, heard[turn], staging) for turn in turns))
    tracked = {0: Tracked(State.OPENING), **dict(zip(turns, found, strict=True))}
    return Visit.of(Trace(_with_state(event, tracked) for event in visit.trace), visit.truth)


def _with_state(event: Event, tracked: Mapping[int, Tracked | None]) -> Event:
    """Returns a patient's reply with the state of its turn; everything else as it is."""
    if not isinstance(event, Said) or event.who is not Role.PATIENT or event.state is not None:
        return event
    found = tracked.get(event.turn)
    if found is None:
        return event
    return msgspec.structs.replace(event, state=found.state, recalled=len(found.texts), near=found.near)


async def _track(
    tracker: Saps | RulesPatient, case: Case, minds: Minds, heard: Said, staging: Staging
) -> Tracked | None:
    """Asks what a turn of the doctor was; None where no usable answer came."""
    patient = patient_of(staging.case(case), minds, ALONE, key=case.id, staging=staging)
    patient.observe(heard)
    try:
        if isinstance(tracker, RulesPatient):
            state = await tracker.state_of(patient)
            return None if state is None else Tracked(state)
        return await tracker.track(patient)
    except PlayFailure:
        return None
