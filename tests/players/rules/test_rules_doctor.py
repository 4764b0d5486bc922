"""How good the rules doctor is beside the ceiling, and what it does with what it hears."""

import statistics

import pytest

from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Finding, History, Record
from polyclinic.events import Examined, Role, Said
from polyclinic.generation.ceiling import measure
from polyclinic.generation.draw import generate
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.accuracy import Verdict, verdict
from polyclinic.players.minds import Minds
from polyclinic.players.player import REPORT, SPEAK, choose_from
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.rules.doctor import HISTORY_FIRST, RulesDoctor
from polyclinic.visits.visit import see


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge().select("respiratory")


@pytest.fixture(scope="module")
def reader(knowledge):
    return Reader(knowledge, something_else=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_it_comes_close_to_a_reader_of_everything(knowledge, language):
    cases = list(generate(knowledge, n=400, seed=912_673, language=language))
    minds = Minds(knowledge=knowledge, seed=2)
    visits = [await see(case, minds) for case in cases]
    right = sum(verdict(v.report, v.truth, knowledge) is Verdict.RIGHT for v in visits)
    assert 100 * right / 400 >= measure(cases, knowledge).percent - 5
    assert statistics.mean(v.turns for v in visits) <= 8
    assert max(v.turns for v in visits) <= 10


async def test_it_talks_before_it_orders_and_repeats_nothing(knowledge):
    for case in generate(knowledge, n=24, seed=4):
        visit = await see(case, Minds(knowledge=knowledge, seed=2))
        said = [e.text for e in visit.trace if isinstance(e, Said) and e.who is Role.DOCTOR]
        assert len(said) == len(set(said))
        turns = [e.turn for e in visit.trace if isinstance(e, Examined)]
        spoken = [e.turn for e in visit.trace if isinstance(e, Said) and e.who is Role.DOCTOR][:-1]
        if turns and len(spoken) > HISTORY_FIRST + 1:
            assert min(turns) > 1


async def hear(reader, complaint, *replies, turns=10):
    """Lets the doctor speak and hear replies in turn; returns what it said and its report."""
    doctor = Doctor(RulesDoctor(reader), Presentation(complaint=complaint), max_turns=turns)
    said = []
    for number, reply in enumerate(replies, start=1):
        turn = await doctor.act(SPEAK)
        said.append(turn.say)
        doctor.observe(Said(seq=0, turn=number, who=Role.DOCTOR, to=Role.PATIENT, text=turn.say))
        if turn.conclude:
            break
        if isinstance(reply, str):
            doctor.observe(Said(seq=0, turn=number, who=Role.PATIENT, to=Role.DOCTOR, text=reply))
        else:
            doctor.observe(Examined(seq=0, turn=number, findings=reply, not_recorded=(), text=""))
    return said, await doctor.act(REPORT)


async def test_yes_and_no_are_heard_and_so_is_what_was_not_asked(reader):
    _, report = await hear(reader, "Fever for 2 days", "Yes, and I have lost my sense of smell.")
    assert "loss of smell" in report.symptoms
    _, report = await hear(reader, "Fever for 2 days", "No, nothing like that. No cough either.")
    assert report.symptoms == ("fever",)


async def test_a_finding_changes_its_mind_and_stands_in_its_reasons(reader):
    pcr = Finding(examination="viral antigen detection", item="influenza B virus antigen", value="positive")
    _, before = await hear(reader, "Fever and aching muscles for 2 days")
    _, after = await hear(reader, "Fever and aching muscles for 2 days", (pcr,))

    def probability(report):
        return next((d.probability for d in report.diagnoses if d.name == "Influenza B"), 0)

    assert probability(after) > probability(before) + 0.2
    assert any("influenza B virus antigen" in reason for reason in after.rationale)
    assert any("influenza B virus antigen" in done for done in after.examinations)


async def test_outside_its_knowledge_it_takes_a_history_and_names_nothing(reader):
    said, report = await hear(
        reader, "Double vision and weak arms", *["No."] * 4, "Headache, which is new.", *["No."] * 5
    )
    assert report.diagnoses == ()
    assert report.rationale[0].startswith("Outside my knowledge")
    assert "Double vision and weak arms" in report.symptoms
    assert "Which illnesses or operations have you had before?" in said
    assert said[-1].startswith("Thank you. I cannot put a name to this")


async def test_in_one_step_it_reads_the_record(reader):
    record = Record(
        presentation=Presentation(complaint="A cough for 3 days"),
        history=History(
            symptoms=("a high fever", "a lost sense of smell", "a sore throat", "a tired feeling", "a headache"),
            personal="Non-smoker.",
        ),
    )
    doctor = Doctor(RulesDoctor(reader), record.presentation, max_turns=10, record=record)
    report = await doctor.act(REPORT)
    assert {"high fever", "loss of smell", "cough"} <= set(report.symptoms)
    assert "tobacco smoke" not in report.symptoms
    assert report.diagnoses[0].name == "COVID-19"


async def test_it_chooses_among_the_diseases_it_knows(reader):
    doctor = Doctor(
        RulesDoctor(reader), Presentation(complaint="A wheeze and a tight chest for 2 months"), max_turns=10
    )
    options = {"A": "Gout", "B": "Influenza A", "C": "Bronchial Asthma"}
    question = Question(id="q", stem="Which?", options=options)
    assert (await doctor.act(choose_from(question))).answer == "C"
    unknown = Question(id="q", stem="Which?", options={"A": "Gout", "B": "Scurvy"})
    assert (await doctor.act(choose_from(unknown))).answer is None
