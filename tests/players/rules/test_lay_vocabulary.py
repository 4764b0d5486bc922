"""What everyday words are read as, and what answers what."""

import random

import pytest
from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.events import Role, Said, State
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.names import Names
from polyclinic.language.language import LANGUAGES
from polyclinic.players.player import REPLY
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.lay_vocabulary import (
    NONE,
    SAME,
    USUAL,
    WIDER,
    best_fit,
    concepts,
    fit,
    read,
    tokens,
    vocabulary,
)
from polyclinic.players.rules.patient import RulesPatient

PLAIN = Lexicon([], "en"), Lexicon([], "zh")
NAMES = Names(Knowledge(symptoms={}, examinations={}, drugs={}, diseases={}))


def things(text, language):
    return [set(frame.things or frame.functions) for frame in read(text, language)]


@each_row(
    ("text", "meant"),
    [
        ("Are your arms weak?", [{"weakness"}]),
        ("I can't catch my breath", [{"dyspnea"}]),
        ("Do you find it hard to breathe?", [{"dyspnea"}]),
        ("She has been throwing everything up", [{"vomiting"}]),
        ("Does it hurt when you pass water?", [{"painful_urination"}]),
        ("pins and needles in both feet", [{"numbness"}]),
        ("He passed out", [{"syncope"}]),
        ("I have lost my appetite", [{"anorexia"}]),
        ("takes enalapril and atorvastatin", [{"blood_pressure_drug"}, {"cholesterol_drug"}]),
        ("an inflammation called tonsillitis", [{"redness", "tonsillitis"}]),
        ("come back to the clinic", []),
        ("喘不上气", [{"dyspnea"}]),
        ("小便有灼热感", [{"painful_urination"}]),
        ("双下肢水肿", [{"leg_swelling"}]),
        ("难以入睡", [{"insomnia"}]),
        ("口服缬沙坦、瑞舒伐他汀", [{"blood_pressure_drug"}, {"cholesterol_drug"}]),
        ("您好，医生", []),
    ],
)
def test_everyday_words_are_read(text, meant):
    assert things(text, "zh" if ord(text[0]) > 0x2FFF else "en") == meant


def frame(text, language="en"):
    return read(text, language)[0]


def test_parts_of_the_body_are_shared_in_a_list():
    assert [f.named for f in read("pain or swelling in your knees", "en")] == [("knee",), ("knee",)]
    assert [f.named for f in read("knees or elbows ache", "en")] == [("knee",), ("elbow",)]
    assert things("knees or elbows ache", "en") == [{"pain"}, {"pain"}]
    # A comma alone hangs nothing together.
    assert [f.named for f in read("fatigue, abdominal pain", "en")] == [(), ("abdomen",)]


def test_a_denial_holds_for_a_list_and_ends_with_a_new_verb():
    assert [f.denied for f in read("no fever, vomiting, or diarrhea", "en")] == [True, True, True]
    assert [f.denied for f in read("no fever but a cough", "en")] == [True, False]
    assert [f.denied for f in read("no fever, has a cough", "en")] == [True, False]
    assert [f.denied for f in read("无胸痛、咳嗽，有发热", "zh")] == [True, True, False]
    lump, pain = read("painless lump in the neck", "en")
    assert (lump.denied, pain.things, pain.denied) == (False, ("pain",), True)


def test_when_something_is_is_not_what_is_asked():
    asked = frame("nausea along with the headache")
    assert set(asked.things) - set(asked.later) == {"nausea"}
    asked = frame("走路的时候会喘吗", "zh")
    assert asked.things == ("dyspnea",)
    assert frame("does the lump hurt").given == {"lump"}
    assert frame("are you short of breath when you lie flat").later == ()


@each_row(
    ("asked", "told", "likeness"),
    [
        ("Are your arms weak?", "Weakness in upper limbs", SAME),
        ("pain in your chest", "chest ache", SAME),
        ("headaches", "pain in the head", SAME),
        ("pain", "headache", SAME),
        ("swelling of your legs", "swollen ankles", SAME),
        ("swelling of your ankles", "swelling of the legs", SAME),
        ("any heart trouble", "atrial fibrillation", SAME),
        ("your sleep", "insomnia", SAME),
        ("blood thinners", "takes warfarin", SAME),
        ("a dry cough", "a cough", WIDER),
        ("loss of appetite", "appetite is normal", USUAL),
        ("pain in your chest", "pain in the left knee", 0),
        ("pain in your thumb", "pain in the ring finger", 0),
        ("swelling of the left leg", "swelling of the right leg", 0),
        ("coughing up blood", "coughing up phlegm", 0),
        ("weight loss", "weight gain", 0),
        ("does the lump hurt", "a lump in the neck", 0),
    ],
)
def test_what_answers_what(asked, told, likeness):
    assert fit(frame(asked), frame(told), vocabulary("en")).likeness == likeness


