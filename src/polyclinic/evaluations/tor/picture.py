"""The final tree of a meeting as a picture: the tree, the record beside it, and beneath what each method chose.

The picture is one SVG that needs no network and no script. A line leads from each piece of evidence to its place in the
record; pointed at, both are marked. The edge of a piece of evidence has the colour of the round in which a doctor first
wrote it down, and its number; what a tree held and the head's does not is crossed out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from polyclinic.evaluations.tor.growth import Grown, stages
from polyclinic.evaluations.tor.page import TOLD
from polyclinic.evaluations.tor.recorded import RecordedMeeting
from polyclinic.evidence_tree.support import Support, Supporter
from polyclinic.evidence_tree.tree import same_words
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.terminal.html import shown

_COLUMNS = (10, 190, 480, 930)  # where diagnoses, reasonings, evidence and the record begin
_WIDTHS = (150, 260, 360, 460)
_WIDTH = _COLUMNS[-1] + _WIDTHS[-1] + 10
_LINE = 15
_LETTER = 6.4  # of a letter of the size that is used; wider ones are cut by the box
_ROUNDS = ("#777777", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # the last for all further ones
_STYLE = (
    "text{font:12px sans-serif;fill:#222}rect{rx:4;fill:#fff;stroke:#888}"
    ".diagnosis rect{fill:#dceaf7;stroke:#0072B2}h1,.head{font-weight:bold}"
    ".contradicted rect{stroke:#D55E00;stroke-dasharray:6 3}.not-there rect{stroke:#D55E00;stroke-dasharray:2 3}"
    ".dropped text{text-decoration:line-through;fill:#a03d00}.dropped rect{stroke:#ccc}"
    ".used{fill:#0072B2}.right{fill:#00694d}.wrong{fill:#a03d00}.missed{fill:#555;font-style:italic}"
    "g:hover rect{stroke-width:2.5}path{fill:none;stroke:#bbb}.source{stroke:#9cc3de;stroke-dasharray:3 3}"
)
_MARKED = (
    "svg:has(.{0}:hover) .at-{0}{{fill:#a03d00;font-weight:bold;text-decoration:underline}}"
    "svg:has(.{0}:hover) .to-{0}{{stroke:#b58900;stroke-width:2.5;stroke-dasharray:none}}"
)


def picture(meeting: RecordedMeeting, knowledge: Knowledge) -> str:
    """Returns the final tree of a meeting as SVG, beside the record; where there is no tree, the picture says so."""
    return _TreePicture(meeting, Supporter(meeting.record, knowledge)).svg()


class _Placed(NamedTuple):
    """A piece of evidence in the picture: where its right edge is, and what the record says to it."""

    name: str
    y: float
    support: Support


class _TreePicture:
    def __init__(self, meeting: RecordedMeeting, supporter: Supporter) -> None:
        self._meeting, self._supporter = meeting, supporter
        self._stages = list(stages(meeting))
        self._last = max((one.round for one in self._stages), default=0)
        self._first = _first_rounds(self._stages)
        self._placed: list[_Placed] = []

    def svg(self) -> str:
        final = [stage for stage in self._stages if stage.by == "head" and stage.diagnoses]
        tree, below = self._tree(final[-1]) if final else ('<text x="10" y="72">no tree</text>', 90.0)
        record, end = self._record()
        chose, y = self._chose(max(below, end) + 20)
        names = ["first trees", *(f"new in round {n + 1}" for n in range(self._last)), "the head's own"]
        legend = "".join(
            f'<rect x="{_COLUMNS[2] + 110 * n}" y="27" width="8" height="12" style="fill:{_colour(n)};stroke:none"/>'
            f'<text x="{_COLUMNS[2] + 110 * n + 13}" y="38">{name}</text>'
            for n, name in enumerate(names)
        )
        title = shown(f"Record {self._meeting.id}: diagnosis, reasoning, evidence")
        rules = "".join(_MARKED.format(one.name) for one in self._placed if one.support.pointer is not None)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{y:g}" viewBox="0 0 {_WIDTH} {y:g}" '
            f'style="max-width:100%;height:auto" role="img">'
            f"<title>{shown(f'Evidence tree of record {self._meeting.id}')}</title><style>{_STYLE}{rules}</style>"
            f'<rect width="{_WIDTH}" height="{y:g}" style="stroke:none"/>'
            f'<text x="10" y="20" class="head">{title}</text>{legend}'
            f'<text x="{_COLUMNS[3]}" y="20" class="head">Record</text>{tree}{record}{chose}</svg>'
        )

    def _tree(self, final: Grown) -> tuple[str, float]:
        """Returns the tree, and where it ends."""
        parts: list[str] = []
        y, gone = 55.0, self._gone(final)
        for diagnosis in (one for one in final.diagnoses if one.change != "dropped"):
            top, middles = y, []
            for reasoning in diagnosis.reasonings:
                first, places = y, []
                for leaf, change in reasoning.evidence:
                    height, box = self._leaf(diagnosis.diagnosis, leaf.evidence, y, dropped=change == "dropped")
                    parts.append(box)
                    places.append(y + height / 2)
                    y += height + 8
                kind = "reasoning dropped" if reasoning.change == "dropped" else "reasoning"
                height, box = _box(reasoning.analysis, 1, first, kind)
                y = max(y, first + height + 8)
                middles.append(first + height / 2)
                parts += [box, *(_line(1, first + height / 2, place) for place in places)]
            height, box = _box(diagnosis.diagnosis, 0, top, "diagnosis")
            parts += [box, *(_line(0, top + height / 2, place) for place in middles)]
            y = max(y, top + height + 8) + 10
        if gone:
            for line in _wrapped(f"− dropped: {', '.join(gone)}", 140):
                y += _LINE
                parts.append(f'<text x="10" y="{y:g}" class="wrong">{shown(line)}</text>')
            y += _LINE
        return "".join(parts), y

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

    def _leaf(self, diagnosis: str, evidence: str, y: float, *, dropped: bool) -> tuple[float, str]:
        support = self._supporter.support(evidence)
        name = f"e{len(self._placed)}"
        number = self._first.get((same_words(diagnosis), same_words(evidence)), 0)
        kind = f"{support.status.replace(' ', '-')} {name}{' dropped' if dropped else ''}"
        sign = "− " if dropped else "" if not number else f"+{number} " if number <= self._last else "+ "
        height, box = _box(f"{sign}{evidence}", 2, y, kind, _source(support, self._supporter))
        style = f"fill:{_colour(number)};stroke:none"
        edge = f'<rect x="{_COLUMNS[2]}" y="{y:g}" width="5" height="{height}" style="{style}"/>'
        if not dropped:
            self._placed.append(_Placed(name, y + height / 2, support))
        return height, box.replace("<text>", f"{edge}<text>", 1)

    def _record(self) -> tuple[str, float]:
        """Returns the record with the lines that lead to it, and where it ends."""
        parts, y = [], 55.0
        for text in self._supporter.texts:
            lead = f"{text.label}: " if text.finding is None else ""
            here = [one for one in self._placed if one.support.pointer and one.support.pointer.field == text.field]
            for begin, line in _lines(lead + text.text, int((_WIDTHS[3] - 4) / _LETTER)):
                spans = "".join(
                    f'<tspan class="{kind}">{shown(said)}</tspan>' if kind else shown(said)
                    for kind, said in _cut(line, begin - len(lead), here)
                )
                parts.append(f'<text x="{_COLUMNS[3]}" y="{y + 12:g}" xml:space="preserve">{spans}</text>')
                for one in here:
                    pointer = one.support.pointer
                    if pointer is not None and begin <= pointer.start + len(lead) < begin + len(line):
                        parts.append(_line(2, one.y, y + 8, f"source to-{one.name}"))
                y += _LINE
            y += 4
        return "".join(parts), y

    def _chose(self, y: float) -> tuple[str, float]:
        """Returns what each method chose, and where that ends."""
        meeting, parts = self._meeting, []
        for method, answers in meeting.chose.items():
            parts.append(f'<text x="10" y="{y:g}" class="head">{shown(method)} chose</text>')
            groups = (answers & meeting.key, answers - meeting.key, meeting.key - answers)
            for kind, sign, group in zip(("right", "wrong", "missed"), "✓✗○", groups, strict=True):
                names = ", ".join(meeting.options.get(key, key) for key in sorted(group)) or "none"
                for line in _wrapped(f"{sign} {kind}: {names}", int((_WIDTH - 200) / _LETTER)):
                    parts.append(f'<text x="{_COLUMNS[1]}" y="{y:g}" class="{kind}">{shown(line)}</text>')
                    y += _LINE
            y += 6
        return "".join(parts), y + 10


def _first_rounds(grown: Sequence[Grown]) -> dict[tuple[str, str], int]:
    """Returns the round in which a doctor first wrote a piece of evidence to a diagnosis, by both; the head is last."""
    first: dict[tuple[str, str], int] = {}
    for stage in grown:
        for diagnosis in stage.diagnoses:
            for reasoning in diagnosis.reasonings:
                for leaf, _ in reasoning.evidence:
                    number = stage.round + (stage.by == "head")
                    first.setdefault((same_words(diagnosis.diagnosis), same_words(leaf.evidence)), number)
    return first


def _colour(number: int) -> str:
    return _ROUNDS[min(number, len(_ROUNDS) - 1)]


def _source(support: Support, supporter: Supporter) -> str:
    if support.pointer is None:
        return TOLD[support.status]
    told = f"{TOLD[support.status]} " if TOLD[support.status] else ""
    return f"{told}{support.pointer.field}: {supporter.quote(support.pointer)}"


def _cut(line: str, begin: int, here: Sequence[_Placed]) -> Iterator[tuple[str, str]]:
    """Yields a line that begins at a character of its text, cut where evidence begins and ends, with its marks."""
    spans = [(one, p.start - begin, p.end - begin) for one in here if (p := one.support.pointer) is not None]
    inner = (at for _, start, end in spans for at in (start, end) if 0 < at < len(line))
    cuts = sorted({0, len(line), *inner})
    for start, end in pairwise(cuts):
        names = [f"at-{one.name}" for one, first, last in spans if first <= start and end <= last]
        yield " ".join(["used", *names]) if names else "", line[start:end]


def _box(text: str, column: int, y: float, kind: str, source: str = "") -> tuple[float, str]:
    """Returns the height of a box and the box."""
    lines = _wrapped(text, int((_WIDTHS[column] - 14) / _LETTER))
    height = len(lines) * _LINE + 9
    said = "".join(
        f'<tspan x="{_COLUMNS[column] + 9}" y="{y + 16 + number * _LINE:g}">{shown(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    title = f"<title>{shown(source)}</title>" if source else ""
    rect = f'<rect x="{_COLUMNS[column]}" y="{y:g}" width="{_WIDTHS[column]}" height="{height}"/>'
    return height, f'<g class="{kind}">{title}{rect}<text>{said}</text></g>'


def _wrapped(text: str, wide: int) -> list[str]:
    return [line.strip() for _, line in _lines(text, wide)]


def _lines(text: str, wide: int) -> Iterator[tuple[int, str]]:
    """Yields a text in lines, each with where it begins; a Chinese letter is as wide as two."""
    line, length, begin, at = "", 0, 0, 0
    for word in _words(text):
        size = sum(2 if ord(letter) > 0x2E80 else 1 for letter in word)
        if line and length + size > wide:
            yield begin, line
            line, length, begin = "", 0, at
        line, length, at = line + word, length + size, at + len(word)
    yield begin, line


def _words(text: str) -> Iterator[str]:
    word = ""
    for letter in text:
        word += letter
        if letter == " " or ord(letter) > 0x2E80:
            yield word
            word = ""
    yield word


def _line(column: int, begin: float, end: float, kind: str = "") -> str:
    x, to = _COLUMNS[column] + _WIDTHS[column], _COLUMNS[column + 1]
    middle = (x + to) / 2
    mark = f' class="{kind}"' if kind else ""
    return f'<path{mark} d="M{x} {begin:g} C{middle:g} {begin:g} {middle:g} {end:g} {to} {end:g}"/>'
