"""Reading recorded reports: what stands where, and every way in which a file can be wrong."""

import json
from collections import Counter

import pytest
from tests.tables import each_row

from polyclinic.errors import BadInput
from polyclinic.metrics.recorded_reports import read_recorded, read_references, split_sections

GRADES = {"A": 4, "B": 3, "C": 2, "D": 1}


def record(id=1, **changes):
    return {
        "doctor_name": "d",
        "patient_id": id,
        "reference_diagnosis": {"patient_id": id, "diagnosis": " 肺炎\n", "basis": "咳嗽", "treatment": None},
        "doctor_diagnosis": {"diagnosis": "#诊断结果#\n1. 肺炎\n\n#诊断依据#\n发热\n\n#治疗方案#\n抗感染"},
        "diagnosis_choice": "A",
        "basis_choice": "B or C",
        "treatment_choice": None,
        **changes,
    }


@pytest.fixture
def write(tmp_path):
    def write_lines(*records):
        path = tmp_path / "reports.jsonl"
        lines = (r if isinstance(r, str) else json.dumps(r, ensure_ascii=False) for r in records)
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write_lines


def test_a_report(write):
    (report,), _ = read_recorded(write(record(7)))
    assert (report.id, report.doctor, report.line) == ("7", "d", 1)
    assert (report.given.diagnosis, report.given.rationale, report.given.treatment) == ("1. 肺炎", "发热", "抗感染")
    assert (report.reference.diagnosis, report.reference.rationale, report.reference.treatment) == ("肺炎", "咳嗽", "")
    assert report.letters == {"diagnosis": "A", "rationale": "B or C", "treatment": None}


def test_letters_may_be_missing(write):
    bare = {k: v for k, v in record("x").items() if not k.endswith("_choice") and k != "doctor_name"}
    (report,) = read_recorded(write(bare)).reports
    assert set(report.letters.values()) == {None}
    assert report.doctor == ""


@each_row(
    ("text", "expected"),
    [
        ("肺炎，建议抗感染", ("肺炎，建议抗感染", "", "")),
        ("", ("", "", "")),
        ("您好。\n#诊断结果#肺炎#诊断依据#发热#治疗方案#休息", ("肺炎", "发热", "休息")),
        ("## 诊断结果\n肺炎\n## 诊断依据\n发热", ("肺炎", "发热", "")),
        ("**诊断结果：** 肺炎\n**治疗方案：** 休息", ("肺炎", "", "休息")),
        ("1. 诊断结果：肺炎\n2. 诊断依据：发热\n3. 治疗方案：休息", ("肺炎", "发热", "休息")),
        ("肺炎\n#诊断依据#\n发热", ("肺炎", "发热", "")),
        ("#诊断结果#肺炎#治疗方案#休息#诊断结果#贫血", ("肺炎\n贫血", "", "休息")),
        ("肺炎，诊断依据充分，治疗方案如下", ("肺炎，诊断依据充分，治疗方案如下", "", "")),
    ],
)
def test_sections(text, expected):
    sections = split_sections(text)
    assert (sections.diagnosis, sections.rationale, sections.treatment) == expected


def test_a_doctor_who_hands_in_nothing_is_read(write):
    (report,), _ = read_recorded(write(record(doctor_diagnosis={"diagnosis": None})))
    assert report.given.diagnosis == ""


def test_sections_handed_in_apart(write):
    apart = {"diagnosis": "肺炎", "basis": "发热", "treatment": "休息"}
    (report,), _ = read_recorded(write(record(doctor_diagnosis=apart)))
    assert (report.given.diagnosis, report.given.rationale, report.given.treatment) == ("肺炎", "发热", "休息")


@each_row(
    ("second", "problem", "field"),
    [
        ("{", "not JSON", ""),
        ('{"x": ' + "[" * 100_000, "nested too deeply", ""),
        ("[]", "layout ai-hospital: Expected `object`", ""),
        ({"patient_id": 2}, "no report: neither 'doctor_diagnosis', 'dialog_history' nor 'diagnosis'", ""),
        ({"patient_id": 2, "diagnosis": "肺炎"}, "name a file with --reference", ""),
        (record(True), "Expected `int | str`, got `bool`", "$.patient_id"),
        (record(2, diagnosis_choice=3), "Expected `str | null`, got `int`", "$.diagnosis_choice"),
        (record(2, reference_diagnosis={"diagnosis": 1}), "Expected `str`", "$.reference_diagnosis.diagnosis"),
        (record(1), "case 1 stands in line 1 already", "$.patient_id"),
        (record("1"), "case 1 stands in line 1 already", "$.patient_id"),
    ],
)
def test_a_wrong_line_is_named(write, second, problem, field):
    path = write(record(1), second)
    with pytest.raises(BadInput) as caught:
        read_recorded(path)
    assert problem in caught.value.problem
    assert (caught.value.path, caught.value.line, caught.value.field) == (path, 2, field)


