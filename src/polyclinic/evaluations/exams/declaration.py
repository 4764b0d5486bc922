"""Exams as an evaluation: the questions, the methods and models that answer them, and the files read beforehand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.errors import BadInput, UserError, meant
from polyclinic.evaluations.evaluation import (
    Evaluation,
    Opened,
    Plan,
    Setup,
    Work,
    judge_failure,
)
from polyclinic.evaluations.exams.evaluation import (
    Answered,
    ExamPlay,
    Learning,
    Match,
    MethodResult,
    compare,
    entrant,
    exam,
)
from polyclinic.evaluations.measuring import show_compared
from polyclinic.evaluations.memory_knowledge import say_other_knowledge
from polyclinic.evaluations.outcomes import MethodOptions, outcome_row
from polyclinic.evaluations.protocol import as_paper, check_methods, followed, say
from polyclinic.evaluations.samples import UnderTest, sample_of_question
from polyclinic.judging.error_categories import Categories, ErrorCategory, MissedQuestion, find_categories
from polyclinic.judging.people import people_words
from polyclinic.memory.library import asked_for, memory_embedder
from polyclinic.memory.memory import snapshot_of
from polyclinic.memory.opening import open_what_is_remembered
from polyclinic.memory.options import FORGETFUL, MemoryOptions
from polyclinic.memory.remembering import ExamMemory
from polyclinic.methods.own import BrokenMethod
from polyclinic.methods.table import METHODS, PRESETS, ChosenMethod
from polyclinic.models.session import open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.plugins import offered
from polyclinic.protocols.following import FollowedProtocol, follow
from polyclinic.protocols.papers import MedAgentsSettings, PaperSetting
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.examples import ExampleKind, read_examples, shipped_examples
from polyclinic.questions.layouts import Topic, of_topic, parse_fields, read_exam
from polyclinic.questions.layouts import sample as draw
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.run.options import (
    FILE,
    FILES,
    POSITIVE,
    Memory,
    Several,
    each_once,
)
from polyclinic.run.output import Output, json_line, safe_name
from polyclinic.seeds import derive
from polyclinic.settings import setting
from polyclinic.statistics.comparison import Against
from polyclinic.statistics.uncertainty import share
from polyclinic.terminal.figures import low_to_high, money
from polyclinic.terminal.screen import note, plain
from polyclinic.terminal.tables import Column, chart, counted, few_line, interval, table_of, tokens

SHIPPED = "shipped"
"""The name of a handful of questions that come with polyclinic, to try things out."""

Exam = Literal["medqa", "medmcqa", "pubmedqa", "mmlu", "any"]


class ExamResult(NamedTuple):
    """The results of every model's methods, and the categories of the wrong answers if they were sorted."""

    methods: list[MethodResult]
    categories: Categories | None = None


def wrong_answers(
    results: Iterable[MethodResult], questions: Sequence[ExamQuestion], *, most: int | None = None, seed: int = 0
) -> list[MissedQuestion]:
    """Returns the wrong answers of methods; of each at most so many, drawn by the seed (the paper looks at 40).

    A question without a readable answer has no reasoning to sort.
    """
    by_id = {question.question.id: question for question in questions}
    found: list[MissedQuestion] = []
    for result in results:
        name = safe_name(result.name)
        missed = [
            MissedQuestion(question=by_id[one.id], method=name, outcome=one.outcome)
            for one in result.answered
            if one.outcome.answers and not one.right
        ]
        if most is not None and most < len(missed):
            drawn = derive(seed, "wrong answers", name).sample(range(len(missed)), most)
            missed = [missed[place] for place in sorted(drawn)]
        found += missed
    return found


