"""Mistakes sorted into categories by people, a judge or rules, and counted.

A mistake has two names (a case and a doctor, a question and a method). If a person has sorted it, the judge is not
asked. Unusable answers of a judge are counted by name, and are no category.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from polyclinic.judging.model_judging import Item, Judging, failures
from polyclinic.models.model import Model

Source = Literal["judge", "rules", "human"]

Category = TypeVar("Category", bound=StrEnum)


class Sorted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A mistake in its category, and the person, model or rules who say so; no source if nobody was asked."""

    source: Source | None
    who: str = ""
    analysis: str = ""
    error: str = ""
    failed: bool = False


Found = TypeVar("Found", bound=Sorted)


class Word(NamedTuple, Generic[Category]):
    """A person's word on a mistake."""

    category: Category
    who: str


Words = Mapping[tuple[str, str], Word[Category]]  # people's words by the two names of a mistake


class Counted(msgspec.Struct, Generic[Category], frozen=True, kw_only=True):
    """How often each category was found."""

    counts: dict[Category, int]
    sources: dict[Source, dict[Category, int]]  # the counts by source
    unreadable: dict[str, int]  # as in `failures`, and so is `failed`
    failed: dict[str, int]
    unused: tuple[tuple[str, str], ...]  # the names in people's words that were not to be sorted
    prompts: str = ""  # hash of the judge's prompts; "" without a judge


@dataclass(frozen=True)
class Sorting(Generic[Item, Found, Category]):
    """A way of sorting mistakes."""

    judging: Judging[Item]  # the judge; a field of its answer has the name of the category's
    names: tuple[str, str]  # the fields that hold the two names
    named: Callable[[Item], tuple[str, str]]
    field: str  # the one that holds the category, also in the judge's answer
    categories: type[Category]
    found: Callable[..., Found]  # makes the result from the two names, the category, and the fields of `Sorted`

    async def sort(
        self,
        items: Sequence[Item],
        *,
        model: Model | None,
        words: Words[Category],
        otherwise: Callable[[Item], dict[str, Any]],
    ) -> tuple[tuple[Found, ...], dict[str, Any]]:
        """Sorts mistakes, without people and judge by `otherwise`. Also returns the fields of `Counted`."""
        left = [item for item in items if self.named(item) not in words]
        rulings = iter(await self.judging.judge(left, model) if model is not None else ())
        found = []
        for item in items:
            said: dict[str, Any] = {self.field: None}
            if (word := words.get(self.named(item))) is not None:
                said = {self.field: word.category, "source": "human", "who": word.who}
            elif model is None:
                said = otherwise(item)
            else:
                said |= next(rulings).said | {"source": "judge", "who": model.name}
            found.append(self.found(**dict(zip(self.names, self.named(item), strict=True)), **said))
        counts = Counter((one.source, category) for one in found if (category := getattr(one, self.field)) is not None)
        unreadable, failed = failures(found)
        known = set(map(self.named, items))
        sources = dict.fromkeys(source for source, _ in counts)
        return tuple(found), {
            "counts": {one: sum(counts[source, one] for source in sources) for one in self.categories},
            "sources": {source: {one: counts[source, one] for one in self.categories} for source in sources},
            "unreadable": unreadable,
            "failed": failed,
            "unused": tuple(names for names in words if names not in known),
            "prompts": "" if model is None else self.judging.prompts,
        }
