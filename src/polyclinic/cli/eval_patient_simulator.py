"""`polyclinic eval patient-simulator`: how well a simulated patient does on questions that people have labelled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.benchmarks.patient_simulator.evaluation import patient_simulator as simulator_benchmark
from polyclinic.benchmarks.patient_simulator.evaluation import read_labelled
from polyclinic.benchmarks.patient_simulator.tables import simulator_output
from polyclinic.cli.evaluation import finish, hold, open_players
from polyclinic.cli.options import FILE, MODELS, CaseOptions, Journal, Json, Models, Patient, RunOptions, Seed
from polyclinic.errors import PlayFailure


async def patient_simulator(
    *,
    cases: Annotated[Path, FILE, Parameter(help="A labelled set in AIE's layout.")],
    patient: Patient = "rules",
    seed: Seed = 0,
    json: Json = False,
    models: Models = MODELS,
    journal: Journal = None,
) -> None:
    """Puts the questions to the patient, and prints how its states and replies compare with people's."""
    labelled, run = read_labelled(cases), RunOptions(seed=seed, json=json, models=models, journal=journal)
    async with open_players(["rules"], CaseOptions(cases=str(cases), patient=patient), run) as opened:
        result = await hold(simulator_benchmark(labelled, seed=seed), {patient: opened.minds["rules"]}, run, "asking")
    finish(simulator_output(result, patient=patient), run, opened.session.ledger)
    if all(row.failed for row in result.rows):
        raise PlayFailure(f"no question was answered; the first: {result.rows[0].error}")
