"""Visits of several doctors: each sees the patient alone, then they discuss; nothing leaks; traces come back."""

import asyncio
import functools
import json

import numpy as np
import pytest
from bench.virtual_time import latencies_of
from tests.tables import each_row

from polyclinic.cases.check import find_leaks
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.shipped import SHIPPED
from polyclinic.cli.commands import APP
from polyclinic.errors import BadInput, TimedOut, UnreadableReply
from polyclinic.events import (
    Convened,
    Disputed,
    End,
    Established,
    Examined,
    Failed,
    Opened,
    Order,
    Revealed,
    Revised,
    Role,
    Said,
    Shared,
    Trace,
)
from polyclinic.generation.draw import generate
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.journal import Journal
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.rules.belief import Belief
from polyclinic.players.rules.sayings import doctor_sayings
from polyclinic.run.options import TEAM
from polyclinic.visits.team import confer, revisit_all
from polyclinic.visits.visit import see

BYE = {"say": "Goodbye.", "conclude": True}
EMPTY = {part: [] for part in ("symptoms", "examinations", "diagnoses", "rationale", "treatment")}


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


@pytest.fixture(scope="module")
def case(knowledge):
    return next(generate(knowledge, n=1, seed=3))


@pytest.fixture(scope="module")
def rules(knowledge):
    return Minds(knowledge=knowledge, seed=11)


def said_by(*turns, report=None, revised=()):
    """A scripted doctor."""
    return {"speak": turns, "report": [report or EMPTY], "revise": list(revised)}


def named(name):
    return {**EMPTY, "diagnoses": [{"name": name}]}


async def test_each_sees_the_patient_alone_and_then_they_confer(case, knowledge, rules):
    order = [{"say": "I would like a physical examination.", "conclude": False}, {"say": "Bye.", "conclude": True}]
    other = said_by(*order, report=named("Other"), revised=[named("Other")] * 5)
    watched = []
    visit = await confer(
        case,
        [rules, Minds(doctor=other, knowledge=knowledge, seed=11)],
        max_rounds=2,
        watch=lambda number, event: watched.append((number, event)),
    )
    assert visit.end is End.ROUND_LIMIT
    assert (visit.rounds, visit.consensus, visit.kept) == (2, None, 0)
    first, second = visit.consultations
    assert [t.last(Opened).doctor for t in (first.trace, second.trace)] == [1, 2]
    assert all(isinstance(v.trace[-1], Revealed) for v in (first, second, visit))
    assert [[e for n, e in watched if n == number] for number in (1, 2, 0)] == [list(t) for t in visit.traces]
    # Doctor 1 is as good as alone; what its examiner found is among the facts, word for word, and doctor 2 has it too.
    assert first.report.diagnoses[0].name == case.truth.diagnoses[0].name
    found = [f for v in (first, second) for e in v.trace if isinstance(e, Examined) for f in e.findings]
    assert found
    assert set(visit.trace.last(Established).findings) == set(found)
    assert set(found) <= set(case.record.findings)
    convened = visit.trace[0]
    assert (convened.doctors, convened.director, convened.order) == (("rules", "scripted"), "rules", Order.PARALLEL)
    assert "Other (doctor 2)" in visit.trace.last(Disputed).points[0]
    # One vote each: the director says that they are not agreed.
    assert "Other" in {d.name for d in (*visit.report.diagnoses, *visit.report.differential)}


async def test_doctors_of_one_mind_are_told_apart_and_agree(case, rules):
    visit = await confer(case, [rules, rules, rules])
    assert (visit.end, visit.consensus) == (End.CONSENSUS, 1)
    assert [e.doctor for e in visit.trace if isinstance(e, Revised)] == [1, 2, 3] * 2
    assert visit.report.diagnoses[0].name == visit.consultations[0].report.diagnoses[0].name


