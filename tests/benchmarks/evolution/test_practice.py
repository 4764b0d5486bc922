"""The practice: it learns what is so and nothing else, and goes on as if it had never been cut off."""

import asyncio
import itertools
from pathlib import Path

import msgspec
import pytest

from polyclinic.evaluations.evolution.patients import cap_of, constant_of, practice_patients
from polyclinic.evaluations.evolution.practice import Practice, Remembers
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.entries import ClinicalTask, Experience, Lesson
from polyclinic.memory.library import DIMENSIONS, CaseWordsEmbedder
from polyclinic.memory.memory import About, DoctorMemory, open_memory
from polyclinic.memory.recall import RecallDoctor, TaskAnswer
from polyclinic.seeds import derive

ABOUT = About(embedder="case-words", dimensions=DIMENSIONS, knowledge="8 diseases")
TRAIN, TEST = 200, 80


@pytest.fixture(scope="module")
def patients():
    knowledge = read_knowledge().select("respiratory")
    cases = list(generate(knowledge, n=TRAIN + TEST, seed=7))
    return practice_patients(cases[:TRAIN], knowledge), practice_patients(cases[TRAIN:], knowledge)


@pytest.mark.slow
async def test_the_cut_of_the_docs_comes_out_to_the_digit():
    table = (Path(__file__).parents[3] / "docs" / "learning.md").read_text().split("| of the cut |")[1]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:5]]
    knowledge = read_knowledge().select("respiratory")
    cases = list(generate(knowledge, n=160, seed=1))
    cut = practice_patients(cases[:100], knowledge), practice_patients(cases[100:], knowledge)
    _, points = await practise(cut, batch=1, test_every=50)
    found = [
        [str(point.patients), *(f"{100 * point.right[task] / point.n:.1f}" for task in ClinicalTask)]
        + [str(sum(counts.values())) for counts in (point.records, point.experience, point.wrong)]
        for point in points
    ]
    assert found == rows


async def practise(patients, memory=None, **options):
    memory = memory or DoctorMemory(ABOUT)
    practice = Practice(
        options.pop("learner", RecallDoctor(seed=1)),
        memory,
        CaseWordsEmbedder(),
        remembers=options.pop("remembers", Remembers()),
    )
    return memory, await practice.run(*patients, **{"batch": 20, "test_every": 100, **options})


@pytest.fixture(scope="module")
def practised(patients):
    return asyncio.run(practise(patients))


@pytest.mark.slow
def test_it_begins_at_chance_and_learns(practised):
    _, (first, *_, last) = practised
    assert first.right[ClinicalTask.DIAGNOSIS] < 0.25 * TEST
    assert last.right[ClinicalTask.DIAGNOSIS] > 0.6 * TEST
    assert last.right[ClinicalTask.EXAMINATION] > first.right[ClinicalTask.EXAMINATION]


@pytest.mark.slow
def test_every_patient_is_counted(practised):
    memory, points = practised
    assert [point.patients for point in points] == [0, 100, 200]
    last = points[-1]
    for task in ClinicalTask:
        assert last.train[task] + last.wrong[task] == TRAIN
        assert last.records[task] == last.train[task] == len(memory.records[task].entries)
        assert last.experience[task] <= last.wrong[task]
    assert sum(n for n, _ in last.by_disease.values()) == TEST


@pytest.mark.slow
def test_experience_turned_a_wrong_answer_into_a_right_one_and_no_test_patient_is_remembered(practised, patients):
    memory, _ = practised
    train, tested = ({one.case.id for one in some} for some in patients)
    assert {entry.asked.case for _, entry, _ in memory.news()} <= train - tested
    lessons = [entry for _, entry, _ in memory.news() if isinstance(entry, Experience)]
    assert lessons
    assert all(one.before not in one.right and one.after in one.right for one in lessons)


