"""AIE as a task of Inspect, run in this process."""

import json
import math
import re
from importlib.util import find_spec

import pytest

from polyclinic.cases.check import find_leaks
from polyclinic.cases.loaders import read_cases, write_cases
from polyclinic.events import Ended, Revealed
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.conversation import METRICS
from polyclinic.testing.endpoint import Endpoint

pytestmark = [
    pytest.mark.slow,  # Inspect takes half a second a task
    *(
        pytest.mark.skipif(find_spec(name) is None, reason=f"{name} of the extra 'evals' is not installed")
        for name in ("inspect_ai", "nltk", "rjieba")
    ),
    # Not ours: Inspect and what it imports warn as they like.
    pytest.mark.filterwarnings("default"),
]

QUESTION = {"say": "Do you have a cough?", "conclude": False}
ORDER = {"say": "Please have a chest X-ray.", "conclude": False}
GOODBYE = {"say": "Thank you, that is all I need.", "conclude": True}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cases.jsonl"
    write_cases(path, generate(read_knowledge().select("respiratory"), n=2, seed=3))
    return path


def output(value, stop="stop"):
    """What a mock says. Without its usage, Inspect would fetch a tokenizer from the network to count it."""
    from inspect_ai.model import ModelOutput, ModelUsage

    made = ModelOutput.from_content("mockllm", value if isinstance(value, str) else json.dumps(value), stop_reason=stop)
    made.usage = ModelUsage(input_tokens=5, output_tokens=3, total_tokens=8)
    return made


def doctor(choice, *says):
    """A doctor that says its lines to each patient and then chooses; reads in its prompt how far the visit has come."""

    def answer(messages, *_):
        if re.search("key of (the one|that) option", "".join(m.text for m in messages if m.role == "user")):
            return output(choice if isinstance(choice, str) else choice(messages))
        said = sum(message.role == "assistant" for message in messages)
        return output(says[said])

    return answer


async def run(task, tmp_path, answer=None, model="mockllm/model", **options):
    """Runs a task and returns its log as it is read back from its file."""
    from inspect_ai import eval_async
    from inspect_ai.log import read_eval_log_async

    import polyclinic.evals._registry  # noqa: F401

    options |= {"model_args": {**options.get("model_args", {}), **({"custom_outputs": answer} if answer else {})}}
    (log,) = await eval_async(task, model=model, log_dir=str(tmp_path / "logs"), **options)
    return await read_eval_log_async(log.location)


def means(log):
    return {score.name: score.metrics["mean"].value for score in log.results.scores}


async def test_inspects_options_reach_the_model(file, tmp_path):
    seen = []

    def answer(messages, tools, tool_choice, config):
        seen.append(config)
        return doctor("A", GOODBYE)(messages)

    await run(
        "polyclinic/aie", tmp_path, answer, task_args={"cases": str(file)}, temperature=0.3, timeout=77, max_tokens=99
    )
    assert {(config.temperature, config.timeout, config.max_tokens) for config in seen} == {(0.3, 77, 99)}
    assert all(config.response_schema is not None for config in seen)


async def test_two_visits_and_their_scores(file, tmp_path):
    answer = doctor("B", QUESTION, ORDER, GOODBYE)
    log = await run("polyclinic/aie", tmp_path, answer, task_args={"cases": str(file), "seed": 1})
    assert (log.status, log.eval.task, log.eval.task_version) == ("success", "polyclinic/aie", 1)
    assert log.eval.task_args["cases"] == str(file)
    assert [sample.id for sample in log.samples] == [case.id for case in read_cases(file)]
    assert tuple(score.name for score in log.results.scores) == METRICS
    assert all(score.scored_samples == 2 and set(score.metrics) == {"mean", "stderr"} for score in log.results.scores)
    right = [sample.target == ["B"] for sample in log.samples]
    assert means(log)["DIAGNOSIS"] == 50.0 * sum(right)
    # The opening, two turns with their replies, the conclusion.
    assert means(log)["AVG_TURN"] == 4.0
    for sample, is_right in zip(log.samples, right, strict=True):
        score = sample.scores["conversation"]
        assert score.answer == "B"
        assert score.value["DIAGNOSIS"] == 100.0 * is_right
        assert not any(map(math.isnan, score.value.values()))
        assert score.metadata["states"].startswith("O A-")
    # What the model used, as Inspect counts it: three turns and a choice, two patients.
    assert log.stats.model_usage["mockllm/model"].total_tokens == 8 * 4 * 2


