"""What every plan adds for one patient: which of its own medicines it stops, and what must not be sent home.

`precautions.yaml` names the medicines, by disease, with its sources; the vital signs stand in `red_flags.yaml`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from polyclinic.knowledge.data import DATA, SEVERITIES, Data, Name, Severity, Texts
from polyclinic.knowledge.dispensing import Known, now_taken, one_told
from polyclinic.knowledge.entries import Disease, Item, Source
from polyclinic.knowledge.plan_choice import PlanPatient, is_due
from polyclinic.knowledge.plans import DueWhen
from polyclinic.knowledge.safety import read_red_flags
from polyclinic.language.language import Language
from polyclinic.yaml_files import read_yaml


class StoppedMedicine(Data, frozen=True, kw_only=True):
    """A medicine taken at home that is stopped, paused or changed.

    Attributes:
        diseases: ids of those in which that is so; empty: in all.
        severities: of these diseases.
        when: of whom; None: of all.
        words: in which somebody tells that it takes the medicine.
        line: what the plan says, with {drug} for the word that was told.
    """

    diseases: tuple[str, ...] = ()
    severities: tuple[Severity, ...] = SEVERITIES
    when: DueWhen | None = None
    words: Texts
    line: Name


class Precautions(Data, frozen=True, kw_only=True):
    """What `precautions.yaml` holds."""

    sources: tuple[Source, ...]
    stops: tuple[StoppedMedicine, ...]


@functools.cache
def read_precautions(path: Path = DATA / "precautions.yaml") -> Precautions:
    """Reads what is stopped of the medicines that patients take."""
    return read_yaml(path, Precautions)


def added_lines(
    stratum: tuple[Disease, Severity],
    patient: PlanPatient,
    known: Known,
    measured: Mapping[str, float],
    *,
    language: Language,
    items: Mapping[str, Item],
) -> tuple[str, ...]:
    """Returns what is done for a patient beside the measures of a plan, in words.

    Args:
        stratum: the disease that is treated, and the plan's severity.
        patient: what is known of it.
        known: what it tells at the counter.
        measured: vital signs by item id, as they were measured.
        language: of the words.
        items: the quantities, by id (`Knowledge.quantities`).
    """
    disease, severity = stratum
    lines: list[str] = []
    if disease.plan(severity).disposition == "home":
        flags = read_red_flags().of(patient.age, pregnant=patient.pregnant)
        lines += [limit.then.get(language) for limit in flags.crossed(measured) if limit.then is not None][:1]
    taken = now_taken(known.medications)
    if taken:
        for stop in read_precautions().stops:
            if stop.diseases and (disease.id not in stop.diseases or severity not in stop.severities):
                continue
            word = one_told(stop.words.get(language), taken)
            if word and is_due(stop.when, patient, items):
                lines.append(stop.line.get(language).format(drug=word))
    return tuple(lines)
