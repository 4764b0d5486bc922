"""A question that is put to patient or examiner again, after the visit, by somebody who was not there."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from polyclinic.errors import PlayFailure
from polyclinic.events import Examined, Failed, Role, Said
from polyclinic.players.player import EXAMINE, REPLY, Player, failure_event


async def clarify(
    turn: int,
    question: str,
    to: Role,
    *,
    patient: Callable[[], Player],
    examiner: Callable[[], Player] | None,
) -> list[Said | Examined | Failed]:
    """Puts a question of the director, counted by `turn` from 1, to a patient, or an examination's name to an examiner.

    `patient` makes a patient who has opened the visit, and without an examiner holds the results.

    Returns:
        What happened, all with the number 0; a failure is in it, comes last, and is not raised.
    """
    events: list[Said | Examined | Failed] = []
    asked = Said(seq=0, turn=turn, who=Role.DIRECTOR, to=Role.PATIENT if examiner is None else to, text=question)
    acting = Role.PATIENT
    try:
        if asked.to is Role.PATIENT:
            events.append(asked)
            whom = patient()
            # To a patient a director is one doctor more.
            whom.observe(msgspec.structs.replace(asked, who=Role.DOCTOR))
            reply = await whom.act(REPLY)
            turned = reply.to == "examiner" and examiner is not None
            answered = Role.EXAMINER if turned else Role.DIRECTOR
            asked = Said(seq=0, turn=turn, who=Role.PATIENT, to=answered, text=reply.say, state=reply.state)
        events.append(asked)
        if asked.to is Role.EXAMINER and examiner is not None:
            acting = Role.EXAMINER
            by = examiner()
            by.observe(asked)
            events.append(Examined(seq=0, turn=turn, **msgspec.structs.asdict(await by.act(EXAMINE))))
    except PlayFailure as failure:
        events.append(failure_event(0, acting, failure))
    return events
