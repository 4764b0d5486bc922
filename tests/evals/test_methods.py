"""Our methods as solvers of anybody's tasks in Inspect."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections import Counter
from importlib.metadata import entry_points
from importlib.util import find_spec

import pytest

from polyclinic.errors import UserError
from polyclinic.questions.examples import shipped_examples
from polyclinic.testing.endpoint import Endpoint

pytestmark = [
    pytest.mark.slow,  # Inspect takes half a second a task
    pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect_ai of the extra 'evals' is not installed"),
    # Not ours: Inspect and what it imports warn as they like.
    pytest.mark.filterwarnings("default"),
]

METHODS = (
    *("zero_shot", "few_shot", "chain_of_thought", "few_shot_chain_of_thought", "self_consistency"),
    *("few_shot_self_consistency", "medprompt", "tree_of_thought", "mindmap", "mdagents", "medagents"),
    *("medagent_zero", "mma", "tree_of_reasoning"),
)
MEDQA = {"question": "Which metal is in haem?", "options": {"A": "Zinc", "B": "Iron", "C": "Gold"}, "answer_idx": "B"}


def fill(schema, letter):
    """Returns a value that a schema allows, with the letter wherever it is one of those to choose from."""
    if "enum" in schema:
        return next((word for word in (letter, "yes") if word in schema["enum"]), schema["enum"][0])
    if "anyOf" in schema:
        return fill(schema["anyOf"][0], letter)
    match schema.get("type"):
        case "object":
            return {name: fill(part, letter) for name, part in schema["properties"].items()}
        case "array":
            return [fill(schema["items"], letter)] * schema.get("minItems", 1)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case _:
            return "words"


def said(body, letter):
    """Returns what a model that always takes one option says to a request; its schema is told in words as well."""
    text = body["messages"][-1]["content"]
    form = body.get("response_format", {}).get("json_schema")
    return fill(json.loads(text[text.index('{"') :]), letter) if form else f"I know.\n\nAnswer: {letter}"


def always(letter):
    return lambda body: said(body, letter)


def told(body):
    return "\n".join(message["content"] for message in body["messages"])


def foreign(*samples, scorer=None, **dataset):
    """A task of somebody else's."""
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    samples = samples or (
        {"input": "Which metal is in haem?", "choices": ["Zinc", "Iron", "Gold"], "target": "B"},
        {"input": "Which is a gas?", "choices": ["Oxygen", "Salt"], "target": "A"},
    )
    return Task(
        dataset=MemoryDataset([Sample(**sample) for sample in samples]),
        solver=multiple_choice(),
        scorer=choice(),
        **dataset,
    )


async def run(task, tmp_path, endpoint, solver=None, settings=None, **options):
    """Runs a task, a solver found by its name, and returns its log as it is read back from its file."""
    from inspect_ai import eval_async
    from inspect_ai.log import read_eval_log_async
    from inspect_ai.solver import SolverSpec

    import polyclinic.evals._registry  # noqa: F401

    if solver is not None:
        options["solver"] = SolverSpec(solver, settings or {}, settings or {})
    options |= {"model_args": {"attempts": 1, **options.get("model_args", {})}}
    logs = await eval_async(
        task,
        **{"model": "direct/test", "model_base_url": endpoint.url, "log_dir": str(tmp_path / "logs"), **options},
    )
    return (
        [await read_eval_log_async(log.location) for log in logs]
        if len(logs) > 1
        else (await read_eval_log_async(logs[0].location))
    )


# Our methods on other people's tasks.


def test_every_method_is_a_solver_of_its_name():
    from inspect_ai._util.registry import registry_lookup

    from polyclinic.evals._registry import SOLVERS
    from polyclinic.methods import table as methods

    assert tuple(SOLVERS) == tuple(methods.METHODS) == METHODS
    assert all(registry_lookup("solver", f"polyclinic/{method}") is SOLVERS[method] for method in METHODS)


@pytest.mark.parametrize("method", ["zero_shot", "medprompt", "medagents", "tree_of_reasoning"])
async def test_every_method_answers_other_peoples_questions(method, tmp_path):
    async with Endpoint(answers=always("B")) as endpoint:
        log = await run(foreign(), tmp_path, endpoint, f"polyclinic/{method}")
    assert log.status == "success"
    assert [step.solver for step in log.plan.steps] == [f"polyclinic/{method}"]
    right, wrong = log.samples
    assert (right.scores["choice"].value, right.scores["choice"].answer) == ("C", "B")
    assert (wrong.scores["choice"].value, wrong.scores["choice"].answer) == ("I", "B")
    assert right.output.completion.endswith("ANSWER: B")
    assert right.messages[-1].text == right.output.completion


