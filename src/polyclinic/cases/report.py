"""What a doctor hands in at the end of a visit."""

from __future__ import annotations

from typing import Annotated

import msgspec

Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Diagnosis(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A disease by name, with its ICD-10 code and a probability where they are known."""

    name: str
    icd10: str | None = None
    probability: Probability | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The doctor's report, in the five parts that the AI Hospital paper grades (ai-hospital §2.5).

    Attributes:
        symptoms: what the patient has, short items.
        examinations: examinations with their results, short items.
        diagnoses: those that the doctor holds, the principal one first; empty where it commits to none.
        rationale: the reasons, short items.
        treatment: the plan, short items.
        differential: what else was thought of and is not held, the likeliest first. It is nobody's diagnosis, and no
            score counts it.
    """

    symptoms: tuple[str, ...]
    examinations: tuple[str, ...]
    diagnoses: tuple[Diagnosis, ...]
    rationale: tuple[str, ...]
    treatment: tuple[str, ...]
    differential: tuple[Diagnosis, ...] = ()
