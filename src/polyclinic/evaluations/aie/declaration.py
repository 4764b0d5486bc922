"""AIE: doctors question a patient in turns, then choose a diagnosis among options (aie-saps §4).

1. Every doctor sees every patient; the patient gives each of the doctor's turns a state.
2. After the dialogue the doctor answers the case's question from what it collected.
3. Beside it MCQE: the doctor reads all there is to know, without a dialogue, and answers the same question.
4. Ten metrics a dialogue, their means over the cases with errors and intervals, and every two doctors compared.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.cases.case import Case
from polyclinic.cases.check import unanswerable
from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.aie.correlation import Correlations, correlate, show_correlations
from polyclinic.evaluations.aie.distractors import (
    COUNTS,
    WRONG_OPTIONS,
    MadeOptions,
    with_made_questions,
    with_questions,
)
from polyclinic.evaluations.aie.evaluation import (
    LIMITS,
    AskedCase,
    DoctorResult,
    Means,
    ScoredVisit,
    cut_dialogue,
    doctor_result,
    score_visit,
)
from polyclinic.evaluations.aie.tracking import with_states
from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Play, Plays, Setup, Work, check_judge
from polyclinic.evaluations.measuring import output_of_visits, picked, show_compared
from polyclinic.evaluations.people import ViewByPeople, show_judgements, views_by_people
from polyclinic.evaluations.protocol import staging_of
from polyclinic.evaluations.samples import ItemSample, UnderTest, sample_of_case
from polyclinic.frames import Tabular
from polyclinic.judging.pairs import CRITERIA, Judgements, View, judge_pairs
from polyclinic.judging.verdicts import Known, PersonsVerdict
from polyclinic.language.language import Language
from polyclinic.metrics.conversation import (
    MCQE,
    TEN,
    MetricDifference,
    Wanted,
    check_measured,
    choose_metrics,
    compare,
    kind_of,
)
from polyclinic.metrics.dialogue import LeftOut
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker
from polyclinic.players.mind_names import model_of
from polyclinic.players.minds import Minds
from polyclinic.players.staging import OURS, Staging
from polyclinic.protocols.papers import AieSettings
from polyclinic.results.folder import ItemMeasure
from polyclinic.run.options import (
    POSITIVE,
    CaseOptions,
    Doctors,
    Metrics,
    ProtocolOption,
    SessionOption,
    Several,
    each_once,
)
from polyclinic.run.output import Output
from polyclinic.settings import setting
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import counted, crossed, show_problems
from polyclinic.visits.visit import Visit, see


class AieResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """All doctors, and every two of them on the cases that both have seen; what a judge and people say, if they do."""

    doctors: tuple[DoctorResult, ...]
    comparisons: tuple[MetricDifference, ...]
    judgements: Judgements | None = None
    people: dict[View, ViewByPeople] = {}
    correlations: Correlations | None = None


AiePlay = Play[AskedCase, Minds, Visit, ScoredVisit]


def aie(
    cases: Sequence[Case],
    *,
    max_turns: int | None = None,
    metrics: Wanted = TEN,
    judge: Model | None = None,
    groups: Mapping[str, str] | None = None,
    people: Sequence[PersonsVerdict] = (),
    limits: dict[Language, int] = LIMITS,
    staging: Staging = OURS,
    truncated: bool = False,
    seed: int = 0,
) -> Plays[AskedCase, Minds, Visit, ScoredVisit, AieResult]:
    """Returns the evaluation of cases with questions; its players are the minds of each doctor.

    A doctor speaks at most `max_turns` times; by default once less than the `limits` of a dialogue, as the opening
    counts. The judge compares every two doctors' dialogues on a case; correlations are within and between the doctors'
    groups. A `truncated` evaluation also asks for the diagnosis after every earlier turn of each dialogue (Figure 6d).
    If a patient tracks no states, they are asked afterwards, of its own model.

    Raises:
        BadInput: a case has no question.
    """
    without = [case.id for case in cases if case.question is None]
    if without:
        raise BadInput(f"{len(without)} cases have no question with options, such as {without[0]}")

    def turns(case: Case) -> int:
        return limits[case.presentation.language] - 1 if max_turns is None else max_turns

    async def play(asked: AskedCase, minds: Minds) -> Visit:
        case, one_step = asked
        how: dict[str, Any] = {"max_turns": turns(case), "in_one_step": one_step, "put_question": True}
        visit = await minds.desk.play(case.id, lambda: see(case, minds, staging=staging, **how))
        return visit if one_step else await with_states(case, visit, minds, staging=staging)

    async def score(asked: AskedCase, minds: Minds, visit: Visit) -> ScoredVisit:
        scored = await score_visit(asked, visit, metrics)
        if asked.one_step:
            return ScoredVisit(scored)
        most = turns(asked.case)
        return ScoredVisit(
            scored, await cut_dialogue(asked.case, visit, minds, staging=staging, max_turns=most, choices=truncated)
        )

    async def summarise(plays: Mapping[str, Sequence[AiePlay]]) -> AieResult:
        doctors = tuple(
            doctor_result(
                name, [(one.item, one.played, one.scored) for one in theirs], metrics=metrics.names, seed=seed
            )
            for name, theirs in plays.items()
        )
        here = {case.id for case in cases}
        said = [one for one in people if one.item[0] in here and {*one.item[1:]} <= plays.keys()]
        judgements = None
        if judge is not None:
            judgements = await judge_pairs({one.name: one.visits for one in doctors}, judge, cases=cases, seed=seed)
        return AieResult(
            doctors=doctors,
            comparisons=compare({one.name: one.summary for one in doctors}, seed=seed),
            judgements=judgements,
            people=views_by_people(said, judgements, seed=seed),
            correlations=correlate(doctors, judgements, groups=groups, people=said) if len(doctors) > 1 else None,
        )

    items = [AskedCase(case, one_step) for one_step in (False, True) for case in cases]
    return Plays(items=items, play=play, score=score, summarise=summarise)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AieOptions(CaseOptions, SessionOption, ProtocolOption):
    """The options of AIE."""

    doctor: Doctors
    metric: Metrics = None
    judge: Annotated[str | None, Parameter(metavar="MODEL")] = None
    """Model that compares the dialogues of every two doctors."""
    group: Annotated[list[str] | None, Several, Parameter(metavar="MIND=GROUP..."), setting("aie")] = None
    """The group of each doctor, for correlations within and between groups."""
    verdicts: Annotated[list[Path] | None, Several, Parameter(metavar="FILE...")] = None
    """People's verdicts on the forms 'pairs doctor' and 'pairs patient'."""
    distractors: Annotated[str | None, Parameter(metavar="MODEL")] = None
    """Model that writes wrong options for cases without options; by default the medical knowledge provides them."""
    max_turns: Annotated[int | None, POSITIVE] = None
    """Maximum number of the doctor's turns after the opening; by default 9 in Chinese and 14 in English."""
    truncated: Annotated[bool, Parameter(negative=())] = False
    """Also ask for a diagnosis after every turn (one extra call per turn)."""
    thoughts: Annotated[bool, Parameter(negative=()), setting("aie")] = False
    """Let a model's doctor note a private thought before each turn."""


