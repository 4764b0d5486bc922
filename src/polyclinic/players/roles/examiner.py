"""The examiner: looks up in the record what was asked for by name, and reads it out word for word (AI Hospital §2.3).

Stage one, reading the request into named examinations, is the mind's; stage two, the look-up, is always this role's
own, so that no mind can invent or reword a result, and none can give what was not named: a name that a mind read and
that the request does not hold, in these words or in others that mean the same, is dropped and counted.
"""

from __future__ import annotations

import functools
from typing import Literal

from polyclinic.cases.record import Finding, Record, read_out
from polyclinic.events import Role
from polyclinic.knowledge.names import Names, RecordNames
from polyclinic.language.language import Language
from polyclinic.players.player import EXAMINE, READ_REQUEST, Ask, Mind, PlayedRole, Request, Results, T

Missing = Literal["not recorded", "normal"]


class Examiner(PlayedRole):
    """The examiner of one visit.

    Args:
        missing: what is said of an examination of which the record says nothing: that it is not recorded, or, as the
            paper has it, that it is normal.
        max_examinations: how many examinations may be done in all; None for any number. What is asked for beyond that,
            in the order of the request, is not looked up.

    Attributes:
        unasked: the names that the mind read in requests which do not ask for them; they were not looked up.
    """

    def __init__(
        self,
        mind: Mind[Examiner],
        record: Record,
        names: Names,
        *,
        missing: Missing = "not recorded",
        max_examinations: int | None = None,
    ) -> None:
        super().__init__(mind)
        self.language: Language = record.presentation.language
        self.missing = missing
        self.max_examinations = max_examinations
        self._done: set[str] = set()
        self.unasked: list[str] = []
        self._base = names
        self._findings = record.findings

    @functools.cached_property
    def names(self) -> RecordNames:
        """The names of what is recorded and of what could be; holds no results."""
        return self._base.of(self._findings)

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
        ordered = tuple(f for f in dict.fromkeys(self._findings) if f in allowed)
        text = self._text(ordered, tuple(missing), beyond=len(allowed) < len(found))
        return Results(findings=ordered, not_recorded=tuple(missing), text=text)

    def _may_do(self, examination: str) -> bool:
        """Returns whether an examination is within the limit, and counts it."""
        if self.max_examinations is None or examination in self._done:
            return True
        if len(self._done) >= self.max_examinations:
            return False
        self._done.add(examination)
        return True

    def _text(self, findings: tuple[Finding, ...], missing: tuple[str, ...], *, beyond: bool) -> str:
        texts = read_out(findings, self.language)
        chinese = self.language == "zh"
        if beyond:
            texts.append("本次就诊不能再做其他检查" if chinese else "no further examination is possible in this visit")
        if missing:
            names = ("、" if chinese else ", ").join(missing)
            if self.missing == "normal":
                texts.append(f"{names}：未见异常" if chinese else f"{names}: no abnormality")
            else:
                texts.append(f"未记录：{names}" if chinese else f"not recorded: {names}")
        if not texts:
            return "请说明要做哪项检查。" if chinese else "Please name the examination."
        stop, space = ("。", "") if chinese else (".", " ")
        return f"{stop}{space}".join(text.rstrip(stop) for text in texts) + stop