@Parameter(name="*")
@dataclass(frozen=True)
class ExamFile:
    """The questions that are put."""

    exam: Exam
    """The exam: MedQA, MedMCQA, PubMedQA, the medical subjects of MMLU, or any questions in JSON lines."""
    questions: Path
    """The published file, of MMLU the folder; 'shipped' is a handful of questions to try things out."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ExamOptions(MethodOptions):
    """The options of an exam."""

    model: Annotated[list[str], Several, Parameter(metavar="MODEL...")]
    """local, direct/NAME (with --base-url), or a name that Inspect knows; several share one table."""
    limit: Annotated[Literal["all"] | int | None, POSITIVE] = None
    """The number of questions, drawn by --seed, or all; 300 by default, MMLU whole."""
    topic: Topic | None = None
    """The subject of the questions, of MedQA's test set; all of them by default."""
    fields: Annotated[str | None, Parameter(metavar="MAP")] = None
    """The names of the fields in a file of any questions: question=stem,options=choices,answer=gold."""
    answer_base: Annotated[Literal[0, 1] | None, setting("exam")] = None
    """The number of the first option, where the answer in --fields is a number."""
    examples: Annotated[Path | None, FILE, setting("exam")] = None
    """Answered questions of a training split for few-shot methods; ours by default."""
    training: Annotated[Path | None, FILE, setting("exam")] = None
    """Answered questions for medprompt to learn from; ours by default."""
    match: Match = "calls"
    """The budget of self-consistency beside each team: as many calls, or as many tokens, as the team took."""
    shuffle: Annotated[bool, Parameter(negative=())] = False
    """Ask everything again with the options shuffled."""
    baseline: Annotated[str | None, Parameter(metavar="METHOD")] = None
    """The method that all others are compared with; by default every two are compared."""
    judge: Annotated[str | None, Parameter(metavar="MODEL")] = None
    """A model that sorts the wrong answers into four kinds of error."""
    verdicts: Annotated[list[Path] | None, FILES] = None
    """People's verdicts of the form 'errors', which count before the judge's."""
    wrong_answers: Annotated[int | None, POSITIVE, setting("exam")] = None
    """The most wrong answers of each method that are sorted, drawn by the seed; the paper: 40."""
    answer_tokens: Annotated[int | None, POSITIVE, setting("exam")] = None
    """The longest answer to a call; by default the server's, 512 for local."""
    memory: Memory = FORGETFUL


