"""`polyclinic check`: which models can be used, and which extras are installed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from polyclinic.models.check import Check


def check(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", help="A model to check, such as direct/NAME or local; may be repeated."),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="The endpoint's address, up to /v1.")] = None,
    api_key_env: Annotated[str, typer.Option(help="The environment variable that holds the key.")] = "OPENAI_API_KEY",
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that one answer may take.")] = 60.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else.")] = False,
) -> None:
    """Check models: reachable, answers, structured answers, latency; and which extras are installed."""
    import msgspec

    from polyclinic.cli.output import console, print_json
    from polyclinic.models.check import check_model, extras
    from polyclinic.models.open import open_model

    async def all_checks() -> list[Check]:
        # Opened one by one before any is asked: a name that is wrong is told at once.
        opened = [
            open_model(name, base_url=base_url, api_key_env=api_key_env, timeout=timeout, attempts=2, report=_quiet)
            for name in model or []
        ]
        return [await check_model(one) for one in opened]

    checks, installed = asyncio.run(all_checks()), extras()
    if json:
        print_json({"models": msgspec.to_builtins(checks), "extras": installed})
    else:
        screen = console()
        for found in checks:
            screen.print(_line(found), soft_wrap=True)
        for name, there in installed.items():
            line = "installed" if there else f"not installed: pip install 'polyclinic[{name}]'"
            screen.print(f"extra {name:<10} {line}", soft_wrap=True)
    if not all(found.good for found in checks):
        raise typer.Exit(1)


def _quiet(_: str) -> None:
    """Says nothing now: what a model does not take stands in the result."""


def _line(found: Check) -> str:
    facts = [f"reachable {_yes(found.reachable)}", f"answers {_yes(found.answers)}"]
    facts += [f"structured answers {_yes(found.structured)}"]
    facts += [f"{1000 * found.seconds:.0f} ms"] if found.seconds is not None else []
    facts += [f"does not take {', '.join(found.left_out)}"] if found.left_out else []
    facts += [found.problem] if found.problem else []
    return f"{found.model}: {'; '.join(facts)}"


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"