def plan(options: AieOptions, setup: Setup[AieSettings]) -> Plan:
    """Reads the cases and checks the options against the protocol."""
    rules = setup.follow(options.protocol, patient=options.patient, judge=options.judge)
    rules.check_value("--max-turns", options.max_turns, rules.settings.turns)
    rules.check_switch("aie.thoughts", options.thoughts, "has doctors that say what they write", "§4.3")
    each_once("doctor", options.doctor)
    metrics, groups = choose_metrics(options.metric or ()), read_groups(options.group, options.doctor)
    check_judge(options.judge)
    if options.judge is not None and len(options.doctor) == 1:
        raise UserError("--judge compares doctors in pairs; name a second --doctor")
    read = setup.cases(options, options.doctor, needs=_lacks)
    cases = read[: options.limit]

    def judged() -> Known:
        """Returns what people can have judged: every two doctors on every case."""
        pairs = {(case.id, *sorted(two)): None for case in read for two in combinations(options.doctor, 2)}
        return {f"pairs {view}": pairs for view in CRITERIA}

    people = setup.verdicts(options.verdicts, judged)
    if options.distractors is not None and model_of(options.distractors) is None:
        raise UserError(f"--distractors {options.distractors!r} is not a model; name one, such as direct/NAME")
    without = [case.id for case in cases if case.question is None]
    if options.distractors is None and without and rules.of(rules.settings.distractors) == "model":
        raise UserError(
            f"--protocol {rules.given} has wrong options made by a model ({rules.settings.distractors.section}), and "
            f"{len(without)} cases have none, such as {without[0]}; name one: --distractors MODEL, or take "
            "--protocol ours"
        )

    async def prepare(opened: Opened) -> Work:
        made = None
        if options.distractors is None:
            asked = with_questions(read, opened.knowledge, seed=setup.seed)[: options.limit]
        else:
            maker = opened.session.model(options.distractors, Asker("distractors", "distractors"))
            made = await with_made_questions(cases, maker, opened.knowledge, seed=setup.seed)
            asked = list(made.cases)
        plays = aie(
            asked,
            max_turns=options.max_turns,
            metrics=metrics,
            judge=None if options.judge is None else opened.judge(options.judge),
            groups=groups,
            people=people,
            limits=rules.of(rules.settings.turns),
            staging=staging_of(rules, thinks=options.thoughts),
            truncated=options.truncated,
            seed=setup.seed,
        )
        return plays.by(opened.minds, lambda result: _output(result, options, made, seed=setup.seed))

    return Plan(
        prepare=prepare,
        visits=options,
        doctors=options.doctor,
        judges=[options.judge],
        models=[options.distractors],
        cases=cases,
        people=people,
        check=lambda result: check_measured(metrics, (one.summary.scores for one in result.doctors)),
    )


