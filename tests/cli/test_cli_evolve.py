"""`polyclinic evolve` and `polyclinic memory`: what is printed, what is kept, and what is refused."""

import json
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience
from polyclinic.memory.memory import About, New, open_memory
from polyclinic.memory.opening import version_of

HOW = ("--set", "practice.batch=20", "--set", "practice.test-every=60")
KEYS = {"curve", "final", "cap", "constant", "records", "experience", "wrong", "wall_seconds"}
TASKS = {"examination", "diagnosis", "treatment"}


@pytest.fixture(scope="module")
def files(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("patients")
    for name, n, seed in (("train", 120, 1), ("test", 40, 2)):
        run(
            "cases",
            "generate",
            "--n",
            n,
            "--seed",
            seed,
            "--diseases",
            "respiratory",
            "--out",
            folder / f"{name}.jsonl",
        )
    return "--train", folder / "train.jsonl", "--test", folder / "test.jsonl"


@pytest.fixture(scope="module")
def evolved(run, files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory") / "one"
    document = run("evolve", *files, *HOW, "--out", folder, "--json").stdout
    return folder, json.loads(document)


@pytest.mark.slow
def test_the_document(evolved):
    folder, document = evolved
    assert document.keys() >= KEYS
    assert [point["patients"] for point in document["curve"]] == [0, 60, 120]
    for point in document["curve"]:
        assert point.keys() >= TASKS
        assert point["train"].keys() == TASKS
        assert all(point[part].keys() == TASKS for part in ("records", "experience", "wrong"))
    assert document["final"] == {task: document["curve"][-1][task] for task in TASKS}
    assert document["records"] == sum(document["curve"][-1]["records"].values())
    assert json.loads((folder / "summary.json").read_text()) == document
    assert [one["patients"] for one in document["snapshots"]] == [0]
    assert document["ablations"]["right"]["both"] == document["final"]
    assert len(document["ablations"]["by_k"]) == 11
    assert all(f"Figure {n}" in (folder / "report.html").read_text() for n in range(6, 15))


@pytest.mark.slow
def test_it_is_printed_and_a_finished_practice_is_printed_again(run, files, evolved):
    folder, document = evolved
    shown = run("evolve", *files, *HOW, "--out", folder, "--ablations", "no").stdout
    for words in ("treated rightly", "at the end", "by disease", "constant", f"{document['cap']['diagnosis']:.1f}"):
        assert words in shown


@pytest.mark.slow
def test_a_memory_is_shown_exported_and_merged(run, evolved, tmp_path):
    folder, document = evolved
    shown = json.loads(run("memory", "show", folder, "--json").stdout)
    assert sum(one["records"] for one in shown["tasks"].values()) == document["records"]
    assert "experience: " in run("memory", "show", folder).stdout
    run("memory", "show", folder, "--out", tmp_path / "all.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert len(lines) == document["records"] + document["experience"]
    assert all(line["asked"]["case"].startswith("p1-") for line in lines)
    run("memory", "build", folder, folder, "--out", tmp_path / "both")
    assert len(run("memory", "show", tmp_path / "both").stdout) == len(run("memory", "show", folder).stdout)
    some = json.loads(run("memory", "show", f"{folder}@60", "--json").stdout)["tasks"]
    assert {name: one["records"] for name, one in some.items()} == document["curve"][1]["records"]


@pytest.mark.slow
def test_what_is_near_is_of_those_who_said_the_same(run, complaint, evolved, tmp_path):
    folder, _ = evolved
    run("memory", "show", folder, "--out", tmp_path / "all.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    of = next(line for line in lines if line["task"] == "diagnosis" and line["kind"] == "record")
    said = of["asked"]["query"].splitlines()
    near = json.loads(run("memory", "show", folder, "--near", *said, "--limit", 2, "--json").stdout)["near"]
    first = next(one for one in near if one["task"] == "diagnosis")
    assert {name: first[name] for name in of} == of and first["cosine"] == 1.0
    kinds = [(one["task"], one["kind"]) for one in near]
    assert len(set(kinds)) == 6 and all(kinds.count(one) == 2 for one in kinds)
    shown = run("memory", "show", folder, "--near", *said, "--task", "diagnosis")
    assert f"1.000  diagnosis, {of['asked']['case']}" in shown.stdout and "the cosine of case-words" in shown.stderr
    before = json.loads(run("memory", "show", f"{folder}@20", "--near", *said, "--json").stdout)["near"]
    assert before and all(one["asked"]["number"] <= 20 for one in before)
    assert "--near is empty" in complaint("memory", "show", folder, "--near", " ")


def test_a_memory_is_rebuilt_with_another_embedder(run, complaint, evolved, tmp_path):
    pytest.importorskip("wordllama")
    folder, document = evolved
    run("memory", "build", folder, "--embedder", "wordllama", "--out", tmp_path / "other")
    shown = json.loads(run("memory", "show", tmp_path / "other", "--json").stdout)
    assert (shown["about"]["embedder"], shown["about"]["dimensions"]) == ("wordllama", 256)
    assert sum(one["records"] for one in shown["tasks"].values()) == document["records"]
    other = complaint("memory", "build", folder, tmp_path / "other", "--out", tmp_path / "no")
    assert f"cannot be merged with {folder}: was made with embedder" in other and "memory build" in other


@pytest.mark.slow
def test_what_is_wrong_is_one_line(complaint, files, evolved, tmp_path):
    train, test, new = files[:2], files[2:], ("--out", tmp_path / "new")
    for words, problem in (
        ((*files,), "say where with --out"),
        ((*train, *new), "--test is missing"),
        ((*train, "--test", train[1], *new), "shares 120 patients"),
        (("--train", "inpatients", *test, *new), "no severity; needed: mild"),
        (
            (*files, "--set", "practice.records-only=true", "--set", "practice.experience-only=true", *new),
            "leave nothing to remember",
        ),
        ((*files, "--doctor", "rules", *new), "does not learn; allowed: recall"),
        ((*files, "--out", evolved[0]), "was run with --batch 20, and is now with --batch 1; name another --out"),
        ((*files, "--resume", tmp_path), "--resume is gone; use the command that began the practice"),
        ((*files, *new, "--set", "practice.batch=0"), "1 or more"),
        ((*files, *new, "--set", "memory.embedder=no"), "no embedder 'no'; there are: case-words, wordllama"),
        (
            (*files, *new, "--set", "practice.feedback=outcome", "--set", "practice.experience-only=true"),
            "no experience",
        ),
        (
            (*files, *HOW, "--out", evolved[0], "--set", "memory.embedder=wordllama"),
            "was run with --embedder case-words",
        ),
        ((*files, *HOW, "--out", evolved[0], "--set", "memory.k=3"), "was run without --k, and is now with --k 3"),
        ((*files, *HOW, "--out", evolved[0], "--set", "practice.records-only=true"), "was run without --records-only"),
    ):
        assert problem in complaint("evolve", *words), words
    assert not (tmp_path / "new").exists()
    assert "holds no memory.sqlite" in complaint("memory", "show", tmp_path)
    assert "at least two" in complaint("memory", "build", evolved[0], *new)


def test_the_same_patient_by_another_name_is_the_same_patient(complaint, files, tmp_path):
    lines = files[1].read_text().splitlines()[:3]
    (tmp_path / "test.jsonl").write_text("\n".join(line.replace('"p1-', '"other-') for line in lines) + "\n")
    said = complaint("evolve", *files[:2], "--test", tmp_path / "test.jsonl", "--out", tmp_path / "new")
    assert "shares 3 patients" in said
    assert "other-00001, other-00002, other-00003" in said


def test_one_patient_with_the_name_of_another_is_found(complaint, files, tmp_path):
    line = json.loads(files[1].read_text().splitlines()[0])
    line["id"], line["record"]["presentation"]["about"] = "other", "Jane Doe, teacher"
    (tmp_path / "test.jsonl").write_text(files[3].read_text() + json.dumps(line) + "\n")
    said = complaint("evolve", *files[:2], "--test", tmp_path / "test.jsonl", "--out", tmp_path / "new")
    assert f"shares 1 patient with {files[1]}: other" in said


def test_a_patient_with_none_of_the_eight_diseases_is_named(run, complaint, files, tmp_path):
    heart, chinese = tmp_path / "heart.jsonl", tmp_path / "zh.jsonl"
    run("cases", "generate", "--n", 1, "--seed", 5, "--diseases", "cardiology", "--out", heart)
    named = json.loads(heart.read_text())["truth"]["diagnoses"][0]["name"]
    for words in (("--train", heart, *files[2:]), (*files[:2], "--test", heart)):
        said = complaint("evolve", *words, "--out", tmp_path / "new")
        assert f"case 'p5-00001' has the disease {named!r}; allowed: Acute Nasopharyngitis" in said
        assert "polyclinic cases generate --preset agent-hospital --out DIR" in said
    run("cases", "generate", "--n", 1, "--seed", 5, "--diseases", "respiratory", "--language", "zh", "--out", chinese)
    assert "is in 'zh', and" in complaint("evolve", *files[:2], "--test", chinese, "--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_practice_is_estimated_and_nothing_is_written(run, files, tmp_path):
    for name, n in (("train", 6), ("test", 2)):
        some = files[1 if name == "train" else 3].read_text().splitlines(keepends=True)[:n]
        (tmp_path / name).write_text("".join(some))
    few = ("--train", tmp_path / "train", "--test", tmp_path / "test", "--out", tmp_path / "new", "--dry-run")
    expected = json.loads(run("evolve", *few, "--doctor", "direct/a", "--json").stdout)
    # Two tests, before and after, and the practice: three questions for each patient, and what mistakes cost.
    assert expected["calls"] >= 3 * (2 + 6 + 2) and expected["tokens_in"] > 0
    assert "No model is asked" in run("evolve", *few).stdout
    assert not (tmp_path / "new").exists()


def test_an_empty_file_of_patients_is_one_line(complaint, files, tmp_path):
    (tmp_path / "none.jsonl").write_text("")
    assert "none.jsonl" in complaint("evolve", "--train", tmp_path / "none.jsonl", *files[2:], "--out", tmp_path / "x")


def test_what_is_no_case_is_named_and_left_out(run, complaint, files, tmp_path):
    train, test = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
    train.write_text("\n".join(["{broken", *files[1].read_text().splitlines()[:2]]))
    whole = [json.loads(line) for line in files[3].read_text().splitlines()[:3]]
    del whole[1]["truth"]["severity"]
    whole[2]["truth"]["diagnoses"] = []
    test.write_text("\n".join(map(json.dumps, whole)))
    words = ("evolve", "--train", train, "--test", test, "--ablations", "no", "--out", tmp_path / "new")
    assert "train.jsonl, line 1: " in complaint(*words, "--set", "cases.strict=true")
    told = run(*words).stderr
    for words in (
        "left out: train.jsonl, line 1: ",
        "1 case of 3 left out of train.jsonl; cases.strict stops instead",
        "line 2 (id p2-00002): case 'p2-00002': no severity; needed: mild, moderate, severe",
        "line 3 (id p2-00003): case 'p2-00003': no diagnosis to learn from",
    ):
        assert words in told, words
    shares = json.loads((tmp_path / "new" / "results.json").read_text())["cases"]
    assert [(one["file"], one["records"], one["used"]) for one in shares] == [
        ("train.jsonl", 3, 2),
        ("test.jsonl", 3, 1),
    ]


@pytest.mark.slow
def test_a_model_learns_and_nothing_is_asked_twice(run, serving, files, tmp_path):
    with serving() as endpoint:
        options = ("--doctor", "direct/some", "--base-url", endpoint.url, "--set", "practice.test-every=30")
        small = tmp_path / "small.jsonl"
        small.write_text("".join(files[1].read_text().splitlines(keepends=True)[:6]))
        few = ("--train", small, *files[2:])
        document = json.loads(run("evolve", *few, *options, "--out", tmp_path / "m", "--json").stdout)
        assert document["doctor"] == "direct/some"
        asked = endpoint.requests
        assert asked
        run("evolve", *few, *options, "--out", tmp_path / "m")
        assert endpoint.requests == asked


@pytest.mark.slow
def test_a_practice_that_was_killed_goes_on_to_the_same_end(run, files, evolved, tmp_path):
    words = [
        sys.executable,
        "-m",
        "polyclinic",
        "evolve",
        *map(str, files),
        "--set",
        "practice.batch=20",
        "--set",
        "practice.test-every=60",
    ]
    folder = tmp_path / "0"
    started = subprocess.Popen([*words, "--out", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (folder / "evolve.json").exists() and started.poll() is None:
        time.sleep(0.01)
    time.sleep(0.2)
    started.send_signal(signal.SIGKILL)
    started.wait()
    document = json.loads(run("evolve", *files, *HOW, "--out", folder, "--json").stdout)
    expected = dict(evolved[1])
    assert document | {"wall_seconds": 0} == expected | {"wall_seconds": 0}


@pytest.mark.slow
def test_several_practices_differ_in_order_and_say_their_mean(run, complaint, files, tmp_path):
    words = ("evolve", *files, "--set", "practice.batch=60", "--set", "practice.test-every=60", "--ablations", "no")
    several = (*words, "--replicas", 2, "--out", tmp_path / "two")
    came = json.loads(run(*several, "--json").stdout)
    one, other = came["runs"]
    assert one["curve"][1:] != other["curve"][1:]
    alone = ("--seed", 1, "--set", "practice.order=shuffled", "--out", tmp_path / "alone", "--json")
    assert other | {"wall_seconds": 0} == json.loads(run(*words, *alone).stdout) | {"wall_seconds": 0}
    for at, point in enumerate(came["curve"]):
        for task in TASKS:
            values, mean = {run["curve"][at][task] for run in (one, other)}, point[task]
            assert mean["mean"] == pytest.approx(sum(run["curve"][at][task] for run in (one, other)) / 2)
            if len(values) == 1:
                assert (mean["low"], mean["high"]) == (None, None)
            else:
                assert 0 <= mean["low"] < mean["mean"] < mean["high"] <= 100
    assert came["final"] == {task: came["curve"][-1][task] for task in TASKS}
    assert "mean of 2 practices" in run(*several).stdout  # taken as they are
    assert (tmp_path / "two" / "report.html").read_text().count("<polygon") == len(TASKS)
    run("report", tmp_path / "two")
    assert (tmp_path / "two" / "results.html").is_file() and "<polygon" in (
        tmp_path / "two" / "report.html"
    ).read_text()
    shown = run("memory", "show", tmp_path / "two")
    assert "seed-1" in shown.stdout and f"polyclinic memory show {tmp_path / 'two' / 'seed-1'}" in shown.stderr
    shutil.rmtree(tmp_path / "two" / "seed-1")
    again = json.loads(run(*several, "--json").stdout)["runs"]
    assert [again[0], again[1] | {"wall_seconds": 0}] == [one, other | {"wall_seconds": 0}]
    assert "was run with --batch 60" in complaint("evolve", *files, "--set", "practice.batch=30", *several[-4:])
    for wrong, told in {
        ("--replicas", "2"): "a practice is kept; say where with --out",
        ("--replicas", "2", "--on", "local:2"): "say where with --out",
        ("--on", "local:2", "--out", tmp_path / "none"): "say how many with --replicas N",
    }.items():
        assert told in complaint(*words, *wrong)


def test_the_patients_of_the_paper_are_one_set_in_two_files(run, complaint, tmp_path, monkeypatch):
    monkeypatch.setattr("polyclinic.cli.case_generate._TRAIN", 48)
    monkeypatch.setattr("polyclinic.cli.case_generate._TEST", 24)
    run("cases", "generate", "--preset", "agent-hospital", "--seed", 3, "--out", tmp_path / "set")
    named = [
        [json.loads(line) for line in (tmp_path / "set" / f"{name}.jsonl").read_text().splitlines()]
        for name in ("train", "test")
    ]
    assert [len(one) for one in named] == [48, 24]
    assert {one["id"] for one in named[0]}.isdisjoint(one["id"] for one in named[1])
    for part, each in zip(named, (2, 1), strict=True):
        strata = [(one["truth"]["diagnoses"][0]["name"], one["truth"]["severity"]) for one in part]
        assert {strata.count(one) for one in strata} == {each}
    assert "says how many" in complaint("cases", "generate", "--preset", "agent-hospital", "--n", 5, "--out", tmp_path)


def test_a_memory_is_for_visits_in_its_language(run, complaint, evolved, tmp_path):
    mind = tmp_path / "mind.py"
    mind.write_text("def doctor(ask, role):\n    return ['x']\n")
    before = ("--doctor", f"{mind}:doctor", "--memory", evolved[0])
    assert "is in 'en', and the visit in 'zh'" in complaint("consult", "shipped-zh#p1-00001", *before)
    asked = ("--cases", "shipped-zh", "--limit", 1, *before)  # said once, before anybody is met
    for evaluation in ("aie", "mvme"):
        said = run("eval", evaluation, *asked, code=2).stderr
        assert said.count("is in 'en', and the visit in 'zh'") == 1 and "polyclinic: " in said.splitlines()[-1]
    town = ("run", "--hospital", "agent-hospital", "--visits", 2, "--doctor", "recall", "--language", "zh")
    assert "is in 'en', and the town in 'zh'; give --language en" in complaint(
        *town, "--set", f"learning.memory={evolved[0]}"
    )


@pytest.mark.slow
def test_two_memories_of_the_same_patients_are_merged_without_having_them_twice(run, files, evolved, tmp_path):
    folder, document = evolved
    renamed = tmp_path / "renamed.jsonl"
    renamed.write_text(files[1].read_text().replace('"p1-', '"other-'))
    options = ("--set", "practice.batch=40", "--set", "practice.test-every=120", "--seed", 9, "--ablations", "no")
    run("evolve", "--train", renamed, *files[2:], *options, "--out", tmp_path / "other")
    run("memory", "build", folder, tmp_path / "other", "--out", tmp_path / "both")
    run("memory", "show", tmp_path / "both", "--out", tmp_path / "both.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "both.jsonl").read_text().splitlines()]
    assert len(lines) >= document["records"] + document["experience"]
    of_patient = [(line["task"], line["asked"]["case"].partition("-")[2]) for line in lines]
    assert len(set(of_patient)) == len(of_patient)


def test_an_outcome_has_no_retest(run, tmp_path):
    asked = AskedTask(case="r1", number=1, query="a cough", options=("x", "y"))
    worse = Experience(asked=asked, before="x", after="", right=(), principle="Worse after x.", judged_by="outcome")
    with open_memory(tmp_path, About(embedder="case-words", dimensions=2, knowledge="8 diseases")) as memory:
        memory.commit([New(ClinicalTask.DIAGNOSIS, worse, np.ones(2, "f4"))])
    assert "experience: x -> no retest. Worse after x." in run("memory", "show", tmp_path).stdout


def test_what_was_exported_is_imported_again(run, complaint, evolved, tmp_path):
    run("memory", "show", evolved[0], "--out", tmp_path / "all.jsonl")
    run("memory", "build", tmp_path / "all.jsonl", "--out", tmp_path / "again")
    with open_memory(evolved[0]) as before, open_memory(tmp_path / "again") as after:
        assert version_of(after) == version_of(before)
        for task in ClinicalTask:
            assert np.array_equal(after.records[task].vectors, before.records[task].vectors)
    assert "the folder holds" in complaint("memory", "build", tmp_path / "all.jsonl", "--out", tmp_path / "again")
    for text, problem in (
        ("", "the file is empty"),
        ("[1]", "Expected `object`"),
        ('{"kind": "no"}', "kind 'no'; allowed: record, experience, reading"),
        ('{"kind": "record", "task": "no"}', "Invalid enum value 'no'"),
        ((tmp_path / "all.jsonl").read_text().splitlines()[0], "holds nothing of diagnosis and treatment"),
    ):
        (tmp_path / "bad.jsonl").write_text(text)
        assert problem in complaint("memory", "build", tmp_path / "bad.jsonl", "--out", tmp_path / "new"), text
    assert not (tmp_path / "new").exists()
    assert "gone.jsonl" in complaint("memory", "build", tmp_path / "gone.jsonl", "--out", tmp_path / "new")


def test_a_practice_goes_on_as_it_was_begun_or_is_refused_by_name(run, complaint, files, evolved, tmp_path):
    for option, value, said in (
        ("--set", "practice.test-every=100", "was run with --test-every 60"),  # which holds if nothing is said
        ("--temperature", "0.5", "was run without --temperature"),
    ):
        how = () if value.startswith("practice") else HOW[2:]
        assert said in complaint("evolve", *files, *HOW[:2], *how, "--out", evolved[0], option, value), option
    folder = tmp_path / "begun"
    shutil.copytree(evolved[0], folder)
    begun = json.loads((folder / "evolve.json").read_text())
    assert [one["option"] for one in begun["data"]] == ["train", "test"]
    (other,) = begun["data"][:1]
    for changed, said in (
        ({"versions": begun["versions"] | {"knowledge": "x"}}, "another version of knowledge"),
        ({"data": [other | {"sha256": "x"}]}, "train.jsonl has changed since this was run"),
    ):
        (folder / "evolve.json").write_text(json.dumps(begun | changed))
        assert said in complaint("evolve", *files, *HOW, "--out", folder), said
