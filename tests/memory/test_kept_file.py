"""A byte of a memory that is not what was stored is named, and is no memory; files of earlier versions get seals."""

import sqlite3
from contextlib import closing

import msgspec
import numpy as np
import pytest
from tests.memory.test_memory import ABOUT, LESSON, RIGHT, new

from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.memory.memory import PATIENTS, READ, About, Note, about_memory, open_memory
from polyclinic.memory.reading import Studied, StudyRecord, open_reading

DAMAGE = {
    "UPDATE entries SET vector = zeroblob(length(vector)) WHERE n = 1": "is damaged: it is not what was stored",
    "UPDATE entries SET n = n + 10 WHERE n = 1": "is damaged: it is not what was stored",
    "DELETE FROM entries WHERE n = 2": "is damaged: it is not what was stored",
    "UPDATE practice SET came = x'00'": "is damaged: it is not what was stored",
    "UPDATE facts SET value = replace(value, 'some', 'sole') WHERE name = 'about'": "made with is damaged",
    "UPDATE facts SET name = 'other' WHERE name = 'rows seal'": "it has no rows seal",
}


def changed(folder, statement):
    with closing(sqlite3.connect(folder / PATIENTS.file)) as file:
        file.execute(statement)
        file.commit()


def remembered(folder):
    with open_memory(folder, ABOUT) as memory:
        memory.commit([new(), new(entry=LESSON)], [Note(1, "batch", b"came")])


def test_what_was_changed_is_named(tmp_path):
    for number, (statement, said) in enumerate(DAMAGE.items()):
        folder = tmp_path / str(number)
        remembered(folder)
        changed(folder, statement)
        with pytest.raises(BadInput, match=said), open_memory(folder):
            pass
    with pytest.raises(BadInput, match="made with is damaged"):
        about_memory(tmp_path / "4")
    assert about_memory(tmp_path / "0") == ABOUT  # of its rows it says nothing, and reads none


def test_a_file_of_an_earlier_version_gets_its_seals(tmp_path):
    remembered(tmp_path)
    for statement in (
        "CREATE TRIGGER entries_seal AFTER INSERT ON entries BEGIN SELECT add_seal(new.n); END",
        "DELETE FROM facts WHERE name LIKE '% seal'",
        "PRAGMA user_version = 0",
    ):
        changed(tmp_path, statement)
    with open_memory(tmp_path) as memory:
        memory.commit([new(entry=RIGHT)])
    with open_memory(tmp_path) as memory:
        assert len(memory.notes()) == 1
    changed(tmp_path, "DELETE FROM entries WHERE n = 3")
    with pytest.raises(BadInput, match="is damaged"), open_memory(tmp_path):
        pass


def test_what_was_read_with_an_earlier_version_is_read(tmp_path):
    question = Question(id="q", stem="How?", options={"A": "so", "B": "else"})
    record = StudyRecord(
        passage="book#1", question=question, key="A", reasoning="", evidence="", written_by="w", answered_by="d"
    )
    about, vector = About(embedder="some", dimensions=2), np.array([1, 0], dtype="<f4")
    with open_reading(tmp_path, about):
        pass
    with closing(sqlite3.connect(tmp_path / READ.file)) as file:
        for table in ("entries", "practice"):
            file.execute(f"DROP TABLE {table}")
        file.execute("CREATE TABLE passages (n INTEGER PRIMARY KEY AUTOINCREMENT, passage TEXT, came BLOB)")
        file.execute("CREATE TABLE records (n INTEGER PRIMARY KEY AUTOINCREMENT, record BLOB, vector BLOB)")
        studied = msgspec.msgpack.encode(Studied(passage="book#1", wrong=1))
        file.execute("INSERT INTO passages (passage, came) VALUES ('book#1', ?)", (studied,))
        encoded = msgspec.msgpack.encode(record)
        file.execute("INSERT INTO records (record, vector) VALUES (?, ?)", (encoded, vector.tobytes()))
        file.execute("DELETE FROM facts WHERE name LIKE '% seal'")
        file.execute("PRAGMA user_version = 0")
        file.commit()
    for _ in range(2):
        with open_reading(tmp_path, about) as library:
            (read,) = library.read()
            assert (read.studied.records, read.studied.wrong) == ((record,), 1)
            assert read.vectors.tolist() == [[1, 0]]
