"""Episodes: referral, the limit on examinations, plans, failures of each player, and that nobody is told too much."""

import asyncio
import re
from collections import Counter
from types import SimpleNamespace

import msgspec
import pytest
from tests.tables import each_row

from polyclinic.cases.check import find_leaks
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import read_out
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import BudgetSpent, UnreadableReply
from polyclinic.events import Event, Examined, Opened, Revealed, Role, Said, Trace
from polyclinic.generation.draw import generate
from polyclinic.hospital.care.clinic import Clinic
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.record.episodes import Episode, EpisodeRequest
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.knowledge.data import Name
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Usage
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.players.player import Ask, DoctorTurn, NextStep, PatientTurn, Purpose
from polyclinic.players.roles.doctor import Post
from polyclinic.players.rules.doctor import RulesDoctor

DEPARTMENTS = ("infections", "respiratory")
MODEL = "direct/m"
ON = {"respiratory": "infections", "infections": "respiratory"}


def moved(known, places):
    """Returns the knowledge with diseases moved to other departments."""
    diseases = {
        i: msgspec.structs.replace(d, department=places[i]) if i in places else d for i, d in known.diseases.items()
    }
    fields = {"diseases": diseases}
    if known_departments := getattr(known, "departments", None):
        one = next(iter(known_departments.values()))
        new = {d: msgspec.structs.replace(one, id=d, name=Name(en=d, zh=d)) for d in places.values()}
        fields["departments"] = {**known_departments, **new}
    return msgspec.structs.replace(known, **fields)


@pytest.fixture(scope="module")
def knowledge():
    """Two departments: the influenzas are moved to another one."""
    return moved(read_knowledge().select("respiratory"), {"influenza-a": "infections", "influenza-b": "infections"})


def request(case, visit=1, departments=DEPARTMENTS):
    return EpisodeRequest(resident="r1", case=case, visit=visit, departments=departments)


def drawn(knowledge, n=1, seed=3, **options):
    return list(generate(knowledge, n=n, seed=seed, **options))


def clinic(knowledge, *, seed=1, models=None, journal=None, ledger=None, minds=None, **options):
    playing = Minds(knowledge=knowledge, seed=seed, models=models, journal=journal, ledger=ledger, **(minds or {}))
    return Clinic(playing, knowledge, Setup(seed=seed, **options))


def triage(department="respiratory"):
    return {"department": department, "acuity": "routine", "reason": "script"}


def report(*names, treatment=()):
    diagnoses = [{"name": name} for name in names]
    return {"symptoms": [], "examinations": [], "diagnoses": diagnoses, "rationale": [], "treatment": list(treatment)}


def scripted_doctor(reports, *, orders=(), plans=("mild",), onward=None, step="refer"):
    """A doctor that says its orders, concludes, reports, and sends patients from department to department `onward`."""
    script = {
        "speak": [*({"say": order} for order in orders), {"say": "Goodbye.", "conclude": True}],
        "report": list(reports),
        "plan": [{"answer": plan} for plan in plans],
    }

    def doctor(ask, role):
        if ask.purpose == "next step":
            to = onward.get(role.post.department, "")
            if to in ask.among:
                return {"reason": "as scripted", "step": step, "department": to}
            return {"reason": "", "step": "conclude"}
        asked = role.__dict__.setdefault("asked", Counter())
        asked[ask.purpose] += 1
        return script[ask.purpose][asked[ask.purpose] - 1]

    return script if onward is None else doctor


def traces(episode):
    return [Trace([msgspec.json.decode(line, type=Event) for line in seen.trace.splitlines()]) for seen in episode.seen]


