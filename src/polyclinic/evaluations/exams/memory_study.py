"""What a doctor's memory brings on real questions: Agent Hospital's Tables 2, 3 and 4, beside what the paper has.

Paper: Li et al., Agent Hospital, arXiv:2405.02957, §6.3 and §6.4, on 72 respiratory questions of MedQA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from polyclinic.errors import UserError
from polyclinic.evaluations.exams.evaluation import Against, MethodResult
from polyclinic.evaluations.exams.tables import exam_document, exam_output, show_exam
from polyclinic.methods.table import ChosenMethod
from polyclinic.results.output import Output
from polyclinic.terminal.figures import NOTHING, number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import few_line, interval, mean_and_error, table

METHOD = "medagent_zero"
BASELINES = ("zero_shot", "chain_of_thought", "medagents", "medprompt")

USUAL = 2
"""Records and principles that come to mind (§6.2), as the method has it."""

SNAPSHOTS = (0, 2_000, 4_000, 6_000, 8_000)
"""Patients after which the paper tests (§6.2)."""


class PaperRow(NamedTuple):
    """A row of a table: what it is called, the method that gives it, and what the paper has with GPT-3.5 and GPT-4."""

    name: str
    method: ChosenMethod
    published: tuple[float, float] | None = None


class PaperTable(NamedTuple):
    """A table of the paper."""

    title: str
    rows: tuple[PaperRow, ...]


_PUBLISHED = {
    "zero_shot": (69.44, 86.11),
    "chain_of_thought": (73.61, 86.11),
    "medagents": (73.61, 91.67),
    "medprompt": (81.94, 90.28),
    METHOD: (84.72, 93.06),
}
_OF_PATIENTS = {
    0: (73.61, 86.11),
    2_000: (79.16, 91.67),
    4_000: (77.78, 88.89),
    6_000: (81.94, 90.28),
    8_000: (84.72, 93.06),
}


def paper_tables(seen: int, *, snapshots: Sequence[int] = SNAPSHOTS, k: int = USUAL) -> list[PaperTable]:
    """Returns the three tables for a memory of so many patients.

    Args:
        seen: what the practice has treated; Table 4 goes to there.
        snapshots: after how many patients the memory is tested too, where it has seen so many.
        k: so many records and principles come to mind.

    Raises:
        UserError: nothing can come to mind.
    """
    if k < 1:
        raise UserError(f"k={k} leaves nothing of the memory; at least 1")
    of = {} if k == USUAL else {"records": k, "experience": k}

    def method(**settings: int) -> ChosenMethod:
        return ChosenMethod(name=METHOD, settings={**of, **settings})

    whole = method()
    methods = [PaperRow(name, ChosenMethod(name=name), _PUBLISHED[name]) for name in BASELINES]
    parts = (
        PaperRow("records", method(experience=0), (81.94, 91.67)),
        PaperRow("experience", method(records=0), (79.39, 90.28)),
        PaperRow("records and experience", whole, _PUBLISHED[METHOD]),
    )
    steps = [n for n in sorted({*snapshots}) if n < seen]
    patients = [PaperRow(f"{n:,}", method(patients=n), _OF_PATIENTS.get(n)) for n in steps]
    patients.append(PaperRow(f"{seen:,}", whole, _OF_PATIENTS.get(seen)))
    return [
        PaperTable("Table 2: methods", (*methods, PaperRow(METHOD, whole, _PUBLISHED[METHOD]))),
        PaperTable("Table 3: parts of the memory", parts),
        PaperTable("Table 4: experience of so many patients", tuple(patients)),
    ]


def methods_of(tables: Sequence[PaperTable]) -> list[ChosenMethod]:
    """Returns the methods of the tables, each once."""
    return list({row.method.label: row.method for one in tables for row in one.rows}.values())


def memory_output(
    tables: Sequence[PaperTable],
    results: Sequence[MethodResult],
    against: Sequence[Against],
    *,
    model: str,
    title: str,
    about: dict[str, Any],
) -> Output:
    """Returns what a user gets of the study: the paper's tables, and all methods with what they cost."""
    by_label = {one.name: one for one in results}
    tables = [one._replace(rows=tuple(row for row in one.rows if row.method.label in by_label)) for one in tables]
    document = exam_document(results, against, model=model, about=about)
    document["tables"] = [
        {
            "title": one.title,
            "rows": [
                {
                    "name": row.name,
                    "method": row.method.label,
                    "accuracy": by_label[row.method.label].accuracy,
                    "paper": None if row.published is None else dict(zip(_MODELS, row.published, strict=True)),
                }
                for row in one.rows
            ],
        }
        for one in tables
    ]

    def show(screen: Console) -> None:
        for one in tables:
            columns = ("", "right %", "95 % interval", "n", *(f"paper, {name}" for name in _MODELS))
            shown = table(one.title, columns)
            for row in one.rows:
                accuracy = by_label[row.method.label].accuracy
                paper = [NOTHING] * 2 if row.published is None else [number(share) for share in row.published]
                cells = (mean_and_error(accuracy, ".1f"), interval(accuracy, ".1f"), str(accuracy.n), *paper)
                shown.add_row(Text(plain(row.name)), *cells)
            screen.print(shown, "")
        screen.print("paper: of its own memory, on the 72 questions that GPT-3.5 chose.", style="dim")
        if few := few_line([one.accuracy.n for one in results], "question"):
            screen.print(few, style="dim")
        screen.print()
        show_exam(screen, title, results, against)

    return exam_output(document, results, show)


_MODELS = ("GPT-3.5", "GPT-4")
