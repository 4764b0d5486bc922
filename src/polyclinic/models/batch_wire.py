"""Batches as the wire has them: `/files` and `/batches` of OpenAI, and of whoever offers the same."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TypeVar

import msgspec

from polyclinic.models.wire import whole_characters

T = TypeVar("T")


class BatchProblem(msgspec.Struct):
    """What is wrong with a batch."""

    message: str | None = None


class BatchProblems(msgspec.Struct):
    """All that is wrong with a batch."""

    data: list[BatchProblem] | None = None


class BatchCounts(msgspec.Struct):
    """How many requests of a batch are done."""

    completed: int = 0
    failed: int = 0


class BatchState(msgspec.Struct):
    """What the endpoint says of a batch, as far as we read it."""

    id: str
    status: str = ""
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: BatchProblems | None = None
    metadata: dict[str, str] | None = None
    request_counts: BatchCounts | None = None

    @property
    def answers(self) -> int:
        """How many lines its files are to have, as far as it says."""
        return 0 if self.request_counts is None else self.request_counts.completed + self.request_counts.failed

    @property
    def refused(self) -> str:
        """Why it was not begun."""
        problems = (self.errors.data if self.errors is not None else None) or []
        return next((one.message for one in problems if one.message), "it says no reason")


class BatchList(msgspec.Struct):
    """The batches that the endpoint has."""

    data: list[BatchState]


class MadeFile(msgspec.Struct):
    """A file that was sent."""

    id: str


class BatchResponse(msgspec.Struct):
    """What the model's server said to one request of a batch."""

    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"{}")


class BatchLine(msgspec.Struct):
    """A line of a batch's output, or of its errors: what came of one request."""

    custom_id: str
    response: BatchResponse | None = None


def decoded(raw: bytes, type_: type[T]) -> T | None:
    """Returns what a body says, None where it is something else."""
    for text in (raw, whole_characters(raw)):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return msgspec.json.decode(text, type=type_)
    return None


def multipart(data: bytes) -> tuple[bytes, str]:
    """Returns a file for batches as a form, and the form's kind."""
    boundary = f"polyclinic-{hashlib.blake2b(data, digest_size=12).hexdigest()}"
    parts = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="questions.jsonl"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    return parts.encode() + data + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"
