"""What shipped cases record is found by how a doctor asks for it in everyday words, and nothing beside it."""

import functools
from pathlib import Path

import pytest
from tests.tables import each_row

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.shipped import SHIPPED
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.names import Names
from polyclinic.yaml_files import read_yaml

TABLE = read_yaml(Path(__file__).with_name("everyday.yaml"), list[dict[str, list[str]]])


@functools.cache
def recorded(language):
    """Returns a shipped record in a language, its names, and its findings by the knowledge's ids of their items."""
    file = "shipped" if language == "en" else "shipped-zh"
    findings = next(read_cases(SHIPPED[file])).record.findings
    knowledge = read_knowledge()
    ids = {
        (examination.name.get(language), item.name.get(language)): item.id
        for examination in knowledge.examinations.values()
        for item in examination.items
    }
    return Names(knowledge).of(findings), {f: ids[f.examination, f.item] for f in findings}


@each_row("language", ["en", "zh"])
@each_row("entry", TABLE)
def test_what_is_asked_for_in_everyday_words_is_found_and_nothing_else(entry, language):
    names, ids = recorded(language)
    for sentence in entry[language]:
        found, _ = names.look_up(sentence)
        assert {ids[finding] for finding in found} == set(entry["items"]), sentence


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_recorded_finding_is_asked_for_in_three_ways(language):
    _, ids = recorded(language)
    asked = [item for entry in TABLE for item in entry["items"] for _ in entry[language]]
    assert {item for item in ids.values() if asked.count(item) < 3} == set()