@pytest.mark.slow
async def test_rules_minds_see_a_day_of_patients(knowledge):
    cases = drawn(knowledge, n=120)
    at = clinic(knowledge)
    episodes = [await at.compute(request(case)) for case in cases]
    assert not any(e.failed for e in episodes)
    assert sum(e.right_diagnosis for e in episodes) > 80
    assert sum(e.right_treatment for e in episodes) > 40
    assert sum(e.right_examination for e in episodes) > 40
    for case, episode in zip(cases, episodes, strict=True):
        assert episode.key == f"{case.id}/1"
        assert episode.department == episode.seen[0].department
        assert 1 <= len(episode.seen) <= 2
        assert [s.refer_to for s in episode.seen] == [s.department for s in episode.seen[1:]] + [""]
        assert all(e in knowledge.examinations for s in episode.seen for e in s.examinations)
        assert (episode.plan is None) == (not episode.seen[-1].diagnosis)
        assert not episode.right_treatment or (episode.right_diagnosis and episode.plan == case.truth.severity)
        drugs = {*episode.dispensed, *(w.partition(":")[0] for w in episode.withheld)}
        if episode.plan is not None:
            plan = knowledge.disease_named(episode.seen[-1].diagnosis).plan(episode.plan)
            assert drugs <= set(plan.drug_ids())
            assert all(len({p.drug for p in m.give} & set(episode.dispensed)) <= 1 for m in plan.measures)
        explained = {w.partition(":")[0] for w in (*episode.instead, *episode.lacking)}
        assert explained == {w.partition(":")[0] for w in episode.withheld}
        assert episode.calls == 0


@pytest.mark.slow
async def test_an_episode_is_a_function_of_its_request_and_the_seed(knowledge):
    cases = drawn(knowledge, n=20)
    one, other = clinic(knowledge, traces=True), clinic(knowledge, traces=True)
    forward = [await one.compute(request(case)) for case in cases]
    backward = [await other.compute(request(case)) for case in reversed(cases)]
    assert forward == backward[::-1]
    assert forward == await asyncio.gather(*(one.compute(request(case)) for case in cases))
    assert forward != [await clinic(knowledge, seed=2, traces=True).compute(request(case)) for case in cases]


async def test_generators_and_journals_are_of_the_visit_and_the_department(knowledge):
    played = []

    class Noting(Minds):
        def patient(self, case, **options):
            played.append(case)
            return super().patient(case, **options)

    case = drawn(knowledge)[0]
    minds = Noting(knowledge=knowledge, seed=1, nurse=[triage()], doctor=scripted_doctor([report()], onward=ON))
    for visit in (1, 2):
        await Clinic(minds, knowledge, Setup(seed=1)).compute(request(case, visit=visit))
    assert played == [f"{case.id}/{visit}/{d}" for visit in (1, 2) for d in ("respiratory", "infections")]


async def test_traces_are_left_out_unless_wanted(knowledge):
    case = drawn(knowledge)[0]
    without = await clinic(knowledge).compute(request(case))
    with_them = await clinic(knowledge, traces=True).compute(request(case))
    assert not any(seen.trace for seen in without.seen)
    trace = traces(with_them)[0]
    assert isinstance(trace[0], Opened)
    assert isinstance(trace[len(trace) - 1], Revealed)
    dropped = tuple(msgspec.structs.replace(seen, trace="") for seen in with_them.seen)
    assert msgspec.structs.replace(with_them, seen=dropped) == without


# Referral.


async def test_a_doctor_sends_a_patient_on_and_never_back(knowledge):
    case = drawn(knowledge)[0]
    doctor = scripted_doctor([report("influenza A")], onward=ON)
    at = clinic(knowledge, minds={"nurse": [triage("respiratory")], "doctor": doctor})
    episode = await at.compute(request(case))
    assert [(s.department, s.step, s.refer_to) for s in episode.seen] == [
        ("respiratory", "refer", "infections"),
        ("infections", "conclude", ""),
    ]
    assert episode.seen[0].reason == "as scripted"
    assert episode.seen[-1].diagnosis == "influenza A"


async def test_a_script_without_a_next_step_treats_the_patient_where_it_is(knowledge):
    at = clinic(knowledge, minds={"nurse": [triage("respiratory")], "doctor": scripted_doctor([report("influenza A")])})
    episode = await at.compute(request(drawn(knowledge)[0]))
    assert [s.department for s in episode.seen] == ["respiratory"]


@each_row(
    ("said", "step", "to", "error"),
    [
        (None, "conclude", "", ""),
        ("infections", "refer", "infections", ""),
        ("admit", "admit", "", ""),
        (DoctorTurn("Goodbye."), "conclude", "", ""),
        ({"say": "Goodbye."}, "conclude", "", ""),
        ({"reason": "so", "step": "admit", "department": "infections"}, "admit", "", ""),
        ({"reason": "so", "step": "refer"}, "", "", "WrongAnswer"),
        ("dentistry", "", "", "WrongAnswer"),
        (3, "", "", "WrongAnswer"),
    ],
)
async def test_the_next_step_of_a_mind_of_ones_own(knowledge, said, step, to, error):
    def doctor(ask, role):
        if ask.purpose == "next step":
            return said if "infections" in ask.among else None
        answers = {"report": ["influenza A"], "plan": "mild"}
        return answers.get(ask.purpose, DoctorTurn("Bye.", conclude=True))

    at = clinic(knowledge, minds={"nurse": [triage("respiratory")], "doctor": doctor}, max_referrals=1)
    episode = await at.compute(request(drawn(knowledge)[0]))
    assert (episode.error, episode.failed) == (error, "doctor" if error else "")
    if not error:
        assert (episode.seen[0].step, episode.seen[0].refer_to) == (step, to)
        assert episode.admits == (step == "admit")


