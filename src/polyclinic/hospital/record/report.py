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
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from polyclinic import __version__
from polyclinic.errors import MissingExtra
from polyclinic.hospital.record.account import account_of
from polyclinic.hospital.record.attendances import Treated
from polyclinic.hospital.record.figures import (
    Day,
    Groups,
    Hour,
    Learnt,
    Proportion,
    RunSummary,
    Series,
    Waits,
    Work,
    proportion,
)
from polyclinic.hospital.record.happenings import DAY, Acuity, FollowUpOutcome
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.terminal.figures import number
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


class Charts:
    """Draws pictures; each has ids of its own, so that many can stand in one page."""

    def __init__(self) -> None:
        try:
            import matplotlib  # noqa: PLC0415
        except ImportError:
            raise MissingExtra("what draws the pictures is not installed: pip install 'polyclinic[report]'") from None
        self._matplotlib = matplotlib
        self._drawn = 0
        self._svg = ""  # the last picture

    def arrivals(self, days: Sequence[Day]) -> str:
        """Draws how many came on each day, and how their visits ended."""
        rows = _weeks(days) if len(days) > _MANY_DAYS else [[day] for day in days]

        def mean(name: str) -> list[float]:
            return [sum(getattr(day, name) for day in row) / len(row) for row in rows]

        with self._picture(2.7) as axes:
            x = [row[0].day + (len(row) - 1) / 2 for row in rows]
            _stack(
                partial(axes.bar, x, width=[0.8 * len(row) for row in rows]),
                "bottom",
                [
                    ("treated", BLUE, "", mean("seen")),
                    ("left untreated", ORANGE, "///", mean("left")),
                    ("failed", RED, "xxx", mean("failed")),
                ],
            )
            axes.plot(x, mean("arrived"), "o", color="black", markersize=3.5, label="arrived", clip_on=False)
            axes.set(xlabel="day", ylabel="visits" if rows and len(rows[0]) == 1 else "visits a day, by week")
            axes.grid(axis="x", visible=False)
            _whole_days(axes)
            _legend(axes, columns=4)
        return self._svg

    def census(self, hours: Sequence[Hour]) -> str:
        """Draws how many are in the hospital at each hour of the day."""
        with self._picture(2.7) as axes:
            x = [hour.hour for hour in hours]
            _stack(
                partial(axes.bar, x, width=0.8),
                "bottom",
                [
                    ("waiting", ORANGE, "///", [hour.waiting for hour in hours]),
                    ("with staff", BLUE, "", [hour.served for hour in hours]),
                    ("on the way inside", SKY, "\\\\\\", [hour.other for hour in hours]),
                    ("in a bed", GREEN, "..", [hour.lying for hour in hours]),
                ],
            )
            most = [hour.most or math.nan for hour in hours]
            axes.plot(x, most, "_", color="black", markersize=11, label="most on any day")
            axes.set(xlabel="hour of the day", ylabel="people, mean over days", xticks=range(0, 24, 2))
            axes.grid(axis="x", visible=False)
            _legend(axes, columns=5)
        return self._svg

    def waits(self, waits: Mapping[str, Waits]) -> str:
        """Draws how long people waited for the first talk with a doctor."""
        names = sorted(waits, key=lambda name: waits[name].median)
        with self._picture(_height(names)) as axes:
            y = range(len(names))
            medians, p90 = ([getattr(waits[name], part) / 60 for name in names] for part in ("median", "p90"))
            axes.hlines(y, medians, p90, color=SKY, linewidth=5, label="to the time within which 90 % were called")
            axes.plot(medians, y, "o", color=BLUE, label="median", clip_on=False)
            axes.set(xlabel="minutes")
            axes.set_xlim(left=0)
            _rows(axes, [f"{name} ({waits[name].n})" for name in names])
            axes.set_ylim(-0.6, len(names) - 0.4)
            _legend(axes, columns=2)
        return self._svg

    def shares(self, shares: Mapping[str, Proportion]) -> str:
        """Draws shares with their intervals, one a row."""
        names = sorted((n for n in shares if shares[n].percent is not None), key=lambda name: shares[name].percent or 0)
        with self._picture(_height(names)) as axes:
            there = [shares[name] for name in names]
            middle = [share.percent or 0.0 for share in there]
            axes.errorbar(middle, range(len(names)), xerr=_errors(there), fmt="o", color=BLUE, capsize=3)
            axes.set(xlabel="% right, with 95 % interval", xlim=(-2, 102))
            _rows(axes, [f"{name} ({shares[name].n})" for name in names])
            axes.set_ylim(-0.6, len(names) - 0.4)
        return self._svg

    def by_day(self, days: Sequence[tuple[float, Proportion]], *, each: str) -> str:
        """Draws a share over time, with its intervals; `each` says what a point stands for."""
        there = [(day, share) for day, share in days if share.percent is not None]
        with self._picture(2.7) as axes:
            x, shares = [day for day, _ in there], [share for _, share in there]
            middle = [share.percent or 0.0 for share in shares]
            axes.errorbar(x, middle, yerr=_errors(shares), fmt="o-", color=BLUE, ecolor=SKY, capsize=2, linewidth=1)
            axes.set(xlabel="day", ylabel=f"% right, {each}", ylim=(-3, 103))
            axes.set_xlim(min(x, default=0) - 0.9, max(x, default=0) + 0.9)
            _whole_days(axes)
        return self._svg

    def outcomes(self, outcomes: Mapping[str, Mapping[str, int]]) -> str:
        """Draws how patients were at their first follow-up, by how they were treated."""
        names = [t.value for t in reversed(Treated) if sum(outcomes[t.value].values())]

        def percent(outcome: FollowUpOutcome) -> list[float]:
            return [100 * outcomes[n][outcome.value] / sum(outcomes[n].values()) for n in names]

        with self._picture(_height(names)) as axes:
            looks = ((GREEN, ""), (SKY, "\\\\\\"), (RED, "///"))
            parts = [(o.value, *look, percent(o)) for o, look in zip(FollowUpOutcome, looks, strict=True)]
            _stack(partial(axes.barh, range(len(names)), height=0.62), "left", parts)
            axes.set(xlabel="% of first follow-ups", xlim=(0, 100))
            _rows(axes, [f"{name} ({sum(outcomes[name].values())})" for name in names])
            _legend(axes, columns=3)
        return self._svg

    def occupancy(self, work: Mapping[str, Work]) -> str:
        """Draws for which part of its time at work each member of the staff was with somebody."""
        there = {name: 100 * w.busy / w.at_work for name, w in work.items() if w.at_work}
        names = sorted(there, key=there.__getitem__)
        with self._picture(_height(names)) as axes:
            axes.barh(range(len(names)), [there[name] for name in names], 0.62, color=BLUE)
            for y, name in enumerate(names):
                axes.text(there[name] + 1, y, f"{there[name]:.0f} %", va="center", fontsize=8)
            axes.set(xlabel="% of the time at work spent with patients", xlim=(0, 108))
            _rows(axes, names)
            axes.set_xticks(range(0, 101, 20))
            axes.set_ylim(-0.6, len(names) - 0.4)
        return self._svg

    def triage(self, acuity: Mapping[str, Mapping[str, int]]) -> str:
        """Draws acuity as judged against as it should have been."""
        names = [a.value for a in Acuity]
        rows = [[acuity[right][given] for given in names] for right in names]
        shares = [[100 * n / sum(row) if sum(row) else 0.0 for n in row] for row in rows]
        with self._picture(2.7) as axes:
            axes.pcolormesh(range(3), range(3), shares, cmap="Blues", vmin=0, vmax=130, shading="nearest")
            axes.invert_yaxis()
            for y, row in enumerate(rows):
                for x, n in enumerate(row):
                    sort = ("right", "under-triage", "over-triage")[(x > y) - (x < y)]
                    colour, weight = "white" if shares[y][x] > 85 else "black", "bold" if x == y else "normal"
                    text = f"{shares[y][x]:.0f} % ({n})\n{sort}"
                    axes.text(x, y, text, ha="center", va="center", color=colour, fontsize=9, fontweight=weight)
            axes.set(xlabel="as the nurse judged", ylabel="as it should be", xticks=range(3), yticks=range(3))
            axes.set_xticklabels(names)
            axes.set_yticklabels(names)
            axes.grid(visible=False)
        return self._svg

    @contextmanager
    def _picture(self, height: float) -> Iterator[Axes]:
        from matplotlib.figure import Figure  # noqa: PLC0415

        self._drawn += 1
        prefix = f"chart{self._drawn}-"
        out = io.StringIO()
        style: dict[Any, Any] = {**_STYLE, "svg.hashsalt": prefix}
        with self._matplotlib.rc_context(style), warnings.catch_warnings():
            # The reader's own fonts draw the words; the one that measures them here need not have every sign.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure = Figure(figsize=(_WIDTH, height))
            yield figure.subplots()
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        svg = out.getvalue()
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
        svg = re.sub(r'\bid="', f'id="{prefix}', svg)
        self._svg = re.sub(r'(url\(|href=")#', rf"\1#{prefix}", svg)


