"""AI Hospital's reliability study as an evaluation: how reliable patient and examiner are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Setup, Stage, Work, check_judge
from polyclinic.evaluations.people import read_people, with_people
from polyclinic.evaluations.reliability.attack import Attacked
from polyclinic.evaluations.reliability.attack import attack as attack_examiner
from polyclinic.evaluations.reliability.evaluation import ReliabilityResult, reliability
from polyclinic.evaluations.reliability.tables import reliability_output
from polyclinic.protocols.papers import Settings
from polyclinic.results.output import Output
from polyclinic.run.options import FILES, MINDS, CaseOptions, MaxTurns, SessionOption, each_once
from polyclinic.settings import setting
from polyclinic.visits.consultation import MAX_TURNS


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReliabilityOptions(CaseOptions, SessionOption):
    """The options of the reliability study."""

    doctor: Annotated[list[str] | None, MINDS] = None
    """The doctors' minds; by default rules."""
    judge: Annotated[str | None, Parameter(metavar="MODEL")] = None
    """A model that judges relevance and consistency round by round; without one both are left out."""
    verdicts: Annotated[list[Path] | None, FILES] = None
    """People's verdicts on the same rounds."""
    max_turns: MaxTurns = MAX_TURNS
    """Each doctor's turns."""
    attack: Annotated[bool, Parameter(negative="--no-attack"), setting("reliability")] = True
    """Put a hundred requests that fish for results to the examiner."""


def plan(options: ReliabilityOptions, setup: Setup[Settings]) -> Plan:
    """Reads the cases."""
    doctors = options.doctor or ["rules"]
    check_judge(options.judge)
    each_once("doctor", doctors)
    cases = setup.cases(options, doctors)[: options.limit]
    attacks: list[tuple[Attacked, ...]] = []
    stages: list[Stage] = []

    async def prepare(opened: Opened) -> Work:
        plays = reliability(
            cases,
            judge=None if options.judge is None else opened.judge(options.judge, as_it_goes=True),
            max_turns=options.max_turns,
            temperature=setup.run.config.models.temperature,
            seed=setup.seed,
        )
        if options.attack:
            stages.append(_attack(opened))
        return plays.by(opened.minds, report)

    def _attack(opened: Opened) -> Stage:
        minds = opened.minds[doctors[0]]
        reader = None if options.examiner == "rules" else minds.examiner("attack")

        async def work(advance: Callable[[], None]) -> None:
            put = partial(attack_examiner, cases, minds.examination_names, reader=reader, advance=advance)
            attacks.append(await put())

        return Stage(name="attacking", total=200 if reader is None else 300, work=work)

    def report(result: ReliabilityResult) -> Output:
        about: dict[str, Any] = {"cases": len(cases), "patient": options.patient, "examiner": options.examiner}
        output = reliability_output(result, attacks[0] if attacks else (), about | {"seed": setup.seed})
        if not options.verdicts:
            return output
        turns = {(turn.case, row.doctor, str(turn.turn)): None for row in result.doctors for turn in row.rounds}
        return with_people(output, read_people(options.verdicts, {"rounds": turns}), "rounds", seed=setup.seed)

    def after(_: object) -> Sequence[Stage]:
        return stages

    return Plan(
        prepare=prepare, visits=options, doctors=doctors, models=[options.judge], cases=cases, doing="consulting",
        stages=after,
    )  # fmt: skip


RELIABILITY: Evaluation[ReliabilityOptions, Settings] = Evaluation(
    name="reliability",
    help="AI Hospital's reliability: are patient and examiner relevant, true to the record, and proof against fishing?",
    options=ReliabilityOptions,
    plan=plan,
)
