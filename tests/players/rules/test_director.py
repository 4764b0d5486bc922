"""The director: what the rules make of what doctors bring, and what a language model is told."""

import re
from itertools import pairwise

import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, read_out
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import ScriptError, UnknownMind
from polyclinic.events import Disputed, Established, Examined, Reported, Revised, Role, Said, Shared
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted
from polyclinic.players.language_model.mind import PROMPTS, ModelMind, as_written, doctor_messages, joined
from polyclinic.players.minds import Minds
from polyclinic.players.player import CONCLUDE, DISPUTE, MERGE, REVISE, SPEAK
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.staff import Director
from polyclinic.players.rules.director import RulesDirector
from polyclinic.prompts import read_prompts


@pytest.fixture(scope="module")
def reader():
    return Reader(read_knowledge(), something_else=0.2)


@pytest.fixture
def chair(reader):
    def chair(*events, language="en", may_ask=True):
        presentation = Presentation(complaint="咳嗽" if language == "zh" else "A cough", language=language, age=40)
        director = Director(RulesDirector(reader), presentation, may_ask=may_ask)
        for event in events:
            director.observe(event)
        return director

    return chair


def shared(doctor, *symptoms, findings=(), examinations=()):
    return Shared(
        seq=0, doctor=doctor, name="x", symptoms=symptoms, findings=findings, examinations=tuple(examinations)
    )


def revised(doctor, *diagnoses, treatment=("rest",), round=0):
    named = [d if isinstance(d, Diagnosis) else Diagnosis(d) for d in diagnoses]
    report = Report(
        symptoms=(), examinations=(), diagnoses=tuple(named), rationale=(f"why {doctor}",), treatment=tuple(treatment)
    )
    return Revised(seq=0, doctor=doctor, name="x", round=round, report=report)


def value(examination, value, item=""):
    return Finding(examination=examination, item=item, value=value)


async def test_facts_are_merged_and_nothing_is_asked_where_nothing_contradicts(chair):
    director = chair(
        shared(1, "fever", "dry cough", examinations=["chest X-ray: clear"]),
        shared(2, "dry cough", "no sore throat", examinations=["chest X-ray: clear", "blood test: normal"]),
    )
    facts = await director.act(MERGE)
    assert facts.symptoms == ("fever", "dry cough", "no sore throat")
    assert facts.examinations == ("chest X-ray: clear", "blood test: normal")
    assert facts.ask_patient == facts.ask_examiner == ()


@pytest.mark.parametrize(
    ("language", "yes", "no", "question", "answers"),
    [
        ("en", "fever", "no fever", "Do you have a fever?", {"Yes.": "fever", "No, no fever.": "no fever"}),
        ("zh", "发热", "无发热", None, {"有。": "发热", "没有。": "无发热"}),
    ],
)
async def test_a_symptom_one_affirms_and_another_denies_is_asked_for(chair, language, yes, no, question, answers):
    brought = (shared(1, yes), shared(2, no))
    (asked,) = (await chair(*brought, language=language).act(MERGE)).ask_patient
    assert question is None or asked == question
    for answer, fact in answers.items():
        exchange = (
            Said(seq=0, turn=1, who=Role.DIRECTOR, to=Role.PATIENT, text=asked),
            Said(seq=0, turn=1, who=Role.PATIENT, to=Role.DIRECTOR, text=answer),
        )
        facts = await chair(*brought, *exchange, language=language).act(MERGE)
        assert (facts.symptoms, facts.ask_patient) == ((fact,), ())
    # An answer that says neither leaves both standing, and is not asked for again.
    exchange = (exchange[0], Said(seq=0, turn=1, who=Role.PATIENT, to=Role.DIRECTOR, text="..."))
    facts = await chair(*brought, *exchange, language=language).act(MERGE)
    assert (facts.symptoms, facts.ask_patient) == ((yes, no), ())
    assert (await chair(*brought, language=language, may_ask=False).act(MERGE)).ask_patient == ()


async def test_what_an_answer_overrules_takes_nothing_else_with_it(chair):
    asked = Said(seq=0, turn=1, who=Role.DIRECTOR, to=Role.PATIENT, text="Do you have a fever?")
    answer = Said(seq=0, turn=1, who=Role.PATIENT, to=Role.DIRECTOR, text="No.")
    facts = await chair(shared(1, "fever and sneezing"), shared(2, "no fever"), asked, answer).act(MERGE)
    assert sorted(facts.symptoms) == ["no fever", "sneezing"]


