"""Folders of results: what stands in them, how they are joined, compared and exported."""

import csv
import io
import shutil
import time

import pytest
from tests.tables import each_row

from polyclinic.errors import BadInput, UserError, meant
from polyclinic.protocols.study_plan import PublishedValue
from polyclinic.results.export import TableLayout, as_csv, as_latex, as_markdown, write_tables
from polyclinic.results.folder import AskedModel, DataFile, ItemMeasure, ItemRow, RunRecord, read_results
from polyclinic.results.joining import compare_results, flat_rows, item_rows, join
from polyclinic.results.page import page
from polyclinic.results.printed import printed
from polyclinic.results.provenance import address, command_words, without_secrets
from polyclinic.run.output import write_record
from polyclinic.statistics.uncertainty import paired_difference


def rows(model, right, *, method="zero_shot", seed=0, n=10, **more):
    return [
        ItemRow(item=f"q{i}", values={"right": 100.0 * (i < right)}, set="medqa", model=model, method=method, seed=seed,
                calls=2, tokens=50, **more)
        for i in range(n)
    ]  # fmt: skip


def written(folder, *many, measures=("right",)):
    folder.mkdir()
    record = RunRecord(kind="eval exam medqa", measures=[ItemMeasure(name=name) for name in measures])
    write_record(folder, record, [row for rows in many for row in rows])
    return folder


@pytest.mark.slow
def test_any_number_of_folders_is_one_table(tmp_path):
    written(tmp_path / "a", rows("m1", 4), rows("m1", 8, method="medagents"))
    written(tmp_path / "b", rows("m2", 10, seed=1))
    joined = join(read_results(tmp_path))
    assert [(row.model, row.method, row.measures["right"].mean) for row in joined.rows] == [
        ("m1", "zero_shot", 40),
        ("m1", "medagents", 80),
        ("m2", "zero_shot", 100),
    ]
    assert (joined.rows[0].n, joined.rows[0].calls, joined.rows[2].seeds) == (10, 2, (1,))
    # All right of ten is no certainty: Wilson's interval.
    assert joined.rows[2].measures["right"].low == pytest.approx(72.2, abs=0.1)
    assert flat_rows(joined)[0]["right_low"] == pytest.approx(16.8, abs=0.1)
    assert joined.to_frame("pandas").shape[0] == 3
    with pytest.raises(UserError, match=r"no measure 'rihgt' \(did you mean right\?\)"):
        join(read_results(tmp_path), measures=["rihgt"])
    twice = join(read_results(tmp_path / "a", tmp_path / "a"))
    assert not twice.notes and twice.rows[0].n == 10
    written(tmp_path / "c", rows("m1", 5))
    assert join(read_results(tmp_path / "a", tmp_path / "c")).notes == (
        "10 items stand in several folders; the last was taken",
    )


