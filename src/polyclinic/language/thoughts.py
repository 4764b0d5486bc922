"""What a model thought before it said something: told apart, in every form in which both reach us as one text.

The marks are those of published models and of what serves them: `<think>` and its like, Mistral's `[THINK]`, Kimi's
`◁think▷`, MedGemma's `<unused94>thought`, tokens such as `<|begin_of_thought|>`, and the channels of OpenAI's harmony
format, as they are and as they read once a server has dropped its tokens.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from polyclinic.language.clauses import at_marks

_NAME = (
    r"(?:[a-z]\w*:)?(?:think|thinking|thoughts?|reason|reasoning|scratchpad|reflection|analysis|chain_of_thought|cot"
    r"|(?:inner|internal)_(?:thoughts?|monologue))"
)
_LESS, _MORE = "(?:<|&lt;|＜)", "(?:>|&gt;|＞)"
_WORD = "(?:thought|thinking|think)"
_MARK = re.compile(
    rf"""(?P<nothing>{_LESS}\s*{_NAME}\s*/\s*{_MORE})
        |(?P<open>{_LESS}\s*{_NAME}(?:\s[^<>]{{0,80}}?)?{_MORE}|\[think\]|◁think▷
              |<\|(?:begin_of_|start_)?{_WORD}\|>|<unused94>(?:thought\n)?)
        |(?P<close>{_LESS}\s*/\s*{_NAME}\s*{_MORE}|\[/think\]|◁/think▷|<\|(?:end_(?:of_)?|/\s*){_WORD}\|>|<unused95>)""",
    re.IGNORECASE | re.VERBOSE,
)
_AROUND_THE_ANSWER = re.compile(
    r"<\|(?:begin_of_|end_of_|start_|end_)(?:solution|response)\|>|</?(?:answer|solution|response)>", re.IGNORECASE
)
_CHANNEL = re.compile(
    r"(?:<\|start\|>[^<]{0,80})?<\|channel\|>\s*(?P<name>\w+)[^<]{0,200}(?:<\|constrain\|>[^<]{0,80})?<\|message\|>"
)
_CHANNEL_END = re.compile(r"<\|(?:end|return|call)\|>")
_WITHOUT_TOKENS = re.compile(
    r"\A\s*analysis(?=[\W\d]*[A-Z0-9\u4e00-\u9fff{\[])(?P<thought>.*)assistantfinal(?P<said>.*)\Z", re.S
)
_WITHOUT_END = re.compile(r"\A\s*analysis(?=[A-Z\u4e00-\u9fff{\[])")
_FINAL = "final"
_MARK_OF_ORDER = "\ufeff"


class SaidAndThought(NamedTuple):
    """A model's text, apart."""

    said: str  # the text as it is where it holds no thought
    thought: str = ""  # what stood between its marks, or before the mark of an end without a beginning
    is_open: bool = False  # a thought was begun and not ended, so that what was said may not be what was meant


def apart(text: str) -> SaidAndThought:
    """Returns what a text says, and what it only thinks. A JSON document is what it is, whatever its strings hold."""
    text = text.removeprefix(_MARK_OF_ORDER)
    if "<|channel|>" in text:
        return _by_channels(text)
    if "analysis" in text[:40] and (whole := _WITHOUT_TOKENS.match(text)):
        return SaidAndThought(whole["said"].strip(), whole["thought"].strip())
    if _WITHOUT_END.match(text):
        return SaidAndThought("", text, is_open=True)
    if _MARK.search(text) is None or _is_json(text):
        return SaidAndThought(text)
    said: list[str] = []
    thought: list[str] = []
    at, thinks = 0, False
    for mark in _MARK.finditer(text):
        (thought if thinks else said).append(text[at : mark.start()])
        at = mark.end()
        if mark["nothing"]:
            continue
        if mark["close"] and not thinks:
            # Some chat templates write the beginning into the prompt, so that the reply holds only the end.
            thought += said
            said.clear()
        thinks = mark["open"] is not None
    (thought if thinks else said).append(text[at:])
    told = _AROUND_THE_ANSWER.sub("", "\n".join(part for part in said if part.strip()))
    return SaidAndThought(told.strip(), "\n".join(part.strip() for part in thought if part.strip()), thinks)


def _by_channels(text: str) -> SaidAndThought:
    """Harmony: what is said stands in the channel `final`; without one, nothing has been said yet."""
    first, parts = at_marks(text, _CHANNEL.finditer(text))
    said: list[str] = []
    thought = [first]
    for mark, behind in parts:
        part = _CHANNEL_END.split(behind)[0].strip()
        (said if mark["name"] == _FINAL else thought).append(part)
    before = "\n".join(kept for part in thought if (kept := _CHANNEL_END.sub("", part).strip()))
    return SaidAndThought("\n".join(said), before, is_open=not said)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