def by_time(days: Sequence[Day]) -> tuple[list[tuple[float, Proportion]], str]:
    """Returns right diagnoses over time, by day, or by week where there are many days; and which it is."""
    if len(days) <= _MANY_DAYS:
        return [(float(day.day), day.diagnosis) for day in days], "each day"
    weeks = _weeks(days)
    pooled = [proportion(sum(d.diagnosis.right for d in week), sum(d.diagnosis.n for d in week)) for week in weeks]
    return [(week[0].day + (len(week) - 1) / 2, s) for week, s in zip(weeks, pooled, strict=True)], "each week"


def _weeks(days: Sequence[Day]) -> list[Sequence[Day]]:
    return [days[start : start + 7] for start in range(0, len(days), 7)]


def _errors(shares: Sequence[Proportion]) -> list[list[float]]:
    low = [(s.percent or 0.0) - (s.low or 0.0) for s in shares]
    high = [(s.high or 0.0) - (s.percent or 0.0) for s in shares]
    return [[max(0.0, e) for e in low], [max(0.0, e) for e in high]]


def _height(rows: Sequence[str]) -> float:
    return 1.1 + 0.27 * max(1, len(rows))


def _stack(bar: Callable[..., Any], side: str, parts: Iterable[tuple[str, str, str, list[float]]]) -> None:
    """Draws bars on bars: label, colour, hatch and lengths of each part; `side` is where a bar begins."""
    below: list[float] | None = None
    for label, colour, hatch, values in parts:
        begins = below or [0.0] * len(values)
        bar(values, **{side: begins}, label=label, color=colour, hatch=hatch, edgecolor="white")
        below = [a + b for a, b in zip(begins, values, strict=True)]


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set(yticks=range(len(names)))
    axes.set_yticklabels(names)
    axes.grid(axis="y", visible=False)


