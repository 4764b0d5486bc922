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
from typing import Annotated, Any, Literal, NoReturn, get_args

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.files import decode, read_toml, split_place
from polyclinic.models.model import DEAREST, LONGEST
from polyclinic.models.secrets import check_address, check_no_key, check_variable
from polyclinic.opened_files import MAX_WRITTEN_BYTES, read_at_once

PlayedBy = Literal["doctor", "patient", "examiner", "director", "nurse", "pharmacist", "judge"]
"""The roles that a file may speak of."""

Effort = Literal["none", "minimal", "low", "medium", "high"]

ROLES: tuple[str, ...] = get_args(PlayedBy)

_Price = (
    Annotated[list[Annotated[float, msgspec.Meta(ge=0, le=DEAREST)]], msgspec.Meta(min_length=2, max_length=3)] | None
)
_Positive = Annotated[float, msgspec.Meta(gt=0)]
_HEADER = re.compile(r"\s*\[+([^\]]+)\]+")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_UNKNOWN = re.compile(r"Object contains unknown field `(.+)`")


class Asking(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a model, or whoever plays a role, is asked; None says nothing.

    Attributes:
        base_url: the endpoint's address, up to /v1; several are servers that have the same model.
        timeout: seconds that one call may take, a week at most.
        requests_per_minute: to the endpoint at most, over all of its servers and all processes that ask it.
    """

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


def _text(path: Path) -> str:
    return decode(read_at_once(path, most=MAX_WRITTEN_BYTES), path=path)


def read_model_file(path: Path) -> ModelFile:
    """Reads a file."""
    data = read_toml(path)
    text = _text(path)
    for part in ("models", "roles"):
        for name, entry in (data.get(part) or {}).items() if isinstance(data.get(part), dict) else ():
            _check(path, text, (part, name), entry)
    try:
        return msgspec.convert(data, ModelFile)
    except msgspec.ValidationError as error:
        _refuse(path, text, (), error)


def _check(path: Path, text: str, place: tuple[str, ...], entry: object) -> None:
    """Refuses an entry that is none, with its line: inside a mapping msgspec names no key."""
    if place[0] == "roles" and place[1] not in ROLES:
        problem = f"no role {place[1]!r}; roles: {', '.join(ROLES)}"
        raise BadInput(problem, path=path, line=_line(text, place))
    if isinstance(entry, dict) and "api_key" in entry:
        problem = "a key never stands in a file; say which environment variable holds it: api_key_env"
        raise BadInput(problem, path=path, line=_line(text, (*place, "api_key")))
    try:
        asking = msgspec.convert(entry, Asking)
    except msgspec.ValidationError as error:
        _refuse(path, text, place, error)
    try:
        for url in asking.base_urls:
            check_address(url)
        check_no_key((place, asking.extra_body), "what is said of a model")
        if asking.api_key_env is not None:
            check_variable(asking.api_key_env)
    except UserError as error:
        raise BadInput(str(error), path=path, line=_line(text, place)) from None


def _refuse(path: Path, text: str, place: tuple[str, ...], error: msgspec.ValidationError) -> NoReturn:
    problem, field = split_place(str(error))
    parts = tuple(_PART.findall(field))
    if unknown := _UNKNOWN.fullmatch(problem):
        parts = (*parts, unknown[1])
        known = ModelFile if not place else Asking
        problem = f"unknown key {unknown[1]!r}; allowed: {', '.join(known.__struct_fields__)}"
    raise BadInput(problem, path=path, line=_line(text, (*place, *parts)), field=".".join((*place, *parts))) from None


def _line(text: str, place: tuple[str, ...]) -> int | None:
    """Returns the line of a key, or of the nearest that is around it."""
    table: tuple[str, ...] = ()
    best, found = 0, None
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            here = table = _parts(header[1])
        elif key := _KEY.match(line):
            here = (*table, *_parts(key[1]))
        else:
            continue
        shared = 0
        while shared < min(len(here), len(place)) and here[shared] == place[shared]:
            shared += 1
        if shared > best:
            best, found = shared, number
    return found


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(name))


def check_key(said: ModelFile, path: Path | None, model: str, role: str = "") -> None:
    """Refuses a variable that holds no key: whoever names one means it to be there."""
    for place, entry in ((("roles", role), said.roles.get(role)), (("models", model), said.models.get(model))):
        if entry is not None and (variable := entry.api_key_env) is not None:
            if not os.environ.get(variable, "").strip():
                line = None if path is None else _line(_text(path), (*place, "api_key_env"))
                problem = f"the environment variable {variable} is not set; it is to hold the key of {place[1]}"
                raise BadInput(problem, path=path, line=line)
            return
