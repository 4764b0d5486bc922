"""The tables of a run, as the terminal and the page of its report show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from polyclinic.hospital.record.figures import SHARES
from polyclinic.hospital.record.happenings import clock
from polyclinic.terminal.figures import low_to_high, number

T = TypeVar("T")
_FEW_DAYS = 14
_FEW_VISITS = 10  # of fewer an agreement beyond chance says nothing
_LEFT = {
    "closed": "turned away when everybody had gone home",
    "not admitted": "turned away at the door, nobody there for it",
}
_GROUPS = {
    "by_acuity": ("acuity", "by acuity, as the nurse judged it first"),
    "by_level": ("level", "by level of the five-level index"),
    "by_department": ("department", "by department, where the nurse sent them"),
    "by_hour": ("hour", "by the hour at which they arrived"),
    "by_disease": ("disease", "by disease"),
}
GROUPS_NOTE = (
    "n: visits; wait: minutes from coming to the first doctor's call, mean, and what 9 in 10 did not exceed; right "
    "and plan: % of the visits that came to a diagnosis, to a plan; left: unseen; bed: admitted; worse: in a bed or by "
    "the first follow-up. Who recovered and who died: in --json and in the report."
)

# The head of each column, and the field that it shows: its path, a divisor after "/", and its format after ":".
_PART = {
    "n": "visits:,", "wait": "waiting.mean:.0f", "90 %": "waiting.p90:.0f", "right %": "diagnosis.percent:.0f",
    "plan %": "treatment.percent:.0f", "left": "left:,", "bed": "admitted:,", "worse": "worse:,",
    "recovered": "outcomes.recovered:,", "died": "died:,",
}  # fmt: skip
_WAITS = {
    "mean": "mean/60:.0f", "median": "median/60:.0f", "nine in ten": "p90/60:.0f", "99 %": "p99/60:.0f",
    "longest": "longest/60:.0f", "n": "n:,",
}  # fmt: skip
_LEVELS = {
    "mean": "waits.mean/60:.0f", "nine in ten": "waits.p90/60:.0f", "target": "target:",
    "within it %": "within.percent:.0f", "wanted %": "wanted:", "n": "waits.n:,",
}  # fmt: skip
_WORK = {"at work": "staff:", "busy %": "busy:.0f", "most busy %": "most:.0f", "patients": "called:,"}
_MEMBERS = {
    "hours at work": "at_work/3600:.1f", "hours with patients": "busy/3600:.1f", "busy %": "share:.0f",
    "calls": "called:,",
}  # fmt: skip
_BEDS = {
    "in use": "mean:.1f", "most": "most:,", "patients": "patients:,", "mean days": "mean_days:.1f",
    "waited": "waited:,", "mean wait": "mean_wait:.0f",
}  # fmt: skip
_LEARNT = {
    "visits": "diagnosis.n:,", "examination %": "examination.percent:.1f", "diagnosis %": "diagnosis.percent:.1f",
    "plan %": "treatment.percent:.1f", "records": "records:,", "experience": "experience:,",
    "questions": "questions:,",
}  # fmt: skip


class RunTable(NamedTuple):
    """A table; all columns but the first hold numbers."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def _columns(title: str, what: str, things: Mapping[str, Any], columns: Mapping[str, str], note: str = "") -> RunTable:
    """Returns a table with a row for each of several things."""

    def cell(thing: Any, column: str) -> str:
        field, _, form = column.partition(":")
        path, _, divisor = field.partition("/")
        for name in path.split("."):
            thing = thing[name]
        return number(thing / int(divisor) if divisor else thing, form)

    rows = [(name, *(cell(thing, column) for column in columns.values())) for name, thing in things.items()]
    return RunTable(title, (what, *columns), rows, note)


def _counts(what: str, counts: Mapping[str, int]) -> RunTable:
    return RunTable("", (what, "n"), [(name, number(n, ",")) for name, n in counts.items()])


