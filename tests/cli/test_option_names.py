"""Options over all commands: equal things have one name, and a name means one kind of thing."""

import re
from collections import defaultdict

import pytest

from polyclinic.cli.commands import APP

SYNONYMS = {
    "--out": ("--output", "--outdir", "--outfile", "--dest", "--destination", "--to-file"),
    "--seed": ("--random-seed", "--rng", "--bootstrap-seed"),
    "--limit": (
        "--max-cases",
        "--n-cases",
        "--first",
        "--count",
        "--top",
        "--n-questions",
        "--max-questions",
        "--sample",
    ),
    "--concurrency": ("--parallel", "--jobs", "--at-once", "--max-concurrency", "--threads"),
    "--model": ("--models", "--engine", "--llm"),
    "--doctor": ("--physician", "--agent"),
    "--cases": ("--case-file", "--input", "--records"),
    "--questions": ("--question-file", "--exam-file"),
    "--method": ("--methods", "--strategy"),
    "--set": ("--setting", "--settings", "--option"),
    "--json": ("--as-json",),
    "--format": ("--export", "--yaml", "--what"),
    "--layout": ("--file-format", "--input-format", "--kind"),
    "--timeout": ("--time-out", "--wait", "--deadline"),
    "--base-url": ("--url", "--endpoint", "--server"),
    "--token-budget": ("--token-limit", "--budget"),
    "--cost-budget": ("--cost-limit",),
    "--writer": ("--maker", "--generator"),
    "--force": ("--overwrite", "--yes"),
    "--strict": ("--pedantic",),
}
"""A name, and others that somebody might give the same thing."""

TWO_MEANINGS = {
    "--questions": "of exams a file; of 'memory read' how many are asked of a passage",
    "--replicas": "how many; of run also auto",
}
MODELS = {"--base-url", "--config", "--set", "--temperature", "--concurrency", "--token-budget"}
MODELS |= {"--cost-budget", "--dry-run"}
ASK_ONE_BY_ONE = {"models check", "serve"}
"""Commands that ask models and are no run: they have no budget, and nothing to rehearse."""


def commands(app=APP, path=()):
    for name in app:
        if not name.startswith("-"):
            if app[name].default_command is not None:
                yield " ".join((*path, name)), app[name]
            yield from commands(app[name], (*path, name))


def kind(hint) -> str:
    """Returns what a value is: a number, a path, a text, or nothing."""
    text = re.sub(r"Optional|list|\| None", "", str(hint))
    return next((name for name in ("bool", "int", "float", "Path") if re.search(rf"\b{name}\b", text)), "text")


@pytest.mark.slow
def test_equal_things_have_one_name_and_a_name_one_meaning():
    options, wrong = defaultdict(lambda: defaultdict(list)), []
    for command, app in commands():
        names = set()
        for argument in app.assemble_argument_collection():
            own = [name for name in argument.names if re.match("--(?!no-|empty-)", name)]  # the table has none of those
            names.update(own)
            for name in own:
                options[name][kind(argument.hint)].append(command)
        if "--base-url" in names and command not in ASK_ONE_BY_ONE and (missing := MODELS - names):
            wrong.append(f"{command} asks models without {', '.join(sorted(missing))}")
    for name, kinds in options.items():
        numbers = kinds.keys() <= {"int", "float"} or kinds.keys() <= {"Path", "text"}  # shipped sets have names
        if len(kinds) > 1 and not numbers and name not in TWO_MEANINGS:
            wrong.append(f"{name}: { ({one: found[:2] for one, found in kinds.items()}) }")
    for name, others in SYNONYMS.items():
        assert name in options, name
        wrong += [f"{other} of {options[other]} should be {name}" for other in others if other in options]
    assert not wrong, "\n".join(wrong)
