"""What is asked is what is answered: of its own topic, item by item, and of what was spoken of last."""

import random

import pytest
from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.events import Role, Said, State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.names import Names
from polyclinic.players.player import REPLY
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.patient import RulesPatient

YES, NO = State.EFFECTIVE_INQUIRY, State.INEFFECTIVE_INQUIRY
RECORD = Record(
    presentation=Presentation(complaint="Stomach ache for two days", age=47, sex="male"),
    history=History(
        present="The patient has had stomach ache for two days. He has a fever of 38.6 degrees. He has nausea. "
        "He denies diarrhea or chest pain.",
        past="Hypertension for ten years. He had a tetanus vaccination last year.",
        medications="Takes amlodipine every morning.",
    ),
)
HEALTHY = Record(
    presentation=Presentation(complaint="Blurred vision", age=30, sex="female"),
    history=History(past="No significant past medical history."),
)
CHINESE = Record(
    presentation=Presentation(complaint="胃痛2天", language="zh", age=47, sex="male"),
    history=History(
        present="患者2天前出现胃痛 患者发热，最高38.6℃，伴恶心，无腹泻、呕吐，夜间出汗。",
        past="有高血压病史，平时吃氨氯地平。去年打过破伤风疫苗。",
    ),
)
ALLERGIC = Record(
    presentation=Presentation(complaint="皮肤痒3天", language="zh", age=30, sex="female"),
    history=History(past="对磺胺过敏。", present="患者3天前皮肤痒，自己吃了阿莫西林。"),
)


@pytest.fixture(scope="module")
def mind():
    knowledge = read_knowledge()
    lexicons = {language: Lexicon(knowledge.symptoms.values(), language) for language in ("en", "zh")}
    return lexicons, Names(knowledge)


async def asked(mind, record: Record, *questions: str):
    patient = Patient(RulesPatient(*mind, random.Random(1)), record, setting="ward", withheld=())
    turn = None
    for at, question in enumerate(questions, start=1):
        patient.observe(Said(seq=at, turn=at, who=Role.DOCTOR, to=Role.PATIENT, text=question))
        turn = await patient.act(REPLY)
    return turn


@each_row(
    ("record", "question"),
    [
        (RECORD, "Are you allergic to any medicines?"),
        (RECORD, "Any drug allergies?"),
        (RECORD, "Do you react badly to antibiotics or other tablets?"),
        (CHINESE, "您对哪种药物过敏？"),
        (CHINESE, "有没有药物或食物过敏？"),
        (CHINESE, "有什么药不能吃吗？"),
        (ALLERGIC, "您得了什么病？"),
        (RECORD, "What disease do you have?"),
        (HEALTHY, "Which medicines do you take?"),
    ],
)
async def test_no_other_topic_answers(mind, record, question):
    turn = await asked(mind, record, question)
    assert turn.state == NO
    assert not any(
        word in turn.say for word in ("amlodipine", "history", "vaccin", "氨氯地平", "阿莫西林", "疫苗", "病史")
    )


@pytest.mark.parametrize(
    ("record", "question", "told"),
    [
        (ALLERGIC, "您对青霉素过敏吗？", "磺胺"),
        (ALLERGIC, "过敏史", "磺胺"),
        (CHINESE, "平时吃什么药？", "氨氯地平"),
        (RECORD, "Which medicines do you take?", "amlodipine"),
        (RECORD, "Do you have any illnesses?", "ypertension"),
    ],
)
async def test_its_own_topic_answers(mind, record, question, told):
    turn = await asked(mind, record, question)
    assert turn.state == YES and told in turn.say
    assert "疫苗" not in turn.say and "vaccin" not in turn.say


async def test_two_topics_in_one_breath_are_both_answered(mind):
    turn = await asked(mind, RECORD, "What medicines do you take, and are you allergic to anything?")
    assert "amlodipine" in turn.say and "no allergies" in turn.say


async def test_an_illness_that_is_not_known_of_is_not_passed_over(mind):
    assert "糖尿病" in (await asked(mind, CHINESE, "有高血压、糖尿病、药物过敏史吗？")).say
    assert "diabetes" in (await asked(mind, RECORD, "Any high blood pressure or diabetes?")).say


async def test_who_knows_of_no_allergy_says_so_with_one_voice(mind):
    for question in ("过敏史", "过敏吗？"):
        assert (await asked(mind, CHINESE, question)).say == "我没听说过自己对什么过敏。"