def plan(options: ExamOptions, setup: Setup[MedAgentsSettings]) -> Plan:
    """Reads questions, examples and verdicts, and checks the methods against the protocol."""
    file: ExamFile = setup.acted_on
    models = setup.run.config.models
    rules = followed(MedAgentsSettings, options.protocol)
    check_limit(rules, file.exam, options.limit)
    chosen = _methods(file, options, rules, temperature=models.temperature)
    baseline = _baseline(options.baseline, chosen)
    check_methods(rules, chosen, options.model, models)
    questions = read_questions(file, options, seed=setup.seed)
    if rules.side == "paper" and file.exam == "mmlu":
        questions = [one for one in questions if one.subject in SUBJECTS] or questions
    say(rules)
    learning = Learning(
        examples=read_examples(options.examples) if options.examples is not None else (),
        training=read_examples(options.training) if options.training is not None else (),
        temperature=models.temperature,
        seed=setup.seed,
    )
    several = len(options.model) > 1
    entered = {
        f"{model}: {one.label}" if several else one.label: (model, one) for model in options.model for one in chosen
    }
    known = {(one.question.id, safe_name(name)): None for one in questions for name in entered}
    people = setup.verdicts(options.verdicts, lambda: {"errors": known}, form="errors")
    words = people_words(people, "errors", ErrorCategory)

    about: dict[str, Any] = {
        "dataset": file.exam,
        "questions": len(questions),
        "seed": setup.seed,
        "protocol": options.protocol,
        "topic": options.topic,
        "memory": options.memory.memory and str(options.memory.memory),
        "corpus": options.library.corpus,
        "by": options.library.corpus and options.library.by,
    }
    asked = ", ".join(options.model)
    about = {key: value for key, value in about.items() if value is not None} | {"model": asked}

    def report(result: ExamResult) -> Output:
        """Returns the output of a result, of which some methods may be missing."""
        methods = result.methods
        compared = baseline if baseline in {one.method for one in methods} else None
        against = compare(methods, baseline=compared, seed=setup.seed)
        done = {one.name for one in methods if len(one.answered) == len(questions)}
        title = f"{file.exam}, {counted(len(questions), 'question')}, {asked}"
        title += "" if done.issuperset(entered) else ", stopped early"
        return exam_output(result, against, title=title, about=about, chosen=chosen, judge=options.judge)

    async def prepare(opened: Opened) -> Work:
        memory = await opened.stack.enter_async_context(open_exam_memory(options.memory, models))
        judge = None if options.judge is None else opened.judge(options.judge)
        most = options.wrong_answers or (rules.settings.wrong_answers.paper if rules.side == "paper" else None)
        plays: Work = exam(questions, looking_up=opened.looking_up, seed=setup.seed)

        async def summarise(played: Mapping[str, Sequence[ExamPlay]]) -> ExamResult:
            results = list((await plays.summarise(played)).values())
            if not (judge or people):
                return ExamResult(results)
            wrong = wrong_answers(results, questions, most=most, seed=setup.seed)
            return ExamResult(results, await find_categories(wrong, judge=judge, words=words))

        taught = msgspec.structs.replace(learning, memory=memory)
        players = {
            name: entrant(
                one,
                opened.episodes(model, max_tokens=options.answer_tokens),
                taught,
                match=options.match,
                shuffle=options.shuffle,
                model=model,
            )
            for name, (model, one) in entered.items()
        }
        return replace(plays, players=players, summarise=summarise, report=report, goes_on_without=several)

    def failure(result: ExamResult) -> str:
        if (found := result.categories) is None:
            return ""
        allowed = setup.run.config.max_failures
        return judge_failure(found.failed, len(found.answers), "questions to the judge failed", allowed)

    return Plan(
        prepare=prepare,
        models=[*options.model, options.judge],
        methods=chosen,
        people=people,
        named=f"{file.exam} {file.questions.name}",
        doing="asking",
        purposes=False,
        failure=failure,
        check=_check,
    )


def _methods(
    file: ExamFile, options: ExamOptions, rules: FollowedProtocol[MedAgentsSettings], *, temperature: float | None
) -> list[ChosenMethod]:
    """Returns the methods with their settings, after a check of them and of the models that are asked."""
    each_once("model", options.model)
    presets = PRESETS.get(file.exam, {})
    chosen = options.chosen("zero_shot", models=options.model, judge=options.judge, presets=presets)
    for name in sorted({one.name for one in chosen} & METHODS.keys() & set(offered("methods"))):
        note(f"{name} is ours; the method of this name in an installed package is not used")
    chosen = remembering(chosen, options.memory)
    return as_published(chosen, rules, dataset=file.exam, temperature=temperature)


def _baseline(given: str | None, chosen: Sequence[ChosenMethod]) -> str | None:
    """Returns the label of the method that the others are compared with."""
    if given is None:
        return None
    known = {name: one.label for one in reversed(chosen) for name in (one.name, one.label)}
    if given not in known:
        names = dict.fromkeys(one.name for one in chosen)
        raise UserError(f"--baseline {given!r} is none of the methods{meant(given, names)}: {', '.join(names)}")
    return known[given]


