"""A byte of a memory that is not what was stored is named, and is no memory; files of earlier versions get seals."""

import sqlite3
from contextlib import closing

import pytest
from tests.memory.test_memory import ABOUT, LESSON, RIGHT, new

from polyclinic.errors import BadInput
from polyclinic.memory.memory import FILE, Note, about_memory, open_memory

DAMAGE = {
    "UPDATE entries SET vector = zeroblob(length(vector)) WHERE n = 1": "is damaged: it is not what was stored",
    "UPDATE entries SET n = n + 10 WHERE n = 1": "is damaged: it is not what was stored",
    "DELETE FROM entries WHERE n = 2": "is damaged: it is not what was stored",
    "UPDATE practice SET came = x'00'": "is damaged: it is not what was stored",
    "UPDATE facts SET value = replace(value, 'some', 'sole') WHERE name = 'about'": "made with is damaged",
    "UPDATE facts SET name = 'other' WHERE name = 'rows seal'": "it has no rows seal",
}


def changed(folder, statement):
    with closing(sqlite3.connect(folder / FILE)) as file:
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
        "DROP TRIGGER entries_seal",
        "DROP TRIGGER practice_seal",
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
