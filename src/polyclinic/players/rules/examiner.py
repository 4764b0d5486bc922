"""The rules examiner: reads a request into the names that stand in it, without a model."""

from __future__ import annotations

import re
from typing import Any

from polyclinic.errors import ScriptError
from polyclinic.knowledge.examination_words import EXAMINATION, FISHING
from polyclinic.players.player import Ask, Purpose, Request
from polyclinic.players.roles.examiner import Examiner

_LEAD = re.compile(
    r"^.{0,40}?\b(?:asks? for|orders?|requests?|please (?:do|perform|check|order|run))\b\s*:?\s*|^[^：]{0,16}：",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[;；。\n]|\.(?=\s|$)")
_SMALLER = re.compile(r"[,，、]|\band\b|和|以及|及")
_POLITE = re.compile(
    r"\b(?:please|do|perform|check|order|run|get|give|show|tell|me|us|the|an?|some|of|for"
    r"|results?|also|would|like|to|i)\b"
    r"|请|做|查|一下|一个|一次|给我|告诉我|结果|的",
    re.IGNORECASE,
)


class RulesExaminer:
    """Reads requests by the names in them. What is vague names nothing, and yields nothing."""

    name = "rules"

    async def answer(self, ask: Ask[Any], role: Examiner) -> object:
        """Returns the `Request` that was last made."""
        if ask.purpose is not Purpose.READ_REQUEST:
            raise ScriptError(f"the rules examiner reads requests; it was asked to {ask.purpose}")
        request = role.request()
        items = [request] if any(role.names.look_up(request)) else []
        for part in _PARTS.split(_LEAD.sub("", request, count=1)):
            items += self._unknown(part.strip(), role)
        return Request(items=tuple(dict.fromkeys(items)))

    def _unknown(self, part: str, role: Examiner) -> list[str]:
        if not part or any(role.names.look_up(part)) or FISHING.search(part) or role.names.refuses(part):
            return []
        # Nothing of the kind is known by name; what plainly is an examination is answered as not recorded.
        smaller = (_POLITE.sub(" ", p).strip() for p in _SMALLER.split(part))
        return [" ".join(p.split()) for p in smaller if EXAMINATION.search(p)]
