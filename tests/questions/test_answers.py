"""Reading what models reply: right where they say it, and never a guess where they do not."""

import contextlib
import json
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, UnreadableReply
from polyclinic.questions.answers import read_answer
from polyclinic.questions.layouts import read_exam, sample
from polyclinic.questions.shown import FINAL_LINE, show, show_form, write_answer


def question(options, *, stem="Which drug is the first choice?", language="en", several=False):
    if isinstance(options, list):
        options = dict(zip(string.ascii_uppercase, options, strict=False))
    return Question(id="q", stem=stem, options=options, language=language, several=several)


DRUGS = question(["Aspirin", "Metformin", "Heparin", "Aspirin and clopidogrel"])
TEN = question([f"Disease number {n}" for n in range(10)])
NOT_TRUE = question(["Aspirin", "Metformin", "Heparin", "Insulin"], stem="Which of these is NOT given by mouth?")
TRIAL = question({"yes": "yes", "no": "no", "maybe": "maybe"}, stem="Does it work?")
NUMBERED = question({str(n): f"{n + 10} mg" for n in range(1, 13)})
SMALL = question({"a": "Iron", "b": "Folate", "c": "Zinc"})
GERMS = question(["Staphylococcus aureus", "E. coli", "C. difficile", "Borrelia burgdorferi", "Candida"])
BLOOD = question(["B", "A", "AB", "O"], stem="Which blood group may this donor have?")
NESTED = question(["Pneumonia", "Aspiration pneumonia", "Acute bronchitis", "None of the above"])
TWINS = question(["Angiogram", "Sialogram", "Angiogram", "Tomogram"])
ZH = question(["阿司匹林", "B超检查", "二甲双胍", "胰岛素"], stem="首选哪项？", language="zh")
ZH_WRONG = question(["阿司匹林", "肝素", "二甲双胍", "胰岛素"], stem="下列哪项是错误的？", language="zh")
ZH_YES = question({"是": "是", "否": "否", "不确定": "不确定"}, language="zh")
GOUT = question(["Gout", "Septic arthritis", "Gouty nephropathy", "Pseudogout"], stem="What is the matter?")
SIGNS = question(["Fever", "Rash", "Cough", "Joint pain", "Night sweats"], several=True)
ZH_SIGNS = question(["发热", "皮疹", "咳嗽", "关节痛", "盗汗"], language="zh", several=True)

