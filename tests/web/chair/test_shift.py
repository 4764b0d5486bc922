"""A shift at the door, played as the nurse."""

from polyclinic.cases.loaders import read_cases


async def test_a_shift_from_the_first_patient_to_what_was_so(client):
    seen = (await client.post("shifts", {"patients": 3, "seed": 1})).document
    at, moves = f"shifts/{seen['id']}/moves", 0
    assert (seen["number"], seen["of"], seen["questions_left"]) == (1, 3, 3)
    assert {sign["item"] for sign in seen["signs"]} >= {"body temperature", "heart rate", "oxygen saturation"}
    for level in (2, 4, 5):
        asked = (await client.post(at, {"after": moves, "move": {"ask": "Are you short of breath?"}})).document
        assert (
            asked["questions_left"] == 2
            and len(asked["exchanges"]) == 1
            and asked["exchanges"][0][1]
            and asked["moves"] == moves + 1
        )
        # The same sent twice is made once.
        again = await client.post(at, {"after": moves, "move": {"ask": "Are you short of breath?"}})
        assert again.document == asked
        before = client.bytes.decode()
        seen = (await client.post(at, {"after": moves + 1, "move": {"level": level}})).document
        moves += 2
    truth = {case.presentation.about: case.truth for case in read_cases("shipped")}
    rows = seen["received"]
    assert [row["given"] for row in rows] == [2, 4, 5] and all(1 <= row["rules"] <= 5 for row in rows)
    assert [row["so"] for row in rows] == [truth[row["patient"]["about"]].acuity for row in rows]
    assert not [row["diagnosis"] for row in rows if row["diagnosis"] in before] and '"so"' not in before
    assert (await client.post(at, {"after": moves, "move": {"level": 1}})).status == 409


async def test_what_a_nurse_cannot_do(client):
    seen = (await client.post("shifts", {"patients": 1})).document
    at = f"shifts/{seen['id']}/moves"
    for path, document, status, why in (
        (at, {"after": 0, "move": {}}, 422, "either ask"),
        (at, {"after": 0, "move": {"ask": "x", "level": 1}}, 422, "either ask"),
        (at, {"after": 0, "move": {"level": 9}}, 422, "level"),
        (at, {"after": 5, "move": {"level": 1}}, 409, "reload it"),
        ("shifts", {"set": "inpatients"}, 422, "choose another set"),
        ("shifts/" + "a" * 22 + "/moves", {"after": 0, "move": {"level": 1}}, 404, "no such shift"),
    ):
        answer = await client.post(path, document)
        assert answer.status == status and why in answer.document["error"], (path, answer.document)
    for n in range(3):
        assert (await client.post(at, {"after": n, "move": {"ask": f"Question {n}?"}})).status == 200
    assert "at most 3" in (await client.post(at, {"after": 3, "move": {"ask": "More?"}})).document["error"]
