"""Every example of docs/models.md runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS, ids=[f"block {number}" for number in range(1, len(BLOCKS) + 1)])
def test_the_examples_run(block):
    subprocess.run([sys.executable, "-c", block], check=True, timeout=60)


def test_the_page_names_every_fault_and_door():
    from polyclinic import errors
    from polyclinic.models.open import DOORS

    text = PAGE.read_text()
    for name in vars(errors).values():
        if (
            isinstance(name, type)
            and issubclass(name, errors.ModelError | errors.EndpointError)
            and name.__subclasses__() == []
        ):
            assert f"`{name.__name__}`" in text
    assert all(f"`{door}`" in text for door in DOORS)
