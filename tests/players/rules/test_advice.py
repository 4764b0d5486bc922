"""What a patient makes of advice and of open questions: its states and replies, online and in a ward."""

import pytest
from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.events import Role, Said, State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.minds import Minds
from polyclinic.players.player import REPLY
from polyclinic.players.roles.patient import Patient

MINDS = Minds(knowledge=read_knowledge(), seed=1)

ENGLISH = Record(
    presentation=Presentation(complaint="A lump in the neck for two months", age=52, sex="female"),
    history=History(
        present="A 52-year-old woman has had a lump in the neck for two months. Physical examination shows a firm "
        "nodule. Ultrasonography of the neck shows a nodule of 2 cm in the thyroid. Serum calcium is 9.1 mg/dL. "
        "She has no fever."
    ),
)
CHINESE = Record(
    presentation=Presentation(complaint="发现颈部肿物2月", language="zh", age=52, sex="female"),
    history=History(
        present="女，52岁，发现颈部肿物2月。颈部B超检查提示：甲状腺右叶结节，约2cm。血钙2.3mmol/L。无发热。"
        "门诊胸部CT：无。"
    ),
)


async def put(said, record, setting="online"):
    patient = Patient(MINDS.patient("1"), record, setting=setting)
    patient.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=said))
    return await patient.act(REPLY)


@each_row(
    ("said", "record", "state", "told"),
    [
        # The same procedure and region, in other words than the record's.
        ("I recommend a thyroid ultrasound. Do you have any questions?", ENGLISH, State.EFFECTIVE_ADVICE, "2 cm"),
        ("Let us check your calcium level.", ENGLISH, State.EFFECTIVE_ADVICE, "9.1 mg/dL"),
        ("I recommend an ultrasound of the abdomen.", ENGLISH, State.INEFFECTIVE_ADVICE, ""),
        ("You should have an MRI of the neck.", ENGLISH, State.INEFFECTIVE_ADVICE, ""),
        ("You could take ibuprofen for the pain.", ENGLISH, State.INEFFECTIVE_ADVICE, ""),
        ("Please come in for a physical examination and some tests.", ENGLISH, State.AMBIGUOUS_ADVICE, ""),
        (
            "It is best to rest and to drink enough. If it gets worse, see a doctor.",
            ENGLISH,
            State.AMBIGUOUS_ADVICE,
            "",
        ),
        ("建议您做甲状腺超声检查，以明确诊断。您看可以吗？", CHINESE, State.EFFECTIVE_ADVICE, "2cm"),
        ("建议查一下血钙。", CHINESE, State.EFFECTIVE_ADVICE, "2.3mmol/L"),
        ("我建议您做腹部超声。", CHINESE, State.INEFFECTIVE_ADVICE, ""),
        ("建议您拍个胸部CT。", CHINESE, State.INEFFECTIVE_ADVICE, ""),
        ("建议您尽快到医院做进一步检查。", CHINESE, State.AMBIGUOUS_ADVICE, ""),
        ("注意休息，清淡饮食，如有不适及时就医。", CHINESE, State.AMBIGUOUS_ADVICE, ""),
    ],
)
async def test_advice_online(said, record, state, told):
    turn = await put(said, record)
    assert (turn.state, turn.to) == (state, "doctor")
    assert told in turn.say


@pytest.mark.parametrize(
    ("said", "record"),
    [
        ("I would like to do a physical examination, please.", ENGLISH),
        ("Let me feel your neck.", ENGLISH),
        ("I recommend a thyroid ultrasound.", ENGLISH),
        ("我来给您做一下体格检查。", CHINESE),
        ("让我摸摸您的脖子。", CHINESE),
    ],
)
async def test_in_a_ward_what_is_to_be_done_goes_to_the_examiner(said, record):
    turn = await put(said, record, setting="ward")
    assert (turn.state, turn.to) == (State.EFFECTIVE_ADVICE, "examiner")


@each_row("setting", ["ward", "online"])
@each_row(
    ("said", "record"),
    [
        ("I'm sorry to hear that. Have you noticed any other changes?", ENGLISH),
        ("Do you have any other symptoms along with the lump?", ENGLISH),
        ("Have you been under a lot of stress lately?", ENGLISH),
        ("您最近还有其他不舒服吗？", CHINESE),
        ("除了颈部肿物以外，您还有别的症状吗？", CHINESE),
    ],
)
async def test_a_question_that_names_nothing_is_asked_back(said, record, setting):
    assert (await put(said, record, setting)).state is State.AMBIGUOUS_INQUIRY


async def test_how_long_these_symptoms_last_is_told_where_a_time_is_known():
    known = await put("How long have you been experiencing these symptoms?", ENGLISH)
    assert known.state is State.EFFECTIVE_INQUIRY
    assert "two months" in known.say
    presentation = Presentation(complaint="A lump in the neck", age=52, sex="female")
    unknown = Record(presentation=presentation, history=History(present="She has a lump in the neck."))
    asked = await put("How long have you been experiencing these symptoms?", unknown)
    assert asked.state is State.AMBIGUOUS_INQUIRY


@pytest.mark.parametrize("said", ["建议您尽快到医院做进一步检查。", "祝您早日康复，再见。", "您喜欢看什么电影？"])
async def test_what_a_turn_is_can_be_heard_in_another_language(said):
    states = {"建": State.AMBIGUOUS_ADVICE, "祝": State.CONCLUSION, "您": State.OTHER_TOPIC}
    assert (await put(said, ENGLISH)).state is states[said[0]]


@each_row(
    ("said", "record", "state", "told"),
    [
        ("您脖子上的肿块有多久了？", ENGLISH, State.EFFECTIVE_INQUIRY, "two months"),
        ("您发烧吗？", ENGLISH, State.EFFECTIVE_INQUIRY, "fever"),
        ("您今年多大年纪？", ENGLISH, State.EFFECTIVE_INQUIRY, "52"),
        ("您平时喜欢吃酸的还是甜的？", ENGLISH, State.INEFFECTIVE_INQUIRY, "doctor"),
        ("Do you have a lump in your neck?", CHINESE, State.EFFECTIVE_INQUIRY, "肿物"),
        ("Do you have a fever?", CHINESE, State.EFFECTIVE_INQUIRY, "没有发热"),
        ("Do you have any other symptoms?", CHINESE, State.AMBIGUOUS_INQUIRY, "医生"),
    ],
)
async def test_a_question_in_another_language_is_answered_in_ones_own(said, record, state, told):
    turn = await put(said, record)
    assert turn.state is state
    assert told in turn.say
