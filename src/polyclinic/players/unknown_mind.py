"""What is said of a name that is no mind's: which there are for the role, and which may be meant."""

from __future__ import annotations

from polyclinic import doors
from polyclinic.errors import UnknownMind, meant
from polyclinic.events import Role
from polyclinic.models.open import meant_model

_MODELS = "local, local/FILE.gguf, direct/NAME (with --base-url), or a name that Inspect knows, such as openai/NAME"
_AT_THE_TERMINAL = (Role.DOCTOR, Role.PATIENT, Role.NURSE)


def unknown_mind(role: Role, player: str) -> UnknownMind:
    """Returns what is told of whoever names a mind that cannot play the role."""
    rest = player.partition(":")[2]
    names = {
        "rules": True,
        "scripted:FILE": role is not Role.EXAMINER,
        "recall": role is Role.DOCTOR,
        "human": role in _AT_THE_TERMINAL,
    }
    names |= dict.fromkeys(("saps:MODEL", "saps-parallel:MODEL"), role is Role.PATIENT)
    fit, offered = [name for name, plays in names.items() if plays], doors.offered("minds")
    named = [one.partition(":")[0] + (f":{rest}" if ":" in one else "") for one in fit] if rest else fit
    near = meant(player, [*named, *offered]) or meant_model(player)
    allowed = f"{', '.join(fit)}, or a model: {_MODELS}; or one of your own: {', '.join(('FILE.py:NAME', *offered))}"
    return UnknownMind(f"no mind {player!r} can play the {role}{near}; allowed: {allowed}")
