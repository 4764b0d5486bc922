"""`polyclinic results`: runs in a list, one of them or all in one table, compared, and as files for other tools."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from polyclinic.cli.results_tables import hospital_tables, show_compared, show_hospitals, show_joined, write_tables
from polyclinic.errors import UserError
from polyclinic.files import make_empty_folder
from polyclinic.frames import flat
from polyclinic.hospital.record.comparison import compare_runs
from polyclinic.hospital.record.recorded import is_run
from polyclinic.results.comparing import compare_results, difference_rows
from polyclinic.results.export import TableLayout
from polyclinic.results.facts import costs_of, record_facts
from polyclinic.results.folder import RunRecord
from polyclinic.results.joining import call_rows, flat_rows, item_rows, join
from polyclinic.results.printed import TableColumns, differences, printed
from polyclinic.results.reading import RunResults, fetch, read_results
from polyclinic.run.options import FILE, BootstrapSeed, Json, Several
from polyclinic.storage.server import is_store
from polyclinic.terminal.figures import ShownFigure, at_least
from polyclinic.terminal.screen import console, plain, print_json
from polyclinic.terminal.tables import table

_AS_FILE = "markdown and latex as it is shown (tables only), csv, json and parquet as plain rows"
Format = Annotated[
    TableLayout | None,
    Parameter(
        name="--format", help=f"Print or write the table for other tools: {_AS_FILE}. By default what --out ends in."
    ),
]
NewTable = Annotated[Path | None, FILE, Parameter(help="File to write; printed by default.")]

Folders = Annotated[
    str,
    Parameter(
        metavar="DIR...",
        help="Folders that --out made, or folders of such folders; or a store of --store, by its address: all that is "
        "in it, or with #17 behind one of them.",
    ),
]
Compared = Annotated[
    list[str] | None,
    Several,
    Parameter(name="--measure", metavar="NAME...", help="Measures to compare; by default the chief one of each set."),
]
Measures = Annotated[
    list[str] | None,
    Several,
    Parameter(name="--measure", metavar="NAME...", help="Measures to show; all by default."),
]
Columns = Annotated[
    TableColumns | None,
    Parameter(
        help="What stands in the columns: measures; entrants, with measures below one another; or sets, a table for "
        "each measure, as papers print it. By default measures, and entrants where few have many measures."
    ),
]


def _show_runs(results: Sequence[RunResults], *, json: bool) -> None:
    """Prints a line for each run."""
    rows = [_listed(one) for one in results]
    if json:
        print_json(rows)
        return
    shown = table(None, ("folder", "run", "of", "who", "finished", "items", "cost"), left=5)
    for row in rows:
        of, who = ", ".join(row["sets"]), ", ".join([*row["models"], *row["methods"]])
        finished = ShownFigure(row["finished"][:16].replace("T", " "), {"": row["finished"]})
        texts = (row["folder"], row["kind"], of, who)
        items = ShownFigure(f"{row['items']:,}{' so far' if row['stopped'] else ''}", {"": row["items"]})
        shown.add_row(
            *(Text(plain(text)) for text in texts), finished, items, at_least(row["cost"], ".4f", more=row["unpriced"])
        )
    console().print(shown)


def _listed(one: RunResults) -> dict[str, Any]:
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


_FOLDER = "folder"


def show(
    *folders: Folders,
    rows: Annotated[
        Literal["table", "runs", "items", "calls"],
        Parameter(
            help="The joined table, the runs with their models and cost, every item, or every call to a model; the "
            "last two as CSV by default."
        ),
    ] = "table",
    measure: Measures = None,
    columns: Columns = None,
    layout: Annotated[
        Literal["csv", "markdown", "latex", "parquet", "json", "folder"] | None,
        Parameter(
            name="--format",
            help=f"Print or write it for other tools: {_AS_FILE}; folder: results of a store as --out of a run "
            "writes them, into the folder --out. By default what --out ends in.",
        ),
    ] = None,
    out: NewTable = None,
    json: Json = False,
) -> None:
    """Prints what a run was, and what came of it; several runs are one table."""
    if layout == _FOLDER:
        _fetch(folders, out)
        return
    to = None if layout is None else TableLayout(layout)
    results = read_results(*folders)
    if rows == "table":
        _show_table(results, measure, columns, to, out, json=json)
        return
    if rows == "runs":
        _show_runs(results, json=json)
        return
    if rows == "calls":
        of_rows = [*call_rows(results)]
        if not of_rows:
            raise UserError("no calls are kept there: these runs asked no model, or were made before calls were kept")
    else:
        of_rows = [*item_rows(results)]
    if json and to is None and out is None:
        print_json(of_rows)
    else:
        write_tables([], of_rows, to, out, otherwise=TableLayout.CSV)


def _show_table(
    results: Sequence[RunResults],
    measures: Sequence[str] | None,
    columns: TableColumns | None,
    to: TableLayout | None,
    out: Path | None,
    *,
    json: bool,
) -> None:
    joined = join(results, measures=measures or ())
    if to is not None or out is not None:
        write_tables(printed(joined, columns), flat_rows(joined), to, out)
        return
    records = [one.record for one in results]
    if json:
        of_runs = {"record": records[0]} if len(records) == 1 else {"records": records}
        print_json(of_runs | {"table": flat_rows(joined)})
        return
    screen = console()
    if len(records) == 1:
        show_record(screen, records[0])
    show_joined(screen, joined, columns)


def _fetch(stores: Sequence[str], out: Path | None) -> None:
    """Writes what is in stores into a folder each."""
    if out is None or not all(map(is_store, stores)):
        raise UserError("--format folder takes results out of stores, by their addresses, and needs --out DIR")
    came = [folder for one in stores for folder in fetch(one)]
    make_empty_folder(out)
    for folder in came:
        shutil.copytree(folder, out / folder.name)
    console().print(plain(f"{len(came)} folders: {out}"))


def show_record(screen: Console, record: RunRecord) -> None:
    """Prints what a run was."""
    for name, text in record_facts(record).items():
        screen.print(Text.assemble((f"{name}: ", "bold"), plain(text)), soft_wrap=True)
    screen.print()


def compare(
    *folders: Folders,
    measure: Compared = None,
    baseline: Annotated[
        str | None,
        Parameter(
            metavar="NAME", help="The model or method to compare all others with; by default every two are compared."
        ),
    ] = None,
    seed: BootstrapSeed = 0,
    layout: Format = None,
    out: NewTable = None,
    json: Json = False,
) -> None:
    """Prints paired differences; of two runs of the hospital with one seed, patient by patient."""
    if len(folders) == 2 and any(is_run(Path(folder)) for folder in folders) and not measure and baseline is None:
        hospitals = compare_runs(*map(Path, folders))
        if layout is not None or out is not None:
            write_tables(hospital_tables(hospitals), [flat(one) for one in hospitals["measures"]], layout, out)
        elif json:
            print_json(hospitals)
        else:
            show_hospitals(console(), hospitals)
        return
    compared = compare_results(read_results(*folders), measures=measure or (), baseline=baseline, seed=seed)
    if layout is not None or out is not None:
        write_tables([differences(compared)], difference_rows(compared), layout, out)
    elif json:
        print_json(compared.rows)
    else:
        show_compared(console(), compared)
