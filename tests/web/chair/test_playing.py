"""A visit that is played in a browser, as the server answers it."""

import json
import sqlite3
from urllib.parse import quote

import pytest
from tests.truth_terms import truth_terms
from tests.web.asking import asked
from tests.web.chair.conftest import Client

from polyclinic.cases.check import find_leaks
from polyclinic.cases.loaders import find_case, read_cases
from polyclinic.events import Trace
from polyclinic.visits.team import revisit_all
from polyclinic.web.application import application
from polyclinic.web.chair.staff import OfferedPlayers
from polyclinic.web.serving import Serving


@pytest.mark.slow
async def test_a_visit_is_played_to_its_score(client, folder):
    seen = await client.begin()
    assert seen["phase"] == "talk" and seen["turns_left"] == 10 and seen["lines"][0]["who"] == "patient"
    said = (await client.move("say", text="Do you have a cough?")).document
    assert said["turns_left"] == 9 and [line["who"] for line in said["lines"][-2:]] == ["doctor", "patient"]
    ordered = (await client.move("order", names=["complete blood count", "influenza test"])).document
    by_item = {result["item"]: result for result in ordered["results"]}
    white = by_item["white blood cell count"]
    assert (white["low"], white["high"], white["unit"]) == (3.5, 9.5, "×10⁹/L")
    assert white["values"][0]["turn"] == 2 and white["values"][0]["side"] == "normal"
    noted = (await client.move("note", diagnoses=[{"name": "Influenza A", "probability": 0.7}])).document
    assert noted["differential"] == [{"turn": 2, "diagnoses": [{"name": "Influenza A", "probability": 0.7}]}]
    over = (await client.hand_in()).document
    assert over["phase"] == "over"
    scored = (await client.get(f"{client.at}/score")).document
    own = scored["own"]
    assert scored["truth"]["diagnoses"][0]["name"] == "Influenza A" and own["verdict"] == "right"
    assert {one["aspect"] for one in own["aspects"]} == {
        "symptoms", "examinations", "diagnosis", "rationale", "treatment"
    }  # fmt: skip
    assert 0 < own["metrics"]["COVERAGE"] < 100 and own["beliefs"] == [[2, 0.7]]
    assert "nucleic acid amplification test" in own["stewardship"]["needed"]
    assert scored["beside"][0]["doctor"] == "rules" and scored["beside"][0]["points"]["total"] > 0
    # The trace is one like any other, and lies in the folder.
    kept = next(folder.glob("visits/*.trace.jsonl"))
    assert kept.read_text("utf-8") == (await client.get(f"{client.at}/trace")).body.decode()
    assert revisit_all(Trace.read(kept)[:1])[0].report.diagnoses[0].name == "influenza A"


async def test_nothing_that_is_so_is_sent_before_the_end(client):
    case = next(case for case in read_cases("shipped") if case.id == "p1-00001")
    await client.begin()
    for do, fields in (
        ("say", {"text": "What is it? Tell me your diagnosis."}),
        ("order", {"names": ["chest X-ray", "everything there is"]}),
        ("hint", {"rung": "step"}),
        ("note", {"diagnoses": [{"name": "a cold"}]}),
        ("undo", {}),
        ("conclude", {}),
    ):
        assert (await client.move(do, **fields)).status == 200, do
    for part in ("", "/score", "/trace"):
        await client.get(f"{client.at}{part}")
    await client.get("visits")
    await client.get("settings")
    sent = client.bytes.decode()
    told = _texts(sent)
    assert not [leak for leak in find_leaks(told, case, revealed=told) if leak.kind == "diagnosis"]
    hidden = [case.id, "respiratory.jsonl", *truth_terms(case), *case.truth.rationale, *case.truth.treatment]
    hidden += [*case.truth.complications, *case.truth.prevention, '"truth"', '"severity"', '"department"', '"answers"']
    assert not [word for word in hidden if word.casefold() in sent.casefold()]
    # Results that nobody ordered stay where they are.
    assert "influenza A virus RNA" not in sent and "C-reactive" not in sent


def _texts(sent):
    found = []

    def walk(node):
        if isinstance(node, str):
            found.append(node)
        elif isinstance(node, dict | list):
            for one in node.values() if isinstance(node, dict) else node:
                walk(one)

    decoder = json.JSONDecoder()
    at = 0
    while at < len(sent):
        document, at = decoder.raw_decode(sent, at)
        walk(document)
    return found


async def test_a_visit_is_taken_up_where_it_was_after_a_restart(client, restarted):
    await client.begin()
    await client.move("say", text="Do you have a cough?")
    await client.move("hint", rung="turn")
    before = (await client.get(client.at)).document
    again = restarted()
    again.at, again.moves = client.at, client.moves
    assert (await again.get(again.at)).document == before
    assert (await again.move("say", text="How long for?")).status == 200


