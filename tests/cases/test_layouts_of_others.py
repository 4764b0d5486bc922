"""The layouts of other people's case files: a line of each, invented."""

import contextlib
import copy
import csv
import json
from pathlib import Path

import pytest
from tests.cases.test_writers import BUNDLE
from tests.tables import each_row

from polyclinic.cases.loaders import UsableCases, ddxplus, load_element, read_cases, read_usable
from polyclinic.cases.loaders.reader import Element
from polyclinic.errors import BadInput

EVIDENCES = {
    "E_1": {"question_en": "Do you have a fever when you cough?", "is_antecedent": False},
    "E_2": {"question_en": "Do you feel pain somewhere?", "value_meaning": {"V_1": {"en": "chest"}}},
    "E_3": {"question_en": "How intense is the pain?", "possible-values": [0, 5, 10]},
    "E_4": {"question_en": "Have you ever had asthma?", "is_antecedent": True},
    "E_5": {"question_en": "Is your skin pale?"},
}
PATIENT = {
    "AGE": "18",
    "SEX": "F",
    "PATHOLOGY": "Pneumonia",
    "EVIDENCES": "['E_1', 'E_2_@_V_1', 'E_3_@_5', 'E_4', 'E_5']",
    "INITIAL_EVIDENCE": "E_1",
    "DIFFERENTIAL_DIAGNOSIS": "[['Bronchitis', 0.6], ['Pneumonia', 0.4]]",
}
MEDIQ = {
    "id": 7,
    "question": "What does he have?",
    "options": {"A": "Gout", "B": "Cellulitis"},
    "answer_idx": "A",
    "context": ["A 51-year-old man has a red toe.", "He drank beer."],
    "facts": ["His toe is red.", "He drank beer."],
}
CRAFT = {
    "case_id": "12",
    "case_vignette": "A 24-year-old woman has an itchy rash. It began in winter.",
    "answer": "Psoriasis",
    "choices": "Psoriasis, Tinea corporis, Lichen planus (oral, genital)",
    "category": "Dermatology",
}
IMAGE = {
    "image_url": "https://example.org/ring.jpg",
    "question": "What is the most likely diagnosis?",
    "patient_info": "A 32-year-old man has a ring-shaped rash. He hiked last month.",
    "physical_exams": "An expanding red ring.",
    "answers": [{"text": "Tinea", "correct": False}, {"text": "Lyme disease", "correct": True}],
    "type": "Diagnosis",
}
ROW = {
    "pid": "p9",
    "cc": "Cough",
    "age": "44",
    "dx": "1. Pneumonia 2. Gout",
    "hb": "9.1 g/dL",
    "url": "a.png",
    "o": "x",
}
MAP = """
id = "pid"
complaint = "cc"
diagnoses = "dx"
age = "age"
image = "url"
[history]
present = "cc+o"
symptoms = "o"
[findings]
"blood count, hemoglobin" = "hb"
"""


