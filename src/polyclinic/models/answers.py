"""Reading what a model said, without ever guessing.

A typed answer is read from the text itself, from one fenced block in it, or from one JSON value among prose. Where two
different values could be meant, none is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from polyclinic.errors import CutOff, Refused, UnreadableReply
from polyclinic.language.thoughts import apart
from polyclinic.models.model import Answer, Usage
from polyclinic.models.schema import Form

LONGEST_SEARCH = 200_000
"""Characters of an answer in which JSON is looked for among prose; the search goes over the text more than once."""

MOST_CANDIDATES = 64  # braces at which a JSON value may begin, for the same reason

_FENCE = re.compile(r"^[ \t]*```[a-zA-Z]*[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(r"[{\[]")
_SCAN = json.JSONDecoder()


class Function(msgspec.Struct, frozen=True):
    """A function that the model wants called, with its arguments as JSON."""

    name: str
    arguments: str = ""


class ToolCall(msgspec.Struct, frozen=True):
    """A model's wish to have a function called. Our own questions hold none; Inspect's may."""

    id: str
    function: Function


class Completion(msgspec.Struct, frozen=True):
    """What a provider brings back from one request that was answered."""

    text: str
    finish: str = "stop"  # why it stopped: "stop", "length", "content_filter", or the server's own word
    refusal: str = ""  # what it said instead, where the server tells refusals apart
    usage: Usage = Usage()
    attempts: int = 1  # requests made, retries included
    calls: tuple[ToolCall, ...] = ()  # functions that the model wants called
    thought: str = ""  # what it thought before, where the server tells that apart
    server: str = ""  # which of several servers answered; "" where there is one


def read(completion: Completion, answer: Answer, form: Form | None) -> Any:
    """Returns what a completion means, where this answer in this form was asked for."""
    if completion.refusal or completion.finish == "content_filter":
        raise Refused(f"the model refused: {completion.refusal[:200] or 'stopped by a content filter'}")
    try:
        completion.text.encode()
    except UnicodeEncodeError:
        raise UnreadableReply("the answer is no Unicode text") from None
    text, _, is_open = apart(completion.text)
    if is_open:
        raise CutOff("the answer ends inside a thought")
    is_cut_off = completion.finish == "length"
    try:
        if form is None:
            if is_cut_off or not text.strip():
                raise UnreadableReply("the answer is empty")
            return text
        if not isinstance(answer, tuple):
            return _value(text, form, is_cut_off)
        # An option by itself or as JSON, upper and lower case and white space aside.
        by_name = {_folded(option): option for option in reversed(answer)}
        if (option := by_name.get(_folded(text))) is not None:
            return option
        said = _value(text, form, is_cut_off)
        if (option := by_name.get(_folded(said))) is None:
            raise UnreadableReply(f"{said[:80]!r} is none of the options: {' | '.join(answer)}"[:2000])
        return option
    except UnreadableReply:
        if is_cut_off:
            raise CutOff("the answer was cut off at the most tokens it may have") from None
        raise


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def read_value(text: str, form: Form) -> Any:
    """Returns the one value of the form that the text holds."""
    return _value(apart(text).said, form, is_cut_off=False)


def _value(text: str, form: Form, is_cut_off: bool) -> Any:
    """Returns the value that a text without thoughts holds; of one that was cut off, only what it is as a whole."""
    text = text.strip()
    if not text:
        raise UnreadableReply("the answer is empty")
    try:
        return _decoded(text, form)
    except UnreadableReply as failure:
        problem = failure
    found: list[Any] = []
    # What stands in the prose of an answer without its end can be a first idea.
    if len(text) <= LONGEST_SEARCH and not is_cut_off:
        for pieces in (_FENCE.findall(text), _among_prose(text)):
            for piece in pieces:
                try:
                    value = _decoded(piece, form)
                except UnreadableReply as failure:
                    if piece != text:
                        problem = failure
                else:
                    if value not in found:
                        found.append(value)
            if found:
                break
    if not found:
        raise problem
    if len(found) > 1:
        raise UnreadableReply(f"the answer holds {len(found)} different values, and one was asked for")
    return found[0]


def _decoded(text: str, form: Form) -> Any:
    try:
        return form.decoder.decode(text).answer if form.wrapped else form.decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        problem = str(error)
    if form.wrapped:
        try:
            return form.bare.decode(text)
        except (msgspec.DecodeError, RecursionError):
            pass
    raise UnreadableReply(problem)


def _among_prose(text: str) -> Iterator[str]:
    """Yields the JSON objects and arrays that stand in the text, the outermost ones only."""
    at = 0
    for _ in range(MOST_CANDIDATES):
        match = _OPENING.search(text, at)
        if match is None:
            return
        at = match.start()
        try:
            end = _SCAN.raw_decode(text, at)[1]
        except RecursionError:
            return
        except json.JSONDecodeError as error:
            # What stands inside a value that breaks off is a part of it, and not the answer.
            if error.msg.startswith("Unterminated string"):
                return
            at = max(error.pos, at + 1)
        else:
            yield text[at:end]
            at = end
