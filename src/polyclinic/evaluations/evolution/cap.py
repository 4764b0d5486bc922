"""Two bounds of a practice: what the exact reader of the knowledge reaches with the same information, and one answer.

The reader knows every disease, and how patients were drawn; a learner that knows nothing beforehand can come near it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from polyclinic.evaluations.evolution.patients import PracticePatient
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.memory.entries import ClinicalTask


def cap_of(patients: Sequence[PracticePatient]) -> dict[ClinicalTask, int]:
    """Returns of each task how many of the patients the reader treats rightly.

    The examination is the one that is right with the highest probability, by the symptoms; the disease the likeliest
    by symptoms and that examination's result; the plan that of the likeliest severity of this disease.
    """
    if not patients:
        return dict.fromkeys(ClinicalTask, 0)
    choices = patients[0].choices
    reader = Reader(choices.knowledge)
    # Row e, column d: whether examination e is right for disease d.
    fits = np.array([[id in d.examinations for d in reader.diseases] for id in choices.examinations.values()], float)
    labels, names = list(choices.examinations), {id: name for name, id in choices.diseases.items()}
    right = dict.fromkeys(ClinicalTask, 0)
    for patient in patients:
        said, reading = reader.read_history(patient.case.record)
        diseases = reader.members[:-1] @ normalise(said + reading.log())
        who = patient.case.presentation
        can_be_done = [
            choices.knowledge.examinations[id].possible(who.age, who.sex) for id in choices.examinations.values()
        ]
        chosen = labels[int(np.argmax(fits @ diseases * can_be_done))]
        right[ClinicalTask.EXAMINATION] += chosen in patient.right(ClinicalTask.EXAMINATION)
        findings = [f for f in patient.case.record.findings if f.examination.casefold() == chosen.casefold()]
        reader.read_findings(findings, reading)
        posterior = normalise(said + reading.log())
        place = int(np.argmax(reader.members[:-1] @ posterior))
        name = names[reader.diseases[place].id]
        right[ClinicalTask.DIAGNOSIS] += name in patient.right(ClinicalTask.DIAGNOSIS)
        of_disease = posterior[place * len(SEVERITIES) : (place + 1) * len(SEVERITIES)]
        grade = list(choices.grades)[int(np.argmax(of_disease))]
        right[ClinicalTask.TREATMENT] += grade in patient.right(ClinicalTask.TREATMENT, diagnosis=name)
    return right


def constant_of(patients: Sequence[PracticePatient]) -> dict[ClinicalTask, int]:
    """Returns of each task for how many of the patients the best single answer is right: one for all, whoever comes.

    Of a plan it is the commonest disease at its commonest severity. The answers are the best on these very patients,
    so that no doctor who gives everybody the same is right more often.
    """
    given: dict[ClinicalTask, Counter[tuple[str, ...]]] = {task: Counter() for task in ClinicalTask}
    for patient in patients:
        given[ClinicalTask.EXAMINATION].update((label,) for label in patient.right(ClinicalTask.EXAMINATION))
        given[ClinicalTask.DIAGNOSIS][patient.disease.id,] += 1
        given[ClinicalTask.TREATMENT][patient.disease.id, patient.severity] += 1
    return {task: max(counts.values(), default=0) for task, counts in given.items()}
