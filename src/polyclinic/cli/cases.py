"""`polyclinic cases`: list, show, check, generate, schema; the others have files of their own."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from polyclinic.cases.case import Case, case_schema
from polyclinic.cases.check import CheckResult, check_cases
from polyclinic.cases.loaders import read_cases, write_cases
from polyclinic.cases.shipped import SHIPPED, shipped_path
from polyclinic.cli.case_files import each_case
from polyclinic.cli.case_summary import show_summary, summarise
from polyclinic.cli.case_writing import write_records
from polyclinic.cli.chart import show_chart
from polyclinic.cli.one_case import case_named
from polyclinic.cli.options import (
    CASE_FILE,
    MODELS,
    Force,
    Json,
    Layout,
    Models,
    NewFile,
    Seed,
    Strict,
    between,
    check_new,
)
from polyclinic.errors import UserError
from polyclinic.files import make_folder, write_text
from polyclinic.generation.ceiling import Ceiling, measure
from polyclinic.generation.draw import draw_patients
from polyclinic.generation.draw import generate as draw
from polyclinic.generation.inpatients import generate_inpatients
from polyclinic.generation.tor_records import tor_lines
from polyclinic.knowledge.check import check_knowledge
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.knowledge.named_in import named_in
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.knowledge.regions import HOME, RegionName, in_region
from polyclinic.language.language import Language
from polyclinic.models.session import ModelOptions
from polyclinic.statistics.uncertainty import wilson
from polyclinic.terminal.screen import console, note, plain, print_json, print_json_array
from polyclinic.terminal.tables import counted, print_rows, table

_MATRIX = 16
"""As many diseases as this are shown as a matrix of what was read as what."""

_AGENT_HOSPITAL = "respiratory"
"""The department of the paper's eight diseases."""

_TRAIN, _TEST = 10_000, 500
_TABLE = 2_000
"""Rows that a table is laid out for; more are printed one by one."""

_FEWEST = 4
"""Diseases without which no inpatient can be drawn that has other options too."""


def list_cases(
    file: Annotated[str, CASE_FILE],
    /,
    *,
    layout: Layout = None,
    strict: Strict = False,
    truth: Annotated[bool, Parameter(help="Show the diagnoses too.")] = False,
    summary: Annotated[
        bool, Parameter(help="Draw who they are together: diagnoses, ages, sexes, departments, examinations.")
    ] = False,
    json: Json = False,
) -> None:
    """Prints who is ill, and how much is recorded."""
    cases = each_case(file, layout=layout, strict=strict)
    if summary:
        summed = summarise(list(cases), read_knowledge())
        if json:
            print_json(msgspec.to_builtins(summed))
        else:
            show_summary(console(), summed)
        return
    if json:
        print_json_array(_listed(case, truth=truth) for case in cases)
        return
    columns = ["id", "language", "age", "sex", "complaint", "findings", *(["diagnoses"] if truth else [])]
    # As text, and not as cases: a file may hold more of them than memory does.
    rows = [_row(case, truth=truth) for case in cases]
    screen = console()
    if len(rows) > _TABLE:
        print_rows(screen, columns, rows, right=("age", "findings"))
    else:
        listed = table(None, columns, right=("age", "findings"))
        for row in rows:
            listed.add_row(*row)
        screen.print(listed)
    screen.print(f"\n{len(rows)} case{'s' if len(rows) != 1 else ''}")


def _listed(case: Case, *, truth: bool) -> dict[str, Any]:
    presentation = case.presentation
    found = {
        "id": case.id,
        "language": presentation.language,
        "age": presentation.age,
        "sex": presentation.sex,
        "complaint": presentation.complaint,
        "setting": case.setting,
        "findings": len(case.record.findings),
    }
    return found | ({"diagnoses": [d.name for d in case.truth.diagnoses]} if truth else {})


def _row(case: Case, *, truth: bool) -> list[str]:
    p = case.presentation
    row = [case.id, p.language, "" if p.age is None else f"{p.age:.3g}", p.sex or "", p.complaint]
    row += [str(len(case.record.findings)), *(["; ".join(d.name for d in case.truth.diagnoses)] if truth else [])]
    return list(map(plain, row))


def show(
    case: Annotated[
        str,
        Parameter(
            metavar="FILE#ID", help="A case of a file, such as shipped#p1-00001; of a file of one case, the file."
        ),
    ],
    /,
    *,
    layout: Layout = None,
    truth: Annotated[bool, Parameter(help="Show what is so, too: diagnosis, severity, plan.")] = False,
    json: Json = False,
) -> None:
    """Prints the record of a case as a chart: history, vital signs, results with flags, reports."""
    found = case_named(case, layout)
    if json:
        document = msgspec.to_builtins(found)
        for hidden in () if truth else ("truth", "department"):
            document.pop(hidden, None)
        print_json(document)
    else:
        show_chart(console(), found, read_knowledge(), truth=truth)


