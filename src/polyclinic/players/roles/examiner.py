"""The examiner: looks up in the record what was asked for by name, and reads it out word for word (AI Hospital §2.3).

A mind reads the request into names, which are looked up here, or into lines of the list of what is recorded, which
holds names and no results. The results are read out by this role, so that no mind can invent or reword one, and none
can give what was not asked for: a name or a line that the request does not ask for, in these words or in others that
mean the same, is dropped and counted.
"""

from __future__ import annotations

import functools
from pathlib import Path

from polyclinic.cases.record import Finding, Record, read_out
from polyclinic.events import Role
from polyclinic.knowledge.names import Names, RecordNames
from polyclinic.language.language import MARKS, Language
from polyclinic.language.word_lists import WordLists
from polyclinic.players.player import EXAMINE, READ_REQUEST, Ask, Mind, PlayedRole, Request, Results, T
from polyclinic.players.staging import Missing


class Examiner(PlayedRole):
    """The examiner of one visit.

    Args:
        missing: what is said of an examination of which the record says nothing: that it is not recorded, or, as the
            paper has it, that it is normal. That is said only where the name is understood and nothing is recorded of
            the same procedure and region, or near to it.
        max_examinations: how many examinations may be done in all; None for any number. What is asked for beyond that,
            in the order of the request, is not looked up.
        free: names of examinations that do not count among them.

    Attributes:
        unasked: the names and lines that the mind read in requests which do not ask for them; they were not read out.
    """

    def __init__(
        self,
        mind: Mind[Examiner],
        record: Record,
        names: Names,
        *,
        missing: Missing = "not recorded",
        max_examinations: int | None = None,
        free: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(mind)
        self.language: Language = record.presentation.language
        self.missing = missing
        self.max_examinations = max_examinations
        self._free = free
        self._done: set[str] = set()
        self.unasked: list[str] = []
        self._base = names
        self._findings = record.findings

    @functools.cached_property
    def names(self) -> RecordNames:
        """The names of what is recorded and of what could be; holds no results."""
        return self._base.of(self._findings)

    @functools.cached_property
    def listed(self) -> tuple[str, ...]:
        """What is recorded, by name and without results: each examination with each of its items, once."""
        return tuple(dict.fromkeys(map(_listed, self._findings)))

    def request(self) -> str:
        """Returns the last request; "" where there was none."""
        return self.last_said(to=Role.EXAMINER)

    async def act(self, ask: Ask[T]) -> T:
        """Answers; see `Player.act`. Asked to examine, it has its mind read the request and looks the items up."""
        if ask.purpose != EXAMINE.purpose:
            return await super().act(ask)
        request = READ_REQUEST.check(await self.mind.answer(READ_REQUEST, self))
        return ask.check(self._look_up(request))

    def _look_up(self, request: Request) -> Results:
        found: dict[Finding, None] = {}
        missing: dict[str, None] = {}
        asked = self.request()
        if request.numbers is not None:
            # Of these lines only what may be meant is recorded, and what is meant may not be.
            meant, unrecorded = self.names.may_mean(asked)
            lines = {number: self.listed[number - 1] for number in request.numbers if 0 < number <= len(self.listed)}
            given = [f for f in self._findings if f in meant and _listed(f) in lines.values()]
            told = set(map(_listed, given))
            self.unasked += [
                lines.get(number, str(number)) for number in request.numbers if lines.get(number) not in told
            ]
            found.update(dict.fromkeys(given))
            missing.update(dict.fromkeys(name for name, near in unrecorded.items() if near.isdisjoint(given)))
        for item in request.items:
            if not self.names.is_named(item, asked):
                self.unasked.append(item)
                continue
            findings, not_recorded = self.names.look_up(item)
            found.update(dict.fromkeys(findings))
            if not findings and not not_recorded:
                not_recorded = [item]
            missing.update(dict.fromkeys(not_recorded))
        allowed = {f for f in found if self._may_do(f.examination)}
        # To look a finding up takes long: those of other examinations are not.
        done = {f.examination for f in allowed}
        ordered = tuple(dict.fromkeys(f for f in self._findings if f.examination in done and f in allowed))
        normal = tuple(name for name in missing if self.missing == "normal" and self.names.may_be_normal(name))
        text = self._text(ordered, tuple(missing), normal, beyond=len(allowed) < len(found))
        return Results(findings=ordered, not_recorded=tuple(missing), text=text, told_as_normal=normal)

    def _may_do(self, examination: str) -> bool:
        """Returns whether an examination is within the limit, and counts it."""
        if self.max_examinations is None or examination in self._done or examination in self._free:
            return True
        if len(self._done) >= self.max_examinations:
            return False
        self._done.add(examination)
        return True

    def _text(
        self, findings: tuple[Finding, ...], missing: tuple[str, ...], normal: tuple[str, ...], *, beyond: bool
    ) -> str:
        texts, say, marks = read_out(findings, self.language), _sayings(self.language), MARKS[self.language]
        if beyond:
            texts.append(say["beyond"])
        if normal:
            texts.append(say["normal"].format(names=marks.item.join(normal)))
        if unknown := marks.item.join(name for name in missing if name not in normal):
            texts.append(say["not recorded"].format(names=unknown))
        if not texts:
            return say["vague"]
        return f"{marks.stop}{marks.blank}".join(text.rstrip(marks.stop) for text in texts) + marks.stop


_sayings = WordLists(Path(__file__).with_name("words")).section("examiner", dict[str, str])


def _listed(finding: Finding) -> str:
    """Returns a finding's line in the list: what was done, and what was looked at."""
    return f"{finding.examination}, {finding.item}" if finding.item else finding.examination
