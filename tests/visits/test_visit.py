"""Whole visits: nothing leaks, the same seed gives the same bytes, every case comes to an end."""

import asyncio
import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyclinic.cases.case import Case
from polyclinic.cases.check import find_leaks
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.shipped import SHIPPED
from polyclinic.cases.truth import Truth
from polyclinic.events import End, Examined, Opened, Revealed, Role, Said
from polyclinic.generation.draw import generate
from polyclinic.knowledge.disease_names.relation import disease_meant
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.minds import Minds
from polyclinic.visits.team import revisit_all
from polyclinic.visits.visit import see

REAL = (
    ("agentclinic/agentclinic_medqa.jsonl", 40),
    ("ai_hospital/patients_small_10.json", 10),
    ("aie/HospitalCases.json", 25),
    ("aie/MedicalExam.json", 25),
)


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


@pytest.fixture(scope="module")
def minds(knowledge):
    return Minds(doctor="rules", patient="rules", knowledge=knowledge, seed=11)


def given_to_the_doctor(trace) -> list[tuple[str, bool]]:
    """Every text that reached the doctor, in order, each with whether patient or examiner revealed it."""
    texts = []
    for event in trace:
        if isinstance(event, Opened):
            p = event.presentation
            texts += [(p.complaint, False), (p.about, False)]
        elif isinstance(event, Said) and event.who is not Role.DOCTOR:
            texts.append((event.text, True))
        elif isinstance(event, Examined):
            texts += [(event.text, True), *((f.text(), True) for f in event.findings)]
    return texts


def leaks_of(case, trace):
    """What a doctor was given and nobody had revealed: nothing, ever; and no diagnosis even from the patient."""
    found = []
    revealed: list[str] = []
    for text, by_somebody in given_to_the_doctor(trace):
        if by_somebody:
            revealed.append(text)
        found += find_leaks([text], case, revealed=revealed)
    spoken = [e.text for e in trace if isinstance(e, Said) and e.who is Role.PATIENT]
    found += [leak for leak in find_leaks(spoken, case) if leak.kind == "diagnosis"]
    if case.setting == "ward":
        # In a ward results come from the examiner: what the patient says holds none that was not examined before.
        heard: list[str] = []
        for event in trace:
            if isinstance(event, Examined):
                heard += [event.text, *(f.text() for f in event.findings)]
            elif isinstance(event, Said) and event.who is Role.PATIENT:
                found += [k for k in find_leaks([event.text], case, revealed=heard) if k.kind == "finding"]
    return found


