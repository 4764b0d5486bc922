"""How a protocol holds a visit: what players are told and may do, and who learns what."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Record
from polyclinic.language.language import Language
from polyclinic.yaml_files import read_yaml

Missing = Literal["not recorded", "normal"]
"""What the examiner says of an examination of which the record says nothing."""

T = TypeVar("T", bound=msgspec.Struct)


class Staging(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a protocol holds a visit; the defaults are ours.

    Attributes:
        online: no case has an examiner, whatever its setting: the patient holds the findings (aie-saps §4.2.1).
        dialogue_alone: the doctor knows nothing beforehand, not even age and sex, and has what is said (formula 6).
        greets: the doctor's greeting opens the dialogue even if the source has none (initialization, Table 1).
        concludes: the doctor may end the dialogue; else the patient does (Table 1), or the limit.
        thinks: the doctor writes down a thought of its own before each turn.
        whole: the patient has its whole history, and nothing of it is withheld (§4.2.3; ai-hospital, Table 9).
        answers_last: the patient answers the doctor's last turn, too; in AI Hospital's published dialogues the report
            follows it.
        retold: results reach the patient alone, who tells the doctor of them (ai-hospital, Table 9).
        missing: what the examiner says of an examination that is not recorded; the papers say `normal`.
        ai_hospital: intern, patient and director have AI Hospital's prompts (ai-hospital, Tables 9, 12, 15, 16).
    """

    online: bool = False
    dialogue_alone: bool = False
    greets: bool = False
    concludes: bool = True
    thinks: bool = False
    whole: bool = False
    answers_last: bool = True
    retold: bool = False
    missing: Missing = "not recorded"
    ai_hospital: bool = False

    def case(self, case: T) -> T:
        """Returns the case as it is held."""
        return msgspec.structs.replace(case, setting="online") if self.online else case

    def known_to_doctor(self, presentation: Presentation, *, record: bool) -> Presentation:
        """Returns what the doctor knows beforehand; with a `record` it knows that anyway."""
        if record or not self.dialogue_alone:
            return presentation
        return Presentation(complaint="", language=presentation.language)

    def greeting(self, record: Record) -> str:
        """Returns what the doctor greets with before the patient opens; "" where the patient begins."""
        theirs = record.opening.greeting if record.opening is not None else ""
        if theirs or not self.greets:
            return theirs
        return read_yaml(Path(__file__).with_suffix(".yaml"), dict[Language, str])[record.presentation.language]


OURS = Staging()
"""A visit as we hold it."""

AI_HOSPITAL = Staging(
    dialogue_alone=True,
    greets=True,
    concludes=False,
    whole=True,
    answers_last=False,
    retold=True,
    missing="normal",
    ai_hospital=True,
)
"""A visit as AI Hospital holds it: the doctor greets, knows nothing beforehand, and the patient ends the visit."""
