"""`polyclinic cases`: list, check, generate, personas, schema."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyclinic.cli.minds import (
    BaseUrlOption,
    ConcurrencyOption,
    JournalOption,
    JsonOption,
    KeyOption,
    LayoutOption,
    MaxCostOption,
    MaxTokensOption,
    PriceOption,
    TemperatureOption,
)
from polyclinic.errors import BadInput, PlayFailure, UserError
from polyclinic.terminal.usage import show_usage

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from polyclinic.cases.check import CheckResult
    from polyclinic.generation.ceiling import Ceiling

app = typer.Typer(help="List, check and generate cases.", no_args_is_help=True)

_MATRIX = 16
"""As many diseases as this are shown as a matrix of what was read as what."""

FileArgument = Annotated[
    str, typer.Argument(help="A case file; 'shipped' and 'shipped-zh' come with polyclinic.", metavar="FILE")
]


@app.command("list")
def list_cases(
    file: FileArgument,
    layout: LayoutOption = None,
    truth: Annotated[bool, typer.Option("--truth", help="Show the diagnoses too.")] = False,
    json: JsonOption = False,
) -> None:
    """List the cases of a file: who is ill, and how much is recorded."""
    from rich.table import Table
    from rich.text import Text

    from polyclinic.cases.loaders import read_cases
    from polyclinic.cases.shipped import shipped_path
    from polyclinic.terminal.screen import console, plain, print_json

    cases = list(read_cases(shipped_path(file), layout=layout))
    if json:
        print_json(
            [
                {
                    "id": case.id,
                    "language": case.presentation.language,
                    "age": case.presentation.age,
                    "sex": case.presentation.sex,
                    "complaint": case.presentation.complaint,
                    "setting": case.setting,
                    "findings": len(case.record.findings),
                }
                | ({"diagnoses": [d.name for d in case.truth.diagnoses]} if truth else {})
                for case in cases
            ]
        )
        return
    table = Table(show_edge=False, pad_edge=False)
    for name in ("id", "language", "age", "sex", "complaint", "findings", *(("diagnoses",) if truth else ())):
        table.add_column(name, justify="right" if name in ("age", "findings") else "left", overflow="fold")
    for case in cases:
        p = case.presentation
        row = [case.id, p.language, "" if p.age is None else f"{p.age:.3g}", p.sex or "", p.complaint]
        row += [str(len(case.record.findings)), *(["; ".join(d.name for d in case.truth.diagnoses)] if truth else [])]
        table.add_row(*(Text(plain(cell)) for cell in row))
    screen = console()
    screen.print(table)
    screen.print(f"\n{len(cases)} case{'s' if len(cases) != 1 else ''}")


@app.command()
def check(
    file: Annotated[
        str | None,
        typer.Argument(help="A case file. Left out: the knowledge and the cases that come with polyclinic."),
    ] = None,
    layout: LayoutOption = None,
    ceiling: Annotated[
        bool,
        typer.Option(
            "--ceiling",
            help="How often a Bayesian reader of all findings is right: the best that anybody can be. "
            "On the file's cases, or on drawn ones.",
        ),
    ] = False,
    diseases: Annotated[str, typer.Option(help="With --ceiling: whom to tell apart.")] = "respiratory",
    n: Annotated[int, typer.Option("--n", min=1, help="With --ceiling and no file: how many cases to draw.")] = 400,
    seed: Annotated[int, typer.Option(help="With --ceiling and no file: their seed.")] = 0,
    json: JsonOption = False,
) -> None:
    """Check a case file: schema, duplicate ids, truth that stands where a doctor can read it."""
    from polyclinic.knowledge.knowledge import read_knowledge

    if ceiling:
        from polyclinic.cases.loaders import read_cases
        from polyclinic.cases.shipped import shipped_path
        from polyclinic.generation.ceiling import measure
        from polyclinic.generation.draw import generate

        knowledge = read_knowledge().select(diseases)
        if file is None:
            cases = list(generate(knowledge, n=n, seed=seed))
        else:
            cases = list(read_cases(shipped_path(file), layout=layout))
        _show_ceiling(measure(cases, knowledge), json=json)
        return
    _check_files(file, layout, json=json)


def _check_files(file: str | None, layout: str | None, *, json: bool) -> None:
    import msgspec

    from polyclinic.cases.check import check_cases
    from polyclinic.cases.shipped import SHIPPED, shipped_path
    from polyclinic.knowledge.check import check_knowledge
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.terminal.screen import console, plain, print_json

    names = list(SHIPPED) if file is None else [file]
    results = {name: check_cases(shipped_path(name), layout=layout) for name in names}
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
        raise UserError(
            f"{errors} error{'s' if errors != 1 else ''} in {file or 'what is shipped'}; see the lines above"
        )


def _summary(result: CheckResult) -> str:
    languages = ", ".join(f"{n} {language}" for language, n in result.languages.items())
    warnings = len(result.problems) - result.errors
    return (
        f"{result.n} cases in layout {result.layout or 'unknown'} ({languages or 'none'}), {result.unreadable} "
        f"unreadable, {result.findings} findings, {result.with_question} with a question; "
        f"{result.errors} errors, {warnings} warnings"
    )


def _show_ceiling(ceiling: Ceiling, *, json: bool) -> None:
    import msgspec

    from polyclinic.terminal.screen import console, print_json

    if json:
        print_json(msgspec.to_builtins(ceiling))
    else:
        _print_ceiling(console(), ceiling)


def _print_ceiling(screen: Console, ceiling: Ceiling) -> None:
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False, title="right after", title_justify="left")
    for name in ("what is read", "right", "95 % interval"):
        table.add_column(name, justify="left" if name == "what is read" else "right")
    for step in ceiling.steps:
        table.add_row(step.read, f"{step.percent:.1f} %", f"{step.low:.1f}-{step.high:.1f}")
    screen.print(table)
    screen.print(_departments(ceiling))
    screen.print(_confusion(ceiling) if len(ceiling.diseases) <= _MATRIX else _confusions(ceiling))
    left_out = f"; {ceiling.left_out} of other diseases left out" if ceiling.left_out else ""
    screen.print(f"\nCeiling: {ceiling.percent:.1f} % of {ceiling.n} cases{left_out}", style="bold")


def _departments(ceiling: Ceiling) -> Table:
    from rich.table import Table

    from polyclinic.statistics.uncertainty import wilson

    table = Table(show_edge=False, pad_edge=False, title="\nall findings: by department", title_justify="left")
    for name in ("department", "cases", "right", "95 % interval", "read as another department's"):
        table.add_column(name, justify="left" if name == "department" else "right")
    for department, (cases, right, elsewhere) in ceiling.by_department().items():
        low, high = wilson(right, cases)
        table.add_row(
            department, str(cases), f"{100 * right / cases:.1f} %", f"{low:.1f}-{high:.1f}", str(elsewhere or "·")
        )
    return table


def _confusion(ceiling: Ceiling) -> Table:
    """Returns the whole matrix, which a terminal is wide enough for where the diseases are few."""
    from rich.table import Table

    confused = Table(show_edge=False, pad_edge=False, title="\nall findings: truth by row, reading by column")
    confused.title_justify = "left"
    confused.add_column("")
    for number in range(1, len(ceiling.diseases) + 1):
        confused.add_column(str(number), justify="right")
    for number, (name, row) in enumerate(zip(ceiling.diseases, ceiling.confusion, strict=True), start=1):
        confused.add_row(f"{number} {name}", *(str(count) if count else "·" for count in row))
    return confused


def _confusions(ceiling: Ceiling) -> Table:
    """Returns each disease with what it was mistaken for."""
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False, title="\nall findings: by disease", title_justify="left")
    for name in ("disease", "cases", "right", "read as"):
        table.add_column(name, justify="right" if name in ("cases", "right") else "left", overflow="fold")
    for place, (name, row) in enumerate(zip(ceiling.diseases, ceiling.confusion, strict=True)):
        if sum(row):
            wrong = sorted(((n, other) for other, n in enumerate(row) if n and other != place), key=lambda w: -w[0])
            read_as = ", ".join(f"{ceiling.diseases[other]} {n}" for n, other in wrong)
            table.add_row(name, str(sum(row)), f"{100 * row[place] / sum(row):.1f} %", read_as)
    return table


@app.command()
def generate(
    out: Annotated[Path, typer.Option(help="Where to write the cases.", metavar="FILE")],
    n: Annotated[int, typer.Option("--n", min=1, max=1_000_000, help="How many patients.")] = 40,
    seed: Annotated[int, typer.Option(help="The same seed gives the same patients.")] = 0,
    diseases: Annotated[
        str, typer.Option(help="'all', or departments, disease names or ICD-10 codes, separated by commas.")
    ] = "all",
    language: Annotated[str, typer.Option(help="Language of the records: en or zh.")] = "en",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Draw patients from the medical knowledge, balanced over disease and severity."""
    from polyclinic.cases.loaders import write_cases
    from polyclinic.generation.draw import generate as draw
    from polyclinic.knowledge.knowledge import read_knowledge

    if language not in ("en", "zh"):
        raise BadInput(f"--language {language!r}; allowed: en, zh")
    if out.is_file() and not force:
        raise BadInput("the file exists; name another, or overwrite it with --force", path=out)
    knowledge = read_knowledge().select(diseases)
    write_cases(out, draw(knowledge, n=n, seed=seed, language=language))  # type: ignore[arg-type]
    typer.echo(
        f"{n} cases of {len(knowledge.diseases)} diseases: {out}. Next: polyclinic consult --case {out}", err=True
    )


