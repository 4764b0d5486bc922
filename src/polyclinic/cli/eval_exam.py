"""`polyclinic eval medqa` and its like: methods on the questions of an exam."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from polyclinic.cli.evaluation import check_looks_up, finish, make_results_folder, underway
from polyclinic.cli.exam_memory import open_exam_memory, remembering
from polyclinic.cli.sessions import session_of
from polyclinic.errors import (
    AccessLost,
    BadInput,
    PlayFailure,
    RunStopped,
    StoppedEarly,
    UnknownModel,
    UserError,
    WrongKey,
    meant,
)
from polyclinic.evaluations.exams.evaluation import MethodResult, compare
from polyclinic.evaluations.exams.published import as_published, check_sample, sample_of
from polyclinic.evaluations.exams.runs import Episode, Learning, Match, asked, run_methods
from polyclinic.evaluations.exams.tables import exam_document, exam_output, show_exam
from polyclinic.evaluations.protocol import check_methods, followed, say
from polyclinic.memory.options import FORGETFUL
from polyclinic.methods.own import BrokenMethod
from polyclinic.methods.table import METHODS, PRESETS, choose
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker, Tuning, with_hooks
from polyclinic.models.session import Session
from polyclinic.plugins import offered
from polyclinic.protocols.following import follow
from polyclinic.protocols.papers import MedAgentsSettings
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.examples import ExampleKind, read_examples, shipped_examples
from polyclinic.questions.layouts import as_questions, parse_fields, read_exam, sample_of_subjects
from polyclinic.questions.layouts import sample as draw
from polyclinic.questions.topics import of_topic
from polyclinic.retrieval.library import open_library
from polyclinic.retrieval.retriever import LibraryOptions, LookingUp
from polyclinic.run.batching import batches_beside
from polyclinic.run.options import (
    FILE,
    LIBRARY,
    RUN,
    BatchApi,
    ExamFileOptions,
    Library,
    Memory,
    Protocol,
    RunOptions,
    SampleOptions,
    Several,
    each_once,
)
from polyclinic.run.parts import end_of_part
from polyclinic.stopping import is_stopped
from polyclinic.tasks import run_all
from polyclinic.terminal.screen import note, plain
from polyclinic.terminal.tables import counted

SHIPPED = "shipped"
"""The name of a handful of questions that come with polyclinic, to try things out."""


def _command(dataset: str) -> Callable[..., Awaitable[None]]:
    """Returns the command that puts the questions of a data set to methods."""

    async def command(
        *,
        options: SampleOptions,
        model: Annotated[
            list[str],
            Several,
            Parameter(
                metavar="MODEL...",
                help="local, direct/NAME (with --base-url), or a name that Inspect knows; several stand in one table.",
            ),
        ],
        method: Annotated[
            list[str] | None,
            Several,
            Parameter(metavar="NAME", help="A method by name, or FILE.py:NAME; several may be named."),
        ] = None,
        examples: Annotated[
            Path | None,
            FILE,
            Parameter(help="Answered questions of a training split, for few-shot methods; ours by default."),
        ] = None,
        training: Annotated[
            Path | None, FILE, Parameter(help="Answered questions that medprompt learns from; ours by default.")
        ] = None,
        match: Annotated[
            Match, Parameter(help="What self-consistency beside each team may take: as many calls, as many tokens.")
        ] = "calls",
        shuffle: Annotated[bool, Parameter(help="Ask everything again with options shuffled.")] = False,
        baseline: Annotated[
            str | None, Parameter(metavar="METHOD", help="Compare every method with this one; by default every two.")
        ] = None,
        library: Library = LIBRARY,
        protocol: Protocol = "ours",
        memory: Memory = FORGETFUL,
        batch_api: BatchApi = False,
        run: RunOptions = RUN,
    ) -> None:
        rules = followed(MedAgentsSettings, protocol)
        check_sample(rules, dataset, given=options.sample, everything=options.everything)
        chosen = choose(method or ["zero_shot"], options.settings or [], presets=PRESETS.get(dataset, {}))
        for name in sorted({one.name for one in chosen} & METHODS.keys() & set(offered("methods"))):
            note(f"{name} is ours; that an installed package offers one of this name too is passed over")
        each_once("model", model)
        if baseline is not None and baseline not in {one.name for one in chosen}:
            names = [one.name for one in chosen]
            raise UserError(
                f"--baseline {baseline!r} is none of the methods{meant(baseline, names)}: {', '.join(names)}"
            )
        check_looks_up(chosen, library.corpus)
        chosen = remembering(chosen, memory)
        chosen = as_published(chosen, rules, dataset=dataset, temperature=run.models.temperature)
        check_methods(rules, chosen, model, run.models)
        against_what = next((one.label for one in chosen if one.name == baseline), None)
        batches = batches_beside(run, model, wanted=batch_api, methods=chosen)
        say(rules)
        put = [*run.part.mine(read_questions(dataset, options, seed=run.seed))]
        learning = Learning(
            examples=read_examples(examples) if examples is not None else (),
            training=read_examples(training) if training is not None else (),
            temperature=run.models.temperature,
            seed=run.seed,
        )

        kept: dict[str, list[MethodResult]] = {name: [] for name in model}

        async def work(session: Session, advance: Callable[[], None], looking_up: LookingUp | None) -> None:
            async with open_exam_memory(memory, run.models) as remembered:
                makes = (
                    partial(
                        run_methods,
                        put,
                        chosen,
                        models_of(session, name, options.answer_tokens),
                        learning=msgspec.structs.replace(learning, memory=remembered),
                        match=match,
                        shuffle=shuffle,
                        advance=advance,
                        looking_up=looking_up,
                        kept=kept[name],
                    )
                    for name in model
                )
                await all_until_spent(makes, lambda: any(kept.values()))

        total = asked(len(put), chosen, match=match, shuffle=shuffle) * len(model)
        named = f"{dataset} {options.questions.name}"
        stopped, ledger = await ask_all(work, model, run, named=named, total=total, library=library, batches=batches)
        results = of_models(kept)
        about = {"dataset": dataset, "questions": len(put), "seed": run.seed, "protocol": protocol}
        about |= {"topic": options.topic} if options.topic is not None else {}
        about |= {"memory": str(memory.memory)} if memory.memory is not None else {}
        about |= {"corpus": library.corpus, "by": library.by} if library.corpus is not None else {}
        title = f"{dataset}, {counted(len(put), 'question')}, {', '.join(model)}"
        finish_exam(
            results,
            ledger,
            run,
            model=model,
            baseline=against_what,
            about=about,
            title=title,
            stopped=stopped,
            expected=[one.label for one in chosen],
        )

    command.__name__ = dataset
    return command


medqa, medmcqa, pubmedqa, mmlu, exam = map(_command, ("medqa", "medmcqa", "pubmedqa", "mmlu", "exam"))


def read_questions(
    dataset: str, options: ExamFileOptions, *, seed: int, of_each_subject: bool = False
) -> list[ExamQuestion]:
    """Reads the questions of a data set, and draws the sample where the options speak of one.

    Of MMLU it is drawn `of_each_subject` where each is a set of its own.

    Raises:
        UserError: the file or the fields cannot be used, or the options contradict.
    """
    if isinstance(options, SampleOptions) and options.sample is not None and options.everything:
        raise UserError("--sample and --all contradict; give one of them")
    if options.fields is not None and dataset != "exam":
        raise UserError(f"{dataset} has fields of its own; --fields belongs to 'polyclinic eval exam'")
    if options.answer_base is not None and options.fields is None:
        raise UserError("exam.answer-base says how the answer of --fields counts; give --fields too")
    if str(options.questions) == SHIPPED:
        kind: ExampleKind = "decision" if dataset == "pubmedqa" else "choice"
        return as_questions(shipped_examples("en", kind))[: getattr(options, "sample", None)]
    if not options.questions.exists() and (near := meant(str(options.questions), [SHIPPED])):
        raise BadInput(f"no such file{near}", path=options.questions)
    questions = read_exam(
        options.questions,
        layout=None if dataset == "exam" else dataset,
        fields=parse_fields(options.fields) if options.fields is not None else None,
        answer_base=options.answer_base,
    )
    if options.topic is not None:
        if dataset != "medqa":
            raise UserError(f"--topic {options.topic} is known of MedQA alone, not of {dataset}; leave it out")
        questions = of_topic(questions, options.topic, dataset)
        if not isinstance(options, SampleOptions) or options.sample is None:
            return questions
    if not isinstance(options, SampleOptions) or options.everything:
        return questions
    if of_each_subject and dataset == "mmlu" and options.sample is not None:
        return sample_of_subjects(questions, options.sample, seed=seed)
    if options.sample is None and sample_of(follow(MedAgentsSettings), dataset) is None:
        return questions
    return draw(questions, options.sample, seed=seed)


async def all_until_spent(makes: Iterable[Callable[[], Awaitable[object]]], is_any_over: Callable[[], bool]) -> None:
    """Runs all at once; where they are stopped each ends by itself, with what it has kept by then.

    Of several models those that can be asked go on without one that cannot.

    Raises:
        RunStopped: they were.
    """
    makes = list(makes)

    async def until_spent(make: Callable[[], Awaitable[object]]) -> RunStopped | None:
        try:
            await make()
        except RunStopped as stopped:
            return stopped
        except (WrongKey, UnknownModel) as refused:
            if len(makes) > 1:
                note(f"{refused}; the other models are asked meanwhile")
            elif not is_any_over():
                raise
            return AccessLost(str(refused))
        return None

    for spent in filter(None, await run_all([partial(until_spent, make) for make in makes], is_stopped=is_stopped)):
        raise spent


async def ask_all(
    work: Callable[[Session, Callable[[], None], LookingUp | None], Awaitable[None]],
    models: Sequence[str],
    run: RunOptions,
    *,
    named: str,
    total: int,
    library: LibraryOptions = LIBRARY,
    batches: Path | str | None = None,
) -> tuple[RunStopped | None, Ledger]:
    """Opens the models, works with them, and shows how far it is; returns what ended the work early, if anything did.

    The work gets what is open, what to call after each question, and what things are looked up in, if in anything.

    `named` names the run in the journal; `total` says how often the progress advances; `batches` is where the ids
    of batches are kept, where it is so that questions are asked.

    Raises:
        UserError: a model cannot be opened.
    """
    opening = session_of(run, models, named=f"seed={run.seed} {named}", batches=batches)
    ended: RunStopped | None = None
    async with opening as session, open_library(library, session, run.models) as looking_up:
        make_results_folder(run)
        with underway("asking", total, run) as advance:
            try:
                await work(session, advance, looking_up)
            except RunStopped as stopped:
                ended = stopped
    end_of_part(run, ended)
    return ended, session.ledger


def models_of(session: Session, name: str, answer_tokens: int | None) -> Episode:
    """Returns the model for each method and question, its answers kept under both and no longer than is allowed."""

    def models(label: str) -> Callable[[str], Model]:
        def model_for(question: str) -> Model:
            model = session.model(name, Asker(label, f"{label} {question}", item=question, player=label))
            return model if answer_tokens is None else with_hooks(model, Tuning(max_tokens=answer_tokens))

        return model_for

    return models


def of_models(kept: Mapping[str, Sequence[MethodResult]]) -> list[MethodResult]:
    """Returns the results of models; of several, each method's name begins with its model's."""
    several = len(kept) > 1
    return [
        msgspec.structs.replace(one, model=model, name=f"{model}: {one.name}" if several else one.name)
        for model, results in kept.items()
        for one in results
    ]


def finish_exam(
    results: Sequence[MethodResult],
    ledger: Ledger,
    run: RunOptions,
    *,
    model: Sequence[str],
    baseline: str | None,
    about: dict[str, Any],
    title: str,
    stopped: RunStopped | None = None,
    expected: Sequence[str] = (),
) -> None:
    """Compares the methods, writes and prints what came; see `failures_of`.

    Raises:
        RunStopped: the run was; what had come by then was written and shown.
    """
    there = {one.method for one in results}
    against = compare(results, baseline=baseline if baseline in there else None, seed=run.seed)
    if stopped is not None:
        missing = _missing(results, model, expected, int(about["questions"]))
        stopped = StoppedEarly(stopped.why if isinstance(stopped, StoppedEarly) else stopped, f"missing: {missing}")
        title = f"{title}, stopped early"
    document = exam_document(results, against, model=", ".join(model), about=about)
    shown = exam_output(
        document,
        results,
        lambda screen: show_exam(screen, title, results, against) if results else screen.print("nothing"),
        dataset=about["dataset"],
        seed=run.seed,
    )
    try:
        failure = failures_of(results, run.max_failures)
        finish(shown, run, ledger, purposes=False, stopped=stopped, failure=failure)
    except PlayFailure:
        _check_broken(results)
        raise
    _check_broken(results)


def _missing(results: Sequence[MethodResult], models: Sequence[str], expected: Sequence[str], questions: int) -> str:
    """Says of which methods how many questions are not answered."""
    done = {(one.model, one.method): len(one.answered) for one in results}
    wanted = [(name, method) for name in models for method in expected]
    left = {key: questions - done.get(key, 0) for key in dict.fromkeys([*wanted, *done])}
    several = len(models) > 1
    told = [f"{f'{name}: ' if several else ''}{method} {n} of {questions}" for (name, method), n in left.items() if n]
    return ", ".join(told) or "what is asked beside the methods"


def _check_broken(results: Iterable[MethodResult]) -> None:
    """Tells of the mistakes of the user's methods; a BrokenMethod where one did nothing else."""
    for one in results:
        if one.broken:
            first, many = one.broken[0], f"{len(one.broken)} of {counted(len(one.answered), 'question')}"
            note(plain(f"{one.name} broke on {many}, counted as wrong; the first, {first.id}: {first.outcome.problem}"))
    if useless := [one.name for one in results if one.broken and len(one.broken) == len(one.answered)]:
        raise BrokenMethod(f"{', '.join(useless)}: no question was answered without a mistake of the method's")


def failures_of(results: Iterable[MethodResult], max_failures: float) -> str:
    """Says how more questions than allowed had no endpoint's answer; "" where no more had."""
    answered = [one for result in results for one in result.answered]
    failed = [one for one in answered if one.failed]
    if 100 * len(failed) <= max_failures * len(answered):
        return ""
    return (
        f"{len(failed)} of {len(answered)} questions failed, more than run.max-failures {max_failures:g} allows; the "
        f"first: {failed[0].outcome.problem}"
    )
