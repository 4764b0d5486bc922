"""`polyclinic eval tor` and `study tor`: what they print, write and refuse."""

import json

import pytest

from polyclinic.cases.loaders import read_cases

KEYS = {"precision", "recall", "f1", "unsupported", "relevance", "completeness", "calls", "round_trips", "n", "failed"}


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


def test_tables_and_files(run, tmp_path):
    done = run(
        "eval", "tor", "--cases", "inpatients-zh", "--limit", "3", "--doctor", "rules", "--out", "o", cwd=tmp_path
    )
    assert "tree_of_reasoning" in done.stdout
    written = sorted(path.name for path in (tmp_path / "o").iterdir())
    assert written == ["summary.json", "tree_of_reasoning.jsonl", "tree_of_reasoning.meetings.jsonl"]


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


def test_the_ablation_prints_both_tables(run):
    done = run("study", "tor", "--cases", "inpatients", "--limit", "3", "--doctor", "rules")
    for name in ("Table 2", "Table 3", "w/o evidence tree", "outpatient alone", "data withheld"):
        assert name in done.stdout
    document = json.loads(
        run("study", "tor", "--cases", "inpatients", "--limit", "3", "--doctor", "rules", "--json").stdout
    )
    assert all(set(row) == KEYS for rows in document["tables"].values() for row in rows.values())
    assert set(document["withheld"]) == {"laboratory", "radiology", "pathology"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name who thinks"),
        (("--doctor", "rules", "--model", "direct/x"), "name who thinks"),
        (("--doctor", "local"), "--doctor 'local'"),
        (("--doctor", "rules", "--method", "zero_shot"), "needs a model"),
        (("--doctor", "rules", "--method", "nonesuch"), "no method"),
        (("--doctor", "rules", "--set", "tree_of_reasoning.without=outpatient"), "cannot be removed"),
        (("--doctor", "rules", "--judge", "rules"), "no model"),
    ],
)
def test_wrong_options_are_one_line(complaint, words, told):
    assert told in complaint("eval", "tor", "--cases", "inpatients", "--limit", "1", *words)


def test_wrong_files_are_one_line(complaint, tmp_path):
    first = next(read_cases("inpatients"))
    record = {"Age": "Y70", "Sex": "male", "Chief-Complaints": "Hoarse", "Options": "A. Gout, B. Polyp"}
    for more, told in (
        ({"Label": "C", "Laboratory-Examination": {"CRP": "3"}}, "'C' is none of A, B"),
        ({"Label": "A"}, "no examination is recorded"),
        ({"Label": "A", "Options": "A. Gout, B. Gout", "Laboratory-Examination": {"CRP": "3"}}, "two options"),
    ):
        (tmp_path / "in.jsonl").write_text(json.dumps({**record, "Diagnosis": "Gout", **more}) + "\n")
        assert told in complaint("eval", "tor", "--cases", "in.jsonl", "--doctor", "rules", cwd=tmp_path)
    assert first.id == "1"
    assert "options" in complaint("eval", "tor", "--cases", "shipped", "--doctor", "rules")
