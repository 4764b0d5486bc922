"""`polyclinic cases generate --writer MODEL`: a model writes the histories of drawn patients."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from polyclinic.cases.case import Case
from polyclinic.cli.options import kept_in
from polyclinic.errors import EndpointError, RunStopped, UserError
from polyclinic.files import write_json
from polyclinic.generation.draw import DrawnPatient
from polyclinic.generation.writer import WritingCount, WrittenPatient, write_record
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.models.session import ModelOptions, open_session
from polyclinic.models.share import WHOLE, Share
from polyclinic.players.mind_names import model_of
from polyclinic.stopping import is_stopped
from polyclinic.tasks import interruptible, run_until_error
from polyclinic.terminal.figures import number
from polyclinic.terminal.screen import console, note, progress
from polyclinic.terminal.tables import counted, table
from polyclinic.terminal.usage import show_usage

_TOGETHER = 512
"""Patients who are written at once."""

WRITER_ANSWERS, _COUNTS = "writer-answers.sqlite", "writing.json"


async def write_records(
    patients: Iterable[DrawnPatient],
    knowledge: Knowledge,
    writer: str,
    options: ModelOptions,
    *,
    folder: Path,
    seed: int,
    n: int,
    share: Share = WHOLE,
    store: str | None = None,
) -> list[Case]:
    """Returns the cases of patients with their histories written, and prints and keeps what was refused.

    Every answer is kept in the folder, or in a store: the same command again goes on from there. Of a `share`, the
    patients are those of one of several processes, and nothing is printed.

    Raises:
        UserError: the writer is no model.
        EndpointError: no answer came; says how to go on.
        RunStopped: the run has cost what it may cost, or somebody stopped it; shows what is over, says how to go on.
    """
    if model_of(writer) is None:
        raise UserError(f"--writer {writer!r} is no model; a writer is one, such as direct/NAME")
    count, coming = WritingCount(), iter(patients)
    cases: list[Case] = []
    run, answers = f"writer seed={seed}", kept_in(None, store) or folder / WRITER_ANSWERS
    async with open_session([writer], options, journal=answers, run=run, seed=seed, share=share) as session:
        with interruptible(is_stopped), progress("writing", n, quiet=False, told=share != WHOLE) as advance:

            async def one(drawn: DrawnPatient) -> WrittenPatient:
                model = session.metered(writer, role="writer", episode=drawn.case.id, persistent=True)
                written = await write_record(drawn, knowledge, model, temperature=options.temperature)
                advance()
                return written

            again = f"the same command goes on from {'the store' if store is not None else answers}"
            try:
                while some := list(itertools.islice(coming, _TOGETHER)):
                    came, stopped = await run_until_error(partial(one, drawn) for drawn in some)
                    for written in came:
                        count.add(written)
                        cases.append(written.case)
                    if stopped is not None:
                        raise stopped
            except RunStopped as ended:
                if share == WHOLE and count.patients:
                    note("stopped early; what is over:")
                    _show(count, writer)
                done = f"{count.patients:,} of {counted(n, 'history').replace('historys', 'histories')} are over"
                raise type(ended)(f"{ended}; {done}, and {again}") from None
            except EndpointError as failure:
                raise type(failure)(f"{failure.problem}; {again}", attempts=failure.attempts) from None
    if share != WHOLE:
        return cases
    document = {"patients": count.patients, "written": count.written, "refused": dict(sorted(count.refused.items()))}
    write_json(folder / _COUNTS, document)
    _show(count, writer)
    show_usage(console(sys.stderr), session.ledger)
    return cases


def _show(count: WritingCount, writer: str) -> None:
    kept = count.patients - count.written
    rows = [("written", number(count.written, ",")), ("kept as drawn, as every record was refused", number(kept, ","))]
    rows += [(f"refused: {why}", number(times, ",")) for why, times in sorted(count.refused.items())]
    console().print(table(f"{count.patients:,} histories by {writer}", ("", "number"), rows))