async def test_the_messages_are_the_visit_and_hold_no_truth(file, tmp_path):
    from polyclinic.evals.tasks import TRACE, trace_of

    prompts = []

    def answer(messages, *rest):
        prompts.append("\n".join(message.text for message in messages))
        return doctor("A", QUESTION, GOODBYE)(messages, *rest)

    log = await run("polyclinic/aie", tmp_path, answer, task_args={"cases": str(file)})
    for case, sample in zip(read_cases(file), log.samples, strict=True):
        said = [(message.role, message.text) for message in sample.messages]
        roles = "system user assistant user assistant user assistant system".split()
        assert [role for role, _ in said] == roles
        assert said[1][1].startswith("Patient [O, opening]: ")
        assert said[2][1] == QUESTION["say"]
        assert said[3][1].startswith("Patient [A-A-")
        assert said[5][1].splitlines()[-1].startswith("E. ")
        assert said[6:] == [("assistant", "A"), ("system", "The visit is over: concluded, 2 turns.")]
        before = [text for _, text in said[:5]]
        assert not [leak for leak in find_leaks([*before, str(sample.metadata)], case) if leak.kind == "diagnosis"]
        asked = [prompt for prompt in prompts if "key of the one option" not in prompt]
        assert not [leak for leak in find_leaks(asked, case, revealed=before) if leak.kind == "diagnosis"]
        trace = trace_of(sample.store[TRACE])
        assert isinstance(trace[-1], Revealed)
        assert isinstance(trace[-2], Ended)
        assert sample.output.completion == "A"


async def test_an_unusable_answer_is_a_wrong_diagnosis_and_nothing_else(file, tmp_path):
    first = next(read_cases(file))

    def answer(messages, *rest):
        if first.presentation.complaint in messages[0].text:
            return output("no", "content_filter")
        return doctor(lambda m: "A", GOODBYE)(messages, *rest)

    log = await run("polyclinic/aie", tmp_path, answer, task_args={"cases": str(file)})
    failed, done = log.samples
    score = failed.scores["conversation"]
    assert score.value["DIAGNOSIS"] == 0
    assert all(math.isnan(value) for name, value in score.value.items() if name != "DIAGNOSIS")
    assert "Refused" in score.explanation
    assert failed.messages[-2].text.startswith("The doctor failed: Refused: ")
    diagnosis = log.results.scores[0]
    assert (diagnosis.scored_samples, diagnosis.unscored_samples) == (2, 0)
    assert diagnosis.metrics["mean"].value == 50.0 * (done.target == ["A"])


async def test_an_endpoint_that_fails_is_an_error_outside_the_mean(file, tmp_path):
    second = list(read_cases(file))[1]

    def answer(body):
        choosing = any("key of the one option" in message["content"] for message in body["messages"])
        return second_answer if choosing else GOODBYE

    from polyclinic.evals.tasks import cases_of

    (second_answer,) = cases_of(str(file), options=0)[second.id].truth.answers
    async with Endpoint(answers=answer, plan=["503"]) as endpoint:
        log = await run(
            "polyclinic/aie",
            tmp_path,
            model="direct/test",
            model_base_url=endpoint.url,
            model_args={"attempts": 1},
            max_samples=1,
            task_args={"cases": str(file)},
        )
    broken, done = log.samples
    assert "the doctor: Broken: " in broken.error.message
    assert broken.messages[-1].text == "The visit is over: failed, 0 turns."
    assert not broken.scores
    # Half of the samples is more than may fail; the other half was run and scored all the same.
    assert log.status == "error"
    assert done.error is None
    assert done.scores["conversation"].value["DIAGNOSIS"] == 100.0
    assert means(log)["DIAGNOSIS"] == 100.0


