"""The methods that answer questions, by name, with settings that can be given as text.

A setting is a keyword of the method's function: `votes=separate` sets `votes` of `medagents`; the types of the keywords
are the allowed values. A method of the user's is `path/to/file.py:name`, or the name under which an installed package
offers it; see `polyclinic.methods.own`.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.cases.record import Record
from polyclinic.errors import PlayFailure, UserError, meant
from polyclinic.evidence_tree.meeting import Doctors
from polyclinic.language.language import Language
from polyclinic.memory.remembering import ExamMemory
from polyclinic.methods.chain_of_thought import chain_of_thought
from polyclinic.methods.few_shot import SHOTS, few_shot
from polyclinic.methods.mdagents import mdagents
from polyclinic.methods.medagent_zero import medagent_zero
from polyclinic.methods.medagents import medagents
from polyclinic.methods.medprompt import Pool, medprompt, prepare
from polyclinic.methods.mindmap import mindmap
from polyclinic.methods.mma import mma
from polyclinic.methods.own import bare, check_parameters, of_user
from polyclinic.methods.self_consistency import self_consistency
from polyclinic.methods.tree_of_reasoning import tree_of_reasoning
from polyclinic.methods.tree_of_thought import tree_of_thought
from polyclinic.methods.zero_shot import zero_shot
from polyclinic.models.model import Model
from polyclinic.plugins import find, offered, parameters
from polyclinic.questions.examples import Example, ExampleKind, kind_of, shipped_examples
from polyclinic.retrieval.retriever import Retriever

_VERIFIED = ("cross_verification", True)
_TREES = ("tree", True)
_PANEL = ("level", "moderate", None)
_TEAMS = ("level", "high", None)
_NEEDED: dict[str, dict[str, tuple[Any, ...]]] = {
    "tree_of_reasoning": {
        **dict.fromkeys(("rounds", "turns", "targets", "update_from"), _VERIFIED),
        "removed": ("without", "laboratory", "radiology", "pathology"),
        "passages": ("retrieval", True),
        **dict.fromkeys(("form", "evidence"), _TREES),
    },
    "medagents": dict.fromkeys(("max_rounds", "votes"), ("stages", "consultation")),
    "tree_of_thought": {"voters": ("evaluation", "vote")},
    "mdagents": {
        **dict.fromkeys(("experts", "max_rounds", "turns", "ends", "moderator"), _PANEL),
        **dict.fromkeys(("diagnostic_teams", "members"), _TEAMS),
    },
}
"""By method, settings that have no effect unless another setting, named first, has one of the values after it."""


_GIVEN_TO_ALL = ("examples", "pool", "training", "seed", "record", "retriever", "doctors", "memory")
_SWITCHES = {"on": True, "yes": True, "off": False, "no": False}

Answering = Callable[[Question], Awaitable[Outcome]]
"""A method with its model and its options: a question in, an outcome out."""

Named = str | Callable[..., Any]
"""A method by its name, or a function of the user's itself."""

ModelFor = Callable[[str], Model]
"""Returns the model for a question's id, with what is kept and summed of its answers."""


class Method(NamedTuple):
    """A function of a question and a model, and one line on it."""

    run: Callable[..., Awaitable[Outcome]]
    summary: str
    team: bool = False  # of several roles, so that asking one model as often is the fair comparison
    examples: bool = False  # is shown examples
    draws: bool = False  # chooses its examples among all by itself
    in_batches: bool = False  # its calls wait for one another at most once or twice, so that batches can answer them


