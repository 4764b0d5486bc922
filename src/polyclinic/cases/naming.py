"""What names a disease in a text, in whatever words; who knows the words is asked (`knowledge.named_in`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


class DiseaseNaming(NamedTuple):
    """What names a disease in a text.

    Attributes:
        text: as it stands there.
        name: of the disease.
        is_sure: it says which disease it is; else it could be said of others too.
        is_wider: it says less than the name ("pneumonia", of a pneumococcal one).
    """

    text: str
    name: str
    is_sure: bool = True
    is_wider: bool = False


DiseaseNamings = Callable[[str, Iterable[str]], Iterable[DiseaseNaming]]
"""Finds what names one of some diseases in a text."""
