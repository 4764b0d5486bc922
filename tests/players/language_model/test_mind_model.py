"""Language models as minds: what each role is told, in which language, and that nobody is told too much."""

import json

import pytest

from polyclinic.cases.check import find_leaks
from polyclinic.cases.loaders import read_cases
from polyclinic.errors import UnreadableReply
from polyclinic.events import End, Examined, Failed, Role, Said
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted
from polyclinic.players.language_model.mind import PROMPTS, joined
from polyclinic.players.mind_names import model_of
from polyclinic.players.minds import Minds
from polyclinic.prompts import BrokenPrompt, Prompts, read_prompts
from polyclinic.visits.visit import see

ORDER = {"en": "Please have a blood test and a chest X-ray.", "zh": "请您做一下血液检查和胸部X线检查。"}


class Recorder:
    """A scripted model that plays a plausible visit and remembers everything that it was told."""

    def __init__(self, language="en"):
        self.told: dict[str, list[str]] = {"doctor": [], "patient": [], "examiner": []}
        self.language = language
        self.model = Scripted(self.answer, name="direct/recorder")

    def answer(self, messages):
        system = messages[0][1]
        whole = "\n".join(text for _, text in messages)
        if "conclude" in system or "diagnoses" in messages[-1][1]:
            self.told["doctor"].append(whole)
            if "diagnoses" in messages[-1][1]:
                return {part: [] for part in ("symptoms", "examinations", "diagnoses", "rationale", "treatment")}
            spoken = sum(role == "assistant" for role, _ in messages)
            return {"say": ORDER[self.language] if spoken == 1 else "Any fever? 发烧吗？", "conclude": spoken > 2}
        if "`numbers`" in system:
            self.told["examiner"].append(whole)
            lines = [line.partition(". ") for line in whole.splitlines()]
            wanted = "血液检查" if self.language == "zh" else "blood test"
            return {"numbers": [int(number) for number, _, name in lines if name.startswith(wanted)]}
        self.told["patient"].append(whole)
        ordered = any(text.endswith(ORDER[self.language]) for _, text in messages[-1:])
        return {
            "say": "blood test" if ordered else "I cough.",
            "to": "examiner" if ordered else "doctor",
            "state": None,
            "leave": False,
        }


def minds(recorder, **roles):
    names = dict.fromkeys(("doctor", "patient", "examiner"), "direct/recorder") | roles
    return Minds(**names, knowledge=read_knowledge(), seed=1, models={"direct/recorder": recorder.model})


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_visit_of_models(language):
    recorder = Recorder(language)
    case = next(generate(read_knowledge(), n=1, seed=3, language=language))
    visit = await see(case, minds(recorder))
    assert visit.end is End.CONCLUDED
    assert all(recorder.told.values())
    assert visit.trace[0].minds == {
        Role.DOCTOR: "direct/recorder",
        Role.PATIENT: "direct/recorder",
        Role.EXAMINER: "direct/recorder",
    }
    examined = visit.trace.last(Examined)
    assert {f.examination for f in examined.findings} == {"血液检查" if language == "zh" else "blood test"}
    # What the examiner found stands in the doctor's next prompt word for word, and not before.
    assert examined.text not in recorder.told["doctor"][1]
    assert examined.text in recorder.told["doctor"][2]
    chinese = [
        any("\u4e00" <= c <= "\u9fff" for c in prompt) for prompts in recorder.told.values() for prompt in prompts
    ]
    assert all(chinese) == (language == "zh")


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", ["agentclinic/agentclinic_medqa.jsonl", "ai_hospital/patients_small_10.json", "aie/HospitalCases.json"]
)
async def test_no_prompt_tells_a_role_what_it_must_not_know(shared_data, file):
    for case in list(read_cases(shared_data / "cases" / file))[::2][:20]:
        recorder = Recorder(case.presentation.language)
        visit = await see(case, minds(recorder))
        revealed = [e.text for e in visit.trace if isinstance(e, Said | Examined)]
        found = [e for e in visit.trace if isinstance(e, Examined)]
        revealed += [finding.text() for event in found for finding in event.findings]
        assert find_leaks(recorder.told["doctor"], case, revealed=revealed) == [], case.id
        assert [k for k in find_leaks(recorder.told["patient"], case, revealed=revealed) if k.kind == "diagnosis"] == []
        if case.setting == "ward":
            # What its own list of symptoms holds the patient feels, though a finding may say it in the same words.
            felt = [s for s in case.record.history.symptoms if "examination" not in s]
            assert find_leaks(recorder.told["patient"], case, revealed=[*revealed, *felt]) == [], case.id
            assert find_leaks(recorder.told["examiner"], case, revealed=[]) == [], case.id


