"""Protocols: settings as the paper has them and as we do, each with its section; the settings of each paper, typed.

A setting that is added here is added to the paper's file, `polyclinic/protocols/NAME.yaml`, with its section.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Generic, Literal, TypeVar

import msgspec

from polyclinic.events import Order
from polyclinic.language.language import Language
from polyclinic.players.mind_names import KINDS, MODEL

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

Side = Literal["ours", "paper"]
"""As we do it by default, which may be better; or as the paper does."""

if TYPE_CHECKING:
    MindKind = str
else:
    MindKind = Literal[("any", MODEL.name, *KINDS)]
"""What may play a role: anything, a language model, or a kind of mind with a name of its own (`KINDS`)."""


class PaperSetting(msgspec.Struct, Generic[T], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One choice: the paper's, and ours where it is another."""

    paper: T
    ours: T | msgspec.UnsetType = msgspec.UNSET
    section: str  # where the paper says so; "not given" where the paper does not
    why: str = ""  # in what ours is better, or why it is another

    def of(self, side: Side) -> T:
        """Returns what holds on a side."""
        return self.paper if side == "paper" or isinstance(self.ours, msgspec.UnsetType) else self.ours

    @property
    def differs(self) -> bool:
        """Whether ours is another than the paper's."""
        return not isinstance(self.ours, msgspec.UnsetType) and self.ours != self.paper


