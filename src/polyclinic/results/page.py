"""One page of any number of runs: tables, figures, differences, and what each run was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyclinic import __version__
from polyclinic.results.folder import RunResults
from polyclinic.results.joining import JoinedRow, JoinedTable, ResultsComparison, is_share
from polyclinic.results.printed import PrintedTable, TableColumns, differences, printed, record_facts
from polyclinic.terminal.html import page_table, shown, whole_page

_LABEL, _WIDE, _ROW, _TOP = 300, 420, 22, 34
_LETTERS = 44
_DRAWN = 12  # measures of a set that are drawn
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
details { margin: .2rem 0; }
summary { cursor: pointer; } dt { font-weight: 600; } dd { margin: 0 0 .4rem 1rem; overflow-wrap: anywhere; }
@media print and (prefers-color-scheme: dark) {
  :root { --ink: #222; --soft: #555; --rule: #ddd; --paper: #fff; --mark: #16507a; } }
"""


def page(results: Sequence[RunResults], joined: JoinedTable, compared: ResultsComparison | None) -> str:
    """Returns the page, in one file."""
    # What only one set has is in the table of that set's measures.
    by_sets = [one for one in printed(joined, TableColumns.SETS) if len(one.columns) > one.left + 1]
    parts = [
        "<h2>Table</h2>",
        *(_table(one._replace(notes=())) for one in by_sets),
        *map(_table, printed(joined)),
        "<h2>Figures</h2>",
        *_figures(results, joined),
        *(["<h2>Differences</h2>", _table(differences(compared))] if compared is not None else []),
        "<h2>What was run</h2>",
        *map(_record, results),
    ]
    papers = "; ".join(dict.fromkeys(one.record.paper for one in results if one.record.paper))
    written = f"Written by polyclinic {__version__}."
    return whole_page(_title(results), "".join(parts), made_from=papers, made_by=written, style=_STYLE)


def _title(results: Sequence[RunResults]) -> str:
    """Returns the names of all of them, as far as a title has room."""
    names = [*dict.fromkeys(one.record.title or _KINDS.get(one.record.kind, one.record.kind) for one in results)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{'; '.join(names[:_NAMED])}{more}" or "results"


def _table(table: PrintedTable) -> str:
    title = f"<h3>{shown(table.title)}</h3>" if table.title else ""
    notes = "".join(f'<p class="note">{shown(note)}</p>' for note in table.notes)
    return f'{title}<div class="wide">{page_table(table.columns, table.rows, left=table.left)}</div>{notes}'


def _record(one: RunResults) -> str:
    facts = "".join(f"<dt>{name}</dt><dd>{shown(fact)}</dd>" for name, fact in record_facts(one.record).items())
    return f"<details><summary>{shown(one.called)}</summary><dl>{facts}</dl></details>"


def _figures(results: Sequence[RunResults], joined: JoinedTable) -> Iterator[str]:
    for name in dict.fromkeys(row.set for row in joined.rows):
        rows = [row for row in joined.rows if row.set == name]
        having = [measure for measure in joined.measures if any(measure in row.measures for row in rows)]
        for measure in having[:_DRAWN]:
            drawn = _forest(rows, measure, share=is_share(results, measure))
            printed_too = any(row.published and measure in row.measures for row in rows)
            told = f"{shown(name)}: {shown(measure)}, with intervals of 95 %"
            yield f"<figure>{drawn}<figcaption>{told}{'; ○ published' * printed_too}</figcaption></figure>"


def _forest(rows: Sequence[JoinedRow], measure: str, *, share: bool) -> str:
    """Returns the figure of one measure of one set; published figures are hollow, and have no interval."""
    having = [(row, one.mean, one) for row in rows if (one := row.measures.get(measure)) and one.mean is not None]
    reached = [value for _, _, one in having for value in (one.mean, one.low, one.high) if value is not None]
    low, high = (0.0, 100.0) if share else (min([0.0, *reached]), max([*reached, 1e-9]))
    height, width = _TOP + _ROW * len(having), _LABEL + _WIDE

    def x(value: float) -> float:
        return round(_LABEL + (value - low) / (high - low) * (_WIDE - 20), 1)

    parts = []
    for value in (low + part * (high - low) / 4 for part in range(5)):
        parts.append(f'<line x1="{x(value)}" x2="{x(value)}" y1="{_TOP - 8}" y2="{height}" class="grid"/>')
        parts.append(f'<text x="{x(value)}" y="{_TOP - 14}" text-anchor="middle">{value:.3g}</text>')
    for number, (row, mean, one) in enumerate(having):
        y = _TOP + _ROW * number + _ROW // 2
        name = ", ".join(filter(None, (row.model, row.method)))
        label = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
        parts.append(f'<text x="{_LABEL - 12}" y="{y + 4}" text-anchor="end">{shown(label)}</text>')
        if one.low is not None and one.high is not None:
            parts.append(f'<line x1="{x(one.low)}" x2="{x(one.high)}" y1="{y}" y2="{y}" class="span"/>')
        kind = "published" if row.published else "ours"
        parts.append(f'<circle cx="{x(mean)}" cy="{y}" r="4.5" class="{kind}"><title>{mean:.2f}</title></circle>')
    return f'<svg viewBox="0 0 {width} {height + 8}" width="{width}" role="img">{"".join(parts)}</svg>'
