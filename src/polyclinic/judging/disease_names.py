"""How one disease name relates to another, and which diseases a text names, as judged by a model instead of the rules.

Each pair is one question; equal questions are asked once. Failures are counted by name, and are no relation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from polyclinic.judging.model_judging import Exhibit, Judging, Memory, NotAsked, answer_type
from polyclinic.knowledge.disease_names.relation import Relation
from polyclinic.language.language import Language, is_chinese
from polyclinic.metrics.disease_names import ComparedPair, NamePair, split_names
from polyclinic.models.model import Model

VERSION = 1  # grows when the prompt comes to mean something else

# The analysis comes first: a model writes from left to right, and must not decide before it has compared.
_ANSWER = answer_type("RelationAnswer", [("analysis", str), ("relation", Relation)])


def _shown(pair: NamePair) -> Exhibit:
    language: Language = "zh" if is_chinese(pair.a) and is_chinese(pair.b) else "en"
    texts = {"a": [pair.a], "b": [pair.b]}
    return Exhibit(language, "relation", ("shown",), texts, _ANSWER, f"disease names, {pair.a}, {pair.b}")


JUDGING = Judging(Path(__file__).with_suffix(".md"), _shown)


async def compare_by_model(
    pairs: Sequence[NamePair],
    model: Model,
    *,
    temperature: float | None = None,
    advance: Callable[[], None] = lambda: None,
) -> list[ComparedPair]:
    """Returns the relation of each pair of names, without pairs that were not asked about (`UntilStopped`)."""
    rulings = await JUDGING.judge(pairs, model, temperature=temperature, memory=Memory(), advance=advance)
    return [
        ComparedPair(a=pair.a, b=pair.b, labels=pair.labels, **{"relation": None} | ruling.said)
        for pair, ruling in zip(pairs, rulings, strict=True)
        if not isinstance(ruling.failure, NotAsked)
    ]


_MOST = 30
_Name = Annotated[str, msgspec.Meta(max_length=200)]
# The analysis comes first: a model writes from left to right, and must not list before it has read.
_DISEASES = answer_type(
    "DiseasesNamed", [("analysis", str), ("diseases", Annotated[tuple[_Name, ...], msgspec.Meta(max_length=_MOST)])]
)


def _shown_text(text: str) -> Exhibit:
    language: Language = "zh" if is_chinese(text) else "en"
    return Exhibit(language, "extract", ("shown",), {"text": text.splitlines()}, _DISEASES, "disease names")


EXTRACTING = Judging(Path(__file__).with_name("disease_extraction.md"), _shown_text, bullet="")


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """The names by text, and how often rules replaced the model, by the name of the failure.

    `left` are the texts that the model was not shown (`UntilStopped`); rules read them too.
    """

    names: dict[str, tuple[str, ...]]
    by_rules: dict[str, int]
    left: frozenset[str] = frozenset()


async def extract_diseases(
    texts: Iterable[str], model: Model, *, temperature: float | None = None, advance: Callable[[], None] = lambda: None
) -> Extracted:
    """Returns the diseases that each text names, as a model reads them; a text that says nothing names none."""
    asked = list(dict.fromkeys(text for text in texts if text.strip()))
    rulings = await EXTRACTING.judge(asked, model, temperature=temperature, advance=advance)
    names = {
        text: split_names(text)
        if ruling.value is None
        else tuple(dict.fromkeys(name.strip() for name in ruling.value.diseases if name.strip()))
        for text, ruling in zip(asked, rulings, strict=True)
    }
    left = {text for text, one in zip(asked, rulings, strict=True) if isinstance(one.failure, NotAsked)}
    lost = Counter(ruling.error for ruling in rulings if ruling.error)
    return Extracted(names=names, by_rules=dict(lost), left=frozenset(left))
