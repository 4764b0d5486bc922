"""`polyclinic eval patient-simulator`: how well a simulated patient understands what a doctor says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.benchmarks.patient_simulator.evaluation import patient_simulator as simulator_benchmark
from polyclinic.benchmarks.patient_simulator.evaluation import read_labelled
from polyclinic.benchmarks.patient_simulator.recorded import read_recorded, recorded_turns
from polyclinic.benchmarks.patient_simulator.recorded_tables import recorded_output
from polyclinic.benchmarks.patient_simulator.tables import simulator_output
from polyclinic.cli.batching import batches_beside
from polyclinic.cli.evaluation import finish, hold, open_players
from polyclinic.cli.options import FILE, RUN, BatchApi, CaseOptions, Patient, RunOptions
from polyclinic.errors import BadInput, UserError


async def patient_simulator(
    *,
    cases: Annotated[Path | None, FILE, Parameter(help="A labelled set in AIE's layout.")] = None,
    recorded: Annotated[
        list[Path] | None,
        Parameter(
            metavar="FILE...",
            consume_multiple=1,
            help="In place of --cases: dialogues of a doctor in AIE's recorded layout, or several doctors', a file "
            "each. Each turn of a doctor is put to the patient in its place of the dialogue.",
        ),
    ] = None,
    patient: Patient = "rules",
    batch_api: BatchApi = False,
    run: RunOptions = RUN,
) -> None:
    """Puts labelled questions, or recorded turns, to the patient; prints how its states compare with those given."""
    batches = batches_beside(run, [patient], wanted=batch_api)
    if cases is not None and recorded:
        raise UserError("--cases and --recorded were both given; labelled questions and recorded turns are put apart")
    if cases is not None:
        await _labelled(cases, patient, run, batches)
    elif recorded:
        await _recorded(recorded, patient, run, batches)
    else:
        raise UserError("nothing to put: give a labelled set, --cases FILE, or recorded dialogues, --recorded FILE...")


async def _labelled(file: Path, patient: str, run: RunOptions, batches: Path | str | None) -> None:
    labelled = read_labelled(file)
    async with open_players(["rules"], CaseOptions(cases=str(file), patient=patient), run, batches=batches) as opened:
        benchmark = simulator_benchmark(labelled, seed=run.seed)
        result = await hold(benchmark, {patient: opened.minds["rules"]}, run, "asking")
    failure = _failure([row.error for row in result.rows if row.failed], len(result.rows), "questions", run)
    finish(simulator_output(result, patient=patient, seed=run.seed), run, opened.session.ledger, failure=failure)


async def _recorded(files: list[Path], patient: str, run: RunOptions, batches: Path | str | None) -> None:
    if len(set(files)) < len(files):
        twice = next(file for file in files if files.count(file) > 1)
        raise BadInput("the file is named twice; each is one doctor", path=twice)
    read = {str(file): read_recorded(file) for file in files}
    dialogues = [dialogue for one in read.values() for dialogue in one.dialogues]
    async with open_players(
        ["rules"], CaseOptions(cases=str(files[0]), patient=patient), run, batches=batches
    ) as opened:
        result = await hold(recorded_turns(dialogues), {patient: opened.minds["rules"]}, run, "asking")
    left_out = {file: one.left_out for file, one in read.items()}
    failure = _failure([row.error for row in result.rows if row.error], len(result.rows), "turns", run)
    output = recorded_output(result, patient=patient, left_out=left_out, seed=run.seed)
    finish(output, run, opened.session.ledger, failure=failure)


def _failure(failed: list[str], n: int, what: str, run: RunOptions) -> str:
    """Says how more failed than may; "" where no more did."""
    if 100 * len(failed) <= run.max_failures * n:
        return ""
    return f"{len(failed)} of {n} {what} failed, the first: {failed[0]}; --max-failures allows {run.max_failures:g} %"
