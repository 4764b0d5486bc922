"""Files that a command names travel with it, however the word names them."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from polyclinic.errors import UserError
from polyclinic.parallel import shipping
from polyclinic.parallel.shipping import packed, shipped, unpacked


def test_a_word_that_names_a_file_has_it_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.jsonl").write_text("questions")
    (tmp_path / "own.py").write_text("code")
    wrong = {}
    for word, around in {
        "q.jsonl": ("", "q.jsonl", ""),
        "scripted:q.jsonl": ("scripted:", "q.jsonl", ""),
        "own.py:mine": ("", "own.py", ":mine"),
        "q.jsonl#p1": ("", "q.jsonl", "#p1"),
        "shipped": None,
        "direct/q.jsonl": None,
        "--seed": None,
        "": None,
    }.items():
        came = shipped(word)
        expected = None if around is None else (around[0], str(tmp_path / around[1]), around[2])
        found = None if came is None else (came.before, came.path, came.after)
        if found != expected:
            wrong[word] = found
    assert wrong == {}


def test_what_is_too_large_to_travel_is_refused(tmp_path, monkeypatch):
    (tmp_path / "large").write_text("x" * 11)
    monkeypatch.setattr(shipping, "MOST", 10)
    with pytest.raises(UserError, match=r"large is larger than"):
        shipped(str(tmp_path / "large"))


@dataclass(frozen=True)
class Task:
    file: Path
    doctor: str


def test_a_file_that_differs_there_is_taken_from_here(tmp_path):
    """The same path may hold something else on the worker's machine."""
    file = tmp_path / "cases.jsonl"
    file.write_text("mine")
    task = packed(Task(file, f"scripted:{file}"))
    assert unpacked(task) == Task(file, f"scripted:{file}")
    file.write_text("changed")
    came = unpacked(task, tmp_path)
    assert came.file != file
    assert came.file.read_text() == "mine"
    assert came.doctor.startswith("scripted:")
    assert Path(came.doctor.removeprefix("scripted:")).read_text() == "mine"
