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


class ListedVisit(msgspec.Struct, frozen=True, kw_only=True):
    """A visit in one line."""

    id: str  # the illness and the number of the visit in it
    resident: str  # who came, by id
    name: str  # who came; "" where the log does not say
    number: int  # from 1 within the illness
    begin: int  # when it set out, in seconds since midnight of the first day
    end: int | None  # when it was at home again, or died; None where neither is so yet
    disease: str  # that it has, by id; "" where the log does not say
    severity: Severity | None  # how ill it was when it set out
    department: str  # the last that it was sent to; "" where nobody sent it anywhere
    acuity: Acuity | None  # as the nurse judged it
    diagnosis: str  # as the last doctor told it; "" where none did
    right: bool | None  # whether that is what it has; None where none was told
    outcome: str  # how the visit ended: "went home", "discharged", "died", "left: ...", "failed: ..." or "under way"
    later: str  # how it was some time after: "recovered", "better", "worse", "died"; "" where nobody knows


def clock(t: int) -> str:
    """Returns a time as it is told, such as `day 3 09:12`; days are counted from 1."""
    day, second = divmod(t, DAY)
    return f"day {day + 1} {second // HOUR:02}:{second // 60 % 60:02}"


class FoldedVisit:
    """A visit while it is read."""

    def __init__(self, who: str, ill: FellIll | None, severity: Severity | None, number: int, begin: int) -> None:
        self.who, self.ill, self.severity, self.number, self.begin = who, ill, severity, number, begin
        self.happenings: list[Happening] = []  # empty where they are not wanted
        self.end: int | None = None
        self.department = self.diagnosis = self.later = ""
        self.acuity: Acuity | None = None
        self.right: bool | None = None
        self.outcome = UNDER_WAY
        self.admitted = False
        self.comings = 1

    @property
    def illness(self) -> str:
        """Names the illness; that of nobody knows what is the resident's."""
        return self.ill.case if self.ill is not None else self.who

    @property
    def id(self) -> str:
        """Names the visit."""
        return f"{self.illness}/{self.number}"

    def listed(self) -> ListedVisit:
        """Returns it in one line."""
        return ListedVisit(
            id=self.id,
            resident=self.who,
            name="" if self.ill is None else self.ill.name,
            number=self.number,
            begin=self.begin,
            end=self.end,
            disease="" if self.ill is None else self.ill.disease,
            severity=self.severity,
            department=self.department,
            acuity=self.acuity,
            diagnosis=self.diagnosis,
            right=self.right,
            outcome=self.outcome,
            later=self.later,
        )

    # --- what changes it

    def _send(self, what: Triaged | Registered) -> None:
        self.department = what.department
        if isinstance(what, Triaged):
            self.acuity = what.acuity

    def _refer(self, what: Referred) -> None:
        self.department = what.to_department

    def _diagnose(self, what: Diagnosed) -> None:
        self.diagnosis, self.right = what.diagnosis, what.right

    def _admit(self, _: Admitted) -> None:
        self.admitted = True

    def _leave(self, what: LeftUnseen) -> None:
        self.outcome = f"left: {what.reason}"

    def _fail(self, what: VisitFailed) -> None:
        self.outcome = f"failed: {what.error} ({what.who})"

    def _go_home(self, _: WentHome) -> None:
        self.outcome = "discharged" if self.admitted else "went home"

    def _follow_up(self, what: FollowedUp) -> None:
        self.later = what.outcome.value


_CHANGES: dict[type, Callable[[FoldedVisit, Any], None]] = {
    Triaged: FoldedVisit._send,
    Registered: FoldedVisit._send,
    Referred: FoldedVisit._refer,
    Diagnosed: FoldedVisit._diagnose,
    Admitted: FoldedVisit._admit,
    LeftUnseen: FoldedVisit._leave,
    VisitFailed: FoldedVisit._fail,
    WentHome: FoldedVisit._go_home,
    FollowedUp: FoldedVisit._follow_up,
}


