"""`polyclinic replay`: recorded visits, shown again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from msgspec import to_builtins
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from polyclinic.cli.show import show_end
from polyclinic.cli.team import TeamView
from polyclinic.errors import UserError
from polyclinic.evaluations.tor.meetings import Change, Grown, RecordedMeeting, holds_meetings, read_meetings, stages
from polyclinic.events import Convened, Opened, Revealed, Trace
from polyclinic.evidence_tree.support import Supporter
from polyclinic.hospital.record.recorded import RUN, RecordedRun
from polyclinic.hospital.record.story import ListedVisit, Moment, VisitStory, clock, listed, story, visits_by
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.results.folder import RECORD, traces_in
from polyclinic.run.options import Json
from polyclinic.terminal.figures import NOTHING
from polyclinic.terminal.screen import are_tables_kept, console, note, plain, print_json
from polyclinic.terminal.tables import counted, table
from polyclinic.visits.revisit import revisit_all

_WIDE = 100  # letters; a narrower list of visits leaves the department out
_VOICES = {"doctor": "bold cyan", "patient": "bold green", "nurse": "bold yellow", "examiner": "bold magenta"}
_LEFT = {"closed": "turned away, nobody is there any more", "not admitted": "turned away, nobody is there for it"}
"""What the log's reasons for leaving mean, where they do not say it themselves."""

_TALKS = {"consultation": "the consultation", "results": "the talk about the results", "sampling": "sampling"}
_MARKS = {True: ("✓", "green"), False: ("✗", "red")}


def replay_run(folder: Path, *, visit: str | None, resident: str | None, json: bool) -> None:
    """Shows a visit of a run, those of a resident, or a list of all."""
    if visit is not None and resident is not None:
        raise UserError("--visit and --resident each say what to show; give one of them")
    with RecordedRun(folder) as run:
        if visit is None and resident is None:
            _list(listed(run), folder, json=json)
            return
        ids = [visit] if visit is not None else [one.id for one in visits_by(run, resident or "")]
        stories = [story(run, str(id)) for id in ids]
        words = _Words(run.configuration, read_knowledge())
    if json:
        print_json(stories[0] if visit is not None else stories)
        return
    for one in stories:
        _show(console(), one, words)
    if not any(one.told for one in stories):
        note("No dialogue of this is kept; polyclinic run --traces --out DIR keeps them.")


def _list(visits: list[ListedVisit], folder: Path, *, json: bool) -> None:
    if json:
        print_json(visits)
        return
    words = _Words({}, read_knowledge())
    screen = console()
    wide = screen.width >= _WIDE or are_tables_kept()
    heads = ("visit", "resident", "came", *(["department"] if wide else []), "has", "taken for", "outcome")
    shown = table(counted(len(visits), "visit"), heads, left=len(heads))
    shown.box = None
    for whole in (0, 2):  # what a visit is called, which --visit takes, and when it was
        shown.columns[whole].no_wrap = True
    for one in visits:
        ill = f"{words.disease(one.disease)}, {one.severity}" if one.disease else NOTHING
        later = f"; {one.later}" if one.later and one.later not in one.outcome else ""
        shown.add_row(
            one.id,
            plain(one.name or one.resident),
            clock(one.begin),
            *([one.department or NOTHING] if wide else []),
            plain(ill),
            _diagnosis(one),
            plain(one.outcome + later),
        )
    screen.print(shown)
    if visits:
        note(f"One of them as it went: polyclinic replay {folder} --visit {visits[0].id}")


def _diagnosis(visit: ListedVisit) -> Text:
    if visit.right is None:
        return Text(NOTHING)
    return Text.assemble(_MARKS[visit.right], "" if visit.right else f" {plain(visit.diagnosis) or 'none'}")


class _Words:
    """What ids mean: of the hospital's areas, departments and staff, and of the knowledge."""

    def __init__(self, configuration: Mapping[str, Any], knowledge: Knowledge) -> None:
        hospital = configuration.get("hospital") or {}
        self._named: dict[str, str] = {}
        for what in ("areas", "staff"):
            self._named |= {id: one["name"]["en"] for id, one in hospital.get(what, {}).items()}
        self._named |= {id: name["en"] for id, name in hospital.get("departments", {}).items()}
        self._knowledge = knowledge

    def __call__(self, id: str) -> str:
        """Returns the name of an area, a department or a member of the staff; the id where none is known."""
        return self._named.get(id, id)

    def disease(self, id: str) -> str:
        """Returns the name of a disease."""
        disease = self._knowledge.diseases.get(id)
        return id if disease is None else disease.name.en

    def examination(self, id: str) -> str:
        """Returns the name of an examination."""
        examination = self._knowledge.examinations.get(id)
        return id if examination is None else examination.name.en

    def drug(self, text: str) -> str:
        """Returns a drug's name, with what stands behind a colon."""
        id, colon, rest = text.partition(":")
        drug = self._knowledge.drugs.get(id)
        return (id if drug is None else drug.name.en) + colon + rest


