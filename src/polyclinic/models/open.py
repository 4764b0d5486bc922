"""Opening a model by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any, Literal, TypedDict, Unpack

from polyclinic.errors import UnknownModel, meant
from polyclinic.models.limits import Limit, Pace
from polyclinic.models.model import Price
from polyclinic.models.provider import Provider
from polyclinic.plugins import names_file, parameters

PROVIDERS = {
    "direct/NAME": "any OpenAI-compatible endpoint, see --base-url",
    "local": "the small model on this machine",
    "local/FILE.gguf": "another one",
    "openai/NAME, anthropic/NAME, ...": "any provider of Inspect; also inspect/PROVIDER/NAME",
    "scripted/FILE.json": "answers from a file",
    "made-up": "answers without any sense, in the form that is wanted, to try things out",
    "FILE.py:NAME": "a provider of your own, see docs/extend.md",
}
"""The names that `open_model` takes, and what is behind each."""

_PROVIDERS = frozenset(
    "anthropic azureai bedrock cloudflare deepseek fireworks google grok groq hf hf-inference-providers litellm-proxy "
    "llama-cpp-python meta mistral mockllm moonshot ollama openai openai-api openrouter perplexity sagemaker sambanova "
    "sglang together transformer_lens vllm".split()
)
"""Providers of Inspect that go without its provider's name; others are behind `inspect/`."""


class ProviderOptions(TypedDict, total=False):
    """How a provider is opened; each takes what concerns it, and leaves the rest.

    Attributes:
        base_url: the endpoint's address, up to `/v1`; `OPENAI_BASE_URL` where left out, for direct (direct, inspect).
            Several are servers that have the same model (direct).
        api_key_env: the environment variable that holds the key. Without a key, requests go without one (direct);
            Inspect's providers read their own unless one is named (inspect).
        attempts: requests for one answer, where the endpoint fails, 6 unless given (direct); as many as Inspect makes
            within the time-out (inspect).
        wait_for_server: seconds that a server is waited for that is away (nobody listens, or 502 or 503 comes), none
            unless given; they count neither as attempts nor as patience (direct).
        report: told, once each, which parameters the model does not take; the log unless given (direct).
    """

    base_url: str | Sequence[str] | None
    api_key_env: str | None
    timeout: float  # seconds that one request may take, 300 unless given (direct, inspect, FILE.py:NAME)
    attempts: int
    patience: float  # seconds for one answer, pauses included, before it is given up, 600 unless given (direct)
    wait_for_server: float
    pause: float  # seconds before the second request at most, 0.5 unless given; doubled for each further one (direct)
    repairs: int  # how often an answer that cannot be read is asked for again, once unless given
    price: Price | None  # what tokens cost, for the sums (direct, inspect, FILE.py:NAME)
    extra_body: dict[str, Any] | None  # what else each request says (direct, inspect)
    pace: Pace | None  # how many requests and tokens a minute; models of one endpoint share one (direct, inspect)
    seed: int  # gives the pauses, and the draws of a local model; a class of your own may take it
    threads: int  # compute a local model's answers, one for each core unless given (local)
    report: Callable[[str], None] | None


_CLASSES = {
    "direct": ("direct", "Direct"),
    "local": ("local", "Local"),
    "inspect": ("inspect", "Inspect"),
    "made-up": ("dry_run", "MadeUp"),
    "own": ("provider", "OwnProvider"),
    "scripted": ("scripted", "Scripted.read"),
}
"""The module and class of each provider: it is imported when it is opened, as what one needs the others do without."""


def _taken_apart(name: str) -> tuple[str, str]:
    """Returns the provider that a name means, "" where there is none, and the model there."""
    if names_file(name):
        return "own", name
    provider, _, rest = name.partition("/")
    if provider in _PROVIDERS and rest:
        return "inspect", name
    has_provider = provider == "local" or name == "made-up" or (rest and provider in ("direct", "inspect", "scripted"))
    return (provider, rest) if has_provider else ("", "")


def provider_named(name: str) -> str:
    """Returns which provider a name means: direct, local, inspect, scripted, made-up or own; "" where there is none."""
    return _taken_apart(name)[0]


def open_model(
    name: str, *, concurrency: int | Limit | Literal["adaptive"] | None = None, **options: Unpack[ProviderOptions]
) -> Provider:
    """Returns the model of that name; `async with` opens it.

        async with open_model("direct/qwen3-8b", base_url="http://127.0.0.1:8000/v1") as model:
            reply = await model.ask("Is a cough of three weeks chronic?", answer=("yes", "no"))

    Args:
        name: a provider, a slash and its model, as in `PROVIDERS`; a name as Inspect has it, like `openai/gpt-4o`; or
            `FILE.py:NAME`.
        concurrency: questions at a time to a server, "adaptive" for as many as it bears, or a `Limit` that several
            models of one server share. 256 for direct; 64 for inspect; one for each core, at most 4, for local.
        options: see `ProviderOptions`.

    Raises:
        UnknownModel: there is no such provider.
        MissingExtra: the provider needs a part that is not installed.
        BadInput: the address or the file cannot be used.
        NoAddress: nobody said where a `direct/` model is asked.
        UserError: Inspect cannot open the model, and says why; or what a file of your own holds is no provider.
    """
    provider, model = _taken_apart(name)
    if not provider:
        providers = ", ".join(f"{pattern} ({what})" for pattern, what in PROVIDERS.items())
        raise UnknownModel(f"no model {name!r}{meant_model(name)}; there are: {providers}")
    module, found = _CLASSES[provider]
    made: Callable[..., Provider] = attrgetter(found)(import_module(f"polyclinic.models.{module}"))
    given = {**options, "concurrency": Limit(1024, adaptive=True) if concurrency == "adaptive" else concurrency}
    taken = {option: given[option] for option in parameters(made) if given.get(option) is not None}
    return made(*([model] if model else []), **taken)


def meant_model(name: str) -> str:
    """Returns which name may be meant: a provider's is misspelt, or another sign than "/" stands behind it."""
    rest = next((name.partition(sign)[2] for sign in ("/", ":") if sign in name), "")
    named = [pattern.partition("/")[0] for pattern in (*PROVIDERS, *sorted(_PROVIDERS))]
    return meant(name, [f"{provider}/{rest}" if rest else provider for provider in dict.fromkeys(named)])
