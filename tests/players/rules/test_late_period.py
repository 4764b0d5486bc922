"""Whether a period is late is answered from when the last one was: late when that is longer ago than the cycle."""

import random

from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.events import Role, Said
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.names import Names
from polyclinic.language.clauses import denies
from polyclinic.players.player import REPLY
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.patient import RulesPatient

KNOWLEDGE = read_knowledge()
LEXICONS = {language: Lexicon(KNOWLEDGE.symptoms.values(), language) for language in ("en", "zh")}
NAMES = Names(KNOWLEDGE)
COMPLAINTS = {"en": "A belly ache for 2 days", "zh": "肚子疼2天"}


async def reply(language, personal, question, **more):
    presentation = Presentation(complaint=COMPLAINTS[language], language=language, sex="female", age=30)
    record = Record(presentation=presentation, history=History(personal=personal, **more))
    patient = Patient(RulesPatient(LEXICONS, NAMES, random.Random(1)), record)
    patient.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=question))
    return (await patient.act(REPLY)).say


WHEN = [
    ("en", "How long is it since your last period?"),
    ("en", "How many weeks ago was your last period?"),
    ("en", "When was your last period?"),
    ("zh", "末次月经什么时候？"),
    ("zh", "距离上次来月经多久了？"),
    ("zh", "您多久没来月经了？"),
]


@each_row(["language", "question"], WHEN)
async def test_how_long_ago_the_last_period_was_is_told(language, question):
    told = {"en": "The last period was 7 weeks ago.", "zh": "末次月经是7周前。"}[language]
    said = await reply(language, told, question)
    assert ("7 weeks ago" in said or "7周前" in said) and COMPLAINTS[language][2:8] not in said
    assert denies(said, language) is None


LATE = [
    ("en", "The last period was 7 weeks ago.", True),
    ("en", "LMP six weeks ago", True),
    ("en", "Last period 3 weeks ago.", False),
    ("en", "The last period of a regular cycle was 12 days ago.", False),
    ("en", "Her last period was 5 weeks ago; her cycle is 40 days.", False),
    ("en", "The last period was about 5 weeks ago and the cycle is 35 to 40 days.", False),
    ("en", "The last period was about 7 weeks ago and the cycle is 35 to 40 days.", True),
    # What she took for a period, a date, a pregnancy and the end of all periods say nothing of a late one.
    ("en", "The last proper period was 7 weeks ago and what has come since is lighter and darker than a period.", None),
    ("en", "LMP was March 3.", None),
    ("en", "The last period before the pregnancy was 20 weeks ago.", None),
    ("en", "There have been no more periods since the age of 50.", None),
    ("zh", "末次月经是7周前。", True),
    ("zh", "末次月经大约是5周前且周期35到40天。", False),
    ("zh", "末次月经大约是八周前且周期35到40天。", True),
    ("zh", "月经规律且末次月经是12天前。", False),
    ("zh", "末次月经五十三天前", True),
    ("zh", "末次正常月经是7周前而之后的出血少于平时月经。", None),
    ("zh", "怀孕前末次月经是20周前。", None),
    ("zh", "50岁绝经。", None),
]
IS_LATE = {
    "en": ("Is your period late?", "Have you missed a period?", "Are you late?", "Is your menstruation overdue?"),
    "zh": ("月经推迟了吗？", "您的月经推迟了吗？", "这次月经晚了吗？"),
}


@each_row(["language", "personal", "late", "question"], [(*row, asked) for row in LATE for asked in IS_LATE[row[0]]])
async def test_a_period_is_late_when_the_last_is_longer_ago_than_the_cycle(language, personal, late, question):
    said = await reply(language, personal, question)
    assert denies(said, language) == (None if late is None else not late)
    told = personal.split(";")[0].rstrip(".。")
    assert told[-6:] in said


async def test_who_said_that_she_missed_none_is_not_made_to_say_otherwise():
    said = await reply("en", "The last period was 7 weeks ago.", "Is your period late?", review="No missed period.")
    assert denies(said, "en") is None and "7 weeks" in said


OTHERS = [
    ("How old were you when your periods first started?", "7 weeks"),
    ("Are your periods painful?", "7 weeks"),
    ("How long have you had the belly ache?", "7 weeks"),
    ("Is it late at night that it hurts?", "7 weeks"),
]


@each_row(["question", "not_told"], OTHERS)
async def test_what_is_asked_of_something_else_is_not_answered_by_it(question, not_told):
    assert not_told not in await reply("en", "The last period was 7 weeks ago.", question)


async def test_without_a_last_period_in_the_record_nothing_is_made_up():
    assert denies(await reply("en", "Non-smoker.", "Is your period late?"), "en") is True
    assert "ago" not in await reply("en", "Non-smoker.", "How long is it since your last period?")
