"""The built pages are those of the sources, and hold no script of their own."""

import re
import runpy
from pathlib import Path

from tests.web.asking import asked

FRONTEND = Path(__file__).parents[2] / "frontend"


def test_the_pages_were_built_from_the_sources():
    ours = runpy.run_path(str(FRONTEND / "digest.py"))
    assert ours["KEPT"].read_text("utf-8") == ours["digests"](), "the sources have changed; run: make frontend"


async def test_pages_are_there_whole_and_packed(pages):
    for path in ("/", "/town", "/town.html", "/chair"):
        answer = await asked(pages, path)
        assert answer.status == 200 and answer.headers["content-type"].startswith("text/html")
        text = answer.body.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|style=", text)
        assert "http:" not in text and "https:" not in text
        for script in re.findall(r'(?:src|href)="\./([^"]+)"', text):
            found = await asked(pages, f"/{script}", accept_encoding="gzip")
            assert found.status == 200
            assert (await asked(pages, f"/{script}", if_none_match=found.headers["etag"])).status == 304
