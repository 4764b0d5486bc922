"""What a store is told, without a server."""

import asyncio

import pytest

from polyclinic.errors import UserError
from polyclinic.grouping import GroupThread
from polyclinic.storage.journal import _as_stored, _portions, call_id
from polyclinic.storage.results import StoredFolders
from polyclinic.storage.server import plain


async def test_what_comes_meanwhile_is_asked_together_and_a_failure_is_everybodys():
    ended, batches = [], []

    def work(items):
        batches.extend(items)
        if "bad" in items:
            raise ValueError("no")
        return [item.upper() for item in items]

    asking = GroupThread(work, name="test", end=lambda: ended.append(True))
    assert await asyncio.gather(*(asking.ask(one) for one in "abc")) == ["A", "B", "C"]
    assert batches == ["a", "b", "c"]
    for one in ("bad", "good"):
        with pytest.raises(ValueError, match="no"):
            await asking.ask(one)
    assert "good" not in batches
    await asking.aclose()
    assert ended


def test_rows_as_a_store_has_them():
    key = ("e\x00", b"request", 0)
    table, row = _as_stored(("calls", ("run", *key, "turn", b"reply\x00")))
    assert (table, row) == ("calls", (call_id("run", *key), "run", "e␀", b"request", 0, "turn", b"reply\x00"))
    assert call_id("run", *key) != call_id("run", "e", b"request", 0) != call_id("run2", "e", b"request", 0)
    assert plain("a\ud800b") == "a\\ud800b"
    large = [(bytes([n]), b"x" * (5 << 20)) for n in range(5)]
    assert [len(some) for some in _portions(large)] == [2, 2, 1]


def test_results_in_a_store_by_number():
    for text, numbers in {"postgresql://h/d": (), "postgresql://h/d#17": (17,), "postgresql://h/d#1,2": (1, 2)}.items():
        assert StoredFolders.read(text).numbers == numbers, text
    for text in ("postgresql://h/d#", "postgresql://h/d#x", "postgresql://u:p#w@h/d", "postgresql://h/d#-1"):
        with pytest.raises(UserError):
            StoredFolders.read(text)