async def test_two_values_of_an_item_are_read_out_again(chair):
    one, other = value("blood test", 9.1, "hemoglobin"), value("blood test", 12.0, "hemoglobin")
    facts = await chair(shared(1, findings=(one,)), shared(2, findings=(other,))).act(MERGE)
    assert facts.ask_examiner == ("Please read out again: blood test",)
    same = await chair(shared(1, findings=(one,)), shared(2, findings=(one,))).act(MERGE)
    assert same.ask_examiner == ()
    # Online there are no findings of an examiner: the doctors' own words are compared.
    facts = await chair(shared(1, examinations=["ECG: normal"]), shared(2, examinations=["ECG: a block"])).act(MERGE)
    assert facts.ask_examiner == ("Please read out again: ECG",)


async def test_different_first_diagnoses_are_the_dispute(chair):
    points = (await chair(revised(1, "Influenza A"), revised(2, "flu A", "Common X"), revised(3)).act(DISPUTE)).points
    assert points == ("Which diagnosis comes first: Influenza A (doctors 1, 2); none named (doctor 3)?",)
    assert (await chair(revised(1), revised(2)).act(DISPUTE)).points == ()
    zh = await chair(revised(1, "甲型流感"), revised(2, "肺炎支原体感染"), language="zh").act(DISPUTE)
    assert "医生1" in zh.points[0]
    assert "甲型流感" in zh.points[0]


async def test_with_one_first_diagnosis_the_plans_are_compared(chair):
    same = await chair(revised(1, "A", treatment=["x", "y"]), revised(2, "a", treatment=["y", "x"])).act(DISPUTE)
    assert same.points == ()
    points = (await chair(revised(1, "A", treatment=["x", "y"]), revised(2, "A", treatment=["y"])).act(DISPUTE)).points
    assert points == ("Treatment of A: x (doctor 1); nothing besides (doctor 2)?",)


async def test_only_the_last_report_of_a_doctor_counts(chair):
    director = chair(revised(1, "A"), revised(2, "B"), revised(2, "A", round=1))
    assert (await director.act(DISPUTE)).points == ()
    assert [event.round for event in director.standing()] == [0, 1]


def sure(name, probability):
    return Diagnosis(name, probability=probability)


async def test_the_pooled_probabilities_decide(chair):
    facts = Established(seq=0, symptoms=("cough",), examinations=("ECG: normal",))
    director = chair(
        facts,
        revised(1, sure("A", 0.6), sure("B", 0.4), treatment=["a"]),
        revised(2, sure("A", 0.5), sure("B", 0.4), treatment=["a2"]),
        revised(3, sure("B", 0.9), sure("A", 0.1), treatment=["b"]),
    )
    report = await director.act(CONCLUDE)
    assert (report.symptoms, report.examinations) == (("cough",), ("ECG: normal",))
    # Two of three put A first, and B is more probable to all of them together.
    assert [(d.name, d.probability) for d in report.diagnoses] == [("B", 0.567), ("A", 0.4)]
    assert report.treatment == ("b",)
    assert report.rationale[0] == "B: 57 % by the doctors together"
    assert not any("Equally" in item for item in report.rationale)


async def test_the_plan_is_that_of_most_who_put_it_first_then_of_the_surest(chair):
    most = [revised(n, sure("A", p), treatment=[t]) for n, p, t in ((1, 0.9, "x"), (2, 0.5, "y"), (3, 0.6, "y"))]
    assert (await chair(*most).act(CONCLUDE)).treatment == ("y",)
    assert (await chair(*most[:2]).act(CONCLUDE)).treatment == ("x",)


async def test_a_doctor_without_probabilities_has_one_vote(chair):
    report = await chair(revised(1, "A", "B"), revised(2, "B"), revised(3, sure("B", 0.5))).act(CONCLUDE)
    assert [(d.name, d.probability) for d in report.diagnoses] == [("B", 0.5)]
    assert [(d.name, d.probability) for d in report.differential] == [("A", 0.333)]


async def test_kinds_of_one_disease_are_votes_for_it(chair):
    named = [revised(1, "Influenza A (H1N1)"), revised(2, "flu A"), revised(3, "COVID-19 infection")]
    report = await chair(*named).act(CONCLUDE)
    assert [(d.name, d.probability) for d in report.diagnoses] == [("Influenza A (H1N1)", 0.667)]
    assert [(d.name, d.probability) for d in report.differential] == [("COVID-19 infection", 0.333)]


