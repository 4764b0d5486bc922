"""What a run of the hospital came to, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from polyclinic.cli.replicas import show_precision
from polyclinic.hospital.record.story import clock
from polyclinic.players.patient_trust import PatientTrust
from polyclinic.statistics.uncertainty import Estimate
from polyclinic.terminal.figures import NOTHING, ShownFigure, low_to_high, number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import counted, mean_and_error, table

NOTE = (
    "n: visits; wait: minutes from coming to the first doctor's call, mean, and what 9 in 10 did not exceed; right "
    "and plan: % of the visits that came to a diagnosis, to a plan; left: unseen; bed: admitted; worse: in a bed or by "
    "the first follow-up. Who recovered and who died stands in --json, too."
)
_TITLES = {
    "by_acuity": ("acuity", "by acuity, as the nurse judged it first"),
    "by_level": ("level", "by level of the five-level index"),
    "by_department": ("department", "by department, where the nurse sent them"),
    "by_hour": ("hour", "by the hour at which they arrived"),
    "by_disease": ("disease", "by disease"),
}
_COLUMNS = ("n", "wait", "90 %", "right %", "plan %", "left", "bed", "worse")


_MOST = 15
"""Parts that a table shows, those with the most visits; the document and the report have all of them."""


def group_tables(document: dict[str, Any]) -> Iterator[Table]:
    """Yields a table for each way to part the visits of a run."""
    for group, (name, title) in _TITLES.items():
        if document[group]:
            parts = _most_visited(document[group]) if group == "by_disease" else document[group]
            left_out = len(document[group]) - len(parts)
            shown = table(f"{title}; {left_out} more with --json" if left_out else title, (name, *_COLUMNS))
            for part, came in parts.items():
                shown.add_row(plain(part), *_cells(came))
            yield shown


def _most_visited(parts: dict[str, Any]) -> dict[str, Any]:
    ranked = sorted(parts, key=lambda part: (-parts[part]["visits"], part))
    kept = set(ranked[:_MOST])
    return {part: came for part, came in parts.items() if part in kept}


def _cells(came: dict[str, Any]) -> list[str]:
    waiting = came["waiting"]
    return [
        number(came["visits"], ","),
        number(waiting["mean"], ".0f"),
        number(waiting["p90"], ".0f"),
        number(came["diagnosis"]["percent"], ".0f"),
        number(came["treatment"]["percent"], ".0f"),
        number(came["left"], ","),
        number(came["admitted"], ","),
        number(came["worse"], ","),
    ]


_MINUTE = 60
_FEW_DAYS = 14
_FEW_VISITS = 10  # of fewer an agreement beyond chance says nothing
_LEFT = {
    "closed": "turned away when everybody had gone home",
    "not admitted": "turned away at the door, nobody there for it",
}
_ACUITIES = ("emergency", "urgent", "routine")
_SHARES = {
    "triage": "sent to the right department",
    "acuity": "judged as urgent as it was",
    "over_triage": "judged more urgent",
    "under_triage": "judged less urgent",
    "examination": "a right examination done",
    "diagnosis": "right diagnosis",
    "treatment": "right plan",
}

_ONE_DAY = (
    "All were seen on one day. What is learnt is published at midnight, so nothing of it could be used: give more "
    "--days, or --visits."
)


def show_run(screen: Console, document: dict[str, Any]) -> None:
    """Prints visits, how right they were, how long people waited, and who was busy."""
    summary = document["summary"]
    days = f"{document['days']:g} day{'' if document['days'] == 1 else 's'}"
    town = f"{document['residents']:,} residents, {days}, seed {document['seed']}"
    screen.print(plain(f"{document['hospital']}: {town}"), style="bold")
    waits = "by department: for the first talk with its doctor; by area: for whoever works there"
    work, counted = _work(summary, document["staff"]), _counted(summary)
    targets = "targets: Canadian Triage and Acuity Scale, minutes"
    tables = [
        (_comings(document), ""),
        (_course(document), ""),
        (_shares(summary), _agreement(summary)),
        (_levels(summary), targets),
    ]
    tables += [(_waits(summary), waits), (work, counted)]
    if summary["beds"]:
        tables.append((_beds(summary), f"in use: mean; waits in minutes, of those who waited; {counted}"))
    for shown, note in tables:
        screen.print(shown)
        if note:
            screen.print(note, style="dim")
        screen.print()
    if "memory" in document:
        screen.print(_learnt(document["memory"]))
        at_the_end = "right, in percent of what was decided then; how much all memories hold at its end"
        screen.print(plain(f"{at_the_end}; version {document['memory']['version']}"), style="dim")
        if learnt_in_vain(document["memory"]):
            screen.print(_ONE_DAY, style="yellow")
        screen.print()
    for shown in group_tables(document):
        screen.print(shown)
        screen.print()
    screen.print(NOTE, style="dim")
    screen.print()
    for incident in document.get("incidents", ()):
        screen.print(_incident(incident))
        screen.print()
    minds = ", ".join(f"{role} {mind}" for role, mind in document["minds"].items())
    minds += f"; profiles by {document['profiles']}, courses by {document['course']}"
    if document["profile_failures"]:
        lost = ", ".join(f"{n} {error}" for error, n in document["profile_failures"].items())
        screen.print(plain(f"profiles that a model could not write, from templates instead: {lost}"), style="yellow")
    told = f"{document['events']:,} events in {document['wall_seconds']:.1f} s, log {document['log_hash']}"
    screen.print(plain(f"{minds}\n{told}"), style="dim")
    _show_trust(screen, document)
    if document["calls"]:
        cost = "" if document["cost"] is None else f", cost {document['cost']:.4f}"
        screen.print(f"{document['calls']:,} calls, {document['tokens']:,} tokens{cost}", style="dim")


def show_so_far(screen: Console, summary: dict[str, Any]) -> None:
    """Prints of a run that was stopped who has come so far, and how right what was decided of them is."""
    for shown in (_comings({"summary": summary}), _shares(summary), _waits(summary)):
        screen.print(shown)
        screen.print()


def _comings(document: dict[str, Any]) -> Table:
    """Who came, by how that ended; the indented parts add up to those who came."""
    summary = document["summary"]
    shown = table(None, ("who came", "n"))
    for told, n in {
        "fell ill, also who never came": summary["fell_ill"],
        "came to the hospital": summary["arrived"],
        "  seen, and went home": summary["seen"],
        **{f"  {_LEFT.get(reason, f'left: {reason}')}": n for reason, n in summary["left"].items()},
        **{f"  failed: {error}": n for error, n in summary["failed"].items()},
        **({"  died there": summary["died_inside"]} if summary["died_inside"] else {}),
        **({"  still there": summary["inside"]} if summary["inside"] else {}),
    }.items():
        shown.add_row(plain(told), number(n, ","))
    if again := summary.get("came_again"):
        shown.add_row("of these once more after being turned away", number(again, ","))
    return shown


def _course(document: dict[str, Any]) -> Table:
    """What was done with who came, and what came of it."""
    summary, parts = document["summary"], document["by_hour"].values()
    firsts = {outcome: sum(part["outcomes"][outcome] for part in parts) for outcome in ("recovered", "better", "worse")}
    counts = {
        "referred to another department": summary["referred"],
        **{f"admitted: {care}": n for care, n in summary["admitted"].items()},
        **({"operated on": summary["operated"]} if summary["operated"] else {}),
        **{f"died, for: {cause}": n for cause, n in summary["died_by_cause"].items()},
        **{f"got worse, for: {cause}": n for cause, n in summary["worse_by_cause"].items()},
        **{f"at the first follow-up: {outcome}": n for outcome, n in firsts.items()},
        **{f"follow-up {name}": n for name, n in summary["follow_ups"].items() if name not in firsts},
        "recovered by the end": document["recovered"],
        "still ill at the end, also who never came": document["still_ill"],
    }
    return table(None, ("what came of it", "n"), ((plain(told), number(n, ",")) for told, n in counts.items()))


def _counted(summary: dict[str, Any]) -> str:
    """From when to when work and beds are counted, in a line."""
    if "counted" not in summary:
        return ""
    begin, until = map(clock, summary["counted"])
    return f"counted from {begin} until the last patient had been served, {until}"


def _shares(summary: dict[str, Any]) -> Table:
    shown = table("of the visits that did not fail", ("how right", "%", "95 % interval", "n"))
    for name, told in _SHARES.items():
        share = summary[name]
        span = low_to_high(share["low"], share["high"], ".1f")
        shown.add_row(told, number(share["percent"], ".1f"), span, number(share["n"], ","))
    return shown


def _levels(summary: dict[str, Any]) -> Table:
    """Waits by level, against the scale's targets."""
    title = "from coming in to the first doctor, by the nurse's level"
    shown = table(title, ("level", "mean", "nine in ten", "target", "within it %", "wanted %", "n"))
    for level, of_level in summary["level_waits"].items():
        waits, within = of_level["waits"], of_level["within"]
        minutes = (number(waits[key] / _MINUTE, ".0f") for key in ("mean", "p90"))
        target = f"{of_level['target']}" if of_level["target"] else "at once"
        share = number(within["percent"], ".0f")
        shown.add_row(level, *minutes, target, share, str(of_level["wanted"]), number(waits["n"], ","))
    return shown


