"""What Inspect leaves open is found where its warnings are looked over, at little cost."""

import gc
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _swept():
    """What Inspect leaves open is warned of where a file's filter holds, and not when the tests are over.

    Only what a test made is looked through: all that Inspect imports would take half a second each time.
    """
    gc.freeze()
    yield
    gc.collect()


def pytest_collection_modifyitems(items):
    """Inspect leaves its own streams open; what is said of them helps nobody here."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning"))
