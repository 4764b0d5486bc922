"""The state-aware patient: its ten states, both trackers, what it tells and what it never tells."""

import asyncio
import hashlib
import importlib.util
import re
from pathlib import Path

import pytest
from tests.tables import each_row

from polyclinic.cases.check import find_leaks
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.errors import BudgetSpent, Refused, TimedOut, UnknownMind, UnreadableReply
from polyclinic.events import End, Ended, Failed, Reported, Role, Said, State
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted
from polyclinic.players.language_model.saps import KINDS, PROMPTS, QUESTIONS, Saps, Tracked, information, remember
from polyclinic.players.language_model.speaking import nearest, standing
from polyclinic.players.mind_names import model_of
from polyclinic.players.minds import Minds
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.player import OPEN, REPLY
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.staff import RulesExaminer
from polyclinic.players.staging import Staging
from polyclinic.prompts import read_prompts
from polyclinic.testing.endpoint import Endpoint
from polyclinic.visits.consultation import consultation
from polyclinic.visits.visit import see

RECORDS = {
    "en": Record(
        presentation=Presentation(complaint="Cough and fever for three days", age=40, sex="female"),
        history=History(
            present="Dry cough for three days, worse at night. No chest pain.",
            personal="Works as a teacher. Takes 1.5 mg of a sleeping pill.",
        ),
        findings=(Finding(examination="chest X-ray", value="shadow in the left lower lobe"),),
    ),
    "zh": Record(
        presentation=Presentation(complaint="咳嗽伴发热3天", language="zh", age=54, sex="male"),
        history=History(
            present="患者3天前出现咳嗽，夜间加重，无胸痛。", past="否认高血压病史。", personal="吸烟20年。"
        ),
        findings=(Finding(examination="胸部X线", value="左下肺片状阴影"),),
    ),
}
HELD = {"en": "worse at night", "zh": "夜间加重"}
FOUND = {"en": "shadow in the left lower lobe", "zh": "左下肺片状阴影"}

# What a tracker's model says of a turn, and what state that is.
ROADS = [
    ("inquiry", "specific", "held", State.EFFECTIVE_INQUIRY),
    ("inquiry", "specific", "", State.INEFFECTIVE_INQUIRY),
    ("inquiry", "ambiguous", "", State.AMBIGUOUS_INQUIRY),
    ("advice", "specific", "found", State.EFFECTIVE_ADVICE),
    ("advice", "specific", "", State.INEFFECTIVE_ADVICE),
    ("advice", "ambiguous", "", State.AMBIGUOUS_ADVICE),
    ("demand", "", "", State.DEMAND),
    ("other topic", "", "", State.OTHER_TOPIC),
    ("conclusion", "", "", State.CONCLUSION),
]


def section_of(messages) -> str:
    """Which of the prompts a model was given."""
    system = messages[0][1]
    for prompts in read_prompts(PROMPTS).values():
        for name in (*QUESTIONS, "generator"):
            blanks = dict.fromkeys(prompts.blanks[name], "\0")
            if system.startswith(prompts(name, **blanks).partition("\0")[0]):
                return name
    raise AssertionError(system)


class Player:
    """A model that takes one road, and remembers what it was told."""

    def __init__(self, kind="inquiry", specific="specific", texts=(), examinations=(), say="I say this."):
        self.kind, self.specific, self.texts, self.examinations, self.say = kind, specific, texts, examinations, say
        self.relevant = bool(texts)
        self.told: list[tuple[str, str]] = []
        self.model = Scripted(self.answer)

    def answer(self, messages):
        section = section_of(messages)
        self.told.append((section, "\n".join(text for _, text in messages)))
        if section == "kind":
            return self.kind
        if section.startswith("specific"):
            return self.specific
        if section.startswith("relevant"):
            held = {"relevant": self.relevant, "texts": list(self.texts)}
            ward = "`examinations`" in messages[0][1]
            return held | ({"examinations": list(self.examinations)} if ward else {})
        return self.say if isinstance(self.say, str) and self.say.startswith("{") else {"say": self.say}

    def asked(self):
        return [section for section, _ in self.told]


