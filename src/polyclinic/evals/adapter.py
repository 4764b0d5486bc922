"""Tasks, solvers and scorers of Inspect, each made from one description of what a model under test does.

A `ModelTask` has the arguments of a task as its fields, and says what the items are, who plays, what a play is and what
it is worth. `register` makes the task, its solver and its scorer, which all take these arguments.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Self, TypeVar, cast

import msgspec
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, get_model, model_roles
from inspect_ai.model import Model as InspectModel
from inspect_ai.scorer import Metric, Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import BadInput, PolyclinicError, UserError
from polyclinic.models.inspect import Inspect

FAILURES = 0.05
"""Share of samples without an endpoint's answer above which the evaluation has failed; all are run all the same."""

_ANY_NUMBER = 1_000_000
_USERS: Counter[int] = Counter()  # by the id of a model's provider, which several tasks may share

Who = TypeVar("Who")
Played = TypeVar("Played")
Arguments = TypeVar("Arguments", bound=msgspec.Struct)


class Tested(Inspect):
    """A model that Inspect has opened, as a model of ours. Inspect counts, limits and retries its calls.

    Inspect opens models and closes none. When the last `async with` ends, the connections of our own provider are
    closed, if the model is to be closed; it opens them again with the next call.
    """

    def __init__(self, model: InspectModel, *, closes: bool = True) -> None:
        # Inspect takes an open model for a name, and its own limit is the one that counts here.
        super().__init__(cast(str, model), concurrency=_ANY_NUMBER)
        self._model = cast(InspectModel, _AsConfigured(model))
        self._closes = closes and self.name.startswith("inspect/direct/")

    async def __aenter__(self) -> Self:
        _USERS[id(self._model.api)] += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        users = _USERS[id(self._model.api)] = _USERS[id(self._model.api)] - 1
        if not users and self._closes:
            await self._model.api.aclose()

    def _named(self, error: Exception) -> Exception:
        # A limit ends the sample, and our provider's errors have their names.
        return error if isinstance(error, LimitExceededError | PolyclinicError) else super()._named(error)


