"""The place where a person plays: what is shown there, and what is typed, line by line, for one visit after the other.

Lines can be kept in a session file. Who plays takes it up again by the same command: what was typed is not asked for
again, and the last line can be taken back, as long as everybody else does the same again (rules do; models from a
journal).
"""

from __future__ import annotations

import asyncio
import functools
import re
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from rich.text import Text

from polyclinic.errors import PersonLeft, PolyclinicError
from polyclinic.events import Examined, Role, Said
from polyclinic.language.language import Language
from polyclinic.players.human.advice import Rung
from polyclinic.players.human.moves import Kept
from polyclinic.players.player import PlayedRole
from polyclinic.terminal.screen import console, plain
from polyclinic.terminal.tables import counted
from polyclinic.terminal.typed import TypedLines
from polyclinic.yaml_files import read_yaml

T = TypeVar("T")

_PATIENCE = 0.3
"""Seconds for which whoever sits at the desk keeps it between two answers, so that one visit is played at a time."""

_ANSWERED = 60.0
"""Seconds for which it is kept where somebody has been asked something, and the answer is worked out elsewhere."""


class LineTakenBack(PolyclinicError):
    """Who plays takes back the last line; whoever holds the visit holds it once more without."""

    def __init__(self, line: str, seat: str) -> None:
        self.seat = seat
        super().__init__(line)


class TypedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A line that was typed, and the seat (a role in a visit) at which it was."""

    seat: str
    line: str
    stays: bool = False  # it is paid for, and is not taken back: a hint
    taken_back: int = 0  # how many lines before it were


class Desk:
    """One person at one terminal."""

    def __init__(
        self,
        read: Callable[[], Awaitable[str]] | None = None,
        show: Callable[[str], None] | None = None,
        *,
        session: Path | None = None,
        again: str = "the same command goes on from there",
    ) -> None:
        self._again_by = again
        self._read, self._show = read or TypedLines().read, show or _on_stderr
        self._typed = Kept(session, TypedLine, "a line that was typed")
        self._free = asyncio.Lock()
        self._seated, self._since, self._keeps = "", 0.0, _PATIENCE
        self._read_lines = 0
        self._is_left = False
        self._shown_once = set[str]()
        self._taken_back = Counter[str]()
        self._played = Counter[str]()
        self.rewind()

    def rewind(self) -> None:
        """Plays what was typed from the beginning, as where the visit is held once more."""
        self._again: defaultdict[str, list[str]] = defaultdict(list)
        for typed in self._typed.all:
            self._again[typed.seat].append(typed.line)
        self._seated = ""
        self._played.clear()
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
                taken = self.take_back(self._typed_at(back.seat)[begun[back.seat] :])
                self.show(f"Taken back: {taken}" if taken else "There is nothing to take back.")
                for seat in {typed.seat for typed in self._typed.all} | {back.seat}:
                    if named.search(seat):
                        self._again[seat] = [typed.line for typed in self._typed_at(seat)[begun[seat] :]]
                        self._played[seat] = begun[seat]
                        self._hints.pop(seat, None)
                self._seated = ""

    def _typed_at(self, seat: str) -> list[TypedLine]:
        return [typed for typed in self._typed.all if typed.seat == seat]

    def left(self) -> PersonLeft:
        """Returns the end of whoever goes, to come back; from now on nobody sits here."""
        self._is_left = True
        if self._typed.in_file:
            kept = f"left after {counted(len(self._typed.all), 'line')}"
            return PersonLeft(f"{kept}; {self._again_by}" if self._again_by else kept)
        return PersonLeft(
            "left; with run.session FILE the same command goes on from there" if self._again_by else "left"
        )

    def take_back(self, among: Sequence[TypedLine] | None = None) -> str:
        """Forgets the last line that was typed, of these, and does not stay, and returns it; "" where there is none."""
        free = None if among is None else {id(typed) for typed in among}
        taken = self._typed.take_back(lambda typed: typed.stays or (free is not None and id(typed) not in free))
        if taken is None:
            return ""
        self._taken_back[taken.seat] += 1 + taken.taken_back
        return taken.line

    def taken_back(self, seat: str) -> int:
        """Returns how many lines of a seat were taken back."""
        return self._taken_back[seat] + sum(typed.taken_back for typed in self._typed.all if typed.seat == seat)

    def show(self, text: str) -> None:
        """Shows a line; nothing of it is more than text."""
        self._show(plain(text) + "\n")

    @asynccontextmanager
    async def at(self, seat: str) -> AsyncIterator[bool]:
        """Waits until the desk is free for a seat; who has just answered comes first.

        Yields whether the seat was the last to answer, so that what it was shown is still to be read.
        """
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
            if self._typed.in_file and self._typed.all:
                raise self.left()
            raise PersonLeft(f"nobody answers at the terminal any more (after {counted(self._read_lines, 'line')})")
        self._read_lines += 1
        return line.strip()

    async def heard(self, seat: str, prompt: str, objection: Callable[[str], str]) -> str:
        """Returns the next line as `line` does, once there is no objection to it; what was typed before has none."""
        while True:
            again = self.is_playing_again(seat)
            line = await self.line(seat, prompt)
            problem = "" if again else objection(line)
            if not problem:
                return line
            for told in problem.splitlines():
                self.show(told)

    def keep(self, seat: str, line: str, *, stays: bool = False) -> None:
        """Keeps a line that was an answer; one that is played again is kept already."""
        self._typed.keep(TypedLine(seat, line, stays, self._taken_back[seat]))
        self._played[seat] += 1
        del self._taken_back[seat]

    def is_playing_again(self, seat: str) -> bool:
        """Whether the next line of a seat is one that was typed before."""
        return bool(self._again[seat])


class DeskSeat:
    """A seat at the desk in one visit: what is shown there, and what is typed.

    While lines are played again nothing is shown; before the first that is typed now, all of it is, once.
    """

    def __init__(self, desk: Desk, seat: str, says: Path, commands: Sequence[str]) -> None:
        self.desk, self._seat, self._commands = desk, seat, commands
        self._says = read_says(says)
        self._before: list[str] = []
        self._shown = 0
        self._quiet = False

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[bool]:
        """Waits until the desk is free; see `Desk.at`."""
        async with self.desk.at(self._seat) as goes_on:
            self._quiet = self.desk.is_playing_again(self._seat)
            yield goes_on

    def says(self, language: Language) -> dict[str, str]:
        """Returns what is shown in a language."""
        return self._says[language]

    def show(self, text: str) -> None:
        """Shows a text; what belongs to lines that are played again, only when the visit goes on."""
        if self._quiet:
            self._before.append(text)
            return
        self._catch_up()
        self.desk.show(text)

    def show_events(self, role: PlayedRole, listener: Role, say: Mapping[str, str]) -> None:
        """Shows what was said to a listener, and found, since the last time."""
        for event in role.seen[self._shown :]:
            if isinstance(event, Said) and event.to is listener:
                self.show(f"{say[event.who.value]}: {event.text}")
            elif isinstance(event, Examined):
                self.show(f"{say['examiner']}: {event.text}")
        self._shown = len(role.seen)

    def command(self, line: str) -> tuple[str, str]:
        """Returns a line without its command, and the command by its name; "" for none, and as typed if unknown."""
        if not line.startswith("/"):
            return line.strip(), ""
        typed, _, rest = line[1:].partition(" ")
        named = (name for name in self._commands if any(typed == say[name] for say in self._says.values()))
        return rest.strip(), next(named, typed or "/")

    def without_sign(self, line: str, say: Mapping[str, str]) -> str:
        """Returns what to say of a line that is nothing but a command without its sign; "" if it is none."""
        word = "help" if line in ("?", "？") else line.casefold()
        known = {"help", say["help word"], *(of[name] for of in (say, self._says["en"]) for name in self._commands)}
        return say["no sign"].format(command=word) if word in known else ""

    async def read(
        self,
        prompt: str,
        say: Mapping[str, str],
        objection: Callable[[str], str] | None = None,
        *,
        stays: str = "",
        is_answer: Callable[[str], object] = bool,
    ) -> tuple[str, str]:
        """Returns a line as `command` does, once there is no objection to it; by default, a missing slash is one.

        A line that `is_answer` is kept; it can be taken back unless it is the command that `stays`.
        """
        again = self._quiet = self.desk.is_playing_again(self._seat)
        if not again:
            self._catch_up()
        line = await self.desk.heard(self._seat, prompt, objection or (lambda line: self.without_sign(line, say)))
        rest, command = self.command(line)
        if command == "undo":
            raise LineTakenBack(line, self._seat)
        if command == "leave":
            raise self.desk.left()
        if again:
            self._before.append(f"{prompt}{line}")
        elif is_answer(line) or not line:
            self.desk.keep(self._seat, line, stays=bool(command) and command == stays)
        return rest, command

    def _catch_up(self) -> None:
        """Shows what went before, unless somebody has typed at the seat already, who has read it."""
        if self.desk.is_first(f"taken up: {self._seat}"):
            for text in self._before:
                self.desk.show(text)
        self._before.clear()


@functools.cache
def read_says(path: Path) -> dict[Language, dict[str, str]]:
    """Reads what a person who plays is shown, and says by itself."""
    return read_yaml(path, dict[Language, dict[str, str]])


def _on_stderr(text: str) -> None:
    if text.endswith("\n") and sys.stderr.isatty():
        console(sys.stderr).print(Text(text[:-1]))  # parted between words
        return
    sys.stderr.write(text)
    sys.stderr.flush()
