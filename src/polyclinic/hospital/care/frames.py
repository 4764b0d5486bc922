"""What a pool and its workers say to one another: frames of MessagePack behind their length."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.record.episodes import Episode, EpisodeRequest, LearnDone, LearnRequest
from polyclinic.memory.published import Publication
from polyclinic.models.limits import AnswerWanted
from polyclinic.models.share import Share

M = TypeVar("M")

_HEAD = 4
"""Bytes that hold a frame's length."""


class WorkerSetup(msgspec.Struct, frozen=True, tag="hello"):
    """What a worker opens its clinic with; the first that it is told."""

    setup: Setup
    share: Share


class ClinicOpen(msgspec.Struct, frozen=True, tag="ready"):
    """The clinic is open."""


class EpisodeTask(msgspec.Struct, frozen=True, tag="task"):
    """An episode to compute."""

    number: int
    request: EpisodeRequest
    wanted: AnswerWanted


class EpisodeDone(msgspec.Struct, frozen=True, tag="done"):
    """It is computed."""

    number: int
    episode: Episode


class ToLearn(msgspec.Struct, frozen=True, tag="learn"):
    """A lesson to draw, or something to read."""

    number: int
    request: LearnRequest


class LessonDone(msgspec.Struct, frozen=True, tag="drawn"):
    """It is drawn, or read."""

    number: int
    done: LearnDone


class MemoryNews(msgspec.Struct, frozen=True, tag="learnt"):
    """What doctors remember from now on; the tasks that read it come after it."""

    publication: Publication


class RunOver(msgspec.Struct, frozen=True, tag="ended"):
    """What ends the run: `kind` names an error of who uses it, or is "" for a mistake of ours."""

    kind: str
    problem: str


class NoMoreQuestions(msgspec.Struct, frozen=True, tag="spent"):
    """A budget is spent: no model is asked anything more, and what is under way ends at its next question."""


ToWorker = WorkerSetup | EpisodeTask | ToLearn | MemoryNews | NoMoreQuestions
FromWorker = ClinicOpen | EpisodeDone | LessonDone | RunOver

_encode = msgspec.msgpack.Encoder().encode
to_worker = msgspec.msgpack.Decoder(list[ToWorker])
from_worker = msgspec.msgpack.Decoder(list[FromWorker])


def frame(messages: Sequence[ToWorker | FromWorker]) -> bytes:
    """Returns messages as they travel."""
    body = _encode(messages)
    return len(body).to_bytes(_HEAD) + body


async def received(stream: asyncio.StreamReader, decoder: msgspec.msgpack.Decoder[list[M]]) -> list[M]:
    """Returns what the next frame holds; nothing where the stream has ended."""
    try:
        head = await stream.readexactly(_HEAD)
        return decoder.decode(await stream.readexactly(int.from_bytes(head)))
    except asyncio.IncompleteReadError:
        return []
