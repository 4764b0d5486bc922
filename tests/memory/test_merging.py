"""One memory of several: who is in two of them, by history and by no name."""

import numpy as np

from polyclinic.memory.entries import AskedTask, ClinicalTask, MedicalRecord
from polyclinic.memory.memory import New, merged

FEVER, COUGH = ("\n".join(f"{what} {n}" for n in range(7)) for what in ("fever", "cough"))


def new(case, query, task=ClinicalTask.EXAMINATION, answer="x"):
    asked = AskedTask(case=case, number=1, query=query, options=("x", "y"))
    return New(task, MedicalRecord(asked=asked, answer=answer), np.ones(2, "f4"))


def test_a_patient_by_another_name_is_one_and_another_patient_of_the_name_is_not():
    first = [new("a", FEVER), new("a", f"{FEVER}\nhigh", ClinicalTask.DIAGNOSIS)]
    second = [
        new("b", FEVER, answer="y"),
        new("b", f"{FEVER}\nlow", ClinicalTask.DIAGNOSIS),
        new("b", f"{FEVER}\nlow", ClinicalTask.TREATMENT),
        new("a", COUGH),
    ]
    kept, common = merged([first, second])
    assert kept == [*first, *second[2:]]
    assert common == 1


def test_few_words_are_nobody_and_what_is_the_same_is_there_once():
    first, second = [new("a", "a cough")], [new("a", "a cough"), new("b", "a cough")]
    assert merged([first, second]) == ([*first, second[1]], 0)