def one(folder, name: str, *records, **keywords):
    path = folder / name
    if name.endswith(".csv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, records[0])
            writer.writeheader()
            writer.writerows(records)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return next(read_cases(path, **keywords))


def test_mediq(tmp_path):
    case = one(tmp_path, "mediq.jsonl", MEDIQ)
    assert (case.id, case.presentation.complaint) == ("7", "A 51-year-old man has a red toe.")
    assert (case.presentation.age, case.presentation.sex, case.setting) == (51, "male", "online")
    assert case.record.history.symptoms == ("His toe is red.", "He drank beer.")
    assert case.record.vignette == "A 51-year-old man has a red toe. He drank beer."
    assert (case.truth.diagnoses[0].name, case.truth.answers) == ("Gout", ("A",))
    assert case.question.stem == "What does he have?"
    without = one(tmp_path, "mediq.jsonl", {**MEDIQ, "facts": None})
    assert (without.record.history.symptoms, without.record.history.present) == ((), case.record.vignette)


def test_craft_md(tmp_path):
    case = one(tmp_path, "craft.csv", CRAFT)
    assert (case.id, case.department, case.presentation.sex) == ("12", "Dermatology", "female")
    assert case.presentation.complaint == "A 24-year-old woman has an itchy rash."
    assert case.record.history.present == CRAFT["case_vignette"]
    assert list(case.question.options.values()) == ["Psoriasis", "Tinea corporis", "Lichen planus (oral, genital)"]
    assert (case.truth.diagnoses[0].name, case.truth.answers) == ("Psoriasis", ("A",))
    for choices in (["Tinea", "Psoriasis"], "['Tinea', 'Psoriasis']", "A. Tinea, B. Psoriasis", "Tinea; Psoriasis"):
        assert one(tmp_path, "craft.jsonl", {**CRAFT, "choices": choices}).truth.answers == ("B",), choices
    assert one(tmp_path, "craft.jsonl", {**CRAFT, "choices": ""}).question is None


def test_ddxplus(tmp_path):
    (tmp_path / "release_evidences.json").write_text(json.dumps(EVIDENCES))
    (tmp_path / "release_conditions.json").write_text(json.dumps({"Pneumonia": {"icd10-id": "j17, j18"}}))
    case = one(tmp_path, "patients.csv", PATIENT)
    assert (case.presentation.age, case.presentation.sex) == (18, "female")
    assert case.presentation.complaint == "I have a fever when I cough"
    told = ("I feel pain in the chest", "I would put how intense the pain is at 5 of 10", "My skin is pale")
    assert case.record.history.symptoms == told
    assert case.record.history.past == "I have had asthma"
    assert (case.truth.diagnoses[0].icd10, case.truth.differential) == ("J17", ("Bronchitis",))
    assert case.truth.probabilities == (("Bronchitis", 0.6), ("Pneumonia", 0.4))
    (tmp_path / "alone").mkdir()
    assert one(tmp_path / "alone", "patients.csv", PATIENT).record.history.symptoms[0] == "E_2: V_1"


def test_ddxplus_tables_that_are_nested_too_deeply_are_named(tmp_path):
    table = tmp_path / "release_evidences.json"
    table.write_text('{"E_1": {"question_en": %s}}' % ("[" * 5000 + "]" * 5000))
    with pytest.raises(BadInput, match=r"release_evidences\.json, which has the names of the codes, cannot be read"):
        ddxplus.load(PATIENT, 1, tmp_path)


def test_pictures_stay_attachments(tmp_path):
    case = one(tmp_path, "agentclinic_nejm.jsonl", IMAGE)
    assert (case.id, case.presentation.age, case.truth.answers) == ("1", 32, ("B",))
    assert case.truth.diagnoses[0].name == "Lyme disease"
    assert [finding.text() for finding in case.record.findings] == ["physical examination: An expanding red ring."]
    assert [one.url for one in case.attachments] == ["https://example.org/ring.jpg"]
    named = one(tmp_path, "named.jsonl", {**IMAGE, "physical_exams": {"Skin": {"Back": "red"}, "Lungs": "clear"}})
    assert [f.text() for f in named.record.findings] == ["Skin, Back: red", "physical examination, Lungs: clear"]


def test_a_field_map_reads_any_table(tmp_path):
    (tmp_path / "map.toml").write_text(MAP)
    (tmp_path / "map.yaml").write_text("complaint: a.b\ndiagnoses: dx\noptions: one+two\nanswer: right\n")
    case = one(tmp_path, "rows.csv", ROW, layout=str(tmp_path / "map.toml"))
    assert (case.id, case.presentation.age, case.record.history.present) == ("p9", 44, "Cough x")
    assert [diagnosis.name for diagnosis in case.truth.diagnoses] == ["Pneumonia", "Gout"]
    assert [finding.text() for finding in case.record.findings] == ["blood count, hemoglobin: 9.1 g/dL"]
    assert (case.record.history.symptoms, case.attachments[0].url) == (("x",), "a.png")
    record = {"a": {"b": "Cough"}, "dx": ["Gout"], "one": "Gout", "two": "Pneumonia", "right": "B"}
    nested = one(tmp_path, "nested.jsonl", record, layout=str(tmp_path / "map.yaml"))
    assert (nested.presentation.complaint, nested.truth.answers) == ("Cough", ("B",))


@each_row(
    ("text", "told"),
    [
        ('complaint = "cc"', r"`diagnoses`; a field map has complaint, "),
        ('complaint = "cc"\ndiagnoses = "dx"\nwhat = "x"', r"`what`"),
        ('complaint = "cc"\ndiagnosis = "dx"', r"`diagnosis` \(did you mean diagnoses\?\); a field map has"),
        ('complaint = "cc"\ndiagnoses = "dx"\n[history]\npresentt = "x"', r"'presentt' \(did you mean present\?\)"),
        ('complaint = "cc"\ndiagnoses = "dx"\n[history]\nhpi = "x"', r"no 'hpi'; it has symptoms, present"),
        ('complaint = "cc', r"not TOML"),
        ('complaint = "none"\ndiagnoses = "dx"', r"line 2, \$\.none: .*needs its complaint; .*'pid', 'cc'"),
    ],
)
def test_what_is_wrong_with_a_field_map_is_told(tmp_path, text, told):
    (tmp_path / "map.toml").write_text(text)
    with pytest.raises(BadInput, match=told):
        one(tmp_path, "rows.csv", ROW, layout=str(tmp_path / "map.toml"))


@each_row(
    ("name", "record", "told"),
    [
        ("a.jsonl", {**MEDIQ, "answer_idx": "E"}, r"\$\.answer_idx: .*one of A, B; 'E' came"),
        ("a.jsonl", {**MEDIQ, "context": [], "facts": []}, r"\$\.context: .*vignette"),
        (
            "a.csv",
            {**CRAFT, "answer": "Gout"},
            r"line 2, \$\.answer: the right option is needed, one of A, B, C; 'Gout' came",
        ),
        ("a.csv", {**PATIENT, "EVIDENCES": "none"}, r"\$\.EVIDENCES: .*evidences, a list"),
        (
            "a.jsonl",
            {**IMAGE, "answers": [{"text": "a"}, {"text": "b"}]},
            r"\$\.answers\.correct: the right option is needed",
        ),
        ("a.jsonl", {"resourceType": "Patient"}, r"\$\.resourceType: .*Bundle .*this is Patient"),
        ("a.jsonl", {"resourceType": "Bundle"}, r"\$\.entry: .*one Patient; there are 0"),
    ],
)
def test_what_is_missing_in_a_record_is_told(tmp_path, name, record, told):
    with pytest.raises(BadInput, match=told):
        one(tmp_path, name, record)


def test_rows_that_are_none_are_left_out(tmp_path):
    path = tmp_path / "craft.csv"
    path.write_text('case_id,case_vignette,answer\n1,"A man\ncoughs.",Gout\n\n2,short\n3,A woman coughs.,Gout\n')
    cases, share = read_usable(path)
    assert [case.id for case in cases] == ["1", "3"]
    assert (share.records, share.used) == (3, 2)
    assert str(share.left_out[0]) == "craft.csv, line 5: 2 cells came; the first row names 3 columns"
    path.write_text("a,a\n1,2\n")
    with pytest.raises(BadInput, match="column 'a' stands twice"):
        list(read_cases(path))


def test_a_cell_that_is_mapped_and_not_understood_is_named_and_counted(tmp_path):
    (tmp_path / "map.toml").write_text('complaint = "cc"\ndiagnoses = "dx"\nage = "age"\nsex = "sex"\n')
    rows = ["age,sex,cc,dx", "六十,女,胸痛,心肌梗死", "elderly,f,cough,Gout", "unknown,,cough,Gout", "44,2,cough,Gout"]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n", "utf-8")
    cases, share = read_usable(tmp_path / "rows.csv", layout=str(tmp_path / "map.toml"))
    assert [(case.presentation.age, case.presentation.sex) for case in cases] == [(60, "female"), (None, None)]
    assert (share.records, share.used) == (4, 2)
    age, sex = map(str, share.left_out)
    assert (
        age.startswith("rows.csv, line 3, $.age: ")
        and "the age is 'elderly', which is not understood; write years" in age
    )
    assert (
        sex.startswith("rows.csv, line 5, $.sex: ") and "the sex is '2', which is not understood; write female" in sex
    )
    with pytest.raises(BadInput, match=r"line 3, .*elderly"):
        read_usable(tmp_path / "rows.csv", layout=str(tmp_path / "map.toml"), strict=True)


OSCE = {"Patient_Actor": {"Demographics": "60-year-old man"}, "Correct_Diagnosis": "Aortic dissection"}


@pytest.mark.parametrize("broken", [b'{"id": "\xe9"}', b'{"id": "' + b"x" * (17 << 20) + b'"}'], ids=["latin", "long"])
def test_a_line_that_nobody_can_read_is_left_out_as_any_other(tmp_path, broken):
    good = json.dumps(MEDIQ).encode()
    (tmp_path / "cases.jsonl").write_bytes(b"\n".join([broken, good, broken, good.replace(b"7", b"8")]))
    cases, share = read_usable(tmp_path / "cases.jsonl")
    assert (len(cases), share.records) == (2, 4)
    assert [one.place.rpartition(" ")[2] for one in share.left_out] == ["1", "3"]
    with pytest.raises(BadInput, match=r"line 1: (not UTF-8|the record is larger)"):
        read_usable(tmp_path / "cases.jsonl", strict=True)


def test_one_bad_line_is_named_and_left_out(tmp_path):
    presents = "Assess and diagnose the patient presenting with chest pain and a cold leg."
    tells = "Evaluate the patient with aortic dissection."
    path = tmp_path / "osce.jsonl"
    objectives = (presents, "Evaluate sudden back pain.", tells)
    records = [{"OSCE_Examination": {**OSCE, "Objective_for_Doctor": text}} for text in objectives]
    path.write_text("\n".join([json.dumps(records[0]), "{broken", *map(json.dumps, records[1:])]))
    cases, share = read_usable(path)
    assert [case.presentation.complaint for case in cases] == ["Chest pain and a cold leg", "Sudden back pain"]
    assert (share.records, share.used, share.percent) == (4, 2, 50)
    assert [one.place for one in share.left_out] == ["osce.jsonl, line 2", "osce.jsonl, line 4"]
    assert "needs a complaint" in share.left_out[1].problem
    with pytest.raises(BadInput, match="line 2: not JSON"):
        read_usable(path, strict=True)
    path.write_text("{broken\n{broken\n")
    with pytest.raises(BadInput, match="line 1"):
        read_usable(path)
    path.write_text(json.dumps(records[0]) + "\n")
    with pytest.raises(BadInput, match="line 1: case '1': too old"):
        read_usable(path, needs=lambda case: "too old")


def test_a_folder_is_read_file_by_file(tmp_path):
    (tmp_path / "notes.jsonl").write_text("no case")
    with pytest.raises(BadInput, match="this is a directory; name a file"):
        list(read_cases(tmp_path))
    for name in ("b", "a"):
        one(tmp_path, f"{name}.json", {**IMAGE, "patient_info": f"A man {name}."})
    found = [(case.id, case.presentation.complaint) for case in read_cases(tmp_path)]
    assert found == [("1", "A man a."), ("2", "A man b.")]


def test_a_folder_of_its_name_does_not_hide_what_is_shipped(tmp_path, monkeypatch):
    (tmp_path / "shipped").mkdir()
    monkeypatch.chdir(tmp_path)
    assert next(read_cases("shipped")).id


JUNK = (10**400, {"a": [1]}, ["a", 3, None])


def test_no_junk_breaks_a_layout():
    """Whatever stands in any place of a record: it is a case, or one line says why not."""
    records = {"mediq": MEDIQ, "craft-md": CRAFT, "agentclinic-images": IMAGE, "ddxplus": PATIENT, "fhir": BUNDLE}
    for layout, record in records.items():
        for path in paths(record):
            for junk in JUNK:
                text = json.dumps(put(record, path, junk))
                element = Element(path=Path("cases.json"), number=1, order=1, text=text)
                with contextlib.suppress(BadInput):
                    load_element(element, layout, json.loads(text))


def paths(value, path=()):
    if path:
        yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from paths(value[key], (*path, key))


def put(record, path, junk):
    record = at = copy.deepcopy(record)
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = junk
    return record


def test_what_begins_with_no_case_for_long_is_not_read_on(tmp_path):
    """So the memory for what is named as left out is bounded, also where what comes has no end."""
    (tmp_path / "cases.jsonl").write_text('{"id": "a"}\n' * 10_100)
    usable = UsableCases(tmp_path / "cases.jsonl")
    with pytest.raises(BadInput, match="line 1: the layout is not recognised"):
        list(usable)
    assert len(usable.share.left_out) == 10_000
