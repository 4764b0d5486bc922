"""An evaluation of simulated patients: how well they understand what doctors say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Setup, Work
from polyclinic.evaluations.patient_simulator.evaluation import patient_simulator, read_labelled
from polyclinic.evaluations.patient_simulator.recorded import read_recorded, recorded_turns
from polyclinic.evaluations.patient_simulator.tables import recorded_output, simulator_output
from polyclinic.protocols.papers import Settings
from polyclinic.run.options import FILE, BatchOption, CaseOptions, Patient


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SimulatorOptions(BatchOption):
    """The options of the evaluation of simulated patients."""

    cases: Annotated[Path | None, FILE] = None
    """A labelled set in AIE's layout."""
    recorded: Annotated[list[Path] | None, Parameter(metavar="FILE...", consume_multiple=1)] = None
    """In place of --cases: dialogues in AIE's recorded layout, a file for each doctor; each turn of a doctor is put to
    the patient in its place of the dialogue."""
    patient: Patient = "rules"


def plan(options: SimulatorOptions, setup: Setup[Settings]) -> Plan:
    """Reads labelled questions, or recorded dialogues."""
    if options.cases is not None and options.recorded:
        raise UserError("--cases and --recorded were both given; labelled questions and recorded turns are put apart")
    if options.cases is not None:
        return _labelled(options.cases, options.patient, setup)
    if options.recorded:
        return _recorded(options.recorded, options.patient, setup)
    raise UserError("nothing to put: give a labelled set, --cases FILE, or recorded dialogues, --recorded FILE...")


def _labelled(file: Path, patient: str, setup: Setup[Settings]) -> Plan:
    labelled = read_labelled(file)

    async def prepare(opened: Opened) -> Work:
        plays = patient_simulator(labelled, seed=setup.seed)
        return plays.by(
            {patient: opened.minds["rules"]},
            lambda result: simulator_output(result, patient=patient, seed=setup.seed),
        )

    return Plan(prepare=prepare, visits=CaseOptions(cases=str(file), patient=patient), in_person=False, doing="asking")


def _recorded(files: list[Path], patient: str, setup: Setup[Settings]) -> Plan:
    if len(set(files)) < len(files):
        twice = next(file for file in files if files.count(file) > 1)
        raise BadInput("the file is named twice; each is one doctor", path=twice)
    read = {str(file): read_recorded(file) for file in files}
    left_out = {file: one.left_out for file, one in read.items()}

    async def prepare(opened: Opened) -> Work:
        plays = recorded_turns([dialogue for one in read.values() for dialogue in one.dialogues])
        return plays.by(
            {patient: opened.minds["rules"]},
            lambda result: recorded_output(result, patient=patient, left_out=left_out, seed=setup.seed),
        )

    return Plan(
        prepare=prepare, visits=CaseOptions(cases=str(files[0]), patient=patient), in_person=False, doing="asking"
    )


PATIENT_SIMULATOR: Evaluation[SimulatorOptions, Settings] = Evaluation(
    name="patient-simulator",
    help="How well a simulated patient understands what doctors say: labelled questions, or recorded dialogues turn by "
    "turn.",
    options=SimulatorOptions,
    plan=plan,
)
