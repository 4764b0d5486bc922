"""`polyclinic eval tor`: what it prints, writes and refuses."""

import json
from itertools import islice

import pytest
from tests.tables import each_row

from polyclinic.cases.loaders import read_cases
from polyclinic.models import retry

KEYS = {"precision", "recall", "f1", "unsupported", "relevance", "completeness", "calls", "round_trips", "n", "failed"}
KEYS |= {"unreadable", "unusable", "f1_of_a_record"}


@pytest.mark.slow
def test_the_doctors_by_rules_need_no_model(run):
    done = json.loads(run("eval", "tor", "--cases", "inpatients", "--limit", "4", "--doctor", "rules", "--json").stdout)
    assert done["model"] == "rules"
    (method,) = done["methods"].values()
    assert set(method) == KEYS
    assert method["n"] == 4 and method["failed"] == 0 and method["unsupported"] == 0
    assert method["relevance"] is None and method["completeness"] is None
    assert 0 < method["f1"] <= 100
    again = run("eval", "tor", "--cases", "inpatients", "--limit", "4", "--doctor", "rules", "--json").stdout
    assert json.loads(again) == done


@pytest.mark.slow
def test_tables_and_files(run, tmp_path):
    done = run(
        "eval", "tor", "--cases", "inpatients-zh", "--limit", "3", "--doctor", "rules", "--out", "o", cwd=tmp_path
    )
    assert "tree_of_reasoning" in done.stdout
    written = sorted(path.name for path in (tmp_path / "o").iterdir())
    own = ["tree_of_reasoning.jsonl", "tree_of_reasoning.meetings.jsonl"]
    assert written == ["items.jsonl", "results.json", "summary.json", *own]


def fill(schema, defs):
    if "$ref" in schema:
        return fill(defs[schema["$ref"].rsplit("/", 1)[-1]], defs)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: fill(part, defs) for name, part in schema["properties"].items()}
        case "array":
            return [fill(schema["items"], defs) for _ in range(schema.get("minItems", 0))]
        case "number":
            return 4.0
        case "boolean":
            return True
    return "text"


def answers(body):
    form = body.get("response_format")
    if form is None:
        return "Answer: A"
    schema = form["json_schema"]["schema"]
    return fill(schema, schema.get("$defs", {}))


def test_methods_on_a_model_and_a_judge(run, serving, tmp_path):
    with serving(answers) as endpoint:
        done = run(
            *("eval", "tor", "--cases", "inpatients", "--limit", "2", "--model", "direct/one", "direct/two"),
            *("--method", "tree_of_reasoning", "chain_of_thought", "--judge", "direct/judge"),
            *("--base-url", endpoint.url, "--json"),
            cwd=tmp_path,
        )
    models = json.loads(done.stdout)["models"]
    assert [one["model"] for one in models] == ["direct/one", "direct/two"]
    for one in models:
        assert list(one["methods"]) == ["tree_of_reasoning", "chain_of_thought"]
        assert all(method["relevance"] == 4.0 for method in one["methods"].values())
        assert one["methods"]["chain_of_thought"]["unsupported"] is None


@pytest.mark.slow
def test_people_stand_beside(run, tmp_path):
    """What three raters say of an outcome, called as its file is, has columns of its own."""
    first = next(read_cases("inpatients"))
    command = ("eval", "tor", "--cases", "inpatients", "--limit", "1", "--doctor", "rules")
    run(*command, "--out", "o", cwd=tmp_path)
    sheet, filled = tmp_path / "sheet.jsonl", tmp_path / "filled.jsonl"
    outcomes = tmp_path / "o" / "tree_of_reasoning.jsonl"
    run("verdicts", "export", "explanations", outcomes, "--cases", "inpatients", "--to", sheet)
    (row,) = map(json.loads, sheet.read_text("utf-8").splitlines())
    assert row["diagnoses"] == "; ".join(one.name for one in first.truth.diagnoses)
    assert first.presentation.complaint in row["record"] and row["explanation"]
    marks = {"anna": 4, "bea": 3.5, "cleo": 4.5}
    said = [{**row, "who": who, "relevance": mark, "completeness": 2} for who, mark in marks.items()]
    filled.write_text("".join(json.dumps(one) + "\n" for one in said), "utf-8")
    document = json.loads(run(*command, "--verdicts", filled, "--out", tmp_path / "b", "--json").stdout)
    (item,) = map(json.loads, (tmp_path / "b" / "items.jsonl").read_text("utf-8").splitlines())
    assert (item["values"]["relevance (people)"], item["values"]["completeness (people)"]) == (4, 2)
    assert document["people"]["tree_of_reasoning"]["means"]["relevance"]["mean"] == 4
    assert document["people_agreement"]["explanations"][0]["people"] == list(marks)
    filled.write_text(json.dumps(said[0] | {"method": "other"}), "utf-8")
    assert "no method 'other' to speak of" in run(*command, "--verdicts", filled, code=2).stderr
    filled.write_text(json.dumps({"form": "records", "case": first.id, "who": "a", "diagnosis": "yes"}), "utf-8")
    assert "of the form 'records'; here it is explanations" in run(*command, "--verdicts", filled, code=2).stderr


