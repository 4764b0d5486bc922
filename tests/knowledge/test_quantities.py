"""Numbers with their units become numbers in the unit of the item, or nothing."""

import pytest
from tests.tables import each_row

from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.quantities import in_unit_of, quantities, word_for

ITEMS = {item.id: item for examination in read_knowledge().examinations.values() for item in examination.items}


@each_row(
    ("item", "text", "value"),
    [
        ("wbc", "12,300/mm3", 12.3),
        ("wbc", "12.3 K/µL", 12.3),
        ("wbc", "12.3×10⁹/L", 12.3),
        ("wbc", "12300", 12.3),
        ("hemoglobin", "12.1 g/dL", 121),
        ("hemoglobin", "121克/升", 121),
        ("temperature", "101.3 °F", 38.5),
        ("temperature", "38.5摄氏度", 38.5),
        ("creatinine", "2 mg/dL", 176.8),
        ("cholesterol", "200 mg/dL", 5.17),
        ("alt", "82 IU/L", 82),
        ("tsh", "6.2 µIU/mL", 6.2),
        ("arterial_oxygen", "10 kPa", 75),
        ("esr", "33 mm/hr", 33),
        ("heart_rate", "96次/分", 96),
        ("ferritin", "8 µg/L", 8),
        ("mcv", "71 fL", 71),
    ],
)
def test_a_unit_becomes_another(item, text, value):
    (quantity,) = quantities(text)
    assert in_unit_of(quantity, ITEMS[item]) == pytest.approx((value, value), rel=2e-3)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ("neutrophils", "1.9×10^9/L"),  # a count is no share
        ("hemoglobin", "14 mg/dL"),  # nobody has so little
        ("lymphocytes", "15 %"),
        ("wbc", "12 mmHg"),
        ("potassium", "120 mmol/L"),
    ],
)
def test_what_cannot_be_is_not_read(item, text):
    (quantity,) = quantities(text)
    assert in_unit_of(quantity, ITEMS[item]) is None


def test_bounds_and_ranges():
    def read(item, text):
        return in_unit_of(quantities(text)[0], ITEMS[item])

    assert read("fluid_cells", "> 50,000/µL") == pytest.approx((50, float("inf")))
    assert read("procalcitonin", "＜0.05 ng/mL") == pytest.approx((float("-inf"), 0.05))
    assert read("wbc", "4-6 x10^9/L") == pytest.approx((4, 6))


@each_row(
    ("item", "text", "word"),
    [
        ("urine_leukocytes", "0-2/HPF", "negative"),
        ("urine_leukocytes", "12/hpf", "trace"),
        ("urine_leukocytes", "60个/高倍视野", "strong"),
        ("cold_agglutinins", "1:64", "borderline"),
        ("cold_agglutinins", "1:8", "low"),
        ("nitrite", "12/hpf", None),
    ],
)
def test_a_number_that_means_a_word(item, text, word):
    assert word_for(quantities(text)[0], ITEMS[item]) == word
