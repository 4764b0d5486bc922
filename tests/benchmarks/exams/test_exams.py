"""Methods on exams: what is counted how, what medprompt learns from, and the studies."""

import asyncio

import msgspec
import pytest

from polyclinic.answering.outcome import Call, Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import BudgetSpent, StoppedEarly, Unreachable, UserError
from polyclinic.evaluations.exams.declaration import wrong_answers
from polyclinic.evaluations.exams.evaluation import Answered, Entrant, compare, exam, result, run_methods, stability
from polyclinic.methods.table import METHODS, answering, choose, settable
from polyclinic.models.schema import form_of
from polyclinic.models.scripted import Scripted
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.examples import kind_of
from polyclinic.questions.layouts import read_exam
from polyclinic.questions.shown import write_answer
from polyclinic.seeds import derive
from polyclinic.testing.instances import instance


async def answer_all(questions, method, **options):
    return (await exam(questions).hold({"m": Entrant(label="m", puts=[method])}, **options))["m"].answered


def question(number, key="A", several=False, subject=""):
    options = {"A": "one", "B": "two", "C": "three"}
    asked = Question(id=f"q{number}", stem=f"Number {number}?", options=options, several=several)
    return ExamQuestion(question=asked, key=tuple(key), subject=subject)


def answered(number, answers, end=OutcomeEnd.ANSWERED, key="A", subject=""):
    outcome = Outcome(
        question=f"q{number}",
        answers=frozenset(answers),
        end=end,
        problem="" if answers else "it went wrong",
        trace=(Call(seq=0, round_trip=1, purpose="answer", text="so"),),
    )
    right = frozenset(answers) == frozenset(key)
    return Answered(id=f"q{number}", subject=subject, key=tuple(key), outcome=outcome, right=right, seconds=0.5)


class Obedient:
    """Answers anything in the form that is asked for; keeps what it was shown."""

    name = "obedient"

    def __init__(self, keys):
        self.keys, self.shown = keys, []

    async def ask(self, messages, *, answer=None, seed=None, purpose="", **options):
        self.shown.append(messages)
        rng = derive(0, repr(messages), str(seed), purpose)
        text = f"Hm.\n{write_answer([self.keys[0]])}"
        if answer is not None:
            text = msgspec.json.encode(instance(msgspec.json.decode(form_of(answer).text), rng)).decode()
        return await Scripted([text]).ask(messages, answer=answer, purpose=purpose)


def test_unreadable_is_wrong_and_failed_is_outside():
    ends = OutcomeEnd
    came = result(
        "m",
        [
            answered(1, "A"),
            answered(2, "A", ends.TIE),
            answered(3, "B"),
            answered(4, "", ends.UNREADABLE),
            answered(5, "", ends.REFUSED),
            answered(6, "", ends.CUT_OFF),
            answered(7, "", ends.FAILED),
        ],
    )
    assert (came.accuracy.mean, came.accuracy.n) == (pytest.approx(100 * 2 / 6), 6)
    assert (came.readable_accuracy.mean, came.readable_accuracy.n) == (pytest.approx(100 * 2 / 3), 3)
    assert (came.unreadable, came.failed) == (3, 1)
    assert sum(came.ends.values()) == 7
    assert (came.cost.calls, came.cost.round_trips, came.cost.seconds) == (1, 1, 0.5)
    assert came.by_subject == {}
    two = result("m", [answered(1, "A", subject="x"), answered(2, "B", subject="y")])
    assert {subject: one.mean for subject, one in two.by_subject.items()} == {"x": 100, "y": 0}


async def test_several_right_options_are_all_or_nothing():
    said = {"q1": "Answer: A, C", "q2": "Answer: A"}

    async def put(question):
        keys = frozenset(said[question.id].removeprefix("Answer: ").split(", "))
        return Outcome(question=question.id, answers=keys)

    both = await answer_all([question(1, "AC", several=True), question(2, "AC", several=True)], put)
    assert [one.right for one in both] == [True, False]


async def test_questions_are_put_at_once_and_come_back_in_order():
    running = most = 0

    async def put(question):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01 / int(question.id[1:]))
        running -= 1
        return Outcome(question=question.id, answers=frozenset("A"))

    steps = []
    came = await answer_all([question(n) for n in range(1, 9)], put, advance=lambda: steps.append(1))
    assert [one.id for one in came] == [f"q{n}" for n in range(1, 9)]
    assert (most, len(steps)) == (8, 8)