def _legend(axes: Axes, *, columns: int) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, fontsize=9, borderaxespad=0.2)


def _whole_days(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=15))


_STYLE_REPORT = """.open { border-left: 4px solid #E69F00; padding-left: .6rem; }
body { max-width: 52rem; } .wide { overflow-x: auto; } @media print { .wide { overflow: visible; } }
th.n { white-space: normal; vertical-align: bottom; } th { vertical-align: bottom; }
td:first-child, th:first-child { overflow-wrap: normal; }"""
T = TypeVar("T")
_SHARES = {
    "triage": "sent to the right department",
    "acuity": "judged as urgent as it was",
    "over_triage": "judged more urgent (over-triage)",
    "under_triage": "judged less urgent (under-triage)",
    "examination": "a right examination was done",
    "diagnosis": "the diagnosis is right",
    "treatment": "the plan is right",
}


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """All that a report shows."""

    run: str  # what the run is called
    seed: int | None  # of the run; None where its configuration names none
    package: str  # the version of polyclinic that began the run
    finished: bool  # whether the run has come to its end; else these are the figures so far
    happenings: int  # lines of the log
    log_hash: str  # of the log
    summary: RunSummary  # what the log says
    series: Series  # the same by day, hour and department
    groups: Groups  # the same by disease, department, acuity, level and hour of arrival
    learnt: Learnt | None = None  # by the doctors; None where nobody learnt anything


