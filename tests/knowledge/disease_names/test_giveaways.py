"""What gives a disease away is found as it is said; what everybody may say, and what means something else, is not."""

import os
import re
import time

import pytest

from polyclinic.knowledge.disease_names import running_text as kept_words
from polyclinic.knowledge.disease_names.giveaways import (
    codes_like,
    giveaway_rows,
    giveaways,
    in_other_sense,
    is_code,
    read_giveaways,
)
from polyclinic.knowledge.disease_names.relation import Relation, reader, relation
from polyclinic.knowledge.disease_names.spelling import units
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.named_in import named_in


def given(text):
    return {(text[one.begin : one.end], one.disease) for one in giveaways(text) if one.is_sure}


@pytest.mark.parametrize(
    ("text", "said", "disease"),
    [
        ("my thyroid was overactive", "thyroid was overactive", "hyperthyroidism"),
        ("a clot in her lung", "clot in her lung", "pulmonary embolism"),
        ("they grew S. pneumoniae", "S. pneumoniae", "pneumonia"),
        ("it is Koch's bacillus", "Koch's bacillus", "tuberculosis"),
        ("查出A流", "A流", "influenza a"),
        ("外院说J10.1", "J10.1", "influenza"),
        ("code j10.1 it says", "j10.1", "influenza"),
    ],
)
def test_it_is_found_in_whatever_form(text, said, disease):
    assert (said, disease) in given(text)


@pytest.mark.parametrize("text", ["一直流清涕", "a 15 year old", "cold air", "the gas cooker", "vitamin B12 tablets"])
def test_what_anybody_may_say_gives_nothing_away(text):
    assert given(text) == set()


def test_every_row_is_of_a_known_disease_and_has_codes_of_the_who():
    for disease, row in giveaway_rows():
        assert reader().known(disease).meaning.plain, disease
        for code in filter(None, row.code.split("; ")):
            assert re.fullmatch(r"[A-Z]\d\d(?:\.\d)?", code), (disease, code)


def test_no_complaint_is_said_of_one_disease_alone():
    named = {units(name) for one in read_knowledge().symptoms.values() for name in (one.name.en, one.name.zh)}
    felt = {
        phrase
        for _, row in giveaway_rows()
        for texts in (row.en, row.zh)
        for phrase in texts.split("; ")
        if phrase and (units(phrase) in named or len(phrase) < 2)
    }
    assert felt == set()


def test_codes_are_those_of_the_knowledge():
    for disease in read_knowledge().diseases.values():
        assert is_code(disease.icd10)
        found = [one.disease for one in giveaways(f"it says {disease.icd10} here")]
        related = {relation(name, disease.name.en) for name in found} - {Relation.DIFFERENT}
        assert related, disease.id
    assert [*codes_like("J10.1", "J10, J10.0 and J10.1")] == [(0, 3), (15, 20)]


@pytest.mark.parametrize(
    "text", ["We empty the septic tank.", "I stroke the cat", "发传单", "my flu shot", "twelve stone"]
)
def test_a_name_in_another_sense_names_nothing(text):
    assert [*in_other_sense(text)]
    diseases = ("Sepsis", "Ischaemic Stroke", "传染性单核细胞增多症", "Influenza A", "Kidney stone")
    assert not [one for one in named_in(text, diseases) if one.is_sure]


def test_what_other_versions_kept_goes_when_nobody_uses_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "polyclinic"
    folder.mkdir()
    old, lately, another = (
        folder / name for name in ("names-0123456789abcdef", "names-fedcba9876543210", "names-list")
    )
    for file in (old, lately, another):
        file.touch()
    for file in (old, another):
        os.utime(file, (time.time() - 3 * 24 * 60 * 60,) * 2)
    kept_words.keep(reader()._words, reader().learnt, read_giveaways())
    left = {file.name for file in folder.iterdir()}
    assert old.name not in left and {lately.name, another.name} < left and len(left) == 3
