"""Pairs of disease names: what each is to the other, and how far that agrees with what people say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import read_records
from polyclinic.knowledge.disease_names.relation import Relation, relation
from polyclinic.statistics.agreement import Agreement, agreement

RELATIONS = tuple(one.value for one in Relation)


class NamePair(msgspec.Struct, frozen=True, kw_only=True):
    """Two names of diseases.

    Attributes:
        label: what people say that a is to b; None where nobody does.
        also: other answers that they find as good.
    """

    a: str
    b: str
    label: Relation | None = msgspec.field(default=None, name="relation")
    also: Relation | tuple[Relation, ...] = ()

    @property
    def labels(self) -> tuple[Relation, ...]:
        """All answers that people find good, the best first."""
        also = self.also if isinstance(self.also, tuple) else (self.also,)
        return () if self.label is None else (self.label, *also)


class ComparedPair(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Two names and what a is to b; None where a judge's answer cannot be used, or did not come, with its name.

    Attributes:
        labels: as in `NamePair`.
    """

    a: str
    b: str
    relation: Relation | None
    labels: tuple[Relation, ...] = ()
    analysis: str = ""
    error: str = ""
    failed: bool = False

    @property
    def agrees(self) -> bool:
        """Whether it is as people say."""
        return self.relation in self.labels


def read_name_pairs(path: Path) -> list[NamePair]:
    """Reads JSON lines {"a", "b"}, in which "relation" and "also" may say what people find.

    Raises:
        BadInput: the file cannot be read, a line is no such object or has a key twice, or a name says nothing.
    """
    pairs = []
    try:
        for number, pair in read_records(path, NamePair, "a pair of names", keys_once=True):
            for field, name in (("$.a", pair.a), ("$.b", pair.b)):
                if not any(character.isalnum() for character in name):
                    problem = f"the name is {name!r}; a name of a disease has letters, in English or Chinese"
                    raise BadInput(problem, path=path, line=number, field=field)
            pairs.append(pair)
    except BadInput as error:
        if error.field.startswith(("$.relation", "$.also")):
            problem = f"{error.problem}; a relation is one of {', '.join(RELATIONS)}"
            raise BadInput(problem, path=path, line=error.line, field=error.field) from None
        raise
    return pairs


def compare_by_rules(pairs: Sequence[NamePair]) -> list[ComparedPair]:
    """Returns what each name is to the other, by rules."""
    return [ComparedPair(a=p.a, b=p.b, relation=relation(p.a, p.b), labels=p.labels) for p in pairs]


def agreement_with_labels(compared: Sequence[ComparedPair]) -> Agreement | None:
    """Returns how far relations agree with people's labels, on the pairs that have one; None where none has.

    Where people find several answers as good, any of them agrees. What a judge could not say counts as disagreement;
    what came to no answer at all is not counted.
    """
    labelled = [one for one in compared if one.labels and not one.failed]
    if not labelled:
        return None
    reference = [str(one.relation if one.agrees else one.labels[0]) for one in labelled]
    return agreement(reference, [one.relation and str(one.relation) for one in labelled], labels=RELATIONS)
