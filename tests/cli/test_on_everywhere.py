"""`--on` over all commands: whoever takes it gives in parts, item by item, what it gives whole, and asks as often."""

import json

import pytest
from tests.cli.test_cli_eval_examiner import ASKED, REPLY, dialogues
from tests.cli.test_cli_exam_memory import files as memory  # noqa: F401 - a fixture
from tests.cli.test_stores_everywhere import options_of
from tests.exams import write_exam, write_nine_sets

from polyclinic.cli.commands import COMMANDS

MODEL = ("--model", "direct/x")
METHOD = ("--method", "chain_of_thought", *MODEL)
FEW = ("--limit", "2")
INPATIENTS = ("--cases", "inpatients", *FEW)
EVERY = {
    "run": ("--residents", "20", "--days", "1"),
    "evolve": ("--train", "TRAIN", "--test", "TEST", "--set", "practice.batch=10", "--ablations", "no", "--replicas", "2"),  # noqa: E501
    "cases generate": ("--n", "30", "--diseases", "respiratory"),
    "eval aie": ("--cases", "shipped", *FEW, "--doctor", "direct/x"),
    "eval patient-simulator": ("--cases", "LABELLED", "--patient", "direct/x", "--set", "run.max-failures=100"),
    "eval examiner": ("--cases", "shipped", "--dialogues", "SAID", "--examiner", "direct/x"),
    "eval mvme": ("--cases", "shipped", *FEW, "--doctor", "direct/x"),
    "eval reliability": ("--cases", "shipped", *FEW, "--patient", "direct/x", "--judge", "direct/x"),
    "eval exam": ("medqa", "EXAM", *METHOD, "--judge", "direct/x", "--set", "run.max-failures=100"),
    "eval tor": (*INPATIENTS, "--method", "zero_shot", *MODEL),
    "study run": ("PLAN", *MODEL, "--model", "direct/y"),
}  # fmt: skip
"""What each is given, beside where it is kept; what names a file of the fixture stands for that."""

PLAN = """
title = "two"
[options]
method = ["zero_shot", "chain_of_thought"]
[[run]]
name = "exam"
command = "eval exam"
exam = "medqa"
questions = "shipped"
"""


@pytest.mark.slow
def test_every_command_that_is_divided_is_held_below():
    assert {command for command in COMMANDS if "--on" in options_of(command)} == EVERY.keys()


@pytest.fixture(scope="module")
def data(tmp_path_factory, memory, run):  # noqa: F811
    folder = tmp_path_factory.mktemp("data")
    write_exam(folder / "EXAM", range(5))
    write_nine_sets(folder)
    (folder / "PLAN").write_text(PLAN)
    for name, seed in {"TRAIN": 0, "TEST": 1}.items():
        run("cases", "generate", "--n", 20, "--diseases", "respiratory", "--seed", seed, "--out", folder / name)
    rounds = ("--set", "patient-test.rounds=1")
    run("cases", "patient-test", "--cases", folder / "TEST", *rounds, "--out", folder / "LABELLED")
    run("eval", "exam", "medqa", folder / "EXAM", "--model", "made-up", "--out", folder / "ANSWERED")
    dialogues(folder, *2 * (("Patient", ASKED), ("Reporter", REPLY))).rename(folder / "SAID")
    (folder / "MEMORY").symlink_to(memory / "m")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", EVERY)
def test_a_command_in_parts_gives_what_the_whole_gives(command, data, run, serving, tmp_path):
    words = [*command.split(), *(str(data / word) if (data / word).exists() else word for word in EVERY[command])]
    came = []
    with serving(seed=1) as endpoint:
        if "--base-url" in options_of(command) and "direct/x" in words:
            words += ["--base-url", endpoint.url]
        words += ["--json"] if "--json" in options_of(command) else []
        # That workers side by side change nothing, tests/parallel holds for what all commands go through.
        workers = 2 if command in ("run", "eval exam") else 1
        for name, more in {"whole": [], "parts": ["--on", f"local:{workers}"]}.items():
            before = endpoint.requests
            shown = run(*words, "--out", tmp_path / name, *more).stdout
            document = timeless(json.loads(shown)) if "--json" in words else None
            came.append((kept(tmp_path / name), document, endpoint.requests - before))
    (whole, document, asked), (parts, document_of_parts, asked_in_parts) = came
    assert parts == whole
    assert document_of_parts == document
    assert asked_in_parts == asked
    assert bool(asked) == ("direct/x" in words)


def kept(place):
    """Returns what a command has kept, its file, or every line and summary in its folder, without seconds."""
    if place.is_file():
        return place.read_bytes()
    found = {}
    files = [*place.rglob("*.jsonl"), *place.rglob("summary.json")]
    for path in sorted(path for path in files if path.name != "calls.jsonl"):  # which says what the journal answered
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        found[str(path.relative_to(place))] = [timeless(json.loads(line)) for line in lines]
    assert any(found.values())
    return found


def timeless(document):
    if isinstance(document, dict):
        return {key: timeless(one) for key, one in document.items() if "second" not in key}
    return [timeless(one) for one in document] if isinstance(document, list) else document