@pytest.mark.slow
async def test_generated_cases_leak_into_no_prompt():
    for case in generate(read_knowledge(), n=24, seed=8):
        recorder = Recorder()
        visit = await see(case, minds(recorder, patient="rules"))
        revealed = [e.text for e in visit.trace if isinstance(e, Said | Examined)]
        assert find_leaks(recorder.told["doctor"], case, revealed=revealed) == []


async def test_in_one_step_the_doctor_is_told_the_record_and_not_the_truth():
    recorder = Recorder()
    case = next(generate(read_knowledge(), n=1, seed=3))
    visit = await see(case, minds(recorder), in_one_step=True)
    assert visit.end is End.CONCLUDED
    (prompt,) = recorder.told["doctor"]
    assert all(symptom in prompt for symptom in case.record.history.symptoms)
    assert case.record.findings[0].result("en") in prompt
    assert all(item not in prompt for item in case.truth.treatment)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("no JSON at all", "UnreadableReply"),
        (UnreadableReply("no"), "UnreadableReply"),
        ('{"say": 3}', "UnreadableReply"),
    ],
)
async def test_an_unusable_answer_fails_the_visit_by_name(answer, error):
    model = Scripted(lambda _: answer)
    case = next(generate(read_knowledge(), n=1, seed=3))
    visit = await see(case, Minds(doctor="direct/x", knowledge=read_knowledge(), seed=1, models={"direct/x": model}))
    failed = visit.trace.last(Failed)
    assert (visit.end, visit.report) == (End.FAILED, None)
    assert (failed.who, failed.error) == (Role.DOCTOR, error)


async def test_a_model_chooses_an_option_after_the_dialogue(shared_data):
    case = next(read_cases(shared_data / "cases" / "aie" / "MedicalExam.json"))
    asked = []

    def answer(messages):
        asked.append(messages)
        return {"say": "Fever?", "conclude": False} if len(asked) < 3 else "b"

    models = {"direct/x": Scripted(answer)}
    minds = Minds(doctor="direct/x", knowledge=read_knowledge(), seed=1, models=models)
    visit = await see(case, minds, max_turns=2, put_question=True)
    assert (visit.answer, visit.report) == ("B", None)
    told = "\n".join(text for _, text in asked[-1])
    assert case.question.stem in told
    assert all(f"{key}. {text}" in told for key, text in case.question.options.items())
    assert all(text not in "\n".join(t for _, t in asked[0]) for text in case.question.options.values())


def test_names_of_models():
    assert all(map(model_of, ("local", "local/x.gguf", "direct/qwen", "openai/gpt-4o", "inspect/openai/gpt-4o")))
    assert not any(map(model_of, ("rules", "scripted:a/b.json", "oracle", "scripted")))


def test_roles_alternate():
    said = [("system", "a"), ("user", "b"), ("user", "c"), ("assistant", "d"), ("user", "e")]
    assert joined(said) == [("system", "a"), ("user", "b\n\nc"), ("assistant", "d"), ("user", "e")]


def test_prompts_exist_in_both_languages_with_the_same_blanks():
    prompts = read_prompts(PROMPTS)
    assert prompts["en"].blanks == prompts["zh"].blanks
    assert len(prompts["en"].blanks) >= 9


def test_broken_prompts_are_found_when_they_are_read(tmp_path):
    english, chinese = tmp_path / "p.md", tmp_path / "p.zh.md"
    english.write_text("About.\n\n## one\n\nHello {name}.\n")
    chinese.write_text("## one\n\n你好。\n")
    with pytest.raises(BrokenPrompt, match="differ in: one"):
        read_prompts(english)
    prompts = Prompts(english)
    assert prompts("one", name="you") == "Hello you."
    with pytest.raises(BrokenPrompt, match="the blanks are name; got none"):
        prompts("one")
    with pytest.raises(BrokenPrompt, match="no section 'two'"):
        prompts("two")
    assert json.dumps(prompts.blanks, default=list)
