"""Standard terms for values: what was measured bears them or contradicts them, and nothing else comes through."""

import pytest
from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.evidence_tree import Supporter
from polyclinic.knowledge.knowledge import read_knowledge

KNOWLEDGE = read_knowledge()

VITALS = (
    "body temperature 36.9 °C (reference 36-37.3); heart rate 121 /min (reference 60-100); respiratory rate 26 /min "
    "(reference 12-20); oxygen saturation 88 % (reference > 95); systolic blood pressure 84 mmHg (reference 90-140); "
    "diastolic blood pressure 50 mmHg (reference 60-90)"
)
ENGLISH = Record(
    presentation=Presentation(complaint="Cough for three days", age=66, sex="male"),
    history=History(present="Chills at home. Denies chest pain.", family="Mother had anaemia."),
    findings=(
        Finding(examination="physical examination", item="Physical examination", value=VITALS),
        Finding(
            examination="blood test", item="white blood cell count", value=17.3, unit="×10⁹/L", reference="3.5-9.5"
        ),
        Finding(examination="blood test", item="neutrophil percentage", value=88.0, unit="%", reference="40-75"),
        Finding(examination="blood test", item="hemoglobin", value=84.0, unit="g/L", reference="130-175"),
        Finding(examination="blood test", item="platelet count", value=250.0, unit="×10⁹/L", reference="125-350"),
        Finding(examination="blood test", item="C-reactive protein", value=180.0, unit="mg/L", reference="< 8"),
        Finding(examination="serum biochemistry", item="potassium", value=4.1, unit="mmol/L", reference="3.5-5.3"),
        Finding(examination="blood gas", item="pH of the blood", value=7.25, reference="7.35-7.45"),
        Finding(examination="blood gas", item="carbon dioxide partial pressure", value=60.0, unit="mmHg"),
        Finding(examination="blood gas", item="bicarbonate", value=25.0, unit="mmol/L", reference="22-27"),
        Finding(examination="urinalysis", item="blood", value="2+"),
    ),
)
CHINESE = Record(
    presentation=Presentation(complaint="咳嗽三天", language="zh", age=66, sex="male"),
    history=History(present="否认胸痛。"),
    findings=(
        Finding(
            examination="体格检查",
            item="生命体征",
            value="体温36.9℃，心率121次/分（参考值60-100），呼吸26次/分，血氧饱和度88%（参考值> 95），血压84/50mmHg",
        ),
        Finding(examination="血常规", item="白细胞计数", value=17.3, unit="×10⁹/L", reference="3.5-9.5"),
        Finding(examination="血常规", item="血红蛋白", value=84.0, unit="g/L", reference="130-175"),
        Finding(examination="血常规", item="血小板计数", value=250.0, unit="×10⁹/L", reference="125-350"),
        Finding(examination="血清生化", item="血钾", value=4.1, unit="mmol/L", reference="3.5-5.3"),
    ),
)
BORNE = (
    "leukocytosis; Leucocytosis (17.3 ×10⁹/L); marked leukocytosis of 17.3; leukocytosis with neutrophilia; "
    "anemia; Severe anaemia (Hb 84 g/L); hypoxia; hypoxaemia (SpO2 88 %); the patient is tachycardic; "
    "tachycardia at 121 bpm; tachypnoea; hypotension; hypotension (84/50 mmHg); hypotension (SBP < 90 mmHg); "
    "low blood pressure; BP 84/50 mmHg; blood pressure: 84/50; raised inflammatory markers (CRP 180 mg/L); "
    "high white count; acidosis; respiratory acidosis; hypercapnia; haematuria; no leukopenia; "
    "no thrombocytopenia; normokalemia; afebrile; leukocytosis and tachycardia; temp 36.9; "
    "Laboratory findings: leukocytosis; white count of 17,300/uL"
)
CONTRADICTED = (
    "leukopenia; no leukocytosis; leukocytosis (WBC 25); bradycardia; tachycardia at 150 bpm; fever; "
    "hypothermia; hypertensive; normotensive; BP 130/80; BP 84/70; blood pressure normal; thrombocytopenia; "
    "hyperkalaemia; hypokalemia; polycythemia; no anemia; no hypoxia or tachycardia; alkalosis; hypocapnia; "
    "metabolic acidosis; hypotension (BP 120/80); anaemia (Hb 120 g/L); no haematuria; leukocytosis and fever"
)
# Not measured; or more than the value says; or of somebody else, of another time, of another fluid.
ABSENT = (
    "eosinophilia; hypercalcemia; hyperglycemia; transaminitis; pyuria; lactic acidosis; leukocytosis in urine; "
    "leukocytosis in the pleural fluid; anemia for three years; history of hypotension; chronic anemia; "
    "hemolytic anemia; iron deficiency anemia; mother had leukocytosis; familial leukocytosis; "
    "ventricular tachycardia; orthostatic hypotension; intracranial hypotension; portal hypertension; "
    "hypotension resolved; leukemoid reaction; fetal tachycardia; febrile neutropenia; "
    "hypotension requiring vasopressors; risk of hypoxia; leukocytosis since May; leukocytosis with blasts; "
    "hypoxic encephalopathy; low-grade fever; hypertension"
)
BORNE_ZH = (
    "白细胞升高|白细胞增多|白细胞增多症|贫血|中度贫血（Hb 84g/L）|低氧血症|"
    "低氧血症（SpO2 88%）|心动过速|心率增快|脉搏121次/分|呼吸急促|低血压|血压偏低|"
    "血压84/50mmHg|BP 84/50mmHg|体温正常|无白细胞减少|无血小板减少|"
    "白细胞升高、贫血|患者存在低血压"
)
CONTRADICTED_ZH = (
    "白细胞减少|心动过缓|发热|体温升高|血压正常|BP 130/80mmHg|血小板减少|高钾血症|"
    "低钾血症|无贫血|无低氧血症|贫血（Hb 120g/L）"
)
ABSENT_ZH = (
    "嗜酸性粒细胞增多|高钙血症|高血糖|脑脊液白细胞增多|缺铁性贫血|慢性贫血|贫血3年|室上性心动过速|"
    "肺动脉高压|脑缺氧|体位性低血压|既往低血压|家族性贫血|糖尿病|血尿"
)


