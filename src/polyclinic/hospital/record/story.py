"""The visits of a run, read from its log, and one visit moment by moment with what was said in it.

A visit is everything from setting out to being at home again; a patient who is turned away at a closed door and comes
again makes one visit of both. Its id is the illness with the visit's number in it, such as `r00042-d0003/1`.

What is said has no time of its own in a run: a consultation takes its turns' time in all. Its lines are spread over it,
each beginning where those before it end if everybody speaks equally fast; while the doctor is called away nobody says
anything. What is said after the last results belongs to the talk for which the patient comes back with them, if it had
to go elsewhere. A consultation is played in one piece: results that the doctor had asked for in its midst stand there,
also where the log has them later.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from polyclinic.cases.truth import Severity
from polyclinic.errors import BadInput, UserError
from polyclinic.events import Event, Examined, Reported, Said
from polyclinic.hospital.record.episodes import AtDoor, ConsultationHeld, Episode
from polyclinic.hospital.record.happenings import (
    DAY,
    HOUR,
    TURNED_AWAY,
    Activity,
    ActivityBegan,
    Acuity,
    Admitted,
    CalledIn,
    Consulted,
    Diagnosed,
    Died,
    FellIll,
    FollowedUp,
    GotWorse,
    Happening,
    Interrupted,
    LeftUnseen,
    Referred,
    Registered,
    Resumed,
    Triaged,
    VisitFailed,
    Walked,
    WentHome,
    What,
    Worsened,
)
from polyclinic.hospital.record.recorded import RecordedRun

UNDER_WAY = "under way"
_TURNED_AWAY = tuple(f"left: {reason}" for reason in TURNED_AWAY)


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


def clock(t: int) -> str:
    """Returns a time as it is told, such as `day 3 09:12`; days are counted from 1."""
    day, second = divmod(t, DAY)
    return f"day {day + 1} {second // HOUR:02}:{second // 60 % 60:02}"


@dataclass
class VisitRead:
    """A visit as it is read from the log."""

    visit: ListedVisit
    happenings: list[Happening]  # from falling ill on; empty where they are not wanted
    comings: int = 1
    admitted: bool = False


_SAYS: dict[type, Callable[[Any], dict[str, Any]]] = {
    Triaged: lambda what: {"department": what.department, "acuity": what.acuity},
    Registered: lambda what: {"department": what.department},
    Referred: lambda what: {"department": what.to_department},
    Diagnosed: lambda what: {"diagnosis": what.diagnosis, "right": what.right},
    LeftUnseen: lambda what: {"outcome": f"left: {what.reason}"},
    VisitFailed: lambda what: {"outcome": f"failed: {what.error} ({what.who})"},
    FollowedUp: lambda what: {"later": what.outcome.value},
    Died: lambda _: {"later": "died"},
}
"""What a happening says of the visit."""


class _Resident:
    """What the log says of one resident so far."""

    def __init__(self) -> None:
        self.ill: FellIll | None = None
        self.severity: Severity | None = None
        self.before: list[Happening] = []  # what belongs to the next visit
        self.last: VisitRead | None = None
        self.home = ""
        self.out = False

    def take(self, happening: Happening, *, keep: bool) -> VisitRead | None:
        """Takes the next that happens to it; returns the visit that begins with it, or None."""
        what, begun = happening.what, None
        if isinstance(what, FellIll):
            self.ill, self.severity, self.last, self.before = what, what.severity, None, [happening]
            return None
        if isinstance(what, Walked) and not self.out:
            begun = self._set_out(happening.who, happening.t, what.path[0])
        if self.last is not None:
            if keep:
                self.last.happenings.append(happening)
            self._change(self.last, happening.t, what)
        return begun

    def _set_out(self, who: str, t: int, home: str) -> VisitRead | None:
        """Leaves home; returns the visit that this begins, None where it comes again for the last one."""
        self.out, self.home = True, home
        last, ill = self.last, self.ill
        if last is not None and last.comings == 1 and last.visit.outcome in _TURNED_AWAY:
            last.comings, last.visit.outcome, last.visit.end = 2, UNDER_WAY, None
            return None
        number = 1 if last is None else last.visit.number + 1
        visit = ListedVisit(
            id=f"{who if ill is None else ill.case}/{number}",
            resident=who,
            name="" if ill is None else ill.name,
            number=number,
            begin=t,
            disease="" if ill is None else ill.disease,
            severity=self.severity,
        )
        self.last, self.before = VisitRead(visit, self.before), []
        return self.last

    def _change(self, last: VisitRead, t: int, what: What) -> None:
        kind, visit = type(what), last.visit
        says = _SAYS.get(kind)
        if says is not None:
            for name, value in says(what).items():
                setattr(visit, name, value)
        if kind is Admitted:
            last.admitted = True
        elif kind is WentHome:
            visit.outcome = "discharged" if last.admitted else "went home"
        elif isinstance(what, Walked) and what.path[-1] == self.home:
            self.out, visit.end = False, what.times[-1]
        elif kind is Died and self.out:
            self.out, visit.end, visit.outcome = False, t, "died"
        elif isinstance(what, FollowedUp | Worsened | GotWorse) and what.severity is not None:
            self.severity = what.severity


def fold(happenings: Iterable[Happening], *, keep: bool = False) -> list[VisitRead]:
    """Returns the visits in a log, or in what of it concerns some residents, by the time of setting out."""
    lives: dict[str, _Resident] = defaultdict(_Resident)
    visits = []
    for happening in happenings:
        if happening.who not in lives and not isinstance(happening.what, FellIll | Walked):
            continue  # of the staff
        begun = lives[happening.who].take(happening, keep=keep)
        if begun is not None:
            visits.append(begun)
    return visits


_EVENT: msgspec.json.Decoder[Event] = msgspec.json.Decoder(cast(type[Event], Event))
_PAUSE = 20
"""Letters that somebody could say in the time between two lines."""

_NAMED = 3  # ids, as examples, in a line that says that one is wrong

Span = tuple[int, int]


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
    return [read.visit for read in fold(run.happenings())]


def story(run: RecordedRun, visit: str) -> VisitStory:
    """Returns a visit as it went."""
    resident = visit.partition("-")[0].partition("/")[0]
    for one in fold(run.happenings_of(resident), keep=True):
        if one.visit.id == visit:
            return _told(run, one)
    ids = [one.id for one in listed(run)]
    near = difflib.get_close_matches(visit, ids, n=_NAMED, cutoff=0.5) or ids[:_NAMED]
    there = f"there are {len(ids):,}, such as {', '.join(near)}" if ids else "nobody has come yet"
    raise UserError(f"no visit {visit!r} in {run.folder}; {there}")


def stories_of(run: RecordedRun, resident: str) -> list[VisitStory]:
    """Returns all visits of a resident as they went, by the resident's id."""
    return [_told(run, one) for one in fold(run.happenings_of(resident), keep=True)]


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
        people = {one.resident: one.name for one in visits}
        near = difflib.get_close_matches(resident, people.values(), n=_NAMED, cutoff=0.6)
        some = ", ".join(near or [f"{name} ({id})" for id, name in list(people.items())[:_NAMED]])
        there = f"{len(people):,} residents did, such as {some}" if people else "nobody has come yet"
        raise UserError(f"no resident {resident!r} came in {run.folder}; {there}")
    return found


