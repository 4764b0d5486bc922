import random
import time

import msgspec
import pytest
from tests.tables import each_row
from tests.truth_terms import truth_terms

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.withhold import withhold
from polyclinic.events import Role, Said, State
from polyclinic.knowledge.data import Name, Texts
from polyclinic.knowledge.entries import Symptom
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.names import Names
from polyclinic.players.player import OPEN, REPLY
from polyclinic.players.roles.patient import Patient, without_results
from polyclinic.players.rules.patient import RulesPatient
from polyclinic.players.rules.wording import first_person, opening

EN: dict[str, tuple[str, tuple[str, ...]]] = {
    "fever": ("fever", ("temperature",)),
    "cough": ("cough", ("coughing",)),
    "rash": ("skin rash", ("rash",)),
    "breathless": ("breathlessness", ("shortness of breath", "trouble breathing")),
    "chest_pain": ("chest pain", ()),
}
ZH = {
    "fever": ("发热", ("发烧",)),
    "cough": ("咳嗽", ()),
    "rash": ("皮疹", ()),
    "breathless": ("气短", ("气促",)),
    "chest_pain": ("胸痛", ()),
}
QUESTION = {"breathless": "Do you run out of air?"}
SYMPTOMS = [
    Symptom(
        id=key,
        name=Name(en=en, zh=ZH[key][0]),
        synonyms=Texts(en=more, zh=ZH[key][1]),
        phrases=Texts(),
        question=Name(en=QUESTION.get(key, ""), zh=""),
        base=0.1,
    )
    for key, (en, more) in EN.items()
]
LEXICONS = {language: Lexicon(SYMPTOMS, language) for language in ("en", "zh")}
NAMES = Names(Knowledge(symptoms={}, examinations={}, drugs={}, diseases={}))

WARD = Record(
    presentation=Presentation(complaint="Cough and fever for three days", age=40, sex="female"),
    history=History(
        symptoms=("Dry cough for three days", "Shortness of breath on stairs"),
        present="The patient reports a 3-day history of dry cough. She notes that her cough gets worse at night. "
        "A chest X-ray showed a shadow in the left lower lobe, and her white cell count was 14.2 x10^9/L. "
        "Her doctor thought of lobar pneumonia.",
        past="Appendectomy in 2010.",
        medications="Takes lisinopril daily.",
        allergies="Allergic to penicillin.",
        personal="Non-smoker, drinks wine occasionally. Works as a teacher.",
        family="Her father has diabetes.",
        review="Denies chest pain, rash, or weight loss.",
    ),
    findings=(Finding(examination="chest X-ray", value="shadow in the left lower lobe"),),
)
WARD_ZH = Record(
    presentation=Presentation(complaint="咳嗽伴发热3天", language="zh", age=54, sex="male", about="职业: 农民"),
    history=History(
        present="患者3天前无明显诱因出现咳嗽，夜间加重，无胸痛、皮疹。血常规示白细胞14.2x10^9/L，胸片提示左下肺炎症。自发病以来食欲差，睡眠可。",
        past="否认高血压、糖尿病史，对青霉素过敏。",
        personal="吸烟20年。",
    ),
    findings=(Finding(examination="血常规", item="白细胞", value="14.2x10^9/L"),),
)


def patient_of(record: Record, *, setting="ward", withheld=(), seed=1) -> Patient:
    return Patient(RulesPatient(LEXICONS, NAMES, random.Random(seed)), record, setting=setting, withheld=withheld)


async def reply(text: str, record: Record = WARD, patient: Patient | None = None, **options):
    patient = patient or patient_of(record, **options)
    patient.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=text))
    return await patient.act(REPLY)