def patient(model, language="en", setting="online", tracker="staged", record=None, withheld=()):
    record = record or RECORDS[language]
    return Patient(Saps(model, name="saps:direct/x", tracker=tracker), record, setting=setting, withheld=withheld)


async def reply(player, text="And what of that?", **options):
    asked = patient(player.model, **options)
    asked.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=text))
    return await asked.act(REPLY)


@each_row("language", ["en", "zh"])
@each_row("tracker", ["staged", "parallel"])
@each_row(("kind", "specific", "texts", "state"), ROADS)
async def test_every_state_is_reached(kind, specific, texts, state, tracker, language):
    texts = {"held": (HELD[language],), "found": (FOUND[language],), "": ()}[texts]
    player = Player(kind, specific or "specific", texts)
    turn = await reply(player, language=language, tracker=tracker)
    assert (turn.state, turn.to, turn.leave) == (state, "doctor", state is State.CONCLUSION)
    calls = [section for section in player.asked() if section != "generator"]
    needed = ["kind", *[f"{part} {kind}" for part in ("specific", "relevant")]]
    needed = needed[: 1 if not specific else 2 if specific == "ambiguous" else 3]
    assert calls == (needed if tracker == "staged" else list(QUESTIONS))
    if state is State.CONCLUSION:
        assert "generator" not in player.asked()
        assert turn.say in ("Thank you, doctor. Goodbye.", "好的，谢谢医生，再见。")
        return
    assert turn.say == "I say this."
    # Working memory: the requirement of this state; long-term memory: the passage, in the effective states only.
    last = player.told[-1][1]
    assert read_prompts(PROMPTS)[language](f"require {state}") in last
    for passage in (HELD[language], FOUND[language]):
        assert (passage in last) == (passage in texts)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_with_the_whole_record_the_generator_gets_what_was_extracted_alone(language):
    prompts, tracked = read_prompts(PROMPTS)[language], Tracked(State.EFFECTIVE_INQUIRY, ("x",))
    complaint = RECORDS[language].presentation.complaint
    for whole in (False, True):
        role = Patient(ScriptedMind([]), RECORDS[language], setting="online", staging=Staging(whole=whole))
        role.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text="Since when?"))
        system = remember(tracked, role, prompts)[0][1]
        assert (complaint in system) is not whole
        assert "{" not in system


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_it_opens_with_the_complaint_and_without_a_call(language):
    player = Player()
    turn = await patient(player.model, language).act(OPEN)
    assert turn.state is State.OPENING
    assert ("three days" in turn.say) if language == "en" else ("咳嗽" in turn.say)
    assert player.told == []