async def test_a_spent_budget_ends_all_questions():
    """What is asked by then is awaited, as it is paid for; nobody asks another question."""
    awaited = []

    async def put(question):
        if question.id != "q3":
            await asyncio.sleep(0.02)
            awaited.append(question.id)
        raise BudgetSpent("all gone")

    with pytest.raises(StoppedEarly):
        await answer_all([question(n) for n in range(1, 5)], put)
    assert sorted(awaited) == ["q1", "q2", "q4"]


def test_stability_puts_keys_back():
    straight = [answered(1, "A"), answered(2, "B"), answered(3, ""), answered(4, "C")]
    straight[2] = answered(3, "", OutcomeEnd.UNREADABLE)
    shuffled = [answered(1, "C"), answered(2, "B"), answered(3, "A"), answered(4, "", OutcomeEnd.UNREADABLE)]
    back = {f"q{n}": {"A": "B", "B": "C", "C": "A"} for n in range(1, 5)}
    # q1: C is A, as before. q2: B is C, not B. q3 and q4 were read in one order only.
    found = stability(straight, shuffled, back)
    assert (found.stays.mean, found.stays.n) == (50, 2)
    assert found.accuracy.n == 4


def test_only_questions_of_both_are_compared():
    first = result("first", [answered(n, "A" if n < 7 else "B") for n in range(1, 9)])
    second = result("second", [answered(n, "B") for n in range(1, 8)] + [answered(8, "", OutcomeEnd.FAILED)])
    (against,) = compare([first, second], baseline="second")
    # Seven questions of both: six of them right for the first alone, none for the second: p = 2 / 2 ** 6.
    assert (against.first, against.second, against.difference.n) == ("first", "second", 7)
    assert against.difference.p == pytest.approx(2 / 64)
    assert against.difference.mean == pytest.approx(100 * 6 / 7)
    assert against.p_holm == against.difference.p
    nothing = result("nothing", [answered(n, "", OutcomeEnd.FAILED) for n in range(1, 9)])
    (against,) = compare([nothing, second], baseline="second")
    assert (against.difference.n, against.difference.p, against.p_holm) == (0, None, None)


async def test_without_an_endpoint_medprompt_fails_by_question():
    """Its training questions are prepared once for all; what fails there fails every question, not the run."""
    (chosen,) = choose(["medprompt"])
    put = answering(chosen, lambda _: Scripted(lambda _: Unreachable("nobody there")))
    came = await answer_all([question(n) for n in range(1, 4)], put)
    assert [one.outcome.end for one in came] == [OutcomeEnd.FAILED] * 3
    assert "nobody there" in came[0].outcome.problem


async def test_medprompt_prepares_its_training_questions_once():
    asked_for = []
    model = Obedient("A")
    (chosen,) = choose(["medprompt"], ["shuffles=2"])
    put = answering(chosen, lambda episode: asked_for.append(episode) or model)
    await answer_all([question(n) for n in range(1, 4)], put)
    assert [episode for episode in asked_for if episode.startswith("training")] == ["training en choice"]


def test_settings():
    (one,) = choose(["medagents"], ["votes=separate", "medagents.max_rounds=2"])
    assert one.settings == {"votes": "separate", "max_rounds": 2}
    assert one.label == "medagents (votes=separate, max_rounds=2)"
    (mdagents,) = choose(["mdagents"], ["level=none"])
    assert mdagents.settings == {"level": None}
    preset, other = choose(["medagents", "zero_shot"], presets={"medagents": {"question_experts": 4}})
    assert (preset.settings, other.settings) == ({"question_experts": 4}, {})
    (hot,) = choose(["zero_shot"], ["temperature=1"])
    assert hot.settings == {"temperature": 1.0}
    for given in ("seed=1", "temperature=hot", "examples=x", "stages=all", "max_rounds=", "=1"):
        with pytest.raises(UserError):
            choose(["medagents"], [given])
    assert all("seed" not in settable(name) for name in METHODS)
    assert kind_of(Question(id="1", stem="?", options={"A": "Yes", "B": "no"})) == "decision"
    assert kind_of(Question(id="1", stem="?", options={"yes": "Yes, often", "no": "no"})) == "choice"


async def test_a_team_is_followed_by_self_consistency_with_as_many_calls():
    model = Obedient("A")
    chosen = choose(["zero_shot", "medagents"], ["question_experts=1", "option_experts=0", "max_rounds=1"])
    steps = []
    came = await run_methods(
        [question(1), question(2)], chosen, lambda _: lambda _: model, advance=lambda: steps.append(1), shuffle=True
    )
    assert [one.name.split(" (")[0] for one in came] == ["zero_shot", "medagents", "self_consistency"]
    for team, matched in zip(came[1].answered, came[2].answered, strict=True):
        assert (team.id, team.outcome.calls) == (matched.id, matched.outcome.calls)
    assert len(steps) == 4
    assert all(one.stability is not None for one in came)


