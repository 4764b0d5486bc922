"""Why a method's answers are wrong: which answers are sorted, and how many are of each kind (MedAgents, Figure 5).

Paper: Tang et al., MedAgents, arXiv:2311.10537, §5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from polyclinic.evaluations.exams.evaluation import MethodResult
from polyclinic.judging.error_categories import Categories, ErrorCategory, MissedQuestion
from polyclinic.questions.exam import ExamQuestion
from polyclinic.results.folder import ItemMeasure
from polyclinic.seeds import derive
from polyclinic.statistics.uncertainty import share
from polyclinic.terminal.figures import low_to_high, number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import table

CATEGORY_MEASURES = tuple(ItemMeasure(name=str(kind), share=True) for kind in ErrorCategory)
"""The share of each category among the sorted answers."""


def outcome_name(name: str) -> str:
    """Returns the name of a method's outcomes, as their file is called: settings may hold strokes and blanks."""
    return re.sub(r"[^\w.-]+", "-", name).strip(".-")


def wrong_answers(
    results: Iterable[MethodResult], questions: Sequence[ExamQuestion], *, most: int | None = None, seed: int = 0
) -> list[MissedQuestion]:
    """Returns the wrong answers of methods; of each at most so many, drawn by the seed (the paper looks at 40).

    A question without a readable answer has no reasoning to sort.
    """
    by_id = {question.question.id: question for question in questions}
    found: list[MissedQuestion] = []
    for result in results:
        name = outcome_name(result.name)
        missed = [
            MissedQuestion(question=by_id[one.id], method=name, outcome=one.outcome)
            for one in result.answered
            if one.readable and not one.right
        ]
        if most is not None and most < len(missed):
            drawn = derive(seed, "wrong answers", name).sample(range(len(missed)), most)
            missed = [missed[place] for place in sorted(drawn)]
        found += missed
    return found


def categories_of(found: Categories) -> dict[tuple[str, str], dict[str, float]]:
    """Returns by question and method the category of a wrong answer, as a value for each category: 100 or 0."""
    return {
        (one.question, one.method): {str(kind): 100.0 * (one.category is kind) for kind in ErrorCategory}
        for one in found.answers
        if one.category is not None
    }


def errors_document(found: Categories, judge: str | None) -> dict[str, Any]:
    """Returns what `--json` prints of the categories; the example is the first answer of each (Figure 4)."""
    n = sum(found.counts.values())
    first = {str(one.category): one.question for one in reversed(found.answers) if one.category is not None}
    return {
        "judge": judge,
        "version": found.version,
        "prompts": found.prompts,
        "looked_at": len(found.answers),
        "shares": {
            str(kind): dict(zip(("share", "low", "high"), share(count, n), strict=True))
            for kind, count in found.counts.items()
        },
        "counts": found.counts,
        "examples": first,
        "sources": found.sources,
        "unreadable": found.unreadable,
        "failed": found.failed,
        "unasked": found.unasked,
        "unused": found.unused,
        "answers": found.answers,
    }


def show_errors(screen: Console, found: Categories, judge: str | None) -> None:
    """Prints how many of the wrong answers are of each kind, and who said so."""
    n = sum(found.counts.values())
    columns = ("category", "%", "95 % interval", "n", "by the judge", "by people")
    shown = table("why answers are wrong", columns)
    for kind, count in found.counts.items():
        percent, low, high = share(count, n)
        by = (str(found.sources.get(source, {}).get(kind, 0)) for source in ("judge", "human"))
        cells = (number(percent, ".1f"), low_to_high(low, high, ".1f"), str(count), *by)
        shown.add_row(Text(kind), *cells)
    screen.print(shown)
    for line in _told(found, judge):
        screen.print(line, style="dim")


def _told(found: Categories, judge: str | None) -> list[str]:
    """Returns who named the categories, and which answers have none."""
    lines = [f"{len(found.answers)} wrong answers looked at, {sum(found.counts.values())} sorted."]
    if judge is None:
        lines.append(f"Without a judge only people's verdicts count; {found.unasked} wrong answers are not sorted.")
    else:
        unreadable, failed = sum(found.unreadable.values()), sum(found.failed.values())
        lines.append(
            f"Judge {plain(judge)}, prompts of version {found.version} ({found.prompts}): {unreadable} unreadable, "
            f"{failed} failed."
        )
    if found.unused:
        shown = ", ".join(plain(f"{question} of {method}") for question, method in found.unused[:5])
        lines.append(f"{len(found.unused)} of people's verdicts are on no answer looked at: {shown}")
    return lines
