"""The visits of a run, read from its log, and one visit moment by moment with its dialogue.

A visit lasts from setting out to being at home again. A patient who is turned away at a closed door and comes again
makes one visit of both. Its id is the illness and the number of the visit, such as `r00042-d0003/1`.

Lines of a dialogue have no time of their own in a run, as a consultation takes the time of its turns. They are spread
over it as if everybody spoke equally fast. Lines after the last results belong to the talk for which the patient comes
back with them, if it had to go elsewhere. A consultation is played in one piece: results that the doctor asked for are
shown in it, even if the log has them later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, cast

import msgspec

from polyclinic.cases.truth import Severity
from polyclinic.errors import BadInput, UserError, meant
from polyclinic.events import Event, Examined, Reported, Said
from polyclinic.hospital.record import happenings as log
from polyclinic.hospital.record.attendances import DIED, FAILED, LEFT, SEEN, Attendances
from polyclinic.hospital.record.episodes import AtDoor, ConsultationHeld, Episode
from polyclinic.hospital.record.happenings import Activity, Acuity, Happening, clock
from polyclinic.hospital.record.recorded import RecordedRun

UNDER_WAY = "under way"


class ListedVisit(msgspec.Struct, kw_only=True):
    """A visit in one line."""

    id: str  # the illness and the number of the visit in it
    resident: str  # who came, by id
    name: str  # who came; "" where the log does not say
    number: int  # from 1 within the illness
    begin: int  # when it set out, in seconds since midnight of the first day
    end: int | None = None  # when it was at home again, or died; None where neither is so yet
    disease: str  # that it has, by id; "" where the log does not say
    severity: Severity | None  # how ill it was when it set out
    department: str = ""  # the last that it was sent to; "" where nobody sent it anywhere
    acuity: Acuity | None = None  # as the nurse judged it
    diagnosis: str = ""  # as the last doctor told it; "" where none did
    right: bool | None = None  # whether that is what it has; None where none was told
    outcome: str = UNDER_WAY  # how it ended: "went home", "discharged", "died", "left: ...", "failed: ..."
    later: str = ""  # how it was some time after: "recovered", "better", "worse", "died"; "" where nobody knows


def _listed(happenings: Iterable[Happening]) -> dict[int, ListedVisit]:
    """Returns the visits in a log by the number of the happening with which each begins, in order."""
    table = Attendances()
    for happening in happenings:
        table.add(happening)
    found: dict[int, ListedVisit] = {}
    away: dict[str, tuple[int, ListedVisit]] = {}  # by resident, the visit for which the patient was turned away
    for row in sorted(table.rows(), key=lambda row: row.seq):
        ill, seq, before = row.illness, row.seq, None
        if row.turned_away is not None:
            seq, before = away[row.who]
        ends = {
            "": UNDER_WAY,
            SEEN: "discharged" if row.admitted else "went home",
            LEFT: f"left: {row.reason}",
            FAILED: f"failed: {row.reason} ({row.failed})",
            DIED: "died",
        }
        found[seq] = ListedVisit(
            id=f"{row.who if ill is None else ill.case}/{row.number}",
            resident=row.who,
            name="" if ill is None else ill.name,
            number=row.number,
            begin=row.begin if before is None else before.begin,
            end=row.home,
            disease=row.disease,
            severity=row.severity if before is None else before.severity,
            department=row.registered or ("" if before is None else before.department),
            acuity=row.acuity or (None if before is None else before.acuity),
            diagnosis=row.diagnosis,
            right=row.right_diagnosis,
            outcome=ends[row.ended],
            later="died" if row.died else row.later or "",
        )
        away[row.who] = seq, found[seq]
    return found


_EVENT: msgspec.json.Decoder[Event] = msgspec.json.Decoder(cast(type[Event], Event))
_PAUSE = 20
"""Letters that somebody could say in the time between two lines."""

_NAMED = 3  # ids, as examples, in a line that says that one is wrong


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened, or began, or was said."""

    t: int  # in seconds since midnight of the first day
    at: str  # the same as it is told, such as "day 3 09:12:05"
    what: str  # a happening's tag, or "said", "results", "reported" or "measured"
    about: dict[str, Any]  # its fields


