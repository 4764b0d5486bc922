"""What Inspect leaves open is found where its warnings are looked over, at little cost."""

import gc

import pytest


@pytest.fixture(autouse=True)
def _swept():
    """What Inspect leaves open is warned of where a file's filter holds, and not when the tests are over.

    Only what a test made is looked through: all that Inspect imports would take half a second each time.
    """
    gc.freeze()
    yield
    gc.collect()
