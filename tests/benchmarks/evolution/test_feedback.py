"""What is seen of a patient afterwards: by the knowledge's course, better if treated rightly."""

from collections import Counter

import pytest

from polyclinic.evaluations.evolution.ablations import ablate
from polyclinic.evaluations.evolution.patients import Came, came_of, practice_patients
from polyclinic.evaluations.evolution.practice import Practice
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.entries import ClinicalTask, MedicalRecord
from polyclinic.memory.library import DIMENSIONS, CaseWordsEmbedder
from polyclinic.memory.memory import About, DoctorMemory
from polyclinic.memory.recall import RecallDoctor


@pytest.fixture(scope="module")
def patients():
    knowledge = read_knowledge().select("respiratory")
    return practice_patients(list(generate(knowledge, n=96, seed=7)), knowledge)


def test_a_right_treatment_is_better_and_never_worse_for_anybody(patients):
    order = [Came.WORSE, Came.ILL, Came.RECOVERED]
    came = {right: [came_of(one, right=right, seed=3) for one in patients] for right in (True, False)}
    assert all(order.index(a) >= order.index(b) for a, b in zip(came[True], came[False], strict=True))
    assert came[True] == [came_of(one, right=True, seed=3) for one in patients]
    assert came[True] != [came_of(one, right=True, seed=4) for one in patients]
    counts = {right: Counter(one) for right, one in came.items()}
    assert counts[True][Came.RECOVERED] > 2 * counts[False][Came.RECOVERED] > 0
    assert counts[False][Came.WORSE] > counts[True][Came.WORSE] > 0


async def test_by_outcome_it_keeps_what_it_did_for_those_who_got_well_and_hears_nothing_else(patients):
    memory = DoctorMemory(About(embedder="case-words", dimensions=DIMENSIONS, knowledge="8 diseases"))
    well = {one.case.id for one in patients[:48:3]}
    practice = Practice(
        RecallDoctor(seed=1, tries=True), memory, CaseWordsEmbedder(), recovered=lambda one, _: one.case.id in well
    )
    *_, last = await practice.run(patients[:48], patients[48:], batch=8)
    entries = [entry for _, entry, _ in memory.news()]
    assert {one.asked.case for one in entries} == well
    assert all(isinstance(one, MedicalRecord) and one.judged_by == "outcome" and not one.led_to for one in entries)
    assert last.records == dict.fromkeys(ClinicalTask, len(well))
    assert last.train[ClinicalTask.DIAGNOSIS] < len(well)  # what was kept was not always right


@pytest.mark.slow
async def test_parts_of_a_memory_are_tested_and_nothing_is_learnt(patients):
    memory = DoctorMemory(About(embedder="case-words", dimensions=DIMENSIONS, knowledge="8 diseases"))
    practice = Practice(RecallDoctor(seed=1), memory, CaseWordsEmbedder())
    *_, last = await practice.run(patients[:64], patients[64:], batch=16)
    before = len([new[:2] for new in memory.news()])
    found = await ablate(practice, patients[64:], ks=(0, 3))
    assert len([new[:2] for new in memory.news()]) == before
    assert found.right["both"] == last.right
    assert found.by_k[0][ClinicalTask.DIAGNOSIS] < found.by_k[3][ClinicalTask.DIAGNOSIS] <= found.n
    alone = found.study.answers["records only"][ClinicalTask.DIAGNOSIS]
    assert (bool(alone.records), alone.experience) == (True, ())
    for gain in found.gains:
        assert gain.low <= gain.difference <= gain.high
        whole, part = (found.right[name][gain.task] for name in ("both", gain.over))
        assert gain.difference == pytest.approx(100 * (whole - part) / found.n, abs=0.01)
