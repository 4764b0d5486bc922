"""Minds by the names that the command line gives them.

| name            | plays                      | what it is                                              |
|-----------------|----------------------------|---------------------------------------------------------|
| `rules`         | doctor, patient, examiner  | built in, no model, deterministic                       |
| `scripted:FILE` | doctor, patient            | answers from a JSON file: a list, or a list a purpose   |
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import BadInput, UnknownMind
from polyclinic.events import Role
from polyclinic.files import check_file, decode
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names
from polyclinic.players.doctor import Doctor
from polyclinic.players.examiner import Examiner
from polyclinic.players.mind_rules_doctor import RulesDoctor
from polyclinic.players.mind_rules_examiner import RulesExaminer
from polyclinic.players.mind_rules_patient import RulesPatient
from polyclinic.players.mind_scripted import Script, Scripted
from polyclinic.players.patient import Patient
from polyclinic.players.player import Mind
from polyclinic.seeds import derive

SOMETHING_ELSE = 0.2
"""Prior of the rules doctor that a patient has none of the diseases it knows."""


class Minds:
    """Makes a mind for each role of each visit; what is heavy (tables, scripts) is made once.

    Args:
        doctor: the doctor's mind, by name; or a script for it (see `Scripted`).
        patient: the patient's, likewise.
        examiner: the examiner's, by name.
        knowledge: what the built-in minds know.
        seed: the run's seed; each visit's minds draw from generators derived from it and the case.

    Raises:
        UnknownMind: a name is none of those that can play the role.
        BadInput: a script cannot be read.
    """

    def __init__(
        self,
        *,
        doctor: str | Script = "rules",
        patient: str | Script = "rules",
        examiner: str = "rules",
        knowledge: Knowledge,
        seed: int,
    ) -> None:
        self.seed = seed
        minds: dict[Role, str | Script] = {Role.DOCTOR: doctor, Role.PATIENT: patient, Role.EXAMINER: examiner}
        self.names = {role: mind if isinstance(mind, str) else "scripted" for role, mind in minds.items()}
        self._scripts = {role: _script(role, mind) if isinstance(mind, str) else mind for role, mind in minds.items()}
        self._reader = Reader(knowledge, something_else=SOMETHING_ELSE)
        self.examination_names = Names(knowledge)

    def doctor(self, case: str) -> Mind[Doctor]:
        """Returns a mind for the doctor who sees this case."""
        script = self._scripts[Role.DOCTOR]
        return RulesDoctor(self._reader) if script is None else Scripted(script, name=self.names[Role.DOCTOR])

    def patient(self, case: str) -> Mind[Patient]:
        """Returns a mind for the patient of this case."""
        script = self._scripts[Role.PATIENT]
        if script is not None:
            return Scripted(script, name=self.names[Role.PATIENT])
        rng = derive(self.seed, case, Role.PATIENT)
        return RulesPatient(self._reader.lexicons, self.examination_names, rng)

    def examiner(self, case: str) -> Mind[Examiner]:
        """Returns a mind for the examiner of this case."""
        return RulesExaminer()


def _script(role: Role, name: str) -> Script | None:
    """Returns the script of a scripted mind, or None for `rules`."""
    kind, _, file = name.partition(":")
    if kind == "rules" and not file:
        return None
    if kind != "scripted" or role is Role.EXAMINER:
        allowed = "rules" if role is Role.EXAMINER else "rules, scripted:FILE"
        raise UnknownMind(f"no mind {name!r} can play the {role}; allowed: {allowed}")
    if not file:
        raise UnknownMind(f"the {role}'s mind 'scripted' needs its file: scripted:FILE")
    path = Path(file)
    check_file(path)
    problem = "a script is a JSON list of answers, or an object with such a list for each purpose (open, speak, ...)"
    try:
        script: Any = msgspec.json.decode(decode(path.read_bytes(), path=path))
    except msgspec.DecodeError as error:
        raise BadInput(f"{problem}; this is not JSON: {error}", path=path) from None
    lists = script.values() if isinstance(script, dict) else [script]
    if not isinstance(script, dict | list) or not all(isinstance(answers, list) for answers in lists):
        raise BadInput(problem, path=path)
    return script
