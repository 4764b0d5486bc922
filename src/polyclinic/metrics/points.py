"""Marks for students: how well examinations were chosen, danger signs, and one number out of a hundred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.events import Examined, Opened, Role, Said, Trace
from polyclinic.knowledge.entries import Indicated
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.names import Names
from polyclinic.knowledge.safety import RedFlags, is_pregnant
from polyclinic.metrics.grades import Aspect, Grade
from polyclinic.players.human.advice import Rung


class Stewardship(msgspec.Struct, frozen=True, kw_only=True):
    """The examinations of a visit, by id or by name."""

    judged: bool  # whether the knowledge holds one of the diagnoses, by whose file they are judged
    needed: tuple[str, ...]
    needed_missed: tuple[str, ...]
    helpful: tuple[str, ...]
    helpful_missed: tuple[str, ...]
    not_indicated: tuple[str, ...]
    other: tuple[str, ...]  # neither needed nor helpful nor not indicated; also names that are not known
    cost: float  # in units of a blood count
    minutes: int  # from the order to the result, of the slowest
    radiation: float  # in mSv
    burden: int  # of the heaviest, 0 (none) to 3


def stewardship(
    traces: Sequence[Trace], diagnoses: Iterable[Diagnosis], knowledge: Knowledge, names: Names
) -> Stewardship:
    """Returns how examinations were chosen in the traces of a visit; the diagnoses are those that are so.

    Of what cannot be done on a patient of this sex and age nothing is missed, and where it was had it is not indicated.
    """
    disease = next(filter(None, (knowledge.disease_named(one.name) for one in diagnoses)), None)
    events = [event for trace in traces for event in trace]
    names_told = [
        name
        for event in events
        if isinstance(event, Examined)
        for name in (*(finding.examination for finding in event.findings), *event.not_recorded)
    ]
    meant = {
        name: [key.partition(":")[2] for key in sorted(names.keys(name)) if key.startswith("examination:")]
        for name in names_told
    }
    had = tuple(dict.fromkeys(id for ids in meant.values() for id in ids))
    who = next((event.presentation for event in events if isinstance(event, Opened)), Presentation(complaint=""))
    indicated = Indicated() if disease is None else knowledge.indicated(disease, sex=who.sex, age=who.age)
    named = (*indicated.needed, *indicated.helpful, *indicated.not_indicated)
    done = [knowledge.examinations[id] for id in had]

    def of(ids: Sequence[str], *, missed: bool = False) -> tuple[str, ...]:
        return tuple(id for id in ids if (id in had) is not missed)

    return Stewardship(
        judged=disease is not None,
        needed=of(indicated.needed),
        needed_missed=of(indicated.needed, missed=True),
        helpful=of(indicated.helpful),
        helpful_missed=of(indicated.helpful, missed=True),
        not_indicated=of(indicated.not_indicated),
        other=(*(id for id in had if id not in named), *(name for name, ids in meant.items() if not ids)),
        cost=sum(one.cost for one in done),
        minutes=max((one.minutes for one in done), default=0),
        radiation=sum(one.radiation for one in done),
        burden=max((one.burden for one in done), default=0),
    )


_OF_THIS_ILLNESS = ("symptoms", "present", "review")


class DangerSigns(msgspec.Struct, frozen=True, kw_only=True):
    """Symptoms by id, in the order of the red flags: those that the patient has, and what became of each."""

    has: tuple[str, ...]
    missed: tuple[str, ...]  # never told in the visit
    unreported: tuple[str, ...]  # told, and not in the report


def danger_signs(case: Case, trace: Trace, report: Report | None, lexicon: Lexicon, flags: RedFlags) -> DangerSigns:
    """Returns what became of the patient's danger signs; `lexicon` is of the case's language."""
    person, history = case.presentation, case.record.history
    has = lexicon.present(person.complaint, *(text for name, text in history.sections() if name in _OF_THIS_ILLNESS))
    of_person = flags.of(person.age, pregnant=flags.may_be_pregnant in has or is_pregnant(case.record))
    signs = tuple(sign for sign in (*of_person.emergency, *of_person.urgent) if sign in has)
    told = [e.text for e in trace if (isinstance(e, Said) and e.who is Role.PATIENT) or isinstance(e, Examined)]
    found = lexicon.present(person.complaint, *told)
    wrote = () if report is None else (*report.symptoms, *report.rationale, *(d.name for d in report.diagnoses))
    reported = lexicon.present(*wrote)
    return DangerSigns(
        has=signs,
        missed=tuple(sign for sign in signs if sign not in found),
        unreported=tuple(sign for sign in signs if sign in found and sign not in reported),
    )


HINT_COSTS: dict[Rung, int] = {Rung.STEP: 1, Rung.TURN: 3, Rung.DISEASES: 6}  # what a hint costs, by how much it tells
ASPECT = 14
EXAMINATIONS = 20
DANGER = 10
FOR_NOTHING = 4
"""Points for an aspect graded A, for the needed examinations, for the danger signs; what one not indicated takes."""


class Points(msgspec.Struct, frozen=True, kw_only=True):
    """Points."""

    parts: dict[str, tuple[float, float]]  # points got, and the most; without parts that the case does not have
    hints: int  # what hints cost
    total: int  # percent of what could be got, less the hints; at least 0


def points(
    grades: Mapping[Aspect, Grade | None], chosen: Stewardship, signs: DangerSigns, hints: Iterable[Rung]
) -> Points:
    """Returns the points of a visit."""
    parts: dict[str, tuple[float, float]] = {}
    for aspect, grade in grades.items():
        if grade is not None:
            parts[aspect.value] = (round(ASPECT * (grade - 1) / 3, 1), ASPECT)
    if chosen.judged:
        needed = len(chosen.needed) + len(chosen.needed_missed)
        got = EXAMINATIONS * (len(chosen.needed) / needed if needed else 1.0)
        parts["choice"] = (round(max(0.0, got - FOR_NOTHING * len(chosen.not_indicated)), 1), EXAMINATIONS)
    if signs.has:
        good = len(signs.has) - len(signs.missed) - len(signs.unreported) / 2
        parts["danger"] = (round(DANGER * good / len(signs.has), 1), DANGER)
    cost = sum(HINT_COSTS[rung] for rung in hints)
    got, most = (sum(part[place] for part in parts.values()) for place in (0, 1))
    return Points(parts=parts, hints=cost, total=max(0, round(100 * got / most) - cost) if most else 0)