def read_questions(file: ExamFile, options: ExamOptions, *, seed: int) -> list[ExamQuestion]:
    """Reads the questions of an exam, and draws as many as the options say."""
    limit = None if options.limit == "all" else options.limit
    if options.fields is not None and file.exam != "any":
        raise UserError(f"{file.exam} has fields of its own; --fields belongs to 'polyclinic eval exam any'")
    if options.answer_base is not None and options.fields is None:
        raise UserError("exam.answer-base says how the answer of --fields counts; give --fields too")
    if str(file.questions) == SHIPPED:
        kind: ExampleKind = "decision" if file.exam == "pubmedqa" else "choice"
        return [ExamQuestion(question=one.question, key=one.key) for one in shipped_examples("en", kind)][:limit]
    if not file.questions.exists() and (near := meant(str(file.questions), [SHIPPED])):
        raise BadInput(f"no such file{near}", path=file.questions)
    questions = read_exam(
        file.questions,
        layout=None if file.exam == "any" else file.exam,
        fields=parse_fields(options.fields) if options.fields is not None else None,
        answer_base=options.answer_base,
    )
    if options.topic is not None:
        if file.exam != "medqa":
            raise UserError(f"--topic {options.topic} is known of MedQA alone, not of {file.exam}; leave it out")
        questions = of_topic(questions, options.topic, file.exam)
    elif options.limit is None:
        limit = limit_of(follow(MedAgentsSettings), file.exam)
    return questions if limit is None else draw(questions, limit, seed=seed)


def _check(result: ExamResult) -> None:
    """Notes the mistakes of the user's methods; raises a BrokenMethod if one of them did nothing else."""
    for one in result.methods:
        if one.broken:
            first, many = one.broken[0], f"{len(one.broken)} of {counted(len(one.answered), 'question')}"
            note(plain(f"{one.name} broke on {many}, counted as wrong; the first, {first.id}: {first.outcome.problem}"))
    if useless := [one.name for one in result.methods if one.broken and len(one.broken) == len(one.answered)]:
        raise BrokenMethod(f"{', '.join(useless)}: no question was answered without a mistake of the method's")


SUBJECTS = (
    "anatomy", "clinical knowledge", "college medicine", "medical genetics", "professional medicine", "college biology",
)  # fmt: skip
"""The subjects of MMLU in the paper, in the order of Table 2."""


def as_published(
    chosen: Sequence[ChosenMethod],
    rules: FollowedProtocol[MedAgentsSettings],
    *,
    dataset: str,
    temperature: float | None = None,
) -> list[ChosenMethod]:
    """Returns the methods with the paper's settings of each; unchanged if ours is followed.

    Methods that the paper does not name keep what they have, and so do settings in which methods of one name differ.
    """
    paper, made = rules.settings, []
    for one in chosen:
        wanted: dict[str, PaperSetting[Any] | None] = {}
        if (drawing := paper.methods.get(one.name)) is not None:
            wanted |= {"temperature": drawing.temperature, "top_p": drawing.top_p, "samples": drawing.samples}
        if one.name == "medagents":
            for name in ("question_experts", "option_experts"):
                experts = getattr(paper, name)
                wanted[name] = PaperSetting(paper=_of_dataset(experts.paper, dataset), section=experts.section)
            wanted |= {"max_rounds": paper.rounds, "votes": paper.votes}
        same = [other.settings for other in chosen if other.name == one.name]
        varied = [name for name in wanted if len({str(settings.get(name)) for settings in same}) > 1]
        made.append(as_paper(one, wanted, rules, temperature=temperature, varied=varied))
    return made


def _of_dataset(value: Any, dataset: str) -> Any:
    """Returns the value of a setting for a data set; a mapping has one for others, too."""
    return value.get(dataset, value["others"]) if isinstance(value, Mapping) else value


def limit_of(rules: FollowedProtocol[MedAgentsSettings], dataset: str) -> int | None:
    """Returns how many questions of a data set are asked; None for all."""
    number = _of_dataset(rules.of(rules.settings.sample), dataset)
    return None if number == "all" else int(number)


