"""The names of diseases out of a diagnosis in free text, read by a model before they are linked (ai-hospital §3.2).

Each text is one question; an equal one is asked once. Where no answer can be used the rules' names stand, and how
often that was so is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import msgspec

from polyclinic.judges.judging import Exhibit, Judging, answer_type
from polyclinic.judges.until_stopped import NotAsked
from polyclinic.language.language import Language, is_chinese
from polyclinic.metrics.disease_names import split_names
from polyclinic.models.model import Model

_MOST = 30
_Name = Annotated[str, msgspec.Meta(max_length=200)]
# The analysis comes first: a model writes from left to right, and must not list before it has read.
_ANSWER = answer_type(
    "DiseasesNamed", [("analysis", str), ("diseases", Annotated[tuple[_Name, ...], msgspec.Meta(max_length=_MOST)])]
)


def _shown(text: str) -> Exhibit:
    language: Language = "zh" if is_chinese(text) else "en"
    return Exhibit(language, "extract", ("shown",), {"text": text.splitlines()}, _ANSWER, "disease names")


JUDGING = Judging(Path(__file__).with_suffix(".md"), _shown, bullet="")


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """The names by text, and how often the rules' stand in for a model's, by the name of the failure.

    Of a model that is asked `UntilStopped`, the texts that it was not shown are `left`; rules stand in there too.
    """

    names: dict[str, tuple[str, ...]]
    by_rules: dict[str, int]
    left: frozenset[str] = frozenset()


async def extract_diseases(
    texts: Iterable[str],
    model: Model,
    *,
    temperature: float | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Extracted:
    """Returns the diseases that each text names, as a model reads them; a text that says nothing names none.

    Raises:
        WrongKey: the model's endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    asked = list(dict.fromkeys(text for text in texts if text.strip()))
    rulings = await JUDGING.judge(asked, model, temperature=temperature, advance=advance)
    names = {
        text: split_names(text)
        if ruling.value is None
        else tuple(dict.fromkeys(name.strip() for name in ruling.value.diseases if name.strip()))
        for text, ruling in zip(asked, rulings, strict=True)
    }
    left = {text for text, one in zip(asked, rulings, strict=True) if isinstance(one.failure, NotAsked)}
    lost = Counter(ruling.error for ruling in rulings if ruling.error)
    return Extracted(names=names, by_rules=dict(lost), left=frozenset(left))
