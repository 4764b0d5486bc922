"""Recorded requests to an examiner, in the layout of AI Hospital's dialogues, and labels of what they order.

    {"patient_id": 1, "dialog_history": [{"role": "Patient", "content": "<对检查员讲> …"}, {"role": "Reporter", …}, …]}

One dialogue a line, or an array of them. What a patient says to the examiner (its tag says so, or the examiner's reply
after it) is a request; the tags do not belong to it. A label is one line:

    {"case": "1", "request": "…", "examinations": ["…", …], "also": ["…"]}

`examinations` are those that are ordered and recorded, by the record's names of them or of their items; what `also`
names may be given, and need not. A `request` may be given as `sha256:HEX` of its text (UTF-8, without tag and blanks at
its ends), so that labels can be passed on where the text cannot. Other fields are for the reader of the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.reader import Element, read_elements
from polyclinic.errors import BadInput
from polyclinic.files import split_place

_TAG = re.compile(r"<([^<>]{1,40})>")
_TO_EXAMINER = re.compile(r"(?:对|向|跟|问).*(?:检查员|检验员)|\bto\b.*(?:examiner|reporter)", re.IGNORECASE)
_HASH = "sha256:"


class _RecordedSaid(msgspec.Struct, frozen=True):
    role: str
    content: str


class _ExaminerDialogue(msgspec.Struct, frozen=True):
    patient_id: int | str
    dialog_history: tuple[_RecordedSaid, ...]


class RecordedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a patient asked an examiner for, and what the recorded examiner replied; "" where it did not."""

    case: str
    text: str
    reply: str = ""


class RecordedRequests(NamedTuple):
    """The requests of dialogues whose case is in the case file."""

    requests: tuple[RecordedRequest, ...]
    left_out: int  # dialogues of other cases
    empty: int = 0  # turns to the examiner that ask for nothing


class RequestLabel(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says that a request orders of what is recorded, and what may be given beside."""

    case: int | str
    request: str
    examinations: tuple[str, ...]
    also: tuple[str, ...] = ()


def read_requests_of(paths: Iterable[Path], cases: Mapping[str, Case]) -> RecordedRequests:
    """Reads the requests in recorded dialogues of these cases, by their ids; dialogues of others are left out."""
    found: list[RecordedRequest] = []
    left_out = empty = 0
    for path in paths:
        dialogues = [_typed(element, _ExaminerDialogue, _ALLOWED) for element in read_elements(path)]
        requests = [(str(one.patient_id), tuple(_requests(one))) for one in dialogues]
        if not any(request.text for _, theirs in requests for request in theirs):
            raise BadInput(
                "no request to an examiner stands in it; one is what a patient says behind the tag <对检查员讲> or "
                "<To the examiner>, or before a turn of the role 'Reporter'",
                path=path,
            )
        known = [theirs for case, theirs in requests if case in cases]
        if not known:
            named = ", ".join(dict.fromkeys(case for case, _ in requests[:5]))
            raise BadInput(
                f"none of its {len(requests)} dialogues is of a case in the case file (theirs begin with {named})",
                path=path,
            )
        left_out += len(requests) - len(known)
        turns = [request for theirs in known for request in theirs]
        found += [request for request in turns if request.text]
        empty += sum(not request.text for request in turns)
    if not found:
        raise BadInput("no dialogue of a case in the case file has a request to an examiner")
    return RecordedRequests(tuple(found), left_out, empty)


_ALLOWED = "a dialogue has 'patient_id' and 'dialog_history', turns with 'role' and 'content'"


def _requests(dialogue: _ExaminerDialogue) -> Iterable[RecordedRequest]:
    """Yields what a patient says to the examiner, with no text where it says nothing."""
    turns = dialogue.dialog_history
    for place, turn in enumerate(turns):
        if turn.role.casefold() != "patient":
            continue
        following = turns[place + 1] if place + 1 < len(turns) else None
        reply = following.content if following is not None and following.role.casefold() == "reporter" else ""
        text = _to_examiner(turn.content)
        if text is None and reply:
            text = _TAG.sub("", turn.content).strip()
        if text is not None:
            yield RecordedRequest(case=str(dialogue.patient_id), text=text, reply=reply)


def _to_examiner(content: str) -> str | None:
    """Returns what is said behind tags to the examiner, "" where nothing is; None without such a tag."""
    parts = _TAG.split(content)
    # Text before the first tag, then each tag with the text behind it.
    tagged = [text for tag, text in zip(parts[1::2], parts[2::2], strict=True) if _TO_EXAMINER.search(tag)]
    return "\n".join(part.strip() for part in tagged).strip() if tagged else None


def read_labels(
    path: Path, requests: Sequence[RecordedRequest], cases: Mapping[str, Case]
) -> dict[tuple[str, str], RequestLabel]:
    """Reads what people say that requests order, by case and text."""
    texts: dict[tuple[str, str], str] = {}
    for one in requests:
        for written in (one.text, f"{_HASH}{hashlib.sha256(one.text.encode()).hexdigest()}"):
            texts[one.case, written] = one.text
    labels: dict[tuple[str, str], RequestLabel] = {}
    for element in read_elements(path):
        label = _typed(element, RequestLabel, "a label has 'case', 'request' and 'examinations', a list of names")
        case, request = str(label.case), label.request.strip()
        request = _to_examiner(request) or request  # A label may keep the tag.
        if case not in cases:
            raise element.bad(f"the case {case!r} is not in the case file", "case")
        text = texts.get((case, request.lower() if request.startswith(_HASH) else request))
        if text is None:
            raise element.bad(
                f"no dialogue of the case {case} holds this request ({_short(request)}); a label is of a request word "
                f"for word, or as {_HASH}HEX of it",
                "request",
            )
        if (case, text) in labels:
            raise element.bad(f"this request of the case {case} is labelled twice ({_short(text)})", "request")
        labels[case, text] = msgspec.structs.replace(label, case=case, request=text)
    return labels


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 40 else f"{line[:39]}…")


T = TypeVar("T")


def _typed(element: Element, kind: type[T], allowed: str) -> T:
    try:
        return msgspec.convert(element.fields(), kind)
    except msgspec.ValidationError as error:
        problem, field = split_place(str(error))
        raise element.bad(f"{problem}; {allowed}", field) from None
