"""What was prescribed beside what is due: named, and dosed, which a short report seldom does.

A record writes each drug with its dose, its way and why; a doctor who writes "salbutamol" has named it. So the grade of
the treatment goes by what is named, and whether the dose stands there too is told beside it. A drug goes by any of its
names, a procedure by its action and its part. Who writes a dose that cannot be lived with, or puts off what is urgent,
has named nothing of use: the point is not given, and why is told.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from polyclinic.judges.director_by_rules import QUARTERS, AspectMatch, Scale, analysis
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.prescribed import DrugNames
from polyclinic.knowledge.procedures import procedure_words
from polyclinic.language.language import Language
from polyclinic.language.overlap import pieces
from polyclinic.metrics.grades import Grade
from polyclinic.web.chair.doses import AMOUNT, amount_of, amounts, is_beyond_living
from polyclinic.web.chair.named_measures import (
    affirmed_and_denied,
    names_measure,
    says,
    without_condition,
    without_qualifiers,
)

_BY_POINT = Scale(weights={"named": 1.0}, cuts=QUARTERS)
_BEHIND = re.compile(r"[,，;；(（]")
_SENTENCE = re.compile(r"[;；。\n]|\.(?!\d)")
_LONG = 3  # words of a name from which on not all are asked for
_NEAR = 1.02  # of an amount, by which another may differ

Against = Literal["dose", "put off"]
_AGAINST: dict[Language, dict[Against, str]] = {
    "en": {
        "dose": "{point} (written, but in a dose that nobody survives)",
        "put off": "{point} (written, but put off: it cannot wait)",
    },
    "zh": {"dose": "{point}（已写，但剂量足以致命）", "put off": "{point}（已写，但被推迟：不能等）"},
}


class DuePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One point of what is due.

    Attributes:
        text: as the record has it.
        named: whether the report names it, in a way that helps.
        dosed: whether it says the dose; None where the record has none, or it is not named.
        against: why what is written does not count; None where nothing speaks against it, or it is not written at all.
    """

    text: str
    named: bool
    dosed: bool | None = None
    against: Against | None = None


def due_points(due: Sequence[str], given: Sequence[str], knowledge: Knowledge) -> tuple[DuePoint, ...]:
    """Returns each point of what is due, beside a report's treatment."""
    return tuple(_beside(text, given, _drug_names(knowledge)) for text in due)


def graded(points: Sequence[DuePoint], language: Language) -> tuple[Grade, str]:
    """Returns the grade of a treatment, by the share of its points that are named, and which those are."""
    named = tuple(point.text for point in points if point.named)
    missed = tuple(_told(point, language) for point in points if not point.named)
    shares = {"named": len(named) / len(points)}
    return _BY_POINT.grade(shares), analysis(AspectMatch(shares, matched=named, missed=missed), language)


def _told(point: DuePoint, language: Language) -> str:
    return point.text if point.against is None else _AGAINST[language][point.against].format(point=point.text)


@functools.lru_cache(maxsize=16)
def _drug_names(knowledge: Knowledge) -> DrugNames:
    return DrugNames(knowledge.drugs)


def _beside(text: str, given: Sequence[str], names: DrugNames) -> DuePoint:
    head = _head(without_condition(text))
    due, _ = affirmed_and_denied(without_qualifiers(head))
    drugs = tuple(names.in_plan(due))
    if not drugs:
        return _procedure_beside(text, head, given)
    found = [(id, line) for line in given for id in drugs if _prescribes(line, id, names)]
    # Another drug for the same reason shares every word but the one that counts.
    borne = [(id, line) for id, line in found if not _is_deadly(line, id, names)]
    if found and not borne:
        return DuePoint(text=text, named=False, against="dose")
    return DuePoint(text=text, named=bool(borne), dosed=_is_dosed(text, [line for _, line in borne]) if borne else None)


def _procedure_beside(text: str, head: str, given: Sequence[str]) -> DuePoint:
    """Returns a point that is no drug: by the action and the part where it has any, else by its words."""
    words = procedure_words()
    due = words.read(affirmed_and_denied(without_condition(text))[0])
    done = [line for line in given if words.read(affirmed_and_denied(line)[0]).names(due)]
    by_words = names_measure(head, given, text)
    if due.done and (done or by_words) and all(words.is_put_off(line, text) for line in done or given):
        return DuePoint(text=text, named=False, against="put off")
    named = bool(done) or by_words
    return DuePoint(text=text, named=named, dosed=_is_dosed(text, given) if named else None)


def _is_dosed(text: str, lines: Sequence[str]) -> bool | None:
    """Whether lines say the dose of a point; None where it has none."""
    wanted = AMOUNT.search(text)
    if wanted is None:
        return None
    least, most = amount_of(wanted)
    return any(low <= most * _NEAR and high >= least / _NEAR for line in lines for low, high, _ in amounts(line))


def _head(text: str) -> str:
    """Returns what a point names, where a dose or a reason stands behind it; a text of another kind as it is."""
    if AMOUNT.search(text) is None and not text.rstrip(" .。").endswith((")", "）")):
        return text
    return _BEHIND.split(text, maxsplit=1)[0].strip() or text


def _prescribes(line: str, id: str, names: DrugNames) -> bool:
    done, _ = affirmed_and_denied(line)
    # Of a long name two of three words will do ("sodium chloride"); of a short one each tells drugs apart.
    long = (name for name in names.own[id] if len(pieces(name)) >= _LONG)
    return any(True for _ in names.mentioned(done, id)) or any(says(name, done) for name in long)


def _is_deadly(line: str, id: str, names: DrugNames) -> bool:
    """Whether a line gives a drug in a dose that cannot be lived with: in what stands from its name to the next."""
    for sentence in _SENTENCE.split(line):
        starts = sorted(start for other in names.own for start, _ in names.mentioned(sentence, other))
        for start, end in names.mentioned(sentence, id):
            behind = next((at for at in starts if at >= end), len(sentence))
            before = sentence[:start] if start == min(starts) else ""
            told = sentence[end:behind]
            if is_beyond_living(told if AMOUNT.search(told) else before + told, names.most[id]):
                return True
    return False
