"""How a model judges: from the things to be judged to answers that can be counted.

1. The prompt is a file in the language of the case. Each quoted text is one line between the prompt's lines of equals
   signs, and cannot be mistaken for one.
2. All questions are asked at once.
3. An answer is read into its type. If it cannot be used it is unreadable; a question without an answer has failed.
   Neither counts as a verdict.

A judge is a `Judging`: its prompts, and what it is shown of a thing.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from polyclinic.errors import AccessLost, ModelError, PlayFailure, RunStopped, StoppedByHand, UnknownModel, WrongKey
from polyclinic.events import Role
from polyclinic.language.language import Language
from polyclinic.models.model import Message, Model
from polyclinic.models.pipeline import Call, Hook, Pipeline, with_hooks
from polyclinic.prompts import read_prompts
from polyclinic.tasks import AT_ONCE, run_numbered


class NotAsked(PlayFailure):
    """The run ended before the judge was asked."""


class UntilStopped(Hook):
    """Asks models until the run is stopped or its budget is spent; every later question is `NotAsked`.

    A judge that can no longer be asked also stops the run, unless it `judges_as_it_goes`: then its error is raised.
    `stopped` is the cause; `answers` counts questions with an answer or a failure, `not_asked` the others.
    """

    def __init__(self, *, is_stopped: Callable[[], bool] = lambda: False, judges_as_it_goes: bool = False) -> None:
        self._judges_as_it_goes = judges_as_it_goes
        self.is_stopped = is_stopped
        self.stopped: RunStopped | None = None
        self.answers = self.not_asked = 0
        self._name = ""

    def of(self, model: Model) -> Pipeline:
        """Returns the model, asked until it is stopped."""
        self._name = model.name
        return with_hooks(model, self)

    @property
    def ending(self) -> RunStopped | None:
        """What ended it, with how many of its questions are missing; None where nothing did."""
        if self.stopped is None:
            return None
        asked = self.not_asked + self.answers
        return type(self.stopped)(
            f"{self.stopped}; {self.not_asked} of {asked} questions to {self._name} are not asked"
        )

    async def admitted(self, call: Call) -> None:
        """Refuses a question once somebody stopped the run."""
        if self.is_stopped():
            raise self._not_asked(StoppedByHand("interrupted"))

    async def answered(self, call: Call) -> None:
        """Counts an answer."""
        self.answers += 1

    async def failed(self, call: Call) -> None:
        """Counts a failure; a question whose failure ends the run is `NotAsked`."""
        failure = call.failure
        if isinstance(failure, RunStopped):
            call.failure = self._not_asked(failure)
        elif isinstance(failure, WrongKey | UnknownModel) and not self._judges_as_it_goes:
            # What is judged is over by then, and paid for.
            call.failure = self._not_asked(AccessLost(str(failure)))
        elif isinstance(failure, PlayFailure):
            self.answers += 1

    def _not_asked(self, stopped: RunStopped) -> NotAsked:
        self.stopped = self.stopped or stopped
        self.not_asked += 1
        return NotAsked(str(stopped))


Item = TypeVar("Item")

# Three equals signs of any width, also with characters between them that nobody sees.
_FENCE = re.compile(r"[=＝﹦](?:[\u200b-\u200f\u2060\ufeff]*[=＝﹦]){2,}")

_SPEAKERS: dict[Language, dict[Role, str]] = {
    "en": {Role.DOCTOR: "Doctor", Role.PATIENT: "Patient", Role.EXAMINER: "Examination department"},
    "zh": {Role.DOCTOR: "医生", Role.PATIENT: "病人", Role.EXAMINER: "检查科"},
}


class Exhibit(NamedTuple):
    """What a judge is shown of one thing, and what it is asked."""

    language: Language
    system: str  # the section of the prompt file that says how to judge
    shown: tuple[str, ...]  # the sections that show the thing
    texts: Mapping[str, Iterable[str]]  # what is quoted, by blank; a blank that a section does not have is not shown
    answer: Any
    purpose: str


def quoted(text: str) -> str:
    """Returns a text as a judge is shown it: on one line, without rows of equals signs that could end the quotation."""
    return _FENCE.sub("=", " ".join(text.split()))


def spoken(who: Role, text: str, language: Language) -> str:
    """Returns an utterance as a judge is shown it."""
    colon = "：" if language == "zh" else ": "
    return f"{_SPEAKERS[language][who]}{colon}{text}"


def answer_type(name: str, fields: Iterable[tuple[str, Any]]) -> type[msgspec.Struct]:
    """Returns the type of a judge's answer, which has these fields in this order and no others."""
    return msgspec.defstruct(name, fields, frozen=True, forbid_unknown_fields=True)


