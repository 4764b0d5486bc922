"""What the entries of the medical knowledge are made of: severities, names in both languages, strict data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar, dataclass_transform

import msgspec

from polyclinic.language.language import Language

Severity = Literal["mild", "moderate", "severe"]
SEVERITIES: tuple[Severity, ...] = ("mild", "moderate", "severe")


Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

DATA = Path(__file__).parent

T = TypeVar("T")


class _DataMeta(msgspec.StructMeta):
    """Makes every subclass of `Data` frozen and keyword-only, which msgspec and mypy want said of each class."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        return super().__new__(mcls, name, bases, namespace, **{"frozen": True, "kw_only": True, **config})


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Data(msgspec.Struct, metaclass=_DataMeta, frozen=True, forbid_unknown_fields=True):
    """Base of everything that is read from the data files: what is not known here is a mistake there."""


class InBoth(Data, Generic[T]):
    """Something that is said in both languages."""

    en: T
    zh: T

    def get(self, language: Language) -> T:
        """Returns how it is said in one language."""
        return self.en if language == "en" else self.zh


class Name(InBoth[str]):
    """A name in both languages."""


class Texts(InBoth[tuple[str, ...]]):
    """Several texts in both languages."""

    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()
