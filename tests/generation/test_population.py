"""What holds of drawn patients as a population: the body, what people bring along, and what is usual at an age.

No disease file changes these. Where patients may err, or an instrument may, a share of contradictions is allowed; it is
exceeded where a Wilson interval of 95 % lies above it, so that chance alone fails nothing.
"""

from pathlib import Path

import pytest
from tests.tables import each_row

from polyclinic.generation.checks import checked
from polyclinic.generation.draw import draw_patients
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.physiology import physiology_of
from polyclinic.statistics.uncertainty import wilson
from polyclinic.yaml_files import read_yaml

KNOWLEDGE = read_knowledge()
EXPECTED = read_yaml(Path(__file__).with_name("population.yaml"), dict)
SEVERAL, ENOUGH = 3, 30  # contradictions, and people of an age and sex: fewer can be chance
BANDS = ((0, 0), (1, 1), (2, 5), (6, 11), (12, 17), (18, 44), (45, 64), (65, 120))
ONE_OF_MANY = 3.29  # standard deviations: of more than a hundred groups one in twenty would fail by chance

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def patients():
    return [checked(drawn, KNOWLEDGE) for drawn in draw_patients(KNOWLEDGE, n=900, seed=660013)]


def is_touched(patient, *quantities):
    """Whether its disease changes one of some quantities, or has a criterion on it."""
    body, ways = patient.body, patient.body.ways[patient.severity]
    return any(q in body.quantities or any(q in way.numbers or q in way.states for way in ways) for q in quantities)


def bleeds(patient):
    """Whether it bleeds so that the stools are black, or tells black stools in an illness that may."""
    bled = patient.drawn.body.shown.get("gut_bleeding", "") == "black"
    return bled or ("black_stools" in patient.present and is_touched(patient, "gut_bleeding"))


PAIRS = {
    # Fever comes and goes, and is not always felt.
    "a high fever is told, and less than 37.5 measured": (
        2,
        lambda p: "high_fever" in p.present,
        lambda p: (p.number("temperature") or 0) < 37.5,
    ),
    "39 or more is measured, and no fever told": (
        3,
        lambda p: (p.number("temperature") or 0) >= 39,
        lambda p: "fever" not in p.present,
    ),
    # A slow fibrillation can feel regular, and extra beats irregular.
    "atrial fibrillation in the ECG, and a pulse that is not irregular": (
        5,
        lambda p: p.text("ecg") == "absent_p",
        lambda p: p.text("rhythm") != "irregular",
    ),
    "an irregular pulse without atrial fibrillation in the ECG": (
        1,
        lambda p: p.text("ecg") not in ("", "absent_p"),
        lambda p: p.text("rhythm") == "irregular",
    ),
    # Iron and liquorice blacken stools too, and a test can miss.
    "bleeding that blackens the stools, and a negative test for blood": (
        5,
        bleeds,
        lambda p: p.text("occult_blood") == "negative",
    ),
}


@each_row("what", PAIRS)
def test_what_is_told_and_found_agrees(patients, what):
    allowed, of, contradicts = PAIRS[what]
    looked_at = [patient for patient in patients if of(patient)]
    failed = [patient.line(what) for patient in looked_at if contradicts(patient)]
    assert len(failed) < SEVERAL or wilson(len(failed), len(looked_at))[0] <= allowed, failed


def test_vital_signs_and_blood_counts_are_normal_where_no_illness_touches_them(patients):
    physiology, groups = physiology_of(KNOWLEDGE), {}
    for id in EXPECTED["normal"]:
        of = physiology.derived[id].of if id in physiology.derived else (id,)
        for patient in patients:
            value = patient.number(id)
            if value is None or is_touched(patient, *of):
                continue
            low, high = physiology.range(physiology.places[id][1], patient.age, patient.sex)
            band = next(band for band in BANDS if patient.age < band[1] + 1)
            inside = (low is None or value >= low) and (high is None or value <= high)
            groups.setdefault((id, patient.sex, band), []).append(inside)
            groups.setdefault((id,), []).append(inside)
    assert len(groups) > 50
    for group, inside in groups.items():
        if len(inside) >= ENOUGH:
            z = ONE_OF_MANY if len(group) > 1 else 1.959964
            assert wilson(sum(inside), len(inside), z=z)[1] >= 95, group


def test_children_have_no_more_chronic_illness_of_adults_than_published(patients):
    there = KNOWLEDGE.symptoms.keys() | physiology_of(KNOWLEDGE).places.keys()
    looked_at = 0
    for id, expected in EXPECTED["in_children"].items():
        texts, has = expected.get("texts", ()), []
        for patient in patients:
            if patient.age >= 13 or id in patient.disease.symptoms or id not in there:
                continue
            if not texts:
                has.append(id in patient.present)
            elif id in patient.shown and not is_touched(patient, id):
                has.append(patient.text(id) in texts)
        if len(has) >= ENOUGH:
            looked_at += 1
            assert wilson(sum(has), len(has))[0] <= expected["at_most"], id
    assert looked_at > 5
