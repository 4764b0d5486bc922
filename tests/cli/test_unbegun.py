"""A command that is refused before anything was asked or computed leaves nothing."""

import shutil

import pytest
from tests.cli.test_on_everywhere import EVERY
from tests.exams import write_exam

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
    "eval exam": ("medqa", "exam", "--model", "direct/x", *NOWHERE),
}
IN_PARTS = {
    "run": ("--replicas", "2", "--bogus", "3"),
    "eval exam": ("medqa", "exam", "--model", "direct/x", *NOWHERE),
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
