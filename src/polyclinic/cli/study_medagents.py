"""`polyclinic study medagents`: the paper's tables and figures in one run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from polyclinic.cli.eval_exam import failures_of, models_of, read_questions
from polyclinic.cli.evaluation import finish, judge_of, underway, within_budget
from polyclinic.cli.sessions import session_of
from polyclinic.errors import RunStopped, StoppedEarly, UserError
from polyclinic.evaluations.exams.medagents_study import (
    DATASETS,
    PARTS,
    StudyPart,
    errors_of,
    of_the_paper,
    plan,
    run_study,
)
from polyclinic.evaluations.exams.published import check_sample
from polyclinic.evaluations.exams.runs import Learning
from polyclinic.evaluations.exams.studies import parse_numbers
from polyclinic.evaluations.exams.study_tables import medagents_output
from polyclinic.evaluations.protocol import check_methods, followed, say
from polyclinic.judging.error_categories import Categories, find_categories
from polyclinic.judging.model_judging import UntilStopped
from polyclinic.models.pipeline import Asker
from polyclinic.protocols.papers import MedAgentsSettings
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.examples import read_examples
from polyclinic.run import options
from polyclinic.run.options import Protocol
from polyclinic.run.parts import end_of_part
from polyclinic.stopping import is_stopped


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DataSetFiles:
    """Where the data sets lie; those that are named are asked."""

    medqa: Annotated[Path | None, options.FILE] = None
    """MedQA, such as phrases_no_exclude_test.jsonl."""
    medmcqa: Annotated[Path | None, options.FILE] = None
    """MedMCQA, dev.json."""
    pubmedqa: Annotated[Path | None, options.FILE] = None
    """PubMedQA, ori_pqal.json."""
    mmlu: Annotated[Path | None, options.DIR] = None
    """MMLU's folder of tests: its six subjects of the paper, anatomy_test.csv and so on, are asked."""

    @property
    def named(self) -> dict[str, Path]:
        """The files, by data set, in the paper's order."""
        return {name: path for name in DATASETS if (path := getattr(self, name)) is not None}


NO_FILES = DataSetFiles()


async def medagents(
    *,
    data: DataSetFiles = NO_FILES,
    model: Annotated[str, Parameter(metavar="MODEL", help="local, direct/NAME, or a name that Inspect knows.")],
    part: Annotated[
        list[StudyPart] | None, options.Several, Parameter(help="Only these tables and figures; all by default.")
    ] = None,
    question_experts: Annotated[
        str, Parameter(metavar="RANGE", help="Figure 3: numbers of experts on the question.")
    ] = "1-7",
    option_experts: Annotated[
        str, Parameter(metavar="RANGE", help="Figure 3: numbers of experts on the options.")
    ] = "0-4",
    judge: Annotated[str | None, Parameter(metavar="MODEL", help="Figure 5: a model that sorts wrong answers.")] = None,
    sample: Annotated[
        int | None, options.POSITIVE, Parameter(help="So many questions of each data set, with --protocol ours.")
    ] = None,
    examples: Annotated[
        Path | None, options.FILE, Parameter(help="Answered questions for few-shot methods; ours by default.")
    ] = None,
    answer_tokens: Annotated[int | None, options.POSITIVE, Parameter(help="The longest answer to a call.")] = None,
    protocol: Protocol = "paper",
    run: options.RunOptions = options.RUN,
) -> None:
    """Puts the data sets to the paper's methods, each thing once, and prints its tables and figures."""
    files, parts = data.named, tuple(part or PARTS)
    if not files:
        raise UserError(f"no data set; name one or more: {', '.join(f'--{name}' for name in DATASETS)}")
    if "figure-5" in (part or ()) and judge is None:
        raise UserError("figure-5 needs a judge, which sorts the wrong answers: --judge MODEL")
    parts = tuple(one for one in parts if one != "figure-5" or judge is not None)
    rules = followed(MedAgentsSettings, protocol)
    exams = {
        name: options.ExamOptions(questions=path, model=model, sample=sample, answer_tokens=answer_tokens)
        for name, path in files.items()
    }
    for name in files:
        check_sample(rules, name, given=sample, everything=False)
    experts = "figure-3" in parts
    planned = plan(
        list(files),
        rules,
        parts=parts,
        question_experts=parse_numbers(question_experts, option="--question-experts") if experts else (),
        option_experts=parse_numbers(option_experts, option="--option-experts") if experts else (),
        temperature=run.models.temperature,
    )
    check_methods(rules, [one for every in planned.methods.values() for one in every], [model], run.models)
    questions = {
        name: [*run.part.mine(of_the_paper(name, read_questions(name, one, seed=run.seed, of_each_subject=True)))]
        for name, one in exams.items()
    }
    learning = Learning(
        examples=read_examples(examples) if examples is not None else (),
        temperature=run.models.temperature,
        seed=run.seed,
    )
    say(rules)
    judges = judge_of(judge)
    opening = session_of(run, [model, *judges], named=f"seed={run.seed} study medagents")
    total = sum(len(questions[name]) * len(methods) for name, methods in planned.methods.items())
    errors: dict[str, Categories] = {}
    stopped: RunStopped | None = None
    with within_budget(run, "study"):
        async with opening as session:
            try:
                with underway("asking", total, run) as advance:
                    models = models_of(session, model, answer_tokens)
                    result = await run_study(questions, planned, rules, models, learning=learning, advance=advance)
                if judge is not None and "figure-5" in parts and run.share is None:  # which are drawn from all
                    until = UntilStopped(is_stopped=is_stopped)
                    sorting = until.of(session.model(judge, Asker("judge", "error categories")))
                    most = rules.of(rules.settings.wrong_answers)
                    for name, wrong in errors_of(result, questions, most=most, seed=run.seed).items():
                        errors[name] = await find_categories(wrong.answers, judge=sorting)
                    stopped = until.ending
            except StoppedEarly as early:
                if early.summary is None:
                    raise
                result, stopped = early.summary, early
    end_of_part(run, stopped)
    about: dict[str, Any] = {"study": "medagents", "model": model, "judge": judge, "protocol": protocol}
    about |= {"seed": run.seed, "questions": {name: len(asked) for name, asked in questions.items()}}
    output = medagents_output(result, errors, title=_title(model, questions), about=about, seed=run.seed)
    failure = failures_of([one for every in result.asked.values() for one in every], run.max_failures)
    finish(output, run, session.ledger, purposes=False, stopped=stopped, failure=failure, what="study")


def _title(model: str, questions: dict[str, list[ExamQuestion]]) -> str:
    return (
        f"MedAgents' experiments, {model}: {', '.join(f'{len(asked)} of {name}' for name, asked in questions.items())}"
    )