class PaperRole(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who plays a role, and how it is asked.

    Attributes:
        temperature: None leaves it to the server; left out where the paper names none and we set none.
    """

    models: str  # which the paper had, with their versions
    minds: PaperSetting[tuple[MindKind, ...]]  # what may play it
    prompts: PaperSetting[Side] | None = None  # the variant of the prompts
    temperature: PaperSetting[float | None] | None = None
    section: str  # where the paper describes the role


class StillDiffers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is not as in the paper, whatever is set, and why."""

    what: str
    why: str


class PaperProtocol(msgspec.Struct, Generic[S], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A paper's experiment."""

    name: str  # what `polyclinic config show` calls it
    paper: str  # authors, title, where it is found
    commands: tuple[str, ...]  # which of ours hold the experiment
    roles: dict[str, PaperRole]  # by name, such as doctor, patient, judge
    settings: S  # what else was chosen; their type is the paper's own
    differs: tuple[StillDiffers, ...] = ()  # what still is other than in the paper where its protocol is followed


Number = Annotated[int, msgspec.Meta(ge=1)]
"""How many turns, rounds, passages: at least one."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a paper chose; a file that holds another name is refused.

    `paper` is the name of the protocol that is read where none is named; `tuned` are the roles whose temperature it may
    set.
    """

    paper: ClassVar[str] = ""
    tuned: ClassVar[tuple[str, ...]] = ()


class AieSettings(Settings, frozen=True, kw_only=True):
    """AIE.

    Attributes:
        concludes: the doctor may end the dialogue by a field of its answer; else the tracker finds that it does.
    """

    paper: ClassVar[str] = "aie"
    tuned: ClassVar[tuple[str, ...]] = ("doctor", "patient", "judge")
    turns: PaperSetting[dict[Language, Number]]  # of a dialogue at most, by its language; the opening is one of them
    online: PaperSetting[bool]  # no case has an examiner
    greets: PaperSetting[bool]  # the doctor's greeting opens every dialogue
    dialogue_alone: PaperSetting[bool]  # the doctor has the dialogue, and knows nothing of the patient beforehand
    concludes: PaperSetting[bool]
    whole: PaperSetting[bool]  # the patient has the whole record, and nothing is withheld
    distractors: PaperSetting[Literal["knowledge", "model"]]  # what makes wrong options where a case has none
    cases: PaperSetting[str]  # how many
    errors: PaperSetting[str]  # how scores are given


class MvmeSettings(Settings, frozen=True, kw_only=True):
    """AI Hospital.

    Attributes:
        whole: the patient has the whole history, with the results that it reports, and nothing is withheld.
        personas: patients without one get a persona of a model's, or stay as they are in the file.
        names: who reads the diseases out of a diagnosis before they are linked: a model, or they are as typed.
        links: when two names are the same: they have one of their nearest titles of ICD-10 in common, or the same
            code.
    """

    paper: ClassVar[str] = "mvme"
    tuned: ClassVar[tuple[str, ...]] = ("doctor", "patient", "examiner", "director", "judge")
    turns: PaperSetting[Number]  # each doctor's, at most
    greets: PaperSetting[bool]  # the doctor's greeting opens every dialogue
    dialogue_alone: PaperSetting[bool]  # the doctor has the dialogue, and knows nothing of the patient beforehand
    concludes: PaperSetting[bool]  # the doctor may end the dialogue by a field of its answer; else the patient does
    answers_last: PaperSetting[bool]  # the patient answers the doctor's last turn; else the report follows it
    retold: PaperSetting[bool]  # results reach the patient alone, who repeats them to the doctor
    whole: PaperSetting[bool]
    order: PaperSetting[Order]  # doctors of a round speak all at once, or one after another
    rounds: PaperSetting[int]  # of discussion, at most
    missing: PaperSetting[Literal["normal", "not recorded"]]  # what an examiner says of what is not recorded
    missing_grade: PaperSetting[Literal["left out", "counts 1"]]  # what becomes of a grade that the judge did not give
    personas: PaperSetting[Literal["model", "as in the file"]]
    names: PaperSetting[Literal["model", "typed"]]
    links: PaperSetting[Literal["ten nearest titles", "same code"]]
    cases: PaperSetting[str]
    errors: PaperSetting[str]


class MethodDrawing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a method's answers are drawn; None leaves it to the server, or to the method."""

    temperature: PaperSetting[float | None]
    top_p: PaperSetting[float | None] | None = None
    samples: PaperSetting[int] | None = None


class MedAgentsSettings(Settings, frozen=True, kw_only=True):
    """MedAgents.

    Attributes:
        question_experts, option_experts: by data set; "others" are those that are not named.
        votes: a vote and its modification are asked for in one call ("combined"), or in two.
    """

    paper: ClassVar[str] = "medagents"
    methods: dict[str, MethodDrawing]  # how each method's answers are drawn, by its name
    question_experts: PaperSetting[dict[str, int]]
    option_experts: PaperSetting[dict[str, int]]
    rounds: PaperSetting[int]  # of voting, at most
    votes: PaperSetting[Literal["combined", "separate"]]
    sample: PaperSetting[dict[str, int | Literal["all"]]]  # questions of each data set
    wrong_answers: PaperSetting[int]  # how many of each method are sorted


class TorSettings(Settings, frozen=True, kw_only=True):
    """Tree-of-Reasoning: rounds, turns of a round, passages that are looked up, and in what; raters and their scale.

    Attributes:
        update_from: a doctor updates its latest tree, or the one that it wrote first.
    """

    paper: ClassVar[str] = "tor"
    rounds: PaperSetting[int]
    turns: PaperSetting[Number]
    passages: PaperSetting[int]
    form: PaperSetting[Literal["typed", "printed"]]  # trees are typed, or printed as the paper has them
    update_from: PaperSetting[Literal["latest", "first"]]
    targets: PaperSetting[Literal["chosen", "random"]]  # whom a doctor speaks to it chooses itself, or it is drawn
    corpora: PaperSetting[tuple[str, ...]]
    by: PaperSetting[Literal["bm25", "dense", "hybrid"]]  # how passages are found
    records: PaperSetting[str]
    raters: PaperSetting[int]
    marks: PaperSetting[str]


class AgentHospitalSettings(Settings, frozen=True, kw_only=True):
    """Agent Hospital and MedAgent-Zero.

    Attributes:
        train, test, test_every: patients.
    """

    paper: ClassVar[str] = "agent-hospital"
    hospital: PaperSetting[Literal["agent-hospital", "ours"]]  # whose diseases, rooms and staff a run has
    examinations: PaperSetting[int | str]  # a visit, at most
    profiles: PaperSetting[Literal["model", "templates"]]  # who puts residents into words
    course: PaperSetting[Literal["model", "knowledge"]]  # who says how an illness goes on after a visit
    train: PaperSetting[int]
    test: PaperSetting[int]
    test_every: PaperSetting[int]
    batch: PaperSetting[int]  # patients that are treated against the same memory
    feedback: PaperSetting[Literal["truth", "outcome"]]  # what a doctor hears of a patient whom it practised on
    recalled: PaperSetting[int]  # records, and principles, that come to mind for a patient
    recalled_exam: PaperSetting[int]  # the same for a question of MedQA
    exam: PaperSetting[str]  # which questions
    exam_patients: PaperSetting[int]  # those whose experience the memory has that is put to the exam
    exam_every: PaperSetting[int]  # the memory is put to it as it was after every so many of them, too
    embeddings: PaperSetting[str]  # what records and principles are found by
    judgement: PaperSetting[str]


PAPERS: dict[str, type[Settings]] = {
    one.paper: one for one in (AieSettings, MvmeSettings, MedAgentsSettings, TorSettings, AgentHospitalSettings)
}
"""The protocols that are shipped, by name."""
