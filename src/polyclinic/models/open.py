"""Opening a model by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from polyclinic.errors import NoAddress, UnknownModel, meant
from polyclinic.models.limits import Limit, Pace
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Price, Reply
from polyclinic.models.model_file import NOTHING_SAID, ROLES, SILENT, ModelFile, PlayedBy
from polyclinic.models.pipeline import Hook, Tuning, with_hooks
from polyclinic.models.provider import Provider
from polyclinic.plugins import names_file

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


def provider_named(name: str) -> str:
    """Returns which provider a name means: direct, local, inspect, scripted, made-up or own; "" where there is none."""
    if names_file(name):
        return "own"
    provider, _, rest = name.partition("/")
    if provider in _PROVIDERS and rest:
        return "inspect"
    return (
        provider if provider in ("local", "made-up") or (rest and provider in ("direct", "inspect", "scripted")) else ""
    )


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
    if names_file(name):
        from polyclinic.models.provider import OwnProvider  # noqa: PLC0415

        given = None if concurrency == "adaptive" else concurrency
        return OwnProvider(name, concurrency=given, **_among(options, "seed", "timeout", "repairs", "price"))
    provider, _, rest = name.partition("/")
    limit = Limit(1024, adaptive=True) if concurrency == "adaptive" else concurrency
    # A provider is imported when it is opened: what one needs, the others do without.
    if provider == "direct" and rest:
        from polyclinic.models.direct import Direct  # noqa: PLC0415

        others = _among(options, *(ProviderOptions.__annotations__.keys() - {"threads"}))
        return Direct(rest, concurrency=256 if limit is None else limit, **others)
    if provider == "local":
        from polyclinic.models.local import Local  # noqa: PLC0415

        return Local(rest or "smollm2", concurrency=limit, **_among(options, "repairs", "seed", "threads"))
    if provider in _PROVIDERS and rest:
        provider, rest = "inspect", name
    if provider == "inspect" and rest:
        from polyclinic.models.inspect import Inspect  # noqa: PLC0415

        taken = _among(
            options, "base_url", "api_key_env", "timeout", "attempts", "repairs", "price", "extra_body", "pace"
        )
        return Inspect(rest, concurrency=64 if limit is None else limit, **taken)
    if provider == "scripted" and rest:
        from polyclinic.models.scripted import Scripted  # noqa: PLC0415

        return Scripted.read(Path(rest))
    if name == "made-up":
        from polyclinic.models.dry_run import MadeUp  # noqa: PLC0415

        return MadeUp(**_among(options, "seed"))
    providers = ", ".join(f"{pattern} ({what})" for pattern, what in PROVIDERS.items())
    raise UnknownModel(f"no model {name!r}{meant_model(name)}; there are: {providers}")


def meant_model(name: str) -> str:
    """Returns which name may be meant: a provider's is misspelt, or another sign than "/" stands behind it."""
    rest = next((name.partition(sign)[2] for sign in ("/", ":") if sign in name), "")
    named = [pattern.partition("/")[0] for pattern in (*PROVIDERS, *sorted(_PROVIDERS))]
    return meant(name, [f"{provider}/{rest}" if rest else provider for provider in dict.fromkeys(named)])


def _among(options: ProviderOptions, *names: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in names}


_JUDGE: PlayedBy = "judge"


class OpenModels(dict[str, Model]):
    """Models by name, as whoever has no role of its own asks them; `of` is for those who have."""

    def __init__(
        self,
        said: ModelFile = NOTHING_SAID,
        open_one: Callable[[str, str], Model] | None = None,
        temperature: float | None = None,
        hooks: tuple[Hook, ...] = (),
    ) -> None:
        super().__init__()
        self._said, self._open, self._temperature, self._hooks = said, open_one, temperature, hooks
        self._of_roles: dict[tuple[str, str], Model] = {}

    @classmethod
    def just(cls, models: Mapping[str, Model]) -> OpenModels:
        """Returns models that are asked in one way by everybody."""
        made = cls()
        made.update(models)
        return made

    def of(self, name: str, role: str) -> Model:
        """Returns the model as it is opened for a role; the same for all roles of which the file says nothing."""
        if self._open is None or self._said.roles.get(role, SILENT).of_provider == SILENT:
            if isinstance(model := self[name], Nowhere):
                raise model.problem
            return model
        if (name, role) not in self._of_roles:
            self._of_roles[name, role] = self._open(name, role)
        return self._of_roles[name, role]

    def sees(self, name: str, role: str) -> bool:
        """Whether somebody says that a model takes pictures, in a role."""
        return bool(self._said.asking(name, role).sees)

    def asked(self, model: Model, name: str, role: str) -> Model:
        """Returns the model of a name with the temperature and effort at which a role asks it.

        What the file says of a temperature goes before the question's own, for the roles that it may speak of. Methods
        are none of them: they have temperatures of their own, and are asked at the file's where they have none.
        """
        said = self._said.asking(name, role)
        firm = said.temperature if role in ROLES else None
        otherwise = self._temperature if role == _JUDGE and firm is None else said.temperature
        hooks = self._hooks
        if firm is not None or otherwise is not None or said.effort is not None:
            hooks = (*hooks, Tuning(temperature=firm, otherwise=otherwise, effort=said.effort))
        return with_hooks(model, *hooks) if hooks else model


class Nowhere:
    """A model that has an address in some roles alone."""

    def __init__(self, name: str, problem: NoAddress) -> None:
        self.name, self.problem = name, problem

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Says that it cannot be asked."""
        del messages, answer, options
        raise self.problem
