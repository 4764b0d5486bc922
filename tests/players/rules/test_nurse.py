"""The nurse: where she sends people and how soon, by rules and by a model, and that nobody tells her too much."""

import msgspec
import pytest

from polyclinic.cases.check import find_leaks
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.errors import ScriptError, UnreadableReply
from polyclinic.events import Examined, Role, Said
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.safety import read_red_flags
from polyclinic.models.scripted import Scripted
from polyclinic.players.language_model.mind import PROMPTS, form
from polyclinic.players.minds import Minds
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.player import REPORT, Purpose, Triage, WrongAnswer, send_to
from polyclinic.players.roles.staff import Nurse
from polyclinic.players.rules.staff import RulesNurse
from polyclinic.prompts import read_prompts


@pytest.fixture(scope="module")
def knowledge():
    """Two departments: the influenzas are moved to another one."""
    known = read_knowledge().select("respiratory")
    moved = {
        i: msgspec.structs.replace(d, department="infections") if i.startswith("influenza") else d
        for i, d in known.diseases.items()
    }
    return msgspec.structs.replace(known, diseases=moved)


@pytest.fixture(scope="module")
def rules(knowledge):
    return Minds(knowledge=knowledge, seed=1).nurse("a case")


DEPARTMENTS = {"infections": "infectious diseases", "respiratory": "respiratory medicine"}


async def triage(mind, complaint, departments=DEPARTMENTS, **known):
    nurse = Nurse(mind, Presentation(complaint=complaint, **known), departments)
    return await nurse.act(send_to(departments))


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_she_sends_most_people_where_they_belong(knowledge, rules, language):
    right, n = 0, 160
    homes = {d.name.get(language): d.department for d in knowledge.diseases.values()}
    severe_first = []
    for case in generate(knowledge, n=n, seed=3, language=language):
        sent = await Nurse(rules, case.presentation, DEPARTMENTS).act(send_to(DEPARTMENTS))
        right += sent.department == homes[case.truth.diagnoses[0].name]
        severe_first.append((case.truth.severity, sent.acuity))
    # Influenzas look like colds at the door: guessing the larger department would be right of 75 in a hundred.
    assert right / n > 0.8
    emergencies = {s: sum(1 for t, a in severe_first if t == s and a == "emergency") for s in ("mild", "severe")}
    assert emergencies["severe"] > 1.5 * emergencies["mild"]


async def test_a_hospital_without_the_likeliest_department_sends_to_another(rules):
    sent = await triage(rules, "A blue inhaler that eases it, wheezing for a week", {"infections": ""})
    assert sent.department == "infections"


@pytest.mark.parametrize(
    ("complaint", "language", "acuity"),
    [
        ("Sneezing for 2 days", "en", "routine"),
        ("Sneezing and blue lips for 2 days", "en", "emergency"),
        ("打喷嚏2天", "zh", "routine"),
        ("打喷嚏、口唇发紫2天", "zh", "emergency"),
        ("Sneezing and no blue lips for 2 days", "en", "routine"),
    ],
)
async def test_a_red_flag_makes_an_emergency(rules, complaint, language, acuity):
    sent = await triage(rules, complaint, language=language, age=30)
    assert sent.acuity == acuity
    assert ("must not wait" in sent.reason or "不能等" in sent.reason) == (acuity == "emergency")


async def test_what_is_a_red_flag_stands_in_the_data(knowledge):
    reader = Minds(knowledge=knowledge, seed=1).reader()
    for fields, acuity in (
        ({"emergency": ("sneezing",), "urgent": ()}, "emergency"),
        ({"emergency": (), "urgent": ("sneezing",)}, "urgent"),
        ({"emergency": (), "urgent": ()}, "routine"),
    ):
        flags = msgspec.structs.replace(read_red_flags(), **fields)
        sent = await triage(RulesNurse(reader, flags), "Sneezing for 2 days", age=30)
        assert sent.acuity == acuity


async def test_unknown_words_go_by_age_and_sex_and_wait_their_turn(rules):
    sent = await triage(rules, "Quux and blargh", age=8, sex="male")
    assert sent.acuity == "routine"
    assert sent.department in DEPARTMENTS
    assert "words I do not know" in sent.reason


def test_red_flags_are_symptoms_of_the_knowledge():
    flags, known = read_red_flags(), read_knowledge()
    named = {*flags.emergency, *flags.urgent}
    assert len(named) == len(flags.emergency) + len(flags.urgent)
    assert {"broken_speech", "blue_lips", "confusion", "chest_pain"} <= named & known.symptoms.keys()
    if len({d.department for d in known.diseases.values()}) > 1:
        assert named <= known.symptoms.keys()


async def test_only_departments_of_the_hospital_can_be_named():
    mind = ScriptedMind([Triage("dentistry", "routine", "teeth")])
    with pytest.raises(WrongAnswer, match="'dentistry'; the options are infections, respiratory"):
        await triage(mind, "Toothache")
    with pytest.raises(WrongAnswer, match="asked to triage"):
        await triage(ScriptedMind([{"department": "infections", "acuity": "soon", "reason": ""}]), "Toothache")