def _show(screen: Console, told: VisitStory, words: _Words) -> None:
    one = told.visit
    screen.rule(Text(f"Visit {one.id}: {plain(one.name or one.resident)}", style="bold"), align="left")
    ill = f"{words.disease(one.disease)}, {one.severity}" if one.disease else "an unknown illness"
    screen.print(Text(plain(f"{ill}; {one.outcome}{f'; later {one.later}' if one.later else ''}"), style="dim"))
    day = -1
    for moment in told.moments:
        if moment.t // 86_400 != day:
            day = moment.t // 86_400
            screen.print(Text(f"\nDay {day + 1}", style="bold"))
        time = Text(moment.at.rpartition(" ")[2] + "  ", style="dim")
        lines = _line(moment, words).split("\n")
        screen.print(time + Text("\n          ").join(lines), soft_wrap=True)
    screen.print()


def _line(moment: Moment, words: _Words) -> Text:
    about = moment.about
    if moment.what == "said":
        to = f" to the {about['to']}" if "examiner" in (about["to"], about["who"]) else ""
        name = (f"{about['who'].capitalize()}{to}: ", _VOICES.get(about["who"], "bold"))
        return Text.assemble(name, plain(about["text"]))
    if moment.what == "results":
        return Text.assemble(("Examiner: ", _VOICES["examiner"]), plain(about["text"]))
    if moment.what == "reported":
        return _report(about)
    if moment.what == "diagnosed":
        named = plain(about["diagnosis"]) or "no diagnosis"
        return Text.assemble(f"diagnosis by {words(about['staff'])}: {named} ", _MARKS[about["right"]])
    if moment.what == "prescribed":
        mark = _MARKS[about["right"]]
        items = "".join(f"\n• {item}" for item in about.get("treatment", ()))
        items += "".join(f"\n• {item}" for item in about.get("not_begun", ()))
        return Text.assemble(f"plan: {about['plan'] or 'none'} ", mark, plain(items))
    say = _LINES.get(moment.what)
    return Text(plain(moment.what if say is None else say(about, words)), style="" if say else "dim")


def _report(about: Mapping[str, Any]) -> Text:
    said = Text.assemble(("report", "bold"))
    diagnoses = [one["name"] for one in about.get("diagnoses", ())]
    for name, items in (("diagnoses", diagnoses), *((n, about.get(n, ())) for n in ("symptoms", "rationale"))):
        if items:
            said.append(f"\n{name}: {plain('; '.join(items))}")
    return said


def _days(days: float) -> str:
    return f"{days:g} day" if days == 1 else f"{days:g} days"


def _minutes(seconds: int) -> str:
    if seconds >= 2 * 86_400:
        return _days(round(seconds / 86_400, 1))
    return f"{seconds // 3600} h {seconds % 3600 // 60} min" if seconds >= 3600 else f"{seconds / 60:.0f} min"


def _by(about: Mapping[str, Any], words: _Words, name: str = "staff") -> str:
    return f" by {words(about[name])}" if about.get(name) else ""


def _triaged(about: Mapping[str, Any], words: _Words) -> str:
    level = f", level {about['level']}" if about.get("level") else ""
    right = f"{words(about['right_department'])}, {about['right_acuity']}"
    right += f", level {about['right_level']}" if about.get("right_level") else ""
    sent = f"is sent to {words(about['department'])} as {about['acuity']}{level}"
    return f"{sent}{_by(about, words, 'nurse')} (right: {right})"


def _measured(about: Mapping[str, Any], _: _Words) -> str:
    signs = "; ".join(f"{sign.replace('_', ' ')} {value}" for sign, value in about["vital_signs"].items())
    why = f"\nthe nurse's reason: {about['reason']}" if about["reason"] else ""
    return f"vital signs: {signs or 'none measured'}{why}"


def _queued(about: Mapping[str, Any], words: _Words) -> str:
    acuity = f", {about['acuity']}" if about.get("acuity") else ""
    return f"waits for {words(about['queue'])}{acuity}{', again' if about.get('again') else ''}"


def _dispensed(about: Mapping[str, Any], words: _Words) -> str:
    lines = [f"drugs{_by(about, words)}: {', '.join(map(words.drug, about['drugs'])) or 'none'}"]
    for name, told in (("withheld", "withheld"), ("instead", "instead of"), ("lacking", "nothing instead of")):
        lines += [f"{told} {words.drug(one)}" for one in about.get(name, ())]
    return "\n• ".join(lines)


