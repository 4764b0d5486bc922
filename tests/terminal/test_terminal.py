"""What is printed: tables, the cost of models, texts of others."""

import csv
import io
import pickle
import re

import pytest
from rich.cells import cell_len
from tests.tables import each_row

from polyclinic.cases.report import Diagnosis
from polyclinic.cli.show import diagnosis_text
from polyclinic.models.ledger import Ledger, Line
from polyclinic.models.model import Usage
from polyclinic.terminal.figures import low_to_high, money, number, with_ends
from polyclinic.terminal.screen import console, plain, tables_as_csv
from polyclinic.terminal.tables import few_line, table
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


@each_row("width", [120, 80, 60, 40])
@each_row("doctors", [1, 4])
def test_a_narrow_screen_breaks_no_number(width, doctors):
    name = "far/away/mine/method.py:a_method_with_a_long_name"
    cells = ("34.6 ± 12.1", "12.1-45.6", "1,273", "12,345", "< 0.0001", "+2.00 to +2.00", "0.00123", "✓")
    columns = ("method", "right %", "95 % interval", "n", "tokens", "p (Holm)", name, "cost", "unreadable")
    out = io.StringIO()
    screen = console(out)
    screen.width = width
    screen.print(table("MedQA", columns, [(one, *cells) for one in ["zero_shot", *[name] * (doctors - 1)]]))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for cell in cells:
        assert (
            sum(cell in line.replace("│", " ").split("  ") or f" {cell} " in f" {line} " for line in lines) == doctors
        )
    assert "unreadable" in out.getvalue()
    letters = "".join(line.partition("│")[0].strip() for line in lines if "┃" not in line)
    assert letters.count(name) >= doctors - 1


def test_labels_fold_before_numbers_go_below():
    out = io.StringIO()
    screen = console(out)
    screen.width = 62
    cells = ("p1-00001", "7", "concluded by the doctor", "Acute viral rhinopharyngitis", "Acute pharyngitis")
    screen.print(table(None, ("case", "turns", "end", "diagnosis", "truth"), [cells], right=("turns",)))
    assert out.getvalue().count("turns") == 1
    assert out.getvalue().count("p1-00001") == 1


@each_row("width", range(60, 101))
def test_numbers_among_labels_of_chinese_are_whole(width):
    out = io.StringIO()
    screen = console(out)
    screen.width = width
    said = ("肚子右下方疼、发烧了、有寒战1天", "身上滚烫、吃进去又吐出来、精神差懒得玩3天", "头疼")
    rows = [(f"p21-0000{n}", "zh", "0.167", "female", one, f"{80 + n}") for n, one in enumerate(said)]
    screen.print(
        table(None, ("id", "language", "age", "sex", "complaint", "findings"), rows, right=("age", "findings"))
    )
    lines = out.getvalue().splitlines()
    cells = [cell.strip() for line in lines for cell in line.replace("┃", "│").split("│")]
    assert max(map(cell_len, lines)) <= width
    assert cells.count("0.167") == 3 and cells.count("findings") == 1
    assert all(cells.count(row[-1]) == 1 for row in rows)
    signs = "".join(cells)
    assert all(signs.count(sign) >= "".join(said).count(sign) for sign in "".join(said))


def test_a_long_name_above_numbers_is_broken_between_its_words():
    made = table(None, ["method", "precision_of_a_record", "recall_of_a_record", "f1_of_a_record", "tokens_each"])
    made.add_row("tree_of_reasoning", "36.16", "21.69", "25.44", "127,358")
    parts = re.findall(r"[a-z0-9_]+", shown(made))
    assert "precision_of_a_" in parts and "record" in parts and "ecord" not in parts


def test_a_word_of_a_label_is_broken_only_where_numbers_would_have_less_than_half():
    out = io.StringIO()
    screen = console(out)
    screen.width = 80
    rows = [("pubmedqa", "made-up", name, *["24.35-44.64"] * 5) for name in ("zero_shot", "self_consistency")]
    screen.print(table(None, ("set", "model", "method", *(f"interval {n}" for n in range(5))), rows, left=3))
    assert out.getvalue().count("self_consistency") == 2 and out.getvalue().count("24.35-44.64") == 10
    assert max(map(len, out.getvalue().splitlines())) <= 80


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


def test_answers_of_models_of_one_server_are_told_below_those_by_server():
    ledger, out = Ledger(), io.StringIO()
    ledger.lines["doctor", "answer"] = Line(calls=60, failures=3)
    ledger.total.add(ledger.lines["doctor", "answer"])
    show_usage(console(out), ledger)
    assert "by server" not in out.getvalue()
    ledger.servers["a", "http://one"], ledger.servers["a", "http://two"] = Line(calls=9), Line(calls=11)
    show_usage(console(out), ledger)
    assert out.getvalue().endswith("the other 37 answers came from models of one server\n")


def test_intervals_of_few_say_so():
    assert few_line([30, 5], "record") == "an interval over 5 records says little"
    assert few_line([1, 0], "question") == "an interval over 1 question says little"
    assert few_line([6, 30], "record") == few_line([0], "record") == few_line([], "record") == ""


