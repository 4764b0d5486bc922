"""`polyclinic eval reliability`: how far patient and examiner can be relied on."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from polyclinic.cli.minds import (
    BaseUrlOption,
    ConcurrencyOption,
    ExaminerOption,
    JournalOption,
    JsonOption,
    KeyOption,
    LayoutOption,
    MaxCostOption,
    MaxTokensOption,
    MindOptions,
    PatientOption,
    PriceOption,
    TemperatureOption,
    open_minds,
)
from polyclinic.errors import BudgetSpent, PlayFailure, UserError
from polyclinic.terminal.usage import show_usage

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.benchmarks.reliability.attack import Attacked
    from polyclinic.benchmarks.reliability.evaluation import Study
    from polyclinic.cases.case import Case
    from polyclinic.models.ledger import Ledger
    from polyclinic.statistics.uncertainty import Estimate


def reliability(
    cases: Annotated[
        str, typer.Option("--cases", help="A case file; 'shipped' and 'shipped-zh' come with polyclinic.")
    ],
    doctor: Annotated[list[str] | None, typer.Option(help="A doctor's mind; may be repeated.", metavar="MIND")] = None,
    patient: PatientOption = "rules",
    examiner: ExaminerOption = "rules",
    judge: Annotated[
        str | None,
        typer.Option(
            help="A model that judges relevance and consistency round by round; without one both are left out.",
            metavar="MODEL",
        ),
    ] = None,
    layout: LayoutOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many cases.")] = None,
    max_turns: Annotated[int, typer.Option(min=1, help="How often the doctor may speak.")] = 10,
    attack: Annotated[
        bool, typer.Option("--attack/--no-attack", help="Put a hundred requests that fish to the examiner.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Of the patients and the bootstrap.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write each doctor's traces and the result into this folder.", metavar="DIR")
    ] = None,
    json: JsonOption = False,
    max_failures: Annotated[
        float, typer.Option(min=0, max=100, help="Share of failed visits, in percent, above which the run has failed.")
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
    """AI Hospital's reliability: are patient and examiner relevant, true to the record, and proof against fishing?"""
    from polyclinic.cases.loaders import read_cases
    from polyclinic.cases.shipped import shipped_path
    from polyclinic.files import make_folder
    from polyclinic.players.minds import model_of
    from polyclinic.terminal.screen import console, print_json

    doctors = doctor or ["rules"]
    if len(set(doctors)) < len(doctors):
        raise UserError(f"--doctor names {max(doctors, key=doctors.count)!r} twice; each doctor once")
    if judge is not None and model_of(judge) is None:
        raise UserError(f"--judge {judge!r} is no model; a judge is one, such as direct/NAME")
    read = list(read_cases(shipped_path(cases), layout=layout))[:limit]
    options = MindOptions(
        doctor=doctors[0],
        patient=patient,
        examiner=examiner,
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
    if out is not None:
        make_folder(out)
    try:
        came = asyncio.run(_run(read, options, doctors, judge, max_turns=max_turns, attacked=attack, quiet=json))
    except BudgetSpent as spent:
        again = "the same command goes on from there" if journal else "with --journal FILE a run can go on"
        raise BudgetSpent(f"{spent}; the study is not over, and {again}") from None
    document = study_document(came.study, came.attacks)
    document = {"cases": len(read), "patient": patient, "examiner": examiner, "seed": seed, **document}
    if out is not None:
        _write(out, came.study, document)
    if json:
        print_json(document)
    else:
        screen = console()
        show_study(screen, came.study)
        show_attacks(screen, came.attacks, len(read))
        screen.print(f"patient: {patient}; examiner: {examiner}; {len(read)} cases; seed: {seed}")
        show_usage(console(sys.stderr), came.ledger)
        if out is not None:
            typer.echo(f"Traces and result: {out}", err=True)
    failed = sum(one.failed for one in came.study.doctors)
    if failed * 100 > max_failures * len(read) * len(doctors):
        raise PlayFailure(
            f"{failed} of {len(read) * len(doctors)} visits failed; --max-failures allows {max_failures:g} %"
        )


class _Came(NamedTuple):
    study: Study
    attacks: tuple[Attacked, ...]
    ledger: Ledger


async def _run(
    cases: list[Case],
    options: MindOptions,
    doctors: list[str],
    judge: str | None,
    *,
    max_turns: int,
    attacked: bool,
    quiet: bool,
) -> _Came:
    from polyclinic.benchmarks.reliability.attack import attack
    from polyclinic.benchmarks.reliability.evaluation import study
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.terminal.screen import progress

    others = [] if judge is None else [judge]
    async with open_minds(options, read_knowledge(), doctors=doctors, others=others) as opened:
        with progress("consulting", len(cases) * len(doctors), quiet=quiet) as advance:
            came = await study(
                cases,
                opened.minds,
                judge=None if judge is None else opened.others[judge],
                max_turns=max_turns,
                temperature=options.temperature,
                seed=options.seed,
                advance=advance,
            )
        attacks: tuple[Attacked, ...] = ()
        if attacked:
            minds = opened.minds[doctors[0]]
            reader = minds.examiner("attack") if options.examiner != "rules" else None
            with progress("attacking", 200 if reader is None else 300, quiet=quiet) as advance:
                attacks = await attack(cases, minds.examination_names, reader=reader, advance=advance)
        return _Came(came, attacks, opened.ledger)


def study_document(study: Study, attacks: tuple[Attacked, ...]) -> dict[str, Any]:
    """Returns what `--json` prints: the study without the visits, which the traces hold."""
    import msgspec

    fields = {name: getattr(study, name) for name in study.__struct_fields__ if name != "visits"}
    built: dict[str, Any] = msgspec.to_builtins({**fields, "attack": attacks})
    return built


def _write(out: Path, study: Study, document: dict[str, Any]) -> None:
    import msgspec

    from polyclinic.files import write_text

    write_text(out / "reliability.json", msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")
    for number, (_, visits) in enumerate(study.visits.items(), start=1):
        write_text(out / f"doctor-{number}.jsonl", "".join(visit.trace.lines() for visit in visits))


def show_study(screen: Console, study: Study) -> None:
    """Prints the table: a doctor a row, with intervals, and what is outside of the means beside."""
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    table = Table(show_edge=False, pad_edge=False, title="reliability, % [95 % interval]", title_justify="left")
    table.add_column("doctor")
    for name in ("visits", "#QA", "Rel", "Con", "#Test", "Acc", "ordered", "false"):
        table.add_column(name, justify="right")
    for one in study.doctors:
        table.add_row(
            Text(plain(one.doctor)),
            str(one.visits),
            str(one.qa),
            _cell(one.relevance),
            _cell(one.consistency),
            str(one.tests),
            _cell(one.accuracy),
            str(one.ordered),
            str(one.false),
        )
    screen.print(table)
    if study.judge:
        about = f"judge: {study.judge}, version {study.judge_version}, prompts {study.prompts}"
    else:
        about = "Rel and Con need a judge: --judge MODEL"
    screen.print(plain(about), style="dim")
    for one in study.doctors:
        lost = {"visits failed": one.failed} if one.failed else {}
        lost |= {f"judgements {name}": n for name, n in {**one.unreadable, **one.unanswered}.items()}
        if lost:
            screen.print(
                plain(f"{one.doctor}, outside of the means: " + ", ".join(f"{n} {name}" for name, n in lost.items())),
                style="yellow",
            )
    screen.print()


def _cell(value: Estimate | None) -> str:
    if value is None or value.mean is None:
        return "–"
    return f"{value.mean:.1f} [{value.low:.1f}, {value.high:.1f}] ({value.n})"


def show_attacks(screen: Console, attacks: tuple[Attacked, ...], cases: int) -> None:
    """Prints, for each reader and language, how many requests disclosed something."""
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    if not attacks:
        return
    title = f"requests that fish, each against {cases} records"
    table = Table(show_edge=False, pad_edge=False, title=title, title_justify="left")
    for name in ("reader", "language", "requests", "disclosed", "unread", "names dropped"):
        table.add_column(name, justify="left" if name in ("reader", "language") else "right")
    for one in attacks:
        table.add_row(
            Text(plain(one.reader)),
            one.language,
            str(one.requests),
            str(one.disclosed),
            str(sum(one.unread.values())),
            f"{one.dropped:,}",
        )
    screen.print(table)
    for one in attacks:
        for request, finding in one.examples:
            screen.print(plain(f"disclosed to {one.reader}: {request!r}: {finding}"), style="red", soft_wrap=True)
    screen.print()