def _activity(about: Mapping[str, Any], words: _Words) -> str:
    what = words.examination(about["examination"]) if about.get("examination") else _TALKS[about["activity"]]
    return f"{what} begins in {words(about['area'])}{_by(about, words)}"


def _ordered(about: Mapping[str, Any], words: _Words) -> str:
    ordered = ", ".join(map(words.examination, about.get("ordered", ())))
    return f"the talk with {words(about['staff'])} is over" + (f"; ordered: {ordered}" if ordered else "")


def _home(about: Mapping[str, Any]) -> str:
    return f", at home at ({', '.join(map(str, about['home']))})" if about.get("home") else ""


_LINES: dict[str, Callable[[Mapping[str, Any], _Words], str]] = {
    "fell ill": lambda a, w: f"falls ill with {w.disease(a['disease'])}, {a['severity']}{_home(a)}",
    "walked": lambda a, w: (
        f"goes from {w(a['path'][0])} to {w(a['path'][-1])}, there at {clock(a['times'][-1]).rpartition(' ')[2]}"
    ),
    "triaged": _triaged,
    "measured": _measured,
    "got worse waiting": lambda a, _: f"gets worse while it waits: {a['severity']}",
    "triaged again": lambda a, _: f"is looked at again: {a['acuity']}",
    "registered": lambda a, w: f"is registered for {w(a['department'])}",
    "queued": _queued,
    "called": lambda a, w: (
        f"is called to {w(a['area'])}{_by(a, w)}"
        f"{' in place of ' + w(a['instead_of']) if a.get('instead_of') else ''} after {_minutes(a['waited'])}"
    ),
    "began": _activity,
    "ended": lambda a, w: f"{w.examination(a.get('examination', ''))} is over; its result comes later",
    "interrupted": lambda a, w: f"{w(a['staff'])} is called away to an emergency",
    "resumed": lambda a, w: f"{w(a['staff'])} is back",
    "sampled": lambda a, w: f"samples are taken{_by(a, w)} for {', '.join(map(w.examination, a['examinations']))}",
    "consulted": _ordered,
    "examined": lambda a, w: f"result of {w.examination(a['examination'])} from {w(a['area'])}",
    "referred": lambda a, w: f"is referred{_by(a, w)} to {w(a['to_department'])}",
    "dispensed": _dispensed,
    "admitted": lambda a, w: f"is admitted to {w(a['area'])} after {_minutes(a.get('waited', 0))}",
    "moved": lambda a, w: f"is moved to {w(a['area'])} after {_minutes(a['stayed'])}",
    "operated": lambda a, w: f"the operation is over after {_minutes(a['took'])}",
    "got worse": lambda a, _: f"gets worse: {a['severity']} ({a['cause']})",
    "discharged": lambda a, w: f"leaves its bed in {w(a['area'])} after {_days(a['days'])} in all",
    "died": lambda a, w: f"dies of {w.disease(a['disease'])} ({a['cause']})",
    "went home": lambda _, __: "is at home, treated",
    "left unseen": lambda a, _: f"leaves: {_LEFT.get(a['reason'], a['reason'])}, after {_minutes(a.get('waited', 0))}",
    "visit failed": lambda a, _: f"the visit fails: {a['who']}: {a['error']}: {a['problem']}",
    "followed up": lambda a, _: f"follow-up: {a['outcome']}" + (f" ({a['cause']})" if a.get("cause") else ""),
    "follow-up failed": lambda a, _: f"the follow-up fails: {a['error']}: {a['problem']}",
}


_SIGNS: dict[Change, tuple[str, str]] = {"new": ("+ ", "green"), "kept": ("", ""), "dropped": ("- ", "red strike")}
_STATUS = {
    "supported": ("✓", "dim"),
    "contradicted": ("contradicted by", "yellow"),
    "not there": ("not in the record", "yellow"),
}


def show_meeting(screen: Console, meeting: RecordedMeeting, knowledge: Knowledge) -> None:
    """Prints a meeting: each opinion as a tree, what was new and what was dropped in it, and where evidence stands."""
    supporter = Supporter(meeting.record, knowledge)
    person = meeting.record.presentation
    screen.rule(Text(plain(f"record {meeting.id}: {person.complaint}")))
    for stage in stages(meeting):
        for one in stage.heard:
            said = Text.assemble((f"{one.by} to {one.to}: ", "bold"), plain(one.text))
            screen.print(said, style="dim", soft_wrap=False)
        screen.print(_tree(stage, supporter))
    _show_choices(screen, meeting)
    screen.print("+ new, - dropped since the doctor's tree before; ✓ and where in the record it stands.", style="dim")
    screen.print()