@app.command()
def personas(
    cases: Annotated[
        str, typer.Option("--cases", help="A case file; 'shipped' and 'shipped-zh' come with polyclinic.")
    ],
    out: Annotated[Path, typer.Option(help="Where to write the cases with their personas.", metavar="FILE")],
    mind: Annotated[
        str, typer.Option(help="Who makes them: templates, or a model such as direct/NAME.", metavar="MIND")
    ] = "templates",
    manner: Annotated[
        str,
        typer.Option(
            help="How patients deal with the doctor: plain, low health literacy, anxious, withholding, contradicting, "
            "parent (of a child), or mixed."
        ),
    ] = "plain",
    layout: LayoutOption = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same personas from templates.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    max_failures: Annotated[
        float, typer.Option(min=0, max=100, help="Share of cases without one, in percent, above which it has failed.")
    ] = 5.0,
    base_url: BaseUrlOption = None,
    api_key_env: KeyOption = "OPENAI_API_KEY",
    concurrency: ConcurrencyOption = None,
    temperature: TemperatureOption = None,
    journal: JournalOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    price: PriceOption = None,
) -> None:
    """Give patients a persona: a statement in their own voice, a life, a character, a manner.

    A persona that gives the diagnosis or a result away is refused, and the case goes without one.
    """
    from polyclinic.cases.loaders import read_cases, write_cases
    from polyclinic.cases.shipped import shipped_path
    from polyclinic.cli.minds import ModelOptions
    from polyclinic.cli.personas import make_personas, read_manner
    from polyclinic.terminal.screen import console, plain

    chosen = read_manner(manner)
    if out.is_file() and not force:
        raise BadInput("the file exists; name another, or overwrite it with --force", path=out)
    options = ModelOptions(
        seed=seed,
        base_url=base_url,
        api_key_env=api_key_env,
        concurrency=concurrency,
        temperature=temperature,
        journal=journal,
        max_tokens=max_tokens,
        max_cost=max_cost,
        price=price,
    )
    read = list(read_cases(shipped_path(cases), layout=layout))
    made = make_personas(read, options, mind=mind, manner=chosen)
    write_cases(out, made.cases)
    screen = console(sys.stderr)
    for case, problem in made.refused:
        screen.print(plain(f"case {case} goes without a persona: {problem}"), style="yellow", soft_wrap=True)
    show_usage(screen, made.ledger)
    n = len(read) - len(made.refused)
    typer.echo(f"{n} of {len(read)} cases have a persona: {out}. Next: polyclinic consult --case {out}", err=True)
    if len(made.refused) * 100 > max_failures * len(read):
        raise PlayFailure(f"{len(made.refused)} of {len(read)} cases go without a persona; see the lines above")


@app.command()
def schema() -> None:
    """Print the JSON Schema of one line of a case file."""
    from polyclinic.cases.case import case_schema
    from polyclinic.terminal.screen import print_json

    print_json(case_schema())
