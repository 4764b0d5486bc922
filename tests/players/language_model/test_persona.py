"""Personas: made from what the patient knows, checked for what it does not, and heard in what it says."""

import json
import random

import msgspec
import pytest
from tests.tables import each_row
from tests.truth_terms import truth_terms

from polyclinic.cases.case import Case
from polyclinic.cases.check import find_leaks
from polyclinic.cases.loaders import find_case, read_cases, write_cases
from polyclinic.cases.persona import Persona
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.shipped import SHIPPED
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput, UnreadableReply
from polyclinic.evaluations.personas import LeakingPersona, refuse_leaks
from polyclinic.events import Role, Said, State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted as ScriptedModel
from polyclinic.players.language_model.mind import PROMPTS, ModelMind, patient_messages
from polyclinic.players.language_model.personas import (
    MANNERS,
    WrittenPersona,
    manner_for,
    persona_by_model,
    persona_from_templates,
    read_templates,
)
from polyclinic.players.minds import Minds
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.player import OPEN, REPLY
from polyclinic.players.roles.patient import Patient
from polyclinic.prompts import read_prompts
from polyclinic.visits.visit import see

DRAFT = {
    "statement": "Doctor, I have been coughing for three days now, and it will not let up.",
    "life": "You live above a bakery.",
    "events": "You have just got a new stove.",
    "character": "You are calm.",
    "speech": "You speak slowly.",
    "questions": ["Is it bad?"],
}


def case(*, language="en", age=40.0, persona=None, setting="ward", **history):
    complaint = "dry cough for 3 days" if language == "en" else "干咳3天"
    return Case(
        id="c",
        record=Record(
            presentation=Presentation(complaint=complaint, language=language, age=age),
            history=History(**(history or {"symptoms": ("dry cough for 3 days", "headache", "tiredness")})),
            findings=(Finding(examination="chest X-ray", value="Consolidation of the left lower lobe."),),
        ),
        truth=Truth(diagnoses=(Diagnosis(name="Lobar pneumonia"),)),
        persona=persona,
        setting=setting,
    )


def patient(case, mind=None):
    mind = mind or ScriptedMind([])
    options = {"setting": case.setting, "withheld": truth_terms(case), "persona": case.persona}
    return Patient(mind, case.record, **options)


def minds(**options):
    return Minds(knowledge=read_knowledge(), seed=0, **options)


async def hear(role, text):
    role.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=text))
    turn = await role.act(REPLY)
    role.observe(Said(seq=0, turn=1, who=Role.PATIENT, to=Role.DOCTOR, text=turn.say))
    return turn


# Templates.


@pytest.mark.slow
@each_row("file", SHIPPED)
@each_row("manner", [None, *MANNERS])
def test_templates_give_every_shipped_patient_a_persona_that_gives_nothing_away(file, manner):
    made = {}
    # Each in a manner of its own; each manner in some.
    fitting = [one for one in read_cases(SHIPPED[file]) if manner != "parent" or one.presentation.age < 18]
    for one in fitting[:: 1 if manner is None else 5]:
        made[one.id] = persona_from_templates(patient(one), random.Random(one.id), manner=manner)
        assert find_leaks(made[one.id].texts(), one) == []
        assert made[one.id] == persona_from_templates(patient(one), random.Random(one.id), manner=manner)
        assert all(text.strip() for text in made[one.id].texts())
    assert len(set(made.values())) == len(made) > 1
    assert {p.manner for p in made.values()} == (set(MANNERS) if manner is None else {manner})


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", ["agentclinic/agentclinic_medqa.jsonl", "ai_hospital/patients_small_10.json", "aie/HospitalCases.json"]
)
def test_templates_give_nothing_of_real_cases_away(shared_data, file):
    for one in read_cases(shared_data / "cases" / file):
        refuse_leaks(persona_from_templates(patient(one), random.Random(0)), one)


def test_templates_are_the_same_in_both_languages_in_number():
    def shape(part):
        if isinstance(part, dict):
            return {key: shape(value) for key, value in part.items()}
        return len(part)

    en, zh = (read_templates()[language] for language in ("en", "zh"))
    assert [shape(getattr(en, f)) for f in en.__struct_fields__] == [
        shape(getattr(zh, f)) for f in zh.__struct_fields__
    ]
    combinations = sum(map(len, en.lives.values())) * len(en.characters) * len(en.speech)
    assert sum(map(len, en.lives.values())) > 24
    assert combinations > 1000