def _lacks(case: Case) -> str:
    if case.question is None and not case.truth.diagnoses:
        return "no question, and no diagnosis to make one of"
    return unanswerable(case)


def read_groups(given: Sequence[str] | None, doctors: Sequence[str]) -> dict[str, str] | None:
    """Reads `MIND=GROUP`, once for each doctor."""
    groups = {}
    for text in given or ():
        mind, sign, name = text.rpartition("=")
        if not sign or not name or mind not in doctors:
            raise UserError(f"aie.group {text!r}; needs MIND=GROUP with a --doctor's mind: {', '.join(doctors)}")
        groups[mind] = name
    if groups and (missing := [mind for mind in doctors if mind not in groups]):
        raise UserError(f"aie.group is missing for {', '.join(missing)}; give one for each doctor, or none")
    return groups or None


_TURNS_SHOWN = 4  # doctors whose turns are shown; all are in --json
_SOURCES_SHOWN = 12  # generated cases have a source each, and a table of them says nothing


def _output(result: AieResult, options: AieOptions, made: MadeOptions | None, *, seed: int) -> Output:
    """Returns the output; `made` is what came of options that a model made, None if none did."""
    metrics = result.doctors[0].summary.metrics
    doctors = {one.name: one for one in result.doctors}

    def show(screen: Console) -> None:
        show_evaluation(screen, result)
        if made is not None:
            alone = f"; from the options alone it took the right one in {made.alone} of {made.asked}"
            screen.print(
                f"options made by a model for {counted(made.made, 'case')}: {counted(made.dropped, 'name')} could not "
                f"be used, {counted(made.filled, 'option')} filled in from the knowledge{alone if made.asked else ''} "
                f"(by chance one in {WRONG_OPTIONS + 1})"
            )
        screen.print(f"protocol: {options.protocol}; patient: {options.patient}; seed: {seed}")

    # `written` is a format, and the name of a file is no part of it.
    named = shlex.quote(options.cases).replace("{", "{{").replace("}", "}}")
    return output_of_visits(
        {name: one.visits for name, one in doctors.items()},
        lambda name, visit: {"values": doctors[name].values.get(visit.case, {}), "end": str(visit.end)},
        seed=seed,
        document={
            "protocol": options.protocol,
            "patient": options.patient,
            "doctors": [_document(one) for one in result.doctors],
            "options_made": None if made is None else picked(made, *COUNTS),
            "comparisons": result.comparisons,
            "judgements": result.judgements,
            **({"people": result.people} if result.people else {}),
            "correlations": result.correlations,
        },
        show=show,
        written=f"Traces and summary: {{0}}. Score them again with: polyclinic score aie {{0}} --cases {named}",
        measures=[
            ItemMeasure(name=name, percent=kind_of(name).percent, share=kind_of(name).share)
            for name in (*metrics, MCQE)
        ],
    )


