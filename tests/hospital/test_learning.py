"""Doctors of the hospital learn: what they are told, when they know it, and that nothing else of it gets anywhere."""

import json
import random
import shutil
from collections import Counter

import msgspec
import numpy as np
import pytest

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.cli.run_tables import learnt_in_vain
from polyclinic.hospital.care.remembering import about_memories
from polyclinic.hospital.care.setup import LearningSetup
from polyclinic.hospital.configuration import read_configuration
from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.learning import HospitalLearning
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.plan.opening_hours import OpeningHours
from polyclinic.hospital.record.account import Log
from polyclinic.hospital.record.episodes import AnsweredTask, ConsultationHeld, Episode, LessonDrawn
from polyclinic.hospital.record.happenings import DAY, MemoriesPublished, Triaged, WentHome
from polyclinic.hospital.record.memories import memories_of
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.report import figures, page
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.running import document_of
from polyclinic.hospital.running import run as run_hospital
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.entries import ClinicalTask, MedicalRecord
from polyclinic.memory.memory import open_memory
from polyclinic.memory.opening import PublishedMemories, version_of
from polyclinic.memory.reading import PassageRead, Studied
from polyclinic.memory.remembering import Situation
from polyclinic.retrieval.retriever import Passage

RUN = ("run", "--hospital", "agent-hospital", "--set", "run.load=0.05", "--days", "3", "--doctor", "recall", "--learn")
EIGHT = (
    "acute-nasopharyngitis, acute-rhinitis, bronchial-asthma, chronic-bronchitis, covid-19, influenza-a, influenza-b, "
    "mycoplasma-infection"
)


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


def answered(task, answer, *options):
    return AnsweredTask(task=task, picture="female\na cough", options=options, answer=answer, reasoning="Because.")


def visit(n, *, diagnosis="Influenza A", plan="mild", version="v"):
    tasks = (
        answered(ClinicalTask.EXAMINATION, "blood test", "blood test", "viral antigen detection"),
        answered(ClinicalTask.DIAGNOSIS, diagnosis, "Influenza A", "Influenza B"),
        answered(ClinicalTask.TREATMENT, plan, "mild", "moderate", "severe"),
    )
    held = ConsultationHeld(department="respiratory", doctor=f"d{n % 2}", turns=1)
    return Episode(key=f"r{n}-d0000/1@{version}", seen=(held,), answered=tasks)


def ill(n):
    return Case(
        id=f"r{n}-d0000",
        record=Record(presentation=Presentation(complaint="Ill."), history=History(present="Ill.")),
        truth=Truth(diagnoses=(Diagnosis(name="Influenza B"),), severity="mild"),
        department="respiratory",
    )