def test_figures_of_a_set_that_nobody_was_put_to_are_named(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    value = PublishedValue(model="GPT-4", method="", measure="right", set="PubMedQA", value=74.0)
    write_record(
        folder, RunRecord(kind="study run", measures=[ItemMeasure(name="right")], published=[value]), rows("m", 3)
    )
    assert join(read_results(folder)).notes == (
        "the paper's figures of PubMedQA are left out: no run here is of that set",
    )


def test_an_item_counts_in_a_mean_as_much_as_it_says(tmp_path):
    """A mean over turns is the same figure in the run's own table and in every joined one."""
    items = [
        ItemRow(item=str(n), values={"length": value}, weights={"length": n}, model="m")
        for n, value in ((1, 4), (3, 8))
    ]
    written(tmp_path / "a", items, measures=("length",))
    joined = join(read_results(tmp_path / "a"))
    assert (joined.rows[0].measures["length"].mean, joined.rows[0].measures["length"].n) == (7, 2)
    assert [row["length_weight"] for row in item_rows(read_results(tmp_path / "a"))] == [1, 3]


def test_two_are_compared_on_the_items_of_both_and_over_cases(tmp_path):
    written(tmp_path / "a", rows("m1", 2), rows("m2", 9), rows("m3", 2))
    compared = compare_results(read_results(tmp_path / "a"))
    found = {(row.first, row.second): row for row in compared.rows}
    first = found["m2, zero_shot", "m1, zero_shot"]
    assert (first.difference.mean, first.difference.n, first.difference.p) == (70, 10, 2 / 2**7)
    assert first.p_holm == pytest.approx(3 * 2 / 2**7)
    same = found["m3, zero_shot", "m1, zero_shot"]
    assert (same.difference.p, same.difference.detectable) == (1, pytest.approx(52.6, abs=0.1))
    # Three seeds of one question are one case: they make nobody surer.
    written(tmp_path / "b", *(rows(m, n, seed=s) for s in range(3) for m, n in (("m1", 2), ("m2", 9))))
    (again,) = compare_results(read_results(tmp_path / "b")).rows
    assert (again.difference.n, again.difference.p) == (30, 2 / 2**7)
    (row, _) = join(read_results(tmp_path / "b")).rows
    alone = join(read_results(tmp_path / "a")).rows[0].measures["right"]
    assert (row.measures["right"].low, row.measures["right"].high) == pytest.approx((alone.low, alone.high))
    with pytest.raises(UserError, match=r"no baseline 'm11' \(did you mean m1\?\)"):
        compare_results(read_results(tmp_path / "a"), baseline="m11")
    with pytest.raises(UserError, match="nothing to compare"):
        compare_results(read_results(written(tmp_path / "d", rows("m1", 1))))


def test_each_set_is_compared_in_its_own_chief_measure(tmp_path):
    def scored(model, value):
        values = {"DIAGNOSIS": value, "AVG_TURN": 7.0}
        return [ItemRow(item=f"c{i}", values=values, set="shipped", model=model) for i in range(10)]

    # As a study keeps an exam and consultations together.
    both = ("right", "DIAGNOSIS", "AVG_TURN")
    written(tmp_path / "a", rows("m1", 2), rows("m2", 9), scored("m1", 0.0), scored("m2", 100.0), measures=both)
    results = read_results(tmp_path / "a")
    found = {(row.set, row.measure): row.difference for row in compare_results(results).rows}
    assert found.keys() == {("medqa", "right"), ("shipped", "DIAGNOSIS")}
    assert (found["medqa", "right"].mean, found["shipped", "DIAGNOSIS"].mean) == (70, 100)
    assert all(one.n == 10 for one in found.values())
    named = compare_results(results, measures=["AVG_TURN", "right"]).rows
    assert [(row.set, row.measure) for row in named] == [("medqa", "right"), ("shipped", "AVG_TURN")]


def test_what_is_left_open_is_said():
    mine = [100.0 * (i % 2) for i in range(40)]
    theirs = [100.0 * (i % 3 == 0) for i in range(40)]
    found = paired_difference(mine, theirs)
    assert found.p > 0.05 and 25 < found.detectable < 40


@pytest.mark.slow
def test_a_table_goes_to_other_tools(tmp_path):
    results = read_results(written(tmp_path / "a", rows("=m_1|x", 4)))
    table = flat_rows(join(results))
    assert as_csv(table).splitlines()[1].startswith("medqa,'=m_1|x,zero_shot,40.0,")
    for layout in (TableLayout.MARKDOWN, TableLayout.LATEX):
        with pytest.raises(UserError, match="no layout to print plain rows in; use csv"):
            write_tables([], table, layout, None)
    assert "| =m_1\\|x |" in as_markdown(printed(join(results)))
    assert r"=m\_1\textbar{}x & zero\_shot & 40.00 " in as_latex(printed(join(results)))


def test_no_layout_loses_a_column_or_a_row(tmp_path):
    results = read_results(written(tmp_path / "a", rows("m1", 4)), written(tmp_path / "b", rows("m2", 7)))
    table = flat_rows(join(results))
    columns = list(dict.fromkeys(name for row in table for name in row))
    assert len(table) == 2 and len(columns) > 8
    head, *body = csv.reader(io.StringIO(as_csv(table)))
    assert head == columns and [len(row) for row in body] == [len(columns)] * 2
    for row, written_row in zip(table, body, strict=True):
        for name, cell in zip(head, written_row, strict=True):
            if type(value := row.get(name)) in (int, float):
                assert float(cell) == value, name


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(BadInput, match="no such folder"):
        read_results(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="there are no results here"):
        read_results(tmp_path / "empty")


@each_row(
    "words, kept",
    [
        (["--base-url", "https://me:pw@host:8000/v1?api-key=abc#x"], ["--base-url", "https://host:8000/v1"]),
        (["--base-url=http://h/v1?k=abc"], ["--base-url=http://h/v1"]),
        (["--api-key", "abc"], ["--api-key", "(not kept)"]),
        (
            ["--set", "models.api-key-env=MY_KEY", "--token-budget", "5"],
            ["--set", "models.api-key-env=MY_KEY", "--token-budget", "5"],
        ),
    ],
)
def test_no_secret_is_kept_of_a_command(words, kept):
    assert command_words(words) == kept


def test_no_secret_is_kept_of_parameters():
    given = {"extra_body": {"api_key": "abc", "token": "abc", "max_tokens": 5, "at": ["https://u:abc@h/?abc"]}}
    assert "abc" not in str(without_secrets(given))
    assert without_secrets(given)["extra_body"]["max_tokens"] == 5
    assert address("http://[::1]:80/v1?x") == "http://[::1]:80/v1"


def test_twenty_folders_are_joined_at_once(tmp_path):
    for number in range(20):
        many = [rows(f"m{number}", 150, method=f"method{k}", n=300) for k in range(3)]
        written(tmp_path / f"run{number}", *many)
    began = time.process_time()
    assert len(join(read_results(tmp_path)).rows) == 60
    assert time.process_time() - began < 2


@each_row(
    "came, there, near",
    [
        ("zero-shot", ["zero_shot"], "zero_shot"),
        ("votin", ["Voting", "voting"], "voting"),
        ("Influenzza", ["influenza-a", "influenza"], "influenza"),
        ("xyz", ["zero_shot"], ""),
        ("knowledge", ["knowledge"], ""),
    ],
)
def test_which_name_is_meant(came, there, near):
    assert meant(came, there) == (f" (did you mean {near}?)" if near else "")


def test_a_page_has_tables_figures_and_published_numbers(tmp_path, run):
    folder = written(tmp_path / "a", rows("m1", 4), rows("m1", 9, method="medagents"))
    seen = [ItemRow(item="p1", values={"DIAGNOSIS": 100.0, "AVG_LEN": 7.5}, set="aie", model="rules")]
    written(tmp_path / "b", seen, measures=("DIAGNOSIS",))
    published = PublishedValue(model="GPT-4 (published)", method="medagents", measure="right", set="medqa", value=83.7)
    record = RunRecord(kind="study run", title="My <study>", published=[published])
    write_record(folder, record, rows("m1", 4) + rows("m1", 9, method="medagents"))
    done = run("report", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "page.html")
    assert "21 items of 2 runs" in done.stdout
    page = (tmp_path / "page.html").read_text("utf-8")
    for text in ("My &lt;study&gt;", "83.70", "DIAGNOSIS", 'class="published"', "<svg", "detectable"):
        assert text in page, text
    assert "http:" not in page and "https:" not in page and "<script" not in page


def test_a_page_says_what_each_run_was(tmp_path):
    record = RunRecord(
        kind="eval exam medqa",
        command=["eval", "exam", "medqa", "--seed", "4711"],
        configuration={"max_turns": 17, "unset": None},
        versions={"polyclinic": "9.8.7"},
        finished="2026-01-02T03:04:05+00:00",
        seed=4711,
        data=[DataFile(option="questions", file="held.jsonl", sha256="ab" * 32)],
        models=[
            AskedModel(name="direct/m", role="judge", base_url=["http://here/v1"], parameters={"temperature": 0.7})
        ],
        measures=[ItemMeasure(name="right")],
        departures=["no examiner"],
    )
    folder = tmp_path / "a"
    folder.mkdir()
    write_record(folder, record, rows("m1", 4))
    shown = page(read_results(folder), join(read_results(folder)), None)
    for fact in (
        "<dt>command</dt><dd>polyclinic eval exam medqa --seed 4711</dd>",
        "<dt>finished</dt><dd>2026-01-02T03:04:05+00:00</dd>",
        "<dt>seed</dt><dd>4711</dd>",
        "<dt>versions</dt><dd>polyclinic 9.8.7</dd>",
        "<dt>options</dt><dd>max_turns 17</dd>",
        f"<dt>data</dt><dd>held.jsonl (SHA-256 {'ab' * 32})</dd>",
        "<dt>models</dt><dd>direct/m at http://here/v1 (temperature 0.7) as judge</dd>",
        "<dt>other than in the paper</dt><dd>no examiner</dd>",
    ):
        assert fact in shown, fact


def test_what_is_no_unicode_is_named(tmp_path):
    folder = written(tmp_path / "a", rows("m1", 4))
    (folder / "results.json").write_bytes(b'{"command": ["\xff"]}')
    with pytest.raises(BadInput, match=r"results\.json: not JSON"):
        read_results(folder)


def test_what_is_nested_too_deeply_is_named(tmp_path):
    folder = written(tmp_path / "a", rows("m1", 4))
    (folder / "results.json").write_text('{"a":' * 50_000 + "1" + "}" * 50_000)
    with pytest.raises(BadInput, match=r"results\.json: the JSON is nested too deeply"):
        read_results(folder)


def test_what_two_benchmarks_measure_on_a_case_stands_together_whichever_is_repeated(tmp_path):
    def of(name, values, **more):
        items = [ItemRow(item=f"p{n}", values=values, set="s", model="m", **more) for n in range(7)]
        return written(tmp_path / name, items, measures=[*values])

    of("a", {"COVERAGE": 50.5, "DIAGNOSIS": 100.0}, calls=2, tokens=20, cost=1.0)
    of("b", {"grade": 3.5}, calls=3, tokens=30, cost=0.5)
    (row,) = join(read_results(tmp_path)).rows
    assert {name: one.mean for name, one in row.measures.items()} == {"COVERAGE": 50.5, "DIAGNOSIS": 100, "grade": 3.5}
    assert (row.calls, row.tokens, row.cost) == (5, 50, 1.5)
    of("c", {"COVERAGE": 60.5, "DIAGNOSIS": 100.0}, calls=2)
    joined = join(read_results(tmp_path))
    assert {name: one.mean for name, one in joined.rows[0].measures.items()} == {
        "COVERAGE": 60.5, "DIAGNOSIS": 100, "grade": 3.5,
    }  # fmt: skip
    assert joined.notes == ("7 items stand in several folders; the last was taken",)


def test_over_how_many_items_each_evaluation_measured_is_said(tmp_path):
    for kind, measure, n in (("eval aie", "COVERAGE", 12), ("eval mvme", "symptoms", 7)):
        items = [ItemRow(item=f"p{n}", values={measure: 2.0}, set="s", model="m") for n in range(n)]
        (tmp_path / measure).mkdir()
        write_record(tmp_path / measure, RunRecord(kind=kind, measures=[ItemMeasure(name=measure)]), items)
    joined = join(read_results(tmp_path))
    assert (joined.rows[0].n, joined.rows[0].measures["symptoms"].n) == (12, 7)
    assert joined.notes == ("s, m: n is of all together; items: 12 of eval aie, 7 of eval mvme",)
    assert not join(read_results(tmp_path / "symptoms")).notes


def test_measures_of_one_name_and_other_scales_are_not_one(tmp_path):
    def of(name, kind, value, **scale):
        (tmp_path / name).mkdir()
        items = [ItemRow(item=f"p{n}", values={"diagnosis": value}, set="s", model="m") for n in range(7)]
        published = [PublishedValue(set="s", model="theirs", method="", measure="diagnosis", value=value)]
        measures = [ItemMeasure(name="diagnosis", **scale)]
        write_record(tmp_path / name, RunRecord(kind=kind, measures=measures, published=published), items)

    def means(*rows):
        return {name: one.mean for row in rows for name, one in row.measures.items()}

    of("a", "eval mvme", 3.5, percent=False)
    of("b", "evolve", 70.0)
    ours, *theirs = join(read_results(tmp_path)).rows
    assert means(ours) == means(*theirs) == {"diagnosis (mvme)": 3.5, "diagnosis (evolve)": 70}
    of("c", "eval mvme", 30.0)
    (ours, *_) = join(read_results(tmp_path / "a", tmp_path / "c")).rows
    assert set(ours.measures) == {"diagnosis (number)", "diagnosis (percent)"}
    assert set(join(read_results(tmp_path / "b", tmp_path / "c")).measures) == {"diagnosis"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, True, "x"])
