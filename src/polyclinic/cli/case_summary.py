"""Who the cases of a file are together: Tree-of-Reasoning's Figures 7 to 9, and AI Hospital's Table 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from polyclinic.cases.case import Case
from polyclinic.cases.report import Diagnosis
from polyclinic.evidence_tree.parts import KINDS, divide
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import length
from polyclinic.terminal.figures import number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import counted, table

_SHOWN = 15
_BAR = 30
_FIRST_YEARS = (0, 18, 45, 60, 75)  # of the bands of age; the two last are the paper's


class CountedShare(msgspec.Struct, frozen=True):
    """How many of all have a name, and what percent that is."""

    name: str
    n: int
    percent: float


class CaseSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of a file together.

    Attributes:
        n: cases.
        diagnoses: labels, of all that all cases have, the most frequent first; `labels` counts them.
        ages: by band of years, of those whose age is known, as sexes and departments are.
        parts: cases that have data of each kind (outpatient, laboratory, radiology, pathology).
        words: mean length of the record: words, or characters where it is Chinese.
    """

    n: int
    labels: int
    diagnoses: tuple[CountedShare, ...]
    ages: tuple[CountedShare, ...]
    sexes: tuple[CountedShare, ...]
    departments: tuple[CountedShare, ...]
    parts: tuple[CountedShare, ...]
    per_case: float
    findings: float
    words: float
    options: float


def summarise(cases: Sequence[Case], knowledge: Knowledge) -> CaseSummary:
    """Counts who the cases are."""
    n = max(len(cases), 1)
    labels = [_name(d, knowledge) for case in cases for d in case.truth.diagnoses]
    departments = [_department(case, knowledge) for case in cases]
    ages = [case.presentation.age for case in cases]
    by_band = Counter(_band(age) for age in ages if age is not None)
    parts = Counter(kind for case in cases for kind in divide(case.record, knowledge))
    texts = [[part.read_out() for part in divide(case.record, knowledge).values()] for case in cases]
    return CaseSummary(
        n=len(cases),
        labels=len(labels),
        diagnoses=_shares(Counter(labels), len(labels)),
        ages=tuple(
            CountedShare(band, by_band[band], 100 * by_band[band] / max(by_band.total(), 1))
            for band in map(_band, _FIRST_YEARS)
        ),
        sexes=_shares(Counter(case.presentation.sex for case in cases if case.presentation.sex), None),
        departments=_shares(Counter(d for d in departments if d), None),
        parts=tuple(CountedShare(kind, parts[kind], 100 * parts[kind] / n) for kind in KINDS),
        per_case=len(labels) / n,
        findings=sum(len(case.record.findings) for case in cases) / n,
        words=sum(length(text) for part in texts for text in part) / n,
        options=sum(len(case.question.options) if case.question else 0 for case in cases) / n,
    )


def _band(age: float) -> str:
    first = max(year for year in _FIRST_YEARS if year <= age)
    later = [year for year in _FIRST_YEARS if year > first]
    return f"{first}-{later[0] - 1}" if later else f"{first}+"


def _name(diagnosis: Diagnosis, knowledge: Knowledge) -> str:
    known = knowledge.disease_named(diagnosis.name)
    return diagnosis.name if known is None else known.name.en


def _department(case: Case, knowledge: Knowledge) -> str:
    """Returns the department as the source says it, else that of the principal diagnosis where the knowledge has it."""
    named = case.department
    if not named and case.truth.diagnoses:
        known = knowledge.disease_named(case.truth.diagnoses[0].name)
        named = "" if known is None else known.department
    return knowledge.departments[named].name.en if named in knowledge.departments else named


def _shares(counts: Counter[str], of: int | None) -> tuple[CountedShare, ...]:
    total = max(counts.total() if of is None else of, 1)
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return tuple(CountedShare(name, count, 100 * count / total) for name, count in ordered)


def show_summary(screen: Console, summary: CaseSummary) -> None:
    """Draws it: a table of bars for each way of looking at them."""
    screen.print(
        f"{counted(summary.n, 'case')}; on average {summary.per_case:.1f} diagnoses, {summary.findings:.0f} findings, "
        f"{summary.words:.0f} words or characters, {summary.options:.1f} options"
    )
    named = f"diagnoses ({len(summary.diagnoses)}; {summary.labels} in all)"
    _bars(screen, named, summary.diagnoses)
    _bars(screen, "age", summary.ages)
    _bars(screen, "sex", summary.sexes)
    _bars(screen, f"department ({len(summary.departments)})", summary.departments)
    _bars(screen, "has data of", summary.parts)


def _bars(screen: Console, title: str, shares: Iterable[CountedShare]) -> None:
    every = list(shares)
    if not any(one.n for one in every):
        screen.print(f"\n{title}: not recorded")
        return
    most = max(one.percent for one in every)
    shown = table(f"\n{title}", ("", "n", "%", " "), right=("n", "%"))
    for one in every[:_SHOWN]:
        bar = "█" * max(round(_BAR * one.percent / most), int(one.n > 0))
        shown.add_row(Text(plain(one.name)), str(one.n), number(one.percent, ".1f"), bar)
    screen.print(shown)
    if len(every) > _SHOWN:
        rest = every[_SHOWN:]
        screen.print(f"and {len(rest)} more, {sum(one.percent for one in rest):.1f} % together", style="dim")
