"""The studies of the MedAgents paper on exam questions: what each stage brings, how many experts, and why answers miss.

Paper: Tang et al., MedAgents, arXiv:2311.10537, §5: ablation (Table 3), number of experts (Figure 3, Table 4), error
categories (Figure 5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.exams.evaluation import Against, Answered, MethodResult, compare
from polyclinic.evaluations.exams.runs import Episode, Learning, run_methods
from polyclinic.files import read_records
from polyclinic.judging.error_categories import MissedQuestion
from polyclinic.methods.medagents import MOST_EXPERTS
from polyclinic.methods.table import ChosenMethod
from polyclinic.questions.exam import ExamQuestion
from polyclinic.results.folder import CALLS, ITEMS
from polyclinic.seeds import derive

Varied = Literal["question_experts", "option_experts"]

_RANGE = re.compile(r"(\d{1,3})(?:-(\d{1,3}))?")
_FILE_SUFFIX = ".jsonl"


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One curve of Figure 3: the numbers of experts of one kind, those of the other kind held.

    Every number is compared with the first one; Holm's correction is over the series.
    """

    varied: Varied
    held: int
    numbers: tuple[tuple[int, MethodResult], ...]
    against: tuple[Against, ...]


class Wrong(NamedTuple):
    """The answers whose category is asked for, and how many are wrong in all.

    An unanswered question (unreadable, refused, cut off) has no reasoning to sort; a failed one, no endpoint's answer.
    """

    answers: list[MissedQuestion]
    wrong: int
    unanswered: int
    failed: int


def ablation(settings: dict[str, Any] | None = None) -> list[ChosenMethod]:
    """Returns the rows of Table 3: direct and chain-of-thought prompting, and MedAgents with more and more stages."""
    rows = [ChosenMethod(name="zero_shot"), ChosenMethod(name="chain_of_thought")]
    for stages in ("analysis", "summary", "consultation"):
        rows.append(ChosenMethod(name="medagents", settings={**(settings or {}), "stages": stages}))
    return rows


async def sweep(
    questions: Sequence[ExamQuestion],
    models: Episode,
    *,
    question_experts: Sequence[int],
    option_experts: Sequence[int],
    at: tuple[int, int],
    settings: dict[str, Any] | None = None,
    learning: Learning | None = None,
    advance: Callable[[], None] = lambda: None,
    kept: list[MethodResult] | None = None,
) -> tuple[Curve, Curve]:
    """Puts the questions to MedAgents with other and other numbers of experts; see `run_methods`.

    While the one number is varied, the other is held `at` so many experts on the question, and on the options. Pairs
    that are equal are asked once.

    Returns:
        The series over the experts on the question, and the one over those on the options; of what is in `kept`, where
        that ended early, by `curves`.
    """
    learning = learning or Learning()
    pairs = panels(question_experts, option_experts, at)
    chosen = [
        ChosenMethod(name="medagents", settings={**(settings or {}), "question_experts": m, "option_experts": n})
        for m, n in pairs
    ]
    came = await run_methods(questions, chosen, models, learning=learning, match="none", advance=advance, kept=kept)
    return curves(came, question_experts=question_experts, option_experts=option_experts, at=at, seed=learning.seed)


def curves(
    came: Sequence[MethodResult],
    *,
    question_experts: Sequence[int],
    option_experts: Sequence[int],
    at: tuple[int, int],
    seed: int = 0,
) -> tuple[Curve, Curve]:
    """Returns the two series of a sweep of what came of its pairs, in their order; the last ones may be missing."""
    by_pair = dict(zip(panels(question_experts, option_experts, at), came, strict=False))
    on_question = [(m, by_pair[m, at[1]]) for m in question_experts if (m, at[1]) in by_pair]
    on_options = [(n, by_pair[at[0], n]) for n in option_experts if (at[0], n) in by_pair]
    return (
        curve("question_experts", at[1], on_question, seed=seed),
        curve("option_experts", at[0], on_options, seed=seed),
    )


