"""A case: who is ill, what can be found, and what is so."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import msgspec

from polyclinic.cases.persona import Persona
from polyclinic.cases.presentation import Presentation, Question, Setting
from polyclinic.cases.record import Record
from polyclinic.cases.truth import Truth


class Attachment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What belongs to a case and is no text, such as a picture; doctors who see can be shown it.

    Attributes:
        url: where it lies: a path in the folder of its case file, an address, or the picture itself (`data:`).
        title: what it shows, where the source says so.
    """

    kind: Literal["image"] = "image"
    url: str
    title: str = ""


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One case of a case file.

    Attributes:
        id: unique in its file.
        record: what can be asked and examined.
        truth: what is so; never given to a doctor.
        setting: `ward`: an examiner holds the findings (AI Hospital); `online`: there is no examiner, the patient
            holds the findings and gives them on effective inquiry or advice (AIE).
        question: the multiple-choice question that the source puts after the dialogue.
        source: where the case comes from, for citing it.
        department: who sees such patients, as the source says; given to no player, as it hints at the diagnosis.
        persona: whose voice the patient has; None where nobody made one.
        attachments: pictures of the source, for doctors who see (see `polyclinic.cases.pictures`).
    """

    id: str
    record: Record
    truth: Truth
    setting: Setting = "ward"
    question: Question | None = None
    source: str = ""
    department: str = ""
    persona: Persona | None = None
    attachments: tuple[Attachment, ...] = ()

    @property
    def presentation(self) -> Presentation:
        """What a doctor may know before asking."""
        return self.record.presentation


def case_schema() -> dict[str, Any]:
    """Returns the JSON Schema of one line of a case file in polyclinic's own layout."""
    schema = _with_clean_texts(msgspec.json.schema(Case))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "polyclinic case", **schema}


def _with_clean_texts(node: Any) -> Any:
    """Returns a schema whose descriptions are without the indentation of docstrings, which Python 3.13 drops itself."""
    if isinstance(node, dict):
        cleaned = {key: _with_clean_texts(value) for key, value in node.items()}
        if isinstance(node.get("description"), str):
            cleaned["description"] = inspect.cleandoc(node["description"])
        return cleaned
    return [_with_clean_texts(part) for part in node] if isinstance(node, list) else node
