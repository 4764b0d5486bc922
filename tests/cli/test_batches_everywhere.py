"""`models.batch-api` over all commands: those that ask without a dialogue take it, others are named with the reason."""

import json
from pathlib import Path

import pytest
from tests.cli.test_stores_everywhere import options_of

from polyclinic.cli.commands import COMMANDS
from polyclinic.models import batch
from polyclinic.run.batching import DIALOGUE

_PRACTICE = "what is learnt of one patient is in mind at the next, thousands of times one after another"
_SOMEBODY = "somebody waits for the answer"
_VECTORS = "it asks for vectors, and batches are of questions"
_NO_BATCHES = "it keeps no ids of batches"

WITHOUT_BATCHES = {
    "consult": DIALOGUE,
    "eval aie": DIALOGUE,
    "eval reliability": DIALOGUE,
    "run": DIALOGUE,
    "cases patient-test": "the questions behind a round are asked for when those of the round before are there",
    "evolve": _PRACTICE,
    "ask": _SOMEBODY,
    "models check": _SOMEBODY,
    "serve": _SOMEBODY,
    "corpus add": _VECTORS,
    "corpus search": _VECTORS,
    "memory build": _VECTORS,
    "memory show": _VECTORS,
    "cases generate": _NO_BATCHES,
    "memory read": _NO_BATCHES,
    "study run": "a plan says batch_api = true of those of its runs that take it",
}
"""Commands that ask models, and not by batches; each with its reason."""


@pytest.mark.slow
def test_whoever_asks_models_does_so_by_batches_or_is_named_with_a_reason():
    asks = {command for command in COMMANDS if "--base-url" in options_of(command)}
    by_batches = {command for command in COMMANDS if "--batch-api" in options_of(command)}
    assert len(by_batches) > 8
    assert asks - by_batches == WITHOUT_BATCHES.keys()
    assert all("--out" in options_of(command) for command in by_batches)


def test_the_page_on_models_names_every_one_that_does_not():
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    missing = [name for name, why in WITHOUT_BATCHES.items() if f"`{name}`" not in page or why not in page]
    assert not missing


RECORDED_COMMANDS = {
    "director": ["score", "director", "dialogues.jsonl", "--reference", "references.jsonl", "--judge", "direct/x"],
    "icd": ["score", "icd", "references.jsonl", "--set", "icd.table=icd.csv", "--set", "icd.names-by=direct/x"],
    "examiner": ["eval", "examiner", "--cases", "shipped", "--dialogues", "asked.jsonl", "--examiner", "direct/x",
                 "--set", "run.max-failures=100"],
}  # fmt: skip
"""Commands that read what others recorded, in the files of `write_recorded`."""


def write_recorded(folder):
    given = "#诊断结果#\n痛风\n#诊断依据#\n关节红肿\n#治疗方案#\n秋水仙碱"
    reference = {"diagnosis": "痛风", "basis": "关节红肿", "treatment": "秋水仙碱"}
    letter = {"patient_id": 1, "doctor_name": "d", "reference_diagnosis": reference}
    letter["doctor_diagnosis"] = {"patient_id": 1, "diagnosis": given}
    turns = [{"turn": 0, "role": "Doctor", "content": "您好？"}, {"turn": 1, "role": "Doctor", "content": given}]
    said = [{"turn": 1, "role": "Patient", "content": "<To the examiner> Please take a film of my chest."}]
    (folder / "references.jsonl").write_text(json.dumps(letter) + "\n")
    (folder / "dialogues.jsonl").write_text(
        json.dumps({"patient_id": "1", "doctor": "x", "dialog_history": turns}) + "\n"
    )
    (folder / "asked.jsonl").write_text(json.dumps({"patient_id": "p1-00001", "dialog_history": said}) + "\n")
    (folder / "icd.csv").write_text("M10.900,痛风\nJ45.900,哮喘\n")


LABELLED = [
    "eval",
    "patient-simulator",
    "--cases",
    "labelled.json",
    "--patient",
    "direct/x",
    "--set",
    "run.max-failures=100",
]
COMMANDS_BY_BATCHES = {
    "names": ["knowledge", "compare", "names.jsonl", "--judge", "direct/x", "--set", "run.max-failures=100"],
    "personas": ["cases", "convert", "two.jsonl", "--persona", "plain", "--writer", "direct/x", "--out", "OUT.jsonl",
                 "--set", "run.max-failures=100"],
    "patient-simulator": LABELLED,
    "errors": ["eval", "exam", "medqa", "shipped", "--model", "direct/x", "--judge", "direct/x",
               "--set", "run.max-failures=100"],
    "tor": ["eval", "tor", "--cases", "inpatients", "--limit", "3", "--method", "zero_shot", "--model", "direct/x"],
    "mvme": ["eval", "mvme", "--cases", "two.jsonl", "--doctor", "direct/x", "--set", "mvme.one-step=true",
             "--judge", "rules"],
    **RECORDED_COMMANDS,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS_BY_BATCHES)
def test_all_questions_go_as_batches_and_none_goes_twice(name, run, tmp_path, serving, monkeypatch):
    monkeypatch.setattr(batch, "QUIET", 0.05)
    monkeypatch.setattr(batch, "FIRST_LOOK", 0.01)
    (tmp_path / "names.jsonl").write_text('{"a": "flu", "b": "influenza"}\n{"a": "gout", "b": "asthma"}\n')
    run("cases", "generate", "--n", "2", "--out", tmp_path / "two.jsonl")
    rounds = ("--set", "patient-test.rounds=1")
    run("cases", "patient-test", "--cases", tmp_path / "two.jsonl", *rounds, "--out", tmp_path / "labelled.json")
    run("eval", "exam", "medqa", "shipped", "--model", "made-up", "--out", tmp_path / "answered")
    write_recorded(tmp_path)
    with serving(seed=1, batches={}) as endpoint:
        made = []
        for number in (1, 2):
            words = [word.replace("OUT", "out") for word in COMMANDS_BY_BATCHES[name]]
            more = ["--base-url", endpoint.url, *([] if "--out" in words else ["--out", "kept"])]
            more += ["--set", "models.batch-api=true", *(["--force"] if number > 1 and name == "personas" else [])]
            done = run(*words, *more, cwd=tmp_path, code=0)
            made.append(len(endpoint.batches.made))
        assert made[0] == made[1] > 0, done.stderr
        files = [endpoint.batches.files[one["input_file_id"]] for one in endpoint.batches.made.values()]
        assert endpoint.requests == sum(len(file.splitlines()) for file in files), "some were asked one by one"


@pytest.mark.slow
def test_who_talks_and_who_asks_nobody_is_told_in_a_line(complaint, tmp_path):
    at = ("--base-url", "http://127.0.0.1:9/v1", "--out", tmp_path / "j", "--set", "models.batch-api=true")
    (tmp_path / "n.jsonl").write_text(json.dumps({"a": "flu", "b": "influenza"}) + "\n")
    assert "no model is asked" in complaint("knowledge", "compare", tmp_path / "n.jsonl", *at)
    mvme = ("eval", "mvme", "--cases", "shipped", "--doctor", "direct/x", *at)
    assert "mvme.one-step has none" in complaint(*mvme)
    plan = ("study", "run", "papers/medagents-table2.toml", "--model", "direct/x", *at)
    assert "models.batch-api" in complaint(*plan)
