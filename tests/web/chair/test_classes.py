"""A class: links, what a student sees and does not see, results, comments and the table."""

import csv
import io
import json
import sqlite3

import pytest
from tests.web.asking import asked

from polyclinic.cases.loaders import find_case
from polyclinic.web.application import application
from polyclinic.web.serving import Serving


async def made(client, **more):
    cases = (await client.get("cases?set=shipped")).document["cases"][:2]
    new = {
        "title": "Year four",
        "cases": [{"set": "shipped", "key": one["key"]} for one in cases],
        "students": ["Ann", "=HYPERLINK(1)"],
        **more,
    }
    answer = await client.post("classes", new)
    assert answer.status == 201, answer.document
    return answer.document["class"]


@pytest.mark.slow
async def test_a_class_from_its_links_to_its_table(client, restarted):
    kept = await made(client)
    ann, other = (student["key"] for student in kept["students"])
    seen = (await client.get(f"by-link/{ann}")).document
    assert seen["title"] == "Year four" and [one["state"] for one in seen["cases"]] == ["new", "new"]
    assert "p1-0000" not in json.dumps(seen) and other not in json.dumps(seen)
    assert (await client.get(f"by-link/{ann}/visits/1")).status == 404
    await client.post(f"by-link/{ann}/visits/1", {})
    client.at, client.moves = f"by-link/{ann}/visits/1", 0
    await client.move("say", text="Do you have a cough?")
    assert (await client.hand_in()).document["phase"] == "over"
    assert (await client.get(f"{client.at}/score")).document["own"]["verdict"] == "right"
    # Nobody plays it by another way, and another link leads to visits of its own.
    visit = (await client.get(f"classes/{kept['id']}")).document["class"]["students"][0]["visits"]["1"]
    assert (await client.get(f"visits/{visit}")).status == 404
    assert (await client.get("visits")).document["visits"] == []
    assert (await client.get(f"by-link/{other}/visits/1")).status == 404
    assert (await client.get("by-link/guessed")).status == 404

    said = {"student": "Ann", "case": 1, "text": "=1+1 Well asked."}
    rows = (await client.post(f"classes/{kept['id']}/comments", said)).document["rows"]
    assert [(row["student"], row["case"], row["state"]) for row in rows][:2] == [("Ann", 1, "done"), ("Ann", 2, "new")]
    assert (await client.get(f"by-link/{ann}")).document["cases"][0]["comment"] == "=1+1 Well asked."
    table = (await client.get(f"classes/{kept['id']}/results.csv")).body.decode("utf-8-sig")
    read = list(csv.DictReader(io.StringIO(table)))
    assert len(read) == 4 and read[0]["comment"] == "'=1+1 Well asked." and read[2]["student"] == "'=HYPERLINK(1)"
    assert read[0]["case_id"] == "p1-00001" and int(read[0]["points"]) > 0
    whole = (await client.get(f"classes/{kept['id']}/visits/1?student=Ann")).document
    assert whole["visit"]["lines"] and whole["score"]["own"]["verdict"] == "right"
    # After a restart all of it is there.
    assert (await restarted().get(f"classes/{kept['id']}")).document["rows"] == rows


@pytest.mark.slow
async def test_scores_are_held_back_until_the_teacher_lets_them_out(client):
    case = find_case("shipped", "p1-00001")
    kept = await made(client, scores=False, hints=False, undo=False)
    client.bytes = b""
    link = f"by-link/{kept['students'][0]['key']}"
    await client.post(f"{link}/visits/1", {})
    client.at, client.moves = f"{link}/visits/1", 0
    assert "no hints" in (await client.move("hint", rung="step")).document["error"]
    await client.move("say", text="Hello?")
    assert "taken back" in (await client.move("undo")).document["error"]
    await client.hand_in("a cold")
    for part in ("/score", "/trace"):
        held = await client.get(f"{client.at}{part}")
        assert held.status == 409 and "let the scores out" in held.document["error"]
    assert (await client.get(link)).document["cases"][0] == {
        "number": 1,
        "state": "done",
        "points": None,
        "comment": "",
    }
    sent = client.bytes.decode()
    assert not [text for text in (*case.truth.treatment, *(d.name for d in case.truth.diagnoses)) if text in sent]
    await client.post(f"classes/{kept['id']}/scores", {"out": True})
    assert (await client.get(f"{client.at}/score")).document["own"]["verdict"] == "wrong"
    assert (await client.get(link)).document["cases"][0]["points"] is not None


