"""The fast provider as a provider of Inspect: `inspect eval … --model direct/NAME --model-base-url URL`.

Inspect finds this file by the entry point group `inspect_ai`. Arguments (`-M`): `api_key_env`, `timeout`, `attempts`.
"""

# Inspect is an extra: without it, its classes are Any to the type checker.
# mypy: allow-subclassing-any, allow-untyped-decorators

from __future__ import annotations

import asyncio
import functools
from typing import Any

import msgspec
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    Content,
    ContentImage,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    StopReason,
    modelapi,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolFunction, ToolInfo

from polyclinic.errors import Rejected
from polyclinic.language.thoughts import apart
from polyclinic.models.answers import Completion
from polyclinic.models.direct import Direct
from polyclinic.models.schema import Form, form_of_schema

CONNECTIONS = 256

_STOP: dict[str, StopReason] = {
    "stop": "stop",
    "length": "max_tokens",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}

_SAME = ("temperature", "top_p", "max_tokens", "seed", "frequency_penalty", "presence_penalty", "reasoning_effort")


@modelapi(name="direct")
class DirectAPI(ModelAPI):
    """Any OpenAI-compatible endpoint, at a fraction of the usual cost of a call."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        **options: Any,
    ) -> None:
        if api_key is not None:
            raise ValueError(f"direct reads its key from the environment variable {api_key_env} only")
        if strange := [name for name in options if name not in ("timeout", "attempts")]:
            raise ValueError(f"direct takes api_key_env, timeout and attempts, not {', '.join(strange)}")
        super().__init__(model_name, base_url, None, [api_key_env], config or GenerateConfig())
        self._open = functools.partial(
            Direct,
            model_name,
            base_url=base_url,
            api_key_env=api_key_env,
            concurrency=(config.max_connections if config is not None else None) or CONNECTIONS,
            **options,
        )
        # One for each event loop: Inspect may run several evaluations, each in a loop of its own.
        self._providers: dict[asyncio.AbstractEventLoop, Direct] = {}
        self._provider()

    def _provider(self) -> Direct:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # Nobody asks yet; this only finds out whether the address and the key can be used.
            return self._open()
        for other in [other for other in self._providers if other.is_closed()]:
            del self._providers[other]
        if loop not in self._providers:
            self._providers[loop] = self._open()
        return self._providers[loop]

    async def aclose(self) -> None:
        """Closes the connections of this loop."""
        provider = self._providers.pop(asyncio.get_running_loop(), None)
        if provider is not None:
            await provider.close()

    def max_connections(self) -> int:
        """Returns how many calls run at a time, unless the user says otherwise."""
        return CONNECTIONS

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Asks the endpoint once; see `inspect_ai.model.ModelAPI.generate`."""
        options = {name: value for name in _SAME if (value := getattr(config, name)) is not None}
        if config.stop_seqs is not None:
            options["stop"] = config.stop_seqs
        options |= config.extra_body or {}
        if tools:
            options["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters.model_dump(exclude_none=True),
                    },
                }
                for tool in tools
            ]
            options["tool_choice"] = "required" if tool_choice == "any" else tool_choice
            if isinstance(tool_choice, ToolFunction):
                options["tool_choice"] = {"type": "function", "function": {"name": tool_choice.name}}
        form: Form | None = None
        if (wanted := config.response_schema) is not None:
            form = form_of_schema(wanted.json_schema.model_dump(exclude_none=True))
        said = await self._provider().request([_message(message) for message in input], form, options)
        return self._output(said)

    def _output(self, said: Completion) -> ModelOutput:
        spoken = apart(said.text)
        calls = [_call(call.id, call.function.name, call.function.arguments) for call in said.calls]
        thought = "\n".join(part for part in (said.thought, spoken.thought) if part)
        # What stands beside a thought without its end may not be what was meant, and a scorer would take it for the
        # answer.
        text = ("" if spoken.is_open else spoken.said) or said.refusal
        content: str | list[Content] = text
        if thought:
            content = [ContentReasoning(reasoning=thought), ContentText(text=text)]
        message = ChatMessageAssistant(
            content=content, tool_calls=calls or None, model=self.model_name, source="generate"
        )
        stop: StopReason = "content_filter" if said.refusal else _STOP.get(said.finish, "unknown")
        if spoken.is_open:
            stop = "max_tokens"
        usage = ModelUsage(
            # Inspect counts cached tokens apart.
            input_tokens=said.usage.tokens_in - said.usage.cached,
            input_tokens_cache_read=said.usage.cached,
            output_tokens=said.usage.tokens_out,
            total_tokens=said.usage.tokens_in + said.usage.tokens_out,
            reasoning_tokens=said.usage.reasoning,
            total_cost=said.usage.cost,
        )
        choice = ChatCompletionChoice(message=message, stop_reason=stop)
        return ModelOutput(model=self.model_name, choices=[choice], usage=usage)


def _message(message: ChatMessage) -> dict[str, Any]:
    if isinstance(message, ChatMessageTool):
        told = message.error.message if message.error is not None else message.text
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": told}
    said: dict[str, Any] = {"role": message.role, "content": message.text}
    if not isinstance(message.content, str) and message.role == "user":
        said["content"] = [_part(part) for part in message.content]
    if isinstance(message, ChatMessageAssistant) and message.tool_calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function, "arguments": msgspec.json.encode(call.arguments).decode()},
            }
            for call in message.tool_calls
        ]
    return said


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, ContentText):
        return {"type": "text", "text": part.text}
    if isinstance(part, ContentImage) and part.image.startswith(("http://", "https://", "data:")):
        return {"type": "image_url", "image_url": {"url": part.image, "detail": part.detail}}
    raise Rejected(f"direct sends text, and pictures as an address or a data: URL, not {type(part).__name__}")


def _call(name_id: str, function: str, arguments: str) -> ToolCall:
    try:
        given = msgspec.json.decode(arguments or "{}", type=dict[str, Any])
    except msgspec.DecodeError as error:
        return ToolCall(id=name_id, function=function, arguments={}, parse_error=f"{error}: {arguments[:200]}")
    return ToolCall(id=name_id, function=function, arguments=given)