@pytest.mark.slow
def test_what_withheld_data_cost(run):
    withheld = "tree_of_reasoning without=laboratory|radiology|pathology removed=withheld"
    command = ("eval", "tor", "--cases", "inpatients", "--limit", "3", "--doctor", "rules")
    command += ("--method", withheld, "tree_of_reasoning", "tree_of_reasoning tree=false")
    done = run(*command)
    for name in ("tree=False", "data withheld"):
        assert name in done.stdout
    document = json.loads(run(*command, "--json").stdout)
    assert all(set(row) == KEYS for row in document["methods"].values())
    assert set(document["withheld"]["rules"]) == {"laboratory", "radiology", "pathology"}
    assert all("p_holm" in one for one in document["withheld"]["rules"].values())


@pytest.mark.slow
@each_row(
    ("words", "told"),
    [
        ((), "name who thinks"),
        (("--doctor", "rules", "--model", "direct/x"), "both named"),
        (("--doctor", "local"), "--doctor 'local'"),
        (("--doctor", "rules", "--method", "zero_shot"), "needs a model"),
        (("--doctor", "rules", "--method", "nonesuch"), "no method"),
        (("--doctor", "rules", "--set", "tree_of_reasoning.without=outpatient"), "cannot be removed"),
        (("--doctor", "rules", "--judge", "rules"), "not a model"),
        (("--doctor", "rules", "--corpus", "nonesuch"), "--corpus nonesuch has no effect on --doctor rules"),
        (
            ("--model", "direct/x", "--corpus", "nonesuch", "--set", "retrieval=false"),
            "no effect with retrieval=false",
        ),
        (
            ("--doctor", "rules", "--set", "retrieval.passages=3"),
            "retrieval.passages has no effect without a corpus; it needs --corpus",
        ),
        (
            ("--doctor", "rules", "--set", "retrieval.passages=5"),
            "retrieval.passages has no effect without a corpus; it needs --corpus",
        ),
        (
            ("--doctor", "rules", "--set", "retrieval.by=dense"),
            "retrieval.by has no effect without a corpus; it needs --corpus",
        ),
        (("--doctor", "rules", "--set", "tor.answer-tokens=5"), "tor.answer-tokens has no effect on --doctor rules"),
        (("--doctor", "rules", "--temperature", "0.5"), "--temperature has no effect on --doctor rules"),
        (("--doctor", "rules", "--set", "evidence=some"), "allowed: all, supported"),
        (("--doctor", "rules", "--set", "without=radiologist"), "allowed: outpatient, laboratory"),
        (
            ("--doctor", "rules", "--set", "removed=withheld"),
            "removed has no effect as the others are; it needs without",
        ),
        (("--doctor", "rules", "--set", "form=printed"), "form has no effect here; it needs --model"),
        (("--doctor", "rules", "--set", "retrieval=false"), "retrieval has no effect here; it needs --corpus"),
    ],
)
def test_wrong_options_are_one_line(complaint, words, told):
    assert told in complaint("eval", "tor", "--cases", "inpatients", "--limit", "1", *words)