def comings(summary: Mapping[str, Any]) -> RunTable:
    """Who came, by how that ended; the indented parts add up to those who came."""
    counts = {
        "fell ill, also who never came": summary["fell_ill"],
        "came to the hospital": summary["arrived"],
        "  seen, and went home": summary["seen"],
        **{f"  {_LEFT.get(reason, f'left: {reason}')}": n for reason, n in summary["left"].items()},
        **{f"  failed: {error}": n for error, n in summary["failed"].items()},
    }
    once_more = "of these once more after being turned away"
    rest = {"  died there": "died_inside", "  still there": "inside", once_more: "came_again"}
    return _counts("who came", counts | {told: summary[name] for told, name in rest.items() if summary.get(name)})


def course(summary: Mapping[str, Any], outcomes: Mapping[str, int], still_ill: int | None = None) -> RunTable:
    """What was done for those who came, and what came of it; `outcomes` are those of the first follow-ups."""
    counts = {
        "referred to another department": summary["referred"],
        **{f"admitted: {care}": n for care, n in summary["admitted"].items()},
        **({"operated on": summary["operated"]} if summary["operated"] else {}),
        **{f"died, for: {cause}": n for cause, n in summary["died_by_cause"].items()},
        **{f"died of {disease}": n for disease, n in summary["died_by_disease"].items()},
        **{f"got worse, for: {cause}": n for cause, n in summary["worse_by_cause"].items()},
        **{f"at the first follow-up: {outcome}": n for outcome, n in outcomes.items()},
        **{f"follow-up {name}": n for name, n in summary["follow_ups"].items() if name not in outcomes},
        "recovered by the end": summary["follow_ups"]["recovered"],
        **({} if still_ill is None else {"still ill at the end, also who never came": still_ill}),
    }
    return _counts("what came of it", counts)


def shares(summary: Mapping[str, Any]) -> RunTable:
    """How right triage, examinations, diagnoses and plans were, and how well the nurse's levels agree."""
    rows = []
    for name, (told, _) in SHARES.items():
        share = summary[name]
        span = low_to_high(share["low"], share["high"], ".1f")
        rows.append((told, number(share["percent"], ".1f"), span, number(share["right"], ","), number(share["n"], ",")))
    levels, note = summary["levels"], ""
    if levels["kappa"] is not None:
        span = "" if levels["low"] is None else f" ({levels['low']:.2f}-{levels['high']:.2f})"
        kappa = f"weighted kappa {levels['kappa']:.2f}{span}" if levels["n"] >= _FEW_VISITS else "too few for a kappa"
        found = ", ".join(f"{name} {levels[name]['percent']:.1f} %" for name in ("right", "over", "under"))
        worse = f"{summary['worse_waiting']} got worse waiting, {summary['triaged_again']} were found so and moved up"
        note = f"five levels: {found}, {kappa}; {worse}"
    heads = ("how right", "%", "95 % interval", "right", "n")
    return RunTable("of the visits that did not fail", heads, rows, note)


def levels(summary: Mapping[str, Any]) -> RunTable:
    """Waits by level, against the scale's targets."""
    found = {level: {**one, "target": one["target"] or "at once"} for level, one in summary["level_waits"].items()}
    title = "from coming in to the first doctor, by the nurse's level"
    return _columns(title, "level", found, _LEVELS, "targets: Canadian Triage and Acuity Scale, minutes")


def waits(summary: Mapping[str, Any], names: Mapping[str, str] | None = None) -> RunTable:
    """Minutes until patients were called, by department and then by area; `names` has those of ids."""
    rows: list[Sequence[str]] = []
    for group in ("waits", "area_waits"):
        rows += _columns("", "waiting", dict(sorted(named(summary[group], names).items())), _WAITS).rows
    note = "by department: for the first talk with its doctor; by area: for whoever works there"
    return RunTable("minutes until called", ("waiting", *_WAITS), rows, note)


