"""Exams as tasks of Inspect.

    inspect eval polyclinic/medqa -T questions=FILE -T method=medagents --model direct/NAME --model-base-url URL

Accuracy is over all questions that the endpoint answered: an answer that cannot be read is not correct, and a question
that got no answer is an error of the sample, outside every mean. See `polyclinic.evaluations.exams.evaluation`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from inspect_ai import Task, task
from inspect_ai.scorer import Score, Scorer, Target, scorer

from polyclinic.answering.outcome import Outcome
from polyclinic.errors import UserError
from polyclinic.evals.adapter import averaged, scoring, task_of
from polyclinic.evals.hub import HUB, read_hub
from polyclinic.evals.methods import OUTCOME, outcome_of, solver_of
from polyclinic.evals.questions import as_sample
from polyclinic.evaluations.exams.evaluation import is_right
from polyclinic.methods.table import PRESETS
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts import parse_fields, read_exam
from polyclinic.questions.layouts import sample as draw

VERSION = 2
"""Results of one version can be compared; it changes with prompts, samples and how answers are read."""

ACCURACY, ACCURACY_READABLE, READABLE = METRICS = ("ACCURACY", "ACCURACY_READABLE", "READABLE")

Settings = Mapping[str, Any] | Sequence[str] | str | None


@scorer(metrics=averaged(METRICS))
def answers() -> Scorer:
    """Scores what a method answered: whether exactly the right options were chosen, and whether any was, in percent.

    ACCURACY_READABLE leaves the unreadable answers out. A question that a limit ended has no score.
    """

    async def score(_: str, outcome: Outcome, target: Target) -> Score:
        readable, chosen = bool(outcome.answers), ", ".join(sorted(outcome.answers))
        accuracy = 100.0 * is_right(outcome, target)
        told = f"chosen: {chosen or 'nothing'}; right: {', '.join(target)}"
        return Score(
            value={
                ACCURACY: accuracy,
                ACCURACY_READABLE: accuracy if readable else math.nan,
                READABLE: 100.0 * readable,
            },
            answer=chosen or None,
            explanation=f"{told}; {outcome.end}: {outcome.problem}" if outcome.problem else told,
            metadata={"end": str(outcome.end), "calls": outcome.calls, "round trips": outcome.round_trips},
        )

    return scoring(lambda state: outcome_of(state.store.get(OUTCOME)), score)


def _published(name: str, told: str, *, size: int | Literal["all"] | None = None) -> Callable[..., Task]:
    """Returns the task of a published data set."""

    def made(
        *,
        questions: str | None = None,
        method: str = "zero_shot",
        settings: Settings = None,
        sample: int | Literal["all"] | None = size,
        seed: int = 0,
    ) -> Task:
        asked = read_hub(name) if questions is None else read_exam(Path(questions), layout=name)
        return _exam(name, asked, questions, method, settings, sample, seed)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"""{told}

    Args:
        questions: the published file; by default the data set is read from the Hugging Face hub.
        method: who answers, by its name on the command line; also `FILE.py:NAME`.
        settings: of the method: `KEY=VALUE`, several with commas between, or a mapping.
        sample: so many questions, drawn by the seed, 300 by default, of MMLU all; "all" takes all.
        seed: of the sample and of what the method draws.

    Raises:
        UserError: the file, the method or a setting cannot be used.
    """
    return task(name=name)(made)


medqa = _published("medqa", "MedQA: questions of the United States medical licensing examination.")
medmcqa = _published("medmcqa", "MedMCQA: questions of Indian entrance examinations for residents.")
pubmedqa = _published(
    "pubmedqa", "PubMedQA: does this abstract say yes, no or maybe? The hub does not name the test set."
)
mmlu = _published("mmlu", "The six medical subjects of MMLU, whole; the questions are a folder.", size="all")


@task
def exam(
    *,
    questions: str,
    fields: Sequence[str] | str | None = None,
    answer_base: Literal[0, 1] | None = None,
    method: str = "zero_shot",
    settings: Settings = None,
    sample: int | Literal["all"] | None = None,
    seed: int = 0,
) -> Task:
    """Any multiple-choice questions, in any layout that `polyclinic.questions.layouts` reads. Arguments as `medqa`.

    Any JSON records are read with `fields`, which tell what is what (`question=stem,options=choices,answer=gold`), and
    `answer_base`, from where an answer that is a number counts the options.

    Raises:
        UserError: the file, the fields, the method or a setting cannot be used.
    """
    if fields is not None and not isinstance(fields, str):
        fields = ",".join(fields)
    map_of_fields = parse_fields(fields) if fields is not None else None
    asked = read_exam(Path(questions), fields=map_of_fields, answer_base=answer_base)
    return _exam("exam", asked, questions, method, settings, sample, seed)


def _exam(  # noqa: PLR0917
    name: str,
    questions: Sequence[ExamQuestion],
    file: str | None,
    method: str,
    settings: Settings,
    sample: int | Literal["all"] | None,
    seed: int,
) -> Task:
    if sample not in ("all", None) and (not isinstance(sample, int) or sample < 1):
        raise UserError(f"sample={sample!r}; it is a number from 1, or all")
    drawn = list(questions) if sample == "all" else draw(questions, sample, seed=seed)
    given = {**PRESETS.get(name, {}).get(method, {}), **settings_by_name(settings)}
    return task_of(
        map(as_sample, drawn),
        file or HUB[name].path,
        name=name,
        version=VERSION,
        solver=solver_of(method)(**{"seed": seed, **given}),
        scorer=answers(),
    )


def settings_by_name(given: Settings) -> dict[str, Any]:
    """Returns settings by name; Inspect's command line makes a list of what has commas."""
    if given is None or isinstance(given, Mapping):
        return dict(given or {})
    pairs = [text.partition("=") for text in ([given] if isinstance(given, str) else given)]
    if wrong := [key for key, sign, _ in pairs if not sign]:
        raise UserError(f"setting {wrong[0]!r}; needs KEY=VALUE, such as max_rounds=2")
    return {key.strip(): value.strip() for key, _, value in pairs}
