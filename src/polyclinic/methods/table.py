"""The methods that answer questions, by name, with settings that can be given as text.

A setting is a keyword of the method's function: `votes=separate` sets `votes` of `medagents`. What the functions say
of their keywords is what is allowed. A method of the user's is `path/to/file.py:name`, or the name under which an
installed package offers it; see `polyclinic.methods.own`.
"""

from __future__ import annotations

import asyncio
import difflib
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_type_hints

import msgspec

from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.doors import find, offered
from polyclinic.errors import PlayFailure, UserError
from polyclinic.language.language import Language
from polyclinic.methods.chain_of_thought import chain_of_thought
from polyclinic.methods.few_shot import SHOTS, few_shot
from polyclinic.methods.mdagents import mdagents
from polyclinic.methods.medagents import medagents
from polyclinic.methods.medprompt import Pool, medprompt, prepare
from polyclinic.methods.own import check_parameters, of_user
from polyclinic.methods.self_consistency import self_consistency
from polyclinic.methods.tree_of_thought import tree_of_thought
from polyclinic.methods.zero_shot import zero_shot
from polyclinic.models.model import Model
from polyclinic.questions.examples import Example, ExampleKind, kind_of, shipped_examples

_GIVEN_TO_ALL = ("examples", "pool", "training", "seed", "temperature")

Answering = Callable[[Question], Awaitable[Outcome]]
"""A method with its model and its options: a question in, an outcome out."""

ModelFor = Callable[[str], Model]
"""Returns the model for a question's id, with what is kept and summed of its answers."""


class Method(NamedTuple):
    """A function of a question and a model, and one line on it.

    In a team several roles take part, so that asking one model as often is the fair comparison; examples say whether it
    is shown any.
    """

    run: Callable[..., Awaitable[Outcome]]
    summary: str
    team: bool = False
    examples: bool = False


METHODS: dict[str, Method] = {
    "zero_shot": Method(zero_shot, "the question alone"),
    "few_shot": Method(few_shot, "five answered questions before it", examples=True),
    "chain_of_thought": Method(chain_of_thought, "reasoning before the answer"),
    "few_shot_chain_of_thought": Method(chain_of_thought, "the same after five worked examples", examples=True),
    "self_consistency": Method(self_consistency, "the majority of five chains of thought"),
    "few_shot_self_consistency": Method(self_consistency, "the same after five worked examples", examples=True),
    "medprompt": Method(medprompt, "nearest worked examples, options shuffled, the majority"),
    "tree_of_thought": Method(tree_of_thought, "thoughts proposed, judged and followed"),
    "mdagents": Method(mdagents, "one doctor or a team, by how hard the question is", team=True),
    "medagents": Method(medagents, "experts analyse, report, vote and decide", team=True),
}


PRESETS: dict[str, dict[str, dict[str, Any]]] = {"pubmedqa": {"medagents": {"question_experts": 4}}}
"""Settings of methods by data set: four experts on a question of PubMedQA, five elsewhere (medagents, Table 4)."""


class ChosenMethod(msgspec.Struct, frozen=True, kw_only=True):
    """A method by its name, with settings of its function."""

    name: str
    settings: dict[str, Any] = {}

    @property
    def label(self) -> str:
        """Name and settings, as it is called in tables."""
        told = ", ".join(f"{key}={value}" for key, value in self.settings.items())
        return f"{self.name} ({told})" if told else self.name