def _tree(stage: Grown, supporter: Supporter) -> Tree:
    when = "concludes" if stage.by == "head" else "first" if not stage.round else f"after round {stage.round}"
    drawn = Tree(Text(f"{stage.by}, {when}", style="bold"))
    if stage.text:
        drawn.add(Text(plain(stage.text)))
    elif not stage.diagnoses:
        drawn.add(Text("suspects nothing", style="dim"))
    for diagnosis in stage.diagnoses:
        branch = drawn.add(_marked(diagnosis.diagnosis, diagnosis.change, "bold"))
        for reasoning in diagnosis.reasonings:
            twig = branch.add(_marked(reasoning.analysis, reasoning.change))
            for leaf, change in reasoning.evidence:
                support = supporter.support(leaf.evidence)
                told, style = _STATUS[support.status]
                where = f" {support.pointer.field}" if support.pointer is not None else ""
                line = _marked(leaf.evidence, change)
                twig.add(line.append(f"  {told}{where}", style=style))
    return drawn


def _marked(text: str, change: Change, style: str = "") -> Text:
    sign, colour = _SIGNS[change]
    return Text(f"{sign}{plain(text)}", style=f"{style} {colour}".strip())


def _show_choices(screen: Console, meeting: RecordedMeeting) -> None:
    """Prints what each method chose: right, wrong, missed (the paper's Figure 5)."""
    shown = table("what was chosen", ("method", "right", "wrong", "missed"), left=4)
    for name, answers in meeting.chose.items():
        groups = (answers & meeting.key, answers - meeting.key, meeting.key - answers)
        shown.add_row(
            Text(plain(name)), *(Text(plain(", ".join(meeting.options.get(k, k) for k in sorted(g)))) for g in groups)
        )
    screen.print(shown)


def replay(
    trace: Annotated[
        Path,
        Parameter(
            help="A trace that 'polyclinic consult --out' wrote, meetings of 'polyclinic eval tor --out', or the "
            "folder of a run of the hospital."
        ),
    ],
    /,
    *,
    visit: Annotated[
        str | None, Parameter(metavar="ID", help="Only this visit of a run, or of meetings the one on this record.")
    ] = None,
    resident: Annotated[
        str | None, Parameter(metavar="NAME", help="Resident of a run whose visits are shown, by name or id.")
    ] = None,
    json: Json = False,
) -> None:
    """Shows the visits of a trace, or prints them as they were printed; of meetings, how the trees grew.

    Of a run of the hospital ('polyclinic run --out DIR') it lists the visits, or shows one from its beginning to its
    end: who waited for what, what was said when, what was found, given, and what came of it.
    """
    trace = _only_trace(trace)
    if trace.is_dir():
        replay_run(trace, visit=visit, resident=resident, json=json)
        return
    if resident is not None:
        raise UserError(f"--resident is for the folder of 'polyclinic run --out'; {trace} is none")
    if holds_meetings(trace):
        _meetings(trace, visit, json=json)
        return
    if visit is not None:
        raise UserError(f"--visit is for the folder of 'polyclinic run --out' and for meetings; {trace} is neither")
    traces = Trace.read(trace)
    if json:
        documents = [visit.document() for visit in revisit_all(traces)]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    knowledge, screen = read_knowledge(), console()
    of_team: list[Trace] = []
    for recorded in traces:
        view = TeamView(screen)
        for event in recorded:
            view.show(event)
        # A doctor's visit in a team is shown without the truth; that comes when the team has discussed it.
        of_team.append(recorded)
        opened = recorded.last(Opened)
        if opened is not None and opened.doctor:
            continue
        if recorded.last(Revealed) is not None:
            for again in revisit_all(of_team if recorded.last(Convened) is not None else [recorded]):
                show_end(screen, again, knowledge)
        of_team.clear()


def _only_trace(folder: Path) -> Path:
    """Returns the trace in the folder of an evaluation; anything else as it is."""
    if not (folder / RECORD).exists() or (folder / RUN).exists():
        return folder
    found = traces_in(folder)
    if len(found) > 1:
        raise UserError(f"{folder} holds {len(found)} traces; name one of them: {', '.join(map(str, found))}")
    return found[0]


def _meetings(file: Path, record: str | None, *, json: bool) -> None:
    meetings = [one for one in read_meetings(file) if record in (None, one.id)]
    if not meetings:
        raise UserError(f"no meeting on record {record!r} in {file}")
    if json:
        print_json(to_builtins(meetings, order="deterministic"))
        return
    for meeting in meetings:
        show_meeting(console(), meeting, read_knowledge())
