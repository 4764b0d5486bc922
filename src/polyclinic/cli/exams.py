"""`polyclinic eval medqa` and its like: methods on the questions of an exam."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, cast

import typer

from polyclinic.cli.minds import (
    BaseUrlOption,
    ConcurrencyOption,
    JournalOption,
    JsonOption,
    KeyOption,
    MaxCostOption,
    MaxTokensOption,
    ModelOptions,
    OpenedModels,
    PriceOption,
    TemperatureOption,
    open_models,
)
from polyclinic.errors import BudgetSpent, PlayFailure, UserError
from polyclinic.terminal.usage import show_usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyclinic.benchmarks.exams.evaluation import MethodResult
    from polyclinic.benchmarks.exams.runs import Episode
    from polyclinic.models.ledger import Ledger
    from polyclinic.models.model import Model
    from polyclinic.questions.exam import ExamQuestion

SAMPLE = 300
"""Questions that the paper draws from each data set (medagents §4.1)."""

_WHOLE = ("mmlu",)
"""Data sets that are small enough to be taken whole."""

QuestionsOption = Annotated[
    Path, typer.Option("--questions", help="The data set's file, as it is published; for MMLU the folder.")
]
ModelOption = Annotated[
    str, typer.Option("--model", help="local, direct/NAME (with --base-url), or a name that Inspect knows.")
]
SampleOption = Annotated[
    int | None,
    typer.Option("--sample", min=1, help=f"So many questions, drawn by --seed; {SAMPLE} by default, MMLU whole."),
]
AllOption = Annotated[bool, typer.Option("--all", help="All questions.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A setting of the methods, or METHOD.KEY=VALUE of one; may be repeated."
    ),
]
SeedOption = Annotated[int, typer.Option(help="Of the sample, of what methods draw, and of the bootstrap.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", help="Write every outcome and the summary into this folder.", metavar="DIR")
]

FieldsOption = Annotated[
    str | None, typer.Option(help="Where the file's own fields differ: question=stem,options=choices,answer=gold.")
]
AnswerBaseOption = Annotated[
    int | None, typer.Option(min=0, max=1, help="With --fields: the answer is a number that counts from this.")
]
MaxFailuresOption = Annotated[
    float, typer.Option(min=0, max=100, help="Share of failed questions, in percent, above which the run has failed.")
]

AnswerTokensOption = Annotated[
    int | None,
    typer.Option(
        "--answer-tokens",
        min=1,
        help="The longest answer to a call; a longer one is cut off. The server's where left out, 512 for local.",
    ),
]


def exam_command(dataset: str) -> Callable[..., None]:
    """Returns the command that puts the questions of a data set to methods."""

    def command(
        questions: QuestionsOption,
        model: ModelOption,
        method: Annotated[
            list[str] | None, typer.Option(help="A method by name; may be repeated. zero_shot by default.")
        ] = None,
        settings: SetOption = None,
        sample: SampleOption = None,
        everything: AllOption = False,
        fields: FieldsOption = None,
        answer_base: AnswerBaseOption = None,
        examples: Annotated[
            Path | None,
            typer.Option(help="Answered questions of a training split, for few-shot methods; ours by default."),
        ] = None,
        training: Annotated[
            Path | None, typer.Option(help="Answered questions that medprompt learns from; ours by default.")
        ] = None,
        match: Annotated[
            Literal["calls", "tokens", "none"],
            typer.Option(help="What self-consistency beside each team may take: as many calls, as many tokens."),
        ] = "calls",
        shuffle: Annotated[bool, typer.Option("--shuffle", help="Ask everything again with options shuffled.")] = False,
        baseline: Annotated[
            str | None, typer.Option(help="Compare every method with this one; by default every two.", metavar="METHOD")
        ] = None,
        seed: SeedOption = 0,
        out: OutOption = None,
        json: JsonOption = False,
        max_failures: MaxFailuresOption = 5.0,
        base_url: BaseUrlOption = None,
        api_key_env: KeyOption = "OPENAI_API_KEY",
        concurrency: ConcurrencyOption = None,
        temperature: TemperatureOption = None,
        answer_tokens: AnswerTokensOption = None,
        journal: JournalOption = None,
        max_tokens: MaxTokensOption = None,
        max_cost: MaxCostOption = None,
        price: PriceOption = None,
    ) -> None:
        from polyclinic.benchmarks.exams.evaluation import compare
        from polyclinic.benchmarks.exams.runs import Learning, asked, run_methods
        from polyclinic.benchmarks.exams.tables import exam_document, show_exam, write_exam
        from polyclinic.files import make_folder
        from polyclinic.methods.table import PRESETS, choose
        from polyclinic.questions.examples import read_examples
        from polyclinic.terminal.screen import console, print_json

        chosen = choose(method or ["zero_shot"], settings or [], presets=PRESETS.get(dataset, {}))
        if baseline is not None and baseline not in {one.name for one in chosen}:
            raise UserError(f"--baseline {baseline!r} is none of the methods: {', '.join(one.name for one in chosen)}")
        against_what = next((one.label for one in chosen if one.name == baseline), None)
        put = read_questions(
            dataset, questions, fields=fields, answer_base=answer_base, sample=sample, everything=everything, seed=seed
        )
        learning = Learning(
            examples=read_examples(examples) if examples is not None else (),
            training=read_examples(training) if training is not None else (),
            temperature=temperature,
            seed=seed,
        )
        options = ModelOptions(
            seed=seed,
            base_url=base_url,
            api_key_env=api_key_env,
            concurrency=concurrency,
            temperature=temperature,
            journal=journal,
            max_tokens=max_tokens,
            max_cost=max_cost,
            price=price,
        )
        if out is not None:
            make_folder(out)

        async def run(opened: OpenedModels, advance: Callable[[], None]) -> list[MethodResult]:
            models = models_of(opened, model, answer_tokens=answer_tokens)
            return await run_methods(
                put, chosen, models, learning=learning, match=match, shuffle=shuffle, advance=advance
            )

        total = asked(len(put), chosen, match=match, shuffle=shuffle)
        results, ledger = with_models(
            run, [model], options, named=f"{dataset} {questions.name}", total=total, quiet=json
        )
        against = compare(results, baseline=against_what, seed=seed)
        about = {"dataset": dataset, "questions": len(put), "seed": seed}
        document = exam_document(results, against, model=model, about=about)
        if out is not None:
            write_exam(out, results, document)
        if json:
            print_json(document)
        else:
            title = f"{dataset}, {len(put)} questions, {model}"
            show_exam(console(), title, results, against, money=ledger.total.usage.cost is not None)
            show_usage(console(sys.stderr), ledger, purposes=False)
        check_failures(results, max_failures)

    command.__name__ = dataset
    command.__doc__ = _HELP[dataset]
    return command


_HELP = {
    "medqa": "MedQA: questions of the United States medical licensing examination, with 4 or 5 options.",
    "medmcqa": "MedMCQA: questions of Indian entrance examinations for residents.",
    "pubmedqa": "PubMedQA: does this abstract say yes, no or maybe?",
    "mmlu": "The six medical subjects of MMLU.",
    "exam": "Any multiple-choice questions in JSON lines; --fields says how its fields are called.",
}

EXAMS = tuple(_HELP)


def read_questions(
    dataset: str,
    path: Path,
    *,
    fields: str | None,
    answer_base: int | None = None,
    sample: int | None,
    everything: bool,
    seed: int,
) -> list[ExamQuestion]:
    """Reads the questions of a data set, and draws the sample.

    Raises:
        UserError: the file or the fields cannot be used, or the options contradict.
    """
    from polyclinic.questions import layouts as exams

    if sample is not None and everything:
        raise UserError("--sample and --all contradict; give one of them")
    layout = None if dataset == "exam" else dataset
    if fields is not None and dataset != "exam":
        raise UserError(f"{dataset} has fields of its own; --fields belongs to 'polyclinic eval exam'")
    if answer_base is not None and fields is None:
        raise UserError("--answer-base says how the answer of --fields counts; give --fields too")
    questions = exams.read_exam(
        path,
        layout=layout,
        fields=exams.parse_fields(fields) if fields is not None else None,
        answer_base=cast(Literal[0, 1] | None, answer_base),
    )
    if everything or (sample is None and dataset in _WHOLE):
        return questions
    return exams.sample(questions, SAMPLE if sample is None else sample, seed=seed)


T = TypeVar("T")


def models_of(opened: OpenedModels, name: str, *, answer_tokens: int | None) -> Episode:
    """Returns the model for each method and question, its answers kept under both and no longer than is allowed."""
    from polyclinic.models.bounded import Bounded

    def models(label: str) -> Callable[[str], Model]:
        def model_for(question: str) -> Model:
            model = opened.metered(name, role=label, episode=f"{label} {question}")
            return model if answer_tokens is None else Bounded(model, answer_tokens)

        return model_for

    return models


def with_models(
    run: Callable[[OpenedModels, Callable[[], None]], Awaitable[T]],
    names: Sequence[str],
    options: ModelOptions,
    *,
    named: str,
    total: int,
    quiet: bool,
) -> tuple[T, Ledger]:
    """Opens models, runs, and shows how far it is.

    Args:
        run: gets the models, and what advances the progress.
        names: of the models.
        options: how they are asked.
        named: names the run in the journal.
        total: how often the progress advances.
        quiet: no progress.

    Raises:
        UserError: a model cannot be opened.
        BudgetSpent: the run has cost what it may cost; says how to go on.
    """
    from polyclinic.terminal.screen import progress

    async def opened() -> tuple[T, Ledger]:
        async with open_models(names, options, run=f"seed={options.seed} {named}") as models:
            with progress("asking", total, quiet=quiet) as advance:
                return await run(models, advance), models.ledger

    try:
        return asyncio.run(opened())
    except BudgetSpent as spent:
        again = "the same command goes on from there" if options.journal else "with --journal FILE a run can go on"
        raise BudgetSpent(f"{spent}; the evaluation is not over, and {again}") from None


def check_failures(results: Sequence[MethodResult], max_failures: float) -> None:
    """Says that the run has failed, where more questions than allowed had no endpoint's answer.

    Raises:
        PlayFailure: so it is.
    """
    n = sum(len(one.answered) for one in results)
    failed = sum(one.failed for one in results)
    if n and 100 * failed > max_failures * n:
        first = next(a.outcome.problem for one in results for a in one.answered if a.failed)
        problem = (
            f"{failed} of {n} questions failed, more than --max-failures {max_failures:g} allows; the first: {first}"
        )
        raise PlayFailure(problem)