METHODS: dict[str, Method] = {
    "zero_shot": Method(zero_shot, "the question alone", in_batches=True),
    "few_shot": Method(few_shot, "five answered questions before it", examples=True, in_batches=True),
    "chain_of_thought": Method(chain_of_thought, "reasoning before the answer", in_batches=True),
    "few_shot_chain_of_thought": Method(
        chain_of_thought, "the same after five worked examples", examples=True, in_batches=True
    ),
    "self_consistency": Method(self_consistency, "the majority of five chains of thought", in_batches=True),
    "few_shot_self_consistency": Method(
        self_consistency, "the same after five worked examples", examples=True, in_batches=True
    ),
    "medprompt": Method(medprompt, "nearest worked examples, options shuffled, the majority", in_batches=True),
    "tree_of_thought": Method(tree_of_thought, "thoughts proposed, judged and followed"),
    "mindmap": Method(mindmap, "reasoning with what a knowledge graph says of the question's entities"),
    "mdagents": Method(
        mdagents, "one doctor or a team, by how hard the question is", team=True, examples=True, draws=True
    ),
    "medagents": Method(medagents, "experts analyse, report, vote and decide", team=True),
    "medagent_zero": Method(medagent_zero, "what was read and learnt from patients comes to mind"),
    "mma": Method(mma, "specialists with one shared pool of findings", team=True),
    "tree_of_reasoning": Method(tree_of_reasoning, "doctors by kind of data check one another's trees", team=True),
}


PRESETS: dict[str, dict[str, dict[str, Any]]] = {"pubmedqa": {"medagents": {"question_experts": 4}}}
"""Settings of methods by data set: four experts on a question of PubMedQA, five elsewhere (medagents, Table 4)."""


class ChosenMethod(msgspec.Struct, frozen=True, kw_only=True):
    """A method with its settings; `function` is a user's own that Python gave."""

    name: str
    settings: dict[str, Any] = {}
    function: Callable[..., Any] | None = None

    @property
    def named(self) -> Named:
        """What `find_method` finds it by."""
        return self.name if self.function is None else self.function

    @property
    def label(self) -> str:
        """Name and settings, as it is called in tables."""
        shown = dict(self.settings)
        told = []
        if shown.get("without") and isinstance(shown["without"], list | tuple):
            how = f" ({shown.pop('removed')})" if "removed" in shown else ""
            told = [f"without {', '.join(map(str, shown.pop('without')))}{how}"]
        for key, value in shown.items():
            told.append(f"{key}={','.join(map(str, value)) if isinstance(value, list | tuple) else value}")
        return f"{self.name} ({', '.join(told)})" if told else self.name


def find_method(named: Named) -> Method:
    """Returns a method by its name, one of ours or of the user's, or a function of the user's as one."""
    if isinstance(named, str) and named in METHODS:
        return METHODS[named]
    name = _name(named)
    function = find(named, "methods") if isinstance(named, str) else named
    if function is None:
        known = dict.fromkeys((*METHODS, *offered("methods")))
        raise UserError(f"no method {name!r}{meant(name, known)}; methods: {', '.join(known)}, FILE.py:NAME")
    given = check_parameters(function, name)
    return Method(of_user(function, name), "a method of your own", examples="examples" in given)


def _name(named: Any) -> str:
    """Returns what a method is called; one of ours that Python gave has the name that it has in the table."""
    ours = (name for name, method in METHODS.items() if method.run is named)
    return named if isinstance(named, str) else next(ours, getattr(bare(named), "__name__", type(named).__name__))


def settable(named: Named) -> dict[str, Any]:
    """Returns the settings of a method with their types; what is given to every method alike is not among them."""
    return {key: kind for key, (kind, _) in _keywords(named).items() if key not in _GIVEN_TO_ALL}


def looks_up_itself(named: Named) -> bool:
    """Whether a method asks what it is given to look things up in, and is not shown passages with the question."""
    return "retriever" in _keywords(named)


def _keywords(named: Named) -> dict[str, tuple[Any, Any]]:
    """Returns the type and the default of each keyword; without a type, it is the default's."""
    run = inspect.unwrap(find_method(named).run)
    function = bare(run)
    function = function if inspect.isroutine(function) else type(function).__call__
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:
        raise UserError(f"method {_name(named)!r}: its settings' types cannot be read ({error})") from None
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    behind = [p for p in list(parameters(run).values())[2:] if p.kind in kinds]
    return {
        p.name: (hints.get(p.name, Any if p.default in (p.empty, None) else type(p.default)), p.default) for p in behind
    }


