"""What a clinic is made from, as plain values."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.errors import UserError
from polyclinic.hospital.plan.plan import Member
from polyclinic.language.language import Language
from polyclinic.models.model import Price
from polyclinic.models.settings import ModelSettings, read_price
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


def plain_settings(models: ModelSettings) -> dict[str, Any]:
    """Returns how models are asked as the fields of a `Setup`."""
    known = {field.name for field in fields(ModelSettings)}
    settings = {name: value for name, value in asdict(models).items() if name in known}
    settings["longest_answer"] = settings.pop("max_tokens")  # in a run of before 1.9, max_tokens was the budget
    settings["price"] = read_price(models.price)
    settings["model_file"] = None if models.model_file is None else str(models.model_file.resolve())
    return settings


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
    base_url: str | list[str] | None = None  # the endpoint's address, up to `/v1`
    api_key_env: str = "OPENAI_API_KEY"  # the environment variable that holds the key
    model_file: str | None = None  # where each model and role is asked, and how; read when the run begins or goes on
    concurrency: int | None = None  # questions at a time to an endpoint, over all workers; None adapts
    requests_per_minute: float | None = None  # to a model, over all workers; None for any number
    tokens_per_minute: float | None = None  # of prompts and answers, the same
    temperature: float | None = None  # of the models; None leaves it to the server
    journal: str = ""  # the file or the database that keeps every answer; "" for none
    run: str = ""  # names the run in the journal
    longest_answer: int | None = None  # tokens; None leaves it to the server
    hooks: list[str] | None = None  # around every call of a model
    token_budget: int | None = None  # in and out, over all workers; the run ends when one has used its share
    cost_budget: float | None = None  # in the currency of the prices
    timeout: float | None = None  # seconds that one call may take; None for the provider's own
    wait_for_server: float | None = None  # seconds, while it is away; None for not at all
    dry_run: bool = False  # no model is asked, and an estimate of the cost ends the run
    price: Price | None = None  # what tokens cost

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

    @property
    def options(self) -> ModelSettings:
        """How models are asked."""
        same: dict[str, Any] = {field.name: getattr(self, field.name, None) for field in fields(ModelSettings)}
        same |= {
            "model_file": None if self.model_file is None else Path(self.model_file),
            "max_tokens": self.longest_answer,
            "price": None if self.price is None else str(self.price),
        }
        return ModelSettings(**same)
