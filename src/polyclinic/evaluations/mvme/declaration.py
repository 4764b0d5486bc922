"""MVME: interns and teams of them see patients, and the medical director grades their reports (ai-hospital §3-6).

1. Every entrant (a doctor, or a team that settles its disputes) sees every patient, or reads every whole record.
2. The director grades each report in five aspects, 1 to 4 (Table 2).
3. The diagnoses are linked to ICD-10 and compared with the reference's as sets (Table 3).
4. Also by department, why diagnoses graded 1 went wrong (Table 5), rounds to consensus (Figure 4), and how many
   questions and examinations a visit took (#QA, #Test).
"""

# No annotations as text: subclasses of `MvmeOptions` inherit these.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.cases.case import Case
from polyclinic.errors import UserError
from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Play, Plays, Setup, Work, check_judge
from polyclinic.evaluations.measuring import output_of_visits, picked, show_compared
from polyclinic.evaluations.mvme.evaluation import (
    Consultations,
    Entrant,
    EntrantResult,
    TablePart,
    grade,
    linked_by,
    pair_of,
    sum_up,
)
from polyclinic.evaluations.personas import TEMPLATES, with_personas
from polyclinic.evaluations.protocol import staging_of
from polyclinic.evaluations.samples import UnderTest, sample_of_case
from polyclinic.events import Order
from polyclinic.frames import Tabular
from polyclinic.judging.director import Judge, ModelJudge
from polyclinic.judging.director_by_rules import RulesJudge
from polyclinic.judging.disease_names import extract_diseases
from polyclinic.judging.failure_reasons import FailureReason, find_reasons
from polyclinic.judging.people import PeopleFigures, figures, people_words
from polyclinic.judging.sorting import Words
from polyclinic.judging.verdicts import Known
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language
from polyclinic.metrics.grades import Aspect, Judgement
from polyclinic.metrics.icd.linking import Linker, linkers_for
from polyclinic.metrics.icd.scores import texts_of
from polyclinic.metrics.recorded_reports import AspectMean, MissingGrade, Ties, brackets, ties
from polyclinic.metrics.recorded_reports import summarise as summarise_grades
from polyclinic.models.model import Model
from polyclinic.models.tally import CallTotal
from polyclinic.players.minds import Minds
from polyclinic.players.staging import OURS, Staging
from polyclinic.protocols.papers import MvmeSettings
from polyclinic.results.folder import ItemMeasure
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
from polyclinic.run.output import Output
from polyclinic.settings import setting
from polyclinic.statistics.comparison import Compared, compare_values, of_means
from polyclinic.terminal.figures import NOTHING, ShownFigure, number, with_ends
from polyclinic.terminal.screen import note, plain
from polyclinic.terminal.tables import Column, cell, crossed, table, table_of
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.dispute_resolution import MAX_ROUNDS
from polyclinic.visits.team import TeamVisit
from polyclinic.visits.visit import Visit


class Versus(Compared, frozen=True, kw_only=True, rename={"measure": "aspect"}):
    """The first entrant's grades less the second's in one aspect, on the cases on which both have a grade."""

    measure: str


class MvmeResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """All entrants, every two of them compared, and what the judge cannot tell apart."""

    judge: str
    judge_version: int
    judge_prompts: str  # the hash of its prompts, or of the numbers that its rules were fitted to
    entrants: tuple[EntrantResult, ...]
    comparisons: tuple[Versus, ...]
    ties: tuple[Ties, ...]
    names_by: str = ""  # the model that read the diseases out of the diagnoses, "" if they are as typed
    names_by_rules: dict[str, int] = {}  # how often rules had to, by failure


MvmePlay = Play[Case, Entrant[Minds], Visit | TeamVisit, Judgement | None]


