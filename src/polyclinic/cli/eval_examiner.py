"""`polyclinic eval examiner`: how an examiner reads recorded requests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.benchmarks.examiner.dialogues import read_labels, read_requests_of
from polyclinic.benchmarks.examiner.evaluation import recorded_requests
from polyclinic.benchmarks.examiner.tables import examiner_output
from polyclinic.cli.batching import batches_beside
from polyclinic.cli.evaluation import cases_of, finish, hold, open_players
from polyclinic.cli.options import FILE, RUN, BatchApi, CaseOptions, Cases, Examiner, Layout, RunOptions
from polyclinic.errors import BadInput, PlayFailure
from polyclinic.terminal.screen import note


async def examiner(
    *,
    cases: Cases,
    dialogues: Annotated[
        list[Path],
        Parameter(
            metavar="FILE...",
            consume_multiple=1,
            help="Recorded dialogues in AI Hospital's layout: what a patient says to the examiner is put to ours.",
        ),
    ],
    labels: Annotated[
        Path | None,
        FILE,
        Parameter(
            help="What the requests order, in JSON lines: case, request (or sha256:HEX of it), examinations. Without "
            "it, what the recorded examiner gave.",
        ),
    ] = None,
    examiner: Examiner = "rules",
    layout: Layout = None,
    batch_api: BatchApi = False,
    run: RunOptions = RUN,
) -> None:
    """Puts recorded requests to the examiner, and prints how much of what they order it gives, and what beyond."""
    if len(set(dialogues)) < len(dialogues):
        twice = next(file for file in dialogues if dialogues.count(file) > 1)
        raise BadInput("the file is named twice", path=twice)
    options = CaseOptions(cases=cases, layout=layout, examiner=examiner)
    known = {case.id: case for case in cases_of(options)}
    found = read_requests_of(dialogues, known)
    batches = batches_beside(run, [examiner], wanted=batch_api)
    said = None if labels is None else read_labels(labels, found.requests, known)
    async with open_players(["rules"], options, run, batches=batches) as opened:
        benchmark = recorded_requests(known.values(), found, labels=said)
        result = await hold(benchmark, {examiner: opened.minds["rules"]}, run, "asking")
    about = {"examiner": examiner, "labels": None if labels is None else str(labels), "seed": run.seed}
    finish(examiner_output(result, about), run, opened.session.ledger)
    if result.unknown:
        named = [(row.case, name) for row in result.rows for name in row.unknown]
        case, name = named[0]
        note(
            f"{len(named)} names of labels are of nothing recorded, and not counted; the first: {name!r} of case {case}"
        )
    if not result.requests:
        raise PlayFailure(f"no request was answered; the first: {result.rows[0].error}")