def work(summary: Mapping[str, Any], jobs: Mapping[str, str]) -> RunTable:
    """How busy the staff was, by job; `jobs` by member of the staff."""
    found = {}
    for job in dict.fromkeys(jobs.values()):
        theirs = [one for who, one in summary["work"].items() if jobs.get(who) == job and one["at_work"]]
        if theirs:
            busy, at_work, called = (sum(one[name] for one in theirs) for name in ("busy", "at_work", "called"))
            most = max(100 * one["busy"] / one["at_work"] for one in theirs)
            found[job] = {"staff": len(theirs), "busy": 100 * busy / at_work, "most": most, "called": called}
    return _columns("busy: with a patient, of the hours at work", "staff", found, _WORK, _counted(summary))


def members(summary: Mapping[str, Any], names: Mapping[str, str]) -> RunTable:
    """Hours at work and with patients, and calls, of each member of the staff."""
    found = {
        name: {**one, "share": 100 * one["busy"] / one["at_work"] if one["at_work"] else None}
        for name, one in sorted(named(summary["work"], names).items())
    }
    return _columns("", "staff", found, _MEMBERS, _counted(summary))


def beds(summary: Mapping[str, Any], names: Mapping[str, str] | None = None) -> RunTable:
    """How full the beds of each area were."""
    note = f"in use: mean; waits in minutes, of those who waited; {_counted(summary)}"
    return _columns("beds", "area", named(summary["beds"], names), _BEDS, note)


def groups(
    document: Mapping[str, Any], names: Mapping[str, str] | None = None, *, most: int | None = None
) -> Iterator[RunTable]:
    """Yields a table for each way to part the visits; with `most`, narrower ones, of so many diseases."""
    columns = _PART if most is None else {head: _PART[head] for head in _PART if head not in ("recovered", "died")}
    for group, (name, title) in _GROUPS.items():
        parts = document[group]
        if most is not None and group == "by_disease":
            kept = set(sorted(parts, key=lambda part: (-parts[part]["visits"], part))[:most])
            parts = {part: came for part, came in parts.items() if part in kept}
        left_out = len(document[group]) - len(parts)
        if parts:
            shown = named(parts, names if group == "by_department" else None)
            yield _columns(f"{title}; {left_out} more with --json" if left_out else title, name, shown, columns)


def learnt(memory: Mapping[str, Any], *, by_day: bool = False) -> RunTable:
    """What the doctors have learnt, by week, or by day where there are few."""
    weekly = len(memory["days"]) > _FEW_DAYS and not by_day
    by, name = (memory["weeks"], "week") if weekly else (memory["days"], "day")
    columns = {head: path for head, path in _LEARNT.items() if head != "questions" or memory["passages"]}
    seen = {str(one["number"] + 1): one for one in by if one["diagnosis"]["n"] or one is by[-1]}
    title = f"learnt by {name}"
    if "of" in memory:
        whose = f"in the memory of each {memory['of']}"
        source = "what was right" if memory["feedback"] == "truth" else "how it went on"
        title = f"learnt by {name}, {whose}: from {source}" if memory["learns"] else f"remembered {whose}, by {name}"
    note = "right, in percent of what was decided then; how much all memories hold at its end"
    return _columns(title, name, seen, columns, f"{note}; version {memory['version']}")


def _counted(summary: Mapping[str, Any]) -> str:
    """From when to when work and beds are counted, in a line."""
    if "counted" not in summary:
        return ""
    begin, until = map(clock, summary["counted"])
    return f"counted from {begin} until the last patient had been served, {until}"


def named(values: Mapping[str, T], names: Mapping[str, str] | None) -> dict[str, T]:
    """Returns the same with names in place of ids; where two have one name, the ids stand beside."""
    called = [(names or {}).get(id, id) for id in values]
    return {
        (f"{name} [{id}]" if called.count(name) > 1 else name): value
        for name, (id, value) in zip(called, values.items(), strict=True)
    }
