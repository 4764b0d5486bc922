"""An evaluation of examiners: how recorded requests for examinations are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from polyclinic.errors import BadInput, PlayFailure
from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Setup, Work
from polyclinic.evaluations.examiner.dialogues import read_labels, read_requests_of
from polyclinic.evaluations.examiner.evaluation import ExaminerResult, recorded_requests
from polyclinic.evaluations.examiner.tables import examiner_output
from polyclinic.protocols.papers import Settings
from polyclinic.run.options import FILE, BatchOption, CaseOptions, Cases, Examiner, Layout
from polyclinic.terminal.screen import note


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ExaminerOptions(BatchOption):
    """The options of the evaluation of examiners."""

    cases: Cases
    dialogues: Annotated[list[Path], Parameter(metavar="FILE...", consume_multiple=1)]
    """Recorded dialogues in AI Hospital's layout; the patient's words to the examiner are put to ours."""
    labels: Annotated[Path | None, FILE] = None
    """The examinations that each request orders, as JSON lines: case, request (or sha256:HEX of it), examinations;
    by default those that the recorded examiner gave."""
    examiner: Examiner = "rules"
    layout: Layout = None


def plan(options: ExaminerOptions, setup: Setup[Settings]) -> Plan:
    """Reads cases, dialogues and labels."""
    if len(set(options.dialogues)) < len(options.dialogues):
        twice = next(file for file in options.dialogues if options.dialogues.count(file) > 1)
        raise BadInput("the file is named twice", path=twice)
    visits = CaseOptions(cases=options.cases, layout=options.layout, examiner=options.examiner)
    known = {case.id: case for case in setup.run.cases(visits)}
    found = read_requests_of(options.dialogues, known)
    labels = None if options.labels is None else read_labels(options.labels, found.requests, known)
    about: dict[str, Any] = {"examiner": options.examiner, "labels": options.labels and str(options.labels)}

    async def prepare(opened: Opened) -> Work:
        plays = recorded_requests(known.values(), found, labels=labels)
        return plays.by(
            {options.examiner: opened.minds["rules"]},
            lambda result: examiner_output(result, about | {"seed": setup.seed}),
        )

    return Plan(prepare=prepare, visits=visits, in_person=False, doing="asking", check=_check)


def _check(result: ExaminerResult) -> None:
    """Notes labels of nothing recorded; raises a PlayFailure if no request was answered."""
    if result.unknown:
        case, name = next((row.case, name) for row in result.rows for name in row.unknown)
        count = sum(len(row.unknown) for row in result.rows)
        note(f"{count} names of labels are of nothing recorded, and not counted; the first: {name!r} of case {case}")
    if not result.requests:
        raise PlayFailure(f"no request was answered; the first: {result.rows[0].error}")


EXAMINER: Evaluation[ExaminerOptions, Settings] = Evaluation(
    name="examiner",
    help="How an examiner reads recorded requests: are ordered and recorded examinations given, and nothing else?",
    options=ExaminerOptions,
    plan=plan,
)
