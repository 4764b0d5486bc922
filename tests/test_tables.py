"""A table as one test catches what a case each would catch."""

import inspect

import pytest
from tests.tables import each_row


def test_every_row_that_fails_is_named_and_the_others_are_run():
    ran = []

    @each_row("number, word", [(1, "one"), (2, "two"), (3, "three")])
    @each_row("other", "ab")
    def check(number, word, other, kept):
        ran.append((number, other))
        assert number == 2, kept

    assert list(inspect.signature(check).parameters) == ["kept"]
    with pytest.raises(AssertionError, match="2 rows fail") as raised:
        check(kept="it is not")
    assert len(ran) == 6
    assert "1, 'one'" in str(raised.value) and "3, 'three'" in str(raised.value) and "it is not" in str(raised.value)
    assert "'two'" not in str(raised.value)


async def test_a_coroutine_is_awaited_for_each_row():
    @each_row("number", [1, 2])
    async def check(number):
        if number == 2:
            raise ValueError("broken")

    with pytest.raises(AssertionError, match="1 rows fail\n2: ValueError: broken"):
        await check()


def test_a_table_without_rows_is_a_mistake():
    with pytest.raises(AssertionError, match="tests nothing"):
        each_row("number", [])
