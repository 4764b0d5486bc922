"""`polyclinic score aie`: how doctors led consultations that were recorded, here or elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.cases.case import Case
from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import BadInput
from polyclinic.evaluations.aie.tables import show_compared, show_side_by_side, show_summary, summary_document
from polyclinic.metrics.conversation import (
    ConversationSummary,
    Wanted,
    check_measured,
    choose_metrics,
    compare,
    measure,
    summarise,
)
from polyclinic.metrics.dialogue import read_dialogues
from polyclinic.results.folder import traces_in
from polyclinic.run.case_files import read_case_file
from polyclinic.run.options import FILE, BootstrapSeed, Json, Metrics, Strict
from polyclinic.terminal.screen import console, print_json


async def aie(
    files: Annotated[
        list[Path],
        Parameter(
            metavar="FILE...",
            help="Traces of ours, a folder of them, or dialogues in the layout that AIE published; one doctor a file.",
        ),
    ],
    /,
    *,
    cases: Annotated[
        str | None,
        FILE,
        Parameter(help="The case file of the traces; COVERAGE and INQUIRY_LOGIC need it."),
    ] = None,
    strict: Strict = False,
    metric: Metrics = None,
    seed: BootstrapSeed = 0,
    json: Json = False,
) -> None:
    """Scores the dialogues of each file, and compares the doctors."""
    metrics = choose_metrics(metric or ())
    files = [one for path in files for one in (traces_in(path) if path.is_dir() else [path])]
    read = [] if cases is None else read_case_file(shipped_path(cases), strict=strict)
    known = {case.id: case for case in read}
    summaries = {name: await _summary(path, known, metrics, seed) for name, path in _names(files).items()}
    _check_something(files, list(summaries.values()))
    compared = compare(summaries, seed=seed)
    if json:
        documents = [summary_document(str(path), one) for path, one in zip(files, summaries.values(), strict=True)]
        print_json(documents[0] if len(files) == 1 else {"files": documents, "comparisons": compared})
    else:
        screen = console()
        for name, summary in summaries.items():
            show_summary(screen, name, summary)
        if len(summaries) > 1:
            show_side_by_side(screen, summaries)
            show_compared(screen, compared)
    check_measured(metrics, (one.scores for one in summaries.values()))


async def _summary(path: Path, known: Mapping[str, Case], metrics: Wanted, seed: int) -> ConversationSummary:
    dialogues, left_out = read_dialogues(path, cases=known)
    scores = [await measure(dialogue, metrics) for dialogue in dialogues]
    return summarise(scores, names=metrics.names, left_out=left_out, seed=seed)


def _names(files: Sequence[Path]) -> dict[str, Path]:
    """Returns the files by the shortest ends of their paths that tell them apart."""
    for parts in range(1, max(len(path.parts) for path in files) + 1):
        names = ["/".join(path.with_suffix("").parts[-parts:]) for path in files]
        if len(set(names)) == len(files):
            return dict(zip(names, files, strict=True))
    raise BadInput("a file is named twice, or two differ in their ending only; each is one doctor", path=files[0])


def _check_something(files: Sequence[Path], summaries: Sequence[ConversationSummary]) -> None:
    if any(summary.scores for summary in summaries):
        return
    first = summaries[0].left_out[0] if summaries[0].left_out else None
    n = sum(len(summary.left_out) for summary in summaries)
    because = f"; the first, {first.id}: {first.problem}" if first is not None else ""
    raise BadInput(f"none of the {n} dialogues can be scored{because}", path=files[0])
