"""The rules pharmacist: withholds what an allergy, age, pregnancy, the kidneys, an illness or another drug forbids.

What it looks for stands in the knowledge (`cautions.yaml`, read by `polyclinic.knowledge.dispensing`); what the patient
does not tell, and nobody measured, it does not know.
"""

from __future__ import annotations

from typing import Any

from polyclinic.errors import ScriptError
from polyclinic.knowledge.dispensing import Objection, objection
from polyclinic.knowledge.entries import Drug
from polyclinic.knowledge.safety import Cautions, read_cautions
from polyclinic.language.language import Language
from polyclinic.players.player import Ask, Dispensing, Purpose, Withheld
from polyclinic.players.roles.pharmacist import Pharmacist
from polyclinic.players.rules.sayings import pharmacist_sayings


class RulesPharmacist:
    """A mind for `Pharmacist`; its cautions are the knowledge's unless others are given."""

    name = "rules"

    def __init__(self, cautions: Cautions | None = None) -> None:
        self._cautions = read_cautions() if cautions is None else cautions

    async def answer(self, ask: Ask[Any], role: Pharmacist) -> object:
        """Returns what is withheld."""
        if ask.purpose is not Purpose.DISPENSE:
            raise ScriptError(f"the rules pharmacist dispenses; it was asked to {ask.purpose}")
        withheld: list[Withheld] = []
        handed_out: list[Drug] = []
        for drug in role.prescription:
            against = objection(drug, role.known, role.presentation, handed_out, self._cautions)
            if against is not None:
                withheld.append(Withheld(drug.id, _reason(against, drug, role.presentation.language)))
            else:
                handed_out.append(drug)
        return Dispensing(tuple(withheld))


def _reason(against: Objection, drug: Drug, language: Language) -> str:
    """Returns what speaks against a drug, in words."""
    say: str = getattr(pharmacist_sayings(language), against.kind)
    return say.format(
        what=against.what.get(language),
        reason=against.reason.get(language),
        limit=against.limit,
        drug=drug.name.get(language),
    )
