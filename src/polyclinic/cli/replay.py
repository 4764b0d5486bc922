"""`polyclinic replay`: recorded visits, shown again."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from polyclinic.cli.show import VisitView, show_end
from polyclinic.errors import UserError
from polyclinic.evaluations.tor.meetings import Change, Grown, RecordedMeeting, holds_meetings, read_meetings, stages
from polyclinic.events import Convened, Opened, Revealed, Trace
from polyclinic.evidence_tree.support import Supporter
from polyclinic.hospital.record.happenings import clock
from polyclinic.hospital.record.recorded import RUN, RecordedRun
from polyclinic.hospital.record.story import ListedVisit, Moment, VisitStory, listed, story, visits_by
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.results.folder import RECORD, traces_in
from polyclinic.run.options import Json
from polyclinic.terminal.figures import NOTHING
from polyclinic.terminal.screen import are_tables_kept, console, note, print_json
from polyclinic.terminal.tables import Column, counted, table, table_of
from polyclinic.visits.team import revisit_all
from polyclinic.yaml_files import read_yaml

_WIDE = 100  # letters; a narrower list of visits leaves the department out
_VOICES = {"doctor": "bold cyan", "patient": "bold green", "nurse": "bold yellow", "examiner": "bold magenta"}
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
    columns: dict[str, Column] = {
        "visit": "id",
        "resident": lambda one: one.name or one.resident,
        "came": lambda one: clock(one.begin),
        "department": lambda one: one.department or NOTHING,
        "has": lambda one: words.illness(one) or NOTHING,
        "taken for": _diagnosis,
        "outcome": lambda one: one.outcome + (f"; {one.later}" if one.later and one.later not in one.outcome else ""),
    }
    if screen.width < _WIDE and not are_tables_kept():
        del columns["department"]
    shown = table_of(counted(len(visits), "visit"), visits, columns, left=len(columns))
    shown.box = None
    for whole in (0, 2):  # the id of a visit, which --visit takes, and its time
        shown.columns[whole].no_wrap = True
    screen.print(shown)
    if visits:
        note(f"One of them as it went: polyclinic replay {folder} --visit {visits[0].id}")


def _diagnosis(visit: ListedVisit) -> Text | str:
    if visit.right is None:
        return NOTHING
    return Text.assemble(_MARKS[visit.right], "" if visit.right else f" {visit.diagnosis or 'none'}")


class _Sentences(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sentences: dict[str, list[str]]  # of each kind of event
    names: dict[str, dict[str, str]]  # what ids are called, by the kind of thing


def sentences() -> dict[str, list[str]]:
    """Returns the parts of the sentence for each kind of event."""
    return _table().sentences


@functools.cache
def _table() -> _Sentences:
    return read_yaml(Path(__file__).with_name("replay.yaml"), _Sentences)


class _Words(Formatter):
    """Fills sentences in: ids get the names that the hospital and the knowledge have for them."""

    def __init__(self, configuration: Mapping[str, Any], knowledge: Knowledge) -> None:
        hospital = configuration.get("hospital") or {}
        places = {id: one["name"]["en"] for what in ("areas", "staff") for id, one in hospital.get(what, {}).items()}
        places |= {id: name["en"] for id, name in hospital.get("departments", {}).items()}
        self._names: dict[str, Mapping[str, str]] = {"place": places, **_table().names}
        for kind in ("disease", "examination", "drug"):
            self._names[kind] = {id: one.name.en for id, one in getattr(knowledge, f"{kind}s").items()}

    def sentence(self, what: str, about: Mapping[str, Any]) -> str:
        """Returns the sentence for an event; its tag where there is none."""
        if "path" in about:
            about = {**about, "begin": about["path"][0], "end": about["path"][-1], "there": about["times"][-1]}
        first, *others = sentences().get(what, [what])

        def there(part: str) -> bool:
            fields = (about.get(field) for _, field, _, _ in self.parse(part) if field)
            return all(value or (value == 0 and value is not False) for value in fields)

        return "".join(self.vformat(part, (), about) for part in [first, *filter(there, others)])

    def illness(self, visit: ListedVisit) -> str:
        """Returns the disease of a patient and its severity; "" if unknown."""
        return f"{self.name('disease', visit.disease)}, {visit.severity}" if visit.disease else ""

    def name(self, kind: str, id: str) -> str:
        """Returns the name of a place, a member of the staff, a disease and so on; the id where none is known."""
        known, colon, rest = id.partition(":")  # behind the colon: more about a drug
        return self._names[kind].get(known, known) + colon + rest

    def format_field(self, value: Any, how: str) -> str:
        """Returns a field as a sentence says it."""
        match how:
            case "clock":
                return clock(value).rpartition(" ")[2]
            case "time":
                return _minutes(value)
            case "days":
                return _days(value)
            case "signs":
                return "; ".join(f"{sign.replace('_', ' ')} {at}" for sign, at in value.items()) or "none measured"
            case "unsaid":
                return ""
        if isinstance(value, list | tuple):
            return ", ".join(self.format_field(one, how) for one in value) or "none"
        return self.name(how, value) if how else str(value)


def _show(screen: Console, told: VisitStory, words: _Words) -> None:
    one = told.visit
    screen.rule(Text(f"Visit {one.id}: {one.name or one.resident}", style="bold"), align="left")
    ill = words.illness(one) or "an unknown illness"
    screen.print(f"{ill}; {one.outcome}{f'; later {one.later}' if one.later else ''}", style="dim")
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
    match moment.what:
        case "said":
            to = f" to the {about['to']}" if "examiner" in (about["to"], about["who"]) else ""
            name = (f"{about['who'].capitalize()}{to}: ", _VOICES.get(about["who"], "bold"))
            return Text.assemble(name, about["text"])
        case "results":
            return Text.assemble(("Examiner: ", _VOICES["examiner"]), about["text"])
        case "reported":
            said = {"diagnoses": [one["name"] for one in about.get("diagnoses", ())]}
            said |= {name: about.get(name, ()) for name in ("symptoms", "rationale")}
            lines = (f"\n{name}: {'; '.join(items)}" for name, items in said.items() if items)
            return Text.assemble(("report", "bold"), *lines)
        case "diagnosed":
            named = about["diagnosis"] or "no diagnosis"
            by = words.name("place", about["staff"])
            return Text.assemble(f"diagnosis by {by}: {named} ", _MARKS[about["right"]])
        case "prescribed":
            items = (f"\n• {item}" for name in ("treatment", "not_begun") for item in about.get(name, ()))
            return Text.assemble(f"plan: {about['plan'] or 'none'} ", _MARKS[about["right"]], *items)
    return Text(words.sentence(moment.what, about), style="" if moment.what in sentences() else "dim")


def _days(days: float) -> str:
    return f"{days:g} day" if days == 1 else f"{days:g} days"


def _minutes(seconds: int) -> str:
    if seconds >= 2 * 86_400:
        return _days(round(seconds / 86_400, 1))
    return f"{seconds // 3600} h {seconds % 3600 // 60} min" if seconds >= 3600 else f"{seconds / 60:.0f} min"


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
    screen.rule(Text(f"record {meeting.id}: {person.complaint}"))
    for stage in stages(meeting):
        for one in stage.heard:
            said = Text.assemble((f"{one.by} to {one.to}: ", "bold"), one.text)
            screen.print(said, style="dim", soft_wrap=False)
        screen.print(_tree(stage, supporter))
    rows = []
    for name, answers in meeting.chose.items():
        groups = (answers & meeting.key, answers - meeting.key, meeting.key - answers)
        rows.append((name, *(", ".join(meeting.options.get(key, key) for key in sorted(one)) for one in groups)))
    screen.print(table("what was chosen", ("method", "right", "wrong", "missed"), rows, left=4))
    screen.print("+ new, - dropped since the doctor's tree before; ✓ and where in the record it stands.", style="dim")
    screen.print()


def _tree(stage: Grown, supporter: Supporter) -> Tree:
    when = "concludes" if stage.by == "head" else "first" if not stage.round else f"after round {stage.round}"
    drawn = Tree(Text(f"{stage.by}, {when}", style="bold"))
    if stage.text:
        drawn.add(Text(stage.text))
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
    return Text(f"{sign}{text}", style=f"{style} {colour}".strip())


def replay(
    trace: Path,
    /,
    *,
    visit: Annotated[str | None, Parameter(metavar="ID")] = None,
    resident: Annotated[str | None, Parameter(metavar="NAME")] = None,
    json: Json = False,
) -> None:
    """Shows the visits of a trace, or prints them as they were printed; of meetings, how the trees grew.

    Of a run of the hospital ('polyclinic run --out DIR') it lists the visits, or shows one from its beginning to its
    end: who waited for what, what was said when, what was found, given, and what came of it.

    Args:
        trace: A trace that 'polyclinic consult --out' wrote, meetings of 'polyclinic eval tor --out', or the folder of
            a run of the hospital.
        visit: Only this visit of a run, or of meetings the one on this record.
        resident: Resident of a run whose visits are shown, by name or id.
    """
    if (trace / RECORD).exists() and not (trace / RUN).exists():
        found = traces_in(trace)
        if len(found) > 1:
            raise UserError(f"{trace} holds {len(found)} traces; name one of them: {', '.join(map(str, found))}")
        trace = found[0]
    if trace.is_dir():
        replay_run(trace, visit=visit, resident=resident, json=json)
        return
    if resident is not None:
        raise UserError(f"--resident is for the folder of 'polyclinic run --out'; {trace} is none")
    if holds_meetings(trace):
        meetings = [one for one in read_meetings(trace) if visit in (None, one.id)]
        if not meetings:
            raise UserError(f"no meeting on record {visit!r} in {trace}")
        if json:
            print_json(msgspec.to_builtins(meetings, order="deterministic"))
            return
        for meeting in meetings:
            show_meeting(console(), meeting, read_knowledge())
        return
    if visit is not None:
        raise UserError(f"--visit is for the folder of 'polyclinic run --out' and for meetings; {trace} is neither")
    _show_visits(Trace.read(trace), json=json)


def _show_visits(traces: Sequence[Trace], *, json: bool) -> None:
    """Shows visits, of a team once its doctors have discussed, when the truth is known."""
    if json:
        documents = [visit.document() for visit in revisit_all(traces)]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    knowledge, screen = read_knowledge(), console()
    of_team: list[Trace] = []
    for recorded in traces:
        view = VisitView(screen)
        for event in recorded:
            view.show(event)
        of_team.append(recorded)
        opened = recorded.last(Opened)
        if opened is not None and opened.doctor:
            continue
        if recorded.last(Revealed) is not None:
            for again in revisit_all(of_team if recorded.last(Convened) is not None else [recorded]):
                show_end(screen, again, knowledge)
        of_team.clear()
