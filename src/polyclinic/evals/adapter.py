"""Inspect's dataset, solver, scorer and task, each made of the functions that a benchmark states once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple, Self, TypeVar, cast

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, get_model
from inspect_ai.model import Model as InspectModel
from inspect_ai.scorer import Metric, Score, Scorer, Target, mean, stderr
from inspect_ai.solver import Generate, Solver, TaskState
from inspect_ai.util import LimitExceededError

from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import BadInput, EndpointError, PolyclinicError
from polyclinic.models.inspect import Inspect

FAILURES = 0.05
"""Share of samples without an endpoint's answer above which the evaluation has failed; all are run all the same."""

VERSION = 1
"""Results of one version can be compared; it changes with prompts, scores and what a patient says."""

Item = TypeVar("Item")
Who = TypeVar("Who")
Played = TypeVar("Played")


class Told(NamedTuple):
    """What a play left: the completion, and why no endpoint answered; "" where one did."""

    completion: str
    failed: str = ""


def solving(
    items: Mapping[str, Item],
    player: Callable[[InspectModel], Who],
    play: Callable[[Item, Who, TaskState], Awaitable[Told]],
) -> Solver:
    """Returns what puts each sample's item, found by the sample's id, to the model under test.

    One solver may serve several models; the player of each is made once. `play` writes the sample's messages and store.
    """
    made: dict[int, tuple[InspectModel, Who]] = {}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        model = get_model()
        if id(model) not in made:
            made[id(model)] = model, player(model)
        told = await play(items[str(state.sample_id)], made[id(model)][1], state)
        if told.failed:
            # Inspect counts it as an error of the sample, and tries it again as its options say.
            raise EndpointError(told.failed)
        state.output = ModelOutput.from_content(str(model), told.completion)
        return state

    return solve


def scoring(read: Callable[[TaskState], Played], score: Callable[[str, Played, Target], Awaitable[Score]]) -> Scorer:
    """Returns what reads each sample's play and scores it by the sample's id; what cannot be read has no score."""

    async def scored(state: TaskState, target: Target) -> Score:
        try:
            played = read(state)
        except BadInput as problem:
            return Score.unscored(reason="scoring_failed", explanation=str(problem))
        return await score(str(state.sample_id), played, target)

    return scored


def averaged(names: Iterable[str]) -> dict[str, list[Metric]]:
    """Returns the metrics of a scorer: of each value its mean and the standard error."""
    return {name: [mean(), stderr()] for name in names}


def task_of(samples: Iterable[Sample], location: str, *, name: str = "", version: int = VERSION, **parts: Any) -> Task:
    """Returns a task; its `parts` are solver, scorer and setup, its dataset has the file's name by default."""
    return Task(
        dataset=MemoryDataset(list(samples), name=name or shipped_path(location).stem, location=location),
        fail_on_error=FAILURES,
        continue_on_fail=True,
        version=version,
        **parts,
    )


_ANY_NUMBER = 1_000_000


class Tested(Inspect):
    """A model that Inspect has opened, as a model of ours; what Inspect counts, limits and retries stays Inspect's.

    Inspect opens models and closes none. `async with` is for one that nobody else uses: the last visit that leaves
    closes the connections of our own provider, which opens them again when it is asked again.
    """

    def __init__(self, model: InspectModel) -> None:
        # Inspect takes an open model for a name, and its own limit is the one that counts here.
        super().__init__(cast(str, model), concurrency=_ANY_NUMBER)
        self._model = cast(InspectModel, _AsConfigured(model))
        self._visits = 0

    async def __aenter__(self) -> Self:
        self._visits += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        self._visits -= 1
        if not self._visits and self.name.startswith("inspect/direct/"):
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
