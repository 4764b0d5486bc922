"""`polyclinic knowledge compare`, as its user meets it."""

import json

import pytest


@pytest.fixture
def pairs(tmp_path):
    def write(*lines):
        path = tmp_path / "pairs.jsonl"
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
        return str(path)

    return write


def test_a_list_of_relations(run, pairs):
    path = pairs({"a": "Acute exacerbation of asthma", "b": "哮喘"}, {"a": "甲型流感", "b": "Influenza B"})
    done = run("knowledge", "compare", path, "--json")
    assert json.loads(done.stdout) == [
        {"a": "Acute exacerbation of asthma", "b": "哮喘", "relation": "narrower"},
        {"a": "甲型流感", "b": "Influenza B", "relation": "different"},
    ]
    assert not done.stderr


def test_labels_are_held_beside(run, pairs):
    path = pairs(
        {"a": "gout", "b": "痛风", "relation": "same"},
        {"a": "gout", "b": "acne", "relation": "narrower"},
    )
    done = run("knowledge", "compare", path)
    assert "as people say: 50.0 % of 2" in done.stdout
    assert "2 pairs: 1 same, 0 narrower, 0 broader, 1 different" in done.stdout
    rows = json.loads(run("knowledge", "compare", path, "--json").stdout)
    assert [(row["label"], row["agrees"]) for row in rows] == [("same", True), ("narrower", False)]


def test_a_model_says_it_in_place_of_the_rules(run, pairs, serving):
    path = pairs({"a": "gout", "b": "痛风", "relation": "same"})
    with serving() as endpoint:
        done = run("knowledge", "compare", path, "--json", "--judge", "direct/m", "--base-url", endpoint.url)
    (row,) = json.loads(done.stdout)  # the endpoint follows the form: the relation is one of the four
    assert row["relation"] in ("same", "narrower", "broader", "different")


@pytest.mark.parametrize(
    ("line", "said"), [({"a": " ", "b": "gout"}, "line 1, $.a: the name is ' '"), ([1], "line 1: not a pair of names")]
)
def test_bad_input_is_one_line(run, pairs, line, said):
    done = run("knowledge", "compare", pairs(line), code=2)
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_a_judge_is_a_model(run, pairs):
    done = run("knowledge", "compare", pairs({"a": "gout", "b": "acne"}), "--judge", "rules", code=2)
    assert "--judge 'rules' is not a model" in done.stderr


def test_a_key_that_stands_twice_is_refused(run, tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"a": "gout", "b": "acne", "a": "asthma"}\n')
    done = run("knowledge", "compare", path, code=2)
    assert "line 1: 'a' stands twice in a pair of names" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_long_names_are_short_in_the_table(run, pairs):
    path = pairs({"a": "gout " * 60, "b": "gout"})
    assert max(map(len, run("knowledge", "compare", path).stdout.splitlines())) <= 120
    assert "…" in run("knowledge", "compare", path).stdout
    assert json.loads(run("knowledge", "compare", path, "--json").stdout)[0]["a"] == "gout " * 60