@pytest.mark.parametrize(
    ("record", "question", "there", "absent"),
    [
        (
            RECORD,
            "Any vomiting, chest pain, or shortness of breath?",
            [],
            ["vomiting", "chest pain", "shortness of breath"],
        ),
        (RECORD, "Nausea, vomiting, or fever?", ["nausea", "fever"], ["vomiting"]),
        (CHINESE, "有没有恶心呕吐出汗？", ["恶心", "出汗"], ["呕吐"]),
        (CHINESE, "恶心、呕吐或出汗吗？", ["恶心", "出汗"], ["呕吐"]),
        (CHINESE, "有恶心/腹泻和咳嗽吗", ["恶心"], ["腹泻", "咳嗽"]),
    ],
)
async def test_every_item_of_a_list_is_answered(mind, record, question, there, absent):
    said = (await asked(mind, record, question)).say
    begin = min((said.find(no) for no in ("No ", "No,", "no ", "没有") if no in said), default=len(said))
    assert all(item in said[:begin] for item in there), said
    assert all(item in said[begin:] for item in absent), said


@pytest.mark.parametrize(
    ("record", "before", "question", "told"),
    [
        (RECORD, "Do you have a fever?", "How high was it?", "38.6"),
        (CHINESE, "有没有发烧？", "多高？", "38.6"),
    ],
)
async def test_a_question_goes_back_to_what_was_spoken_of_last(mind, record, before, question, told):
    turn = await asked(mind, record, before, question)
    assert told in turn.say and "ache" not in turn.say and "胃痛" not in turn.say


async def test_what_is_not_known_of_it_is_not_told_of_something_else(mind):
    turn = await asked(mind, RECORD, "Do you have nausea?", "How high was it?")
    assert turn.state == NO


async def test_sentences_without_a_mark_between_them_are_two(mind):
    assert "胃痛" not in (await asked(mind, CHINESE, "有没有发热？")).say


@each_row(
    ("record", "question", "order"),
    [
        (RECORD, "What did the ECG show?", "The doctor asks for: ECG."),
        (RECORD, "Please show me your blood count results", "The doctor asks for: blood count."),
        (RECORD, "Let me see your ECG report", "The doctor asks for: ECG."),
        (CHINESE, "胃镜报告拿来看看", "医生要求做：胃镜。"),
        (CHINESE, "做过胃镜吗", "医生要求做：胃镜。"),
        (CHINESE, "血常规结果怎么样？", "医生要求做：血常规。"),
    ],
)
async def test_results_are_asked_for_by_the_name_alone(mind, record, question, order):
    turn = await asked(mind, record, question)
    assert (turn.to, turn.say) == ("examiner", order)


@each_row(
    ("record", "advice"),
    [
        (RECORD, "No ultrasound is needed."),
        (RECORD, "No MRI."),
        (RECORD, "We do not need an ECG."),
        (RECORD, "Let's postpone the gastroscopy."),
        (RECORD, "The CT can wait."),
        (RECORD, "I don't think an MRI is necessary."),
        (RECORD, "A colonoscopy is not necessary."),
        (CHINESE, "不用做胃镜。"),
        (CHINESE, "先不查血常规"),
        (CHINESE, "胃镜过几天再做"),
        (CHINESE, "核磁就取消吧。"),
        (CHINESE, "B超暂缓。"),
    ],
)
async def test_what_is_refused_or_put_off_is_not_ordered(mind, record, advice):
    turn = await asked(mind, record, advice)
    assert (turn.to, turn.state) == ("doctor", State.INEFFECTIVE_ADVICE)


@pytest.mark.parametrize(
    ("record", "advice", "order"),
    [
        (RECORD, "No CT, but please do an ECG.", "ECG"),
        (CHINESE, "先做胃镜，CT以后再说。", "胃镜"),
        (CHINESE, "不用做CT，做个B超就行。", "B超"),
    ],
)
async def test_what_is_wanted_beside_it_is_ordered(mind, record, advice, order):
    turn = await asked(mind, record, advice)
    assert turn.to == "examiner" and order in turn.say and "CT" not in turn.say


@pytest.mark.parametrize(
    "advice", ["不妨做个胃镜。", "不仅要查血常规，还要做B超。", "要不要做胃镜由您决定，我建议您做胃镜。"]
)
async def test_what_only_looks_refused_is_ordered(mind, advice):
    assert (await asked(mind, CHINESE, advice)).to == "examiner"