def _agreement(summary: dict[str, Any]) -> str:
    """How near the nurse came to the right levels, in a line."""
    levels = summary["levels"]
    if levels["kappa"] is None:
        return ""
    span = "" if levels["low"] is None else f" ({levels['low']:.2f}-{levels['high']:.2f})"
    kappa = f"weighted kappa {levels['kappa']:.2f}{span}" if levels["n"] >= _FEW_VISITS else "too few for a kappa"
    shares = (
        f"{told} {levels[name]['percent']:.1f} %"
        for name, told in (("right", "right"), ("over", "over"), ("under", "under"))
    )
    worse = f"; {summary['worse_waiting']} got worse waiting, {summary['triaged_again']} were found so and moved up"
    return f"five levels: {', '.join(shares)}, {kappa}{worse}"


def _waits(summary: dict[str, Any]) -> Table:
    shown = table("minutes until called", ("waiting", "mean", "median", "nine in ten", "longest", "n"))
    for group in ("waits", "area_waits"):
        for name, waits in sorted(summary[group].items()):
            minutes = (waits[key] / _MINUTE for key in ("mean", "median", "p90", "longest"))
            shown.add_row(plain(name), *(number(m, ".0f") for m in minutes), number(waits["n"], ","))
        shown.add_section()
    return shown


