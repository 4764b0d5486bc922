"""`models.batch-api`: an exam by batch files, and who may not ask so."""

import json

import pytest

from polyclinic.models import batch
from polyclinic.parallel import pool
from polyclinic.results.folder import read_record


def test_an_exam_by_batches_goes_on_from_its_journal_at_the_price_of_batches(run, tmp_path, serving, monkeypatch):
    monkeypatch.setattr(batch, "QUIET", 0.02)
    monkeypatch.setattr(batch, "FIRST_LOOK", 0.01)
    with serving(lambda _: "Answer: A", batches={}) as endpoint:
        file = tmp_path / "models.toml"
        file.write_text(
            f'[models."direct/a"]\nbase_url = "{endpoint.url}"\nprice = [2.0, 2.0]\nbatch_price = [1.0, 1.0]\n'
        )
        command = (
            "eval",
            "exam",
            "medqa",
            "shipped",
            "--method",
            "zero_shot",
            "--method",
            "self_consistency",
        )
        command += (
            "--model",
            "direct/a",
            "--set",
            f"models.model-file={file}",
            "--out",
            tmp_path / "j",
            "--set",
            "models.batch-api=true",
        )
        done = run(*command)
        assert "as batch batch_1" in done.stderr
        assert len(endpoint.batches.made) == 1, "both methods ask at once"
        again = json.loads(run(*command, "--json").stdout)
        assert len(endpoint.batches.made) == 1
        assert [one["n"] for one in again["methods"]] == [5, 5]


def test_beside_workers_the_batches_are_made_once_and_here(run, tmp_path, serving, monkeypatch):
    monkeypatch.setattr(batch, "QUIET", 0.02)
    monkeypatch.setattr(batch, "FIRST_LOOK", 0.01)
    monkeypatch.setattr(pool, "open_site", None)  # no worker begins
    with serving(lambda _: "Answer: A", batches={}) as endpoint:
        command = ("eval", "exam", "medqa", "shipped", "--model", "direct/a", "--base-url", endpoint.url)
        command += (
            "--set",
            "models.batch-api=true",
            "--on",
            "local:2",
            "--out",
            tmp_path / "out",
        )
        done = run(*command)
        assert "models.batch-api: asked from here, in one file; no worker of --on local:2" in done.stderr
        assert len(endpoint.batches.made) == 1 and endpoint.requests == 5
    assert len((tmp_path / "out" / "items.jsonl").read_text().splitlines()) == 5


PLAN = """
title = "one of each kind"
[options]
questions = "shipped"
[[run]]
name = "batched"
command = "eval exam"
exam = "medqa"
method = ["zero_shot"]
batch_api = true
[[run]]
name = "one by one"
command = "eval exam"
exam = "medqa"
method = ["chain_of_thought"]
"""


@pytest.mark.slow
def test_of_a_plan_the_workers_ask_what_goes_by_no_batch(run, tmp_path, serving, monkeypatch):
    monkeypatch.setattr(batch, "QUIET", 0.05)
    monkeypatch.setattr(batch, "FIRST_LOOK", 0.01)
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    with serving(lambda _: "Answer: A", batches={}) as endpoint:
        command = ("study", "run", tmp_path / "plan.toml", "--model", "direct/a", "--base-url", endpoint.url)
        run(*command, "--on", "local:1", "--out", tmp_path / "out")
        assert (endpoint.requests, len(endpoint.batches.made)) == (10, 1)


def test_who_may_not_ask_so_is_told_in_a_line(complaint, tmp_path):
    asked = ("eval", "exam", "medqa", "shipped", "--set", "models.batch-api=true")
    direct = ("--model", "direct/a", "--base-url", "http://127.0.0.1:9/v1")
    journal = ("--out", tmp_path / "j")
    assert "medagents: each call waits for the one before" in complaint(*asked, *direct, *journal, "--method=medagents")
    assert "add --out FOLDER" in complaint(*asked, *direct)
    assert "made-up: only direct/ models" in complaint(*asked, "--model", "made-up", *journal)


def test_what_each_server_answered_stands_in_the_table_the_document_and_the_results(run, tmp_path, serving):
    with serving(lambda _: "Answer: A") as one, serving(lambda _: "Answer: A") as two:
        command = ("eval", "exam", "medqa", "shipped", "--model", "direct/a")
        command += ("--base-url", one.url, "--base-url", two.url, "--seed", 1)
        assert "by server" in run(*command, "--out", tmp_path / "out").stderr
        document = json.loads(run(*command, "--json", "--out", tmp_path / "again").stdout)
        kept = read_record(tmp_path / "out").servers
    assert {row["server"] for row in document["servers"]} <= {one.url, two.url}
    assert sum(row["calls"] for row in document["servers"]) == sum(row.calls for row in kept) == 5
