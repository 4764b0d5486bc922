"""`polyclinic run` as a user meets it: the same log whatever happens on the way."""

import json
import signal
import subprocess
import sys
import time

import pytest
from tests.tables import each_row

RUN = ("run", "--residents", "100", "--days", "2", "--set", "run.load=0.05", "--seed", "4")
SMALL = ("run", "--residents", "40", "--days", "1", "--set", "run.load=0.05", "--seed", "4")
KEYS = {
    "residents",
    "days",
    "seed",
    "visits",
    "events",
    "log_hash",
    "accuracy",
    "recovered",
    "wall_seconds",
    "calls",
    "failed",
    "waiting",
    "utilisation",
    "admitted",
    "died",
    "by_disease",
}


@pytest.fixture(scope="module")
def kept(run, tmp_path_factory):
    """The folder of a run that nothing has disturbed, and what it printed."""
    folder = tmp_path_factory.mktemp("whole") / "kept"
    return folder, run(*RUN, "--out", folder, "--json").stdout


@pytest.fixture(scope="module")
def whole(kept):
    """The document of that run."""
    return json.loads(kept[1])


def same(document):
    """What must not depend on how a run was computed."""
    return {name: value for name, value in document.items() if name not in ("wall_seconds", "happenings")}


@pytest.mark.slow
def test_what_is_printed(run, kept, whole):
    assert whole.keys() >= KEYS
    assert set(whole["accuracy"]) == {"triage", "examination", "diagnosis", "treatment"}
    assert (whole["residents"], whole["seed"], whole["failed"], whole["calls"]) == (100, 4, 0, 0)
    assert whole["visits"] > 0
    assert all(0 <= value <= 100 for value in whole["accuracy"].values())
    assert list(whole["waiting"]) == ["emergency", "urgent", "routine"]
    assert all(part.keys() >= {"mean", "p90", "n"} for part in whole["waiting"].values())
    assert set(whole["utilisation"]) == {"doctor", "nurse", "technician", "pharmacist", "clerk"}
    assert all(0 < percent <= 100 for percent in whole["utilisation"].values())
    assert sum(part["visits"] for part in whole["by_disease"].values()) == whole["summary"]["arrived"]
    assert whole["admitted"] == sum(part["admitted"] for part in whole["by_disease"].values())
    assert whole["died"] == whole["summary"]["died"]
    summary = whole["summary"]
    ended = summary["seen"] + sum(summary["left"].values()) + sum(summary["failed"].values()) + summary["died_inside"]
    assert summary["arrived"] == ended + summary["inside"]
    shown = run(*RUN, "--out", kept[0]).stdout
    for word in (
        "came to the hospital",
        "right diagnosis",
        "minutes until called",
        "doctor",
        "by disease",
        "by the hour",
        whole["log_hash"],
    ):
        assert word in shown


def test_an_event_after_the_end_is_refused(complaint):
    told = complaint("run", "--days", "1", "--event", "absent doctor neurology")
    assert "'absent doctor neurology' comes after the run's end, 1 day;" in told


@pytest.mark.slow
def test_another_seed_or_lookahead_is_another_run(run, whole):
    other = json.loads(run(*RUN[:-1], "5", "--json").stdout)
    assert other["log_hash"] != whole["log_hash"]
    # Who plays here learns nothing, so that looking further ahead changes nothing either.
    assert json.loads(run(*RUN, "--set", "run.lookahead=0", "--json").stdout)["log_hash"] == whole["log_hash"]


@pytest.mark.slow
def test_a_finished_run_says_the_same_again(run, complaint, kept):
    folder, first = kept
    assert run(*RUN, "--out", folder, "--json").stdout == first
    other = complaint(*RUN, "--out", folder, "--doctor", "recall")
    assert "holds a run with doctor rules, not recall; name another folder" in other
    assert json.loads((folder / "summary.json").read_text())["log_hash"] == json.loads(first)["log_hash"]


