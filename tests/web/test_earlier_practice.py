"""What an earlier version kept in a JSON file each is converted, and the files are not lost."""

import asyncio
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.web.asking import asked

from polyclinic.web.application import application
from polyclinic.web.practice import LOCK
from polyclinic.web.serving import Serving

KEPT = Path(__file__).parent / "earlier" / "practice"
CLASS, STUDY, SHIFT = "8AJq0MUOpSqW", "rO1fXfqIwynu", "G3gfl-Dbc58TkfolxLADXg"
OVER, OPEN = "wFOakWlCSt3c-Kh7U8SMtg", "sb3OHLf8l7z60U1xcp7gMg"


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(KEPT, tmp_path / "practice")
    return tmp_path / "practice"


def answers(folder, *paths):
    """Returns what a new server over a folder answers."""

    async def ask():
        serving = Serving([folder.parent])
        app = application(serving)
        found = [await asked(app, f"/api/{path}") for path in paths]
        await serving.end()
        return found

    return asyncio.run(ask())


def check_all(folder):
    class_, visits, visit, score, shift, study, verdicts = answers(
        folder,
        f"chair/classes/{CLASS}",
        "chair/visits",
        f"chair/visits/{OPEN}",
        f"chair/classes/{CLASS}/visits/1?student=Ann",
        f"chair/shifts/{SHIFT}",
        f"judging/studies/{STUDY}",
        f"judging/studies/{STUDY}/verdicts.jsonl",
    )
    (ann, _), rows = class_.document["class"]["students"], class_.document["rows"]
    kept_score = json.loads((KEPT / "visits" / f"{OVER}.score.json").read_text("utf-8"))
    assert ann["visits"] == {"1": OVER} and ann["comments"] == {"1": "Well asked."}
    assert [row["state"] for row in rows] == ["done", "new", "new", "new"]
    assert rows[0]["points"] == kept_score["own"]["points"]["total"] and score.document["score"] == kept_score
    assert [one["id"] for one in visits.document["visits"]] == [OPEN]
    assert (visit.document["moves"], visit.document["phase"]) == (2, "talk")
    assert [one["diagnoses"][0]["name"] for one in visit.document["differential"]] == ["influenza A"]
    assert (shift.document["number"], shift.document["moves"], shift.document["of"]) == (2, 1, 2)
    assert [one["done"] for one in study.document["progress"]] == [2, 2]
    said = "".join((KEPT / "studies" / STUDY / f"verdicts-{n}.jsonl").read_text("utf-8") for n in (1, 2))
    rows = [
        [{key: value for key, value in json.loads(line).items() if key != "sum"} for line in text.splitlines()]
        for text in (verdicts.body.decode(), said)
    ]
    assert rows[0] == rows[1]


def test_all_of_it_is_there_and_the_files_are_kept(folder):
    before = {path.relative_to(KEPT): path.read_bytes() for path in KEPT.rglob("*.json*")}
    check_all(folder)
    for path, content in before.items():
        there = folder / path if path.name.endswith(".trace.jsonl") else folder / "converted" / path
        assert there.read_bytes() == content
    check_all(folder)  # by another server, of the new file


def test_a_damaged_file_takes_only_itself_away_until_it_is_mended(folder):
    damaged = [folder / "classes" / f"{CLASS}.json", folder / "studies" / STUDY / "verdicts-1.jsonl"]
    whole = [path.read_bytes() for path in damaged]
    damaged[0].write_bytes(b'{"a":' * 50_000)
    damaged[1].write_bytes(whole[1].replace(b'"sum":"', b'"sum":"0'))
    # No pipe is waited for, nor a device read without end.
    os.mkfifo(folder / "visits" / f"{'a' * 22}.jsonl")
    (folder / "visits" / f"{'b' * 22}.jsonl").symlink_to("/dev/zero")
    (folder / "visits" / f"{'c' * 22}.jsonl").symlink_to("nowhere")
    classes, class_, studies, study, visits, pipe, device = answers(
        folder,
        "chair/classes",
        f"chair/classes/{CLASS}",
        "judging/studies",
        f"judging/studies/{STUDY}",
        "chair/visits",
        *(f"chair/visits/{sign * 22}" for sign in "ab"),
    )
    assert classes.document["classes"] == studies.document["studies"] == []
    assert classes.document["damaged"] == [class_.document["error"]]
    assert class_.document["error"].startswith(f"{CLASS}.json: ")
    assert study.document["error"].startswith("verdicts-1.jsonl: ")
    assert [answer.status for answer in (class_, study, pipe, device)] == [422] * 4
    assert "no regular file" in pipe.document["error"] and "no regular file" in device.document["error"]
    assert [one["id"] for one in visits.document["visits"]] == [OPEN]
    for path, content in zip(damaged, whole, strict=True):
        path.write_bytes(content)
    check_all(folder)


@pytest.mark.slow
def test_nothing_is_converted_under_another_server(folder):
    with closing(sqlite3.connect(folder / LOCK, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        (classes,) = answers(folder, "chair/classes")
        assert classes.document["classes"] == [] and sorted(folder.iterdir())[-1].name == "visits"
    check_all(folder)
