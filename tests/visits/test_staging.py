"""How a paper stages a visit: who begins, what is known beforehand, what ends the dialogue."""

import json

import pytest

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Finding, History, Opening, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.events import Chosen, End, Ended, Role, Said, State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.dialogue import from_trace
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.players.player import OPEN, Choice, DoctorTurn, PatientTurn, Purpose
from polyclinic.players.roles.patient import Patient
from polyclinic.players.staging import Staging
from polyclinic.visits.visit import see

CASE = Case(
    id="1",
    record=Record(
        presentation=Presentation(complaint="I cough.", age=40, sex="female"),
        history=History(present="A woman coughs. The doctors suspect asthma."),
        findings=(Finding(examination="spirometry", value="obstruction"),),
        opening=Opening(said="I cough, doctor. ", greeting="Good day."),
        vignette="A woman coughs. The doctors suspect asthma. What is it?",
    ),
    truth=Truth(diagnoses=(Diagnosis("asthma"),), answers=("A",)),
    question=Question(id="1", stem="What is it?", options={"A": "asthma", "B": "a cold"}),
)
PAPER = Staging(online=True, dialogue_alone=True, greets=True, concludes=False, whole=True)


class Talks:
    """A doctor that says the same until it is asked to choose, and would conclude at once."""

    def __init__(self):
        self.roles = []

    def __call__(self, ask, role):
        self.roles.append(role)
        return Choice("A") if ask.purpose is Purpose.CHOOSE else DoctorTurn("Since when?", conclude=True)


def patient_that_leaves(after):
    def answer(ask, role):
        if ask.purpose is Purpose.OPEN:
            return PatientTurn(role.first_words(), state=State.OPENING)
        n = sum(isinstance(e, Said) and e.who is Role.DOCTOR and e.turn > 0 for e in role.seen)
        ends = n >= after
        state = State.CONCLUSION if ends else State.EFFECTIVE_INQUIRY
        return PatientTurn("Goodbye." if ends else "Since Monday.", state=state, leave=ends)

    return answer


async def visit(staging, *, max_turns=4, leaves=99):
    doctor = Talks()
    minds = Minds(doctor=doctor, patient=patient_that_leaves(leaves), knowledge=read_knowledge(), seed=1)
    came = await see(CASE, minds, max_turns=max_turns, put_question=True, staging=staging)
    return came, doctor.roles[0]


async def test_the_paper_has_a_greeting_that_is_no_turn_and_the_patient_ends_the_dialogue():
    came, doctor = await visit(PAPER, leaves=2)
    said = [(e.turn, e.who, e.text) for e in came.trace if isinstance(e, Said)]
    assert said[:2] == [(0, Role.DOCTOR, "Good day."), (0, Role.PATIENT, "I cough, doctor. ")]
    assert (came.trace.last(Ended).reason, came.turns) == (End.PATIENT_LEFT, 2)
    assert came.trace.last(Chosen).answer == "A"
    # A goodbye is a courtesy: the dialogue ends with the doctor's words.
    assert [(t.doctor, t.state, t.patient) for t in from_trace(came.trace).turns] == [
        ("Good day.", State.OPENING, "I cough, doctor. "),
        ("Since when?", State.EFFECTIVE_INQUIRY, "Since Monday."),
        ("Since when?", State.CONCLUSION, ""),
    ]
    assert from_trace(came.trace, CASE).information == CASE.record.vignette
    assert doctor.presentation == Presentation(complaint="")
    assert (doctor.setting, doctor.staging) == ("online", PAPER)


async def test_at_the_limit_the_patient_has_answered():
    came, doctor = await visit(PAPER)
    assert (came.trace.last(Ended).reason, came.turns, doctor.turns_left()) == (End.TURN_LIMIT, 4, 0)
    assert len(from_trace(came.trace).turns) == 5


async def test_ours_lets_the_doctor_conclude_and_know_who_comes():
    came, doctor = await visit(Staging())
    assert (came.trace.last(Ended).reason, came.turns) == (End.CONCLUDED, 1)
    assert doctor.presentation == CASE.presentation
    assert (doctor.setting, doctor.staging) == ("ward", Staging())


@pytest.mark.parametrize(("whole", "known"), [(True, CASE.record.vignette), (False, "")])
def test_the_whole_record_is_the_patients_where_the_paper_says_so(whole, known):
    patient = Patient(None, CASE.record, setting="online", withheld=("asthma",), staging=Staging(whole=whole))
    assert patient.vignette == known
    assert ("asthma" in patient.history.present) is whole


@pytest.mark.parametrize("whole", [True, False])
def test_a_ward_patient_with_its_whole_history_has_the_results_in_it(whole):
    history = History(present="Coughs since Monday. The chest X-ray showed a shadow.")
    record = Record(presentation=Presentation(complaint="Cough"), history=history)
    patient = Patient(None, record, setting="ward", staging=Staging(whole=whole))
    assert ("shadow" in patient.history.present) is whole
    assert patient.findings == ()


def test_a_case_without_a_greeting_is_greeted_where_the_paper_greets():
    record = Record(presentation=Presentation(complaint="咳嗽", language="zh"))
    assert Staging().greeting(record) == ""
    assert PAPER.greeting(record).startswith("您好")


@pytest.mark.parametrize("data_set", ["HospitalCases", "MedicalExam"])
async def test_every_patient_opens_as_published(shared_data, data_set):
    folder = shared_data / "cases" / "aie"
    cases = list(read_cases(folder / f"{data_set}.json"))
    recorded = json.loads((folder / "recorded" / data_set / "chatgpt.json").read_text("utf-8"))
    model = Scripted(lambda _: "")
    models = {"direct/x": model}
    wrong = []
    for mind in ("rules", "saps:direct/x", "direct/x"):
        minds = Minds(patient=mind, knowledge=read_knowledge(), seed=1, models=models)
        for case, record in zip(cases, recorded, strict=True):
            begun = record["history"][0]
            patient = Patient(minds.patient(case.id), case.record, setting="online")
            said = (await patient.act(OPEN)).say
            if (Staging().greeting(case.record), said) != (begun["doctor"], begun["patient"]):
                wrong.append((mind, case.id))
    assert (wrong, model.asked) == ([], 0)
