"""What a patient must not say: the names that this visit is to find out, in whatever words its record has them."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from polyclinic.cases.record import Record
from polyclinic.knowledge.disease_names.relation import Relation, relation
from polyclinic.knowledge.named_in import named_in
from polyclinic.language.folding import Folded, fold_term

_SAYS_AS_MUCH = (Relation.SAME, Relation.NARROWER)


# Patient and examiner of a visit are made of the same record, one after the other.
@functools.lru_cache(maxsize=64)
def secret_of(record: Record, withheld: tuple[str, ...]) -> tuple[str, ...]:
    """Returns what must not be said of a record: the names, and what stands for them in its history.

    What the doctor reads at the door is none of it.
    """
    door = [Folded(text) for text in _at_the_door(record)]
    names = tuple(name for name in withheld if not any(text.find(fold_term(name)) >= 0 for text in door))
    said = in_other_words((text for _, text in record.history.sections()), record, withheld)
    return tuple(dict.fromkeys((*names, *said)))


def in_other_words(texts: Iterable[str], record: Record, withheld: tuple[str, ...]) -> tuple[str, ...]:
    """Returns what names one of the withheld in texts in whatever words, as it stands there.

    What says no more than what the doctor reads at the door is none of it.
    """
    if not withheld:
        return ()
    open_to_all = [said.text for text in _at_the_door(record) for said in named_in(text, withheld) if said.is_sure]
    found = dict.fromkeys(said.text for text in texts for said in named_in(text, withheld) if said.is_sure)
    return tuple(said for said in found if not any(relation(at_door, said) in _SAYS_AS_MUCH for at_door in open_to_all))


def _at_the_door(record: Record) -> tuple[str, str]:
    return record.presentation.complaint, record.presentation.about
