"""What a person types, whatever standard input is."""

import asyncio
import os

import pytest

from polyclinic.terminal.typed import TypedLines


async def lines_of(file, monkeypatch):
    monkeypatch.setattr("sys.stdin", file)
    typed = TypedLines()
    return [await typed.read() for _ in range(4)]


async def test_lines_come_from_a_file(tmp_path, monkeypatch):
    (tmp_path / "answers").write_text("one\n二\n", "utf-8")
    with (tmp_path / "answers").open(encoding="utf-8") as file:
        assert await lines_of(file, monkeypatch) == ["one\n", "二\n", "", ""]


async def test_lines_come_from_a_pipe_and_nothing_else_waits_for_them(monkeypatch):
    there, here = os.pipe()
    with os.fdopen(there, encoding="utf-8") as file, os.fdopen(here, "w", encoding="utf-8") as writer:
        reading = asyncio.create_task(lines_of(file, monkeypatch))
        await asyncio.sleep(0)
        assert not reading.done()
        for text in ("one\n", "二\n"):
            writer.write(text)
            writer.flush()
            await asyncio.sleep(0)
        writer.close()
        assert await reading == ["one\n", "二\n", "", ""]


@pytest.mark.parametrize("content", ["", "one"])
async def test_what_ends_without_a_line_ends(content, tmp_path, monkeypatch):
    (tmp_path / "answers").write_text(content)
    with (tmp_path / "answers").open() as file:
        assert await lines_of(file, monkeypatch) == [content, "", "", ""]