async def test_the_dialogue_so_far_is_the_short_term_memory():
    player = Player("demand")
    asked = patient(player.model)
    said = [
        (Role.PATIENT, Role.DOCTOR, "Doctor, I cough."),
        (Role.DOCTOR, Role.PATIENT, "Since when?"),
        (Role.PATIENT, Role.DOCTOR, "For three days."),
        (Role.DOCTOR, Role.PATIENT, "Open your mouth."),
    ]
    for seq, (who, to, text) in enumerate(said):
        asked.observe(Said(seq=seq, turn=seq // 2, who=who, to=to, text=text))
    await asked.act(REPLY)
    (kind, tracked), (generator, told) = player.told
    assert (kind, generator) == ("kind", "generator")
    assert "Since when?" not in tracked  # the tracker reads the doctor's turn alone
    places = [told.index(text) for _, _, text in said]
    assert places == sorted(places)
    assert told.count("Open your mouth.") == 1
    # It knows no more than what was said: nothing of the history.
    assert "teacher" not in told


NEAREST = [
    # What the tracker gives, what is told, and how many passages were matched to the nearest.
    (("worse in the night-time",), "worse at night.", 1),
    (("The information says: dry cough since three days.",), "present illness: Dry cough for three days,", 1),
    (("5 mg of a sleeping pill",), "Takes 1.5 mg of a sleeping pill.", 1),  # a piece of a number
    (("No",), "worse at night.", 1),  # stands there, and says nothing
    (("...", ""), None, 1),
    ((), None, 1),  # relevant, and no passage
    (("DRY  cough, for three days", "Works as a teacher"), "Dry cough for three days\nWorks as a teacher", 0),
    (("DRY  cough, for three days", "worse in the night-time"), "Dry cough for three days\nworse at night.", 1),
]


async def test_a_turn_is_effective_as_the_tracker_says_and_what_is_told_stands_in_the_information():
    wrong = []
    for texts, told, near in NEAREST:
        player = Player(texts=texts)
        player.relevant = True
        turn = await reply(player, "When is it worst?")
        said = re.search(r"What you know about it: ((?:.|\n)*?)\n\n?Rule", player.told[-1][1])[1]
        known = information(patient(player.model))
        if (turn.state, turn.near) != (State.EFFECTIVE_INQUIRY, near) or turn.recalled != len(said.split("\n")):
            wrong.append((texts, turn))
        if (told is not None and said != told) or any(line not in known for line in said.split("\n")):
            wrong.append((texts, said))
    assert not wrong


async def test_nothing_is_recalled_where_the_tracker_says_that_nothing_is_there():
    player = Player(texts=("Dry cough for three days",))
    player.relevant = False
    turn = await reply(player)
    assert (turn.state, turn.recalled, turn.near) == (State.INEFFECTIVE_INQUIRY, 0, 0)
    assert "What you know about it" not in player.told[-1][1]


def test_nearest():
    text = "左颊肿块4月余，逐渐增大，伴疼痛。2022年12月CT：右颈淋巴结肿大3.5cm。 No fever. Takes 1.5 mg."
    assert nearest("肿块逐渐变大", text) in ("逐渐增大，", "左颊肿块4月余，逐渐增大，")
    assert nearest("患者信息中提到CT显示右颈淋巴结肿大", text) == "2022年12月CT：右颈淋巴结肿大3.5cm。"
    assert nearest("takes 1.6mg", text) == "Takes 1.5 mg."
    assert nearest("something quite else", "") == ""
    assert nearest("", "One. Two.") == "One."


def test_standing():
    text = "既往史：无。体温38.5℃，CRP <5，阳性(+)；Takes 1.5 mg, fever 60%; nodule."
    assert standing(["体温 38.5 ℃", "阳性（+）", "crp <5", "60"], text) == ("体温38.5℃", "阳性(+)", "CRP <5", "60%")
    assert standing(["5 mg", "8.5", "no", "ever", "", "。"], text) == ()
    assert standing(["fever", "Fever"], text) == ("fever",)
    assert standing(["1.5"], "1.5") == ("1.5",)


async def test_in_a_ward_ordered_examinations_go_to_the_examiner():
    text = "Please have a chest X-ray and a blood count."
    player = Player("advice", examinations=("Chest X-ray", "blood count", "MRI of the head"))
    turn = await reply(player, text, setting="ward")
    assert (turn.to, turn.state) == ("examiner", State.EFFECTIVE_ADVICE)
    assert turn.say == "The doctor asks for: chest X-ray, blood count."
    assert "shadow" not in str(player.told)  # in a ward the patient knows no result
    asked = await reply(Player(examinations=("X-ray",)), "What did the X-ray show?", setting="ward")
    assert (asked.to, asked.state) == ("examiner", State.EFFECTIVE_INQUIRY)
    treated = await reply(Player("advice"), "Take ibuprofen.", setting="ward")
    assert (treated.to, treated.state) == ("doctor", State.INEFFECTIVE_ADVICE)
    demanded = Player("demand")
    await reply(demanded, "Lie down.", setting="ward")
    assert "online" not in demanded.told[-1][1]


async def test_online_the_findings_are_told():
    player = Player("advice", texts=("shadow in the left lower lobe",))
    turn = await reply(player, "Please have a chest X-ray.")
    assert (turn.to, turn.state) == ("doctor", State.EFFECTIVE_ADVICE)
    assert "shadow in the left lower lobe" in player.told[-1][1]


# Staged and parallel.


class Coin:
    """A model whose answers hang on the question alone; of the passages it gives, some are made up."""

    def __init__(self):
        self.model = Scripted(self.answer)

    def answer(self, messages):
        section, said = section_of(messages), messages[-1][1]
        digest = hashlib.blake2b("\x1f".join([section, *(text for _, text in messages)]).encode()).digest()
        if section == "kind":
            return list(KINDS)[digest[0] % 8 % 5]
        if section.startswith("specific"):
            return "ambiguous" if digest[0] < 60 else "specific"
        if section == "generator":
            return {"say": f"reply {digest.hex()[:12]}"}
        information = messages[0][1]
        lines = [line[2:] for line in information.splitlines() if line.startswith("- ") and "`" not in line]
        texts = [lines[byte % len(lines)][byte % 7 : 30 + byte] for byte in digest[1:4]] + ["made up"]
        held = {"relevant": digest[0] < 200, "texts": texts[digest[0] % 3 :]}
        if "`examinations`" in information:
            held["examinations"] = [said.split()[0]] if digest[9] < 60 else []
        return held


async def play(case, tracker, turns, setting):
    asked = Patient(Saps(Coin().model, name="saps:x/y", tracker=tracker), case.record, setting=setting)
    answers = [await asked.act(OPEN)]
    for turn in range(turns):
        text = f"question {turn} of {case.id}"
        asked.observe(Said(seq=2 * turn, turn=turn, who=Role.DOCTOR, to=Role.PATIENT, text=text))
        answers.append(await asked.act(REPLY))
        asked.observe(Said(seq=2 * turn + 1, turn=turn, who=Role.PATIENT, to=Role.DOCTOR, text=answers[-1].say))
    return answers


@pytest.mark.slow
async def test_both_trackers_give_the_same_states_and_replies_on_hundreds_of_turns():
    seen = set()
    turns = 0
    for language in ("en", "zh"):
        for number, case in enumerate(generate(read_knowledge(), n=20, seed=5, language=language)):
            setting = ("ward", "online")[number % 2]
            staged, parallel = [await play(case, tracker, 10, setting) for tracker in ("staged", "parallel")]
            assert staged == parallel
            turns += len(staged) - 1
            seen |= {(language, turn.state) for turn in staged}
    assert turns == 400
    assert seen == {(language, state) for language in ("en", "zh") for state in State}


class Watch:
    """A model that takes a moment, and counts round trips: how many calls waited for one before."""

    def __init__(self, model):
        self.name, self._model = model.name, model
        self.calls = self.trips = self.inside = self.most = 0

    async def ask(self, messages, **options):
        trip = self.trips + 1
        self.calls += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(0)
        answer = await self._model.ask(messages, **options)
        self.inside -= 1
        self.trips = max(self.trips, trip)
        return answer


@each_row(("kind", "specific", "texts", "state"), ROADS)
async def test_the_parallel_tracker_takes_one_round_trip(kind, specific, texts, state):
    texts = (HELD["en"],) if texts else ()
    trips = {}
    for tracker in ("staged", "parallel"):
        watch = Watch(Player(kind, specific or "specific", texts).model)
        asked = patient(watch, tracker=tracker)
        asked.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text="Well?"))
        await asked.act(REPLY)
        generated = state is not State.CONCLUSION
        trips[tracker] = watch.trips - generated
        if tracker == "parallel":
            assert (watch.calls - generated, watch.most) == (5, 5)
    assert trips == {"staged": 1 if not specific else 2 if specific == "ambiguous" else 3, "parallel": 1}


