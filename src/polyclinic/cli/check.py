"""`polyclinic check`: which models can be used, and which extras are installed."""

from __future__ import annotations

from typing import Annotated

import msgspec
from cyclopts import Parameter

from polyclinic.cli.options import AT, At, Json, Several, between
from polyclinic.models.check import Check, check_model, extras
from polyclinic.models.model import LONGEST
from polyclinic.models.model_file import check_key
from polyclinic.models.open import door_named, open_model
from polyclinic.models.opened import addresses_of, door_of
from polyclinic.models.session import check_addresses
from polyclinic.terminal.screen import console, print_json


async def check(
    *,
    model: Annotated[
        list[str] | None,
        Several,
        Parameter(
            metavar="MODEL...",
            help="A model to check, such as direct/NAME or local; all of --model-file where left out.",
        ),
    ] = None,
    timeout: Annotated[float, between(0.1, LONGEST), Parameter(help="Seconds that one answer may take.")] = 60.0,  # noqa: ASYNC109
    json: Json = False,
    at: At = AT,
) -> int:
    """Checks models, and says which extras are installed; 1 where a model cannot be used."""
    # Opened one by one before any is asked: a name that is wrong is told at once.
    names = model or list(at.said.models)
    check_addresses(names, at)
    opened, of = [], []
    for name in names:
        check_key(at.said, at.model_file, name)
        said = at.said.asking(name)
        how = door_of(said, api_key_env=None if said.base_urls or door_named(name) != "direct" else at.api_key_env) | {
            "timeout": timeout,
            "attempts": 2,
            "report": _quiet,
        }
        # Each server is checked by itself.
        urls = addresses_of(said, name, at.base_urls)
        opened += [open_model(name, base_url=url, **how) for url in urls] or [open_model(name, **how)]
        of += urls if len(urls) > 1 else [""]
    checks, installed = [await check_model(one) for one in opened], extras()
    for found, server in zip(checks, of, strict=True):
        found.server = server
    if json:
        print_json({"models": msgspec.to_builtins(checks), "extras": installed})
    else:
        screen = console()
        for found in checks:
            screen.print(_line(found), soft_wrap=True)
        for name, there in installed.items():
            line = "installed" if there else f"not installed: pip install 'polyclinic[{name}]'"
            screen.print(f"extra {name:<12} {line}", soft_wrap=True)
    return 0 if all(found.good for found in checks) else 1


def _quiet(_: str) -> None:
    """Says nothing now: what a model does not take stands in the result."""


def _line(found: Check) -> str:
    facts = [f"reachable {_yes(found.reachable)}", f"answers {_yes(found.answers)}"]
    facts += [f"structured answers {_yes(found.structured)}"]
    facts += [f"{1000 * found.seconds:.0f} ms"] if found.seconds is not None else []
    facts += [f"does not take {', '.join(found.left_out)}"] if found.left_out else []
    facts += [found.problem] if found.problem else []
    at = f" at {found.server}" if found.server else ""
    return f"{found.model}{at}: {'; '.join(facts)}"


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"