class ResidentRead:
    """What the log says of one resident so far."""

    def __init__(self) -> None:
        self.ill: FellIll | None = None
        self.severity: Severity | None = None
        self.before: list[Happening] = []  # what belongs to the visit that comes
        self.visit: FoldedVisit | None = None  # the last one
        self.home = ""
        self.out = False

    def take(self, happening: Happening, *, keep: bool = False) -> FoldedVisit | None:
        """Takes the next that happens to it; returns the visit that begins with it, or None."""
        what, begun = happening.what, None
        if isinstance(what, FellIll):
            self.falls_ill(happening, what)
            return None
        if isinstance(what, Walked) and not self.out:
            begun = self.sets_out(happening.who, happening.t, what.path[0])
        if self.visit is not None:
            if keep:
                self.visit.happenings.append(happening)
            self.goes_on(self.visit, happening.t, what)
        return begun

    def falls_ill(self, happening: Happening, what: FellIll) -> None:
        """Another illness: its first visit comes."""
        self.ill, self.severity, self.visit, self.before = what, what.severity, None, [happening]

    def sets_out(self, who: str, t: int, home: str) -> FoldedVisit | None:
        """Leaves home; returns the visit that this begins, None where it comes again for the last one."""
        self.out, self.home = True, home
        visit = self.visit
        if visit is not None and visit.comings == 1 and visit.outcome in _TURNED_AWAY:
            visit.comings, visit.outcome, visit.end = 2, UNDER_WAY, None
            return None
        self.visit = FoldedVisit(who, self.ill, self.severity, 1 if visit is None else visit.number + 1, t)
        self.visit.happenings, self.before = self.before, []
        return self.visit

    def goes_on(self, visit: FoldedVisit, t: int, what: What) -> None:
        """Whatever else happens to it."""
        change = _CHANGES.get(type(what))
        if change is not None:
            change(visit, what)
        if isinstance(what, Walked) and what.path[-1] == self.home:
            self.out, visit.end = False, what.times[-1]
        elif isinstance(what, Died):
            visit.later = "died"
            if self.out:
                self.out, visit.end, visit.outcome = False, t, "died"
        elif isinstance(what, FollowedUp | Worsened | GotWorse) and what.severity is not None:
            self.severity = what.severity


def fold(happenings: Iterable[Happening], *, keep: bool = False) -> Iterator[FoldedVisit]:
    """Reads visits off a log, or off what of it concerns some residents; yields each when it is begun.

    What comes later changes a visit until the last happening is read. So does a death at home, and a follow-up.

    Args:
        happenings: in order.
        keep: visits hold their happenings, from falling ill on.
    """
    lives: dict[str, ResidentRead] = defaultdict(ResidentRead)
    for happening in happenings:
        who = happening.who
        if who not in lives and not isinstance(happening.what, FellIll | Walked):
            continue  # of the staff
        begun = lives[who].take(happening, keep=keep)
        if begun is not None:
            yield begun


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
    """Returns all visits of a run, by the time of setting out.

    Raises:
        BadInput: the run is damaged.
    """
    return [visit.listed() for visit in list(fold(run.happenings()))]


def story(run: RecordedRun, visit: str) -> VisitStory:
    """Returns a visit as it went.

    Args:
        run: the run.
        visit: its id, as `listed` has it.

    Raises:
        UserError: there is no such visit.
        BadInput: the run is damaged.
    """
    resident = visit.partition("-")[0].partition("/")[0]
    for one in list(fold(run.happenings_of(resident), keep=True)):
        if one.id == visit:
            return _told(run, one)
    ids = [one.id for one in listed(run)]
    near = difflib.get_close_matches(visit, ids, n=_NAMED, cutoff=0.5) or ids[:_NAMED]
    there = f"there are {len(ids):,}, such as {', '.join(near)}" if ids else "nobody has come yet"
    raise UserError(f"no visit {visit!r} in {run.folder}; {there}")


def stories_of(run: RecordedRun, resident: str) -> list[VisitStory]:
    """Returns all visits of a resident as they went, by the resident's id.

    Raises:
        BadInput: the run is damaged.
    """
    return [_told(run, one) for one in list(fold(run.happenings_of(resident), keep=True))]


def visits_by(run: RecordedRun, resident: str) -> list[ListedVisit]:
    """Returns the visits of a resident, by its id or by its name in any case.

    Raises:
        UserError: nobody of that name came, or several did.
    """
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


def _told(run: RecordedRun, visit: FoldedVisit) -> VisitStory:
    episode = _episode(run, visit)
    moments = list(_moments(visit.happenings, episode))
    moments.sort(key=lambda moment: moment.t)
    told = episode is not None and any(held.trace for held in episode.seen)
    return VisitStory(visit=visit.listed(), told=told, moments=tuple(moments))


def _episode(run: RecordedRun, visit: FoldedVisit) -> Episode | None:
    """Returns the medical part; of somebody who got worse waiting, that of the worse illness."""
    found = [one for one in run.episodes_of(visit.illness) if _number(one) == str(visit.number)]
    if not found:
        return None
    found.sort(key=_stage)
    if not any(isinstance(happening.what, GotWorse) for happening in visit.happenings):
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
