"""`polyclinic eval mvme`: interns and teams of them on AI Hospital's benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.benchmarks.mvme.evaluation import mvme as mvme_benchmark
from polyclinic.benchmarks.mvme.results import Entrant
from polyclinic.benchmarks.mvme.tables import mvme_output
from polyclinic.cli import options
from polyclinic.cli.evaluation import cases_of, finish, hold, open_players
from polyclinic.cli.following import Protocol, followed, say
from polyclinic.errors import UserError
from polyclinic.judges.director import ModelJudge
from polyclinic.judges.director_by_rules import RulesJudge
from polyclinic.judges.failure_reasons import read_words
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.icd.linking import linkers_for
from polyclinic.players.minds import model_of
from polyclinic.protocols.papers import MvmeSettings
from polyclinic.visits.consultation import MAX_TURNS


async def mvme(
    *,
    cases: options.CaseOptions,
    doctor: Annotated[options.Doctors | None, Parameter(help="A doctor who works alone; several may be named.")] = None,
    team: options.TeamOptions = options.TEAM,
    one_step: Annotated[bool, Parameter(help="Everybody reads the whole record: the paper's upper bound.")] = False,
    judge: Annotated[
        str, options.MIND, Parameter(help="The director who grades: rules, or a model, best of another family.")
    ] = "rules",
    table: Annotated[
        Path | None, options.FILE, Parameter(help="Table of ICD-10 for Chinese cases (.xls, .csv, .tsv: code, title).")
    ] = None,
    reasons: Annotated[
        Path | None,
        options.FILE,
        Parameter(help="What people say of why diagnoses missed: JSON lines; goes before the judge's word."),
    ] = None,
    max_turns: Annotated[options.MaxTurns, Parameter(help="Each doctor's turns.")] = MAX_TURNS,
    protocol: Protocol = "ours",
    run: options.RunOptions = options.RUN,
) -> None:
    """Holds MVME for every doctor and the team, and prints the paper's tables."""
    alone, together = doctor or [], team.named
    _check(alone, together, judge)
    director = team.director if together else None
    rules = followed(
        MvmeSettings, protocol, patient=cases.patient, examiner=cases.examiner, director=director, judge=judge
    )
    rules.check_value("--max-turns", max_turns, rules.settings.turns)
    rules.check_value("--max-rounds", team.max_rounds, rules.settings.rounds)
    asked = cases_of(cases)[: cases.limit]
    words = read_words(reasons) if reasons is not None else None
    languages = {case.presentation.language for case in asked}
    linkers, knowledge = linkers_for(languages, table), read_knowledge()
    order = team.order if rules.side == "ours" else rules.of(rules.settings.order)
    missing = rules.of(rules.settings.missing)
    names, judges = list(dict.fromkeys((*alone, *together))), [] if judge == "rules" else [judge]
    say(rules)
    async with open_players(names, cases, run, director=team.director, judges=judges, one_step=one_step) as opened:
        entrants = [Entrant(name, (opened.minds[name],), one_step) for name in alone]
        if together:
            entrants.append(Entrant(" + ".join(together), tuple(opened.minds[name] for name in together), one_step))
        model = opened.judge(judge) if judges else None
        benchmark = mvme_benchmark(
            asked,
            judge=RulesJudge(knowledge) if model is None else ModelJudge(model, temperature=run.models.temperature),
            knowledge=knowledge,
            linkers=linkers,
            reason_judge=model,
            words=words,
            max_turns=max_turns,
            order=order,
            max_rounds=team.max_rounds,
            disputes=not team.no_dispute_resolution,
            missing=missing,
            protocol=rules.of(rules.settings.missing_grade),
            seed=run.seed,
        )
        result = await hold(benchmark, {one.name: one for one in entrants}, run)
    about = {
        "alone": alone,
        "team": together,
        "one_step": one_step,
        "judge": judge,
        "order": order,
        "max_rounds": team.max_rounds,
        "disputes": not team.no_dispute_resolution,
        "missing": missing,
        "max_turns": max_turns,
        "protocol": protocol,
        "cases": len(asked),
        "seed": run.seed,
        "patient": cases.patient,
    }
    note = "No ICD-10 for the Chinese cases: name a table of Chinese titles with --table."
    finish(
        mvme_output(result, about, note=note if languages - linkers.keys() else ""),
        run,
        opened.session.ledger,
        trust=opened.patient_trust,
    )


def _check(alone: list[str], together: list[str], judge: str) -> None:
    if not alone and not together:
        raise UserError("nobody to evaluate; give --doctor MIND, or --doctors MIND MIND")
    options.each_once("doctor", alone)
    if len(together) == 1:
        raise UserError(f"--doctors needs two or more; {together[0]!r} alone is --doctor {together[0]}")
    if judge != "rules" and model_of(judge) is None:
        raise UserError(f"no judge {judge!r}; allowed: rules, or a model: local, direct/NAME, openai/NAME")
