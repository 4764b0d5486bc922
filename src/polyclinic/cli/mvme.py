"""`polyclinic eval mvme`: interns and teams of them on AI Hospital's benchmark."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from polyclinic.cli.minds import (
    BaseUrlOption,
    ConcurrencyOption,
    DirectorOption,
    DoctorsOption,
    ExaminerOption,
    JournalOption,
    JsonOption,
    KeyOption,
    LayoutOption,
    MaxCostOption,
    MaxRoundsOption,
    MaxTokensOption,
    MindOptions,
    NoDisputesOption,
    OrderOption,
    PatientOption,
    PriceOption,
    TemperatureOption,
    open_minds,
)
from polyclinic.errors import BudgetSpent, PlayFailure, UserError
from polyclinic.terminal.usage import show_usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyclinic.benchmarks.mvme.evaluation import Evaluation
    from polyclinic.cases.case import Case
    from polyclinic.judges.failure_reasons import Words
    from polyclinic.knowledge.knowledge import Knowledge
    from polyclinic.language.language import Language
    from polyclinic.metrics.icd.linking import Linker
    from polyclinic.models.ledger import Ledger
    from polyclinic.players.roles.examiner import Missing

Protocol = Literal["ours", "paper"]


def mvme(
    cases: Annotated[
        str, typer.Option("--cases", help="A case file; 'shipped' and 'shipped-zh' come with polyclinic.")
    ],
    doctor: Annotated[
        list[str] | None, typer.Option(help="A doctor who works alone; may be repeated.", metavar="MIND")
    ] = None,
    doctors: DoctorsOption = None,
    one_step: Annotated[
        bool, typer.Option("--one-step", help="Everybody reads the whole record: the paper's upper bound.")
    ] = False,
    judge: Annotated[
        str, typer.Option(help="The director who grades: rules, or a model, best of another family.", metavar="MIND")
    ] = "rules",
    director: DirectorOption = "rules",
    no_dispute_resolution: NoDisputesOption = False,
    order: OrderOption = "parallel",
    max_rounds: MaxRoundsOption = 4,
    patient: PatientOption = "rules",
    examiner: ExaminerOption = "rules",
    table: Annotated[
        Path | None,
        typer.Option(help="Table of ICD-10 for Chinese cases (.xls, .csv, .tsv: code, title).", metavar="FILE"),
    ] = None,
    reasons: Annotated[
        Path | None,
        typer.Option(help="What people say of why diagnoses missed: JSON lines; goes before the judge's word."),
    ] = None,
    layout: LayoutOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many cases.")] = None,
    max_turns: Annotated[int, typer.Option(min=1, help="Each doctor's turns.")] = 10,
    protocol: Annotated[
        Protocol,
        typer.Option(
            help="'paper': the paper's choices: what is not recorded is normal, doctors discuss one after another, a "
            "missing grade counts 1."
        ),
    ] = "ours",
    seed: Annotated[int, typer.Option(help="Of the patients and the bootstrap.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Write traces, judgements and the summary into this folder.", metavar="DIR"),
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
    """MVME: interns see patients, alone or as a team; a director grades their reports, ICD-10 checks the diagnoses."""
    from polyclinic.benchmarks.mvme.tables import mvme_document, show_mvme, write_mvme
    from polyclinic.cases.loaders import read_cases
    from polyclinic.cases.shipped import shipped_path
    from polyclinic.files import make_folder
    from polyclinic.judges.failure_reasons import read_words
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.metrics.icd.linking import linkers_for
    from polyclinic.terminal.screen import console, print_json

    alone, team = doctor or [], tuple(doctors or ())
    if not alone and not team:
        raise UserError("nobody to evaluate; give --doctor MIND, or --doctors MIND MIND")
    if len(set(alone)) < len(alone):
        raise UserError(f"--doctor names {max(alone, key=alone.count)!r} twice; each doctor once")
    if len(team) == 1:
        raise UserError(f"--doctors needs two or more; {team[0]!r} alone is --doctor {team[0]}")
    asked = list(read_cases(shipped_path(cases), layout=layout))[:limit]
    how = _How(
        alone=tuple(alone),
        team=team,
        one_step=one_step,
        judge=judge,
        order="sequential" if protocol == "paper" else order,
        max_rounds=max_rounds,
        disputes=not no_dispute_resolution,
        missing="normal" if protocol == "paper" else "not recorded",
        max_turns=max_turns,
        protocol=protocol,
    )
    options = MindOptions(
        doctor=(alone or team)[0],
        patient=patient,
        examiner=examiner,
        director=director,
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
    words = read_words(reasons) if reasons is not None else None
    languages = {case.presentation.language for case in asked}
    linkers = linkers_for(languages, table)
    if out is not None:
        make_folder(out)
    try:
        evaluation, ledger = asyncio.run(
            _evaluate(asked, how, options, read_knowledge(), linkers=linkers, words=words, quiet=json)
        )
    except BudgetSpent as spent:
        again = "the same command goes on from there" if journal else "with --journal FILE a run can go on"
        raise BudgetSpent(f"{spent}; the evaluation is not over, and {again}") from None
    document = mvme_document(evaluation, about={**how._asdict(), "cases": len(asked), "seed": seed, "patient": patient})
    if out is not None:
        write_mvme(out, evaluation, document)
    if json:
        print_json(document)
    else:
        screen = console()
        show_mvme(screen, evaluation)
        if languages - linkers.keys():
            told = "No ICD-10 for the Chinese cases: name a table of Chinese titles with --table."
            screen.print(told, style="yellow", soft_wrap=True)
        screen.print(f"protocol: {protocol}; cases: {len(asked)}; patient: {patient}; seed: {seed}")
        show_usage(console(sys.stderr), ledger)
        if out is not None:
            typer.echo(f"Traces, judgements and summary: {out}", err=True)
    failed, n = sum(sum(row.failed.values()) for row in evaluation.rows), len(asked) * len(evaluation.rows)
    if failed * 100 > max_failures * n:
        raise PlayFailure(f"{failed} of {n} visits failed; --max-failures allows {max_failures:g} %")


class _How(NamedTuple):
    """How the visits are held and judged."""

    alone: tuple[str, ...]
    team: tuple[str, ...]
    one_step: bool
    judge: str
    order: Literal["parallel", "sequential"]
    max_rounds: int
    disputes: bool
    missing: Missing
    max_turns: int
    protocol: Protocol


async def _evaluate(
    cases: Sequence[Case],
    how: _How,
    options: MindOptions,
    knowledge: Knowledge,
    *,
    linkers: Mapping[Language, Linker],
    words: Words | None,
    quiet: bool,
) -> tuple[Evaluation, Ledger]:
    from polyclinic.benchmarks.mvme.evaluation import Entrant, evaluate
    from polyclinic.events import Order
    from polyclinic.judges.director import Judge, ModelJudge
    from polyclinic.judges.director_by_rules import RulesJudge
    from polyclinic.terminal.screen import progress

    names = list(dict.fromkeys((*how.alone, *how.team)))
    others = [] if how.judge == "rules" else [how.judge]
    async with open_minds(options, knowledge, doctors=names, others=others) as opened:
        entrants = [Entrant(name, (opened.minds[name],), how.one_step) for name in how.alone]
        if how.team:
            entrants.append(Entrant(" + ".join(how.team), tuple(opened.minds[name] for name in how.team), how.one_step))
        if others and how.judge not in opened.others:
            raise UserError(f"no judge {how.judge!r}; allowed: rules, or a model: local, direct/NAME, openai/NAME")
        model = opened.others.get(how.judge)
        judge: Judge = RulesJudge(knowledge) if model is None else ModelJudge(model, temperature=options.temperature)
        with progress("evaluating", len(cases) * len(entrants), quiet=quiet) as advance:
            evaluation = await evaluate(
                cases,
                entrants,
                judge=judge,
                knowledge=knowledge,
                linkers=linkers,
                reason_judge=model,
                words=words,
                max_turns=how.max_turns,
                order=Order(how.order),
                max_rounds=how.max_rounds,
                disputes=how.disputes,
                missing=how.missing,
                protocol="paper" if how.protocol == "paper" else "readable",
                seed=options.seed,
                advance=advance,
            )
        return evaluation, opened.ledger