def check(
    file: Annotated[
        str | None,
        Parameter(help="A case file. Left out: the knowledge and the cases that come with polyclinic."),
    ] = None,
    /,
    *,
    layout: Layout = None,
    ceiling: Annotated[
        bool,
        Parameter(
            help="How often a Bayesian reader of all findings is right: the best that anybody can be. On the file's "
            "cases, or on drawn ones.",
        ),
    ] = False,
    diseases: Annotated[str, Parameter(metavar="NAMES", help="With --ceiling: whom to tell apart.")] = "respiratory",
    n: Annotated[int, between(1), Parameter(name="--n", help="With --ceiling and no file: how many to draw.")] = 400,
    seed: Annotated[Seed, Parameter(help="With --ceiling and no file: their seed.")] = 0,
    json: Json = False,
) -> None:
    """Prints what is wrong with a case file, or how often its diseases can be told apart."""
    if not ceiling:
        _check_files(file, layout, json=json)
        return
    knowledge = read_knowledge().select(diseases)
    drawn = draw(knowledge, n=n, seed=seed) if file is None else read_cases(shipped_path(file), layout=layout)
    measured = measure(list(drawn), knowledge)
    if json:
        print_json(msgspec.to_builtins(measured))
    else:
        _print_ceiling(console(), measured)


def _check_files(file: str | None, layout: str | None, *, json: bool) -> None:
    names = list(SHIPPED) if file is None else [file]
    results = {name: check_cases(shipped_path(name), layout=layout, namings=named_in) for name in names}
    about_knowledge = check_knowledge(read_knowledge()) if file is None else []
    errors = len(about_knowledge) + sum(p.level == "error" for r in results.values() for p in r.problems)
    if json:
        documents = [{"file": name, **msgspec.to_builtins(result)} for name, result in results.items()]
        knowledge = {"file": "knowledge", "problems": msgspec.to_builtins(about_knowledge)}
        print_json(documents[0] if file is not None else [*documents, knowledge])
    else:
        screen = console()
        for problem in about_knowledge:
            screen.print(f"knowledge, {plain(problem.where)}: {plain(problem.problem)}", style="red", soft_wrap=True)
        if file is None:
            screen.print(f"knowledge: {len(about_knowledge)} problems")
        for name, result in results.items():
            for found in result.problems:
                style = "red" if found.level == "error" else "yellow"
                place = f"{name}, {found.line}" + (f" ({found.id})" if found.id else "")
                field = f", {found.field}" if found.field else ""
                text = plain(f"{found.level}: {place}{field}: {found.problem}")
                screen.print(text, style=style, soft_wrap=True)
            screen.print(plain(f"{name}: {_summary(result)}"), soft_wrap=True)
    if errors:
        raise UserError(f"{counted(errors, 'error')} in {file or 'what is shipped'}; see the lines above")


def _summary(result: CheckResult) -> str:
    languages = ", ".join(f"{n} {language}" for language, n in result.languages.items())
    warnings = len(result.problems) - result.errors
    return (
        f"{counted(result.n, 'case')} in layout {result.layout or 'unknown'} ({languages or 'none'}), "
        f"{result.unreadable} unreadable, {counted(result.findings, 'finding')}, {result.with_question} with a "
        f"question; {counted(result.errors, 'error')}, {counted(warnings, 'warning')}"
    )


def _print_ceiling(screen: Console, ceiling: Ceiling) -> None:
    steps = ((step.read, f"{step.percent:.1f} %", f"{step.low:.1f}-{step.high:.1f}") for step in ceiling.steps)
    screen.print(table("right after", ("what is read", "right", "95 % interval"), steps))
    screen.print(_departments(ceiling))
    screen.print(_confusion(ceiling) if len(ceiling.diseases) <= _MATRIX else _confusions(ceiling))
    left_out = f"; {ceiling.left_out} of other diseases left out" if ceiling.left_out else ""
    screen.print(f"\nCeiling: {ceiling.percent:.1f} % of {counted(ceiling.n, 'case')}{left_out}", style="bold")


def _departments(ceiling: Ceiling) -> Table:
    columns = ("department", "cases", "right", "95 % interval", "read as another department's")
    found = table("\nall findings: by department", columns)
    for department, (cases, right, elsewhere) in ceiling.by_department().items():
        low, high = wilson(right, cases)
        percent, interval = f"{100 * right / cases:.1f} %", f"{low:.1f}-{high:.1f}"
        found.add_row(department, str(cases), percent, interval, str(elsewhere or "·"))
    return found


def _confusion(ceiling: Ceiling) -> Table:
    """Returns the whole matrix, which a terminal is wide enough for where the diseases are few."""
    numbered = list(enumerate(zip(ceiling.diseases, ceiling.confusion, strict=True), start=1))
    return table(
        "\nall findings: truth by row, reading by column",
        ("", *(str(number) for number, _ in numbered)),
        ((f"{number} {name}", *(str(n) if n else "·" for n in row)) for number, (name, row) in numbered),
    )