def test_nothing_answers_where_nothing_is_said():
    assert best_fit(frame("pain"), (), vocabulary("en")) == (NONE, False)


def test_the_vocabulary_refers_to_itself_only_and_is_in_both_languages():
    known = concepts()
    assert len(known) > 500
    for key, (kind, concept) in known.items():
        for other in (*concept.kinds, *concept.at, *concept.eq, *concept.lacks, *(i for of in concept.of for i in of)):
            assert other in known, (key, other)
        for place in concept.at:
            assert known[place][0] == "parts", (key, place)
        if kind not in ("kinds_of_symptoms",) and key != "side":
            assert concept.en or concept.also, key
            assert concept.zh, key
        for word in concept.en:
            assert tokens(word, "en"), (key, word)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_word_is_read_as_what_it_is_listed_for(language):
    known = vocabulary(language)
    for key, (kind, concept) in concepts().items():
        for word in concept.en if language == "en" else concept.zh:
            words = tokens(word, language)
            length, ids = known.at_token(words, 0, word)
            assert (length, key in ids) == (len(words), True), (kind, key, word)


RECORD = Record(
    presentation=Presentation(complaint="A sudden high fever for two days", age=60, sex="male"),
    history=History(
        symptoms=("Weakness in upper limbs", "Productive cough, worse at night"),
        present="He has had a crushing chest pain that radiates to the jaw. He was given ibuprofen, which helped.",
        past="Atrial fibrillation. Appendectomy in 2010.",
        medications="Bisoprolol, apixaban",
        family="His mother died of a stroke.",
        review="Denies vomiting. Appetite is normal.",
    ),
)
RECORD_ZH = Record(
    presentation=Presentation(complaint="突发高热2天", language="zh", age=60, sex="male"),
    history=History(
        present="患者2天前无明显诱因突发高热，伴双上肢无力，夜间咳嗽加重，休息后可缓解。无呕吐。食欲正常，体重变化不详。",
        past="有房颤病史，口服比索洛尔。2010年行阑尾切除术。",
        family="母亲死于脑卒中。",
    ),
)


async def reply(question, record):
    patient = Patient(RulesPatient({"en": PLAIN[0], "zh": PLAIN[1]}, NAMES, random.Random(1)), record, setting="ward")
    patient.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=question))
    return await patient.act(REPLY)


@each_row(
    ("question", "told"),
    [
        ("Did it start suddenly?", "a sudden high fever"),
        ("Are your arms weak?", "Weakness in upper limbs"),
        ("Do you bring up any phlegm?", "productive cough"),
        ("When is the cough at its worst?", "worse at night"),
        ("Is the chest pain sharp or pressing?", "crushing"),
        ("Does the pain in your chest go anywhere else?", "radiates to the jaw"),
        ("Do you have any heart trouble?", "trial fibrillation"),
        ("Which pills do you swallow?", "I take bisoprolol, apixaban"),
        ("Do you take anything to thin your blood, any blood thinners?", "apixaban"),
        ("Did your mum have anything serious?", "My mother died of a stroke"),
        ("Have you been operated on?", "ppendectomy"),
        ("How is your appetite?", "Appetite is normal"),
        ("Have you been throwing up?", "no vomiting"),
        ("是突然开始的吗？", "突发高"),
        ("胳膊有没有力气？", "双上肢"),
        ("什么时候咳得厉害？", "夜间咳嗽加重"),
        ("怎么样能好一些？", "休息后可缓解"),
        ("您心脏不好吗？", "房颤"),
        ("您平时吃什么药？", "比索洛尔"),
        ("您母亲得过什么病？", "脑卒中"),
        ("开过刀吗？", "阑尾切除"),
        ("胃口怎么样？", "食欲正常"),
        ("吐了没有？", "没有呕吐"),
    ],
)
async def test_the_record_answers_in_its_own_words(question, told):
    turn = await reply(question, RECORD_ZH if ord(question[0]) > 0x2FFF else RECORD)
    assert told.casefold() in turn.say.casefold()
    assert turn.state is State.EFFECTIVE_INQUIRY


@each_row(
    ("question", "denied"),
    [
        ("Do you have a rash?", True),
        ("Any swelling of your ankles?", True),
        ("Do you have diabetes?", False),
        ("Do you keep any pets?", False),
        ("Which side is it on?", False),
        ("How much do you weigh?", False),
        ("您身上起疹子吗？", True),
        ("您有糖尿病吗？", False),
        ("是哪一边？", False),
    ],
)
async def test_a_symptom_that_is_not_there_is_denied_and_of_anything_else_the_patient_does_not_know(question, denied):
    chinese = ord(question[0]) > 0x2FFF
    turn = await reply(question, RECORD_ZH if chinese else RECORD)
    assert turn.state in (State.INEFFECTIVE_INQUIRY, State.AMBIGUOUS_INQUIRY)
    assert turn.say.startswith(("没有", "我没有") if chinese else "No, ") is denied, turn.say
