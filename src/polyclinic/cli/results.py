"""`polyclinic results`: folders of results, as one table, compared, and in other layouts."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyclinic.cli.options import FILE, BootstrapSeed, Json, Several
from polyclinic.errors import UserError
from polyclinic.files import check_writable, make_empty_folder
from polyclinic.hospital.record.run_file import is_run
from polyclinic.results.comparing import ResultsComparison, compare_results
from polyclinic.results.export import TableLayout, as_text, write_table
from polyclinic.results.folder import RunRecord
from polyclinic.results.joining import JoinedTable, call_rows, flat_rows, item_rows, join
from polyclinic.results.reading import RunResults, fetch, read_results
from polyclinic.statistics.uncertainty import Estimate
from polyclinic.stores.address import is_store
from polyclinic.stores.address import shown as store_shown
from polyclinic.terminal.screen import console, plain, print_json
from polyclinic.terminal.tables import NOTHING, difference_cells, interval, number, table, tokens

_LONGEST = 80  # letters of a value that is shown
SHARED = "shared: calls that others of the run need as well; they stand in several rows, and once in the run's sum"
_SEVERAL = 10  # measures beyond which intervals are left to --json and export

Folders = Annotated[
    str,
    Parameter(
        metavar="DIR...",
        help="Folders that --out made, or folders of such folders; or a store of --store, by its address: all that is "
        "in it, or with #17 behind one of them.",
    ),
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
        texts = (row["folder"], row["kind"], of, who, row["finished"][:16].replace("T", " "))
        items = f"{row['items']:,}{' so far' if row['stopped'] else ''}"
        shown.add_row(*(Text(plain(text)) for text in texts), items, number(row["cost"], ".4f"))
    console().print(shown)


def _listed(one: RunResults) -> dict[str, Any]:
    costs = [call.cost for call in one.record.calls if call.cost is not None]
    return {
        "folder": one.called,
        "kind": one.record.kind,
        "sets": list(dict.fromkeys(row.set for row in one.rows)),
        "models": list(dict.fromkeys(row.model for row in one.rows)),
        "methods": list(dict.fromkeys(row.method for row in one.rows if row.method)),
        "finished": one.record.finished,
        "items": len(one.rows),
        "stopped": one.record.stopped,
        "cost": sum(costs) if costs else None,
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
        "cases": "; ".join(map(str, record.cases)),
        "models": "; ".join(f"{name} as {', '.join(roles)}" for name, roles in asked.items()),
        "calls": _calls(record),
    }
    for name, text in lines.items():
        if text:
            screen.print(Text.assemble((f"{name}: ", "bold"), plain(text)), soft_wrap=True)
    screen.print()


def _calls(record: RunRecord) -> str:
    """Returns what all calls of the run came to, each counted once."""
    calls, used = sum(one.calls for one in record.calls), sum(one.tokens_in + one.tokens_out for one in record.calls)
    costs = [one.cost for one in record.calls if one.cost is not None]
    told = (f"{calls:,} in all", f"{used:,} tokens" if used else "", f"cost {sum(costs):.4f}" if costs else "")
    return ", ".join(filter(None, told)) if calls else ""


def _options(configuration: Mapping[str, object]) -> str:
    """Returns what was set in one line; of what holds much, such as a hospital file, that it is there."""
    told, left = list[str](), list[str]()
    for name, value in configuration.items():
        inner = value if isinstance(value, Mapping) else {}
        for at, one in {name: value, **{f"{name}.{key}": one for key, one in inner.items()}}.items():
            if one is None or one is False or one in ("", [], {}) or (inner and at == name):
                continue
            short = not isinstance(one, Mapping) and len(_short(one)) <= _LONGEST
            (told if short else left).append(f"{at} {_short(one)}" if short else at)
    return ", ".join(told) + (f"; in the folder's results.json also {', '.join(left)}" if left else "")


def _short(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def join_results(*folders: Folders, measure: Measures = None, json: Json = False) -> None:
    """Prints one table of all of them: sets, models and methods."""
    joined = join(read_results(*folders), measures=measure or ())
    if json:
        print_json(flat_rows(joined))
        return
    show_joined(console(), joined)


def show_joined(screen: Console, joined: JoinedTable) -> None:
    """Prints the table, with the intervals where there are few measures; many measures of few entrants stand below."""
    if len(joined.measures) > _SEVERAL // 2 and len(joined.rows) <= _SEVERAL // 2:
        screen.print(_by_measure(joined))
    else:
        screen.print(_by_entrant(joined))
    for note in joined.notes:
        screen.print(plain(note), style="yellow", soft_wrap=True)
    screen.print(
        "intervals of 95 %, over cases: Wilson's of shares, of other numbers by bootstrap from 6 cases on; "
        "calls, tokens, s: an item",
        style="dim",
    )
    if _shares(joined):
        screen.print(SHARED, style="dim")


def _shares(joined: JoinedTable) -> bool:
    """Whether entrants needed the same calls."""
    return any(row.shared for row in joined.rows)


def _by_measure(joined: JoinedTable) -> Table:
    """Returns a row for each measure, a column for each entrant."""
    names = [", ".join(filter(None, (row.set, row.model, row.method))) for row in joined.rows]
    shown = table(None, ("measure", *names))
    for name in joined.measures:
        means = [row.measures.get(name) for row in joined.rows]
        shown.add_row(
            plain(name),
            *(_mean(one) if one is None or one.low is None else f"{_mean(one)} [{interval(one)}]" for one in means),
        )
    shown.add_section()
    for name in ("n", "failed"):
        shown.add_row(name, *(NOTHING if row.published else str(getattr(row, name)) for row in joined.rows))
    for name in ("calls", *(["shared"] if _shares(joined) else []), "seconds"):
        shown.add_row(name, *(NOTHING if row.published else f"{getattr(row, name):,.1f}" for row in joined.rows))
    shown.add_row("tokens", *(NOTHING if row.published else tokens(row.tokens, row.calls) for row in joined.rows))
    return shown


def _by_entrant(joined: JoinedTable) -> Table:
    """Returns a row for each entrant."""
    few = len(joined.measures) <= _SEVERAL // 3
    money = any(row.cost is not None for row in joined.rows)
    names = [part for name in joined.measures for part in ((name, "95 % interval") if few else (name,))]
    shared = _shares(joined)
    calls = ["calls", *(["shared"] if shared else []), "tokens", *(["cost"] if money else []), "s"]
    columns = ["set", "model", "method", *names, "n", "failed", *calls]
    shown = table(None, columns, left=3)
    for row in joined.rows:
        cells: list[str] = []
        for name in joined.measures:
            one = row.measures.get(name)
            cells += [_mean(one), *([NOTHING if one is None else interval(one)] if few else [])]
        counts = [str(row.n), str(row.failed), f"{row.calls:.1f}", *([f"{row.shared:.1f}"] if shared else [])]
        counts += [tokens(row.tokens, row.calls), *([number(row.cost, ".5f")] if money else []), f"{row.seconds:.2f}"]
        counts = [NOTHING for _ in counts] if row.published else counts
        who = (Text(plain(one)) for one in (row.set, row.model, row.method))
        shown.add_row(*who, *cells, *counts, style="italic" if row.published else None)
    return shown


def _mean(one: Estimate | None) -> str:
    return NOTHING if one is None else number(one.mean)


def compare(
    *folders: Folders,
    measure: Measures = None,
    baseline: Annotated[
        str | None,
        Parameter(metavar="NAME", help="A model or method that each is held against; else every two."),
    ] = None,
    seed: BootstrapSeed = 0,
    json: Json = False,
) -> None:
    """Prints paired differences; of two runs of the hospital with one seed, patient by patient and day by day."""
    if len(folders) == 2 and any(is_run(Path(folder)) for folder in folders) and not measure and baseline is None:
        from polyclinic.cli.results_of_hospital import compare_hospital  # noqa: PLC0415 - for those who have runs of it

        compare_hospital(*map(Path, folders), json=json)
        return
    compared = compare_results(read_results(*folders), measures=measure or (), baseline=baseline, seed=seed)
    if json:
        print_json(compared.rows)
        return
    show_compared(console(), compared)


def show_compared(screen: Console, compared: ResultsComparison) -> None:
    """Prints differences, and what could have been found where nothing was."""
    measures, sets = ({getattr(row, name) for row in compared.rows} for name in ("measure", "set"))
    names = [*(["set"] if len(sets) > 1 else []), *(["measure"] if len(measures) > 1 else []), "first", "second"]
    columns = (*names, "difference", "95 % interval", "p", "p (Holm)", "n", "detectable")
    of = [*(sets if len(sets) == 1 else ()), *(measures if len(measures) == 1 else ())]
    shown = table(", ".join(of) or None, columns, left=len(names))
    for row in compared.rows:
        texts = (Text(plain(getattr(row, name))) for name in names)
        shown.add_row(*texts, *difference_cells(row.difference, row.p_holm))
    screen.print(shown)
    screen.print(
        "item by item, over cases; p: exact below 20 cases (McNemar's of shares, else by turning signs), corrected by "
        "Holm over all rows; detectable, where none was found: the smallest that so many cases show four times in five",
        style="dim",
    )


def export(
    *folders: Folders,
    to: Annotated[TableLayout, Parameter(help="The layout.")] = TableLayout.CSV,
    what: Annotated[
        Literal["table", "items", "calls", "comparison", "folder"],
        Parameter(
            help="The joined table, every item, every call to a model, paired differences; or folder: results of a "
            "store as --out would have written them, into the folder --out."
        ),
    ] = "table",
    measure: Measures = None,
    out: Annotated[Path | None, FILE, Parameter(help="Where to write; by default it is printed.")] = None,
) -> None:
    """Writes the table for other tools."""
    if what == "folder":
        _fetch(folders, out)
        return
    if out is not None:
        check_writable(out)
    results = read_results(*folders)
    rows: Sequence[dict[str, Any]] = [*_rows(results, what, measure or ())]
    if what == "calls" and not rows:
        raise UserError("no calls are kept there: these runs asked no model, or were made before calls were kept")
    if out is None:
        sys.stdout.write(as_text(rows, to))
        return
    write_table(out, rows, to)
    console().print(plain(f"{len(rows)} rows: {out}"))


def _fetch(stores: Sequence[str], out: Path | None) -> None:
    """Writes what is in stores into a folder each."""
    if out is None or not all(map(is_store, stores)):
        raise UserError("--what folder takes results out of stores, by their addresses, and needs --out DIR")
    came = [folder for one in stores for folder in fetch(one)]
    make_empty_folder(out)
    for folder in came:
        shutil.copytree(folder, out / folder.name)
    console().print(plain(f"{len(came)} folders: {out}"))


def _rows(results: Sequence[RunResults], what: str, measures: Sequence[str]) -> Iterable[dict[str, Any]]:
    if what == "table":
        yield from flat_rows(join(results, measures=measures))
    elif what == "comparison":
        for row in compare_results(results, measures=measures).rows:
            flat = msgspec.structs.asdict(row)
            yield {**{k: v for k, v in flat.items() if k != "difference"}, **msgspec.structs.asdict(row.difference)}
    else:
        yield from call_rows(results) if what == "calls" else item_rows(results)
