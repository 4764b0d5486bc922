"""One page of any number of runs: tables, figures, what each run was, and down to what was said of each item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polyclinic import __version__
from polyclinic.results.comparing import ResultsComparison
from polyclinic.results.drawing import forest
from polyclinic.results.folder import ItemRow
from polyclinic.results.joining import JoinedTable, is_share
from polyclinic.results.printed import PrintedTable, TableColumns, differences, printed
from polyclinic.results.reading import RunResults
from polyclinic.results.transcripts import transcript
from polyclinic.terminal.html import page_table, shown, whole_page

_DRAWN = 12  # measures of a set that are drawn
_SAID = 2_000_000  # letters of what was said that the page holds; of further items it says where it lies
_ITEMS = 5_000  # items that are listed

_NAMED = 4  # kinds of runs that the title names
_KINDS = {"run": "a run of the hospital", "evolve": "a practice"}

_STYLE = """
:root { color-scheme: light dark; --mark: #16507a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --soft: #aaa; --rule: #444; --paper: #16181b; --mark: #7ab8e6; } }
body { max-width: 62rem; } .wide { overflow-x: auto; } .wide th, .wide td { overflow-wrap: break-word; }
figure svg { width: auto; max-width: 100%; } svg text { font-size: 12px; fill: currentColor; }
.grid { stroke: var(--rule); } .span { stroke: var(--mark); stroke-width: 2; } .ours { fill: var(--mark); }
.published { fill: none; stroke: var(--soft); stroke-width: 2; }
details { margin: .2rem 0; } details p { margin: .3rem 0 .3rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
summary { cursor: pointer; } dt { font-weight: 600; } dd { margin: 0 0 .4rem 1rem; overflow-wrap: anywhere; }
@media print and (prefers-color-scheme: dark) {
  :root { --ink: #222; --soft: #555; --rule: #ddd; --paper: #fff; --mark: #16507a; } }
"""


def page(results: Sequence[RunResults], joined: JoinedTable, compared: ResultsComparison | None) -> str:
    """Returns the page, in one file."""
    # What one set alone has stands in the table of that set's measures.
    by_sets = [one._replace(notes=()) for one in printed(joined, TableColumns.SETS) if len(one.heads) > 1]
    parts = [
        "<h2>Table</h2>",
        *map(_table, by_sets),
        *map(_table, printed(joined)),
        "<h2>Figures</h2>",
        *_figures(results, joined),
        *(["<h2>Differences</h2>", _table(differences(compared))] if compared is not None else []),
        "<h2>What was run</h2>",
        *map(_record, results),
        "<h2>Items</h2>",
        *_items(results),
    ]
    papers = "; ".join(dict.fromkeys(one.record.paper for one in results if one.record.paper))
    written = f"Written by polyclinic {__version__}."
    return whole_page(_title(results), "".join(parts), made_from=papers, made_by=written, style=_STYLE)


def _title(results: Sequence[RunResults]) -> str:
    """Returns what names all of them, as far as a title has room."""
    names = [*dict.fromkeys(one.record.title or _KINDS.get(one.record.kind, one.record.kind) for one in results)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{'; '.join(names[:_NAMED])}{more}" or "results"


def _table(table: PrintedTable) -> str:
    """Returns a table, each number with its interval, and what is to be said below."""
    title = f"<h3>{shown(table.title)}</h3>" if table.title else ""
    rows = [[*row.labels, *map(str, row.figures)] for row in table.rows]
    notes = "".join(f'<p class="note">{shown(note)}</p>' for note in table.notes)
    drawn = page_table([*table.labels, *table.heads], rows, left=len(table.labels))
    return f'{title}<div class="wide">{drawn}</div>{notes}'


def _figures(results: Sequence[RunResults], joined: JoinedTable) -> Iterator[str]:
    for name in dict.fromkeys(row.set for row in joined.rows):
        rows = [row for row in joined.rows if row.set == name]
        having = [measure for measure in joined.measures if any(measure in row.measures for row in rows)]
        for measure in having[:_DRAWN]:
            drawn = forest(rows, measure, share=is_share(results, measure))
            printed_too = any(row.published and measure in row.measures for row in rows)
            told = f"{shown(name)}: {shown(measure)}, with intervals that hold together"
            yield f"<figure>{drawn}<figcaption>{told}{'; ○ published' * printed_too}</figcaption></figure>"


def _record(one: RunResults) -> str:
    record = one.record
    set_to = {name: value for name, value in record.configuration.items() if value not in (None, False, "", [])}
    asked: dict[str, list[str]] = {}
    for model in record.models:
        how = ", ".join(f"{name} {value}" for name, value in model.parameters.items())
        at = f" at {', '.join(model.base_url)}" if model.base_url else ""
        asked.setdefault(f"{model.name}{at}{f' ({how})' if how else ''}", []).append(model.role)
    facts = {
        "command": " ".join(["polyclinic", *record.command]) if record.command else record.kind,
        "finished": record.finished,
        "seed": str(record.seed),
        "versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
        "options": ", ".join(f"{name} {value}" for name, value in set_to.items()),
        "data": "; ".join(f"{file.file} (SHA-256 {file.sha256})" for file in record.data),
        "cases": "; ".join(map(str, record.cases)),
        "models": "; ".join(f"{name} as {', '.join(roles)}" for name, roles in asked.items()),
    }
    facts["other than in the paper"] = "; ".join(record.departures)
    told = "".join(f"<dt>{name}</dt><dd>{shown(fact)}</dd>" for name, fact in facts.items() if fact)
    return f"<details><summary>{shown(one.called)}</summary><dl>{told}</dl></details>"


def _items(results: Iterable[RunResults]) -> Iterator[str]:
    """Yields a list of items for each entrant, with what was said of each, as long as there is room."""
    room, left = _SAID, _ITEMS
    for one in results:
        groups: dict[str, list[ItemRow]] = {}
        for row in one.rows:
            groups.setdefault(", ".join(filter(None, (row.set, row.model, row.method))), []).append(row)
        for name, rows in groups.items():
            yield f"<details><summary>{shown(name)}: {len(rows):,} items</summary>"
            for row in rows[: max(left, 0)]:
                said = transcript(one.folder, row.at) if room > 0 and row.at else []
                told = "".join(f"<p><b>{shown(line.who)}</b>: {shown(line.text)}</p>" for line in said)
                room -= len(told)
                values = ", ".join(f"{measure} {value:g}" for measure, value in row.values.items())
                label = shown(f"{row.item}: {values or row.end or 'failed'}")
                where = f'<p class="note">{shown(row.at)}</p>' if row.at else ""
                yield f"<details><summary>{label}</summary>{told}{where}</details>"
            if len(rows) > max(left, 0):
                yield f'<p class="note">and {len(rows) - max(left, 0):,} more: items.jsonl</p>'
            left -= len(rows)
            yield "</details>"