@pytest.fixture(scope="module")
def seen(shared_data, minds):
    """Every real case of a file, and what became of its visit; each is seen once."""

    @functools.cache
    def visits(file):
        async def see_all():
            cases = list(read_cases(shared_data / "cases" / file))
            n = dict(REAL)[file]
            return [(case, await see(case, minds)) for case in cases[:: len(cases) // n][:n]]

        return asyncio.run(see_all())

    return visits


@pytest.mark.slow
@pytest.mark.parametrize(("file", "n"), REAL)
def test_every_real_case_comes_to_an_end_and_nothing_leaks(seen, file, n):
    assert len(seen(file)) == n
    for case, visit in seen(file):
        assert visit.end in (End.CONCLUDED, End.TURN_LIMIT), (case.id, visit.trace[-2])
        assert leaks_of(case, visit.trace) == [], case.id


@pytest.mark.slow
def test_outside_its_knowledge_the_doctor_reports_findings_and_no_diagnosis(seen, knowledge):
    unknown = named = 0
    for case, visit in seen(REAL[0][0]):
        if any(disease_meant(d.name, knowledge) for d in case.truth.diagnoses):
            continue
        report = visit.report
        unknown += 1
        named += bool(report.diagnoses)
        assert report.symptoms
        if not report.diagnoses:
            assert "Outside my knowledge" in report.rationale[0]
    # A patient may look like one of those it knows, such as a roseola like a hand-foot-and-mouth disease; few do.
    assert unknown > 30
    assert named <= 0.15 * unknown


@pytest.mark.slow
async def test_generated_visits_leak_nothing(minds, knowledge):
    for language in ("en", "zh"):
        for case in generate(knowledge, n=len(knowledge.diseases) // 3, seed=77, language=language):
            visit = await see(case, minds)
            assert visit.end in (End.CONCLUDED, End.TURN_LIMIT), case.id
            assert leaks_of(case, visit.trace) == [], case.id


def planted(**more) -> Case:
    finding = Finding(examination="echocardiography", value="severe aortic regurgitation with a dilated left ventricle")
    record = Record(
        presentation=Presentation(complaint=more.get("complaint", "Breathless on stairs"), about=more.get("about", "")),
        history=History(present=more.get("present", "Short of breath for a month.")),
        findings=(finding,),
    )
    truth = Truth(diagnoses=(Diagnosis("Syphilitic aortitis"),))
    return Case(id="planted", record=record, truth=truth)


async def test_the_walk_catches_what_is_planted(minds):
    clean = planted()
    assert leaks_of(clean, (await see(clean, minds)).trace) == []
    # A case that tells the doctor at the door; only the events are changed, as a leaking loader would change them.
    for text in ("Known syphilitic aortitis", "Echo: severe aortic regurgitation with a dilated left ventricle"):
        trace = (await see(clean, minds)).trace
        door = Presentation(complaint="Breathless on stairs", about=text)
        events = [Opened(**{**_fields(e), "presentation": door}) if isinstance(e, Opened) else e for e in trace]
        assert leaks_of(clean, events), text
        said = next(e for e in trace if isinstance(e, Said) and e.who is Role.PATIENT)
        events = [Said(**{**_fields(e), "text": text}) if e == said else e for e in trace]
        assert leaks_of(clean, events), text


def _fields(event):
    return {name: getattr(event, name) for name in event.__struct_fields__}


async def test_the_patient_does_not_say_what_the_record_gives_away(minds):
    case = planted(
        present="Short of breath for a month. She was told she has syphilitic aortitis. "
        "Elsewhere an echocardiogram showed severe aortic regurgitation with a dilated left ventricle."
    )
    script = [
        "What illnesses were you told you have?",
        "How did it begin, and how has it gone on?",
        "What did the echo show?",
    ]
    asking = Minds(doctor={"speak": script * 3, "report": []}, knowledge=read_knowledge(), seed=1)
    visit = await see(case, asking, max_turns=9)
    told = " ".join(e.text for e in visit.trace if isinstance(e, Said) and e.who is Role.PATIENT).casefold()
    assert "short of breath" in told
    assert "syphilitic" not in told
    assert "regurgitation" not in told


@pytest.mark.slow
async def test_same_seed_same_bytes(knowledge):
    cases = list(generate(knowledge, n=8, seed=5))
    runs = []
    for order in (cases, cases[::-1]):
        minds = Minds(doctor="rules", patient="rules", knowledge=knowledge, seed=3)
        runs.append({case.id: (await see(case, minds)).trace.lines() for case in order})
    assert runs[0] == runs[1]
    other = Minds(doctor="rules", patient="rules", knowledge=knowledge, seed=4)
    assert {case.id: (await see(case, other)).trace.lines() for case in cases} != runs[0]


async def test_the_truth_comes_last_and_a_trace_can_be_revisited(minds):
    case = next(read_cases(SHIPPED["shipped"]))
    visit = await see(case, minds)
    assert isinstance(visit.trace[-1], Revealed)
    assert sum(isinstance(e, Revealed) for e in visit.trace) == 1
    assert revisit_all([visit.trace])[0].document() == visit.document()


@pytest.mark.slow
async def test_in_one_step_the_doctor_reads_the_record(minds, knowledge):
    right = 0
    for case in generate(knowledge.select("respiratory"), n=48, seed=9):
        visit = await see(case, minds, in_one_step=True)
        assert visit.turns == 0
        right += bool(visit.report.diagnoses) and visit.report.diagnoses[0].name == visit.truth.diagnoses[0].name
    assert right >= 38


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.text(max_size=60), max_size=6), st.integers(1, 6))
async def test_whatever_the_doctor_says_the_rules_patient_has_an_answer(said, limit):
    knowledge = read_knowledge()
    for case in (next(read_cases(SHIPPED["shipped"])), next(read_cases(SHIPPED["shipped-zh"]))):
        script = {"speak": [*said, *["?"] * 6], "report": [{k: [] for k in _PARTS}]}
        minds = Minds(doctor=script, knowledge=knowledge, seed=1)
        visit = await see(case, minds, max_turns=limit)
        assert visit.end in (End.TURN_LIMIT, End.PATIENT_LEFT)
        assert all(e.text.strip() for e in visit.trace if isinstance(e, Said) and e.who is Role.PATIENT)


_PARTS = ("symptoms", "examinations", "diagnoses", "rationale", "treatment")
