"""A patient does not have what this visit is to find out, in whatever words the record has it."""

from polyclinic.cases.persona import Persona
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.roles.patient import Patient, part


def record_of(complaint: str = "Chest pain", findings: tuple[Finding, ...] = (), **history: str) -> Record:
    presentation = Presentation(complaint=complaint, age=60.0, sex="male")
    return Record(presentation=presentation, history=History(**history), findings=findings)


def test_a_history_is_withheld_by_what_it_means():
    record = record_of(present="It hurts since noon. He was told that it is a heart attack. He sweats, AMI they said.")
    told = part(record, withheld=("acute myocardial infarction",)).history.present
    assert told == "It hurts since noon. He sweats."


def test_a_name_that_goes_over_the_end_of_a_line_is_withheld():
    told = part(record_of(present="It hurts. It was a heart\nattack they said."), withheld=("myocardial infarction",))
    assert told.history.present == "It hurts."


def test_what_is_known_from_before_or_read_at_the_door_is_told():
    past = "He had a heart attack in 2010."
    assert part(record_of(past=past), withheld=("acute myocardial infarction",)).history.past == past
    present = "He says that the flu began on Monday."
    assert part(record_of("flu", present=present), withheld=("influenza a",)).history.present == present


def test_findings_online_and_a_persona_are_withheld_by_what_they_mean():
    findings = (Finding(examination="Swab", value="Type A influenza was found. Dry mucosa."),)
    persona = Persona(statement="I cough. I have the flu, I think.", questions=("Is it influensa?", "What is it?"))
    patient = Patient(
        ScriptedMind([]),
        record_of(findings=findings),
        setting="online",
        withheld=("influenza a",),
        persona=persona,
    )
    assert [f.value for f in patient.findings] == ["Dry mucosa."]
    assert patient.persona is not None
    assert "flu" not in patient.persona.statement
    assert patient.persona.questions == ("What is it?",)
