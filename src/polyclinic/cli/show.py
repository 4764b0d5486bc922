"""Visits in the terminal: the dialogue as it happens, the report beside the truth, the table of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.cli.chart import WORDS
from polyclinic.events import (
    Chosen,
    Convened,
    Disputed,
    End,
    Ended,
    Established,
    Event,
    Examined,
    Failed,
    Opened,
    Reported,
    Retrieved,
    Revealed,
    Revised,
    Role,
    Said,
    Shared,
)
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.ages import say_age
from polyclinic.language.language import Language, is_chinese
from polyclinic.metrics.accuracy import Verdict, verdict
from polyclinic.metrics.grades import Aspect
from polyclinic.terminal.tables import counted, table
from polyclinic.visits.visit import Visit

if TYPE_CHECKING:
    from polyclinic.visits.team import TeamVisit

_STYLE = {
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

_ENDS = {
    End.CONCLUDED: ("The doctor concluded after", "turn"),
    End.TURN_LIMIT: ("The turn limit was reached after", "turn"),
    End.PATIENT_LEFT: ("The patient left after", "turn"),
    End.FAILED: ("The visit failed after", "turn"),
    End.CONSENSUS: ("Consensus after", "round"),
    End.ROUND_LIMIT: ("No consensus within", "round"),
}


_end_words = WORDS.section("end", dict[str, Any])


class VisitView:
    """Prints the events of one trace: of a visit, of a doctor's visit in a team, or of a discussion."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._doctor = 0
        self._discussing = False
        self._sharing = False
        self._told: dict[str, int] = {}
        self._reports: dict[int, Report] = {}

    def show(self, event: Event) -> None:  # noqa: PLR0912 - a branch for each kind of event
        """Prints the next event."""
        match event:
            case Opened():
                self._doctor = event.doctor
                self._open(event)
            case Convened():
                self._discussing = True
                self._convene(event)
            case Said():
                to = f" to the {event.to}" if {event.who, event.to} & {Role.EXAMINER, Role.DIRECTOR} else ""
                label = f"{event.turn:>3} " if event.who is Role.DOCTOR else "    "
                self._line(f"{event.who.capitalize()}{to}", event.who, event.text, label=label)
            case Retrieved():
                sources = ", ".join(one.source for one in event.references) or "nothing that fits"
                remembered = any(one.title.endswith((" record", " experience", " reading")) for one in event.references)
                head = "Came to mind" if remembered else "Looked up"
                self._line(head, Role.DOCTOR, Text(sources, style="dim"))
            case Examined():
                self._line("Examiner", Role.EXAMINER, event.text)
            case Chosen():
                chosen = event.answer if event.answer is not None else "none of the options"
                self._line("Doctor chooses", Role.DOCTOR, chosen)
            case Reported() if self._doctor:
                self._line("Report", Role.DOCTOR, diagnoses_text(event.report))
            case Shared() | Established():
                self._tell(event)
            case Revised():
                self._revise(event)
            case Disputed():
                for number, point in enumerate(event.points, start=1):
                    self._line("Director" if number == 1 else "          ", Role.DIRECTOR, f"{number}. {point}")
                if not event.points:
                    self._line("Director", Role.DIRECTOR, "nothing is in dispute")
            case Failed():
                who = f"The {event.who} failed"
                if event.doctor:
                    then = "its last report stands" if event.answered else "no answer came"
                    lost = f"gave no usable answer, and {then}"
                    lost = lost if self._sharing else "does not take part, as its visit failed"
                    who = f"Doctor {event.doctor} {lost}"
                self._console.print(_indented(f"    {who}: {event.error}: {event.problem}"), style="red")
            case Ended() if self._discussing and event.reason is End.FAILED:
                self._console.print("    The discussion failed.\n", style="dim")
            case Ended():
                how, unit = _ENDS[event.reason]
                self._console.print(f"    {how} {counted(event.turns, unit)}.\n", style="dim")

    def _line(self, who: str, role: Role, text: Text | str, *, label: str = "    ") -> None:
        show_line(self._console, who, role, text, label=label)

    def _dim(self, text: str, *, soft_wrap: bool = False) -> None:
        self._console.print(text, style="dim", soft_wrap=soft_wrap)

    def _open(self, event: Opened) -> None:
        minds = ", ".join(f"{role}: {mind}" for role, mind in event.minds.items())
        doctor = f", doctor {event.doctor}" if event.doctor else ""
        show_person(self._console, f"{event.case}{doctor}", event.presentation)
        self._dim(f"    {minds}; seed {event.seed}; at most {event.max_turns} turns")
        for picture in event.pictures:
            seen = f"SHA-256 {picture.sha256[:16]}" if picture.sha256 else "fetched by the endpoint of the model"
            self._dim(f"    the doctor is shown a picture: {picture.name}, {seen}", soft_wrap=True)
        self._dim("    one step: the doctor reads the whole record\n" if event.one_step else "")

    def _convene(self, event: Convened) -> None:
        self._console.rule(Text(f"Case {event.case}, discussion", style="bold"), align="left")
        minds = ", ".join(f"doctor {number}: {name}" for number, name in enumerate(event.doctors, start=1))
        shown = "" if event.dispute_resolution else "; the doctors are not shown what is in dispute"
        self._dim(f"    {minds}, director: {event.director}; seed {event.seed}")
        self._dim(f"    at most {counted(event.max_rounds, 'round')}, {event.order}{shown}\n")

    def _tell(self, event: Shared | Established) -> None:
        """Prints facts: symptoms, and the names of the examinations, as their results are in the visits."""
        named = list(dict.fromkeys(finding.examination for finding in event.findings)) or event.examinations
        facts = "; ".join(event.symptoms) or "no symptoms"
        facts += f" | examined: {'; '.join(named)}" if named else " | nothing examined"
        if isinstance(event, Established):
            same = self._told.get(facts)
            self._line("Facts", Role.DIRECTOR, f"what doctor {same} told" if same else facts)
            return
        self._sharing = True
        same = self._told.setdefault(facts, event.doctor)
        told = facts if same == event.doctor else f"the same as doctor {same}"
        self._line(f"Doctor {event.doctor} tells", Role.DOCTOR, told)

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
                self._console.print(f"      {name}: {'; '.join(items)}", style="dim")


