"""The case files people have, ours and others', right and wrong."""

import json
import os
import re
import threading
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic import plugins
from polyclinic.cases.case import Case
from polyclinic.cases.loaders import find_case, layouts, read_cases, recognise, write_cases
from polyclinic.cases.loaders.fields import age_in_years, read_keys, read_options, sex_of, split_diagnoses, split_value
from polyclinic.cases.loaders.reader import Element
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Code, Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.language.language import language_of

DATA = Path(__file__).parent / "data"
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
spoken = words.filter(str.strip)
findings = st.builds(
    Finding,
    examination=spoken,
    item=words,
    value=words | st.floats(allow_nan=False, allow_infinity=False),
    unit=words,
    reference=words,
    code=st.none() | st.builds(Code, st.just("loinc"), words),
)
cases = st.builds(
    Case,
    id=spoken,
    record=st.builds(
        Record,
        presentation=st.builds(
            Presentation,
            complaint=spoken,
            language=st.sampled_from(["en", "zh"]),
            age=st.none() | st.floats(0, 120),
            sex=st.sampled_from([None, "female", "male"]),
            about=words,
        ),
        history=st.builds(History, symptoms=st.lists(words, max_size=3).map(tuple), present=words, other=words),
        findings=st.lists(findings, max_size=3).map(tuple),
    ),
    truth=st.builds(
        Truth,
        diagnoses=st.lists(st.builds(Diagnosis, spoken), max_size=3).map(tuple),
        rationale=st.lists(words, max_size=2).map(tuple),
        treatment=st.just(()),
        severity=st.sampled_from([None, "mild", "severe"]),
        answers=st.just(()),
    ),
    setting=st.sampled_from(["ward", "online"]),
    question=st.none() | st.builds(Question, id=words, stem=words, options=st.dictionaries(words, words, max_size=4)),
    source=words,
)


