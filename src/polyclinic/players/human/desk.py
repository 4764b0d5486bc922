"""The terminal at which a person plays: what is shown and typed, line by line, one visit at a time.

Typed lines can be kept in a session file. The same command resumes it: kept lines are not asked for again, and the last
one can be taken back, provided that all others answer as before (rules do, and models from a journal).
"""

from __future__ import annotations

import asyncio
import functools
import re
import sys
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import msgspec
from rich.text import Text

from polyclinic.errors import PersonLeft, PolyclinicError, ScriptError
from polyclinic.events import Examined, Role, Said
from polyclinic.files import json_lines, read_records, write_text
from polyclinic.language.language import Language
from polyclinic.opened_files import check_regular
from polyclinic.players.human.advice import Rung
from polyclinic.players.player import Ask, PlayedRole, Purpose
from polyclinic.terminal.screen import console, plain
from polyclinic.terminal.tables import counted
from polyclinic.terminal.typed import TypedLines
from polyclinic.yaml_files import read_yaml

T = TypeVar("T")

_PATIENCE = 0.3
"""Seconds for which whoever sits at the desk keeps it between two answers, so that one visit is played at a time."""

_ANSWERED = 60.0
"""Seconds for which it is kept where somebody has been asked something, and the answer is worked out elsewhere."""

_MOST_BYTES = 128 * 2**20


class LineTakenBack(PolyclinicError):
    """A person takes back the last line; the visit is held once more without it."""

    def __init__(self, line: str, seat: str) -> None:
        self.seat = seat
        super().__init__(line)


class TypedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A line that was typed, and the seat (a role in a visit) at which it was."""

    seat: str
    line: str
    stays: bool = False  # it is paid for, and is not taken back: a hint
    taken_back: int = 0  # how many lines before it were


def read_session(path: Path) -> list[TypedLine]:
    """Reads the lines of a session; none where the file is yet to be written."""
    if not path.exists():
        return []
    check_regular(path, most=_MOST_BYTES)
    return [typed for _, typed in read_records(path, TypedLine, "a line that was typed")]


class Desk:
    """One person at one terminal."""

    def __init__(
        self,
        read: Callable[[], Awaitable[str]] | None = None,
        show: Callable[[str], None] | None = None,
        *,
        session: Path | None = None,
        again: str = "the same command resumes from there",
    ) -> None:
        self._again_by, self._session = again, session
        self._read, self._show = read or TypedLines().read, show or _on_stderr
        self._typed = read_session(session) if session else []
        self._free = asyncio.Lock()
        self._seated, self._since, self._keeps = "", 0.0, _PATIENCE
        self._read_lines = 0
        self._is_left = False
        self._shown_once = set[str]()
        self._taken_back = Counter[str]()
        self._played = Counter[str]()
        self._again: defaultdict[str, list[str]] = defaultdict(list)
        for typed in self._typed:
            self._again[typed.seat].append(typed.line)
        self._hints: defaultdict[str, list[Rung]] = defaultdict(list)

    def is_first(self, what: str) -> bool:
        """Whether something is shown for the first time to whoever sits here; from then on it is not."""
        is_first = what not in self._shown_once
        self._shown_once.add(what)
        return is_first

    def hinted(self, seat: str, rung: Rung) -> None:
        """Notes that a seat got a hint."""
        self._hints[seat].append(rung)

    def hints(self, seat: str) -> tuple[Rung, ...]:
        """Returns the hints that a seat got in the visit that was held last."""
        return tuple(self._hints[seat])

    async def play(self, visit: str, hold: Callable[[], Awaitable[T]]) -> T:
        """Holds a visit, once more without its last line where that is taken back; other visits go on beside it."""
        begun = Counter(self._played)
        named = re.compile(rf"(?<!\S){re.escape(visit)}(?=$|[/@])")
        while True:
            try:
                return await hold()
            except LineTakenBack as back:
                taken = self._take_back(back.seat, begun[back.seat])
                self.show(f"Taken back: {taken}" if taken else "There is nothing to take back.")
                for seat in {typed.seat for typed in self._typed} | {back.seat}:
                    if named.search(seat):
                        lines = [typed.line for typed in self._typed if typed.seat == seat]
                        self._again[seat] = lines[begun[seat] :]
                        self._played[seat] = begun[seat]
                        self._hints.pop(seat, None)
                self._seated = ""

    def _take_back(self, seat: str, begin: int) -> str:
        """Forgets the last line of a seat, of those from `begin` on that do not stay; returns it, or ""."""
        theirs = [place for place, typed in enumerate(self._typed) if typed.seat == seat][begin:]
        last = next((place for place in reversed(theirs) if not self._typed[place].stays), None)
        if last is None:
            return ""
        taken = self._typed[last]
        self._write([*self._typed[:last], *self._typed[last + 1 :]])
        self._taken_back[seat] += 1 + taken.taken_back
        return taken.line

    def taken_back(self, seat: str) -> int:
        """Returns how many lines of a seat were taken back."""
        return self._taken_back[seat] + sum(typed.taken_back for typed in self._typed if typed.seat == seat)

    def left(self) -> PersonLeft:
        """Returns the end of whoever goes, to come back; from now on nobody sits here."""
        self._is_left = True
        kept = f"left after {counted(len(self._typed), 'line')}" if self._session else "left"
        if not self._again_by:
            return PersonLeft(kept)
        return PersonLeft(f"{kept}; {'' if self._session else 'with run.session FILE '}{self._again_by}")

    def show(self, text: str) -> None:
        """Shows a line; nothing of it is more than text."""
        self._show(plain(text) + "\n")

    @asynccontextmanager
    async def at(self, seat: str) -> AsyncIterator[bool]:
        """Waits until the desk is free for a seat, the last seat first; yields whether that was this one."""
        loop = asyncio.get_running_loop()
        while True:
            async with self._free:
                if self._is_left:
                    raise self.left()
                left = self._keeps - (loop.time() - self._since)
                if self._seated in ("", seat) or left <= 0:
                    before, self._seated, self._keeps = self._seated, seat, _PATIENCE
                    try:
                        yield before == seat
                    finally:
                        self._since = loop.time()
                    return
            await asyncio.sleep(min(left, _PATIENCE))

    def wait_for_answer(self) -> None:
        """Whoever is seated has asked somebody, and keeps the desk until the answer comes."""
        self._keeps = _ANSWERED

    def stand_up(self) -> None:
        """Whoever is seated has given its last answer: the next need not wait."""
        self._seated = ""

    async def line(self, seat: str, prompt: str) -> str:
        """Shows a prompt and returns what is typed, without the white space around it."""
        if waiting := self._again[seat]:
            self._played[seat] += 1
            return waiting.pop(0)
        self._show(plain(prompt))
        line = await self._read()
        if not line:
            self.show("")
            self._is_left = True
            if self._session and self._typed:
                raise self.left()
            raise PersonLeft(f"nobody answers at the terminal any more (after {counted(self._read_lines, 'line')})")
        self._read_lines += 1
        return line.strip()

    def keep(self, seat: str, line: str, *, stays: bool = False) -> None:
        """Keeps a line that was an answer."""
        self._write([*self._typed, TypedLine(seat, line, stays, self._taken_back.pop(seat, 0))])
        self._played[seat] += 1

    def _write(self, lines: list[TypedLine]) -> None:
        if self._session is not None:
            write_text(self._session, json_lines(lines))
        self._typed = lines

    def is_playing_again(self, seat: str) -> bool:
        """Whether the next line of a seat is one that was typed before."""
        return bool(self._again[seat])


class NoAnswer(Exception):
    """A line does not answer; its text says what would."""


class DeskSeat(ABC):
    """The mind of a person at the desk, in one role of one visit.

    While kept lines are replayed nothing is shown; everything is shown once before the first new line.
    """

    name = "human"
    reads = False
    role: ClassVar[Role]
    purposes: ClassVar[Collection[Purpose]]
    commands: ClassVar[tuple[str, ...]]

    def __init__(self, desk: Desk, seat: str) -> None:
        self.desk, self.seat = desk, seat
        self._says = read_says(self.role)
        self.language: Language = "en"
        self._before: list[str] = []
        self._shown = 0
        self.is_again = False  # whether what is played was typed before

    async def answer(self, ask: Ask[Any], role: Any) -> object:
        """Asks the person until something that is typed answers."""
        if ask.purpose not in self.purposes:
            raise ScriptError(f"a person at the terminal cannot be asked to {ask.purpose}")
        async with self.desk.at(self.seat) as goes_on:
            self.language, self.is_again = role.presentation.language, self.desk.is_playing_again(self.seat)
            return await self.play(ask, role, goes_on=goes_on)

    @property
    def say(self) -> dict[str, str]:
        """What is shown in the language of the visit."""
        return self._says[self.language]

    @abstractmethod
    async def play(self, ask: Ask[Any], role: Any, *, goes_on: bool) -> object:
        """Returns the answer."""

    def show(self, text: str) -> None:
        """Shows a text; what belongs to lines that are played again, only when the visit goes on."""
        if self.is_again:
            self._before.append(text)
            return
        self._catch_up()
        self.desk.show(text)

    def show_events(self, role: PlayedRole) -> None:
        """Shows what was said to the person, and found, since the last time."""
        for event in role.seen[self._shown :]:
            if isinstance(event, Said) and event.to is self.role:
                self.show(f"{self.say[event.who.value]}: {event.text}")
            elif isinstance(event, Examined):
                self.show(f"{self.say['examiner']}: {event.text}")
        self._shown = len(role.seen)

    async def ask(self, prompt: str, read: Callable[[str, str], T], *, stays: str = "", later: str = "") -> T:
        """Asks for lines until `read`, which gets a line and its command, does not raise NoAnswer; returns its result.

        After the first line the prompt is `later`, if given. Only answers are kept; all but `stays` can be taken back.
        """
        while True:
            self.is_again = self.desk.is_playing_again(self.seat)
            if not self.is_again:
                self._catch_up()
            line = await self.desk.line(self.seat, prompt)
            rest, command = self._parted(line)
            if command == "undo":
                raise LineTakenBack(line, self.seat)
            if command == "leave":
                raise self.desk.left()
            try:
                self._check_sign(line)
                answer = read(rest, command)
            except NoAnswer as problem:
                for told in () if self.is_again else str(problem).splitlines():
                    self.desk.show(told)
                prompt = later or prompt
                continue
            if self.is_again:
                self._before.append(f"{prompt}{line}")
            else:
                self.desk.keep(self.seat, line, stays=bool(command) and command == stays)
            return answer

    def _parted(self, line: str) -> tuple[str, str]:
        """Returns a line without its command, and the command by its name; as typed if it is unknown."""
        if not line.startswith("/"):
            return line, ""
        typed, _, rest = line[1:].partition(" ")
        named = (name for name in self.commands if any(typed == say[name] for say in self._says.values()))
        return rest.strip(), next(named, typed or "/")

    def _check_sign(self, line: str) -> None:
        """Raises NoAnswer for a line that is nothing but a command without its sign; what was typed before is kept."""
        word = "help" if line in ("?", "？") else line.casefold()
        signs = {say[name] for say in (self.say, self._says["en"]) for name in self.commands}
        if word in signs | {"help", self.say["help word"]} and not self.is_again:
            raise NoAnswer(self.say["no sign"].format(command=word))

    def _catch_up(self) -> None:
        """Shows what went before, unless somebody has typed at the seat already, who has read it."""
        if self.desk.is_first(f"taken up: {self.seat}"):
            for text in self._before:
                self.desk.show(text)
        self._before.clear()


@functools.cache
def read_says(role: Role) -> dict[Language, dict[str, str]]:
    """Reads what a person who plays a role is shown, and says by itself."""
    return read_yaml(Path(__file__).with_name(f"{role}.yaml"), dict[Language, dict[str, str]])


def _on_stderr(text: str) -> None:
    if text.endswith("\n") and sys.stderr.isatty():
        console(sys.stderr).print(Text(text[:-1]))  # parted between words
        return
    sys.stderr.write(text)
    sys.stderr.flush()