_OWN = re.compile(r"(?P<name>.*?)(?P<own>(?:\s+[\w.-]+=\S*)*)\s*")


def choose(
    names: Named | Sequence[Named], given: Iterable[str] = (), *, presets: Mapping[str, Mapping[str, Any]] = {}
) -> list[ChosenMethod]:
    """Reads methods and their settings: `key=value`, for every method that has the key, or `method.key=value` for one.

    A method is a name, or a function of a question and a model. Settings behind a name are of it alone, and several
    values make several methods: `medagents stages=analysis|summary`. Presets, by method, hold where none is given.

    Raises:
        UserError: an unknown method, a setting that no chosen method has or that is missing, or a value that it does
            not take, or one that has no effect as the others are.
    """
    listed = [names] if isinstance(names, str) or callable(names) else names
    # What was named, as how it is found, the settings behind it, and whether other values of them are tried, too.
    entries: list[tuple[str, Named, tuple[str, ...], bool]] = []
    for named in listed:
        if isinstance(named, str):
            read = _OWN.fullmatch(named)
            name, own = (read["name"], read["own"].split()) if read else (named, [])
            find_method(name)
            pairs = [one.partition("=") for one in own]
            values = [[f"{key}={value}" for value in text.split("|")] for key, _, text in pairs]
            entries += [(name, name, settings, "|" in named) for settings in product(*values)]
        else:
            find_method(named)
            name = _name(named)
            entries.append((name, name if name in METHODS else named, (), False))
    methods = {name: named for name, named, *_ in entries}
    common: dict[str, dict[str, str]] = {name: {} for name in methods}
    for text in given:
        key, sign, value = text.partition("=")
        where, dot, setting = key.rpartition(".")
        if not sign:
            raise UserError(f"setting {text!r}; needs KEY=VALUE, such as max_rounds=2")
        # A method of a file has a short name, where no other has it.
        short = [name for name in methods if where in (name, name.rpartition(":")[2])]
        takers = [where] if where in methods else short[:1] if len(short) == 1 else [] if dot else [*methods]
        for name in _takers(key, setting, takers, methods):
            common[name][setting] = value
    chosen: list[ChosenMethod] = []
    for name, named, own, is_swept in entries:
        one = _chosen(name, named, own, common[name], presets.get(name, {}))
        if one not in chosen:
            chosen.append(one)
        elif not is_swept:  # two sweeps may cross
            raise UserError(f"method {one.label!r} is named twice; each once")
    return chosen


def _takers(key: str, setting: str, names: Sequence[str], methods: Mapping[str, Named]) -> list[str]:
    """Returns the methods, of these names, that have a setting; a UserError with all settings if none has."""
    if takes := [name for name in names if setting in settable(methods[name])]:
        return takes
    allowed = "; ".join(f"{name}: {', '.join(settable(one)) or 'none'}" for name, one in methods.items())
    near = meant(setting, [other for one in methods.values() for other in settable(one)])
    raise UserError(f"setting {key!r} belongs to none of the methods{near}; there are: {allowed}")


def _chosen(
    name: str, named: Named, own: Sequence[str], common: Mapping[str, str], preset: Mapping[str, Any]
) -> ChosenMethod:
    """Returns a method with its settings: its own, else those that are given for all, else the preset."""
    mine = {key: value for key, _, value in (text.partition("=") for text in own)}
    for key in mine:
        _takers(f"{name} {key}", key, [name], {name: named})
    given = {**common, **mine}
    kinds = settable(named)
    settings = {**preset, **{key: _value(f"{name}.{key}", kinds[key], text) for key, text in given.items()}}
    defaults = {key: default for key, (_, default) in _keywords(named).items()}
    needed = [key for key, default in defaults.items() if default is inspect.Parameter.empty]
    if missing := [f"--set {key}=…" for key in needed if key not in (*_GIVEN_TO_ALL, *settings)]:
        raise UserError(f"method {name!r} needs {' '.join(missing)}")
    # A default that is written out does no harm, nor does a setting for all that only some of them use.
    for key in (key for key in given if settings[key] != defaults.get(key) and (key in mine or not mine)):
        other, *values = _NEEDED.get(name, {}).get(key, ("",))
        held = {**defaults, **settings}.get(other)
        has_effect = any(one in values for one in held) if isinstance(held, tuple) else held in values
        if values and not has_effect:
            wanted = " or ".join(f"{other}={str(value).lower()}" for value in values)
            problem = f"setting {name}.{key} has no effect as the others are; it needs {wanted}"
            raise UserError(f"{problem}, or leave it out")
    return ChosenMethod(name=name, settings=settings, function=None if isinstance(named, str) else named)


