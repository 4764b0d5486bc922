"""The forms: what people are asked of which items, and what they may answer. They stand in `forms.yaml`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import msgspec

from polyclinic.errors import UserError
from polyclinic.language.language import Language
from polyclinic.statistics.raters import Level
from polyclinic.yaml_files import read_yaml

Answer = str | float
"""One of the words that count, or a number on a scale."""


class Answers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be answered: the words that count, with others that mean the same; or a scale's ends."""

    answers: dict[str, tuple[str, ...]] = {}
    scale: tuple[float, float] | None = None
    level: Level = "nominal"

    def read(self, said: str) -> Answer | None:
        """Returns the answer that somebody wrote; None where it is none."""
        if self.scale is not None:
            try:
                number = float(said.strip().replace(",", "."))
            except ValueError:
                return None
            low, high = self.scale
            return number if low <= number <= high else None
        word = said.strip().casefold()
        return next((one for one, same in self.answers.items() if word in (one.casefold(), *same)), None)

    @property
    def order(self) -> tuple[str, ...]:
        """The words that count, the least first."""
        return tuple(self.answers)

    @property
    def allowed(self) -> str:
        """What may be answered, in words."""
        return f"{self.scale[0]:g} to {self.scale[1]:g}" if self.scale is not None else " | ".join(self.answers)


class SheetQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question in both languages, and the kind of its answers."""

    en: str
    zh: str
    kind: str

    def text(self, language: Language) -> str:
        """Returns the question in a language."""
        return self.zh if language == "zh" else self.en

    @property
    def answers(self) -> Answers:
        """What may be answered."""
        return _kinds()[self.kind]


class SheetForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked of one sort of item.

    Attributes:
        source: where it comes from.
        keys: what names an item.
        shown: what stands beside the questions in a sheet, and is never read back.
        third: a third person decides where two differ; agreement is of the first two.
    """

    source: str
    keys: tuple[str, ...]
    shown: tuple[str, ...]
    questions: dict[str, SheetQuestion]
    third: bool = False


@functools.cache
def forms() -> Mapping[str, SheetForm]:
    """Returns the forms by name."""
    return read_yaml(Path(__file__).with_suffix(".yaml"), dict[str, SheetForm])


@functools.cache
def _kinds() -> Mapping[str, Answers]:
    return read_yaml(Path(__file__).with_name("kinds.yaml"), dict[str, Answers])


def form_named(name: str) -> SheetForm:
    """Returns a form.

    Raises:
        UserError: there is none of that name.
    """
    if name not in forms():
        raise UserError(f"no form {name!r}; there are: {', '.join(forms())}")
    return forms()[name]
