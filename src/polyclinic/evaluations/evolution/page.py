"""A practice as a page: the paper's Figures 6 to 13, Tables 1, 3 and 4, and Figure 14; one file, no network, no script.

Whatever a model or a case says is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from polyclinic import __version__
from polyclinic.evaluations.evolution.ablations import TASKS, Ablations, AnswerShown, CaseStudy, NearCase, thinned
from polyclinic.evaluations.evolution.practice import Point
from polyclinic.evaluations.evolution.results import Evolution, EvolutionReplicas, curve_table
from polyclinic.memory.entries import ClinicalTask
from polyclinic.terminal.html import page_table, shown, whole_page
from polyclinic.terminal.tables import counted

_STYLE = Path(__file__).with_suffix(".css")
_MADE_BY = f"Written by polyclinic {__version__}, after Agent Hospital (Li et al., arXiv:2405.02957, §5)."
_RIGHT, _PATIENTS = "right, %", "patients treated"


def page(evolution: Evolution) -> str:
    """Returns what came of a practice as HTML."""
    last = evolution.curve[-1]
    made = f"{last.patients:,} patients of practice, {last.n:,} of the test, {len(evolution.curve):,} tests."
    return whole_page(
        f"A doctor who learns: {evolution.learner}",
        "\n".join(_sections(evolution)),
        made_from=" ".join(filter(None, (made, evolution.made_by))),
        made_by=_MADE_BY,
        style=_STYLE.read_text("utf-8"),
    )


def page_of_replicas(replicas: EvolutionReplicas) -> str:
    """Returns what came of several practices as HTML: the mean of their tests with its interval, and each of them."""
    mean = []
    for kind, task in enumerate(ClinicalTask):
        among = [(point.patients, point.right[task]) for point in replicas.curve]
        band = [(x, one.low, one.high) for x, one in among if one.low is not None and one.high is not None]
        mean.append(CurveLine(task.value, [(x, one.mean or 0.0) for x, one in among], kind, band=band))
    curve, each = replicas.tables()
    says = "Treated rightly, in per cent of the patients of the test; Student's interval over practices."
    parts = [
        _section("How they learnt", _figure("In tests (Figure 7)", mean, "The mean, and around it its interval.")),
        _section("Tests", _scrolled(curve), says),
        _section("Each practice, at the end", _scrolled(each)),
    ]
    seeds = f"seeds {replicas.seeds[0]} to {replicas.seeds[-1]}"
    return whole_page(
        f"A doctor who learns, {counted(len(replicas.runs), 'time')}: {replicas.learner}",
        "\n".join(parts),
        made_from=f"{replicas.curve[-1].patients:,} patients of practice, {seeds}.",
        made_by=_MADE_BY,
        style=_STYLE.read_text("utf-8"),
    )


def _sections(evolution: Evolution) -> list[str]:
    points, last = evolution.curve, evolution.curve[-1]

    def lines(value: Callable[[Point, ClinicalTask], float], among: Sequence[Point] = points) -> list[CurveLine]:
        return [
            CurveLine(task.value, [(p.patients, value(p, task)) for p in among], kind)
            for kind, task in enumerate(ClinicalTask)
        ]

    says = "Treated rightly, in per cent of the patients of the test; cap is what the exact reader of the knowledge "
    says += "reaches with the same information, constant the best single answer, given to all. In practice: of those "
    says += "it learnt from, when they came."
    parts = [_section("At the end", _scrolled(evolution.end_table()), says)]
    figures = []
    if last.patients:
        train = lines(lambda p, t: 100 * p.train[t] / p.patients, [p for p in points if p.patients])
        figures.append(_figure("In practice (Figure 6)", train, "Right so far, of all the patients who had come."))
    bounds = [
        CurveLine(
            f"cap, {task.value}",
            [(x, 100 * evolution.cap[task] / last.n) for x in (0, last.patients)],
            kind,
            level=True,
        )
        for kind, task in enumerate(ClinicalTask)
    ]
    tests = [*lines(lambda p, t: 100 * p.right[t] / p.n), *bounds]
    figures.append(_figure("In tests (Figure 7)", tests, "Patients kept apart; dotted: the cap."))
    parts.append(_section("How it learnt", *figures))
    diseases, kept = [], []
    for nth, task in enumerate(ClinicalTask):
        of_each = [
            CurveLine(
                evolution.names[id],
                [
                    (p.patients, 100 * p.by_disease[id][1][task] / p.by_disease[id][0])
                    for p in points
                    if id in p.by_disease
                ],
                kind,
            )
            for kind, id in enumerate(sorted(last.by_disease))
        ]
        title, jumps = (
            f"{task.value.capitalize()} (Figure {8 + nth})",
            "In tests; each line is of a few dozen patients, so it jumps.",
        )
        diseases.append(_figure(title, of_each, jumps))
        wrong = CurveLine("wrong answers", [(p.patients, p.wrong[task]) for p in points], 1)
        experience = CurveLine("experience", [(p.patients, p.experience[task]) for p in points], 0)
        says = "No wrong answer gives more than one principle, kept only where the retest came out right."
        kept.append(_figure(f"{task.value.capitalize()} (Figure {11 + nth})", [wrong, experience], says, up="so far"))
    kept.append(_figure("Records", lines(lambda p, t: p.records[t]), "Each right answer is one.", up="so far"))
    says = "A memory is read as it was after so many patients by FOLDER@2000."
    snapshots = _scrolled(curve_table(None, evolution.snapshots()))
    parts += [_section("By disease", *diseases), _section("What was kept", *kept)]
    parts.append(_section("Snapshots (as Table 4)", snapshots, says))
    if evolution.ablations is not None:
        parts += _parts(evolution.ablations)
        if evolution.ablations.study is not None:
            parts += _study(evolution.ablations.study)
    return parts


def _section(title: str, *parts: str) -> str:
    """Returns a section; a part that is no markup is a note."""
    noted = (part if part.startswith("<") else f'<p class="note">{part}</p>' for part in parts)
    return "\n".join([f"<h2>{title}</h2>", *noted])


def _figure(title: str, lines: Sequence[CurveLine], says: str, *, up: str = _RIGHT, across: str = _PATIENTS) -> str:
    top = 100.0 if up == _RIGHT else None
    drawn = curves(lines, across=across, up=up, says=f"{title}. {says}", top=top)
    return f"<figure><h3>{shown(title)}</h3>{drawn}<figcaption>{shown(says)}</figcaption></figure>"


def _scrolled(table: Table, *, left: int = 1) -> str:
    """Returns a table of the terminal's as HTML."""
    heads = [str(column.header) for column in table.columns]
    rows = zip(*([str(cell) for cell in column.cells] for column in table.columns), strict=True)
    return f'<div class="scroll">{page_table(heads, list(rows), left=left)}</div>'


