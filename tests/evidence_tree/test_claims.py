"""Evidence of several claims: the whole is borne only where each of them is, with every number in it."""

import msgspec
from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.evidence_tree import Supporter
from polyclinic.knowledge.knowledge import read_knowledge

KNOWLEDGE = read_knowledge()

ENGLISH = Record(
    presentation=Presentation(complaint="Tired, with headache", age=54, sex="male"),
    history=History(
        present="Fever was denied. Nausea was absent, headache present. Dizziness for 3 months. Gout is now excluded.",
        past="Mother had breast cancer. He has had asthma since childhood.",
        family="Diabetes.",
    ),
    findings=(
        Finding(examination="blood test", item="hemoglobin", value=121.0, unit="g/L", reference="115-175"),
        Finding(examination="blood test", item="platelet count", value="438 ×10⁹/L (reference 125-350)"),
        Finding(examination="blood test", item="white blood cell count", value=6.3, unit="10*9/L", reference="3.5-9.5"),
        Finding(examination="blood test", item="D-dimer", value=0.2, unit="mg/L{FEU}", reference="< 0.5"),
        Finding(examination="blood test", item="potassium", value=4.1, unit="mmol/L", reference="3.5-5.3"),
        Finding(examination="blood test", item="creatinine", value=88.4, unit="umol/L", reference="57-97"),
        Finding(
            examination="physical examination",
            value="body temperature 37.5 °C (reference 36-37.3); "
            "heart rate 88 /min (reference 60-100), respiratory rate 16 /min.",
        ),
        Finding(examination="CT", value="A cyst of 2 cm in the left kidney. The liver is of normal size."),
    ),
)
CHINESE = Record(
    presentation=Presentation(complaint="乏力伴头痛", language="zh", age=54, sex="male"),
    history=History(present="发热已排除。恶心不存在，头痛存在。头晕3个月。", past="母亲患乳腺癌。", family="糖尿病。"),
    findings=(
        Finding(examination="血液检查", item="血红蛋白", value=121.0, unit="g/L", reference="115-175"),
        Finding(examination="血液检查", item="血小板计数", value="438 ×10⁹/L（参考值125-350）"),
        Finding(examination="血液检查", item="白细胞计数", value=12.3, unit="10*9/L", reference="3.5-9.5"),
        Finding(examination="血液检查", item="D-二聚体", value=0.2, unit="mg/L{FEU}", reference="< 0.5"),
        Finding(examination="体格检查", value="体温 37.5 °C（参考值36-37.3）；心率 88 /min（参考值60-100）"),
        Finding(examination="CT检查", value="左肾囊肿，大小约2cm。肝脏大小正常。"),
    ),
)


@each_row(
    ("evidence", "status"),
    [
        # One true value bears nothing beside it.
        ("hemoglobin 121 g/L, troponin 900 ng/L", "not there"),
        ("hemoglobin 121 g/L troponin 900 ng/L", "not there"),
        ("hemoglobin 121 g/L (reference 115-175), troponin 900 ng/L", "not there"),
        ("D-dimer 0.2 mg/L, massive pulmonary embolism", "not there"),
        ("potassium 4.1 mmol/L, hyperkalaemia", "contradicted"),
        ("hemoglobin 121, blood cultures grow staphylococcus", "not there"),
        ("normal hemoglobin with massive haematemesis", "not there"),
        ("hemoglobin 121 after a transfusion", "not there"),
        ("headache and a mass in the pancreas", "not there"),
        ("hemoglobin 121 g/L, potassium 4.1 mmol/L", "supported"),
        ("hemoglobin 121 g/L, potassium 5.1 mmol/L", "contradicted"),
        ("hemoglobin 121 g/L and D-dimer 0.2 mg/L with a cyst in the left kidney", "supported"),
        ("hemoglobin of 121, within the reference range", "supported"),
        ("hemoglobin of 121, below the reference range", "contradicted"),
        # The reference range is no value.
        ("hemoglobin 115 g/L", "contradicted"),
        ("hemoglobin 175", "contradicted"),
        ("heart rate 100", "contradicted"),
        ("heart rate 88", "supported"),
        ("heart rate 16", "contradicted"),
        ("respiratory rate 16 /min", "supported"),
        ("temperature 36 °C", "contradicted"),
        ("hemoglobin 121 g/L (reference 115-175)", "supported"),
        ("hemoglobin 121 g/L (normal 130-175)", "contradicted"),
        ("hemoglobin 121 g/L, reference range 115-175", "supported"),
        # Counts a litre are judged.
        ("raised platelet count", "supported"),
        ("thrombocytes: platelet count 438 ×10⁹/L", "not there"),
        ("platelet count 438 ×10⁹/L", "supported"),
        ("platelet count 438 x 10^9/L", "supported"),
        ("Platelets: 438 (H)", "supported"),
        ("platelets 438 ↓", "contradicted"),
        ("hemoglobin is not low", "supported"),
        ("low platelet count", "contradicted"),
        ("white blood cell count normal", "supported"),
        # Units and comparisons.
        ("hemoglobin 121 mg/L", "contradicted"),
        ("hemoglobin 121 mmHg", "contradicted"),
        ("hemoglobin 12.1 g/dL", "supported"),
        ("hemoglobin 11.2 g/dL", "contradicted"),
        ("D-dimer 200 ng/mL", "supported"),
        ("creatinine 1.0 mg/dL", "supported"),
        ("creatinine 2.0 mg/dL", "contradicted"),
        ("hemoglobin < 130", "supported"),
        ("hemoglobin below 130 g/L", "supported"),
        ("hemoglobin below 100 g/L", "contradicted"),
        ("platelets > 400", "supported"),
        ("hemoglobin dropped from 140 to 121", "not there"),
        ("hemoglobin 121 g/L (115-175 g/L)", "supported"),
        ("hemoglobin 121 g/L [130-175]", "contradicted"),
        ("temperature 99.5 °F", "supported"),
        ("temperature 101 °F", "contradicted"),
        # Denied from behind, clause by clause.
        ("fever", "contradicted"),
        ("no fever", "supported"),
        ("fever absent", "supported"),
        ("Fever was denied", "supported"),
        ("nausea", "contradicted"),
        ("headache", "supported"),
        ("headache was denied", "contradicted"),
        ("no nausea, headache", "supported"),
        ("headache present, nausea absent", "supported"),
        ("gout", "contradicted"),
        ("asthma", "supported"),
        ("The patient has asthma since childhood", "supported"),
        ("no history of asthma", "contradicted"),
        ("neither fever nor nausea", "supported"),
        # Somebody else's illness.
        ("breast cancer", "not there"),
        ("Mother had breast cancer", "supported"),
        ("breast cancer in the family", "not there"),
        ("diabetes", "not there"),
        ("Family history: diabetes", "supported"),
        # Who the patient is.
        ("54-year-old male", "supported"),
        ("54-year-old man with headache", "supported"),
        ("a 54 year old woman", "contradicted"),
        ("The patient is a 54-year-old man", "supported"),
        ("fifty-four-year-old man", "supported"),
        ("sixty-year-old man", "contradicted"),
        ("45-year-old man", "contradicted"),
        ("female", "contradicted"),
        ("male", "supported"),
        ("Age: 54", "supported"),
        ("aged 54 years", "supported"),
        # What names nothing.
        ("121", "not there"),
        ("month", "not there"),
        ("3 months", "not there"),
        ("normal", "not there"),
        ("121 g/L", "not there"),
        ("hemoglobin", "not there"),
    ],
)
def test_english(evidence, status):
    assert Supporter(ENGLISH, KNOWLEDGE).support(evidence).status == status


