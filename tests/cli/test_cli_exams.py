"""`polyclinic eval exam medqa` and its like, as a user meets them."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.tables import each_row

from polyclinic.errors import MissingExtra
from polyclinic.models import local

# Ten questions; the key of each is the option that says its number.
KEYS = "ABCDABCDAB"
NUMBER = re.compile(r"number (\d+)")


def record(number, key=None):
    key = key or KEYS[number - 1]
    options = {letter: f"finding {number}" if letter == key else f"nothing {letter}" for letter in "ABCD"}
    return {"question": f"This is number {number}. What is found?", "options": options, "answer_idx": key}


@pytest.fixture(scope="module")
def medqa(tmp_path_factory):
    path = tmp_path_factory.mktemp("exam") / "medqa.jsonl"
    path.write_text("".join(json.dumps(record(n)) + "\n" for n in range(1, 11)), encoding="utf-8")
    return path


def last(body):
    return body["messages"][-1]["content"]


def number_of(body):
    return int(NUMBER.search(last(body))[1])


def key_of(body):
    """Returns the key of the right option, as the prompt shows it."""
    return re.search(rf"^(\w)\. finding {number_of(body)}$", last(body), re.MULTILINE)[1]


def wrong_key_of(body):
    return next(letter for letter in "ABCD" if letter != key_of(body))


def kind_of(body):
    """Returns the method by what it says; examples are turns of the conversation."""
    if len(body["messages"]) > 2:
        return "few_shot"
    return "chain_of_thought" if "Reason first" in body["messages"][0]["content"] else "zero_shot"


RIGHT = {"zero_shot": {1, 2, 3, 4}, "chain_of_thought": {2, 3, 4, 5, 6, 7, 8, 9}, "few_shot": set(range(1, 11))}


def some_right(body):
    right = number_of(body) in RIGHT[kind_of(body)]
    return f"Answer: {key_of(body) if right else wrong_key_of(body)}"


def exam(medqa, url, *more, dataset="medqa", model="direct/a"):
    return ("eval", "exam", dataset, medqa, "--model", model, "--base-url", url, *more)


THREE = ("--method", "zero_shot", "--method", "chain_of_thought", "--method", "few_shot")


def test_a_report_in_the_folder_does_not_keep_the_command_from_resuming(run, tmp_path):
    command = ("eval", "exam", "medqa", "shipped", "--limit", 2, "--model", "made-up", "--out", tmp_path / "out")
    run(*command)
    run("report", tmp_path / "out")
    run(*command)
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.slow
def test_accuracy_cost_and_comparisons(run, medqa, tmp_path, serving):
    with serving(some_right) as endpoint:
        command = exam(medqa, endpoint.url, *THREE, "--set", "models.price=1,10", "--baseline", "zero_shot")
        document = json.loads(run(*command, "--json", "--out", tmp_path / "out").stdout)
        shown = run(*command)
        held = {path: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()}
        refused = run(*command, "--limit", 3, "--out", tmp_path / "out", code=2).stderr
    assert "out: was run without --limit, and is now with --limit 3" in refused and refused.count("\n") == 1
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()} == held
    assert (document["dataset"], document["questions"], document["model"]) == ("medqa", 10, "direct/a")
    methods = {one["name"]: one for one in document["methods"]}
    assert {name: one["accuracy"]["mean"] for name, one in methods.items()} == {
        "zero_shot": 40,
        "chain_of_thought": 80,
        "few_shot": 100,
    }
    zero = methods["zero_shot"]
    # The standard error of 4 of 10: the root of (0.4 * 0.6 / 9), in percent.
    assert zero["accuracy"]["stderr"] == pytest.approx(100 * (0.24 / 9) ** 0.5)
    assert zero["accuracy"]["low"] < 40 < zero["accuracy"]["high"]
    assert (zero["n"], zero["unreadable"], zero["failed"], zero["ends"]) == (10, 0, 0, {"answered": 10})
    cost = zero["cost"]
    assert (cost["calls"], cost["round_trips"]) == (1, 1)
    assert cost["money"] == pytest.approx((cost["tokens_in"] * 1 + cost["tokens_out"] * 10) / 1e6)
    assert cost["tokens_in"] > 0 < cost["seconds"]
    right = [question["id"] for question in zero["questions"] if question["right"]]
    assert right == ["medqa-0001", "medqa-0002", "medqa-0003", "medqa-0004"]
    # By hand: against chain of thought 1 of 6 discordant pairs, against few-shot 0 of 6.
    against = {one["method"]: one for one in document["comparisons"]}
    assert {name: one["baseline"] for name, one in against.items()} == dict.fromkeys(
        ("chain_of_thought", "few_shot"), "zero_shot"
    )
    assert against["chain_of_thought"]["difference"]["p"] == pytest.approx(2 * (1 + 6) / 64)
    assert against["few_shot"]["difference"]["p"] == pytest.approx(2 / 64)
    assert against["few_shot"]["p_holm"] == pytest.approx(2 * 2 / 64)
    assert against["chain_of_thought"]["p_holm"] == pytest.approx(2 * (1 + 6) / 64)
    assert against["few_shot"]["difference"]["mean"] == 60
    for text in ("right %", "40.0 ± 16.3", "unread.", "failed", "tokens", "cost", "+60.0", "0.0312", "0.0625"):
        assert text in shown.stdout, text
    assert "chain_of_thought" in shown.stderr  # what was spent on it
    out = tmp_path / "out"
    assert json.loads((out / "summary.json").read_text("utf-8")) == document
    lines = [json.loads(line) for line in (out / "chain_of_thought.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == 10
    assert lines[0]["outcome"]["trace"][0]["text"].startswith("Answer:")


def test_every_two_methods_are_compared_without_a_baseline(run, medqa, serving):
    with serving(some_right) as endpoint:
        document = json.loads(run(*exam(medqa, endpoint.url, *THREE, "--json")).stdout)
    pairs = [(one["method"], one["baseline"]) for one in document["comparisons"]]
    assert pairs == [("chain_of_thought", "zero_shot"), ("few_shot", "zero_shot"), ("few_shot", "chain_of_thought")]


def test_what_cannot_be_read_is_wrong_and_what_failed_is_outside(run, medqa, serving):
    def answers(body):
        return "I would rather not say." if number_of(body) in {2, 3} else f"Answer: {key_of(body)}"

    # One question at a time, so that the first of them meets the broken answer.
    with serving(answers, plan=["huge"]) as endpoint:
        command = exam(medqa, endpoint.url, "--concurrency", 1)
        document = json.loads(run(*command, "--json", "--set", "run.max-failures=20").stdout)
    with serving(answers, plan=["huge"]) as endpoint:
        failed = run(
            *command[:6], "--base-url", endpoint.url, "--concurrency", 1, "--set", "run.max-failures=9", code=1
        )
    (method,) = document["methods"]
    assert (method["unreadable"], method["failed"], method["n"]) == (2, 1, 10)
    assert method["ends"] == {"answered": 7, "unreadable": 2, "failed": 1}
    assert method["accuracy"]["mean"] == pytest.approx(100 * 7 / 9)
    assert method["accuracy"]["n"] == 9
    assert (method["readable_accuracy"]["mean"], method["readable_accuracy"]["n"]) == (100, 7)
    first = method["questions"][0]
    assert (first["end"], first["answers"], first["right"]) == ("failed", [], False)
    assert first["problem"]
    assert "1 of 10 questions failed: the first, medqa-" in failed.stderr
    assert "right %" in failed.stdout  # the table is shown all the same


def matched_calls(document):
    team, matched = document["methods"]
    assert matched["name"].startswith("self_consistency (as many ")
    return [
        ((one["id"], one["calls"]), (other["id"], other["calls"]))
        for one, other in zip(team["questions"], matched["questions"], strict=True)
    ]


def team_answers(body):
    """Answers any schema of medagents: experts dissent on every third question, so that costs differ."""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    text = json.dumps(schema)
    if schema is None:
        return f"I thought about it.\nAnswer: {key_of(body)}" if "\nA. " in last(body) else "I thought about it."
    if '"vote"' in text:
        return {"assessment": "so", "vote": "no" if number_of(body) % 3 == 0 else "yes", "modification": "more"}
    if '"key_knowledge"' in text:
        return {"key_knowledge": ["it is so"], "total_analysis": "so it is"}
    if '"rationale"' in text:
        return {"rationale": "it is so", "answer": key_of(body)}
    wanted = int(re.search(r'"minItems": (\d+)', text)[1])
    return {"answer": ["cardiology"] * wanted}


@pytest.mark.slow
def test_self_consistency_takes_as_much_as_the_team_did(run, medqa, serving):
    with serving(team_answers) as endpoint:
        command = exam(medqa, endpoint.url, "--method", "medagents", "--json")
        by_calls = json.loads(run(*command).stdout)
        by_tokens = json.loads(run(*command, "--match", "tokens").stdout)
        alone = json.loads(run(*command, "--match", "none").stdout)
        small = json.loads(run(*command, "--set", "question_experts=1", "--set", "medagents.option_experts=0").stdout)
    pairs = matched_calls(by_calls)
    assert all(team == matched for team, matched in pairs)
    assert {calls for (_, calls), _ in pairs} == {18, 35}
    assert [one["accuracy"]["mean"] for one in by_calls["methods"]] == [100, 100]
    team, matched = by_tokens["methods"]
    spent = [one["cost"]["tokens_in"] + one["cost"]["tokens_out"] for one in (team, matched)]
    assert 0.8 * spent[0] <= spent[1] <= 1.05 * spent[0]
    assert [one["name"] for one in alone["methods"]] == ["medagents"]
    assert small["methods"][0]["name"] == "medagents (question_experts=1, option_experts=0)"
    assert {calls for (_, calls), _ in matched_calls(small)} == {5, 5 + 2 + 3 - 0}


@pytest.mark.parametrize(("by", "stays", "accuracy"), [("text", 100, 100), ("letter", None, None)])
def test_shuffled_options_are_put_back(run, medqa, by, stays, accuracy, serving):
    with serving(lambda body: f"Answer: {key_of(body) if by == 'text' else 'A'}") as endpoint:
        command = exam(medqa, endpoint.url, "--shuffle")
        document = json.loads(run(*command, "--json").stdout)
        assert "answer stays %" in run(*command).stdout
    (method,) = document["methods"]
    stability = method["stability"]
    assert stability["stays"]["n"] == 10
    if by == "text":
        # Who knows the answer finds it wherever it stands.
        assert (stability["stays"]["mean"], stability["accuracy"]["mean"]) == (stays, accuracy)
    else:
        assert stability["stays"]["mean"] < 60


def test_the_options_are_really_shuffled(run, medqa, serving):
    with serving(lambda body: f"Answer: {key_of(body)}") as endpoint:
        run(*exam(medqa, endpoint.url, "--shuffle", "--json"))
        shown = {}
        for body in endpoint.bodies:
            shown.setdefault(number_of(body), []).append(key_of(body))
    assert all(len(keys) == 2 for keys in shown.values())
    assert sum(straight != shuffled for straight, shuffled in shown.values()) >= 5


@pytest.mark.slow
def test_samples(run, medqa, serving):
    with serving(lambda body: f"Answer: {key_of(body)}") as endpoint:
        command = exam(medqa, endpoint.url, "--json")

        def ids(*more):
            return [one["id"] for one in json.loads(run(*command, *more).stdout)["methods"][0]["questions"]]

        assert len(ids("--limit", "all")) == 10
        assert ids("--limit", 4) == ids("--limit", 4)
        assert ids("--limit", 4) != ids("--limit", 4, "--seed", 1)
        assert len(ids("--limit", 40)) == 10


def test_fields_of_ones_own(run, complaint, tmp_path, serving):
    path = tmp_path / "own.jsonl"
    lines = [
        {"qid": f"q{n}", "text": f"This is number {n}.", "choices": ["nothing", f"finding {n}"], "gold": 2}
        for n in range(1, 4)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    fields = ("--fields", "id=qid,question=text,options=choices,answer=gold", "--set", "exam.answer-base=1")
    with serving(lambda body: f"Answer: {key_of(body)}") as endpoint:
        (method,) = json.loads(run(*exam(path, endpoint.url, *fields, "--json", dataset="any")).stdout)["methods"]
        assert (method["accuracy"]["mean"], method["n"]) == (100, 3)
        assert [question["id"] for question in method["questions"]] == ["q1", "q2", "q3"]
        assert "--fields belongs to 'polyclinic eval exam any'" in complaint(*exam(path, endpoint.url, *fields))
        assert "give --fields too" in complaint(*exam(path, endpoint.url, "--set", "exam.answer-base=1", dataset="any"))


def test_a_method_of_ones_own(run, complaint, medqa, tmp_path, serving):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from polyclinic.questions import show\n"
        "async def ask(question, model, times: int = 1):\n"
        "    for _ in range(times):\n"
        "        reply = await model.ask(show(question))\n"
        "    return reply\n"
    )
    with serving(lambda body: f"Answer: {key_of(body)}") as endpoint:
        command = exam(medqa, endpoint.url, "--method", f"{mine}:ask", "zero_shot", "--json")
        own, _ = json.loads(run(*command, "--set", "times=2", "--baseline", "zero_shot").stdout)["methods"]
        assert (own["accuracy"]["mean"], own["cost"]["calls"], own["cost"]["round_trips"]) == (100, 2, 2)
        assert own["name"] == f"{mine}:ask (times=2)"
    nowhere = exam(medqa, "http://127.0.0.1:9/v1")
    assert "holds no 'answer'; it has: ask" in complaint(*nowhere, "--method", f"{mine}:answer")
    assert "did you mean zero_shot?" in complaint(*nowhere, "--method", "zero-shot")


def test_a_method_s_mistakes_are_counted_and_the_run_goes_on(run, medqa, tmp_path, serving):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from polyclinic.questions import show\n"
        "async def some(question, model):\n"
        "    if 'number 3' in question.stem:\n"
        "        exit(4)\n"
        "    return await model.ask(show(question))\n"
        "async def forgets(question, model):\n"
        "    await model.ask(show(question))\n"
    )
    with serving(lambda body: f"Answer: {key_of(body)}") as endpoint:
        command = exam(medqa, endpoint.url, "--method", f"{mine}:some", "zero_shot")
        done = run(*command)
        document = json.loads(run(*command, "--json").stdout)
        failed = run(*command, "--method", f"{mine}:forgets", "--out", tmp_path / "out", code=1)
    some, zero_shot = document["methods"]
    assert (some["accuracy"]["mean"], some["ends"], some["unreadable"]) == (90, {"answered": 9, "broken": 1}, 0)
    assert (zero_shot["accuracy"]["mean"], zero_shot["ends"]) == (100, {"answered": 10})
    assert "broke on 1 of 10 questions, counted as wrong; the first, " in done.stderr
    assert "SystemExit: 4 (mine.py:4)" in done.stderr
    assert "the method itself made a mistake" in done.stdout
    assert len(list((tmp_path / "out").glob("*.jsonl"))) == 5
    assert "forgets broke on 10 of 10 questions" in failed.stderr and "(a forgotten return)" in failed.stderr
    assert f"BrokenMethod: {mine}:forgets: no question" in failed.stderr
    assert "zero_shot" in failed.stdout


def test_a_package_s_method_with_the_name_of_ours_is_passed_over_and_one_question_is_one(
    run, medqa, monkeypatch, serving
):
    monkeypatch.setattr("polyclinic.evaluations.exams.declaration.offered", lambda _: ("few_shot", "zero_shot"))
    with serving(lambda body: f"Answer: {key_of(body)}") as endpoint:
        done = run(*exam(medqa, endpoint.url, "--limit", 1))
    assert "zero_shot is ours" in done.stderr and "few_shot" not in done.stderr
    assert "medqa, 1 question, direct/a" in done.stdout


@pytest.mark.slow
def test_wrong_options_are_one_clear_line(complaint, medqa, tmp_path):
    command = exam(medqa, "http://127.0.0.1:9/v1")
    assert "no method 'oracle'; methods: zero_shot, few_shot" in complaint(*command, "--method", "oracle")
    twice = complaint(*command, "--method", "zero_shot", "--method", "zero_shot")
    assert "method 'zero_shot' is named twice" in twice
    team = (*command, "--method", "medagents")
    assert "needs KEY=VALUE" in complaint(*team, "--set", "max_rounds")
    assert "belongs to none of the methods; there are: medagents: question_experts" in complaint(*team, "--set", "x=1")
    assert "belongs to none of the methods" in complaint(*team, "--set", "mdagents.max_rounds=1")
    assert "setting medagents.max_rounds='many'" in complaint(*team, "--set", "max_rounds=many")
    assert "setting medagents.votes='loud'" in complaint(*team, "--set", "votes=loud")
    assert "is none of the methods: medagents" in complaint(*team, "--baseline", "zero_shot")
    assert "allowed: all, or a whole number" in complaint(*command, "--limit", "many")
    assert "--limit 0; allowed: 1 or more" in complaint(*command, "--limit", 0)
    assert "no folder" in complaint(*command, "--out", tmp_path / "no" / "out")
    assert "no such file" in complaint(*exam(tmp_path / "none.jsonl", "http://127.0.0.1:9/v1"))
    assert "no such file" in complaint(*command, "--set", f"exam.examples={tmp_path / 'none.jsonl'}")
    assert "--match" in complaint(*command, "--match", "money")
    assert "retrieval.passages has no effect without a corpus" in complaint(*command, "--set", "retrieval.passages=3")
    tree = (*command, "--method", "tree_of_reasoning", "--set", "retrieval=false", "--corpus", "books")
    assert "--corpus books has no effect with retrieval=false" in complaint(*tree)
    # What a method itself does not take is said before anything is asked.
    assert "0 and 0 experts" in complaint(*team, "--set", "question_experts=0", "--set", "option_experts=0")


@pytest.mark.slow
@each_row(
    ("dataset", "lines", "problem"),
    [
        ("medqa", [{"question": "Why?", "answer_idx": "A"}], "line 1, $.options: nothing is here"),
        ("medqa", [record(1), record(2) | {"answer_idx": "E"}], "line 2, $.answer_idx: the right answer is 'E'"),
        (
            "medmcqa",
            [{"id": "m", "question": "?", "opa": "1", "opb": "2", "opc": "3", "opd": "4", "cop": 1}] * 2,
            "line 2, $.id: the id 'm' stands in line 1 already",
        ),
        (
            "any",
            [{"question": {"id": "o", "stem": "Why?", "options": {"A": "1", "B": "2"}}, "key": ["C"]}],
            "the right answer is 'C'; the options are A, B",
        ),
        ("medqa", ["{"], "line 1"),
        ("medqa", ["1"], "JSON object"),
    ],
)
def test_bad_files_are_one_clear_line(complaint, tmp_path, dataset, lines, problem):
    path = tmp_path / "bad.jsonl"
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines), "utf-8")
    told = complaint(*exam(path, "http://127.0.0.1:9/v1", dataset=dataset))
    assert "bad.jsonl" in told
    assert problem in told


@pytest.mark.slow
def test_a_budget_ends_the_run_and_the_run_goes_on(run, medqa, tmp_path, serving):
    with serving(team_answers) as endpoint:
        command = exam(medqa, endpoint.url, "--method", "medagents", "--json", "--out", tmp_path / "kept")
        stopped = run(*command, "--token-budget", 3000, code=1)
        part = json.loads(stopped.stdout)
        assert part["methods"] == [] and "missing: medagents 10 of 10" in part["stopped"]
        assert (
            "missing: medagents 10 of 10; the evaluation is not over, and the same command resumes from"
            in stopped.stderr
        )
        assert len(json.loads(run(*command).stdout)["methods"][0]["questions"]) == 10


def without_times(document):
    for method in document["methods"]:
        method["cost"].pop("seconds")
    return document


AT_ONCE = 4


@pytest.mark.slow
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_killed_goes_on(run, medqa, tmp_path, serving, blow):
    """Nothing that was answered and stored is asked again; what was under way at the blow may be, and nothing else."""

    def command(url, journal):
        more = (
            "--method",
            "medagents",
            "--concurrency",
            AT_ONCE,
            "--out",
            tmp_path / journal,
            "--json",
            "--limit",
            4,
        )
        return exam(medqa, url, *more)

    with serving() as endpoint:
        whole = run(*command(endpoint.url, "whole"))
        full = endpoint.requests
    # From a third of the answers on, none comes: the blow finds it at work, however slow the machine.
    with serving(plan=[None] * (full // 3) + ["hang"] * full) as endpoint:
        words = [sys.executable, "-m", "polyclinic", *map(str, command(endpoint.url, "broken"))]
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"LANG": "C.UTF-8"}
        )
        while endpoint.requests <= full // 3 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(blow)
        said, told = process.communicate(timeout=100)
        if blow == signal.SIGINT:
            assert process.returncode == 130
            assert "Traceback" not in told
            assert "missing: medagents" in json.loads(said)["stopped"]
        else:
            assert said == ""
        before = endpoint.requests
        assert full // 3 < before <= full // 3 + AT_ONCE
    with serving(port=int(endpoint.url.split(":")[2].split("/")[0])) as endpoint:
        again = run(*command(endpoint.url, "broken"))
        asked = before + endpoint.requests
        # A second time there is nothing left to ask.
        assert without_times(json.loads(run(*command(endpoint.url, "broken")).stdout)) == without_times(
            json.loads(again.stdout)
        )
        assert before + endpoint.requests == asked
    assert without_times(json.loads(again.stdout)) == without_times(json.loads(whole.stdout))
    assert 0 <= asked - full <= AT_ONCE
    assert asked - before < full


# A model of 135 million parameters on two cores: one question, as few calls as a method allows, and short answers;
# many of them are cut off, which is an answer that cannot be read and no failure. One method asks for text and one for
# JSON by a schema; what each does with what comes, tests/methods/test_conformance.py has for all of them.
SHORT = ("--limit", 1, "--set", "exam.answer-tokens=24", "--match", "none", "--set", "question_experts=1", "--set")


@pytest.mark.slow
def test_the_small_model_answers_offline(medqa, tmp_path):
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    try:
        local.find_smollm2()
    except MissingExtra as missing:
        pytest.skip(str(missing))
    # Threads of one model wait for one another by turning, and for nothing while other tests have the processors.
    (tmp_path / "models.toml").write_text("[models.local]\nthreads = 1\n")
    words = [
        "eval",
        "exam",
        "medqa",
        medqa,
        "--model",
        "local",
        "--set",
        f"models.model-file={tmp_path / 'models.toml'}",
    ]
    words += ["--method", "zero_shot", "medagents", *SHORT]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "polyclinic",
            *map(str, words),
            "option_experts=0",
            "--set",
            "stages=analysis",
            "--json",
        ],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"LANG": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stderr
    methods = json.loads(done.stdout)["methods"]
    assert len(methods) == 2
    for method in methods:
        assert (method["n"], method["failed"]) == (1, 0)
        assert method["unreadable"] + method["readable_accuracy"]["n"] == 1
        assert all(question["calls"] for question in method["questions"])
