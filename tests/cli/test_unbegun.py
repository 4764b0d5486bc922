"""A command that is refused before anything came of it leaves nothing; one of which something came loses nothing."""

import shutil
import sqlite3
from contextlib import closing

import pytest
from tests.cli.test_on_everywhere import EVERY
from tests.exams import write_exam

from polyclinic.cli.unbegun import leaving_nothing
from polyclinic.errors import PlayFailure, UserError
from polyclinic.models.journal import open_journal
from polyclinic.sqlite_file import locked

NOBODY = "ray://127.0.0.1:1"
NOWHERE = ("--base-url", "nowhere")
PLAN = """
title = "one"
[[run]]
name = "exam"
command = "eval exam"
exam = "medqa"
questions = "shipped"
"""
REFUSED = {
    "run": ("--residents", "30", "--doctor", "direct/x", *NOWHERE),
    "evolve": ("--train", "train", "--test", "test", "--doctor", "direct/x", *NOWHERE),
    "study run": ("plan.toml", "--model", "direct/x", *NOWHERE),
    "eval aie": ("--cases", "shipped", "--doctor", "direct/x", *NOWHERE),
    "eval exam": ("medqa", "exam", "--model", "direct/x", *NOWHERE, "--journal", "journal.sqlite"),
}
IN_PARTS = {
    "run": ("--replicas", "2", "--bogus", "3"),
    "eval exam": ("medqa", "exam", "--model", "direct/x", *NOWHERE, "--journal", "journal.sqlite"),
}


def left(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture(scope="module")
def data(tmp_path_factory, run):
    folder = tmp_path_factory.mktemp("data")
    write_exam(folder / "exam", range(2))
    (folder / "plan.toml").write_text(PLAN)
    for seed, name in enumerate(("train", "test")):
        run("cases", "generate", "--n", 10, "--diseases", "respiratory", "--seed", seed, "--out", folder / name)
    return folder


@pytest.mark.parametrize("command", EVERY)
def test_where_no_cluster_is_nothing_is_left(command, run, tmp_path):
    asked = ("--base-url", "http://127.0.0.1:9/v1") if "direct/x" in EVERY[command] else ()
    done = run(*command.split(), *EVERY[command], *asked, "--out", "nope", "--on", NOBODY, cwd=tmp_path, code=2)
    # The input is read before the cluster is looked for.
    assert any(told in done.stderr for told in ("--on ray", "no such file", "no such plan"))
    assert left(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", REFUSED)
def test_where_the_input_is_wrong_nothing_is_left(command, run, data, tmp_path):
    shutil.copytree(data, tmp_path, dirs_exist_ok=True)
    before = left(tmp_path)
    done = run(*command.split(), *REFUSED[command], "--out", "nope", cwd=tmp_path, code=2)
    assert "'nowhere'" in done.stderr
    assert left(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize("command", IN_PARTS)
def test_where_a_part_says_that_its_input_is_wrong_nothing_is_left(command, run, data, tmp_path):
    shutil.copytree(data, tmp_path, dirs_exist_ok=True)
    before = left(tmp_path)
    run(*command.split(), *IN_PARTS[command], "--out", "nope", "--on", "local:2", cwd=tmp_path, code=2)
    assert left(tmp_path) == before


def journal(path, answers):
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(open_journal(path)) as file:
        for k in range(answers):
            file.execute("INSERT INTO calls VALUES ('run', 'one', x'00', ?, 'turn', x'00')", (k,))
        file.commit()


def refuse(folder, prepare, error=UserError, word="--out=new"):
    option, _, name = word.partition("=")
    with pytest.raises(error), leaving_nothing(["run", option, str(folder / name)]):
        prepare(folder / "new")
        raise error("no")


def test_what_was_answered_or_written_stays(tmp_path):
    for n, prepare in enumerate((
        lambda new: journal(new / "seed-0" / "calls.sqlite", 1),
        lambda new: (new.mkdir(), (new / "summary.json").write_text("{}")),
        lambda new: (new.mkdir(), sqlite3.connect(new / "other.sqlite").execute("CREATE TABLE theirs (a)")),
    )):  # fmt: skip
        folder = tmp_path / str(n)
        folder.mkdir()
        refuse(folder, prepare)
        assert any(path.is_file() for path in folder.rglob("*")), n


def test_what_lay_there_before_stays(tmp_path):
    journal(tmp_path / "new" / "calls.sqlite", 0)
    refuse(tmp_path, lambda new: (new / "run.lock").touch())
    assert left(tmp_path) == ["new", "new/calls.sqlite", "new/run.lock"]


def test_an_empty_folder_stays_empty(tmp_path):
    (tmp_path / "new").mkdir()
    refuse(tmp_path, lambda new: journal(new / "seed-0" / "calls.sqlite", 0))
    assert left(tmp_path) == ["new"]


def test_who_came_a_moment_before_is_left_alone(tmp_path):
    held = []

    def other_begins(new):
        new.mkdir()
        held.append(locked(new / "run.lock"))

    refuse(tmp_path, other_begins)
    assert left(tmp_path)[:2] == ["new", "new/run.lock"]
    held[0].close()


def test_of_what_failed_later_only_empty_folders_go(tmp_path):
    def begin(new):
        journal(new / "seed-0" / "calls.sqlite", 0)
        (new / "seed-1").mkdir()

    refuse(tmp_path, begin, PlayFailure)
    assert left(tmp_path) == ["new", "new/seed-0", "new/seed-0/calls.sqlite"]