async def test_two_referrals_at_most(knowledge):
    case, three = drawn(knowledge)[0], ("asthma clinic", *DEPARTMENTS)
    more = moved(knowledge, {"bronchial-asthma": "asthma clinic", "covid-19": "covid clinic"})
    onward = {"infections": "asthma clinic", "asthma clinic": "respiratory", "respiratory": "covid clinic"}
    minds = {"nurse": [triage("infections")], "doctor": scripted_doctor([report()], onward=onward)}
    for most, seen in ((0, 1), (1, 2), (2, 3)):
        at = clinic(more, max_referrals=most, minds=minds)
        episode = await at.compute(request(case, departments=(*three, "covid clinic")))
        assert len({s.department for s in episode.seen}) == len(episode.seen) == seen
        assert episode.seen[-1].refer_to == ""


@pytest.mark.slow
async def test_most_who_are_sent_wrong_arrive_where_they_belong(knowledge):
    wrongly = [case for case in drawn(knowledge, n=240) if case.truth.diagnoses[0].name.startswith("Bronchial")]
    assert wrongly
    at = clinic(knowledge, minds={"nurse": lambda *_: triage("infections")})
    arrived = [(await at.compute(request(case))).seen[-1].department for case in wrongly]
    assert arrived.count("respiratory") > 0.5 * len(arrived)


def test_the_rules_doctors_step_reads_report_and_results(knowledge):
    reader = Minds(knowledge=knowledge, seed=1).reader()
    door = Presentation(complaint="I do not feel well", age=30)

    def after(*, diagnosis="", symptoms=(), seen_by=("respiratory",), findings=(), disposition="home", whole=reader):
        diagnoses = (Diagnosis(diagnosis),) if diagnosis else ()
        written = Report(symptoms=symptoms, examinations=(), diagnoses=diagnoses, rationale=(), treatment=())
        mind = RulesDoctor(whole)
        mind._report = lambda *_: written
        plan = SimpleNamespace(plan=lambda _: SimpleNamespace(disposition=disposition))
        mind._likeliest = lambda _: (plan, "mild")
        post = Post(department=seen_by[-1], departments=dict.fromkeys(DEPARTMENTS, ""))
        ask = Ask(Purpose.NEXT_STEP, NextStep, among=tuple(d for d in DEPARTMENTS if d not in seen_by))
        role, belief = SimpleNamespace(post=post, presentation=door), SimpleNamespace(findings=findings)
        step = mind._next_step(ask, role, belief)
        assert step.reason
        return step.step, step.department

    refer = ("refer", "infections")
    assert after(diagnosis="influenza B") == refer
    assert after(diagnosis="bronchial asthma") == ("conclude", "")
    assert after(diagnosis="bronchial asthma", disposition="ward") == ("admit", "")
    assert after(diagnosis="measles") == ("conclude", "")
    assert after(diagnosis="influenza A", seen_by=("infections", "respiratory")) == ("conclude", "")
    assert after() == refer
    # Where no other department sees anything that is known, nobody is sent there.
    only = Minds(knowledge=knowledge.select("respiratory"), seed=1).reader()
    assert after(whole=only) == ("conclude", "")


# Examinations.


