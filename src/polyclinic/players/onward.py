"""What a hospital's doctor does with a patient after the report."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from polyclinic.cases.patient_record import Step


class NextStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a doctor does with a patient after the report, and why, in one sentence.

    Attributes:
        step: `conclude` treats the patient here, `refer` sends it on to another department, `admit` to a bed.
        department: where it is sent on to; beside another step it says nothing, as forms make models fill it in.
    """

    reason: str
    step: Step = "conclude"
    department: str = ""

    @property
    def plain(self) -> NextStep:
        """The step without what says nothing."""
        return self if self.step == "refer" else NextStep(self.reason, self.step)

    def problem(self, allowed: Sequence[str]) -> str:
        """Returns what is wrong with it where a referral is possible to some departments; "" where nothing is."""
        if self.step != "refer" or self.department in allowed:
            return ""
        options = f"the options are {', '.join(allowed) or 'none'}"
        return f"{self.department!r}; {options}" if self.department else f"'refer' without a department; {options}"
