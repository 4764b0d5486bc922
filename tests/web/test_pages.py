"""The built pages as the server has them."""

from tests.web.asking import asked

from polyclinic.web.pages import pages as built
from polyclinic.web.pages import read_pages


def test_pages_are_those_of_one_build_and_say_which(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "town.html").write_text("<html><head></head></html>")
    (tmp_path / "assets" / "town.js").write_text("1")
    first = read_pages(tmp_path)
    (tmp_path / "assets" / "town.js").write_text("2")
    second = read_pages(tmp_path)
    assert first.files["assets/town.js"] == b"1" and first.build != second.build
    for one in (first, second):
        assert f'content="{one.build}"'.encode() in one.files["town.html"]


async def test_every_answer_names_the_build(pages):
    for path in ("/town", "/api/about", "/api/nothing"):
        assert (await asked(pages, path)).headers["x-polyclinic-build"] == built().build