READ = [
    # by itself
    (DRUGS, "B", "B"),
    (DRUGS, " b \n", "B"),
    (DRUGS, "(B)", "B"),
    (DRUGS, "B.", "B"),
    (DRUGS, "B)", "B"),
    (DRUGS, "[B]", "B"),
    (DRUGS, '"B"', "B"),
    (DRUGS, "**B**", "B"),
    (DRUGS, "`B`", "B"),
    (DRUGS, "Ｂ", "B"),
    (DRUGS, "（Ｂ）", "B"),
    (DRUGS, "Option B", "B"),
    (DRUGS, "B) Metformin", "B"),
    (DRUGS, "B. Metformin", "B"),
    (DRUGS, "B: metformin.", "B"),
    (DRUGS, "(B) Metformin", "B"),
    (DRUGS, "**B. Metformin**", "B"),
    (DRUGS, "metformin", "B"),
    (DRUGS, "Metformin.", "B"),
    (DRUGS, "Aspirin and clopidogrel", "D"),
    (DRUGS, "B because it lowers hepatic glucose output.", "B"),
    (DRUGS, "B. It lowers hepatic glucose output.", "B"),
    (DRUGS, "B. Metformin. A is a platelet inhibitor and does nothing for glucose.", "B"),
    (DRUGS, "B. Metformin\n\nA. Aspirin inhibits platelets.\nC. Heparin is an anticoagulant.", "B"),
    (DRUGS, "A\n\nAspirin inhibits platelets; B and C do not.", "A"),
    (TEN, "J", "J"),
    (TEN, "The answer is (I).", "I"),
    (TEN, "I think G is unlikely. I choose H.", "H"),
    (NUMBERED, "12", "12"),
    (NUMBERED, "Answer: 1", "1"),
    (NUMBERED, "Answer: 12 mg", "2"),
    (SMALL, "a", "a"),
    (SMALL, "The answer is b.", "b"),
    (SMALL, "Answer: C", "c"),
    # announced
    (DRUGS, "Answer: B", "B"),
    (DRUGS, "answer: b", "B"),
    (DRUGS, "ANSWER: **B**", "B"),
    (DRUGS, "**Answer:** B", "B"),
    (DRUGS, "**Answer: B) Metformin**", "B"),
    (DRUGS, "Answer: B. Metformin is given first; aspirin is not an antidiabetic.", "B"),
    (DRUGS, "Answer:\n\nB", "B"),
    (DRUGS, "## Final Answer\n\n**B. Metformin**", "B"),
    (DRUGS, "Final answer: B. Metformin", "B"),
    (DRUGS, "The answer is (B)", "B"),
    (DRUGS, "The correct answer is B.", "B"),
    (DRUGS, "The correct answer is: **B) Metformin**.", "B"),
    (DRUGS, "The best choice for this patient is B, since the kidneys work.", "B"),
    (DRUGS, "The most appropriate option would be option B.", "B"),
    (DRUGS, "The correct answer is metformin.", "B"),
    (DRUGS, "The answer is aspirin and clopidogrel, given together.", "D"),
    (DRUGS, "I would choose B.", "B"),
    (DRUGS, "Therefore, B.", "B"),
    (DRUGS, "Option B is the correct answer.", "B"),
    (DRUGS, "A is an antiplatelet drug. B. Metformin is the best answer.", "B"),
    (DRUGS, "The answer is B, not A.", "B"),
    (DRUGS, "The answer is B rather than A or C.", "B"),
    (DRUGS, "I am not sure, but the answer is most likely B.", "B"),
    (DRUGS, "Since the patient is not pregnant, the answer is B.", "B"),
    (DRUGS, r"So we get \boxed{B}", "B"),
    (DRUGS, r"The final answer is $\boxed{\text{B}}$.", "B"),
    (DRUGS, r"\boxed{B. Metformin}", "B"),
    (DRUGS, "<answer>B</answer>", "B"),
    (DRUGS, "The answer is Metformin (B).", "B"),
    (DRUGS, "Answer: B (Metformin), though A is tempting.", "B"),
    (DRUGS, "✅ B", "B"),
    (DRUGS, "Final decision: B", "B"),
    (DRUGS, "In conclusion, B.", "B"),
    # JSON
    (DRUGS, '{"answer":"B"}', "B"),
    (DRUGS, '{"reasoning": "A is wrong", "answer": "B. Metformin"}', "B"),
    (DRUGS, '```json\n{"answer": "B"}\n```', "B"),
    (DRUGS, 'I take metformin.\n\n{"final_answer": "metformin"}', "B"),
    (NUMBERED, '{"answer": 2}', "2"),
    # thoughts and reasoning before
    (DRUGS, "<think>The answer is A. Answer: A</think>\nB", "B"),
    (DRUGS, "The answer is A, it seems.\n</think>\n\nAnswer: B", "B"),
    (DRUGS, "A is an antiplatelet drug. C is an anticoagulant. D is two drugs.\nAnswer: B", "B"),
    (DRUGS, "A. Aspirin: wrong\nB. Metformin: right\nC. Heparin: wrong\n\nAnswer: B", "B"),
    (DRUGS, "Answer: Let's think step by step. Glucose is high.\nThe answer is B.", "B"),
    (DRUGS, "A patient with diabetes needs an antidiabetic drug. The answer is B.", "B"),
    (DRUGS, "First I thought the answer is A. Final answer: B", "B"),
    (DRUGS, "At first glance the answer is A, but the answer is C.", "C"),
    (DRUGS, "Some would say the answer is A. The answer is C.", "C"),
    (DRUGS, "If she were pregnant, the answer would be A. The answer is B.", "B"),
    (DRUGS, "The answer is not A. The answer is C.", "C"),
    (DRUGS, "The answer is A. Wait, she is allergic. The answer is C.", "C"),
    (DRUGS, "Answer: A\n\nActually, I made a mistake.\n\nAnswer: C", "C"),
    (DRUGS, "The answer is A. No, that is wrong: the answer is C.", "C"),
    (DRUGS, "Answer: A. Sorry, I meant B.", "B"),
    (DRUGS, "The answer is A. As said, the answer is A. Final answer: B", "B"),
    (DRUGS, "I will end with 'Answer: X'.\nAnswer: B", "B"),
    (NOT_TRUE, "A is correct and B is right, both are tablets. The answer is D.", "D"),
    # traps of published parsers
    (TRIAL, "YES", "yes"),
    (TRIAL, "I know the report: YES", "yes"),
    (TRIAL, "Yes, no significant harm was seen.", "yes"),
    (TRIAL, "No. The trial was stopped.", "no"),
    (TRIAL, "Answer: maybe", "maybe"),
    (TRIAL, "It worked yesterday, as we now know.\nAnswer: no", "no"),
    (TRIAL, "The answer is **maybe**, as the trial is small.", "maybe"),
    (GERMS, "The answer is E. coli.", "B"),
    (GERMS, "C. difficile", "C"),
    (GERMS, "Answer: C. C. difficile", "C"),
    (GERMS, "Answer: E", "E"),
    (BLOOD, "Answer: A", "A"),
    (BLOOD, "Answer: AB", "C"),
    (NESTED, "The answer is aspiration pneumonia.", "B"),
    (NESTED, "pneumonia", "A"),
    (NESTED, "None of the above", "D"),
    (NESTED, "Answer: none of the above.", "D"),
    (TWINS, "Answer: C", "C"),
    (TWINS, "C. Angiogram", "C"),
    # an option's text as the most likely diagnosis, the best treatment
    (GOUT, "The most likely diagnosis is gout.", "A"),
    (GOUT, "The most likely diagnosis is **gout**, given the crystals.", "A"),
    (GOUT, "The most likely diagnosis is gouty nephropathy.", "C"),
    (GOUT, "The correct diagnosis here is septic arthritis because of the fever.", "B"),
    (GOUT, "The most likely diagnosis in this patient is D.", "D"),
    (GOUT, "The most likely diagnosis is gout. Wait, no: the most likely diagnosis is pseudogout.", "D"),
    (GOUT, "The most likely diagnosis is gout.\nAnswer: B", "B"),
    (GOUT, "The best answer is gout, not pseudogout.", "A"),
    (DRUGS, "The best treatment would be metformin.", "B"),
    # Chinese
    (ZH, "答案：C", "C"),
    (ZH, "答案:Ｃ", "C"),
    (ZH, "**答案：C**", "C"),
    (ZH, "选C", "C"),
    (ZH, "答案是 (C)", "C"),
    (ZH, "正确答案为C，因为血糖升高。", "C"),
    (ZH, "答案是C选项。", "C"),
    (ZH, "A是抗血小板药，D需要注射。故选 C。", "C"),
    (ZH, "本题应选C。", "C"),
    (ZH, "C项正确。", "C"),
    (ZH, "答案是二甲双胍。", "C"),
    (ZH, "二甲双胍", "C"),
    (ZH, "C．二甲双胍", "C"),
    (ZH, "不选A，排除D，因此选C。", "C"),
    (ZH, "答案是A。不对，患者过敏，答案是C。", "C"),
    (ZH, "有人会选A，但答案是C。", "C"),
    (ZH, "如果对二甲双胍过敏，选D。本题选C。", "C"),
    (ZH, "最终答案：C", "C"),
    (ZH, "应选B超检查。", "B"),
    (ZH, '{"答案": "C"}', "C"),
    (ZH, "【答案】C", "C"),
    (ZH, "答案 C", "C"),
    (ZH, "选项C是正确答案", "C"),
    (ZH, "因此，正确选项是C。", "C"),
    (ZH, "一开始我选A，后来改为选C", "C"),
    (ZH, "答案是A……等等，应该是C", "C"),
    (ZH, "答案不是A，而是C。", "C"),
    (ZH_WRONG, "A正确。B正确。故选D。", "D"),
    (ZH_YES, "答案：否", "否"),
    (ZH_YES, "不确定", "不确定"),
    # several
    (SIGNS, "A, C", "AC"),
    (SIGNS, "A and C", "AC"),
    (SIGNS, "A, C, and E", "ACE"),
    (SIGNS, "(A), (C)", "AC"),
    (SIGNS, "Answer: ACD", "ACD"),
    (SIGNS, "Answer: A", "A"),
    (SIGNS, "The correct answers are A, C and D.", "ACD"),
    (SIGNS, "Answer:\nA. Fever\nC. Cough", "AC"),
    (SIGNS, "Answer: A. Fever, C. Cough", "AC"),
    (SIGNS, "Fever and cough", "AC"),
    (SIGNS, "Answer: A. Fever D. Joint pain", "AD"),
    (SIGNS, '{"answers": ["A", "C"]}', "AC"),
    (SIGNS, "A and C are correct.", "AC"),
    (ZH_SIGNS, "A和C", "AC"),
    (ZH_SIGNS, "A、C", "AC"),
    (ZH_SIGNS, "ABD", "ABD"),
    (ZH_SIGNS, "答案：ＡＢＤ", "ABD"),
    (ZH_SIGNS, "答案：A.发热 B.皮疹", "AB"),
    (ZH_SIGNS, "A、B、D均正确。", "ABD"),
    (ZH_SIGNS, "故选ABD。", "ABD"),
    (ZH_SIGNS, "答案是A、B和D。", "ABD"),
]

