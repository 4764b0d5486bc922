"""`--csv` and `--json` of every command: one table with a header first and raw numbers, and exactly one document."""

import csv
import io
import json
import re
import shutil

import pytest
from tests.cli.preparing import _prepared  # noqa: F401 - the fixture `prepared`
from tests.cli.test_budgets import RECORDS
from tests.cli.test_budgets import WORDS as ASKING
from tests.cli.test_cli_verdicts import fill
from tests.cli.test_stores_everywhere import options_of

from polyclinic.cli.commands import COMMANDS
from polyclinic.cli.config import keys_of

PAGE = "it writes a page or files for other programs, and prints where they are"
CASES = "it writes a file of cases or of questions, and prints where it is"
MEMORY = "it writes a memory, or a copy of one, and prints where it is"
SHEETS = "it writes sheets, or what was read of them, and prints where they are"
ONE_LINE = "it does one thing, and says in a line that it did"
WITHOUT_TABLE = {
    "serve": "it shows runs in the browser",
    "report": PAGE,
    "cases convert": CASES,
    "cases patient-test": CASES,
    "config show": "it prints a TOML file; --json has all of it",
    "ask": "it shows who says what, as it is said; --json has all of it",
    "models check": "it says of each model how it answers, a line each; --json has all of it",
    "cases check": "it names what is wrong, a line each; --json has all of it",
    "corpus add": ONE_LINE,
    "corpus remove": ONE_LINE,
    "corpus search": "it shows passages; --json has all of them",
    "verdicts export": SHEETS,
    "verdicts import": SHEETS,
    "memory build": MEMORY,
    "demo": "it shows a run, and what to try next",
}
"""Commands that print no table, each with the reason."""

WITHOUT_DOCUMENT = {
    **{name: WITHOUT_TABLE[name] for name in ("serve", "demo")},
    **dict.fromkeys(("cases generate", "cases patient-test"), CASES),
    **dict.fromkeys(("verdicts export", "verdicts import"), SHEETS),
    "memory build": MEMORY,
}
"""Commands without --json, each with the reason."""

OTHERS = {
    "run": ("--residents", "40", "--days", "1", "--visits", "6", "--out", "out"),
    "evolve": ("--train", "train.jsonl", "--test", "test.jsonl", "--out", "out"),
    "consult": ("shipped#p1-00001", "--doctor", "rules"),
    "ask": ("shipped#p1-00001", "Since when?"),
    "replay": ("trace.jsonl",),
    "report": ("answered", "--out", "rep.html"),
    "results show": ("answered", "aie"),
    "results compare": ("two",),
    "cases show": ("shipped",),
    "cases check": ("shipped",),
    "cases convert": ("shipped", "--format", "fhir", "--out", "cases.json"),
    "corpus search": ("books", "gout", "--by", "bm25", "--library", "lib"),
    "corpus remove": ("books", "--library", "lib"),
    "eval aie": ("--cases", "shipped", "--limit", "3", "--doctor", "rules", "--out", "out"),
    "eval mvme": ("--cases", "shipped", "--limit", "3", "--doctor", "rules", "--out", "out"),
    "eval tor": (*RECORDS, "--doctor", "rules", "--out", "out"),
    "score aie": ("aie", "--cases", "shipped"),
    "verdicts agreement": ("sheet.csv",),
    "knowledge show": ("gout",),
    "knowledge check": ("--n", "20"),
    "memory show": ("practice",),
}
"""How commands are called here that ask nobody, or need not."""

WORDS = ASKING | OTHERS | {"models check": ("--model", "direct/a"), "config show": ("consult",)}
LEFT_OUT = {
    "serve": "goes on until it is stopped",
    "demo": "takes no --json, and prints no table",
    "cases generate": "draws ten thousand patients where a model writes; its table is tried where it is stopped",
}
"""Commands that are not called here, each with the reason."""

