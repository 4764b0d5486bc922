"""Protocols: settings as the paper has them and as we do, each with its section; the settings of each paper, typed.

A setting that is added here is added to the paper's file, `polyclinic/protocols/NAME.yaml`, with its section.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Generic, Literal, TypeVar

import msgspec

from polyclinic.events import Order
from polyclinic.language.language import Language

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

Side = Literal["ours", "paper"]
"""As we do it by default, which may be better; or as the paper does."""

MindKind = Literal["any", "model", "saps", "saps-parallel", "rules"]
"""What may play a role: anything, a language model, the state-aware patient on one, or the built-in rules."""


class PaperSetting(msgspec.Struct, Generic[T], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One choice: the paper's, and ours where it is another.

    Attributes:
        section: where the paper says so; "not given" where the paper does not.
        why: in what ours is better, or why it is another.
    """

    paper: T
    ours: T | msgspec.UnsetType = msgspec.UNSET
    section: str
    why: str = ""

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
        models: which the paper had, with their versions.
        minds: what may play it.
        prompts: the variant of the prompts.
        temperature: None leaves it to the server; left out where the paper names none and we set none.
        section: where the paper describes the role.
    """

    models: str
    minds: PaperSetting[tuple[MindKind, ...]]
    prompts: PaperSetting[Side] | None = None
    temperature: PaperSetting[float | None] | None = None
    section: str


class StillDiffers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is not as in the paper, whatever is set, and why."""

    what: str
    why: str


