"""`polyclinic cases`: show and check; the others have files of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.cases.case import Case, case_schema
from polyclinic.cases.check import CheckResult, check_cases
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.shipped import SHIPPED, shipped_path
from polyclinic.cli.chart import show_chart
from polyclinic.errors import UserError
from polyclinic.evidence_tree.sources import KINDS, divide
from polyclinic.generation.ceiling import Ceiling, measure
from polyclinic.generation.draw import generate as draw
from polyclinic.knowledge.check import check_knowledge
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.knowledge.named_in import named_in
from polyclinic.language.language import length
from polyclinic.run.case_files import case_named, each_case, split_case
from polyclinic.run.options import Json, LayoutOption
from polyclinic.statistics.uncertainty import wilson
from polyclinic.terminal.figures import low_to_high, number
from polyclinic.terminal.screen import console, plain, present, print_json, print_json_array
from polyclinic.terminal.tables import Column, counted, print_rows, table, table_of

_SHOWN = 15
_BAR = 30
_FIRST_YEARS = (0, 18, 45, 60, 75)  # of the bands of age; the two last are the paper's


def summarise(cases: Sequence[Case], knowledge: Knowledge) -> dict[str, Any]:
    """Counts what the cases are, as `--json` prints it.

    Ages, sexes and departments are of the cases where they are known; the length of a record is in words, in Chinese in
    characters.
    """
    n = max(len(cases), 1)
    named = [diagnosis.name for case in cases for diagnosis in case.truth.diagnoses]
    labels = [name if (known := knowledge.disease_named(name)) is None else known.name.en for name in named]
    ages = Counter(_band(case.presentation.age) for case in cases if case.presentation.age is not None)
    divided = [divide(case.record, knowledge) for case in cases]
    parts = Counter(kind for one in divided for kind in one)
    return {
        "n": len(cases),
        "labels": len(labels),
        "diagnoses": _shares(Counter(labels)),
        "ages": _shares(ages, ordered=list(map(_band, _FIRST_YEARS))),
        "sexes": _shares(Counter(case.presentation.sex for case in cases if case.presentation.sex)),
        "departments": _shares(Counter(filter(None, (_department(case, knowledge) for case in cases)))),
        "parts": _shares(parts, ordered=KINDS, of=n),
        "per_case": len(labels) / n,
        "findings": sum(len(case.record.findings) for case in cases) / n,
        "words": sum(length(part.read_out()) for one in divided for part in one.values()) / n,
        "options": sum(len(case.question.options) if case.question else 0 for case in cases) / n,
    }


def _band(age: float) -> str:
    first = max(year for year in _FIRST_YEARS if year <= age)
    later = [year for year in _FIRST_YEARS if year > first]
    return f"{first}-{later[0] - 1}" if later else f"{first}+"


def _department(case: Case, knowledge: Knowledge) -> str:
    """Returns the department as the source says it, else that of the principal diagnosis where the knowledge has it."""
    named = case.department
    if not named and case.truth.diagnoses:
        known = knowledge.disease_named(case.truth.diagnoses[0].name)
        named = "" if known is None else known.department
    return knowledge.departments[named].name.en if named in knowledge.departments else named


def _shares(counts: Counter[Any], *, ordered: Sequence[str] = (), of: int = 0) -> list[dict[str, Any]]:
    """Returns counts with their percentages, in an order, or else the most frequent first."""
    names = ordered or sorted(counts, key=lambda name: (-counts[name], name))
    whole = max(of or counts.total(), 1)
    return [{"name": name, "n": counts[name], "percent": 100 * counts[name] / whole} for name in names]


def show_summary(screen: Console, summary: Mapping[str, Any]) -> None:
    """Draws a summary: a table of bars for each property."""
    screen.print(
        f"{counted(summary['n'], 'case')}; on average {summary['per_case']:.1f} diagnoses, {summary['findings']:.0f} "
        f"findings, {summary['words']:.0f} words or characters, {summary['options']:.1f} options"
    )
    for title, shares in {
        f"diagnoses ({len(summary['diagnoses'])}; {summary['labels']} in all)": summary["diagnoses"],
        "age": summary["ages"],
        "sex": summary["sexes"],
        f"department ({len(summary['departments'])})": summary["departments"],
        "has data of": summary["parts"],
    }.items():
        most = max((one["percent"] for one in shares), default=0)
        if not most:
            screen.print(f"\n{title}: not recorded")
            continue
        rows = []
        for one in shares[:_SHOWN]:
            bar = "█" * max(round(_BAR * one["percent"] / most), one["n"] > 0)
            rows.append((one["name"], one["n"], number(one["percent"], ".1f"), bar))
        screen.print(table(f"\n{title}", ("", "n", "%", " "), rows, right=("n", "%")))
        if rest := shares[_SHOWN:]:
            screen.print(f"and {len(rest)} more, {sum(one['percent'] for one in rest):.1f} % together", style="dim")


_DRAWN = 400
"""Cases that are drawn for the ceiling if no file is named."""

_TABLE = 2_000
"""Rows that a table is laid out for; more are printed one by one."""


def show(
    case: Annotated[str, Parameter(metavar="FILE")],
    /,
    *,
    layout: LayoutOption = None,
    truth: bool = False,
    summary: bool = False,
    json: Json = False,
) -> None:
    """Prints the cases of a file in a table, or one of them as a chart.

    Args:
        case: A case file, or FILE#ID for one of its cases; 'shipped', 'inpatients', and 'shipped-zh', 'inpatients-zh'
            in Chinese, come with polyclinic.
        truth: Show the truth too: diagnoses; of one case, its severity and plan.
        summary: Draw who they are together: diagnoses, ages, sexes, departments, examinations.
    """
    if split_case(case)[1] is not None:
        if summary:
            raise UserError("--summary is of a whole file; leave out the #ID")
        found = case_named(case, layout)
        if json:
            hidden = () if truth else ("truth", "department")
            print_json({name: part for name, part in msgspec.to_builtins(found).items() if name not in hidden})
        else:
            show_chart(console(), found, read_knowledge(), truth=truth)
        return
    cases = each_case(case, layout=layout, strict=False)
    if summary:
        present(summarise(list(cases), read_knowledge()), show_summary, json=json)
    elif json:
        print_json_array(_listed(one, truth=truth) for one in cases)
    else:
        _show_all(cases, truth=truth)


def _listed(case: Case, *, truth: bool) -> dict[str, Any]:
    presentation = case.presentation
    found = {name: getattr(presentation, name) for name in ("language", "age", "sex", "complaint")}
    found = {"id": case.id, **found, "setting": case.setting, "findings": len(case.record.findings)}
    return found | ({"diagnoses": [d.name for d in case.truth.diagnoses]} if truth else {})


def _show_all(cases: Iterable[Case], *, truth: bool) -> None:
    columns = ["id", "language", "age", "sex", "complaint", "findings", *(["diagnoses"] if truth else [])]
    rows = []
    for case in cases:  # as text, and not as cases: a file may hold more of them than memory does
        listed = _listed(case, truth=truth)
        listed["age"] = "" if listed["age"] is None else f"{listed['age']:.3g}"
        listed["diagnoses"] = "; ".join(listed.get("diagnoses", ()))
        rows.append(["" if listed[column] is None else plain(str(listed[column])) for column in columns])
    screen, right = console(), ("age", "findings")
    if len(rows) > _TABLE:
        print_rows(screen, columns, rows, right=right)
    else:
        screen.print(table(None, columns, rows, right=right))
    screen.print(f"\n{counted(len(rows), 'case')}")


def check(
    file: str | None = None,
    /,
    *,
    layout: LayoutOption = None,
    ceiling: Annotated[
        bool,
        Parameter(
            help="How often a Bayesian reader of all findings is right: the best that anybody can be. On the file's "
            f"cases, or on {_DRAWN} drawn ones.",
        ),
    ] = False,
    diseases: Annotated[str, Parameter(metavar="NAMES")] = "respiratory",
    schema: bool = False,
    json: Json = False,
) -> None:
    """Prints what is wrong with a case file, or how often its diseases can be told apart.

    Args:
        file: A case file. Left out: the knowledge and the cases that come with polyclinic.
        diseases: The diseases to distinguish, with --ceiling.
        schema: Print the JSON Schema of one line of a case file.
    """
    if schema:
        print_json(case_schema())
        return
    if not ceiling:
        _check_files(file, layout, json=json)
        return
    knowledge = read_knowledge().select(diseases)
    drawn = draw(knowledge, n=_DRAWN, seed=0) if file is None else read_cases(shipped_path(file), layout=layout)
    present(measure(list(drawn), knowledge), _show_ceiling, json=json)


def _check_files(file: str | None, layout: str | None, *, json: bool) -> None:
    names = list(SHIPPED) if file is None else [file]
    results = {name: check_cases(shipped_path(name), layout=layout, namings=named_in) for name in names}
    about_knowledge = check_knowledge(read_knowledge()) if file is None else []
    errors = len(about_knowledge) + sum(p.level == "error" for r in results.values() for p in r.problems)
    if json:
        documents = [{"file": name, **msgspec.to_builtins(result)} for name, result in results.items()]
        knowledge = {"file": "knowledge", "problems": about_knowledge}
        print_json(documents[0] if file is not None else [*documents, knowledge])
    else:
        screen = console()
        for problem in about_knowledge:
            screen.print(f"knowledge, {problem.where}: {problem.problem}", style="red", soft_wrap=True)
        if file is None:
            screen.print(f"knowledge: {len(about_knowledge)} problems")
        for name, result in results.items():
            for found in result.problems:
                place = f"{name}, {found.line}" + (f" ({found.id})" if found.id else "")
                field = f", {found.field}" if found.field else ""
                text, style = f"{found.level}: {place}{field}: {found.problem}", _STYLES[found.level]
                screen.print(text, style=style, soft_wrap=True)
            screen.print(f"{name}: {_summary(result)}", soft_wrap=True)
    if errors:
        raise UserError(f"{counted(errors, 'error')} in {file or 'what is shipped'}; see the lines above")


_STYLES = {"error": "red", "warning": "yellow"}


def _summary(result: CheckResult) -> str:
    languages = ", ".join(f"{n} {language}" for language, n in result.languages.items())
    warnings = len(result.problems) - result.errors
    return (
        f"{counted(result.n, 'case')} in layout {result.layout or 'unknown'} ({languages or 'none'}), "
        f"{result.unreadable} unreadable, {counted(result.findings, 'finding')}, {result.with_question} with a "
        f"question; {counted(result.errors, 'error')}, {counted(warnings, 'warning')}"
    )


def _show_ceiling(screen: Console, ceiling: Ceiling) -> None:
    steps: dict[str, Column] = {
        "what is read": "read",
        "right": lambda step: number(step.percent, ".1f", " %"),
        "95 % interval": lambda step: low_to_high(step.low, step.high, ".1f"),
    }
    screen.print(table_of("right after", ceiling.steps, steps))
    departments = (
        (name, n, number(100 * right / n, ".1f", " %"), low_to_high(*wilson(right, n), ".1f"), elsewhere or "·")
        for name, (n, right, elsewhere) in ceiling.by_department().items()
    )
    columns = ("department", "cases", "right", "95 % interval", "read as another department's")
    screen.print(table("\nall findings: by department", columns, departments))
    by_disease = ("disease", "cases", "right", "read as")
    screen.print(table("\nall findings: by disease", by_disease, _confusions(ceiling), right=("cases", "right")))
    left_out = f"; {ceiling.left_out} of other diseases left out" if ceiling.left_out else ""
    screen.print(f"\nCeiling: {ceiling.percent:.1f} % of {counted(ceiling.n, 'case')}{left_out}", style="bold")


def _confusions(ceiling: Ceiling) -> Iterator[tuple[object, ...]]:
    """Yields each disease with what it was mistaken for."""
    for place, (name, row) in enumerate(zip(ceiling.diseases, ceiling.confusion, strict=True)):
        if sum(row):
            wrong = sorted(((n, other) for other, n in enumerate(row) if n and other != place), key=lambda w: -w[0])
            read_as = ", ".join(f"{ceiling.diseases[other]} {n}" for n, other in wrong)
            yield name, sum(row), number(100 * row[place] / sum(row), ".1f", " %"), read_as