# Failures.


async def visit(answer, tracker="staged"):
    script = ["And what of that?", "And in the day?", "Have an X-ray."]
    doctor = Doctor(ScriptedMind(script, name="scripted"), RECORDS["en"].presentation, max_turns=3)
    return await consultation(doctor, patient(Scripted(answer), tracker=tracker), None, max_turns=3)


@each_row("tracker", ["staged", "parallel"])
@each_row("section", ["kind", "specific inquiry", "relevant inquiry", "generator"])
@each_row(
    ("answer", "error"),
    [
        ("", "UnreadableReply"),
        ("[No Relevant Information]", "UnreadableReply"),
        ({"state": "A-A-A"}, "UnreadableReply"),
        ({"say": "  "}, "UnreadableReply"),
        (Refused("no"), "Refused"),
        (TimedOut("late"), "TimedOut"),
    ],
)
async def test_an_unusable_answer_fails_the_visit_by_name(section, answer, error, tracker):
    player = Player(texts=(HELD["en"],))
    trace = await visit(lambda m: answer if section_of(m) == section else player.answer(m), tracker)
    failed, ended = trace.last(Failed), trace.last(Ended)
    assert (ended.reason, ended.turns, trace.last(Reported)) == (End.FAILED, 1, None)
    assert (failed.who, failed.error) == (Role.PATIENT, error)
    assert all(e.state is State.OPENING for e in trace if isinstance(e, Said) and e.who is Role.PATIENT)


