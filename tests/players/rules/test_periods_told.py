"""Who knows when her last period was tells it to whoever asks, in the words that doctors ask in."""

from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.players.rules.recall import recall
from polyclinic.players.rules.story import Story

KNOWN = {"en": "The last period was 7 weeks ago.", "zh": "末次月经是7周前。"}
REGULAR = {"en": "The last period of a regular cycle was 12 days ago.", "zh": "月经规律且末次月经是12天前。"}
COMPLAINTS = {"en": "A belly ache for 2 days", "zh": "肚子疼2天"}


def told(language, personal, question):
    presentation = Presentation(complaint=COMPLAINTS[language], language=language, sex="female", age=30)
    lexicon = Lexicon(read_knowledge().symptoms.values(), language)
    record = Record(presentation=presentation, history=History(personal=personal))
    return " ".join(fact.text for fact in recall(question, Story(record, lexicon), lexicon).told)


ASKED = {
    "en": (
        "When was your last period?",
        "When was the first day of your last menstrual period?",
        "What was your LMP?",
        "When did you last have a period?",
        "When did your last period start?",
    ),
    "zh": (
        "末次月经是什么时候？",
        "停经多久了？",
        "上次来例假是什么时候？",
        "您最后一次月经是哪天？",
        "月经什么时候来的？",
    ),
}


@each_row(["language", "question"], [(language, asked) for language in ASKED for asked in ASKED[language]])
def test_the_last_period_is_told(language, question):
    assert ("7 weeks" if language == "en" else "7周前") in told(language, KNOWN[language], question)


def test_whether_the_cycle_is_regular_is_told_and_smoking_is_not():
    assert "regular" in told("en", REGULAR["en"], "Are your periods regular?")
    assert "规律" in told("zh", REGULAR["zh"], "月经规律吗？")
    assert told("en", REGULAR["en"], "Do you smoke?") == told("zh", REGULAR["zh"], "您抽烟吗？") == ""


def test_who_has_no_periods_says_so():
    assert "no more periods" in told("en", "There have been no more periods since the age of 50.", "When was your LMP?")
    assert "绝经" in told("zh", "50岁绝经。", "末次月经是什么时候？")
