"""What went wrong, sorted into categories by people, by a judge or by rules, and how the categories are counted.

What is sorted is known by two names (a case and a doctor, a question and a method). A person's word goes before the
others', and is not asked for. A judge's answer that cannot be used is counted under its own name, and is no category.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import read_records
from polyclinic.judging.model_judging import Item, Judged, Judging, answer_type, failures
from polyclinic.models.model import Model

Source = Literal["judge", "rules", "human"]

Category = TypeVar("Category", bound=StrEnum)


class Sourced(Judged, Protocol):
    """Something that somebody has sorted."""

    @property
    def source(self) -> Source | None:
        """Who says so; None where nobody was asked."""


Found = TypeVar("Found", bound=Sourced)


class Word(NamedTuple, Generic[Category]):
    """What a person says of a thing."""

    category: Category
    who: str


Words = Mapping[tuple[str, str], Word[Category]]
"""People's words by the two names of what they are about."""


class Counted(msgspec.Struct, Generic[Category], frozen=True, kw_only=True):
    """How often each category was found.

    Attributes:
        sources: the counts by who says so.
        unreadable: as in `failures`, and so is `failed`.
        unused: the names of what people spoke of and was not to be sorted.
    """

    counts: dict[Category, int]
    sources: dict[Source, dict[Category, int]]
    unreadable: dict[str, int]
    failed: dict[str, int]
    unused: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Sorting(Generic[Item, Found, Category]):
    """How things are sorted.

    Attributes:
        judging: the judge; a field of its answer has the name of the category's.
        names: the fields that hold the two names, in what is found and in people's words.
        field: the one that holds the category, also in the judge's answer.
        found: what is made of a thing, with the names, the category, and `source`, `who`, `error` and `failed`.
    """

    judging: Judging[Item]
    names: tuple[str, str]
    named: Callable[[Item], tuple[str, str]]
    field: str
    categories: type[Category]
    found: Callable[..., Found]

    async def sort(
        self, items: Sequence[Item], *, model: Model | None, words: Words[Category], otherwise: Callable[[Item], Found]
    ) -> tuple[Found, ...]:
        """Returns what is made of things: as people say, else as the judge does, else, without a judge, `otherwise`."""
        left = [item for item in items if self.named(item) not in words]
        rulings = iter(await self.judging.judge(left, model) if model is not None else ())

        def found(item: Item) -> Found:
            names = dict(zip(self.names, self.named(item), strict=True))
            if (word := words.get(self.named(item))) is not None:
                return self.found(**names, **{self.field: word.category}, source="human", who=word.who)
            if model is None:
                return otherwise(item)
            ruling = next(rulings)
            said = {self.field: None} if ruling.value is None else msgspec.structs.asdict(ruling.value)
            who = {"source": "judge", "who": model.name, "error": ruling.error, "failed": ruling.failed}
            return self.found(**names, **said, **who)

        return tuple(found(item) for item in items)

    def count(self, found: Sequence[Found], words: Words[Category]) -> dict[str, Any]:
        """Returns the fields of `Counted`."""
        sources: dict[Source, Counter[StrEnum]] = {}
        for one in found:
            if one.source is not None and (category := getattr(one, self.field)) is not None:
                sources.setdefault(one.source, Counter())[category] += 1
        counts = sum(sources.values(), Counter[StrEnum]())
        unreadable, failed = failures(found)
        known = {tuple(getattr(one, name) for name in self.names) for one in found}
        return {
            "counts": {category: counts[category] for category in self.categories},
            "sources": {
                source: {category: counted[category] for category in self.categories}
                for source, counted in sources.items()
            },
            "unreadable": unreadable,
            "failed": failed,
            "unused": tuple(names for names in words if names not in known),
        }

    def read_words(self, path: Path) -> dict[tuple[str, str], Word[Category]]:
        """Reads what people say: JSON lines, at most one for each two names."""
        fields = [*((name, str) for name in self.names), (self.field, self.categories), ("who", str)]
        line = msgspec.defstruct("Line", fields, forbid_unknown_fields=True)
        words: dict[tuple[str, str], Word[Category]] = {}
        try:
            for number, said in read_records(path, line, f"a {self.field}"):
                first, second, category, who = msgspec.structs.astuple(said)
                if (first, second) in words:
                    of = f"{self.names[0]} {first} of {self.names[1]} {second}"
                    problem = f"{of} has a {self.field} already; leave one line of them"
                    raise BadInput(problem, path=path, line=number)
                words[first, second] = Word(category, who)
        except BadInput as error:
            if error.field == f"$.{self.field}":
                problem = f"{error.problem}; the {self.field} is one of {', '.join(self.categories)}"
                raise BadInput(problem, path=path, line=error.line, field=error.field) from None
            raise
        return words


def answer_with(field: str, categories: type[StrEnum]) -> type[msgspec.Struct]:
    """Returns the type of a judge's answer: an analysis, and then the category in a field of this name."""
    return answer_type(field.title(), [("analysis", str), (field, categories)])
