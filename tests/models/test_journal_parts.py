"""What is read out of the files of several processes' journals."""

import sqlite3

import pytest

from polyclinic.errors import BadInput
from polyclinic.models.journal import AskedQuestion, Journal, StoredReply
from polyclinic.models.journal_parts import servers_of
from polyclinic.models.model import Usage


async def test_what_each_server_answered_is_summed_over_files(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        async with Journal(path) as journal:
            for server, tokens in [("one", 3), ("two", 4), ("two", 5), ("", 9)]:
                reply = StoredReply('says "server":', server=server, usage=Usage(tokens_in=tokens), attempts=2)
                question = AskedQuestion(journal.key("episode", server.encode()), "turn")
                await journal.store(question, reply)
    found = servers_of(paths)
    assert {key: (line.calls, line.attempts, line.usage.tokens_in) for key, line in found.items()} == {
        ("", "one"): (2, 4, 6),
        ("", "two"): (4, 8, 18),
    }
    with sqlite3.connect(paths[0]) as file:
        file.execute("UPDATE calls SET episode = 'another'")
    with pytest.raises(BadInput, match="damaged"):
        servers_of(paths)