@pytest.mark.slow
def test_wrong_files_are_one_line(complaint, tmp_path):
    first = next(read_cases("inpatients"))
    record = {"Age": "Y70", "Sex": "male", "Chief-Complaints": "Hoarse", "Options": "A. Gout, B. Polyp"}
    fine = {**record, "Diagnosis": "Gout", "Label": "A", "Laboratory-Examination": {"CRP": "3"}}
    for more, told in (
        (
            {"Label": "B", "Laboratory-Examination": {"CRP": "3"}},
            "Diagnosis has 'Gout' (option A), and Label does not: B",
        ),
        ({"Label": "A, B", "Laboratory-Examination": {"CRP": "3"}}, "Label A, B has 'Polyp' (option B), and Diagnosis"),
        ({"Label": "A", "Options": "A. Gout, B. Polyp, A. Cyst"}, "the letter A stands before two options"),
        ({"Label": "A", "Options": ["A. Gout", "B. Polyp", "B. Cyst"]}, "the letter B stands before two options"),
        ({"Label": "C", "Laboratory-Examination": {"CRP": "3"}}, "'C' is none of the options A, B"),
        ({"Label": "A"}, "no examination is recorded"),
        ({"Label": "A", "Options": "A. Gout, B. Gout", "Laboratory-Examination": {"CRP": "3"}}, "two options"),
        ({"Label": "A", "Options": "A. Gout, B. Polyp, C. GOUT"}, "two options are the same, A and C: 'GOUT'"),
        ({"Label": "A", "Options": ["A. Gout", "B.  Pol yp", "C. Polyp "]}, "two options are the same, B and C"),
    ):
        lines = [json.dumps(fine), "", json.dumps({**record, "Diagnosis": "Gout", **more})]
        (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
        said = complaint(
            "eval", "tor", "--cases", "in.jsonl", "--doctor", "rules", "--set", "cases.strict=true", cwd=tmp_path
        )
        assert told in said and "in.jsonl, line 3" in said, said
    (tmp_path / "in.jsonl").write_text(json.dumps(fine)[:-1] + ', "Options": {"A": "Gout", "A": "Polyp"}}\n')
    assert "stands twice" in complaint(
        "eval", "tor", "--cases", "in.jsonl", "--doctor", "rules", "--set", "cases.strict=true", cwd=tmp_path
    )
    assert first.id == "1"
    assert "options" in complaint("eval", "tor", "--cases", "shipped", "--doctor", "rules")


@pytest.mark.slow
def test_a_folder_with_results_is_not_written_over(run, complaint, tmp_path):
    words = ("eval", "tor", "--cases", "inpatients", "--limit", "1", "--doctor", "rules", "--out", "o")
    run(*words, cwd=tmp_path)
    before = {path: path.read_bytes() for path in (tmp_path / "o").iterdir()}
    said = complaint(*words, "--seed", "2", cwd=tmp_path)
    assert "o: was run with --seed 0, and is now with --seed 2; name another --out" in said
    assert {path: path.read_bytes() for path in (tmp_path / "o").iterdir()} == before


def test_what_a_run_was_of_stands_with_it(run, tmp_path):
    words = ("--cases", "inpatients", "--limit", "2", "--doctor", "rules", "--seed", "3", "--set", "rounds=1", "--json")
    document = json.loads(run("eval", "tor", *words, "--out", "o", cwd=tmp_path).stdout)
    about = document["run"]
    told = {key: about[key] for key in ("cases", "limit", "records", "models", "seed", "corpus", "judge")}
    assert told == {
        "cases": "inpatients", "limit": 2, "records": 2, "models": ["rules"], "seed": 3, "corpus": None, "judge": None,
    }  # fmt: skip
    (method,) = about["methods"].values()
    assert method == {"method": "tree_of_reasoning", "settings": {"rounds": 1}}
    assert json.loads((tmp_path / "o" / "summary.json").read_text())["run"] == about


def test_a_judge_that_fails_is_said_by_name(run, serving, tmp_path):
    def said(body):
        return "no marks" if body["model"] == "judge" else answers(body)

    with serving(said) as endpoint:
        words = ("eval", "tor", "--cases", "inpatients", "--limit", "2", "--model", "direct/one")
        words += ("--method", "zero_shot", "--judge", "direct/judge", "--base-url", endpoint.url)
        done = run(*words, cwd=tmp_path, code=1)
        assert "0 of 2" in done.stdout
        assert "the judge gave marks for 0 of 2 explanations; no marks: 2 UnreadableReply" in done.stdout
        assert "2 of 2 explanations have no marks" in done.stderr
        document = json.loads(run(*words, "--json", "--set", "run.max-failures=100", cwd=tmp_path).stdout)
    (method,) = document["methods"].values()
    assert (method["judged"], method["unjudged"], method["relevance"]) == (0, {"UnreadableReply": 2}, None)


def test_answers_that_cannot_be_read_are_counted(run, serving, tmp_path):
    with serving(lambda body: "I would rather not say.") as endpoint:
        words = ("eval", "tor", "--cases", "inpatients", "--limit", "2", "--model", "direct/one")
        words += ("--method", "zero_shot", "--base-url", endpoint.url)
        done = run(*words, cwd=tmp_path)
        (method,) = json.loads(run(*words, "--json", cwd=tmp_path).stdout)["methods"].values()
    assert "unread." in done.stdout
    assert (method["n"], method["unreadable"], method["failed"], method["recall"]) == (2, 2, 0, 0)


def test_a_corpus_reaches_every_method_and_the_files(run, serving, tmp_path):
    for name in ("tantivy", "rjieba"):
        pytest.importorskip(name, reason=f"{name} of the extra 'retrieval' is not installed")
    cases = list(islice(read_cases("inpatients"), 2))
    told = [f"{one.presentation.complaint} {one.record.history.present}" for one in cases]
    passages = [{"id": str(n), "title": f"Book {n}", "text": text} for n, text in enumerate(told)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(one) + "\n" for one in passages))
    env = {"XDG_DATA_HOME": str(tmp_path / "home")}
    asked = []

    def heard(body):
        asked.append(json.dumps(body["messages"]))
        return answers(body)

    run("corpus", "add", "books", "p.jsonl", cwd=tmp_path, env=env)
    with serving(heard) as endpoint:
        words = ("eval", "tor", "--cases", "inpatients", "--limit", "2", "--model", "direct/one", "--corpus", "books")
        words += (
            "--method",
            "zero_shot",
            "mindmap",
            "tree_of_reasoning",
            "--set",
            "retrieval.passages=1",
            "--base-url",
            endpoint.url,
        )
        document = json.loads(run(*words, "--json", "--out", "o", cwd=tmp_path, env=env).stdout)
    assert (document["run"]["corpus"], document["run"]["passages"]) == ("books", 1)
    for name in ("zero_shot", "mindmap"):
        lines = [json.loads(line) for line in (tmp_path / "o" / f"{name}.jsonl").read_text().splitlines()]
        assert [[one["title"] for one in line["references"]] for line in lines] == [["Book 0"], ["Book 1"]], name
    assert sum("Book 0" in one for one in asked) >= 3