@pytest.mark.slow
async def test_a_rules_doctor_takes_in_what_others_found(knowledge):
    # Doctor 1 concludes at once and knows nothing; doctor 2 has examined everything.
    better = alone = 0
    for case in generate(knowledge.select("respiratory"), n=24, seed=21):
        visit = await confer(case, [Minds(knowledge=knowledge, seed=1)] * 2, max_turns=1)
        assert [v.turns for v in visit.consultations] == [1, 1]
        findings = tuple(case.record.findings)
        hasty = Minds(knowledge=knowledge, seed=1)
        names = [f"{f.examination}" for f in findings]
        orders = [f"Please have: {name}." for name in dict.fromkeys(names)]
        busy = Minds(doctor=said_by(*orders, report=EMPTY, revised=[EMPTY] * 9), knowledge=knowledge, seed=1)
        team = await confer(case, [hasty, busy], max_turns=len(orders))
        first = next(e for e in team.trace if isinstance(e, Revised) and e.doctor == 1)
        truth = case.truth.diagnoses[0].name
        assert set(first.report.examinations) >= set(team.consultations[0].report.examinations)
        hastily = await see(case, hasty, max_turns=1)
        alone += bool(hastily.report.diagnoses) and hastily.report.diagnoses[0].name == truth
        better += bool(first.report.diagnoses) and first.report.diagnoses[0].name == truth
    assert better >= alone + 5
    assert better >= 20


@pytest.mark.slow
async def test_a_rules_doctor_is_overruled_by_the_facts(case, knowledge):
    """The director's facts come after a question put again; what the doctor had heard before gives way."""
    facts = {"symptoms": ["no fever", "dry cough"], "examinations": []}
    script = {"merge": [facts], "dispute": [{"points": []}] * 2, "conclude": [EMPTY]}
    minds = Minds(director=script, knowledge=knowledge, seed=1)
    visits = [await confer(c, [minds, minds]) for c in generate(knowledge.select("respiratory"), n=16, seed=4)]
    feverish = [v for v in visits if any("fever" in s for s in v.consultations[0].report.symptoms)]
    assert feverish
    for visit in feverish:
        revised = next(e for e in visit.trace if isinstance(e, Revised))
        # A complaint that holds words of other departments stands in the report as it was said.
        said = visit.consultations[0].trace[0].presentation.complaint
        assert not [s for s in revised.report.symptoms if "fever" in s and s != said]
        # What implies a cough stands in its place.
        assert any(word in s for s in revised.report.symptoms for word in ("cough", "sputum", "phlegm"))


@pytest.mark.slow
@pytest.mark.parametrize(("heard", "facts"), [("high fever", "no fever"), ("no fever", "high fever"), ("x", "fever")])
async def test_overruled_is_as_if_it_had_never_been_heard(knowledge, heard, facts):
    def belief(*symptoms):
        doctor = Doctor(None, Presentation(complaint="A cough"), max_turns=3)
        belief = Belief(Reader(knowledge, something_else=0.2), doctor)
        for text in symptoms:
            doctor.observe(Established(seq=0, symptoms=(text,)))
            belief.update()
        return belief

    overruled, never = belief(heard, facts), belief(facts)
    np.testing.assert_allclose(overruled.posterior(), never.posterior(), rtol=1e-9)
    told = [name for name in overruled.symptoms_found() if name != heard]
    assert told == list(never.symptoms_found())
    say = doctor_sayings("en")
    assert overruled.reasons(0, say) == never.reasons(0, say)


@pytest.mark.parametrize(("language", "denied", "asked"), [("en", "no fever", "fever"), ("zh", "无发热", "发烧")])
async def test_a_contradiction_is_settled_by_the_patient(knowledge, language, denied, asked):
    """All of it by rules: one doctor says that there is no fever, another has heard of one, the patient decides."""
    cases = generate(knowledge.select("respiratory"), n=16, seed=4, language=language)
    wrong = {**EMPTY, "symptoms": [denied]}
    for case in cases:
        minds = Minds(doctor=said_by(BYE, report=wrong, revised=[wrong] * 3), knowledge=knowledge, seed=1)
        visit = await confer(case, [minds, Minds(knowledge=knowledge, seed=1)], max_rounds=1)
        brought = next(e for e in visit.trace if isinstance(e, Shared) and e.doctor == 2)
        again = [e for e in visit.trace if isinstance(e, Said)]
        feverish = any(("fever" in s or "热" in s or "烧" in s) for s in brought.symptoms)
        assert bool(again) == feverish
        if feverish:
            assert asked in again[0].text
            assert denied not in visit.trace.last(Established).symptoms, again
            break
    else:
        pytest.fail("nobody has a fever")


