"""`--store` over all commands: whoever keeps something takes one, or stands in a list with the reason."""

import ast
import inspect
from pathlib import Path

import pytest

from polyclinic.cli import evaluations
from polyclinic.cli.commands import APP, COMMANDS
from polyclinic.evaluations import runner
from polyclinic.run.storing import WITHOUT_STORE

KEEPS = {"--out", "--journal", "--memory", "--base-url"}
"""Whoever writes results, keeps answers, reads a memory or asks a model has something to keep."""


def options_of(command: str) -> set[str]:
    app = APP
    for word in command.split():
        app = app[word]
    return {name for argument in app.assemble_argument_collection() for name in argument.names}


def function_of(command: str):
    app = APP
    for word in command.split():
        app = app[word]
    return app.default_command


@pytest.mark.slow
def test_whoever_keeps_something_takes_a_store_or_is_named_with_a_reason():
    stored = {command for command in COMMANDS if "--store" in options_of(command)}
    keeps = {command for command in COMMANDS if KEEPS & options_of(command)}
    assert len(stored) > 20
    assert keeps - stored == WITHOUT_STORE.keys(), "the list says of whom there is nothing in a store"
    assert all(len(reason) > 20 for reason in WITHOUT_STORE.values())


@pytest.mark.slow
def test_a_journal_and_a_store_stand_side_by_side():
    journals = {command for command in COMMANDS if "--journal" in options_of(command)}
    assert len(journals) > 15
    assert not [command for command in journals if "--store" not in options_of(command)]


@pytest.mark.slow
def test_no_command_takes_a_store_and_leaves_it():
    """The option's value reaches something in the command, in its module or in what all evaluations share."""
    for command in COMMANDS:
        if "--store" not in options_of(command):
            continue
        module = inspect.getmodule(function_of(command))
        if module is evaluations:  # made of a declaration, which the one runner finishes
            module = runner
        source = Path(inspect.getfile(module)).read_text()
        nodes = list(ast.walk(ast.parse(source)))
        named = {node.id for node in nodes if isinstance(node, ast.Name)}
        named |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        uses = {"finish", "keep_outcome", "keep_results", "place_memory", "write_run_results"}
        uses.add("write_records")
        assert uses & named, command


def test_the_page_on_stores_names_every_one_that_takes_none():
    page = (Path(__file__).parents[2] / "docs" / "store.md").read_text()
    missing = [f"{name}: {why}" for name, why in WITHOUT_STORE.items() if f"`{name}`" not in page or why not in page]
    assert not missing


def test_an_address_in_the_place_of_a_file_is_not_said_again(complaint):
    for words in (
        ["report"],
        ["replay"],
        ["serve"],
        ["eval", "exam", "medqa", "shipped", "--model", "x", "--journal"],
    ):
        said = complaint(*words, "postgresql://ann:WRONGpw@127.0.0.1:1/research")
        assert "URL#17" in said and "WRONGpw" not in said, words
    assert "WRONGpw" not in complaint("results", "list", "host=h password=WRONGpw dbname=d")
