"""MVME as an evaluation: its options, what is read before a model is asked, and the plays (ai-hospital §3-6)."""

# No annotations as text: subclasses of `MvmeOptions` inherit these.

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cyclopts import Parameter

from polyclinic.cases.case import Case
from polyclinic.errors import UserError, meant
from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Setup, Work, check_judge
from polyclinic.evaluations.mvme.evaluation import Entrant, mvme
from polyclinic.evaluations.mvme.tables import mvme_output
from polyclinic.evaluations.personas import TEMPLATES, with_personas
from polyclinic.evaluations.protocol import staging_of
from polyclinic.events import Order
from polyclinic.judging.director import Judge, ModelJudge
from polyclinic.judging.director_by_rules import RulesJudge
from polyclinic.judging.failure_reasons import FailureReason, read_words
from polyclinic.judging.people import MeansByPeople, figures, people_words
from polyclinic.judging.verdicts import Known
from polyclinic.metrics.icd.linking import linkers_for
from polyclinic.players.mind_names import model_of
from polyclinic.protocols.papers import MvmeSettings
from polyclinic.run.options import (
    FILE,
    FILES,
    MIND,
    MINDS,
    BatchOption,
    CaseOptions,
    MaxTurns,
    ProtocolOption,
    SessionOption,
    TeamOptions,
    each_once,
)
from polyclinic.settings import setting
from polyclinic.visits.consultation import MAX_TURNS

_TEAM = Parameter(metavar="[NAME=]MIND,MIND...", consume_multiple=1)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MvmeOptions(CaseOptions, TeamOptions, SessionOption, ProtocolOption, BatchOption):
    """The options of MVME."""

    doctor: Annotated[list[str] | None, MINDS] = None
    """A doctor who works alone."""
    team: Annotated[list[str] | None, _TEAM] = None
    """A team of doctors, with a name for the table: "2 doctors=A,B"."""
    team_without_dr: Annotated[list[str] | None, _TEAM, setting("mvme")] = None
    """The same without dispute resolution, the paper's ablation."""
    in_one_step: Annotated[list[str] | None, MINDS, setting("mvme")] = None
    """A doctor who reads the whole record beside the others, the paper's upper bound; several may be named."""
    one_step: Annotated[bool, setting("mvme")] = False
    """Show doctors the whole record at once: the paper's upper bound."""
    judge: Annotated[str, MIND] = "rules"
    """The director who grades: rules, or a model, preferably of another family."""
    table: Annotated[Path | None, FILE, setting("mvme")] = None
    """Table of ICD-10 for Chinese cases (.xls, .csv, .tsv: code, title)."""
    reasons: Annotated[Path | None, FILE, setting("mvme")] = None
    """People's reasons for missed diagnoses, as JSON lines; they override the judge's."""
    verdicts: Annotated[list[Path] | None, FILES] = None
    """People's verdicts of the forms 'grades' and 'failures'."""
    names_by: Annotated[str | None, Parameter(metavar="MODEL"), setting("mvme")] = None
    """A model that reads the diseases out of the diagnoses before they are linked."""
    personas: Annotated[str | None, MIND, setting("mvme")] = None
    """The maker of personas for patients without one: templates, or a model."""
    max_turns: MaxTurns = MAX_TURNS
    """Each doctor's turns."""


class NamedEntrant(NamedTuple):
    """An entrant by the names of its minds, before anything is opened."""

    name: str
    minds: tuple[str, ...]
    one_step: bool = False
    disputes: bool = True


