"""docs/models.md speaks of every fault and every door; that its examples run is tested with the other pages."""

from pathlib import Path

from polyclinic import errors
from polyclinic.models.open import PROVIDERS

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


def test_the_page_names_every_fault_and_door():
    text = PAGE.read_text()
    for name in vars(errors).values():
        if (
            isinstance(name, type)
            and issubclass(name, errors.ModelError | errors.EndpointError)
            and name.__subclasses__() == []
        ):
            assert f"`{name.__name__}`" in text
    assert all(f"`{door}`" in text for door in PROVIDERS)