class VisitStory(msgspec.Struct, frozen=True, kw_only=True):
    """A visit as it went."""

    visit: ListedVisit  # the same in one line
    told: bool  # whether what was said is kept
    moments: tuple[Moment, ...]  # in order


def listed(run: RecordedRun) -> list[ListedVisit]:
    """Returns all visits of a run, by the time of setting out."""
    return [*_listed(run.happenings()).values()]


def story(run: RecordedRun, visit: str) -> VisitStory:
    """Returns a visit as it went."""
    resident = visit.partition("-")[0].partition("/")[0]
    for one in stories_of(run, resident, only=visit):
        return one
    ids = [one.id for one in listed(run)]
    there = f"there are {len(ids):,}, such as {', '.join(ids[:_NAMED])}" if ids else "nobody has come yet"
    raise UserError(f"no visit {visit!r} in {run.folder}{meant(visit, ids)}; {there}")


def stories_of(run: RecordedRun, resident: str, *, only: str = "") -> list[VisitStory]:
    """Returns the visits of a resident as they went, by the resident's id; with `only`, the one of that id."""
    happenings = [*run.happenings_of(resident)]
    visits, parts = _listed(happenings), defaultdict[int, list[Happening]](list)
    before: list[Happening] = []
    of = -1
    for happening in happenings:
        if isinstance(happening.what, log.FellIll):
            before, of = [happening], -1
        if happening.seq in visits:
            of = happening.seq
            parts[of] += before
            before = []
        if of >= 0:
            parts[of].append(happening)
    return [_told(run, visit, parts[seq]) for seq, visit in visits.items() if only in ("", visit.id)]


def visits_by(run: RecordedRun, resident: str) -> list[ListedVisit]:
    """Returns the visits of a resident, by its id or by its name in any case."""
    visits = listed(run)
    wanted = resident.casefold().strip()
    found = [one for one in visits if wanted in (one.resident.casefold(), one.name.casefold())]
    found = found or [one for one in visits if wanted and wanted in one.name.casefold()]
    who = dict.fromkeys(f"{one.name} ({one.resident})" for one in found)
    if len(who) > 1:
        some = ", ".join(list(who)[: 2 * _NAMED]) + (", ..." if len(who) > 2 * _NAMED else "")
        raise UserError(f"{len(who)} residents are called {resident!r}: {some}; give one's id")
    if not found:
        people = {one.resident: f"{one.name} ({one.resident})" for one in visits}
        some = ", ".join(list(people.values())[:_NAMED])
        there = f"{len(people):,} residents did, such as {some}" if people else "nobody has come yet"
        near = meant(resident, [one.name for one in visits])
        raise UserError(f"no resident {resident!r} came in {run.folder}{near}; {there}")
    return found


def _told(run: RecordedRun, visit: ListedVisit, happenings: Sequence[Happening]) -> VisitStory:
    episode = _episode(run, visit, any(isinstance(happening.what, log.GotWorse) for happening in happenings))
    moments = sorted(_moments(happenings, episode), key=lambda moment: moment.t)
    told = episode is not None and any(held.trace for held in episode.seen)
    return VisitStory(visit=visit, told=told, moments=tuple(moments))


def _episode(run: RecordedRun, visit: ListedVisit, worse: bool) -> Episode | None:
    """Returns the medical part; for a patient who got worse while waiting, that of the worse illness."""
    illness, _, number = visit.id.rpartition("/")

    def stage(episode: Episode) -> int:
        """Returns how often the illness had got worse."""
        found = episode.key.partition("/")[0].partition(".")[2]
        return int(found) if found.isdigit() else 1

    # Behind the number of the visit the key may name what its doctors had learnt.
    ours = [one for one in run.episodes_of(illness) if one.key.rpartition("/")[2].partition("@")[0] == number]
    found = sorted(ours, key=stage)
    if not found:
        return None
    if not worse:
        return found[0]
    return found[-1] if len(found) > 1 else found[0].worse or found[0]


_TOLD = (log.Diagnosed, log.Referred, log.VisitFailed)
"""What ends a consultation after its results."""


