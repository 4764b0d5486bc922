"""What the entries of the medical knowledge are made of: severities, names in both languages, strict data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Generic, Literal, TypeVar

import msgspec

from polyclinic.language.language import Language

Severity = Literal["mild", "moderate", "severe"]
SEVERITIES: tuple[Severity, ...] = ("mild", "moderate", "severe")


Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

DATA = Path(__file__).parent

T = TypeVar("T")


class Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything that is read from the data files: what is not known here is a mistake there."""


class InBoth(Data, Generic[T], frozen=True, kw_only=True):
    """Something that is said in both languages."""

    en: T
    zh: T

    def get(self, language: Language) -> T:
        """Returns how it is said in one language."""
        return self.en if language == "en" else self.zh


class Name(InBoth[str], frozen=True, kw_only=True):
    """A name in both languages."""


class Texts(InBoth[tuple[str, ...]], frozen=True, kw_only=True):
    """Several texts in both languages."""

    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()
