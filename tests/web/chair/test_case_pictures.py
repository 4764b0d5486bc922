"""The pictures of a case in the chair: by number, from beside the case file, and nothing else of that folder."""

import base64
import json

import pytest
from tests.web.chair.conftest import Client

from polyclinic.web.application import application
from polyclinic.web.serving import Serving

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
INLINE = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
PLACES = ("tinea-corporis.png", "https://pictures.example/tinea.png", INLINE, "lost.png", "../outside.png", "notes.txt")


@pytest.fixture
async def imaged(tmp_path):
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "tinea-corporis.png").write_bytes(PNG)
    (tmp_path / "outside.png").write_bytes(PNG)
    (folder / "notes.txt").write_text("Tinea corporis, all of them.")
    case = {
        "id": "ring",
        "record": {"presentation": {"complaint": "A rash on the arm.", "age": 33, "sex": "female"}},
        "attachments": [{"url": place} for place in PLACES],
        "truth": {"diagnoses": [{"name": "Tinea corporis"}]},
    }
    (folder / "rashes.jsonl").write_text(json.dumps(case))
    serving = Serving([tmp_path], practice=tmp_path / "practice", cases=[folder / "rashes.jsonl"])
    yield Client(application(serving))
    await serving.end()


async def test_a_picture_is_shown_by_its_number_and_names_nothing(imaged):
    seen = await imaged.begin(name="rashes")
    assert [one["here"] for one in seen["pictures"]] == [True, False, True, True, True, True]
    for number in (1, 3):
        shown = await imaged.get(f"{imaged.at}/pictures/{number}")
        assert (shown.status, shown.headers["content-type"], shown.body) == (200, "image/png", PNG)
        assert shown.headers["x-content-type-options"] == "nosniff"
    assert b"tinea" not in imaged.bytes.lower() and b"pictures.example" not in imaged.bytes


async def test_nothing_but_pictures_of_the_folder_is_read(imaged):
    await imaged.begin(name="rashes")
    for number, status in ((2, 404), (4, 422), (5, 422), (6, 422), (7, 404), (0, 404)):
        refused = await imaged.get(f"{imaged.at}/pictures/{number}")
        assert refused.status == status and list(refused.document) == ["error"], number
        assert not [name for name in (b"outside", b"Tinea", b"lost", b"notes") if name in refused.body]


async def test_the_shipped_cases_have_none(client):
    assert (await client.begin())["pictures"] == []