def figures(run: RecordedRun, *, name: str = "") -> Figures:
    """Reads the log of a run, which is called by its folder unless it is given a name, and returns what it says."""
    finished = run.summary is not None
    warm_up = run.configuration.get("warm_up", 0)
    account = account_of(run.happenings(), begin=warm_up * DAY if isinstance(warm_up, int) else 0)
    learnt = account.learnt()
    seed = run.configuration.get("seed")
    return Figures(
        run=name or run.folder.resolve().name,
        seed=seed if isinstance(seed, int) else None,
        package=run.package,
        finished=finished,
        happenings=len(account),
        log_hash=account.log_hash,
        summary=account.summary(),
        series=account.series(),
        groups=account.groups(),
        learnt=learnt if learnt.version else None,
    )


def page(figures: Figures, *, configuration: Mapping[str, Any] | None = None) -> str:
    """Returns the report as HTML."""
    seed = "" if figures.seed is None else f", seed {figures.seed}"
    visits = f"{figures.summary.arrived} visit{'s' if figures.summary.arrived != 1 else ''}"
    source = f"Run {figures.run}{seed}, {visits}."
    body = []
    if not figures.finished:
        body.append('<p class="open">The run has not come to its end: these are its figures so far.</p>')
    if figures.summary.arrived:
        body += _sections(figures, configuration or {}, source)
    else:
        body.append("<p>Nobody has come to the hospital.</p>")
    made_from = f"{source[:-1]}, {figures.happenings} happenings over {len(figures.series.days)} days."
    setup = (configuration or {}).get("setup", {})
    if played := ", ".join(f"{role} {setup[role]}" for role in ("doctor", "patient", "nurse") if setup.get(role)):
        made_from = f"{made_from} Who played: {played}."
    return whole_page(
        f"The hospital: {figures.run}",
        "\n".join(body),
        made_from=made_from,
        made_by=f"Written by polyclinic {__version__}, the run by {figures.package}; "
        f"hash of its log: {figures.log_hash}",
        style=_STYLE_REPORT,
    )