AS_SHOWN = re.compile(
    r"(?!\d{4}-\d\d-\d\d)"  # a date
    r"(?:[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[+-]?\d[\d.,]*\s?%.*|[+-]?\d[\d.]*\s?(?:-|to|±|\(|\[)\s?[+-]?\d.*)"
)
"""1,588; 12 %; 71.6-83.8: figures for people."""


@pytest.mark.slow
def test_every_command_stands_here():
    documents = {command for command in COMMANDS if "--json" in options_of(command)}
    assert COMMANDS.keys() - documents == WITHOUT_DOCUMENT.keys()
    assert WITHOUT_TABLE.keys() <= COMMANDS.keys()
    printing = COMMANDS.keys() - (WITHOUT_TABLE.keys() & WITHOUT_DOCUMENT.keys())
    assert printing - LEFT_OUT.keys() <= WORDS.keys()


@pytest.fixture(scope="module")
def there(run, prepared):
    run("consult", "shipped#p1-00001", "--out", "trace.jsonl", cwd=prepared)
    run("eval", "aie", "--cases", "shipped", "--limit", 3, "--doctor", "rules", "--out", "aie", cwd=prepared)
    methods = ("--method", "zero_shot", "chain_of_thought", "--model", "made-up")
    run("eval", "exam", "medqa", "exam.jsonl", *methods, "--out", "two", cwd=prepared)
    run("verdicts", "export", "rounds", "trace.jsonl", "--cases", "shipped", "--to", "sheet.csv", cwd=prepared)
    fill(prepared / "sheet.csv", relevant="yes", consistent="yes", suggested="no", examined="no", who="anna")
    return prepared


def _counts_failures(name):
    return any(one.key == "run.max-failures" for one in keys_of(name))


def called(run, serving, folder, name, option, there):
    shutil.copytree(there, folder / "here", dirs_exist_ok=True)
    with serving() as endpoint:
        at = ("--base-url", endpoint.url) if "--base-url" in options_of(name) and name not in OTHERS else ()
        failing = ("--set", "run.max-failures=100") if "--set" in options_of(name) and _counts_failures(name) else ()
        return run(*name.split(), *WORDS[name], *at, *failing, option, cwd=folder / "here", code=None)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(WORDS.keys() - WITHOUT_DOCUMENT.keys() - LEFT_OUT.keys()))
def test_json_is_one_document(run, serving, tmp_path, there, name):
    done = called(run, serving, tmp_path, name, "--json", there)
    assert done.returncode in (0, 1), done.stderr
    json.loads(done.stdout)
    if (tmp_path / "here" / "out" / "results.json").exists():
        check_items(name, tmp_path / "here" / "out")


def check_items(name, folder):
    """Whatever was run, its results have items with values, and with the calls that were made for them."""
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    measures = {one["name"] for one in json.loads((folder / "results.json").read_text())["measures"]}
    assert items and {name for one in items for name in one["values"]} <= measures
    assert any(one["values"] for one in items)
    if (folder / "calls.jsonl").exists():
        assert any(one.get("calls") for one in items)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(WORDS.keys() - WITHOUT_TABLE.keys() - LEFT_OUT.keys()))
def test_csv_is_one_table_of_raw_numbers(run, serving, tmp_path, there, name):
    done = called(run, serving, tmp_path, name, "--csv", there)
    assert done.returncode in (0, 1), done.stderr
    header, *rows = csv.reader(io.StringIO(done.stdout), strict=True)
    assert header[0] == "table" and len(set(header)) == len(header) and rows
    assert {len(row) for row in rows} == {len(header)}
    shown = [(header[n], text) for row in rows for n, text in enumerate(row) if n and AS_SHOWN.fullmatch(text)]
    assert not shown


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted((WORDS.keys() & WITHOUT_TABLE.keys()) - LEFT_OUT.keys()))
def test_who_prints_no_table_says_so(run, serving, tmp_path, there, name):
    done = called(run, serving, tmp_path, name, "--csv", there)
    assert done.returncode in (0, 1), done.stderr
    assert "--csv: this command has printed no table" in done.stderr
