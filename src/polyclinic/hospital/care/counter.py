"""The pharmacy counter: one drug of each measure is handed out, and another stands in for what is withheld.

Whoever plays the pharmacist is asked about the first drugs of all measures; for each that is withheld the next
alternative of its measure stands in, and the pharmacist is asked about the whole prescription again, until nothing more
can stand in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from polyclinic.cases.patient_record import PatientRecord
from polyclinic.cases.presentation import Presentation
from polyclinic.knowledge.dispensing import Known
from polyclinic.knowledge.entries import Drug
from polyclinic.language.clauses import told
from polyclinic.language.language import Language
from polyclinic.players.player import Mind, dispense
from polyclinic.players.roles.pharmacist import Pharmacist

_ADVISED_AGAINST = re.compile(r"\b(?:no|not|never|avoid|stop|without|instead of)\b|不|无|避免|停|忌|勿", re.IGNORECASE)
"""What a treatment says before a drug that it does not prescribe."""


class AtCounter(NamedTuple):
    """What became of a prescription.

    Attributes:
        given: for each measure the number of the alternative that was handed out; None where none was.
        withheld: drugs that were withheld, by id, each with the reason.
        instead: of those, each that another drug stands in for, with that.
    """

    given: tuple[int | None, ...]
    withheld: dict[str, str]
    instead: dict[str, str]

    def lacking(self) -> tuple[str, ...]:
        """Returns the drugs that were withheld and that nothing stands in for."""
        return tuple(drug for drug in self.withheld if drug not in self.instead)


class _TriedDrugs(msgspec.Struct):
    """One measure at the counter: its drugs, which of them is tried, and those that were refused."""

    drugs: Sequence[Drug]
    tried: int = 0
    refused: list[str] = msgspec.field(default_factory=list)

    def drug(self) -> Drug | None:
        return self.drugs[self.tried] if self.tried < len(self.drugs) else None


async def at_counter(
    mind: Mind[Pharmacist],
    presentation: Presentation,
    known: Known,
    measures: Sequence[Sequence[Drug]],
    past: PatientRecord | None = None,
) -> AtCounter:
    """Lets a pharmacist, who has the patient's record, hand out one drug of each measure, the first that may be.

    Raises:
        PlayFailure: no usable answer came.
    """
    under_way = [_TriedDrugs(drugs) for drugs in measures]
    withheld: dict[str, str] = {}
    while prescription := _prescription(under_way, withheld):
        pharmacist = Pharmacist(mind, presentation, prescription, known, past)
        dispensing = await pharmacist.act(dispense(drug.id for drug in prescription))
        withheld |= {one.drug: one.reason for one in dispensing.withheld}
        if not _go_on(under_way, withheld):
            break
    given = tuple(None if measure.drug() is None else measure.tried for measure in under_way)
    instead = {drug: m.drugs[m.tried].id for m in under_way if m.drug() is not None for drug in m.refused}
    return AtCounter(given, withheld, instead)


def _prescription(measures: Sequence[_TriedDrugs], withheld: dict[str, str]) -> list[Drug]:
    """Returns the drugs that are tried, each once; what another measure gives already is not tried again."""
    drugs: dict[str, Drug] = {}
    for measure in measures:
        while (drug := measure.drug()) is not None and (drug.id in drugs or drug.id in withheld):
            if drug.id in withheld and drug.id not in measure.refused:
                measure.refused.append(drug.id)
            measure.tried += 1
        if drug is not None:
            drugs[drug.id] = drug
    return list(drugs.values())


def _go_on(measures: Sequence[_TriedDrugs], withheld: dict[str, str]) -> bool:
    """Passes over what is withheld; returns whether something stands in for it that was not asked about."""
    before = [measure.drug() for measure in measures]
    after = {drug.id for drug in _prescription(measures, withheld)}
    return not after <= {drug.id for drug in before if drug is not None}


def prescribed(items: Iterable[str], drugs: Iterable[Drug], language: Language) -> list[Drug]:
    """Returns the drugs that the items of a treatment name, and do not name to say no to; longer names win."""
    found: list[Drug] = []
    text = ". ".join(items)
    for drug in sorted(drugs, key=lambda d: -len(d.name.get(language))):
        name = drug.name.get(language)
        if told(name, text, denied=_ADVISED_AGAINST):
            found.append(drug)
            text = re.sub(re.escape(name), "", text, flags=re.IGNORECASE)
    return found
