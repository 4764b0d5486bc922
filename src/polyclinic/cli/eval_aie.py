"""`polyclinic eval aie`: doctors question patients in turns, then choose a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.benchmarks.aie.distractors import with_questions
from polyclinic.benchmarks.aie.evaluation import aie as aie_benchmark
from polyclinic.benchmarks.aie.figures import figures as drawn
from polyclinic.benchmarks.aie.made_distractors import MadeOptions, with_made_questions
from polyclinic.benchmarks.aie.tables import aie_output
from polyclinic.cases.case import Case
from polyclinic.cases.check import unanswerable
from polyclinic.cli.evaluation import cases_of, finish, hold, judge_of, open_players
from polyclinic.cli.following import Protocol, WhoPlays, followed, held_by
from polyclinic.cli.options import (
    POSITIVE,
    RUN,
    CaseOptions,
    Doctors,
    Metrics,
    RunOptions,
    Session,
    Several,
    each_once,
)
from polyclinic.cli.people import read_people, with_agreement
from polyclinic.cli.pictures import lacking_pictures, note_pictures, pictures_seen
from polyclinic.cli.played import desk_of
from polyclinic.errors import UserError
from polyclinic.files import make_folder, write_text
from polyclinic.judges.pairs import CRITERIA
from polyclinic.judges.until_stopped import UntilStopped
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import Language
from polyclinic.metrics.own_metrics import check_measured, choose_metrics
from polyclinic.players.mind_names import model_of
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import AieSettings
from polyclinic.stopping import is_stopped
from polyclinic.terminal.screen import note
from polyclinic.verdicts.verdict import Known, in_order
from polyclinic.visits.staging import Staging


async def aie(
    *,
    cases: CaseOptions,
    doctor: Doctors,
    metric: Metrics = None,
    judge: Annotated[
        str | None,
        Parameter(
            metavar="MODEL",
            help="A model that compares every two doctors' dialogues, as a doctor and as a patient would.",
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        Several,
        Parameter(
            metavar="MIND=GROUP...",
            help="A doctor's group, for correlations within and between groups; one for each doctor.",
        ),
    ] = None,
    verdicts: Annotated[
        list[Path] | None,
        Several,
        Parameter(
            metavar="FILE...",
            help="People's verdicts of the forms 'pairs doctor' and 'pairs patient', to stand beside the judge's; with "
            "--journal the evaluation that they judged costs nothing again.",
        ),
    ] = None,
    distractors: Annotated[
        str | None,
        Parameter(
            metavar="MODEL",
            help="A model that makes four wrong options where a case has none. Without it they are the knowledge's.",
        ),
    ] = None,
    max_turns: Annotated[
        int | None,
        POSITIVE,
        Parameter(
            help="How often the doctor may speak behind the opening, which counts as a turn; 9 times in Chinese and 14 "
            "in English by default, for the published 10 and 15 turns."
        ),
    ] = None,
    truncated: Annotated[
        bool,
        Parameter(
            negative=(),
            help="Ask for the diagnosis also behind each earlier turn of every dialogue, a question more a turn.",
        ),
    ] = False,
    figures: Annotated[
        Path | None,
        Parameter(
            help="Draw Figures 6a (win rates, with --judge or --verdicts), 6c (states by turn) and 6d into this "
            "folder, as SVG."
        ),
    ] = None,
    thoughts: Annotated[
        bool,
        Parameter(
            negative=(),
            help="Let a model's doctor write down a thought before each turn, which nobody gets to know.",
        ),
    ] = False,
    session: Session = None,
    protocol: Protocol = "ours",
    run: RunOptions = RUN,
) -> None:
    """Holds AIE for every doctor, and prints how they did."""
    rules = followed(AieSettings, protocol, patient=cases.patient, judge=judge)
    rules.check_value("--max-turns", max_turns, rules.settings.turns)
    rules.check_switch("--thoughts", thoughts, "has doctors that say what they write", "§4.3")
    each_once("doctor", doctor)
    metrics, groups, judges = choose_metrics(metric or ()), read_groups(group, doctor), judge_of(judge)
    if judges and len(doctor) == 1:
        raise UserError("--judge compares doctors in pairs; name a second --doctor")
    shown = pictures_seen(cases.cases, doctor, run.models, cases.pictures)
    unseen = lacking_pictures(shown)
    read = cases_of(cases, needs=lambda case: _lacks(case) or unseen(case))
    if figures is not None:
        make_folder(figures)
    people = read_people(verdicts, _judged(read, doctor)) if verdicts else []
    _check_options(rules, distractors, read[: cases.limit])
    roles: WhoPlays = {"doctor": doctor, "patient": [cases.patient], "judge": [judge]}
    by = held_by(rules, run.models, roles, cases=len(read[: cases.limit]))
    run = replace(run, models=by.models)
    limits: dict[Language, int] = rules.of(rules.settings.turns)
    made: MadeOptions | None = None
    languages = {case.presentation.language for case in read[: cases.limit]}
    others = [*judges, *filter(None, [distractors])]
    note_pictures(cases.cases, read[: cases.limit], doctor, run.models, cases.pictures)
    at, _ = desk_of(session, [*doctor, cases.patient])
    async with open_players(doctor, cases, run, judges=others, languages=languages, pictures=shown, desk=at) as opened:
        if distractors is None:
            asked = with_questions(read, read_knowledge(), seed=run.seed)[: cases.limit]
        else:
            maker = opened.session.metered(distractors, role="distractors", episode="distractors")
            made = await with_made_questions(read[: cases.limit], maker, read_knowledge(), seed=run.seed)
            asked = list(made.cases)
        comparing = None if judge is None else UntilStopped(opened.judge(judge), is_stopped=is_stopped)
        benchmark = aie_benchmark(
            asked,
            max_turns=max_turns,
            metrics=metrics,
            judge=comparing,
            groups=groups,
            people=people,
            limits=limits,
            staging=staging_of(rules, thinks=thoughts),
            truncated=truncated,
            seed=run.seed,
        )
        result = await hold(benchmark, opened.minds, run)
    if figures is not None:
        for name, svg in drawn(result).items():
            write_text(figures / name, svg)
        note(f"Figures: {figures}")
    finish(
        with_agreement(
            by.told(
                aie_output(
                    result,
                    protocol=protocol,
                    cases=str(cases.cases),
                    patient=cases.patient,
                    seed=run.seed,
                    made=made,
                )
            ),
            people,
            seed=run.seed,
        ),
        run,
        opened.session.ledger,
        trust=opened.patient_trust,
        stopped=None if comparing is None else comparing.ending,
    )
    check_measured(metrics, (one.summary.scores for one in result.doctors))


def _lacks(case: Case) -> str:
    if case.question is None and not case.truth.diagnoses:
        return "no question, and no diagnosis to make one of"
    return unanswerable(case)


def _judged(cases: Sequence[Case], doctors: Sequence[str]) -> Known:
    """Returns what people can have judged: every two doctors on every case."""
    pairs = {in_order((case.id, *two)): None for case in cases for two in combinations(doctors, 2)}
    return {f"pairs {view}": pairs for view in CRITERIA}


def _check_options(rules: FollowedProtocol[AieSettings], distractors: str | None, cases: Sequence[Case]) -> None:
    """Refuses what cannot make options, and cases without options where the paper has them made by a model."""
    if distractors is not None and model_of(distractors) is None:
        raise UserError(f"--distractors {distractors!r} is no model; what makes options is one, such as direct/NAME")
    without = [case.id for case in cases if case.question is None]
    setting = rules.settings.distractors
    if distractors is None and without and rules.of(setting) == "model":
        raise UserError(
            f"--protocol {rules.given} has wrong options made by a model ({setting.section}), and {len(without)} cases "
            f"have none, such as {without[0]}; name one: --distractors MODEL, or take --protocol ours"
        )


def staging_of(rules: FollowedProtocol[AieSettings], *, thinks: bool = False) -> Staging:
    """Returns how visits are held by a protocol."""
    settings = rules.settings
    return Staging(
        online=rules.of(settings.online),
        greets=rules.of(settings.greets),
        dialogue_alone=rules.of(settings.dialogue_alone),
        concludes=rules.of(settings.concludes),
        whole=rules.of(settings.whole),
        thinks=thinks,
    )


def read_groups(given: Sequence[str] | None, doctors: Sequence[str]) -> dict[str, str] | None:
    """Reads `MIND=GROUP`, once for each doctor."""
    if not given:
        return None
    groups = {}
    for text in given:
        mind, sign, name = text.rpartition("=")
        if not sign or not name or mind not in doctors:
            raise UserError(f"--group {text!r}; needs MIND=GROUP with a --doctor's mind: {', '.join(doctors)}")
        groups[mind] = name
    missing = [mind for mind in doctors if mind not in groups]
    if missing:
        raise UserError(f"--group is missing for {', '.join(missing)}; give one for each doctor, or none")
    return groups
