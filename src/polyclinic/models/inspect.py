"""The Inspect provider: every provider that Inspect has, as a model of ours. Needs the extra `evals`."""

from __future__ import annotations

import importlib.util
import os
import re
from typing import TYPE_CHECKING, Any

from polyclinic.errors import Broken, MissingExtra, RateLimited, Rejected, TimedOut, Unreachable, UserError, WrongKey
from polyclinic.models.answers import Completion
from polyclinic.models.limits import Limit, Pace
from polyclinic.models.model import AskOptions, Image, Price, Usage
from polyclinic.models.provider import Provider, Said, sent
from polyclinic.models.repair_prompts import spoken_language, wish_for
from polyclinic.models.schema import Form

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

_OUT_OF_REACH = ("ConnectionError", "ConnectError", "APIConnectionError")
_HOST = re.compile(r"host='([\w.-]+)'")
_FINISH = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}


class Inspect(Provider):
    """A model that Inspect opens, by its name there, such as "openai/gpt-4o". Use it with `async with`."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = None,
        concurrency: int | Limit = 64,
        pace: Pace | None = None,
        timeout: float = 300.0,
        attempts: int | None = None,
        repairs: int = 1,
        price: Price | None = None,
        extra_body: dict[str, Any] | None = None,
        **arguments: Any,
    ) -> None:
        if importlib.util.find_spec("inspect_ai") is None:
            raise MissingExtra("Inspect is not installed: pip install 'polyclinic[evals]'")
        from inspect_ai.model import GenerateConfig, get_model  # noqa: PLC0415

        self.name = f"inspect/{model}"
        self.limit = concurrency if isinstance(concurrency, Limit) else Limit(concurrency)
        self._pace = pace
        self._timeout, self.repairs, self.price = timeout, repairs, price
        self._extra_body, self._retries = extra_body, None if attempts is None else attempts - 1
        if api_key_env is not None:
            arguments["api_key"] = os.environ.get(api_key_env, "")
        # Inspect has a limit of its own; ours is the one that counts.
        config = GenerateConfig(max_connections=self.limit.most)
        try:
            self._model = get_model(model, base_url=base_url, config=config, memoize=False, **arguments)
        except Exception as error:
            # Missing packages, keys and names are all told in Inspect's words, under several classes.
            raise UserError(f"{self.name} cannot be opened: {str(error).strip() or type(error).__name__}") from None

    async def __aexit__(self, *error: object) -> None:
        await self._model.api.aclose()

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Asks through Inspect; see `Provider.complete`."""
        from inspect_ai.model import GenerateConfig, ResponseSchema  # noqa: PLC0415
        from inspect_ai.util import JSONSchema  # noqa: PLC0415

        given = sent(options)
        messages = [_message(role, part) for role, part in said]
        if form is not None:
            # Not every provider passes a schema on, and Inspect does not tell which: the words are for those.
            messages.append(_message("user", wish_for(form, spoken_language(said))))
            json_schema = JSONSchema.model_validate(form.schema)
            given["response_schema"] = ResponseSchema(name="answer", json_schema=json_schema, strict=form.strict)
        config = GenerateConfig(
            **given, timeout=max(1, round(self._timeout)), extra_body=self._extra_body, max_retries=self._retries
        )
        failure: Exception | None = None
        async with self.limit:
            size = sum(len(part) if isinstance(part, str) else len(repr(part)) for _, part in said)
            expected = 0.0 if self._pace is None else await self._pace.enter(size)
            try:
                output = await self._model.generate(messages, config=config)
            except Exception as error:
                # Told outside: what a provider raises can hold the request, and with it the key.
                failure = error
        if failure is not None:
            raise self._named(failure)
        if output.error:
            raise Broken(f"{self.name}: the provider reports an error")
        came = self._completion(output)
        if self._pace is not None:
            self._pace.settle(size, expected, came.usage.tokens_in + came.usage.tokens_out)
        return came

    def _named(self, error: Exception) -> Exception:
        """Returns our name for what a provider raised, without its text."""
        status = getattr(error, "status_code", None) or getattr(error, "status", None)
        told = f"{self.name}: {type(error).__name__}{f' (status {status})' if status else ''}"
        if status == 401:
            return WrongKey(
                f"{told}: the provider refuses the key, or wants one; it is read from the provider's variable"
            )
        if status == 429:
            return RateLimited(told)
        if isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower():
            return TimedOut(told)
        if isinstance(status, int) and 400 <= status < 500:
            return Rejected(told)
        if type(error).__name__ in _OUT_OF_REACH:
            # Of its text only the host's name is taken: the rest may hold the request.
            host = _HOST.search(str(error))
            which = f"{host[1]} cannot be reached, which Inspect asks" if host else "the provider cannot be reached"
            return Unreachable(f"{told}: {which}; without a network there are direct/NAME, local and made-up")
        return Broken(told)

    def _completion(self, output: ModelOutput) -> Completion:
        usage = Usage()
        if (used := output.usage) is not None:
            cached = used.input_tokens_cache_read or 0
            usage = Usage(
                # Inspect counts cached tokens apart.
                tokens_in=used.input_tokens + cached + (used.input_tokens_cache_write or 0),
                cached=cached,
                tokens_out=used.output_tokens,
                reasoning=used.reasoning_tokens or 0,
                cost=used.total_cost,
            )
        if not output.choices:
            return Completion("", usage=usage)
        said = output.choices[0].message.content
        thought = [] if isinstance(said, str) else [part.reasoning for part in said if part.type == "reasoning"]
        finish = _FINISH.get(output.stop_reason, "stop")
        return Completion(output.completion, finish, usage=usage, thought="\n".join(thought))


def _message(role: str, said: Any) -> Any:
    import pydantic  # noqa: PLC0415
    from inspect_ai.model import ChatMessage  # noqa: PLC0415

    content = said
    if not isinstance(said, str):
        content = [
            {"type": "image", "image": part.url}
            if isinstance(part, Image)
            else {"type": "text", "text": part if isinstance(part, str) else part.text}
            for part in said
        ]
    return pydantic.TypeAdapter(ChatMessage).validate_python({"role": role, "content": content})
