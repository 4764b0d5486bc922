"""What Inspect leaves open is found where its warnings are looked over, at little cost."""

import gc
import warnings

import pytest


@pytest.fixture(autouse=True)
def _swept():
    """What Inspect leaves open is warned of where a file's filter holds, and not when the tests are over.

    Only what a test made is looked through: all that Inspect imports would take half a second each time.
    """
    gc.freeze()
    gc.disable()
    yield
    with warnings.catch_warnings():
        # Inspect's own streams; what is said of them helps nobody here.
        warnings.filterwarnings("ignore", "Unclosed <MemoryObject", ResourceWarning)
        gc.collect()
    gc.enable()
