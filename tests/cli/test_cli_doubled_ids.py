"""Cases that bear one id, and ids with the letter that stands before them: nothing of them is lost."""

import json

import pytest

from polyclinic.cases.loaders import find_case, read_cases

OPTIONS = {"A": "Gout", "B": "Lupus"}


@pytest.fixture
def cases(tmp_path):
    def line(id, said, options=OPTIONS):
        put = {"question": "What is it?", "options": options, "answer_idx": "A", "answer": "Gout", "facts": []}
        return json.dumps({"id": id, "context": [said, "It began last night."], **put})

    lines = [line(1, "A man has a red toe."), line(1, "A woman has a rash."), line(1, "A man coughs.")]
    lines += [line("6#x", "A woman has a headache."), line(4, "A man is ill.", {**OPTIONS, "C": " gout"})]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_cases_of_one_id_are_read_under_ids_of_their_own(cases, run):
    assert [case.id for case in read_cases(cases)] == ["1", "1-2", "1-3", "6#x", "4"]
    assert find_case(cases, "1-2").presentation.complaint == "A woman has a rash."
    said = run("cases", "show", cases).stderr
    assert "2 cases of mine.jsonl with an id of another: 1 is 1-2, 1 is 1-3" in said
    assert (
        "the id '1' stands in line 1 already; this case is read as '1-3'" in run("cases", "check", cases, code=2).stdout
    )
    assert "headache" in run("cases", "show", f"{cases}#6#x").stdout
    assert "rash" in run("cases", "show", f"{cases}#1-2").stdout


@pytest.mark.slow
def test_what_is_evaluated_is_what_the_results_hold(cases, run, complaint, tmp_path):
    done = run("eval", "aie", "--cases", cases, "--doctor", "rules", "--out", tmp_path / "out", "--json")
    assert "(id 4): case '4': two options are the same, A and C: 'gout'; each once" in done.stderr
    assert "1 case of 5 left out of mine.jsonl" in done.stderr
    (row,) = json.loads(run("results", "show", tmp_path / "out", "--json").stdout)["table"]
    assert row["items"] == 4
    assert "two options are the same" in complaint(
        "eval", "aie", "--cases", cases, "--doctor", "rules", "--set", "cases.strict=true", "--out", tmp_path / "strict"
    )
