"""What a plan refers to wrongly is named by file and field."""

import shutil

import msgspec
import pytest
from tests.knowledge.plans import KNOWLEDGE, plan_of
from tests.tables import each_row

from polyclinic.errors import BadInput
from polyclinic.knowledge.data import DATA
from polyclinic.knowledge.entries import Measure
from polyclinic.knowledge.knowledge import plan_vocabulary, read_knowledge
from polyclinic.knowledge.plan_words import unlinked_plans

PARACETAMOL = "give: [{drug: paracetamol, route: oral, D}]"


@each_row(
    ("change", "field", "problem"),
    [
        ({"after": ["head-scan"]}, ".after", "no examination 'head-scan'"),
        ({"after": ["gastroscopy"]}, ".after", "waits for 'gastroscopy', which is not indicated"),
        ({"within": 0}, ".within", "above 0"),
        ({"when": {}}, ".when", "no condition"),
        ({"when": {"age_at_least": 12, "age_below": 12}}, ".when", "impossible ages: from 12 to below 12"),
        ({"when": {"age_at_least": -1}}, ".when", "impossible ages"),
        ({"when": {"days_at_most": 0}}, ".when.days_at_most", "above 0"),
        ({"when": {"finding": {"quantity": "sistolic", "below": 90}}}, ".when.finding", "no quantity 'sistolic'"),
        ({"when": {"finding": {"quantity": "brain_ct", "one_of": ["fine"]}}}, ".when.finding", "no state 'fine'"),
        ({"when": {"finding": {"quantity": "brain_ct", "below": 9}}}, ".when.finding", "needs one_of"),
        ({"when": {"finding": {"quantity": "diastolic", "below": 60}}}, ".when.finding", "made of others"),
        ({"when": {"finding": {"quantity": "arterial_oxygen", "below": 60}}}, ".when.finding", "oxygen_saturation"),
        ({"when": {"finding": {"symptom": "feever"}}}, ".when.finding", "no symptom 'feever'"),
        (
            {"give": [{"drug": "aspirine", "route": "oral", "dose": {"en": "1", "zh": "1"}}]},
            ".give[0].drug",
            "aspirine",
        ),
        ({"advice": {"en": "rest", "zh": "休息"}}, "", "a measure is one of"),
    ],
)
def test_what_is_wrong_is_named(change, field, problem):
    good = msgspec.to_builtins(plan_of(f"- {PARACETAMOL}").measures[0])
    measure = msgspec.convert({**{k: v for k, v in good.items() if v is not None}, **change}, Measure)
    disease = KNOWLEDGE.diseases["influenza-a"]
    bare = {s: msgspec.structs.replace(disease.plan(s), en=(), zh=()) for s in ("mild", "moderate", "severe")}
    bare["moderate"] = msgspec.structs.replace(bare["moderate"], measures=(measure,))
    changed = msgspec.structs.replace(disease, treatment=msgspec.structs.replace(disease.treatment, **bare))
    (found,) = unlinked_plans(changed, plan_vocabulary(KNOWLEDGE))
    assert problem in found[0]
    assert found[1] == f"$.treatment.moderate.measures[0]{field}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (
            "drug: oseltamivir",
            "drug: oseltamivirr",
            "$.treatment.mild.measures[2].give[0].drug: no drug 'oseltamivirr'",
        ),
        ("{age_below: 13}", "{age_below: -3}", "impossible ages: from 0 to below -3"),
    ],
)
def test_a_bad_file_is_one_line_with_its_name(tmp_path, old, new, field):
    shutil.copytree(DATA, tmp_path / "knowledge", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    file = tmp_path / "knowledge" / "diseases" / "influenza-a.yaml"
    file.write_text(file.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(BadInput) as error:
        read_knowledge(tmp_path / "knowledge")
    assert "influenza-a.yaml" in str(error.value)
    assert field in str(error.value)
    assert "\n" not in str(error.value)
