"""What a record holds answers a question only where it is what was asked; what is near it is told as another thing."""

import pytest
from tests.players.rules.test_everyday import asked, minds, record_of  # noqa: F401

from polyclinic.events import State
from polyclinic.players.rules.lay_vocabulary import read

# What is recorded, a question for something near it, and one that it answers.
NEAR = [
    ("Pain at the distal interphalangeal joint", "Is your wrist sore as well?", "Do your fingers hurt?"),
    ("Swelling of the right hand", "Is your elbow swollen?", "Are your fingers swollen?"),
    ("Rash on the face", "Is there a rash on your back?", "Is there a rash on your cheeks?"),
    ("Chronic diarrhea", "Does milk upset your tummy?", "Have you had loose motions?"),
    ("Diarrhea after milk", "Do you get diarrhea near cats?", "Does milk upset your tummy?"),
    ("Phlegm every morning", "Do you cough up green phlegm?", "Do you bring up phlegm?"),
    ("Chest pain on exertion", "Do you get chest pain at night?", "Does your chest hurt when you climb stairs?"),
    ("Cough for two weeks", "Do you have a dry cough?", "Have you been coughing?"),
    ("A heart murmur since birth", "Have you ever had rheumatic fever?", "Anything wrong with your heart valves?"),
    ("Had measles in childhood", "Have you ever had mumps?", "Have you ever had measles?"),
    ("Deep vein thrombosis five years ago", "Have you had a clot on the lung?", "Have you had blood clots?"),
    ("Splenectomy at 13", "Have you had a kidney out?", "Have you had any operations?"),
    ("Spots on the skin", "Has your daughter got spots too?", "Have you got spots?"),
    ("既往腮腺炎", "您得过麻疹吗？", "您得过腮腺炎吗？"),
    ("局麻下行左面部肿物切除术", "脸上发麻吗？", "您做过手术吗？"),
    ("天天接触香烟的烟雾", "身边有人得肺结核吗？", "您吸二手烟吗？"),
    ("Enjoys hiking", "Is anything running out of your ear?", "Do you do any sports?"),
    ("Pain in the right hand", "Is your neck painful?", "Does your hand hurt?"),
    ("手指疼痛", "手腕疼吗？", "手疼吗？"),
    # What is felt under a circumstance is not told by the circumstance.
    ("Sexually active with one partner", "Does it hurt when you have sex?", "Are you sexually active?"),
    ("Sexually active with one partner", "Do you bleed after sex?", "How is your love life?"),
    ("Works as a welder", "Do you cough at work?", "What do you do for a living?"),
    ("Works as a welder", "Does your chest hurt at work?", "What is your job?"),
    ("Drinks two beers a day", "Does alcohol give you a headache?", "Do you enjoy a glass of wine?"),
    ("Walks two miles a day", "Do your legs hurt when you walk?", "How far do you walk?"),
    ("Pain during intercourse", "Do you bleed after sex?", "Does it hurt when you have sex?"),
    ("有性生活", "同房的时候疼吗？", "有性生活吗？"),
    ("性交痛", "同房后出血吗？", "同房的时候疼吗？"),
    # Who was hurt by somebody, and who is safe, are asked for neither pain nor a house.
    ("Sexually active with one partner", "Were you ever hurt by someone in a sexual way?", "Are you sexually active?"),
    ("Back pain", "Has your husband ever hit you?", "Does your back hurt?"),
    ("Lives with her husband", "Do you feel safe at home?", "Who do you live with?"),
    ("Domestic abuse", "Do you have any pain?", "Has anyone ever hurt you?"),
    ("有家暴", "身上疼吗？", "有人打过您吗？"),
    # Idioms.
    ("Nose is running", "Have you had the runs?", "Does your nose run?"),
    ("Fatigue", "Have you had the blues?", "Have you been under the weather?"),
    ("Hoarseness", "Do you have butterflies in your stomach?", "Have you got a frog in your throat?"),
    ("乏力", "倒胃口吗？", "最近打蔫吗？"),
    ("寒战", "身上长疙瘩吗？", "起鸡皮疙瘩吗？"),
    # What comes out.
    ("Vaginal bleeding with clots", "Is there a lump in your breast?", "Are there lumps in what comes out?"),
    ("后牙溢脓", "耳朵流脓吗？", "牙齿冒脓吗？"),
    ("左耳溢液", "伤口渗液吗？", "耳朵淌水吗？"),
    ("月经有血块", "乳房有硬块吗？", "下面流出来的血里有块吗？"),
]

COMPOUNDS = {
    "numbness": ("局麻下手术", "全麻", "打麻药", "麻疹", "荨麻疹", "天麻", "麻烦您"),
    "dizziness": ("晕车", "晕船", "晕针", "乳晕"),
    "pain": ("痛风", "止痛药", "无痛胃镜", "心疼孩子", "痛苦"),
    "cough": ("百日咳", "止咳药", "镇咳"),
    "sweating": ("汗腺", "汗蒸"),
    "fever": ("登革热", "热水", "风湿热", "退热贴", "烧饭", "烫伤"),
    "bleeding": ("输血", "献血", "缺血", "血小板", "凝血", "败血症"),
    "head": ("头孢", "股骨头", "馒头", "念头"),
    "bowel": ("阿司匹林肠溶片",),
    "both": ("二甲双胍", "双胞胎"),
    "left": ("左氧氟沙星", "左撇子"),
    "swelling": ("膨胀",),
    "fatigue": ("累及淋巴结", "缺乏"),
}


async def test_what_is_near_is_told_as_what_it_is(minds):  # noqa: F811
    wrong = []
    for told, near, asked_for in NEAR:
        record = record_of(told, "zh" if told[-1] > "z" else "en")
        beside, answered = await asked(minds, record, near), await asked(minds, record, asked_for)
        if beside.state is not State.INEFFECTIVE_INQUIRY:
            wrong.append(f"{told}: {near} -> {beside.say}")
        if answered.state is not State.EFFECTIVE_INQUIRY:
            wrong.append(f"{told}: {asked_for} -> {answered.say}")
    assert not wrong, "\n".join(wrong)


async def test_what_is_near_is_never_denied_as_such(minds):  # noqa: F811
    turn = await asked(minds, record_of("Chronic diarrhea", "en"), "Does milk upset your tummy?")
    assert "diarrhea" in turn.say
    assert not turn.say.startswith(("No,", "No "))


@pytest.mark.parametrize("concept", COMPOUNDS)
def test_a_character_within_another_word_is_no_match(concept):
    found = [word for word in COMPOUNDS[concept] if any(_names(frame, concept) for frame in read(word, "zh"))]
    assert not found


@pytest.mark.parametrize("fluid", ["脓", "脓水", "脓液"])
@pytest.mark.parametrize("verb", "流溢淌渗冒排出")
def test_pus_is_pus_however_it_comes(verb, fluid):
    assert any("pus" in frame.wide for frame in read(f"伤口{verb}{fluid}", "zh"))


async def test_what_comes_out_of_the_place_of_the_complaint_is_not_denied(minds):  # noqa: F811
    record = record_of("溢脓", "zh", "左下颌肿痛1个月")
    assert (await asked(minds, record, "下巴那里流脓吗？")).state is State.EFFECTIVE_INQUIRY
    elsewhere = await asked(minds, record, "脚上流脓吗？")
    assert elsewhere.state is State.INEFFECTIVE_INQUIRY and not elsewhere.say.startswith("我没有")


def _names(frame, concept):
    return concept in frame.things or concept in frame.named or concept in frame.manners