async def test_settings_reach_the_method_and_its_calls_the_store(tmp_path):
    from polyclinic.evals.methods import outcome_of

    settings = {"question_experts": 3, "votes": "separate", "temperature": 0.25}
    async with Endpoint(answers=always("B")) as endpoint:
        log = await run(foreign(), tmp_path, endpoint, "polyclinic/medagents", settings)
    assert log.plan.steps[0].params_passed == settings
    assert {body["temperature"] for body in endpoint.bodies} == {0.25}
    for sample in log.samples:
        outcome = outcome_of(sample.store)
        assert (outcome.question, outcome.answer) == (str(sample.id), "B")
        # Two gatherings, three and two analyses, a report, five votes, a decision.
        assert sum(call.purpose.startswith("vote") for call in outcome.trace) == 5
        assert outcome.calls == 2 + 3 + 2 + 1 + 5 + 1
        assert outcome.usage.tokens_in > 0
    assert endpoint.requests == 28


async def test_no_target_is_looked_at(tmp_path):
    asked = []
    for target in ("A", "C"):
        sample = {"input": "Which metal is in haem?", "choices": ["Zinc", "Iron", "Gold"], "target": target}
        async with Endpoint(answers=always("B")) as endpoint:
            log = await run(foreign(sample), tmp_path, endpoint, "polyclinic/chain_of_thought")
        asked.append(endpoint.bodies)
        assert log.samples[0].scores["choice"].answer == "B"
    assert asked[0] == asked[1]


async def test_the_text_says_the_language(tmp_path):
    sample = {"input": "血红素中有哪种金属？", "choices": ["锌", "铁"], "target": "B"}
    async with Endpoint(answers=always("B")) as endpoint:
        log = await run(foreign(sample), tmp_path, endpoint, "polyclinic/zero_shot")
    assert log.samples[0].scores["choice"].value == "C"
    assert "选项" in told(endpoint.bodies[0])


async def test_a_question_with_several_answers(tmp_path):
    sample = {"input": "Which are gases?", "choices": ["Oxygen", "Salt", "Helium"], "target": ["A", "C"]}
    answer = lambda body: "They are light.\n\nAnswer: A, C"  # noqa: E731
    async with Endpoint(answers=answer) as endpoint:
        several = await run(foreign(sample), tmp_path, endpoint, "polyclinic/zero_shot", {"several": True})
        one = await run(foreign(sample), tmp_path, endpoint, "polyclinic/zero_shot")
    assert several.samples[0].scores["choice"].value == "C"
    assert several.samples[0].output.completion.endswith("ANSWER: A, C")
    assert one.samples[0].scores["choice"].value == "N"


async def test_shuffled_choices_are_marked_where_they_are(tmp_path):
    def knows(body):
        line = next(line for line in told(body).splitlines() if line.endswith(". Iron"))
        return f"Answer: {line[0]}"

    task = foreign(*[{"input": f"Metal {n}?", "choices": ["Zinc", "Iron", "Gold"], "target": "B"} for n in range(8)])
    task.dataset.shuffle_choices(seed=1)
    async with Endpoint(answers=knows) as endpoint:
        log = await run(task, tmp_path, endpoint, "polyclinic/zero_shot")
    assert len({sample.target[0] for sample in log.samples}) > 1
    assert {score.value for sample in log.samples for score in sample.scores.values()} == {"C"}


async def test_an_unreadable_answer_marks_nothing(tmp_path):
    async with Endpoint(answers=lambda _: "I would rather not say.") as endpoint:
        log = await run(foreign(), tmp_path, endpoint, "polyclinic/zero_shot")
    assert log.status == "success"
    for sample in log.samples:
        assert sample.output.completion == ""
        assert (sample.scores["choice"].value, sample.scores["choice"].reason) == ("N", "no_response")
        assert sample.store["outcome"]["end"] == "unreadable"
    assert log.results.scores[0].metrics["accuracy"].value == 0


async def test_an_endpoint_that_fails_is_an_error_of_the_sample(tmp_path):
    from polyclinic.evals.methods import outcome_of

    async with Endpoint(answers=always("A"), plan=["503"]) as endpoint:
        log = await run(foreign(), tmp_path, endpoint, "polyclinic/zero_shot", max_samples=1, fail_on_error=False)
    broken, done = log.samples
    assert "503" in broken.error.message
    assert not broken.scores
    assert outcome_of(broken.store).end == "failed"
    assert done.scores["choice"].value == "C"


@pytest.mark.parametrize(
    ("sample", "problem"),
    [
        ({"input": "What is haem?", "target": "a ring"}, "sample 1 has no choices"),
        ({"picture": True, "choices": ["Zinc", "Iron"], "target": "B"}, "sample 1 asks with pictures"),
    ],
)
async def test_what_a_method_cannot_answer(sample, problem, tmp_path):
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
    from inspect_ai.scorer import includes

    if sample.pop("picture", False):
        picture = ContentImage(image="data:image/png;base64,iVBORw0KGgo=")
        sample["input"] = [ChatMessageUser(content=[ContentText(text="What is this?"), picture])]
    task = foreign(sample)
    task.scorer = [includes()]
    async with Endpoint() as endpoint:
        log = await run(task, tmp_path, endpoint, "polyclinic/medagents")
    assert problem in log.samples[0].error.message
    assert endpoint.requests == 0


