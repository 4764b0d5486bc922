"""Settings that change nothing beside others: they are refused, for whoever gives one expects something of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from polyclinic.errors import UserError


class _Only(NamedTuple):
    """When a setting does something, by all settings of the method, and how that is said."""

    matters: Callable[[Mapping[str, Any]], bool]
    needed: str


_VERIFIED = _Only(lambda s: s["cross_verification"] is True, "cross_verification=true")
_IN_ROUNDS = _Only(lambda s: s["cross_verification"] is True and s["rounds"] > 0, "cross_verification=true and rounds")
_TREES = _Only(lambda s: s["tree"] is True, "tree=true")
_CONSULTED = _Only(lambda s: s["stages"] == "consultation", "stages=consultation")
_PANEL = _Only(lambda s: s["level"] in (None, "moderate"), "level=moderate, or no level")
_TEAMS = _Only(lambda s: s["level"] in (None, "high"), "level=high, or no level")

_ONLY: dict[str, dict[str, _Only]] = {
    "tree_of_reasoning": {
        "rounds": _VERIFIED,
        "turns": _IN_ROUNDS,
        "targets": _IN_ROUNDS,
        "update_from": _IN_ROUNDS,
        "removed": _Only(lambda s: bool(s["without"]), "without=KIND"),
        "passages": _Only(lambda s: s["retrieval"] is True, "retrieval=true"),
        "form": _TREES,
        "evidence": _TREES,
    },
    "medagents": {"max_rounds": _CONSULTED, "votes": _CONSULTED},
    "tree_of_thought": {"voters": _Only(lambda s: s["evaluation"] == "vote", "evaluation=vote")},
    "mdagents": {
        **dict.fromkeys(("experts", "max_rounds", "turns", "ends", "moderator"), _PANEL),
        **dict.fromkeys(("diagnostic_teams", "members"), _TEAMS),
    },
}


def check_effect(method: str, given: Iterable[str], settings: Mapping[str, Any]) -> None:
    """Refuses a setting that was given and changes nothing beside the others; `settings` are all, defaults among them.

    Raises:
        UserError: names the setting, and beside what it would do something.
    """
    only = _ONLY.get(method, {})
    for name in given:
        if name in only and not only[name].matters(settings):
            needed = f"it needs {only[name].needed} beside it"
            raise UserError(f"setting {method}.{name} has no effect as the others are; {needed}, or leave it out")