class Stage:
    """Shows visits that run at once, and then the discussion, as if they came one after another, each in its turn."""

    def __init__(self, console: Console, doctors: int) -> None:
        self._views = [VisitView(console) for _ in range(doctors + 1)]
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


def show_person(console: Console, case: str, person: Presentation) -> None:
    """Prints the heading of a visit: the case, and who the patient is."""
    console.rule(Text(f"Case {case}", style="bold"), align="left")
    who = [say_age(person.age, "en") if person.age is not None else "", person.sex or "", person.about]
    console.print(f"    {', '.join(filter(None, who))}", style="dim")


def show_line(console: Console, who: str, role: Role, text: Text | str, *, label: str = "    ") -> None:
    """Prints what somebody says, or what is told of somebody."""
    # Chinese has no blanks to break at: wrapped by words, all of it would stand below the name.
    soft = is_chinese(str(text))
    console.print(Text.assemble((label, "dim"), (f"{who}: ", _STYLE[role]), _indented(text)), soft_wrap=soft)


def _indented(text: Text | str) -> Text:
    """Returns a text of which no further line stands where somebody else's words would begin."""
    told = text if isinstance(text, Text) else Text(text)
    return Text("\n        ").join(told.split("\n"))


def show_end(
    console: Console,
    visit: Visit | TeamVisit,
    knowledge: Knowledge,
    *,
    expected: Mapping[Aspect, Sequence[str]] | None = None,
) -> None:
    """Prints what came of a visit beside what is so; of a team also what each doctor would have said alone.

    `expected` are symptoms and findings of the record, which the truth does not list.
    """
    revealed, chosen = visit.trace.last(Revealed), visit.trace.last(Chosen)
    assert revealed is not None  # noqa: S101
    if chosen is not None:
        _show_choice(console, chosen, revealed)
        return
    team = () if isinstance(visit, Visit) else visit.consultations
    words, report, expected = _end_words(language_of(visit)), visit.report, expected or {}
    shown = Table(title_justify="left", show_lines=True, expand=False)
    for name in ("", words["by_director"] if team else words["report"], words["truth"]):
        shown.add_column(name, overflow="fold")
    diagnoses = Text(words["no_report"] if report is None else words["none_named"])
    if report is not None and report.diagnoses:
        diagnoses = Text("\n").join(map(diagnosis_text, report.diagnoses))
    right = _VERDICT[verdict(report, visit.truth, knowledge)]
    truth = Text("\n").join(map(diagnosis_text, revealed.diagnoses))
    shown.add_row(Text.assemble(words["diagnosis"] + " ", right), diagnoses, truth)
    if report is not None:
        so = {"symptoms": expected.get(Aspect.SYMPTOMS, ()), "examinations": expected.get(Aspect.EXAMINATIONS, ())}
        for name in ("symptoms", "examinations", "rationale", "treatment"):
            known = so[name] if name in so else getattr(revealed, name)
            shown.add_row(words[name], _items(getattr(report, name)), _items(known))
    if revealed.severity:
        shown.add_row(words["severity"], "", words["severities"][revealed.severity])
    console.print(shown, "")
    if team:
        alone = (f"doctor {n} {verdict(one.report, one.truth, knowledge)}" for n, one in enumerate(team, start=1))
        console.print(f"    alone: {', '.join(alone)}\n", style="dim")


