"""Findings in others' words are read as what they say, and what cannot be read is left."""

from math import inf
from pathlib import Path

import msgspec
import pytest
from tests.tables import each_row

from polyclinic.cases.record import Finding
from polyclinic.generation.draw import generate
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.reading import PatientReading
from polyclinic.knowledge.results import ItemReading, ResultReader, item_words, panels_of
from polyclinic.language.language import LANGUAGES
from polyclinic.yaml_files import read_yaml

TABLE = read_yaml(Path(__file__).with_name("results.yaml"), list[tuple[str, str, str | float, str]])


@pytest.fixture(scope="module")
def results():
    return ResultReader(read_knowledge())


@pytest.fixture(scope="module")
def reader():
    return Reader(read_knowledge(), something_else=0.04)


def _as_written(reading: ItemReading) -> str:
    if reading.values:
        return f"{reading.item}: {'|'.join(sorted(reading.values))}"
    low, high = ("" if abs(end) == inf else f"{end:.3g}" for end in (reading.low, reading.high))
    return f"{reading.item}: {low if reading.low == reading.high else f'{low}..{high}'}"


@pytest.mark.slow
@each_row(("examination", "item", "value", "expected"), TABLE)
def test_it_is_read_as_it_is_meant(results, examination, item, value, expected):
    read = results.read(Finding(examination=examination, item=item, value=str(value)))
    shown = "; ".join(map(_as_written, read.readings))
    assert (shown or ("none" if not read.is_result else "strange" if read.is_strange else "unread")) == expected


def likelihood(reader, says):
    """Returns what a finding says of each disease at each severity, "something else" last."""
    reading = PatientReading(reader.tables, None, None)
    before = reading.log()
    for item in says.items:
        reading.item(item.place[1], item.observed)
    return reading.log() - before


def test_the_knowledges_own_words_are_read_as_what_they_show(reader):
    """Of drawn patients, a finding says the very number or text that was drawn, and is in nobody else's words."""
    for case in generate(read_knowledge(), n=40, seed=3):
        for finding in case.record.findings:
            says = reader.says(finding)
            (item,) = says.items
            assert isinstance(item.observed, str) or item.observed == finding.value
            assert not (says.is_unread or says.is_strange or says.is_in_others_words)


def test_another_unit_says_the_same(reader):
    own = reader.says(Finding(examination="blood test", item="hemoglobin", value=92.0, unit="g/L"))
    other = reader.says(Finding(examination="Hematology", item="Hgb", value="9.2 g/dL"))
    assert other.is_in_others_words and not own.is_in_others_words
    assert likelihood(reader, other)[:-1] == pytest.approx(likelihood(reader, own)[:-1])


def test_much_that_is_normal_does_not_speak_against_something_else(reader):
    """Records of others hold dozens of normal results; something else leaves them normal as well."""
    for examination, item, value in (
        ("Complete blood count", "Platelets", "Normal"),
        ("Chest X-ray", "", "Unremarkable"),
        ("Chemistry", "Creatinine", "0.9 mg/dL"),
    ):
        says = reader.says(Finding(examination=examination, item=item, value=value))
        (item_says,) = says.items
        assert item_says.is_usual
        of_each = likelihood(reader, says)
        assert of_each[-1] > of_each[:-1].mean()


def test_a_raised_value_counts_for_those_who_have_it(reader):
    of_each = likelihood(reader, reader.says(Finding(examination="Labs", item="Uric acid", value="elevated")))
    by_disease = {d.id: of_each[3 * n] for n, d in enumerate(reader.diseases)}
    assert by_disease["gout"] > by_disease["migraine"] + 1


def test_every_word_list_is_of_an_item_and_of_its_values():
    items = {item.id: item for examination in read_knowledge().examinations.values() for item in examination.items}
    for language in LANGUAGES:
        for panel in panels_of(language):
            assert set(panel.split()) <= set(items)
        for id, item in items.items():
            values = item_words(id, language).values
            assert not values or set(values) == set(item.values), (language, id)
    for language in LANGUAGES:
        raw = msgspec.yaml.decode(
            (Path(__file__).parents[2] / f"src/polyclinic/knowledge/results.{language}.yaml").read_bytes()
        )
        assert set(raw["items"]) <= set(items)


@pytest.mark.slow
def test_what_an_item_says_of_itself_is_found_under_its_own_name(results):
    """Each of the knowledge's wordings, in both languages and beside its own name, is read as that wording."""
    wrong = []
    for examination in read_knowledge().examinations.values():
        for item in examination.items:
            for value, name in item.values.items():
                for language in LANGUAGES:
                    text = name.get(language)
                    finding = Finding(
                        examination=examination.name.get(language), item=item.name.get(language), value=f"{text}."
                    )
                    read = [r for r in results.read(finding).readings if r.item == item.id]
                    if not read or value not in read[0].values:
                        wrong.append((item.id, value, language, read))
    assert not wrong