async def test_same_seed_same_bytes(case, knowledge):
    runs = []
    for _ in range(2):
        minds = Minds(knowledge=knowledge, seed=3)
        runs.append([t.lines() for t in (await confer(case, [minds, minds])).traces])
    assert runs[0] == runs[1]


async def test_traces_come_back_as_the_visits_that_they_are(tmp_path, case, knowledge, rules):
    failing = said_by(BYE, report=named("A"), revised=["nonsense"] * 9)
    team = await confer(case, [rules, Minds(doctor=failing, knowledge=knowledge, seed=11)], max_rounds=2)
    assert team.kept == 3
    alone = await see(case, rules)
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(t.lines() for t in (*alone.traces, *team.traces, *alone.traces)), encoding="utf-8")
    traces = Trace.read(path)
    assert traces == [*alone.traces, *team.traces, *alone.traces]
    assert [v.document() for v in revisit_all(traces)] == [v.document() for v in (alone, team, alone)]
    with pytest.raises(BadInput, match="needs its 2 doctors' visits before it"):
        revisit_all(traces[2:4])
    with pytest.raises(BadInput, match="breaks off"):
        revisit_all([*team.traces[:2], Trace(list(team.trace)[:-2])])


# Failures


async def test_a_doctor_whose_visit_failed_takes_no_part(case, knowledge, rules):
    silent = Minds(doctor={"speak": []}, knowledge=knowledge, seed=1)
    visit = await confer(case, [silent, rules])
    assert visit.consultations[0].end is End.FAILED
    failed = visit.trace[1]
    assert isinstance(failed, Failed)
    assert (failed.doctor, failed.who, failed.error) == (1, Role.DOCTOR, "ScriptError")
    assert {e.doctor for e in visit.trace if isinstance(e, Shared | Revised)} == {2}
    assert (visit.end, visit.consensus) == (End.CONSENSUS, 0)
    assert visit.report.diagnoses


async def test_where_nobody_is_left_the_visit_has_failed(case, knowledge):
    silent = Minds(doctor={"speak": []}, knowledge=knowledge, seed=1)
    visit = await confer(case, [silent, silent])
    assert [type(e) for e in visit.trace][:3] == [Convened, Failed, Failed]
    assert (visit.end, visit.report, visit.rounds, visit.consensus) == (End.FAILED, None, 0, None)
    assert isinstance(visit.trace[-1], Revealed)
    with pytest.raises(ValueError, match="at least one doctor"):
        await confer(case, [])


# Language models


class Recorder:
    """A model that plays everybody and remembers what it was told, by who was told."""

    def __init__(self, *, ask_again=()):
        self.told = {"doctor": [], "director": [], "patient": [], "examiner": []}
        self.model = Scripted(self.answer, name="direct/recorder")
        self.ask_again = ask_again

    def answer(self, messages):
        system, whole, last = messages[0][1], "\n".join(text for _, text in messages), messages[-1][1]
        if "`numbers`" in system:
            self.told["examiner"].append(whole)
            lines = [line.partition(". ") for line in whole.splitlines()]
            wanted = "血液检查" if "检查" in system else "blood test"
            return {"numbers": [int(number) for number, _, name in lines if name.startswith(wanted)]}
        if "主任" in system[:40] or "medical director" in system:
            self.told["director"].append(whole)
            if "`ask_patient`" in last:
                again = self.ask_again if last.rstrip().endswith(("doubt.", "留空。")) else ()
                return {"symptoms": [], "examinations": [], "ask_patient": list(again), "ask_examiner": []}
            return {"points": ["?"]} if "`points`" in last else EMPTY
        if system.startswith(("You are a doctor", "你是一家模拟医院的医生")):
            self.told["doctor"].append(whole)
            if "turns left" not in last and "还可以说" not in last:
                return EMPTY
            spoken = sum(role == "assistant" for role, _ in messages)
            order = "请您做一下血液检查。" if "医生" in system else "Please have a blood test."
            return {"say": order if spoken == 0 else "Hm?", "conclude": spoken > 1}
        self.told["patient"].append(whole)
        ordered = "blood test" in last or "血液检查" in last
        return {
            "say": last if ordered else "Hm.",
            "to": "examiner" if ordered else "doctor",
            "state": None,
            "leave": False,
        }

    def minds(self, knowledge, **more):
        roles = dict.fromkeys(("doctor", "patient", "examiner", "director"), "direct/recorder") | more
        return Minds(**roles, knowledge=knowledge, seed=1, models={"direct/recorder": self.model})


