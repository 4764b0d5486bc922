"""A record with a little of everything, invented."""

import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record


@pytest.fixture
def record():
    physical = "physical examination"
    return Record(
        presentation=Presentation(complaint="Tired and short of breath for two months", age=58, sex="female"),
        history=History(
            present="She tires on the stairs. Denies chest pain, fever or cough. Pain in the left arm, no swelling.",
            past="Peptic ulcer in 2011, but no bleeding since.",
        ),
        findings=(
            Finding(examination=physical, item="heart rate", value=104.0, unit="/min", reference="60-100"),
            Finding(examination=physical, item="Skin", value="pale, no rash"),
            Finding(examination="blood test", item="hemoglobin", value=84.0, unit="g/L", reference="115-175"),
            Finding(examination="laboratory examination", item="ferritin", value="6 ug/L (reference 15-150)"),
            Finding(examination="laboratory examination", item="CA 19-9", value="12.5(U/mL)"),
            Finding(examination="CT", value="A cyst of 2 cm in the left kidney. The liver is of normal size."),
            Finding(examination="pathology", value="(Gastric antrum) chronic inflammation without atypia."),
        ),
    )


@pytest.fixture
def chinese_record():
    return Record(
        presentation=Presentation(complaint="乏力、气短两个月", language="zh", age=58, sex="female"),
        history=History(present="活动后气短。否认发热、胸痛。"),
        findings=(
            Finding(examination="血液检查", item="血红蛋白", value=84.0, unit="g/L", reference="115-175"),
            Finding(examination="CT检查", value="左肾囊肿，大小约2cm。肝脏大小正常。"),
            Finding(examination="病理检查", value="（胃窦）慢性炎，未见异型增生。"),
        ),
    )
