"""`polyclinic eval`: published evaluations, run."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from polyclinic.cli.exams import EXAMS, exam_command
from polyclinic.cli.minds import (
    BaseUrlOption,
    ConcurrencyOption,
    ExaminerOption,
    JournalOption,
    JsonOption,
    KeyOption,
    LayoutOption,
    MaxCostOption,
    MaxTokensOption,
    MindOptions,
    PatientOption,
    PriceOption,
    TakesDoctors,
    TemperatureOption,
    open_minds,
)
from polyclinic.cli.mvme import mvme
from polyclinic.cli.reliability import reliability
from polyclinic.errors import BudgetSpent, PlayFailure, UserError
from polyclinic.terminal.usage import show_usage

if TYPE_CHECKING:
    from polyclinic.benchmarks.aie.evaluation import Evaluation
    from polyclinic.benchmarks.patient_simulator.evaluation import LabelledCase, Row
    from polyclinic.cases.case import Case
    from polyclinic.judges.pair_judgements import Judgements
    from polyclinic.knowledge.knowledge import Knowledge
    from polyclinic.models.ledger import Ledger

app = typer.Typer(help="Run an evaluation.", no_args_is_help=True)
app.command("mvme", cls=TakesDoctors)(mvme)
for name in EXAMS:
    app.command(name)(exam_command(name))
app.command()(reliability)


@app.callback()
def evaluations() -> None:
    """Run an evaluation. Research and teaching only; never for the care of real people."""


@app.command()
def aie(
    cases: Annotated[
        str, typer.Option("--cases", help="A case file; 'shipped' and 'shipped-zh' come with polyclinic.")
    ],
    doctor: Annotated[list[str], typer.Option(help="A doctor's mind; may be repeated.", metavar="MIND")],
    patient: PatientOption = "rules",
    examiner: ExaminerOption = "rules",
    judge: Annotated[
        str | None,
        typer.Option(help="A model that compares the doctors in pairs, as a doctor and as a patient.", metavar="MODEL"),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="A doctor's group, for correlations within groups; repeated.", metavar="MIND=GROUP"),
    ] = None,
    layout: LayoutOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many cases.")] = None,
    max_turns: Annotated[
        int | None,
        typer.Option(min=1, help="The doctor's turns; the paper's by default: 10 in Chinese, 15 in English."),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help="'paper': the paper's choices and no other: saps:MODEL with the staged tracker, 10 or 15 turns."
        ),
    ] = "ours",
    seed: Annotated[int, typer.Option(help="Of the patients, the made options and the bootstrap.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write each doctor's traces and the summary into this folder.", metavar="DIR")
    ] = None,
    json: JsonOption = False,
    max_failures: Annotated[
        float, typer.Option(min=0, max=100, help="Share of failed visits, in percent, above which the run has failed.")
    ] = 5.0,
    base_url: BaseUrlOption = None,
    api_key_env: KeyOption = "OPENAI_API_KEY",
    concurrency: ConcurrencyOption = None,
    temperature: TemperatureOption = None,
    journal: JournalOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    price: PriceOption = None,
) -> None:
    """AIE: doctors question patients in turns, then choose a diagnosis; ten metrics, and MCQE beside.

    Cases without a question get one: their diagnosis and four like it.
    """
    from polyclinic.benchmarks.aie.correlation import correlate
    from polyclinic.benchmarks.aie.distractors import with_questions
    from polyclinic.benchmarks.aie.judging_tables import show_correlations, show_judgements
    from polyclinic.benchmarks.aie.tables import evaluation_document, show_evaluation, write_evaluation
    from polyclinic.cases.loaders import read_cases
    from polyclinic.cases.shipped import shipped_path
    from polyclinic.events import End
    from polyclinic.files import make_folder
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.terminal.screen import console, print_json

    _check_protocol(protocol, patient, max_turns)
    if len(set(doctor)) < len(doctor):
        raise UserError(f"--doctor names {max(doctor, key=doctor.count)!r} twice; each doctor once")
    knowledge = read_knowledge()
    read = list(read_cases(shipped_path(cases), layout=layout))
    asked = with_questions(read, knowledge, seed=seed)[:limit]
    options = MindOptions(
        doctor=doctor[0],
        patient=patient,
        examiner=examiner,
        seed=seed,
        base_url=base_url,
        api_key_env=api_key_env,
        concurrency=concurrency,
        temperature=temperature,
        journal=journal,
        max_tokens=max_tokens,
        max_cost=max_cost,
        price=price,
    )
    groups = read_groups(group, doctor)
    if out is not None:
        make_folder(out)
    try:
        came = asyncio.run(_evaluate(asked, options, knowledge, doctor, max_turns, judge, quiet=json))
    except BudgetSpent as spent:
        again = "the same command goes on from there" if journal else "with --journal FILE a run can go on"
        raise BudgetSpent(f"{spent}; the evaluation is not over, and {again}") from None
    evaluation, ledger = came.evaluation, came.ledger
    correlations = correlate(evaluation.doctors, came.judgements, groups=groups) if len(doctor) > 1 else None
    document = {"protocol": protocol, "patient": patient, **evaluation_document(evaluation)}
    document |= {"judgements": came.judgements, "correlations": correlations}
    if out is not None:
        write_evaluation(out, evaluation, document)
    if json:
        print_json(document)
    else:
        screen = console()
        show_evaluation(screen, evaluation)
        if came.judgements is not None:
            show_judgements(screen, came.judgements)
        if correlations is not None:
            show_correlations(screen, correlations)
        screen.print(f"protocol: {protocol}; patient: {patient}; seed: {seed}")
        show_usage(console(sys.stderr), ledger)
        if out is not None:
            typer.echo(f"Traces and summary: {out}. Score them again with: polyclinic score aie", err=True)
    failed = sum(visit.end is End.FAILED for one in evaluation.doctors for visit in one.visits)
    if failed * 100 > max_failures * len(asked) * len(doctor):
        raise PlayFailure(
            f"{failed} of {len(asked) * len(doctor)} visits failed; --max-failures allows {max_failures:g} %"
        )


def _check_protocol(protocol: str, patient: str, max_turns: int | None) -> None:
    if protocol not in ("ours", "paper"):
        raise UserError(f"--protocol {protocol!r}; allowed: ours, paper")
    if protocol == "paper" and not patient.startswith("saps:"):
        raise UserError(
            f"--protocol paper has the patient saps:MODEL, with the staged tracker; --patient is {patient!r}"
        )
    if protocol == "paper" and max_turns is not None:
        raise UserError("--protocol paper has 10 turns in Chinese and 15 in English; leave out --max-turns")


@app.command("patient-simulator")
def patient_simulator(
    cases: Annotated[Path, typer.Option("--cases", help="A labelled set in AIE's layout.", metavar="FILE")],
    patient: PatientOption = "rules",
    seed: Annotated[int, typer.Option(help="Of the patient and the bootstrap.")] = 0,
    json: JsonOption = False,
    base_url: BaseUrlOption = None,
    api_key_env: KeyOption = "OPENAI_API_KEY",
    concurrency: ConcurrencyOption = None,
    temperature: TemperatureOption = None,
    journal: JournalOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    price: PriceOption = None,
) -> None:
    """How well a simulated patient does on questions that people have labelled: its states, and what it tells."""
    from polyclinic.benchmarks.patient_simulator.evaluation import read_labelled
    from polyclinic.benchmarks.patient_simulator.tables import show_simulator, simulator_document
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.terminal.screen import console, print_json

    options = MindOptions(
        doctor="rules",
        patient=patient,
        examiner="rules",
        seed=seed,
        base_url=base_url,
        api_key_env=api_key_env,
        concurrency=concurrency,
        temperature=temperature,
        journal=journal,
        max_tokens=max_tokens,
        max_cost=max_cost,
        price=price,
    )
    labelled = read_labelled(cases)
    rows, ledger = asyncio.run(_simulate(labelled, options, read_knowledge()))
    if json:
        print_json(simulator_document(rows, patient, seed))
    else:
        show_simulator(console(), rows, patient, seed)
        show_usage(console(sys.stderr), ledger)
    if all(row.failed for row in rows):
        raise PlayFailure(f"no question was answered; the first: {rows[0].error}")


async def _simulate(
    labelled: list[LabelledCase], options: MindOptions, knowledge: Knowledge
) -> tuple[list[Row], Ledger]:
    from polyclinic.benchmarks.patient_simulator.evaluation import simulate

    async with open_minds(options, knowledge) as opened:
        return await simulate(labelled, opened.minds[options.doctor]), opened.ledger


async def _evaluate(
    cases: list[Case],
    options: MindOptions,
    knowledge: Knowledge,
    doctors: list[str],
    max_turns: int | None,
    judge: str | None,
    *,
    quiet: bool,
) -> _Came:
    from polyclinic.benchmarks.aie.evaluation import evaluate
    from polyclinic.judges.pairs import judge_pairs
    from polyclinic.players.minds import model_of
    from polyclinic.terminal.screen import progress

    if judge is not None and model_of(judge) is None:
        raise UserError(f"--judge {judge!r} is no model; a judge is one, such as direct/NAME")
    if judge is not None and len(doctors) == 1:
        raise UserError("--judge compares doctors in pairs; name a second --doctor")
    others = [] if judge is None else [judge]
    async with open_minds(options, knowledge, doctors=doctors, others=others) as opened:
        with progress("evaluating", 2 * len(cases) * len(doctors), quiet=quiet) as advance:
            evaluation = await evaluate(cases, opened.minds, max_turns=max_turns, seed=options.seed, advance=advance)
        judgements = None
        if judge is not None:
            visits = {one.name: one.visits for one in evaluation.doctors}
            judgements = await judge_pairs(visits, opened.others[judge], cases=cases, seed=options.seed)
        return _Came(evaluation, opened.ledger, judgements)


class _Came(NamedTuple):
    evaluation: Evaluation
    ledger: Ledger
    judgements: Judgements | None


def read_groups(given: list[str] | None, doctors: list[str]) -> dict[str, str] | None:
    """Reads `MIND=GROUP`, once for each doctor.

    Raises:
        UserError: it is something else, names no doctor of the evaluation, or leaves one out.
    """
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