class _AsConfigured:
    """Leaves the time-out to Inspect's own options."""

    def __init__(self, model: InspectModel) -> None:
        self._model, self.api = model, model.api

    async def generate(self, messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        return await self._model.generate(messages, config=config.model_copy(update={"timeout": None}))


def in_role(role: str, name: str | None = None, base_url: str | None = None) -> Tested:
    """Returns the model that `--model-role` gives a role, else the named one in that role."""
    if role in model_roles() or name is None:
        return Tested(get_model(role=role), closes=False)
    # Not among the models that Inspect keeps for everybody: it is closed when no visit needs it.
    opened = get_model(name.removeprefix("inspect/"), role=role, base_url=base_url, memoize=False)
    return Tested(opened)


class ModelTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model under test does in a task. Fields are the task's arguments, with the names that users give.

    A task has these methods:
        items() returns what is put to the model, by sample id.
        sample(id, item) returns an item as Inspect shows it.
        player(tested, epoch) returns what a model plays as.
        play(item, player, state), async, writes the messages and store of a play and returns its completion; an
            EndpointError if no answer came, which is an error of the sample and retried as Inspect's options say.
        read(state) returns what `play` wrote; a BadInput if it cannot be read, and the sample has no score.
        score(item, played, ready), async, scores a play.

    Attributes:
        name: the task's name; so are `solver_name` and `scorer_name`.
        metrics: what the scorer has values of; "*" is whatever a sample's score has.
        version: results of one version can be compared; it changes with prompts, scores and what a patient says.
        file: the argument that names the file of the items.
    """

    name: ClassVar[str]
    solver_name: ClassVar[str]
    scorer_name: ClassVar[str]
    metrics: ClassVar[Iterable[str]] = ("*",)
    version: ClassVar[int] = 1
    file: ClassVar[str] = "cases"

    def ready(self) -> Any:
        """Returns what `score` needs, once for all samples; refuses what it cannot score with."""
        return None


def averaged(names: Iterable[str]) -> dict[str, list[Metric]]:
    """Returns the metrics of a scorer: of each value its mean and the standard error."""
    return {name: [mean(), stderr()] for name in names}


def solving(
    player: Callable[[Tested, int], Who], play: Callable[[Who, TaskState], Any], *, by_epoch: bool = False
) -> Solver:
    """Returns a solver whose `play` puts a sample to a player, made once for each model, or each model and epoch."""
    made: dict[tuple[int, int], tuple[Tested, Who]] = {}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        model = get_model()
        key = id(model), state.epoch if by_epoch else 0
        if key not in made:
            tested = Tested(model)
            made[key] = tested, player(tested, state.epoch)
        tested, who = mine = made[key]
        try:
            async with tested:
                said = await play(who, state)
        except LimitExceededError:
            # All samples may wait for what met the limit of this one; the next prepares it anew.
            if made.get(key) is mine:
                del made[key]
            raise
        state.output = ModelOutput.from_content(str(model), said)
        return state

    return solve


def scoring(read: Callable[[TaskState], Played], score: Callable[[str, Played, Target], Any]) -> Scorer:
    """Returns a scorer of what each sample's play left; what cannot be read has no score."""

    async def scored(state: TaskState, target: Target) -> Score:
        try:
            played = read(state)
        except BadInput as problem:
            return Score.unscored(reason="scoring_failed", explanation=str(problem))
        found: Score = await score(str(state.sample_id), played, target)
        return found

    return scored


def kept_as(kind: Any, kept: object, what: str, by: str) -> Any:
    """Returns what a sample's store keeps, as a type; raises BadInput if there is nothing, or another version."""
    if kept is None:
        raise BadInput(f"the sample's store holds no {what}; was it solved by {by}?")
    try:
        return msgspec.convert(kept, kind)
    except msgspec.ValidationError as error:
        raise BadInput(f"the {what} in the sample's store cannot be read: {error}") from None


def task_of(samples: Iterable[Sample], location: str, *, name: str = "", **parts: Any) -> Task:
    """Returns a task; its `parts` are solver, scorer and version, its dataset has the file's name by default."""
    return Task(
        dataset=MemoryDataset(list(samples), name=name or shipped_path(location).stem, location=location),
        fail_on_error=FAILURES,
        continue_on_fail=True,
        **parts,
    )


def register(kind: Any) -> Callable[..., Task]:
    """Registers the task, the solver and the scorer of a `ModelTask` with Inspect, and returns the task."""

    def made_solver(**arguments: Any) -> Solver:
        one = converted(arguments, kind, kind.name)
        items = one.items()
        return solving(one.player, lambda who, state: one.play(items[str(state.sample_id)], who, state))

    def made_scorer(**arguments: Any) -> Scorer:
        one = converted(arguments, kind, kind.name)
        items, ready = one.items(), one.ready()
        return scoring(one.read, lambda id, played, target: one.score(items[id], played, ready))

    def made_task(**arguments: Any) -> Task:
        one = converted(arguments, kind, kind.name)
        given = msgspec.structs.asdict(one)
        return task_of(
            [one.sample(id, item) for id, item in one.items().items()],
            given[kind.file],
            version=kind.version,
            solver=solver_made(**given),
            scorer=scorer_made(**given),
        )

    decorated: Callable[[Any], Callable[..., Solver]] = solver(name=kind.solver_name)
    solver_made = decorated(with_arguments(made_solver, kind.solver_name, kind))
    named = with_arguments(made_scorer, kind.scorer_name, kind)
    scorer_made: Callable[..., Scorer] = scorer(metrics=averaged(kind.metrics), name=kind.scorer_name)(named)
    made: Callable[..., Task] = task(name=kind.name)(with_arguments(made_task, kind.name, kind))
    return made


def converted(arguments: Mapping[str, Any], kind: type[Arguments], name: str) -> Arguments:
    """Returns the arguments of a task, checked; a UserError if they cannot be used."""
    try:
        return msgspec.convert(arguments, kind)
    except msgspec.ValidationError as error:
        raise UserError(f"{name}: {error}") from None


def with_arguments(
    function: Callable[..., Any], name: str, kind: type[msgspec.Struct], *, others: str = "", doc: str | None = None
) -> Callable[..., Any]:
    """Returns a function with a name, and with the fields of a struct, and `others`, as its arguments."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or kind.__doc__
    empty = inspect.Parameter.empty
    arguments = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=empty if one.required else one.default)
        for one in msgspec.structs.fields(kind)
    ]
    arguments += [inspect.Parameter(others, inspect.Parameter.VAR_KEYWORD)] if others else []
    function.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    return function
