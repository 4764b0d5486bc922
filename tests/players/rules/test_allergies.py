"""What stands under allergies is told, also where a chart writes the substance alone, and never denied."""

import pytest
from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.players.rules.recall import recall
from polyclinic.players.rules.story import Story

ASKED = {"en": "Are you allergic to anything?", "zh": "您对什么东西过敏吗？"}
"""The first ten of each language were seen when it was made; the others were written before.

They were looked at once: 19 of 20 were told. Of ten that were written after that, six came out rightly, and the other
four in kind stand here and below.
"""

BARE = {
    "en": (
        *("Penicillin", "amoxicillin (rash)", "Sulfa drugs", "Latex", "aspirin, ibuprofen", "peanuts", "codeine"),
        *("bee venom", "Cephalosporins (anaphylaxis 2015)", "contrast medium"),
        *("shellfish", "Bactrim", "tetracycline & macrolides", "cat hair", "eggs", "iodine", "co-amoxiclav (hives)"),
        *("house dust mites", "nickel", "Morphine, tramadol (itching)", "metoclopramide (dystonia), grass pollen"),
    ),
    "zh": (
        *(
            "青霉素",
            "头孢类、磺胺类药物",
            "阿莫西林（皮疹）",
            "海鲜",
            "花粉",
            "乳胶",
            "阿司匹林",
            "鸡蛋",
            "碘造影剂",
            "破伤风抗毒素",
        ),
        *(
            "磺胺",
            "芒果",
            "牛奶、花生",
            "左氧氟沙星",
            "尘螨",
            "链霉素（耳鸣）",
            "酒精",
            "布洛芬",
            "虾蟹",
            "普鲁卡因",
            "头孢曲松（皮疹）、芒果",
        ),
    ),
}
NONE = {
    "en": ("NKDA", "none", "Nil", "No known drug allergies", "n/a", "None.", "Denies", "Negative"),
    "zh": ("无", "不详", "否认药物过敏史", "暂无"),
}
"""Nothing to be told as an allergy."""


def told(language, allergies, question):
    complaint = "发热两天" if language == "zh" else "Fever for two days"
    record = Record(
        presentation=Presentation(complaint=complaint, language=language), history=History(allergies=allergies)
    )
    lexicon = Lexicon(read_knowledge().symptoms.values(), language)
    return recall(question, Story(record, lexicon), lexicon)


@pytest.mark.slow
@each_row(["language", "text"], [(language, text) for language in BARE for text in BARE[language]])
def test_a_substance_alone_is_an_allergy(language, text):
    found = told(language, text, ASKED[language])
    said = " ".join(fact.text for fact in found.told)
    assert text.rstrip(".") in said and ("allergic" in said or "过敏" in said) and not found.lack


@each_row(["language", "text"], [(language, text) for language in NONE for text in NONE[language]])
def test_that_there_is_none_is_no_allergy(language, text):
    found = told(language, text, ASKED[language])
    assert all(fact.denied or fact.text == text for fact in found.told) and "allergic to" not in str(found.told)


@pytest.mark.parametrize(
    ("language", "text", "asked"),
    [("en", "Penicillin", "Are you allergic to pollen?"), ("zh", "青霉素", "您对花粉过敏吗？")],
)
def test_another_than_is_asked_for_is_not_denied_with_it(language, text, asked):
    """Who is allergic to penicillin may say no to pollen; not that there is no allergy at all."""
    found = told(language, text, asked)
    assert found.told or found.lack == "nothing like that"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "He is intolerant of lactose"),
        ("en", "Cannot take Brufen"),
        ("zh", "对尘土敏感"),
    ],
)
def test_what_is_told_in_other_words_is_told_as_it_stands(language, text):
    found = told(language, text, ASKED[language])
    assert found.told and not found.lack
    assert all(fact.text in text for fact in found.told)


@each_row(
    ["language", "text"],
    [
        *(("en", text) for text in ("Unknown", "Not known", "Unknown allergies", "Allergies: unknown", "Unclear")),
        *(("en", text) for text in ("Allergy status unknown", "Drug allergies: not known")),
        *(("zh", text) for text in ("未知", "过敏史不详", "药物过敏史：不清楚", "过敏史：未知")),
    ],
)
def test_what_nobody_knows_is_not_told_as_an_allergy(language, text):
    found = told(language, text, ASKED[language])
    assert not found.told and found.lack
