"""What the state-aware patient asks its model for, beside one word of several."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

Passage = Annotated[str, msgspec.Meta(max_length=4000)]


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the patient's information holds of what the doctor asks for or advises, word for word."""

    relevant: bool
    texts: Annotated[tuple[Passage, ...], msgspec.Meta(max_length=20)]


class HeldInWard(Held, frozen=True, forbid_unknown_fields=True):
    """The same, and which examinations the doctor wants done or read out."""

    examinations: Annotated[tuple[Passage, ...], msgspec.Meta(max_length=20)]


class Spoken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The patient's reply."""

    say: Annotated[str, msgspec.Meta(min_length=1, max_length=8000)]


_Short = Annotated[tuple[Annotated[str, msgspec.Meta(max_length=160)], ...], msgspec.Meta(max_length=3)]


class ShortHeld(Held, frozen=True, forbid_unknown_fields=True):
    """`Held` with bounds for a small model, which may never stop by itself."""

    texts: _Short


class ShortHeldInWard(HeldInWard, frozen=True, forbid_unknown_fields=True):
    """`HeldInWard` with such bounds."""

    texts: _Short
    examinations: _Short


class ShortSpoken(Spoken, frozen=True, forbid_unknown_fields=True):
    """`Spoken` with such bounds."""

    say: Annotated[str, msgspec.Meta(min_length=1, max_length=240)]


SHORT: dict[Any, Any] = {Held: ShortHeld, HeldInWard: ShortHeldInWard, Spoken: ShortSpoken}
"""The same with bounds, for models that need them."""