def _moments(happenings: Sequence[Happening], episode: Episode | None) -> Iterator[Moment]:
    seen = list(() if episode is None else episode.seen)
    held: ConsultationHeld | None = None
    left: list[Said | Examined] = []  # what is said when the results are there
    reported: list[Reported] = []
    triage: int | None = None
    for place, happening in enumerate(happenings):
        what, after = happening.what, happenings[place + 1 :]
        if isinstance(what, log.CalledIn):
            triage = happening.t if triage is None else triage
        if isinstance(what, log.Triaged) and episode is not None and episode.at_door is not None:
            yield from _at_door(episode.at_door, triage or happening.t, happening.t)
        if isinstance(what, _TOLD) and held is not None:
            for event in reported:
                yield _moment(
                    happening.t, "reported", {"department": held.department, **msgspec.to_builtins(event.report)}
                )
            held = None
        yield _moment(happening.t, type(what).__struct_config__.tag, msgspec.to_builtins(what))
        if type(what) is not log.ActivityBegan:
            continue
        if what.activity is Activity.CONSULTATION and seen and any(isinstance(h.what, log.Consulted) for h in after):
            held = seen.pop(0)
            try:
                events = [_EVENT.decode(line) for line in held.trace.splitlines() if line]
            except msgspec.DecodeError as error:
                raise BadInput(f"a dialogue of the run is damaged ({error})") from None
            reported = [event for event in events if isinstance(event, Reported)]
            said = [event for event in events if isinstance(event, Said | Examined)]
            last = max((place for place, event in enumerate(said) if isinstance(event, Examined)), default=len(said))
            left = said[last:]
            yield from _spread(said[:last] if _comes_back(after) else said, happening.t, after, log.Consulted)
        elif what.activity is Activity.RESULTS and held is not None:
            yield from _spread(left, happening.t, after, _TOLD)


def _comes_back(after: Iterable[Happening]) -> bool:
    """Whether a consultation goes on when its results are there."""
    for happening in after:
        what = happening.what
        if isinstance(what, _TOLD):
            return False
        if type(what) is log.ActivityBegan and what.activity is Activity.RESULTS:
            return True
    return False


def _spread(
    said: Sequence[Said | Examined], begin: int, after: Iterable[Happening], until: type | tuple[type, ...]
) -> Iterator[Moment]:
    end = next((happening.t for happening in after if isinstance(happening.what, until)), begin)
    for event, t in zip(said, begins([event.text for event in said], begin, end), strict=True):
        if isinstance(event, Examined):
            yield _moment(t, "results", {"text": event.text, "findings": msgspec.to_builtins(event.findings)})
        else:
            about = {"who": str(event.who), "to": str(event.to), "text": event.text, "turn": event.turn}
            yield _moment(t, "said", about)


def _at_door(at_door: AtDoor, begin: int, end: int) -> Iterator[Moment]:
    lines = [line for pair in at_door.told for line in pair]
    for number, (text, t) in enumerate(zip(lines, begins(lines, begin, end), strict=True)):
        who, to = ("patient", "nurse") if number % 2 else ("nurse", "patient")
        yield _moment(t, "said", {"who": who, "to": to, "text": text, "turn": number // 2 + 1})
    if at_door.vital_signs or at_door.reason:
        found = {one.sign: one.finding for one in at_door.vital_signs}
        signs = {sign: f"{one.value_text} {one.printed_unit}".rstrip() for sign, one in found.items()}
        yield _moment(end, "measured", {"vital_signs": signs, "reason": at_door.reason})


def begins(texts: Sequence[str], begin: int, end: int) -> list[int]:
    """Returns when each of several lines begins that fill a stretch of time, in whole seconds."""
    lengths = [len(text) + _PAUSE for text in texts]
    spoken = accumulate(lengths[:-1], initial=0)
    return [begin + letters * (end - begin) // sum(lengths) for letters in spoken] if texts else []


def _moment(t: int, what: Any, about: dict[str, Any]) -> Moment:
    about.pop("what", None)
    return Moment(t=t, at=f"{clock(t)}:{t % 60:02}", what=str(what), about=about)