def test_a_parent_speaks_for_children_only():
    child = persona_from_templates(patient(case(age=9.0)), random.Random(0), manner="parent")
    assert "my child" in child.statement
    with pytest.raises(BadInput, match="this one's age is 40"):
        persona_from_templates(patient(case()), random.Random(0), manner="parent")
    with pytest.raises(BadInput, match="unknown"):
        manner_for(None, "parent", random.Random(0))
    assert {manner_for(40, None, random.Random(i)) for i in range(80)} == set(MANNERS) - {"parent"}


# A model.


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_model_is_told_what_the_patient_knows_and_nothing_else(language):
    told = []

    def says(messages):
        told.append("\n".join(text for _, text in messages))
        return DRAFT

    one = case(language=language, present="Was told it is lobar pneumonia. The X-ray showed a consolidation.")
    made = await persona_by_model(patient(one), ScriptedModel(says), random.Random(0), manner="anxious")
    assert made == Persona(manner="anxious", **{**DRAFT, "questions": ("Is it bad?",)})
    assert one.presentation.complaint in told[0]
    assert find_leaks(told, one) == []
    assert "onsolidation" not in told[0]


async def test_a_models_persona_that_cannot_be_read_is_none():
    with pytest.raises(UnreadableReply):
        await persona_by_model(patient(case()), ScriptedModel(["no"]), random.Random(0))


@pytest.mark.parametrize(
    "draft",
    [{"statement": "I have lobar pneumonia."}, {"questions": ["Is the consolidation of the left lower lobe bad?"]}],
)
def test_a_persona_that_gives_something_away_is_refused_by_name(draft):
    made = Persona(**{**DRAFT, "questions": tuple(DRAFT["questions"]), **draft})
    with pytest.raises(LeakingPersona, match=r"lobar pneumonia|[Cc]onsolidation"):
        refuse_leaks(made, case())


# The layouts.