class Ruling(NamedTuple):
    """What came of asking a judge: the value of its answer, or the failure where none can be used."""

    value: Any
    failure: PlayFailure | None = None

    @property
    def error(self) -> str:
        """The name of the failure; "" where there was none."""
        return "" if self.failure is None else type(self.failure).__name__

    @property
    def failed(self) -> bool:
        """Whether no answer came at all; otherwise one came, though perhaps one that cannot be used."""
        return self.failure is not None and not isinstance(self.failure, ModelError)

    @property
    def said(self) -> dict[str, Any]:
        """The fields of the answer, or `error` and `failed` where none can be used."""
        if self.failure is not None:
            return {"error": self.error, "failed": self.failed}
        return msgspec.structs.asdict(self.value)


class Memory:
    """What a judge has said, so that an equal question is asked once. What no endpoint answered is asked anew."""

    def __init__(self) -> None:
        self._said: dict[bytes, Ruling] = {}
        self._asking: defaultdict[bytes, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def recall(self, messages: list[Message], ask: Callable[[], Awaitable[Ruling]]) -> Ruling:
        """Returns what was said to a question, after asking where nothing was."""
        key = hashlib.blake2b(msgspec.json.encode(messages), digest_size=16).digest()
        async with self._asking[key]:
            ruling = self._said.get(key) or await ask()
            if not ruling.failed:
                self._said[key] = ruling
            return ruling


@dataclass(frozen=True)
class Judging(Generic[Item]):
    """A judge."""

    path: Path  # the prompt file, the English one
    show: Callable[[Item], Exhibit]
    bullet: str = "- "  # what every quoted text begins with

    @functools.cached_property
    def prompts(self) -> str:
        """The hash of the prompts in both languages: other prompts give other results."""
        texts = b"".join(file.read_bytes() for file in (self.path, self.path.with_suffix(".zh.md")))
        return hashlib.sha256(texts).hexdigest()[:16]

    def messages(self, item: Item) -> list[Message]:
        """Returns the messages by which the judge is asked about a thing."""
        exhibit = self.show(item)
        prompts = read_prompts(self.path)[exhibit.language]
        nothing = [prompts("nothing")] if "nothing" in prompts.blanks else []

        def lines(texts: Iterable[str]) -> str:
            return "\n".join(self.bullet + line for line in list(filter(None, map(quoted, texts))) or nothing)

        def filled(section: str) -> str:
            blanks = prompts.blanks.get(section, frozenset()) & exhibit.texts.keys()
            return prompts(section, **{blank: lines(exhibit.texts[blank]) for blank in blanks})

        return [("system", prompts(exhibit.system)), ("user", "\n\n".join(map(filled, exhibit.shown)))]

    async def judge(
        self,
        items: Iterable[Item],
        model: Model,
        *,
        temperature: float | None = None,
        memory: Memory | None = None,
        advance: Callable[[], None] = lambda: None,
    ) -> list[Ruling]:
        """Has things judged, all at once; returns one ruling for each, in order, also if the model fails.

        `advance` is called after each question; a `temperature` of None is left to the server. With `UntilStopped`,
        rulings from before the stop remain, and the others are `NotAsked`.
        """

        async def ask(item: Item) -> Ruling:
            exhibit, messages = self.show(item), self.messages(item)

            async def put() -> Ruling:
                asked: dict[str, Any] = {"temperature": temperature, "purpose": exhibit.purpose}
                try:
                    return Ruling((await model.ask(messages, answer=exhibit.answer, **asked)).value)
                except PlayFailure as failure:
                    return Ruling(None, failure.with_traceback(None))

            return await (put() if memory is None else memory.recall(messages, put))

        hooks, at_once = (model.hooks, model.at_once) if isinstance(model, Pipeline) else ((), AT_ONCE)
        until = next((hook for hook in hooks if isinstance(hook, UntilStopped)), None)
        every = [partial(ask, item) for item in items]
        is_stopped = (lambda: False) if until is None else until.is_stopped
        ruled, error = await run_numbered(every, at_once=at_once, advance=advance, is_stopped=is_stopped)
        if error is not None:
            if until is None or not isinstance(error, RunStopped):
                raise error
            until.stopped = until.stopped or error
            until.not_asked += len(every) - len(ruled)
        lost = Ruling(None, NotAsked(str(error)))
        return [ruled.get(number, lost) for number in range(len(every))]


def failures(judged: Iterable[Any]) -> tuple[dict[str, int], dict[str, int]]:
    """Returns the number of unusable answers and of unanswered questions, by the name of the failure."""
    lost = [one for one in judged if one.error]
    unreadable = Counter(one.error for one in lost if not one.failed)
    return dict(unreadable), dict(Counter(one.error for one in lost if one.failed))
