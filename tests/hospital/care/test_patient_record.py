"""The record that follows a patient: who is told what of what was found, said and done before."""

import msgspec
import pytest
from tests.hospital.care.test_episodes import DEPARTMENTS, MODEL, ON, clinic, moved, report, scripted_doctor, triage

from polyclinic.cases.check import find_leaks
from polyclinic.cases.patient_record import NotedConsultation, NotedVisit, PatientRecord
from polyclinic.cases.report import Diagnosis
from polyclinic.events import Role, Said
from polyclinic.generation.draw import generate
from polyclinic.hospital.care.clinic import Clinic
from polyclinic.hospital.care.registry import VISITS_KEPT, Registry
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.plan.plan import Job, Member
from polyclinic.hospital.record.episodes import ConsultationHeld, Episode, EpisodeRequest
from polyclinic.hospital.record.happenings import DAY, HOUR
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.players.player import REPLY, REPORT, DoctorTurn
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.doctor import RulesDoctor

ORDER = {"en": "I would like one examination to be done: chest CT.", "zh": "请做一项检查：胸部CT。"}
NAMES = {"d1": ("Dr One", "一医生"), "d2": ("Dr Two", "二医生")}
STAFF = {
    id: Member(id=id, name={"en": en, "zh": zh}, job=Job.DOCTOR, area="rooms", departments=DEPARTMENTS, shifts=())
    for id, (en, zh) in NAMES.items()
}


@pytest.fixture(scope="module")
def knowledge():
    known = read_knowledge().select("respiratory")
    return moved(known, {"influenza-a": "infections", "influenza-b": "infections"})


def request(case, **more):
    doctors = {"respiratory": ("d1", "d2"), "infections": ("d1", "d2")}
    return EpisodeRequest(
        resident="r1", case=case, visit=1, departments=DEPARTMENTS, day="2026-01-07", doctors=doctors, **more
    )


def one(knowledge, language="en"):
    return next(generate(knowledge, n=1, seed=3, language=language))


def earlier(case, language="en", *, illness=None, **more):
    disease = {"en": "bronchial asthma", "zh": "支气管哮喘"}[language]
    finding = next(f for f in case.record.findings if isinstance(f.value, float))
    held = NotedConsultation(
        department="chest",
        doctor="Dr Zero",
        findings=(finding,),
        symptoms=("wheezing",),
        diagnoses=(Diagnosis(disease),),
    )
    visit = NotedVisit(
        illness=illness or case.id.partition(".")[0],
        day="2026-01-03",
        consultations=(held,),
        handed_out=("salbutamol",),
        outcome="worse",
    )
    return msgspec.structs.replace(visit, **more)


async def test_the_second_doctor_is_another_and_has_what_the_first_found(knowledge):
    case, seen = one(knowledge), []
    script = scripted_doctor([report("influenza A")], orders=[ORDER["en"]], onward=ON)

    def doctor(ask, role):
        seen.append(role)
        return script(ask, role)

    minds = {"nurse": [triage()], "doctor": doctor}
    at = clinic(knowledge, max_examinations=1, minds=minds, staff=STAFF, departments={})
    episode = await at.compute(request(case))
    assert [held.doctor for held in episode.seen] == ["d1", "d2"]
    first, second = seen[0], seen[-1]
    assert first.past.today.consultations == ()
    assert first.past.today.triage.findings
    assert not second.may_order()
    (noted,) = second.past.today.consultations
    assert {f.examination for f in noted.findings} == {"chest CT"}
    assert (noted.doctor, noted.department, noted.step, noted.refer_to) == (
        "Dr One", "respiratory", "refer", "infections"
    )  # fmt: skip
    assert [d.name for d in noted.diagnoses] == ["influenza A"]
    assert [line.who for line in noted.said][:2] == ["patient", "doctor"]
    # What is kept when the visit is over has no word-for-word dialogue, and both consultations.
    assert [held.said for held in episode.noted.consultations] == [(), ()]
    assert episode.noted.findings == (*first.past.today.triage.findings, *noted.findings)


@pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.slow)])
async def test_a_rules_doctor_asks_and_orders_nothing_again(knowledge, language):
    again = sent = 0
    for case in generate(knowledge, n=24, seed=5, language=language):
        said = {}

        class Noting(RulesDoctor):
            async def answer(self, ask, role):
                answer = await super().answer(ask, role)
                if isinstance(answer, DoctorTurn) and not answer.conclude:
                    said.setdefault(role.post.department, []).append(answer.say)  # noqa: B023
                return answer

        minds = Minds(knowledge=knowledge, seed=1, nurse=[triage("infections")])
        minds.doctor = lambda key, **o: Noting(minds.reader(o["department"]), minds.reader())  # noqa: B023
        episode = await clinic_of(minds, knowledge).compute(request(case))
        if len(episode.seen) == 2:
            sent += 1
            before, after = episode.seen
            assert not {*before.examinations} & {*after.examinations}
            again += len({*said.get("infections", ())} & {*said.get("respiratory", ())})
    assert sent > 5
    assert again == 0


