"""Methods that answer questions, in exams and on whole records: their options, rows, comparisons and failures."""

# No annotations as text: options of evaluations inherit these.

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Annotated, Any

from cyclopts import Parameter

from polyclinic.answering.outcome import Outcome
from polyclinic.errors import PlayFailure, UserError
from polyclinic.evaluations.evaluation import check_judge
from polyclinic.evaluations.measuring import Value, item_row
from polyclinic.methods.table import ChosenMethod, choose
from polyclinic.results.folder import ItemRow
from polyclinic.run.options import LIBRARY, BatchOption, Library, ProtocolOption, Several
from polyclinic.settings import setting
from polyclinic.statistics.comparison import Against, Test, compare_values


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MethodOptions(BatchOption, ProtocolOption):
    """The methods of an evaluation."""

    method: Annotated[list[str] | None, Several, Parameter(metavar="NAME...")] = None
    """A method by name, or FILE.py:NAME; settings may follow the name: 'medagents stages=analysis|summary'."""
    settings: Annotated[list[str] | None, setting(""), Parameter(name="--method-settings")] = None
    """Settings of the methods, KEY=VALUE, or METHOD.KEY=VALUE of one."""
    library: Library = LIBRARY

    def chosen(
        self,
        otherwise: str,
        *,
        models: Iterable[str],
        judge: str | None,
        presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> list[ChosenMethod]:
        """Returns the methods, one of them if none is named; refuses what is no model, and a corpus without effect."""
        for name in models:
            check_judge(name, option="--model")
        check_judge(judge)
        chosen = choose(self.method or [otherwise], self.settings or [], presets=presets)
        corpus = self.library.corpus
        if corpus is not None and all(one.settings.get("retrieval") is False for one in chosen):
            problem = f"--corpus {corpus} has no effect with retrieval=false, which looks nothing up"
            raise UserError(f"{problem}; leave one of them out")
        return chosen


def outcome_row(outcome: Outcome, values: Mapping[str, Value], **facts: Any) -> ItemRow:
    """Returns the row of an outcome; a failed one has no value."""
    usage = outcome.usage
    return item_row(
        {} if outcome.failed else values,
        end=str(outcome.end),
        calls=outcome.calls,
        round_trips=outcome.round_trips,
        tokens=usage.tokens_in + usage.tokens_out,
        cost=usage.cost,
        **facts,
    )


def compare_methods(
    values: Mapping[str, Mapping[str, float]], test: Test, pairs: Sequence[tuple[str, str]] | None = None
) -> tuple[Against, ...]:
    """Compares methods by their values of each item: these pairs, or every two, the later less the earlier."""
    every = [(second, first) for first, second in combinations(values, 2)] if pairs is None else pairs
    by_measure = {name: {item: {"": value} for item, value in of.items()} for name, of in values.items()}
    return compare_values(Against, by_measure, [""], every, lambda _: test)


def failures(outcomes: Iterable[Outcome]) -> str:
    """Returns why questions failed: each kind of failure, how many those are, and the words of the first."""
    kinds: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.failed:
            raised = (call.error for call in outcome.trace if call.error and call.problem == outcome.problem)
            kinds.setdefault(next(raised, PlayFailure.__name__), []).append(outcome.problem)
    return "; ".join(f"{len(problems)} {kind} ({problems[0]})" for kind, problems in kinds.items())
