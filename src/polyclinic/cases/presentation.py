"""What a doctor may know before the first question."""

from __future__ import annotations

from typing import Literal

import msgspec

from polyclinic.language.language import Language

Sex = Literal["female", "male"]
Setting = Literal["ward", "online"]
"""`ward`: an examiner holds the findings (AI Hospital); `online`: the patient does (AIE)."""


class Presentation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a patient comes through the door.

    Attributes:
        complaint: the chief complaint, as the patient or the referral puts it; never empty in a case.
        language: the language that the case is written in and the visit is held in.
        age: in years; a newborn is 0.
        sex: as recorded.
        about: whatever else is known at the door (occupation, the source's own line on the patient).
        companion: whether somebody who came along tells the history, as the patient cannot.
    """

    complaint: str
    language: Language = "en"
    age: float | None = None
    sex: Sex | None = None
    about: str = ""
    companion: bool = False


class ShownPassage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A passage that was looked up and may be read before answering.

    Attributes:
        source: where it stands, as `CORPUS#ID`.
        score: how well it fits, by the search that found it.
    """

    source: str
    title: str = ""
    text: str
    score: float = 0.0


class ShownPicture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is kept of a picture that is shown.

    Attributes:
        name: its file, in the folder of its case, or its address.
        sha256: of the picture; "" of one that was not here, but shown by its address.
    """

    name: str
    sha256: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A multiple-choice question: any number of options, any letters. Holds no answer.

    Attributes:
        id: unique in its file.
        stem: what is asked.
        options: key to text, in the order in which they are shown.
        context: what must be read before answering.
        language: the language of the stem.
        several: any number of options may be right, and all of them are asked for; else exactly one is.
        references: what was looked up for it; see `polyclinic.retrieval.retriever`.
    """

    id: str
    stem: str
    options: dict[str, str]
    context: str = ""
    language: Language = "en"
    several: bool = False
    references: tuple[ShownPassage, ...] = ()