def begin(folder, *options, town=RUN):
    command = [sys.executable, "-m", "polyclinic", *town, "--out", str(folder), *map(str, options)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def written(folder):
    return sum(path.stat().st_size for path in folder.glob("run.sqlite*"))


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_to_the_same_end(run, whole, tmp_path):
    folder = tmp_path / "kept"
    process = begin(folder)
    while process.poll() is None and written(folder) < 60_000:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    again = json.loads(run(*RUN, "--out", folder, "--json").stdout)
    assert same(again) == same(whole)


@pytest.mark.slow
def test_stopped_by_hand_it_says_how_to_go_on(run, tmp_path, serving):
    with serving(plan=["hang"]) as endpoint:  # without its first answer the run does not end
        folder = tmp_path / "kept"
        options = ("--set", "run.nurse=direct/n", "--base-url", endpoint.url, "--set", "run.max-failures=100")
        process = begin(folder, *options, town=SMALL)
        while not endpoint.requests and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "the same command resumes from there" in stderr
        assert "Traceback" not in stderr
        document = json.loads(run(*SMALL, "--out", folder, *options, "--json").stdout)
        assert document["calls"] >= document["visits"] > 0


@pytest.mark.slow
def test_every_call_of_a_run_stands_in_its_folder(run, tmp_path, serving):
    with serving() as endpoint:
        few = ("run", "--residents", 30, "--days", 1, "--seed", 4)
        out = ("--out", tmp_path / "run", "--json")
        document = json.loads(run(*few, "--set", "run.nurse=direct/n", "--base-url", endpoint.url, *out).stdout)
        asked = endpoint.requests
    calls = [json.loads(line) for line in (tmp_path / "run" / "calls.jsonl").read_text("utf-8").splitlines()]
    assert len(calls) == document["calls"] > 0 and len(calls) == asked
    assert {(call["role"], call["model"]) for call in calls} == {("nurse", "direct/n")}
    assert sum(call["tokens_in"] + call["tokens_out"] for call in calls) == document["tokens"]
    record = json.loads((tmp_path / "run" / "results.json").read_bytes())
    assert sum(one["calls"] for one in record["calls"]) == len(calls)


@pytest.mark.slow
def test_with_faults_every_visit_is_accounted_for(run, serving):
    with serving(latency=0.001, faults=0.05) as endpoint:
        done = run(
            *SMALL, "--set", "run.nurse=direct/n", "--doctor", "direct/d", "--base-url", endpoint.url, "--json",
            "--set", "run.max-failures=100",
        )  # fmt: skip
        document = json.loads(done.stdout)
        summary = document["summary"]
        left, failed = sum(summary["left"].values()), sum(summary["failed"].values())
        ended = summary["seen"] + left + failed + summary["died_inside"]
        assert summary["arrived"] == ended + summary["inside"]
        assert document["failed"] == failed
        assert document["calls"] > 0


@pytest.mark.slow
def test_it_says_why_the_first_visit_failed(run, tmp_path):
    (tmp_path / "bad.py").write_text("def doctor(ask, role):\n    return 5\n")
    words = ("run", "--residents", "30", "--days", "1", "--doctor", "bad.py:doctor")
    done = run(*words, "--out", "kept", cwd=tmp_path, code=1)
    assert "visits failed (the first: resident " in done.stderr
    assert "WrongAnswer" in done.stderr
    assert "first_failure" not in (tmp_path / "kept" / "summary.json").read_text()
    assert "WrongAnswer" in run(*words, "--set", "run.max-failures=100", cwd=tmp_path).stderr
    assert run(*words, "--set", "run.max-failures=100", "--json", cwd=tmp_path).stderr == ""


@pytest.mark.slow
def test_visits_end_the_run(run):
    document = json.loads(run("run", "--residents", "300", "--visits", "12", "--json").stdout)
    assert document["visits"] == 12


@pytest.mark.slow
def test_replicas_are_runs_of_their_own(run, whole, tmp_path):
    document = json.loads(run(*RUN, "--replicas", "2", "--out", tmp_path / "kept", "--json").stdout)
    assert document["seeds"] == [4, 5]
    assert same(document["runs"][0]) == same(whole)
    assert document["means"]["accuracy.diagnosis"]["n"] == 2
    assert (tmp_path / "kept" / "seed-5" / "run.sqlite").exists()


@pytest.mark.slow
def test_chinese(run):
    document = json.loads(run("run", "--residents", "60", "--days", "1", "--language", "zh", "--json").stdout)
    assert document["failed"] == 0
    assert document["visits"] > 0


@pytest.mark.slow
@each_row(
    ("options", "problem"),
    [
        (("--residents", "0"), "--residents"),
        (("--days", "3", "--set", "run.warm-up=3"), "run.warm-up 3 leaves nothing of 3 days"),
        (("--replicas", "0"), "--replicas 0; allowed: how many runs, 1 or more, or auto"),
        (("--replicas", "some"), "--replicas some"),
        (("--replicas", "auto", "--set", "replicas.measure=luck"), "replicas.measure luck; allowed: visits, "),
        (("--hospital", "missing.yaml"), "missing.yaml"),
        (("--doctor", "nobody"), "no mind 'nobody'"),
        (("--set", "run.nurse=nobody"), "'nobody'"),
        (("--resume", "nowhere"), "--resume is gone; use the command that began the run, with the same --out"),
    ],
)
def test_bad_input_is_one_line(run, options, problem, tmp_path):
    done = run("run", *options, code=2, cwd=tmp_path)
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_folder_that_holds_something_else_is_left_alone(run, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    done = run(*RUN, "--out", tmp_path, code=2)
    assert "thesis.txt" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.slow
def test_models_stand_for_nature(run, tmp_path, serving):
    with serving(latency=0.001) as endpoint:
        command = (*SMALL, "--set", "run.profiles=direct/p", "--set", "run.course=direct/c", "--base-url", endpoint.url)
        document = json.loads(run(*command, "--json", "--out", tmp_path / "kept").stdout)
        assert (document["profiles"], document["course"]) == ("direct/p", "direct/c")
        outcomes = document["summary"]["follow_ups"]
        assert document["calls"] >= document["summary"]["fell_ill"]
        assert not any(name.startswith("failed") for name in outcomes)
        asked = endpoint.requests
        assert json.loads(run(*command, "--json").stdout)["log_hash"] == document["log_hash"]
        assert endpoint.requests > asked


@pytest.mark.slow
def test_what_a_model_could_not_say_is_counted_and_the_world_goes_on(run, serving):
    town = ("run", "--residents", "150", "--visits", "25", "--seed", "4", "--json")
    whole = json.loads(run(*town).stdout)
    with serving(latency=0.001, faults=1.0, kinds=["refusal"]) as refusing:
        document = json.loads(
            run(
                *town, "--set", "run.profiles=direct/p", "--set", "run.course=direct/c", "--base-url", refusing.url
            ).stdout
        )
    outcomes = document["summary"]["follow_ups"]
    assert outcomes.pop("failed: Refused") > 0
    assert sum(document["profile_failures"].values()) > 0
    # Nothing was put in the place of what did not come: all goes on as without the models.
    assert outcomes == whole["summary"]["follow_ups"]
    assert document["visits"] == whole["visits"]