@pytest.mark.parametrize(
    ("method", "settings", "problem"),
    [
        ("medagents", {"experts": 3}, "'experts' belongs to none .* medagents: question_experts"),
        ("medagents", {"question_experts": "many"}, "medagents.question_experts='many'"),
        ("few_shot", {"examples": "nowhere.jsonl"}, "nowhere.jsonl: no such file"),
    ],
)
def test_wrong_settings_are_told(method, settings, problem):
    from polyclinic.evals.methods import SOLVERS

    with pytest.raises(UserError, match=problem):
        SOLVERS[method](**settings)


POOL = len(shipped_examples("en"))


async def test_medprompt_prepares_its_examples_once_for_each_model(tmp_path):
    samples = [{"input": f"Metal {n}?", "choices": ["Zinc", "Iron"], "target": "B"} for n in range(4)]
    async with Endpoint(answers=always("B")) as endpoint:
        logs = await run(
            foreign(*samples),
            tmp_path,
            endpoint,
            "polyclinic/medprompt",
            {"shuffles": 2},
            model=["direct/one", "direct/two"],
        )
    assert [log.eval.model for log in logs] == ["direct/one", "direct/two"]
    assert Counter(body["model"] for body in endpoint.bodies) == {"one": POOL + 4 * 2, "two": POOL + 4 * 2}


async def test_examples_that_could_not_be_prepared_are_prepared_by_the_next_sample(tmp_path):
    samples = [{"input": f"Metal {n}?", "choices": ["Zinc", "Iron"], "target": "B"} for n in range(3)]
    async with Endpoint(answers=always("B"), plan=["503"]) as endpoint:
        log = await run(
            foreign(*samples), tmp_path, endpoint, "polyclinic/medprompt", max_samples=1, fail_on_error=False
        )
    assert [sample.error is not None for sample in log.samples] == [True, False, False]


async def test_the_limit_of_one_sample_is_not_that_of_the_next(tmp_path):
    async with Endpoint(answers=always("B")) as endpoint:
        log = await run(foreign(), tmp_path, endpoint, "polyclinic/medprompt", max_samples=1, token_limit=30)
    assert [sample.error for sample in log.samples] == [None, None]
    assert [sample.limit.type for sample in log.samples] == ["token", "token"]
    # Each began to prepare for itself.
    assert all(sample.model_usage for sample in log.samples)


async def test_each_epoch_draws_anew(tmp_path):
    async with Endpoint(answers=always("B")) as endpoint:
        await run(foreign(), tmp_path, endpoint, "polyclinic/self_consistency", {"samples": 2}, epochs=2)
    asked = Counter(json.dumps(body, sort_keys=True) for body in endpoint.bodies)
    assert len(asked) == endpoint.requests == 2 * 2 * 2


async def test_inspect_finds_tasks_solvers_and_provider_by_their_names(tmp_path):
    """The entry point in a process of its own; its commands stand in one, as Inspect takes seconds to begin."""
    points = {point.name: point.value for point in entry_points(group="inspect_ai")}
    assert points["polyclinic"] == "polyclinic.evals._registry", "install the package again"
    (tmp_path / "theirs.py").write_text(
        "from inspect_ai import Task, task\n"
        "from inspect_ai.dataset import MemoryDataset, Sample\n"
        "from inspect_ai.scorer import choice\n"
        "@task\n"
        "def theirs():\n"
        "    sample = Sample(input='Metal?', choices=['Zinc', 'Iron'], target='B')\n"
        "    return Task(dataset=MemoryDataset([sample]), scorer=choice())\n"
    )
    questions = tmp_path / "medqa.jsonl"
    questions.write_text(json.dumps(MEDQA))
    ours = ["polyclinic/exam", "-T", "exam=medqa", "-T", f"questions={questions}"]
    ours += ["-T", "method=medagents question_experts=2 option_experts=1"]
    commands = {
        "right": (ours, 2 + 2 + 1 + 1 + 3 + 1),
        "accuracy": (["theirs.py", "--solver", "polyclinic/medagents", "-S", "question_experts=3"], 14),
    }
    async with contextlib.AsyncExitStack() as stack:
        endpoints = {name: await stack.enter_async_context(Endpoint(answers=always("B"))) for name in commands}
        words = [
            [*command, "--model", "direct/test", "--model-base-url", endpoints[name].url, "--display", "plain"]
            for name, (command, _) in commands.items()
        ]
        program = (
            "import json, sys\n"
            "from inspect_ai._cli.main import inspect\n"
            "for words in json.loads(sys.argv[1]):\n"
            "    inspect(['eval', *words, '--log-dir', 'logs'], standalone_mode=False)\n"
            "    print('=====', flush=True)\n"
        )
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-c", program, json.dumps(words)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        out, _ = await process.communicate()
        shown = out.decode().split("=====")
        assert process.returncode == 0, out.decode()
        for (printed, (_, calls)), part in zip(commands.items(), shown, strict=False):
            assert printed in part, part
            assert endpoints[printed].requests == calls