# --- studies -------------------------------------------------------------------------------------------------------


STAGES = "medagents stages=analysis|summary|consultation"


async def test_the_rows_of_the_ablation():
    rows = choose(["zero_shot", "chain_of_thought", STAGES], ["question_experts=4"])
    assert [one.label for one in rows] == [
        "zero_shot",
        "chain_of_thought",
        "medagents (question_experts=4, stages=analysis)",
        "medagents (question_experts=4, stages=summary)",
        "medagents (question_experts=4, stages=consultation)",
    ]
    came = await run_methods([question(1)], rows, lambda _: lambda _: Obedient("A"), match="none")
    # Up to the decision: gathering, six analyses, then a report, then at least a round of six votes.
    assert [one.cost.calls for one in came[:4]] == [1, 1, 9, 10]
    assert came[4].cost.calls >= 16


async def test_crossing_sweeps_ask_each_pair_once():
    chosen = choose(
        ["medagents question_experts=1|2 option_experts=1", "medagents question_experts=2 option_experts=0|1"]
    )
    assert [one.settings for one in chosen] == [
        {"question_experts": question, "option_experts": options} for question, options in ((1, 1), (2, 1), (2, 0))
    ]
    own = choose(["zero_shot", "medagents votes=separate"], ["votes=combined", "max_rounds=2"])
    assert own[1].settings == {"votes": "separate", "max_rounds": 2}


def test_wrong_answers_are_those_with_reasoning():
    outcomes = [answered(1, "A"), answered(2, "B"), answered(3, "C", OutcomeEnd.TIE)]
    outcomes += [answered(4, "", OutcomeEnd.UNREADABLE), answered(5, "", OutcomeEnd.FAILED)]
    known = [question(n) for n in range(1, 7)]
    found = wrong_answers([result("medagents (votes=separate)", outcomes)], known)
    assert [(one.question.question.id, one.method) for one in found] == [
        ("q2", "medagents-votes-separate"),
        ("q3", "medagents-votes-separate"),
    ]
    assert len(wrong_answers([result("medagents", outcomes)], known, most=1)) == 1


# --- real questions ------------------------------------------------------------------------------------------------

FILES = {
    "medqa": "medqa/phrases_no_exclude_test.jsonl",
    "medmcqa": "medmcqa/dev.json",
    "pubmedqa": "pubmedqa/ori_pqal.json",
    "mmlu": "mmlu",
}


def given_away(dataset, path):
    """Returns the texts of the published records that give answers away, by question."""
    if dataset == "medmcqa":
        records = map(msgspec.json.decode, path.read_bytes().splitlines())
        return {one["id"]: one["exp"] for one in records if one["exp"]}
    if dataset == "pubmedqa":
        return {id: one["LONG_ANSWER"] for id, one in msgspec.json.decode(path.read_bytes()).items()}
    return {}


@pytest.mark.slow
@pytest.mark.parametrize("dataset", FILES)
async def test_nothing_that_gives_the_answer_away_is_in_a_prompt(shared_data, dataset):
    """Every prompt of every method over a sample: no explanation, no conclusion, and the key changes nothing."""
    path = shared_data / "qa" / FILES[dataset]
    secrets = given_away(dataset, path)
    questions = [one for one in read_exam(path, layout=dataset) if not secrets or one.question.id in secrets]
    questions = derive(5, dataset).sample(questions, 6)
    few = {"medprompt": ["shuffles=2"], "medagents": ["max_rounds=1"]}
    for name in METHODS:
        for one in questions:
            shown = []
            others = tuple(key for key in one.question.options if key not in one.key)[:1]
            for key in (one.key, others):
                model = Obedient(list(one.question.options))
                (chosen,) = choose([name], few.get(name, []))
                learning = Obedient(list(one.question.options))
                put = answering(chosen, lambda id, m=model, t=learning: t if id.startswith("training") else m)
                (came,) = await answer_all([msgspec.structs.replace(one, key=key)], put)
                assert came.outcome.end in {OutcomeEnd.ANSWERED, OutcomeEnd.TIE}, came.outcome.problem
                shown.append(sorted(" ".join(text for _, text in messages) for messages in model.shown))
            assert shown[0] == shown[1], (name, one.question.id)
            # A sentence that the question itself holds gives nothing away.
            known = f"{one.question.context} {one.question.stem} {' '.join(one.question.options.values())}"
            secret = secrets.get(one.question.id, "").replace("\n", ". ")
            for part in filter(None, map(str.strip, secret.split(". "))):
                if len(part) > 25 and part not in known:
                    assert not any(part in text for text in shown[0]), (name, one.question.id, part)