def _sections(figures: Figures, configuration: Mapping[str, Any], source: str) -> list[str]:
    charts, summary, series = Charts(), figures.summary, figures.series
    departments = _called(configuration, "departments")
    diagnosis = _renamed(series.diagnosis, departments)
    over_time, each = by_time(series.days)

    def figure(title: str, svg: str, says: str) -> str:
        return f"<figure><h3>{escape(title)}</h3>{svg}<figcaption>{escape(f'{says} {source}')}</figcaption></figure>"

    parts = [
        "<h2>Visits</h2>",
        _table(("", "visits"), [(name, str(n)) for name, n in _ends(summary)]),
        figure(
            "Visits over time", charts.arrivals(series.days), "Bars: by the day on which they ended; dots: arrivals."
        ),
        figure(
            "People in the hospital by hour of the day",
            charts.census(series.hours),
            "At each full hour, mean over the days on which somebody was there.",
        ),
        "<h2>Right and wrong</h2>",
        _shares_table({text: getattr(summary, name) for name, text in _SHARES.items()}),
        '<p class="note">95 % intervals are Wilson\'s. Visits of one resident are not independent: where many come '
        "back, the intervals are a little too narrow. Visits that failed stand outside every share.</p>",
    ]
    if diagnosis:
        says = "In brackets: diagnoses."
        parts.append(figure("Right diagnoses by department", charts.shares(diagnosis), says))
        parts.append(figure("Right diagnoses over time", charts.by_day(over_time, each=each), "With 95 % intervals."))
    parts += [] if figures.learnt is None else _learnt(figures.learnt)
    if summary.acuity.n:
        says = (
            "How soon patients were to be seen: as the nurse judged it, beside as it should have been; % of each row."
        )
        parts.append(figure("Over-triage and under-triage", charts.triage(series.acuity), says))
    if summary.waits:
        waits = _renamed(summary.waits, departments)
        parts.append("<h2>Waiting</h2>")
        says = "For the first talk with a doctor; in brackets: calls."
        parts.append(figure("Waiting times by department", charts.waits(waits), says))
        parts.append(_columns("department", dict(sorted(waits.items())), _WAITS, unit=60))
    if summary.area_waits:
        areas = _renamed(summary.area_waits, _called(configuration, "areas"))
        parts.append(_columns("area", dict(sorted(areas.items())), _WAITS, unit=60))
    parts += _groups(figures.groups, departments)
    if any(sum(row.values()) for row in series.outcomes.values()):
        parts.append("<h2>Outcomes</h2>")
        says = "At the first follow-up after a visit, by how the patient was treated; in brackets: follow-ups."
        parts.append(figure("How patients were afterwards", charts.outcomes(series.outcomes), says))
    if summary.beds:
        parts.append("<h2>Beds</h2>")
        beds = _renamed(summary.beds, _called(configuration, "areas"))
        parts.append(_columns("", beds, _BEDS))
    if summary.worse_by_cause or summary.died_by_cause:
        parts.append("<h2>Harm and its causes</h2>")
        causes = dict.fromkeys([*summary.worse_by_cause, *summary.died_by_cause])
        harm = [(c, str(summary.worse_by_cause.get(c, 0)), str(summary.died_by_cause.get(c, 0))) for c in causes]
        parts.append(_table(("what, done as it should be, would have kept them from it", "got worse", "died"), harm))
        if summary.died_by_disease:
            parts.append(_table(("died of", "people"), [(d, str(n)) for d, n in summary.died_by_disease.items()]))
    if any(work.at_work for work in summary.work.values()):
        parts.append("<h2>Staff</h2>")
        work = _renamed(summary.work, _called(configuration, "staff"))
        says = "From the call of a patient to the end of the service, over all shifts of the log."
        parts.append(figure("Occupancy of the staff", charts.occupancy(work), says))
        parts.append(_columns("", dict(sorted(work.items())), _STAFF, unit=3600))
    return parts


def _learnt(learnt: Learnt) -> list[str]:
    """Returns what the doctors learnt, day by day, and how right they were."""
    days = {str(day.number + 1): day for day in learnt.days}
    note = f"All memories together at the end of each day; they come from {learnt.cases} patients."
    return ["<h2>What the doctors learnt</h2>", f'<p class="note">{note}</p>', _columns("day", days, _LEARNT)]


def _groups(groups: Groups, departments: Mapping[str, str]) -> list[str]:
    """Returns a table for each way to part the visits."""
    parts = {
        "acuity, as the nurse judged it first": groups.by_acuity,
        "level of the five-level index": groups.by_level,
        "department, where the nurse sent them": _renamed(groups.by_department, departments),
        "hour at which they arrived": groups.by_hour,
        "disease": groups.by_disease,
    }
    told = "Wait: from arrival to the first doctor's call, mean, and within what nine in ten were called. Worse: in a "
    told += "bed or by the first follow-up."
    tables = [_columns(name, part, _PARTS) for name, part in parts.items() if part]
    return ["<h2>Parts of those who came</h2>", f'<p class="note">{told}</p>', *tables]