def language_of(visit: Visit | TeamVisit) -> Language:
    """Returns the language that a visit was held in."""
    opened = visit.trace.last(Opened)
    return "en" if opened is None else opened.presentation.language


def _show_choice(console: Console, chosen: Chosen, revealed: Revealed) -> None:
    options = revealed.question.options if revealed.question is not None else {}

    def named(key: str | None) -> str:
        return f"{key}. {options[key]}" if key in options else "none of the options"

    sign, style = _VERDICT[Verdict.RIGHT if chosen.answer in revealed.answers else Verdict.WRONG]
    told = ", ".join(map(named, revealed.answers))
    console.print(Text.assemble((f"{sign} ", style), f"chosen: {named(chosen.answer)}; right: {told}\n"))


def _items(items: Iterable[str]) -> Text:
    # Chinese is broken at blanks alone, and a bullet would be in a line of its own.
    return Text("\n".join(f"•{'' if is_chinese(item) else ' '}{item}" for item in items))


def diagnoses_text(report: Report, *, most: int | None = None) -> Text:
    """Returns the diagnoses of a report in one line."""
    if not report.diagnoses:
        return Text("none named", style="dim")
    held = Text("; ").join(diagnosis_text(diagnosis) for diagnosis in report.diagnoses[:most])
    if most is not None or not report.differential:
        return held
    others = Text("; ").join(diagnosis_text(diagnosis) for diagnosis in report.differential)
    return Text.assemble(held, ("; perhaps instead: ", "dim"), others)


def diagnosis_text(diagnosis: Diagnosis) -> Text:
    """Returns a diagnosis with its code and probability."""
    percent = f" {100 * diagnosis.probability:.0f} %" if diagnosis.probability is not None else ""
    return Text.assemble(diagnosis.name, (f" {diagnosis.icd10 or ''}", "dim"), (percent, "dim"))


def show_visits(console: Console, visits: Sequence[Visit | TeamVisit], knowledge: Knowledge) -> None:
    """Prints the table of many visits with its counts, and of teams how soon they agreed."""
    teams = [visit for visit in visits if not isinstance(visit, Visit)]
    unit, n, spoken = "rounds" if teams else "turns", len(visits), 0
    shown = table(None, ("case", unit, "end", "diagnosis", "", "truth"), right=(unit,))
    shown.columns[4].justify, shown.columns[4].no_wrap = "center", True
    counts: Counter[Verdict] = Counter()
    for visit in visits:
        right = verdict(visit.report, visit.truth, knowledge)
        counts[right] += 1
        turns = visit.turns if isinstance(visit, Visit) else visit.rounds
        spoken += turns
        named = Text("none named", style="dim") if visit.report is None else diagnoses_text(visit.report, most=1)
        truth = "; ".join(diagnosis.name for diagnosis in visit.truth.diagnoses)
        shown.add_row(visit.case, turns, visit.end, named, Text(*_VERDICT[right]), truth)
    console.print(shown)
    parts = [f"{counts[v]} {v}" for v in Verdict if counts[v] or v in (Verdict.RIGHT, Verdict.WRONG)]
    mean = f"; {spoken / n:.1f} {unit} a visit" if n else ""
    console.print(f"\n{counted(n, 'visit')}: {', '.join(parts)}{mean}", style="bold")
    console.print("right: the diagnosis by whatever name, or a kind of it", style="dim")
    if teams:
        held = [v for v in teams if v.end is not End.FAILED]
        reached = Counter(v.consensus for v in held if v.consensus is not None)
        rounds = ", ".join(f"{count} after {number}" for number, count in sorted(reached.items()))
        console.print(f"consensus in {reached.total()} of {len(held)} discussions{f' ({rounds})' if rounds else ''}")
        if kept := sum(v.kept for v in teams):
            console.print(f"{counted(kept, 'unusable answer')} of doctors, whose last report stood")
