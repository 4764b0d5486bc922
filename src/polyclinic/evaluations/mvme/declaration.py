"""MVME as an evaluation: its options, what is read before a model is asked, and the plays (ai-hospital §3-6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from polyclinic.events import Order
from polyclinic.judging.director import ModelJudge
from polyclinic.judging.director_by_rules import RulesJudge
from polyclinic.judging.failure_reasons import FailureReason, read_words
from polyclinic.judging.people import MeansByPeople, figures, people_words
from polyclinic.judging.verdicts import Known
from polyclinic.metrics.icd.linking import linkers_for
from polyclinic.players.mind_names import model_of
from polyclinic.players.minds import Minds
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import MvmeSettings
from polyclinic.run import options
from polyclinic.run import options as run_options
from polyclinic.settings import setting
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.visit import Staging

# No annotations as text: `MvmeOptions` inherits these.


_TEAM = Parameter(metavar="[NAME=]MIND,MIND...", consume_multiple=1)


@Parameter(name="*", group=options.TEAM_GROUP)
@dataclass(frozen=True, kw_only=True)
class TeamsOptions:
    """Further entrants of the same table."""

    team: Annotated[list[str] | None, _TEAM] = None
    """A team of doctors, with a name for the table: "2 doctors=A,B"."""
    team_without_dr: Annotated[list[str] | None, _TEAM, setting("mvme")] = None
    """The same without dispute resolution, the paper's ablation."""
    in_one_step: Annotated[list[str] | None, options.MINDS, setting("mvme")] = None
    """A doctor who reads the whole record beside the others, the paper's upper bound; several may be named."""


class NamedEntrant(NamedTuple):
    """An entrant by the names of its minds, before anything is opened."""

    name: str
    minds: tuple[str, ...]
    one_step: bool = False
    disputes: bool = True

    def playing(self, minds: Mapping[str, Minds]) -> Entrant:
        """Returns it with those who play."""
        return Entrant(self.name, tuple(minds[mind] for mind in self.minds), self.one_step, self.disputes)


def entrants_of(
    doctors: Sequence[str], together: options.TeamOptions, teams: TeamsOptions, *, one_step: bool
) -> list[NamedEntrant]:
    """Returns everybody who takes part, in the order of the paper's table: alone, as a team, in one step.

    Raises:
        UserError: there is nobody, a team has one doctor, or two entrants have one name.
    """
    options.each_once("doctor", list(doctors))
    found = [NamedEntrant(name, (name,), one_step) for name in doctors]
    disputes = not together.no_dispute_resolution
    if members := together.named:
        if len(members) == 1:
            raise UserError(f"--doctors needs two or more; {members[0]!r} alone is --doctor {members[0]}")
        found.append(NamedEntrant(" + ".join(members), tuple(members), one_step, disputes))
    found += [_team("--team", text, one_step, True) for text in teams.team or ()]
    found += [_team("mvme.team-without-dr", text, one_step, False) for text in teams.team_without_dr or ()]
    taken = {one.name for one in found}
    for name in teams.in_one_step or ():
        if one_step:
            raise UserError("with --one-step everybody reads the whole record; leave out mvme.in-one-step")
        found.append(NamedEntrant(f"{name}, one step" if name in taken else name, (name,), one_step=True))
    if not found:
        raise UserError(
            "nobody to evaluate; give --doctor MIND, or --doctors MIND MIND; --team and mvme.in-one-step name more"
        )
    for name in (one.name for one in found):
        if [one.name for one in found].count(name) > 1:
            raise UserError(
                f"two entrants are named {name!r} (--doctors makes a team, too); leave one out, or name a team: "
                "--team NAME=MIND,MIND"
            )
    return found


def _team(option: str, text: str, one_step: bool, disputes: bool) -> NamedEntrant:
    name, given, listed = text.partition("=")
    members = tuple(one.strip() for one in (listed if given else text).split(",") if one.strip())
    if len(members) < 2:
        raise UserError(f"{option} {text!r} names {len(members)} doctors; a team has two or more: [NAME=]MIND,MIND")
    own = " + ".join(members) + ("" if disputes else ", without DR")
    return NamedEntrant(name.strip() if given and name.strip() else own, members, one_step, disputes)


_NO_TABLE = "No ICD-10 for the Chinese cases: name a table of Chinese titles with mvme.table."


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MvmeOptions(
    run_options.CaseOptions,
    TeamsOptions,
    run_options.TeamOptions,
    run_options.SessionOption,
    run_options.ProtocolOption,
    run_options.BatchOption,
):
    """The options of MVME."""

    doctor: Annotated[list[str] | None, run_options.MINDS] = None
    """A doctor who works alone."""
    one_step: bool = False
    """Show doctors the whole record at once: the paper's upper bound."""
    judge: Annotated[str, run_options.MIND] = "rules"
    """The director who grades: rules, or a model, preferably of another family."""
    table: Annotated[Path | None, run_options.FILE, setting("mvme")] = None
    """Table of ICD-10 for Chinese cases (.xls, .csv, .tsv: code, title)."""
    reasons: Annotated[Path | None, run_options.FILE, setting("mvme")] = None
    """People's reasons for missed diagnoses, as JSON lines; they override the judge's."""
    verdicts: Annotated[list[Path] | None, run_options.FILES] = None
    """People's verdicts of the forms 'grades' and 'failures'."""
    names_by: Annotated[str | None, Parameter(metavar="MODEL"), setting("mvme")] = None
    """A model that reads the diseases out of the diagnoses before they are linked."""
    personas: Annotated[str | None, run_options.MIND, setting("mvme")] = None
    """The maker of personas for patients without one: templates, or a model."""
    max_turns: run_options.MaxTurns = MAX_TURNS
    """Each doctor's turns."""


