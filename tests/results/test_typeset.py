"""Joined tables and differences for papers: what a table holds, and that no name in it is markup."""

import shutil
import subprocess

import pytest
from tests.results.test_results import rows, written

from polyclinic.protocols.study_plan import PublishedValue
from polyclinic.results.export import as_latex, as_markdown, latex_text, markdown_text
from polyclinic.results.folder import ItemMeasure, ItemRow, RunRecord, read_results
from polyclinic.results.joining import compare_results, join
from polyclinic.results.page import page
from polyclinic.results.printed import TableColumns, columns_of, differences, printed
from polyclinic.run.output import write_record

NASTY = [
    "[1em] gpt_4 & co", "*star", r"\input{/etc/passwd}", "100 % $x^2$ ~ {a} #1", 'say "hi" `` -- --- |x|<y>',
    "a\nb\x1b[31m", "Ångström é ß ł Ž µ κ ≥ 1 → 2 × 3 … – —",
]  # fmt: skip


def several(folder, sets=("medqa", "pubmedqa")):
    """Two models and two methods on some sets, one of them with a figure of a paper beside."""
    folder.mkdir()
    many = [
        row
        for number, name in enumerate(sets)
        for model, right in (("m1", 3), ("m2", 7))
        for method in ("zero_shot", "medagents")
        for row in rows(model, right + number, method=method)
    ]
    many = [
        ItemRow(item=row.item, values=row.values, set=sets[place // 40], model=row.model, method=row.method)
        for place, row in enumerate(many)
    ]
    value = PublishedValue(model="GPT-4", method="medagents", measure="right", set=sets[0], value=83.7)
    record = RunRecord(kind="study run", measures=[ItemMeasure(name="right")], published=[value])
    write_record(folder, record, many)
    return join(read_results(folder))


def test_sets_stand_beside_one_another_as_papers_print_them(tmp_path):
    (table,) = printed(several(tmp_path / "a"), TableColumns.SETS)
    assert (table.title, table.columns, table.left) == ("right", ("model", "method", "medqa", "pubmedqa", "average"), 2)
    by_name = {row[:2]: [*row[2:]] for row in table.rows}
    assert by_name["m1", "zero_shot"] == ["30.00 [10.78, 60.32]", "40.00 [16.82, 68.73]", "35.00"]
    # Of one set alone there is no average, and what a paper prints is said to be that.
    assert by_name["GPT-4 (published)", "medagents"] == ["83.70", "–", "–"]


def test_every_table_has_the_same_figures(tmp_path):
    joined = several(tmp_path / "a")
    one = joined.rows[0].measures["right"]
    told = f"{one.mean:.2f} [{one.low:.2f}, {one.high:.2f}]"
    for columns in TableColumns:
        assert told in as_markdown(printed(joined, columns))
        assert rf"{one.mean:.2f} {{\footnotesize [{one.low:.2f}, {one.high:.2f}]}}" in as_latex(
            printed(joined, columns)
        )
        for table in printed(joined, columns):
            # A rule beneath the head, and then a line for each row, with all that stands in it.
            lines = as_markdown([table]).partition("---")[2].splitlines()[1:]
            assert [line.count(" | ") + 1 for line in lines[: len(table.rows)]] == list(map(len, table.rows))
    shown = page(read_results(tmp_path / "a"), joined, None)
    assert told in shown and "GPT-4 (published)" in shown


def test_many_measures_of_few_stand_below_one_another(tmp_path):
    names = [f"m{n}" for n in range(8)]
    items = [ItemRow(item=str(n), values=dict.fromkeys(names, float(n)), model="m") for n in range(9)]
    joined = join(read_results(written(tmp_path / "a", items, measures=names)))
    assert columns_of(joined) is TableColumns.ENTRANTS
    (table,) = printed(joined)
    assert table.columns[0] == "measure" and [row[0] for row in table.rows] == [*names, "n", "failed"]
    assert columns_of(joined, TableColumns.MEASURES) is TableColumns.MEASURES
    # As wide as it is then, it stands in parts of LaTeX that can be read, and loses nothing.
    wide = as_latex(printed(joined, TableColumns.MEASURES))
    assert wide.count(r"\begin{tabular}") == 2 and all(f" {name} " in wide for name in names)
    assert wide.count("intervals of 95") == 1


def test_differences_go_to_papers_with_holm(tmp_path):
    compared = compare_results(read_results(written(tmp_path / "a", rows("m1", 2), rows("m2", 9), rows("m3", 2))))
    text = as_markdown([differences(compared)])
    assert "| first | second | difference | p | p (Holm) | n | detectable |" in text
    assert "**medqa, right**" in text and "corrected by Holm over all 3 rows" in text
    first = compared.rows[0]
    low, high = f"{first.difference.low:+.2f}", f"{first.difference.high:+.2f}"
    assert f"| +70.00 [{low}, {high}] | 0.0156 | 0.0469 | 10 | – |" in text
    assert r"$+$70.00 {\footnotesize [" in as_latex([differences(compared)])


@pytest.mark.parametrize("name", NASTY)
def test_no_name_is_markup(name):
    for written_as in (markdown_text(name), latex_text(name)):
        assert "\n" not in written_as and "\x1b" not in written_as
    assert "|" not in markdown_text(name).replace("\\|", "") and "<" not in markdown_text(name).replace("\\<", "")


def test_what_markup_is_stays_text():
    assert markdown_text("zero_shot") == "zero_shot" and markdown_text("_a_ *b*") == r"\_a\_ \*b\*"
    assert markdown_text("a&amp;b & c [x](y)") == r"a\&amp;b & c \[x\](y)"
    assert latex_text(r"50 % of \x_1--y") == r"50 \% of \textbackslash{}x\_1-{}-y"
    assert latex_text("3–4") == "3--4"


def test_a_row_that_begins_with_a_bracket_is_no_option_of_the_row_above(tmp_path):
    items = [ItemRow(item="q", values={"right": 100.0}, set=name, model="m") for name in ("[2em]", "*")]
    latex = as_latex(printed(join(read_results(written(tmp_path / "a", items)))))
    assert "\n{}[2em] & m" in latex and "\n{}* & m" in latex


@pytest.mark.slow
@pytest.mark.parametrize(
    ("latex", "encoding", "names"),
    [("pdflatex", r"\usepackage[T1]{fontenc}", NASTY), ("xelatex", "", [*NASTY, "病例 β ☃"])],
)
def test_latex_sets_whatever_names_say(tmp_path, latex, encoding, names):
    """Where there is LaTeX: tables of every kind compile, and none is wider than a column."""
    if shutil.which(latex) is None:
        pytest.skip(f"no {latex} here")
    items = [
        ItemRow(
            item=str(n), values={f"share {name}": 100.0 * (n < 3), "number": n - 3.5}, set=name, model=name, method=name
        )
        for name in names
        for n in range(7)
    ]
    results = read_results(written(tmp_path / "a", items, measures=["number"]))
    joined = join(results)
    twice = [
        each for one in items for each in (one, ItemRow(item=one.item, values=one.values, set=one.set, model="other"))
    ]
    compared = compare_results(read_results(written(tmp_path / "b", twice, measures=["number"])))
    tables = [table for columns in TableColumns for table in printed(joined, columns)]
    text = as_latex([*tables, differences(compared)]).replace(r"\begin{table}", "\\clearpage\n\\begin{table}")
    (tmp_path / "x.tex").write_text(
        f"\\documentclass[twocolumn]{{article}}{encoding}\\usepackage{{booktabs,graphicx}}"
        f"\\begin{{document}}\n{text}\n\\end{{document}}\n",
        "utf-8",
    )
    done = subprocess.run(
        [latex, "-interaction=nonstopmode", "-halt-on-error", "x.tex"],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull \\hbox" not in done.stdout


def test_runs_that_have_no_measure_in_common_stand_in_tables_of_their_own(tmp_path):
    """A table of dashes tells nobody anything."""
    first = [ItemRow(item=str(n), values={"right": 100.0, "late": 1.0 + n}, set="a", model="m") for n in range(7)]
    second = [ItemRow(item=str(n), values={"late": 1.0 + n}, set="b", model="m") for n in range(7)]
    third = [ItemRow(item=str(n), values={"grade": 1.0 + n}, set="c", model="m") for n in range(7)]
    failed = [ItemRow(item="1", values={}, set="c", model="broken")]
    joined = join(
        read_results(written(tmp_path / "a", first, second, third, failed, measures=["right", "late", "grade"]))
    )
    tables = printed(joined)
    assert [[row[: one.left] for row in one.rows] for one in tables] == [
        [("a", "m"), ("b", "m")],
        [("c", "m"), ("c", "broken")],
    ]
    assert [one.columns[one.left : -2] for one in tables] == [("right", "late"), ("grade",)]
    assert not tables[0].notes and tables[1].notes
    shown = page(read_results(tmp_path / "a"), joined, None)
    assert '<th>set</th><th>model</th><th class="n">grade</th>' in shown


def test_a_page_of_unlike_runs_names_them_all_and_has_no_empty_columns(tmp_path):
    def record(kind, title, *measures):
        return RunRecord(kind=kind, title=title, measures=[ItemMeasure(name=name) for name in measures])

    exams = [
        ItemRow(item=str(n), set=name, model="m", values={"right": 100.0 * (n % 2)})
        for n in range(8)
        for name in ("medqa", "exam")
    ]
    many = [f"M{n}" for n in range(14)]
    visits = [
        ItemRow(item=str(n), set="shipped", model="rules", values=dict.fromkeys(many, float(n))) for n in range(8)
    ]
    days = [
        ItemRow(item=str(n), set="hospital", model="rules", values={"minutes": float(n), "died, %": 0.0})
        for n in range(8)
    ]
    for name in ("st", "h", "aie"):
        (tmp_path / name).mkdir()
    write_record(tmp_path / "st", record("study run", "Two sets", "right"), exams)
    write_record(tmp_path / "h", record("run", "", "minutes", "died, %"), days)
    write_record(tmp_path / "aie", record("eval aie", "", *many), visits)
    results = read_results(tmp_path / "st", tmp_path / "h", tmp_path / "aie")
    shown = page(results, join(results), None)
    assert "<title>Two sets; a run of the hospital; eval aie</title>" in shown
    assert ">–<" not in shown.partition("<h2>Figures")[0], "a column for a measure that this kind of run does not have"
    assert [one for one in ("right", "minutes", *many) if f"<h3>{one}</h3>" in shown] == ["right"]
    assert "hospital: minutes, with" in shown and "shipped: M0, with" in shown, "a set whose figures others crowd out"
    assert "○ published" not in shown
