"""The kinds of minds, and their names on the command line and in a trace.

`KINDS` has one entry for each kind that has a name or a prefix of its own, and everything that depends on the kind of a
mind follows from it. A new kind is a class and an entry.

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
from typing import Any, Literal

import msgspec

from polyclinic import plugins
from polyclinic.events import Role
from polyclinic.models.provider import names_provider
from polyclinic.players.own_mind import Script
from polyclinic.players.player import Mind

HUMAN = "human"
RECALL = "recall"


class KindOfMind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of mind.

    Attributes:
        name: the mind's whole name, or what precedes the colon; also the word for the kind in a protocol.
        needs: what it is made with; its name has this after the colon.
        roles: what it can play.
        made: the module in `polyclinic.players` and the class or function that make it, imported when somebody names
            the kind. With a model, it is a class, called as `ModelMind` is; a doctor's also takes `sees`. Without one,
            it is a function of the role and the mind's name, which returns the `Maker` of its minds.
        settings: further arguments of the class.
        reads: whether such a doctor looks things up and remembers.
        sees: whether such a doctor is shown pictures; the settings of a model say it where there is one.
    """

    name: str
    needs: Literal["", "FILE", "MODEL"] = ""
    roles: tuple[Role, ...] = tuple(Role)
    made: str = ""
    settings: dict[str, Any] = {}
    reads: bool = True
    sees: bool = True

    @property
    def pattern(self) -> str:
        """How the command line names such a mind: `rules`, `saps:MODEL`."""
        return f"{self.name}:{self.needs}" if self.needs else self.name

    def is_named_by(self, mind: str) -> bool:
        """Whether this is the name of such a mind: what needs nothing has nothing after its name."""
        return mind == self.name or (bool(self.needs) and mind.startswith(f"{self.name}:"))


_SAPS = "language_model.saps:Saps"

KINDS = {
    kind.name: kind
    for kind in (
        KindOfMind(name="rules", made="minds:by_rules", reads=False, sees=False),
        KindOfMind(
            name="scripted",
            needs="FILE",
            roles=tuple(role for role in Role if role is not Role.EXAMINER),
            made="minds:by_script",
            reads=False,
            sees=False,
        ),
        KindOfMind(name=RECALL, roles=(Role.DOCTOR,), made="minds:by_recall", sees=False),
        KindOfMind(name=HUMAN, roles=(Role.DOCTOR, Role.PATIENT, Role.NURSE), made="minds:by_person", reads=False),
        KindOfMind(name="saps", needs="MODEL", roles=(Role.PATIENT,), made=_SAPS, settings={"tracker": "staged"}),
        KindOfMind(
            name="saps-parallel", needs="MODEL", roles=(Role.PATIENT,), made=_SAPS, settings={"tracker": "parallel"}
        ),
    )
}
"""The kinds of minds with a name or a prefix, by it, in the order in which an error lists them."""

MODEL = KindOfMind(name="model", needs="MODEL", made="language_model.mind:ModelMind")
"""A language model, by its own name."""

OWN = KindOfMind(name="own")
"""A mind of one's own; also any name that is not known."""

Playing = str | Script | Mind[Any] | type[Any]
"""Who plays a role: a mind by name, a script (see `ScriptedMind`), or a mind of one's own (see `own_mind`)."""


def kind_by_prefix(name: str) -> KindOfMind:
    """Returns the kind whose name or prefix a name has, `OWN` for any other, a model's name too; reads no file."""
    return KINDS.get(name.partition(":")[0], OWN)


def kind_of(name: str) -> KindOfMind:
    """Returns the kind of a mind by its name."""
    kind = kind_by_prefix(name)
    if model_of(name) is not None:
        return kind if kind.needs == "MODEL" else MODEL
    return OWN if kind.needs == "MODEL" else kind


def model_of(name: Playing) -> str | None:
    """Returns the name of the language model that a mind needs, or None: `saps:direct/x` needs `direct/x`."""
    if not isinstance(name, str):
        return None
    named = name.partition(":")[2] if kind_by_prefix(name).needs == "MODEL" else name
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
