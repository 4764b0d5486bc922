"""What happens in the town and its hospital, typed: the one log that metrics, maps and replays are made from.

Time is in whole seconds since midnight of the first day. Events hold no wall times, attempts, workers or paths, so that
the same seed gives the same log, bit for bit. The log knows the truth; nobody who plays reads it.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from polyclinic.cases.truth import Severity

TOWN = "town"
"""To whom an event happens."""


class HospitalEvent(msgspec.Struct, frozen=True, tag_field="what", omit_defaults=True):
    """What happened."""


class EventBegan(HospitalEvent, frozen=True, tag="event began"):
    """Something befalls the town or its hospital: many at once, an outage, an absence, an epidemic."""

    event: str
    kind: str


class EventEnded(HospitalEvent, frozen=True, tag="event ended"):
    """It is over."""

    event: str


class StaffCalledIn(HospitalEvent, frozen=True, tag="called in"):
    """A member of the staff who is on call is asked to come, as too many wait in a queue."""

    queue: str
    waiting: int


class MemoriesPublished(HospitalEvent, frozen=True, tag="memories published"):
    """What doctors have learnt until now can be read from now on; it happens to the town.

    `version` names all of it, `records` and `experience` are what is new in all memories together, and `cases` how many
    patients it comes from. `passages` were read off shift, and `questions` on them answered rightly.
    """

    version: str
    cases: int = 0
    records: int = 0
    experience: int = 0
    passages: int = 0
    questions: int = 0


DAY = 24 * 60 * 60
"""Seconds a day."""

HOUR = 60 * 60
"""Seconds an hour."""


def clock(t: int) -> str:
    """Returns a time as it is told, such as `day 3 09:12`; days are counted from 1."""
    day, second = divmod(t, DAY)
    return f"day {day + 1} {second // HOUR:02}:{second // 60 % 60:02}"


TURNED_AWAY = ("closed", "not admitted")
"""Why somebody `LeftUnseen` that comes once more for the same visit."""


class Acuity(StrEnum):
    """How soon somebody must be seen, as the nurse judges it; earlier members are called first."""

    EMERGENCY = "emergency"
    URGENT = "urgent"
    ROUTINE = "routine"


ORDER: dict[Acuity | None, int] = {acuity: rank for rank, acuity in enumerate([*Acuity, None])}
"""The ranks of acuities, the most urgent first; None, before triage, is the last."""


class FollowUpOutcome(StrEnum):
    """How a patient is at the follow-up."""

    RECOVERED = "recovered"
    BETTER = "better"
    WORSE = "worse"


class HarmCause(StrEnum):
    """Why somebody got worse or died: what, done otherwise, would have kept the same patient from it.

    A cause counts only where the patient would have fared better without it and without those that stand after it.
    """

    ILLNESS = "the illness itself"  # also treated as it should be
    UNTREATED = "not treated"
    DIAGNOSIS = "wrong diagnosis"  # what its disease needs was not done
    PLAN = "wrong plan"  # of the right disease
    LEFT_OUT = "left out of the right plan"  # withheld, or not begun for want of an examination
    PLACE = "less care than needed"  # at home or waiting for a bed where it should have lain in one
    DRUG = "a drug given needlessly or against a caution"


class Activity(StrEnum):
    """What takes time in the hospital, beside walking, waiting and lying in a bed."""

    CONSULTATION = "consultation"  # ends with "consulted"
    RESULTS = "results"  # the doctor is told them, and says what it thinks; ends with the diagnosis or a referral
    EXAMINATION = "examination"  # ends with "examined", or "ended" where the result comes later
    SAMPLING = "sampling"  # ends with "sampled"


class FellIll(HospitalEvent, frozen=True, tag="fell ill"):
    """A resident falls ill. `case` names the case that is drawn for it; `department` is where it belongs.

    `name` is the resident's, and `home` the place of its home on the map, in whole metres from the entrance.
    """

    case: str
    disease: str
    severity: Severity
    department: str
    name: str = ""
    home: tuple[int, ...] = ()


class Walked(HospitalEvent, frozen=True, tag="walked"):
    """Somebody walks: the areas in order, and when each is reached; it sets out from the first at the event's time."""

    path: tuple[str, ...]
    times: tuple[int, ...]


