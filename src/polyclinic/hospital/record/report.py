"""The report of a run: one HTML file that needs no network and no script, with pictures and tables.

What is in it comes from the log in one pass. Whatever a model, a case or a hospital file says is escaped.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from polyclinic import __version__
from polyclinic.errors import MissingExtra
from polyclinic.hospital.record import tables
from polyclinic.hospital.record.account import account_of
from polyclinic.hospital.record.attendances import Treated
from polyclinic.hospital.record.figures import Figures, proportion
from polyclinic.hospital.record.happenings import DAY, Acuity, FollowUpOutcome
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.tables import RunTable, named
from polyclinic.terminal.html import page_table, whole_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, RED, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9"
_STYLE: dict[str, Any] = {
    "axes.edgecolor": "#666666",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": "#333333",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "font.family": "sans-serif",
    "font.size": 10,
    "grid.color": "#e4e4e4",
    "legend.frameon": False,
    "svg.fonttype": "none",  # words stay words: to be found, copied and read aloud
    "text.parse_math": False,  # a "$" in a name is a dollar
    "xtick.color": "#333333",
    "ytick.color": "#333333",
}
_WIDTH = 7.4  # inches, the text's width on paper
_MANY_DAYS = 42  # more are shown week by week


class _Page:
    """The parts of a page, to which headings, tables and pictures are added; `source` says what they were made from."""

    def __init__(self, source: str) -> None:
        try:
            import matplotlib  # noqa: PLC0415
        except ImportError:
            raise MissingExtra("what draws the pictures is not installed: pip install 'polyclinic[report]'") from None
        self._matplotlib, self._source, self._drawn = matplotlib, source, 0
        self.parts: list[str] = []

    def heading(self, text: str) -> None:
        self.parts.append(f"<h2>{escape(text)}</h2>")

    def note(self, text: str) -> None:
        if text:
            self.parts.append(f'<p class="note">{escape(text)}</p>')

    def table(self, shown: RunTable) -> None:
        """Adds a table that is moved within its place if the window is narrower."""
        if shown.title:
            self.parts.append(f"<h3>{escape(shown.title)}</h3>")
        self.parts.append(f'<div class="wide">{page_table(shown.heads, shown.rows)}</div>')
        self.note(shown.note)

    @contextmanager
    def picture(self, title: str, says: str, *, rows: Sequence[str] | None = None) -> Iterator[Axes]:
        """Yields the axes of a picture that is added when they are drawn; with `rows`, one for each, at the left."""
        from matplotlib.figure import Figure  # noqa: PLC0415

        self._drawn += 1
        prefix = f"chart{self._drawn}-"  # ids of its own, so that many can be in one page
        out = io.StringIO()
        style: dict[Any, Any] = {**_STYLE, "svg.hashsalt": prefix}
        with self._matplotlib.rc_context(style), warnings.catch_warnings():
            # The reader's own fonts draw the words; the one that measures them here need not have every sign.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure = Figure(figsize=(_WIDTH, 2.7 if rows is None else 1.1 + 0.27 * max(1, len(rows))))
            axes = figure.subplots()
            yield axes
            axes.grid(axis="x" if rows is None else "y", visible=False)
            if rows is not None:
                axes.set(yticks=range(len(rows)), ylim=(-0.6, len(rows) - 0.4))
                axes.set_yticklabels(rows)
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        svg = out.getvalue()
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
        svg = re.sub(r'\bid="', f'id="{prefix}', svg)
        svg = re.sub(r'(url\(|href=")#', rf"\1#{prefix}", svg)
        caption = escape(f"{says} {self._source}")
        self.parts.append(f"<figure><h3>{escape(title)}</h3>{svg}<figcaption>{caption}</figcaption></figure>")


def _arrivals(page: _Page, days: Sequence[Figures]) -> None:
    rows, x, _ = _by_time(days)

    def mean(name: str) -> list[float]:
        return [sum(day[name] for day in row) / len(row) for row in rows]

    with page.picture("Visits over time", "Bars: by the day on which they ended; dots: arrivals.") as axes:
        bars = partial(axes.bar, x, width=[0.8 * len(row) for row in rows])
        _stack(bars, "bottom", [
            ("treated", BLUE, "", mean("seen")),
            ("left untreated", ORANGE, "///", mean("left")),
            ("failed", RED, "xxx", mean("failed")),
        ])  # fmt: skip
        axes.plot(x, mean("arrived"), "o", color="black", markersize=3.5, label="arrived", clip_on=False)
        axes.set(xlabel="day", ylabel="visits" if rows and len(rows[0]) == 1 else "visits a day, by week")
        _whole_days(axes)
        _legend(axes, columns=4)


def _census(page: _Page, hours: Sequence[Figures]) -> None:
    says = "At each full hour, mean over the days on which somebody was there."
    with page.picture("People in the hospital by hour of the day", says) as axes:
        x = [hour["hour"] for hour in hours]
        _stack(partial(axes.bar, x, width=0.8), "bottom", [
            ("waiting", ORANGE, "///", [hour["waiting"] for hour in hours]),
            ("with staff", BLUE, "", [hour["served"] for hour in hours]),
            ("on the way inside", SKY, "\\\\\\", [hour["other"] for hour in hours]),
            ("in a bed", GREEN, "..", [hour["lying"] for hour in hours]),
        ])  # fmt: skip
        most = [hour["most"] or math.nan for hour in hours]
        axes.plot(x, most, "_", color="black", markersize=11, label="most on any day")
        axes.set(xlabel="hour of the day", ylabel="people, mean over days", xticks=range(0, 24, 2))
        _legend(axes, columns=5)


def _diagnoses(page: _Page, shares: Mapping[str, Figures], days: Sequence[Figures]) -> None:
    names = sorted((n for n in shares if shares[n]["percent"] is not None), key=lambda name: shares[name]["percent"])
    rows = [f"{name} ({shares[name]['n']})" for name in names]
    with page.picture("Right diagnoses by department", "In brackets: diagnoses.", rows=rows) as axes:
        there = [shares[name] for name in names]
        middle = [share["percent"] for share in there]
        axes.errorbar(middle, range(len(names)), xerr=_errors(there), fmt="o", color=BLUE, capsize=3)
        axes.set(xlabel="% right, with 95 % interval", xlim=(-2, 102))
    weeks, times, each = _by_time(days)
    pooled = [proportion(*(sum(day["diagnosis"][part] for day in week) for part in ("right", "n"))) for week in weeks]
    known = [(time, share) for time, share in zip(times, pooled, strict=True) if share["percent"] is not None]
    with page.picture("Right diagnoses over time", "With 95 % intervals.") as axes:
        x, there = [time for time, _ in known], [share for _, share in known]
        middle = [share["percent"] for share in there]
        axes.errorbar(x, middle, yerr=_errors(there), fmt="o-", color=BLUE, ecolor=SKY, capsize=2, linewidth=1)
        axes.set(xlabel="day", ylabel=f"% right, {each}", ylim=(-3, 103))
        axes.set_xlim(min(x, default=0) - 0.9, max(x, default=0) + 0.9)
        _whole_days(axes)


def _outcomes(page: _Page, outcomes: Mapping[str, Mapping[str, int]]) -> None:
    names = [t.value for t in reversed(Treated) if sum(outcomes[t.value].values())]

    def percent(outcome: FollowUpOutcome) -> list[float]:
        return [100 * outcomes[n][outcome.value] / sum(outcomes[n].values()) for n in names]

    says = "At the first follow-up after a visit, by how the patient was treated; in brackets: follow-ups."
    rows = [f"{name} ({sum(outcomes[name].values())})" for name in names]
    with page.picture("How patients were afterwards", says, rows=rows) as axes:
        looks = ((GREEN, ""), (SKY, "\\\\\\"), (RED, "///"))
        parts = [(o.value, *look, percent(o)) for o, look in zip(FollowUpOutcome, looks, strict=True)]
        _stack(partial(axes.barh, range(len(names)), height=0.62), "left", parts)
        axes.set(xlabel="% of first follow-ups", xlim=(0, 100))
        _legend(axes, columns=3)


def _triage(page: _Page, acuity: Mapping[str, Mapping[str, int]]) -> None:
    names = [a.value for a in Acuity]
    counts = [[acuity[right][given] for given in names] for right in names]
    shares = [[100 * n / sum(row) if sum(row) else 0.0 for n in row] for row in counts]
    says = "How urgent patients were as the nurse judged it, and as they should have been judged; % of each row."
    with page.picture("Over-triage and under-triage", says) as axes:
        axes.pcolormesh(range(3), range(3), shares, cmap="Blues", vmin=0, vmax=130, shading="nearest")
        axes.invert_yaxis()
        for y, row in enumerate(counts):
            for x, n in enumerate(row):
                sort = ("right", "under-triage", "over-triage")[(x > y) - (x < y)]
                colour, weight = "white" if shares[y][x] > 85 else "black", "bold" if x == y else "normal"
                text = f"{shares[y][x]:.0f} % ({n})\n{sort}"
                axes.text(x, y, text, ha="center", va="center", color=colour, fontsize=9, fontweight=weight)
        axes.set(xlabel="as the nurse judged", ylabel="as it should be", xticks=range(3), yticks=range(3))
        axes.set_xticklabels(names)
        axes.set_yticklabels(names)
        axes.grid(axis="y", visible=False)


def _by_time(days: Sequence[Figures]) -> tuple[list[Sequence[Figures]], list[float], str]:
    """Returns the days one by one, or week by week if there are many; their times, and which it is."""
    length = 7 if len(days) > _MANY_DAYS else 1
    parts = [days[start : start + length] for start in range(0, len(days), length)]
    times = [part[0]["day"] + (len(part) - 1) / 2 for part in parts]
    return parts, times, "each day" if length == 1 else "each week"


def _errors(shares: Sequence[Figures]) -> list[list[float]]:
    low = [max(0.0, share["percent"] - share["low"]) for share in shares]
    return [low, [max(0.0, share["high"] - share["percent"]) for share in shares]]


def _stack(bar: Callable[..., Any], side: str, parts: Iterable[tuple[str, str, str, list[float]]]) -> None:
    """Draws bars on bars: label, colour, hatch and lengths of each part; `side` is where a bar begins."""
    below: list[float] | None = None
    for label, colour, hatch, values in parts:
        begins = below or [0.0] * len(values)
        bar(values, **{side: begins}, label=label, color=colour, hatch=hatch, edgecolor="white")
        below = [a + b for a, b in zip(begins, values, strict=True)]


def _legend(axes: Axes, *, columns: int) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, fontsize=9, borderaxespad=0.2)


def _whole_days(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=15))


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
    _arrivals(page, series["days"])
    _census(page, series["hours"])
    page.heading("Right and wrong")
    page.table(tables.shares(summary))
    page.note(
        "95 % intervals are Wilson's. Visits of one resident are not independent: where many come back, the intervals "
        "are a little too narrow. Visits that failed stand outside every share."
    )
    if series["diagnosis"]:
        _diagnoses(page, named(series["diagnosis"], departments), series["days"])
    if figures["learnt"] is not None:
        page.heading("What the doctors learnt")
        page.table(tables.learnt(figures["learnt"], by_day=True))
    if summary["acuity"]["n"]:
        _triage(page, series["acuity"])
    if summary["waits"] or summary["area_waits"]:
        page.heading("Waiting")
        page.table(tables.waits(summary, {**areas, **departments}))
        page.table(tables.levels(summary))
    page.heading("Parts of those who came")
    for shown in tables.groups(figures["groups"], departments):
        page.table(shown)
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
