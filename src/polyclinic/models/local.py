"""The local door: a small model in this process, offline. Real plumbing, not a clinician.

It runs any GGUF file with llama.cpp, and holds it to the JSON Schema of a typed question while it writes, with a
greatest length for every text and list: an answer is valid JSON, or it was cut off.
"""

from __future__ import annotations

import asyncio
import functools
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
from polyclinic.models.door import Door, Said, sent
from polyclinic.models.limits import Limit
from polyclinic.models.model import AskOptions
from polyclinic.models.schema import Form
from polyclinic.models.weights import find_smollm2
from polyclinic.opened_files import opened

LARGEST_INTEGER = 2**53
"""The largest integer that all readers of JSON agree on."""

LONGEST = 512
"""Tokens of an answer, where the question says nothing else: a small model may never stop by itself."""

MOST_TEXT, MOST_ITEM = 240, 80
"""Characters of a text, and of one in a list."""

MOST_ITEMS, MOST_OBJECTS = 4, 3
"""Items of a list: of texts, and of objects."""

STEPS = 20
"""Into so many is the span divided of a number that has bounds."""


class Local(Door):
    """A model in this process. Use it with `async with`: the weights are loaded there, and freed at its end.

    Args:
        model: "smollm2", or the path of a GGUF file.
        concurrency: questions at a time, among which the cores are shared; one for each core, at most 4, unless given.
        context: tokens of a question and its answer together.
        repairs: see `DoorOptions`.
        seed: gives the draws, for questions that bring no seed of their own.
        threads: compute all answers together; one for each core unless given. On a machine that others use too, one
            takes a quarter of the work of two, which wait for each other busily. No answer depends on it.
    """

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
        """Asks the model in a thread of its own; see `Door.complete`. `reasoning` is not taken.

        A question that is longer than the context, or holds a picture, is `Rejected`.
        """
        body: dict[str, Any] = {"seed": self._seed, "max_tokens": LONGEST, **sent(options)}
        body.pop("reasoning_effort", None)
        body["messages"] = [{"role": role, "content": wire.content(part)} for role, part in said]
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