@functools.cache
def find_method(name: str) -> Method:
    """Returns a method by its name: one of ours, or one of the user's.

    Raises:
        UserError: there is none, or what stands there is no method.
    """
    if name in METHODS:
        return METHODS[name]
    if (function := find(name, "methods")) is not None:
        given = check_parameters(function, name)
        return Method(of_user(function, name), "a method of your own", examples="examples" in given)
    near = difflib.get_close_matches(name.replace("-", "_"), METHODS, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    known = ", ".join((*METHODS, *offered("methods"), "FILE.py:NAME"))
    raise UserError(f"no method {name!r}{meant}; methods: {known}")


def settable(name: str) -> dict[str, Any]:
    """Returns the settings of a method with their types; what is given to every method alike is not among them."""
    return {key: kind for key, kind in _keywords(name).items() if key not in _GIVEN_TO_ALL}


@functools.cache
def _keywords(name: str) -> dict[str, Any]:
    run = inspect.unwrap(find_method(name).run)
    parameters = list(inspect.signature(run).parameters.values())[2:]
    try:
        hints = get_type_hints(run, include_extras=True)
    except Exception as error:
        raise UserError(f"method {name!r}: its settings' types cannot be read ({error})") from None
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    # Without a type, a setting is of its default's.
    untyped = {p.name: Any if p.default in (p.empty, None) else type(p.default) for p in parameters}
    return {p.name: hints.get(p.name, untyped[p.name]) for p in parameters if p.kind in kinds}


def choose(
    names: Sequence[str], given: Iterable[str] = (), *, presets: Mapping[str, Mapping[str, Any]] = {}
) -> list[ChosenMethod]:
    """Reads methods and their settings: `key=value`, for every method that has the key, or `method.key=value` for one.

    Presets, by method, hold where none is given.

    Raises:
        UserError: an unknown method, a setting that no chosen method has, or a value that it does not take.
    """
    for name in names:
        find_method(name)
        if list(names).count(name) > 1:
            raise UserError(f"method {name!r} is named twice; each once")
    settings: dict[str, dict[str, Any]] = {name: dict(presets.get(name, {})) for name in names}
    for text in given:
        key, sign, value = text.partition("=")
        where, dot, bare = key.rpartition(".")
        if not sign:
            raise UserError(f"setting {text!r}; needs KEY=VALUE, such as max_rounds=2")
        takes = [name for name in names if bare in settable(name) and (not dot or where == name)]
        if not takes:
            allowed = "; ".join(f"{name}: {', '.join(settable(name)) or 'none'}" for name in names)
            raise UserError(f"setting {key!r} belongs to none of the methods; there are: {allowed}")
        for name in takes:
            settings[name][bare] = _value(name, bare, value)
    return [ChosenMethod(name=name, settings=settings[name]) for name in names]


def _value(method: str, key: str, text: str) -> Any:
    wanted = settable(method)[key]
    try:
        return msgspec.convert(None if text == "none" else text, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"setting {method}.{key}={text!r}: {error}") from None


def answering(
    chosen: ChosenMethod,
    model_for: ModelFor,
    *,
    examples: Sequence[Example] = (),
    training: Sequence[Example] = (),
    temperature: float | None = None,
    seed: int = 0,
) -> Answering:
    """Returns a method, ready to be given questions.

    By default, examples and what `medprompt` learns from are those that are shipped for the question's language, and
    the temperature is the method's own.
    """
    method, takes = find_method(chosen.name), _keywords(chosen.name)
    always: dict[str, Any] = dict(chosen.settings)
    if "seed" in takes:
        always["seed"] = seed
    if temperature is not None and "temperature" in takes:
        always["temperature"] = temperature
    pools: dict[tuple[Language, ExampleKind], asyncio.Future[Pool]] = {}

    def shown(question: Question) -> tuple[Example, ...]:
        return tuple(examples)[:SHOTS] if examples else shipped_examples(question.language, kind_of(question))[:SHOTS]

    async def put(question: Question) -> Outcome:
        model = model_for(question.id)
        options = dict(always)
        if method.examples:
            options["examples"] = shown(question)
        if "pool" in takes:
            # Made once for all questions of a kind, by the first that needs it.
            kind = (question.language, kind_of(question))
            if kind not in pools:
                learnt = tuple(training) or shipped_examples(*kind)
                pools[kind] = asyncio.ensure_future(prepare(learnt, model_for(f"training {' '.join(kind)}")))
            pool = pools[kind]
            try:
                options["pool"] = await asyncio.shield(pool)
            except PlayFailure as failure:
                # Whoever waited for it has failed; who comes later may try again.
                if pools.get(kind) is pool:
                    del pools[kind]
                problem = f"the training questions could not be prepared: {failure}"
                return Outcome(question=question.id, end=OutcomeEnd.FAILED, problem=problem)
        return await method.run(question, model, **options)

    return put