def _told(run: RecordedRun, read: VisitRead) -> VisitStory:
    episode = _episode(run, read)
    moments = sorted(_moments(read.happenings, episode), key=lambda moment: moment.t)
    told = episode is not None and any(held.trace for held in episode.seen)
    return VisitStory(visit=read.visit, told=told, moments=tuple(moments))


def _episode(run: RecordedRun, read: VisitRead) -> Episode | None:
    """Returns the medical part; of somebody who got worse waiting, that of the worse illness."""
    illness, _, number = read.visit.id.rpartition("/")
    found = sorted((one for one in run.episodes_of(illness) if _number(one) == number), key=_stage)
    if not found:
        return None
    if not any(isinstance(happening.what, GotWorse) for happening in read.happenings):
        return found[0]
    return found[-1] if len(found) > 1 else found[0].worse or found[0]


def _number(episode: Episode) -> str:
    """Returns which visit of its illness it is; behind it the key may name what its doctors had learnt."""
    return episode.key.rpartition("/")[2].partition("@")[0]


def _stage(episode: Episode) -> int:
    """Returns how often the illness had got worse."""
    stage = episode.key.partition("/")[0].partition(".")[2]
    return int(stage) if stage.isdigit() else 1


def _moments(happenings: Sequence[Happening], episode: Episode | None) -> Iterator[Moment]:
    seen = list(() if episode is None else episode.seen)
    held: ConsultationHeld | None = None
    triage: int | None = None
    for place, happening in enumerate(happenings):
        what, after = happening.what, happenings[place + 1 :]
        if isinstance(what, CalledIn):
            triage = happening.t if triage is None else triage
        if isinstance(what, Triaged) and episode is not None and episode.at_door is not None:
            yield from _at_door(episode.at_door, (triage or happening.t, happening.t))
        if isinstance(what, Diagnosed | Referred | VisitFailed) and held is not None:
            yield from _reports(held, happening.t)
            held = None
        yield _moment(happening.t, type(what).__struct_config__.tag, msgspec.to_builtins(what))
        if type(what) is not ActivityBegan:
            continue
        if what.activity is Activity.CONSULTATION and seen and any(isinstance(h.what, Consulted) for h in after):
            held = seen.pop(0)
            comes_back = _comes_back(after)
            said = _said(held, before_results=comes_back)
            yield from _spread(said, _spans(happening.t, after, Consulted))
        elif what.activity is Activity.RESULTS and held is not None:
            said = _said(held)[len(_said(held, before_results=True)) :]
            yield from _spread(said, _spans(happening.t, after, Diagnosed | Referred | VisitFailed))