@given(st.lists(cases, min_size=1, max_size=4, unique_by=lambda case: case.id))
def test_what_is_written_is_read_back(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("own") / "cases.jsonl"
    write_cases(path, written)
    assert list(read_cases(path)) == written
    assert list(read_cases(path, layout="polyclinic")) == written


@given(st.lists(cases, min_size=1, max_size=4, unique_by=lambda case: case.id), st.sampled_from([None, 2]))
def test_lines_and_array_hold_the_same(tmp_path_factory, written, indent):
    folder = tmp_path_factory.mktemp("both")
    write_cases(folder / "lines.jsonl", written)
    records = [json.loads(line) for line in (folder / "lines.jsonl").read_text(encoding="utf-8").split("\n") if line]
    (folder / "array.json").write_text(json.dumps(records, indent=indent), encoding="utf-8")
    assert list(read_cases(folder / "array.json")) == written
    (folder / "one.json").write_text(json.dumps(records[0], indent=4), encoding="utf-8")
    assert list(read_cases(folder / "one.json")) == written[:1]


@pytest.mark.parametrize("name", ["agentclinic.jsonl", "tor.jsonl", "ai_hospital.json", "aie.json"])
def test_every_layout_comes_as_lines_and_as_array(tmp_path, name):
    text = (DATA / name).read_text(encoding="utf-8")
    records = json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    (tmp_path / "array").write_text(json.dumps(records), encoding="utf-8")
    (tmp_path / "lines").write_text("\n\n".join(map(json.dumps, records)), encoding="utf-8")
    (tmp_path / "one").write_text("\ufeff" + json.dumps(records[0], indent=1), encoding="utf-8")
    loaded = list(read_cases(DATA / name))
    assert list(read_cases(tmp_path / "array")) == loaded
    assert list(read_cases(tmp_path / "lines")) == loaded
    assert list(read_cases(tmp_path / "one")) == loaded[:1]


def test_strings_and_escapes_divide_nothing(tmp_path):
    records = [
        {"Chief-Complaints": 'a "quoted" [thing], \\', "Diagnosis": "gout\\\\"},
        {"Chief-Complaints": "痛", "Diagnosis": "b"},
    ]
    path = tmp_path / "array.json"
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    assert [case.presentation.complaint for case in read_cases(path)] == ['a "quoted" [thing], \\', "痛"]


def test_agentclinic():
    first, second = read_cases(DATA / "agentclinic.jsonl")
    assert (first.id, first.presentation.age, first.presentation.sex) == ("1", 3, "female")
    assert (second.id, second.presentation.age, second.presentation.sex) == ("2", 0, None)
    assert first.record.history.symptoms == ("Hoarse voice", "Runny nose")
    assert first.record.history.medications == "Honey drops; Paracetamol"
    assert first.record.history.review == "Skin: no rash; Joints: no pain"
    assert [finding.text() for finding in first.record.findings] == [
        "physical examination, Vital signs, temperature: 38.1°C (100.6°F)",
        "physical examination, Vital signs, heart rate: 118 bpm",
        "physical examination, Vital signs, within normal limits: no",
        "physical examination, Respiratory examination, auscultation: Harsh breathing over the larynx, lungs clear.",
        "Complete blood count, White blood cell count: 9 g/dL",
        "Complete blood count, Hemoglobin: 12.0 g/dL",
        "Neck X-ray: Narrowed airway below the glottis, as in viral croup.",
        "Iron studies, Ferritin: 40 ng/mL",
        "Blood tests, CRP: Elevated",
        "Hepatitis B surface antigen: Negative",
    ]
    assert b"Find out" not in repr(first).encode()


def test_ai_hospital():
    first, second = read_cases(DATA / "ai_hospital.json")
    assert first.presentation == Presentation(
        complaint="右足大趾红肿2天", language="zh", age=5.25, sex="male", about="职业: 学生"
    )
    assert [d.name for d in first.truth.diagnoses] == ["痛风：急性发作期", "2型糖尿病（轻度，早期）"]
    assert first.truth.rationale == ("夜间发作", "双轨征")
    assert [finding.text() for finding in first.record.findings] == [
        "体格检查, 一般情况: 神志清楚，精神可",
        "体格检查, 皮肤: 皮肤无皮疹",
        "体格检查, 胸肺: 双肺呼吸音清",
        "体格检查, 心脏: 心率82次/分，律齐",
        "体格检查, 腹部: 腹软，无压痛",
        "体格检查, 脊柱四肢: 右足大趾关节红肿",
        "血常规(03-02,门诊), 白细胞计数: 9.12x10^9/L",
        "血常规(03-02,门诊), 比重: 1.020",
        "足部X线片: 未见骨质破坏",
        "肝功能, ALT: 21 U/L",
        "肝功能, AST: 19 U/L",
        "心电图: 未见异常",
        "关节彩超: 双轨征；少量积液",
        "胸片: 胸片正常",
    ]
    for hidden in ("待查", "感染", "典型", "抬高", "风湿科"):
        assert hidden not in repr(first.record)
    assert (second.id, second.presentation.age, second.presentation.sex) == ("902", 31, "female")
    assert [finding.text() for finding in second.record.findings][-2:] == [
        "急查血糖: 7.9mmol/L",
        "头颅CT: 1.未见出血；2.中线居中",
    ]


def test_what_only_the_raw_record_tells_of_the_history_is_taken_from_there():
    sections = {"主诉": "头晕3天", "现病史": "头晕。", "既往史": "体健。", "诊断结果": "眩晕"}
    raw = {
        "主诉": "头晕",
        "既往史": "平素体健。",
        "个人史": "屠宰场工人。",
        "婚育史": "未婚。",
        "分析总结": "典型。",
        "诊断依据": "头晕",
    }
    history = layouts()["ai-hospital"].load({"medical_record": sections, "raw_medical_record": raw}, 1).record.history
    assert history == History(present="头晕。", past="体健。", personal="屠宰场工人。\n未婚。")


def test_aie():
    first, second, third = read_cases(DATA / "aie.json")
    assert first.setting == "online"
    assert first.presentation == Presentation(complaint="I cough at night.", age=52, sex="female")
    assert first.record.history.present.endswith("Examination shows nothing of note.")
    assert first.question == Question(
        id="0",
        stem="Which of the following is most likely?",
        options={"A": "Asthma", "B": "Acid reflux", "C": "Tonsillitis"},
    )
    assert (first.truth.answers, first.truth.diagnoses) == (("B",), (Diagnosis("Acid reflux"),))
    assert second.question.stem == "What now?"
    assert second.question.options == {"A": "Wait, watch, and weigh", "B": "Vitamin D. drops", "C": "More porridge"}
    assert second.record.history.present == "An 8–month old boy, fed with ﬁne porridge, refuses it."
    assert (third.presentation.language, third.truth.answers) == ("zh", ("A",))
    assert third.question.options["B"] == "鼻炎"


def test_tor():
    (case,) = read_cases(DATA / "tor.jsonl")
    assert (case.presentation.age, case.presentation.sex) == (70, "male")
    assert [finding.text() for finding in case.record.findings] == [
        "physical examination, Vital signs: T:36.4℃, P: 70 times/min, BP: 130/80mmHg.",
        "physical examination, Ankle: Swollen on the outside, warm.",
        "physical examination, Knee: Moves freely.",
        "laboratory examination, Blood count: unremarkable",
        "Uric acid, serum: 310 umol/L",
        "X-ray: No fracture line.",
    ]
    assert [d.name for d in case.truth.diagnoses] == ["Ankle sprain", "flat feet (both, mild)", "high blood pressure"]
    assert case.question.options["B"] == "Tear of the calf, with or without bleeding"
    assert case.truth.answers == ("A", "C")


@each_row(
    ("text", "age", "sex"),
    [
        ("35-year-old female", 35, "female"),
        ("5岁3个月", 5.25, None),
        ("3-week-old boy", 0.057, "male"),
        ("Newborn, born at 33 weeks of gestation", 0, None),
        ("Y70", 70, None),
        ("M6", 0.5, None),
        ("70", 70, None),
        ("男，34，右膝痛", 34, "male"),
        ("8个月", 0.667, None),
        ("70-year-old man with his wife", 70, "male"),
        ("六十", 60, None),
        ("女，二十五岁", 25, "female"),
        ("一百零三岁", 103, None),
        ("两岁三个月", 2.25, None),
        ("十二", 12, None),
        ("a nurse", None, None),
        ("", None, None),
    ],
)
def test_ages_and_sexes(text, age, sex):
    assert (age_in_years(text), sex_of(text)) == (age, sex)


def test_language():
    assert language_of(["WBC 9.1, HGB 120, 血常规"]) == "zh"
    assert language_of(["Murphy's sign was absent"]) == "en"


@each_row(
    ("text", "names"),
    [
        ("1. 痛风\n2. 2型糖尿病", ["痛风", "2型糖尿病"]),
        ("1.痛风2.慢性鼻炎3.湿疹（2期，手部)", ["痛风", "慢性鼻炎", "湿疹（2期，手部)"]),
        ("1痛风；2慢性鼻炎；3湿疹", ["痛风", "慢性鼻炎", "湿疹"]),
        ("痛风；白内障3级", ["痛风", "白内障3级"]),
        ("2型糖尿病，湿疹", ["2型糖尿病", "湿疹"]),
        ("1. 湿疹，荨麻疹\n2. 痛风", ["湿疹，荨麻疹", "痛风"]),
        ("gout", ["gout"]),
        ("", []),
    ],
)
def test_diagnoses(text, names):
    assert [d.name for d in split_diagnoses(text)] == names


@each_row(
    ("value", "options"),
    [
        ("A. one, two, B. three", {"A": "one, two", "B": "three"}),
        ("(A) one (B) two (C) three", {"A": "one", "B": "two", "C": "three"}),
        ('["one", "B two"]', {"A": "one", "B": "B two"}),
        (["A. one", "B. two"], {"A": "one", "B": "two"}),
        ("one\ntwo", {"A": "one", "B": "two"}),
        ([{"key": "A", "value": "one"}, {"key": "B", "value": "two"}], {"A": "one", "B": "two"}),
        ({"1": "one", "2": "two"}, {"1": "one", "2": "two"}),
    ],
)
def test_options(value, options):
    assert read_options(value, "$") == options


@each_row(
    ("value", "keys"),
    [
        ("A, C", ("A", "C")),
        ("AC", ("A", "C")),
        (["A"], ("A",)),
        ("(B) two", ("B",)),
        ("Two", ("B",)),
        ("Z", ("Z",)),
        (None, ()),
    ],
)
def test_keys(value, keys):
    assert read_keys(value, {"A": "one", "B": "two", "C": "three"}) == keys


@pytest.mark.slow
@given(st.text(max_size=12) | st.from_regex(r"-?\d{1,4}(\.\d{0,3})? (mg/dL|bpm|U/L|cats)", fullmatch=True))
def test_a_split_value_reads_out_the_same(text):
    value, unit = split_value(text)
    assert Finding(examination="x", value=value, unit=unit).text() == f"x: {text}"


def test_find_case(tmp_path):
    assert find_case(DATA / "ai_hospital.json", "902").id == "902"
    with pytest.raises(BadInput, match=r"no case has the id '903'; of 2 cases the nearest are 90\d, 90\d$"):
        find_case(DATA / "ai_hospital.json", "903", layout="ai-hospital")


def complain(tmp_path, content, *, layout=None) -> str:
    path = tmp_path / "cases.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadInput) as caught:
        list(read_cases(path, layout=layout))
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message.removeprefix(str(path))


GOOD = '{"id":"1","record":{"presentation":{"complaint":"x"}},"truth":{"diagnoses":[]}}'


@each_row(
    ("content", "parts"),
    [
        (GOOD + "\n" * 16 + GOOD[:30] + "\n", [", line 17: the JSON is cut off"]),
        (GOOD + "\n{]\n", [", line 2: not JSON (JSON is malformed: "]),
        ('{\n "id": "1",\n "record": }\n}', [", line 3: not JSON"]),
        ('{\n "id": "1",\n "record": {\n', [", line 3: the JSON is cut off"]),
        ('{\n "id": "1"\n}\n{\n "id": "2"\n}', [", line 4: not JSON", "one a line, or in an array"]),
        (
            '{"a":1,"b":2}',
            [
                ", line 1: the layout is not recognised by the keys that came: 'a', 'b';",
                "cases.layout",
                "aie",
                "FILE.py:NAME",
            ],
        ),
        ("{}", ["keys that came: none"]),
        ("[]", [": the array is empty"]),
        ("[" + GOOD + ",3]", [", element 2: a case is a JSON object, {...}; this is a number"]),
        ("[" + GOOD + ",null]", [", element 2: ", "this is null"]),
        ("[" + GOOD + "," + GOOD[:20], [", line 1: the JSON is cut off"]),
        ("[\n" + GOOD + "\n,]", [", line 3: not JSON"]),
        ("[" + GOOD + "] x", [", line 1: not JSON (JSON is malformed: trailing characters"]),
        ("3", [", line 1: begins with '3'; a case file holds JSON objects"]),
        ("id,complaint\n1,x\n", [", line 1: begins with 'id,complaint'"]),
        (GOOD.replace('"x"', '" "'), [", line 1, $.record.presentation.complaint: a case needs a complaint"]),
        (GOOD.replace('"1"', '""'), ["$.id: a case needs an id"]),
        (GOOD.replace('"id"', '"ID"'), [", line 1: Object", "field `"]),
        (
            GOOD.replace('"complaint"', '"complaint":3,"about"'),
            ["$.record.presentation.complaint: Expected `str`, got `int`"],
        ),
        (GOOD + "\n" + '{"a":' * 100_000, [", line 2: the JSON is "]),
        (GOOD.encode() + b"\n\xff\xfe", [", line 2: not UTF-8"]),
        (b"[" + GOOD.replace('"x"', '"\xe9"').encode("latin-1") + b"]", [", element 1: not UTF-8"]),
        (b"", ["the file is empty"]),
        (b"\n \n", ["blank lines only"]),
    ],
)
def test_every_way_to_be_wrong_has_one_clear_line(tmp_path, content, parts):
    message = complain(tmp_path, content)
    for part in parts:
        assert part in message


@pytest.mark.slow
@pytest.mark.parametrize(("start", "end"), [(b"{", b""), (b'["', b'"]')])
def test_fifty_megabytes_in_one_record(tmp_path, start, end):
    assert "the record is larger than 16 MiB" in complain(tmp_path, start + b"x" * 50_000_000 + end)


@pytest.mark.slow
def test_a_long_array_of_small_records_in_one_line(tmp_path):
    path = tmp_path / "array.json"
    path.write_text("[" + ",".join([GOOD.replace('"x"', '"' + "y" * 10_000 + '"')] * 2_000) + "]")
    assert path.stat().st_size > 16 * 2**20
    assert sum(1 for _ in read_cases(path)) == 2_000


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        list(read_cases(tmp_path / "none.jsonl"))
    with pytest.raises(BadInput, match="this is a directory"):
        list(read_cases(tmp_path))
    with pytest.raises(
        BadInput, match=r"'agentclinik' \(did you mean agentclinic\?\); there are polyclinic, agentclinic"
    ):
        read_cases(tmp_path / "none.jsonl", layout="agentclinik")


@each_row("layout", layouts())
@each_row("name", ["agentclinic.jsonl", "tor.jsonl", "ai_hospital.json", "aie.json"])
def test_a_wrong_layout_says_what_it_looks_like(tmp_path, layout, name):
    right = name.split(".")[0].replace("_", "-")
    if layout == right:
        assert list(read_cases(DATA / name, layout=layout)) == list(read_cases(DATA / name))
        return
    message = complain(tmp_path, (DATA / name).read_bytes(), layout=layout)
    assert f"read as layout {layout}, and looks like {right} (cases.layout={right})" in message


def test_layouts_are_recognised():
    signs = ("record", "OSCE_Examination", "raw_medical_record", "raw_data", "Present-Illness", "image_url", "facts")
    signs = (*signs, "case_vignette", "EVIDENCES", "resourceType")
    element = Element(path=Path("cases.jsonl"), number=1, order=1, text="")
    assert {recognise(element, {"id": 1, sign: {}}) for sign in signs} == layouts().keys()


@each_row(
    ("name", "replace", "field"),
    [
        (
            "agentclinic.jsonl",
            ('"Primary_Symptom"', '"Symptom"'),
            "$.OSCE_Examination.Patient_Actor.Symptoms.Primary_Symptom",
        ),
        (
            "agentclinic.jsonl",
            ('"Correct_Diagnosis"', '"D"'),
            "$.OSCE_Examination.Correct_Diagnosis: a case needs its diag",
        ),
        (
            "agentclinic.jsonl",
            ('"Patient_Actor": {', '"Patient_Actor": 3, "P": {'),
            "$.OSCE_Examination.Patient_Actor: an object",
        ),
        ("ai_hospital.json", ('"主诉"', '"诉"'), "element 1, $.medical_record.主诉: a case needs a complaint"),
        ("ai_hospital.json", ('"诊断结果"', '"结果"'), "element 2, $.raw_medical_record.诊断结果"),
        ("aie.json", ('"history"', '"h"'), "element 1, $.chief_complain: a case needs a complaint"),
        ("aie.json", ('"options"', '"o"'), "element 1, $.raw_data.options: two or more options"),
        ("aie.json", ('"answer_idx"', '"i"'), "element 1, $.raw_data.answer_idx: a case needs its answer"),
        ("tor.jsonl", ('"Chief-Complaints"', '"C"'), "line 1, $.Chief-Complaints: a case needs a complaint"),
    ],
)
def test_what_is_missing_is_named(tmp_path, name, replace, field):
    assert field in complain(tmp_path, (DATA / name).read_text(encoding="utf-8").replace(*replace))


def test_pipes_are_read_once(tmp_path):
    for content in (GOOD + "\n" + GOOD, "[" + GOOD + ",\n" + GOOD + "]"):
        pipe = tmp_path / f"pipe{len(content)}"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=(content,))
        writer.start()
        assert len(list(read_cases(pipe))) == 2
        writer.join()


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("agentclinic/agentclinic_medqa.jsonl", 107),
        ("ai_hospital/patients_small_10.json", 10),
        ("aie/HospitalCases.json", 50),
        ("aie/MedicalExam.json", 150),
    ],
)
def test_published_files(shared_data, name, n):
    loaded = list(read_cases(shared_data / "cases" / name))
    assert len(loaded) == len({case.id for case in loaded}) == n
    for case in loaded:
        assert case.truth.diagnoses
        assert case.record.findings or case.setting == "online"
        if case.question:
            assert set(case.truth.answers) <= set(case.question.options)
            assert case.question.stem


