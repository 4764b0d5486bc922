"""What is so. Only the patient's maker, the judges and the metrics may import this module."""

from __future__ import annotations

from typing import Literal

import msgspec

from polyclinic.cases.report import Diagnosis

Severity = Literal["mild", "moderate", "severe"]


class Truth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reference that a doctor is measured against.

    Attributes:
        diagnoses: the diagnoses, the principal one first.
        rationale: why, as the source gives it.
        treatment: the course of treatment or the right plan.
        severity: where the source grades it.
        acuity: how soon the patient must be seen, from 1 (at once) to 5, where it is known.
        complications, differential, prevention: what it may lead to, what looks like it, and what keeps it away, where
            the source says so.
        probabilities: of the differential diagnosis, the right disease included, where the source gives them: a name
            and its probability each, in the source's order. Not in a file where there are none.
        answers: keys of the right options of the case's question; empty where it has none.
    """

    diagnoses: tuple[Diagnosis, ...]
    rationale: tuple[str, ...] = ()
    treatment: tuple[str, ...] = ()
    severity: Severity | None = None
    acuity: Literal[1, 2, 3, 4, 5] | None = None
    complications: tuple[str, ...] = ()
    differential: tuple[str, ...] = ()
    prevention: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    probabilities: tuple[tuple[str, float], ...] | msgspec.UnsetType = msgspec.UNSET
