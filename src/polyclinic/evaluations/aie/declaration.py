"""AIE as an evaluation: its options, what is read before a model is asked, and the plays (aie-saps §4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.cases.case import Case
from polyclinic.cases.check import unanswerable
from polyclinic.errors import UserError
from polyclinic.evaluations.aie.distractors import with_made_questions, with_questions
from polyclinic.evaluations.aie.evaluation import aie, check_result
from polyclinic.evaluations.aie.tables import aie_output
from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Setup, Work, check_judge
from polyclinic.evaluations.protocol import staging_of
from polyclinic.judging.pairs import CRITERIA
from polyclinic.judging.verdicts import Known
from polyclinic.metrics.conversation import choose_metrics
from polyclinic.models.pipeline import Asker
from polyclinic.players.mind_names import model_of
from polyclinic.protocols.papers import AieSettings
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
from polyclinic.settings import setting


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
        report = partial(
            aie_output,
            protocol=options.protocol,
            cases=options.cases,
            patient=options.patient,
            seed=setup.seed,
            made=made,
        )
        return plays.by(opened.minds, report)

    return Plan(
        prepare=prepare,
        visits=options,
        doctors=options.doctor,
        models=[options.judge, options.distractors],
        roles={"doctor": options.doctor, "patient": [options.patient], "judge": [options.judge]},
        cases=cases,
        people=people,
        check=partial(check_result, metrics),
    )


def _lacks(case: Case) -> str:
    if case.question is None and not case.truth.diagnoses:
        return "no question, and no diagnosis to make one of"
    return unanswerable(case)


def read_groups(given: Sequence[str] | None, doctors: Sequence[str]) -> dict[str, str] | None:
    """Reads `MIND=GROUP`, once for each doctor."""
    if not given:
        return None
    groups = {}
    for text in given:
        mind, sign, name = text.rpartition("=")
        if not sign or not name or mind not in doctors:
            raise UserError(f"aie.group {text!r}; needs MIND=GROUP with a --doctor's mind: {', '.join(doctors)}")
        groups[mind] = name
    missing = [mind for mind in doctors if mind not in groups]
    if missing:
        raise UserError(f"aie.group is missing for {', '.join(missing)}; give one for each doctor, or none")
    return groups


AIE = Evaluation(
    name="aie",
    help="AIE: doctors question patients in turns, then choose a diagnosis; ten metrics, and MCQE.\n\nCases without a "
    "question get one: their diagnosis and four similar ones.",
    options=AieOptions,
    plan=plan,
    paper=AieSettings,
)