def _otherwise(record, evidence, status):
    supporter = Supporter(record, KNOWLEDGE)
    found = {one: supporter.support(one) for one in evidence}
    assert all((f.pointer is None) == (f.status == "not there") for f in found.values())
    return {one: f.status for one, f in found.items() if f.status != status}


@pytest.mark.parametrize(
    ("record", "evidence", "status"),
    [
        (ENGLISH, BORNE.split("; "), "supported"),
        (ENGLISH, CONTRADICTED.split("; "), "contradicted"),
        (ENGLISH, ABSENT.split("; "), "not there"),
        (CHINESE, BORNE_ZH.split("|"), "supported"),
        (CHINESE, CONTRADICTED_ZH.split("|"), "contradicted"),
        (CHINESE, ABSENT_ZH.split("|"), "not there"),
    ],
    ids=["borne", "contradicted", "not there", "borne-zh", "contradicted-zh", "not there-zh"],
)
def test_terms(record, evidence, status):
    assert _otherwise(record, evidence, status) == {}


def test_a_term_points_at_the_result():
    supporter = Supporter(ENGLISH, KNOWLEDGE)
    found = supporter.support("tachycardia")
    assert found.pointer.how == "by value"
    assert supporter.quote(found.pointer) == "heart rate 121 /min (reference 60-100)"


@each_row(
    ("age", "evidence", "status"),
    [
        (40, "tachycardia", "supported"),
        (40, "heart rate raised", "supported"),
        (0, "tachycardia", "contradicted"),
        (0, "heart rate normal", "supported"),
    ],
)
def test_without_a_range_that_of_the_knowledge_at_the_age_counts(age, evidence, status):
    rate = Finding(examination="physical examination", item="heart rate", value="140 /min")
    record = Record(presentation=Presentation(complaint="Cough", age=age, sex="male"), findings=(rate,))
    assert Supporter(record, KNOWLEDGE).support(evidence).status == status


def test_what_the_record_says_in_words_goes_before_what_was_measured():
    warm = Finding(
        examination="physical examination", item="body temperature", value=37.5, unit="°C", reference="36-37.3"
    )
    record = Record(
        presentation=Presentation(complaint="Cough"), history=History(present="Denies fever."), findings=(warm,)
    )
    assert Supporter(record, KNOWLEDGE).support("fever").status == "contradicted"
    cool = Finding(
        examination="physical examination", item="body temperature", value=36.6, unit="°C", reference="36-37.3"
    )
    record = Record(presentation=Presentation(complaint="Fever at home"), findings=(cool,))
    assert Supporter(record, KNOWLEDGE).support("no fever").status == "contradicted"
    assert Supporter(record, KNOWLEDGE).support("afebrile").status == "supported"


def test_numbers_in_a_row_without_spaces_are_held_one_by_one():
    supporter = Supporter(CHINESE, KNOWLEDGE)
    assert supporter.quote(supporter.support("心率121次/分").pointer) == "心率121次/分"
    assert supporter.support("心率100次/分").status == "contradicted"
