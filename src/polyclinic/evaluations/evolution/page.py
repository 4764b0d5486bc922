"""A practice as a page: the paper's Figures 6 to 13, Tables 1, 3 and 4, and Figure 14; one file, no network, no script.

The words of models and cases are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from polyclinic import __version__
from polyclinic.evaluations.evolution.ablations import TASKS, AnswerShown, CaseStudy, percent, thinned
from polyclinic.evaluations.evolution.results import Evolution, curve_table, tables_of_several
from polyclinic.memory.entries import ClinicalTask
from polyclinic.terminal.html import page_table, shown, whole_page
from polyclinic.terminal.tables import counted

_STYLE = Path(__file__).with_suffix(".css")
_MADE_BY = f"Written by polyclinic {__version__}, after Agent Hospital (Li et al., arXiv:2405.02957, §5)."
_RIGHT, _PATIENTS = "right, %", "patients treated"
_JUMPS = "In tests; each line is of a few dozen patients, so it jumps."
_KEPT = "No wrong answer gives more than one principle, kept only where the retest came out right."
_SAYS = (
    "Treated rightly, in per cent of the patients of the test; cap is what the exact reader of the knowledge reaches "
    "with the same information, constant the best single answer, given to all. In practice: of those it learnt from, "
    "when they came."
)
_PARTS = (
    "The same memory, in the end, with a part of it; patient by patient: interval by paired bootstrap, p McNemar's."
)


class CurveLine(NamedTuple):
    """A line: its name, and its points from left to right.

    `level` draws it as a bound, dotted; `band` is its interval at each place, as (x, low, high).
    """

    name: str
    points: Sequence[tuple[float, float]]
    kind: int = 0
    level: bool = False
    band: Sequence[tuple[float, float, float]] = ()


def page(evolution: Evolution) -> str:
    """Returns the results of a practice as HTML."""
    points, last, tested = evolution.curve, evolution.curve[-1], evolution.ablations
    practised = [point for point in points if point.patients]
    tests, cap = [(point.patients, percent(point.right, point.n)) for point in points], percent(evolution.cap, last.n)
    bounds = _lines([(0, cap), (last.patients, cap)], "cap, ", level=True)
    learnt = [_figure("In tests (Figure 7)", [*_lines(tests), *bounds], "Patients kept apart; dotted: the cap.")]
    if practised:
        train = _lines([(point.patients, percent(point.train, point.patients)) for point in practised])
        learnt.insert(0, _figure("In practice (Figure 6)", train, "Right so far, of all the patients who had come."))
    diseases, kept = [], []
    for nth, task in enumerate(ClinicalTask):
        found = {
            id: [
                (p.patients, 100 * p.by_disease[id][1][task] / p.by_disease[id][0])
                for p in points
                if id in p.by_disease
            ]
            for id in sorted(last.by_disease)
        }
        each = [CurveLine(evolution.names[id], line, kind) for kind, (id, line) in enumerate(found.items())]
        diseases.append(_figure(f"{task.capitalize()} (Figure {8 + nth})", each, _JUMPS))
        wrong = CurveLine("wrong answers", [(p.patients, p.wrong[task]) for p in points], 1)
        experience = CurveLine("experience", [(p.patients, p.experience[task]) for p in points], 0)
        kept.append(_figure(f"{task.capitalize()} (Figure {11 + nth})", [wrong, experience], _KEPT, up="so far"))
    records = _lines([(point.patients, point.records) for point in points])
    kept.append(_figure("Records", records, "Each right answer is one.", up="so far"))
    parts = [
        _section("At the end", _scrolled(evolution.end_table()), _SAYS),
        _section("How it learnt", *learnt),
        _section("By disease", *diseases),
        _section("What was kept", *kept),
        _section(
            "Snapshots (as Table 4)",
            _scrolled(curve_table(None, evolution.snapshots())),
            "A memory is read as it was after so many patients by FOLDER@2000.",
        ),
    ]
    if tested is not None:
        in_parts, gains = _scrolled(tested.parts_table(tested.right)), _scrolled(tested.gains_table(), left=2)
        by_k = _lines([(k, percent(right, tested.n)) for k, right in tested.by_k.items()])
        says = "The same memory, with k records and k principles brought to mind; the paper's k is 3."
        numbers = _scrolled(tested.parts_table({f"k = {k}": right for k, right in tested.by_k.items()}))
        parts += [
            _section("Records and experience (as Table 3)", in_parts, gains, _PARTS),
            _figure("How many come to mind", by_k, says, across="k"),
            f"<details><summary>in numbers</summary>{numbers}</details>",
            *_study(tested.study),
        ]
    made = f"{last.patients:,} patients of practice, {last.n:,} of the test, {len(points):,} tests. {evolution.made_by}"
    return _whole(f"A doctor who learns: {evolution.learner}", parts, made.strip())


def page_of_several(document: Mapping[str, Any]) -> str:
    """Returns the results of several practices as HTML: the mean of their tests with its interval, and each of them."""
    tests = [(point["patients"], point) for point in document["curve"]]
    mean = _lines([(x, {task: point[task].mean for task in TASKS}) for x, point in tests])
    bands = [[(x, one[t].low, one[t].high) for x, one in tests if one[t].low is not None] for t in TASKS]
    mean = [line._replace(band=band) for line, band in zip(mean, bands, strict=True)]
    curve, each = map(_scrolled, tables_of_several(document))
    says = "Treated rightly, in per cent of the patients of the test; Student's interval over practices."
    parts = [
        _section("How they learnt", _figure("In tests (Figure 7)", mean, "The mean, and around it its interval.")),
        _section("Tests", curve, says),
        _section("Each practice, at the end", each),
    ]
    seeds = f"seeds {document['seeds'][0]} to {document['seeds'][-1]}"
    title = f"A doctor who learns, {counted(document['replicas'], 'time')}: {document['doctor']}"
    return _whole(title, parts, f"{document['curve'][-1]['patients']:,} patients of practice, {seeds}.")


def _whole(title: str, parts: Iterable[str], made_from: str) -> str:
    style = _STYLE.read_text("utf-8")
    return whole_page(title, "\n".join(parts), made_from=made_from, made_by=_MADE_BY, style=style)


def _lines(
    points: Iterable[tuple[float, Mapping[Any, float]]], name: str = "", *, level: bool = False
) -> list[CurveLine]:
    """Returns a line for each task, from the values of the tasks at each place."""
    places = list(points)
    return [
        CurveLine(f"{name}{task}", [(x, values[task]) for x, values in places], kind, level)
        for kind, task in enumerate(TASKS)
    ]


def _section(title: str, *parts: str) -> str:
    """Returns a section; a part without markup is a note."""
    noted = (part if part.startswith("<") else f'<p class="note">{part}</p>' for part in parts)
    return "\n".join([f"<h2>{title}</h2>", *noted])


def _figure(title: str, lines: Sequence[CurveLine], says: str, *, up: str = _RIGHT, across: str = _PATIENTS) -> str:
    top = 100.0 if up == _RIGHT else None
    drawn = curves(lines, across=across, up=up, says=f"{title}. {says}", top=top)
    return f"<figure><h3>{shown(title)}</h3>{drawn}<figcaption>{shown(says)}</figcaption></figure>"


def _scrolled(table: Table, *, left: int = 1) -> str:
    """Returns a table of the terminal as HTML."""
    heads = [str(column.header) for column in table.columns]
    rows = zip(*([str(cell) for cell in column.cells] for column in table.columns), strict=True)
    return f'<div class="scroll">{page_table(heads, list(rows), left=left)}</div>'


def _study(study: CaseStudy) -> list[str]:
    rows = [
        (mode, *("✓" if task in answers and answers[task].is_right else "✗" for task in ClinicalTask))
        for mode, answers in study.answers.items()
    ]
    parts = [
        "<h2>One patient in three ways (Figure 14, Table 1)</h2>",
        f"<p>{shown(f'{study.case}: {study.disease}, {study.severity}.')}</p>",
        f'<p class="said">{shown(study.symptoms)}</p>',
        f'<div class="scroll">{page_table(("with", *TASKS), rows)}</div>',
    ]
    for task in ClinicalTask:
        answers_ = "".join(_answer(mode, answers[task]) for mode, answers in study.answers.items() if task in answers)
        parts.append(f'<h3>{task.capitalize()}</h3><div class="answers">{answers_}</div>')
    return parts


def _answer(mode: str, answer: AnswerShown) -> str:
    sign, kind = ("✓", "right") if answer.is_right else ("✗", "wrong")
    parts = [f'<p><b>{shown(mode)}</b>: <span class="{kind}">{sign} {shown(answer.answer or "no answer")}</span></p>']
    if answer.reasoning:
        parts.append(f"<p>{shown(answer.reasoning)}</p>")
    for name, some in (("records", answer.records), ("experience", answer.experience)):
        if some:
            items = "".join(f"<li>{shown(f'{one.case} ({one.cosine:.2f}): {one.says}')}</li>" for one in some)
            parts.append(f"<p>{name}, the most like:</p><ul>{items}</ul>")
    return f"<section>{''.join(parts)}</section>"


_WIDTH, _HEIGHT = 680, 310
_LEFT, _BESIDE, _TOP, _BOTTOM = 46, 204, 12, 40
_WIDE, _HIGH = _WIDTH - _LEFT - _BESIDE, _HEIGHT - _TOP - _BOTTOM
_LINE = 18  # between two names at the right
_KINDS = 8  # kinds of lines that a page tells apart
_MOST = 140  # points of a line


def curves(lines: Sequence[CurveLine], *, across: str, up: str, says: str, top: float | None = None) -> str:
    """Returns lines as an SVG, with their names and last values at the right."""
    every = [point for line in lines for point in line.points]
    right = max((x for x, _ in every), default=1) or 1
    most = top or _rounded(max((y for _, y in every), default=1))

    def at(x: float, y: float) -> str:
        return f"{_LEFT + _WIDE * x / right:.1f},{_TOP + _HIGH * (1 - min(max(y, 0), most) / most):.1f}"

    bottom, middle = _TOP + _HIGH, _TOP + _HIGH / 2
    parts = [
        f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{_LEFT + _WIDE}"/>',
        _text(_LEFT + _WIDE / 2, _HEIGHT - 6, across, "middle"),
        f'<g transform="rotate(-90 12 {middle:g})">{_text(12, middle, up, "middle")}</g>',
    ]
    for quarter in range(5):
        x, y = _LEFT + _WIDE * quarter / 4, bottom - _HIGH * quarter / 4
        parts.append(f'<path class="grid" d="M{_LEFT} {y:g}H{_LEFT + _WIDE}"/>')
        parts.append(_text(_LEFT - 6, y + 4, _number(most * quarter / 4), "end"))
        parts.append(_text(x, bottom + 16, _number(right * quarter / 4), "middle"))
    for place, line in enumerate(lines):
        kind, level = line.kind % _KINDS, " level" if line.level else ""
        if line.band:
            edge = [at(x, high) for x, _, high in line.band] + [at(x, low) for x, low, _ in reversed(line.band)]
            parts.append(f'<polygon class="band b{kind}" points="{" ".join(edge)}"/>')
        way = " ".join(at(*point) for point in thinned(line.points, _MOST))
        parts.append(f'<polyline class="line k{kind}{level}" points="{way}"/>')
        if line.points:
            x, y = _LEFT + _WIDE + 8, _TOP + 8 + _LINE * place
            parts.append(f'<path class="line k{kind}{level}" d="M{x} {y - 4}h14"/>')
            parts.append(_text(x + 18, y, f"{line.name} {_number(line.points[-1][1])}", "start"))
    view = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{shown(says)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {view}><title>{shown(says)}</title>{"".join(parts)}</svg>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{shown(text)}</text>'


def _rounded(highest: float) -> float:
    """Returns a round number that is no lower."""
    scale: float = 10 ** math.floor(math.log10(highest)) if highest > 0 else 1
    return scale * next(step for step in (1, 2, 4, 6, 8, 10) if scale * step >= highest)


def _number(value: float) -> str:
    return f"{round(value, 1):,g}" if value < 1e5 else f"{value:,.0f}"
