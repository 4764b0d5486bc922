"""`polyclinic study medagent-zero`: what a doctor's memory brings on real questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.cli.as_agent_hospital import check_exam
from polyclinic.cli.eval_exam import ask_all, failures_of, models_of, of_models, read_questions
from polyclinic.cli.evaluation import finish
from polyclinic.cli.exam_memory import open_exam_memory
from polyclinic.errors import UserError
from polyclinic.evaluations.exams.evaluation import MethodResult, compare
from polyclinic.evaluations.exams.memory_study import METHOD, USUAL, memory_output, methods_of, paper_tables
from polyclinic.evaluations.exams.runs import Learning, run_methods
from polyclinic.memory.memory import has_memory, open_memory, snapshot_of
from polyclinic.memory.options import FORGETFUL
from polyclinic.models.session import Session
from polyclinic.run import options
from polyclinic.run.batching import batches_beside
from polyclinic.run.options import Protocol
from polyclinic.terminal.tables import counted


async def medagent_zero(
    *,
    exam: options.ExamOptions,
    memory: options.Memory = FORGETFUL,
    snapshots: Annotated[
        int, options.POSITIVE, Parameter(help="The memory is tested after every so many of its patients.")
    ] = 2_000,
    protocol: Protocol = "ours",
    batch_api: options.BatchApi = False,
    run: options.RunOptions = options.RUN,
) -> None:
    """Puts MedQA's questions to the paper's methods and to the memory in parts and as it was, and prints its tables."""
    if memory.memory is None:
        raise UserError("the study is of a memory; name it with --memory DIR")
    if exam.settings:
        raise UserError("this study sets its methods by itself; leave --set out")
    records, experience = memory.wanted(USUAL)
    if records != experience:
        raise UserError(
            f"memory.k-records {records} and memory.k-experience {experience}; the study takes one number for both"
        )
    seen = _seen(memory.memory)
    check_exam(protocol, topic=exam.topic, memory=memory, every=snapshots, seen=seen)
    tables = paper_tables(seen, snapshots=range(0, seen, snapshots), k=records)
    chosen, put = methods_of(tables), [*run.part.mine(read_questions("medqa", exam, seed=run.seed))]

    batches = batches_beside(run, [exam.model], wanted=batch_api)
    kept: list[MethodResult] = []

    async def work(session: Session, advance: Callable[[], None], _: object) -> None:
        async with open_exam_memory(memory, run.models) as remembered:
            learnt = Learning(temperature=run.models.temperature, seed=run.seed, memory=remembered)
            models = models_of(session, exam.model, exam.answer_tokens)
            await run_methods(put, chosen, models, learning=learnt, match="none", advance=advance, kept=kept)

    named = f"medagent_zero {exam.questions.name}"
    stopped, ledger = await ask_all(work, [exam.model], run, named=named, total=len(put) * len(chosen), batches=batches)
    results = of_models({exam.model: kept})
    about = {"study": "medagent-zero", "dataset": "medqa", "questions": len(put), "seed": run.seed}
    about |= {"topic": exam.topic, "memory": str(memory.memory), "patients": seen, "k": records, "protocol": protocol}
    whole = next((one.name for one in results if one.name == tables[0].rows[-1].method.label), None)
    title = f"{METHOD}, {counted(len(put), 'question')}, {exam.model}"
    against = compare(results, baseline=whole, seed=run.seed)
    finish(
        memory_output(tables, results, against, model=exam.model, title=title, about=about),
        run,
        ledger,
        purposes=False,
        stopped=stopped,
        failure=failures_of(results, run.max_failures),
        what="study",
    )


def _seen(folder: Path) -> int:
    """Returns how many patients the memory is of; 0 of one that was only read."""
    where, _ = snapshot_of(folder)
    if not has_memory(where):
        return 0
    with open_memory(folder) as memory:
        return max((note.patients for note in memory.notes()), default=0)
