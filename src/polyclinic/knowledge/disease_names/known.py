"""Which disease of the knowledge a name means: by its own names, or because it is one of its kinds."""

from __future__ import annotations

import functools

from polyclinic.knowledge.disease_names.relation import Relation, relation
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language, is_chinese


@functools.lru_cache(maxsize=1 << 14)
def disease_meant(name: str, knowledge: Knowledge) -> Disease | None:
    """Returns the disease that a name means, or None.

    The knowledge's own names go first. Else it is the disease that the name is the same as, or a kind of: what holds
    of heart failure holds of an exacerbation of it. Of several the closest one is meant.
    """
    exact = knowledge.disease_named(name)
    if exact is not None:
        return exact
    language: Language = "zh" if is_chinese(name) else "en"
    closest: Disease | None = None
    for disease in knowledge.diseases.values():
        found = relation(name, disease.name.get(language))
        if found is Relation.SAME:
            return disease
        if found is Relation.NARROWER and (closest is None or _is_kind(disease, closest)):
            closest = disease
    return closest


def _is_kind(disease: Disease, other: Disease) -> bool:
    return relation(disease.name.en, other.name.en) is Relation.NARROWER


def known_relation(a: str, b: str, knowledge: Knowledge) -> Relation:
    """Returns what a disease is to another, both by name, to whom the knowledge is the judge of its own names.

    Names that it has are the same or different as it says, also where it has one disease for several that words tell
    apart ("gastric ulcer" and "duodenal ulcer" are its peptic ulcer). A broader name that is one of its names for what
    the other is a kind of is the same, as it has no closer one: "influenza A", where it was an influenza A (H1N1).
    """
    first, second = knowledge.disease_named(a), knowledge.disease_named(b)
    if first is not None and second is not None:
        return Relation.SAME if first.id == second.id else Relation.DIFFERENT
    found = relation(a, b)
    if found is Relation.BROADER and first is not None and disease_meant(b, knowledge) is first:
        return Relation.SAME
    return found
