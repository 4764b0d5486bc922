"""How well examinations were chosen: had and needed, helpful, not indicated, and what they cost.

What is indicated stands in the disease's file of the knowledge; of a disease that the knowledge does not hold only the
cost is known. An examination counts where it was asked for, with a result on the record or without, and once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from polyclinic.cases.report import Diagnosis
from polyclinic.events import Examined, Opened, Trace
from polyclinic.knowledge.criteria import Indicated
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names


class Stewardship(msgspec.Struct, frozen=True, kw_only=True):
    """The examinations of a visit, by id.

    Attributes:
        disease: by whose file they are judged; "" where the knowledge holds none of the diagnoses.
        had: all that were asked for; `unknown` are names that mean none of ours.
        other: had, and neither needed nor helpful nor not indicated.
        cost: of those that were had, in units of a blood count.
        minutes: from the order to the result, of the slowest.
        radiation: in mSv.
        burden: of the heaviest, 0 (none) to 3.
    """

    disease: str
    had: tuple[str, ...]
    needed: tuple[str, ...]
    needed_missed: tuple[str, ...]
    helpful: tuple[str, ...]
    helpful_missed: tuple[str, ...]
    not_indicated: tuple[str, ...]
    other: tuple[str, ...]
    unknown: tuple[str, ...]
    cost: float
    minutes: int
    radiation: float
    burden: int


def stewardship(
    traces: Sequence[Trace], diagnoses: Iterable[Diagnosis], knowledge: Knowledge, names: Names
) -> Stewardship:
    """Returns how examinations were chosen in the traces of a visit; the diagnoses are those that are so.

    Of what cannot be done on a patient of this sex and age nothing is missed, and where it was had it is not indicated.
    """
    disease = next(filter(None, (knowledge.disease_named(one.name) for one in diagnoses)), None)
    had, unknown = _had(traces, names)
    who = next((event.presentation for trace in traces for event in trace if isinstance(event, Opened)), None)
    sex, age = (None, None) if who is None else (who.sex, who.age)
    indicated = Indicated() if disease is None else knowledge.indicated(disease, sex=sex, age=age)
    needed, helpful, not_indicated = msgspec.structs.astuple(indicated)
    done = [knowledge.examinations[id] for id in had]
    return Stewardship(
        disease="" if disease is None else disease.id,
        had=had,
        needed=tuple(id for id in needed if id in had),
        needed_missed=tuple(id for id in needed if id not in had),
        helpful=tuple(id for id in helpful if id in had),
        helpful_missed=tuple(id for id in helpful if id not in had),
        not_indicated=tuple(id for id in not_indicated if id in had),
        other=tuple(id for id in had if id not in (*needed, *helpful, *not_indicated)),
        unknown=unknown,
        cost=sum(one.cost for one in done),
        minutes=max((one.minutes for one in done), default=0),
        radiation=sum(one.radiation for one in done),
        burden=max((one.burden for one in done), default=0),
    )


def _had(traces: Iterable[Trace], names: Names) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the ids of the examinations that were asked for, and the names that mean none."""
    told = [
        name
        for trace in traces
        for event in trace
        if isinstance(event, Examined)
        for name in (*(finding.examination for finding in event.findings), *event.not_recorded)
    ]
    ids: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for name in dict.fromkeys(told):
        meant = [key.partition(":")[2] for key in sorted(names.keys(name)) if key.startswith("examination:")]
        if meant:
            ids |= dict.fromkeys(meant)
        else:
            unknown[name] = None
    return tuple(ids), tuple(unknown)
