"""What is remembered of a patient: a record of a right answer, or what a wrong one taught.

Paper: Li et al., Agent Hospital, arXiv:2405.02957, §4.3.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class ClinicalTask(StrEnum):
    """What a doctor decides of a patient (§4.1); each has a library and an experience base of its own."""

    EXAMINATION = "examination"
    DIAGNOSIS = "diagnosis"
    TREATMENT = "treatment"


class AskedTask(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A task on a patient, as it is kept: by what it is found again, and what was asked.

    Attributes:
        case: the patient.
        number: which patient of the practice it was, from 1.
        query: what is compared with the query of another (§4.3.1): symptoms; and the result; and the plans.
        options: the texts of what could be chosen, in the order of the question.
    """

    case: str
    number: int
    query: str
    options: tuple[str, ...]


class MedicalRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A right answer, with the reasoning that led to it.

    Attributes:
        led_to: the tasks after it that came out right.
        judged_by: who said that it was right: `truth`, or `outcome`.
    """

    asked: AskedTask
    answer: str
    reasoning: str = ""
    led_to: tuple[ClinicalTask, ...] = ()
    judged_by: str = "truth"


class Experience(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A principle that turned a wrong answer into a right one; judged by `outcome`, that somebody got worse after it.

    Attributes:
        before, after: the answer without the principle, and with it; `after` is "" where nobody says what is right.
        right: all that would have been right; empty where nobody says it.
        principle: in words that hold for others, too.
        judged_by: see `MedicalRecord`.
    """

    asked: AskedTask
    before: str
    after: str
    right: tuple[str, ...]
    principle: str
    judged_by: str = "truth"


Entry = MedicalRecord | Experience
