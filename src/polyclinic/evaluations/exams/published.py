"""Methods as the MedAgents paper ran them: each at its temperature, its team as large as the paper's (§4.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polyclinic.errors import UserError
from polyclinic.evaluations.protocol import as_paper
from polyclinic.methods.table import ChosenMethod
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import MedAgentsSettings, PaperSetting

SUBJECTS = (
    "anatomy", "clinical knowledge", "college medicine", "medical genetics", "professional medicine", "college biology",
)  # fmt: skip
"""The subjects of MMLU in the paper, in the order of Table 2."""

_TEAM = "medagents"
_OTHERS = "others"
"""Data sets that a setting does not name."""


def as_published(
    chosen: Sequence[ChosenMethod],
    rules: FollowedProtocol[MedAgentsSettings],
    *,
    dataset: str,
    temperature: float | None = None,
) -> list[ChosenMethod]:
    """Returns the methods with what the paper sets of each; as they are where ours is followed.

    Methods that the paper does not name keep what they have, and so do settings in which methods of one name differ.
    """
    names = {one.name for one in chosen}
    varied = {name: varied_settings([one for one in chosen if one.name == name]) for name in names}
    return [
        as_paper(one, _wanted(one, rules.settings, dataset), rules, temperature=temperature, varied=[*varied[one.name]])
        for one in chosen
    ]


def varied_settings(methods: Sequence[ChosenMethod]) -> dict[str, list[Any]]:
    """Returns the settings in which methods differ, each with its values in their order; None where it is not given."""
    keys = dict.fromkeys(key for one in methods for key in one.settings)
    values = {key: [one.settings.get(key) for one in methods] for key in keys}
    return {key: held for key, held in values.items() if any(one != held[0] for one in held)}


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


def limit_of(rules: FollowedProtocol[MedAgentsSettings], dataset: str) -> int | None:
    """Returns how many questions of a data set are asked; None for all."""
    number = of_dataset(rules.of(rules.settings.sample), dataset)
    return None if number == "all" else int(number)


def check_limit(rules: FollowedProtocol[MedAgentsSettings], dataset: str, given: int | str | None) -> None:
    """Refuses another number of questions than the paper's."""
    number = limit_of(rules, dataset)
    if rules.side == "paper" and given not in (None, "all" if number is None else number):
        had = "all questions" if number is None else f"{number} questions"
        had = f"{had} of {dataset} ({rules.settings.sample.section})"
        raise UserError(f"--protocol {rules.given} has {had}; leave out --limit {given}, or take --protocol ours")
