"""The settings of each paper, typed: what its file must say, and what a benchmark asks it.

A setting that is added here is added to the paper's file, `polyclinic/protocols/NAME.yaml`, with its section.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from polyclinic.events import Order
from polyclinic.language.language import Language
from polyclinic.protocols.protocol import Setting


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a paper chose; a file that holds another name is refused.

    `paper` is the name of the protocol that is read where none is named.
    """

    paper: ClassVar[str] = ""


class AieSettings(Settings, frozen=True, kw_only=True):
    """AIE: the doctor's turns at most, by the dialogue's language; how many cases; how scores are given."""

    paper: ClassVar[str] = "aie"
    turns: Setting[dict[Language, int]]
    cases: Setting[str]
    errors: Setting[str]


class MvmeSettings(Settings, frozen=True, kw_only=True):
    """AI Hospital.

    Attributes:
        turns: each doctor's, at most.
        order: doctors of a round speak all at once, or one after another.
        rounds: of discussion, at most.
        missing: what an examiner says of what is not recorded.
        missing_grade: what a grade that is not there counts: nothing ("readable"), or 1 ("paper").
    """

    paper: ClassVar[str] = "mvme"
    turns: Setting[int]
    order: Setting[Order]
    rounds: Setting[int]
    missing: Setting[Literal["normal", "not recorded"]]
    missing_grade: Setting[Literal["readable", "paper"]]
    cases: Setting[str]
    errors: Setting[str]


class Drawing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a method's answers are drawn; None leaves it to the server, or to the method."""

    temperature: Setting[float | None]
    top_p: Setting[float | None] | None = None
    samples: Setting[int] | None = None


class MedAgentsSettings(Settings, frozen=True, kw_only=True):
    """MedAgents.

    Attributes:
        methods: how each method's answers are drawn, by its name.
        question_experts, option_experts: by data set; "others" are those that are not named.
        sample: questions of each data set.
        wrong_answers: how many of each method are sorted.
    """

    paper: ClassVar[str] = "medagents"
    methods: dict[str, Drawing]
    question_experts: Setting[dict[str, int]]
    option_experts: Setting[dict[str, int]]
    sample: Setting[dict[str, int | Literal["all"]]]
    wrong_answers: Setting[int]


class TorSettings(Settings, frozen=True, kw_only=True):
    """Tree-of-Reasoning: rounds, turns of a round, passages that are looked up, and in what; raters and their scale."""

    paper: ClassVar[str] = "tor"
    rounds: Setting[int]
    turns: Setting[int]
    passages: Setting[int]
    corpora: Setting[tuple[str, ...]]
    retriever: Setting[str]
    records: Setting[str]
    raters: Setting[int]
    marks: Setting[str]


class AgentHospitalSettings(Settings, frozen=True, kw_only=True):
    """Agent Hospital and MedAgent-Zero.

    Attributes:
        train, test, test_every: patients.
        recalled: records, and principles, that come to mind for a patient.
        recalled_exam: the same for a question of MedQA.
        embeddings: what records and principles are found by.
    """

    paper: ClassVar[str] = "agent-hospital"
    train: Setting[int]
    test: Setting[int]
    test_every: Setting[int]
    recalled: Setting[int]
    recalled_exam: Setting[int]
    embeddings: Setting[str]
    judgement: Setting[str]


PAPERS: dict[str, type[Settings]] = {
    one.paper: one for one in (AieSettings, MvmeSettings, MedAgentsSettings, TorSettings, AgentHospitalSettings)
}
"""The protocols that are shipped, by name."""
