"""`--out postgresql://...` over all commands: each that keeps something takes one, or is listed with the reason."""

from functools import cache
from pathlib import Path

import pytest

from polyclinic.cli.commands import APP, COMMANDS

_PAGES = "its --out is a page or a table made of results, which are kept where they were made"
_SHEETS = "its --out are sheets, which people fill in and send back, or what was read of those"
_ONE_FILE = "it writes one file, and keeps its answers beside it"
_MEMORIES = "it makes a memory in a folder; in a database that of a practice is among its results"
_NO_RESULTS = "it keeps no results, and asks again what it asks"

WITHOUT_DATABASE = {
    "report": _PAGES,
    "results compare": _PAGES,
    "results show": _PAGES,
    "verdicts export": _SHEETS,
    "verdicts import": _SHEETS,
    "models check": "it asks whether models answer, and keeps nothing",
    "serve": "what is played, judged and taught there lies in its folder, to which one server at a time writes",
    "memory show": "its --out is a copy of a memory for other tools; the memory may be in a database",
    "memory build": _MEMORIES,
    "memory read": _MEMORIES,
    "consult": _ONE_FILE,
    "cases convert": _ONE_FILE,
    "cases generate": _ONE_FILE,
    "cases patient-test": _ONE_FILE,
    "corpus add": "its vectors are kept in the corpus as they come",
    "corpus search": _NO_RESULTS,
}
"""Commands that write files or ask models, and keep nothing in a database; each with its reason."""

KEEPS = {"--out", "--memory", "--base-url"}
"""A command that writes results, keeps answers, reads a memory or asks a model has something to keep."""


@cache
def options_of(command: str) -> set[str]:
    app = APP
    for word in command.split():
        app = app[word]
    return {name for argument in app.assemble_argument_collection() if argument.parse for name in argument.names}


def takes_a_database(command: str) -> bool:
    app = APP
    for word in command.split():
        app = app[word]
    shown = (one.parameter.metavar for one in app.assemble_argument_collection() if one.show)
    return "FOLDER|URL" in shown


@pytest.mark.slow
def test_a_command_that_keeps_something_takes_a_database_or_is_named_with_a_reason():
    stored = {command for command in COMMANDS if takes_a_database(command)}
    keeps = {command for command in COMMANDS if KEEPS & options_of(command)}
    assert len(stored) > 12
    assert keeps - stored == WITHOUT_DATABASE.keys()
    assert all(len(reason) > 20 for reason in WITHOUT_DATABASE.values())


@pytest.mark.slow
def test_the_two_old_options_are_answered_in_a_line(complaint):
    for command in ("eval exam", "eval aie", "run", "evolve", "score icd", "ask", "study run"):
        for option in ("--journal", "--store"):
            assert f"{option} is gone; use --out" in complaint(*command.split(), option, "x"), command


def test_the_page_on_stores_names_every_one_that_takes_none():
    page = (Path(__file__).parents[2] / "docs" / "store.md").read_text()
    missing = [f"{name}: {why}" for name, why in WITHOUT_DATABASE.items() if f"`{name}`" not in page or why not in page]
    assert not missing


def test_an_address_in_the_place_of_a_file_is_not_said_again(complaint):
    for words in (
        ["report"],
        ["serve"],
    ):
        said = complaint(*words, "postgresql://ann:WRONGpw@127.0.0.1:1/research")
        assert "URL#17" in said and "WRONGpw" not in said, words
    assert "WRONGpw" not in complaint("results", "show", "host=h password=WRONGpw dbname=d", "--rows", "runs")
