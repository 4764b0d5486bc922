"""The states of a dialogue whose patient tracks none: AIE's tracker reads it afterwards (aie-saps §4.2.2).

A model that plays a patient has no states to tell. So what each turn of the doctor was is asked of the state-aware
patient's tracker, on the same model, when the dialogue is over; what the patient said is left as it is. Where a
person, a script or a mind of one's own gave none, the patient by rules is asked.
"""

from __future__ import annotations

import asyncio

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import PlayFailure
from polyclinic.events import End, Event, Role, Said, State, Trace
from polyclinic.players.language_model.saps import Tracked
from polyclinic.players.minds import Minds
from polyclinic.players.player import ALONE
from polyclinic.players.rules.patient import RulesPatient
from polyclinic.players.staging import OURS, Staging
from polyclinic.visits.visit import Visit, patient_of


async def with_states(case: Case, visit: Visit, minds: Minds, *, staging: Staging = OURS) -> Visit:
    """Returns the visit with a state for each reply of a patient that gave none.

    A turn on which the tracker gave no usable answer stays without, so that its dialogue is left out of the scores.
    """
    tracker = minds.tracker(case.id)
    if visit.end is End.FAILED or tracker is None:
        return visit

    async def track(heard: Said) -> Tracked | None:
        patient = patient_of(staging.case(case), minds, ALONE, key=case.id, staging=staging)
        patient.observe(heard)
        try:
            if isinstance(tracker, RulesPatient):
                state = await tracker.state_of(patient)
                return None if state is None else Tracked(state)
            return await tracker.track(patient)
        except PlayFailure:
            return None

    said = [event for event in visit.trace if isinstance(event, Said)]
    answered = {event.turn for event in said if event.who is Role.PATIENT}
    heard = {e.turn: e for e in said if e.who is Role.DOCTOR and e.turn in answered and e.turn > 0}
    found = await asyncio.gather(*map(track, heard.values()))
    tracked = {0: Tracked(State.OPENING), **dict(zip(heard, found, strict=True))}

    def with_state(event: Event) -> Event:
        if not isinstance(event, Said) or event.who is not Role.PATIENT or event.state is not None:
            return event
        one = tracked.get(event.turn)
        if one is None:
            return event
        return msgspec.structs.replace(event, state=one.state, recalled=len(one.texts), near=one.near)

    return Visit.of(Trace(map(with_state, visit.trace)), visit.truth)
