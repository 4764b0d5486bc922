"""Answers that a model wrote as JSON, by itself, in a fence or among prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from polyclinic.errors import CutOff, UnreadableReply

MOST_OBJECTS = 64
"""Braces at which an object may begin: a reply of nothing but braces must not take long."""

_SCAN = json.JSONDecoder()
_ANSWER_NAMES = frozenset({"answer", "answers", "finalanswer", "choice", "option", "答案", "最终答案"})
_CUT_OFF = re.compile(r"\A\s*(?:```\w*\s*)?\{\s*(?:\"|\Z)")


def json_answers(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yields where in a text an object with an answer stands, and the answer's parts: `{"answer": ["A", "C"]}`.

    Raises:
        UnreadableReply: an object answers twice, or with something that is neither a text, a number nor a list of them.
        CutOff: the text is an object that does not end.
    """
    found, at = False, 0
    for _ in range(MOST_OBJECTS):
        at = text.find("{", at)
        if at < 0:
            break
        try:
            value, end = _SCAN.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            at += 1
            continue
        found = True
        answers = [part for name, part in value.items() if re.sub(r"[\s_-]", "", name.casefold()) in _ANSWER_NAMES]
        # A name that stands twice in one object is silently one for a reader of JSON.
        named = re.findall(r'"(?:final[ _-]?)?(?:answers?|答案)"\s*:', text[at:end], re.IGNORECASE)
        if len(answers) > 1 or len(named) > 1:
            raise UnreadableReply("its JSON holds more than one answer")
        if answers:
            yield at, end, _parts(answers[0])
        at = end
    if not found and _CUT_OFF.match(text):
        raise CutOff("its JSON does not end")


def _parts(value: Any) -> list[str]:
    parts = value if isinstance(value, list) else [value]
    if not parts or not all(isinstance(part, str | int) and not isinstance(part, bool) for part in parts):
        raise UnreadableReply(f"its JSON answers {json.dumps(value, ensure_ascii=False)[:80]}, which names no option")
    return [str(part) for part in parts]
