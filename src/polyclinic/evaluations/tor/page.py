"""A meeting as a page: the trees beside the record, and where in it each piece of evidence stands.

It is one file that needs no network and no script. A piece of evidence that is pointed at, or reached by the
keyboard, marks its place in the record. The head's tree says in which round a doctor first wrote each piece of
evidence, and who dropped a diagnosis. Colours are repeated by signs or words. All texts of models and cases are
escaped; a control character is replaced by a visible sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from string import Template

from polyclinic.evaluations.tor.meetings import Change, Grown, GrownDiagnosis, RecordedMeeting, stages
from polyclinic.evidence_tree.sources import RecordText
from polyclinic.evidence_tree.support import Supporter
from polyclinic.evidence_tree.tree import same_words
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.terminal.html import shown

_PAGE = Path(__file__).with_name("page.html")
_SIGNS: dict[Change, str] = {"new": "+ ", "kept": "", "dropped": "− "}
_STATUS = {"supported": "", "contradicted": "contradicted by the record", "not there": "not in the record"}


def page(meetings: Iterable[RecordedMeeting], knowledge: Knowledge, *, title: str) -> str:
    """Returns meetings as one HTML page."""
    drawn = [_Drawn(meeting, knowledge, number) for number, meeting in enumerate(meetings)]
    return Template(_PAGE.read_text("utf-8")).substitute(
        title=shown(title),
        rules="\n".join(rule for one in drawn for rule in one.rules()),
        contents=" ".join(f'<a href="#m{one.number}">{shown(one.meeting.id)}</a>' for one in drawn),
        meetings="\n".join(one.html() for one in drawn),
    )


class _Drawn:
    """One meeting on the page; every piece of evidence that the record speaks to has a number there."""

    def __init__(self, meeting: RecordedMeeting, knowledge: Knowledge, number: int) -> None:
        self.meeting, self.number = meeting, number
        self._supporter = Supporter(meeting.record, knowledge)
        self._stages = list(stages(meeting))
        self._first: dict[tuple[str, str], int] = {}  # the round in which a doctor first wrote evidence to a diagnosis
        self._numbers: dict[str, int] = {}
        for stage in self._stages:
            for diagnosis in stage.diagnoses:
                for leaf in (leaf for reasoning in diagnosis.reasonings for leaf, _ in reasoning.evidence):
                    if stage.by != "head":
                        self._first.setdefault(_key(diagnosis.diagnosis, leaf.evidence), stage.round)
                    if self._supporter.support(leaf.evidence).pointer is not None:
                        self._numbers.setdefault(leaf.evidence, len(self._numbers))

    def _name(self, evidence: str) -> str:
        return f"e{self.number}-{self._numbers[evidence]}"

    def rules(self) -> Iterator[str]:
        """Yields the style that marks a place in the record when its evidence is pointed at."""
        for evidence in self._numbers:
            name = self._name(evidence)
            yield f"body:has(.{name}:is(:hover,:focus)) .at-{name}{{background:#f7d774;outline:2px solid #b58900}}"

    def html(self) -> str:
        grown = "".join(self._stage(stage) for stage in self._stages)
        texts = "".join(self._text(text) for text in self._supporter.texts)
        sides = f'<div class="trees">{grown}</div><div class="record"><h3>Record</h3>{texts}</div>'
        title = f"<h2>Record {shown(self.meeting.id)}</h2>"
        return f'<section id="m{self.number}">{title}<div class="sides">{sides}</div>{self._chose()}</section>'

    def _stage(self, stage: Grown) -> str:
        when = "concludes" if stage.by == "head" else "first" if not stage.round else f"after round {stage.round}"
        said = "".join(f"<li><b>{r.by} to {r.to}:</b> {shown(r.text)}</li>" for r in stage.heard)
        heard = f"<details><summary>{len(stage.heard)} remarks heard</summary><ul>{said}</ul></details>" if said else ""
        if stage.text:
            inside = f"<p>{shown(stage.text)}</p>"
        else:
            inside = "".join(self._diagnosis(one, stage) for one in stage.diagnoses) or "<p>suspects nothing</p>"
            if stage.by == "head" and (gone := self._gone(stage)):
                inside += f"<p>− dropped: {shown(', '.join(gone))}</p>"
        return f'<article><h3>{stage.by}, {when}</h3>{heard}<ul class="tree">{inside}</ul></article>'

    def _gone(self, final: Grown) -> list[str]:
        """Returns the diagnoses that a doctor held and the final tree does not, with who dropped each, and when."""
        kept = {same_words(one.diagnosis) for one in final.diagnoses if one.change != "dropped"}
        gone: dict[str, str] = {}
        for stage in self._stages:
            when = "head in the end" if stage.by == "head" else f"{stage.by} doctor in round {stage.round}"
            for one in stage.diagnoses:
                if one.change == "dropped" and same_words(one.diagnosis) not in kept:
                    gone[same_words(one.diagnosis)] = f"{one.diagnosis} (by the {when})"
        return list(gone.values())

    def _diagnosis(self, diagnosis: GrownDiagnosis, stage: Grown) -> str:
        reasonings = []
        for reasoning in diagnosis.reasonings:
            leaves = "".join(
                self._leaf(leaf.evidence, change, self._first.get(_key(diagnosis.diagnosis, leaf.evidence), 0))
                if stage.by == "head"
                else self._leaf(leaf.evidence, change)
                for leaf, change in reasoning.evidence
            )
            said = f"{_SIGNS[reasoning.change]}{shown(reasoning.analysis)}"
            reasonings.append(f'<li class="{reasoning.change}">{said}<ul>{leaves}</ul></li>')
        name = f"<b>{_SIGNS[diagnosis.change]}{shown(diagnosis.diagnosis)}</b>"
        return f'<li class="{diagnosis.change}">{name}<ul>{"".join(reasonings)}</ul></li>'

    def _leaf(self, evidence: str, change: Change, round: int = 0) -> str:
        support = self._supporter.support(evidence)
        told = f" <i>({_STATUS[support.status]})</i>" if _STATUS[support.status] else ""
        told += f" <small>since round {round}</small>" if round else ""
        marks = ["leaf", change, support.status.replace(" ", "-")]
        title = ""
        if support.pointer is not None:
            marks.append(self._name(evidence))
            title = f' tabindex="0" title="{shown(f"{support.pointer.how}, {support.pointer.field}")}"'
        return f'<li><span class="{" ".join(marks)}"{title}>{_SIGNS[change]}{shown(evidence)}</span>{told}</li>'

    def _text(self, text: RecordText) -> str:
        """Returns a text of the record, cut where evidence begins and ends."""
        at = [
            (support.pointer.start, support.pointer.end, f"at-{self._name(evidence)}")
            for evidence in self._numbers
            if (support := self._supporter.support(evidence)).pointer is not None
            and support.pointer.field == text.field
        ]
        cuts = sorted({0, len(text.text), *(start for start, _, _ in at), *(end for _, end, _ in at)})
        parts = []
        for begin, end in pairwise(cuts):
            names = " ".join(name for start, stop, name in at if start <= begin and end <= stop)
            said = shown(text.text[begin:end])
            parts.append(f'<span class="used {names}">{said}</span>' if names else said)
        label = "" if text.finding is not None else f"<b>{shown(text.label)}:</b> "
        return f"<p>{label}{''.join(parts)}</p>"

    def _chose(self) -> str:
        rows = []
        for name, answers in self.meeting.chose.items():
            groups = (answers & self.meeting.key, answers - self.meeting.key, self.meeting.key - answers)
            cells = (", ".join(self.meeting.options.get(k, k) for k in sorted(group)) for group in groups)
            told = "".join(
                f'<td class="{mark}">{shown(cell)}</td>'
                for mark, cell in zip(("right", "wrong", "missed"), cells, strict=True)
            )
            rows.append(f"<tr><th>{shown(name)}</th>{told}</tr>")
        head = "<tr><th>method</th><th>✓ right</th><th>✗ wrong</th><th>○ missed</th></tr>"
        return f'<table class="chose">{head}{"".join(rows)}</table>'


def _key(diagnosis: str, evidence: str) -> tuple[str, str]:
    return same_words(diagnosis), same_words(evidence)