def test_what_is_no_number_is_refused_where_it_is_written(tmp_path, value):
    for given in ({"values": {"right": value}}, {"values": {"right": 1.0}, "weights": {"right": value}}):
        with pytest.raises(BadInput, match=r"line 2: item 'q2', (values|weights)\['right'\] is .*finite number"):
            write_record(tmp_path, RunRecord(kind="mine"), [ItemRow(item="q1", values={}), ItemRow(item="q2", **given)])
        assert list(tmp_path.iterdir()) == []


def test_the_same_answers_in_every_seed_find_what_they_find_in_one(tmp_path):
    """None was found; what so many cases could have shown is said of several seeds as of one, and is the same."""
    for seeds in (1, 3):
        many = [rows(model, 7, seed=seed, n=20) for model in ("a", "b") for seed in range(seeds)]
        written(tmp_path / str(seeds), *many)
    once, often = (compare_results(read_results(tmp_path / name)).rows[0].difference for name in ("1", "3"))
    assert once.low < 0 < once.high and once.detectable > 0
    assert (often.low, often.high, often.detectable, often.p) == (once.low, once.high, once.detectable, once.p)


def test_a_mean_that_happens_to_be_all_or_nothing_is_no_share(tmp_path):
    """Of a doctor whose every question is specific each dialogue has 100 %: a mean of four, and no share of them."""
    for share, ends in ((False, (None, None)), (None, (51.01, 100)), (True, (51.01, 100))):
        folder = tmp_path / str(share)
        folder.mkdir()
        record = RunRecord(kind="eval aie", measures=[ItemMeasure(name="right", share=share)])
        write_record(folder, record, [*rows("a", 4, n=4), *rows("b", 2, n=4)])
        runs = read_results(folder)
        found = join(runs).rows[0].measures["right"]
        assert (found.low, found.high) == pytest.approx(ends, abs=0.01)