def told_before(visit):
    """What patient and examiner revealed to anybody of the team."""
    revealed = [e.text for t in visit.traces for e in t if isinstance(e, Said | Examined)]
    return revealed + [f.text() for t in visit.traces for e in t if isinstance(e, Examined) for f in e.findings]


@pytest.mark.slow
@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_no_prompt_of_the_team_holds_what_nobody_revealed(knowledge, language, order):
    for case in generate(knowledge, n=8, seed=8, language=language):
        recorder = Recorder(ask_again=["血液检查结果如何？" if language == "zh" else "What did the blood test show?"])
        minds = recorder.minds(knowledge)
        visit = await confer(case, [minds, minds], order=order, max_rounds=2)
        assert visit.end is End.ROUND_LIMIT, visit.trace.last(Failed)
        assert visit.trace.last(Examined) is not None
        assert all(recorder.told.values())
        # A doctor goes on from its own report; a patient who is asked again has opened the visit before.
        second = "医生2" if language == "zh" else "You are doctor 2"
        assert any(second in told and '{"symptoms":[]' in told.split(second)[0] for told in recorder.told["doctor"])
        again = [told for told in recorder.told["patient"] if recorder.ask_again[0] in told]
        assert len(again) == 1
        assert '{"say":"Hm."' in again[0]
        revealed = told_before(visit)
        for who in ("doctor", "director", "patient"):
            assert find_leaks(recorder.told[who], case, revealed=revealed) == [], (case.id, who)
        # Only a blood test was ordered: the other results are in no prompt, in nobody's.
        others = [f.result(language) for f in case.record.findings if f.examination not in ("blood test", "血液检查")]
        everything = "\n".join(text for told in recorder.told.values() for text in told)
        assert not [text for text in others if len(text) > 12 and text in everything]
        assert any("\u4e00" <= c <= "\u9fff" for c in recorder.told["director"][0]) == (language == "zh")


@pytest.mark.parametrize("file", ["agentclinic/agentclinic_medqa.jsonl", "ai_hospital/patients_small_10.json"])
async def test_real_cases_leak_into_no_prompt_of_a_team(shared_data, knowledge, file):
    for case in list(read_cases(shared_data / "cases" / file))[:10]:
        recorder = Recorder()
        minds = recorder.minds(knowledge)
        visit = await confer(case, [minds, minds], max_rounds=1)
        assert visit.report is not None
        for who in ("doctor", "director"):
            assert find_leaks(recorder.told[who], case, revealed=told_before(visit)) == [], (case.id, who)


async def test_online_there_is_no_examiner(shared_data, knowledge):
    case = next(read_cases(shared_data / "cases" / "aie" / "HospitalCases.json"))
    assert case.setting == "online"
    facts = {"symptoms": [], "examinations": [], "ask_patient": [], "ask_examiner": ["血常规"]}
    chair = {"merge": [facts, facts], "dispute": [{"points": []}] * 2, "conclude": [EMPTY]}
    minds = Minds(director=chair, knowledge=knowledge, seed=1)
    visit = await confer(case, [minds, minds], max_turns=4)
    assert visit.end is End.CONSENSUS
    asked = [e for e in visit.trace if isinstance(e, Said)]
    assert [(e.who, e.to) for e in asked] == [(Role.DIRECTOR, Role.PATIENT), (Role.PATIENT, Role.DIRECTOR)]


