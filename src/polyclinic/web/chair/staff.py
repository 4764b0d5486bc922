"""Who plays beside the person in the chair: patients, doctors who see the same case, and a judge; opened once.

Models answer from a journal in the practice's folder, so that a visit that is held once more comes out the same.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyclinic.errors import UserError
from polyclinic.judging.director import Judge, ModelJudge
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.models.settings import ModelSettings
from polyclinic.players.mind_names import HUMAN, model_of
from polyclinic.players.minds import Cast, Minds, OpenMinds, open_minds


@dataclass(frozen=True, kw_only=True)
class OfferedPlayers:
    """Who may play, by the names that the command line uses."""

    patients: tuple[str, ...] = ("rules",)  # minds for the patient that a player may choose from
    beside: tuple[str, ...] = ("rules",)  # doctors who see the same patient, to be compared with
    judge: str = ""  # a model that grades reports; "" for rules
    models: ModelSettings = field(default_factory=ModelSettings)  # how models are reached


class Staff:
    """Opens minds when they are first needed; journals are kept in a folder."""

    def __init__(self, players: OfferedPlayers, knowledge: Knowledge, folder: Path) -> None:
        self.players, self._knowledge, self._folder = players, knowledge, folder
        self._opened: dict[str, OpenMinds] = {}
        self._opening = asyncio.Lock()
        self._closing = AsyncExitStack()
        self._judge: Judge | None = None

    def check_patient(self, name: str) -> None:
        """Raises a UserError where no patient of that name is offered."""
        if name not in self.players.patients:
            raise UserError(f"there is no such patient; choose from: {', '.join(self.players.patients)}")

    async def minds(self, patient: str, doctor: str = HUMAN) -> Minds:
        """Returns who plays with a patient."""
        self.check_patient(patient)
        return (await self._open(doctor, patient)).minds[doctor]

    async def judge(self) -> Judge | None:
        """Returns the model that judges; None where rules do."""
        if self.players.judge and self._judge is None:
            opened = await self._open(HUMAN, self.players.patients[0], (self.players.judge,))
            self._judge = ModelJudge(opened.judge(self.players.judge))
        return self._judge

    async def close(self) -> None:
        """Closes all that was opened."""
        await self._closing.aclose()

    async def _open(self, doctor: str, patient: str, others: Sequence[str] = ()) -> OpenMinds:
        key = " ".join((doctor, patient, *others))
        async with self._opening:
            if key not in self._opened:
                asked = any(model_of(name) is not None for name in (doctor, patient, *others))
                journal = self._folder / f"{re.sub(r'[^A-Za-z0-9.-]+', '_', key)}.journal" if asked else None
                kept: dict[str, Any] = {"knowledge": self._knowledge, "seed": 0, "journal": journal, "others": others}
                opening = open_minds([doctor], Cast(patient=patient), self.players.models, **kept)
                self._opened[key] = await self._closing.enter_async_context(opening)
            return self._opened[key]