def _comes_back(after: Iterable[Happening]) -> bool:
    """Whether a consultation goes on when its results are there."""
    for happening in after:
        what = happening.what
        if isinstance(what, Diagnosed | Referred | VisitFailed):
            return False
        if type(what) is ActivityBegan and what.activity is Activity.RESULTS:
            return True
    return False


def _spans(begin: int, after: Iterable[Happening], end: Any) -> list[Span]:
    """Returns when a talk went on that began at a time: without the pauses in it."""
    spans: list[Span] = []
    since: int | None = begin
    for happening in after:
        if isinstance(happening.what, Interrupted) and since is not None:
            spans.append((since, happening.t))
            since = None
        elif isinstance(happening.what, Resumed):
            since = happening.t
        elif isinstance(happening.what, end):
            return [*spans, (happening.t if since is None else since, happening.t)]
    return spans or [(begin, begin)]


def _events(held: ConsultationHeld) -> list[Event]:
    try:
        return [_EVENT.decode(line) for line in held.trace.splitlines() if line]
    except msgspec.DecodeError as error:
        raise BadInput(f"a dialogue of the run is damaged ({error})") from None


def _said(held: ConsultationHeld, *, before_results: bool = False) -> list[Said | Examined]:
    said = [event for event in _events(held) if isinstance(event, Said | Examined)]
    if before_results:
        last = max((place for place, event in enumerate(said) if isinstance(event, Examined)), default=len(said))
        return said[:last]
    return said


def _reports(held: ConsultationHeld, t: int) -> Iterator[Moment]:
    for event in _events(held):
        if isinstance(event, Reported):
            yield _moment(t, "reported", {"department": held.department, **msgspec.to_builtins(event.report)})


def _spread(said: Sequence[Said | Examined], spans: Sequence[Span]) -> Iterator[Moment]:
    for event, t in zip(said, begins([event.text for event in said], spans), strict=True):
        if isinstance(event, Examined):
            yield _moment(t, "results", {"text": event.text, "findings": msgspec.to_builtins(event.findings)})
        else:
            about = {"who": str(event.who), "to": str(event.to), "text": event.text, "turn": event.turn}
            yield _moment(t, "said", about)


def _at_door(at_door: AtDoor, span: Span) -> Iterator[Moment]:
    lines = [line for pair in at_door.told for line in pair]
    for number, (text, t) in enumerate(zip(lines, begins(lines, [span]), strict=True)):
        who, to = ("patient", "nurse") if number % 2 else ("nurse", "patient")
        yield _moment(t, "said", {"who": who, "to": to, "text": text, "turn": number // 2 + 1})
    if at_door.vital_signs or at_door.reason:
        found = {one.sign: one.finding for one in at_door.vital_signs}
        signs = {sign: f"{one.value_text} {one.printed_unit}".rstrip() for sign, one in found.items()}
        yield _moment(span[1], "measured", {"vital_signs": signs, "reason": at_door.reason})


def begins(texts: Sequence[str], spans: Sequence[Span]) -> list[int]:
    """Returns when each of several lines begins that fill some stretches of time, in whole seconds."""
    lengths = [len(text) + _PAUSE for text in texts]
    letters, seconds = sum(lengths), sum(end - begin for begin, end in spans)
    found, spoken = [], 0
    for length in lengths:
        found.append(_after(spoken * seconds // letters, spans))
        spoken += length
    return found


def _after(seconds: int, spans: Sequence[Span]) -> int:
    for begin, end in spans:
        if seconds < end - begin:
            return begin + seconds
        seconds -= end - begin
    return spans[-1][1]


def _moment(t: int, what: Any, about: dict[str, Any]) -> Moment:
    about.pop("what", None)
    return Moment(t=t, at=f"{clock(t)}:{t % 60:02}", what=str(what), about=about)