async def test_who_read_the_record_can_ask_nobody(case, knowledge):
    recorder = Recorder(ask_again=["Any fever?"])
    facts = {"symptoms": [], "examinations": [], "ask_patient": ["Any fever?"], "ask_examiner": ["blood test"]}
    script = {"merge": [facts], "dispute": [{"points": []}] * 2, "conclude": [EMPTY]}
    for director in ("direct/recorder", script):
        minds = recorder.minds(knowledge, director=director)
        visit = await confer(case, [minds, minds], in_one_step=True, max_rounds=1)
        assert visit.report is not None
        assert not [e for e in visit.trace if isinstance(e, Said)]
        assert visit.trace.last(Established).findings == case.record.findings
    assert not recorder.told["patient"]


async def test_a_chinese_case_of_rules(knowledge):
    case = next(read_cases(SHIPPED["shipped-zh"]))
    other = said_by(BYE, report=named("肺炎支原体感染"), revised=[named("肺炎支原体感染")] * 9)
    minds = [Minds(knowledge=knowledge, seed=1), Minds(doctor=other, knowledge=knowledge, seed=1)]
    visit = await confer(case, minds, max_rounds=1)
    assert "首要诊断是哪一个" in visit.trace.last(Disputed).points[0]
    assert any("各位医生合计" in item for item in visit.report.rationale)


@pytest.mark.parametrize("fault", [UnreadableReply("no"), TimedOut("no answer")])
async def test_a_failing_model_among_rules(case, knowledge, rules, fault):
    def answer(messages):
        if "report anew" in messages[-1][1] or "write it anew" in messages[-1][1]:
            raise fault
        return {"say": "Bye.", "conclude": True} if "turns left" in messages[-1][1] else EMPTY

    minds = Minds(doctor="direct/x", knowledge=knowledge, seed=1, models={"direct/x": Scripted(answer)})
    visit = await confer(case, [minds, rules], max_rounds=2)
    unusable = isinstance(fault, UnreadableReply)
    assert visit.trace.last(Failed).doctor == 1
    assert visit.trace.last(Failed).answered is unusable
    assert (visit.report is not None) is unusable
    assert visit.kept == (visit.rounds + 1 if unusable else 0)


async def test_a_journal_tells_doctors_of_one_mind_apart(tmp_path, case, knowledge):
    """Equal questions, answered out of order: the run that starts again asks nothing, and no words change hands."""
    said = iter(range(1000))

    def answer(messages):
        last = messages[-1][1]
        if "turns left" in last:
            spoken = sum(role == "assistant" for role, _ in messages)
            return {"say": f"Words {next(said)}." if spoken else "Hm?", "conclude": spoken > 0}
        if "`points`" in last:
            return {"points": []}
        return {**EMPTY, "rationale": [f"reason {next(said)}"]}

    class Overtaking(Scripted):
        """The first question is answered last."""

        async def ask(self, messages, **options):
            await asyncio.sleep(next(delays, 0))
            return await super().ask(messages, **options)

    delays = iter([0.18, 0.15, 0.12, 0.09, 0.06, 0.03])
    runs, model = [], Overtaking(answer, name="direct/x")
    patient = {"open": ["I cough."], "reply": ["No."]}
    for _ in range(2):
        async with Journal(tmp_path / "journal") as journal:
            models = {"direct/x": model}
            minds = Minds(
                doctor="direct/x", patient=patient, knowledge=knowledge, seed=1, models=models, journal=journal
            )
            # Two teams of the same doctors at a time: shown the points of dispute, and not.
            teams = await asyncio.gather(*(confer(case, [minds] * 3, disputes=shown) for shown in (True, False)))
            runs.append([t.lines() for team in teams for t in team.traces])
    assert runs[0] == runs[1]
    assert model.asked == 2 * 3 * 5


