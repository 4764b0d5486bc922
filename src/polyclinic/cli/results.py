"""`polyclinic results`: folders of results, as one table, compared, and in other layouts."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from polyclinic.cli.results_tables import beside, show_compared, show_joined
from polyclinic.errors import UserError
from polyclinic.files import check_writable, make_empty_folder, write_text
from polyclinic.hospital.record.comparison import PairedBy, RunComparison, compare_runs
from polyclinic.hospital.record.recorded import is_run
from polyclinic.results.comparing import compare_results, difference_rows
from polyclinic.results.export import TableLayout, as_latex, as_markdown, as_text, write_table
from polyclinic.results.folder import OwnCode, RunRecord
from polyclinic.results.joining import call_rows, flat_rows, item_rows, join
from polyclinic.results.printed import (
    PrintedNumber,
    PrintedRow,
    PrintedTable,
    TableColumns,
    difference_figure,
    differences,
    printed,
)
from polyclinic.results.reading import RunResults, fetch, read_results
from polyclinic.run.options import FILE, BootstrapSeed, Json, Several
from polyclinic.storage.server import is_store
from polyclinic.storage.server import shown as store_shown
from polyclinic.terminal.figures import ShownFigure, at_least, number
from polyclinic.terminal.screen import console, plain, print_json
from polyclinic.terminal.tables import counted, p_value, table

To = Annotated[
    TableLayout | None,
    Parameter(
        help="Write it as it is shown, for Markdown or LaTeX, or its plain rows as CSV, JSON or Parquet; by default "
        "what --out ends in."
    ),
]
NewTable = Annotated[Path | None, FILE, Parameter(help="Where to write it; by default it is printed.")]

_ENDINGS = {".md": TableLayout.MARKDOWN, ".tex": TableLayout.LATEX}
_ENDINGS |= {f".{one}": one for one in (TableLayout.CSV, TableLayout.JSON, TableLayout.PARQUET)}


def write_tables(
    tables: Sequence[PrintedTable],
    rows: Sequence[Mapping[str, Any]],
    to: TableLayout | None,
    out: Path | None,
    *,
    otherwise: TableLayout | None = None,
) -> None:
    """Writes tables as people read them where the layout is for people, and there are any; else plain rows.

    `otherwise` is the layout where neither `to` nor the name of the file says one.

    Raises:
        UserError: nothing says the layout.
        BadInput: the file cannot be written.
    """
    layout = to or _ENDINGS.get("" if out is None else out.suffix.lower(), otherwise)
    if layout is None:
        raise UserError(f"{out}: its ending says no layout; name one with --to, or end it in {', '.join(_ENDINGS)}")
    if out is not None:
        check_writable(out)
    typeset = {TableLayout.MARKDOWN: as_markdown, TableLayout.LATEX: as_latex}.get(layout)
    if out is None:
        sys.stdout.write(as_text(rows, layout) if typeset is None or not tables else typeset(tables))
        return
    if typeset is None or not tables:
        write_table(out, rows, layout)
    else:
        write_text(out, typeset(tables))
    console().print(plain(f"{counted(len(rows), 'row')}: {out}"))


_LONGEST = 80  # letters of a value that is shown

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
    Parameter(name="--measure", metavar="NAME...", help="These measures; by default the chief one of each set."),
]
Measures = Annotated[
    list[str] | None,
    Several,
    Parameter(name="--measure", metavar="NAME...", help="Only these measures; all by default."),
]


def list_results(*folders: Folders, json: Json = False) -> None:
    """Prints a line for each run."""
    found = read_results(*folders)
    rows = [_listed(one) for one in found]
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
    cost, unpriced = _costs(one.record)
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


def show(
    folder: Annotated[str, Parameter(metavar="DIR", help="A folder that --out made, or a store's address with #17.")],
    /,
    *,
    json: Json = False,
) -> None:
    """Prints what a run was, and what came of it."""
    (one, *more) = read_results(folder)
    if more:
        where = store_shown(folder.partition("#")[0]) if is_store(folder) else folder
        one_of = f"{where}{one.name}" if one.name else one.folder
        raise UserError(f"{where} holds {1 + len(more)} runs; name one of them, such as {one_of}")
    joined = join([one])
    if json:
        print_json({"record": one.record, "table": flat_rows(joined)})
        return
    screen = console()
    show_record(screen, one.record)
    show_joined(screen, joined)


def show_record(screen: Console, record: RunRecord) -> None:
    """Prints what a run was."""
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    asked: dict[str, list[str]] = {}
    for one in record.models:
        how = ", ".join(f"{name} {value}" for name, value in one.parameters.items())
        at = f" at {', '.join(one.base_url)}" if one.base_url else ""
        asked.setdefault(f"{one.name}{at}{f' ({how})' if how else ''}", []).append(one.role)
    lines = {
        "run": " ".join(["polyclinic", *record.command]) if record.command else record.kind,
        "finished": record.finished,
        "versions": versions,
        "options": _options(record.configuration),
        "data": "; ".join(f"{one.file} (SHA-256 {one.sha256[:12]}…)" for one in record.data),
        "code": "; ".join(_code(one) for one in record.code),
        "cases": "; ".join(map(str, record.cases)),
        "models": "; ".join(f"{name} as {', '.join(roles)}" for name, roles in asked.items()),
        "calls": _calls(record),
        "other than in the paper": "; ".join(record.departures),
    }
    for name, text in lines.items():
        if text:
            screen.print(Text.assemble((f"{name}: ", "bold"), plain(text)), soft_wrap=True)
    screen.print()


def _code(own: OwnCode) -> str:
    said = (own.package, f"SHA-256 {own.sha256[:12]}…" if own.sha256 else "")
    return f"{own.name} ({', '.join(filter(None, said))})"


def _calls(record: RunRecord) -> str:
    """Returns what all calls of the run came to, each counted once."""
    calls, used = sum(one.calls for one in record.calls), sum(one.tokens_in + one.tokens_out for one in record.calls)
    costs, unpriced = _costs(record)
    replayed = sum(one.replayed for one in record.calls)
    whose = "asked by the parts of --on, or earlier" if "--on" in record.command else "which cost nothing now"
    kept = f"{replayed:,} of them answered from a journal, {whose}" if replayed else ""
    cost = f"cost {at_least(costs, '.4f', more=unpriced)}" if costs is not None else ""
    cost += f", without {counted(unpriced, 'call')} that took tokens without a price" if cost and unpriced else ""
    told = (f"{calls:,} in all", kept, f"{used:,} tokens" if used else "", cost)
    return ", ".join(filter(None, told)) if calls else ""


def _costs(record: RunRecord) -> tuple[float | None, int]:
    """Returns what all calls of the run cost, and how many took tokens of which nobody knows what they cost."""
    costs = [one.cost for one in record.calls if one.cost is not None]
    return (sum(costs) if costs else None), sum(one.unpriced for one in record.calls)


_WHO = "setup"
_NO_OPTIONS = ("made_of", "api_key_env", "traces", "lookahead")
"""What stands under the versions, and what no answer depends on."""


def _options(configuration: Mapping[str, object]) -> str:
    """Returns what was set in one line, by the names of options; of what holds much, that it is there.

    A run of the hospital keeps who plays as a part of its own, beside what it is made of and its whole hospital.
    """
    told, left = list[str](), list[str]()
    given = {name: value for name, value in configuration.items() if name not in (_WHO, *_NO_OPTIONS)}
    who = configuration.get(_WHO)
    inside = dict(who) if isinstance(who, Mapping) else {}
    for name, value in {**inside, **given}.items():
        if name in _NO_OPTIONS or value is None or value is False or value in ("", [], {}):
            continue
        short = not isinstance(value, Mapping) and len(_short(value)) <= _LONGEST
        (told if short else left).append(f"{name} {_short(value)}" if short else name)
    return ", ".join(told) + (f"; in the folder's results.json also {', '.join(left)}" if left else "")


def _short(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


Columns = Annotated[
    TableColumns | None,
    Parameter(
        help="What stands in the columns: measures; entrants, with measures below one another; or sets, a table for "
        "each measure, as papers print it. By default measures, and entrants where few have many measures."
    ),
]


def join_results(
    *folders: Folders,
    measure: Measures = None,
    columns: Columns = None,
    to: To = None,
    out: NewTable = None,
    json: Json = False,
) -> None:
    """Prints one table of all of them: sets, models and methods."""
    joined = join(read_results(*folders), measures=measure or ())
    if to is not None or out is not None:
        write_tables(printed(joined, columns), flat_rows(joined), to, out)
    elif json:
        print_json(flat_rows(joined))
    else:
        show_joined(console(), joined, columns)


def compare(
    *folders: Folders,
    measure: Compared = None,
    baseline: Annotated[
        str | None,
        Parameter(metavar="NAME", help="A model or method that each is held against; else every two."),
    ] = None,
    seed: BootstrapSeed = 0,
    to: To = None,
    out: NewTable = None,
    json: Json = False,
) -> None:
    """Prints paired differences; of two runs of the hospital with one seed, patient by patient and day by day."""
    if len(folders) == 2 and any(is_run(Path(folder)) for folder in folders) and not measure and baseline is None:
        compare_hospital(*map(Path, folders), json=json, to=to, out=out)
        return
    compared = compare_results(read_results(*folders), measures=measure or (), baseline=baseline, seed=seed)
    if to is not None or out is not None:
        write_tables([differences(compared)], difference_rows(compared), to, out)
    elif json:
        print_json(compared.rows)
    else:
        show_compared(console(), compared)


def export(
    *folders: Folders,
    to: To = None,
    what: Annotated[
        Literal["table", "items", "calls", "comparison", "folder"],
        Parameter(
            help="The joined table, every item, every call to a model, paired differences; or folder: results of a "
            "store as --out would have written them, into the folder --out."
        ),
    ] = "table",
    measure: Measures = None,
    columns: Columns = None,
    out: NewTable = None,
) -> None:
    """Writes the table for other tools; as CSV where nothing says otherwise."""
    if what == "folder":
        _fetch(folders, out)
        return
    results = read_results(*folders)
    rows: Sequence[dict[str, Any]]
    tables: list[PrintedTable] = []
    match what:
        case "table":
            joined = join(results, measures=measure or ())
            rows, tables = flat_rows(joined), printed(joined, columns)
        case "comparison":
            compared = compare_results(results, measures=measure or ())
            rows, tables = difference_rows(compared), [differences(compared)]
        case "calls":
            rows = [*call_rows(results)]
            if not rows:
                problem = "no calls are kept there: these runs asked no model, or were made before calls were kept"
                raise UserError(problem)
        case _:
            rows = [*item_rows(results)]
    write_tables(tables, rows, to, out, otherwise=TableLayout.CSV)


def _fetch(stores: Sequence[str], out: Path | None) -> None:
    """Writes what is in stores into a folder each."""
    if out is None or not all(map(is_store, stores)):
        raise UserError("--what folder takes results out of stores, by their addresses, and needs --out DIR")
    came = [folder for one in stores for folder in fetch(one)]
    make_empty_folder(out)
    for folder in came:
        shutil.copytree(folder, out / folder.name)
    console().print(plain(f"{len(came)} folders: {out}"))


_TITLES: dict[PairedBy, str] = {
    "patients": "patient by patient: illnesses with which they came to both",
    "days": "day by day",
    "runs": "run by run: means of the patients of each seed",
}
_HOW = (
    "means over pairs that have the measure in both; intervals by bootstrap over residents, days or runs, p by turning "
    "signs, adjusted over the measures of a table by Holm"
)


def compare_hospital(
    first: Path, second: Path, *, json: bool = False, to: TableLayout | None = None, out: Path | None = None
) -> None:
    """Prints by how much the second is above the first, with intervals and p values that count how many were asked."""
    compared = compare_runs(first, second)
    if to is not None or out is not None:
        write_tables(_tables(compared), compared.as_rows(), to, out)
    elif json:
        print_json(compared)
    else:
        _show(console(), compared)


def _show(screen: Console, compared: RunComparison) -> None:
    seeds = ", ".join(map(str, compared.seeds))
    screen.print(plain(f"1: {compared.first}\n2: {compared.second}"), style="bold", soft_wrap=True)
    alone = f"{compared.only_first:,} only in 1, {compared.only_second:,} only in 2"
    why = (
        ": with the other their residents were ill already, or dead"
        if compared.only_first + compared.only_second
        else ""
    )
    screen.print(f"seed {seeds}: {compared.onsets:,} onsets are the same in both; {alone}{why}")
    for name, (one, other) in compared.differs.items():
        screen.print(plain(f"{name}: {one} → {other}"), soft_wrap=True)
    if not compared.differs:
        screen.print("begun alike: what differs comes from versions of the package, or of models", style="yellow")
    for told in _tables(compared):
        screen.print()
        screen.print(beside(told, " to "))
    screen.print(_HOW, style="dim")


def _tables(compared: RunComparison) -> list[PrintedTable]:
    """Returns a table for each way in which measures are paired, with what is to be said below the last."""
    tables = []
    for by, title in _TITLES.items():
        rows = [
            PrintedRow(
                (one.name,),
                (
                    PrintedNumber(number(one.first)),
                    PrintedNumber(number(one.second)),
                    difference_figure(one.difference),
                    PrintedNumber(p_value(one.p_holm)),
                    PrintedNumber(number(one.difference.n, ",")),
                ),
            )
            for one in compared.measures
            if one.by == by
        ]
        if rows:
            heads = ("1", "2", "2 − 1", "p (Holm)", "pairs")
            tables.append(PrintedTable(title, ("",), heads, tuple(rows)))
    tables[-1:] = [one._replace(notes=(_HOW,)) for one in tables[-1:]]
    return tables
