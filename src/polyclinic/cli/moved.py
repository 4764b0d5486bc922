"""Commands and options that have other names now: who gives an old one gets one line that says the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

COMMANDS: Mapping[str, str] = {
    "results join": "results show DIR...",
    "results export": "results show DIR... --format LAYOUT, with --rows items or --rows calls; of differences results "
    "compare DIR... --format LAYOUT",
    "memory near": "memory show DIR --near TEXT",
    "memory export": "memory show DIR --out FILE",
    "memory import": "memory build FILE --out DIR",
    "memory merge": "memory build DIR... --out NEW",
    "memory rebuild": "memory build DIR --embedder NAME --out NEW",
    "memory link": "memory build URL#NAME --out DIR",
}
"""What was called so is done by which words."""

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "results show": {"--to": "--format", "--what": "--rows"},
    "results compare": {"--to": "--format"},
    "memory show": {"--last": "--limit", "--k": "--limit"},
}
"""Of a command, the new words of each old option."""


def moved_command(words: Sequence[str]) -> str | None:
    """Returns the line for words that begin with an old command."""
    for n in (2, 1):
        if (old := " ".join(words[:n])) in COMMANDS:
            return f"'{old}' is '{COMMANDS[old]}' now"
    return None


def moved_option(command: Sequence[str], option: str) -> str | None:
    """Returns the line for an old option of a command."""
    new = OPTIONS.get(" ".join(command), {}).get(option)
    return None if new is None else f"{option} is {new} now"
