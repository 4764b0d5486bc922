"""A practice as a page: the paper's Figures 6 to 13, Tables 1, 3 and 4, and Figure 14; one file, no network, no script.

Whatever a model or a case says is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from polyclinic import __version__
from polyclinic.evaluations.evolution.ablations import Ablations, AnswerShown, CaseStudy, NearCase
from polyclinic.evaluations.evolution.curves import CurveLine, curves
from polyclinic.evaluations.evolution.replicas import EvolutionReplicas, interval
from polyclinic.evaluations.evolution.results import Evolution, gain_cells
from polyclinic.memory.entries import ClinicalTask
from polyclinic.statistics.uncertainty import wilson
from polyclinic.terminal.figures import NOTHING, low_to_high, number
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
    last = replicas.curve[-1]
    heads = ("task", "mean", "95 % interval", "cap", "constant")
    rows = [
        (
            task.value,
            number(last.right[task].mean, ".1f"),
            interval(last.right[task]),
            number(replicas.cap[task], ".1f"),
            number(replicas.constant[task], ".1f"),
        )
        for task in ClinicalTask
    ]
    says = "Treated rightly, in per cent of the patients of the test; Student's interval over practices."
    mean = [
        CurveLine(
            task.value,
            [(point.patients, point.right[task].mean or 0.0) for point in replicas.curve],
            kind,
            band=_band(replicas, task),
        )
        for kind, task in enumerate(ClinicalTask)
    ]
    parts = ["<h2>At the end</h2>", _scrolled(page_table(heads, rows)), f'<p class="note">{says}</p>']
    parts += ["<h2>How they learnt</h2>", _figure("In tests (Figure 7)", mean, "The mean, and around it its interval.")]
    tasks = [task.value for task in ClinicalTask]
    each = [
        (
            str(seed),
            *(number(run["final"][task], ".1f") for task in tasks),
            number(run["records"], ","),
            number(run["experience"], ","),
        )
        for seed, run in zip(replicas.seeds, replicas.runs, strict=True)
    ]
    parts += ["<h2>Each practice</h2>"]
    parts += [_scrolled(page_table(("seed", *(f"{task}, %" for task in tasks), "records", "experience"), each))]
    return whole_page(
        f"A doctor who learns, {counted(len(replicas.runs), 'time')}: {replicas.learner}",
        "\n".join(parts),
        made_from=f"{last.patients:,} patients of practice, seeds {replicas.seeds[0]} to {replicas.seeds[-1]}.",
        made_by=_MADE_BY,
        style=_STYLE.read_text("utf-8"),
    )


def _band(replicas: EvolutionReplicas, task: ClinicalTask) -> list[tuple[float, float, float]]:
    among = [(point.patients, point.right[task]) for point in replicas.curve]
    return [(patients, one.low, one.high) for patients, one in among if one.low is not None and one.high is not None]


def _sections(evolution: Evolution) -> list[str]:
    parts = [*_end(evolution), *_curves(evolution), *_kept(evolution), _snapshots(evolution)]
    if evolution.ablations is not None:
        parts += _parts(evolution.ablations)
        if evolution.ablations.study is not None:
            parts += _study(evolution.ablations.study)
    return parts


def _figure(title: str, lines: Sequence[CurveLine], says: str, *, up: str = _RIGHT, across: str = _PATIENTS) -> str:
    top = 100.0 if up == _RIGHT else None
    drawn = curves(lines, across=across, up=up, says=f"{title}. {says}", top=top)
    return f"<figure><h3>{shown(title)}</h3>{drawn}<figcaption>{shown(says)}</figcaption></figure>"


def _scrolled(table: str) -> str:
    return f'<div class="scroll">{table}</div>'


def _end(evolution: Evolution) -> list[str]:
    last = evolution.curve[-1]
    rows = []
    for task in ClinicalTask:
        low, high = wilson(last.right[task], last.n)
        counts = (evolution.curve[0].right[task], last.right[task], evolution.cap[task], evolution.constant[task])
        first, right, cap, constant = (number(100 * n / last.n, ".1f") for n in counts)
        practice = number(100 * last.train[task] / last.patients, ".1f") if last.patients else NOTHING
        rows.append((task.value, first, right, low_to_high(low, high, ".1f"), cap, constant, practice))
    says = "Treated rightly, in per cent of the patients of the test; cap is what the exact reader of the knowledge "
    says += "reaches with the same information, constant the best single answer, given to all. In practice: of those "
    says += "it learnt from, when they came."
    heads = ("task", "before", "at the end", "95 % interval", "cap", "constant", "in practice")
    return ["<h2>At the end</h2>", _scrolled(page_table(heads, rows)), f'<p class="note">{says}</p>']


def _curves(evolution: Evolution) -> list[str]:
    points, cap = evolution.curve, evolution.cap
    train = [
        CurveLine(t.value, [(p.patients, 100 * p.train[t] / p.patients) for p in points if p.patients], kind)
        for kind, t in enumerate(ClinicalTask)
    ]
    test = [
        CurveLine(t.value, [(p.patients, 100 * p.right[t] / p.n) for p in points], kind)
        for kind, t in enumerate(ClinicalTask)
    ]
    last = points[-1]
    bounds = [
        CurveLine(
            f"cap, {t.value}", [(0, 100 * cap[t] / last.n), (last.patients, 100 * cap[t] / last.n)], kind, level=True
        )
        for kind, t in enumerate(ClinicalTask)
    ]
    parts = ["<h2>How it learnt</h2>"]
    if last.patients:
        parts.append(_figure("In practice (Figure 6)", train, "Right so far, of all the patients who had come."))
    parts.append(_figure("In tests (Figure 7)", [*test, *bounds], "Patients kept apart; dotted: the cap."))
    parts.append("<h2>By disease</h2>")
    for nth, task in enumerate(ClinicalTask, start=8):
        lines = [
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
        says = "In tests; each line is of a few dozen patients, so it jumps."
        parts.append(_figure(f"{task.value.capitalize()} (Figure {nth})", lines, says))
    return parts


def _kept(evolution: Evolution) -> list[str]:
    parts = ["<h2>What was kept</h2>"]
    points = evolution.curve
    for nth, task in enumerate(ClinicalTask, start=11):
        lines = [
            CurveLine("wrong answers", [(p.patients, p.wrong[task]) for p in points], 1),
            CurveLine("experience", [(p.patients, p.experience[task]) for p in points], 0),
        ]
        says = "No wrong answer gives more than one principle, kept only where the retest came out right."
        parts.append(_figure(f"{task.value.capitalize()} (Figure {nth})", lines, says, up="so far"))
    lines = [
        CurveLine(t.value, [(p.patients, p.records[t]) for p in points], kind) for kind, t in enumerate(ClinicalTask)
    ]
    parts.append(_figure("Records", lines, "Each right answer is one.", up="so far"))
    return parts


def _snapshots(evolution: Evolution) -> str:
    """Returns how good it was with the memory of its first so many patients (as Table 4)."""
    rows = []
    for point in evolution.snapshots():
        shares = [number(100 * point.right[task] / point.n, ".1f") for task in ClinicalTask]
        counts = [number(sum(each.values()), ",") for each in (point.records, point.experience, point.wrong)]
        rows.append((number(point.patients, ","), *shares, *counts))
    heads = ("patients", *(f"{task.value}, %" for task in ClinicalTask), "records", "experience", "wrong")
    says = "A memory is read as it was after so many patients by FOLDER@2000."
    table = _scrolled(page_table(heads, rows))
    return f'<h2>Snapshots (as Table 4)</h2>{table}<p class="note">{says}</p>'


def _parts(ablations: Ablations) -> list[str]:
    def shares(right: Mapping[ClinicalTask, int]) -> list[str]:
        return [number(100 * right[task] / ablations.n, ".1f") for task in ClinicalTask]

    tasks = [f"{task.value}, %" for task in ClinicalTask]
    parts = ["<h2>Records and experience (as Table 3)</h2>"]
    parts.append(_scrolled(page_table(("with", *tasks), [(name, *shares(r)) for name, r in ablations.right.items()])))
    gains = [(one.over, one.task.value, *gain_cells(one)) for one in ablations.gains]
    heads = ("both over", "task", "points", "95 % interval", "p")
    parts.append(_scrolled(page_table(heads, gains, left=2)))
    says = (
        "The same memory, in the end, with a part of it; patient by patient: interval by paired bootstrap, p McNemar's."
    )
    parts.append(f'<p class="note">{says}</p>')
    lines = [
        CurveLine(t.value, [(k, 100 * right[t] / ablations.n) for k, right in ablations.by_k.items()], kind)
        for kind, t in enumerate(ClinicalTask)
    ]
    if ablations.by_k:
        says = "The same memory, with k records and k principles brought to mind; the paper's k is 3."
        parts.append(_figure("How many come to mind", lines, says, across="k"))
        rows = [(str(k), *shares(right)) for k, right in ablations.by_k.items()]
        parts.append(f"<details><summary>in numbers</summary>{_scrolled(page_table(('k', *tasks), rows))}</details>")
    return parts


def _study(study: CaseStudy) -> list[str]:
    rows = [
        (mode, *("✓" if task in answers and answers[task].is_right else "✗" for task in ClinicalTask))
        for mode, answers in study.answers.items()
    ]
    told = f"{study.case}: {study.disease}, {study.severity}."
    parts = ["<h2>One patient in three ways (Figure 14, Table 1)</h2>", f"<p>{shown(told)}</p>"]
    parts.append(f'<p class="said">{shown(study.symptoms)}</p>')
    parts.append(_scrolled(page_table(("with", *(task.value for task in ClinicalTask)), rows)))
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
