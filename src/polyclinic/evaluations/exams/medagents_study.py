"""The MedAgents paper's experiments in one run: what is asked, each thing once, and the tables that are made of it.

Paper: Tang et al., MedAgents, arXiv:2311.10537: main results on nine sets (Table 2), ablation (Table 3), numbers of
experts (Figure 3, Table 4), errors (Figures 4 and 5), cost and time (§4.1).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any, Literal, NamedTuple

import msgspec

from polyclinic.errors import RunStopped, StoppedEarly, UserError
from polyclinic.evaluations.exams.evaluation import MethodResult
from polyclinic.evaluations.exams.published import as_published
from polyclinic.evaluations.exams.runs import Episode, Learning, run_methods
from polyclinic.evaluations.exams.studies import Curve, Wrong, ablation, curve, panels, wrong_answers
from polyclinic.methods.table import ChosenMethod, choose, find_method
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import MedAgentsSettings
from polyclinic.questions.exam import ExamQuestion
from polyclinic.statistics.uncertainty import Estimate

StudyPart = Literal["table-2", "table-3", "figure-3", "figure-5"]
PARTS: tuple[StudyPart, ...] = ("table-2", "table-3", "figure-3", "figure-5")

DATASETS = ("medqa", "medmcqa", "pubmedqa", "mmlu")
SUBJECTS = (
    "anatomy", "clinical knowledge", "college medicine", "medical genetics", "professional medicine", "college biology",
)  # fmt: skip
"""Of MMLU, in the order of Table 2."""
SETS = (*DATASETS[:-1], *SUBJECTS)
"""Three data sets, and MMLU's six subjects."""

METHODS_OF_TABLE_2 = (
    "few_shot", "few_shot_chain_of_thought", "few_shot_self_consistency",
    "zero_shot", "chain_of_thought", "self_consistency", "medagents",
)  # fmt: skip
TEAM = "medagents"
ERRORS_ON = ("medqa", "medmcqa")
_NORMAL = 1.96


class Accuracies(msgspec.Struct, frozen=True, kw_only=True):
    """A row of Table 2: accuracy in percent, by set, and the mean over the sets that have one."""

    method: str
    sets: dict[str, Estimate]
    average: Estimate


class MedAgentsCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a method took over all sets: money for a hundred questions, seconds, calls and tokens a question."""

    method: str
    per_hundred: float | None
    seconds: float
    calls: float
    tokens: float


class Experts(msgspec.Struct, frozen=True, kw_only=True):
    """Table 4: with how many experts a data set was answered best."""

    dataset: str
    question: int
    options: int


class MedAgentsResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the parts that were run; empty is what was not.

    `teams` is MedAgents as Table 2 has it, by data set; `asked` has every result once.
    """

    table_2: tuple[Accuracies, ...]
    table_3: tuple[MethodResult, ...]
    table_4: tuple[Experts, ...]
    figure_3: dict[str, tuple[Curve, Curve]]
    cost: tuple[MedAgentsCost, ...]
    teams: dict[str, MethodResult]
    asked: dict[str, tuple[MethodResult, ...]]


class MedAgentsPlan(NamedTuple):
    """Which methods are put to which data set, each once, and who stands where in the tables."""

    methods: dict[str, list[ChosenMethod]]
    table_2: list[ChosenMethod]
    table_3: list[ChosenMethod]
    pairs: list[tuple[int, int]]
    question_experts: Sequence[int]
    option_experts: Sequence[int]
    at: dict[str, tuple[int, int]]
    ablation_on: str


def plan(
    datasets: Sequence[str],
    rules: FollowedProtocol[MedAgentsSettings],
    *,
    parts: Sequence[StudyPart] = PARTS,
    question_experts: Sequence[int] = (),
    option_experts: Sequence[int] = (),
    temperature: float | None = None,
) -> MedAgentsPlan:
    """Returns what is asked; the ablation is on the first of the data sets, as the paper's is on MedQA.

    Raises:
        UserError: a temperature that the protocol has not, or a pair of no experts at all.
    """
    experts = {
        one: tuple(
            of.paper.get(one, of.paper["others"])
            for of in (rules.settings.question_experts, rules.settings.option_experts)
        )
        for one in datasets
    }
    at = {one: (m, n) for one, (m, n) in experts.items()}
    methods: dict[str, list[ChosenMethod]] = {}
    table_2 = choose(METHODS_OF_TABLE_2) if "table-2" in parts else []
    if not table_2 and "figure-5" in parts:
        table_2 = choose([TEAM])
    on = datasets[0]
    # What the ablation compares is asked at one temperature, and that is the team's where nobody says another.
    hot = rules.of(rules.settings.methods[TEAM].temperature) if temperature is None else temperature
    table_3 = ablation({"temperature": hot}) if "table-3" in parts else []
    table_3 = [msgspec.structs.replace(one, settings={**one.settings, "temperature": hot}) for one in table_3]
    for dataset in datasets:
        wanted = [_sized(one, *at[dataset]) for one in table_2]
        if dataset == on:
            wanted += [_sized(one, *at[dataset]) for one in table_3]
        if "figure-3" in parts:
            team = choose([TEAM])[0]
            wanted += [_sized(team, m, n) for m, n in panels(question_experts, option_experts, at[dataset])]
        varied = ("question_experts", "option_experts")
        made = as_published(wanted, rules, dataset=dataset, temperature=temperature, varied=varied)
        methods[dataset] = list({_whole(one): one for one in made}.values())
    pairs = [pair for dataset in datasets for pair in panels(question_experts, option_experts, at[dataset])]
    return MedAgentsPlan(methods, table_2, table_3, pairs, question_experts, option_experts, at, on)


