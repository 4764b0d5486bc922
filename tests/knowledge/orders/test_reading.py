"""Orders are read into what they mean, in both languages, and what is no order is none."""

from pathlib import Path

import pytest
from tests.tables import each_row

from polyclinic.knowledge.orders import concepts
from polyclinic.knowledge.orders.concepts import (
    A_PART,
    HOLDS_IT,
    KINDS,
    NOT,
    SAME,
    above,
    closeness,
    is_near,
    may_hide,
    parts,
    title_of,
)
from polyclinic.knowledge.orders.reading import read_orders
from polyclinic.yaml_files import read_yaml

READINGS = read_yaml(Path(__file__).with_name("readings.yaml"), list[dict[str, str | list[str]]])


def said(order):
    return " ".join(sorted(concept for kind in order.meaning for concept in kind))


@each_row("one", READINGS)
def test_a_request_is_read_into_what_it_means(one):
    assert [said(order) for order in read_orders(one["text"]).orders] == [
        " ".join(sorted(order.split())) for order in one["asks"]
    ]


def test_what_is_not_wanted_or_done_is_refused_and_what_is_mentioned_is_read():
    text = "No need for a chest X-ray; the head CT showed nothing; some blood tests."
    reading = read_orders(text)
    assert reading.orders == ()
    assert [text[start:end] for start, end in reading.refused] == ["chest X-ray", "head CT"]
    assert [text[start:end] for start, end in reading.vague] == ["blood tests"]
    assert [said(order) for order in read_orders(text, mentioned=True).orders] == [
        "chest x_ray",
        "ct head",
        "blood laboratory",
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("心电图（ECG）", "心电图（ECG）"),
        ("an echo (TTE)", "echo (TTE)"),
        ("auscultate the lungs", "auscultation of the lungs"),
        ("听一下肺", "肺听诊"),
        ("检查一下腹部", "腹部体格检查"),
    ],
)
def test_what_is_asked_for_has_a_name_of_its_own(text, name):
    assert [order.name for order in read_orders(text).orders] == [name]


@each_row(
    ("request_text", "examination", "item", "close"),
    [
        ("头颅CT平扫", "头颅CT", "", SAME),
        ("随机血糖", "血糖", "GLU", SAME),
        ("血糖", "血常规", "即刻血糖", SAME),
        ("肌钙蛋白", "心脏标志物", "心肌酶谱", NOT),
        ("troponin", "Cardiac markers", "", HOLDS_IT),
        ("心肌酶", "心脏标志物", "心肌酶谱", SAME),
        ("chest CT", "CT scan thorax and abdomen", "", SAME),
        ("chest CT", "Chest X-ray", "", NOT),
        ("head CT", "Chest CT", "", NOT),
        ("liver function", "Serum chemistry", "ALT", A_PART),
        ("ALT", "Liver function tests", "", HOLDS_IT),
        ("glucose", "Urinalysis", "Glucose", NOT),
        ("urine glucose", "Urinalysis", "Glucose", SAME),
        ("white cells", "Lumbar puncture", "CSF white blood cells", NOT),
        ("Mycoplasma IgM", "serum antibody test", "Mycoplasma pneumoniae IgG", NOT),
        ("flu PCR", "viral antigen detection", "influenza A virus antigen", NOT),
        ("listen to your chest", "physical examination", "Chest examination, percussion", NOT),
        ("look into your nose", "nasal endoscopy", "nasal mucosa", HOLDS_IT),
        ("BNP", "生化检查", "N端脑钠肽", SAME),
        ("脊柱四肢检查", "体格检查", "脊柱四肢", SAME),
        ("listen for bowel sounds", "physical examination", "Abdominal examination, auscultation", HOLDS_IT),
        ("listen for bowel sounds", "physical examination", "Abdominal examination, palpation", NOT),
        ("Is the leg swollen?", "physical examination", "Leg examination, inspection", HOLDS_IT),
        ("浅表淋巴结有没有肿大？", "体格检查", "淋巴结", HOLDS_IT),
        ("生化全套", "肝功能", "", A_PART),
        ("blood culture for brucella", "Blood culture", "", HOLDS_IT),
    ],
)
def test_how_close_what_is_recorded_is_to_an_order(request_text, examination, item, close):
    (order,) = read_orders(request_text).orders
    assert closeness(order.meaning, title_of(examination, item)) == close


def test_what_is_near_is_not_the_same_and_cannot_be_called_normal():
    (order,) = read_orders("fasting glucose").orders
    random = title_of("Blood tests", "random glucose")
    assert (closeness(order.meaning, random), is_near(order.meaning, random)) == (NOT, True)
    assert not is_near(order.meaning, title_of("Urinalysis", "glucose"))


def test_concepts_are_of_one_kind_and_parts_of_what_there_is():
    named = {parent for concept in KINDS for parent in above(concept)} | {
        one for panel in KINDS for one in parts(panel)
    }
    assert named <= set(KINDS)
    assert {place for places in concepts.AT.values() for place in places} <= set(KINDS)


@each_row(
    ("request_text", "examination", "item", "hidden"),
    [
        ("chest CT", "chest X-ray", "", False),
        ("chest CT", "CT", "", True),
        ("chest CT", "wobblography", "", True),
        ("listen for a murmur", "physical examination", "General examination", True),
        ("listen for a murmur", "physical examination", "Vital signs, temperature", False),
        ("lipase", "Blood tests", "", True),
        ("lipase", "Blood tests", "wobblase", True),
        ("lipase", "chest X-ray", "", False),
        ("肌钙蛋白", "心脏标志物", "心肌酶谱", True),
    ],
)
def test_what_may_tell_of_an_order_is_not_called_normal(request_text, examination, item, hidden):
    (order,) = read_orders(request_text).orders
    assert may_hide(order.meaning, title_of(examination, item)) == hidden
