"""Words as data: how a list is read, and that what ships can be read in both languages."""

import re

import msgspec
import pytest
from tests.tables import each_row

from polyclinic.cases.loaders import agentclinic, ai_hospital, chinese_findings, tor
from polyclinic.generation import draw
from polyclinic.knowledge import examination_words, lexicon, name_table
from polyclinic.language import clauses, content_words
from polyclinic.language import content_words as overlap
from polyclinic.language.language import LANGUAGES
from polyclinic.language.word_lists import Pattern, Rule, WordLists, lazy_pattern, rewritten
from polyclinic.players.rules import patient as hearing
from polyclinic.players.rules import patient as orders
from polyclinic.players.rules import questions, sayings, story, topics, wording
from polyclinic.players.rules import wording as speech

SECTIONS = [
    clauses.clause_words,
    lexicon._durations,
    examination_words._words,
    name_table._words,
    draw._sentences,
    hearing._cues,
    orders._orders,
    questions._forms,
    speech._speech,
    story._cuts,
    tor._words,
    topics._section,
    sayings.doctor_sayings,
    sayings.general_questions,
    sayings.director_sayings,
    sayings.nurse_sayings,
    sayings.pharmacist_sayings,
    questions._rules,
    questions._names,
]
OF_ONE_LANGUAGE = [
    (agentclinic._keys, "en"),
    (ai_hospital._history_keys, "zh"),
    (chinese_findings._systems, "zh"),
    (content_words._english, "en"),
    (content_words._chinese, "zh"),
    (overlap._words, "en"),
    (wording._english, "en"),
    (wording._chinese, "zh"),
]


class Words(msgspec.Struct, forbid_unknown_fields=True):
    heard: Pattern
    said: tuple[Rule, ...] = ()


def lists(folder, text, **patterns) -> WordLists:
    for language in LANGUAGES:
        (folder / f"words.{language}.yaml").write_text(text, encoding="utf-8")
    return WordLists(folder / "words", **patterns)


@pytest.mark.parametrize(
    ("text", "found", "not_found"),
    [
        ("{part: {heard: [cough, smok…]}}", ["COUGH!", "smoking", "a smoker"], ["coughs", "chainsmoker"]),
        ("{part: {heard: 'cough|cold'}}", ["coughs"], ["fever"]),
        ("{part: {heard: '{a} of {b}', words: {a: [pain, ache], b: ['{a}', head]}}}", ["ache of head"], ["pain"]),
        ("{part: {heard: []}}", [], ["", "anything"]),
        ("{part: {heard: ['{given} scan']}}", ["a CT scan"], ["X scan"]),
    ],
)
def test_what_a_list_finds(tmp_path, text, found, not_found):
    words = lists(tmp_path, text, given="(?:CT|MRI)").section("part", Words)("en")
    assert all(words.heard.search(one) for one in found)
    assert not any(words.heard.search(one) for one in not_found)


def test_chinese_words_are_found_anywhere(tmp_path):
    assert lists(tmp_path, "{part: {heard: [咳嗽]}}").section("part", Words)("zh").heard.search("我咳嗽了")


def test_rules_are_applied_one_after_the_other(tmp_path):
    rules = lists(tmp_path, "{part: {heard: [], said: [[a, b], ['(b)b', '\\1c']]}}").section("part", Words)("zh").said
    assert rewritten("ab", rules) == "bc"


def test_a_section_is_read_once_and_when_it_is_needed(tmp_path):
    section = lists(tmp_path, "{part: {heard: [cough]}}").section("part", Words)
    first = section("en")
    (tmp_path / "words.en.yaml").unlink()
    assert section("en") is first


def test_what_nobody_knows_is_refused(tmp_path):
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        lists(tmp_path, "{part: {heard: [cough], herd: [cough]}}").section("part", Words)("en")


def compile_all(words):
    """Compiles every pattern of a section, which otherwise waits until it is used."""
    if isinstance(words, Pattern):
        words.search("")
    elif isinstance(words, msgspec.Struct):
        compile_all([getattr(words, field) for field in words.__struct_fields__])
    elif isinstance(words, dict):
        compile_all(list(words.values()))
    elif isinstance(words, list | tuple):
        for part in words:
            compile_all(part)


@each_row("section", SECTIONS)
def test_what_ships_holds_the_same_in_both_languages(section):
    assert type(section("en")) is type(section("zh"))
    compile_all([section(language) for language in LANGUAGES])


@each_row(("section", "language"), OF_ONE_LANGUAGE)
def test_what_ships_in_one_language(section, language):
    assert section(language) is section(language)
    compile_all(section(language))


def test_a_pattern_waits_until_it_is_used():
    pattern = lazy_pattern("(", re.IGNORECASE)
    with pytest.raises(re.error):
        pattern.search("cough")
    with pytest.raises(AttributeError):
        _ = pattern.finds


def test_both_languages_speak_of_the_same_things():
    said = [speech._speech(language).phrases for language in LANGUAGES]
    assert said[0].keys() == said[1].keys()
    for language in LANGUAGES:
        assert {topic.unknown for topic in topics._section(language)["topics"]} <= said[0].keys()


def test_a_word_that_yaml_takes_for_something_else_is_named(tmp_path):
    with pytest.raises(msgspec.ValidationError, match="in quotes"):
        lists(tmp_path, "{part: {heard: [yes, no]}}").section("part", Words)("en")
