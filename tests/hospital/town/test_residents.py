"""Residents: the same for the same seed, whatever the order and the number; and models that write them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.errors import BadInput, Refused
from polyclinic.hospital.town.profiles import write_profiles
from polyclinic.hospital.town.residents import BANDS, SEXES, Residents, read_templates
from polyclinic.knowledge.ages import AGE_BANDS
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.language.folding import fold_term, stands_in
from polyclinic.models.scripted import Scripted

LANGUAGES = ("en", "zh")


@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 300), st.data())
def test_a_resident_depends_on_seed_and_number_alone(seed, few, many, data):
    number = data.draw(st.integers(0, min(few, many) - 1))
    one, other = Residents(few, seed), Residents(many, seed)
    expected = one[number]
    list(other)
    assert other[number] == expected
    assert (int(one.ages[number]), SEXES[one.sexes[number]]) == (expected.age, expected.sex)
    assert expected.age in range(AGE_BANDS[BANDS[one.bands[number]]][0], AGE_BANDS[BANDS[one.bands[number]]][1] + 1)


def test_seeds_differ_and_languages_share_ages():
    assert list(Residents(50, 1)) != list(Residents(50, 2))
    english, chinese = list(Residents(50, 1)), list(Residents(50, 1, language="zh"))
    assert [(r.id, r.age, r.sex, r.avoid) for r in english][:5] != []
    assert [(r.id, r.age, r.sex) for r in english] == [(r.id, r.age, r.sex) for r in chinese]
    assert all(r.person.about == f"{r.name}，{r.occupation}" for r in chinese)


def test_the_town_is_as_old_as_its_templates_say():
    town, n = read_templates().town, 20_000
    everybody = Residents(n, 5)
    assert sum(town.age.values()) == pytest.approx(1)
    assert town.shares().sum() == pytest.approx(1)
    for place, band in enumerate(BANDS):
        there = everybody.bands == place
        for share, expected, of in (
            (there.mean(), town.age[band], n),
            ((everybody.sexes[there] == 0).mean(), town.female[band], there.sum()),
        ):
            assert abs(share - expected) < 4 * (expected * (1 - expected) / of) ** 0.5
        years = np.bincount(everybody.ages[there], minlength=91)[slice(AGE_BANDS[band][0], AGE_BANDS[band][1] + 1)]
        assert years.sum() == there.sum()
        assert years.min() > 0


def test_what_is_not_tolerated_and_taken_stands_in_the_history_too():
    everybody = list(Residents(4000, 3))
    avoiding = [r for r in everybody if r.avoid]
    assert 0.07 < len(avoiding) / len(everybody) < 0.14
    assert all(bool(r.avoid) == bool(r.history.allergies) for r in everybody)
    assert all(bool(r.takes) == bool(r.history.medications) for r in everybody)
    assert all(r.sex == "male" and r.age >= 45 for r in everybody if "G04CA02" in r.takes)
    assert all(r.history.personal for r in everybody)


@pytest.mark.parametrize("language", LANGUAGES)
def test_templates_name_no_disease_and_nothing_that_an_illness_brings(language):
    knowledge, templates = read_knowledge(), read_templates()
    lexicon = Lexicon(knowledge.symptoms.values(), language)
    names = [fold_term(name) for disease in knowledge.diseases.values() for name in disease.names()]
    said = [text for table in (templates.households, templates.habits) for texts in table.values() for text in texts]
    said += [condition.text for condition in templates.conditions]
    said += [condition.drug for condition in templates.conditions if condition.drug is not None]
    said += templates.intolerances
    for text in said:
        assert not lexicon.mentions(text.get(language)), text
        assert stands_in(text.get(language), names) is None, text


def test_every_band_has_templates_in_the_people_and_the_profiles():
    templates = read_templates()
    for table in (templates.households, templates.habits, templates.town.age, templates.town.female):
        assert set(table) == set(BANDS)
    assert {band for condition in templates.conditions for band in condition.share} <= set(BANDS)


@pytest.mark.parametrize("number", [-31, 30])
def test_numbers_beyond_the_town(number):
    with pytest.raises(IndexError):
        Residents(30, 1)[number]


def draft(**changes):
    return {
        "household": "Lives on a boat with a sister.",
        "habits": ["Mends nets."],
        "past": "",
        "about": "Tall.",
        **changes,
    }


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_model_writes_residents_and_what_it_may_not_say_is_counted(language):
    town = Residents(5, 9, language=language)
    answers = [
        draft(past="Built ships."),
        Refused("no people"),
        draft(about="Has asthma." if language == "en" else "患有哮喘。"),
        draft(habits=[]),
        draft(),
    ]
    seen = []

    def answer(said):
        seen.append(said)
        number = next(n for n, r in enumerate(town) if r.name in said[-1][1] and str(r.age) in said[-1][1])
        return answers[number]

    written, failures = await write_profiles(list(town), Scripted(answer), read_knowledge())
    assert set(written) == {"r00001", "r00005"}
    assert failures == Counter(Refused=1, NamesDisease=1, UnreadableReply=1)
    told = town.having(profiles=written)
    assert told[0].household == "Lives on a boat with a sister."
    assert told[0].conditions == (*town[0].conditions, "Built ships.")
    assert (told[0].allergies, told[0].avoid, told[0].age) == (town[0].allergies, town[0].avoid, town[0].age)
    assert told[0].person.about.startswith(town[0].person.about)
    assert told[0].person.about.endswith("Tall.")
    assert list(told)[1:4] == list(town)[1:4]
    # What is stable comes first, and nobody is told of an illness.
    assert len({said[0][1] for said in seen}) == 1


async def test_a_wrong_key_ends_the_writing():
    def answer(said):
        raise BadInput("another key")

    with pytest.raises(BadInput):
        await write_profiles(list(Residents(3, 1)), Scripted(answer), read_knowledge())


def test_many_residents_cost_little_until_they_are_asked_for():
    everybody = Residents(1_000_000, 1)
    assert everybody.ages.nbytes + everybody.bands.nbytes + everybody.sexes.nbytes == 3_000_000
    assert everybody[999_999].id == "r1000000"
