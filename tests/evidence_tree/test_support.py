"""Evidence and the record: what bears it, what contradicts it, and what is not there."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.cases.loaders import read_cases
from polyclinic.evidence_tree import Supporter, divide, texts_of
from polyclinic.evidence_tree.sources import kind_of
from polyclinic.evidence_tree.tree import EvidenceTree, Reasoning, Suspected
from polyclinic.knowledge.knowledge import read_knowledge

KNOWLEDGE = read_knowledge()
RECORDS = [next(read_cases(name)).record for name in ("shipped", "shipped-zh")]

SUPPORTED = [
    ("tires on the stairs", "word for word", "$.history.present"),
    ("Present illness: she tires on the stairs", "word for word", "$.history.present"),
    ("Chief Complaints: short of breath", "word for word", "$.presentation.complaint"),
    ("Laboratory findings: low haemoglobin", "by value", "$.findings[2]"),
    ("Denies chest pain, fever or cough", "word for word", "$.history.present"),
    ("Pain in the left arm", "word for word", "$.history.present"),
    ("blood test, hemoglobin: 84 g/L (reference 115-175)", "word for word", "$.findings[2]"),
    ("Hb 84 g/L", "by value", "$.findings[2]"),
    ("low haemoglobin", "by value", "$.findings[2]"),
    ("haemoglobin of 84, below the reference range", "by value", "$.findings[2]"),
    ("ferritin decreased (6 ug/L)", "by value", "$.findings[3]"),
    ("CA 19-9 12.5 U/mL", "by value", "$.findings[4]"),
    ("CA 19-9 of 13", "by value", "$.findings[4]"),
    ("heart rate raised", "by value", "$.findings[0]"),
    ("left kidney: cyst of 2 cm", "by name", "$.findings[5]"),
    ("CT: cyst in the left kidney", "by name", "$.findings[5]"),
    ("no fever", "by name", "$.history.present"),
    ("patient reports dyspnoea", "by name", "$.presentation.complaint"),
    ("no atypia", "by name", "$.findings[6]"),
    ("58 years", "word for word", "$.presentation.age"),
]
CONTRADICTED = [
    "fever",
    "chest pain",
    "the patient has a cough",
    "Hb 120 g/L",
    "haemoglobin normal",
    "raised haemoglobin",
    "haemoglobin 84, which is raised",
    "swelling of the left arm",
    "atypia",
    "no tiredness",
]
NOT_THERE = [
    "a cavity in the right upper lobe",
    "Pancreatic mass: short of breath",
    "cyst in the right kidney",
    "cyst of 3 cm in the left kidney",
    "severe crushing chest tightness after meals",
    "troponin 400 ng/L",
    "hemoglobin",
    "CT",
    "x",
    "",
    "Tired and short of breath for three years",
    "adenocarcinoma",
]


@each_row(("evidence", "how", "field"), SUPPORTED)
def test_what_the_record_bears(record, evidence, how, field):
    supporter = Supporter(record, KNOWLEDGE)
    found = supporter.support(evidence)
    assert found.status == "supported"
    assert (found.pointer.how, found.pointer.field) == (how, field)
    assert supporter.quote(found.pointer).strip()


@each_row("evidence", CONTRADICTED)
def test_what_the_record_contradicts(record, evidence):
    found = Supporter(record, KNOWLEDGE).support(evidence)
    assert found.status == "contradicted"
    assert found.pointer is not None


@each_row("evidence", NOT_THERE)
def test_what_is_not_in_the_record(record, evidence):
    found = Supporter(record, KNOWLEDGE).support(evidence)
    assert (found.status, found.pointer) == ("not there", None)


@each_row(
    ("evidence", "status"),
    [
        ("活动后气短", "supported"),
        ("血红蛋白84g/L", "supported"),
        ("血红蛋白降低", "supported"),
        ("左肾囊肿", "supported"),
        ("无发热", "supported"),
        ("发热", "contradicted"),
        ("血红蛋白130g/L", "contradicted"),
        ("血红蛋白升高", "contradicted"),
        ("右肾囊肿", "not there"),
        ("肺部空洞", "not there"),
    ],
)
def test_chinese(chinese_record, evidence, status):
    assert Supporter(chinese_record, KNOWLEDGE).support(evidence).status == status


def test_every_text_of_the_record_bears_itself(record, chinese_record):
    for one in (record, chinese_record):
        supporter = Supporter(one, KNOWLEDGE)
        for text in texts_of(one):
            found = supporter.support(text.text)
            assert found.status == "supported", text
            assert len(supporter.quote(found.pointer)) >= len(text.text) - 2


@given(st.text(max_size=40), st.data())
def test_no_pointer_leaves_the_record(text, data):
    record = data.draw(st.sampled_from(RECORDS))
    texts = {one.field: one.text for one in texts_of(record)}
    words = " ".join(texts.values()).split()
    evidence = data.draw(
        st.one_of(st.just(text), st.lists(st.sampled_from(words), min_size=1, max_size=6).map(" ".join))
    )
    pointer = Supporter(record, KNOWLEDGE).support(evidence).pointer
    if pointer is not None:
        assert 0 <= pointer.start < pointer.end <= len(texts[pointer.field])


def test_a_pointer_past_the_end_cannot_be_made(record):
    text = texts_of(record)[0]
    for start, end in ((0, len(text.text) + 1), (-1, 2), (3, 3), (4, 2)):
        with pytest.raises(ValueError, match="no stretch"):
            text.at(start, end, "by name")


def test_every_invented_finding_of_a_tree_is_counted(record):
    invented = ("troponin 900 ng/L", "a mass in the pancreas", "Hb 150 g/L")
    borne = ("Hb 84 g/L", "tires on the stairs")
    tree = EvidenceTree((Suspected("Anaemia", (Reasoning("So.", borne + invented),)),))
    supporter = Supporter(record, KNOWLEDGE)
    assert [leaf.evidence for leaf in tree.leaves() if not supporter.supported(leaf)] == list(invented)
    assert [leaf.evidence for leaf in tree.pruned(supporter.supported).leaves()] == list(borne)


def test_a_record_is_divided_by_kind(record):
    parts = divide(record, KNOWLEDGE)
    assert list(parts) == ["outpatient", "laboratory", "radiology", "pathology"]
    assert [f.item for f in parts["outpatient"].findings] == ["heart rate", "Skin"]
    assert [f.item for f in parts["laboratory"].findings] == ["hemoglobin", "ferritin", "CA 19-9"]
    assert [text.field for text in parts["radiology"].texts] == ["$.findings[5]"]
    assert [text.field for text in parts["pathology"].texts] == ["$.findings[6]"]
    assert "age: 58 years" in parts["outpatient"].read_out()
    assert "58" not in parts["laboratory"].read_out()
    everything = [text for part in parts.values() for text in part.texts]
    assert sorted(everything, key=str) == sorted(texts_of(record), key=str)


def test_who_is_removed_hands_over_or_withholds(record):
    reassigned = divide(record, KNOWLEDGE, without=("laboratory", "pathology"))
    assert list(reassigned) == ["outpatient", "radiology"]
    assert "ferritin" in reassigned["outpatient"].read_out()
    hidden = divide(record, KNOWLEDGE, without=("laboratory",), removed="withheld")
    assert not any("ferritin" in part.read_out() for part in hidden.values())
    assert list(hidden) == ["outpatient", "radiology", "pathology"]
    with pytest.raises(ValueError, match="cannot be removed"):
        divide(record, KNOWLEDGE, without=("outpatient",))


def test_a_doctor_without_data_does_not_take_part(chinese_record):
    assert list(divide(chinese_record, KNOWLEDGE)) == ["outpatient", "laboratory", "radiology", "pathology"]
    bare = msgspec.structs.replace(chinese_record, findings=())
    assert list(divide(bare, KNOWLEDGE)) == ["outpatient"]


@each_row(
    ("examination", "kind"),
    [
        ("X-ray", "radiology"),
        ("magnetic resonance imaging", "radiology"),
        ("Ultrasound of the neck", "radiology"),
        ("Fine needle aspiration", "pathology"),
        ("Colon biopsy", "pathology"),
        ("blood pressure", "outpatient"),
        ("Serum electrolytes", "laboratory"),
        ("gait", "outpatient"),
        ("electrocardiogram", "laboratory"),
        ("Spirometry", "laboratory"),
        ("C-reactive protein", "laboratory"),
        ("STI screening", "laboratory"),
        ("Hip and knee X rays", "radiology"),
        ("Intravenous pyelogram", "radiology"),
        ("Arthrocentesis of right knee", "laboratory"),
        ("Psychological evaluation", "outpatient"),
        ("D-二聚体", "laboratory"),
        ("gastroscopy", "radiology"),
        ("Laryngoscopy", "radiology"),
        ("病理检查", "pathology"),
        ("X线检查", "radiology"),
        ("实验室检查", "laboratory"),
    ],
)
def test_whose_an_examination_is(record, chinese_record, examination, kind):
    one = chinese_record if not examination.isascii() else record
    assert kind_of(examination, one.presentation.language, KNOWLEDGE) == kind