def _value(key: str, wanted: Any, text: str) -> Any:
    """Reads a setting as what it says, as a switch, or as a list with commas, whichever its type takes."""
    problems = []
    for reading in (
        None if text == "none" else text,
        _SWITCHES.get(text.lower(), text),
        text.split(",") if text else [],
    ):
        try:
            return msgspec.convert(reading, wanted, strict=False)
        except msgspec.ValidationError as error:
            problems.append(str(error))
    if allowed := _allowed(wanted):
        raise UserError(f"setting {key}={text!r}; allowed: {', '.join(allowed)}")
    raise UserError(f"setting {key}={text!r}: {problems[-1 if 'array' in problems[0] else 0]}")


def _allowed(wanted: Any) -> list[str]:
    """Returns the texts that a setting takes, where it takes some alone; of a list, those that stand in it."""
    if wanted is bool:
        return ["true", "false"]
    if get_origin(wanted) is Literal:
        return [str(one) for one in get_args(wanted)]
    parts = [[] if one in (type(None), ...) else _allowed(one) or [""] for one in get_args(wanted)]
    texts = [text for part in parts for text in part]
    if not texts or "" in texts:
        return []
    return [*texts, "none"] if type(None) in get_args(wanted) else texts


def answering(
    chosen: ChosenMethod,
    model_for: ModelFor,
    *,
    examples: Sequence[Example] = (),
    training: Sequence[Example] = (),
    records: Mapping[str, Record] | None = None,
    retriever: Retriever | None = None,
    doctors: Doctors | None = None,
    memory: ExamMemory | None = None,
    temperature: float | None = None,
    seed: int = 0,
) -> Answering:
    """Returns a method, ready to be given questions.

    Examples, and the training of `medprompt`, are by default those shipped for the question's language. The temperature
    is that of the method's settings, else the one given, else the method's own. `records` are by the question's id;
    `doctors` think in a model's place.
    """
    method, takes = find_method(chosen.named), _keywords(chosen.named)
    always: dict[str, Any] = dict(chosen.settings)
    if "seed" in takes:
        always["seed"] = seed
    if "temperature" in takes and temperature is not None:
        always.setdefault("temperature", temperature)
    for name, given in (("retriever", retriever), ("doctors", doctors), ("memory", memory)):
        if name in takes:
            always[name] = given
    pools: dict[tuple[Language, ExampleKind], asyncio.Future[Pool]] = {}

    def shown(question: Question) -> tuple[Example, ...]:
        there = tuple(examples) or shipped_examples(question.language, kind_of(question))
        # Those that are nearest are chosen out of all.
        return there if method.draws or chosen.settings.get("neighbours_by") else there[:SHOTS]

    async def put(question: Question) -> Outcome:
        model = model_for(question.id)
        options = dict(always)
        if method.examples:
            options["examples"] = shown(question)
        if "record" in takes:
            options["record"] = (records or {}).get(question.id)
        if "pool" in takes:
            # Made once for all questions of a kind, by the first that needs it.
            kind = (question.language, kind_of(question))
            if kind not in pools:
                learnt = tuple(training) or shipped_examples(*kind)
                pools[kind] = asyncio.ensure_future(
                    prepare(learnt, model_for(f"training {' '.join(kind)}"), temperature=always.get("temperature"))
                )
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