class Triaged(HospitalEvent, frozen=True, tag="triaged"):
    """A nurse has sent a patient to a department. The log says beside it what would have been right.

    `level` is that of the five-level index, `vital_signs` are what she measured, items by id with their numbers behind
    a colon, and `asked` how many questions she put. `right_level` is None of a case whose maker does not say.
    """

    nurse: str
    department: str
    acuity: Acuity
    right_department: str
    right_acuity: Acuity
    level: int | None = None
    right_level: int | None = None
    vital_signs: tuple[str, ...] = ()
    asked: int = 0


class GotWorse(HospitalEvent, frozen=True, tag="got worse waiting"):
    """A patient gets worse while it waits; what the doctors will do is launched anew. `level` would be right now."""

    severity: Severity
    level: int | None = None


class TriagedAgain(HospitalEvent, frozen=True, tag="triaged again"):
    """Somebody who waits was looked at again and found worse, and moves up; fields as in `Triaged`."""

    level: int | None
    acuity: Acuity
    right_level: int | None = None
    vital_signs: tuple[str, ...] = ()


class Registered(HospitalEvent, frozen=True, tag="registered"):
    """A patient has registered for a department; `visit` counts from 1 within an illness."""

    department: str
    visit: int


class Queued(HospitalEvent, frozen=True, tag="queued"):
    """A patient waits for a department or at an area. `acuity` is the nurse's; before, what anybody sees, or None.

    `again`: it has been with a doctor on this visit, and is called before those who have not, emergencies excepted.
    """

    queue: str
    acuity: Acuity | None = None
    again: bool = False


class CalledIn(HospitalEvent, frozen=True, tag="called"):
    """A patient is called out of a queue, to somebody and a room. `waited` in seconds."""

    queue: str
    staff: str
    area: str
    waited: int
    instead_of: str = ""  # the doctor who was to see the patient, where a colleague takes over


class ActivityBegan(HospitalEvent, frozen=True, tag="began"):
    """Something begins that takes time with a patient, in an area.

    What is done at a counter or at triage begins with "called", and an operation as its patient lies on the table.
    """

    activity: Activity
    area: str
    staff: str = ""
    examination: str = ""


class ActivityEnded(ActivityBegan, frozen=True, tag="ended"):
    """A patient is done with something of which nothing else says so: an examination whose result comes later."""


class Interrupted(HospitalEvent, frozen=True, tag="interrupted"):
    """A doctor leaves a patient for an emergency; the patient stays where it is."""

    staff: str


class Resumed(HospitalEvent, frozen=True, tag="resumed"):
    """The doctor is back, and goes on where it was interrupted."""

    staff: str


class Sampled(HospitalEvent, frozen=True, tag="sampled"):
    """Samples are taken, all at once, for examinations whose results come later, side by side."""

    examinations: tuple[str, ...]
    area: str
    staff: str = ""


class Consulted(HospitalEvent, frozen=True, tag="consulted"):
    """A consultation is over: how many turns the doctor took, and what it ordered."""

    staff: str
    department: str
    turns: int
    ordered: tuple[str, ...] = ()


class ExaminationDone(HospitalEvent, frozen=True, tag="examined"):
    """An examination is done: its result is there. Nobody is named where it was of a sample or a picture of before."""

    examination: str
    area: str
    staff: str = ""


class Referred(HospitalEvent, frozen=True, tag="referred"):
    """A doctor sends a patient on to another department."""

    staff: str
    from_department: str
    to_department: str


class Diagnosed(HospitalEvent, frozen=True, tag="diagnosed"):
    """A doctor has told the diagnosis; "" where it commits to none. The log says beside it what was right.

    `right_examination`: an examination that is right for the disease had been done.
    """

    staff: str
    diagnosis: str
    right: bool
    right_examination: bool = False


