"""Answers that a model wrote as JSON, by itself, in a fence or among prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from polyclinic.errors import CutOff, UnreadableReply

MOST_OBJECTS = 64
"""Braces at which an object may begin: a reply of nothing but braces must not take long."""

_SCAN = json.JSONDecoder(object_pairs_hook=list)  # A name that stands twice must not be silently one.
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
            pairs, end = _SCAN.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            at += 1
            continue
        found = True
        answers = [value for name, value in pairs if re.sub(r"[\s_-]", "", name.casefold()) in _ANSWER_NAMES]
        if len(answers) > 1:
            raise UnreadableReply("its JSON holds more than one answer")
        for answer in answers:
            parts = answer if isinstance(answer, list) else [answer]
            if not parts or not all(isinstance(part, str | int) and not isinstance(part, bool) for part in parts):
                came = json.dumps(answer, ensure_ascii=False)[:80]
                raise UnreadableReply(f"its JSON answers {came}, which names no option")
            yield at, end, [str(part) for part in parts]
        at = end
    if not found and _CUT_OFF.match(text):
        raise CutOff("its JSON does not end")