def set_otherwise(folder, *many, kind="eval aie", data="1", file="cases.jsonl", models=(), **configuration):
    folder.mkdir()
    write_record(
        folder,
        RunRecord(
            kind=kind,
            configuration={"limit": 4, "out": str(folder), "temperature": None, **configuration},
            data=[DataFile(option="cases", file=file, sha256=data * 64)],
            models=list(models),
            measures=[ItemMeasure(name="right")],
        ),
        [row for some in many for row in some],
    )
    return folder


def entrants_of(*folders):
    return [(row.method, row.n, row.measures["right"].mean) for row in join(read_results(*folders)).rows]


def test_runs_that_were_set_otherwise_are_not_one_entrant(tmp_path):
    cold = set_otherwise(tmp_path / "cold", rows("m", 4), temperature=0.0)
    hot = set_otherwise(tmp_path / "hot", rows("m", 8), temperature=1.5, concurrency=4)
    assert entrants_of(cold, hot) == [("zero_shot, temperature=0.0", 10, 40), ("zero_shot, temperature=1.5", 10, 80)]
    assert compare_results(read_results(cold, hot)).rows[0].difference.mean == 40
    unset = set_otherwise(tmp_path / "unset", rows("m", 8, seed=1))
    assert [name for name, *_ in entrants_of(cold, unset)] == [
        "zero_shot, temperature=0.0",
        "zero_shot, temperature=none",
    ]
    event = [{"said": "outage laboratory 4 h", "begin": 1}]
    town = set_otherwise(tmp_path / "town", rows("rules", 4, method=""), kind="run", events=event)
    quiet = set_otherwise(tmp_path / "quiet", rows("rules", 8, method=""), kind="run", events=[])
    assert [name for name, *_ in entrants_of(town, quiet)] == ["events=outage laboratory 4 h", "events=none"]


