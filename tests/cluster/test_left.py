"""What a worker was answered outlives the command that wanted it, until the same command is given again."""

import os
import sys

import pytest

from polyclinic.cluster import left
from polyclinic.cluster.left import forget_left, forget_old, left_answers, locked, make_kept_folder
from polyclinic.errors import UserError
from polyclinic.models.journal_parts import JournalPart, JournalRow

ROW = JournalRow("calls", ("run", "episode", b"request", 0, "turn", b"reply"))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(left, "cache_folder", lambda: tmp_path)
    return tmp_path


def made(kept, name, *rows):
    folder = make_kept_folder(kept, name=name, tails="j.*")
    with JournalPart(folder / "j.1") as part:
        part.add(rows)
    return folder


def test_what_was_answered_is_found_by_the_command_and_the_job_until_it_is_forgotten(cache):
    other = ROW._replace(values=("run", "other", *ROW.values[2:]))
    folders = [made("this", "a", ROW), made("this", "a", other), made("this", "b"), made("that", "a", other)]
    (cache / "parts" / "this" / "unbegun").mkdir()
    found = left_answers("this", 0)
    assert {name: set(rows) for name, rows in found.items()} == {"a": {ROW, other}, "b": set()}
    assert all(folder.stat().st_mode & 0o077 == 0 for folder in folders)
    forget_left("this")
    assert left_answers("this", 0) == left_answers("nothing", 0) == {}
    assert left_answers("that", 0) == {"a": [other]}


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
def test_a_process_that_still_asks_is_waited_for(cache):
    folder = made("this", "a", ROW)
    with locked(folder) as (lock,):
        of_the_process = os.dup(lock)
    with pytest.raises(UserError, match="under way already"):
        left_answers("this", 0)
    os.close(of_the_process)
    assert left_answers("this", 0) == {"a": [ROW]}


def test_what_nobody_asks_for_is_removed_in_time(cache):
    made("old", "a", ROW)
    os.utime(cache / "parts" / "old", (0, 0))
    made("new", "a", ROW)
    forget_old()
    assert [one.name for one in (cache / "parts").iterdir()] == ["new"]