def _parts(ablations: Ablations) -> list[str]:
    says = (
        "The same memory, in the end, with a part of it; patient by patient: interval by paired bootstrap, p McNemar's."
    )
    gains = _scrolled(ablations.gains_table(), left=2)
    parts = [
        _section("Records and experience (as Table 3)", _scrolled(ablations.parts_table(ablations.right)), gains, says)
    ]
    if ablations.by_k:
        lines = [
            CurveLine(t.value, [(k, 100 * right[t] / ablations.n) for k, right in ablations.by_k.items()], kind)
            for kind, t in enumerate(ClinicalTask)
        ]
        says = "The same memory, with k records and k principles brought to mind; the paper's k is 3."
        numbers = _scrolled(ablations.parts_table({f"k = {k}": right for k, right in ablations.by_k.items()}))
        parts.append(_figure("How many come to mind", lines, says, across="k"))
        parts.append(f"<details><summary>in numbers</summary>{numbers}</details>")
    return parts


def _study(study: CaseStudy) -> list[str]:
    rows = [
        (mode, *("✓" if task in answers and answers[task].is_right else "✗" for task in ClinicalTask))
        for mode, answers in study.answers.items()
    ]
    told = f"{study.case}: {study.disease}, {study.severity}."
    parts = ["<h2>One patient in three ways (Figure 14, Table 1)</h2>", f"<p>{shown(told)}</p>"]
    parts.append(f'<p class="said">{shown(study.symptoms)}</p>')
    parts.append(f'<div class="scroll">{page_table(("with", *TASKS), rows)}</div>')
    for task in ClinicalTask:
        shown_ = [_answer(mode, answers[task]) for mode, answers in study.answers.items() if task in answers]
        parts.append(f'<h3>{task.value.capitalize()}</h3><div class="answers">{"".join(shown_)}</div>')
    return parts


def _answer(mode: str, answer: AnswerShown) -> str:
    sign, kind = ("✓", "right") if answer.is_right else ("✗", "wrong")
    said = f'<p><b>{shown(mode)}</b>: <span class="{kind}">{sign} {shown(answer.answer or "no answer")}</span></p>'
    because = f"<p>{shown(answer.reasoning)}</p>" if answer.reasoning else ""
    lists = (("records", answer.records), ("experience", answer.experience))
    brought = "".join(_brought(name, some) for name, some in lists if some)
    return f"<section>{said}{because}{brought}</section>"


