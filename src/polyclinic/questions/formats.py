"""The formats in which our prompts ask for an answer, and the writing of answers in them.

Prompts show a format with `show_form`; `polyclinic.questions.answers.read_answer` inverts `write_answer`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from polyclinic.language.language import Language

AnswerFormat = Literal["line", "json", "boxed", "bare"]
"""`line`: a last line, `FINAL_LINE`; `json`: an object; `boxed`: as mathematicians end; `bare`: the keys alone."""

ANSWER_FORMATS: tuple[AnswerFormat, ...] = get_args(AnswerFormat)
FINAL_LINE: dict[Language, str] = {"en": "Answer: {key}", "zh": "答案：{key}"}
_BETWEEN: dict[Language, str] = {"en": ", ", "zh": "、"}
_BLANK: dict[Language, tuple[str, str]] = {"en": ("<letter>", "<letter>, <letter>"), "zh": ("<选项>", "<选项>、<选项>")}


def write_answer(keys: Iterable[str], format: AnswerFormat = "line", language: Language = "en") -> str:
    """Returns an answer as a model should write it, the keys in the order given."""
    keys = list(keys)
    if format == "json":
        return msgspec.json.encode({"answer": keys[0] if len(keys) == 1 else keys}).decode()
    row = _BETWEEN[language].join(keys)
    if format == "boxed":
        return f"\\boxed{{{row}}}"
    return FINAL_LINE[language].format(key=row) if format == "line" else row


def show_form(format: AnswerFormat = "line", language: Language = "en", *, several: bool = False) -> str:
    """Returns a format with a blank for the key, or for several, as a prompt shows it: "Answer: <letter>"."""
    blank = _BLANK[language][several]
    if format == "json" and several:
        one = _BLANK[language][False]
        return f'{{"answer": ["{one}", "{one}"]}}'
    if format == "json":
        return f'{{"answer": "{blank}"}}'
    return write_answer([blank], format, language)
