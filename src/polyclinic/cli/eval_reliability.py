"""`polyclinic eval reliability`: how far patient and examiner can be relied on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.benchmarks.reliability.attack import Attacked
from polyclinic.benchmarks.reliability.attack import attack as attack_examiner
from polyclinic.benchmarks.reliability.evaluation import reliability as reliability_benchmark
from polyclinic.benchmarks.reliability.tables import reliability_output
from polyclinic.cli.evaluation import (
    cases_of,
    finish,
    first_ending,
    hold,
    is_part,
    judge_as_it_goes,
    judge_of,
    open_players,
    underway,
)
from polyclinic.cli.options import FILES, RUN, CaseOptions, Doctors, MaxTurns, RunOptions, Session, each_once
from polyclinic.cli.people import read_people, with_people
from polyclinic.cli.pictures import lacking_pictures, note_pictures, pictures_seen
from polyclinic.cli.played import desk_of
from polyclinic.errors import PolyclinicError, RunStopped
from polyclinic.tasks import run_until_error
from polyclinic.visits.consultation import MAX_TURNS


async def reliability(
    *,
    cases: CaseOptions,
    doctor: Doctors | None = None,
    judge: Annotated[
        str | None,
        Parameter(
            metavar="MODEL",
            help="A model that judges relevance and consistency round by round; without one both are left out.",
        ),
    ] = None,
    verdicts: Annotated[
        list[Path] | None,
        FILES,
        Parameter(help="What people say of the same rounds ('polyclinic verdicts export rounds')."),
    ] = None,
    max_turns: MaxTurns = MAX_TURNS,
    attack: Annotated[
        bool, Parameter(negative="--no-attack", help="Put a hundred requests that fish to the examiner.")
    ] = True,
    session: Session = None,
    run: RunOptions = RUN,
) -> None:
    """Holds the visits and the attack, and prints how patient and examiner did."""
    doctors, judges = doctor or ["rules"], judge_of(judge)
    each_once("doctor", doctors)
    shown = pictures_seen(cases.cases, doctors, run.models, cases.pictures)
    asked = cases_of(cases, needs=lacking_pictures(shown))[: cases.limit]
    note_pictures(cases.cases, asked, doctors, run.models, cases.pictures)
    at, _ = desk_of(session, [*doctors, cases.patient])
    async with open_players(doctors, cases, run, judges=judges, what="study", pictures=shown, desk=at) as opened:
        judging = None if judge is None else judge_as_it_goes(opened.judge(judge), run)
        benchmark = reliability_benchmark(
            asked,
            judge=judging,
            max_turns=max_turns,
            temperature=run.models.temperature,
            seed=run.seed,
        )
        result = await hold(benchmark, opened.minds, run, "consulting")
        attacks: list[tuple[Attacked, ...]] = []
        stopped: PolyclinicError | None = first_ending(judging)
        if attack and stopped is None and not is_part():
            minds = opened.minds[doctors[0]]
            reader = minds.examiner("attack") if cases.examiner != "rules" else None
            with underway("attacking", 200 if reader is None else 300, run) as advance:
                put = partial(attack_examiner, asked, minds.examination_names, reader=reader, advance=advance)
                attacks, stopped = await run_until_error([put])
        if stopped is not None and not isinstance(stopped, RunStopped):
            raise stopped
    about = {"cases": len(asked), "patient": cases.patient, "examiner": cases.examiner, "seed": run.seed}
    output = reliability_output(result, attacks[0] if attacks else (), about)
    if verdicts:
        turns = {(turn.case, row.doctor, str(turn.turn)): None for row in result.doctors for turn in row.rounds}
        output = with_people(output, read_people(verdicts, {"rounds": turns}), "rounds", seed=run.seed)
    finish(output, run, opened.session.ledger, trust=opened.patient_trust, stopped=stopped)
