"""What a run of the hospital came to, as tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from rich.console import Console

from polyclinic.cli.replicas import show_precision
from polyclinic.hospital.record import tables
from polyclinic.hospital.record.tables import RunTable
from polyclinic.players.patient_trust import PatientTrust
from polyclinic.statistics.uncertainty import Estimate
from polyclinic.terminal.figures import low_to_high, money
from polyclinic.terminal.tables import counted, mean_and_error, table

_MOST = 15
"""Diseases that a table shows, those with the most visits; the document and the report have all of them."""

_ONE_DAY = (
    "All were seen on one day. What is learnt is published at midnight, so nothing of it could be used: give more "
    "--days, or --visits."
)


def show_run(screen: Console, document: dict[str, Any]) -> None:
    """Prints visits, how right they were, how long people waited, and who was busy."""
    summary = document["summary"]
    town = f"{document['residents']:,} residents, {document['days']:g} day{'' if document['days'] == 1 else 's'}"
    screen.print(f"{document['hospital']}: {town}, seed {document['seed']}", style="bold")
    parts = document["by_hour"].values()
    firsts = {outcome: sum(part["outcomes"][outcome] for part in parts) for outcome in ("recovered", "better", "worse")}
    shown = [
        tables.comings(summary),
        tables.course(summary, firsts, document["still_ill"]),
        tables.shares(summary),
        tables.levels(summary),
        tables.waits(summary),
        tables.work(summary, document["staff"]),
    ]
    _show(screen, [*shown, tables.beds(summary)] if summary["beds"] else shown)
    if "memory" in document:
        _show(screen, [tables.learnt(document["memory"])])
        if learnt_in_vain(document["memory"]):
            screen.print(_ONE_DAY, style="yellow")
            screen.print()
    _show(screen, tables.groups(document, most=_MOST))
    screen.print(tables.GROUPS_NOTE, style="dim")
    screen.print()
    minds = ", ".join(f"{role} {mind}" for role, mind in document["minds"].items())
    minds += f"; profiles by {document['profiles']}, courses by {document['course']}"
    if document["profile_failures"]:
        lost = ", ".join(f"{n} {error}" for error, n in document["profile_failures"].items())
        screen.print(f"profiles that a model could not write, from templates instead: {lost}", style="yellow")
    told = f"{document['events']:,} events in {document['wall_seconds']:.1f} s, log {document['log_hash']}"
    screen.print(f"{minds}\n{told}", style="dim")
    _show_trust(screen, document)
    if document["calls"]:
        cost = "" if document["cost"] is None else f", cost {money(document['cost'])}"
        screen.print(f"{document['calls']:,} calls, {document['tokens']:,} tokens{cost}", style="dim")


def show_so_far(screen: Console, summary: dict[str, Any]) -> None:
    """Prints the visits of a stopped run so far, and how right their decisions are."""
    _show(screen, [tables.comings(summary), tables.shares(summary), tables.waits(summary)])


def _show(screen: Console, shown: Iterable[RunTable]) -> None:
    for one in shown:
        rows = ([first, *numbers] for first, *numbers in one.rows)
        screen.print(table(one.title or None, one.heads, rows))
        if one.note:
            screen.print(one.note, style="dim")
        screen.print()


def learnt_in_vain(memory: dict[str, Any]) -> bool:
    """Whether doctors learnt in a run, and all of their patients came on one day, before anything was published."""
    return bool(memory["learns"]) and sum(day["diagnosis"]["n"] > 0 for day in memory["days"]) == 1


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