async def test_a_misbehaving_endpoint(file, tmp_path):
    async with Endpoint(faults=0.3, seed=5, kinds=("503", "wrong-type")) as endpoint:
        log = await run(
            "polyclinic/aie",
            tmp_path,
            model="direct/test",
            model_base_url=endpoint.url,
            task_args={"cases": str(file), "max_turns": 3},
        )
    assert log.status == "success"
    assert sum(endpoint.met.values()) > 0
    for sample in log.samples:
        score = sample.scores["conversation"]
        # Who concludes at once has no turns to count.
        assert math.isnan(score.value) if score.reason else not score.value["AVG_TURN"] > 4


async def test_the_state_aware_patient_has_a_role_of_its_own(file, tmp_path):
    async with Endpoint() as patient:
        log = await run(
            "polyclinic/aie",
            tmp_path,
            doctor("A", QUESTION, GOODBYE),
            task_args={"cases": str(file), "patient": "saps:direct/test", "patient_base_url": patient.url},
        )
    assert log.status == "success"
    assert patient.answered > 0
    assert log.stats.role_usage["patient"].total_tokens > 0
    assert log.samples[0].store["trace"][0]["minds"]["patient"] == "saps:direct/test"


async def test_a_model_in_the_role_of_the_patient_takes_its_place(file, tmp_path):
    from inspect_ai.model import get_model

    async with (
        Endpoint() as named,
        Endpoint() as given,
        get_model("direct/given", base_url=given.url, memoize=False) as model,
    ):
        log = await run(
            "polyclinic/aie",
            tmp_path,
            doctor("A", QUESTION, GOODBYE),
            model_roles={"patient": model},
            task_args={"cases": str(file), "patient": "saps:direct/named", "patient_base_url": named.url},
        )
    assert log.status == "success"
    assert (named.requests, given.requests > 0) == (0, True)
    assert set(log.stats.model_usage) == {"mockllm/model", "direct/given"}


async def test_a_limit_ends_the_visit_and_leaves_it_unscored(file, tmp_path):
    answer = doctor("A", *[QUESTION] * 15)
    log = await run("polyclinic/aie", tmp_path, answer, task_args={"cases": str(file)}, token_limit=30)
    for sample in log.samples:
        assert sample.limit.type == "token"
        assert math.isnan(sample.scores["conversation"].value)
        assert sample.messages[-1].text.startswith("Patient [")


async def test_mcqe_reads_everything_and_says_nothing(file, tmp_path):
    log = await run("polyclinic/aie_mcqe", tmp_path, doctor("C"), task_args={"cases": str(file)})
    assert means(log) == {"MCQE": 50.0 * sum(sample.target == ["C"] for sample in log.samples)}
    case = next(read_cases(file))
    assert case.record.history.present[:20] in log.samples[0].messages[1].text
    assert not [leak for leak in find_leaks([log.samples[0].messages[1].text], case) if leak.kind == "diagnosis"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"cases": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"max_turns": 0}, "`int` >= 1 - at `[$].max_turns`"),
        ({"patient": "nobody"}, "no mind 'nobody'"),
        ({"patient": "saps:local"}, "Inspect cannot open local"),
    ],
)
def test_wrong_arguments_are_told(arguments, told):
    from polyclinic.errors import UserError
    from polyclinic.evals.tasks import aie

    with pytest.raises(UserError, match=told):
        aie(**arguments)


def test_cases_of_one_id_are_samples_of_their_own(file):
    from polyclinic.evals.tasks import cases_of

    ids = [*cases_of(str(file), options=0)]
    file.write_text(file.read_text("utf-8") * 2, "utf-8")
    assert [*cases_of(str(file), options=0)] == [*ids, *(f"{id}-2" for id in ids)]
