"""A meeting as a page and as a picture: the trees beside the record, and where in it each piece of evidence stands.

Both are one file that needs no network and no script. A piece of evidence that is pointed at, or reached by the
keyboard, marks its place in the record. What is said by colour is said by a sign or a word too. Whatever a model or a
case says is escaped, and a control character in it stands as a sign that one can see, in its own place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from itertools import pairwise
from pathlib import Path
from string import Template

from polyclinic.benchmarks.tor.growth import Change, Grown, GrownDiagnosis, stages
from polyclinic.benchmarks.tor.recorded import RecordedMeeting
from polyclinic.evidence_tree.sources import RecordText
from polyclinic.evidence_tree.support import Support, Supporter
from polyclinic.knowledge.knowledge import Knowledge

_PAGE = Path(__file__).with_name("page.html")
_SIGNS: dict[Change, str] = {"new": "+ ", "kept": "", "dropped": "− "}
_TOLD = {"supported": "", "contradicted": "contradicted by the record", "not there": "not in the record"}

# Also what turns the direction of the text round, and what no XML may hold.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def page(meetings: Iterable[RecordedMeeting], knowledge: Knowledge, *, title: str) -> str:
    """Returns meetings as one HTML page."""
    drawn = [_Drawn(meeting, knowledge, number) for number, meeting in enumerate(meetings)]
    return Template(_PAGE.read_text("utf-8")).substitute(
        title=_shown(title),
        rules="\n".join(rule for one in drawn for rule in one.rules()),
        contents=" ".join(f'<a href="#m{one.number}">{_shown(one.meeting.id)}</a>' for one in drawn),
        meetings="\n".join(one.html() for one in drawn),
    )


def _shown(text: str) -> str:
    """Returns a text as it may stand in the page: escaped, control characters as signs, each as long as it was."""
    return escape(_CONTROL.sub(_sign, text))


def _sign(control: re.Match[str]) -> str:
    code = ord(control[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


class _Drawn:
    """One meeting on the page; every piece of evidence that the record speaks to has a number there."""

    def __init__(self, meeting: RecordedMeeting, knowledge: Knowledge, number: int) -> None:
        self.meeting, self.number = meeting, number
        self._supporter = Supporter(meeting.record, knowledge)
        self._stages = list(stages(meeting))
        self._numbers: dict[str, int] = {}
        for stage in self._stages:
            for text in _evidence(stage.diagnoses):
                if self._supporter.support(text).pointer is not None:
                    self._numbers.setdefault(text, len(self._numbers))

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
        title = f"<h2>Record {_shown(self.meeting.id)}</h2>"
        return f'<section id="m{self.number}">{title}<div class="sides">{sides}</div>{self._chose()}</section>'

    def _stage(self, stage: Grown) -> str:
        when = "concludes" if stage.by == "head" else "first" if not stage.round else f"after round {stage.round}"
        said = "".join(f"<li><b>{r.by} to {r.to}:</b> {_shown(r.text)}</li>" for r in stage.heard)
        heard = f"<details><summary>{len(stage.heard)} remarks heard</summary><ul>{said}</ul></details>" if said else ""
        if stage.text:
            inside = f"<p>{_shown(stage.text)}</p>"
        else:
            inside = "".join(map(self._diagnosis, stage.diagnoses)) or "<p>suspects nothing</p>"
        return f'<article><h3>{stage.by}, {when}</h3>{heard}<ul class="tree">{inside}</ul></article>'

    def _diagnosis(self, diagnosis: GrownDiagnosis) -> str:
        reasonings = []
        for reasoning in diagnosis.reasonings:
            leaves = "".join(self._leaf(leaf.evidence, change) for leaf, change in reasoning.evidence)
            said = f"{_SIGNS[reasoning.change]}{_shown(reasoning.analysis)}"
            reasonings.append(f'<li class="{reasoning.change}">{said}<ul>{leaves}</ul></li>')
        name = f"<b>{_SIGNS[diagnosis.change]}{_shown(diagnosis.diagnosis)}</b>"
        return f'<li class="{diagnosis.change}">{name}<ul>{"".join(reasonings)}</ul></li>'

    def _leaf(self, evidence: str, change: Change) -> str:
        support = self._supporter.support(evidence)
        told = f" <i>({_TOLD[support.status]})</i>" if _TOLD[support.status] else ""
        marks = ["leaf", change, support.status.replace(" ", "-")]
        title = ""
        if support.pointer is not None:
            marks.append(self._name(evidence))
            title = f' tabindex="0" title="{_shown(f"{support.pointer.how}, {support.pointer.field}")}"'
        return f'<li><span class="{" ".join(marks)}"{title}>{_SIGNS[change]}{_shown(evidence)}</span>{told}</li>'

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
            said = _shown(text.text[begin:end])
            parts.append(f'<span class="used {names}">{said}</span>' if names else said)
        label = "" if text.finding is not None else f"<b>{_shown(text.label)}:</b> "
        return f"<p>{label}{''.join(parts)}</p>"

    def _chose(self) -> str:
        rows = []
        for name, answers in self.meeting.chose.items():
            groups = (answers & self.meeting.key, answers - self.meeting.key, self.meeting.key - answers)
            cells = (", ".join(self.meeting.options.get(k, k) for k in sorted(group)) for group in groups)
            told = "".join(
                f'<td class="{mark}">{_shown(cell)}</td>'
                for mark, cell in zip(("right", "wrong", "missed"), cells, strict=True)
            )
            rows.append(f"<tr><th>{_shown(name)}</th>{told}</tr>")
        head = "<tr><th>method</th><th>✓ right</th><th>✗ wrong</th><th>○ missed</th></tr>"
        return f'<table class="chose">{head}{"".join(rows)}</table>'


_COLUMNS = (10, 240, 640)  # where diagnoses, reasonings and evidence begin
_WIDTHS = (210, 370, 470)
_LINE = 15
_LETTER = 6.4  # of a letter of the size that is used; wider ones are cut by the box


def picture(meeting: RecordedMeeting, knowledge: Knowledge) -> str:
    """Returns the final tree of a meeting as SVG: diagnosis, reasoning, evidence, and on hover the record's own words.

    Where the meeting came to no tree, the picture says so.
    """
    supporter = Supporter(meeting.record, knowledge)
    final = [stage for stage in stages(meeting) if stage.by == "head"]
    parts: list[str] = []
    y = 40.0
    kept = [d for d in (final[-1].diagnoses if final else ()) if d.change != "dropped"]
    for diagnosis in kept:
        top = y
        middles = []
        for reasoning in diagnosis.reasonings:
            first = y
            leaves = [leaf.evidence for leaf, change in reasoning.evidence if change != "dropped"]
            places = []
            for evidence in leaves:
                support = supporter.support(evidence)
                height, box = _box(evidence, 2, y, support.status.replace(" ", "-"), _source(support, supporter))
                parts.append(box)
                places.append(y + height / 2)
                y += height + 8
            if not places:
                continue
            height, box = _box(reasoning.analysis, 1, first, "reasoning")
            parts.append(box)
            y = max(y, first + height + 8)
            middles.append(first + height / 2)
            parts += [_line(1, first + height / 2, place) for place in places]
        if middles:
            height, box = _box(diagnosis.diagnosis, 0, top, "diagnosis")
            parts.append(box)
            parts += [_line(0, top + height / 2, place) for place in middles]
            y = max(y, top + height + 8) + 10
    if not kept:
        parts.append(f'<text x="10" y="{y}">no tree</text>')
    width = _COLUMNS[2] + _WIDTHS[2] + 10
    style = (
        "text{font:12px sans-serif;fill:#222}rect{rx:4;fill:#fff;stroke:#888}"
        ".diagnosis rect{fill:#dceaf7;stroke:#0072B2}"
        ".contradicted rect{stroke:#D55E00;stroke-dasharray:6 3}.not-there rect{stroke:#D55E00;stroke-dasharray:2 3}"
        "g:hover rect{stroke-width:2.5}path{fill:none;stroke:#bbb}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 10:g}" '
        f'viewBox="0 0 {width} {y + 10:g}" style="max-width:100%;height:auto" role="img">'
        f"<title>{_shown(f'Evidence tree of record {meeting.id}')}</title><style>{style}</style>"
        f'<text x="10" y="20">{_shown(f"Record {meeting.id}: diagnosis, reasoning, evidence")}</text>'
        f"{''.join(parts)}</svg>"
    )


def _source(support: Support, supporter: Supporter) -> str:
    if support.pointer is None:
        return _TOLD[support.status]
    told = f"{_TOLD[support.status]} " if _TOLD[support.status] else ""
    return f"{told}{support.pointer.field}: {supporter.quote(support.pointer)}"


def _box(text: str, column: int, y: float, kind: str, source: str = "") -> tuple[float, str]:
    """Returns the height of a box and the box."""
    lines = _wrapped(text, int((_WIDTHS[column] - 14) / _LETTER))
    height = len(lines) * _LINE + 9
    said = "".join(
        f'<tspan x="{_COLUMNS[column] + 7}" y="{y + 16 + number * _LINE:g}">{_shown(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    title = f"<title>{_shown(source)}</title>" if source else ""
    rect = f'<rect x="{_COLUMNS[column]}" y="{y:g}" width="{_WIDTHS[column]}" height="{height}"/>'
    return height, f'<g class="{kind}">{title}{rect}<text>{said}</text></g>'


def _wrapped(text: str, wide: int) -> list[str]:
    """Returns a text in lines; a Chinese letter is as wide as two."""
    lines, line, length = [], "", 0
    for word in _words(text):
        size = sum(2 if ord(letter) > 0x2E80 else 1 for letter in word)
        if line and length + size > wide:
            lines.append(line.strip())
            line, length = "", 0
        line, length = line + word, length + size
    return [*lines, line.strip()]


def _words(text: str) -> Iterator[str]:
    word = ""
    for letter in text:
        word += letter
        if letter == " " or ord(letter) > 0x2E80:
            yield word
            word = ""
    yield word


def _line(column: int, begin: float, end: float) -> str:
    x, to = _COLUMNS[column] + _WIDTHS[column], _COLUMNS[column + 1]
    middle = (x + to) / 2
    return f'<path d="M{x} {begin:g} C{middle:g} {begin:g} {middle:g} {end:g} {to} {end:g}"/>'


def _evidence(diagnoses: Iterable[GrownDiagnosis]) -> Iterator[str]:
    for diagnosis in diagnoses:
        for reasoning in diagnosis.reasonings:
            for leaf, _ in reasoning.evidence:
                yield leaf.evidence