def mvme(
    cases: Sequence[Case],
    *,
    judge: Judge,
    knowledge: Knowledge,
    linkers: Mapping[Language, Linker] = MappingProxyType({}),
    reason_judge: Model | None = None,
    words: Words[FailureReason] = MappingProxyType({}),
    max_turns: int = MAX_TURNS,
    order: Order = Order.PARALLEL,
    max_rounds: int = MAX_ROUNDS,
    missing_grade: MissingGrade = "left out",
    names_by: Model | None = None,
    staging: Staging = OURS,
    seed: int = 0,
) -> Plays[Case, Entrant[Minds], Visit | TeamVisit, Judgement | None, MvmeResult]:
    """Returns the evaluation; its players are the entrants, the reference the cases' diagnoses, rationale, treatment.

    People say why a diagnosis graded 1 went wrong (`words`), else `reason_judge`, else rules. `linkers` link names to
    ICD-10, which the model `names_by`, if given, reads out of the diagnoses first. `missing_grade` says what becomes of
    an aspect without a grade.
    """
    consultations = Consultations(max_turns=max_turns, order=order, max_rounds=max_rounds, staging=staging)

    async def score(case: Case, entrant: Entrant[Minds], visit: Visit | TeamVisit) -> Judgement | None:
        judged = await grade(case, visit, judge, one_step=entrant.one_step)
        return None if judged is None else msgspec.structs.replace(judged, doctor=entrant.name)

    async def summarise(plays: Mapping[str, Sequence[MvmePlay]]) -> MvmeResult:
        read = None
        if names_by is not None and linkers:
            named = [pair_of(play.item, play.played) for theirs in plays.values() for play in theirs]
            read = await extract_diseases(texts_of(named), names_by)
        entrants = []
        for name, theirs in plays.items():
            entrant = theirs[0].player if theirs else Entrant(name, ())
            one = await sum_up(
                entrant,
                [(play.item, play.played, play.scored) for play in theirs],
                grades=partial(summarise_grades, missing_grade=missing_grade, seed=seed),
                codes=partial(linked_by, linkers, names=None if read is None else read.names, seed=seed),
                reasons=partial(
                    find_reasons,
                    judge=reason_judge,
                    knowledge=knowledge,
                    words={key: word for key, word in words.items() if key[1] == name},
                ),
                calls={play.item.id: consultations.tallies[play.item.id, entrant].total() for play in theirs},
                seed=seed,
            )
            entrants.append(one)
        pairs = combinations((one.name for one in entrants), 2)
        values = {one.name: one.values for one in entrants}
        compared = compare_values(Versus, values, list(Aspect), pairs, lambda _: of_means(seed))
        return MvmeResult(
            judge=judge.name,
            judge_version=judge.version,
            judge_prompts=judge.prompts,
            entrants=tuple(entrants),
            comparisons=tuple(one for one in compared if one.difference.n),
            ties=tuple(ties([judgement for one in entrants for judgement in one.judgements])),
            names_by="" if names_by is None or read is None else names_by.name,
            names_by_rules={} if read is None else read.by_rules,
        )

    return Plays(items=cases, play=consultations.see, score=score, summarise=summarise)


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
    verdicts: Annotated[list[Path] | None, FILES] = None
    """People's verdicts of the forms 'grades' and 'failures'; their reasons for misses override the judge's."""
    names_by: Annotated[str | None, Parameter(metavar="MODEL"), setting("mvme")] = None
    """A model that reads the diseases out of the diagnoses before they are linked."""
    personas: Annotated[str | None, MIND, setting("mvme")] = None
    """The maker of personas for patients without one: templates, or a model."""
    max_turns: MaxTurns = MAX_TURNS
    """Each doctor's turns."""


