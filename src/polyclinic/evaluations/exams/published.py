"""Methods as the MedAgents paper ran them: each at its temperature, its team as large as the paper's (§4.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polyclinic.errors import UserError
from polyclinic.evaluations.as_paper import as_paper
from polyclinic.methods.table import ChosenMethod
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import MedAgentsSettings, PaperSetting

_TEAM = "medagents"
_OTHERS = "others"
"""Data sets that a setting does not name."""


def as_published(
    chosen: Sequence[ChosenMethod],
    rules: FollowedProtocol[MedAgentsSettings],
    *,
    dataset: str,
    temperature: float | None = None,
    varied: Sequence[str] = (),
) -> list[ChosenMethod]:
    """Returns the methods with what the paper sets of each; as they are where ours is followed.

    Methods that the paper does not name keep what they have. `varied` are settings that a study goes through by itself.

    Raises:
        UserError: a setting, or the `temperature` for all, is another than the paper's.
    """
    return [
        as_paper(one, _wanted(one, rules.settings, dataset), rules, temperature=temperature, varied=varied)
        for one in chosen
    ]


def _wanted(chosen: ChosenMethod, paper: MedAgentsSettings, dataset: str) -> dict[str, PaperSetting[Any] | None]:
    wanted: dict[str, PaperSetting[Any] | None] = {}
    if (drawing := paper.methods.get(chosen.name)) is not None:
        wanted |= {"temperature": drawing.temperature, "top_p": drawing.top_p, "samples": drawing.samples}
    if chosen.name == _TEAM:
        for name, experts in (("question_experts", paper.question_experts), ("option_experts", paper.option_experts)):
            wanted[name] = PaperSetting(paper=of_dataset(experts.paper, dataset), section=experts.section)
        wanted |= {"max_rounds": paper.rounds, "votes": paper.votes}
    return wanted


def of_dataset(value: Any, dataset: str) -> Any:
    """Returns what holds for a data set, where a setting says so for each."""
    return value.get(dataset, value[_OTHERS]) if isinstance(value, Mapping) else value


def sample_of(rules: FollowedProtocol[MedAgentsSettings], dataset: str) -> int | None:
    """Returns how many questions of a data set are asked; None for all."""
    number = of_dataset(rules.of(rules.settings.sample), dataset)
    return None if number == "all" else int(number)


def check_sample(
    rules: FollowedProtocol[MedAgentsSettings], dataset: str, *, given: int | None, everything: bool
) -> None:
    """Refuses another sample than the paper's.

    Raises:
        UserError: it is another.
    """
    number = sample_of(rules, dataset)
    if rules.side == "paper" and ((given is not None and given != number) or (everything and number is not None)):
        had = "all questions" if number is None else f"{number} questions"
        option = "--all" if everything else f"--sample {given}"
        had = f"{had} of {dataset} ({rules.settings.sample.section})"
        raise UserError(f"--protocol {rules.given} has {had}; leave out {option}, or take --protocol ours")
