"""What is kept: whole batches or nothing, the same after it was closed, and only for whom it was made."""

import sqlite3

import msgspec
import numpy as np
import pytest

from polyclinic.errors import BadInput
from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.memory import PATIENTS, About, DoctorMemory, New, Note, open_memory

ABOUT = About(embedder="some", dimensions=2, knowledge="8 diseases")
ASKED = AskedTask(case="c1", number=1, query="a cough", options=("x", "y"))
RIGHT = MedicalRecord(asked=ASKED, answer="x")
LESSON = Experience(asked=ASKED, before="y", after="x", right=("x",), principle="look twice")


def new(task=ClinicalTask.DIAGNOSIS, entry=RIGHT, vector=(1, 0)):
    return New(task, entry, np.array(vector, dtype=np.float32))


def test_what_was_committed_is_there_again(tmp_path):
    with open_memory(tmp_path, ABOUT) as memory:
        memory.commit([new(), new(ClinicalTask.TREATMENT, LESSON, (0, 1))], [Note(1, "batch", b"came")])
    with open_memory(tmp_path) as memory:
        assert [new[:2] for new in memory.news()] == [(ClinicalTask.DIAGNOSIS, RIGHT), (ClinicalTask.TREATMENT, LESSON)]
        assert memory.notes() == [Note(1, "batch", b"came")]
        found = memory.recall(ClinicalTask.TREATMENT, np.array([0, 1], "f4"), (3, 1))
        assert (found.records.places.tolist(), found.experience.cosines.tolist()) == ([], [1.0])


def test_a_batch_is_remembered_whole_or_not_at_all(tmp_path):
    with open_memory(tmp_path, ABOUT) as memory:
        memory.commit([new()], [Note(1, "batch", b"")])
        with pytest.raises(BadInput, match="cannot be written"):
            memory.commit([new(), new()], [Note(1, "batch", b"twice")])
        assert len(memory.records[ClinicalTask.DIAGNOSIS]) == 1
    with open_memory(tmp_path) as memory:
        assert len(memory.records[ClinicalTask.DIAGNOSIS]) == 1


def test_it_is_read_as_it_was_after_so_many_patients(tmp_path):
    whole, at = tmp_path / "m", lambda n: tmp_path / f"m@{n}"
    with open_memory(whole, ABOUT) as memory:
        for n in (1, 2, 4):
            asked = msgspec.structs.replace(ASKED, number=n)
            memory.commit([new(entry=msgspec.structs.replace(RIGHT, asked=asked))], [Note(n, "batch", b"")])
        memory.commit([], [Note(6, "batch", b"")])
    for n, numbers in ((0, []), (2, [1, 2]), (3, [1, 2]), (6, [1, 2, 4])):
        with open_memory(at(n), ABOUT) as memory:
            assert [entry.asked.number for _, entry, _ in memory.news()] == numbers
            assert [note.patients for note in memory.notes()] == [m for m in (1, 2, 4, 6) if m <= n]
            with pytest.raises(BadInput, match=f"after {n} patients, and takes nothing new"):
                memory.commit([new()])
    with pytest.raises(BadInput, match="has seen 6 patients, not 7; @0 to @6 is there"), open_memory(at(7)):
        pass
    with pytest.raises(BadInput, match="holds no"), open_memory(tmp_path / "none@2", ABOUT):
        pass
    assert not (tmp_path / "none").exists()
    at(9).mkdir()
    with open_memory(at(9), ABOUT) as memory:  # that is its name
        memory.commit([new()])


def test_experience_is_used_once_there_is_enough_of_it():
    memory = DoctorMemory(ABOUT)
    for expected in (0, 0, 3, 3):
        memory.commit([new(entry=LESSON)])
        found = memory.recall(ClinicalTask.DIAGNOSIS, np.array([1, 0], "f4"), (3, 3))
        assert len(found.experience.places) == expected


@pytest.mark.parametrize(
    ("what", "other", "do"),
    [
        ("embedder", "another", "polyclinic memory build"),
        ("dimensions", 3, "polyclinic memory build"),
        ("knowledge", "9 diseases", "practise anew"),
        ("format", 0, "practise anew"),
    ],
)
def test_it_serves_only_what_it_was_made_with(tmp_path, what, other, do):
    with open_memory(tmp_path, ABOUT):
        pass
    asked = msgspec.structs.replace(ABOUT, **{what: other})
    with pytest.raises(BadInput, match=f"was made with {what} .*{do}"), open_memory(tmp_path, asked):
        pass


def test_what_is_no_memory_is_said(tmp_path):
    with pytest.raises(BadInput, match=f"holds no {PATIENTS.file}"), open_memory(tmp_path):
        pass
    (tmp_path / PATIENTS.file).write_text("not a database, but long enough to be looked at as one" * 40)
    with pytest.raises(BadInput, match="memory"), open_memory(tmp_path):
        pass
    (tmp_path / PATIENTS.file).unlink()
    sqlite3.connect(tmp_path / PATIENTS.file).execute("CREATE TABLE other (n)")
    with pytest.raises(BadInput, match="is not a memory of a doctor"), open_memory(tmp_path, ABOUT):
        pass