def test_what_does_not_depend_is_asked_at_once(case, knowledge):
    """In virtual time, so that nothing depends on ours."""

    def answer(body):
        schema = body["response_format"]["json_schema"]["schema"]["properties"]
        if "conclude" in schema:
            return {"say": "Bye.", "conclude": True}
        if "points" in schema:
            return {"points": ["?"]}
        return {part: [] for part in schema}

    rounds = 2

    async def held(model, order):
        roles = {"doctor": "direct/x", "director": "direct/x"}
        minds = Minds(**roles, knowledge=knowledge, seed=1, models={"direct/x": model})
        return await confer(case, [minds] * 3, max_rounds=rounds, order=order)

    # Speak, report, merge, revise, dispute; a round of doctors and director each; conclude.
    for order, expected in ((Order.PARALLEL, 5 + rounds * 2 + 1), (Order.SEQUENTIAL, 5 + rounds * 4 + 1)):
        visit, in_a_row, answers = latencies_of(functools.partial(held, order=order), answer)
        assert visit.end is End.ROUND_LIMIT
        assert answers == 3 * 2 + 1 + 3 + 1 + rounds * 4 + 1
        assert in_a_row == pytest.approx(expected), order


# The command line


@pytest.mark.slow
def test_a_team_on_the_command_line(run, complaint, tmp_path):
    trace = tmp_path / "trace.jsonl"
    shown = run("consult", "shipped#p1-00001", "--doctors", "rules", "rules", "--out", trace)
    for text in ("doctor 1", "doctor 2", "discussion", "Director: nothing is in dispute", "Consensus after 1 round"):
        assert text in shown.stdout
    assert run("replay", trace).stdout == shown.stdout
    document = json.loads(run("replay", trace, "--json").stdout)
    assert len(document["consultations"]) == 2
    again = run("consult", "shipped#p1-00001", "--doctors=rules,rules", "--json")
    assert json.loads(again.stdout) == document
    many = run("consult", "shipped", "--doctors", "rules", "--doctors", "rules", "--set", "team.order=sequential")
    assert "consensus in 48 of 48 discussions (48 after 1)" in many.stdout
    assert "--doctors needs a value" in complaint("consult", "shipped", "--doctors")
    assert "no mind 'foo'" in complaint("consult", "shipped", "--doctors", "rules", "foo")
    assert "give --doctors MIND MIND" in complaint("consult", "shipped", "--set", "team.no-dispute-resolution=true")
    assert "give one of the two" in complaint("consult", "shipped", "--doctor", "x/y", "--doctors", "rules")


def test_a_discussion_with_everything_in_it_can_be_read(run, tmp_path):
    """A doctor who cannot take part, a point of dispute, an answer that cannot be used."""
    silent, stubborn = tmp_path / "silent.json", tmp_path / "stubborn.json"
    silent.write_text("[]")
    other = {**EMPTY, "diagnoses": [{"name": "[red]Other"}], "rationale": ["because I say so"]}
    script = {"speak": ["Hello?"] * 10, "report": [other], "revise": [other, 3, {**other, "treatment": ["tea"]}]}
    stubborn.write_text(json.dumps(script))
    minds = ("rules", f"scripted:{silent}", f"scripted:{stubborn}")
    shown = run("consult", "shipped#p1-00001", "--doctors", *minds, "--set", "team.max-rounds=2").stdout
    for text in (
        *("Doctor 2 does not take part, as its visit failed", "[red]Other (doctor 3)", "because: because I say so"),
        *("gave no usable answer, and its last report stands", "keeps its report", "plan: tea"),
        *("No consensus within 2 rounds.", "alone: doctor 1 right, doctor 2 failed, doctor 3 wrong"),
    ):
        assert text in " ".join(shown.split()), text


@each_row(
    ("typed", "read"),
    [
        ("--doctors a b --seed 1", ["a", "b"]),
        ("--doctors a,b c", ["a", "b", "c"]),
        ("--doctors=a,b --json", ["a", "b"]),
        ("--doctors a --doctors b", ["a", "b"]),
        ("--doctors a, b", ["a", "b"]),
        ("--doctors ,", [","]),
        ("--seed 1", []),
    ],
)
def test_several_values_behind_one_option(typed, read):
    _, bound, _ = APP.parse_args(["consult", "x", *typed.split()], exit_on_error=False)
    assert bound.arguments.get("team", TEAM).named == read
