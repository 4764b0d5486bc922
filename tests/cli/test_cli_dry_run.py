"""`--dry-run`: what a run would take, of every command that asks models, and nothing asked or written."""

import json

import pytest
from tests.exams import write_exam
from tests.tables import each_row

from polyclinic.models.dry_run import MadeUp, StandIn


@pytest.fixture(scope="module")
def medqa(tmp_path_factory):
    return write_exam(tmp_path_factory.mktemp("exam") / "medqa.jsonl", range(12), text="{}?")


@pytest.mark.slow
def test_calls_and_tokens_of_an_exam_are_known_before_it(run, medqa, tmp_path, serving):
    command = ("eval", "exam", "medqa", medqa, "--model", "direct/a", "--method", "self_consistency")
    more = (
        "--set",
        "models.price=1,10",
        "--cost-budget",
        "0.01",
        "--out",
        tmp_path / "out",
    )
    expected = json.loads(run(*command, *more, "--dry-run", "--json").stdout)
    assert (expected["calls"], expected["beyond"]) == (60, ["--cost-budget"])
    assert expected["cost"] == pytest.approx((expected["tokens_in"] + 10 * expected["tokens_out"]) / 1e6)
    assert not list(tmp_path.iterdir())
    with serving(lambda _: "I think. Answer: A", latency=0.02) as endpoint:
        at = ("--base-url", endpoint.url)
        again = json.loads(run(*command, *at, "--dry-run", "--json", "--set", "models.max-tokens=9").stdout)
        assert endpoint.requests == 0 and again["tokens_in"] == expected["tokens_in"]
        assert (expected["tokens_out"], again["tokens_out"]) == (60 * 150, 60 * 9)
        document = json.loads(run(*command, *at, "--json").stdout)
        (method,) = document["methods"]
        assert endpoint.requests == expected["calls"]
        # The same prompts, counted by their letters.
        assert expected["tokens_in"] == pytest.approx(12 * method["cost"]["tokens_in"], rel=0.5)
    shown = run(*command, *more, "--dry-run").stdout
    assert "expected" in shown and "--cost-budget would stop the run" in shown and "No model was asked" in shown


@pytest.mark.slow
@each_row(
    "command",
    [
        "eval aie --cases shipped --limit 1 --doctor direct/a --patient direct/b",
        "eval mvme --cases shipped --limit 1 --doctor direct/a --judge direct/j",
        "eval tor --cases inpatients --limit 1 --model direct/a",
        "eval reliability --cases shipped --limit 1 --patient direct/a --judge direct/j",
        "consult shipped#p1-00001 --doctor direct/a --out trace.jsonl",
        "ask shipped#p1-00001 how --patient direct/a",
        "run --residents 20 --days 1 --visits 2 --doctor direct/a --out hospital",
    ],
)
def test_every_command_that_asks_models_says_what_it_would_take(run, tmp_path, command):
    expected = json.loads(run(*command.split(), "--dry-run", "--json", cwd=tmp_path).stdout)
    assert expected["calls"] > 0 and expected["tokens_in"] > 0
    assert not list(tmp_path.iterdir())


def test_who_asks_nobody_pays_nothing(run, complaint):
    done = run("eval", "aie", "--cases", "shipped", "--limit", 1, "--doctor", "rules", "--dry-run")
    assert done.stdout.strip() == "No model is asked: it costs nothing."
    told = complaint("consult", "shipped#p1-00001", "--doctor", "dirct/a", "--dry-run")
    assert "no model 'dirct/a' (did you mean direct/a?); there are: direct/NAME" in told


async def test_what_is_made_up_has_the_form_that_is_wanted():
    model = StandIn("a")
    assert (await model.ask("Which?", answer=("one", "two"))).value in ("one", "two")
    reply = await model.ask([("user", "什么" * 50)])
    assert reply.usage.tokens_in == 100


async def test_of_the_options_that_are_shown_one_is_made_up():
    model = MadeUp(seed=1)
    asked = [("system", "You answer."), ("user", "Options:\nyes. yes\nno. no\nmaybe. maybe")]
    said = {(await model.ask(asked)).text for _ in range(20)}
    assert said == {"Answer: yes", "Answer: no", "Answer: maybe"}