def check_limit(rules: FollowedProtocol[MedAgentsSettings], dataset: str, given: int | str | None) -> None:
    """Refuses another number of questions than the paper's."""
    number = limit_of(rules, dataset) or "all"
    if rules.side == "paper" and given not in (None, number):
        had = f"{number} questions of {dataset} ({rules.settings.sample.section})"
        raise UserError(f"--protocol {rules.given} has {had}; leave out --limit {given}, or take --protocol ours")


REMEMBERS = "medagent_zero"
"""The method that goes by a memory."""


def remembering(chosen: Sequence[ChosenMethod], memory: MemoryOptions) -> list[ChosenMethod]:
    """Returns the methods with how much comes to mind, where the options say that."""
    if any(one.name == REMEMBERS for one in chosen) and memory.memory is None:
        raise UserError(f"{REMEMBERS} goes by what was learnt; name it with --memory DIR")
    if memory.memory is not None and all(one.name != REMEMBERS for one in chosen):
        raise UserError(f"--memory has no effect without a method that remembers; give --method {REMEMBERS}")
    given = {"records": memory.k_records, "experience": memory.k_experience}
    known = {key: k for key, k in given.items() if k is not None}
    return [
        msgspec.structs.replace(one, settings={**known, **one.settings}) if one.name == REMEMBERS else one
        for one in chosen
    ]


@asynccontextmanager
async def open_exam_memory(memory: MemoryOptions, models: ModelSettings) -> AsyncIterator[ExamMemory | None]:
    """Opens what is remembered on an exam, and notes how much it is; None if no memory is named."""
    async with AsyncExitStack() as stack:
        if memory.memory is None:
            yield None
            return
        opened = stack.enter_context(open_what_is_remembered(memory.memory))
        reading = opened.reading
        asked = [] if reading is None else asked_for(reading.about.embedder)
        session = await stack.enter_async_context(open_models(asked, models))
        embedder = None if reading is None else memory_embedder(reading.about.embedder, session)
        made = ExamMemory(opened.memory, reading, embedder=embedder, source=opened.source)
        records, principles = made.counts
        told = f"{opened.source}: {records:,} records of documents, {principles:,} principles from patients"
        if not records:
            folder, _ = snapshot_of(opened.folder)
            told += f"; polyclinic memory read {folder} --corpus NAME --doctor MODEL adds records"
        note(plain(told))
        say_other_knowledge(memory)
        yield made


def exam_output(
    result: ExamResult,
    against: Sequence[Against],
    *,
    title: str,
    about: Mapping[str, Any],
    chosen: Sequence[ChosenMethod],
    judge: str | None,
) -> Output:
    """Returns the output: document, which begins with `about`, tables, and a file of each method's outcomes."""
    methods, found = result.methods, result.categories
    failed = [one for of in methods for one in of.answered if one.outcome.failed]
    documents = [
        {
            **{name: value for name, value in msgspec.structs.asdict(one).items() if name not in ("answered", "model")},
            **{name: getattr(one, name) for name in ("n", "unreadable", "failed")},
            "questions": list(map(_question, one.answered)),
        }
        for one in methods
    ]
    document = {**about, "methods": documents, "comparisons": against}
    measures = [ItemMeasure(name="right", share=True)]
    if found is not None:
        document["errors"] = errors_document(found, judge)
        measures += [ItemMeasure(name=str(kind), share=True) for kind in ErrorCategory]

    def show(screen: Console) -> None:
        if not methods:
            screen.print("nothing")
            return
        _show_methods(screen, title, methods, against, chosen)
        if found is not None:
            _show_errors(screen, found, judge)

    return Output(
        document=document,
        show=show,
        files={f"{safe_name(one.name)}.jsonl": map(json_line, one.answered) for one in methods},
        written="",
        failed=len(failed),
        n=sum(one.n for one in methods),
        plays="questions",
        failures=f"the first, {failed[0].id}: {failed[0].outcome.problem}" if failed else "",
        rows=[*_rows(result, about["dataset"], about["seed"])],
        measures=measures,
    )


