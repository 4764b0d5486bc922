"""Rows too many for a table."""

import io
import json

from rich.console import Console

from polyclinic.terminal.screen import print_json, print_json_array
from polyclinic.terminal.tables import print_rows


def test_rows_stand_below_one_another_whatever_their_script():
    out = io.StringIO()
    print_rows(Console(file=out), ["id", "n"], [["慢", "1"], ["abc", "20"]], right=("n",))
    assert out.getvalue() == "id    n\n慢    1\nabc  20\n"


def test_an_array_is_printed_as_a_document_is(capsys):
    for documents in ([], [{"a": [1, {"b": "x"}]}, {"c": None}]):
        print_json(documents)
        whole = capsys.readouterr().out
        print_json_array(iter(documents))
        assert json.loads(capsys.readouterr().out) == json.loads(whole)