@each_row(
    ("question", "state", "told"),
    [
        ("Do you have a cough?", State.EFFECTIVE_INQUIRY, "I have had a dry cough for three days."),
        ("Any trouble breathing?", State.EFFECTIVE_INQUIRY, "I have shortness of breath on stairs."),
        ("Do you run out of air?", State.EFFECTIVE_INQUIRY, "I have shortness of breath on stairs."),
        ("Do you have chest pain?", State.EFFECTIVE_INQUIRY, "I have no chest pain."),
        ("Do you have a headache?", State.INEFFECTIVE_INQUIRY, "No, I have no headache."),
        ("Do you have allergies?", State.EFFECTIVE_INQUIRY, "penicillin"),
        ("Are you taking any medications?", State.EFFECTIVE_INQUIRY, "I take lisinopril daily."),
        ("What do you do for work?", State.EFFECTIVE_INQUIRY, "I work as a teacher."),
        ("Do you smoke or drink alcohol?", State.EFFECTIVE_INQUIRY, "I drink wine occasionally."),
        ("Have you had any surgery?", State.EFFECTIVE_INQUIRY, "appendectomy"),
        ("Does anyone in your family have an illness?", State.EFFECTIVE_INQUIRY, "My father has diabetes."),
        ("How old are you?", State.EFFECTIVE_INQUIRY, "40 years old."),
        ("How long have you been ill?", State.EFFECTIVE_INQUIRY, "three days"),
        ("Does anything make it worse?", State.EFFECTIVE_INQUIRY, "My cough gets worse at night."),
        ("What brings you here today?", State.OPENING, "a cough and fever for three days"),
        ("Good morning. How are you? How can I help?", State.OPENING, "a cough and fever for three days"),
        ("How do you feel?", State.AMBIGUOUS_INQUIRY, "doctor?"),
        ("Anything else?", State.AMBIGUOUS_INQUIRY, "doctor?"),
        ("I suggest that you do some tests.", State.AMBIGUOUS_ADVICE, "doctor"),
        ("You should take ibuprofen twice a day.", State.INEFFECTIVE_ADVICE, "doctor"),
        ("Please lie down and raise your leg.", State.DEMAND, "examiner"),
        ("What is your favorite movie?", State.OTHER_TOPIC, "illness"),
        ("Thank you for coming, goodbye.", State.CONCLUSION, "hank you"),
    ],
)
async def test_states_and_answers(question, state, told):
    turn = await reply(question)
    assert (turn.state, turn.to) == (state, "doctor")
    assert told in turn.say


@each_row(
    ("question", "state", "told"),
    [
        ("您咳嗽吗？", State.EFFECTIVE_INQUIRY, "咳嗽"),
        ("有没有胸痛？", State.EFFECTIVE_INQUIRY, "没有胸痛"),
        ("有没有头痛？", State.INEFFECTIVE_INQUIRY, "我没有头痛。"),
        ("对药物过敏吗？", State.EFFECTIVE_INQUIRY, "青霉素过敏"),
        ("您吸烟吗？", State.EFFECTIVE_INQUIRY, "吸烟20年"),
        ("您做什么工作？", State.EFFECTIVE_INQUIRY, "我是农民。"),
        ("多大年纪了？", State.EFFECTIVE_INQUIRY, "54岁"),
        ("这种情况多久了？", State.EFFECTIVE_INQUIRY, "3天"),
        ("最近睡眠怎么样？", State.EFFECTIVE_INQUIRY, "睡眠"),
        ("你感觉怎么样？", State.AMBIGUOUS_INQUIRY, "具体"),
        ("你哪里不舒服？", State.OPENING, "咳嗽还有发烧3天了"),
        ("您好，请问有什么可以帮您的吗？", State.OPENING, "咳嗽还有发烧3天了"),
        ("建议您到医院做进一步检查。", State.AMBIGUOUS_ADVICE, "具体"),
        ("建议您服用布洛芬。", State.INEFFECTIVE_ADVICE, "好的"),
        ("请您站起来，转动一下腰部。", State.DEMAND, "医生"),
        ("您的手表很特别，是什么牌子？", State.OTHER_TOPIC, "病"),
        ("祝您早日康复，再见。", State.CONCLUSION, "谢谢"),
    ],
)
async def test_states_and_answers_in_chinese(question, state, told):
    turn = await reply(question, WARD_ZH)
    assert turn.state == state
    assert told in turn.say


async def test_compound_questions_are_answered_part_by_part():
    turn = await reply("Do you have any cough, rash or headache?")
    assert turn.say == "I have had a dry cough for three days. No rash, no headache."
    turn = await reply("有没有咳嗽、皮疹或者头痛？", WARD_ZH)
    assert "咳嗽" in turn.say
    assert "没有皮疹、头痛" in turn.say


@pytest.mark.parametrize(
    "order",
    [
        "I recommend a chest X-ray.",
        "Please do: chest X-ray.",
        "Let's get a chest X-ray.",
        "I would like one examination to be done: chest X-ray.",
    ],
)
async def test_a_ward_patient_turns_to_the_examiner(order):
    turn = await reply(order)
    assert (turn.to, turn.state) == ("examiner", State.EFFECTIVE_ADVICE)
    assert turn.say == "The doctor asks for: chest X-ray."


