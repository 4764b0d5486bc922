"""The option `--protocol`: what a command follows, what of its options contradicts that, and what is said of it."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from cyclopts import Parameter

from polyclinic.players.minds import HUMAN, model_of
from polyclinic.protocols.following import FollowedProtocol, follow
from polyclinic.protocols.papers import Settings
from polyclinic.terminal.screen import note

S = TypeVar("S", bound=Settings)

Protocol = Annotated[
    str,
    Parameter(
        metavar="WHOSE",
        help="'ours'; 'paper', which refuses what the paper's experiment has not, such as rules in a model's place; or "
        "your own: FILE.yaml. 'polyclinic protocols show' says what each sets.",
    ),
]


def followed(kind: type[S], given: str, **minds: str | None) -> FollowedProtocol[S]:
    """Returns what a command follows, after a look at who plays: by role, the mind that the option of its name says.

    Raises:
        UserError: there is no such protocol, or a mind may not play its role in it.
    """
    rules = follow(kind, given)
    for role, name in minds.items():
        if name is not None:
            rules.check_mind(role, f"--{role}", name, mind_kind(name))
    return rules


def mind_kind(name: str) -> str:
    """Returns what sort of a mind a name is: rules, model, saps, saps-parallel, scripted, human, or own."""
    kind = name.partition(":")[0]
    if model_of(name) is not None:
        return kind if kind.startswith("saps") else "model"
    return kind if kind in ("rules", "scripted", HUMAN) else "own"


def say(rules: FollowedProtocol[Any], *, cases: int | None = None) -> None:
    """Notes on stderr what still differs from the paper that is followed, and why; `cases` are those of this run."""
    had = getattr(rules.settings, "cases", None)
    here = [] if cases is None or had is None or rules.side == "ours" else [f"cases: {had.paper}; here {cases}"]
    for line in [*rules.remarks, *here]:
        note(f"protocol {rules.protocol.name}, still other than in the paper: {line}")
