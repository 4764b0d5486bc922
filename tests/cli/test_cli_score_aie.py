"""`polyclinic score aie` as a user meets it."""

import csv
import json
import re

import pytest

from polyclinic.cases.shipped import shipped_path
from polyclinic.cli import main

pytestmark = pytest.mark.usefixtures("words")


@pytest.fixture
def run(capsys):
    def score(*arguments, code=0):
        with pytest.raises(SystemExit) as done:
            main(["score", "aie", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert done.value.code == code, (out, err)
        if code:
            assert out == ""
            assert err.startswith("polyclinic: ")
            assert err.count("\n") == 1
            return err
        return out

    return score


@pytest.fixture
def write(tmp_path):
    def write_records(name, *records):
        path = tmp_path / name
        path.write_text(json.dumps(records), encoding="utf-8")
        return path

    return write_records


def test_one_file_as_json(run, write, record):
    document = json.loads(run(write("a.json", record(1), record(2, diagnosis="A"), record(3, history=[])), "--json"))
    assert sorted(document) == ["cases", "failed", "file", "left_out", "metrics", "n", "second", "unreadable"]
    assert document["metrics"]["DIAGNOSIS"]["mean"] == 50
    assert set(document["metrics"]["DIAGNOSIS"]) == {"mean", "stderr", "low", "high", "n"}
    assert [case["id"] for case in document["cases"]] == [1, 2]
    assert document["cases"][0]["AVG_TURN"] == 7
    assert document["left_out"] == [{"id": 3, "problem": "the dialogue is empty: 'history' holds no turns"}]


def test_one_file_for_people(run, write, record):
    raw = record()["raw_data"] | {"options": {}}
    shown = run(write("a.json", record(1), record(2, raw_data=raw), record(3, history=[]), record(4, diagnosis=None)))
    assert "COVERAGE" in shown
    assert "3 dialogues; 1 left out, 0 of them failed; 1 diagnoses unreadable" in shown
    assert "1 left out: the dialogue is empty: 'history' holds no turns: 3" in shown
    assert "1 no DIAGNOSIS: the case has no options to choose a diagnosis from: 2" in shown


def test_two_files_are_compared(run, write, record):
    one = write("one.json", *(record(i) for i in range(6)))
    two = write("two.json", *(record(i, diagnosis="A") for i in range(6)))
    shown = run(one, two)
    assert "side by side" in shown
    assert "On the cases of both" in shown and re.search(r"one\W+two\W+DIAGNOSIS", shown)
    assert "+100.00" in shown
    document = json.loads(run(one, two, "--json"))
    assert [len(file["cases"]) for file in document["files"]] == [6, 6]
    assert document["comparisons"][0]["difference"]["p"] == pytest.approx(2 / 64)


def test_files_without_a_common_case(run, write, record):
    assert "nothing can be compared" in run(write("one.json", record(1)), write("two.json", record(2)))


def test_a_trace(run, tmp_path):
    path = tmp_path / "trace.jsonl"
    with pytest.raises(SystemExit):
        main(["consult", "shipped#p1-00001", "--out", str(path)])
    assert "1 no COVERAGE, INQUIRY_LOGIC: all that is known" in run(path)
    document = json.loads(run(path, "--cases", "shipped", "--json"))
    assert document["metrics"]["COVERAGE"]["mean"] > 0
    assert document["cases"][0]["id"] == "p1-00001"
    # What cannot be used is named and left out: a case that is none, an event in a visit's middle, a last line cut off.
    # (A line that is missing on purpose is no damage to be found by the sum in the first line.)
    first, *visit = path.read_text("utf-8").splitlines()
    unsealed = {name: value for name, value in json.loads(first).items() if name != "sum"}
    visit = [json.dumps(unsealed), *visit]
    lines = [*visit[:3], *visit[4:], *visit, *visit[:-3], visit[-3][:9]]
    path.write_text("\n".join(lines), "utf-8")
    (tmp_path / "cases.jsonl").write_text(shipped_path("shipped").read_text("utf-8").split("\n")[0] + "\n{}\n", "utf-8")
    document = json.loads(run(path, "--cases", tmp_path / "cases.jsonl", "--json"))
    assert [case["id"] for case in document["cases"]] == ["p1-00001"]
    assert list(dict.fromkeys(one["id"] for one in document["left_out"])) == [
        "p1-00001",
        "line 4",
        f"line {len(lines)}",
    ]
    assert document["metrics"]["COVERAGE"]["n"] == 1


def test_wrong_input_ends_in_one_line(run, write, record, tmp_path):
    assert "none of the 2 dialogues can be scored; the first, 1: the dialogue is empty" in run(
        write("a.json", record(1, history=[]), record(2, history=[])), code=2
    )
    assert "neither a trace nor" in run(write("b.json", {"x": 1}), code=2)
    assert "no such file" in run(tmp_path / "c.json", code=2)
    path = write("d.json", record(1))
    assert "named twice" in run(path, path, code=2)


@pytest.mark.slow
def test_the_published_tables(run, shared_data):
    folder = shared_data / "cases" / "aie" / "recorded"
    files = [folder / "HospitalCases" / f"{doctor}.json" for doctor in ("chatgpt", "internlm-20b")]
    if not files[0].is_file():
        pytest.skip("the recorded dialogues are not there")
    with (folder / "HospitalCases.csv").open(encoding="utf-8") as file:
        rows = {row["MODEL"]: row for row in csv.DictReader(file)}
    shown = run(*files)
    for doctor in ("chatgpt", "internlm-20b"):
        for name, cell in rows[doctor].items():
            if name != "MODEL":
                assert cell.replace(r"$\pm$", " ± ") in shown, (doctor, name)


def test_metrics_of_ones_own_stand_beside_the_ten(run, write, record, tmp_path):
    own = tmp_path / "own.py"
    own.write_text("async def turns(dialogue):\n    assert dialogue.id != 2, 'two'\n    return len(dialogue.turns)\n")
    one, two = write("one.json", record(1), record(2)), write("two.json", record(1))
    document = json.loads(run(one, "--metric", f"{own}:turns", "--json"))
    assert len(document["metrics"]) == 11
    assert document["metrics"][f"{own}:turns"]["mean"] == document["cases"][0]["AVG_TURN"]
    assert document["left_out"] == [{"id": 2, "problem": "AssertionError: two", "metrics": [f"{own}:turns"]}]
    both = json.loads(run(one, two, "--metric", "AVG_TURN", f"{own}:turns", "--json"))
    assert [one["metric"] for one in both["comparisons"]] == ["AVG_TURN", f"{own}:turns"]
    shown = run(one, two, "--metric", "DISTINCT")
    assert "DISTINCT" in shown and "COVERAGE" not in shown
    assert "no metric 'EMPATHY'" in run(one, "--metric", "EMPATHY", code=2)
    assert "holds no 'other'" in run(one, "--metric", f"{own}:other", code=2)