def _sized(chosen: ChosenMethod, question: int, options: int) -> ChosenMethod:
    """Returns the team with so many experts; another method as it is."""
    if chosen.name != TEAM:
        return chosen
    numbers = {"question_experts": question, "option_experts": options}
    return msgspec.structs.replace(chosen, settings={**chosen.settings, **numbers})


def _whole(chosen: ChosenMethod) -> str:
    """Returns a method's name with all its settings, defaults among them: two that are alike ask the same."""
    given = {
        name: one.default
        for name, one in inspect.signature(find_method(chosen.named).run).parameters.items()
        if one.default is not one.empty
    }
    return f"{chosen.name} {sorted((given | chosen.settings).items(), key=lambda pair: pair[0])!r}"


async def run_study(
    questions: Mapping[str, Sequence[ExamQuestion]],
    planned: MedAgentsPlan,
    rules: FollowedProtocol[MedAgentsSettings],
    models: Episode,
    *,
    learning: Learning,
    advance: Callable[[], None] = lambda: None,
) -> MedAgentsResult:
    """Puts the questions of each data set to its methods, and makes the tables; failures are as in `run_methods`.

    Raises:
        StoppedEarly: the run was stopped; its summary is the result of what was over.
    """
    asked: dict[str, tuple[MethodResult, ...]] = {}
    for dataset, methods in planned.methods.items():
        results: list[MethodResult] = []
        try:
            await run_methods(
                questions[dataset],
                methods,
                lambda label, dataset=dataset: models(f"{dataset}, {label}"),  # type: ignore[misc]
                learning=learning,
                match="none",
                advance=advance,
                kept=results,
            )
        except RunStopped as stopped:
            asked |= {dataset: tuple(results)} if results else {}
            summary = _tables(asked, planned, rules, learning) if asked else None
            raise StoppedEarly(stopped, f"in {dataset}", summary=summary) from None
        asked[dataset] = tuple(results)
    return _tables(asked, planned, rules, learning)


def _tables(
    asked: Mapping[str, tuple[MethodResult, ...]],
    planned: MedAgentsPlan,
    rules: FollowedProtocol[MedAgentsSettings],
    learning: Learning,
) -> MedAgentsResult:
    """Returns the tables of what came of the methods, in their order; the last ones may be missing."""
    found = {
        (dataset, _whole(one)): result
        for dataset, results in asked.items()
        for one, result in zip(planned.methods[dataset], results, strict=False)
    }

    def of(dataset: str, chosen: ChosenMethod, pair: tuple[int, int] | None = None) -> MethodResult | None:
        sized = _sized(chosen, *(pair or planned.at[dataset]))
        (made,) = as_published(
            [sized], rules, dataset=dataset, temperature=learning.temperature, varied=tuple(sized.settings)
        )
        return found.get((dataset, _whole(made)))

    team = choose([TEAM])[0]
    figure_3: dict[str, tuple[Curve, Curve]] = {}
    if planned.question_experts or planned.option_experts:
        for dataset, (m, n) in planned.at.items():
            on_question = [
                (number, came)
                for number in planned.question_experts
                if (came := of(dataset, team, (number, n))) is not None
            ]
            on_options = [
                (number, came)
                for number in planned.option_experts
                if (came := of(dataset, team, (m, number))) is not None
            ]
            if not on_question and not on_options:
                continue
            figure_3[dataset] = (
                curve("question_experts", n, on_question, seed=learning.seed),
                curve("option_experts", m, on_options, seed=learning.seed),
            )
    rows = {
        one.name: [(dataset, came) for dataset in asked if (came := of(dataset, one)) is not None]
        for one in planned.table_2
    }
    rows = {name: results for name, results in rows.items() if results}
    return MedAgentsResult(
        table_2=tuple(_accuracies(name, results) for name, results in rows.items()),
        table_3=tuple(came for one in planned.table_3 if (came := of(planned.ablation_on, one)) is not None),
        table_4=tuple(_best(dataset, *curves) for dataset, curves in figure_3.items()),
        figure_3=figure_3,
        cost=tuple(_cost(name, [result for _, result in results]) for name, results in rows.items()),
        teams=dict(rows.get(TEAM, [])),
        asked=dict(asked),
    )


