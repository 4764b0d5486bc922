"""What a patient's earlier visits for the same illness say of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polyclinic.cases.patient_record import NotedVisit
from polyclinic.cases.presentation import Presentation
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.likelihoods import Vector
from polyclinic.knowledge.reading import PatientReading

_WEIGHT = 0.2
"""How much it weighs. What was found then is mostly there still, and will be found again: it must not count twice."""

_LEAST = 1e-6


def earlier_evidence(reader: Reader, visits: Sequence[NotedVisit], presentation: Presentation) -> Vector:
    """Returns the log-likelihoods of what earlier visits found.

    They speak for or against diseases, and of none for how badly it is there: that has changed since.

    Args:
        reader: the knowledge.
        visits: of this illness.
        presentation: who it is.
    """
    log = np.zeros_like(reader.prior())
    lexicon = reader.lexicons[presentation.language]
    for visit in visits:
        reading = PatientReading(reader.tables, presentation.age, presentation.sex)
        reader.read_findings(visit.findings, reading)
        told = lexicon.read_all(text for held in visit.consultations for text in held.symptoms)
        for symptom, present in told.items():
            if present:
                reading.symptom(symptom, True)
        prior = reader.prior() + reader.person(presentation)
        before, after = (reader.members @ normalise(one) for one in (prior, prior + reading.log()))
        of_disease = np.log(np.maximum(after, _LEAST)) - np.log(np.maximum(before, _LEAST))
        log = log + _WEIGHT * (reader.members.T @ of_disease)
    return log
