"""A practice as a page: the paper's Figures 6 to 13, Tables 1, 3 and 4, and Figure 14; one file, no network, no script.

Whatever a model or a case says is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table

from polyclinic import __version__
from polyclinic.evaluations.evolution.ablations import TASKS, Ablations, AnswerShown, CaseStudy, NearCase
from polyclinic.evaluations.evolution.curves import CurveLine, curves
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
