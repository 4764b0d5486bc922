"""Methods as the MedAgents paper ran them: each at its temperature, its team as large as the paper's (§4.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from polyclinic.errors import UserError
from polyclinic.methods.table import ChosenMethod, settable
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import MedAgentsSettings
from polyclinic.protocols.protocol import PaperSetting

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
    if rules.side == "ours":
        return list(chosen)
    return [_published(one, rules, dataset, temperature, varied) for one in chosen]


def _published(
    chosen: ChosenMethod,
    rules: FollowedProtocol[MedAgentsSettings],
    dataset: str,
    temperature: float | None,
    varied: Sequence[str],
) -> ChosenMethod:
    drawing = rules.settings.methods.get(chosen.name)
    wanted: dict[str, PaperSetting[Any] | None] = {}
    if drawing is not None:
        wanted |= {"temperature": drawing.temperature, "top_p": drawing.top_p, "samples": drawing.samples}
    if chosen.name == _TEAM:
        wanted |= {"max_rounds": rules.settings.rounds, "votes": rules.settings.votes}
        wanted |= {"question_experts": rules.settings.question_experts, "option_experts": rules.settings.option_experts}
    settings = dict(chosen.settings)
    for name, setting in wanted.items():
        if setting is None or name not in settable(chosen.named):
            continue
        value = of_dataset(setting.paper, dataset)
        given = settings.get(name, temperature if name == "temperature" else None)
        if name not in varied and given not in (None, value):
            option = "--temperature" if name == "temperature" and name not in settings else f"--set {name}"
            had = f"{name} {value} for {chosen.name} ({setting.section})"
            raise UserError(
                f"--protocol {rules.given} has {had}; {option} is {given}. Leave it out, or take --protocol ours"
            )
        settings.setdefault(name, value)
    return msgspec.structs.replace(chosen, settings=settings)


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
