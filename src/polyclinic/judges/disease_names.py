"""What a disease is to another, both by name, as a model judges it in place of the rules.

Each pair is one question; an equal one is asked once. An answer that cannot be used, and a question that got none, are
counted under the name of the failure, and are no relation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from polyclinic.judges.judging import Exhibit, Judging, Memory, answer_type
from polyclinic.judges.until_stopped import NotAsked
from polyclinic.knowledge.disease_names.relation import Relation
from polyclinic.language.language import Language, is_chinese
from polyclinic.metrics.name_pairs import ComparedPair, NamePair
from polyclinic.models.model import Model

VERSION = 1
"""Grows when the prompt comes to mean something else."""

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
    """Returns what each name is to the other, as a model says.

    Of a model that is asked `UntilStopped`, the pairs are left out that it was not asked about.

    Raises:
        WrongKey: the judge's endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    rulings = await JUDGING.judge(pairs, model, temperature=temperature, memory=Memory(), advance=advance)
    return [
        ComparedPair(
            a=pair.a,
            b=pair.b,
            relation=None if ruling.value is None else ruling.value.relation,
            labels=pair.labels,
            analysis="" if ruling.value is None else ruling.value.analysis,
            error=ruling.error,
            failed=ruling.failed,
        )
        for pair, ruling in zip(pairs, rulings, strict=True)
        if not isinstance(ruling.failure, NotAsked)
    ]
