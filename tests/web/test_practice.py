"""One server at a time keeps what is played."""

import json
import sqlite3
from contextlib import closing

from tests.web.asking import asked

from polyclinic.web.application import application
from polyclinic.web.practice import LOCK
from polyclinic.web.serving import Serving


async def test_what_another_server_has_is_not_written_to(tmp_path):
    serving = Serving([tmp_path])
    pages = application(serving)

    key = (await asked(pages, "/api/chair/cases")).document["cases"][0]["key"]
    body = json.dumps({"title": "t", "cases": [{"set": "shipped", "key": key}], "students": ["Ada"]}).encode()

    async def make():
        return await asked(pages, "/api/chair/classes", method="POST", body=body, content_type="application/json")

    (tmp_path / "practice").mkdir()
    with closing(sqlite3.connect(tmp_path / "practice" / LOCK, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        refused = await make()
        assert refused.status == 409 and "another server" in refused.document["error"]
        assert (await asked(pages, "/api/chair/classes")).status == 200
    assert (await make()).status == 201
    beside = Serving([tmp_path])  # of the same process
    beside.practice.hold()
    serving.close()
    beside.close()
    with closing(sqlite3.connect(tmp_path / "practice" / LOCK, isolation_level=None, timeout=0)) as other:
        other.execute("BEGIN EXCLUSIVE")