def entrants_of(options: MvmeOptions) -> list[Entrant[str]]:
    """Returns everybody who takes part, in the order of the paper's table: alone, as a team, in one step.

    Raises:
        UserError: there is nobody, a team has one doctor, or two entrants have one name.
    """
    one_step = options.one_step
    each_once("doctor", options.doctor or [])
    found = [Entrant(name, (name,), one_step) for name in options.doctor or ()]
    teams = [("--doctors", "", ",".join(options.named), not options.no_dispute_resolution)] if options.named else []
    for option, given in (("--team", options.team), ("mvme.team-without-dr", options.team_without_dr)):
        for text in given or ():
            name, sign, listed = text.partition("=")
            teams.append((option, name.strip() if sign else "", listed if sign else text, option == "--team"))
    for option, name, listed, disputes in teams:
        minds = tuple(one.strip() for one in listed.split(",") if one.strip())
        if len(minds) < 2:
            raise UserError(f"{option} {listed!r} names {len(minds)} doctors; a team has two or more: [NAME=]MIND,MIND")
        own = " + ".join(minds) + (", without DR" if option == "mvme.team-without-dr" else "")
        found.append(Entrant(name or own, minds, one_step, disputes))
    taken = {one.name for one in found}
    if one_step and options.in_one_step:
        raise UserError("with mvme.one-step everybody reads the whole record; leave out mvme.in-one-step")
    for name in options.in_one_step or ():
        found.append(Entrant(f"{name}, one step" if name in taken else name, (name,), one_step=True))
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
    check_judge(options.judge, also="rules")
    director = options.director if any(len(one.minds) > 1 for one in named) else None
    rules = setup.follow(
        options.protocol, patient=options.patient, examiner=options.examiner, director=director, judge=options.judge
    )
    settings = rules.settings
    rules.check_value("--max-turns", options.max_turns, settings.turns)
    rules.check_value("team.max-rounds", options.max_rounds, settings.rounds)
    rules.check_value("--order", options.order, settings.order)
    if settings.personas.paper == "model":
        told, section = "has personas that a model makes", settings.personas.section
        rules.check_switch("mvme.personas templates", options.personas == TEMPLATES, told, section)
    minds = list(dict.fromkeys(mind for one in named for mind in one.minds))
    cases = setup.cases(options, minds, needs=_lacks)[: options.limit]

    def judged() -> Known:
        """Returns what people can have judged: every entrant on every case."""
        items = {(case.id, one.name): None for case in cases for one in named}
        return {"grades": items, "failures": items}

    people = setup.verdicts(options.verdicts, judged, form="failures")
    words = people_words(people, "failures", FailureReason)
    languages = {case.presentation.language for case in cases}
    linkers = linkers_for(languages, options.table, nearest=rules.of(settings.links) == "ten nearest titles")
    if languages - linkers.keys():
        note("no ICD-10 for the Chinese cases; mvme.table names a table of Chinese titles")
    names_by = options.names_by or (options.judge if rules.of(settings.names) == "model" and linkers else None)
    check_judge(names_by, option="--names-by")
    personas = options.personas or (options.patient if rules.of(settings.personas) == "model" else None)
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
            **picked(options, "one_step", "judge", "max_rounds", "max_turns", "protocol", "patient"),
            "alone": [one.name for one in named if len(one.minds) == 1 and one.one_step == options.one_step],
            "team": options.named,
            "teams": {one.name: one.minds for one in named if len(one.minds) > 1},
            "in_one_step": options.in_one_step or [],
            "order": order,
            "disputes": not options.no_dispute_resolution,
            "missing": staging.missing,
            "personas": personas,
            "links": rules.of(settings.links),
            "cases": len(cases),
            "seed": setup.seed,
        }
        by_people = figures(people, "grades", seed=setup.seed)
        entrants = {
            one.name: Entrant(one.name, tuple(opened.minds[mind] for mind in one.minds), one.one_step, one.disputes)
            for one in named
        }
        return plays.by(entrants, lambda result: _output(result, about, by_people))

    return Plan(
        prepare=prepare,
        visits=options,
        doctors=minds,
        judges=[options.judge, names_by],
        models=[personas],
        director=options.director,
        cases=cases,
        in_person=not alone,
        people=people,
    )


def _lacks(case: Case) -> str:
    return "" if case.truth.diagnoses else "no diagnosis to grade by"


MEASURES = [ItemMeasure(name=str(aspect), percent=False, share=False) for aspect in (Aspect.DIAGNOSIS, *Aspect)]


