"""What came of MVME, as tables like the paper's, as a document, and as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rich.console import Console
from rich.table import Table

from polyclinic.evaluations.measuring import show_compared
from polyclinic.evaluations.mvme.evaluation import EntrantResult, MvmeResult, TablePart
from polyclinic.judging.failure_reasons import FailureReason
from polyclinic.judging.people import MeansByPeople
from polyclinic.metrics.grades import Aspect
from polyclinic.metrics.recorded_reports import AspectMean, brackets
from polyclinic.models.tally import CallTotal
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.run.output import Output, first_failure, output_of_visits
from polyclinic.terminal.figures import NOTHING, ShownFigure, number, with_ends
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import Column, mean_and_error, table, table_of
from polyclinic.visits.team import TeamVisit
from polyclinic.visits.visit import Visit

MEASURES = [ItemMeasure(name=str(aspect), percent=False, share=False) for aspect in (Aspect.DIAGNOSIS, *Aspect)]


def mvme_row(entrant: EntrantResult, visit: Visit | TeamVisit, *, seed: int) -> ItemRow:
    """Returns the grades of a case, 1 to 4; a visit that failed has none."""
    grades = next((judged.grades for judged in entrant.judgements if judged.case == visit.case), {})
    needed = entrant.calls.get(visit.case, CallTotal())
    return ItemRow(
        item=visit.case,
        values={str(aspect): float(grade) for aspect, grade in grades.items() if grade is not None},
        model=entrant.name,
        seed=seed,
        calls=needed.calls,
        shared=needed.shared,
        tokens=needed.tokens,
        cost=needed.cost,
        seconds=needed.seconds,
    )


def _grade(graded: AspectMean) -> str:
    """Returns a mean with the bracket that the paper prints, half the bootstrap interval, and its standard error."""
    bracket = "" if graded.bracket is None else f" ({graded.bracket:.3f})"
    error = "" if graded.stderr is None else f" ± {graded.stderr:.3f}"
    if graded.mean is None:
        return NOTHING
    parts = {"": graded.mean, "half the interval": graded.bracket, "stderr": graded.stderr}
    return ShownFigure(f"{graded.mean:.3f}{bracket}{error}", parts)


def mvme_output(
    result: MvmeResult, about: Mapping[str, Any], *, people: Mapping[str, MeansByPeople] | None = None, note: str = ""
) -> Output:
    """Returns what a user gets of an evaluation, with how it was held, and a note below the tables.

    What `people` grade, by entrant, stands beside the judge's grades.
    """
    people = people or {}

    def show(screen: Console) -> None:
        show_mvme(screen, result, people)
        if note:
            screen.print(note, style="yellow", soft_wrap=True)
        told = "; ".join(f"{name}: {about[name]}" for name in ("protocol", "cases", "patient", "seed"))
        screen.print(told)

    document = {
        **about,
        "judge": result.judge,
        "judge_version": result.judge_version,
        "judge_prompts": result.judge_prompts,
        "names_by": result.names_by,
        "names_by_rules": result.names_by_rules,
        "doctors": [_document(one) for one in result.entrants],
        "comparisons": result.comparisons,
        "ties": result.ties,
        **({"people": people} if people else {}),
    }
    entrants = {one.name: one for one in result.entrants}
    return output_of_visits(
        {name: one.visits for name, one in entrants.items()},
        lambda name, visit: mvme_row(entrants[name], visit, seed=about.get("seed", 0)),
        document=document,
        show=show,
        files={
            "judgements.jsonl": [judged for one in result.entrants for judged in one.judgements],
            "reasons.jsonl": [reason for one in result.entrants for reason in one.reasons.reasons],
        },
        written="Traces, judgements and summary: {}",
        failed=sum(sum(one.failed.values()) for one in result.entrants),
        failures=first_failure(visit for one in result.entrants for visit in one.visits),
        measures=MEASURES,
    )


def _document(one: EntrantResult) -> dict[str, Any]:
    graded, departments = one.verdicts, one.departments.items()
    fields = ("name", "setting", "qa", "tests", "told_as_normal", "rounds", "no_report", "failed")
    return {
        **{name: getattr(one, name) for name in fields},
        "metrics": graded.metrics,
        "brackets": brackets(graded.metrics),
        "grades": graded.grades,
        "length": graded.length,
        "judge_failed": graded.failed,
        "icd": {
            language: {"metrics": icd.metrics, "per_case": icd.per_case, "ties": icd.tied, "n": len(icd.cases)}
            for language, icd in one.icd.items()
        },
        "departments": {
            name: {"n": part.n, "metrics": part.verdicts.metrics, "icd_f1": part.icd_f1} for name, part in departments
        },
        "reasons": {"counts": one.reasons.counts, "sources": one.reasons.sources},
        "cases": [{"id": judged.case, "grades": judged.grades} for judged in one.judgements],
    }


def show_mvme(screen: Console, result: MvmeResult, people: Mapping[str, MeansByPeople] = MappingProxyType({})) -> None:
    """Prints the tables of the paper, and what its readers would ask next."""
    _show_grades(screen, result, people)
    _show_icd(screen, result)
    _show_effort(screen, result.entrants)
    _show_departments(screen, result.entrants)
    _show_reasons(screen, result.entrants)
    _show_rounds(screen, result.entrants)
    tied = {(one.first, one.second, one.aspect): number(one.percent, ".0f", " %") for one in result.ties}
    columns: dict[str, Column] = {
        "": "first",
        "less": "second",
        "aspect": "measure",
        "same grade": lambda one: tied.get((one.first, one.second, one.measure)),
    }
    show_compared(screen, "On the cases of both", result.comparisons, columns)


def _show_grades(screen: Console, result: MvmeResult, people: Mapping[str, MeansByPeople]) -> None:
    judge = f"{result.judge}, version {result.judge_version}"
    title = f"Graded by {judge}: mean from 1 to 4 (half the 95 % interval, as the paper's Table 2) ± se"
    shown = table(title, ("", *Aspect, "n", "no report"))
    for one in _by_setting(shown, result.entrants):
        graded = one.verdicts.metrics
        n = max(grades.n + grades.unreadable for grades in graded.values())
        shown.add_row(plain(f"  {one.name}"), *map(_grade, graded.values()), str(n), str(one.no_report))
        if (said := people.get(one.name)) is not None:
            means = [said.means[aspect] for aspect in Aspect]
            most = max(mean.n for mean in means)
            shown.add_row("    people", *(mean_and_error(mean, ".3f") for mean in means), str(most), "")
    screen.print(shown)
    for one in result.entrants:
        parts = [f"{g.unreadable} {aspect} unreadable" for aspect, g in one.verdicts.metrics.items() if g.unreadable]
        parts += [f"judge: {n} {error}" for error, n in one.verdicts.failed.items()]
        parts += [f"{n} visits failed ({cause})" for cause, n in one.failed.items()]
        if parts:
            screen.print(plain(f"  {one.name}: {', '.join(parts)}; outside the means"), style="yellow")
    screen.print("no report: the doctor's answer could not be used; graded 1, and counted.", style="dim")
    screen.print()


def _show_icd(screen: Console, result: MvmeResult) -> None:
    entrants = result.entrants
    columns = ("", "#", "R", "P", "F1", "R category", "P category", "F1 category", "n")
    metrics = ("number", "recall", "precision", "f1", "category_recall", "category_precision", "category_f1")
    shown = table("Diagnoses as ICD-10 codes, in percent ± se (the paper's Table 3)", columns)
    for one in _by_setting(shown, entrants):
        for language, icd in one.icd.items():
            told = f"  {one.name}" + (f" ({language})" if len(one.icd) > 1 else "")
            cells = (mean_and_error(icd.metrics[metric], ".1f") for metric in metrics)
            shown.add_row(plain(told), *cells, str(len(icd.cases)))
        if not one.icd:
            shown.add_row(plain(f"  {one.name}"), *(NOTHING for _ in metrics), "0")
    screen.print(shown)
    read = f", read out of the diagnoses by {result.names_by}" if result.names_by else ""
    lost = "; ".join(f"{n} times by rules ({error})" for error, n in result.names_by_rules.items())
    told = f"#: disease names a report that names any{read}{f', {lost}' if lost else ''}."
    screen.print(plain(told), style="dim")
    screen.print()


def _show_effort(screen: Console, entrants: Sequence[EntrantResult]) -> None:
    talked = [one for one in entrants if one.setting is not TablePart.ONE_STEP and one.qa.mean is not None]
    columns: dict[str, Callable[[EntrantResult], str]] = {
        "": lambda one: plain(one.name),
        "#QA": lambda one: mean_and_error(one.qa),
        "#Test": lambda one: mean_and_error(one.tests),
        "told as normal": lambda one: str(one.told_as_normal),
        "n": lambda one: str(one.qa.n),
    }
    if talked:
        title = "What a visit took, mean ± se (of a team, all its doctors together)"
        screen.print(table_of(title, talked, columns))
        told = "told as normal: in all, examinations that are not recorded and that the examiner called normal."
        screen.print(told, "", style="dim")


def _show_departments(screen: Console, entrants: Sequence[EntrantResult]) -> None:
    names = list(dict.fromkeys(name for one in entrants for name in one.departments))
    if len(names) < 2:
        return
    shown = table("By department", ("", "", "n", *Aspect, "F1"), left=2)
    for name in names:
        shown.add_section()
        for place, one in enumerate(one for one in entrants if name in one.departments):
            department = one.departments[name]
            f1 = number(department.icd_f1.mean if department.icd_f1 is not None else None, ".1f")
            grades = map(_grade, department.verdicts.metrics.values())
            shown.add_row(
                ShownFigure("" if place else plain(name), {"": name}), plain(one.name), str(department.n), *grades, f1
            )
    screen.print(shown, "")


def _show_reasons(screen: Console, entrants: Sequence[EntrantResult]) -> None:
    if not any(one.reasons.reasons for one in entrants):
        return
    figures = (*FailureReason, "unreadable", "failed")
    shown = table(
        "Why diagnoses graded 1 went wrong (the paper's Table 5)", ("", *figures, "said by"), right=frozenset(figures)
    )
    for one in entrants:
        counts = [str(one.reasons.counts[kind]) for kind in FailureReason]
        lost = (str(sum(one.reasons.unreadable.values())), str(sum(one.reasons.failed.values())))
        shown.add_row(plain(one.name), *counts, *lost, plain(", ".join(one.reasons.sources)))
    screen.print(shown, "")


def _show_rounds(screen: Console, entrants: Sequence[EntrantResult]) -> None:
    teams = {one.name: one.rounds for one in entrants if one.rounds is not None}
    if not teams:
        return
    most = max(len(rounds.within) for rounds in teams.values())
    columns = ("", "discussions", *(f"within {n}" for n in range(1, most + 1)), "none reached", "answers lost")
    shown = table("Consensus within so many rounds, in percent [95 %] (the paper's Figure 4)", columns)
    for name, rounds in teams.items():
        cells = [with_ends(one.percent, one.low, one.high, ".0f") for one in rounds.within.values()]
        # Where all had agreed before the last round that any team needed, nothing changes after.
        cells += [cells[-1] if cells else NOTHING] * (most - len(cells))
        shown.add_row(plain(name), str(rounds.discussions), *cells, str(rounds.without), str(rounds.kept))
    screen.print(shown, "")


def _by_setting(shown: Table, entrants: Sequence[EntrantResult]) -> Iterable[EntrantResult]:
    """Goes through the entrants part by part, a heading before each part."""
    for setting in dict.fromkeys(one.setting for one in entrants):
        shown.add_section()
        shown.add_row(setting, style="italic")
        yield from (one for one in entrants if one.setting is setting)