async def test_a_failure_where_the_answer_is_not_needed_fails_nothing():
    player = Player("demand")
    unread = UnreadableReply("no")
    model = Scripted(lambda m: unread if section_of(m).startswith(("specific", "relevant")) else player.answer(m))
    asked = patient(model, tracker="parallel")
    asked.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text="Open your mouth."))
    assert (await asked.act(REPLY)).state is State.DEMAND


async def test_what_ends_the_run_ends_it_in_parallel_too():
    player = Player("demand")
    model = Scripted(lambda m: BudgetSpent("all") if section_of(m) == "relevant advice" else player.answer(m))
    asked = patient(model, tracker="parallel")
    asked.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text="Open your mouth."))
    with pytest.raises(BudgetSpent):
        await asked.act(REPLY)


async def test_a_doctor_who_says_nothing_is_asked_to_be_more_specific():
    player = Player("conclusion")
    turn = await reply(player, "  ")
    assert turn.state is State.AMBIGUOUS_INQUIRY
    assert player.asked() == ["generator"]


async def test_a_model_that_says_nothing_is_asked_once():
    model = Scripted(lambda _: "")
    asked = patient(model)
    asked.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text="Any fever?"))
    with pytest.raises(UnreadableReply):
        await asked.act(REPLY)
    assert model.asked == 1


# In a whole visit.


async def test_a_conclusion_ends_the_visit():
    player = Player("conclusion")
    script = ["Goodbye.", {"symptoms": [], "examinations": [], "diagnoses": [], "rationale": [], "treatment": []}]
    doctor = Doctor(ScriptedMind(script, name="scripted"), RECORDS["en"].presentation, max_turns=3)
    trace = await consultation(doctor, patient(player.model), None, max_turns=3)
    states = [e.state for e in trace if isinstance(e, Said) and e.who is Role.PATIENT]
    assert (trace.last(Ended).reason, states) == (End.PATIENT_LEFT, [State.OPENING, State.CONCLUSION])


async def test_the_examiner_gets_the_names_as_the_doctor_gave_them():
    player = Player("advice", examinations=("chest X-ray",))
    minds = Minds(knowledge=read_knowledge(), seed=1)
    record = RECORDS["en"]
    report = {"symptoms": [], "examinations": [], "diagnoses": [], "rationale": [], "treatment": []}
    doctor = Doctor(ScriptedMind(["Please have a chest X-ray.", report], name="s"), record.presentation, max_turns=1)
    examiner = Examiner(RulesExaminer(), record, minds.examination_names)
    trace = await consultation(doctor, patient(player.model, setting="ward"), examiner, max_turns=1)
    assert "shadow in the left lower lobe" in trace.lines()


