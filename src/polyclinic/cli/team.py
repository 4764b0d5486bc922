"""Several doctors in the terminal: their visits one after another, then the discussion; the table of many."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from polyclinic.cases.record import Finding
from polyclinic.cases.report import Report
from polyclinic.cli.show import diagnoses_text, show_event, show_line
from polyclinic.events import (
    Convened,
    Disputed,
    End,
    Ended,
    Established,
    Event,
    Failed,
    Opened,
    Reported,
    Revealed,
    Revised,
    Role,
    Shared,
)
from polyclinic.terminal.screen import plain


class Stage:
    """Shows visits that run at once, and then the discussion, as if they came one after another, each in its turn."""

    def __init__(self, console: Console, doctors: int) -> None:
        self._views = [TeamView(console) for _ in range(doctors + 1)]
        self._waiting: list[list[Event]] = [[] for _ in self._views]
        self._shown = 0

    def watch(self, number: int, event: Event) -> None:
        """Takes an event of a doctor's visit, or with 0 of the discussion, and shows what has its turn."""
        self._waiting[number - 1].append(event)
        # The discussion is number 0, and so has the last place.
        while self._shown < len(self._views):
            waiting = self._waiting[self._shown]
            for waited in waiting:
                self._views[self._shown].show(waited)
            over = any(isinstance(waited, Revealed) for waited in waiting)
            waiting.clear()
            if not over:
                return
            self._shown += 1


class TeamView:
    """Prints the events of one trace: of a doctor's visit in a team, or of a discussion."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._doctor = 0
        self._discussing = False
        self._sharing = False
        self._told: dict[str, int] = {}
        self._reports: dict[int, Report] = {}

    def show(self, event: Event) -> None:
        """Prints the next event."""
        match event:
            case Opened():
                self._doctor = event.doctor
                show_event(self._console, event)
            case Convened():
                self._discussing = True
                self._convene(event)
            case Shared():
                self._sharing = True
                facts = _facts(event.symptoms, event.findings, event.examinations)
                same = self._told.setdefault(facts, event.doctor)
                told = facts if same == event.doctor else f"the same as doctor {same}"
                self._line(f"Doctor {event.doctor} tells", Role.DOCTOR, told)
            case Established():
                facts = _facts(event.symptoms, event.findings, event.examinations)
                same = self._told.get(facts, 0)
                self._line("Facts", Role.DIRECTOR, f"what doctor {same} told" if same else facts)
            case Revised():
                self._revise(event)
            case Disputed():
                self._dispute(event)
            case Reported() if self._doctor:
                self._line("Report", Role.DOCTOR, diagnoses_text(event.report))
            case Failed() if event.doctor:
                then = "its last report stands" if event.answered else "no answer came"
                told = (
                    f"gave no usable answer, and {then}" if self._sharing else "does not take part, as its visit failed"
                )
                told = f"    Doctor {event.doctor} {told}: {event.error}: {plain(event.problem)}"
                self._console.print(told, style="red")
            case Ended() if self._discussing and event.reason is End.FAILED:
                self._console.print("    The discussion failed.\n", style="dim")
            case _:
                show_event(self._console, event)

    def _line(self, who: str, role: Role, text: Text | str, *, label: str = "    ") -> None:
        show_line(self._console, who, role, text, label=label)

    def _convene(self, event: Convened) -> None:
        self._console.rule(Text(f"Case {plain(event.case)}, discussion", style="bold"), align="left")
        minds = ", ".join(f"doctor {number}: {plain(name)}" for number, name in enumerate(event.doctors, start=1))
        shown = "" if event.dispute_resolution else "; the doctors are not shown what is in dispute"
        self._console.print(f"    {minds}, director: {plain(event.director)}; seed {event.seed}", style="dim")
        rounds = f"at most {event.max_rounds} round{'s' if event.max_rounds != 1 else ''}"
        self._console.print(f"    {rounds}, {event.order}{shown}\n", style="dim")

    def _revise(self, event: Revised) -> None:
        before, self._reports[event.doctor] = self._reports.get(event.doctor), event.report
        label = f"{event.round:>3} " if event.round else "    "
        who = f"Doctor {event.doctor}"
        same = next(doctor for doctor, report in self._reports.items() if report == event.report)
        if event.report == before or same != event.doctor:
            known = "keeps its report" if event.report == before else f"the same report as doctor {same}"
            shown = Text.assemble((known, "dim"), " (", diagnoses_text(event.report, most=1), ")")
            self._line(who, Role.DOCTOR, shown, label=label)
            return
        self._line(who, Role.DOCTOR, diagnoses_text(event.report), label=label)
        for name, items in (("because", event.report.rationale), ("plan", event.report.treatment)):
            if items:
                self._console.print(f"      {name}: {plain('; '.join(items))}", style="dim")

    def _dispute(self, event: Disputed) -> None:
        if not event.points:
            self._line("Director", Role.DIRECTOR, "nothing is in dispute")
        for number, point in enumerate(event.points, start=1):
            self._line("Director" if number == 1 else "          ", Role.DIRECTOR, f"{number}. {point}")


def _facts(symptoms: Iterable[str], findings: Iterable[Finding], examinations: Iterable[str]) -> str:
    """Returns symptoms and the names of the examinations; their results stand in the visits."""
    named = list(dict.fromkeys(finding.examination for finding in findings)) or list(examinations)
    parts = ["; ".join(symptoms) or "no symptoms", f"examined: {'; '.join(named)}" if named else "nothing examined"]
    return " | ".join(parts)