async def test_what_a_class_cannot_be(client):
    kept = await made(client)
    new = {"title": "x", "cases": [{"set": "shipped", "key": "?"}], "students": ["A"]}
    for path, document, status, why in (
        ("classes", new, 404, "no such case"),
        ("classes", {**new, "cases": []}, 422, "cases"),
        ("classes", {**new, "students": []}, 422, "students"),
        ("classes/gone/comments", {"student": "A", "case": 1, "text": ""}, 404, "no such class"),
        (f"classes/{kept['id']}/comments", {"student": "A", "case": 1, "text": ""}, 404, "no such student"),
        (f"classes/{kept['id']}/students", {"students": ["Ann"]}, 422, "two students are called 'Ann'"),
        (f"by-link/{kept['students'][0]['key']}/visits/9", {}, 404, "cases 1 to 2"),
    ):
        answer = await client.post(path, document)
        assert answer.status == status and why in answer.document["error"], (path, answer.document)
    new["cases"] = [dict(one) for one in kept["set"]["cases"]]
    assert "two students" in (await client.post("classes", {**new, "students": ["A", "A "]})).document["error"]
    assert "title is empty" in (await client.post("classes", {**new, "title": " "})).document["error"]
    assert "twice" in (await client.post("classes", {**new, "cases": new["cases"][:1] * 2})).document["error"]
    added = (await client.post(f"classes/{kept['id']}/students", {"students": ["Cleo"]})).document["class"]["students"]
    assert [one["name"] for one in added] == ["Ann", "=HYPERLINK(1)", "Cleo"]


async def test_students_need_their_link_alone_and_everybody_else_the_token(tmp_path, folder):
    serving = Serving([tmp_path], practice=folder, host="0.0.0.0", token="secret")
    app = application(serving)

    async def status(path, **headers):
        return (await asked(app, f"/api/chair/{path}", **headers)).status

    knows = {"authorization": "Bearer secret"}
    cases = (await asked(app, "/api/chair/cases", **knows)).document["cases"]
    new = {"title": "x", "cases": [{"set": "shipped", "key": cases[0]["key"]}], "students": ["Ann"]}
    made = await asked(
        app,
        "/api/chair/classes",
        method="POST",
        body=json.dumps(new).encode(),
        content_type="application/json",
        **knows,
    )
    kept = made.document["class"]
    for path in ("settings", "visits", "classes", f"classes/{kept['id']}", f"classes/{kept['id']}/results.csv"):
        assert (await status(path), await status(path, **knows)) == (401, 200), path
    assert await status(f"by-link/{kept['students'][0]['key']}") == 200
    assert await status("by-link/guessed") == 404
    await serving.end()


@pytest.mark.slow
async def test_what_is_damaged_takes_only_itself_away(client, restarted, folder):
    kept, other = await made(client), await made(client, title="＝1+1", students=["＠x"])
    ann, one = f"by-link/{kept['students'][0]['key']}", f"classes/{kept['id']}"
    for n in (1, 2):
        client.at, client.moves = f"{ann}/visits/{n}", 0
        await client.post(client.at, {})
        await client.hand_in()
    rows = (await client.get(one)).document["rows"]
    visits = (await client.get(one)).document["class"]["students"][0]["visits"]
    with sqlite3.connect(folder / "practice.sqlite", isolation_level=None) as file:
        change = "UPDATE documents SET json = ? WHERE kind = ? AND id = ?"
        for damage in (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, b"{", b'{"truth": {"diagnoses": [{"name": "\xff"}]}}'):
            # A score is made again of the moves.
            file.execute(change, (damage, "score", visits["1"]))
            assert [row["state"] for row in (await client.get(one)).document["rows"]][:2] == ["begun", "done"]
            assert (await client.get(f"{ann}/visits/1/score")).document["own"]["verdict"] == "right"
            assert (await client.get(one)).document["rows"] == rows

        begun = await client.begin()
        file.execute(change, (b"[{}]", "visit", visits["1"]))
        file.execute(change, (b"[]", "visit", visits["2"]))
        file.execute(change, (b"{", "class", kept["id"]))
    again = restarted()
    assert [visit["id"] for visit in (await again.get("visits")).document["visits"]] == [begun["id"]]
    assert (await again.get(f"visits/{visits['1']}")).status == 422
    assert (await again.get(f"visits/{visits['2']}")).status == 404
    listed = (await again.get("classes")).document
    assert [found["id"] for found in listed["classes"]] == [other["id"]]
    assert len(listed["damaged"]) == 1 and f"the class {kept['id']} is damaged" in listed["damaged"][0]
    assert (await again.get(one)).status == 422
    table = (await again.get(f"classes/{other['id']}/results.csv")).body.decode("utf-8-sig")
    assert "\n'＠x," in table


async def test_what_is_no_unicode_is_refused_in_one_line(client):
    answer = await client.post("classes", b'{"title": "\xff", "cases": [], "students": ["a"]}')
    assert answer.status == 422 and "unexpected content" in answer.document["error"]
