"""`polyclinic eval mvme`: interns and teams of them on AI Hospital's benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.benchmarks.mvme.evaluation import mvme as mvme_benchmark
from polyclinic.benchmarks.mvme.tables import mvme_output
from polyclinic.cases.case import Case
from polyclinic.cli import options
from polyclinic.cli.batching import batches_beside
from polyclinic.cli.evaluation import cases_of, finish, first_ending, hold, judge_as_it_goes, judge_of, open_players
from polyclinic.cli.following import Protocol, WhoPlays, followed, held_by
from polyclinic.cli.mvme_entrants import TEAMS, NamedEntrant, TeamsOptions, entrants_of
from polyclinic.cli.people import read_people, with_agreement
from polyclinic.cli.personas import TEMPLATES, with_personas
from polyclinic.cli.pictures import lacking_pictures, note_pictures, pictures_seen
from polyclinic.cli.played import desk_of
from polyclinic.errors import UserError, meant
from polyclinic.events import Order
from polyclinic.judges.director import ModelJudge
from polyclinic.judges.director_by_rules import RulesJudge
from polyclinic.judges.failure_reasons import FailureReason, read_words
from polyclinic.judges.until_stopped import UntilStopped
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.icd.linkers import linkers_for
from polyclinic.players.mind_names import model_of
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import MvmeSettings
from polyclinic.stopping import is_stopped
from polyclinic.verdicts.judgements import people_words
from polyclinic.verdicts.results import MeansByPeople, figures
from polyclinic.verdicts.verdict import PersonsVerdict
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.staging import Staging


async def mvme(
    *,
    cases: options.CaseOptions,
    doctor: Annotated[options.Doctors | None, Parameter(help="A doctor who works alone; several may be named.")] = None,
    team: options.TeamOptions = options.TEAM,
    teams: TeamsOptions = TEAMS,
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
    verdicts: Annotated[
        list[Path] | None,
        options.FILES,
        Parameter(help="What people say: grades, and failures ('polyclinic verdicts'); they stand beside the judge's."),
    ] = None,
    names_by: Annotated[
        str | None,
        Parameter(metavar="MODEL", help="A model that reads the diseases out of the diagnoses before they are linked."),
    ] = None,
    personas: Annotated[
        str | None,
        options.MIND,
        Parameter(help="Who makes a persona for patients without one: templates, or a model; by default nobody."),
    ] = None,
    max_turns: Annotated[options.MaxTurns, Parameter(help="Each doctor's turns.")] = MAX_TURNS,
    session: options.Session = None,
    protocol: Protocol = "ours",
    batch_api: options.BatchApi = False,
    run: options.RunOptions = options.RUN,
) -> None:
    """Holds MVME for every doctor and team, and prints the paper's tables."""
    named = entrants_of(doctor or [], team, teams, one_step=one_step)
    _check(judge)
    director = team.director if any(len(one.minds) > 1 for one in named) else None
    rules = followed(
        MvmeSettings, protocol, patient=cases.patient, examiner=cases.examiner, director=director, judge=judge
    )
    rules.check_value("--max-turns", max_turns, rules.settings.turns)
    rules.check_value("--max-rounds", team.max_rounds, rules.settings.rounds)
    rules.check_value("--order", team.order, rules.settings.order)
    if rules.settings.personas.paper == "model":
        section = rules.settings.personas.section
        rules.check_switch("--personas templates", personas == TEMPLATES, "has personas that a model makes", section)
    minds = list(dict.fromkeys(mind for one in named for mind in one.minds))
    shown = pictures_seen(cases.cases, minds, run.models, cases.pictures)
    unseen = lacking_pictures(shown)
    asked = cases_of(cases, needs=lambda case: _lacks(case) or unseen(case))[: cases.limit]
    note_pictures(cases.cases, asked, minds, run.models, cases.pictures)
    people = _read_people(verdicts, asked, named)
    words = {**(read_words(reasons) if reasons is not None else {}), **people_words(people, "failures", FailureReason)}
    languages = {case.presentation.language for case in asked}
    by_nearest = rules.of(rules.settings.links) == "ten nearest titles"
    linkers, knowledge = linkers_for(languages, table, nearest=by_nearest), read_knowledge()
    order = Order(team.order or rules.of(rules.settings.order))
    missing = rules.of(rules.settings.missing)
    if rules.of(rules.settings.names) == "model" and linkers:
        names_by = names_by or judge
    judge_of(names_by, option="--names-by")
    if rules.of(rules.settings.personas) == "model":
        personas = personas or cases.patient
    beside: WhoPlays = {"patient": [cases.patient], "examiner": [cases.examiner], "director": [director]}
    by = held_by(rules, run.models, {"doctor": minds, **beside, "judge": [judge, names_by]}, cases=len(asked))
    run = replace(run, models=by.models)
    judges = [one for one in (judge, names_by, personas) if one is not None and model_of(one) is not None]
    alone = all(one.one_step for one in named)
    at, _ = desk_of(session, [*minds, cases.patient])
    async with open_players(
        minds,
        cases,
        run,
        director=team.director,
        judges=judges,
        one_step=alone,
        languages=languages,
        pictures=shown,
        batches=batches_beside(run, [*minds, *judges], wanted=batch_api, talking=not alone),
        desk=at,
    ) as opened:
        if personas is not None and not alone:
            asked = await with_personas(
                asked, personas, opened.session, seed=run.seed, temperature=run.models.temperature
            )
        model = None if judge == "rules" else opened.judge(judge)
        sorting = None if model is None else UntilStopped(model, is_stopped=is_stopped)
        grading = None if model is None else judge_as_it_goes(model, run)
        reading = None if names_by is None else UntilStopped(opened.judge(names_by), is_stopped=is_stopped)
        benchmark = mvme_benchmark(
            asked,
            judge=RulesJudge(knowledge) if grading is None else ModelJudge(grading, temperature=run.models.temperature),
            knowledge=knowledge,
            linkers=linkers,
            reason_judge=sorting,
            words=words,
            max_turns=max_turns,
            order=order,
            max_rounds=team.max_rounds,
            missing=missing,
            missing_grade=rules.of(rules.settings.missing_grade),
            names_by=reading,
            staging=staging_of(rules),
            seed=run.seed,
        )
        result = await hold(benchmark, {one.name: one.playing(opened.minds) for one in named}, run)
    about = {
        "alone": [one.name for one in named if len(one.minds) == 1 and one.one_step == one_step],
        "team": team.named,
        "teams": {one.name: one.minds for one in named if len(one.minds) > 1},
        "in_one_step": teams.in_one_step or [],
        "one_step": one_step,
        "judge": judge,
        "order": order,
        "max_rounds": team.max_rounds,
        "disputes": not team.no_dispute_resolution,
        "missing": missing,
        "max_turns": max_turns,
        "personas": personas,
        "links": rules.of(rules.settings.links),
        "protocol": protocol,
        "cases": len(asked),
        "seed": run.seed,
        "patient": cases.patient,
    }
    note = "No ICD-10 for the Chinese cases: name a table of Chinese titles with --table."
    grades = figures(people, "grades", seed=run.seed)
    output = mvme_output(
        result,
        about,
        people={name: one for name, one in grades.items() if isinstance(one, MeansByPeople)},
        note=note if languages - linkers.keys() else "",
    )
    finish(
        with_agreement(by.told(output), people, seed=run.seed),
        run,
        opened.session.ledger,
        trust=opened.patient_trust,
        stopped=first_ending(grading, reading, sorting),
    )


def staging_of(rules: FollowedProtocol[MvmeSettings]) -> Staging:
    """Returns how visits are held by a protocol."""
    settings = rules.settings
    return Staging(
        greets=rules.of(settings.greets),
        dialogue_alone=rules.of(settings.dialogue_alone),
        concludes=rules.of(settings.concludes),
        answers_last=rules.of(settings.answers_last),
        retold=rules.of(settings.retold),
        whole=rules.of(settings.whole),
        ai_hospital=rules.prompts("doctor") == "paper",
    )


def _read_people(
    paths: Sequence[Path] | None, cases: Sequence[Case], named: Sequence[NamedEntrant]
) -> list[PersonsVerdict]:
    """Returns what people say of these cases and entrants; nothing else may be spoken of."""
    if not paths:
        return []
    items = {(case.id, one.name): None for case in cases for one in named}
    return read_people(paths, {"grades": items, "failures": items})


def _lacks(case: Case) -> str:
    return "" if case.truth.diagnoses else "no diagnosis to grade by"


def _check(judge: str) -> None:
    if judge != "rules" and model_of(judge) is None:
        raise UserError(
            f"no judge {judge!r}{meant(judge, ['rules'])}; allowed: rules, or a model: local, direct/NAME, openai/NAME"
        )
