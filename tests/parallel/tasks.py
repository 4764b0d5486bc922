"""Tasks for workers, which import them from here."""

import asyncio
import os
import signal
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from polyclinic.errors import BadInput, EndpointError
from polyclinic.models.journal import Journal
from polyclinic.models.model import Reply, Usage
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import OpenModels, Session
from polyclinic.models.settings import ModelSettings


@dataclass(frozen=True)
class Squares:
    """Squares numbers; says which process did."""

    seconds: float = 0.0

    @asynccontextmanager
    async def open(self, side):
        async def compute(item, _side):
            if item == "lock":
                return lambda: None  # which no other process can be sent
            if item == "pace":
                return side.share.of
            if item == "wrong":
                raise BadInput("no number", path="numbers.txt", line=3)
            if item == "failed":
                raise EndpointError("nobody there", attempts=4)
            await asyncio.sleep(self.seconds)
            return item**2, os.getpid()

        yield compute


@dataclass(frozen=True)
class Unopened:
    @asynccontextmanager
    async def open(self, side):
        raise BadInput("no such file", path="cases.jsonl")
        yield


def _is_there(path):
    return Path(path).exists()


class Fake:
    """A model that writes down each question in a file; the endpoint of all workers."""

    name, address, addresses, variant, limit = "fake", "", (), "", None

    def __init__(self, asked):
        self._asked = asked

    async def ask(self, messages, *, answer=None, **options):
        with open(self._asked, "a") as file:  # noqa: PTH123, ASYNC230
            file.write(f"{messages}\n")
        await asyncio.sleep(0.02)
        return Reply(f"answer to {messages}", f"answer to {messages}", Usage(tokens_in=6, tokens_out=4))


@dataclass(frozen=True)
class Asks:
    """Asks a model several questions an item; dies once at the item that is named, when the answers are there."""

    asked: str
    questions: int = 3
    dies_at: str = ""
    always: bool = False
    settings: ModelSettings = field(default_factory=ModelSettings)
    episode: str = ""

    @asynccontextmanager
    async def open(self, side):
        ledger = side.ledger(self.settings)
        async with Journal(side, run="test") as journal:
            session = Session(OpenModels({"fake": Fake(self.asked)}), journal, ledger)

            async def compute(item, _side):
                model = session.model("fake", Asker("doctor", self.episode or item))
                said = [(await model.ask(f"{self.episode or item} {n}")).text for n in range(self.questions)]
                if item == self.dies_at and (self.always or not _is_there(f"{self.asked}.died")):
                    with open(f"{self.asked}.died", "w"):  # noqa: PTH123, ASYNC230
                        os.kill(os.getpid(), signal.SIGKILL)
                return said

            yield compute
