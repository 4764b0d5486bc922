"""At the counter: what is withheld is replaced by the next alternative of its measure, by rules and by others alike."""

import asyncio

from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.hospital.care.clinic import at_counter
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.safety import Known
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.player import Dispensing, Withheld
from polyclinic.players.rules.staff import RulesPharmacist

DRUGS = read_knowledge().drugs


def come(measures, *, mind=None, age=40, **known):
    wanted = [[DRUGS[drug] for drug in measure.split()] for measure in measures]
    presentation = Presentation(complaint="cough", age=age)
    at = asyncio.run(at_counter(mind or RulesPharmacist(), presentation, Known(**known), wanted))
    given = [None if n is None else drugs[n].id for drugs, n in zip(wanted, at.given, strict=True)]
    return at, given


@each_row(
    ("measures", "known", "given", "instead", "lacking"),
    [
        (["amoxicillin azithromycin", "paracetamol"], {}, ["amoxicillin", "paracetamol"], {}, ()),
        (
            ["amoxicillin azithromycin", "paracetamol"],
            {"allergies": "penicillin"},
            ["azithromycin", "paracetamol"],
            {"amoxicillin": "azithromycin"},
            (),
        ),
        (
            ["amoxicillin amoxicillin-clavulanate doxycycline"],
            {"allergies": "penicillin"},
            ["doxycycline"],
            {"amoxicillin": "doxycycline", "amoxicillin-clavulanate": "doxycycline"},
            (),
        ),
        (["amoxicillin"], {"allergies": "penicillin"}, [None], {}, ("amoxicillin",)),
        (
            ["amoxicillin doxycycline"],
            {"allergies": "penicillin", "age": 7},
            [None],
            {},
            ("amoxicillin", "doxycycline"),
        ),
        # What stands in is held against the rest of the prescription too.
        (
            ["aspirin ibuprofen paracetamol", "naproxen"],
            {"age": 15, "past": ""},
            ["ibuprofen", None],
            {"aspirin": "ibuprofen"},
            ("naproxen",),
        ),
        (["ibuprofen", "ibuprofen paracetamol"], {}, ["ibuprofen", "paracetamol"], {}, ()),
        (["metformin sitagliptin"], {"egfr": 20.0}, ["sitagliptin"], {"metformin": "sitagliptin"}, ()),
        ([], {}, [], {}, ()),
    ],
)
def test_one_drug_of_each_measure(measures, known, given, instead, lacking):
    at, got = come(measures, **known)
    assert got == given
    assert at.instead == instead
    assert at.lacking() == lacking
    assert set(at.withheld) == {*instead, *lacking}


def test_somebody_else_is_asked_again_about_what_stands_in():
    asked = []

    class Strict:
        name = "strict"

        async def answer(self, ask, role):
            asked.append(ask.among)
            return Dispensing(tuple(Withheld(d, "no") for d in ask.among if d in ("amoxicillin", "azithromycin")))

    mind = Strict()
    at, given = come(["amoxicillin azithromycin doxycycline", "paracetamol"], mind=mind)
    assert given == ["doxycycline", "paracetamol"]
    assert asked == [("amoxicillin", "paracetamol"), ("azithromycin", "paracetamol"), ("doxycycline", "paracetamol")]
    assert at.withheld == {"amoxicillin": "no", "azithromycin": "no"}


def test_nobody_is_asked_again_where_nothing_can_stand_in():
    mind = ScriptedMind([{"withheld": [{"drug": "paracetamol", "reason": "no"}]}])
    at, given = come(["paracetamol", "oseltamivir"], mind=mind)
    assert given == [None, "oseltamivir"]
    assert at.lacking() == ("paracetamol",)