@pytest.mark.slow
@each_row("language", ["en", "zh"])
@each_row("most", [0, 1, 2])
async def test_so_many_examinations_a_visit_at_most(knowledge, language, most):
    at = clinic(knowledge, max_examinations=most, traces=True)
    counts = []
    for case in drawn(knowledge, n=25, language=language):
        episode = await at.compute(request(case))
        done = [e for seen in episode.seen for e in seen.examinations]
        counts.append(len(set(done)))
        orders = [
            event
            for trace in traces(episode)
            for event in trace
            if isinstance(event, Said)
            and event.who is Role.DOCTOR
            and re.search("examination to be done|做一项", event.text)
        ]
        # The doctor knows the limit and orders nothing beyond it.
        assert len(orders) <= most
    assert max(counts) == most


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_beyond_the_limit_the_examiner_says_so_and_tells_nothing(knowledge, language):
    case = drawn(knowledge, language=language)[0]
    first, second = (knowledge.examinations[e].name.get(language) for e in ("chest-ct", "sputum-examination"))
    order = {"en": "I would like one examination to be done: {}.", "zh": "请做一项检查：{}。"}[language]
    orders = [order.format(first), order.format(second)]
    doctor = scripted_doctor([report("acute nasopharyngitis")], orders=orders)
    at = clinic(knowledge, max_examinations=1, traces=True, minds={"nurse": [triage()], "doctor": doctor})
    episode = await at.compute(request(case))
    assert episode.seen[0].examinations == ("chest-ct",)
    found = [event for event in traces(episode)[0] if isinstance(event, Examined)]
    assert len(found) == 2
    assert {f.examination for f in found[0].findings} == {first}
    assert found[1].findings == ()
    refused = {"en": "no further examination is possible", "zh": "不能再做其他检查"}[language]
    assert refused in found[1].text
    assert refused not in found[0].text


async def test_a_referred_patient_brings_what_is_left(knowledge):
    case = drawn(knowledge)[0]
    order = "I would like one examination to be done: chest CT."
    doctor = scripted_doctor([report()], orders=[order], onward=ON)
    at = clinic(knowledge, max_examinations=1, minds={"nurse": [triage()], "doctor": doctor})
    episode = await at.compute(request(case))
    assert [s.examinations for s in episode.seen] == [("chest-ct",), ()]
    at = clinic(knowledge, minds={"nurse": [triage()], "doctor": doctor})
    episode = await at.compute(request(case))
    assert [s.examinations for s in episode.seen] == [("chest-ct",), ("chest-ct",)]


# The plan.


async def test_the_plan_is_of_the_disease_that_was_diagnosed(knowledge):
    case = next(
        c for c in drawn(knowledge, n=24) if c.truth.severity == "severe" and "Asthma" in c.truth.diagnoses[0].name
    )
    for name, plan, right_diagnosis, right_treatment in (
        ("bronchial asthma", "severe", True, True),
        ("bronchial asthma", "mild", True, False),
        ("chronic bronchitis", "severe", False, False),
    ):
        minds = {"nurse": [triage()], "doctor": scripted_doctor([report(name)], plans=[plan])}
        episode = await clinic(knowledge, minds=minds).compute(request(case))
        drugs = knowledge.disease_named(name).plan(plan).drug_ids()
        assert (episode.right_diagnosis, episode.right_treatment) == (right_diagnosis, right_treatment)
        assert episode.plan == plan
        assert set(episode.dispensed) <= set(drugs)


@pytest.mark.parametrize(
    ("disease", "said"),
    [
        ("bronchial-asthma", "Acute exacerbation of asthma"),
        ("bronchial-asthma", "支气管哮喘急性发作期"),
        ("covid-19", "COVID-19 infection"),
        ("influenza-a", "Influenza A (H1N1)"),
    ],
)
async def test_a_kind_of_the_disease_is_right_and_gets_its_plan(knowledge, disease, said):
    known = knowledge.diseases[disease]
    case = next(c for c in drawn(knowledge, n=48) if c.truth.diagnoses[0].name == known.name.en)
    minds = {"nurse": [triage()], "doctor": scripted_doctor([report(said)], plans=[case.truth.severity])}
    episode = await clinic(knowledge, minds=minds).compute(request(case))
    assert (episode.right_diagnosis, episode.right_treatment) == (True, True)
    assert set(episode.dispensed) <= set(known.plan(case.truth.severity).drug_ids())
    assert episode.treatment


async def test_a_diagnosis_outside_the_knowledge_has_no_plan(knowledge):
    case = drawn(knowledge)[0]
    doctor = scripted_doctor([report("measles", treatment=["paracetamol for fever", "no ibuprofen"])])
    episode = await clinic(knowledge, minds={"nurse": [triage()], "doctor": doctor}).compute(request(case))
    assert episode.plan is None
    assert episode.treatment == ("paracetamol for fever", "no ibuprofen")
    assert episode.dispensed == ("paracetamol",)
    assert not (episode.right_diagnosis or episode.right_treatment or episode.failed)


