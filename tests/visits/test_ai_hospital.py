"""A visit, and a discussion, as AI Hospital holds them: who is told what, and how results reach the doctor."""

import re

import pytest

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.events import End, Examined, Role, Said
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.players.staging import AI_HOSPITAL
from polyclinic.visits.team import confer
from polyclinic.visits.visit import see

REPORT = {
    "symptoms": ["cough"],
    "examinations": ["X-ray: a shadow"],
    "rationale": ["the shadow"],
    "diagnoses": [{"name": "pneumonia", "icd10": None, "probability": None}, {"name": "anaemia"}],
    "differential": [{"name": "tuberculosis", "probability": 0.1}],
    "treatment": ["amoxicillin"],
}


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


def case_in(language):
    record = Record(
        presentation=Presentation(complaint="cough for a week", age=50, sex="male", language=language),
        history=History(present="Coughs since Monday."),
        findings=(Finding(examination="chest X-ray", value="a shadow on the right"),),
    )
    truth = Truth(diagnoses=(Diagnosis("legionellosis"),), rationale=("the antigen",), treatment=("levofloxacin",))
    return Case(id="c", record=record, truth=truth)


class Cast:
    """Three models: each keeps what it was told, by purpose."""

    def __init__(self, points=()):
        self.told, self._points, self._replies = {}, list(points), 0

    def minds(self, knowledge):
        models = {f"direct/{role}": Scripted(self._answering(role), name=f"direct/{role}") for role in ("d", "p", "c")}
        names = {"doctor": "direct/d", "patient": "direct/p", "director": "direct/c"}
        return Minds(**names, knowledge=knowledge, seed=1, models=models)

    def _answering(self, role):
        def answer(messages):
            self.told.setdefault(role, []).append(messages)
            text = messages[-1][1]
            if role == "d":
                told = "\n".join(said for _, said in messages)
                return REPORT if "`differential`" in told else {"say": "Please have a chest X-ray."}
            if role == "p":
                if re.search("examiner has told you|检查科告诉你的", text):
                    return {"say": "It shows a shadow.", "to": "doctor", "leave": False}
                self._replies += 1
                last = self._replies > 2
                to = "doctor" if last or self._replies == 1 else "examiner"
                return {"say": "I need a chest X-ray." if to == "examiner" else "I cough.", "to": to, "leave": last}
            if "`points`" in text:
                return {"analysis": "They agree.", "points": [self._points.pop(0)] if self._points else []}
            if "`ask_patient`" in text:
                return {
                    "symptoms": ["cough"],
                    "examinations": ["X-ray: a shadow"],
                    "ask_patient": [],
                    "ask_examiner": [],
                }
            return REPORT

        return answer


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_patient_repeats_results_and_ends_the_visit(knowledge, language):
    cast = Cast()
    visit = await see(case_in(language), cast.minds(knowledge), staging=AI_HOSPITAL)
    assert visit.end is End.PATIENT_LEFT
    said = [(event.who, event.to) for event in visit.trace if isinstance(event, Said)]
    # Doctor greets, patient opens; an order, its request, and what the patient tells of the result.
    assert said[:2] == [(Role.DOCTOR, Role.PATIENT), (Role.PATIENT, Role.DOCTOR)]
    place = next(n for n, event in enumerate(visit.trace) if isinstance(event, Examined))
    assert visit.trace[place - 1].to is Role.EXAMINER
    retold = visit.trace[place + 1]
    assert (retold.who, retold.to, retold.text) == (Role.PATIENT, Role.DOCTOR, "It shows a shadow.")
    doctor = "\n".join(text for messages in cast.told["d"] for _, text in messages)
    # The doctor has the dialogue alone: neither age and sex, nor the examiner's words.
    assert "a shadow on the right" not in doctor and "50" not in doctor and "cough for a week" not in doctor
    assert "It shows a shadow." in doctor
    patient = "\n".join(text for messages in cast.told["p"] for _, text in messages)
    assert re.search("Examination department: |检查科：", patient) or "examiner" in patient.casefold()
    assert "legionellosis" not in doctor + patient
    assert [d.name for d in visit.report.diagnoses] == ["pneumonia", "anaemia"]
    assert [d.name for d in visit.report.differential] == ["tuberculosis"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("disputes", [True, False])
async def test_doctors_of_a_conference_get_facts_reports_and_points(knowledge, language, disputes):
    cast = Cast(points=["pneumonia or not"] * 2)
    minds = cast.minds(knowledge)
    visit = await confer(
        case_in(language), [minds, minds], staging=AI_HOSPITAL, disputes=disputes, max_rounds=2, max_turns=1
    )
    assert visit.report is not None
    told = ["\n".join(text for _, text in messages) for messages in cast.told["d"]]
    conferring = [text for text in told if re.search("Doctor [AB]:|医生[AB]：", text)]
    assert conferring
    for text in conferring:
        assert "Please have a chest X-ray." not in text  # its consultation is not told again
        assert "X-ray: a shadow" in text and "amoxicillin" in text
        assert ("pneumonia or not" in text) == disputes
        assert bool(re.search("disput|争议", text)) == disputes
    chair = "\n".join(text for messages in cast.told["c"] for _, text in messages)
    assert re.search("Doctor A:|医生A：", chair) and "legionellosis" not in chair
