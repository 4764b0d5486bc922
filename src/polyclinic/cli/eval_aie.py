"""`polyclinic eval aie`: doctors question patients in turns, then choose a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from polyclinic.benchmarks.aie.distractors import with_questions
from polyclinic.benchmarks.aie.evaluation import aie as aie_benchmark
from polyclinic.benchmarks.aie.tables import aie_output
from polyclinic.cli.evaluation import cases_of, finish, hold, judge_of, open_players
from polyclinic.cli.following import Protocol, followed, say
from polyclinic.cli.options import POSITIVE, RUN, CaseOptions, Doctors, Metrics, RunOptions, Several, each_once
from polyclinic.errors import UserError
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import Language
from polyclinic.metrics.own_metrics import choose_metrics
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import AieSettings
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
    thoughts: Annotated[
        bool,
        Parameter(
            negative=(),
            help="Let a model's doctor write down a thought before each turn, which nobody gets to know.",
        ),
    ] = False,
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
    asked = with_questions(cases_of(cases), read_knowledge(), seed=run.seed)[: cases.limit]
    say(rules)
    limits: dict[Language, int] = rules.of(rules.settings.turns)
    async with open_players(doctor, cases, run, judges=judges) as opened:
        benchmark = aie_benchmark(
            asked,
            max_turns=max_turns,
            metrics=metrics,
            judge=None if judge is None else opened.judge(judge),
            groups=groups,
            limits=limits,
            staging=staging_of(rules, thinks=thoughts),
            truncated=truncated,
            seed=run.seed,
        )
        result = await hold(benchmark, opened.minds, run)
    finish(
        aie_output(result, protocol=protocol, patient=cases.patient, seed=run.seed),
        run,
        opened.session.ledger,
        trust=opened.patient_trust,
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