async def test_what_a_patient_takes_already_is_not_handed_out_anew(knowledge):
    case = drawn(knowledge)[0]
    history = msgspec.structs.replace(case.record.history, medications="Losartan and simvastatin every day.")
    case = msgspec.structs.replace(case, record=msgspec.structs.replace(case.record, history=history))
    doctor = scripted_doctor([report("measles", treatment=["ramipril", "atorvastatin", "paracetamol for fever"])])
    episode = await clinic(knowledge, minds={"nurse": [triage()], "doctor": doctor}).compute(request(case))
    assert episode.dispensed == ("paracetamol",)
    assert set(episode.continued) == {"ramipril: losartan", "atorvastatin: simvastatin"}


# Failures.


def broken(ask, role):
    raise UnreadableReply("not what was asked for")


@each_row(
    ("minds", "who", "reached"),
    [
        ({"nurse": broken}, "nurse", ()),
        ({"nurse": [triage("dentistry")]}, "nurse", ()),
        ({"doctor": broken}, "doctor", ("department", "seen")),
        ({"patient": broken}, "patient", ("department", "seen")),
        ({"doctor": {**scripted_doctor([report("bronchial asthma")]), "plan": []}}, "doctor", ("department", "seen")),
        ({"doctor": scripted_doctor([report("bronchial asthma")], plans=["none"])}, "doctor", ("department", "seen")),
        (
            {"doctor": scripted_doctor([report("bronchial asthma")]), "pharmacist": broken},
            "pharmacist",
            ("department", "seen", "plan", "treatment"),
        ),
    ],
)
async def test_a_failure_of_a_player_ends_the_episode_under_its_name(knowledge, minds, who, reached):
    case = drawn(knowledge)[0]
    minds = {"nurse": [triage()]} | minds
    episode = await clinic(knowledge, minds=minds).compute(request(case))
    assert episode.failed == who
    assert episode.error in ("UnreadableReply", "WrongAnswer", "ScriptError")
    assert episode.problem
    empty = Episode(key="")
    assert tuple(
        f for f in ("department", "seen", "plan", "treatment") if getattr(episode, f) != getattr(empty, f)
    ) == (reached)
    assert episode.dispensed == ()


async def test_a_patient_who_leaves_has_been_seen(knowledge):
    case = drawn(knowledge)[0]
    leaving = {"open": [PatientTurn("I cough.")], "reply": [PatientTurn("I am going.", leave=True)]}
    doctor = scripted_doctor([report("bronchial asthma")], orders=["Do you cough?"])
    minds = {"nurse": [triage()], "doctor": doctor, "patient": leaving}
    episode = await clinic(knowledge, minds=minds).compute(request(case))
    assert not episode.failed
    assert episode.seen[0].turns == 1


# By models.