def _confusions(ceiling: Ceiling) -> Table:
    """Returns each disease with what it was mistaken for."""
    found = table("\nall findings: by disease", ("disease", "cases", "right", "read as"), right=("cases", "right"))
    for place, (name, row) in enumerate(zip(ceiling.diseases, ceiling.confusion, strict=True)):
        if sum(row):
            wrong = sorted(((n, other) for other, n in enumerate(row) if n and other != place), key=lambda w: -w[0])
            read_as = ", ".join(f"{ceiling.diseases[other]} {n}" for n, other in wrong)
            found.add_row(name, str(sum(row)), f"{100 * row[place] / sum(row):.1f} %", read_as)
    return found


async def generate(
    *,
    out: Annotated[
        NewFile, Parameter(help="Where to write the cases; with --preset, the folder for train.jsonl and test.jsonl.")
    ],
    n: Annotated[int | None, between(1, 1_000_000), Parameter(name="--n", help="How many patients; 40.")] = None,
    seed: Annotated[Seed, Parameter(help="The same seed gives the same patients.")] = 0,
    diseases: Annotated[
        str | None,
        Parameter(metavar="NAMES", help="'all', or departments, disease names or ICD-10 codes, separated by commas."),
    ] = None,
    preset: Annotated[
        Literal["agent-hospital"] | None,
        Parameter(help="Agent Hospital's patients: 10,000 to practise on and 500 for tests, of its eight diseases."),
    ] = None,
    language: Annotated[Language, Parameter(help="Language of the records.")] = "en",
    region: Annotated[
        RegionName,
        Parameter(help="Where outpatients live: how usual older illnesses, habits and risks are there."),
    ] = HOME,
    layout: Annotated[
        Literal["polyclinic", "tor"],
        Parameter(
            help="polyclinic: outpatients with one disease; tor: inpatients with two to five at once, with options, in "
            "the layout of Tree-of-Reasoning."
        ),
    ] = "polyclinic",
    writer: Annotated[
        str | None,
        Parameter(
            metavar="MODEL",
            help="With --preset: a model writes each history; what contradicts the patient is refused.",
        ),
    ] = None,
    force: Force = False,
    models: Models = MODELS,
) -> None:
    """Draws patients and writes them."""
    if writer is not None and preset is None:
        raise UserError("--writer is for the patients of a preset; give --preset agent-hospital, or leave it out")
    if preset is not None:
        if n is not None or diseases is not None or layout != "polyclinic":
            raise UserError(f"--preset {preset} says how many patients, of what and in which layout; leave those out")
        await _generate_practice(out, seed=seed, language=language, force=force, writer=writer, models=models)
        return
    check_new(out, force=force)
    n, knowledge = n or 40, read_knowledge().select(diseases or "all")
    if layout == "tor":
        _generate_inpatients(knowledge, out, n=n, seed=seed, language=language)
        return
    write_cases(out, draw(in_region(knowledge, region), n=n, seed=seed, language=language))
    note(f"{counted(n, 'case')} of {len(knowledge.diseases)} diseases: {out}. Next: polyclinic consult --case {out}")


async def _generate_practice(
    out: Path, *, seed: int, language: Language, force: bool, writer: str | None, models: ModelOptions
) -> None:
    """Writes Agent Hospital's simulated medical dataset (§5.1.1, Table 5): balanced over disease and severity."""
    make_folder(out)
    files = {"train": out / "train.jsonl", "test": out / "test.jsonl"}
    for path in files.values():
        check_new(path, force=force)
    knowledge = read_knowledge().select(_AGENT_HOSPITAL)
    if writer is None:
        drawn = draw(knowledge, n=_TRAIN + _TEST, seed=seed, language=language)
    else:
        patients = draw_patients(knowledge, n=_TRAIN + _TEST, seed=seed, language=language)
        drawn = iter(await write_records(patients, knowledge, writer, models, folder=out, seed=seed, n=_TRAIN + _TEST))
    write_cases(files["train"], itertools.islice(drawn, _TRAIN))
    write_cases(files["test"], drawn)
    note(
        f"{_TRAIN:,} patients to practise on and {_TEST} for tests: {out}. Next: polyclinic evolve --train "
        f"{files['train']} --test {files['test']} --out evolved"
    )


def _generate_inpatients(knowledge: Knowledge, out: Path, *, n: int, seed: int, language: Language) -> None:
    if len(knowledge.diseases) < _FEWEST:
        raise UserError(
            f"inpatients have several diseases at once; --diseases leaves {len(knowledge.diseases)}, needs 4"
        )
    cases = generate_inpatients(knowledge, n=n, seed=seed, language=language)
    write_text(out, tor_lines(cases, with_pathology(knowledge)))
    note(f"{counted(n, 'inpatient')}: {out}. Next: polyclinic eval tor --cases {out} --doctor rules")


def schema() -> None:
    """Prints the JSON Schema of one line of a case file."""
    print_json(case_schema())