class PaperProtocol(msgspec.Struct, Generic[S], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A paper's experiment.

    Attributes:
        name: what `polyclinic config show` calls it.
        paper: authors, title, where it is found.
        commands: which of ours hold the experiment.
        roles: by name, such as doctor, patient, judge.
        settings: what else was chosen; their type is the paper's own.
        differs: what still is other than in the paper where its protocol is followed.
    """

    name: str
    paper: str
    commands: tuple[str, ...]
    roles: dict[str, PaperRole]
    settings: S
    differs: tuple[StillDiffers, ...] = ()


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
        turns: of a dialogue at most, by its language; the opening is one of them.
        online: no case has an examiner.
        greets: the doctor's greeting opens every dialogue.
        dialogue_alone: the doctor has the dialogue, and knows nothing of the patient beforehand.
        concludes: the doctor may end the dialogue by a field of its answer; else the tracker finds that it does.
        whole: the patient has the whole record, and nothing is withheld.
        distractors: what makes wrong options where a case has none.
        cases: how many.
        errors: how scores are given.
    """

    paper: ClassVar[str] = "aie"
    tuned: ClassVar[tuple[str, ...]] = ("doctor", "patient", "judge")
    turns: PaperSetting[dict[Language, Number]]
    online: PaperSetting[bool]
    greets: PaperSetting[bool]
    dialogue_alone: PaperSetting[bool]
    concludes: PaperSetting[bool]
    whole: PaperSetting[bool]
    distractors: PaperSetting[Literal["knowledge", "model"]]
    cases: PaperSetting[str]
    errors: PaperSetting[str]


class MvmeSettings(Settings, frozen=True, kw_only=True):
    """AI Hospital.

    Attributes:
        turns: each doctor's, at most.
        greets: the doctor's greeting opens every dialogue.
        dialogue_alone: the doctor has the dialogue, and knows nothing of the patient beforehand.
        concludes: the doctor may end the dialogue by a field of its answer; else the patient does.
        answers_last: the patient answers the doctor's last turn; else the report follows it.
        retold: results reach the patient alone, who repeats them to the doctor.
        whole: the patient has the whole history, with the results that it reports, and nothing is withheld.
        order: doctors of a round speak all at once, or one after another.
        rounds: of discussion, at most.
        missing: what an examiner says of what is not recorded.
        missing_grade: what becomes of a grade that the judge did not give.
        personas: patients without one get a persona of a model's, or stay as they are in the file.
        names: who reads the diseases out of a diagnosis before they are linked: a model, or they are as typed.
        links: when two names are the same: they have one of their nearest titles of ICD-10 in common, or the same code.
    """

    paper: ClassVar[str] = "mvme"
    tuned: ClassVar[tuple[str, ...]] = ("doctor", "patient", "examiner", "director", "judge")
    turns: PaperSetting[Number]
    greets: PaperSetting[bool]
    dialogue_alone: PaperSetting[bool]
    concludes: PaperSetting[bool]
    answers_last: PaperSetting[bool]
    retold: PaperSetting[bool]
    whole: PaperSetting[bool]
    order: PaperSetting[Order]
    rounds: PaperSetting[int]
    missing: PaperSetting[Literal["normal", "not recorded"]]
    missing_grade: PaperSetting[Literal["left out", "counts 1"]]
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
        methods: how each method's answers are drawn, by its name.
        question_experts, option_experts: by data set; "others" are those that are not named.
        rounds: of voting, at most.
        votes: a vote and its modification are asked for in one call ("combined"), or in two.
        sample: questions of each data set.
        wrong_answers: how many of each method are sorted.
    """

    paper: ClassVar[str] = "medagents"
    methods: dict[str, MethodDrawing]
    question_experts: PaperSetting[dict[str, int]]
    option_experts: PaperSetting[dict[str, int]]
    rounds: PaperSetting[int]
    votes: PaperSetting[Literal["combined", "separate"]]
    sample: PaperSetting[dict[str, int | Literal["all"]]]
    wrong_answers: PaperSetting[int]


class TorSettings(Settings, frozen=True, kw_only=True):
    """Tree-of-Reasoning: rounds, turns of a round, passages that are looked up, and in what; raters and their scale.

    Attributes:
        form: trees are typed, or printed as the paper has them.
        update_from: a doctor updates its latest tree, or the one that it wrote first.
        targets: whom a doctor speaks to it chooses itself, or it is drawn.
        by: how passages are found.
    """

    paper: ClassVar[str] = "tor"
    rounds: PaperSetting[int]
    turns: PaperSetting[Number]
    passages: PaperSetting[int]
    form: PaperSetting[Literal["typed", "printed"]]
    update_from: PaperSetting[Literal["latest", "first"]]
    targets: PaperSetting[Literal["chosen", "random"]]
    corpora: PaperSetting[tuple[str, ...]]
    by: PaperSetting[Literal["bm25", "dense", "hybrid"]]
    records: PaperSetting[str]
    raters: PaperSetting[int]
    marks: PaperSetting[str]


class AgentHospitalSettings(Settings, frozen=True, kw_only=True):
    """Agent Hospital and MedAgent-Zero.

    Attributes:
        hospital: whose diseases, rooms and staff a run has.
        examinations: a visit, at most.
        profiles: who puts residents into words.
        course: who says how an illness goes on after a visit.
        train, test, test_every: patients.
        batch: patients that are treated against the same memory.
        feedback: what a doctor hears of a patient whom it practised on.
        recalled: records, and principles, that come to mind for a patient.
        recalled_exam: the same for a question of MedQA.
        exam: which questions.
        exam_patients: those whose experience the memory has that is put to the exam.
        exam_every: the memory is put to it as it was after every so many of them, too.
        embeddings: what records and principles are found by.
    """

    paper: ClassVar[str] = "agent-hospital"
    hospital: PaperSetting[Literal["agent-hospital", "ours"]]
    examinations: PaperSetting[int | str]
    profiles: PaperSetting[Literal["model", "templates"]]
    course: PaperSetting[Literal["model", "knowledge"]]
    train: PaperSetting[int]
    test: PaperSetting[int]
    test_every: PaperSetting[int]
    batch: PaperSetting[int]
    feedback: PaperSetting[Literal["truth", "outcome"]]
    recalled: PaperSetting[int]
    recalled_exam: PaperSetting[int]
    exam: PaperSetting[str]
    exam_patients: PaperSetting[int]
    exam_every: PaperSetting[int]
    embeddings: PaperSetting[str]
    judgement: PaperSetting[str]


PAPERS: dict[str, type[Settings]] = {
    one.paper: one for one in (AieSettings, MvmeSettings, MedAgentsSettings, TorSettings, AgentHospitalSettings)
}
"""The protocols that are shipped, by name."""
