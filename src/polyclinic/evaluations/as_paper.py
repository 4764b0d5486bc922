"""Methods with the settings that a paper gives them; what a user set otherwise is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from polyclinic.errors import UserError
from polyclinic.methods.table import ChosenMethod, settable
from polyclinic.protocols.following import FollowedProtocol, told
from polyclinic.protocols.papers import PaperSetting


def as_paper(
    chosen: ChosenMethod,
    wanted: Mapping[str, PaperSetting[Any] | None],
    rules: FollowedProtocol[Any],
    *,
    temperature: float | None = None,
    varied: Collection[str] = (),
) -> ChosenMethod:
    """Returns a method with what the paper sets of what it takes; as it is where ours is followed.

    The `temperature` is the one for all methods; `varied` are settings that a study goes through by itself.

    Raises:
        UserError: a setting is another than the paper's.
    """
    if rules.side == "ours":
        return chosen
    settings = dict(chosen.settings)
    for name, setting in wanted.items():
        if setting is None or name not in settable(chosen.named):
            continue
        given = settings.get(name, temperature if name == "temperature" else None)
        if name not in varied and given not in (None, setting.paper):
            option = "--temperature" if name == "temperature" and name not in settings else f"--set {name}"
            had = f"{name} {told(setting.paper)} for {chosen.name} ({setting.section})"
            problem = f"--protocol {rules.given} has {had}; {option} is {told(given)}"
            raise UserError(f"{problem}. Leave it out, or take --protocol ours")
        settings.setdefault(name, setting.paper)
    return msgspec.structs.replace(chosen, settings=settings)
