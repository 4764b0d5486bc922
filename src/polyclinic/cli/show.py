"""Visits in the terminal: the dialogue as it happens, the report beside the truth, the table of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyclinic.cases.report import Diagnosis
from polyclinic.events import Chosen, End, Ended, Event, Examined, Failed, Opened, Reported, Revealed, Role, Said
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.metrics.accuracy import Verdict, verdict
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import table
from polyclinic.visits.team import TeamVisit
from polyclinic.visits.visit import Visit

STYLE = {
    Role.DOCTOR: "bold cyan",
    Role.PATIENT: "bold green",
    Role.EXAMINER: "bold magenta",
    Role.DIRECTOR: "bold yellow",
}
_VERDICT = {
    Verdict.RIGHT: ("✓", "green"),
    Verdict.WRONG: ("✗", "red"),
    Verdict.NO_DIAGNOSIS: ("–", "yellow"),
    Verdict.FAILED: ("failed", "red"),
}


def show_event(console: Console, event: Event) -> None:
    """Prints one event of a visit."""
    if isinstance(event, Opened):
        _show_opening(console, event)
    elif isinstance(event, Said):
        to = f" to the {event.to}" if {event.who, event.to} & {Role.EXAMINER, Role.DIRECTOR} else ""
        label = f"{event.turn:>3} " if event.who is Role.DOCTOR else "    "
        console.print(
            Text.assemble((label, "dim"), (f"{event.who.capitalize()}{to}: ", STYLE[event.who]), plain(event.text))
        )
    elif isinstance(event, Examined):
        console.print(Text.assemble("    ", ("Examiner: ", STYLE[Role.EXAMINER]), plain(event.text)))
    elif isinstance(event, Chosen):
        chosen = plain(event.answer) if event.answer is not None else "none of the options"
        console.print(Text.assemble("    ", ("Doctor chooses: ", STYLE[Role.DOCTOR]), chosen))
    elif isinstance(event, Failed):
        console.print(Text(f"    The {event.who} failed: {event.error}: {plain(event.problem)}", style="red"))
    elif isinstance(event, Ended):
        console.print(Text(f"    {_ended(event)}", style="dim"))
        console.print()


def _show_opening(console: Console, event: Opened) -> None:
    p = event.presentation
    who = [f"{p.age:g} years" if p.age is not None else "", p.sex or "", plain(p.about)]
    minds = ", ".join(f"{role}: {mind}" for role, mind in event.minds.items())
    doctor = f", doctor {event.doctor}" if event.doctor else ""
    console.rule(Text(f"Case {plain(event.case)}{doctor}", style="bold"), align="left")
    console.print(Text(f"    {', '.join(w for w in who if w)}", style="dim"))
    console.print(Text(f"    {minds}; seed {event.seed}; at most {event.max_turns} turns", style="dim"))
    if event.one_step:
        console.print(Text("    one step: the doctor reads the whole record", style="dim"))
    console.print()


def _ended(event: Ended) -> str:
    if event.reason in (End.CONSENSUS, End.ROUND_LIMIT):
        how = "Consensus after" if event.reason is End.CONSENSUS else "No consensus within"
        return f"{how} {event.turns} round{'s' if event.turns != 1 else ''}."
    how = {
        End.CONCLUDED: "The doctor concluded",
        End.TURN_LIMIT: "The turn limit was reached",
        End.PATIENT_LEFT: "The patient left",
        End.FAILED: "The visit failed",
    }[event.reason]
    return f"{how} after {event.turns} turn{'s' if event.turns != 1 else ''}."


def show_outcome(
    console: Console, reported: Reported | None, revealed: Revealed, verdict: Verdict, *, who: str = ""
) -> None:
    """Prints the report beside the truth; `who` names whose report it is."""
    table = Table(title_justify="left", show_lines=True, expand=False)
    table.add_column("")
    table.add_column(f"{who}'s report" if who else "Report", overflow="fold")
    table.add_column("Truth", overflow="fold")
    report = reported.report if reported is not None else None
    sign, style = _VERDICT[verdict]
    diagnoses = (
        Text("\n").join(diagnosis_text(d) for d in report.diagnoses) if report is not None else Text("no report")
    )
    if report is not None and not report.diagnoses:
        diagnoses = Text("none named")
    truth = Text("\n").join(diagnosis_text(d) for d in revealed.diagnoses)
    table.add_row(Text.assemble("Diagnosis ", (sign, style)), diagnoses, truth)
    if report is not None:
        table.add_row("Symptoms", _items(report.symptoms), "")
        table.add_row("Examinations", _items(report.examinations), "")
        table.add_row("Rationale", _items(report.rationale), _items(revealed.rationale))
        table.add_row("Treatment", _items(report.treatment), _items(revealed.treatment))
    if revealed.severity:
        table.add_row("Severity", "", revealed.severity)
    console.print(table)
    console.print()


def show_choice(console: Console, chosen: Chosen, revealed: Revealed) -> None:
    """Prints the option that was chosen beside the right one."""
    options = revealed.question.options if revealed.question is not None else {}

    def named(key: str | None) -> str:
        return plain(f"{key}. {options[key]}" if key in options else "none of the options")

    right = chosen.answer in revealed.answers
    sign, style = _VERDICT[Verdict.RIGHT if right else Verdict.WRONG]
    told = ", ".join(map(named, revealed.answers))
    console.print(Text.assemble((f"{sign} ", style), f"chosen: {named(chosen.answer)}; right: {told}\n"))


def _items(items: Iterable[str]) -> Text:
    return Text("\n".join(f"• {plain(item)}" for item in items))


def diagnosis_text(diagnosis: Diagnosis) -> Text:
    """Returns a diagnosis with its code and probability."""
    percent = f" {100 * diagnosis.probability:.0f} %" if diagnosis.probability is not None else ""
    return Text.assemble(plain(diagnosis.name), (f" {diagnosis.icd10 or ''}", "dim"), (percent, "dim"))


def show_visits(console: Console, visits: Sequence[Visit | TeamVisit], knowledge: Knowledge) -> None:
    """Prints the table of many visits with its counts, and of teams how soon they agreed."""
    teams = [visit for visit in visits if isinstance(visit, TeamVisit)]
    counted = "rounds" if teams else "turns"
    shown = table(None, ("case", counted, "end", "diagnosis", "", "truth"), right=(counted,))
    shown.columns[4].justify, shown.columns[4].no_wrap = "center", True
    counts: Counter[Verdict] = Counter()
    spoken = 0
    for visit in visits:
        right = verdict(visit.report, visit.truth, knowledge)
        counts[right] += 1
        turns = visit.rounds if isinstance(visit, TeamVisit) else visit.turns
        spoken += turns
        named = Text("none named", style="dim")
        if visit.report is not None and visit.report.diagnoses:
            named = diagnosis_text(visit.report.diagnoses[0])
        sign, style = _VERDICT[right]
        truth = "; ".join(diagnosis.name for diagnosis in visit.truth.diagnoses)
        shown.add_row(plain(visit.case), str(turns), visit.end, named, Text(sign, style=style), plain(truth))
    console.print(shown)
    n = len(visits)
    parts = [f"{counts[v]} {v}" for v in Verdict if counts[v] or v in (Verdict.RIGHT, Verdict.WRONG)]
    mean = f"; {spoken / n:.1f} {counted} a visit" if n else ""
    console.print(Text(f"\n{n} visit{'s' if n != 1 else ''}: {', '.join(parts)}{mean}", style="bold"))
    if teams:
        _show_agreement(console, teams)


def _show_agreement(console: Console, visits: Sequence[TeamVisit]) -> None:
    held = [v for v in visits if v.end is not End.FAILED]
    reached = Counter(v.consensus for v in held if v.consensus is not None)
    rounds = ", ".join(f"{count} after {number}" for number, count in sorted(reached.items()))
    console.print(f"consensus in {reached.total()} of {len(held)} discussions{f' ({rounds})' if rounds else ''}")
    kept = sum(v.kept for v in visits)
    if kept:
        console.print(f"{kept} unusable answer{'s' if kept != 1 else ''} of doctors, whose last report stood")