def _brought(name: str, some: Sequence[NearCase]) -> str:
    items = "".join(f"<li>{shown(f'{one.case} ({one.cosine:.2f}): {one.says}')}</li>" for one in some)
    return f"<p>{name}, the most like:</p><ul>{items}</ul>"


_WIDTH, _HEIGHT = 680, 310
_LEFT, _BESIDE, _TOP, _BOTTOM = 46, 204, 12, 40
_APART = 14  # Between two names at the right, so that none covers another
_KINDS = 8  # Kinds of lines that a page tells apart
_MOST = 140  # Points of a line; of more, so many are drawn, evenly


class CurveLine(NamedTuple):
    """A line: its name, and its points from left to right.

    `level` draws it as a bound, dotted; `band` is what lies between two heights at each place, as (x, low, high).
    """

    name: str
    points: Sequence[tuple[float, float]]
    kind: int = 0
    level: bool = False
    band: Sequence[tuple[float, float, float]] = ()


def curves(lines: Sequence[CurveLine], *, across: str, up: str, says: str, top: float | None = None) -> str:
    """Returns lines as an SVG."""
    every = [point for line in lines for point in line.points]
    right, highest = max((x for x, _ in every), default=1) or 1, top or max((y for _, y in every), default=1) or 1
    x_ticks, y_ticks = _ticks(right), _ticks(highest)
    most = top or max(highest, y_ticks[-1])
    wide, high = _WIDTH - _LEFT - _BESIDE, _HEIGHT - _TOP - _BOTTOM

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + wide * x / right, _TOP + high * (1 - y / most)

    parts = []
    for tick in y_ticks:
        y = at(0, tick)[1]
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_LEFT + wide}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    for tick in x_ticks:
        x = at(tick, 0)[0]
        parts.append(f'<text x="{x:.1f}" y="{_TOP + high + 16}" text-anchor="middle">{_number(tick)}</text>')
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{_TOP + high}H{_LEFT + wide}"/>')
    parts.append(f'<text x="{_LEFT + wide / 2:g}" y="{_HEIGHT - 6}" text-anchor="middle">{shown(across)}</text>')
    middle = _TOP + high / 2
    parts.append(
        f'<text transform="rotate(-90 12 {middle:g})" x="12" y="{middle:g}" text-anchor="middle">{shown(up)}</text>'
    )
    for line in lines:
        edge = [(x, high) for x, _, high in line.band] + [(x, low) for x, low, _ in reversed(line.band)]
        if edge:
            around = " ".join("{:.1f},{:.1f}".format(*at(x, min(max(y, 0), most))) for x, y in edge)
            parts.append(f'<polygon class="band b{line.kind % _KINDS}" points="{around}"/>')
    for line in lines:
        way = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in thinned(line.points, _MOST))
        look = f"line k{line.kind % _KINDS}" + (" level" if line.level else "")
        parts.append(f'<polyline class="{look}" points="{way}"/>')
    ends = [(at(*line.points[-1])[1], line) for line in lines if line.points]
    for y, line in zip(_spread([y for y, _ in ends], _TOP + 4, _TOP + high), (line for _, line in ends), strict=True):
        x, value = _LEFT + wide + 8, line.points[-1][1]
        parts.append(
            f'<path class="line k{line.kind % _KINDS}{" level" if line.level else ""}" d="M{x} {y - 4:.1f}h14"/>'
        )
        parts.append(f'<text x="{x + 18}" y="{y:.1f}">{shown(line.name)} {_number(round(value, 1))}</text>')
    view = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{shown(says)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {view}><title>{shown(says)}</title>{"".join(parts)}</svg>'


def _ticks(highest: float) -> list[float]:
    """Returns round numbers from 0 up to the highest, some five of them."""
    rough = highest / 5
    scale = 10 ** math.floor(math.log10(rough)) if rough > 0 else 1
    step = next(scale * one for one in (1, 2, 2.5, 5, 10) if scale * one >= rough)
    return [step * n for n in range(math.floor(highest / step + 1e-9) + 1)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def _spread(wanted: Sequence[float], first: float, last: float) -> list[float]:
    """Returns heights near those that are wanted, in their order, with room between them."""
    heights = [0.0] * len(wanted)
    free = first
    for left, n in zip(
        range(len(wanted) - 1, -1, -1), sorted(range(len(wanted)), key=lambda n: wanted[n]), strict=True
    ):
        # Those that come after need room, too.
        heights[n] = min(max(wanted[n] + 4, free), max(last - _APART * left, free))
        free = heights[n] + _APART
    return heights
