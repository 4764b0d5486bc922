"""The diagnoses and the reasons of a report, graded for who learns: so that no grade says other than what is shown.

The director by rules is fitted to letters of models, which name one diagnosis and write whole sentences. A student who
lists five diseases has not made the diagnosis, and who writes "typical" has given no reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from polyclinic.cases.report import Report
from polyclinic.cases.truth import Truth
from polyclinic.judges.director_by_rules import QUARTERS, AspectMatch, Scale, analysis
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.metrics.grades import Grade
from polyclinic.web.chair.findings_told import FindingsTold
from polyclinic.web.chair.named_measures import says
from polyclinic.web.chair.naming import is_named

ENOUGH = 3
"""So many of the record's reasons are as good as all."""

_BY_PLACE = (Grade.A, Grade.B, Grade.C)
_SCALE = Scale(weights={"named": 1.0}, cuts=QUARTERS)
_LABEL = re.compile(r"^[^:：,，、]{1,24}[:：]\s*")
_BETWEEN = re.compile(r"\s*[,，、;；]\s*")


def likeliest_first(report: Report) -> Report:
    """Returns a report whose diagnoses stand as their probabilities say, where each has one."""
    if any(one.probability is None for one in report.diagnoses):
        return report
    ordered = sorted(report.diagnoses, key=lambda one: -(one.probability or 0.0))
    return msgspec.structs.replace(report, diagnoses=tuple(ordered))


def by_place(judged: Grade | None, report: Report, truth: Truth, knowledge: Knowledge) -> Grade | None:
    """Returns a grade of the diagnoses that is no better than the place at which the right one stands: A the first."""
    if judged is None:
        return None
    names = [one.name for one in likeliest_first(report).diagnoses]
    place = next((n for n, name in enumerate(names) if is_named(name, truth, knowledge)), None)
    if place is None:
        return judged
    return min(judged, _BY_PLACE[place] if place < len(_BY_PLACE) else Grade.D)


def reasons_graded(
    reference: Sequence[str], given: Sequence[str], lexicon: Lexicon, found: FindingsTold
) -> tuple[Grade, str] | None:
    """Returns the grade of the reasons, and which were named; None where the record does not list its reasons.

    Of a list with a heading, "Typical: thirst, belly ache", each thing is a reason, and the heading is none. Three of
    them, or all where there are fewer, are an A. An examination is a reason of who tells what was `found` in it.
    """
    if not reference or not all(_LABEL.match(line) for line in reference):
        return None
    wanted = tuple(dict.fromkeys(_listed(reference)))
    items = tuple(_listed(given))
    said = {id for item in items for id, there in lexicon.read(item).items() if there}
    heard = {item: found.heard(item) for item in (*given, *items)}
    shown = frozenset().union(*(one.right for one in heard.values()))
    named = [
        point
        for point in wanted
        # Who tells something else of an examination than what it found has no reason in it.
        if point in shown or _is_named(point, [i for i in items if point not in heard[i].wrong], said, lexicon)
    ]
    missed = tuple(point for point in wanted if point not in named)
    shares = {"named": min(1.0, len(named) / min(ENOUGH, len(wanted)))}
    return _SCALE.grade(shares), analysis(AspectMatch(shares, matched=tuple(named), missed=missed), lexicon.language)


def _listed(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield from filter(None, (one.strip(" .。") for one in _BETWEEN.split(_LABEL.sub("", line))))


def _is_named(point: str, items: Sequence[str], said: set[str], lexicon: Lexicon) -> bool:
    meant = {id for id, there in lexicon.read(point).items() if there}
    return (bool(meant) and meant <= said) or any(says(point, item) for item in items)
