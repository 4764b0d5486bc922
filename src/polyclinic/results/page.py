"""One page of any number of runs: tables, figures, what each run was, and down to what was said of each item."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import msgspec

from polyclinic import __version__
from polyclinic.errors import BadInput
from polyclinic.files import NO_JSON
from polyclinic.opened_files import MAX_FILE_BYTES
from polyclinic.results.comparing import ResultsComparison
from polyclinic.results.facts import record_facts
from polyclinic.results.folder import ItemRow
from polyclinic.results.joining import JoinedRow, JoinedTable, is_share
from polyclinic.results.printed import PrintedTable, TableColumns, differences, printed
from polyclinic.results.reading import RunResults
from polyclinic.statistics.uncertainty import Estimate, student, wilson
from polyclinic.terminal.html import page_table, shown, whole_page

_LABEL, _WIDE, _ROW, _TOP = 300, 420, 22, 34
_LETTERS = 44
_Z = 1.959964  # of the intervals that a table has
_MANY = 1_000  # cases, of which Student's t is the normal distribution


def simultaneous(one: Estimate, of: int, *, share: bool, seeds: int = 1) -> tuple[float, float] | None:
    """Returns the ends of one of so many intervals that hold together with 95 % (Bonferroni); None without any.

    Those of a mean are drawn out as Student's are, as the farther out, the more few cases spread. A case has as many
    values as there are seeds.
    """
    if one.mean is None or one.low is None or one.high is None or not one.n:
        return None
    beyond = 0.05 / max(of, 1)
    if share:
        z = NormalDist().inv_cdf(1 - beyond / 2)
        n = _values(one.mean, one.low, one.high)
        low, high = wilson(one.mean / 100 * n, n, z=z)
        return max(0.0, low), min(100.0, high)
    df = min(max(one.n // seeds, 2), _MANY) - 1
    longer = student(df, share=1 - beyond) / student(df)
    return one.mean - (one.mean - one.low) * longer, one.mean + (one.high - one.mean) * longer


def _values(mean: float, low: float, high: float) -> float:
    """Returns of how many values Wilson's interval of a share is: several of a case are fewer than there are.

    Its ends solve (x - mean)² = z² x (100 - x) ÷ n, so that they say n; from the end of the scale that is farther.
    """
    far, ends = (mean, low * high) if mean > 50 else (100 - mean, (100 - low) * (100 - high))
    return _Z**2 / max(far**2 / ends - 1, 1e-9)


def forest(rows: Sequence[JoinedRow], measure: str, *, share: bool) -> str:
    """Returns the figure of one measure of one set; published figures are hollow, and have no interval."""
    having = [row for row in rows if measure in row.measures and row.measures[measure].mean is not None]
    ours = sum(not row.published for row in having)
    ends = [simultaneous(row.measures[measure], ours, share=share, seeds=max(len(row.seeds), 1)) for row in having]
    means = [float(row.measures[measure].mean or 0) for row in having]
    reached = [*means, *(end for pair in ends if pair is not None for end in pair)]
    low, high = (0.0, 100.0) if share else (min([0.0, *reached]), max([*reached, 1e-9]))
    height = _TOP + _ROW * len(having)

    def x(value: float) -> float:
        return round(_LABEL + (value - low) / (high - low) * (_WIDE - 20), 1)

    parts = [
        f'<line x1="{x(low + part * (high - low) / 4)}" x2="{x(low + part * (high - low) / 4)}" y1="{_TOP - 8}" '
        f'y2="{height}" class="grid"/><text x="{x(low + part * (high - low) / 4)}" y="{_TOP - 14}" '
        f'text-anchor="middle">{low + part * (high - low) / 4:.3g}</text>'
        for part in range(5)
    ]
    for number, (row, mean, pair) in enumerate(zip(having, means, ends, strict=True)):
        y = _TOP + _ROW * number + _ROW // 2
        name = ", ".join(filter(None, (row.model, row.method)))
        label = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
        parts.append(f'<text x="{_LABEL - 12}" y="{y + 4}" text-anchor="end">{shown(label)}</text>')
        if pair is not None:
            parts.append(f'<line x1="{x(pair[0])}" x2="{x(pair[1])}" y1="{y}" y2="{y}" class="span"/>')
        kind = "published" if row.published else "ours"
        parts.append(f'<circle cx="{x(mean)}" cy="{y}" r="4.5" class="{kind}"><title>{mean:.2f}</title></circle>')
    width = _LABEL + _WIDE
    return f'<svg viewBox="0 0 {width} {height + 8}" width="{width}" role="img">{"".join(parts)}</svg>'


_FILES = 32  # whose lines are held
_TEXT = 4_000  # letters of one thing that was said


class TranscriptLine(NamedTuple):
    """One thing that was said: by whom, or what for, and the text."""

    who: str
    text: str


def transcript(folder: Path, at: str) -> list[TranscriptLine]:
    """Returns what was said of the item that stands `at` FILE:LINE; nothing where that is no longer there.

    Of a file that is not as it was written, one line says so.
    """
    name, _, line = at.rpartition(":")
    try:
        lines = _lines(folder / name) if _is_within(folder, name) else ()
    except BadInput as error:
        return [TranscriptLine("damaged", error.problem)]
    if not line.isdecimal() or not 1 <= int(line) <= len(lines):
        return []
    try:
        first = msgspec.json.decode(lines[int(line) - 1])
        if "outcome" in first:
            return [*_of_method(first)]
        return [*_of_visit([first, *_until_next(lines[int(line) :])])]
    except (*NO_JSON, TypeError, LookupError, AttributeError):
        return []


def _is_within(folder: Path, name: str) -> bool:
    """Whether a name is that of a file in the folder, and not too large; who sent the folder may have written any."""
    try:
        path = (folder / name).resolve()
        found = path.stat()
    except (OSError, ValueError):
        return False
    inside = path.is_relative_to(folder.resolve())
    return bool(name) and inside and stat.S_ISREG(found.st_mode) and found.st_size <= MAX_FILE_BYTES


@lru_cache(maxsize=_FILES)
def _lines(path: Path) -> tuple[bytes, ...]:
    try:
        return tuple(path.read_bytes().splitlines())
    except OSError:
        return ()


def _until_next(lines: tuple[bytes, ...]) -> Iterator[dict[str, Any]]:
    for line in lines:
        event = msgspec.json.decode(line)
        if event.get("seq") == 0:
            return
        yield event


def _of_method(record: Mapping[str, Any]) -> Iterator[TranscriptLine]:
    outcome = record["outcome"]
    for call in outcome.get("trace", ()):
        told = call.get("text") or f"({call.get('error', 'nothing')}: {call.get('problem', '')})"
        yield TranscriptLine(call["purpose"], told[:_TEXT])
    chosen, key = ", ".join(sorted(outcome.get("answers", ()))), ", ".join(record.get("key", ()))
    yield TranscriptLine("chosen", f"{chosen or 'nothing'}; right: {key}")


def _of_visit(events: list[dict[str, Any]]) -> Iterator[TranscriptLine]:
    for event in events:
        kind = event.get("event", "")
        if kind == "said":
            yield TranscriptLine(f"{event['who']}, turn {event.get('turn', 0)}", str(event["text"])[:_TEXT])
        elif kind != "opened":
            rest = {key: value for key, value in event.items() if key not in ("event", "seq", "turn")}
            yield TranscriptLine(kind, msgspec.json.encode(rest).decode()[:_TEXT])


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
    by_sets = [one._replace(notes=()) for one in printed(joined, TableColumns.SETS) if len(one.columns) > one.left + 1]
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
    notes = "".join(f'<p class="note">{shown(note)}</p>' for note in table.notes)
    drawn = page_table(table.columns, table.rows, left=table.left)
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
    facts = "".join(f"<dt>{name}</dt><dd>{shown(fact)}</dd>" for name, fact in record_facts(one.record).items())
    return f"<details><summary>{shown(one.called)}</summary><dl>{facts}</dl></details>"


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
