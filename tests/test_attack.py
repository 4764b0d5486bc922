"""A short form of `python -m bench.attack`: a few tries of each part that needs no process of its own."""

import ast
from pathlib import Path

import pytest
from bench.attack import PAGE, PARTS, SEED, Tried, attack, written
from bench.attack_files import corrupted
from bench.attack_leaks import ASKED, NO_CASE, asking, canaries
from bench.attack_outputs import commands, pipes, secrets
from bench.attack_plantings import TABLE, became, plantings
from bench.attack_texts import planted
from bench.attack_words import ASKS_NOBODY, GIVEN
from bench.readers import NOT_TRIED, OF_THE_PACKAGE
from bench.readers_given import READERS

import polyclinic

PACKAGE = Path(polyclinic.__file__).parent
TRIES = {"readers": 44, "texts": 1, "bombs": 3}
MISSED = 0
KNOWN_BEFORE = frozenset(("p114", "p075"))
"""What the table calls decisive, and what is told as something long-standing, which a patient knows."""


@pytest.mark.slow
@pytest.mark.parametrize("part", TRIES)
def test_what_is_tried_is_survived(part):
    assert [line for tried in attack(part, n=TRIES[part]) for line in tried.failed] == []


@pytest.mark.slow
def test_what_is_corrupted_is_told():
    assert [line for tried in corrupted(SEED, 12, runs=False) for line in tried.failed] == []


@pytest.mark.slow
def test_names_of_the_diagnosis_are_withheld_or_named_as_doubtful():
    told, silent = attack("leaks", n=1_000)
    # A table whose words the names are not read with: what no file has cannot be known.
    assert len(told.failed) <= MISSED, told.failed
    assert len(silent.failed) <= MISSED, silent.failed
    assert len(planted()) >= 200


def test_of_sentences_that_were_unread_when_the_rules_were_made_all_but_few_are_withheld_or_named():
    rows = plantings(TABLE.with_name("planted_sentences_2.tsv"))
    given = [row for row in rows if row.decisive]
    assert len(given) == 116
    assert [str(row) for row in given if became(row) == "told" and row.id not in KNOWN_BEFORE] == []
    harmless = [row for row in rows if row.kind == "harmless"]
    assert sum(became(row) != "withheld" for row in harmless) >= 26  # "mouth ulcers" are none of the stomach


@pytest.mark.slow
def test_sentences_that_give_the_diagnosis_away_are_withheld_or_named_and_harmless_ones_told():
    rows = {row.id: row for row in plantings()}
    given = [row for row in rows.values() if row.decisive]
    harmless = [row for row in rows.values() if row.kind == "harmless"]
    assert len(given) >= 200 and {row.language for row in given} == {"en", "zh"} and len(harmless) >= 50
    assert [str(row) for row in given if became(row) == "told" and row.id not in KNOWN_BEFORE] == []
    assert [str(row) for row in harmless if became(row) == "withheld"] == []


def test_what_is_written_changes_rows_of_what_was_tried_alone():
    page = PAGE.read_text(encoding="utf-8")
    assert {row.split(" | ")[0].removeprefix("| ") for row in rows_of(page)} <= set(PARTS)
    bombs = [Tried("one", 2_000, ("it fell",)), Tried("two", 3)]
    made = written(page, {"bombs": bombs}, seed=SEED)
    assert made == written(made, {"bombs": bombs}, seed=SEED)
    assert [row for row in rows_of(made) if row.startswith("| bombs |")] == [
        "| bombs | one | 2,000 | 1,999 |",
        "| bombs | two | 3 | 3 |",
    ]
    others = [[row for row in rows_of(text) if not row.startswith("| bombs |")] for text in (page, made)]
    assert others[0] == others[1] and len(others[0]) > 20
    assert page.partition("<!-- attacks -->")[0] == made.partition("<!-- attacks -->")[0]


def rows_of(page):
    return [line for line in page.splitlines() if line.startswith("| ") and line.count("|") == 5][1:]


def test_every_part_is_there():
    wanted = {"corruption", "stores", "readers", "leaks", "canaries", "texts", "endpoints", "bombs", "signals", "races"}
    assert wanted | {"kills", "secrets", "pipes", "sentences"} == set(PARTS)


_PRIMITIVES = {
    *("read_text", "read_bytes", "read_at_once", "unpacked"),
    *("read_lines", "read_any_lines", "read_records", "read_toml", "read_yaml"),
}


def reading():
    """Returns the modules of the package that read a file."""
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        named = {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}
        if named & {*_PRIMITIVES, "check_file"}:
            found.add(path.relative_to(PACKAGE).as_posix())
    return found


@pytest.mark.slow
def test_every_reader_is_tried_or_it_is_said_why_not():
    tried = {module for one in READERS for module in one.modules}
    assert not tried & {*NOT_TRIED, *OF_THE_PACKAGE} and not set(NOT_TRIED) & OF_THE_PACKAGE
    said = tried | {*NOT_TRIED, *OF_THE_PACKAGE}
    assert reading() <= said, reading() - said
    assert {name for name in said if not (PACKAGE / name).is_file()} == set()


@pytest.mark.slow
def test_every_command_is_found():
    assert {("serve",), ("study", "run"), ("eval", "exam"), ("cases", "show")} <= set(commands())


@pytest.mark.slow
def test_a_key_is_in_no_output_of_a_command(monkeypatch):
    every = commands()
    asked = {words: app for words, app in every.items() if words == ("models", "check")}
    monkeypatch.setattr("bench.attack_outputs.commands", lambda: asked)
    for tries in (secrets, pipes):
        (tried,) = tries(SEED, 1)
        assert (tried.n >= 4, tried.failed) == (True, ()), tries


def test_commands_that_are_given_words_of_their_own_are_there():
    every = {" ".join(words) for words in commands()}
    assert {*GIVEN, *ASKS_NOBODY} <= every and not set(GIVEN) & (set(ASKS_NOBODY) - {"corpus search", "score icd"})


@pytest.mark.slow
def test_of_every_command_that_asks_a_model_it_is_said_how_it_is_tried_for_leaks():
    assert set(asking()) == {*ASKED, *NO_CASE}
    assert not set(ASKED) & set(NO_CASE)


@pytest.mark.slow
def test_what_is_so_is_in_no_prompt_of_a_visit(monkeypatch):
    monkeypatch.setattr("bench.attack_leaks.ASKED", {"consult": ASKED["consult"][:1]})
    monkeypatch.setattr("bench.attack_leaks.NO_CASE", dict.fromkeys(asking(), ""))
    (tried,) = canaries(SEED, 1)
    assert (tried.n, tried.failed) == (1, ())