REPORT = "#症状#\n(1) 咳嗽\n\n#辅助检查#\n(1) 胸片：浸润影\n\n#诊断结果#\n肺炎\n\n#诊断依据#\n发热\n\n#治疗方案#\n休息"


def test_dialogues_and_collaborations_take_their_references_from_another_file(write, tmp_path):
    turns = [("Doctor", "您好？"), ("Patient", "咳嗽"), ("Doctor", REPORT), ("Patient", "<结束>")]
    dialogue = {
        "patient_id": "1",
        "doctor": "Agent.Doctor.GPT",
        "dialog_history": [{"turn": n, "role": who, "content": text} for n, (who, text) in enumerate(turns)],
    }
    team = {
        "patient_id": 2,
        "final_turn": 3,
        "diagnosis": "## 诊断结果 ##\n肺炎\n#诊断依据#\n发热\n#治疗方案#\n休息",
        "symptom_and_examination": "#症状#\n(1) 咳嗽\n\n#辅助检查#\n(1) 胸片：浸润影",
        "doctor_engine_names": ["gpt-3.5", "gpt-4"],
        "host_engine_name": "gpt-4",
    }
    apart = {**team, "patient_id": 3, "diagnosis": {"诊断结果": "肺炎", "诊断依据": "发热", "治疗方案": "休息"}}
    one_step = {"patient_id": 4, "doctor": "Engine.GPT", "diagnosis": REPORT}
    references = read_references(write(*(record(id) for id in (1, 2, 3, 4))))
    path = tmp_path / "recorded.jsonl"
    for line in (dialogue, team, apart, one_step):
        path.write_text(json.dumps(line), "utf-8")
        ((report,), without) = read_recorded(path, references)
        given = report.given
        assert (given.diagnosis, given.rationale, given.treatment) == ("肺炎", "发热", "休息"), line
        assert (given.symptoms, given.examinations) == ("(1) 咳嗽", "(1) 胸片：浸润影"), line
        assert (report.reference.diagnosis, without) == ("肺炎", []), line
        assert report.doctor == {1: "Agent.Doctor.GPT", 4: "Engine.GPT"}.get(int(report.id), "gpt-3.5 + gpt-4")
    path.write_text(json.dumps(dialogue) + "\n" + json.dumps({**dialogue, "patient_id": 9}), "utf-8")
    assert read_recorded(path, references).without_reference == ["9"]
    path.write_text(json.dumps({**dialogue, "patient_id": 9}), "utf-8")
    with pytest.raises(BadInput, match="no case of it, such as 9, has a reference; the references are of 1, 2, 3, 4"):
        read_recorded(path, references)


def test_letters_on_symptoms_are_read_where_the_judge_was_asked(write):
    (report,), _ = read_recorded(write(record(sympton_choice="B", test_choice=None)))
    assert report.letters == {
        "symptoms": "B",
        "examinations": None,
        "diagnosis": "A",
        "rationale": "B or C",
        "treatment": None,
    }


def test_no_file(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read_recorded(tmp_path / "none.jsonl")


def test_the_published_reports(shared_data):
    reports = read_recorded(shared_data / "cases/ai_hospital/evaluation_iiyi_gpt4_onestep.jsonl").reports
    assert len(reports) == 506
    assert {report.doctor for report in reports} == {"GPT-4"}
    assert all(r.given.diagnosis and r.given.rationale and r.given.treatment for r in reports)
    assert not any("#" in text for r in reports for text in (r.given.diagnosis, r.given.rationale))
    assert sum(not r.reference.treatment for r in reports) == 3
    unread = Counter(aspect for r in reports for aspect, letter in r.letters.items() if letter not in GRADES)
    assert unread == {"treatment": 4}
    letters = [[r.letters[a] for r in reports if r.letters[a]] for a in ("diagnosis", "rationale", "treatment")]
    means = [round(sum(map(GRADES.get, given)) / len(given), 3) for given in letters]
    assert means == [2.767, 2.998, 2.608]
