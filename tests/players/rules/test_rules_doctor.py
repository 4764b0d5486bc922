"""How good the rules doctor is beside the ceiling, and what it does with what it hears."""

import statistics

import msgspec
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
    cases = list(generate(knowledge, n=100, seed=912_673, language=language))
    minds = Minds(knowledge=knowledge, seed=2)
    visits = [await see(case, minds) for case in cases]
    right = sum(verdict(v.report, v.truth, knowledge) is Verdict.RIGHT for v in visits)
    assert right >= measure(cases, knowledge).percent - 5
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


OF_OTHERS = (
    Finding(examination="physical examination", item="Vital signs, temperature", value="39.1°C (102.4°F)"),
    Finding(examination="Rapid antigen test", item="Influenza A", value="Positive"),
)


async def in_one_step(reader, findings, complaint="Fever and muscle aches", **history):
    record = Record(
        presentation=Presentation(complaint=complaint, age=44, sex="female"),
        history=History(symptoms=("muscle aches",), **history),
        findings=findings,
    )
    doctor = Doctor(RulesDoctor(reader), record.presentation, max_turns=10, record=record)
    return await doctor.act(REPORT)


async def test_results_in_others_words_are_believed(reader):
    for findings in (
        OF_OTHERS,
        (OF_OTHERS[0], Finding(examination="Rapid flu test", value="Influenza A: Positive. Influenza B: Negative.")),
        (Finding(examination="咽拭子", item="甲型流感抗原", value="阳性"),),
    ):
        report = await in_one_step(reader, findings)
        assert report.diagnoses[0].name == "Influenza A"
        assert report.diagnoses[0].probability > 0.5


async def test_what_it_cannot_read_is_counted_and_named(reader):
    odd = Finding(examination="Skin biopsy", value="Atypical melanocytes in all layers")
    report = await in_one_step(reader, (*OF_OTHERS, odd))
    (line,) = [reason for reason in report.rationale if reason.startswith("Not read")]
    assert "1 of 3 results (Skin biopsy)" in line
    assert not any(reason.startswith("Not read") for reason in (await in_one_step(reader, OF_OTHERS)).rationale)


async def test_outside_its_knowledge_it_says_what_speaks_for_that(reader):
    odd = (
        Finding(examination="Acetylcholine receptor antibody", value="Positive"),
        Finding(examination="Mediastinal MRI", value="A mass of the thymus"),
    )
    report = await in_one_step(reader, odd, complaint="Drooping lids and double vision in the evening")
    assert report.diagnoses == ()
    assert "(0 %)" not in report.rationale[0] and "%" in report.rationale[0]
    assert any("Acetylcholine receptor antibody: Positive" in reason for reason in report.rationale[1:])


async def test_where_it_is_open_it_names_between_which(knowledge):
    """No disease is likely enough to name, and something else hardly likelier: it says which they are."""
    _, report = await hear(Reader(knowledge, something_else=0.001), "Fever for 2 days", *["I cannot say, doctor."] * 10)
    assert report.diagnoses == ()
    assert report.rationale[0].startswith("Outside my knowledge")
    assert "It may be Influenza" in report.rationale[0] and "below 1 %" in report.rationale[0]


async def test_the_same_result_counts_once(reader):
    pcr = Finding(examination="Throat swab PCR", item="Influenza A", value="Detected")
    _, once = await hear(reader, "Fever for 2 days", (pcr,))
    _, twice = await hear(reader, "Fever for 2 days", (pcr,), (pcr,))
    assert [d.probability for d in once.diagnoses[:1]] == [d.probability for d in twice.diagnoses[:1]]
    assert sum("Throat swab PCR" in done for done in twice.examinations) == 1


async def test_of_two_results_of_one_item_the_unusual_one_counts(reader):
    normal = Finding(examination="Vitals", item="Temperature", value="Normal")
    fever = Finding(examination="Vitals at night", item="Temperature", value="39.5 °C")
    for findings in ((normal, fever), (fever, normal)):
        # Who complains of a fever has told what a thermometer would say.
        report = await in_one_step(reader, (*findings, OF_OTHERS[1]), complaint="Aching muscles for 2 days")
        assert any("39.5" in reason for reason in report.rationale)


async def test_a_result_that_the_patient_tells_is_read(reader):
    """Without an examiner the results are with the patient, who tells them in the words they were told in."""
    doctor = Doctor(RulesDoctor(reader), Presentation(complaint="Fever and aching muscles for 2 days"), max_turns=10)
    for number in range(1, 11):
        turn = await doctor.act(SPEAK)
        doctor.observe(Said(seq=0, turn=number, who=Role.DOCTOR, to=Role.PATIENT, text=turn.say))
        if turn.conclude:
            break
        ordered = "antigen" in turn.say or "nucleic" in turn.say
        said = "The result was: influenza B positive." if ordered else "No."
        doctor.observe(Said(seq=0, turn=number, who=Role.PATIENT, to=Role.DOCTOR, text=said))
    report = await doctor.act(REPORT)
    assert report.diagnoses[0].name == "Influenza B"
    assert any("influenza B positive" in done for done in report.examinations)


async def test_with_one_order_left_it_looks_at_what_either_open_disease_needs(reader):
    said, _ = await hear(reader, "A runny nose, a lot of sneezing and a blocked nose for 4 days", "No.", turns=2)
    assert "nasal endoscopy" in said[0] and "nasopharyngeal examination" in said[0]


async def test_of_who_cannot_tell_the_companion_is_asked_and_tells(knowledge):
    told = Presentation(complaint="A cough for 3 days", companion=True)
    case = next(generate(knowledge, n=1, seed=4))
    record = msgspec.structs.replace(case.record, presentation=told)
    visit = await see(msgspec.structs.replace(case, record=record), Minds(knowledge=knowledge, seed=2))
    by = {who: [e.text for e in visit.trace if isinstance(e, Said) and e.who is who] for who in Role}
    assert by[Role.PATIENT][0] == "Doctor, the patient has had a cough for 3 days."
    assert "the patient" in by[Role.DOCTOR][0] and not any("your child" in text for text in by[Role.DOCTOR])
    assert not any("My child" in text for text in by[Role.PATIENT])


async def test_a_question_back_is_no_symptom(reader):
    for reply, told in (
        ("What exactly would you like to know, doctor?", set()),
        ("A glumph in my toe. Why do you ask?", {"A glumph in my toe."}),
    ):
        _, report = await hear(reader, "Something is the matter.", *[reply] * 8)
        found = {s for s in report.symptoms if "?" in s or "glumph" in s}
        assert found == told, report.symptoms


async def test_what_cannot_be_done_on_a_patient_makes_no_diagnosis_doubtful():
    reader = Reader(read_knowledge().select("bronchial-asthma"))
    told = "I wheeze and have a cough at night. The breathing is worse after running. A cold sets it off."
    for age, lacks in ((3.0, False), (30.0, True)):
        doctor = Doctor(RulesDoctor(reader), Presentation(complaint=told, age=age, sex="male"), max_turns=1)
        report = await doctor.act(REPORT)
        assert report.diagnoses[0].name == "Bronchial Asthma"
        assert any("pulmonary function test" in line for line in report.rationale) is lacks, report.rationale