def clinic_of(minds, knowledge):
    return Clinic(minds, knowledge, Setup(seed=1, staff=STAFF))


async def test_what_an_earlier_visit_found_speaks_for_its_disease(knowledge):
    reader = Minds(knowledge=knowledge, seed=1).reader()
    asthma = next(c for c in generate(knowledge, n=48, seed=3) if c.truth.diagnoses[0].name == "Bronchial Asthma")
    held = NotedConsultation(department="chest", findings=asthma.record.findings)
    visit = NotedVisit(illness=asthma.id, day="2026-01-03", consultations=(held,))

    async def probability(illness):
        past = PatientRecord(today=NotedVisit(illness=illness, day="2026-01-07"), earlier=(visit,))
        doctor = Doctor(RulesDoctor(reader), asthma.presentation, max_turns=1, past=past)
        written = await doctor.act(REPORT)
        return {d.name: d.probability for d in written.diagnoses}.get("Bronchial Asthma", 0.0)

    assert await probability(asthma.id) > await probability("another illness") + 0.05


@pytest.mark.parametrize(
    ("language", "questions"),
    [
        ("en", ["Have you seen another doctor about this?", "What did the other doctor say?", "What were you given?"]),
        ("zh", ["您之前看过医生吗？", "上次诊断是什么病？", "给您开了什么药？"]),
    ],
)
async def test_a_patient_says_what_it_was_told_before_when_it_is_asked(knowledge, language, questions):
    case = one(knowledge, language)
    minds = Minds(knowledge=knowledge, seed=1)
    past = PatientRecord(today=NotedVisit(illness=case.id, day="2026-01-07"), earlier=(earlier(case, language),))
    for question in questions:
        told = []
        for known in (past, None):
            patient = Patient(
                minds.patient("v"), case.record, withheld=(earlier(case, language).diagnoses[0].name,), past=known
            )
            patient.observe(Said(seq=1, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=question))
            told.append((await patient.act(REPLY)).say)
        assert earlier(case, language).diagnoses[0].name in told[0]
        assert "salbutamol" in told[0]
        assert "salbutamol" not in told[1]


class Everybody:
    """A model that plays everybody; keeps what the doctors were told, and refers once."""

    def __init__(self, language):
        self.language, self.doctors, self.patients = language, [], []
        self.model = Scripted(self.answer, name=MODEL)

    def answer(self, messages):
        system, last = messages[0][1], messages[-1][1]
        whole = "\n".join(text for _, text in messages)
        if "`acuity`" in system:
            return triage()
        if "`withheld`" in system:
            return {"withheld": []}
        if "`conclude`" not in system:
            self.patients.append(whole)
            ordered = last.endswith(ORDER[self.language])
            return {"say": "chest CT 胸部CT" if ordered else "I cough.", "to": "examiner" if ordered else "doctor",
                    "state": None, "leave": False}  # fmt: skip
        self.doctors.append(whole)
        if "`step`" in last:
            if "- infections: " in last:
                return {"reason": "It is theirs.", "step": "refer", "department": "infections"}
            return {"reason": "It is ours.", "step": "conclude", "department": ""}
        if "`diagnoses`" in last:
            return report({"en": "chronic bronchitis", "zh": "慢性支气管炎"}[self.language])
        if "severe:" in last:
            return {"answer": "mild"}
        spoken = sum(role == "assistant" for role, _ in messages)
        return {"say": ORDER[self.language] if spoken == 0 else "Goodbye.", "conclude": spoken > 0}


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_model_doctor_is_told_its_post_and_the_record_and_never_the_truth(knowledge, language):
    staff = Everybody(language)
    case = one(knowledge, language)
    at = clinic(
        knowledge,
        minds=dict.fromkeys(("doctor", "patient", "nurse", "pharmacist"), MODEL),
        models={MODEL: staff.model},
        staff=STAFF,
        hospital={"en": "Mill Clinic", "zh": "磨坊诊所"},
        departments={"infections": {"en": "infections ward", "zh": "感染科"}},
        candidates=True,
        max_examinations=1,
        free_examinations=("physical-examination",),
    )
    before = earlier(case, language)
    episode = await at.compute(request(case, earlier=(before,)))
    assert not episode.failed, episode.problem
    assert [held.step for held in episode.seen] == ["refer", "conclude"]
    first, second = staff.doctors[0], next(t for t in staff.doctors if NAMES["d2"][language == "zh"] in t)
    place = {"en": "Mill Clinic", "zh": "磨坊诊所"}[language]
    assert NAMES["d1"][language == "zh"] in first
    for text in (first, second):
        assert place in text
        assert "- infections: " in text
        assert knowledge.examinations["chest-ct"].name.get(language) in text
        assert all(d.name.get(language) in text for d in knowledge.diseases.values())
        assert before.diagnoses[0].name in text and "salbutamol" in text and "2026-01-03" in text
    # The second has the first one's results, words and reason.
    result = next(
        f for f in case.record.findings if f.examination == knowledge.examinations["chest-ct"].name.get(language)
    )
    assert result.value_text not in first
    assert result.value_text in second
    assert "It is theirs." in second and "It is theirs." not in first
    assert "I cough." in second
    # What is allowed: the list of candidates, what was noted, what was said, and the plans of what it named itself.
    revealed = [d.name.get(language) for d in knowledge.diseases.values()]
    revealed += [
        text
        for held in (*before.consultations, *episode.noted.consultations)
        for f in held.findings
        for text in [f.text(language)]
    ]
    plans = knowledge.disease_named({"en": "chronic bronchitis", "zh": "慢性支气管炎"}[language])
    revealed += [t for s in ("mild", "moderate", "severe") for t in plans.plan(s).get(language)]
    assert find_leaks(staff.doctors, case, revealed=revealed) == []
    # The patient of the second consultation remembers the first.
    assert not any("chronic bronchitis" in t or "慢性支气管炎" in t for t in staff.patients[:2])
    assert {"en": "chronic bronchitis", "zh": "慢性支气管炎"}[language] in staff.patients[-1]
    assert "salbutamol" in staff.patients[0]