def entrants_of(options: MvmeOptions) -> list[NamedEntrant]:
    """Returns everybody who takes part, in the order of the paper's table: alone, as a team, in one step.

    Raises:
        UserError: there is nobody, a team has one doctor, or two entrants have one name.
    """
    one_step = options.one_step
    each_once("doctor", options.doctor or [])
    found = [NamedEntrant(name, (name,), one_step) for name in options.doctor or ()]
    if members := options.named:
        if len(members) == 1:
            raise UserError(f"--doctors needs two or more; {members[0]!r} alone is --doctor {members[0]}")
        disputes = not options.no_dispute_resolution
        found.append(NamedEntrant(" + ".join(members), tuple(members), one_step, disputes))
    given = [("--team", text) for text in options.team or ()]
    for option, text in [*given, *(("mvme.team-without-dr", text) for text in options.team_without_dr or ())]:
        name, sign, listed = text.partition("=")
        minds = tuple(one.strip() for one in (listed if sign else text).split(",") if one.strip())
        if len(minds) < 2:
            raise UserError(f"{option} {text!r} names {len(minds)} doctors; a team has two or more: [NAME=]MIND,MIND")
        disputes = option == "--team"
        own = " + ".join(minds) + ("" if disputes else ", without DR")
        found.append(NamedEntrant(name.strip() if sign and name.strip() else own, minds, one_step, disputes))
    taken = {one.name for one in found}
    if one_step and options.in_one_step:
        raise UserError("with mvme.one-step everybody reads the whole record; leave out mvme.in-one-step")
    for name in options.in_one_step or ():
        found.append(NamedEntrant(f"{name}, one step" if name in taken else name, (name,), one_step=True))
    if not found:
        raise UserError(
            "nobody to evaluate; give --doctor MIND, or --doctors MIND MIND; --team and mvme.in-one-step name more"
        )
    names = [one.name for one in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(
            f"two entrants are named {twice!r} (--doctors makes a team, too); leave one out, or name a team: "
            "--team NAME=MIND,MIND"
        )
    return found


def plan(options: MvmeOptions, setup: Setup[MvmeSettings]) -> Plan:
    """Reads the cases and who takes part, and checks the options against the protocol."""
    named = entrants_of(options)
    if options.judge != "rules" and model_of(options.judge) is None:
        raise UserError(
            f"no judge {options.judge!r}{meant(options.judge, ['rules'])}; allowed: rules, or a model: local, "
            "direct/NAME, openai/NAME"
        )
    director = options.director if any(len(one.minds) > 1 for one in named) else None
    rules = setup.follow(
        options.protocol, patient=options.patient, examiner=options.examiner, director=director, judge=options.judge
    )
    settings = rules.settings
    rules.check_value("--max-turns", options.max_turns, settings.turns)
    rules.check_value("team.max-rounds", options.max_rounds, settings.rounds)
    rules.check_value("--order", options.order, settings.order)
    if settings.personas.paper == "model":
        by_templates = options.personas == TEMPLATES
        told = "has personas that a model makes"
        rules.check_switch("mvme.personas templates", by_templates, told, settings.personas.section)
    minds = list(dict.fromkeys(mind for one in named for mind in one.minds))
    cases = setup.cases(options, minds, needs=_lacks)[: options.limit]

    def judged() -> Known:
        """Returns what people can have judged: every entrant on every case."""
        items = {(case.id, one.name): None for case in cases for one in named}
        return {"grades": items, "failures": items}

    people = setup.verdicts(options.verdicts, judged)
    words = {} if options.reasons is None else read_words(options.reasons)
    words |= people_words(people, "failures", FailureReason)
    languages = {case.presentation.language for case in cases}
    linkers = linkers_for(languages, options.table, nearest=rules.of(settings.links) == "ten nearest titles")
    names_by = options.names_by
    if rules.of(settings.names) == "model" and linkers:
        names_by = names_by or options.judge
    check_judge(names_by, option="--names-by")
    personas = options.personas
    if rules.of(settings.personas) == "model":
        personas = personas or options.patient
    order, staging = Order(options.order or rules.of(settings.order)), staging_of(rules)
    alone = all(one.one_step for one in named)
    temperature = setup.run.config.models.temperature

    async def prepare(opened: Opened) -> Work:
        seen: Sequence[Case] = cases
        if personas is not None and not alone:
            seen = await with_personas(cases, personas, opened.session, seed=setup.seed, temperature=temperature)
        judge: Judge = RulesJudge(opened.knowledge)
        reason_judge = None
        if options.judge != "rules":
            reason_judge = opened.judge(options.judge)
            judge = ModelJudge(opened.judge(options.judge, as_it_goes=True), temperature=temperature)
        plays = mvme(
            seen,
            judge=judge,
            knowledge=opened.knowledge,
            linkers=linkers,
            reason_judge=reason_judge,
            words=words,
            max_turns=options.max_turns,
            order=order,
            max_rounds=options.max_rounds,
            missing_grade=rules.of(settings.missing_grade),
            names_by=None if names_by is None else opened.judge(names_by),
            staging=staging,
            seed=setup.seed,
        )
        about: dict[str, Any] = {
            "alone": [one.name for one in named if len(one.minds) == 1 and one.one_step == options.one_step],
            "team": options.named,
            "teams": {one.name: one.minds for one in named if len(one.minds) > 1},
            "in_one_step": options.in_one_step or [],
            "one_step": options.one_step,
            "judge": options.judge,
            "order": order,
            "max_rounds": options.max_rounds,
            "disputes": not options.no_dispute_resolution,
            "missing": staging.missing,
            "max_turns": options.max_turns,
            "personas": personas,
            "links": rules.of(settings.links),
            "protocol": options.protocol,
            "cases": len(cases),
            "seed": setup.seed,
            "patient": options.patient,
        }
        grades = figures(people, "grades", seed=setup.seed)
        by_people = {name: one for name, one in grades.items() if isinstance(one, MeansByPeople)}
        no_table = "No ICD-10 for the Chinese cases: name a table of Chinese titles with mvme.table."
        note = no_table if languages - linkers.keys() else ""
        entrants = {
            one.name: Entrant(one.name, tuple(opened.minds[mind] for mind in one.minds), one.one_step, one.disputes)
            for one in named
        }
        return plays.by(entrants, lambda result: mvme_output(result, about, people=by_people, note=note))

    return Plan(
        prepare=prepare,
        visits=options,
        doctors=minds,
        models=[options.judge, names_by, personas],
        director=options.director,
        roles={
            "doctor": minds,
            "patient": [options.patient],
            "examiner": [options.examiner],
            "director": [director],
            "judge": [options.judge, names_by],
        },
        cases=cases,
        in_person=not alone,
        people=people,
    )


def _lacks(case: Case) -> str:
    return "" if case.truth.diagnoses else "no diagnosis to grade by"


MVME = Evaluation(
    name="mvme",
    help="MVME: interns see patients, alone or as a team; a director grades their reports, and their "
    "diagnoses are compared as ICD-10 codes.",
    options=MvmeOptions,
    plan=plan,
    paper=MvmeSettings,
)
