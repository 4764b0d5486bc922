"""How drugs are found in what somebody prescribed."""

import re

from hypothesis import given
from hypothesis import strategies as st

from polyclinic.knowledge.prescribed import mentions, spans

LETTERS = st.text("aAbß İ-.服药", max_size=12)


@given(LETTERS, LETTERS.filter(bool))
def test_a_name_stands_where_an_expression_finds_it(text, name):
    name = name.casefold()
    word = rf"(?<![a-z]){re.escape(name)}(?![a-z])" if name.isascii() else re.escape(name)
    assert list(spans(text, name)) == [found.span() for found in re.finditer(word, text.casefold())]


def test_an_english_name_is_a_whole_word_and_a_chinese_one_any_part():
    assert mentions("Give INSULIN, 5 units", "insulin")
    assert not mentions("desinsulin and insulins", "insulin")
    assert list(spans("口服阿莫西林阿莫西林", "阿莫西林")) == [(2, 6), (6, 10)]


def test_names_of_all_drugs_are_looked_for_without_compiling_them(monkeypatch):
    compiled = []
    monkeypatch.setattr(re, "compile", lambda *given, **_: compiled.append(given))
    monkeypatch.setattr(re, "finditer", lambda *given, **_: compiled.append(given) or iter(()))
    assert [mentions(f"a{n} once a day", f"a{n}") for n in range(600)] == [True] * 600
    assert compiled == []