def _document(one: DoctorResult) -> dict[str, Any]:
    return {
        **picked(one, "name", "mcqe", "mcqe_failed", "by_length", "truncated", "by_turn", "by_source"),
        **picked(one.summary, "metrics", "second", "unreadable", "failed", "left_out"),
        "passages": picked(one, "recalled", "near"),
        "cases": [{"id": score.id, **score.values} for score in one.summary.scores],
    }


def show_evaluation(screen: Console, result: AieResult) -> None:
    """Prints the metrics side by side, the means by length, turn and source, and the comparisons."""
    doctors = {one.name: one for one in result.doctors}
    rows: dict[str, dict[str, object]] = {
        metric: {name: one.summary.metrics[metric] for name, one in doctors.items()}
        for metric in result.doctors[0].summary.metrics
    }
    rows[MCQE] = {name: one.mcqe for name, one in doctors.items()}
    rows["dialogues"] = {name: len(one.summary.scores) for name, one in doctors.items()}
    for label, path in _COUNTS.items():
        counts = {name: attrgetter(path)(one) for name, one in doctors.items()}
        if any(counts.values()) or path not in ("recalled", "near"):
            rows[label] = counts
    screen.print(crossed("AIE, mean ± se", rows, corner="metric"), "")
    for one in result.doctors:
        show_left_out(screen, one.summary.left_out)
    title = "if the dialogue had ended with this turn: DIAGNOSIS, if it was asked for, and COVERAGE"
    _show_means(screen, title, {name: one.truncated for name, one in doctors.items()})
    for one in result.doctors[:_TURNS_SHOWN]:
        title = plain(f"{one.name}: what its turns were to the patient, in percent")
        screen.print(title, style="italic")
        screen.print(crossed(None, one.by_turn, corner="turn", form=".0f", missing="·", called=title), "")
    by_source = {name: one.by_source for name, one in doctors.items()}
    if 1 < len({source for means in by_source.values() for source in means}) <= _SOURCES_SHOWN:
        _show_means(screen, f"DIAGNOSIS and {MCQE} by source", by_source)
    if len(doctors) > 1:
        show_comparisons(screen, result.comparisons)
    show_judgements(screen, result.judgements, result.people)
    if result.correlations is not None:
        show_correlations(screen, result.correlations)


_COUNTS = {
    "failed, outside the means": "summary.failed",
    "no usable choice, counted as wrong": "summary.unreadable",
    "MCQE failed, outside its mean": "mcqe_failed",
    "passages that the patient's tracker gave": "recalled",
    "in other words, matched to the nearest": "near",
}


def _show_means(screen: Console, title: str, means: Mapping[str, Mapping[Any, Means]]) -> None:
    """Prints the means of groups, by doctor."""
    rows: dict[Any, dict[str, object]] = {}
    for name, groups in means.items():
        for group, found in groups.items():
            row = rows.setdefault(group, {})
            row |= {f"{name} {metric}": one for metric, one in found.items() if one.n}
            row[f"{name} n"] = [one.n for one in found.values()][-1]
    screen.print(title, style="italic")
    screen.print(crossed(None, rows, called=title), "")


def show_left_out(screen: Console, left_out: Sequence[LeftOut]) -> None:
    """Prints what is not scored, and why."""
    where = ((one, f"no {', '.join(one.metrics)}" if one.metrics else "left out") for one in left_out)
    show_problems(screen, ((f"{lacks}: {one.problem}", str(one.id)) for one, lacks in where))


def show_comparisons(screen: Console, compared: Sequence[MetricDifference]) -> None:
    """Prints the paired differences of every two doctors."""
    if not compared:
        screen.print("No case is in two of the files: nothing can be compared in pairs.")
        return
    columns = {"": "first", "less": "second", "metric": "measure"}
    test = "sign-flip test, for DIAGNOSIS McNemar's exact test"
    show_compared(screen, "On the cases of both", compared, columns, test=test)
    screen.print()


def _sample(asked: AskedCase) -> ItemSample:
    return sample_of_case(asked.case, asked.case.truth.answers)


AIE = Evaluation(
    name="aie",
    options=AieOptions,
    plan=plan,
    tested=UnderTest(option="doctor", sample=_sample, defaults={"cases": "shipped"}),
    paper=AieSettings,
)
