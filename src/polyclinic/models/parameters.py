"""What a model takes: a parameter that it refuses is left out from then on, and said once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyclinic.models import wire
from polyclinic.models.schema import Form

_LADDER: dict[wire.Structured, wire.Structured] = {"strict": "loose", "loose": "prompt"}


class Parameters:
    """Builds the bodies of requests for one model, and learns from what it refuses.

    What is left out is reported once, under the `name`; `model` is its name at the endpoint. What a body `always` holds
    is the user's word, and goes before what we would say.
    """

    def __init__(
        self, model: str, *, name: str, report: Callable[[str], None], always: dict[str, Any] | None = None
    ) -> None:
        self._model, self._name, self._report = model, name, report
        self._always = always or {}
        self._left_out: set[str] = set()
        self._renamed: dict[str, str] = {}
        self._structured: wire.Structured = "strict"

    @property
    def left_out(self) -> list[str]:
        """Names what the model turned out not to take."""
        schema = ["response_format"] if self._structured == "prompt" else []
        return sorted(self._left_out) + schema

    def body(self, messages: list[dict[str, Any]], form: Form | None, options: dict[str, Any]) -> dict[str, Any]:
        """Returns the body of a request, without what the model does not take."""
        body: dict[str, Any] = {"model": self._model, "messages": messages}
        for name, value in options.items():
            if name not in self._left_out:
                body[self._renamed.get(name, name)] = value
        if form is not None:
            if self._structured == "prompt":
                body["messages"] = wire.in_words(messages, form)
            else:
                body["response_format"] = wire.response_format(form.text, form.strict and self._structured == "strict")
        return body | self._always if self._always else body

    def refused(self, body: dict[str, Any], raw: bytes) -> bool:
        """Takes note of a parameter of a body that was answered with 400 or 422; tells whether there is one."""
        sent = body.get("response_format")
        names = [name for name in wire.PARAMETERS if self._renamed.get(name, name) in body or name in body]
        name = wire.not_taken(raw, names)
        if name is None:
            return False
        # Of many requests in flight each may come back refused: only the first of them is news.
        if name == "response_format":
            was: wire.Structured = "strict" if b'"strict":true' in bytes(sent or b"") else "loose"
            if self._structured == was or (was == "loose" and self._structured == "strict"):
                self._structured = _LADDER[was]
                if self._structured == "prompt":
                    self._report(f"{self._name} takes no JSON Schema; it is put into the prompt")
        elif name == "max_tokens" and name in body and b"max_completion_tokens" in raw:
            self._renamed[name] = "max_completion_tokens"
        elif name not in self._left_out and not (name in body and name in self._renamed):
            self._left_out.add(name)
            self._report(f"{self._name} does not take {name}; it is left out")
        return True
