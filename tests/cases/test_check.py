"""A case file is checked from end to end, whatever stands in it."""

import json
from pathlib import Path

import msgspec
import pytest

from polyclinic.cases.check import CaseProblem, check_cases
from polyclinic.errors import BadInput

DATA = Path(__file__).parent / "data"


def record(id: str = "1", complaint: str = "a sore toe", **parts: object) -> dict:
    presentation = {"complaint": complaint}
    findings = [{"examination": "uric acid", "value": "high"}]
    case = {"id": id, "record": {"presentation": presentation, "findings": findings}}
    return case | {"truth": {"diagnoses": [{"name": "Gout"}]}} | parts


def check(tmp_path, *lines: dict | str):
    path = tmp_path / "cases.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return check_cases(path)


def test_a_good_file(tmp_path):
    result = check(tmp_path, record(), record("2"))
    assert (result.layout, result.n, result.unreadable, result.problems) == ("polyclinic", 2, 0, ())
    assert (result.languages, result.settings, result.findings) == ({"en": 2}, {"ward": 2}, 2)
    assert json.loads(msgspec.json.encode(result))["problems"] == []


def test_the_check_goes_on_after_bad_lines(tmp_path):
    bad = record("3")
    bad["record"]["presentation"]["age"] = "old"
    result = check(tmp_path, "{broken", record("1"), bad, "[1]", record("1"), record("5", complaint=""))
    assert (result.n, result.unreadable, result.errors) == (2, 4, 5)
    assert [(p.line, p.id, p.field) for p in result.problems] == [
        (1, "", ""),
        (3, "3", "$.record.presentation.age"),
        (4, "", ""),
        (5, "1", "$.id"),
        (6, "5", "$.record.presentation.complaint"),
    ]
    assert "in line 2 already" in result.problems[3].problem


def test_where_the_truth_shows(tmp_path):
    case = record("1", complaint="my gout")
    case["record"]["history"] = {"past": "He has gout.", "family": "An uncle with gout", "symptoms": ["gouty"]}
    case["record"]["findings"][0]["value"] = "as in gout"
    problems = check(tmp_path, case).problems
    assert [(p.level, p.field) for p in problems] == [
        ("error", "$.record.presentation.complaint"),
        ("warning", "$.record.history.past"),
        ("warning", "$.record.history.family"),
        ("warning", "$.record.findings[0]"),
    ]


def test_questions_and_what_is_missing(tmp_path):
    question = {"id": "1", "stem": "?", "options": {"A": "a", "B": "b"}}
    lines = [
        record("1", question=question),
        record("2", question=question, truth={"diagnoses": [], "answers": ["C"]}),
        record(
            "3", question=question | {"options": {"A": "a"}}, truth={"diagnoses": [{"name": "Gout"}], "answers": ["A"]}
        ),
        record("4", truth={"diagnoses": [{"name": "Gout"}], "answers": ["A"]}),
        record("5", record={"presentation": {"complaint": "x"}}),
        record("6", record={"presentation": {"complaint": "x"}}, setting="online"),
    ]
    result = check(tmp_path, *lines)
    assert result.with_question == 3
    assert [(p.level, p.id, p.field) for p in result.problems] == [
        ("error", "1", "$.truth.answers"),
        ("warning", "2", "$.truth.diagnoses"),
        ("error", "2", "$.truth.answers"),
        ("error", "3", "$.question.options"),
        ("error", "4", "$.truth.answers"),
        ("warning", "5", "$.record.findings"),
    ]


def test_options_that_are_the_same(tmp_path):
    truth = {"diagnoses": [{"name": "Gout"}], "answers": ["A"]}

    def asked(id, options, **more):
        return record(id, question={"id": id, "stem": "?", "options": options, **more}, truth=truth)

    result = check(
        tmp_path,
        asked("1", {"A": "Gout", "B": "Polyp", "C": " GO UT"}),
        asked("2", {"A": "Gout", "B": "Polyp", "C": "polyp"}),
        asked("3", {"A": "痛风", "B": "息肉", "C": "息 肉"}, several=True),
        asked("4", {"A": "below 5 (< 5)", "B": "below 5 (> 5)"}),
    )
    assert [(p.level, p.line, p.field) for p in result.problems] == [
        (level, line, "$.question.options") for line, level in enumerate(("error", "warning", "error"), start=1)
    ]
    assert result.problems[0].problem.startswith("two options are the same, A and C")


def test_the_reading_itself_breaks(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(record()))
    (tmp_path / "b.json").write_text(f"[\n{json.dumps(record('2'))}, {{")
    result = check_cases(tmp_path)
    assert result.n == 1
    (problem,) = result.problems
    assert problem.line == 2
    assert problem.problem.endswith("; the check ends here")


@pytest.mark.parametrize(("content", "part"), [("", "empty"), ('{"a":1}', "not recognised"), ("x", "begins with 'x'")])
def test_what_cannot_be_checked_at_all(tmp_path, content, part):
    path = tmp_path / "cases.jsonl"
    path.write_text(content)
    with pytest.raises(BadInput, match=part):
        check_cases(path)
    with pytest.raises(BadInput, match="no layout is called 'x'"):
        check_cases(path, "x")


def test_other_layouts():
    problems = check_cases(DATA / "agentclinic.jsonl", "agentclinic").problems
    assert problems == (
        CaseProblem(
            level="warning",
            line=1,
            id="1",
            field="$.record.findings[6]",
            problem="'Neck X-ray' names a diagnosis, and whoever orders it is told: 'viral croup'",
        ),
    )
    assert [p.field for p in check_cases(DATA / "ai_hospital.json").problems] == ["$.record.history.past"]


def test_published_tests_that_name_the_diagnosis(shared_data):
    """14 cases name it word for word; 3 more with a typographic apostrophe, without or as its abbreviation."""
    result = check_cases(shared_data / "cases" / "agentclinic" / "agentclinic_medqa.jsonl")
    assert result.errors == 0
    assert len({p.id for p in result.problems if p.field.startswith("$.record.findings")}) == 17


def test_impossible_ages_keys_twice_and_empty_names_are_errors(tmp_path):
    def line(age="30", extra="", name="Gout", examination="Foot"):
        return (
            f'{{"id":"{age}{len(extra)}{name}{examination}"{extra},"record":{{"presentation":{{"complaint":"x","age":{age}}},'
            f'"findings":[{{"examination":"{examination}","value":"y"}}]}},"truth":{{"diagnoses":[{{"name":"{name}"}}]}}}}'
        )

    wrong = [
        line("-5"),
        line("1e308"),
        line(extra=',"setting":"ward","setting":"online"'),
        line(name=" "),
        line(examination=""),
    ]
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join([*wrong, line()]))
    problems = {p.line: p.problem for p in check_cases(path).problems if p.level == "error"}
    said = [
        "nobody is -5 years old",
        "nobody is 1e+308 years old",
        "'setting' stands twice",
        "without a name",
        "without an ex",
    ]
    assert sorted(problems) == [1, 2, 3, 4, 5]
    assert [part for number, part in enumerate(said, 1) if part not in problems[number]] == []