@each_row(
    ("evidence", "status"),
    [
        ("血红蛋白121 g/L（参考值115-175），肌钙蛋白900 ng/L", "not there"),
        ("血红蛋白121g/L，大量呕血", "not there"),
        ("D-二聚体0.2mg/L，大面积肺栓塞", "not there"),
        ("血红蛋白121g/L、白细胞计数12.3×10⁹/L", "supported"),
        ("血红蛋白121g/L，白细胞计数升高", "supported"),
        ("血红蛋白121g/L，白细胞计数降低", "contradicted"),
        ("血红蛋白115g/L", "contradicted"),
        ("心率100", "contradicted"),
        ("心率88次/分", "supported"),
        ("血红蛋白121g/L（参考值115-175）", "supported"),
        ("血红蛋白121g/L（参考值130-175）", "contradicted"),
        ("白细胞计数升高", "supported"),
        ("血小板计数升高", "supported"),
        ("血小板计数降低", "contradicted"),
        ("血红蛋白12.1g/dL", "supported"),
        ("血红蛋白121mg/L", "contradicted"),
        ("血红蛋白低于130g/L", "supported"),
        ("血红蛋白小于100", "contradicted"),
        ("血红蛋白由140降至121", "not there"),
        ("D-二聚体200ng/mL", "supported"),
        ("发热", "contradicted"),
        ("发热已排除", "supported"),
        ("恶心", "contradicted"),
        ("头痛", "supported"),
        ("无恶心，头痛存在", "supported"),
        ("乳腺癌", "not there"),
        ("母亲患乳腺癌", "supported"),
        ("糖尿病", "not there"),
        ("家族史：糖尿病", "supported"),
        ("54岁男性", "supported"),
        ("54岁女性", "contradicted"),
        ("患者为54岁男性", "supported"),
        ("血红蛋白不低", "supported"),
        ("血红蛋白在正常范围内", "supported"),
        ("血小板438↑", "supported"),
        ("五十四岁男性", "supported"),
        ("血红蛋白121 g/L（115-175）", "supported"),
        ("45岁男性", "contradicted"),
        ("女性", "contradicted"),
        ("男性患者，54岁", "supported"),
        ("121", "not there"),
        ("个月", "not there"),
        ("左肾囊肿，血红蛋白121g/L", "supported"),
    ],
)
def test_chinese(evidence, status):
    assert Supporter(CHINESE, KNOWLEDGE).support(evidence).status == status


@each_row(
    ("evidence", "status"),
    [
        ("发热", "contradicted"),
        ("无发热", "supported"),
        ("白细胞计数升高", "supported"),
        ("白细胞计数降低", "contradicted"),
    ],
)
def test_chinese_in_a_record_that_says_it_is_english(evidence, status):
    record = msgspec.structs.replace(
        CHINESE,
        presentation=msgspec.structs.replace(CHINESE.presentation, language="en"),
        history=History(present="否认发热。头痛。"),
    )
    assert Supporter(record, KNOWLEDGE).support(evidence).status == status


def test_other_people_s_children_are_no_relatives():
    history = History(
        personal="Crowded quarters and contact with other children who have spots.", past="Her children have asthma."
    )
    supporter = Supporter(Record(presentation=Presentation(complaint="Itch"), history=history), KNOWLEDGE)
    assert supporter.support("Crowded quarters").status == "supported"
    assert supporter.support("asthma").status == "not there"
