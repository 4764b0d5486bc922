"""What came of MVME, as tables like the paper's, as a document, and as files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.table import Table

    from polyclinic.benchmarks.mvme.evaluation import Evaluation
    from polyclinic.benchmarks.mvme.rows import Row
    from polyclinic.metrics.director import AspectMean
    from polyclinic.statistics.uncertainty import Estimate

_TIES_SHOWN = 6


def mvme_document(evaluation: Evaluation, *, about: dict[str, Any]) -> dict[str, Any]:
    """Returns what `--json` prints of an evaluation.

    Args:
        evaluation: what came.
        about: how it was held.
    """
    return {
        **about,
        "judge": evaluation.judge,
        "judge_version": evaluation.judge_version,
        "judge_prompts": evaluation.judge_prompts,
        "doctors": [
            {
                "name": row.name,
                "setting": str(row.setting),
                "metrics": row.verdicts.metrics,
                "grades": row.verdicts.grades,
                "length": row.verdicts.length,
                "judge_failed": row.verdicts.failed,
                "icd": {
                    language: {"metrics": icd.metrics, "per_case": icd.per_case, "ties": icd.tied, "n": len(icd.cases)}
                    for language, icd in row.icd.items()
                },
                "qa": row.qa,
                "tests": row.tests,
                "rounds": row.rounds,
                "departments": {
                    name: {"n": one.n, "metrics": one.verdicts.metrics, "icd_f1": one.icd_f1}
                    for name, one in row.departments.items()
                },
                "reasons": {"counts": row.reasons.counts, "sources": row.reasons.sources},
                "no_report": row.no_report,
                "failed": row.failed,
                "cases": [
                    {"id": one.case, "grades": {str(aspect): grade for aspect, grade in one.grades.items()}}
                    for one in row.judgements
                ],
            }
            for row in evaluation.rows
        ],
        "comparisons": evaluation.comparisons,
        "ties": evaluation.ties,
    }


def write_mvme(folder: Path, evaluation: Evaluation, document: dict[str, Any]) -> None:
    """Writes each entrant's traces, all judgements and reasons, and the summary into a folder."""
    import msgspec

    from polyclinic.files import write_text
    from polyclinic.metrics.grades import judgement_lines

    encode = msgspec.json.Encoder().encode
    for row in evaluation.rows:
        # A mind's name may hold strokes and colons; it must stay a file of this folder.
        name = re.sub(r"[^\w.-]+", "-", row.name).strip(".-")
        write_text(folder / f"{name}.jsonl", "".join(trace.lines() for v in row.visits for trace in v.traces))
    judgements = (one for row in evaluation.rows for one in row.judgements)
    write_text(folder / "judgements.jsonl", judgement_lines(judgements))
    reasons = (one for row in evaluation.rows for one in row.reasons.reasons)
    write_text(folder / "reasons.jsonl", "".join(encode(one).decode() + "\n" for one in reasons))
    write_text(folder / "summary.json", msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")


def show_mvme(screen: Console, evaluation: Evaluation) -> None:
    """Prints the tables of the paper, and what its readers would ask next."""
    _show_grades(screen, evaluation)
    _show_icd(screen, evaluation)
    _show_effort(screen, evaluation)
    _show_departments(screen, evaluation)
    _show_reasons(screen, evaluation)
    _show_rounds(screen, evaluation)
    _show_comparisons(screen, evaluation)


def _show_grades(screen: Console, evaluation: Evaluation) -> None:
    from polyclinic.metrics.grades import Aspect

    judge = f"{evaluation.judge}, version {evaluation.judge_version}"
    table = _table(f"Graded by {judge}: mean from 1 to 4 ± se (the paper's Table 2)", ("", *Aspect, "n", "no report"))
    for setting, rows in _by_setting(evaluation):
        table.add_section()
        table.add_row(setting, style="italic")
        for row in rows:
            graded = row.verdicts.metrics
            n = max(one.n + one.unreadable for one in graded.values())
            table.add_row(_text(f"  {row.name}"), *map(_grade, graded.values()), str(n), str(row.no_report))
    screen.print(table)
    for row in evaluation.rows:
        unreadable = {str(a): one.unreadable for a, one in row.verdicts.metrics.items() if one.unreadable}
        parts = [f"{n} {aspect} unreadable" for aspect, n in unreadable.items()]
        parts += [f"judge: {n} {error}" for error, n in row.verdicts.failed.items()]
        parts += [f"{n} visits failed ({cause})" for cause, n in row.failed.items()]
        if parts:
            screen.print(_text(f"  {row.name}: {', '.join(parts)}; outside the means"), style="yellow")
    screen.print("no report: the doctor's answer could not be used; graded 1, and counted.", style="dim")
    screen.print()


def _show_icd(screen: Console, evaluation: Evaluation) -> None:
    from polyclinic.benchmarks.exams.tables import mean_and_error as percent

    columns = ("", "#", "R", "P", "F1", "R category", "P category", "F1 category", "n")
    table = _table("Diagnoses as ICD-10 codes, in percent ± se (the paper's Table 3)", columns)
    metrics = ("number", "recall", "precision", "f1", "category_recall", "category_precision", "category_f1")
    for setting, rows in _by_setting(evaluation):
        table.add_section()
        table.add_row(setting, style="italic")
        for row in rows:
            for language, icd in row.icd.items():
                told = f"  {row.name}" + (f" ({language})" if len(row.icd) > 1 else "")
                table.add_row(_text(told), *(percent(icd.metrics[metric]) for metric in metrics), str(len(icd.cases)))
            if not row.icd:
                table.add_row(_text(f"  {row.name}"), *("–" for _ in metrics), "0")
    screen.print(table)
    screen.print("#: disease names a report.", style="dim")
    screen.print()


def _show_effort(screen: Console, evaluation: Evaluation) -> None:
    from polyclinic.terminal.tables import mean_and_error

    rows = [row for row in evaluation.rows if row.qa.mean]
    if not rows:
        return
    table = _table("What a visit took, mean ± se (of a team, all its doctors together)", ("", "#QA", "#Test", "n"))
    for row in rows:
        table.add_row(_text(row.name), mean_and_error(row.qa), mean_and_error(row.tests), str(row.qa.n))
    screen.print(table)
    screen.print()


def _show_departments(screen: Console, evaluation: Evaluation) -> None:
    from polyclinic.metrics.grades import Aspect

    names = list(dict.fromkeys(name for row in evaluation.rows for name in row.departments))
    if len(names) < 2:
        return
    table = _table("By department", ("", "", "n", *Aspect, "F1"))
    for name in names:
        table.add_section()
        for place, row in enumerate(one for one in evaluation.rows if name in one.departments):
            department = row.departments[name]
            f1 = "–" if department.icd_f1 is None or department.icd_f1.mean is None else f"{department.icd_f1.mean:.1f}"
            grades = map(_grade, department.verdicts.metrics.values())
            table.add_row(_text("" if place else name), _text(row.name), str(department.n), *grades, f1)
    screen.print(table)
    screen.print()


def _show_reasons(screen: Console, evaluation: Evaluation) -> None:
    from polyclinic.judges.failure_reasons import FailureReason

    if not any(row.reasons.reasons for row in evaluation.rows):
        return
    columns = ("", *FailureReason, "unreadable", "failed", "said by")
    table = _table("Why diagnoses graded 1 went wrong (the paper's Table 5)", columns)
    for row in evaluation.rows:
        reasons = row.reasons
        counts = [str(reasons.counts[kind]) for kind in FailureReason]
        lost = (str(sum(reasons.unreadable.values())), str(sum(reasons.failed.values())))
        table.add_row(_text(row.name), *counts, *lost, _text(", ".join(reasons.sources)))
    screen.print(table)
    screen.print()


def _show_rounds(screen: Console, evaluation: Evaluation) -> None:
    teams = [row for row in evaluation.rows if row.rounds is not None]
    if not teams:
        return
    most = max((len(row.rounds.within) for row in teams if row.rounds is not None), default=0)
    columns = ("", "discussions", *(f"within {n}" for n in range(1, most + 1)), "none reached", "answers lost")
    table = _table("Consensus within so many rounds, in percent [95 %] (the paper's Figure 4)", columns)
    for row in teams:
        if row.rounds is not None:
            cells = [
                "–" if one.percent is None else f"{one.percent:.0f} [{one.low:.0f}, {one.high:.0f}]"
                for one in row.rounds.within.values()
            ]
            # Where all had agreed before the last round that any team needed, nothing changes after.
            cells += [cells[-1] if cells else "–"] * (most - len(cells))
            lost = (str(row.rounds.without), str(row.rounds.kept))
            table.add_row(_text(row.name), str(row.rounds.discussions), *cells, *lost)
    screen.print(table)
    screen.print()


def _show_comparisons(screen: Console, evaluation: Evaluation) -> None:
    from polyclinic.terminal.tables import p_value

    if not evaluation.comparisons:
        return
    columns = ("", "less", "aspect", "difference", "95 % interval", "p", "p (Holm)", "n", "same grade")
    table = _table("On the cases of both", columns)
    tied = {(one.first, one.second, one.aspect): one for one in evaluation.ties}
    before = None
    for one in evaluation.comparisons:
        d, pair = one.difference, (one.first, one.second)
        if before not in (None, pair):
            table.add_section()
        tie = tied.get((*pair, one.aspect))
        same = "–" if tie is None or tie.percent is None else f"{tie.percent:.0f} %"
        span = f"{d.low:+.2f} to {d.high:+.2f}" if d.low is not None and d.high is not None else "–"
        mean = "–" if d.mean is None else f"{d.mean:+.2f}"
        names = ("", "") if before == pair else pair
        cells = (str(one.aspect), mean, span, p_value(d.p), p_value(one.p_holm), str(d.n), same)
        table.add_row(*map(_text, names), *cells)
        before = pair
    screen.print(table)
    screen.print(f"p: paired bootstrap; Holm's correction is over all {len(evaluation.comparisons)} rows.", style="dim")


def _by_setting(evaluation: Evaluation) -> Iterable[tuple[str, list[Row]]]:
    settings = dict.fromkeys(row.setting for row in evaluation.rows)
    return ((str(setting), [row for row in evaluation.rows if row.setting is setting]) for setting in settings)


def _table(title: str, columns: Iterable[str]) -> Table:
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False, title=title, title_justify="left")
    for column in columns:
        left = column in ("", "less", "aspect", "said by")
        table.add_column(column, justify="left" if left else "right")
    return table


def _text(written: str) -> Any:
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    return Text(plain(written))


def _grade(graded: AspectMean | Estimate) -> str:
    if graded.mean is None:
        return "–"
    return f"{graded.mean:.3f} ± {'–' if graded.stderr is None else f'{graded.stderr:.3f}'}"
