"""`polyclinic study`: the studies of the MedAgents paper on exam questions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyclinic.cli.exams import (
    AllOption,
    AnswerBaseOption,
    AnswerTokensOption,
    FieldsOption,
    MaxFailuresOption,
    ModelOption,
    OutOption,
    QuestionsOption,
    SampleOption,
    SeedOption,
    check_failures,
    models_of,
    read_questions,
    with_models,
)
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
)
from polyclinic.errors import PlayFailure, UserError
from polyclinic.terminal.usage import show_usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyclinic.benchmarks.exams.evaluation import MethodResult

app = typer.Typer(help="Studies of methods on exam questions.", no_args_is_help=True)

Layout = Literal["medqa", "medmcqa", "pubmedqa", "mmlu", "exam"]

LayoutOption = Annotated[
    Layout, typer.Option("--layout", help="How the file of questions is laid out; exam: the first record tells.")
]


@app.callback()
def studies() -> None:
    """Studies of methods on exam questions. Research and teaching only; never for the care of real people."""


@app.command()
def ablation(
    questions: QuestionsOption,
    model: ModelOption,
    layout: LayoutOption = "exam",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of medagents, for all its rows; may be repeated."),
    ] = None,
    sample: SampleOption = None,
    everything: AllOption = False,
    fields: FieldsOption = None,
    answer_base: AnswerBaseOption = None,
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
    """What each stage of MedAgents brings, after its Table 3: analyses, their summary, the consultation."""
    from polyclinic.benchmarks.exams.evaluation import compare
    from polyclinic.benchmarks.exams.runs import Learning, run_methods
    from polyclinic.benchmarks.exams.studies import ablation as rows
    from polyclinic.benchmarks.exams.tables import exam_document, show_exam, write_exam
    from polyclinic.files import make_folder
    from polyclinic.terminal.screen import console, print_json

    chosen = rows(_settings(layout, settings or [], without=("stages",)))
    put = read_questions(
        layout, questions, fields=fields, answer_base=answer_base, sample=sample, everything=everything, seed=seed
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
    learning = Learning(temperature=temperature, seed=seed)

    async def run(opened: OpenedModels, advance: Callable[[], None]) -> list[MethodResult]:
        models = models_of(opened, model, answer_tokens=answer_tokens)
        return await run_methods(put, chosen, models, learning=learning, match="none", advance=advance)

    named = f"ablation {layout} {questions.name}"
    results, ledger = with_models(run, [model], options, named=named, total=len(put) * len(chosen), quiet=json)
    against = compare(results, baseline=results[0].name, seed=seed)
    about = {"study": "ablation", "dataset": layout, "questions": len(put), "seed": seed}
    document = exam_document(results, against, model=model, about=about)
    if out is not None:
        write_exam(out, results, document)
    if json:
        print_json(document)
    else:
        money = ledger.total.usage.cost is not None
        show_exam(console(), f"ablation, {layout}, {len(put)} questions, {model}", results, against, money=money)
        show_usage(console(sys.stderr), ledger, purposes=False)
    check_failures(results, max_failures)


@app.command()
def experts(
    questions: QuestionsOption,
    model: ModelOption,
    layout: LayoutOption = "exam",
    question_experts: Annotated[
        str, typer.Option(help="Numbers of experts on the question, with --at-options on the options.", metavar="RANGE")
    ] = "1-7",
    option_experts: Annotated[
        str,
        typer.Option(help="Numbers of experts on the options, with --at-question on the question.", metavar="RANGE"),
    ] = "0-4",
    at_question: Annotated[int, typer.Option(min=0, help="Experts on the question while the others vary.")] = 5,
    at_options: Annotated[int, typer.Option(min=0, help="Experts on the options while the others vary.")] = 2,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of medagents, for all rows; may be repeated."),
    ] = None,
    sample: SampleOption = None,
    everything: AllOption = False,
    fields: FieldsOption = None,
    answer_base: AnswerBaseOption = None,
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
    """How many experts MedAgents needs, after its Figure 3: on the question, and on the options."""
    from polyclinic.benchmarks.exams.runs import Learning
    from polyclinic.benchmarks.exams.studies import Series, panels, parse_numbers, sweep
    from polyclinic.benchmarks.exams.study_tables import show_sweep, sweep_document
    from polyclinic.benchmarks.exams.tables import write_exam
    from polyclinic.files import make_folder
    from polyclinic.terminal.screen import console, print_json

    on_question = parse_numbers(question_experts, option="--question-experts")
    on_options = parse_numbers(option_experts, option="--option-experts")
    pairs = panels(on_question, on_options, (at_question, at_options))
    given = _settings(layout, settings or [], without=("question_experts", "option_experts"))
    put = read_questions(
        layout, questions, fields=fields, answer_base=answer_base, sample=sample, everything=everything, seed=seed
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
    learning = Learning(temperature=temperature, seed=seed)

    async def run(opened: OpenedModels, advance: Callable[[], None]) -> tuple[Series, Series]:
        return await sweep(
            put,
            models_of(opened, model, answer_tokens=answer_tokens),
            question_experts=on_question,
            option_experts=on_options,
            at=(at_question, at_options),
            settings=given,
            learning=learning,
            advance=advance,
        )

    named = f"experts {layout} {questions.name}"
    series, ledger = with_models(run, [model], options, named=named, total=len(put) * len(pairs), quiet=json)
    about = {"study": "experts", "dataset": layout, "questions": len(put), "seed": seed}
    document = sweep_document(series, model=model, about=about)
    # A pair of numbers that stands in both series is one result.
    results = list({result.name: result for one in series for _, result in one.numbers}.values())
    if out is not None:
        write_exam(out, results, document)
    if json:
        print_json(document)
    else:
        title = f"{layout}, {len(put)} questions, {model}"
        show_sweep(console(), title, series, money=ledger.total.usage.cost is not None)
        show_usage(console(sys.stderr), ledger, purposes=False)
    check_failures(results, max_failures)


@app.command()
def errors(
    questions: QuestionsOption,
    run: Annotated[
        Path, typer.Option("--run", help="The folder that 'polyclinic eval ... --out' wrote, or a file in it.")
    ],
    layout: LayoutOption = "exam",
    method: Annotated[
        list[str] | None,
        typer.Option(help="Only this method, as its file is called (medagents); may be repeated.", metavar="NAME"),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(help="A model that sorts the wrong answers; without it only --words count.", metavar="MODEL"),
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option(
            help='What people say, which goes before the judge: JSON lines {"question", "method", "category", "who"}.',
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(min=1, help="At most so many wrong answers of each method, drawn by --seed; the paper: 40."),
    ] = None,
    fields: FieldsOption = None,
    answer_base: AnswerBaseOption = None,
    seed: Annotated[int, typer.Option(help="Of the draw of --most.")] = 0,
    json: JsonOption = False,
    max_failures: MaxFailuresOption = 5.0,
    base_url: BaseUrlOption = None,
    api_key_env: KeyOption = "OPENAI_API_KEY",
    concurrency: ConcurrencyOption = None,
    journal: JournalOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    price: PriceOption = None,
) -> None:
    """Why answers are wrong, after MedAgents' Figure 5: four categories, by a judge and by people."""
    from polyclinic.benchmarks.exams.studies import outcome_files, read_answered, wrong_answers
    from polyclinic.benchmarks.exams.study_tables import errors_document, show_errors
    from polyclinic.judges.error_categories import Categories, find_categories, read_words
    from polyclinic.terminal.screen import console, print_json

    said = read_words(words) if words is not None else {}
    answered = {name: read_answered(path) for name, path in outcome_files(run, method or []).items()}
    known = read_questions(
        layout, questions, fields=fields, answer_base=answer_base, sample=None, everything=True, seed=seed
    )
    wrong = wrong_answers(answered, known, most=most, seed=seed)
    options = ModelOptions(
        seed=seed,
        base_url=base_url,
        api_key_env=api_key_env,
        concurrency=concurrency,
        journal=journal,
        max_tokens=max_tokens,
        max_cost=max_cost,
        price=price,
    )

    async def find(opened: OpenedModels, _: Callable[[], None]) -> Categories:
        # The prompts' hash is in every request, so that one journal serves all runs that are judged.
        asked = None if judge is None else opened.metered(judge, role="judge", episode="error categories")
        return await find_categories(wrong.answers, judge=asked, words=said)

    named = [] if judge is None else [judge]
    found, ledger = with_models(find, named, options, named="error categories", total=len(wrong.answers), quiet=True)
    document = errors_document(found, wrong, judge=judge)
    if json:
        print_json(document)
    else:
        show_errors(console(), found, wrong, judge=judge)
        show_usage(console(sys.stderr), ledger, purposes=False)
    failed = sum(found.failed.values())
    if 100 * failed > max_failures * max(len(wrong.answers), 1):
        problem = f"{failed} of {len(wrong.answers)} questions to the judge failed ({', '.join(found.failed)})"
        raise PlayFailure(f"{problem}, more than --max-failures {max_failures:g} allows")


def _settings(layout: str, given: Sequence[str], *, without: Sequence[str]) -> dict[str, Any]:
    """Returns the settings of medagents, those of the paper for the data set among them.

    Raises:
        UserError: one cannot be set, or the study itself sets it.
    """
    from polyclinic.methods.table import PRESETS, choose

    for text in given:
        key = text.partition("=")[0].rpartition(".")[2]
        if key in without:
            raise UserError(f"--set {text!r}: this study goes through {key} by itself; set something else")
    (chosen,) = choose(["medagents"], given, presets=PRESETS.get(layout, {}))
    return {key: value for key, value in chosen.settings.items() if key not in without}
