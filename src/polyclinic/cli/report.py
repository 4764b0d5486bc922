"""`polyclinic report`: what runs came to, as one page; of the hospital with pictures, or its log for other tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from polyclinic.errors import BadInput, UserError
from polyclinic.files import check_writable, is_result, no_folder, write_text
from polyclinic.hospital.record.recorded import RUN, SUMMARY, RecordedRun
from polyclinic.hospital.record.report import figures, page
from polyclinic.results.folder import RECORD, is_fetched, read_results
from polyclinic.results.joining import compare_results, flat_rows, join
from polyclinic.results.page import page as page_of_results
from polyclinic.run.options import FILE, Json
from polyclinic.terminal.screen import console, note, print_json
from polyclinic.terminal.tables import counted


def report(
    *runs: Annotated[Path, Parameter(metavar="DIR...")],
    out: Annotated[Path | None, FILE] = None,
    layout: Annotated[Literal["html", "site", "jsonl"], Parameter(name="--format")] = "html",
    json: Json = False,
) -> None:
    """Writes the report, the pages or the log, and prints what is in it.

    Args:
        runs: The folder of a run of the hospital; or folders of evaluations and studies, in one page. What is in a
            store is named by its address and number, URL#17; its report is written here.
        out: File to write; by default report.html (of a practice results.html), or the log, in the first folder.
        layout: html: the report. site: all results as pages that open from disk, in the new folder --out; the truth of
            the cases is in it. jsonl: the log of a run of the hospital.
    """
    if not runs:
        raise UserError("name a folder: polyclinic report DIR")
    for one in runs:
        if not one.is_dir():
            raise BadInput(f"{no_folder(one)}; name one that --out made", path=one)
    if layout == "site":
        _site(runs, out, json=json)
        return
    log = layout == "jsonl"
    if len(runs) == 1 and (log or not _holds_results(runs[0])):
        _of_hospital(runs[0], out, log=log, json=json)
        return
    if log:
        raise UserError("--format jsonl writes the log of one run of the hospital; results: polyclinic results show")
    _of_results(runs, out or _page_of(runs[0], "report.html"), json=json)


def _page_of(folder: Path, name: str) -> Path:
    """Returns the default page or log of a folder: in it, here for a run in a database.

    A practice, or several, have a report.html of their own, which stays.
    """
    page = (Path() if is_fetched(folder) else folder) / name
    is_taken = is_result(page.resolve()) or page.with_name("replicas.json").is_file()
    return page.with_name("results.html") if is_taken else page


_PAGE = b"<!DOCTYPE html"


def _holds_results(folder: Path) -> bool:
    """Whether these are results to join; a run of the hospital has a page of its own."""
    if (folder / RUN).exists():
        return False
    try:
        return bool(read_results(folder))
    except BadInput:
        return (folder / RECORD).exists()


def _of_results(folders: Sequence[Path], path: Path, *, json: bool) -> None:
    """Writes one page of all of them."""
    check_writable(path, begins=_PAGE)
    results = read_results(*folders)
    joined = join(results)
    try:
        compared = compare_results(results)
    except UserError:
        compared = None  # one of each set: there is nothing to compare
    write_text(path, page_of_results(results, joined, compared))
    if json:
        print_json({"file": str(path), "rows": flat_rows(joined)})
    else:
        items = sum(len(one.rows) for one in results)
        console().print(f"{items:,} items of {counted(len(results), 'run')}: {path}")


def _of_hospital(run: Path, out: Path | None, *, log: bool, json: bool) -> None:
    if out is not None and out.name == SUMMARY and out.parent.resolve() == run.resolve():
        raise UserError(f"--out {out} is what the run itself wrote; name another file")
    path = out or _page_of(run, "happenings.jsonl" if log else "report.html")
    wanted = out is not None or not json or log
    if wanted:
        check_writable(path, begins=b"" if log else _PAGE)
    with RecordedRun(run) as recorded:
        if log:
            n = recorded.export(path)
            if json:
                print_json({"file": str(path), "happenings": n})
            else:
                console().print(f"{n} happenings: {path}")
            return
        found = figures(recorded)
        if wanted:
            write_text(path, page(found, configuration=recorded.configuration))
    if json:
        print_json(found)
        if wanted:
            console(sys.stderr).print(f"report: {path}")
    else:
        days = counted(len(found["series"]["days"]), "day")
        console().print(f"{counted(found['summary']['arrived'], 'visit')} over {days}: {path}")


_NAMED = 5
"""Reasons for leaving something out that are printed."""


def _site(folders: Sequence[Path], out: Path | None, *, json: bool) -> None:
    """Writes a copy of results that opens from disk, and prints what is in it."""
    from polyclinic.web.browse.documents import Documents  # noqa: PLC0415
    from polyclinic.web.browse.holdings import Holdings  # noqa: PLC0415
    from polyclinic.web.browse.site import export_site  # noqa: PLC0415

    if out is None:
        raise UserError("--format site needs a new folder for the copy: --out FOLDER")
    private = [path for name in ("practice", "private") for folder in folders for path in folder.rglob(name)]
    came = export_site(Documents(Holdings(folders, without=[out, *private])), out)
    if json:
        print_json({"folder": str(out), "holdings": came.holdings, "documents": came.documents, "bytes": came.bytes,
                    "left_out": list(came.left_out)})  # fmt: skip
        return
    note(f"{came.holdings:,} results in {came.documents:,} files, {came.bytes / 1e6:,.1f} MB.")
    for problem in came.left_out[:_NAMED]:
        note(f"Left out: {problem}")
    if len(came.left_out) > _NAMED:
        note(f"Left out: {len(came.left_out) - _NAMED} more; --json names them")
    note("It holds the truth of the cases: keep it from people who are still to be examined on them.")
    note(f"Open it: {out / 'index.html'}")
