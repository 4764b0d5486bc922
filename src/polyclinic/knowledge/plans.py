"""Treatment plans as data: measures, the conditions under which each is due, and where the patient is treated."""

from __future__ import annotations

from typing import Literal

from polyclinic.cases.presentation import Sex
from polyclinic.knowledge.criteria import Criterion
from polyclinic.knowledge.data import Data, Name

Disposition = Literal["home", "observation", "ward", "intensive care", "operation"]
Route = Literal[
    "oral", "sublingual", "intravenous", "intramuscular", "subcutaneous", "inhaled", "nasal", "eye", "ear", "topical",
    "rectal", "vaginal", "intra-articular",
]  # fmt: skip


class DueWhen(Data, frozen=True, kw_only=True):
    """When a measure is due; all that is given must hold.

    Attributes:
        age_at_least, age_below: in years.
        pregnant: whether she must be, or must not be; None where it does not matter.
        days_at_most: how long the illness may have lasted, in days (4.5 hours are 0.1875).
        finding: what must have been found; what was not looked for is not found.
    """

    age_at_least: float | None = None
    age_below: float | None = None
    sex: Sex | None = None
    pregnant: bool | None = None
    days_at_most: float | None = None
    finding: Criterion | None = None


class Prescription(Data, frozen=True, kw_only=True):
    """A drug, by id, its route, and its usual dose in words ("1 g every 6 hours as needed")."""

    drug: str
    route: Route
    dose: Name
    when: DueWhen | None = None


class Measure(Data, frozen=True, kw_only=True):
    """One thing that a plan does; exactly one of `give`, `procedure`, `advice` and `monitoring`.

    Attributes:
        give: one drug of several, the first choice first: the first whose conditions hold and that this patient may be
            given is given, and no other.
        why: what the drug is for.
        when: it is not due otherwise.
        after: ids of the examinations that must have been done before it.
        within: minutes from arrival in which it should be begun.
    """

    give: tuple[Prescription, ...] = ()
    why: Name | None = None
    procedure: Name | None = None
    advice: Name | None = None
    monitoring: Name | None = None
    when: DueWhen | None = None
    after: tuple[str, ...] = ()
    within: int | None = None

    def problem(self) -> str:
        """Returns what is wrong with its form, or ""."""
        forms = [bool(self.give), *(x is not None for x in (self.procedure, self.advice, self.monitoring))]
        if sum(forms) != 1:
            return "a measure is one of: give, procedure, advice, monitoring"
        for number, prescription in enumerate(self.give):
            if any(before.drug == prescription.drug and before.when is None for before in self.give[:number]):
                return f"{prescription.drug} stands again behind {prescription.drug} without a condition"
        return ""
