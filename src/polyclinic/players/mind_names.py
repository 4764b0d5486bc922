"""The names of minds, as the command line and a trace have them, and which of them need a language model.

| name                  | plays                  | what it is                                                     |
| --------------------- | ---------------------- | -------------------------------------------------------------- |
| `rules`               | everybody              | built in, no model, deterministic                              |
| `recall`              | doctor                 | built in, knows no disease and goes by its memory alone        |
| `scripted:FILE`       | all but the examiner   | answers from a JSON file: a list, or a list a purpose          |
| a model's name        | everybody              | a language model: `local`, `direct/NAME`, `openai/NAME`        |
| `saps:MODEL`          | patient                | the state-aware patient on a model                             |
| `saps-parallel:MODEL` | patient                | the same, its tracker's questions asked at once                |
| `human`               | doctor, patient, nurse | a person at the terminal                                       |
| `FILE.py:NAME`        | everybody              | a mind of one's own, see `own_mind`, or a model: `own_door`    |
| an entry point's name | everybody              | the same, from an installed package (group `polyclinic.minds`) |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from polyclinic import plugins
from polyclinic.models.provider import names_provider
from polyclinic.players.own_mind import Script
from polyclinic.players.player import Mind

if TYPE_CHECKING:
    from polyclinic.players.language_model.saps import Tracker

HUMAN = "human"
RECALL = "recall"

SAPS: dict[str, Tracker] = {"saps": "staged", "saps-parallel": "parallel"}
"""What kinds of the state-aware patient there are, by what stands before the model's name."""

Playing = str | Script | Mind[Any] | type[Any]
"""Who plays a role: a mind by name, a script (see `ScriptedMind`), or a mind of one's own (see `own_mind`)."""


def model_of(name: Playing) -> str | None:
    """Returns the name of the language model that a mind needs, or None: `saps:direct/x` needs `direct/x`."""
    if not isinstance(name, str):
        return None
    kind, _, model = name.partition(":")
    named = model if kind in SAPS else name
    if plugins.names_file(named):
        return named if names_provider(named) else None
    is_local = named.partition("/")[0] in ("local", "made-up")
    return named if is_local or "/" in named.partition(":")[0] else None


def name_of(player: Playing) -> str:
    """Returns what a trace calls a mind."""
    if isinstance(player, str):
        return player
    if is_script(player):
        return "scripted"
    own = getattr(player, "name", "")
    return own if own and isinstance(own, str) else getattr(player, "__name__", "own")


def is_script(player: object) -> bool:
    """Whether a player is what somebody says, one after the other, and neither a mind nor a name."""
    return isinstance(player, Iterable) and not callable(player) and not hasattr(player, "answer")