def _accuracies(name: str, results: Sequence[tuple[str, MethodResult]]) -> Accuracies:
    sets: dict[str, Estimate] = {}
    for dataset, result in results:
        if dataset == "mmlu":
            # One subject by itself is not told apart.
            subjects = result.by_subject or {one.subject: result.accuracy for one in result.answered[:1]}
            sets |= {name: subjects[name] for name in SUBJECTS if name in subjects}
        else:
            sets[dataset] = result.accuracy
    return Accuracies(method=name, sets=sets, average=average(list(sets.values())))


def average(sets: Sequence[Estimate]) -> Estimate:
    """Returns the mean over sets, each counted once however many questions it has; `n` is how many sets they are.

    The sets are independent, so that their variances add up; the interval is the normal one.
    """
    known = [one for one in sets if one.mean is not None]
    if not known:
        return Estimate(mean=None, stderr=None, low=None, high=None, n=0)
    mean = sum(one.mean or 0.0 for one in known) / len(known)
    if any(one.stderr is None for one in known):
        return Estimate(mean=mean, stderr=None, low=None, high=None, n=len(known))
    error = sqrt(sum((one.stderr or 0.0) ** 2 for one in known)) / len(known)
    return Estimate(mean=mean, stderr=error, low=mean - _NORMAL * error, high=mean + _NORMAL * error, n=len(known))


def _best(dataset: str, on_question: Curve, on_options: Curve) -> Experts:
    """Returns the numbers with the highest accuracy; of equals, the fewest."""

    def best(one: Curve) -> int:
        return max(one.numbers, key=lambda pair: (pair[1].accuracy.mean or 0.0, -pair[0]))[0] if one.numbers else 0

    return Experts(dataset=dataset, question=best(on_question), options=best(on_options))


def _cost(name: str, results: Sequence[MethodResult]) -> MedAgentsCost:
    n = max(sum(len(one.answered) for one in results), 1)

    def a_question(what: Callable[[MethodResult], float]) -> float:
        return sum(what(one) * len(one.answered) for one in results) / n

    money = [one.cost.money for one in results]
    return MedAgentsCost(
        method=name,
        per_hundred=None if None in money else 100 * a_question(lambda one: one.cost.money or 0.0),
        seconds=a_question(lambda one: one.cost.seconds),
        calls=a_question(lambda one: one.cost.calls),
        tokens=a_question(lambda one: one.cost.tokens_in + one.cost.tokens_out),
    )


def missing_sets(row: Accuracies) -> list[str]:
    """Returns which of the paper's nine sets have no accuracy in a row of Table 2."""
    return [name for name in SETS if name not in row.sets or row.sets[name].mean is None]


def of_the_paper(dataset: str, questions: Sequence[ExamQuestion]) -> list[ExamQuestion]:
    """Returns the questions of the paper's sets; MMLU as published has fifty-one subjects more.

    Raises:
        UserError: none is left.
    """
    if dataset != "mmlu":
        return list(questions)
    kept = [one for one in questions if one.subject in SUBJECTS]
    if not kept:
        raise UserError(f"--mmlu holds none of the paper's six subjects: {', '.join(SUBJECTS)} (anatomy_test.csv …)")
    return kept


def errors_of(
    result: MedAgentsResult, questions: Mapping[str, Sequence[ExamQuestion]], *, most: int, seed: int
) -> dict[str, Wrong]:
    """Returns the team's wrong answers on the data sets of Figure 5, at most so many of each."""
    return {
        dataset: wrong_answers({dataset: result.teams[dataset].answered}, questions[dataset], most=most, seed=seed)
        for dataset in ERRORS_ON
        if dataset in result.teams
    }


def document_of(result: MedAgentsResult, *, about: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what `--json` prints, without the questions."""

    def short(one: MethodResult) -> dict[str, Any]:
        return {"name": one.name, "accuracy": one.accuracy, "cost": one.cost, "n": len(one.answered)}

    return {
        **about,
        "table_2": result.table_2,
        "sets_of_nine": max((row.average.n for row in result.table_2), default=0),
        "sets_missing": missing_sets(result.table_2[0]) if result.table_2 else [],
        "table_3": [short(one) for one in result.table_3],
        "table_4": result.table_4,
        "figure_3": {
            dataset: [
                {"varied": one.varied, "held": one.held, "numbers": [{"number": n, **short(r)} for n, r in one.numbers]}
                for one in curves
            ]
            for dataset, curves in result.figure_3.items()
        },
        "cost": result.cost,
    }