def _output(result: MvmeResult, about: Mapping[str, Any], people: Mapping[str, PeopleFigures]) -> Output:
    """Returns the output, with how the evaluation was held and people's grades."""

    def show(screen: Console) -> None:
        show_mvme(screen, result, people)
        screen.print("; ".join(f"{name}: {about[name]}" for name in ("protocol", "cases", "patient", "seed")))

    names = ("judge", "judge_version", "judge_prompts", "names_by", "names_by_rules", "comparisons", "ties")
    document = {**about, **picked(result, *names)}
    document["doctors"] = [_document(one) for one in result.entrants]
    entrants = {one.name: one for one in result.entrants}
    return output_of_visits(
        {name: one.visits for name, one in entrants.items()},
        lambda name, visit: {
            "values": entrants[name].values.get(visit.case, {}),
            **msgspec.structs.asdict(entrants[name].calls.get(visit.case, CallTotal())),
        },
        seed=about["seed"],
        document=document | ({"people": people} if people else {}),
        show=show,
        files={
            "judgements.jsonl": [judged for one in result.entrants for judged in one.judgements],
            "reasons.jsonl": [reason for one in result.entrants for reason in one.reasons.reasons],
        },
        written="Traces, judgements and summary: {}",
        failed=sum(sum(one.failed.values()) for one in result.entrants),
        measures=MEASURES,
    )


def _document(one: EntrantResult) -> dict[str, Any]:
    names = ("name", "setting", "qa", "tests", "told_as_normal", "rounds", "departments", "no_report", "failed")
    return {
        **picked(one, *names),
        **picked(one.verdicts, "metrics", "grades", "length"),
        "brackets": brackets(one.verdicts.metrics),
        "judge_failed": one.verdicts.failed,
        "icd": {
            language: {"metrics": icd.metrics, "per_case": icd.per_case, "ties": icd.tied, "n": len(icd.cases)}
            for language, icd in one.icd.items()
        },
        "reasons": picked(one.reasons, "counts", "sources"),
        "cases": [{"id": judged.case, "grades": judged.grades} for judged in one.judgements],
    }


def show_mvme(screen: Console, result: MvmeResult, people: Mapping[str, PeopleFigures] = MappingProxyType({})) -> None:
    """Prints the tables of the paper, and what its readers would ask next."""
    _show_grades(screen, result, people)
    _show_icd(screen, result)
    talked = [one for one in result.entrants if one.setting is not TablePart.ONE_STEP and one.qa.mean is not None]
    if talked:
        screen.print(table_of("What a visit took, mean ± se (of a team, all its doctors together)", talked, _EFFORT))
        told = "told as normal: in all, examinations that are not recorded and that the examiner called normal."
        screen.print(told, "", style="dim")
    _show_departments(screen, result.entrants)
    if any(one.reasons.reasons for one in result.entrants):
        reasons = {
            one.name: {
                **one.reasons.counts,
                "unreadable": sum(one.reasons.unreadable.values()),
                "failed": sum(one.reasons.failed.values()),
                "said by": ", ".join(one.reasons.sources),
            }
            for one in result.entrants
        }
        screen.print(crossed("Why diagnoses graded 1 went wrong (the paper's Table 5)", reasons), "")
    _show_rounds(screen, result.entrants)
    tied = {(one.first, one.second, one.aspect): number(one.percent, ".0f", " %") for one in result.ties}
    columns: dict[str, Column] = {
        "": "first",
        "less": "second",
        "aspect": "measure",
        "same grade": lambda one: tied.get((one.first, one.second, one.measure)),
    }
    show_compared(screen, "On the cases of both", result.comparisons, columns)


_EFFORT: dict[str, Column] = {
    "": "name",
    "#QA": "qa",
    "#Test": "tests",
    "told as normal": "told_as_normal",
    "n": "qa.n",
}


