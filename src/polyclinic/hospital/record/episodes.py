"""The medical part of one visit, as a function of what is known when it begins: triage, consultations, the plan.

When it is computed, where, and in which order relative to others does not matter: it depends on its request alone. The
simulation gives its parts their place in simulated time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.truth import Severity
from polyclinic.hospital.record.happenings import Acuity


class EpisodeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an episode is computed from.

    Attributes:
        resident: who is ill.
        case: the illness as it is at this visit; holds the truth, which no player gets.
        visit: from 1 within the illness.
        departments: those that see patients in this hospital.
    """

    resident: str
    case: Case
    visit: int
    departments: tuple[str, ...]

    @property
    def key(self) -> str:
        """Names the episode in a run."""
        return f"{self.case.id}/{self.visit}"


class ConsultationHeld(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One consultation of an episode.

    Attributes:
        department: whose doctor.
        turns: what the doctor said, counted.
        examinations: that were done, in order, without repetition: ids of the knowledge's, else names.
        diagnosis: the likeliest; "" where the doctor commits to none.
        refer_to: the department that the patient is sent on to; "" where it stays.
        trace: the visit's events as JSON lines.
    """

    department: str
    turns: int
    examinations: tuple[str, ...] = ()
    diagnosis: str = ""
    refer_to: str = ""
    trace: str = ""


class Episode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of the medical part of a visit.

    Attributes:
        key: of the request.
        department: where the nurse sent the patient; "" where triage failed.
        acuity: as the nurse judged it.
        seen: the consultations, one, or two and more where the patient was referred.
        plan: the severity whose plan the doctor chose; None where it chose none.
        treatment: what was prescribed, short items.
        dispensed: drugs handed out: ids of the knowledge's.
        withheld: drugs withheld by the pharmacist, ids, each with its reason behind a colon.
        right_examination: an examination that is right for the disease was done.
        right_diagnosis: the diagnosis is the disease's.
        right_treatment: the plan is that of the disease at its severity.
        failed: who failed; what would have come after it is left out.
        error: the name of the failure.
        problem: what it said.
        calls: to models.
        tokens: in and out.
        cost: in the currency of the prices; None where there are none.
    """

    key: str
    department: str = ""
    acuity: Acuity = Acuity.ROUTINE
    seen: tuple[ConsultationHeld, ...] = ()
    plan: Severity | None = None
    treatment: tuple[str, ...] = ()
    dispensed: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    right_examination: bool = False
    right_diagnosis: bool = False
    right_treatment: bool = False
    failed: str = ""
    error: str = ""
    problem: str = ""
    calls: int = 0
    tokens: int = 0
    cost: float | None = None


Compute = Callable[[EpisodeRequest], Awaitable[Episode]]
"""Computes episodes: in this process, in others, or from what a run has stored."""