UNREADABLE = [
    (DRUGS, ""),
    (DRUGS, " \n"),
    (DRUGS, "I am not sure."),
    (DRUGS, "I cannot give medical advice. Please see a doctor."),
    (DRUGS, "As a language model, I can't answer that."),
    (DRUGS, "A patient with diabetes needs treatment."),
    (DRUGS, "A beta blocker."),
    (DRUGS, "The answer is a beta blocker."),
    (DRUGS, "The answer is A beta blocker."),
    (DRUGS, "A or B"),
    (DRUGS, "Answer: A or B"),
    (DRUGS, "Answer: B (or possibly C)"),
    (DRUGS, "Answer: A/B"),
    (DRUGS, "The answer is either B or C."),
    (DRUGS, "Answer: B, C"),
    (DRUGS, "Answer: BC"),
    (DRUGS, "A, B and C are wrong."),
    (DRUGS, "It is not B."),
    (DRUGS, "The answer is not B."),
    (DRUGS, "I do not think that the answer is B."),
    (DRUGS, "Is the answer B?"),
    (DRUGS, "The answer is B?"),
    (DRUGS, "The answer is B if the kidneys work."),
    (DRUGS, "Answer: E"),
    (DRUGS, "E"),
    (DRUGS, "The answer is E."),
    (DRUGS, "The answer is B. The answer is E."),
    (DRUGS, "None of the above"),
    (DRUGS, "Answer: none of the above"),
    (DRUGS, "All of them are plausible."),
    (DRUGS, "Answer: A\nAnswer: B"),
    (DRUGS, "The answer is A. The answer is C."),
    (DRUGS, "Answer: B\n\nSo the answer is C."),
    (DRUGS, "The answer is A. However, in pregnancy the answer is C."),
    (DRUGS, "Answer: B. Aspirin"),
    (DRUGS, "Answer: B) Heparin"),
    (DRUGS, "Final answer:"),
    (DRUGS, "The answer is B.\n\nFinal answer: I am not sure"),
    (DRUGS, "The incorrect answer is A."),
    (DRUGS, "Options: A, B, C, D"),
    (DRUGS, "The student's answer is A."),
    (DRUGS, "The examiners say the answer is A."),
    (DRUGS, "Answer: B (80%), C (20%)"),
    (DRUGS, "A: 20%\nB: 70%\nC: 5%\nD: 5%"),
    (DRUGS, "Expert 1: A\nExpert 2: B"),
    (DRUGS, "Answer: B. No, C."),
    (DRUGS, "A. Aspirin\nB. Metformin\nC. Heparin\nD. Aspirin and clopidogrel"),
    (DRUGS, "A. Aspirin is wrong. B. Metformin lowers glucose."),
    (DRUGS, "A. Aspirin. This option is incorrect."),
    (DRUGS, "Metformin, the drug named second, is contraindicated."),
    (DRUGS, "She takes metformin."),
    (DRUGS, "Vitamin B-complex"),
    (DRUGS, "Answer: A. Correction: B"),
    (DRUGS, "Answer: A. No, wait: B seems better."),
    (DRUGS, "The answer is Metformin (A)."),
    (DRUGS, "Answer: A. Aspirin B. Metformin"),
    (DRUGS, "Answer: A (Metformin)"),
    (DRUGS, "Vitamin: B"),
    (DRUGS, "A: B"),
    (DRUGS, '{"answer": "E"}'),
    (DRUGS, '{"answer": null}'),
    (DRUGS, '{"answer": ["A", "B"]}'),
    (DRUGS, '{"answer": "A", "answer": "B"}'),
    (DRUGS, '{"answer": "A"}\n{"answer": "B"}'),
    (DRUGS, '{"answer": "B'),
    (DRUGS, '{"reasoning": "B"}'),
    (DRUGS, r"\boxed{A} \boxed{B}"),
    (DRUGS, r"\boxed{5}"),
    (DRUGS, "<think>The answer is B."),
    (DRUGS, "<think>The answer is B.</think>"),
    (TEN, "I think it could be several things."),
    (TEN, "I'm not able to say."),
    (TEN, "Answer: I am not sure"),
    (TEN, "K"),
    (TEN, "Answer: ı"),
    (NUMBERED, "13"),
    (NUMBERED, "Answer: 2.5"),
    (NUMBERED, "Give 2 tablets."),
    (SMALL, "Take a tablet."),
    (TRIAL, "I know this was done yesterday."),
    (TRIAL, "Nobody knows."),
    (TRIAL, "No evidence was given."),
    (TRIAL, "Yes and no."),
    (TRIAL, "Yes, but maybe no."),
    (TRIAL, "Fever: yes\nCough: no"),
    (GERMS, "E. faecalis is the likely germ."),
    (GERMS, "Answer: B. burgdorferi"),
    (GERMS, "The answer is H. pylori."),
    (NESTED, "The patient has pneumonia."),
    (NESTED, "Answer: pneumonia or acute bronchitis"),
    (TWINS, "Angiogram"),
    (question(["ac", "a", "ad", "ab"]), "The answer is a."),
    (GOUT, "The most likely diagnosis is not gout."),
    (GOUT, "The most likely diagnosis isn't gout."),
    (GOUT, "The most likely diagnosis is gout with tophi."),
    (GOUT, "The most likely diagnosis is gout or pseudogout."),
    (GOUT, "The most likely diagnosis is acute gout."),
    (GOUT, "The most likely diagnosis is gout?"),
    (GOUT, "The second most likely diagnosis is gout."),
    (GOUT, "The least likely diagnosis is gout."),
    (GOUT, "I do not think that the most likely diagnosis is gout."),
    (GOUT, "If she were young, the most likely diagnosis would be gout."),
    (GOUT, "The most likely diagnosis is gout. The most likely diagnosis is pseudogout."),
    (GOUT, "What is the most likely diagnosis?"),
    (ZH, "我不确定。"),
    (ZH, "不选C"),
    (ZH, "答案不是C。"),
    (ZH, "选A还是选C？"),
    (ZH, "选A或C"),
    (ZH, "答案：A或者C"),
    (ZH, "答案：E"),
    (ZH, "可做B超。"),
    (ZH, "应选A型肉毒毒素。"),
    (ZH, "以上都不是"),
    (ZH, "答案：A\n答案：C"),
    (ZH, "排除A。"),
    (ZH_YES, "是否如此尚不清楚。"),
    (SIGNS, "Answer: A, F"),
    (SIGNS, "A or C"),
    (SIGNS, "None."),
    (SIGNS, "A. Fever\nB. Rash\nC. Cough\nD. Joint pain\nE. Night sweats"),
    (ZH_SIGNS, "答案：A或C"),
    (ZH_SIGNS, "答案：ABD\n答案：AB"),
]