class Staff:
    """A model that plays everybody, and remembers what each was told."""

    def __init__(self, knowledge, language):
        self.told = {"nurse": [], "doctor": [], "pharmacist": [], "patient": []}
        self.order = {"en": "Please have a chest CT.", "zh": "请您做一下胸部CT。"}[language]
        self.disease = knowledge.diseases["bronchial-asthma"].name.get(language)
        self.model = Scripted(self.answer, name=MODEL)

    def answer(self, messages):
        system, last = messages[0][1], messages[-1][1]
        whole = "\n".join(text for _, text in messages)
        if "`acuity`" in system:
            self.told["nurse"].append(whole)
            return triage()
        if "`withheld`" in system:
            self.told["pharmacist"].append(whole)
            return {"withheld": []}
        if "`conclude`" not in system:
            self.told["patient"].append(whole)
            ordered = last.endswith(self.order)
            said = "chest CT 胸部CT" if ordered else "I cough."
            return {"say": said, "to": "examiner" if ordered else "doctor", "state": None, "leave": False}
        self.told["doctor"].append(whole)
        if "`diagnoses`" in last:
            return report(self.disease)
        if "`step`" in last:
            return {"reason": "It can be treated here.", "step": "conclude", "department": ""}
        if "severe:" in last:
            return {"answer": "moderate"}
        spoken = sum(role == "assistant" for role, _ in messages)
        return {"say": self.order if spoken == 1 else "Any fever? 发烧吗？", "conclude": spoken > 2}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_models_play_everybody_and_nobody_is_told_the_truth(knowledge, language):
    for case in drawn(knowledge, n=24, seed=11, language=language):
        staff = Staff(knowledge, language)
        minds = dict.fromkeys(("doctor", "patient", "nurse", "pharmacist"), MODEL)
        ledger = Ledger()
        at = clinic(
            knowledge,
            minds=minds,
            models={MODEL: staff.model},
            ledger=ledger,
            max_examinations=1,
            traces=True,
            departments={"respiratory": {"en": "chest medicine", "zh": "胸科"}},
        )
        episode = await at.compute(request(case))
        assert not episode.failed, episode.problem
        assert episode.plan == "moderate"
        assert episode.calls == sum(map(len, staff.told.values())) == ledger.total.calls
        trace = traces(episode)[0]
        revealed = [event.text for event in trace if isinstance(event, Said | Examined)]
        # The plans of the disease that the doctor itself named may name it, and what they hold is no finding.
        named = [staff.disease, *knowledge.disease_named(staff.disease).treatment.mild.get(language)]
        named += [
            t for s in ("moderate", "severe") for t in knowledge.disease_named(staff.disease).plan(s).get(language)
        ]
        # The nurse is told what she has measured herself.
        measured = read_out([one.finding for one in episode.at_door.vital_signs], language)
        assert len(episode.at_door.vital_signs) == 5
        noted = [*measured, *revealed, *named]
        for who, allowed in (("nurse", measured), ("doctor", noted), ("pharmacist", noted)):
            assert find_leaks(staff.told[who], case, revealed=allowed) == [], who
        shown = {"en": "- respiratory: chest medicine", "zh": "- respiratory: 胸科"}[language]
        assert shown in staff.told["nurse"][0]
        assert "- infections: infections" in staff.told["nurse"][0]
        told = staff.told["doctor"]
        limit = {"en": "at most 1 of the examinations", "zh": "最多只能做1项"}[language]
        assert all(limit in text for text in told)
        assert sum("severe:" in text for text in told) == 1
        severe = "; ".join(knowledge.disease_named(staff.disease).plan("severe").get(language))
        assert severe in told[-1]
        assert case.truth.severity not in "".join(told[:-1])


@pytest.mark.slow
async def test_rules_play_with_what_they_are_given_and_nothing_of_the_truth(knowledge):
    """Two cases that differ in their truth alone go the same way until they are held against it."""
    for case in drawn(knowledge, n=12):
        other = msgspec.structs.replace(
            case,
            truth=msgspec.structs.replace(case.truth, diagnoses=(Diagnosis("Gout"),), severity=None),
            department="",
        )
        one, two = [await clinic(knowledge).compute(request(c)) for c in (case, other)]
        assert not two.right_diagnosis and not two.right_treatment
        same = {"right_examination": False, "right_diagnosis": False, "right_treatment": False, "care": None}
        assert msgspec.structs.replace(one, **same) == msgspec.structs.replace(two, **same)


async def test_a_spent_budget_ends_the_run(knowledge):
    staff, case = Staff(knowledge, "en"), drawn(knowledge)[0]
    ledger = Ledger(token_budget=1)
    ledger.spend(Usage(tokens_in=5))
    at = clinic(knowledge, minds={"nurse": MODEL}, models={MODEL: staff.model}, ledger=ledger)
    with pytest.raises(BudgetSpent):
        await at.compute(request(case))


async def test_a_journal_answers_again_and_holds_nothing_of_what_is_over(knowledge, tmp_path):
    cases = drawn(knowledge, n=3)
    minds = dict.fromkeys(("doctor", "patient", "nurse", "pharmacist"), MODEL)

    async def episodes():
        staff = Staff(knowledge, "en")
        async with Journal(tmp_path / "journal.sqlite", run="r") as journal:
            at = clinic(knowledge, minds=minds, models={MODEL: staff.model}, journal=journal)
            came = await asyncio.gather(*(at.compute(request(c, visit)) for c in cases for visit in (1, 2)))
            assert journal._seen == {}
        return came, staff.model.asked

    first, asked = await episodes()
    again, asked_again = await episodes()
    assert first == again
    assert asked > 50
    assert asked_again == 0


async def test_acuity_is_the_nurses(knowledge):
    case = drawn(knowledge)[0]
    said = triage() | {"acuity": "emergency"}
    episode = await clinic(knowledge, minds={"nurse": [said]}).compute(request(case))
    assert episode.acuity is Acuity.EMERGENCY
