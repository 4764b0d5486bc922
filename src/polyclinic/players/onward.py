"""What a hospital's doctor does with a patient after the report."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from polyclinic.cases.patient_record import Step


class NextStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a doctor does with a patient after the report, and why, in one sentence.

    Attributes:
        step: `conclude` treats the patient here, `refer` sends it on to another department, `admit` to a bed.
        department: where it is sent on to; "" where it is not.
    """

    reason: str
    step: Step = "conclude"
    department: str = ""

    def problem(self, allowed: Sequence[str]) -> str:
        """Returns what is wrong with it where a referral is possible to some departments; "" where nothing is."""
        if self.department and self.department not in allowed:
            return f"{self.department!r}; the options are {', '.join(allowed) or 'none'}"
        if (self.step == "refer") == bool(self.department):
            return ""
        if self.department:
            return f"{self.step!r} with a department, {self.department!r}"
        return f"'refer' without a department; the options are {', '.join(allowed) or 'none'}"