@each_row(("asked", "reply", "keys"), READ)
def test_what_is_said_is_read(asked, reply, keys):
    expected = {keys} if keys in asked.options else set(keys)
    assert read_answer(reply, asked) == expected


@each_row(("asked", "reply"), UNREADABLE)
def test_what_is_not_said_is_not_guessed(asked, reply):
    with pytest.raises(UnreadableReply) as failure:
        read_answer(reply, asked)
    assert failure.value.text == reply
    assert failure.value.problem


def test_what_breaks_off_is_told_apart():
    for reply in ("<think>The answer is B.", '{"answer": "B'):
        with pytest.raises(CutOff):
            read_answer(reply, DRUGS)


KEY_SETS = st.one_of(
    st.integers(2, 26).map(lambda n: list(string.ascii_uppercase[:n])),
    st.integers(2, 10).map(lambda n: list(string.ascii_lowercase[:n])),
    st.integers(2, 30).map(lambda n: [str(i) for i in range(1, n + 1)]),
    st.integers(2, 8).map(lambda n: list("甲乙丙丁戊己庚辛"[:n])),
    st.sampled_from(
        [["yes", "no", "maybe"], ["Yes", "No"], ["是", "否", "不确定"], ["a", "A"], ["or", "and", "not", "the"]]
    ),
    st.lists(
        st.text(string.ascii_letters + string.digits, min_size=1, max_size=6),
        min_size=2,
        max_size=8,
        unique_by=str.lower,
    ),
)
SENTENCES = [
    "A patient of 70 years comes with a cough.",
    "I think about each option in turn.",
    "Option A is less likely, and it is not B.",
    "I know that this was so yesterday, and nobody said maybe.",
    "E. coli and C. difficile are germs; (D) is another.",
    "The answer is not A.",
    "Some would say the answer is B.",
    "If she were pregnant, the answer would be C.",
    "该患者咳嗽三天，不选A。",
    "有人会选B，应排除。",
    "Vitamin B: 2.5 mg, once a day.",
    "",
]


