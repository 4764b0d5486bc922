"""Places that are named by nothing or cannot be, and numbers that no run has: one line that says which option it is."""

import pytest

from polyclinic.cli.calling import moved
from polyclinic.cli.commands import APP, COMMANDS

LONG = "x" * 300


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("run", "--out", ""), "--out"),
        (("run", "--out="), "--out"),
        (("run", "--out", "  "), "--out"),
        (("consult", ""), "CASE"),
        (("cases", "show", ""), "CASE"),
        (("results", "show", ""), "FOLDERS"),
        (("replay", ""), "TRACE"),
        (("eval", "aie", "--verdicts", "", "--json"), "--verdicts"),
    ],
)
def test_a_blank_name_is_not_the_folder_one_is_in(complaint, tmp_path, words, named):
    assert f"{named} is given a blank name; give one" in complaint(*words, cwd=tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_what_may_be_blank_may_be(complaint):
    assert "1 of 1 is empty" in complaint("ask", "shipped#p1-00001", "")


@pytest.mark.parametrize(
    "words",
    [
        ("replay", LONG),
        ("consult", LONG),
        ("consult", "shipped#p1-00001", "--out", LONG),
        ("consult", "shipped#p1-00001", "--doctor", "direct/x", "--memory", LONG),
        ("run", "--out", LONG),
        ("serve", LONG),
    ],
)
def test_a_name_that_is_too_long_is_one_line(complaint, tmp_path, words):
    told = complaint(*words, cwd=tmp_path)
    assert LONG in told and "too long" in told


def test_links_that_lead_to_one_another_are_one_line(complaint, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    at = ("consult", "shipped#p1-00001", "--doctor", "recall")
    assert "loop" in complaint(*at, "--memory", "loop", cwd=tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--on", "local:99999999"), "--on 'local:99999999'; allowed: at most 1,000 workers"),
        (("--set", f"run.lookahead={10**20}"), f"run.lookahead {10**20}; allowed: 0 to 527,040"),
        (("--seed", ""), "--seed ''; allowed: a whole number"),
        (("--set", "models.timeout=inf"), "models.timeout inf; allowed: 0.001 to 604800"),
        (("--set", "models.timeout=1e99"), "models.timeout 1e+99; allowed: 0.001 to 604800"),
        (("--seed", "7" * 400 + "x"), f"--seed {'7' * 80}…; allowed: a whole number"),
    ],
)
def test_numbers_that_no_run_has(complaint, words, said):
    assert said in complaint("run", *words)


def test_more_experts_than_anybody_asks(complaint, tmp_path):
    asked = ("shipped", "--limit", 1, "--model", "direct/x", "--base-url", "http://127.0.0.1:9/v1")
    many = 10**20
    told = complaint("eval", "exam", "medqa", *asked, "--method", "medagents", "--set", f"option_experts={many}")
    assert f"5 and {many} experts; 100 of a kind are the most" in told


@pytest.mark.slow
def test_a_name_that_is_no_utf_8_is_one_line(process, tmp_path):
    at = ("run", "--residents", 60, "--days", 1, "--visits", 1, "--out", tmp_path / "out")
    done = process(*at, "--set", "run.nurse=" + b"\xff".decode(errors="surrogateescape"), code=2)
    assert done.stderr.count("\n") == 1 and "no UTF-8" in done.stderr


def test_what_is_read_is_kept_in_a_folder(run, complaint, tmp_path):
    (tmp_path / "file.txt").write_text("Gout is an inflammation of a joint.", encoding="utf-8")
    asked = ("--corpus", "books", "--doctor", "direct/x", "--base-url", "http://127.0.0.1:9/v1")
    assert "no corpus 'books' in" in complaint("memory", "read", "out", *asked, cwd=tmp_path)
    run("corpus", "add", "books", "file.txt", cwd=tmp_path)
    told = complaint("memory", "read", "file.txt", *asked, "--embedder", "case-words", cwd=tmp_path)
    assert "file.txt: this is a file; name a folder" in told


def test_who_reads_names_is_a_model(complaint):
    told = complaint(
        "eval", "mvme", "--cases", "shipped", "--limit", 1, "--doctor", "rules", "--set", "mvme.names-by=rules"
    )
    assert "--names-by 'rules' is not a model" in told


def test_a_guess_is_like_what_came_and_not_only_like_its_dashes(complaint, tmp_path):
    exam = ("eval", "exam", "any", "shipped", "--model", "made-up")
    assert "no option --layout; see" in complaint(*exam, "--layout", "medqa")
    assert "no option --limti (did you mean --limit?)" in complaint(*exam, "--limti", "3")


def test_a_file_that_is_misspelt_is_guessed(complaint, tmp_path):
    (tmp_path / "traces").mkdir()
    (tmp_path / "rules.jsonl").write_text("{}")
    assert "tracs: no such file (did you mean traces?)" in complaint("score", "aie", "tracs", cwd=tmp_path)
    assert "rule.jsonl: no such file (did you mean rules.jsonl?)" in complaint(
        "score", "aie", "rule.jsonl", cwd=tmp_path
    )
    assert "did you mean" not in complaint("score", "aie", "quite-another.jsonl", cwd=tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("results", "join", "a", "b"), "'results join' is gone; use polyclinic results show DIR..."),
        (
            ("results", "export", "a", "--what", "items"),
            "'results export' is gone; use polyclinic results show DIR... --format LAYOUT",
        ),
        (("results", "compare", "a", "--to", "csv"), "--to is gone; use --format"),
        (("memory", "near", "a", "cough"), "'memory near' is gone; use polyclinic memory show DIR --near TEXT"),
    ],
)
def test_old_words_say_the_new_ones(complaint, words, said):
    assert said in complaint(*words)


def test_every_new_spelling_is_a_command():
    for old, new in moved()["commands"].items():
        assert old not in COMMANDS
        assert any(new.startswith(name) for name in COMMANDS), new
    for command, options in moved()["options"].items():
        there = {
            name
            for one in APP.parse_commands(command.split())[1][-1].assemble_argument_collection()
            for name in one.names
        }
        assert there.isdisjoint(options), command