async def test_an_order_in_chinese_is_passed_on_without_its_reasons():
    turn = await reply("根据您的症状，我建议您做一个胸部CT检查，这样我们可以更清楚地了解肺部情况。", WARD_ZH)
    assert turn.to == "examiner"
    assert turn.say == "医生要求做：胸部CT检查。"


ONLINE = Record(
    presentation=WARD.presentation,
    history=History(present="I have had a dry cough for three days."),
    findings=(
        Finding(examination="chest X-ray", item="findings", value="shadow in the left lower lobe"),
        Finding(examination="complete blood count", item="WBC", value=14.2, unit="10*9/L"),
    ),
)


async def test_an_online_patient_gives_the_findings_that_are_asked_for():
    turn = await reply("I recommend a chest X-ray.", ONLINE, setting="online")
    assert (turn.to, turn.state) == ("doctor", State.EFFECTIVE_ADVICE)
    assert "shadow in the left lower lobe" in turn.say
    assert "14.2" not in turn.say
    turn = await reply("What was the result of your complete blood count?", ONLINE, setting="online")
    assert turn.state == State.EFFECTIVE_INQUIRY
    assert "14.2" in turn.say
    turn = await reply("I recommend a colonoscopy.", ONLINE, setting="online")
    assert turn.state == State.INEFFECTIVE_ADVICE


EVERYTHING = (
    "Do you have a cough?", "Have you had a chest X-ray?", "What did the doctor think?",
    "What was the white cell count?",
    "Do you have pneumonia?", "Is there a shadow in the left lower lobe?", "How long have you been ill?",
    "Any other illnesses?", "Tell me about the lobe.", "血常规结果怎么样？",
    "您以前得过什么病？", "白细胞多少？", "有没有炎症？",
    "您咳嗽吗？", "检查结果提示什么？",
)  # fmt: skip


@pytest.mark.parametrize("record", [WARD, WARD_ZH])
async def test_diagnosis_and_results_in_the_history_are_never_said(record):
    patient = patient_of(record, withheld=("lobar pneumonia", "pneumonia", "左下肺炎"))
    said = [(await patient.act(OPEN)).say]
    said += [turn.say for q in EVERYTHING if (turn := await reply(q, patient=patient)).to == "doctor"]
    for planted in ("lobar pneumonia", "left lower lobe", "14.2", "左下肺", "shadow"):
        assert not any(planted in s for s in said if planted not in " ".join(EVERYTHING)), planted
    known = " ".join((patient.presentation.complaint, *(text for _, text in patient.history.sections())))
    for planted in ("pneumonia", "left lower lobe", "14.2", "左下肺炎", "白细胞"):
        assert planted not in known
    assert patient.findings == ()


def test_results_go_and_the_story_goes_on():
    told = without_results("3天前咳嗽，当地医院胸片提示左肺阴影，边界清楚，服用消炎药后好转。无胸痛。")
    assert told == "3天前咳嗽，服用消炎药后好转。无胸痛。"
    assert without_results("She felt weak, her hemoglobin was 9.1 g/dL, and she came in. No pain.") == (
        "She felt weak, and she came in. No pain."
    )


async def test_the_same_generator_gives_the_same_words():
    async def visit(seed: int) -> list[str]:
        patient = patient_of(WARD, seed=seed)
        return [(await patient.act(OPEN)).say, *[(await reply(q, patient=patient)).say for q in EVERYTHING * 2]]

    assert await visit(3) == await visit(3)


@pytest.mark.parametrize(
    ("complaint", "said"),
    [
        ("Double vision", "Doctor, I have double vision."),
        ("A tired feeling for 3 months", "Doctor, I have had a tired feeling for 3 months."),
        ("Cough for two weeks", "Doctor, I have had a cough for two weeks."),
        ("The patient reports a 2-week history of cough.", "Doctor, I have had cough for 2 weeks."),
        ("I have a cough.", "Doctor, I have a cough."),
        ("Presence of a left breast mass", "Doctor, I have a left breast mass."),
        ("Last week red dots appeared on the legs.", "Doctor, last week red dots appeared on the legs."),
        ("Cramps come and go.", "Doctor, cramps come and go."),
        ("A man with gout came in. His toe is red.", "Doctor, I have gout. I came in. My toe is red."),
    ],
)
def test_openings(complaint, said):
    assert opening(complaint, "en") == said