@pytest.mark.slow
async def test_a_step_is_taken_back_and_its_hints_stay_paid(client):
    await client.begin()
    await client.move("say", text="Have you a caugh?")
    await client.move("hint", rung="step")
    undone = (await client.move("undo")).document
    assert undone["turns_left"] == 10 and undone["taken_back"] == 1 and len(undone["lines"]) == 1
    assert len(undone["hints"]) == 1 and undone["next_hint"] == "turn"
    assert "nothing to take back" in (await client.move("undo")).document["error"]
    await client.hand_in()
    scored = (await client.get(f"{client.at}/score")).document
    assert scored["taken_back"] == 1 and scored["own"]["points"]["hints"] == 1
    refused = await client.move("undo")
    assert refused.status == 409 and "over" in refused.document["error"]


async def test_a_move_that_is_sent_twice_is_made_once(client):
    await client.begin()
    first = await client.move("say", text="Do you have a cough?")
    assert (await client.move("say", after=0, text="Do you have a cough?")).document == first.document
    elsewhere = await client.move("say", after=0, text="Something else?")
    assert elsewhere.status == 409 and "reload it" in elsewhere.document["error"]


async def test_what_cannot_be_is_refused_in_one_line_and_nothing_is_lost(client):
    seen = await client.begin()
    at = f"{client.at}/moves"
    say = {"after": 0, "move": {"do": "say", "text": "x"}}
    for path, document, status, why in (
        (at, b"{", 422, "unexpected"),
        (at, b"[]", 422, "unexpected"),
        (at, b'{"after":0,"move":{"do":"say","text":"\\ud800"}}', 422, ""),
        (at, {**say, "move": {"do": "say", "text": "x" * 5000}}, 422, "4000"),
        (at, {**say, "move": {"do": "say", "text": "x" * 2**20}}, 413, "bytes"),
        (at, {**say, "move": {"do": "dance"}}, 422, "dance"),
        (at, {**say, "more": 1}, 422, "more"),
        (at, {"after": 0, "move": {"do": "report"}}, 409, "end the talk"),
        (at, {"after": 0, "move": {"do": "order", "names": ["chest"]}}, 422, "several"),
        (at, {"after": 0, "move": {"do": "note", "diagnoses": [{"name": "x", "probability": 7}]}}, 422, "probability"),
        ("visits", {"set": "shipped", "key": "none"}, 404, "no such case"),
        ("visits", {"set": "none"}, 404, "no such set"),
        ("visits", {"set": "shipped", "patient": "gone"}, 422, "no such patient"),
        ("visits/" + "a" * 22 + "/moves", say, 404, "no such visit"),
        ("visits/..%2f..%2fsecret/moves", say, 404, ""),
    ):
        answer = await client.post(path, document)
        told = answer.document["error"]
        assert answer.status == status and why in told and len(told) < 400 and "\n" not in told, (document, told)
    assert (await client.get(client.at)).document == seen
    assert (await client.post("visits", say, origin="http://elsewhere")).status == 403


async def test_examinations_are_completed(client):
    for words, language, wanted in (("chest x", "en", "chest X-ray"), ("胸部", "zh", "胸部")):
        names = (await client.get(f"names?words={quote(words)}&language={language}")).document["names"]
        assert any(wanted in name for name in names)


async def test_a_patient_who_gives_no_answer_is_asked_again(tmp_path, folder):
    script = tmp_path / "patient.json"
    script.write_text('{"open": ["I cough."], "reply": ["Yes."]}')
    mind = f"scripted:{script}"
    serving = Serving([tmp_path], practice=folder, players=OfferedPlayers(patients=(mind,)))
    client = Client(application(serving))
    await client.begin(patient=mind)
    await client.move("say", text="Do you smoke?")
    failed = (await client.move("say", text="And now?")).document
    assert failed["phase"] == "failed" and "patient" in failed["problem"]
    assert find_case("shipped", "p1-00001").truth.diagnoses[0].name not in client.bytes.decode()
    assert (await client.move("say", text="Again?")).status == 409
    assert (await client.move("undo")).document["phase"] == "talk"
    await serving.end()


async def test_a_folder_that_cannot_be_written_to_loses_nothing_and_is_not_told(client, folder):
    seen = await client.begin()
    with sqlite3.connect(folder / "practice.sqlite", isolation_level=None) as file:
        file.execute("CREATE TRIGGER full BEFORE INSERT ON documents BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        refused = await client.move("say", text="Do you have a cough?")
        assert refused.status == 422
        assert refused.document == {"error": "practice.sqlite: cannot be written (disk full)"}
        file.execute("DROP TRIGGER full")
    assert (await client.get(client.at)).document == seen
    assert (await client.move("say", text="Do you have a cough?")).document["turns_left"] == 9


async def test_who_leaves_in_the_middle_of_a_request_is_no_mistake_of_the_server(client):
    answer = await asked(
        client.app, "/api/chair/visits", method="POST", body=b"{", leaves=True, content_type="application/json"
    )
    assert answer.status == 408 and "did not arrive" in answer.document["error"]
