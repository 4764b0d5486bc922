"""The rules pharmacist: withholds what an allergy, age, pregnancy, another medicine or a duplicate forbids.

What it looks for stands in the knowledge (`cautions.yaml`). It reads words, and a word in a clause that denies it is
not meant ("no allergy to penicillin"); what the patient does not tell, it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polyclinic.errors import ScriptError
from polyclinic.knowledge.entries import Drug
from polyclinic.knowledge.safety import Cautions, read_cautions
from polyclinic.language.clauses import told
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
            reason = self._against(drug, role, handed_out) or self._duplicate(drug, role, handed_out)
            if reason:
                withheld.append(Withheld(drug.id, reason))
            else:
                handed_out.append(drug)
        return Dispensing(tuple(withheld))

    def _against(self, drug: Drug, role: Pharmacist, before: Iterable[Drug]) -> str:
        """Returns what speaks against a drug beside those before it, the gravest first; "" where nothing does."""
        cautions, known, language = self._cautions, role.known, role.presentation.language
        say, age = pharmacist_sayings(language), role.presentation.age
        taken = ". ".join([known.medications, *(other.name.get(language) for other in before)])
        for name in (drug.name.en, drug.name.zh):
            if told(name, known.allergies):
                return say.allergy.format(what=drug.name.get(language))
        for allergy in cautions.allergies:
            if within(drug, allergy.drugs) and _one_told(allergy.words.get(language), known.allergies):
                return say.allergy.format(what=allergy.name.get(language))
        for limit in cautions.ages:
            if age is not None and age < limit.below and within(drug, limit.drugs):
                return say.age.format(reason=limit.reason.get(language), below=limit.below)
        for forbidden in cautions.pregnancy:
            if known.pregnant and within(drug, forbidden.drugs):
                return say.pregnancy.format(reason=forbidden.reason.get(language))
        for one in cautions.interactions:
            word = within(drug, one.drugs) and _one_told(one.words.get(language), taken)
            if word:
                return say.interaction.format(word=word, reason=one.reason.get(language))
        return ""

    def _duplicate(self, drug: Drug, role: Pharmacist, before: Iterable[Drug]) -> str:
        """Returns which drug before makes this one too many; "" where none does."""
        language = role.presentation.language
        say = pharmacist_sayings(language).duplicate
        for other in before:
            for group in self._cautions.duplicates:
                if within(drug, group.drugs) and within(other, group.drugs):
                    return say.format(drug=other.name.get(language), group=group.name.get(language))
        return ""


def within(drug: Drug, codes: Iterable[str]) -> bool:
    """Whether a drug is one of those that ATC codes, or the beginnings of these, name."""
    return any(drug.atc.startswith(code) for code in codes)


def _one_told(words: Iterable[str], text: str) -> str:
    return next((word for word in words if told(word, text)), "")