def test_published_physical_examinations_lose_no_word(shared_data):
    path = shared_data / "cases" / "ai_hospital" / "patients_small_10.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    for record, case in zip(records, read_cases(path), strict=True):
        spoken = "".join(finding.text() for finding in case.record.findings)
        for number in re.findall(r"\d[\d.]*", record["medical_record"]["辅助检查"]):
            assert number in spoken
        for line in record["medical_record"]["查体"].splitlines():
            for clause in line.replace("。", "，").split("，"):
                assert clause.split(":")[-1].split("：")[-1].strip(" -") in spoken


DOOR = """
from polyclinic import plugins
from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth

def rows(record: dict, order: int) -> Case:
    return Case(
        id=str(order),
        record=Record(presentation=Presentation(complaint=record["why"])),
        truth=Truth(diagnoses=(Diagnosis(name=record["what"]),)),
    )

def one_parameter(record):
    return rows(record, 1)

def nothing(record, order):
    return None

def untyped(record, order):
    return Case(**{"id": 3, "record": rows(record, order).record, "truth": Truth(diagnoses=[Diagnosis(name="flu")])})

def wrong(record, order):
    return Case(id="1", record=rows(record, order).record, truth=Truth(diagnoses=["flu"]))

def torn(record, order):
    return Case(id="1\\ud800", record=rows(record, order).record, truth=Truth(diagnoses=()))

def ending(record, order):
    raise SystemExit

number = 3
"""


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("untyped", r", \$\.id: layout .*untyped: Expected `str`, got `int`"),
        ("wrong", r", \$\.truth\.diagnoses\[0\]: layout .*wrong: Expected `object`, got `str`"),
        ("torn", "torn raised UnicodeEncodeError"),
        ("ending", "ending raised SystemExit"),
    ],
)
def test_what_a_layout_makes_is_read_whole(complaint, tmp_path, name, problem):
    door, file = tmp_path / "door.py", tmp_path / "cases.jsonl"
    door.write_text(DOOR)
    file.write_text('{"why": "A cough", "what": "COVID-19"}\n')
    assert re.search(f"line 1.*{problem}", complaint("cases", "show", file, "--layout", f"{door}:{name}"))