def saps_minds(model, **roles):
    return Minds(patient="saps:direct/x", knowledge=read_knowledge(), seed=1, models={"direct/x": model}, **roles)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_visit_by_names(language):
    case = next(generate(read_knowledge(), n=1, seed=3, language=language))
    visited = await see(case, saps_minds(Coin().model))
    assert visited.trace[0].minds[Role.PATIENT] == "saps:direct/x"
    states = [e.state for e in visited.trace if isinstance(e, Said) and e.who is Role.PATIENT]
    assert None not in states
    assert states[0] is State.OPENING


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", ["agentclinic/agentclinic_medqa.jsonl", "ai_hospital/patients_small_10.json", "aie/HospitalCases.json"]
)
async def test_no_prompt_holds_what_the_patient_must_not_know(shared_data, file):
    for case in list(read_cases(shared_data / "cases" / file))[::4][:12]:
        told = []
        coin = Coin()

        def answer(messages, told=told, coin=coin):
            told.append("\n".join(text for _, text in messages))
            return coin.answer(messages)

        visited = await see(case, saps_minds(Scripted(answer)))
        revealed = [e.text for e in visited.trace if isinstance(e, Said) and e.who is not Role.PATIENT]
        revealed += [e.text for e in visited.trace if hasattr(e, "findings")]
        felt = case.record.history.symptoms  # What a patient lists itself it may tell, though somebody finds it too.
        leaks = find_leaks(told, case, revealed=[*revealed, *felt])
        assert told
        assert [leak for leak in leaks if case.setting == "ward" or leak.kind == "diagnosis"] == [], case.id


def test_names():
    assert model_of("saps:direct/qwen") == model_of("saps-parallel:direct/qwen") == model_of("direct/qwen")
    assert (model_of("saps:local"), model_of("saps:openai/gpt-4o")) == ("local", "openai/gpt-4o")
    assert [model_of(name) for name in ("rules", "scripted:a/b.json", "saps:", "saps", "saps:rules")] == [None] * 5
    assert model_of("saps:direct/qwen") == "direct/qwen"
    knowledge = read_knowledge()
    for wrong in ("saps", "saps:", "saps:rules"):
        with pytest.raises(UnknownMind, match="saps:MODEL"):
            Minds(patient=wrong, knowledge=knowledge, seed=1)
    with pytest.raises(UnknownMind, match="'direct/not-opened' is not open"):
        Minds(patient="saps:direct/not-opened", knowledge=knowledge, seed=1)
    for role in ("doctor", "examiner"):
        with pytest.raises(UnknownMind, match=role):
            Minds(**{role: "saps:direct/x"}, knowledge=knowledge, seed=1, models={"direct/x": Coin().model})
    minds = Minds(
        patient="saps-parallel:direct/x", knowledge=knowledge, seed=1, models={"direct/x": Coin().model}, doctor="rules"
    )
    assert minds.patient("case").name == "saps-parallel:direct/x"


def test_prompts_are_in_both_languages_and_in_their_own():
    prompts = read_prompts(PROMPTS)
    assert set(QUESTIONS) <= prompts["en"].blanks.keys() == prompts["zh"].blanks.keys()
    for state in State:
        if state not in (State.OPENING, State.CONCLUSION):
            assert f"require {state}" in prompts["en"].blanks
    chinese = re.compile("[\u4e00-\u9fff]")
    for name, blanks in prompts["en"].blanks.items():
        given = dict.fromkeys(blanks, "")
        assert not chinese.search(prompts["en"](name, **given))
        if name != "reply":
            assert chinese.search(prompts["zh"](name, **given))


# The measurement of `bench/saps.py`, small.


@pytest.fixture(scope="module")
def bench():
    path = Path(__file__).parents[3] / "bench" / "saps.py"
    if not path.exists():
        pytest.skip("the measurements are not part of the package")
    spec = importlib.util.spec_from_file_location("bench_saps", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
async def test_many_visits_wait_for_little_more_than_their_round_trips(bench):
    latency, states = 0.1, {}
    options = {"cases": 20, "turns": 3, "at_once": 32}
    async with Endpoint(answers=bench.answer, latency=latency) as endpoint:
        for tracker, trips_allowed in (("staged", 3 * 5 + 1), ("parallel", 3 * 3 + 1)):
            _, calls, trips, states[tracker] = await bench.measure(endpoint.url, tracker, **options)
            assert trips <= trips_allowed
            if tracker == "parallel":
                # The doctor, five questions at once, the reply; and the report.
                assert (calls, trips) == (20 * (3 * 7 + 1), trips_allowed)
            # Client and server share one loop here, and other tests the cores: bench/saps.py measures the time.
            assert 8 <= endpoint.most_in_flight <= 32
    assert states["staged"] == states["parallel"]
    assert len({state for visit in states["staged"] for state in visit}) >= 5