def test_runs_that_were_set_alike_are_one_entrant(tmp_path):
    """Seeds are pooled, and of a run that was made again the last counts, however it was asked."""
    first = set_otherwise(tmp_path / "first", rows("m", 4), temperature=1.0, concurrency=4, cost_budget=3.0)
    again = set_otherwise(tmp_path / "again", rows("m", 6), temperature=1.0, timeout=5.0)
    seed = set_otherwise(tmp_path / "seed", rows("m", 8, seed=1), temperature=1.0, limit=8, seed=1)
    assert entrants_of(first, again, seed) == [("zero_shot", 20, 70)]
    other = set_otherwise(tmp_path / "other", rows("m", 10), kind="eval tor", temperature=2.0)  # another benchmark
    assert len(entrants_of(first, other)) == 1


def test_an_item_of_another_file_is_another(tmp_path):
    first, changed = (set_otherwise(tmp_path / data, rows("m", 4, seed=int(data)), data=data) for data in "12")
    found = join(read_results(first, changed)).rows
    assert [(row.set, row.method) for row in found] == [(f"medqa (cases {data * 6})", "zero_shot") for data in "12"]
    with pytest.raises(UserError, match="nothing to compare: 2 of one set"):
        compare_results(read_results(first, changed))
    other = set_otherwise(tmp_path / "other", rows("m", 8), rows("n", 2), data="4", file="mine.jsonl")
    assert [row.set for row in join(read_results(first, other)).rows] == ["medqa (cases)", *["medqa (mine)"] * 2]
    (compared,) = compare_results(read_results(first, other)).rows  # the two of the second, and none of the first
    assert (compared.set, compared.first, compared.second) == ("medqa (mine)", "n, zero_shot", "m, zero_shot")
    # Parts of one set in files of their own are of one table.
    rest = [
        ItemRow(item=f"r{n}", set="medqa", model="m", method="zero_shot", values={"right": 100.0}) for n in range(5)
    ]
    assert entrants_of(first, set_otherwise(tmp_path / "rest", rest, data="3")) == [("zero_shot", 15, 60)]