def test_a_layout_is_a_function_too(tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text('{"why": "A cough"}\n')

    def rows(record, order):
        presentation = Presentation(complaint=record["why"])
        return Case(id=str(order), record=Record(presentation=presentation), truth=Truth(diagnoses=[]))

    assert find_case(file, "1", layout=rows).truth.diagnoses == ()
    with pytest.raises(BadInput, match="layout <lambda> does not take a record"):
        read_cases(file, layout=lambda record: record)


@pytest.mark.slow
def test_a_layout_of_somebody_elses(run, complaint, tmp_path):
    door, file = tmp_path / "door.py", tmp_path / "cases.jsonl"
    door.write_text(DOOR)
    file.write_text('{"why": "A cough", "what": "COVID-19"}\n\n{"why": "A cold"}\n')
    cases = read_cases(file, layout=f"{door}:rows")
    first = next(cases)
    assert (first.id, first.presentation.complaint) == ("1", "A cough")
    with pytest.raises(BadInput, match=r"line 3: layout .*door.py:rows raised KeyError: 'what'"):
        next(cases)
    for name, says in {
        f"{door}:one_parameter": "does not take a record and its order (too many positional arguments)",
        f"{door}:number": "is a int; a layout is a function (record: dict, order: int) -> Case",
        f"{door}:none": "holds no 'none'; it has: rows",
        f"{tmp_path}/none.py:rows": "no such file",
        "agentclinc": "no layout is called 'agentclinc' (did you mean agentclinic?); there are polyclinic, agentclinic",
    }.items():
        with pytest.raises(BadInput) as caught:
            read_cases(file, layout=name)
        assert says in str(caught.value)
    assert "line 1: layout" in complaint("cases", "show", file, "--layout", f"{door}:nothing")
    checked = json.loads(run("cases", "check", file, "--layout", f"{door}:rows", "--json", code=2).stdout)
    assert (checked["n"], checked["unreadable"], checked["layout"]) == (1, 1, f"{door}:rows")
    file.write_text('{"why": "A cough", "what": "COVID-19"}\n')
    seen = json.loads(run("consult", f"{file}#1", "--set", f"cases.layout={door}:rows", "--json").stdout)
    assert seen["truth"]["diagnoses"] == [{"name": "COVID-19"}]


def test_a_layout_of_an_installed_package(monkeypatch, tmp_path):
    (tmp_path / "layout_of_theirs.py").write_text(DOOR)
    monkeypatch.syspath_prepend(tmp_path)
    theirs = EntryPoint("theirs", "layout_of_theirs:rows", "polyclinic.layouts")
    monkeypatch.setattr(plugins, "_installed", lambda group: {"theirs": (theirs,)})
    file = tmp_path / "cases.jsonl"
    file.write_text('{"why": "A cough", "what": "COVID-19"}\n')
    assert [case.truth.diagnoses[0].name for case in read_cases(file, layout="theirs")] == ["COVID-19"]
    with pytest.raises(BadInput, match=r"tor, theirs, a field map FILE\.toml, FILE\.py:NAME"):
        read_cases(file, layout="somebody")


def test_an_object_whose_first_line_ends_within_it_is_read(tmp_path):
    patient = {"resourceType": "Patient", "id": "p1", "gender": "female", "birthDate": "1990-05-01"}
    visit = {"resourceType": "Encounter", "id": "e1", "status": "finished", "reasonCode": [{"text": "Fever"}]}
    visit |= {"period": {"start": "2024-03-01T09:00:00Z"}}
    illness = {"resourceType": "Condition", "id": "c1", "encounter": {"reference": "Encounter/e1"}}
    illness |= {"code": {"text": "Gout"}, "onsetDateTime": "2024-03-01"}
    entries = ",\n".join(json.dumps({"resource": one}) for one in (patient, visit, illness))
    begun = '{"resourceType":"Bundle","type":"collection","entry":['
    (tmp_path / "b.json").write_text(f"{begun}\n{entries}\n]}}\n")
    (case,) = read_cases(tmp_path / "b.json")
    assert case.truth.diagnoses[0].name == "Gout"
    # A single element is a whole object by itself; what closes the list stands behind it.
    (tmp_path / "c.json").write_text(f"{begun}\n{json.dumps({'resource': patient})}\n]}}\n")
    with pytest.raises(BadInput, match=r"line 1\b(?!.*cut off)"):
        list(read_cases(tmp_path / "c.json"))


def test_a_line_that_is_cut_off_stays_one_beside_others(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text('{"question": "Which?", "options":\n{"a": 1}\n{"a": 2}\n')
    with pytest.raises(BadInput, match="line 1: the JSON is cut off"):
        list(read_cases(path))
