"""The report of a run: one HTML file that needs no network and no script, with bar charts and tables.

What is in it comes from the log in one pass. Whatever a model, a case or a hospital file says is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polyclinic import __version__
from polyclinic.hospital.record import tables
from polyclinic.hospital.record.account import account_of
from polyclinic.hospital.record.attendances import Treated
from polyclinic.hospital.record.figures import Figures, proportion
from polyclinic.hospital.record.happenings import DAY, Acuity, FollowUpOutcome
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.tables import RunTable, named
from polyclinic.terminal.html import page_table, shown, whole_page

BLUE, ORANGE, GREEN, RED, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9"
_LABEL, _WIDE, _ROW, _TOP = 230, 480, 18, 44
_MANY_DAYS = 42  # more are shown week by week


class _Page:
    """The parts of a page, to which headings, tables and charts are added; `source` says what they were made from."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.parts: list[str] = []

    def heading(self, text: str) -> None:
        self.parts.append(f"<h2>{shown(text)}</h2>")

    def note(self, text: str) -> None:
        if text:
            self.parts.append(f'<p class="note">{shown(text)}</p>')

    def table(self, one: RunTable) -> None:
        """Adds a table that is moved within its place if the window is narrower."""
        if one.title:
            self.parts.append(f"<h3>{shown(one.title)}</h3>")
        self.parts.append(f'<div class="wide">{page_table(one.heads, one.rows)}</div>')
        self.note(one.note)

    def bars(
        self,
        title: str,
        says: str,
        parts: Mapping[str, str],
        rows: Mapping[str, Sequence[float]],
        *,
        intervals: Sequence[tuple[float, float]] = (),
        percent: bool = False,
    ) -> None:
        """Adds a chart of stacked bars, one for each row; `parts` are the names and colours of their segments."""
        most = 100.0 if percent else max([1.0, *map(sum, rows.values())])
        height = _TOP + _ROW * len(rows)
        drawn = []
        for place, (name, colour) in enumerate(parts.items()):
            x = _LABEL + 125.0 * place
            drawn.append(f'<rect x="{x}" y="4" width="10" height="10" fill="{colour}"/>')
            drawn.append(f'<text x="{x + 14}" y="13">{shown(name)}</text>')
        for quarter in range(5):
            x = _LABEL + _WIDE * quarter / 4
            drawn.append(f'<line x1="{x}" x2="{x}" y1="{_TOP - 8}" y2="{height}" stroke="#ddd"/>')
            drawn.append(f'<text x="{x}" y="{_TOP - 12}" text-anchor="middle">{most * quarter / 4:.3g}</text>')
        for number, (name, values) in enumerate(rows.items()):
            y, x = _TOP + _ROW * number, 0.0 + _LABEL
            drawn.append(f'<text x="{_LABEL - 8}" y="{y + 11}" text-anchor="end">{shown(name)}</text>')
            for (part, colour), value in zip(parts.items(), values, strict=True):
                wide = value / most * _WIDE
                told = f"<title>{shown(part)}: {value:.3g}</title>"
                drawn.append(
                    f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{_ROW - 5}" fill="{colour}">{told}</rect>'
                )
                x += wide
            drawn.append(f'<text x="{x + 6:.1f}" y="{y + 11}">{sum(values):.3g}</text>' if not intervals else "")
        for number, ends in enumerate(intervals):
            low, high = (_LABEL + end / most * _WIDE for end in ends)
            y = _TOP + _ROW * number + 6
            drawn.append(f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" stroke="black"/>')
        caption = shown(f"{says} {self._source}")
        svg = f'<svg viewBox="0 0 {_LABEL + _WIDE + 60} {height}" font-size="11" role="img">{"".join(drawn)}</svg>'
        self.parts.append(f"<figure><h3>{shown(title)}</h3>{svg}<figcaption>{caption}</figcaption></figure>")

    def shares(self, title: str, says: str, shares: Mapping[str, Figures]) -> None:
        """Adds a chart of shares with their intervals; those of nothing are left out."""
        known = {f"{name} ({one['n']})": one for name, one in shares.items() if one["percent"] is not None}
        rows = {name: (one["percent"],) for name, one in known.items()}
        intervals = [(one["low"], one["high"]) for one in known.values()]
        self.bars(title, says, {"% right, with 95 % interval": SKY}, rows, intervals=intervals, percent=True)


def _by_time(days: Sequence[Figures]) -> dict[str, Sequence[Figures]]:
    """Returns the days one by one, or week by week if there are many."""
    length = 7 if len(days) > _MANY_DAYS else 1
    parts = [days[start : start + length] for start in range(0, len(days), length)]
    return {f"day {part[0]['day']}" + (f"-{part[-1]['day']}" if length > 1 else ""): part for part in parts}


def _visits(page: _Page, series: Figures) -> None:
    ends = {"seen": BLUE, "left": ORANGE, "failed": RED}
    times = _by_time(series["days"])
    rows = {name: [sum(day[end] for day in part) / len(part) for end in ends] for name, part in times.items()}
    page.bars("Visits over time", "Visits a day, by the day on which they ended.", ends, rows)
    doing = {"waiting": ORANGE, "with staff": BLUE, "on the way": SKY, "in a bed": GREEN}
    names = ("waiting", "served", "other", "lying")
    hours = {f"hour of the day {one['hour']}": [one[name] for name in names] for one in series["hours"]}
    says = "At each full hour, mean over the days on which somebody was there."
    page.bars("People in the hospital by hour of the day", says, doing, hours)


def _triage(acuity: Mapping[str, Mapping[str, int]]) -> RunTable:
    names = [a.value for a in Acuity]
    rows = []
    for right in names:
        total = sum(acuity[right].values())
        shares = (100 * acuity[right][given] / total if total else 0.0 for given in names)
        rows.append((right, *(f"{n:.0f} % ({acuity[right][given]})" for n, given in zip(shares, names, strict=True))))
    note = "Rows: as the patients should have been judged; % of each row."
    return RunTable("Over-triage and under-triage: urgency as the nurse judged it", ("", *names), rows, note)


def _outcomes(page: _Page, outcomes: Mapping[str, Mapping[str, int]]) -> None:
    rows = {}
    for name in (treated.value for treated in Treated):
        if total := sum(outcomes[name].values()):
            rows[f"{name} ({total})"] = [100 * outcomes[name][o.value] / total for o in FollowUpOutcome]
    says = "% at the first follow-up after a visit, by how the patient was treated; in brackets: follow-ups."
    parts = dict(zip((o.value for o in FollowUpOutcome), (GREEN, SKY, RED), strict=True))
    page.bars("How patients were afterwards", says, parts, rows, percent=True)


_STYLE_REPORT = """.open { border-left: 4px solid #E69F00; padding-left: .6rem; }
body { max-width: 52rem; } .wide { overflow-x: auto; } @media print { .wide { overflow: visible; } }
th.n { white-space: normal; vertical-align: bottom; } th { vertical-align: bottom; }
td:first-child, th:first-child { overflow-wrap: normal; }"""


def figures(run: RecordedRun, *, name: str = "") -> Figures:
    """Returns all that a report shows of a run; the run is called by its folder unless `name` is given.

    Without `finished` these are the figures so far.
    """
    finished = run.summary is not None
    warm_up = run.configuration.get("warm_up", 0)
    account = account_of(run.happenings(), begin=warm_up * DAY if isinstance(warm_up, int) else 0)
    learnt, seed = account.learnt(), run.configuration.get("seed")
    return {
        "run": name or run.folder.resolve().name,
        "seed": seed if isinstance(seed, int) else None,
        "package": run.package,
        "finished": finished,
        "happenings": len(account),
        "log_hash": account.log_hash,
        "summary": account.summary(),
        "series": account.series(),
        "groups": account.groups(),
        "learnt": learnt if learnt["version"] else None,
    }


def page(figures: Figures, *, configuration: Mapping[str, Any] | None = None) -> str:
    """Returns the report as HTML."""
    seed = "" if figures["seed"] is None else f", seed {figures['seed']}"
    arrived = figures["summary"]["arrived"]
    visits = f"{arrived} visit{'s' if arrived != 1 else ''}"
    source = f"Run {figures['run']}{seed}, {visits}."
    body = []
    if not figures["finished"]:
        body.append('<p class="open">The run has not come to its end: these are its figures so far.</p>')
    if arrived:
        body += _sections(figures, configuration or {}, source)
    else:
        body.append("<p>Nobody has come to the hospital.</p>")
    made_from = f"{source[:-1]}, {figures['happenings']} happenings over {len(figures['series']['days'])} days."
    setup = (configuration or {}).get("setup", {})
    if played := ", ".join(f"{role} {setup[role]}" for role in ("doctor", "patient", "nurse") if setup.get(role)):
        made_from = f"{made_from} Who played: {played}."
    return whole_page(
        f"The hospital: {figures['run']}",
        "\n".join(body),
        made_from=made_from,
        made_by=f"Written by polyclinic {__version__}, the run by {figures['package']}; "
        f"hash of its log: {figures['log_hash']}",
        style=_STYLE_REPORT,
    )


def _sections(figures: Figures, configuration: Mapping[str, Any], source: str) -> list[str]:
    page, summary, series = _Page(source), figures["summary"], figures["series"]
    departments, areas, staff = (_called(configuration, part) for part in ("departments", "areas", "staff"))
    page.heading("Visits")
    page.table(tables.comings(summary))
    _visits(page, series)
    page.heading("Right and wrong")
    page.table(tables.shares(summary))
    page.note(
        "95 % intervals are Wilson's. Visits of one resident are not independent: where many come back, the intervals "
        "are a little too narrow. Visits that failed stand outside every share."
    )
    if series["diagnosis"]:
        departments_right = named(series["diagnosis"], departments)
        page.shares("Right diagnoses by department", "In brackets: diagnoses.", departments_right)
        pooled = {
            name: proportion(*(sum(day["diagnosis"][part] for day in days) for part in ("right", "n")))
            for name, days in _by_time(series["days"]).items()
        }
        page.shares("Right diagnoses over time", "In brackets: diagnoses.", pooled)
    if figures["learnt"] is not None:
        page.heading("What the doctors learnt")
        page.table(tables.learnt(figures["learnt"], by_day=True))
    if summary["acuity"]["n"]:
        page.table(_triage(series["acuity"]))
    if summary["waits"] or summary["area_waits"]:
        page.heading("Waiting")
        page.table(tables.waits(summary, {**areas, **departments}))
        page.table(tables.levels(summary))
    page.heading("Parts of those who came")
    for part in tables.groups(figures["groups"], departments):
        page.table(part)
    page.note(tables.GROUPS_NOTE)
    page.heading("Outcomes")
    if any(sum(row.values()) for row in series["outcomes"].values()):
        _outcomes(page, series["outcomes"])
    page.table(tables.course(summary, figures["groups"]["all"]["outcomes"]))
    if summary["beds"]:
        page.heading("Beds")
        page.table(tables.beds(summary, areas))
    if any(work["at_work"] for work in summary["work"].values()):
        page.heading("Staff")
        page.table(tables.members(summary, staff))
    return page.parts


def _called(configuration: Mapping[str, Any], part: str) -> dict[str, str]:
    """Returns what a hospital's file calls its departments, areas or staff, in English; nothing where it does not."""
    hospital = configuration.get("hospital")
    things = hospital.get(part) if isinstance(hospital, dict) else None
    if not isinstance(things, dict):
        return {}
    names = {id: thing.get("name", thing) for id, thing in things.items() if isinstance(thing, dict)}
    return {id: name["en"] for id, name in names.items() if isinstance(name, dict) and name.get("en")}
