"""Which language it is, clauses, yes and no, content words, and the search for terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.language.clauses import clauses, denies
from polyclinic.language.content_words import stem, terms
from polyclinic.language.folding import Folded, fold_term, stands_in, tidy
from polyclinic.language.language import capitalised, chinese_characters, is_chinese, language_of


def test_chinese_reaches_from_the_first_extension_to_the_end_of_the_common_block():
    assert is_chinese("a 㐀") and is_chinese("龥b") and not is_chinese("カタカナ, é, °C")
    assert chinese_characters("血常规: WBC 9.1") == 3


def test_the_language_is_what_it_is_mainly_in():
    assert language_of(["血常规: WBC 9.1"]) == "zh"
    assert language_of(["The sign (征) was absent"]) == "en"
    assert language_of([]) == "en"


def test_capitals():
    assert [capitalised(text) for text in ("dry cough", "干咳", "")] == ["Dry cough", "干咳", ""]


def test_clauses():
    assert clauses("Cough, fever and chills; 3", "en") == ["Cough", "fever", "chills"]
    assert clauses("咳嗽伴发热，乏力", "zh") == ["咳嗽", "发热", "乏力"]


@each_row(
    ("text", "language", "denied"),
    [
        ("No, I have no cough.", "en", True),
        ("I have not had that.", "en", True),
        ("Yes, a little.", "en", False),
        ("Since Monday.", "en", None),
        ("没有。", "zh", True),
        ("医生，您能说具体一点吗？", "zh", True),
        ("是的", "zh", False),
        ("三天了", "zh", None),
    ],
)
def test_yes_and_no(text, language, denied):
    assert denies(text, language) is denied


def test_english_terms_are_stems_and_synonyms_are_one():
    assert terms("Do you have any coughing or coughs?", "en") == ["cough", "cough"]
    assert stem("tummy") == stem("abdominal") == stem("stomach")
    assert terms("Have you had any illnesses?", "en") == ["illness"]
    assert terms("Are you ill?", "en") == []


def test_chinese_terms_are_bigrams_and_synonyms_are_one():
    assert terms("请问您有没有发烧？", "zh") == terms("发热", "zh") == ["发热", "热"]
    assert terms("B超", "zh") == terms("彩超", "zh") == ["超声"]
    assert terms("头 ct", "zh") == ["CT"]


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("He has a\n  heart  attack.", "Heart attack"),
        ("诊断： 肺 炎", "肺炎"),
        ("Ｃｒｏｈｎ‘s disease", "Crohn's disease"),
        ("acute (ALL)", "ALL"),
    ],
)
def test_a_term_is_found_in_any_form(text, term):
    assert stands_in(text, [term]) == term


@pytest.mark.parametrize(
    ("text", "term"), [("all of it", "ALL"), ("gouty", "gout"), ("11.4 mg", "1.4 mg"), ("12", "2")]
)
def test_a_term_is_found_as_a_whole(text, term):
    assert stands_in(text, [term]) is None


@given(st.text("abAB 咳嗽,.-“'1", max_size=20), st.text("ab咳嗽", min_size=1, max_size=6))
def test_what_is_found_stands_there(text, term):
    at = Folded(text).find(fold_term(term))
    assert at < 0 or Folded(text).plain[at:].startswith(fold_term(term))


@given(st.text(st.characters(max_codepoint=127), max_size=20))
def test_a_text_of_plain_letters_is_made_ready_as_any_other(text):
    assert tidy(f"-{text}-é") == f"{tidy(f'-{text}-')}é"