def _rows(result: ExamResult, dataset: str, seed: int) -> Iterator[ItemRow]:
    """Yields what each method made of each question."""
    kinds = {} if result.categories is None else {(one.question, one.method): one for one in result.categories.answers}
    for method in result.methods:
        name = safe_name(method.name)
        for line, one in enumerate(method.answered, 1):
            values = {"right": 100.0 * one.right}
            kind = kinds.get((one.id, name))
            if kind is not None and kind.category is not None:
                values |= {str(other): 100.0 * (other is kind.category) for other in ErrorCategory}
            yield outcome_row(
                one.outcome,
                values,
                item=one.id,
                set=f"{dataset} {one.subject}".strip() if dataset == "mmlu" else dataset,
                model=method.model,
                method=method.method,
                seed=seed,
                seconds=round(one.seconds, 3),
                at=f"{name}.jsonl:{line}",
            )


def _question(answered: Answered) -> dict[str, Any]:
    outcome = answered.outcome
    further = {"problem": outcome.problem, "sources": [one.source for one in answered.references]}
    return {
        "id": answered.id,
        "answers": sorted(outcome.answers),
        "key": answered.key,
        "right": answered.right,
        "end": str(outcome.end),
        "calls": outcome.calls,
        "round_trips": outcome.round_trips,
        **{name: value for name, value in further.items() if value},
    }


_COLUMNS: dict[str, Column] = {
    "method": "name",
    "right %": ("accuracy", ".1f"),
    "95 % interval": lambda one: interval(one.accuracy, ".1f"),
    "readable %": ("readable_accuracy.mean", ".1f"),
    "n": "accuracy.n",
    "unread.": "unreadable",
    "failed": "failed",
    "broken": lambda one: len(one.broken),
    "calls": ("cost.calls", ".1f"),
    "trips": ("cost.round_trips", ".1f"),
    "tokens": lambda one: tokens(one.cost.tokens_in + one.cost.tokens_out, one.cost.calls),
    "cost": lambda one: None if one.cost.money is None else money(one.cost.money),
    "s": "cost.seconds",
}
_SHUFFLED: dict[str, Column] = {
    "method": "name",
    "answer stays %": ("stability.stays", ".1f"),
    "n": "stability.stays.n",
    "right % shuffled": ("stability.accuracy", ".1f"),
    "right %": ("accuracy", ".1f"),
}


def _show_methods(
    screen: Console,
    title: str,
    results: Sequence[MethodResult],
    against: Sequence[Against],
    chosen: Sequence[ChosenMethod],
) -> None:
    """Prints accuracy and costs, sweeps, the shuffled options, the subjects, and the comparisons."""
    screen.print(table_of(title, results, _COLUMNS, optional=("broken", "cost")))
    if few := few_line([one.accuracy.n for one in results], "question"):
        screen.print(few, style="dim")
    screen.print(
        "right: of all questions that the endpoint answered, unreadable ones counted as wrong; readable: of those that "
        "could be read.\nn: questions answered; calls, trips (calls in a row), tokens, seconds: a question.",
        style="dim",
    )
    if any(one.broken for one in results):
        screen.print("broken: the method itself made a mistake, which is counted as wrong.", style="dim")
    screen.print()
    _show_sweeps(screen, results, chosen)
    if stable := [one for one in results if one.stability is not None]:
        screen.print(table_of("options shuffled", stable, _SHUFFLED), "")
    subjects = dict.fromkeys(subject for one in results for subject in one.by_subject)
    if subjects:
        columns: dict[str, Column] = {"subject": lambda subject: subject or "(none)", "n": partial(_number_of, results)}
        for one in results:
            columns[one.name] = (one.by_subject.get, ".1f")
        screen.print(table_of("right % by subject", subjects, columns), "")
    pairs: dict[str, Column] = {"method": "first", "less": "second"}
    show_compared(screen, "on the questions of both", against, pairs, test="McNemar's exact test", form="+.1f")