def test_no_control_characters_in_errors(run, tmp_path):
    done = run("consult", f"{tmp_path}/a\x1b[31m\u202eb.jsonl", code=2)
    assert "\x1b" not in done.stderr and "\u202e" not in done.stderr and "a [31m b.jsonl" in done.stderr


def test_a_pipe_gets_tables_of_80_letters_and_whole_lines(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    out = io.StringIO()
    console(out).print(f"kept in {'a/' * 60}b c")
    console(out).print(table(None, ("name", *(f"{n} long numbers" for n in range(9))), [("x", *["1,234"] * 9)]))
    line, *rest = out.getvalue().splitlines()
    assert len(line) == 131
    assert max(map(len, rest)) <= 80
    monkeypatch.setenv("COLUMNS", "100")
    assert console(out).width == 100


def test_tables_are_one_csv_where_that_is_wanted(capsys):
    with tables_as_csv():
        screen = console()
        screen.print(table("[b]one", ("name", "n"), [("=a", number(1588, ",")), ("b, c", "–")]))
        screen.print("a word beside")
        share = with_ends(200 / 3, 1 / 3, 100.0)
        screen.print(table(None, ("x [95 %]", "95 % interval"), [(share, low_to_high(-6.0, 1e-5))]))
    out, err = capsys.readouterr()
    first, second, third = csv.DictReader(io.StringIO(out), strict=True)
    assert list(first) == ["table", "name", "n", "x", "x low", "x high", "x low 2", "x high 2"]
    assert (first["table"], first["name"], first["n"], first["x"]) == ("[b]one", "'=a", "1588", "")
    assert (second["name"], second["n"]) == ("b, c", "")
    assert [float(third[name]) for name in list(third)[3:]] == [200 / 3, 1 / 3, 100.0, -6.0, 1e-5]
    assert "a word beside" in err


def test_where_no_table_is_printed_it_is_said(capsys):
    with tables_as_csv():
        console().print("a word")
    out, err = capsys.readouterr()
    assert not out and "no table" in err


@each_row("value, told", [(0.00002, "0.000020"), (0.0, "0.0000"), (12.5, "12.5000"), (None, "–")])
def test_a_cost_is_never_rounded_to_nothing(value, told):
    assert money(value) == told
    assert value is None or money(value, 3) == f"≥ {told}"


def test_figures_travel_between_processes():
    one = with_ends(200 / 3, 1.0, 100.0)
    again = pickle.loads(pickle.dumps(one))
    assert (again, again.parts) == (one, one.parts)


LONG = (
    "direct/good",
    "method.py:second_look(looks=3)",
    "chain_of_thought",
    "Osteoarthritis, severe",
    "INQUIRY_SPECIFIC",
)


@pytest.mark.slow
@each_row("width", range(60, 121))
def test_no_word_of_a_label_is_broken(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    for left, numbers in ((1, 9), (2, 5), (3, 1)):
        labels = [(LONG + LONG)[n : n + left] for n in range(len(LONG))]
        heads = (*(f"label {n}" for n in range(left)), *(f"number {n}" for n in range(numbers)))
        console(out).print(table(None, heads, [(*row, *["1,234.56"] * numbers) for row in labels], left=left))
    assert max(map(len, out.getvalue().splitlines())) <= width
    for word in ("direct", "method", "second", "thought", "chain", "Osteoarthritis", "severe", "INQUIRY", "SPECIFIC"):
        assert word in out.getvalue()
    pieces = re.findall(r"[A-Za-z]+", out.getvalue())
    known = set(re.findall(r"[A-Za-z]+", " ".join((*LONG, "label number"))))
    assert {*pieces} <= known


def test_a_code_of_others_is_a_text():
    said = shown(diagnosis_text(Diagnosis(name="flu\x1b[31m", icd10="\x1b]0;title\x07J10\u202e", probability=0.5)))
    assert " ".join(said.split()).replace("title J10", "titleJ10") == "flu [31m ]0;titleJ10 50 %"


def test_a_table_of_texts_is_never_wider_than_the_screen(monkeypatch, capsys):
    """One column is not broken; the others share what it leaves, and nobody is cut."""
    monkeypatch.setenv("COLUMNS", "80")
    heads = ("visit", "resident", "came", "has", "taken for", "outcome")
    shown = table("2 visits", heads, left=len(heads))
    shown.box = None
    shown.columns[2].no_wrap = True
    shown.add_row("r00016-d0000/1", "Ruth Dubois", "day 1 06:52", "Iron Deficiency Anaemia, moderate", "✓", "went home")
    shown.add_row("r00017-d0000/1", "Victor Hansen", "day 1 07:33", "Hypertensive crisis", "✗ Gout", "discharged")
    console().print(shown)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(
        word in "\n".join(lines) for word in ("went home", "discharged", "outcome", "day 1 06:52", "day 1 07:33")
    )