def _grade(graded: AspectMean) -> str | None:
    """Returns a mean with the bracket that the paper prints, half the bootstrap interval, and its standard error."""
    if graded.mean is None:
        return None
    bracket = "" if graded.bracket is None else f" ({graded.bracket:.3f})"
    error = "" if graded.stderr is None else f" ± {graded.stderr:.3f}"
    parts = {"": graded.mean, "half the interval": graded.bracket, "stderr": graded.stderr}
    return ShownFigure(f"{graded.mean:.3f}{bracket}{error}", parts)


def _show_grades(screen: Console, result: MvmeResult, people: Mapping[str, PeopleFigures]) -> None:
    judge = f"{result.judge}, version {result.judge_version}"
    title = f"Graded by {judge}: mean from 1 to 4 (half the 95 % interval, as the paper's Table 2) ± se"
    shown = table(title, ("", "part", *Aspect, "n", "no report"), left=2)
    for one in result.entrants:
        graded = one.verdicts.metrics
        n = max(grades.n + grades.unreadable for grades in graded.values())
        shown.add_row(one.name, one.setting, *map(_grade, graded.values()), n, one.no_report)
        if (said := people.get(one.name)) is not None:
            means = [said.means[aspect] for aspect in Aspect]
            shown.add_row("  people", "", *(cell(mean, ".3f") for mean in means), max(mean.n for mean in means), "")
    screen.print(shown)
    for one in result.entrants:
        parts = [f"{g.unreadable} {aspect} unreadable" for aspect, g in one.verdicts.metrics.items() if g.unreadable]
        parts += [f"judge: {n} {error}" for error, n in one.verdicts.failed.items()]
        parts += [f"{n} visits failed ({cause})" for cause, n in one.failed.items()]
        if parts:
            screen.print(plain(f"  {one.name}: {', '.join(parts)}; outside the means"), style="yellow")
    screen.print("no report: the doctor's answer could not be used; graded 1, and counted.", "", style="dim")


def _show_icd(screen: Console, result: MvmeResult) -> None:
    metrics = {"#": "number", "R": "recall", "P": "precision", "F1": "f1"}
    metrics |= {f"{name} category": f"category_{metric}" for name, metric in metrics.items() if name != "#"}
    shown = table("Diagnoses as ICD-10 codes, in percent ± se (the paper's Table 3)", ("", *metrics, "n"))
    for one in result.entrants:
        for language, icd in one.icd.items():
            told = one.name + (f" ({language})" if len(one.icd) > 1 else "")
            cells = (cell(icd.metrics[metric], ".1f") for metric in metrics.values())
            shown.add_row(told, *cells, len(icd.cases))
        if not one.icd:
            shown.add_row(one.name, *(None for _ in metrics), 0)
    screen.print(shown)
    read = f", read out of the diagnoses by {result.names_by}" if result.names_by else ""
    lost = "; ".join(f"{n} times by rules ({error})" for error, n in result.names_by_rules.items())
    told = f"#: disease names a report that names any{read}{f', {lost}' if lost else ''}."
    screen.print(plain(told), "", style="dim")


def _show_departments(screen: Console, entrants: Sequence[EntrantResult]) -> None:
    names = list(dict.fromkeys(name for one in entrants for name in one.departments))
    if len(names) < 2:
        return
    shown = table("By department", ("", "", "n", *Aspect, "F1"), left=2)
    for name, one in ((name, one) for name in names for one in entrants if name in one.departments):
        department = one.departments[name]
        f1 = number(department.icd_f1.mean if department.icd_f1 is not None else None, ".1f")
        shown.add_row(name, one.name, department.n, *map(_grade, department.metrics.values()), f1)
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
        shown.add_row(name, rounds.discussions, *cells, rounds.without, rounds.kept)
    screen.print(shown, "")


MVME = Evaluation(
    name="mvme",
    options=MvmeOptions,
    plan=plan,
    tested=UnderTest(option="doctor", sample=sample_of_case, defaults={"cases": "shipped"}),
    paper=MvmeSettings,
)