async def test_agreement_in_substance_is_seen_and_what_all_diagnose_is_kept(chair):
    """Two doctors name the same two diseases, and a third one more, in other words and order of words."""
    plan = ["Oxygen by mask at 2 l/min", "Amoxicillin 1 g three times a day for five days"]
    other = ["Amoxicillin three times a day 1 g, for five days", "Oxygen at 2 l/min by mask"]
    one = revised(1, "Community-acquired pneumonia", "Type 2 diabetes mellitus", treatment=plan)
    two = revised(2, "Pneumonia", "type 2 diabetes", treatment=other)
    director = chair(one, two)
    assert (await director.act(DISPUTE)).points == ()
    assert [d.name for d in (await director.act(CONCLUDE)).diagnoses] == [
        "Community-acquired pneumonia",
        "Type 2 diabetes mellitus",
    ]
    three = revised(3, "pneumonia", "Type 2 diabetes", "Gout", treatment=plan)
    director = chair(one, two, three)
    (point,) = (await director.act(DISPUTE)).points
    assert "Gout" in point
    report = await director.act(CONCLUDE)
    assert [d.name for d in report.diagnoses] == ["Community-acquired pneumonia", "Type 2 diabetes mellitus"]
    assert [d.name for d in report.differential] == []  # it has no vote
    (point,) = (await chair(one, revised(2, "Pneumonia", "Type 2 diabetes", treatment=["Rest"])).act(DISPUTE)).points
    assert "Rest" in point


async def test_a_tie_is_said(chair):
    report = await chair(revised(1, "A"), revised(2, "B")).act(CONCLUDE)
    assert report.diagnoses[0].name == "A"
    assert (
        "Equally probable to the doctors together: A, B; the one that was named first comes first" in report.rationale
    )


async def test_where_most_name_nothing_nothing_is_named(chair):
    report = await chair(revised(1, sure("A", 0.9)), revised(2), revised(3)).act(CONCLUDE)
    assert report.diagnoses == ()
    assert report.rationale[0] == "The doctors together do not name a diagnosis"
    assert "Refer" in report.treatment[0]


async def test_where_all_hold_something_possible_and_nobody_diagnoses_nothing_is_named(chair):
    possible = Report(
        symptoms=(), examinations=(), diagnoses=(), rationale=("why",), treatment=("rest",),
        differential=(Diagnosis("A", probability=0.3), Diagnosis("B", probability=0.2)),
    )  # fmt: skip
    nothing = Report(symptoms=(), examinations=(), diagnoses=(), rationale=(), treatment=())
    for second in (possible, nothing):
        brought = [Revised(seq=0, doctor=n, name="x", round=0, report=one) for n, one in ((1, possible), (2, second))]
        report = await chair(*brought).act(CONCLUDE)
        assert report.diagnoses == () and report.rationale and report.treatment


async def test_the_rules_director_does_nothing_else(chair):
    with pytest.raises(ScriptError, match="merges, disputes and concludes"):
        await chair().act(SPEAK)


def test_who_can_be_director():
    knowledge = read_knowledge()
    with pytest.raises(UnknownMind, match=r"can play the director.*; allowed: rules, scripted:FILE, or"):
        Minds(director="saps:direct/x", knowledge=knowledge, seed=1)
    names = Minds(director={"merge": []}, knowledge=knowledge, seed=1)
    assert names.director("c", team="rules").name == "scripted"


# Language models