def on_duty(hospital, doctor, t):
    weekday = OpeningHours(hospital).weekday(t // DAY)
    shifts = hospital.staff[doctor].shifts
    return any(weekday in shift.days and shift.begin <= t % DAY < shift.end for shift in shifts)


class Lived:
    """A clock on which doctors learn, without a hospital."""

    def __init__(self, knowledge, *, reflects=True, **setup):
        self.setup = LearningSetup(version=version_of(None), **setup)
        self.known = knowledge.select(EIGHT)
        self.memories = PublishedMemories(about_memories(self.known, self.setup))
        self.published, self.clock, self.log = [], Clock(), Log()
        self.learning = HospitalLearning(
            self.setup, self.known, self.clock, self.log, self._publish, self._reflect if reflects else None
        )

    def _publish(self, publication):
        self.published.append((self.clock.now, publication))
        self.memories.publish(publication)

    async def _reflect(self, request):
        return LessonDrawn(key=request.key, principle=f"Not {request.answered.answer}.", after=request.right[0])

    async def live(self, *moments):
        """Lets functions be called at their times, and all of it be published."""

        def at(when, what):
            yield self.clock.at(when)
            what()

        for when, what in moments:
            self.clock.start(at(when, what))
        async with self.clock:
            await self.clock.run()
            await self.learning.finish()
        return self


async def test_what_is_learnt_on_a_day_is_known_on_the_next(knowledge):
    seen = []
    lived = Lived(knowledge)
    learning = lived.learning
    moments = [(hour * 3600, lambda: seen.append((lived.clock.now, learning.version))) for hour in (1, 12, 23, 25)]
    moments.append((10 * 3600, lambda: learning.over("r1", ill(1), visit(1, diagnosis="Influenza B"))))
    moments.append((30 * 3600, lambda: learning.over("r2", ill(2), visit(2))))
    await lived.live(*moments)
    (first, one), (second, two) = lived.published
    assert (first, second) == (DAY, 2 * DAY)
    assert [version for _, version in seen] == [lived.setup.version] * 3 + [one.version]
    # Right were the diagnosis and its plan; wrong was the examination, and that is a lesson.
    assert [(r.holder, r.task.value, r.entry.answer) for r in one.records] == [
        ("d1", "diagnosis", "Influenza B"),
        ("d1", "treatment", "mild"),
    ]
    (lesson,) = one.experience
    assert (lesson.entry.before, lesson.entry.right) == ("blood test", ("viral antigen detection",))
    # Of a plan for another disease nobody says what would have been right.
    assert [(e.task.value, e.entry.before) for e in two.experience] == [
        ("examination", "blood test"),
        ("diagnosis", "Influenza A"),
    ]
    assert learning.version == two.version


async def test_a_version_stays_what_it_was(knowledge):
    lived = Lived(knowledge)
    learning = lived.learning
    right = {n: visit(n, diagnosis="Influenza B") for n in (1, 2, 3)}
    await lived.live(*((n * DAY, lambda n=n: learning.over(f"r{n}", ill(n), right[n])) for n in right))
    situation = Situation(ClinicalTask.DIAGNOSIS, "female\na cough", "", "en")
    versions = [lived.setup.version, *(publication.version for _, publication in lived.published)]
    found = {}
    for version in reversed(versions):
        for holder in ("d0", "d1"):
            came = await lived.memories.of(holder, version).bring(situation)
            found[version, holder] = [record.asked.case for record, _ in came.records]
    assert [found[v, "d1"] for v in versions] == [[], ["r1-d0000"], ["r1-d0000"], ["r1-d0000", "r3-d0000"]]
    assert [found[v, "d0"] for v in versions] == [[], [], ["r2-d0000"], ["r2-d0000"]]


async def test_of_an_outcome_no_right_answer_is_kept(knowledge):
    lived = Lived(knowledge, feedback="outcome", holder="department")
    learning = lived.learning
    await lived.live(
        (1, lambda: [learning.over(f"r{n}", ill(n), visit(n)) for n in (1, 2)]),
        (DAY + 1, lambda: learning.followed_up("r1", "recovered")),
        (DAY + 2, lambda: learning.followed_up("r2", "worse")),
    )
    ((when, came),) = lived.published
    assert when == 2 * DAY  # of the visits nothing was known before
    # Who recovers was treated rightly for all that is known, also where the diagnosis was wrong.
    assert {(r.entry.asked.case, r.entry.answer) for r in came.records} == {
        ("r1-d0000", "blood test"), ("r1-d0000", "Influenza A"), ("r1-d0000", "mild"),
    }  # fmt: skip
    assert {(e.entry.asked.case, e.entry.right, e.entry.after) for e in came.experience} == {("r2-d0000", (), "")}
    assert {one.entry.judged_by for one in came.every} == {"outcome"}
    assert {one.holder for one in came.every} == {"respiratory"}
    assert "Influenza B" not in "".join(e.entry.principle for e in came.experience)


async def test_who_cannot_reflect_keeps_what_was_right(knowledge):
    lived = Lived(knowledge, reflects=False)
    await lived.live((1, lambda: lived.learning.over("r1", ill(1), visit(1, diagnosis="Influenza B"))))
    ((_, came),) = lived.published
    assert (len(came.records), came.experience) == (2, ())


async def test_doctors_read_off_their_shifts(knowledge):
    hospital = read_hospital("agent-hospital", knowledge)
    lived, began, kept = Lived(knowledge, passages=2), [], []
    passages = [Passage(id=str(n), score=0, text="Text.", corpus="c") for n in range(5)]
    learning, clock = lived.learning, lived.clock
    reads = learning.reads
    learning.keep = lambda holder, read: kept.append((clock.now, holder, [one.studied.passage for one in read]))

    async def read(request):
        return PassageRead(Studied(passage=request.passage.source), np.zeros((0, 2), dtype=np.float32))

    def takes(holder, came):
        began.append((holder, clock.now // DAY))
        assert not on_duty(hospital, holder, clock.now)
        reads(holder, came)

    learning.reads = takes
    learning.read_off_shift(hospital, passages, read, seed=1, days=4)
    await lived.live()
    assert max(Counter(began).values()) == 2
    assert all(t % DAY == 0 for t, _, _ in kept)
    of_each = {holder: [p for _, who, read in kept if who == holder for p in read] for holder, _ in began}
    assert len(of_each) == 14
    assert all(sorted(read) == [f"c#{n}" for n in range(5)] for read in of_each.values())
    assert len({tuple(read) for read in of_each.values()}) > 7  # each in an order of its own
    assert lived.published == []  # of patients nobody has learnt anything
    assert learning.version == lived.setup.version


@pytest.mark.slow
def test_what_cannot_be(complaint, knowledge, tmp_path):
    other = tmp_path / "other"
    about = LearningSetup(version="")
    with open_memory(other, about_memories(knowledge.select("influenza-a, influenza-b"), about)):
        pass
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    preset = ("run", "--hospital", "agent-hospital", "--visits", "1")
    rows = {
        "without": (("run", "--set", "learning.feedback=outcome"), "--learn"),
        "whose": (("run", "--set", "learning.memory-of=department"), "--learn"),
        "script": ((*preset, "--learn", "--doctor", "scripted:some.json"), "cannot learn"),
        "unread": ((*preset, "--set", f"learning.memory={other}"), "learning.memory is for a doctor who reads"),
        "missing": (
            (*preset, "--doctor", "recall", "--set", f"learning.memory={tmp_path / 'gone'}"),
            "holds no memory.sqlite",
        ),
        "empty": ((*preset, "--doctor", "recall", "--set", f"learning.memory={nothing}"), "holds no memory.sqlite"),
        "recall reads": (
            (*preset, "--learn", "--doctor", "recall", "--set", "learning.read=books"),
            "a language model",
        ),
        "nowhere": ((*preset, "--learn", "--doctor", "direct/d", "--set", "learning.read=books"), "--out DIR"),
        "no books": (
            (*preset, "--learn", "--doctor", "direct/d", "--set", "learning.read=./books", "--out", tmp_path / "run"),
            "no corpus is here",
        ),
        "a day": ((*preset, "--learn", "--set", "learning.passages-a-day=2"), "learning.read"),
        "other": ((*preset, "--doctor", "recall", "--set", f"learning.memory={other}"), "2 diseases"),
    }

    said = {name: complaint(*arguments) for name, (arguments, _) in rows.items()}
    assert not {name: line for name, line in said.items() if rows[name][1] not in line}
    assert not (tmp_path / "gone").exists()


# --- whole runs


@pytest.fixture(scope="module")
def kept(run, tmp_path_factory):
    """A run in which doctors learn, and what it printed."""
    folder = tmp_path_factory.mktemp("learnt") / "run"
    return folder, json.loads(run(*RUN, "--out", folder, "--json").stdout)


def same(document):
    """What must not depend on how a run was computed, as JSON has it."""
    document = json.loads(json.dumps(document))
    return {name: value for name, value in document.items() if name not in ("wall_seconds", "happenings")}


def remembered(folder):
    found = {}
    for one in memories_of(folder):
        with open_memory(one) as memory:
            found[one.name] = [entry for _, entry, _ in memory.news()], memory.notes()
    return found


@pytest.mark.slow
def test_a_memory_holds_nothing_of_its_own_day(kept):
    folder, document = kept
    run = RecordedRun(folder)
    published, home, triaged = {}, {}, {}
    for happening in run.happenings():
        match happening.what:
            case MemoriesPublished():
                published[happening.what.version] = happening.t
            case WentHome():
                home.setdefault(happening.who, []).append(happening.t)
            case Triaged():
                triaged.setdefault(happening.who, []).append(happening.t)
    assert len(published) > 2
    # Of the last, no morning came any more.
    assert all(t % DAY == 0 for t in list(published.values())[:-1])
    for entries, notes in remembered(folder).values():
        numbers = {note.came.decode(): note.patients for note in notes}
        for version, most in numbers.items():
            of_it = [entry for entry in entries if entry.asked.number <= most]
            assert all(min(home[e.asked.case.partition("-")[0]]) <= published[version] for e in of_it)
    for key in run.episode_keys():
        who, version = key.partition("-")[0], key.rpartition("@")[2]
        # It was launched 12 hours before, and read what there was then.
        first = document["memory"]["brought"] == version
        assert first or published[version] <= max(triaged[who])
    assert len({key.rpartition("@")[2] for key in run.episode_keys()}) > 2


@pytest.mark.slow
def test_the_document_says_what_was_learnt(kept):
    folder, document = kept
    memory, entries = document["memory"], remembered(folder)
    assert (memory["of"], memory["feedback"], memory["learns"]) == ("doctor", "truth", True)
    every = [entry for found, _ in entries.values() for entry in found]
    assert memory["records"] == sum(isinstance(entry, MedicalRecord) for entry in every) > 0
    assert memory["records"] + memory["experience"] == len(every)
    assert sum(day["diagnosis"]["n"] for day in memory["days"]) == document["summary"]["diagnosis"]["n"]
    assert memory["weeks"][-1]["records"] == memory["records"]
    assert set(entries) <= set(document["staff"])


class Copies:
    """Looks on, and copies the run's folder at some moments: what there is of it where it is killed then."""

    def __init__(self, folder, moments):
        self.folder, self.moments, self.copies = folder, moments, []

    def computed(self, episode):
        pass

    def add(self, happening, account):
        if happening.seq in self.moments:
            copy = self.folder.with_name(f"killed at {happening.seq}")
            shutil.copytree(self.folder, copy)
            self.copies.append(copy)


@pytest.mark.slow
async def test_workers_and_a_kill_change_nothing(kept, tmp_path):
    folder, document = kept
    configuration = read_configuration(RecordedRun(folder).configuration)
    moment = random.Random(1).randrange(200, document["events"])
    watching = Copies(tmp_path / "two", {moment})
    with Store.create(tmp_path / "two", configuration.kept()) as store:
        came = await run_hospital(configuration, store=store, on="local:2", watching=watching)
    assert same(document_of(configuration, came)) == same(document)
    assert remembered(tmp_path / "two") == remembered(folder)
    for killed in watching.copies:
        with Store.open(killed) as store:
            came = await run_hospital(configuration, store=store)
        assert same(document_of(configuration, came)) == same(document)
        assert remembered(killed) == remembered(folder)
    assert len(watching.copies) == 1


@pytest.mark.slow
def test_what_one_run_has_learnt_goes_into_another(kept, run, tmp_path):
    folder, _ = kept
    one = memories_of(folder)[0]
    more = (*RUN[:4], "run.load=0.02", "--days", "1", "--doctor", "recall", "--set", f"learning.memory={one}")
    more += ("--out", tmp_path / "more")
    first = json.loads(run(*more, "--json").stdout)
    assert (first["memory"]["learns"], first["memory"]["records"]) == (False, 0)
    with open_memory(one) as memory:
        assert first["memory"]["version"] == version_of(memory)
        held = [new[:2] for new in memory.news()]
    with open_memory(tmp_path / "more" / "memory" / "brought") as brought:
        assert [new[:2] for new in brought.news()] == held
    assert json.loads(run(*more, "--json").stdout) == first


@pytest.mark.slow
def test_a_run_in_which_doctors_learn_can_be_read(kept, run):
    folder, document = kept
    visits = json.loads(run("replay", folder, "--json").stdout)
    told = run("replay", folder, "--visit", visits[-1]["id"]).stdout
    assert "Doctor:" in told
    found = json.loads(run("memory", "show", folder, "--json").stdout)["memories"]
    assert set(found) == {one.name for one in memories_of(folder)}
    records = sum(task["records"] for one in found.values() for task in one["tasks"].values())
    assert records == document["memory"]["records"]
    shown = run("memory", "show", folder).stdout
    assert "respiratory" in shown
    learnt = run(*RUN, "--out", folder).stdout
    assert "in the memory of each doctor" in learnt
    assert document["memory"]["version"] in learnt
    found = figures(RecordedRun(folder))["learnt"]
    assert msgspec.to_builtins(found["days"][-1]) == document["memory"]["days"][-1]
    assert "What the doctors learnt" in page(figures(RecordedRun(folder)))


def test_a_run_of_one_day_has_learnt_in_vain():
    def days(*seen):
        return [{"diagnosis": {"n": n}} for n in seen]

    assert learnt_in_vain({"learns": True, "days": days(0, 3, 0)})
    assert not learnt_in_vain({"learns": True, "days": days(3, 1)})
    assert not learnt_in_vain({"learns": False, "days": days(3)})
    assert not learnt_in_vain({"learns": True, "days": []})


@pytest.mark.slow
def test_a_run_of_one_day_says_that_nothing_was_used(run):
    shown = run("run", "--hospital", "agent-hospital", "--doctor", "recall", "--learn", "--visits", "3").stdout
    assert "nothing of it could be used" in " ".join(shown.split())