def _number_of(results: Sequence[MethodResult], subject: str) -> str:
    """Returns how many questions of a subject were answered; what failed of one method another may have answered."""
    counts = sorted({one.by_subject[subject].n for one in results if subject in one.by_subject})
    return "-".join(dict.fromkeys((str(counts[0]), str(counts[-1]))))


def _show_sweeps(screen: Console, results: Sequence[MethodResult], chosen: Sequence[ChosenMethod]) -> None:
    """Prints a chart of each setting that takes three or more numbers while the others are the same."""
    sweeps: dict[tuple[str, ...], list[tuple[float, ChosenMethod]]] = {}
    for one in chosen:
        for key, value in one.settings.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                held = sorted(f"{other}={set_to}" for other, set_to in one.settings.items() if other != key)
                sweeps.setdefault((key, one.name, *held), []).append((value, one))
    for model in dict.fromkeys(one.model for one in results):
        accuracies = {one.method: one.accuracy for one in results if one.model == model}
        for (key, name, *held), points in sweeps.items():
            there = sorted((value, one.label) for value, one in points if one.label in accuracies)
            if len(there) > 2:
                rows = [(f"{value:g}", accuracies[label]) for value, label in there]
                heading = f"right % by {key}: {' '.join((name, *held))}" + (f", {model}" if model else "")
                screen.print(plain(heading), style="bold", soft_wrap=True)
                screen.print(chart(rows), "")


def errors_document(found: Categories, judge: str | None) -> dict[str, Any]:
    """Returns what `--json` prints of the categories (MedAgents, Figure 5); the examples are the first of each."""
    n = sum(found.counts.values())
    first = {str(one.category): one.question for one in reversed(found.answers) if one.category is not None}
    shares = {
        str(kind): dict(zip(("share", "low", "high"), share(count, n), strict=True))
        for kind, count in found.counts.items()
    }
    named = ("version", "prompts", "counts", "sources", "unreadable", "failed", "unasked", "unused", "answers")
    fields = {name: getattr(found, name) for name in named}
    return {"judge": judge, "looked_at": len(found.answers), "shares": shares, "examples": first, **fields}


def _show_errors(screen: Console, found: Categories, judge: str | None) -> None:
    """Prints how many of the wrong answers are of each kind, by the judge and by people."""
    n = sum(found.counts.values())
    columns: dict[str, Column] = {
        "category": str,
        "%": (lambda kind: share(found.counts[kind], n)[0], ".1f"),
        "95 % interval": lambda kind: low_to_high(*share(found.counts[kind], n)[1:], ".1f"),
        "n": lambda kind: found.counts[kind],
        "by the judge": lambda kind: found.sources.get("judge", {}).get(kind, 0),
        "by people": lambda kind: found.sources.get("human", {}).get(kind, 0),
    }
    screen.print(table_of("why answers are wrong", found.counts, columns))
    told = [f"{len(found.answers)} wrong answers looked at, {n} sorted."]
    if judge is None:
        told.append(f"Without a judge only people's verdicts count; {found.unasked} wrong answers are not sorted.")
    else:
        unreadable, failed = sum(found.unreadable.values()), sum(found.failed.values())
        version = f"prompts of version {found.version} ({found.prompts})"
        told.append(f"Judge {plain(judge)}, {version}: {unreadable} unreadable, {failed} failed.")
    if found.unused:
        first = ", ".join(plain(f"{question} of {method}") for question, method in found.unused[:5])
        told.append(f"{len(found.unused)} of people's verdicts are on no answer looked at: {first}")
    for line in told:
        screen.print(line, style="dim")


EXAM: Evaluation[ExamOptions, MedAgentsSettings] = Evaluation(
    name="exam",
    options=ExamOptions,
    acted_on=ExamFile,
    plan=plan,
    tested=UnderTest(option="model", sample=sample_of_question, defaults={"match": "none"}),
)
