"""A study: two people by link, a third where they differ, blind, and verdicts that the scorers read."""

import asyncio
import json
import sqlite3

import pytest
from tests.web.asking import asked

from polyclinic.cases.loaders import read_cases
from polyclinic.judging.people import accepted, figures
from polyclinic.judging.verdicts import read_verdicts
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.minds import Minds
from polyclinic.questions.layouts import read_exam
from polyclinic.visits.visit import see
from polyclinic.web.application import application
from polyclinic.web.serving import Serving

REPORT = {
    "symptoms": ["cough"],
    "examinations": [],
    "diagnoses": [{"name": "a cold"}],
    "rationale": [],
    "treatment": [],
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two doctors' traces of two shipped cases, in a folder of runs."""
    folder, knowledge = tmp_path_factory.mktemp("judged"), read_knowledge()
    cases = list(read_cases("shipped"))[:2]
    ask = {"speak": ["Do you have a cough?", "Please have a chest X-ray.", {"say": "Bye.", "conclude": True}]}
    brief = [{**ask, "report": [REPORT]}, {"speak": [{"say": "Rest.", "conclude": True}], "report": [REPORT]}]
    (folder / "traces").mkdir()
    for name, doctor in zip(("keen", "lazy"), brief, strict=True):
        minds = Minds(doctor=doctor, knowledge=knowledge, seed=0)
        text = "".join(asyncio.run(see(case, minds)).trace.lines() for case in cases)
        written = text.replace('"doctor":"scripted"', f'"doctor":"model/{name}"')
        (folder / "traces" / f"{name}.jsonl").write_text(written, "utf-8")
    (folder / "notes.jsonl").write_text('{"what": 1}\n', "utf-8")
    return folder


class Desk:
    def __init__(self, folder, practice, **more):
        self.serving = Serving([folder], practice=practice, **more)
        self.app, self.bytes = application(self.serving), b""

    async def get(self, path):
        answer = await asked(self.app, f"/api/judging/{path}")
        self.bytes += answer.body
        return answer

    async def post(self, path, document):
        raw = json.dumps(document).encode()
        answer = await asked(self.app, f"/api/judging/{path}", method="POST", body=raw, content_type="application/json")
        self.bytes += answer.body
        return answer


def new(*forms, **more):
    files = [f"traces/{name}.jsonl" for name in ("keen", "lazy")]
    return {"title": "Who is better?", "forms": forms, "material": files, "people": ["Ann", "Bo"], **more}


@pytest.fixture
def desk(recorded, tmp_path):
    return Desk(recorded, tmp_path / "practice")


async def judged(desk, key, answer):
    """Answers everything that somebody has to judge; returns how many items that were."""
    work = (await desk.get(f"by-link/{key}")).document
    for number in range(1, len(work["items"]) + 1):
        task = (await desk.get(f"by-link/{key}/items/{number}")).document
        answers = {one["id"]: answer(task, one) for one in task["questions"]}
        done = await desk.post(f"by-link/{key}/items/{number}", {"answers": answers, "comment": "=so"})
        assert done.status == 200, done.document
    return len(work["items"])


async def downloaded(desk, study, folder):
    """Returns the verdicts of a study as they are downloaded."""
    file = folder / "verdicts.jsonl"
    file.write_bytes((await desk.get(f"studies/{study}/verdicts.jsonl")).body)
    return read_verdicts([file])


async def test_a_study_of_rounds_with_a_third_person(desk, recorded, tmp_path):
    offered = (await desk.get("settings")).document["material"]
    assert [one["name"] for one in offered] == ["traces/keen.jsonl", "traces/lazy.jsonl"]
    made = (await desk.post("studies", new("rounds", thirds=["Cleo"]))).document
    keys = {person["name"]: person["key"] for person in made["people"]}
    items = made["items"]["rounds"]
    desk.bytes = b""
    assert (await desk.get(f"by-link/{keys['Cleo']}")).document["items"] == []
    assert await judged(desk, keys["Ann"], lambda *_: "yes") == items
    # Bo differs on one question of what was said of the X-ray.
    differs = lambda task, one: "no" if one["id"] == "relevant" and "X-ray" in task["shown"]["said"] else "yes"  # noqa: E731
    assert await judged(desk, keys["Bo"], differs) == items
    assert await judged(desk, keys["Cleo"], lambda *_: "no") == 2
    sent = desk.bytes.decode()
    assert "model/" not in sent and "p1-0000" not in sent  # blind to whose and which
    state = (await desk.get(f"studies/{made['id']}")).document
    assert [(one["name"], one["done"], one["of"]) for one in state["progress"]] == [
        ("Ann", items, items), ("Bo", items, items), ("Cleo", 2, 2)
    ]  # fmt: skip
    relevant = next(one for one in state["agreement"] if one["question"] == "relevant")
    assert (
        relevant["undecided"] == 0
        and relevant["people"] == ["Ann", "Bo"]
        and relevant["alike"] == pytest.approx(100 * (items - 2) / items)
    )
    # The scorers read the files that are downloaded.
    verdicts = await downloaded(desk, made["id"], tmp_path)
    assert len(verdicts) == 2 * items + 2 and figures(verdicts, "rounds")["model/keen"].shares["relevant"].percent < 100
    table = tmp_path / "verdicts.csv"
    table.write_bytes((await desk.get(f"studies/{made['id']}/verdicts.csv")).body)
    assert read_verdicts([table]) == verdicts and "'=so" in table.read_text("utf-8")


async def test_pairs_are_turned_back_whichever_stands_first(desk, recorded, tmp_path):
    made = (await desk.post("studies", new("pairs patient", "pairs doctor", seed=5))).document
    keys = [person["key"] for person in made["people"]]
    keen = lambda task, _: "first" if "cough?" in task["shown"]["first_dialogue"] else "second"  # noqa: E731
    for key in keys:
        assert await judged(desk, key, keen) == 4
        tasks = [(await desk.get(f"by-link/{key}/items/{n}")).document for n in range(1, 5)]
        # It is shown as it was answered; who plays the patient does not see what is right.
        assert all(set(task["answers"].values()) == {keen(task, None)} for task in tasks)
        assert ["right" in task["shown"] for task in tasks] == [False, False, True, True]
    verdicts = await downloaded(desk, made["id"], tmp_path)
    for form in ("pairs doctor", "pairs patient"):
        said = accepted(verdicts, form)
        assert {item[1:] for item in said} == {("model/keen", "model/lazy")}
        assert {answer for answers in said.values() for answer in answers.values()} == {"first"}
    again = Desk(recorded, tmp_path / "practice")
    assert (await again.get(f"by-link/{keys[0]}/items/1")).document == (
        await desk.get(f"by-link/{keys[0]}/items/1")
    ).document
    # Each has the items in an order of its own.
    long = (await desk.post("studies", {**new("records"), "material": []})).document
    shown = [
        [(await desk.get(f"by-link/{p['key']}/items/{n}")).document["shown"]["record"] for n in (1, 2, 3, 4, 5)]
        for p in long["people"]
    ]
    assert shown[0] != shown[1] and sorted(shown[0]) == sorted(shown[1])


async def test_what_a_study_cannot_be(desk):
    made = (await desk.post("studies", new("grades"))).document
    link = f"by-link/{made['people'][0]['key']}/items/1"
    for path, document, status, why in (
        ("studies", new("dance"), 422, "no form"),
        ("studies", new("errors"), 422, "serve.exams"),
        ("studies", {**new("grades"), "material": ["../secret.jsonl"]}, 404, "not among"),
        ("studies", {**new("grades"), "material": []}, 422, "needs traces"),
        ("studies", {**new("grades"), "cases": "inpatients"}, 422, "not in the case file"),
        ("studies", {**new("grades"), "people": ["A", "A"]}, 422, "two people"),
        ("studies", {**new("grades"), "title": " "}, 422, "title is empty"),
        ("studies", {**new("grades"), "people": []}, 422, "people"),
        (link, {"answers": {"diagnosis": "E"}}, 422, "no answer to 'diagnosis'"),
        (link, {"answers": {"beauty": "A"}}, 422, "'beauty' is no field"),
        (f"{link}99", {"answers": {}}, 404, "items 1 to"),
        ("by-link/guessed/items/1", {"answers": {}}, 404, "not valid"),
    ):
        answer = await desk.post(path, document)
        assert answer.status == status and why in answer.document["error"], (path, answer.document)
    # What was answered in part is kept in part, and taken back where nothing is left of it.
    assert (await desk.post(link, {"answers": {"diagnosis": "A"}})).document["items"][0] == ["grades", False]
    assert (await desk.get(link)).document["answers"] == {"diagnosis": "A"}
    await desk.post(link, {"answers": {}})
    assert (await desk.get(link)).document["answers"] == {}
    assert (await desk.get(f"studies/{made['id']}")).document["progress"][0]["done"] == 0


async def test_a_damaged_study_takes_only_itself_away(desk, recorded, tmp_path):
    ids = [(await desk.post("studies", new("rounds"))).document["id"] for _ in range(3)]
    with sqlite3.connect(tmp_path / "practice" / "practice.sqlite") as file:
        file.execute("UPDATE documents SET json = ? WHERE id = ?", (b'{"a":' * 50_000, ids[0]))
        file.execute("INSERT INTO documents VALUES ('verdicts', ?, 0, ?)", (f"{ids[1]}/1", b"{"))
    again = Desk(recorded, tmp_path / "practice")
    assert [one["id"] for one in (await again.get("studies")).document["studies"]] == [ids[2], ids[1]]
    told = [await again.get(f"studies/{id}") for id in ids]
    assert [one.status for one in told] == [422, 422, 200]
    assert [f"the study {ids[0]} is damaged" in told[0].document["error"],
            f"the verdicts {ids[1]}/1 is damaged" in told[1].document["error"]] == [True, True]  # fmt: skip


async def test_one_person_alone_makes_no_study(desk):
    for people in ([], ["Ann"]):
        refused = await desk.post("studies", new("turns", people=people, thirds=["Cy"]))
        assert refused.status == 422 and "two people" in refused.document["error"], people


async def test_wrong_answers_are_judged_beside_their_questions(recorded, tmp_path):
    exam = tmp_path / "exam.jsonl"
    asked = {"question": "Which?", "options": {"A": "one", "B": "two"}, "answer_idx": "A", "answer": "one"}
    exam.write_text(json.dumps(asked) + "\n", "utf-8")
    (one,) = read_exam(exam)
    folder = tmp_path / "kept"
    folder.mkdir()
    outcome = {"end": "answered", "answers": ["B"], "rationale": "As it is.", "trace": []}
    told = {"id": one.question.id, "key": ["A"], "right": False, "outcome": outcome}
    (folder / "guess.jsonl").write_text(json.dumps(told) + "\n", "utf-8")
    wanted = new("errors", material=["guess.jsonl"])
    without = Desk(folder, tmp_path / "practice")
    assert "errors" not in {form["name"] for form in (await without.get("settings")).document["forms"]}
    refused = await without.post("studies", wanted)
    assert refused.status == 422 and "serve.exams" in refused.document["error"]
    desk = Desk(folder, tmp_path / "practice", exams=[exam])
    assert "errors" in {form["name"] for form in (await desk.get("settings")).document["forms"]}
    made = (await desk.post("studies", wanted)).document
    task = (await desk.get(f"by-link/{made['people'][0]['key']}/items/1")).document
    assert "Which?" in task["shown"]["asked"] and task["shown"]["answer"] == "B. two"
    assert await judged(desk, made["people"][0]["key"], lambda _, asked: asked["answers"][0]) == 1
    assert (await downloaded(desk, made["id"], tmp_path))[0].form == "errors"
