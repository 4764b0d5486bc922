"""A server over an empty folder, and a visit to one shipped case, move by move."""

import json

import pytest
from tests.web.asking import asked

from polyclinic.web.application import application
from polyclinic.web.serving import Serving


class Client:
    """Asks, keeps every byte that came, and counts the moves of one visit."""

    def __init__(self, app):
        self.app, self.bytes, self.at, self.moves = app, b"", "", 0

    async def get(self, path):
        answer = await asked(self.app, f"/api/chair/{path}")
        self.bytes += answer.body
        return answer

    async def post(self, path, document, **headers):
        raw = document if isinstance(document, bytes) else json.dumps(document).encode()
        answer = await asked(
            self.app, f"/api/chair/{path}", method="POST", body=raw, content_type="application/json", **headers
        )
        self.bytes += answer.body
        return answer

    async def begin(self, case=0, name="shipped", **more):
        cases = (await self.get(f"cases?set={name}")).document["cases"]
        seen = (await self.post("visits", {"set": name, "key": cases[case]["key"], **more})).document
        self.at, self.moves = f"visits/{seen['id']}", 0
        return seen

    async def move(self, do, *, after=None, **fields):
        told = {"after": self.moves if after is None else after, "move": {"do": do, **fields}}
        answer = await self.post(f"{self.at}/moves", told)
        if answer.status == 200:
            self.moves = answer.document["moves"]
        return answer

    async def hand_in(self, name="influenza A"):
        await self.move("conclude")
        return await self.move(
            "report",
            diagnoses=[{"name": name, "probability": 0.8}],
            symptoms=["fever above 39 degrees"],
            examinations=["nucleic acid amplification test"],
            rationale=["high fever in an outbreak"],
            treatment=["oseltamivir"],
        )


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "practice"


@pytest.fixture
async def client(tmp_path, folder):
    serving = Serving([tmp_path], practice=folder)
    yield Client(application(serving))
    await serving.end()


@pytest.fixture
async def restarted(tmp_path, folder):
    """Returns a second server over the same folder, as after a restart."""
    served = []

    def restart():
        served.append(Serving([tmp_path], practice=folder))
        return Client(application(served[-1]))

    yield restart
    for serving in served:
        await serving.end()
