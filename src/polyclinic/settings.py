"""Settings: the options of a command that are given in a configuration file or by `--set`, not on the command line.

A field of a group of options is a setting if its type says so:

    timeout: Annotated[float | None, setting("models")] = None

It is then the key `timeout` of the section `[models]` of a configuration file, and `--set models.timeout=30`.
"""

from __future__ import annotations

from typing import get_type_hints

from cyclopts import Group, Parameter

_PREFIX = "setting:"


def setting(section: str) -> Parameter:
    """Returns what makes a field of a group of options a setting of this section."""
    return Parameter(show=False, group=Group(f"{_PREFIX}{section}", show=False))


def name_of(options: type, field: str) -> str:
    """Returns how a field of a group of options is named to a user: `--seed`, or `models.timeout` for a setting."""
    name = field.replace("_", "-")
    hint = get_type_hints(options, include_extras=True)[field]
    sections = (section_of(one) for one in getattr(hint, "__metadata__", ()) if isinstance(one, Parameter))
    section = next((one for one in sections if one is not None), None)
    return f"--{name}" if section is None else f"{section}.{name}"


def section_of(parameter: Parameter) -> str | None:
    """Returns the section of a setting, None for an option of the command line."""
    for group in parameter.group if isinstance(parameter.group, tuple) else (parameter.group,):
        name = group if isinstance(group, str) else getattr(group, "name", "")
        if name.startswith(_PREFIX):
            return name.removeprefix(_PREFIX)
    return None


ASIDE_IN_COMMANDS = frozenset(
    "ablations baseline batch_api config csv group json live on out max_failures port reuse session sets store".split()
)
"""Options of commands that alter no answer; those of every command that asks a model say so themselves."""
