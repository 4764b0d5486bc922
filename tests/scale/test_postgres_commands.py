"""Every command that keeps answers does so in a file and in a store: the same comes of both, and nothing twice."""

import json
import re

import pytest
from tests.cli.test_batches_everywhere import RECORDED_COMMANDS, write_recorded

from polyclinic.results.folder import read_results
from polyclinic.testing.endpoint import EndpointProcess

PLAN = """title = "two methods"
seeds = [0, 1]
[options]
method = ["zero_shot", "chain_of_thought"]
[[run]]
name = "shipped"
command = "eval exam"
exam = "medqa"
questions = "shipped"
"""


@pytest.fixture
def made(tmp_path, run):
    """What commands read: names, cases, a corpus, and answers of which some are wrong."""
    (tmp_path / "names.jsonl").write_text('{"a": "flu", "b": "influenza"}\n{"a": "gout", "b": "asthma"}\n')
    write_recorded(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    run("cases", "generate", "--n", "2", "--out", tmp_path / "two.jsonl")
    run(
        "cases",
        "patient-test",
        "--cases",
        tmp_path / "two.jsonl",
        "--set",
        "patient-test.rounds=1",
        "--out",
        tmp_path / "labelled.json",
    )
    notes = tmp_path / "notes.md"
    notes.write_text("# Gout\n\nUrate crystals in a joint.\n\n# Asthma\n\nWheeze that comes and goes.\n")
    run("corpus", "add", "notes", notes, "--library", tmp_path / "library")
    run("eval", "exam", "medqa", "shipped", "--model", "made-up", "--out", tmp_path / "answered")
    return tmp_path


COMMANDS = {
    "ask": ["ask", "shipped#p1-00001", "a chest X-ray", "a blood count", "--examiner", "direct/x"],
    "names": ["knowledge", "compare", "names.jsonl", "--judge", "direct/x"],
    "patient-simulator": ["eval", "patient-simulator", "--cases", "labelled.json", "--patient", "direct/x",
                          "--set", "run.max-failures=100"],
    **RECORDED_COMMANDS,
}  # fmt: skip


def untimed(shown):
    return re.sub(r"\bin \d+\.\d+ s\b", "in … s", shown)


def asked(run, endpoint, words, folder, *, code=0):
    before = endpoint.counters()["requests"]
    done = run(*words, "--base-url", endpoint.url, code=code, cwd=folder)
    return endpoint.counters()["requests"] - before, done


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_given_again_asks_nothing_and_says_the_same(name, kept, run, made):
    out = []
    with EndpointProcess(seed=1) as endpoint:
        for _ in range(2):
            out.append(asked(run, endpoint, [*COMMANDS[name], *kept], made))
    (first, done), (again, then) = out
    assert first > 0
    assert again == 0
    assert untimed(done.stdout) == untimed(then.stdout)
    if isinstance(kept[1], str):
        kinds = [one.record.kind for one in read_results(kept[1])]
        assert len(kinds) == 2 and kinds[0] == kinds[1] and COMMANDS[name][0] in kinds[0]


def test_a_memory_is_a_folder(base, run, made):
    for words in (("build", "a", "b", "--out"), ("read", "--corpus", "x", "--doctor", "direct/x")):
        told = run("memory", *words, f"{base}#stored", code=2, cwd=made).stderr
        assert "URL#17" in told, words


def test_a_run_of_the_hospital_is_kept_whole_and_read_from_the_store(base, run, made):
    run("run", "--residents", "20", "--days", "1", "--out", base, cwd=made)
    run("run", "--residents", "20", "--days", "1", "--out", "town", cwd=made)
    (one,) = read_results(base)
    assert one.record.kind == "run" and len(one.rows) > 3
    figures = [json.loads(run("report", of, "--json", cwd=made).stdout) for of in ("town", f"{base}#1")]
    assert {**figures[0], "run": ""} == {**figures[1], "run": ""}
    first = run("replay", f"{base}#1", "--json", cwd=made).stdout
    assert first == run("replay", "town", "--json", cwd=made).stdout


def test_a_study_has_its_answers_and_its_table_in_the_store(base, run, made):
    with EndpointProcess(seed=1) as endpoint:
        words = ["study", "run", "plan.toml", "--model", "direct/x"]
        first, _ = asked(run, endpoint, [*words, "--out", base], made)
        again, _ = asked(run, endpoint, [*words, "--out", base], made)
        asked(run, endpoint, [*words, "--out", "one"], made)
    assert first > 0 and again == 0
    both = read_results(base)
    assert [one.record.kind for one in both] == ["study run", "study run"], "its runs are part of it"
    assert len(both[0].rows) == len(both[1].rows) == len(read_results(made / "one")[0].rows)


def test_a_number_or_a_file_that_is_not_there_is_named(base, run, made):
    run("knowledge", "compare", "names.jsonl", "--out", base, cwd=made)
    for what, needed in {"#9": "no results #9", "#1/other.json": "#1 has no file other.json; it has: "}.items():
        said = run("report", f"{base}{what}", code=2, cwd=made).stderr
        assert needed in said and said.count("\n") == 1 and "secret" not in said
