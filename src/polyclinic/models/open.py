"""Opening a model by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from polyclinic.doors import names_file
from polyclinic.errors import UnknownModel, meant
from polyclinic.models.door import Door
from polyclinic.models.limits import Limit
from polyclinic.models.model import Price
from polyclinic.models.pace import Pace

DOORS = {
    "direct/NAME": "any OpenAI-compatible endpoint, see --base-url",
    "local": "the small model on this machine",
    "local/FILE.gguf": "another one",
    "openai/NAME, anthropic/NAME, ...": "any provider of Inspect; also inspect/PROVIDER/NAME",
    "scripted/FILE.json": "answers from a file",
    "made-up": "answers without any sense, in the form that is wanted, to try things out",
    "FILE.py:NAME": "a door of your own, see docs/extend.md",
}
"""The names that `open_model` takes, and what is behind each."""

_PROVIDERS = frozenset(
    "anthropic azureai bedrock cloudflare deepseek fireworks google grok groq hf hf-inference-providers litellm-proxy "
    "llama-cpp-python meta mistral mockllm moonshot ollama openai openai-api openrouter perplexity sagemaker sambanova "
    "sglang together transformer_lens vllm".split()
)
"""Providers of Inspect that go without its door's name; others are behind `inspect/`."""


class DoorOptions(TypedDict, total=False):
    """How a door is opened; each takes what concerns it, and leaves the rest.

    Attributes:
        base_url: the endpoint's address, up to `/v1`; `OPENAI_BASE_URL` where left out, for direct (direct, inspect).
            Several are servers that have the same model (direct).
        api_key_env: the environment variable that holds the key. Without a key, requests go without one (direct);
            Inspect's providers read their own unless one is named (inspect).
        timeout: seconds that one request may take, 300 unless given (direct, inspect, FILE.py:NAME).
        attempts: requests for one answer, where the endpoint fails, 6 unless given (direct); as many as Inspect makes
            within the time-out (inspect).
        patience: seconds for one answer, pauses included, before it is given up, 600 unless given (direct).
        wait_for_server: seconds that a server is waited for that is away (nobody listens, or 502 or 503 comes), none
            unless given; they count neither as attempts nor as patience (direct).
        pause: seconds before the second request at most, 0.5 unless given; doubled for each further one (direct).
        repairs: how often an answer that cannot be read is asked for again, once unless given.
        price: what tokens cost, for the sums (direct, inspect, FILE.py:NAME).
        extra_body: what else each request says (direct, inspect).
        pace: how many requests and tokens a minute; models of one endpoint share one (direct, inspect).
        seed: gives the pauses, and the draws of a local model; a class of your own may take it.
        threads: compute a local model's answers, one for each core unless given (local).
        report: told, once each, which parameters the model does not take; the log unless given (direct).
    """

    base_url: str | Sequence[str] | None
    api_key_env: str | None
    timeout: float
    attempts: int
    patience: float
    wait_for_server: float
    pause: float
    repairs: int
    price: Price | None
    extra_body: dict[str, Any] | None
    pace: Pace | None
    seed: int
    threads: int
    report: Callable[[str], None] | None


def door_named(name: str) -> str:
    """Returns which door a name means: direct, local, inspect, scripted, made-up or own; "" where there is none."""
    if names_file(name):
        return "own"
    door, _, rest = name.partition("/")
    if door in _PROVIDERS and rest:
        return "inspect"
    return door if door in ("local", "made-up") or (rest and door in ("direct", "inspect", "scripted")) else ""


def open_model(
    name: str, *, concurrency: int | Limit | Literal["adaptive"] | None = None, **options: Unpack[DoorOptions]
) -> Door:
    """Returns the model of that name; `async with` opens it.

        async with open_model("direct/qwen3-8b", base_url="http://127.0.0.1:8000/v1") as model:
            reply = await model.ask("Is a cough of three weeks chronic?", answer=("yes", "no"))

    Args:
        name: a door, a stroke, and what is behind it, as in `DOORS`; a name as Inspect has it, like `openai/gpt-4o`; or
            `FILE.py:NAME`.
        concurrency: questions at a time to a server, "adaptive" for as many as it bears, or a `Limit` that several
            models of one server share. 256 for direct; 64 for inspect; one for each core, at most 4, for local.
        options: see `DoorOptions`.

    Raises:
        UnknownModel: there is no such door.
        MissingExtra: the door needs a part that is not installed.
        BadInput: the address or the file cannot be used.
        NoAddress: nobody said where a `direct/` model is asked.
        UserError: Inspect cannot open the model, and says why; or what a file of your own holds is no door.
    """
    if names_file(name):
        from polyclinic.models.own_door import OwnDoor  # noqa: PLC0415

        given = None if concurrency == "adaptive" else concurrency
        return OwnDoor(name, concurrency=given, **_among(options, "seed", "timeout", "repairs", "price"))
    door, _, rest = name.partition("/")
    limit = Limit(1024, adaptive=True) if concurrency == "adaptive" else concurrency
    # A door is imported when it is opened: what one needs, the others do without.
    if door == "direct" and rest:
        from polyclinic.models.direct import Direct  # noqa: PLC0415

        others = _among(options, *(DoorOptions.__annotations__.keys() - {"threads"}))
        return Direct(rest, concurrency=256 if limit is None else limit, **others)
    if door == "local":
        from polyclinic.models.local import Local  # noqa: PLC0415

        return Local(rest or "smollm2", concurrency=limit, **_among(options, "repairs", "seed", "threads"))
    if door in _PROVIDERS and rest:
        door, rest = "inspect", name
    if door == "inspect" and rest:
        from polyclinic.models.inspect import Inspect  # noqa: PLC0415

        taken = _among(
            options, "base_url", "api_key_env", "timeout", "attempts", "repairs", "price", "extra_body", "pace"
        )
        return Inspect(rest, concurrency=64 if limit is None else limit, **taken)
    if door == "scripted" and rest:
        from polyclinic.models.scripted import Scripted  # noqa: PLC0415

        return Scripted.read(Path(rest))
    if name == "made-up":
        from polyclinic.models.rehearsal import MadeUp  # noqa: PLC0415

        return MadeUp(**_among(options, "seed"))
    doors = ", ".join(f"{pattern} ({what})" for pattern, what in DOORS.items())
    raise UnknownModel(f"no model {name!r}{meant_model(name)}; there are: {doors}")


def meant_model(name: str) -> str:
    """Returns which name may be meant: a door's is misspelt, or another sign than "/" stands behind it."""
    rest = next((name.partition(sign)[2] for sign in ("/", ":") if sign in name), "")
    named = [pattern.partition("/")[0] for pattern in (*DOORS, *sorted(_PROVIDERS))]
    return meant(name, [f"{door}/{rest}" if rest else door for door in dict.fromkeys(named)])


def _among(options: DoorOptions, *names: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in names}
