"""Minds by the names that the command line gives them.

| name                  | plays                     | what it is                                              |
|-----------------------|---------------------------|---------------------------------------------------------|
| `rules`               | everybody                 | built in, no model, deterministic                       |
| `scripted:FILE`       | all but the examiner      | answers from a JSON file: a list, or a list a purpose   |
| a model's name        | everybody                 | a language model: `local`, `direct/NAME`, `openai/NAME` |
| `saps:MODEL`          | patient                   | the state-aware patient on a model                      |
| `saps-parallel:MODEL` | patient                   | the same, its tracker's questions asked at once         |
| `human`               | nurse                     | a person at the terminal                                |
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from polyclinic.errors import BadInput, UnknownMind
from polyclinic.events import Role
from polyclinic.files import check_file, decode
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Model
from polyclinic.players.human_nurse import HumanNurse
from polyclinic.players.language_model.mind import ModelMind
from polyclinic.players.language_model.saps import Saps, Tracker
from polyclinic.players.player import Mind
from polyclinic.players.roles.director import Director
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.roles.nurse import Nurse
from polyclinic.players.roles.patient import Patient
from polyclinic.players.roles.pharmacist import Pharmacist
from polyclinic.players.rules.director import RulesDirector
from polyclinic.players.rules.doctor import RulesDoctor
from polyclinic.players.rules.examiner import RulesExaminer
from polyclinic.players.rules.nurse import RulesNurse
from polyclinic.players.rules.patient import RulesPatient
from polyclinic.players.rules.pharmacist import RulesPharmacist
from polyclinic.players.scripted import Script, Scripted
from polyclinic.seeds import derive

_MODELS = "local, local/FILE.gguf, direct/NAME (with --base-url), or a name that Inspect knows, such as openai/NAME"

_SAPS: dict[str, Tracker] = {"saps": "staged", "saps-parallel": "parallel"}

SOMETHING_ELSE = 2
"""To the rules doctor, none of the diseases it knows is as likely beforehand as so many of them together: 20 % where it
knows eight, 4 % where it knows fifty. Who knows more meets less that is unknown."""


HUMAN = "human"
"""Who plays where a person does, at the terminal."""


def is_model(name: str) -> bool:
    """Whether a mind's name is the name of a language model."""
    return name.partition("/")[0] == "local" or "/" in name.partition(":")[0]


def model_of(name: str) -> str | None:
    """Returns the name of the language model that a mind needs, or None: `saps:direct/x` needs `direct/x`."""
    kind, _, model = name.partition(":")
    named = model if kind in _SAPS else name
    return named if is_model(named) else None


class Seat(NamedTuple):
    """A doctor's place in a team; 0 is none. Each seat of each team has answers in a journal of its own.

    Attributes:
        number: from 1.
        team: names the team, differently from every other that sees the same case in a run.
    """

    number: int = 0
    team: str = ""


ALONE = Seat()


