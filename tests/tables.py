"""Tables as tests: one test over all rows, which names every row that fails."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def each_row(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable:
    """Runs a test for each row, as `pytest.mark.parametrize` does, and as one test: a case each would cost more.

    What the test takes beside the row are fixtures, which all rows share. Several stand one above the other.
    """
    names = tuple(names.replace(",", " ").split()) if isinstance(names, str) else names
    table = [dict(zip(names, row if len(names) > 1 else (row,), strict=True)) for row in rows]
    assert table, "a table without rows tests nothing"

    def decorate(test: Callable) -> Callable:
        fixtures = [p for p in inspect.signature(test).parameters.values() if p.name not in names]
        if inspect.iscoroutinefunction(test):

            async def whole(**shared):
                failed = []
                for row in table:
                    try:
                        await test(**row, **shared)
                    except (Exception, pytest.fail.Exception) as problem:
                        failed.append((row, problem))
                _tell(failed)
        else:

            def whole(**shared):
                failed = []
                for row in table:
                    try:
                        test(**row, **shared)
                    except (Exception, pytest.fail.Exception) as problem:
                        failed.append((row, problem))
                _tell(failed)

        functools.update_wrapper(whole, test)
        del whole.__wrapped__
        whole.__signature__ = inspect.Signature(fixtures)
        return whole

    return decorate


def _tell(failed: list[tuple[dict[str, Any], BaseException]]) -> None:
    if failed:
        told = (f"{', '.join(map(repr, row.values()))[:300]}: {type(p).__name__}: {p}" for row, p in failed)
        raise AssertionError(f"{len(failed)} rows fail\n" + "\n".join(told)) from failed[0][1]
