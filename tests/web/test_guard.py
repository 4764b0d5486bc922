"""Who may ask what."""

import pytest
from tests.web.asking import asked

from polyclinic.web.application import application
from polyclinic.web.serving import Serving


@pytest.fixture
def behind_token(runs):
    serving = Serving([runs], host="0.0.0.0", token="kept-to-ourselves")
    yield application(serving)
    serving.close()


async def test_other_names_and_other_pages_are_refused(pages):
    refused = {
        "a name that leads here": ({"host": "evil.example:8765"}, 421),
        "no name": ({"host": ""}, 421),
        "another page": ({"origin": "http://evil.example"}, 403),
        "a page of another port": ({"origin": "http://localhost:9"}, 403),
        "a sandbox": ({"origin": "null"}, 403),
        "fetched from elsewhere": ({"sec_fetch_site": "cross-site"}, 403),
        "an address that is none of ours": ({"host": "192.0.2.7"}, 421),
    }
    wrong = {}
    for why, (headers, status) in refused.items():
        answer = await asked(pages, "/api/town/runs", **headers)
        if answer.status != status or "one" in answer.document:
            wrong[why] = answer.status
    assert not wrong
    for host in ("localhost", "127.0.0.1:8765", "[::1]:8765"):
        assert (await asked(pages, "/api/town/runs", host=host, origin=f"http://{host}")).status == 200


async def test_every_answer_forbids_scripts_that_stand_in_a_page(pages):
    for path in ("/", "/town", "/api/town/runs", "/nowhere", "/api/nowhere"):
        policy = (await asked(pages, path)).headers["content-security-policy"]
        assert "default-src 'self'" in policy and "script-src 'self'" in policy and "unsafe" not in policy


async def test_whoever_is_not_on_this_machine_needs_the_token(behind_token):
    at = {"host": "192.168.1.5:8765"}
    assert (await asked(behind_token, "/api/town/runs", **at)).status == 401
    assert (await asked(behind_token, "/api/town/runs", **at, authorization="Bearer guessed")).status == 401
    assert (await asked(behind_token, "/api/town/runs", **at, authorization="Bearer kept-to-ourselves")).status == 200
    assert (await asked(behind_token, "/town", **at)).status == 200  # the page itself holds nothing
    came = await asked(behind_token, "/town?run=one&paused&token=kept-to-ourselves", **at)
    assert came.status == 303 and came.headers["location"] == "/town?run=one&paused="
    cookie = came.headers["set-cookie"]
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
    assert (await asked(behind_token, "/api/town/runs", **at, cookie=cookie.partition(";")[0])).status == 200
    assert (await asked(behind_token, "/town?token=guessed", **at)).status == 401
    assert (await asked(behind_token, "//evil.example?token=kept-to-ourselves", **at)).headers["location"][:2] != "//"


async def test_a_long_address_is_refused(pages):
    assert (await asked(pages, "/" + "a" * 10_000)).status == 414
