"""A meeting of Tree-of-Reasoning's doctors in the terminal: the trees as they grew, and what was chosen."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from polyclinic.benchmarks.tor.growth import Change, Grown, stages
from polyclinic.benchmarks.tor.recorded import RecordedMeeting
from polyclinic.evidence_tree.support import Supporter
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import table

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