@pytest.mark.slow
def test_the_same_seed_writes_the_same_bytes_however_sets_are_ordered(process, tmp_path):
    words = ("eval", "tor", "--cases", "inpatients", "--limit", "3", "--doctor", "rules", "--out")
    for order in ("1", "2"):
        process(*words, order, cwd=tmp_path, env={"PYTHONHASHSEED": order})
    for name in ("tree_of_reasoning.jsonl", "tree_of_reasoning.meetings.jsonl", "summary.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name
    cases = {case.id: case for case in islice(read_cases("inpatients"), 3)}
    for line in (tmp_path / "1" / "tree_of_reasoning.jsonl").read_text().splitlines():
        play = json.loads(line)
        for keys in (play["key"], play["outcome"]["answers"]):
            assert keys == [key for key in cases[play["id"]].question.options if key in keys]


def test_an_endpoint_that_is_not_there_is_named_with_how_often(run, tmp_path, monkeypatch):
    monkeypatch.setattr(retry, "MOST_PAUSE", 0.01)
    words = ("eval", "tor", "--cases", "inpatients", "--limit", "2", "--model", "direct/x", "--method", "zero_shot")
    done = run(*words, "--base-url", "http://127.0.0.1:9/v1", cwd=tmp_path, code=1)
    assert "2 of 2 records failed: 2 Unreachable (" in done.stderr
    assert "http://127.0.0.1:9/v1" in done.stderr


@pytest.mark.slow
def test_replies_that_a_method_went_on_without_are_counted(run, serving, tmp_path):
    def said(body):
        told = json.dumps(body["messages"])
        return "no tree" if "response_format" in body and "laboratory physician" in told else answers(body)

    with serving(said) as endpoint:
        words = ("eval", "tor", "--cases", "inpatients", "--limit", "2", "--model", "direct/one")
        words += ("--set", "cross_verification=false", "--base-url", endpoint.url)
        done = run(*words, cwd=tmp_path)
        document = json.loads(run(*words, "--json", "--out", "o", cwd=tmp_path).stdout)
    (method,) = document["methods"].values()
    (name,) = [path for path in (tmp_path / "o").glob("tree*.jsonl") if "meetings" not in path.name]
    plays = [json.loads(line) for line in name.read_text().splitlines()]
    unusable = [call for play in plays for call in play["outcome"]["trace"] if call.get("error")]
    assert unusable and method["unusable"] == len(unusable) / 2
    assert "laboratory reads" in {call["purpose"] for call in unusable} and method["failed"] == 0
    assert "unusable: replies that could not be used, a record" in done.stdout


@pytest.mark.slow
def test_several_methods_are_compared_on_the_records_of_both(run, serving, tmp_path):
    def said(body):
        return "Answer: A" if "step by step" in json.dumps(body["messages"]) else "Answer: B"

    with serving(said) as endpoint:
        words = ("eval", "tor", "--cases", "inpatients", "--limit", "3", "--model", "direct/one")
        words += ("--method", "zero_shot", "chain_of_thought", "self_consistency", "--base-url", endpoint.url)
        done = run(*words, cwd=tmp_path)
        document = json.loads(run(*words, "--json", cwd=tmp_path).stdout)
    assert "F1 a record, on the records of both" in done.stdout and "sign-flip test" in done.stdout
    assert "an interval over 3 records says little" in done.stdout
    named = [(one["method"], one["baseline"]) for one in document["comparisons"]]
    assert named == [
        ("chain_of_thought", "zero_shot"), ("self_consistency", "zero_shot"), ("self_consistency", "chain_of_thought"),
    ]  # fmt: skip
    means = {name: one["f1_of_a_record"] for name, one in document["methods"].items()}
    for one in document["comparisons"]:
        assert one["difference"]["mean"] == pytest.approx(means[one["method"]] - means[one["baseline"]])
        assert one["difference"]["n"] == 3 and one["p_holm"] >= one["difference"]["p"]


def test_rows_are_named_as_one_says_it(run):
    words = ("eval", "tor", "--cases", "inpatients", "--limit", "1", "--doctor", "rules", "--json")
    told = run(*words, "--set", "without=laboratory", "--set", "removed=withheld").stdout
    assert list(json.loads(told)["methods"]) == ["tree_of_reasoning (without laboratory (withheld))"]


def test_a_label_in_small_letters_is_read(run, tmp_path):
    record = {"Age": "Y70", "Sex": "male", "Chief-Complaints": "Hoarse", "Options": "A. Gout, B. Polyp"}
    record |= {"Diagnosis": "Gout", "Label": "a", "Laboratory-Examination": {"CRP": "3"}}
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    (case,) = read_cases(tmp_path / "in.jsonl")
    assert case.truth.answers == ("A",)


@pytest.mark.slow
def test_the_papers_protocol(run, complaint, serving):
    command = ("--cases", "inpatients", "--limit", "1", "--protocol", "paper")
    with serving(answers) as endpoint:
        model = ("--model", "direct/a", "--base-url", endpoint.url)
        done = run("eval", "tor", *command, *model, "--json")
        (label,) = json.loads(done.stdout)["methods"]
        assert label == "tree_of_reasoning (rounds=2, turns=2, form=printed, update_from=first, targets=random)"
        assert "paper: records (952 inpatients, 37 departments; here 1); nothing looked up (PubMed" in done.stderr
        without = ("--method", "tree_of_reasoning tree=false", "tree_of_reasoning cross_verification=false")
        table = json.loads(run("eval", "tor", *command, *model, *without, "--json").stdout)["methods"]
        assert list(table) == [
            "tree_of_reasoning (tree=False, rounds=2, turns=2, update_from=first, targets=random)",
            "tree_of_reasoning (cross_verification=False, form=printed)",
        ]
    assert "has a model for the doctors (§4.1.3)" in complaint("eval", "tor", *command, "--doctor", "rules")
    assert "has rounds 2" in complaint("eval", "tor", *command, "--model", "direct/a", "--set", "rounds=3")