FORMATS = {
    "line": write_answer,
    "json": lambda keys, _: json.dumps({"answer": keys[0] if len(keys) == 1 else keys}, ensure_ascii=False),
    "boxed": lambda keys, language: f"\\boxed{{{BETWEEN[language].join(keys)}}}",
    "bare": lambda keys, language: BETWEEN[language].join(keys),
}
BETWEEN = {"en": ", ", "zh": "、"}


@given(st.data(), KEY_SETS, st.sampled_from([*FORMATS]), st.sampled_from(["en", "zh"]), st.booleans())
def test_every_format_is_inverted(data, keys, format, language, several):
    texts = data.draw(st.permutations([f"Text {n} of the options" for n in range(len(keys))]))
    asked = question(dict(zip(keys, texts, strict=True)), language=language, several=several)
    chosen = data.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=len(keys) if several else 1, unique=True))
    prose = data.draw(st.lists(st.sampled_from(SENTENCES), max_size=6))
    write = FORMATS[format]
    reply = "\n".join([*prose, write(chosen, language)])
    assert read_answer(reply, asked) == set(chosen)
    assert read_answer(f"<think>{write(keys[:1], language)}</think>{reply}", asked) == set(chosen)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["medqa/phrases_no_exclude_test.jsonl", "medmcqa/dev.json", "mmlu"])
