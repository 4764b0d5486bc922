"""The rules patient: answers out of its record without a model."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from polyclinic.cases.presentation import Language
from polyclinic.events import State
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.names import EXAMINATION, Names
from polyclinic.players.patient import Patient
from polyclinic.players.player import Ask, PatientTurn, Purpose


class RulesPatient:
    """Answers by rules."""

    def __init__(self, lexicons: Mapping[Language, Lexicon], names: Names, rng: random.Random) -> None:
        self._lexicons, self._names, self._rng = lexicons, names, rng

    @property
    def name(self) -> str:
        """How the command line calls it."""
        return "rules"

    async def answer(self, ask: Ask[Any], role: Patient) -> object:
        """Answers."""
        if ask.purpose is Purpose.OPEN:
            return PatientTurn(say=role.presentation.complaint, state=State.OPENING)
        heard = role.heard()
        if role.setting == "ward" and (self._names.find(heard) or EXAMINATION.search(heard)):
            return PatientTurn(say=heard, to="examiner", state=State.EFFECTIVE_ADVICE)
        asked = self._lexicons[role.presentation.language].read(heard)
        texts = [t for _, t in role.history.sections()]
        held = [t for t in texts if asked.keys() & self._lexicons[role.presentation.language].read(t).keys()]
        if held:
            return PatientTurn(say=held[0], state=State.EFFECTIVE_INQUIRY)
        return PatientTurn(say="No.", state=State.INEFFECTIVE_INQUIRY)
