"""Visits that were recorded, made again from their traces."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.events import Convened, Ended, Opened, Revealed, Trace
from polyclinic.visits.team import TeamVisit
from polyclinic.visits.visit import Visit

_BROKEN_OFF = "the trace breaks off before the end of the visit; 'polyclinic replay' shows what there is"


def revisit(trace: Trace) -> Visit:
    """Returns the visit that a trace has recorded."""
    if trace.last(Opened) is None:
        raise BadInput(_BROKEN_OFF)
    return Visit.of(trace, _truth(trace))


def revisit_all(traces: Iterable[Trace]) -> list[Visit | TeamVisit]:
    """Returns the visits that the traces of a file have recorded, those of teams put together.

    Raises:
        BadInput: a trace breaks off, or a discussion stands without the consultations that led to it.
    """
    visits: list[Visit | TeamVisit] = []
    for trace in traces:
        convened = trace.last(Convened)
        if convened is None:
            visits.append(revisit(trace))
            continue
        truth = _truth(trace)
        first = max(len(visits) - len(convened.doctors), 0)
        before = tuple(visit for visit in visits[first:] if isinstance(visit, Visit) and visit.case == convened.case)
        numbers = [opened.doctor for visit in before if (opened := visit.trace.last(Opened)) is not None]
        if numbers != list(range(1, len(convened.doctors) + 1)):
            raise BadInput(
                f"the discussion of case {convened.case} needs its {len(convened.doctors)} doctors' visits before it"
            )
        visits[first:] = [TeamVisit.of(before, trace, truth)]
    return visits


def _truth(trace: Trace) -> Truth:
    revealed = trace.last(Revealed)
    if revealed is None or trace.last(Ended) is None:
        raise BadInput(_BROKEN_OFF)
    said = {name: getattr(revealed, name) for name in Truth.__struct_fields__}
    known = {name: value for name, value in said.items() if value is not msgspec.UNSET}
    return msgspec.convert(known, Truth, from_attributes=True)