def plan(options: MvmeOptions, setup: Setup[MvmeSettings]) -> Plan:
    """Reads the cases and who takes part, and checks the options against the protocol."""
    named = entrants_of(options.doctor or [], options, options, one_step=options.one_step)
    if options.judge != "rules" and model_of(options.judge) is None:
        raise UserError(
            f"no judge {options.judge!r}{meant(options.judge, ['rules'])}; allowed: rules, or a model: local, "
            "direct/NAME, openai/NAME"
        )
    director = options.director if any(len(one.minds) > 1 for one in named) else None
    rules = setup.follow(
        options.protocol, patient=options.patient, examiner=options.examiner, director=director, judge=options.judge
    )
    _check_options(rules, options)
    minds = list(dict.fromkeys(mind for one in named for mind in one.minds))
    cases = setup.cases(options, minds, needs=_lacks)[: options.limit]
    people = setup.verdicts(options.verdicts, lambda: _judged(cases, named))
    words = {} if options.reasons is None else read_words(options.reasons)
    words |= people_words(people, "failures", FailureReason)
    languages = {case.presentation.language for case in cases}
    linkers = linkers_for(languages, options.table, nearest=rules.of(rules.settings.links) == "ten nearest titles")
    names_by = options.names_by
    if rules.of(rules.settings.names) == "model" and linkers:
        names_by = names_by or options.judge
    check_judge(names_by, option="--names-by")
    personas = options.personas
    if rules.of(rules.settings.personas) == "model":
        personas = personas or options.patient
    order, missing = Order(options.order or rules.of(rules.settings.order)), rules.of(rules.settings.missing)
    alone = all(one.one_step for one in named)
    temperature = setup.run.config.models.temperature

    async def prepare(opened: Opened) -> Work:
        seen = cases
        if personas is not None and not alone:
            seen = await with_personas(cases, personas, opened.session, seed=setup.seed, temperature=temperature)
        by_model = options.judge != "rules"
        reason_judge = opened.judge(options.judge) if by_model else None
        plays = mvme(
            seen,
            judge=ModelJudge(opened.judge(options.judge, as_it_goes=True), temperature=temperature)
            if by_model
            else RulesJudge(opened.knowledge),
            knowledge=opened.knowledge,
            linkers=linkers,
            reason_judge=reason_judge,
            words=words,
            max_turns=options.max_turns,
            order=order,
            max_rounds=options.max_rounds,
            missing=missing,
            missing_grade=rules.of(rules.settings.missing_grade),
            names_by=None if names_by is None else opened.judge(names_by),
            staging=staging_of(rules),
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
            "missing": missing,
            "max_turns": options.max_turns,
            "personas": personas,
            "links": rules.of(rules.settings.links),
            "protocol": options.protocol,
            "cases": len(cases),
            "seed": setup.seed,
            "patient": options.patient,
        }
        grades = figures(people, "grades", seed=setup.seed)
        by_people = {name: one for name, one in grades.items() if isinstance(one, MeansByPeople)}
        note = _NO_TABLE if languages - linkers.keys() else ""
        return plays.by(
            {one.name: one.playing(opened.minds) for one in named},
            lambda result: mvme_output(result, about, people=by_people, note=note),
        )

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


def _check_options(rules: FollowedProtocol[MvmeSettings], options: MvmeOptions) -> None:
    rules.check_value("--max-turns", options.max_turns, rules.settings.turns)
    rules.check_value("team.max-rounds", options.max_rounds, rules.settings.rounds)
    rules.check_value("--order", options.order, rules.settings.order)
    if rules.settings.personas.paper == "model":
        section = rules.settings.personas.section
        rules.check_switch(
            "mvme.personas templates", options.personas == TEMPLATES, "has personas that a model makes", section
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


def _judged(cases: Sequence[Case], named: Sequence[NamedEntrant]) -> Known:
    """Returns what people can have judged: every entrant on every case."""
    items = {(case.id, one.name): None for case in cases for one in named}
    return {"grades": items, "failures": items}


def _lacks(case: Case) -> str:
    return "" if case.truth.diagnoses else "no diagnosis to grade by"


MVME = Evaluation(
    name="mvme",
    help="MVME: interns see patients, alone or as a team; a director grades their reports, ICD-10 checks the "
    "diagnoses.",
    options=MvmeOptions,
    plan=plan,
    paper=MvmeSettings,
)
