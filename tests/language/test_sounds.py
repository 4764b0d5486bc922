"""What is written by ear sounds like what is meant, and other words do not."""

import pytest

from polyclinic.language.disguises import heard, is_pinyin, pinyin, sound


@pytest.mark.parametrize(
    ("heard_as", "meant"),
    [
        ("asma", "asthma"),
        ("newmonia", "pneumonia"),
        ("soriasis", "psoriasis"),
        ("zosta", "zoster"),
        ("ekzema", "eczema"),
    ],
)
def test_words_that_sound_alike_have_one_key(heard_as, meant):
    assert sound(heard_as) == sound(meant)


def test_other_words_have_others():
    words = ("asthma", "pneumonia", "gout", "goitre", "stroke", "strike", "sepsis", "herpes")
    assert len({sound(word) for word in words}) == len(words)


def test_characters_are_compared_by_their_syllables():
    assert heard("水豆", tones=True) == heard("水痘", tones=True)
    assert heard("通风", tones=True) != heard("痛风", tones=True)
    assert heard("通风", tones=False) == heard("痛风", tones=False)
    assert pinyin("脑梗死") == "naogengsi" and pinyin("A流") == ""
    assert is_pinyin("naogengsi") and not is_pinyin("stroke")