async def test_the_rules_nurse_does_nothing_else(rules):
    with pytest.raises(ScriptError, match="triages"):
        await Nurse(rules, Presentation(complaint="cough"), DEPARTMENTS).act(REPORT)


FLAGS = read_red_flags()


@pytest.mark.parametrize(
    ("age", "pregnant", "symptom", "is_danger"),
    [
        (0.5, False, "green_vomit", True),
        (30, False, "green_vomit", False),
        (30, True, "shoulder_pain_lying", True),
        (30, False, "shoulder_pain_lying", False),
        (None, False, "blue_lips", True),
    ],
)
def test_some_signs_are_dangerous_in_children_and_pregnant_women(age, pregnant, symptom, is_danger):
    assert (symptom in FLAGS.of(age, pregnant=pregnant).emergency) is is_danger


def test_fever_of_the_smallest_and_high_pressure_in_pregnancy_are_signs():
    for age, pregnant, measured, made in (
        (0.1, False, {"temperature": 38.0}, "emergency"),
        (0.1, False, {"temperature": 37.5}, None),
        (0.4, False, {"temperature": 39.2}, "urgent"),
        (5, False, {"temperature": 39.2}, None),
        (30, True, {"systolic": 165.0}, "emergency"),
        (30, False, {"systolic": 165.0}, None),
    ):
        assert FLAGS.of(age, pregnant=pregnant).by_sign(measured) == made, (age, measured)


async def test_vital_signs_alone_make_an_emergency(rules):
    seen = Finding(examination="physical examination", item="oxygen saturation", value=84.0, unit="%")
    nurse = Nurse(rules, Presentation(complaint="Sneezing for 2 days", age=30), DEPARTMENTS)
    before = await nurse.act(send_to(DEPARTMENTS))
    nurse.observe(Examined(seq=0, turn=0, findings=(seen,), not_recorded=(), text="84 %"))
    sent = await nurse.act(send_to(DEPARTMENTS))
    assert (before.level, sent.level) == (4, 1)
    assert "oxygen saturation 84" in sent.reason


async def test_she_asks_for_danger_signs_first(rules):
    nurse = Nurse(rules, Presentation(complaint="Wheezing for a day", age=30), DEPARTMENTS, 3)
    asked = (await nurse.act(send_to(DEPARTMENTS))).ask
    symptoms = read_knowledge().symptoms
    dangers = {*FLAGS.emergency, *FLAGS.urgent}
    # Or for what a danger sign is a worse form of.
    dangers |= {symptoms[s].parent for s in dangers} - {None}
    assert any(symptoms[s].question.en in asked for s in dangers), asked
    for seq, (who, to, text) in enumerate((("nurse", "patient", asked), ("patient", "nurse", "Yes."))):
        nurse.observe(Said(seq=seq, turn=1, who=Role(who), to=Role(to), text=text))
    assert (await nurse.act(send_to(DEPARTMENTS))).ask != asked


def test_a_level_and_a_word_that_contradict_one_another_are_no_judgement():
    with pytest.raises(ValueError, match="level 1 is emergency, and not routine"):
        Triage("respiratory", "routine", "why", level=1)
    assert Triage.at(5, "respiratory", "why").acuity == "routine"
    assert Triage("respiratory", "emergency", "why").judged == 2


# By a model.


def test_the_form_names_the_departments_and_nothing_else():
    wanted = form(Purpose.TRIAGE, tuple(DEPARTMENTS))
    schema = msgspec.json.schema(wanted)["$defs"]["Sent"]["properties"]
    assert schema["department"] == {"enum": ["infections", "respiratory"]}
    assert form(Purpose.TRIAGE, tuple(DEPARTMENTS)) is wanted


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_model_is_told_the_departments_and_the_door_alone(knowledge, language):
    told = []

    def answer(messages):
        told.append("\n".join(text for _, text in messages))
        return {"department": "infections", "acuity": "urgent", "reason": "fever"}

    minds = Minds(nurse="direct/m", knowledge=knowledge, seed=1, models={"direct/m": Scripted(answer)})
    for case in generate(knowledge, n=40, seed=8, language=language):
        sent = await Nurse(minds.nurse(case.id), case.presentation, DEPARTMENTS).act(send_to(DEPARTMENTS))
        assert (sent.department, sent.acuity) == ("infections", "urgent")
        assert find_leaks([told[-1]], case) == []
        assert case.presentation.complaint in told[-1]
        assert "infections: infectious diseases" in told[-1]
        assert case.truth.diagnoses[0].name not in told[-1]
        assert "confirm" not in told[-1]
    system = read_prompts(PROMPTS.with_name("staff.md"))[language]("nurse", departments="")[:20]
    assert all(text.startswith(system) for text in told)


async def test_a_model_that_names_another_department_is_unreadable(knowledge):
    said = {"department": "dentistry", "acuity": "urgent", "reason": ""}
    minds = Minds(nurse="direct/m", knowledge=knowledge, seed=1, models={"direct/m": Scripted([said])})
    with pytest.raises(UnreadableReply):
        await triage(minds.nurse("a case"), "cough")