def test_published_options_are_read_or_unreadable_and_never_another(shared_data, name):
    readable = asked = 0
    for exam_question in sample(read_exam(shared_data / "qa" / name), 60, seed=1)[:60]:
        one = exam_question.question
        for key, text in one.options.items():
            for reply in (f"({key}) {text}", f"The answer is {text} ({key}).", f"{one.stem}\n\nAnswer: {key}. {text}"):
                asked += 1
                with contextlib.suppress(UnreadableReply):
                    assert read_answer(reply, one) == {key}
                    readable += 1
    assert readable > 0.98 * asked


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["medqa/phrases_no_exclude_test.jsonl", "medmcqa/dev.json", "mmlu", "pubmedqa/ori_pqal.json"]
)
def test_a_published_question_said_again_is_no_answer(shared_data, name):
    for exam_question in sample(read_exam(shared_data / "qa" / name), 60, seed=2)[:60]:
        one = exam_question.question
        texts = list(one.options.values())
        bracketed = [f"({key}) {text}" for key, text in one.options.items()]
        for echo in (one.stem, show(one), *("\n".join([one.stem, *rows]) for rows in (texts, bracketed))):
            with pytest.raises(UnreadableReply):
                read_answer(echo, one)


@given(st.lists(st.sampled_from(SENTENCES), max_size=8))
def test_prose_without_an_answer_is_unreadable(prose):
    with pytest.raises(UnreadableReply):
        read_answer("\n".join(prose), question(["Iron", "Zinc", "Gold", "Tin", "Lead"]))