def test_a_persona_is_kept_with_its_case(tmp_path):
    persona = Persona(**{**DRAFT, "questions": ("Is it bad?",)}, manner="withholding")
    write_cases(tmp_path / "c.jsonl", [case(persona=persona), case()])
    lines = (tmp_path / "c.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[0])["persona"]["manner"] == "withholding"
    assert "persona" not in json.loads(lines[1])


def test_ai_hospitals_profile_is_the_persona(tmp_path):
    record = {
        "id": 1,
        "medical_record": {"主诉": "咳嗽3天", "现病史": "3天前开始咳嗽。", "诊断结果": "1. 肺炎"},
        "profile": "<病情陈述> 你咳了三天，你妈妈也听见了。\n<性别> 男\n<工作与生活> 你卖菜。\n<说法方式> 你说话直。",
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps([record, {**record, "id": 2, "profile": "<性别> 男"}], ensure_ascii=False), "utf-8")
    assert find_case(path, "1").persona == Persona(
        statement="我咳了三天，我妈妈也听见了。", life="你卖菜。", speech="你说话直。"
    )
    assert find_case(path, "2").persona is None


def test_every_real_profile_is_read(shared_data):
    cases = list(read_cases(shared_data / "cases" / "ai_hospital" / "patients_small_10.json"))
    assert all(one.persona is not None and one.persona.speech and "你" not in one.persona.statement for one in cases)


# The patient.


def test_the_role_cuts_out_of_a_persona_what_it_may_not_say():
    persona = Persona(
        statement="I cough. They say it is lobar pneumonia.",
        life="You had an X-ray that showed a shadow.",
        questions=("Is lobar pneumonia bad?", "When can I go home?"),
    )
    held = patient(case(persona=persona)).persona
    assert (held.statement, held.life, held.questions) == ("I cough.", "", ("When can I go home?",))


async def test_the_statement_opens_the_visit_for_rules_and_for_a_model():
    one = case(persona=Persona(**{**DRAFT, "questions": ("Is it bad?",)}))
    for mind in (minds().patient("c"), ModelMind(ScriptedModel([]), name="direct/x")):
        opened = await patient(one, mind).act(OPEN)
        assert (opened.say, opened.state, opened.to) == (DRAFT["statement"], State.OPENING, "doctor")


@each_row("setting", ["ward", "online"])
@each_row("language", ["en", "zh"])
@each_row("manner", MANNERS)
def test_a_models_prompt_holds_the_persona_and_its_manner(setting, language, manner):
    persona = Persona(**{**DRAFT, "questions": ("Is it bad?",)}, manner=manner)
    role = patient(case(language=language, persona=persona, setting=setting))
    role.observe(Said(seq=0, turn=0, who=Role.PATIENT, to=Role.DOCTOR, text=persona.statement))
    prompts = read_prompts(PROMPTS)[language]
    messages = patient_messages(REPLY, role, prompts)
    system = messages[0][1]
    assert all(text in system for text in (*persona.texts()[1:], prompts(f"manner {manner}")))
    # The statement stands as the first thing that the patient has said: the example of how it speaks.
    assert any(who == "assistant" and persona.statement in text for who, text in messages)
    bare = patient_messages(REPLY, patient(case(language=language, setting=setting)), prompts)[0][1]
    assert prompts("persona_none") in bare
    assert DRAFT["life"] not in bare


async def test_the_rules_patient_asks_its_questions_when_it_is_told_what_to_do_each_once():
    persona = Persona(statement="I cough.", questions=("Is it bad?",))
    role = patient(case(persona=persona), minds().patient("c"))
    assert "Is it bad?" not in (await hear(role, "Do you have a headache?")).say
    assert "Is it bad?" in (await hear(role, "Please take paracetamol and drink a lot.")).say
    assert "Is it bad?" not in (await hear(role, "Please take paracetamol and drink a lot.")).say


async def test_the_anxious_ask_of_themselves_and_order_an_examination_all_the_same():
    persona = Persona(statement="I cough.", questions=("Is it bad?", "Will I die?"), manner="anxious")
    role = patient(case(persona=persona), minds().patient("c"))
    said = [await hear(role, "Do you have a headache?") for _ in range(4)]
    assert ["?" in turn.say for turn in said] == [False, True, False, True]
    assert all("headache" in turn.say for turn in said)
    assert (await hear(role, "Please have a chest X-ray.")).say.endswith("chest X-ray.")


async def test_the_withholding_tell_less_and_nothing_that_is_not_so():
    question = "Do you have a headache, a dry cough or tiredness?"
    plain = await hear(patient(case(), minds().patient("c")), question)
    persona = Persona(statement="I cough.", manner="withholding")
    less = await hear(patient(case(persona=persona), minds().patient("c")), question)
    assert len(less.say) < len(plain.say)
    assert (plain.state, less.state) == (State.EFFECTIVE_INQUIRY, State.EFFECTIVE_INQUIRY)
    assert less.say.rstrip(".") in plain.say
    assert "No " not in less.say


async def test_a_child_of_any_age_may_come_with_a_parent():
    persona = Persona(statement="My child coughs.", manner="parent")
    turn = await hear(
        patient(case(age=12.0, persona=persona), minds().patient("c")), "Does your child have a headache?"
    )
    assert "my child" in turn.say.casefold()


@pytest.mark.slow
async def test_a_visit_with_a_persona_opens_with_its_statement_and_leaks_nothing():
    one = next(read_cases(SHIPPED["shipped"]))
    made = persona_from_templates(patient(one), random.Random(0), manner="anxious")
    visit = await see(msgspec.structs.replace(one, persona=made), minds())
    opening = next(event for event in visit.trace if isinstance(event, Said))
    assert opening.text == made.statement
    without = await see(one, minds())
    assert without.trace != visit.trace


def test_the_drafts_fields_are_the_personas():
    assert set(WrittenPersona.__struct_fields__) == set(Persona.__struct_fields__) - {"manner"}


# The command line.


@pytest.mark.slow
def test_personas_from_templates_on_the_command_line(run, complaint, tmp_path):
    out = tmp_path / "p.jsonl"
    done = run("cases", "convert", "shipped-zh", "--persona", "mixed", "--out", out)
    assert "48 of 48 cases have a persona" in done.stderr
    made = list(read_cases(out))
    assert len({one.persona for one in made}) == 48
    again = tmp_path / "q.jsonl"
    run("cases", "convert", "shipped-zh", "--persona", "mixed", "--out", again)
    assert again.read_bytes() == out.read_bytes()
    assert "overwrite it with --force" in complaint("cases", "convert", "shipped", "--persona", "plain", "--out", out)
    other = tmp_path / "r.jsonl"
    assert "allowed: plain" in complaint("cases", "convert", "shipped", "--persona", "x", "--out", other)
    assert "allowed: templates" in complaint(
        "cases", "convert", "shipped", "--persona", "plain", "--writer", "x", "--out", other
    )
    assert "under 18" in complaint("cases", "convert", "shipped", "--persona", "parent", "--out", other)
    assert not other.exists()