def curve(varied: Varied, held: int, numbered: Sequence[tuple[int, MethodResult]], *, seed: int = 0) -> Curve:
    """Returns the results of numbers of experts as a curve, each compared with the first."""
    results = [result for _, result in numbered]
    against = compare(results, baseline=results[0].name, seed=seed) if results else ()
    return Curve(varied=varied, held=held, numbers=tuple(numbered), against=against)


def panels(
    question_experts: Iterable[int], option_experts: Iterable[int], at: tuple[int, int]
) -> list[tuple[int, int]]:
    """Returns the pairs of numbers of experts that a sweep asks, each once.

    Raises:
        UserError: a pair is of no experts at all.
    """
    pairs = list(dict.fromkeys([*((m, at[1]) for m in question_experts), *((at[0], n) for n in option_experts)]))
    if (0, 0) in pairs:
        raise UserError("0 experts on the question and 0 on the options; at least one expert is needed")
    return pairs


def parse_numbers(text: str, *, option: str) -> tuple[int, ...]:
    """Reads numbers of experts: `1-7`, `1,3,5`, `0-2,4`.

    Raises:
        UserError: it is something else; names the option that it was given with.
    """
    numbers: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last > MOST_EXPERTS:
            raise UserError(f"{option} {text!r}; needs numbers from 0 to {MOST_EXPERTS}, such as 1-7 or 1,3,5")
        numbers += range(first, last + 1)
    return tuple(dict.fromkeys(numbers))


def read_answered(path: str | Path) -> list[Answered]:
    """Reads a method's outcomes, as `polyclinic eval ... --out` writes them.

    Raises:
        BadInput: the file cannot be read, or a line is something else.
    """
    path = Path(path)
    return [answered for _, answered in read_records(path, Answered, "an outcome of 'polyclinic eval ... --out'")]


def outcome_files(run: Path, methods: Sequence[str] = ()) -> dict[str, Path]:
    """Returns the files of outcomes in a run's folder, or one of them, by the name of the method as the file has it.

    Raises:
        UserError: there is none, or not that one.
    """
    if run.is_file():
        found = {run.stem: run}
    elif run.is_dir():
        found = {path.stem: path for path in sorted(run.glob(f"*{_FILE_SUFFIX}")) if path.name not in (CALLS, ITEMS)}
    else:
        raise BadInput("no such folder; name one that 'polyclinic eval ... --out' wrote", path=run)
    if not found:
        raise BadInput(f"no outcomes (*{_FILE_SUFFIX}) here; name a folder of 'polyclinic eval ... --out'", path=run)
    for method in methods:
        if method not in found:
            raise UserError(f"no outcomes of method {method!r} in {run}; there are: {', '.join(found)}")
    return {name: path for name, path in found.items() if not methods or name in methods}


def wrong_answers(
    answered: Mapping[str, Sequence[Answered]],
    questions: Sequence[ExamQuestion],
    *,
    most: int | None = None,
    seed: int = 0,
) -> Wrong:
    """Returns the wrong answers of methods; of each at most so many, drawn by the seed (the paper looks at 40).

    Raises:
        UserError: a question was asked that is not among them, or with another key.
    """
    by_id = {question.question.id: question for question in questions}
    answers: list[MissedQuestion] = []
    wrong = unanswered = failed = 0
    for method, outcomes in answered.items():
        missed = []
        for one in outcomes:
            question = by_id.get(one.id)
            if question is None or question.key != one.key:
                problem = "is not among the questions" if question is None else "has another key there"
                raise UserError(f"question {one.id!r} of method {method!r} {problem}; name the file that was asked")
            failed += one.failed
            unanswered += not one.failed and not one.readable
            if one.readable and not one.right:
                missed.append(MissedQuestion(question=question, method=method, outcome=one.outcome))
        wrong += len(missed)
        if most is not None and most < len(missed):
            drawn = derive(seed, "wrong answers", method).sample(range(len(missed)), most)
            missed = [missed[place] for place in sorted(drawn)]
        answers += missed
    return Wrong(answers, wrong, unanswered, failed)
