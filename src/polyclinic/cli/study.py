"""`polyclinic study`: the studies of the MedAgents paper on exam questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from polyclinic.cli.eval_exam import ask_all, failures_of, finish_exam, models_of, of_models, read_questions
from polyclinic.cli.evaluation import finish, judge_of, within_budget
from polyclinic.cli.sessions import session_of
from polyclinic.errors import UserError
from polyclinic.evaluations.exams.evaluation import MethodResult
from polyclinic.evaluations.exams.published import as_published, check_sample
from polyclinic.evaluations.exams.runs import Learning, run_methods
from polyclinic.evaluations.exams.studies import ablation as rows_of_ablation
from polyclinic.evaluations.exams.studies import (
    curves,
    outcome_files,
    panels,
    parse_numbers,
    read_answered,
    sweep,
    wrong_answers,
)
from polyclinic.evaluations.exams.study_tables import errors_output, sweep_output
from polyclinic.evaluations.people import read_people, with_agreement
from polyclinic.evaluations.protocol import check_methods, followed, say
from polyclinic.judging.error_categories import ErrorCategory, find_categories, read_words
from polyclinic.judging.model_judging import UntilStopped
from polyclinic.judging.people import people_words
from polyclinic.methods.medagents import MOST_EXPERTS
from polyclinic.methods.table import PRESETS, ChosenMethod, choose
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import Session
from polyclinic.protocols.papers import MedAgentsSettings
from polyclinic.run import options
from polyclinic.run.batching import batches_beside
from polyclinic.run.options import Protocol
from polyclinic.run.parts import end_of_part
from polyclinic.stopping import is_stopped
from polyclinic.terminal.tables import counted

Layout = Annotated[
    Literal["medqa", "medmcqa", "pubmedqa", "mmlu", "exam"],
    Parameter(help="How the file of questions is laid out; exam: the first record tells."),
]
Numbers = Parameter(metavar="RANGE")


async def ablation(
    *,
    exam: options.ExamOptions,
    layout: Layout = "exam",
    protocol: Protocol = "ours",
    run: options.RunOptions = options.RUN,
) -> None:
    """Puts the questions to MedAgents with more and more of its stages, and prints how it did."""
    rules = followed(MedAgentsSettings, protocol)
    check_sample(rules, layout, given=exam.sample, everything=exam.everything)
    given, temperature = _settings(layout, exam.settings or [], without=("stages",)), run.models.temperature
    # What is compared is asked at one temperature, and that is the team's where nobody says another.
    if temperature is None:
        temperature = given.get("temperature", rules.of(rules.settings.methods["medagents"].temperature))
    chosen = as_published(rows_of_ablation(given), rules, dataset=layout, temperature=temperature)
    check_methods(rules, chosen, [exam.model], run.models)
    put = [*run.part.mine(read_questions(layout, exam, seed=run.seed))]
    learning = Learning(temperature=temperature, seed=run.seed)
    say(rules)

    kept: list[MethodResult] = []

    async def work(session: Session, advance: Callable[[], None], _: object) -> None:
        models = models_of(session, exam.model, exam.answer_tokens)
        await run_methods(put, chosen, models, learning=learning, match="none", advance=advance, kept=kept)

    named = f"ablation {layout} {exam.questions.name}"
    stopped, ledger = await ask_all(work, [exam.model], run, named=named, total=len(put) * len(chosen))
    results = of_models({exam.model: kept})
    about = {"study": "ablation", "dataset": layout, "questions": len(put), "seed": run.seed}
    title = f"ablation, {layout}, {counted(len(put), 'question')}, {exam.model}"
    finish_exam(
        results,
        ledger,
        run,
        model=[exam.model],
        baseline=chosen[0].label,
        about=about,
        title=title,
        stopped=stopped,
        expected=[one.label for one in chosen],
    )


async def experts(
    *,
    exam: options.ExamOptions,
    layout: Layout = "exam",
    question_experts: Annotated[
        str, Numbers, Parameter(help="Numbers of experts on the question, with --at-options on the options.")
    ] = "1-7",
    option_experts: Annotated[
        str, Numbers, Parameter(help="Numbers of experts on the options, with --at-question on the question.")
    ] = "0-4",
    at_question: Annotated[
        int, options.between(0, MOST_EXPERTS), Parameter(help="Experts on the question while the others vary.")
    ] = 5,
    at_options: Annotated[
        int, options.between(0, MOST_EXPERTS), Parameter(help="Experts on the options while the others vary.")
    ] = 2,
    protocol: Protocol = "ours",
    run: options.RunOptions = options.RUN,
) -> None:
    """Puts the questions to MedAgents with other and other numbers of experts, and prints how it did."""
    on_question = parse_numbers(question_experts, option="--question-experts")
    on_options = parse_numbers(option_experts, option="--option-experts")
    at = (at_question, at_options)
    pairs = panels(on_question, on_options, at)
    varied = ("question_experts", "option_experts")
    rules = followed(MedAgentsSettings, protocol)
    check_sample(rules, layout, given=exam.sample, everything=exam.everything)
    given = _settings(layout, exam.settings or [], without=varied)
    team = ChosenMethod(name="medagents", settings=given)
    (team,) = as_published([team], rules, dataset=layout, temperature=run.models.temperature, varied=varied)
    check_methods(rules, [team], [exam.model], run.models)
    given = {key: value for key, value in team.settings.items() if key not in varied}
    say(rules)
    put = [*run.part.mine(read_questions(layout, exam, seed=run.seed))]
    learning = Learning(temperature=run.models.temperature, seed=run.seed)

    kept: list[MethodResult] = []

    async def work(session: Session, advance: Callable[[], None], _: object) -> None:
        await sweep(
            put,
            models_of(session, exam.model, exam.answer_tokens),
            question_experts=on_question,
            option_experts=on_options,
            at=at,
            settings=given,
            learning=learning,
            advance=advance,
            kept=kept,
        )

    named = f"experts {layout} {exam.questions.name}"
    stopped, ledger = await ask_all(work, [exam.model], run, named=named, total=len(put) * len(pairs))
    series = curves(kept, question_experts=on_question, option_experts=on_options, at=at, seed=run.seed)
    about = {"study": "experts", "dataset": layout, "questions": len(put), "seed": run.seed}
    title = f"{layout}, {counted(len(put), 'question')}, {exam.model}"
    output = sweep_output(series, model=exam.model, title=title, about=about)
    failure = failures_of(kept, run.max_failures)
    finish(output, run, ledger, purposes=False, stopped=stopped, failure=failure, what="study")


async def errors(
    *,
    exam: options.ExamFileOptions,
    of: Annotated[
        Path,
        Parameter(
            name="--run", metavar="DIR", help="The folder that 'polyclinic eval ... --out' wrote, or a file in it."
        ),
    ],
    layout: Layout = "exam",
    method: Annotated[
        list[str] | None,
        options.Several,
        Parameter(metavar="NAME", help="Only this method, as its file is called (medagents); several may be named."),
    ] = None,
    judge: Annotated[
        str | None,
        Parameter(metavar="MODEL", help="A model that sorts the wrong answers; without it only --words count."),
    ] = None,
    words: Annotated[
        Path | None,
        options.FILE,
        Parameter(
            help='What people say, which goes before the judge: JSON lines {"question", "method", "category", "who"}.'
        ),
    ] = None,
    verdicts: Annotated[
        list[Path] | None,
        options.FILES,
        Parameter(help="What people say ('polyclinic verdicts export errors'): what most say goes before the judge."),
    ] = None,
    most: Annotated[
        int | None,
        options.POSITIVE,
        Parameter(help="At most so many wrong answers of each method, drawn by --seed; the paper: 40."),
    ] = None,
    batch_api: options.BatchApi = False,
    run: options.RunOptions = options.RUN,
) -> None:
    """Sorts the wrong answers of a run, and prints how many are of which kind."""
    answered = {name: read_answered(path) for name, path in outcome_files(of, method or []).items()}
    wrong = wrong_answers(answered, read_questions(layout, exam, seed=run.seed), most=most, seed=run.seed)
    items = {(one.id, name): None for name, each in answered.items() for one in each}
    people = read_people(verdicts, {"errors": items})
    said = {**(read_words(words) if words is not None else {}), **people_words(people, "errors", ErrorCategory)}
    judges = judge_of(judge)
    batches = batches_beside(run, judges, wanted=batch_api)
    opening = session_of(run, judges, named=f"seed={run.seed} error categories", batches=batches)
    with within_budget(run):
        async with opening as session:
            # The prompts' hash is in every request, so that one journal serves all runs that are judged.
            until = UntilStopped(is_stopped=is_stopped)
            model = None if judge is None else until.of(session.model(judge, Asker("judge", "error categories")))
            found = await find_categories(run.part.mine(wrong.answers), judge=model, words=said)
    end_of_part(run, stopped := until.ending)
    output = with_agreement(errors_output(found, wrong, judge=judge), people, seed=run.seed)
    failed, failure = sum(found.failed.values()), ""
    if 100 * failed > run.max_failures * max(len(wrong.answers), 1):
        problem = f"{failed} of {len(wrong.answers)} questions to the judge failed ({', '.join(found.failed)})"
        failure = f"{problem}, more than run.max-failures {run.max_failures:g} allows"
    finish(output, run, session.ledger, purposes=False, stopped=stopped, failure=failure, what="study")


def _settings(layout: str, given: Sequence[str], *, without: Sequence[str]) -> dict[str, Any]:
    """Returns the settings of medagents, those of the paper for the data set among them."""
    for text in given:
        key = text.partition("=")[0].rpartition(".")[2]
        if key in without:
            raise UserError(f"--set {text!r}: this study goes through {key} by itself; set something else")
    (chosen,) = choose(["medagents"], given, presets=PRESETS.get(layout, {}))
    return {key: value for key, value in chosen.settings.items() if key not in without}