@pytest.mark.slow
async def test_with_golden_answers_shuffled_nothing_is_learnt(patients):
    def shuffled(patient):
        other = derive(3, patient.case.id, "shuffled").choice(patients[0])
        return patient._replace(disease=other.disease, severity=other.severity)

    _, points = await practise((list(map(shuffled, patients[0])), patients[1]))
    assert points[-1].right[ClinicalTask.DIAGNOSIS] < 0.3 * TEST


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 32])
async def test_who_goes_on_ends_as_if_it_had_never_been_cut_off(patients, tmp_path, batch):
    class Cut(Exception):
        pass

    train, test = patients
    patients = train[:40], test[:10]
    whole, expected = await practise(patients, batch=batch, test_every=15)
    for last in (1, 15, 37):
        treated = itertools.count(1)

        def cut(treated=treated, last=last):
            if next(treated) >= last:
                raise Cut

        folder = tmp_path / f"{last}"
        with open_memory(folder, ABOUT) as memory, pytest.raises(Cut):
            await practise(patients, memory, batch=batch, test_every=15, advance=cut)
        with open_memory(folder, ABOUT) as memory:
            _, points = await practise(patients, memory, batch=batch, test_every=15)
            assert [new[:2] for new in memory.news()] == [new[:2] for new in whole.news()]
        assert msgspec.json.encode(points) == msgspec.json.encode(expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("remembers", "kept"),
    [(Remembers(records=False), {"experience"}), (Remembers(experience=False), {"record"})],
)
async def test_only_what_is_wanted_is_remembered(patients, remembers, kept):
    train, test = patients
    memory, _ = await practise((train[:60], test[:20]), remembers=remembers)
    assert {"experience" if isinstance(e, Experience) else "record" for _, e, _ in memory.news()} == kept


@pytest.mark.slow
def test_the_reader_of_the_knowledge_is_better_than_whoever_learnt_and_not_perfect(practised, patients):
    cap, last = cap_of(patients[1]), practised[1][-1]
    for task in ClinicalTask:
        assert last.right[task] < cap[task] < TEST


class Slow:
    """Answers the first option; the first patient's first answer comes only when the second has had all of its own."""

    def __init__(self):
        self.order, self.waited = [], asyncio.Event()

    async def answer(self, put, brought):
        if put.asked.number == 1 and put.task is ClinicalTask.EXAMINATION and put.when == "practice":
            await self.waited.wait()
        self.order.append((put.when, put.asked.number, put.task))
        if put.asked.number == 2 and put.task is ClinicalTask.TREATMENT and put.when == "practice":
            self.waited.set()
        return TaskAnswer(put.labels[0])

    async def learn(self, put, brought, answered, right):
        return Lesson("so", right[0])


async def test_no_patient_waits_for_another_patient_s_model_and_all_is_kept_in_their_order(patients):
    train, test = patients
    learner = Slow()
    memory, _ = await practise((train[:3], test[:2]), learner=learner, batch=3)
    here = [(number, task) for when, number, task in learner.order if when == "practice"]
    assert here.index((2, ClinicalTask.TREATMENT)) < here.index((1, ClinicalTask.EXAMINATION))
    for library in (*memory.records.values(), *memory.experience.values()):
        numbers = [entry.asked.number for entry in library.entries]
        assert numbers == sorted(numbers)


def test_no_answer_that_is_given_to_all_is_right_more_often_than_the_constant(patients):
    test, best = patients[1], constant_of(patients[1])
    for task in (ClinicalTask.EXAMINATION, ClinicalTask.DIAGNOSIS):
        labels = (test[0].examination() if task is ClinicalTask.EXAMINATION else test[0].diagnosis("")).labels
        assert best[task] == max(sum(label in one.right(task) for one in test) for label in labels)
    plans = [
        sum(grade in one.right(ClinicalTask.TREATMENT, diagnosis=disease) for one in test)
        for disease in test[0].choices.diseases
        for grade in test[0].choices.grades
    ]
    assert best[ClinicalTask.TREATMENT] == max(plans)
    assert set(constant_of([]).values()) == {0}