# What is kept from visit to visit.


def note(case, number, day="2026-01-05"):
    held = NotedConsultation(department="chest", diagnoses=(Diagnosis("a cold"),))
    return NotedVisit(illness=case.id.partition(".")[0], day=day, number=number, consultations=(held,))


def test_the_registry_keeps_visits_and_outcomes(small, knowledge):
    hospital, case = small.hospital(), small.case("r0-d0", "mild")
    registry = Registry(hospital, seed=1)

    def asks(patient, case, number, day):
        return registry.request(patient, case, number, arrives=day * DAY + 9 * HOUR)

    assert asks("r0", case, 1, 0).earlier == ()
    episode = Episode(
        key="k",
        noted=note(case, 1),
        seen=(ConsultationHeld(department="respiratory", doctor="d1", turns=1),),
        plan="mild",
    )
    registry.over("r0", episode)
    # Whoever comes again with an illness has got worse, known or not.
    assert [v.outcome for v in asks("r0", case, 2, 2).earlier] == ["worse"]
    assert asks("r0", small.case("r0-d9", "mild"), 1, 2).earlier[0].outcome == ""
    registry.followed_up("r0", "better")
    registry.followed_up("r0", "recovered")
    (kept,) = asks("r0", small.case("r0-d9", "mild"), 1, 6).earlier
    assert kept.outcome == "better"
    assert asks("r1", case, 1, 6).earlier == ()
    for number in range(2, 12):
        registry.over("r0", msgspec.structs.replace(episode, noted=note(case, number)))
        registry.followed_up("r0", "recovered")
    assert [v.number for v in registry.file("r0")] == list(range(12 - VISITS_KEPT, 12))


def test_who_will_see_a_patient_is_on_duty_and_depends_on_the_visit_alone(small):
    hospital = small.hospital(doctors=("respiratory", "respiratory", "respiratory", "dermatology"))
    registry, other = (Registry(hospital, seed=1) for _ in range(2))
    chosen = set()
    for number in range(40):
        case = small.case(f"r{number}-d0", "mild")
        request = registry.request("r", case, 1, arrives=9 * HOUR)
        assert request.doctors == other.request("r", case, 1, arrives=9 * HOUR).doctors
        assert {*request.doctors["respiratory"]} == {"d1", "d2", "d3"}
        chosen.add(request.doctors["respiratory"][0])
    assert chosen == {"d1", "d2", "d3"}
    assert registry.request("r", case, 1, arrives=17 * HOUR).doctors == {}
    assert registry.request("r", case, 1, arrives=7 * HOUR).doctors.keys() == {"respiratory", "dermatology"}