class Minds:
    """Makes a mind for each role of each visit; what is heavy (tables, scripts, models) is made once.

    Args:
        doctor: the doctor's mind, by name; or a script for it (see `Scripted`).
        patient: the patient's, likewise.
        examiner: the examiner's, by name.
        director: the director's, who chairs where several doctors discuss, like the doctor's.
        nurse: the nurse's, like the doctor's.
        pharmacist: the pharmacist's, likewise.
        knowledge: what the built-in minds know.
        seed: the run's seed; each visit's minds draw from generators derived from it and the case.
        models: the language models that the minds need (`model_of`), by name, opened.
        journal: keeps every answer of a model; each visit is an episode.
        ledger: sums what the models cost, and holds the limits.
        temperature: of the models; None leaves it to the server.

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
        director: str | Script = "rules",
        nurse: str | Script = "rules",
        pharmacist: str | Script = "rules",
        knowledge: Knowledge,
        seed: int,
        models: Mapping[str, Model] | None = None,
        journal: Journal | None = None,
        ledger: Ledger | None = None,
        temperature: float | None = None,
    ) -> None:
        self.seed = seed
        minds: dict[Role, str | Script] = {
            Role.DOCTOR: doctor,
            Role.PATIENT: patient,
            Role.EXAMINER: examiner,
            Role.DIRECTOR: director,
            Role.NURSE: nurse,
            Role.PHARMACIST: pharmacist,
        }
        self.names = {role: mind if isinstance(mind, str) else "scripted" for role, mind in minds.items()}
        self._models = dict(models or {})
        self._journal, self._temperature = journal, temperature
        self._ledgers = () if ledger is None else (ledger,)
        self._scripts = {
            role: self._script(role, mind) if isinstance(mind, str) else mind for role, mind in minds.items()
        }
        self._reader, self.examination_names = _tables(knowledge)
        self._readers: dict[str, Reader] = {}
        self._departments = frozenset(disease.department for disease in knowledge.diseases.values())
        # It remembers nothing of a patient, so one is enough for all; who needs none does not wait for its tables.
        self._rules_nurse = functools.cache(lambda: RulesNurse(self._reader))
        self._human_nurse = functools.cache(HumanNurse)

    def doctor(self, case: str, *, seat: Seat = ALONE, department: str = "") -> Mind[Doctor]:
        """Returns a mind for the doctor who sees this case; alone, or in a seat of a team.

        Args:
            case: names the visit.
            seat: which doctor of a team.
            department: whose doctor; a doctor with rules then knows the diseases of this department alone.
        """
        episode = self._episode(case, seat)
        mind = self._model(Role.DOCTOR, episode) or self._scripted(Role.DOCTOR)
        return mind or RulesDoctor(self.reader(department))

    def patient(self, case: str, *, seat: Seat = ALONE) -> Mind[Patient]:
        """Returns a mind for the patient of this case, whom the doctor in that seat sees."""
        episode = self._episode(case, seat)
        rng = derive(self.seed, case, Role.PATIENT, *([seat.number] if seat.number else []))
        rules = RulesPatient(self._reader.lexicons, self.examination_names, rng)
        return self._model(Role.PATIENT, episode) or self._saps(episode) or self._scripted(Role.PATIENT) or rules

    def examiner(self, case: str, *, seat: Seat = ALONE) -> Mind[Examiner]:
        """Returns a mind for the examiner of this case, on whom the doctor in that seat calls."""
        return self._model(Role.EXAMINER, self._episode(case, seat)) or RulesExaminer()

    def director(self, case: str, *, team: str) -> Mind[Director]:
        """Returns a mind for the director of the discussion of this case by a team."""
        episode = f"{self.names[Role.DIRECTOR]} {case}/director of {team}"
        return self._model(Role.DIRECTOR, episode) or self._scripted(Role.DIRECTOR) or RulesDirector(self._reader)

    def nurse(self, case: str) -> Mind[Nurse]:
        """Returns a mind for the nurse who receives the patient of this case."""
        episode = self._staff_episode(case, Role.NURSE)
        if self.names[Role.NURSE] == HUMAN:
            return self._human_nurse()
        return self._model(Role.NURSE, episode) or self._scripted(Role.NURSE) or self._rules_nurse()

    def pharmacist(self, case: str) -> Mind[Pharmacist]:
        """Returns a mind for the pharmacist to whom the patient of this case brings a prescription."""
        episode = self._staff_episode(case, Role.PHARMACIST)
        return self._model(Role.PHARMACIST, episode) or self._scripted(Role.PHARMACIST) or RulesPharmacist()

    def reader(self, department: str = "") -> Reader:
        """Returns the reader of the whole knowledge, or of one department's where it has diseases; made once."""
        # A department without a disease of its own sees what the others send.
        if department not in self._departments:
            return self._reader
        if department not in self._readers:
            self._readers[department] = _reader_of(self._reader.knowledge.select(department))
        return self._readers[department]

    def on(self, ledger: Ledger) -> Minds:
        """Returns the same minds, who write down what they cost in this ledger as well."""
        minds = copy.copy(self)
        minds._ledgers = (*self._ledgers, ledger)
        return minds

    def forget(self, case: str) -> None:
        """Frees what a journal holds of a case that is over, seen by one doctor; nothing more may be asked of it."""
        if self._journal is not None:
            self._journal.forget(self._episode(case, ALONE))
            for role in (Role.NURSE, Role.PHARMACIST):
                self._journal.forget(self._staff_episode(case, role))

    def _staff_episode(self, case: str, role: Role) -> str:
        return f"{self.names[role]} {case}/{role}"

    def _episode(self, case: str, seat: Seat) -> str:
        """Names the part of a run that a visit is, for a journal."""
        alone = f"{self.names[Role.DOCTOR]} {case}"
        return f"{alone}/doctor {seat.number} of {seat.team}" if seat.number else alone

    def _scripted(self, role: Role) -> Scripted | None:
        script = self._scripts[role]
        return None if script is None else Scripted(script, name=self.names[role])

    def _model(self, role: Role, episode: str) -> ModelMind | None:
        """Returns the mind of a role that is a language model itself, or None."""
        name = self.names[role]
        model = self._opened(role, episode)
        if model is None or name.partition(":")[0] in _SAPS:
            return None
        return ModelMind(model, name=name, temperature=self._temperature)

    def _saps(self, episode: str) -> Saps | None:
        """Returns the state-aware patient, or None where the patient is another."""
        name = self.names[Role.PATIENT]
        tracker = _SAPS.get(name.partition(":")[0])
        model = self._opened(Role.PATIENT, episode)
        if model is None or tracker is None:
            return None
        return Saps(model, name=name, tracker=tracker, temperature=self._temperature)

    def _opened(self, role: Role, episode: str) -> Model | None:
        """Returns the model that a role's mind needs, with what is kept and summed of its answers."""
        model = self._models.get(model_of(self.names[role]) or "")
        if model is None:
            return None
        if self._journal is not None:
            model = self._journal.wrap(model, episode=episode)
        for ledger in self._ledgers:
            model = ledger.meter(model, role)
        return model

    def _script(self, role: Role, name: str) -> Script | None:
        """Returns the script of a scripted mind, or None for `rules` and for what a model plays."""
        plays = role is Role.PATIENT or name.partition(":")[0] not in _SAPS
        return None if plays and model_of(name) in self._models else read_script(role, name)