@given(st.text(max_size=200), st.sampled_from([DRUGS, TRIAL, NUMBERED, ZH_SIGNS, TWINS, TEN, BLOOD]))
def test_any_text_is_read_or_unreadable(text, asked):
    try:
        keys = read_answer(text, asked)
    except UnreadableReply:
        return
    assert keys and keys <= asked.options.keys()


@pytest.mark.slow
@each_row(
    "piece",
    ["{", '{"a":', "A, ", "the answer is ", "\\boxed{", "<think>", "not ", "A\n", "选", "A or B. ", "x ", "“", "if "],
)
def test_a_long_reply_is_read_in_bearable_time(piece):
    began = time.process_time()
    with contextlib.suppress(UnreadableReply):
        read_answer(piece * (40_000 // len(piece)), DRUGS)
    assert time.process_time() - began < 2


def test_the_line_of_an_answer_is_shown_as_it_is_written():
    assert show_form() == FINAL_LINE["en"].format(key="<letter>")
    assert show_form("zh", several=True) == "答案：<选项>、<选项>"
    assert write_answer(["A", "C"]) == "Answer: A, C"


@pytest.mark.parametrize("before", ["", "You said: ", "Let me read that again.\n"])
def test_the_question_said_again_is_no_answer(before):
    for options in (
        {"A": "Hypothyroidism", "B": "Hirsutism", "C": "A cyst"},
        {"A": "A newborn with jaundice", "B": "A reduction", "C": "An increase"},
        {"yes": "yes", "no": "no", "maybe": "maybe"},
    ):
        question = Question(id="q", stem="Which one?", options=options)
        echo = before + show(question)
        with pytest.raises(UnreadableReply):
            read_answer(echo, question)
        for key in options:
            assert read_answer(f"{echo}\n\nAnswer: {key}", question) == {key}


@pytest.mark.parametrize("heading", ["Options:", "Answer choices:", "The options are:", "Answer:"])
def test_a_list_of_options_is_no_answer(heading):
    question = Question(id="q", stem="Which one?", options={"A": "Gout", "B": "Sepsis", "C": "Asthma"})
    with pytest.raises(UnreadableReply):
        read_answer(f"{heading}\nA. Gout\nB. Sepsis", question)
    assert read_answer(f"{heading}\nB. Sepsis", question) == {"B"}
