"""`polyclinic results`: runs in a list, one of them or all in one table, compared, and as files for other tools."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.text import Text

from polyclinic.errors import UserError
from polyclinic.files import make_empty_folder
from polyclinic.frames import flat
from polyclinic.hospital.record.comparison import PairedBy, compare_runs
from polyclinic.hospital.record.recorded import is_run
from polyclinic.results.export import TableLayout, write_tables
from polyclinic.results.folder import RunResults, fetch, read_results
from polyclinic.results.joining import call_rows, compare_results, difference_rows, flat_rows, item_rows, join
from polyclinic.results.printed import PrintedTable, TableColumns, costs_of, differences, printed, record_facts
from polyclinic.results.printed import show as show_tables
from polyclinic.run.options import FILE, BootstrapSeed, Json, Several
from polyclinic.storage.server import is_store
from polyclinic.terminal.figures import ShownFigure, money, number, with_ends
from polyclinic.terminal.screen import console, print_json
from polyclinic.terminal.tables import p_value, table_of

Folders = Annotated[str, Parameter(metavar="DIR...")]
Measures = Annotated[list[str] | None, Several, Parameter(name="--measure", metavar="NAME...")]
NewTable = Annotated[Path | None, FILE]


def _listed(one: RunResults) -> dict[str, Any]:
    """Returns what the list of runs says of one."""
    cost, unpriced = costs_of(one.record)
    return {
        "folder": one.called,
        "kind": one.record.kind,
        "sets": list(dict.fromkeys(row.set for row in one.rows)),
        "models": list(dict.fromkeys(row.model for row in one.rows)),
        "methods": list(dict.fromkeys(row.method for row in one.rows if row.method)),
        "finished": one.record.finished,
        "items": len(one.rows),
        "stopped": one.record.stopped,
        "cost": cost,
        "unpriced": unpriced,
    }


_COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "folder": lambda run: str(run["folder"]),
    "run": lambda run: str(run["kind"]),
    "of": lambda run: ", ".join(run["sets"]),
    "who": lambda run: ", ".join([*run["models"], *run["methods"]]),
    "finished": lambda run: ShownFigure(run["finished"][:16].replace("T", " "), {"": run["finished"]}),
    "items": lambda run: ShownFigure(f"{run['items']:,}{' so far' if run['stopped'] else ''}", {"": run["items"]}),
    "cost": lambda run: money(run["cost"], run["unpriced"]),
}
"""The columns of the list of runs."""


def show(
    *folders: Folders,
    rows: Literal["table", "runs", "items", "calls"] = "table",
    measure: Measures = None,
    columns: TableColumns | None = None,
    layout: Annotated[Literal["csv", "markdown", "latex", "folder"] | None, Parameter(name="--format")] = None,
    out: NewTable = None,
    json: Json = False,
) -> None:
    """Prints what a run was, and what came of it; several runs are one table.

    Args:
        folders: Folders that --out made, or folders of such folders; or a database, by its address: all that is in it,
            or with #17 at its end one of them.
        rows: The joined table, the runs with their models and cost, every item, or every call to a model; the last two
            as CSV by default.
        measure: Measures to show; all by default.
        columns: What is in the columns: measures; entrants, with one row per measure; or sets, with one table per
            measure, as papers print it. By default measures, and entrants where few have many measures.
        layout: Print or write it for other tools: markdown and latex as it is shown (tables only), csv as plain rows;
            folder: results of a database as --out of a run writes them, into the folder --out. By default the file
            type of --out.
        out: File to write; printed by default.
    """
    if layout == "folder":
        _fetch(folders, out)
        return
    to = None if layout is None else TableLayout(layout)
    results = read_results(*folders)
    if rows == "table":
        _show_table(results, measure or (), columns, to, out, json=json)
        return
    listing = {"runs": lambda: list(map(_listed, results)), "calls": lambda: [*call_rows(results)]}
    found = listing.get(rows, lambda: [*item_rows(results)])()
    if rows == "calls" and not found:
        raise UserError("no calls are kept there: these runs asked no model, or were made before calls were kept")
    if json and to is None and out is None:
        print_json(found)
    elif rows == "runs" and to is None and out is None:
        console().print(table_of(None, found, _COLUMNS, left=5))
    else:
        write_tables([], found, to, out, otherwise=TableLayout.CSV)


def _show_table(
    results: Sequence[RunResults],
    measures: Sequence[str],
    columns: TableColumns | None,
    to: TableLayout | None,
    out: Path | None,
    *,
    json: bool,
) -> None:
    joined = join(results, measures=measures)
    tables, rows = printed(joined, columns), flat_rows(joined)
    records = [one.record for one in results]
    if to is not None or out is not None:
        write_tables(tables, rows, to, out)
    elif json:
        print_json(({"record": records[0]} if len(records) == 1 else {"records": records}) | {"table": rows})
    else:
        screen = console()
        if len(records) == 1:
            for name, text in record_facts(records[0]).items():
                screen.print(Text.assemble((f"{name}: ", "bold"), text), soft_wrap=True)
            screen.print()
        show_tables(screen, tables)


def _fetch(stores: Sequence[str], out: Path | None) -> None:
    """Writes what is in stores into a folder each."""
    if out is None or not all(map(is_store, stores)):
        raise UserError("--format folder takes results out of stores, by their addresses, and needs --out DIR")
    came = [folder for one in stores for folder in fetch(one)]
    make_empty_folder(out)
    for folder in came:
        shutil.copytree(folder, out / folder.name)
    console().print(f"{len(came)} folders: {out}")


def compare(
    *folders: Folders,
    measure: Measures = None,
    baseline: Annotated[str | None, Parameter(metavar="NAME")] = None,
    seed: BootstrapSeed = 0,
    layout: Annotated[TableLayout | None, Parameter(name="--format")] = None,
    out: NewTable = None,
    json: Json = False,
) -> None:
    """Prints paired differences; of two runs of the hospital with one seed, patient by patient.

    Args:
        folders: Folders that --out made, or folders of such folders; or a database, by its address: all that is in it,
            or with #17 at its end one of them.
        measure: Measures to compare; by default the chief one of each set.
        baseline: The model or method to compare all others with; by default every two are compared.
        layout: Print or write the table for other tools: markdown and latex as it is shown, csv as plain rows. By
            default the file type of --out.
        out: File to write; printed by default.
    """
    document: Any
    if len(folders) == 2 and any(is_run(Path(folder)) for folder in folders) and not measure and baseline is None:
        document = compare_runs(*map(Path, folders))
        tables, rows = hospital_tables(document), [flat(one) for one in document["measures"]]
        about = _about_hospitals(document)
    else:
        compared = compare_results(read_results(*folders), measures=measure or (), baseline=baseline, seed=seed)
        document, tables, rows, about = compared.rows, [differences(compared)], difference_rows(compared), []
    if layout is not None or out is not None:
        write_tables(tables, rows, layout, out)
    elif json:
        print_json(document)
    else:
        for line in about:
            console().print(line, soft_wrap=True)
        show_tables(console(), tables)


_PAIRED: dict[PairedBy, str] = {
    "patients": "patient by patient: illnesses with which they came to both",
    "runs": "run by run: means of the patients of each seed",
}
_HOW = (
    "means over pairs that have the measure in both; intervals by bootstrap over residents or runs, p by turning "
    "signs, adjusted over the measures of a table by Holm"
)


def _about_hospitals(compared: dict[str, Any]) -> list[str]:
    """Returns which two runs of the hospital are compared, their common onsets, and how they differ."""
    only = compared["only_first"], compared["only_second"]
    why = ": with the other their residents were ill already, or dead" if any(only) else ""
    differs = [f"{name}: {one} → {other}" for name, (one, other) in compared["differs"].items()]
    return [
        f"1: {compared['first']}",
        f"2: {compared['second']}",
        f"seed {', '.join(map(str, compared['seeds']))}: {compared['onsets']:,} onsets are the same in both; "
        f"{only[0]:,} only in 1, {only[1]:,} only in 2{why}",
        *(differs or ["begun alike: what differs comes from versions of the package, or of models"]),
        "",
    ]


def hospital_tables(compared: dict[str, Any]) -> list[PrintedTable]:
    """Returns by how much the second run is above the first: a table for each way of pairing."""
    tables = []
    for by, title in _PAIRED.items():
        rows = [
            (
                one["name"],
                number(one["first"]),
                number(one["second"]),
                with_ends(one["difference"].mean, one["difference"].low, one["difference"].high, "+.2f"),
                p_value(one["p_holm"]),
                number(one["difference"].n, ","),
            )
            for one in compared["measures"]
            if one["by"] == by
        ]
        if rows:
            tables.append(PrintedTable(title, ("", "1", "2", "2 − 1", "p (Holm)", "pairs"), tuple(rows)))
    tables[-1:] = [one._replace(notes=(_HOW,)) for one in tables[-1:]]
    return tables