def _reader_of(knowledge: Knowledge) -> Reader:
    return Reader(knowledge, something_else=SOMETHING_ELSE / (SOMETHING_ELSE + len(knowledge.diseases)))


@functools.lru_cache(maxsize=4)
def _tables(knowledge: Knowledge) -> tuple[Reader, Names]:
    """Returns what all minds of one knowledge look up; it takes a moment to make, and never changes."""
    return _reader_of(knowledge), Names(knowledge)


def read_script(role: Role, name: str) -> Script | None:
    """Returns the script of a scripted mind, or None for `rules`.

    Raises:
        UnknownMind: the name is neither; a model's name comes here only where it was not opened.
        BadInput: the script cannot be read.
    """
    kind, _, file = name.partition(":")
    if (kind == "rules" and not file) or (name == HUMAN and role is Role.NURSE):
        return None
    if kind != "scripted" or role is Role.EXAMINER:
        allowed = "rules" if role is Role.EXAMINER else "rules, scripted:FILE"
        allowed += ", saps:MODEL, saps-parallel:MODEL" if role is Role.PATIENT else ""
        allowed += ", human" if role is Role.NURSE else ""
        raise UnknownMind(f"no mind {name!r} can play the {role}; allowed: {allowed}, or a model: {_MODELS}")
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