def test_a_study_beside_a_run_is_as_many_runs_as_it_had(tmp_path):
    """What a study was set to stands in its runs; without them nobody knows it, and nothing is pooled."""
    plain = set_otherwise(tmp_path / "plain", rows("m", 4))
    study = set_otherwise(tmp_path / "study", rows("m", 8, seed=1), kind="study run", plan="mine.toml")
    (study / "runs").mkdir()
    set_otherwise(study / "runs" / "a", rows("m", 8, seed=1), temperature=1.5)
    apart = [("zero_shot, temperature=none", 10, 40), ("zero_shot, temperature=1.5", 10, 80)]
    assert entrants_of(plain, study) == apart
    assert entrants_of(study) == [("zero_shot", 10, 80)]
    shutil.rmtree(study / "runs")
    assert entrants_of(plain, study) == [("zero_shot, plan=none", 10, 40), ("zero_shot, plan=mine.toml", 10, 80)]


def test_one_name_at_two_addresses_is_told(tmp_path):
    models = [AskedModel(name="m", role="doctor", base_url=[f"http://{host}/v1"]) for host in ("a", "b")]
    folders = [set_otherwise(tmp_path / one.base_url[0][7], rows("m", 4), models=[one]) for one in models]
    assert "m: runs asked it at http://a/v1; http://b/v1" in " ".join(join(read_results(*folders)).notes)
    assert "runs asked it" not in " ".join(join(read_results(folders[0])).notes)