def _ends(summary: RunSummary) -> list[tuple[str, int]]:
    rows = [("came to the hospital", summary.arrived), ("treated and gone home", summary.seen)]
    rows += [(f"left: {reason}", n) for reason, n in summary.left.items()]
    rows += [(f"failed: {error}", n) for error, n in summary.failed.items()]
    rows += [("died in the hospital", summary.died_inside)] if summary.died_inside else []
    rows += [("still inside, most of them in a bed", summary.inside)] if summary.inside else []
    rows += [(f"of all, admitted first to: {care}", n) for care, n in summary.admitted.items()]
    return [*rows, ("sent on to another department", summary.referred), ("residents who fell ill", summary.fell_ill)]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table that is moved within its place where the window is narrower."""
    return f'<div class="wide">{page_table(heads, rows)}</div>'


def _shares_table(shares: Mapping[str, Proportion]) -> str:
    rows = [
        (text, number(s.percent, ".1f"), f"{number(s.low, '.1f')} to {number(s.high, '.1f')}", f"{s.right} of {s.n}")
        for text, s in shares.items()
    ]
    return _table(("", "%", "95 % interval", "visits"), rows)


# The head of each column, and the field that it shows with its format.
_WAITS = {
    "calls": "n",
    "mean (min)": "mean:.0f",
    "median": "median:.0f",
    "90 %": "p90:.0f",
    "99 %": "p99:.0f",
    "longest": "longest:.0f",
}
_BEDS = {
    "patients": "patients",
    "in use, mean": "mean:.1f",
    "most": "most",
    "mean days": "mean_days:.1f",
    "waited": "waited",
    "mean wait (min)": "mean_wait:.0f",
}
_STAFF = {"hours at work": "at_work:.1f", "hours with patients": "busy:.1f", "calls": "called"}
_PARTS = {
    "visits": "visits",
    "wait (min)": "waiting.mean:.0f",
    "90 %": "waiting.p90:.0f",
    "diagnosis right (%)": "diagnosis.percent:.0f",
    "plan right (%)": "treatment.percent:.0f",
    "left": "left",
    "admitted": "admitted",
    "worse": "worse",
    "recovered": "outcomes.recovered",
    "died": "died",
}
_LEARNT = {
    "diagnoses": "diagnosis.n",
    "examination right (%)": "examination.percent:.1f",
    "diagnosis right (%)": "diagnosis.percent:.1f",
    "treatment right (%)": "treatment.percent:.1f",
    "records": "records",
    "experience": "experience",
    "questions read": "questions",
}


def _columns(what: str, things: Mapping[str, Any], columns: Mapping[str, str], *, unit: int = 1) -> str:
    """Returns a table with a row for each of several things; `unit` of what has a format is one here."""

    def cell(thing: Any, column: str) -> str:
        path, _, form = column.partition(":")
        for name in path.split("."):
            thing = thing[name] if isinstance(thing, dict) else getattr(thing, name)
        return number(thing if thing is None or not form else thing / unit, form)

    rows = [(name, *(cell(thing, column) for column in columns.values())) for name, thing in things.items()]
    return _table((what, *columns), rows)


def _renamed(values: Mapping[str, T], names: Mapping[str, str]) -> dict[str, T]:
    """Returns the same with names in place of ids; where two have one name, the ids stand beside."""
    called = [names.get(id, id) for id in values]
    return {
        (f"{name} [{id}]" if called.count(name) > 1 else name): value
        for name, (id, value) in zip(called, values.items(), strict=True)
    }


def _called(configuration: Mapping[str, Any], part: str) -> dict[str, str]:
    """Returns what a hospital's file calls its departments, areas or staff, in English; nothing where it does not."""
    hospital = configuration.get("hospital")
    things = hospital.get(part) if isinstance(hospital, dict) else None
    if not isinstance(things, dict):
        return {}
    names = {id: thing.get("name", thing) for id, thing in things.items() if isinstance(thing, dict)}
    return {id: name["en"] for id, name in names.items() if isinstance(name, dict) and name.get("en")}
