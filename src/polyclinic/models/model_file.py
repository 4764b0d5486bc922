"""The file of `models.model-file`: address, key, settings and price of each model, and of each role.

    [models."direct/qwen3-8b"]
    base_url = "http://127.0.0.1:8000/v1"
    temperature = 0.7
    extra_body = {chat_template_kwargs = {enable_thinking = false}}

    [roles.judge]
    base_url = "https://api.openai.com/v1"
    api_key_env = "JUDGE_KEY"
    effort = "high"

What stands at a role goes before what stands at its model, and either before the command line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.files import read_toml, split_place
from polyclinic.models.model import DEAREST, LONGEST
from polyclinic.models.secrets import check_address, check_no_key, check_variable

PlayedBy = Literal["doctor", "patient", "examiner", "director", "nurse", "pharmacist", "judge"]
"""The roles that a file may speak of."""

Effort = Literal["none", "minimal", "low", "medium", "high"]

ROLES: tuple[str, ...] = get_args(PlayedBy)

_Price = (
    Annotated[list[Annotated[float, msgspec.Meta(ge=0, le=DEAREST)]], msgspec.Meta(min_length=2, max_length=3)] | None
)
_Positive = Annotated[float, msgspec.Meta(gt=0)]
_UNKNOWN = re.compile(r"Object contains unknown field `(.+)`")
T = TypeVar("T", bound=msgspec.Struct)


class Asking(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a model, or the player of a role, is asked; None leaves it open."""

    base_url: str | Annotated[list[str], msgspec.Meta(min_length=1)] | None = None
    api_key_env: str | None = None  # the environment variable that holds the key; the key itself never stands here
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None  # from 0 to 2
    effort: Effort | None = None  # how hard to think
    timeout: Annotated[float, msgspec.Meta(gt=0, le=LONGEST)] | None = None
    extra_body: dict[str, Any] | None = None  # what else each request says, as the endpoint wants it
    price: _Price = None  # what a million tokens cost: in, out, and from the cache
    batch_price: _Price = None  # the same for questions that are asked by batches; the price where nothing stands here
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None = None  # questions at a time, to each server
    requests_per_minute: _Positive | None = None
    tokens_per_minute: _Positive | None = None  # of prompts and answers, the same
    threads: Annotated[int, msgspec.Meta(ge=1)] | None = None  # compute the answers of a local model
    sees: bool | None = None  # whether it takes pictures; where nobody says so, it is shown none

    def over(self, other: Asking) -> Asking:
        """Returns what stands here, and where that is silent what stands in the other."""
        return msgspec.structs.replace(other, **msgspec.to_builtins(self))

    @property
    def base_urls(self) -> list[str]:
        """The addresses; none where none is given."""
        return [self.base_url] if isinstance(self.base_url, str) else self.base_url or []

    @property
    def of_provider(self) -> Asking:
        """What a provider is opened with; the rest is said with each question."""
        return msgspec.structs.replace(self, temperature=None, effort=None, sees=None)


SILENT = Asking()


class ModelFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file says of models, by name, and of roles."""

    models: dict[str, Asking] = {}
    roles: dict[str, Asking] = {}

    def asking(self, model: str, role: str = "") -> Asking:
        """Returns how a model is asked in a role."""
        return self.roles.get(role, SILENT).over(self.models.get(model, SILENT))

    def at_temperatures(self, temperatures: Mapping[str, float]) -> ModelFile:
        """Returns the same, with the temperatures of these roles."""
        tuned = {
            role: msgspec.structs.replace(self.roles.get(role, SILENT), temperature=temperature)
            for role, temperature in temperatures.items()
        }
        return msgspec.structs.replace(self, roles={**self.roles, **tuned})

    def temperature(self, model: str, role: str = "") -> tuple[str, float] | None:
        """Returns the temperature of a model in a role, and the table that says it; None where none does."""
        tables = ((f"roles.{role}", self.roles.get(role)), (f'models."{model}"', self.models.get(model)))
        found = ((table, said.temperature) for table, said in tables if said is not None)
        return next(((table, value) for table, value in found if value is not None), None)


NOTHING_SAID = ModelFile()


def read_model_file(path: Path) -> ModelFile:
    """Reads a file."""
    data = read_toml(path)
    for part in ("models", "roles"):
        entries = data.get(part)
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            place = f"{part}.{name}"
            if part == "roles" and name not in ROLES:
                raise BadInput(f"no role {name!r}; roles: {', '.join(ROLES)}", path=path, field=place)
            if isinstance(entry, dict) and "api_key" in entry:
                problem = "a key never stands in a file; say which environment variable holds it: api_key_env"
                raise BadInput(problem, path=path, field=f"{place}.api_key")
            asking = _converted(entry, Asking, place, path)
            try:
                for url in asking.base_urls:
                    check_address(url)
                check_no_key((name, asking.extra_body), "what is said of a model")
                if asking.api_key_env is not None:
                    check_variable(asking.api_key_env)
            except UserError as error:
                raise BadInput(str(error), path=path, field=place) from None
    return _converted(data, ModelFile, "", path)


def _converted(data: Any, kind: type[T], place: str, path: Path) -> T:
    """Returns an entry as its type; inside a mapping msgspec names no key, so that the place has to be given."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, field = split_place(str(error))
        field = place + field.removeprefix("$")
        if unknown := _UNKNOWN.fullmatch(problem):
            problem = f"unknown key {unknown[1]!r}; allowed: {', '.join(kind.__struct_fields__)}"
            field = f"{field}.{unknown[1]}"
        raise BadInput(problem, path=path, field=field.lstrip(".")) from None


def check_key(said: ModelFile, path: Path | None, model: str, role: str = "") -> None:
    """Refuses a variable that holds no key: whoever names one means it to be there."""
    for part, name, entries in (("roles", role, said.roles), ("models", model, said.models)):
        if name in entries and (variable := entries[name].api_key_env) is not None:
            if not os.environ.get(variable, "").strip():
                problem = f"the environment variable {variable} is not set; it is to hold the key of {name}"
                raise BadInput(problem, path=path, field=f"{part}.{name}.api_key_env")
            return
