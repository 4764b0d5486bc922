"""What a run of the hospital came to, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_MINUTE = 60
_SHARES = {
    "triage": "sent to the right department",
    "acuity": "judged as urgent as it was",
    "over_triage": "judged more urgent",
    "under_triage": "judged less urgent",
    "examination": "a right examination done",
    "diagnosis": "right diagnosis",
    "treatment": "right plan",
}


def show_run(screen: Console, document: dict[str, Any]) -> None:
    """Prints visits, how right they were, how long people waited, and who was busy."""
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    summary = document["summary"]
    town = f"{document['residents']:,} residents, {document['days']:g} days, seed {document['seed']}"
    title = f"{document['hospital']}: {town}"
    screen.print(Text(plain(title), style="bold"))
    _show_visits(screen, document, summary)
    _show_shares(screen, summary)
    _show_waits(screen, summary)
    _show_work(screen, summary, document["staff"])
    minds = ", ".join(f"{role} {mind}" for role, mind in document["minds"].items())
    minds += f"; profiles by {document['profiles']}, courses by {document['course']}"
    if document["profile_failures"]:
        lost = ", ".join(f"{n} {error}" for error, n in document["profile_failures"].items())
        screen.print(plain(f"profiles that a model could not write, from templates instead: {lost}"), style="yellow")
    told = f"{document['events']:,} events in {document['wall_seconds']:.1f} s, log {document['log_hash']}"
    screen.print(Text(plain(f"{minds}\n{told}"), style="dim"))
    if document["calls"]:
        cost = "" if document["cost"] is None else f", cost {document['cost']:.4f}"
        screen.print(f"{document['calls']:,} calls, {document['tokens']:,} tokens{cost}", style="dim")


def _show_visits(screen: Console, document: dict[str, Any], summary: dict[str, Any]) -> None:
    table = _table("", ("visits", "n"))
    table.add_row("fell ill", f"{summary['fell_ill']:,}")
    table.add_row("came to the hospital", f"{summary['arrived']:,}")
    table.add_row("seen", f"{summary['seen']:,}")
    for reason, n in summary["left"].items():
        table.add_row(f"left unseen: {reason}", f"{n:,}")
    for error, n in summary["failed"].items():
        table.add_row(f"failed: {error}", f"{n:,}")
    table.add_row("referred", f"{summary['referred']:,}")
    for outcome, n in summary["follow_ups"].items():
        table.add_row(f"followed up: {outcome}", f"{n:,}")
    table.add_row("still ill at the end", f"{document['still_ill']:,}")
    screen.print(table)
    screen.print()


def _show_shares(screen: Console, summary: dict[str, Any]) -> None:
    table = _table("of the visits that did not fail", ("how right", "%", "95 % interval", "n"))
    for name, told in _SHARES.items():
        share = summary[name]
        if share["percent"] is None:
            table.add_row(told, "–", "–", "0")
        else:
            table.add_row(told, f"{share['percent']:.1f}", f"{share['low']:.1f}-{share['high']:.1f}", f"{share['n']:,}")
    screen.print(table)
    screen.print()


def _show_waits(screen: Console, summary: dict[str, Any]) -> None:
    from polyclinic.terminal.screen import plain

    table = _table("minutes until called", ("waiting", "mean", "median", "nine in ten", "longest", "n"))
    groups = (("waits", ""), ("area_waits", ""))
    for number, (group, _) in enumerate(groups):
        if number:
            table.add_section()
        for name, waits in sorted(summary[group].items()):
            minutes = (waits[key] / _MINUTE for key in ("mean", "median", "p90", "longest"))
            table.add_row(plain(name), *(f"{m:.0f}" for m in minutes), f"{waits['n']:,}")
    screen.print(table)
    screen.print("by department: for the first talk with its doctor; by area: for whoever works there", style="dim")
    screen.print()


def _show_work(screen: Console, summary: dict[str, Any], jobs: dict[str, str]) -> None:
    from polyclinic.terminal.screen import plain

    table = _table(
        "busy: with a patient, of the hours at work", ("staff", "at work", "busy %", "most busy %", "patients")
    )
    for job in dict.fromkeys(jobs.values()):
        work = [summary["work"][one] for one, theirs in jobs.items() if theirs == job and one in summary["work"]]
        busy = [100 * one["busy"] / one["at_work"] for one in work if one["at_work"]]
        if busy:
            mean = 100 * sum(one["busy"] for one in work) / sum(one["at_work"] for one in work)
            patients = sum(one["called"] for one in work)
            table.add_row(plain(job), str(len(busy)), f"{mean:.0f}", f"{max(busy):.0f}", f"{patients:,}")
    screen.print(table)
    screen.print()


def show_replicas(screen: Console, document: dict[str, Any]) -> None:
    """Prints the means of several runs, with intervals over runs."""
    import msgspec

    from polyclinic.statistics.uncertainty import Estimate
    from polyclinic.terminal.tables import mean_and_error

    table = _table(
        f"{document['replicas']} runs, seeds {document['seeds'][0]} to {document['seeds'][-1]}",
        ("", "mean ± se", "95 % interval", "runs"),
    )
    for name, value in document["means"].items():
        one = value if isinstance(value, Estimate) else msgspec.convert(value, Estimate)
        span = "–" if one.low is None or one.high is None else f"{one.low:.2f}-{one.high:.2f}"
        table.add_row(name, mean_and_error(one), span, str(one.n))
    screen.print(table)


def _table(title: str, columns: tuple[str, ...]) -> Table:
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False, title=title or None, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table
