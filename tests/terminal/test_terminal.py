"""What is printed: tables, the cost of models, texts of others."""

import io

from polyclinic.models.ledger import Ledger, Line
from polyclinic.models.model import Usage
from polyclinic.terminal.screen import console, plain
from polyclinic.terminal.tables import table
from polyclinic.terminal.usage import show_usage


def shown(renderable) -> str:
    out = io.StringIO()
    console(out).print(renderable)
    return out.getvalue()


def test_numbers_stand_to_the_right_and_texts_of_others_are_texts():
    lines = shown(table("[red]title", ("name", "n"), [("[b]a", "1"), ("b", "1,000")])).splitlines()
    assert [line.strip() for line in lines if "━" not in line] == [
        "[red]title",
        "name ┃     n",
        "[b]a │     1",
        "b    │ 1,000",
    ]
    mixed = shown(table(None, ("name", "n", "end"), [("a", "1", "x")], right=("n",))).splitlines()
    assert mixed[-1] == "a    │ 1 │ x  "


def test_no_control_characters():
    assert plain("a\x1b[31m\tb\u202e\r") == "a [31m b  "


def test_what_models_cost_by_role_and_purpose():
    ledger, out = Ledger(), io.StringIO()
    show_usage(console(out), ledger)
    assert out.getvalue() == ""
    for purpose in ("speak, again", "speak", "report"):
        line = Line(calls=1, attempts=2, usage=Usage(tokens_in=1000, tokens_out=5, cost=0.5))
        ledger.lines["doctor", purpose] = line
        ledger.total.add(line)
    show_usage(console(out), ledger)
    rows = [[cell.strip() for cell in line.split("│")] for line in out.getvalue().splitlines() if "│" in line]
    assert rows == [
        ["doctor", "report", "1", "0", "2", "1,000", "0", "5", "0.5000"],
        ["doctor", "speak", "2", "0", "4", "2,000", "0", "10", "1.0000"],
        ["all", "", "3", "0", "6", "3,000", "0", "15", "1.5000"],
    ]