def said(messages):
    return "\n".join(text for _, text in messages)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_a_model_is_told_as_director(language):
    asked = []

    def answer(messages):
        asked.append(messages)
        if len(asked) in (1, 2):
            return {
                "symptoms": [],
                "examinations": [],
                "ask_patient": ["?"] if len(asked) == 1 else [],
                "ask_examiner": [],
            }
        if len(asked) == 3:
            return {"points": ["point 1"]}
        return {part: [] for part in ("symptoms", "examinations", "diagnoses", "rationale", "treatment")}

    presentation = Presentation(complaint="cough", language=language, age=40)
    director = Director(ModelMind(Scripted(answer), name="direct/x"), presentation)
    finding = value("blood test", 9.1, "hemoglobin")
    director.observe(shared(1, "fever", findings=(finding,), examinations=read_out([finding], language)))
    director.observe(shared(3, "no fever"))
    await director.act(MERGE)
    director.observe(Said(seq=0, turn=1, who=Role.DIRECTOR, to=Role.PATIENT, text="fever, really?"))
    director.observe(Said(seq=0, turn=1, who=Role.PATIENT, to=Role.DIRECTOR, text="yes, really"))
    director.observe(Examined(seq=0, turn=2, findings=(finding,), not_recorded=(), text="the blood once more"))
    await director.act(MERGE)
    director.observe(Established(seq=0, symptoms=("fever it is",), findings=(finding,)))
    director.observe(revised(1, sure("A", 0.9)))
    director.observe(revised(3, "B"))
    assert (await director.act(DISPUTE)).points == ("point 1",)
    director.observe(Disputed(seq=0, round=0, points=("point 1",)))
    director.observe(revised(1, "C", round=1))
    await director.act(CONCLUDE)

    prompts = read_prompts(PROMPTS.with_name("discussion.md"))[language]
    wanted = ("director_merge", "director_merge_final", "director_dispute", "director_conclude")
    for messages, section in zip(asked, wanted, strict=True):
        assert messages[0][0] == "system"
        assert messages[-1][0] == "user"
        assert prompts(section) in messages[-1][1]
        assert all(one[0] != other[0] for one, other in pairwise(messages))
    # The history grows at its end only, so that a server's prefix cache hits.
    for before, after in pairwise(asked):
        told = said(before).partition(prompts(wanted[asked.index(before)]))[0].rstrip()
        assert said(after).startswith(told)
    assert said(asked[0]).count("9.1") == 1
    for text in ("fever, really?", "yes, really", "the blood once more"):
        assert text not in said(asked[0])
        assert text in said(asked[1])
    assert "A, 90 %" in said(asked[2])
    assert "point 1" in said(asked[3])
    assert "why 1" in said(asked[3])


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_a_model_is_told_as_one_of_the_doctors(language):
    presentation = Presentation(complaint="cough", language=language)
    doctor = Doctor(ModelMind(Scripted([]), name="direct/x"), presentation, max_turns=3, number=2)
    before = joined(doctor_messages(SPEAK, doctor, read_prompts(PROMPTS)[language]))
    mine = revised(2, "mine").report
    doctor.observe(Reported(seq=0, report=mine))
    doctor.observe(Established(seq=0, symptoms=("fever",), findings=(value("ECG", "normal"),)))
    prompts = read_prompts(PROMPTS)[language]
    told = joined(doctor_messages(REVISE, doctor, prompts))
    # It goes on from its own consultation, knows its own report and its number, and the facts.
    assert said(told).startswith(said(before[:1]))
    # Its own words stand in the form that it is asked for, reasons before diagnoses.
    assert ("assistant", as_written(mine)) in told
    assert as_written(mine).index('"rationale"') < as_written(mine).index('"diagnoses"')
    discussion = read_prompts(PROMPTS.with_name("discussion.md"))[language]
    assert discussion("doctor_team", doctor=2) in said(told)
    assert "fever" in said(told)
    assert "normal" in said(told)
    assert told[-1][1].endswith(discussion("doctor_revise_facts"))
    doctor.observe(revised(2, "mine again"))
    doctor.observe(revised(1, "theirs"))
    doctor.observe(Disputed(seq=0, round=0, points=("mine or theirs?",)))
    told = joined(doctor_messages(REVISE, doctor, prompts))
    assert ("assistant", as_written(revised(2, "mine again").report)) in told
    assert "theirs" in told[-1][1]
    assert "mine or theirs?" in told[-1][1]
    assert told[-1][1].endswith(discussion("doctor_revise"))
    # The ablation's doctor was told of no dispute, and is not asked about one.
    doctor.seen = [event for event in doctor.seen if not isinstance(event, Disputed)]
    told = joined(doctor_messages(REVISE, doctor, prompts))
    assert told[-1][1].endswith(discussion("doctor_revise_without"))
    assert not re.search("disput|争议", told[-1][1])


def test_prompts_exist_in_both_languages_with_the_same_blanks():
    prompts = read_prompts(PROMPTS.with_name("discussion.md"))
    assert prompts["en"].blanks == prompts["zh"].blanks


async def test_a_fourth_point_is_unreadable():
    model = Scripted([{"points": ["a", "b", "c", "d"]}, {"points": ["a", "b", "c"]}], repairs=1)
    director = Director(ModelMind(model, name="direct/x"), Presentation(complaint="cough"))
    assert (await director.act(DISPUTE)).points == ("a", "b", "c")
    assert model.asked == 1
