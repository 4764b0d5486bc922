"""What a clinic is made from, as plain values."""

from __future__ import annotations

from typing import Literal

import msgspec

from polyclinic.errors import UserError
from polyclinic.hospital.plan.plan import Member
from polyclinic.language.language import Language
from polyclinic.models.settings import ModelSettings
from polyclinic.players.mind_names import model_of
from polyclinic.players.minds import Cast
from polyclinic.players.roles.staff import MAX_QUESTIONS
from polyclinic.visits.consultation import MAX_TURNS

MemoryHolder = Literal["doctor", "department"]
Feedback = Literal["truth", "outcome"]

MAX_REFERRALS = 2
"""A patient is sent on so often at most; then the last report stands."""


class LearningSetup(msgspec.Struct, frozen=True, kw_only=True):
    """How doctors learn from their patients."""

    learns: bool = True  # else they only remember what they brought
    holder: MemoryHolder = "doctor"  # whose a memory is: each doctor's, or its department's
    feedback: Feedback = "truth"  # what is learnt of a patient: what was right, or only how it went on
    language: Language = "en"  # of the patients
    brought: str = ""  # the folder of what all of them remember from before; "" for nothing
    version: str = ""  # names what is in it
    reads: str = ""  # the corpus that is read off shift, by its name or folder; "" for none
    passages: int = 1  # of it that each reads a day, or each department


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What episodes are computed with; plain values, so that another process can open the same."""

    seed: int  # the run's
    doctor: str = "rules"  # who plays, by name as on the command line; so are the four that follow
    patient: str = "rules"
    nurse: str = "rules"
    examiner: str = "rules"
    pharmacist: str = "rules"
    knowledge: str = ""  # the folder of the medical knowledge; "" for the package's own
    diseases: str = "all"  # which of them the hospital knows, as `Knowledge.select` takes it
    max_turns: int = MAX_TURNS  # a doctor's turns a consultation
    nurse_questions: int = MAX_QUESTIONS  # at the door
    max_referrals: int = MAX_REFERRALS  # a visit
    max_examinations: int | None = None  # a visit, referrals included; None for as many as are ordered
    free_examinations: tuple[str, ...] = ()  # ids of those that do not count among them
    candidates: bool = False  # doctors are told the diseases among which the diagnosis is
    learning: LearningSetup | None = None  # how doctors learn, or remember what they brought; None: they do neither
    hospital: dict[str, str] = {}  # its name by language
    staff: dict[str, Member] = {}  # the doctors, by id
    traces: bool = False  # whether episodes hold traces, which take most of their memory
    departments: dict[str, dict[str, str]] = {}  # id to name by language, for the nurse; the id where there is none
    journal: str = ""  # the file or the database that keeps every answer; "" for none
    run: str = ""  # names the run in the journal
    models: ModelSettings = ModelSettings()  # how models are asked

    def __post_init__(self) -> None:
        for role, name in (("doctor", self.doctor), *vars(self.cast).items()):
            if not isinstance(name, str):
                raise UserError(f"{role}={name!r}: a run keeps who plays by name, such as 'rules' or 'FILE.py:NAME'")

    @property
    def cast(self) -> Cast:
        """Who plays beside the doctor."""
        return Cast(patient=self.patient, nurse=self.nurse, examiner=self.examiner, pharmacist=self.pharmacist)

    @property
    def asks_models(self) -> bool:
        """Whether a language model plays."""
        return any(model_of(mind) is not None for mind in (self.doctor, *self.cast.minds))