class Prescribed(HospitalEvent, frozen=True, tag="prescribed"):
    """A doctor has chosen the plan; None where there is none. Right: of the right disease at the right severity.

    `not_begun`: measures that wait for an examination.
    """

    staff: str
    plan: Severity | None
    treatment: tuple[str, ...]
    right: bool
    not_begun: tuple[str, ...] = ()


class Dispensed(HospitalEvent, frozen=True, tag="dispensed"):
    """The pharmacist has handed out drugs, and withheld others with the reason behind a colon.

    `instead` says behind a colon which drug stands in for one that was withheld, `lacking` why none does.
    """

    staff: str
    drugs: tuple[str, ...]
    withheld: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


class WentHome(HospitalEvent, frozen=True, tag="went home"):
    """A patient has gone home, treated."""


class Admitted(HospitalEvent, frozen=True, tag="admitted"):
    """A patient lies in its first bed, or on the table. `care` is the kind of area; `waited` in seconds for it."""

    area: str
    care: str
    waited: int = 0


class Moved(HospitalEvent, frozen=True, tag="moved"):
    """A patient lies in another bed. `stayed` in the one before, `waited` for this one, in seconds."""

    area: str
    care: str
    stayed: int
    waited: int = 0


class Operated(HospitalEvent, frozen=True, tag="operated"):
    """An operation is over; it took so many seconds."""

    area: str
    took: int


class Worsened(HospitalEvent, frozen=True, tag="got worse"):
    """A patient has got worse where it is; `severity` is how ill it is now, `recognised` whether its disease is."""

    severity: Severity
    cause: HarmCause
    recognised: bool = False


class Discharged(HospitalEvent, frozen=True, tag="discharged"):
    """A patient has left its bed to go home. `stayed` in the last bed, `days` in beds all together."""

    area: str
    stayed: int
    days: float


class Died(HospitalEvent, frozen=True, tag="died"):
    """A patient has died, at home ("") or in an area, where it had stayed in its bed for so many seconds."""

    disease: str
    cause: HarmCause
    area: str = ""
    stayed: int = 0


class LeftUnseen(HospitalEvent, frozen=True, tag="left unseen"):
    """A patient has gone without being seen: "waited too long", "closed", or "not admitted"."""

    reason: str
    waited: int = 0


class VisitFailed(HospitalEvent, frozen=True, tag="visit failed"):
    """A visit came to no report, by a failure with a name; it stands outside every mean."""

    who: str
    error: str
    problem: str


class FollowedUp(HospitalEvent, frozen=True, tag="followed up"):
    """How a patient is some time after the visit; `cause` where it is worse."""

    outcome: FollowUpOutcome
    severity: Severity | None = None
    cause: HarmCause | None = None


class FollowUpFailed(HospitalEvent, frozen=True, tag="follow-up failed"):
    """Whoever was to say how the illness goes on gave no usable answer; it goes on as the knowledge has it."""

    error: str
    problem: str


class StaffWalked(HospitalEvent, frozen=True, tag="staff walked"):
    """A member of the staff walks to where it works, or home; as in `Walked`."""

    path: tuple[str, ...]
    times: tuple[int, ...]


class ShiftBegan(HospitalEvent, frozen=True, tag="shift began"):
    """A member of the staff is at work, in an area."""

    area: str


class ShiftEnded(HospitalEvent, frozen=True, tag="shift ended"):
    """A member of the staff has gone home."""


What = (
    FellIll | Walked | Triaged | GotWorse | TriagedAgain | Registered | Queued | CalledIn | ActivityBegan
    | ActivityEnded | Interrupted | Resumed | Sampled | Consulted | ExaminationDone | Referred | Diagnosed
    | Prescribed | Dispensed | Admitted | Moved | Operated | Worsened | Discharged | Died | WentHome | LeftUnseen
    | VisitFailed | FollowedUp | FollowUpFailed | EventBegan | EventEnded | StaffCalledIn | MemoriesPublished
    | StaffWalked | ShiftBegan | ShiftEnded
)  # fmt: skip


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the log."""

    seq: int  # from 0, without gaps
    t: int  # seconds since midnight of the first day
    who: str  # to whom it happened: the id of a resident or of a member of the staff
    what: What  # what happened