@pytest.mark.parametrize(
    ("complaint", "said"),
    [
        ("咳嗽伴发热3天", "医生，我咳嗽还有发烧3天了。"),
        ("纳差2月", "医生，我胃口不好2个月了。"),
        ("我头痛。", "我头痛。"),
        ("患者因腹痛两天入院", "医生，我腹痛两天了。"),
    ],
)
def test_openings_in_chinese(complaint, said):
    assert opening(complaint, "zh") == said


@each_row(
    ("text", "said"),
    [
        ("She notes that her cough gets worse", "My cough gets worse"),
        ("Denies chest pain", "I have no chest pain"),
        ("Weakness in upper limbs", "I have weakness in upper limbs"),
        ("Works as a teacher", "I work as a teacher"),
        ("The patient was treated with amoxicillin", "I was treated with amoxicillin"),
        ("He has hypertension and takes his pills", "I have hypertension and take my pills"),
    ],
)
def test_first_person(text, said):
    assert first_person(text, "en") == said


async def test_whose_lungs_have_cigarette_smoke_every_day_is_asked_whether_they_smoke():
    smoker = msgspec.structs.replace(
        WARD, history=History(symptoms=("Cough",), personal="Cigarette smoke in my lungs every day.")
    )
    assert "cigarette smoke in my lungs" in (await reply("Do you smoke?", smoker)).say
    around = msgspec.structs.replace(
        WARD, history=History(symptoms=("Cough",), personal="Tobacco smoke around me day in day out.")
    )
    assert "smoke" not in (await reply("Do you smoke?", around)).say


def test_a_parent_speaks_for_a_small_child():
    assert first_person("The patient has been very fussy", "en", "parent") == "My child has been very fussy"
    assert opening("发热2天", "zh", "parent") == "医生，我家孩子发烧2天了。"


QUESTIONS = {
    "en": ("How long?", "Any fever, cough or rash?", "Past illnesses?", "Which medications do you take?",
    "Do you smoke?", "Please describe the pain.",
    "What did the tests show?", "Any family history?", "Does anything make it worse?"),
    "zh": ("多久了？", "有没有发热、咳嗽？", "以前得过什么病？", "在吃什么药？", "吸烟吗？",
           "疼痛什么性质？", "检查结果是什么？", "饮食睡眠怎么样？"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "file",
    [
        "agentclinic/agentclinic_medqa.jsonl",
        "ai_hospital/patients_small_10.json",
        "aie/HospitalCases.json",
        "aie/MedicalExam.json",
    ],
)
async def test_no_real_patient_names_its_diagnosis(shared_data, file):
    spent, replies = 0.0, 0
    for case in list(read_cases(shared_data / "cases" / file))[::2]:
        terms = truth_terms(case)
        patient = patient_of(case.record, setting=case.setting, withheld=terms)
        opening_said = (await patient.act(OPEN)).say
        assert withhold(opening_said, terms) == opening_said
        for question in QUESTIONS[case.presentation.language]:
            begun = time.process_time()
            turn = await reply(question, patient=patient)
            spent, replies = spent + time.process_time() - begun, replies + 1
            assert turn.say
            assert withhold(turn.say, terms) == turn.say, (case.id, question)
    # A millisecond when alone; a machine that others use is slower.
    assert spent / replies < 0.01


LABORATORY = Record(
    presentation=Presentation(complaint="乏力1周", language="zh", age=50, sex="male"),
    history=History(
        present="患者1周前出现乏力。外院CT示：左肺结节。04-11 08:01：血清锌，9.6umol/L，L；血清蛋白电泳_A，52.2%，L。"
    ),
)


@pytest.mark.parametrize(
    ("advice", "state", "told"),
    [
        ("建议您查一下血清锌。", State.EFFECTIVE_ADVICE, "血清锌，9.6umol/L，L"),
        ("建议您做一次血清蛋白电泳检查。", State.EFFECTIVE_ADVICE, "52.2%"),
        ("建议您做一次CT检查。", State.EFFECTIVE_ADVICE, "左肺结节"),
        ("建议您完成PET-CT检查。", State.INEFFECTIVE_ADVICE, "没有做过"),
    ],
)
async def test_a_value_goes_with_its_name_and_a_ct_is_no_pet_ct(advice, state, told):
    turn = await reply(advice, LABORATORY, setting="online")
    assert turn.state is state
    assert told in turn.say
