"""The options that several commands take, each group stated once as a type; the command line is made from them.

A command names a group as the type of a keyword: `models: Models = MODELS`. What a field is for stands below it, and is
what `--help` prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from polyclinic.errors import UserError
from polyclinic.models.session import ModelOptions

_MODELS = Group("Language models", sort_key=20)
_TEAM = Group("Several doctors", sort_key=10)
_MINDS = "rules, scripted:FILE, local, direct/NAME, a name that Inspect knows, or FILE.py:NAME."

Several = Parameter(consume_multiple=True)
"""An option that takes several values, `--doctor A B`, and may be repeated."""

Models = Annotated[ModelOptions, Parameter(name="*", group=_MODELS)]
MODELS = ModelOptions()

Journal = Annotated[
    Path | None,
    Parameter(
        name="--journal",
        group=_MODELS,
        help="Keep every answer in this file; the same command again goes on from it, asking nothing twice.",
    ),
]

Json = Annotated[bool, Parameter(name="--json", help="Print one JSON document on stdout, and nothing else.")]
Layout = Annotated[
    str | None, Parameter(name="--layout", help="The case file's layout; recognised by its keys where left out.")
]
Limit = Annotated[int | None, Parameter(name="--limit", help="Only the first so many cases.")]
MaxFailures = Annotated[
    float, Parameter(name="--max-failures", help="Share of failures, in percent, above which the run has failed.")
]

Doctor = Annotated[str, Parameter(name="--doctor", help=f"The doctor's mind: {_MINDS}")]
Doctors = Annotated[list[str], Several, Parameter(name="--doctor", help=f"A doctor's mind; several: {_MINDS}")]
Patient = Annotated[
    str,
    Parameter(
        name="--patient",
        help=f"The patient's mind: {_MINDS} saps:MODEL is the state-aware simulator, saps-parallel:MODEL the same with "
        "its questions asked at once.",
    ),
]
Examiner = Annotated[str, Parameter(name="--examiner", help="Who reads requests for examinations: rules, or a model.")]


@Parameter(name="*", group=_TEAM)
@dataclass(frozen=True, kw_only=True)
class TeamOptions:
    """Several doctors in place of one, and how they discuss."""

    doctors: Annotated[list[str] | None, Several] = None
    """Several doctors, in place of --doctor: each sees the patient alone, then they discuss: --doctors A B, or A,B."""
    director: str = "rules"
    """Who chairs the discussion: a mind like the doctors'."""
    no_dispute_resolution: bool = False
    """The doctors see the others' reports, and not what is in dispute: the paper's ablation."""
    order: Literal["parallel", "sequential"] = "parallel"
    """The doctors of a round speak all at once, or one after another, as in AI Hospital's Algorithm 1."""
    max_rounds: int = 4
    """Rounds of discussion at most."""

    @property
    def named(self) -> list[str]:
        """The doctors' minds; `A,B` counts as two."""
        return [one.strip() for text in self.doctors or () for one in text.split(",") if one.strip()]


TEAM = TeamOptions()


def at_least(least: float, **given: float | None) -> None:
    """Checks options that count something.

    Args:
        least: the smallest value allowed.
        given: the options by their names in Python; None where one was left out.

    Raises:
        UserError: one is smaller.
    """
    for name, value in given.items():
        if value is not None and value < least:
            raise UserError(f"--{name.replace('_', '-')} {value:g}; allowed: {least:g} or more")


def each_once(option: str, names: Sequence[str]) -> None:
    """Checks that an option that may be repeated names each thing once.

    Raises:
        UserError: it names one twice.
    """
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"--{option} names {twice!r} twice; each once")