def _work(summary: dict[str, Any], jobs: dict[str, str]) -> Table:
    title = "busy: with a patient, of the hours at work"
    shown = table(title, ("staff", "at work", "busy %", "most busy %", "patients"))
    for job in dict.fromkeys(jobs.values()):
        work = [summary["work"][one] for one, theirs in jobs.items() if theirs == job and one in summary["work"]]
        busy = [100 * one["busy"] / one["at_work"] for one in work if one["at_work"]]
        if busy:
            mean = 100 * sum(one["busy"] for one in work) / sum(one["at_work"] for one in work)
            patients = sum(one["called"] for one in work)
            shown.add_row(
                plain(job), str(len(busy)), number(mean, ".0f"), number(max(busy), ".0f"), number(patients, ",")
            )
    return shown


def _beds(summary: dict[str, Any]) -> Table:
    shown = table("beds", ("area", "in use", "most", "patients", "mean days", "waited", "mean wait"))
    for area, beds in summary["beds"].items():
        days, waited = number(beds["mean_days"], ".1f"), number(beds["waited"], ",")
        shown.add_row(
            plain(area), number(beds["mean"], ".1f"), number(beds["most"], ","), number(beds["patients"], ","),
            days, waited,
            number(beds["mean_wait"], ".0f"),
        )  # fmt: skip
    return shown


def _incident(incident: dict[str, Any]) -> Table:
    heads = ("", "visits", "left unseen", *(f"{acuity}: minutes" for acuity in _ACUITIES))
    shown = table(f"{incident['event']}: to the first doctor, mean and nine in ten", heads)
    for period in ("before", "during", "after"):
        row = incident[period]
        waits = (row["waiting"].get(acuity) for acuity in _ACUITIES)
        cells = (NOTHING if one is None else _mean_and_most(one) for one in waits)
        shown.add_row(period, number(row["visits"], ","), number(row["left"], ","), *cells)
    return shown


def _mean_and_most(waits: dict[str, float]) -> str:
    return ShownFigure(f"{waits['mean']:.0f}, {waits['p90']:.0f}", {"mean": waits["mean"], "nine in ten": waits["p90"]})


def show_replicas(screen: Console, document: dict[str, Any]) -> None:
    """Prints the means of several runs, with intervals over runs."""
    first, last = document["seeds"][0], document["seeds"][-1]
    title = f"{counted(document['replicas'], 'run')}, seeds {first} to {last}; Student's intervals over runs"
    shown = table(title, ("", "mean ± se", "95 % interval", "runs"))
    for name, value in document["means"].items():
        one = msgspec.convert(value, Estimate, from_attributes=True)
        ends = low_to_high(one.low, one.high, ".2f", " to ")
        shown.add_row(name, mean_and_error(one), ends, str(one.n))
    screen.print(shown)
    if "precision" in document:
        screen.print()
        show_precision(screen, document)
    _show_trust(screen, document["runs"][0])


def _show_trust(screen: Console, document: dict[str, Any]) -> None:
    if "patient_trust" in document:
        screen.print(msgspec.convert(document["patient_trust"], PatientTrust).line, style="yellow")


def learnt_in_vain(memory: dict[str, Any]) -> bool:
    """Whether doctors learnt in a run, and all of their patients came on one day, before anything was published."""
    return bool(memory["learns"]) and sum(day["diagnosis"]["n"] > 0 for day in memory["days"]) == 1


def _learnt(memory: dict[str, Any]) -> Table:
    """What the doctors have learnt, by week, or by day where there are few."""
    by, name = (memory["weeks"], "week") if len(memory["days"]) > _FEW_DAYS else (memory["days"], "day")
    kinds = ("records", "experience", *(["questions"] if memory["passages"] else []))
    whose = f"in the memory of each {memory['of']}"
    shown = table(
        f"learnt by {name}, {whose}: from {'what was right' if memory['feedback'] == 'truth' else 'how it went on'}"
        if memory["learns"]
        else f"remembered {whose}, by {name}",
        (name, "visits", "examination %", "diagnosis %", "plan %", *kinds),
    )
    for one in by:
        if not one["diagnosis"]["n"] and one is not by[-1]:
            continue  # nobody was seen
        shares = (number(one[task]["percent"], ".1f") for task in ("examination", "diagnosis", "treatment"))
        counts = (number(one[kind], ",") for kind in kinds)
        shown.add_row(str(one["number"] + 1), number(one["diagnosis"]["n"], ","), *shares, *counts)
    return shown
