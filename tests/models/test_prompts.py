"""What was asked, beside the answers of a journal."""

import sqlite3
from contextlib import closing

import pytest

from polyclinic.models.journal import Journal
from polyclinic.models.model import Image, Text
from polyclinic.models.prompts import read_prompts
from polyclinic.models.scripted import Scripted

FIRST = [("system", "You are a doctor."), ("user", "I cough.")]
SECOND = [*FIRST, ("assistant", "Since when?"), ("user", (Text("Since Monday."), Image("data:image/png;base64,AAAA")))]


async def asked(path, **options):
    async with Journal(path, run="r", **options) as journal:
        model = journal.wrap(Scripted(["one", "two", "yes"]), episode="e", role="doctor")
        for messages, answer in ((FIRST, None), (SECOND, None), ("Is it so?", ("yes", "no"))):
            await model.ask(messages, answer=answer)


def read(path):
    with closing(sqlite3.connect(path)) as file:
        requests = [request for (request,) in file.execute("SELECT request FROM calls")]
        return read_prompts(file, requests)


async def test_a_message_is_kept_once_however_often_it_is_sent(tmp_path):
    await asked(tmp_path / "j")
    prompts, messages = read(tmp_path / "j")
    found = {tuple(messages[id] for id in one.messages): one for one in prompts.values()}
    last = ("user", "Since Monday.\n[picture 709e80c88487a241]")
    assert found.keys() == {tuple(FIRST), (*SECOND[:3], last), (("user", "Is it so?"),)}
    assert {(one.model, one.role, one.answer) for one in found.values()} == {
        ("scripted", "doctor", ""), ("scripted", "doctor", "yes | no")}  # fmt: skip
    assert len(messages) == 5
    # Another process that asks the same adds nothing.
    before = (tmp_path / "j").read_bytes()
    await asked(tmp_path / "j")
    assert read(tmp_path / "j") == (prompts, messages) and len(before) == (tmp_path / "j").stat().st_size


async def test_a_journal_without_them_is_read_and_written_as_before(tmp_path):
    await asked(tmp_path / "j", prompts=False)
    assert read(tmp_path / "j") == ({}, {})
    with closing(sqlite3.connect(tmp_path / "j")) as file:
        tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert not tables & {"messages", "prompts"}
    await asked(tmp_path / "j")  # answers from it, and asks nobody: there is nothing new to keep
    assert read(tmp_path / "j") == ({}, {})


async def test_a_damaged_message_is_named(tmp_path):
    await asked(tmp_path / "j")
    with closing(sqlite3.connect(tmp_path / "j")) as file:
        file.execute("UPDATE messages SET message = x'00'")
        file.commit()
    with pytest.raises(ValueError, match="damaged"):
        read(tmp_path / "j")
