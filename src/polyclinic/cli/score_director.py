"""`polyclinic score director`: what a medical director's grades come to, and how far two directors agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.cli.evaluation import goes_on
from polyclinic.cli.sessions import open_judge
from polyclinic.errors import BadInput, RunStopped
from polyclinic.evaluations.people import show_agreement, show_figures
from polyclinic.evaluations.protocol import at_temperatures, followed, mind_kind
from polyclinic.files import read_lines
from polyclinic.judging.people import PeopleFigures, QuestionAgreement, agreed, figures, people_judgements
from polyclinic.judging.verdicts import read_verdicts
from polyclinic.metrics.grades import Aspect, Judgement, read_judgements
from polyclinic.metrics.icd.scores import ReportLayout
from polyclinic.metrics.recorded_reports import (
    AspectMean,
    GradeSummary,
    MissingGrade,
    RecordedReport,
    Ties,
    TwoJudges,
    Unreadable,
    brackets,
    by_doctor,
    compare_judges,
    read_recorded,
    read_references,
    recorded_judgements,
    summarise,
    ties,
    unreadable,
)
from polyclinic.models.ledger import Ledger
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import MvmeSettings
from polyclinic.run.batching import batches_beside
from polyclinic.run.options import (
    FILE,
    FILES,
    MIND,
    MODELS,
    NOWHERE,
    BatchApi,
    BootstrapSeed,
    Json,
    KeptOptions,
    Models,
    Protocol,
    RunOptions,
)
from polyclinic.run.storing import keep_outcome
from polyclinic.settings import setting
from polyclinic.terminal.figures import NOTHING, ShownFigure, number
from polyclinic.terminal.screen import console, note, plain, print_json
from polyclinic.terminal.tables import counted, interval, mean_and_error, show_problems, table

_MOST_FILES = 2

_Rules = FollowedProtocol[MvmeSettings]


async def director(
    files: Annotated[
        list[Path],
        Parameter(
            metavar="FILE...",
            help="Grades of one judge; of two files the second holds another judge's, on the same reports.",
        ),
    ],
    /,
    *,
    layout: Annotated[
        ReportLayout | None,
        setting("score"),
        Parameter(help="polyclinic: our judgements; ai-hospital: the published grades. Recognised by the first line."),
    ] = None,
    reference: Annotated[
        Path | None,
        FILE,
        Parameter(help="References of recorded dialogues and collaborations: published evaluations of the same cases."),
    ] = None,
    judge: Annotated[
        str,
        MIND,
        Parameter(help="The director for recorded reports without grades: rules, or a model."),
    ] = "rules",
    verdicts: Annotated[
        list[Path] | None,
        FILES,
        Parameter(help="People's grades of the same reports ('polyclinic verdicts export grades')."),
    ] = None,
    protocol: Protocol = "ours",
    seed: BootstrapSeed = 0,
    json: Json = False,
    models: Models = MODELS,
    batch_api: BatchApi = False,
    kept: KeptOptions = NOWHERE,
) -> None:
    """Scores the grades of one file, or of two and how far they agree."""
    if len(files) > _MOST_FILES:
        raise BadInput(f"{len(files)} files; one judge's, or two judges' to compare them, are allowed", path=files[2])
    rules = followed(MvmeSettings, protocol)
    models = at_temperatures(rules, models, {"judge": [judge]})
    run = RunOptions(seed=seed, json=json, models=models, journal=kept.journal, store=kept.store)
    asking = _Grading(judge, run, Ledger(), batches_beside(kept, [judge], wanted=batch_api))
    read, stopped = [], None
    for path in files:
        judgements, stopped = await _read(path, layout, reference, asking, rules)
        if judgements:
            read.append(judgements)
        if stopped is not None:
            if not read:
                raise goes_on(stopped, kept, "grading")
            note("stopped early; what is over:")
            break
    people = _people(verdicts, read, seed)
    graded = [_grades(path, judgements, rules, seed) for path, judgements in zip(files, read, strict=False)]
    between = compare_judges(*read) if len(read) == _MOST_FILES else None
    document = msgspec.to_builtins(graded[0]) if between is None else {"files": graded, "agreement": between}
    document |= {} if people is None else {"people": people}
    if stopped is not None:
        document["stopped"] = str(stopped)
    keep_outcome(kept, document, models=models, ledger=asking.ledger, seed=seed, stopped=stopped)
    if json:
        print_json(document)
    else:
        _show_all(console(), files, graded, between, people)
    if stopped is not None:
        raise goes_on(stopped, kept, "grading")


def _show_all(
    screen: Console,
    files: Sequence[Path],
    graded: Sequence[_FileGrades],
    between: Mapping[Aspect, TwoJudges] | None,
    people: _PeoplesGrades | None,
) -> None:
    for one in graded:
        _show(screen, one)
    if between is not None:
        _show_agreement(screen, between, f"{files[0]} and {files[1]}")
    if people is not None:
        show_agreement(screen, "grades", people.among_themselves)
        show_figures(screen, people.figures)
        _show_agreement(screen, people.with_judge, f"{files[0]} and people, most of whom say")


class _FileGrades(msgspec.Struct, frozen=True, kw_only=True):
    """What the grades of one file come to, as `--json` prints it; by doctor where there are several."""

    file: str
    judge: dict[str, Any]
    protocol: str
    missing_grade: MissingGrade
    n: int
    metrics: dict[Aspect, AspectMean]
    brackets: dict[Aspect, float | None]
    grades: dict[Aspect, dict[str, int]]
    length: dict[Aspect, float | None]
    unreadable: list[Unreadable]
    failed: dict[str, int]
    doctors: dict[str, GradeSummary]
    ties: list[Ties]


def _grades(path: Path, judgements: Sequence[Judgement], rules: _Rules, seed: int) -> _FileGrades:
    first, doctors = judgements[0], by_doctor(judgements)
    missing_grade = rules.of(rules.settings.missing_grade)
    whole = summarise(judgements, missing_grade=missing_grade, seed=seed)
    return _FileGrades(
        file=str(path),
        judge={"name": first.judge, "version": first.version, "prompts": first.prompts},
        protocol=rules.given,
        missing_grade=missing_grade,
        n=len(judgements),
        **msgspec.structs.asdict(whole),
        brackets=brackets(whole.metrics),
        unreadable=unreadable(judgements),
        doctors={name: summarise(theirs, missing_grade=missing_grade, seed=seed) for name, theirs in doctors.items()}
        if len(doctors) > 1
        else {},
        ties=ties(judgements),
    )


class _PeoplesGrades(msgspec.Struct, frozen=True, kw_only=True):
    """What people grade of the same reports, how far they agree, and how far the judge of the first file does."""

    figures: dict[str, PeopleFigures]
    among_themselves: list[QuestionAgreement]
    with_judge: dict[Aspect, TwoJudges]


def _people(paths: Sequence[Path] | None, read: Sequence[Sequence[Judgement]], seed: int) -> _PeoplesGrades | None:
    """Returns what people say; their verdicts may be on no other reports than those of the files."""
    if not paths:
        return None
    known = {(one.case, one.doctor): None for judgements in read for one in judgements}
    said = read_verdicts(paths, form="grades", known={"grades": known})
    if not any(verdict.form == "grades" for verdict in said):
        raise BadInput("no grades in it: what is wanted is the form 'grades'", path=paths[0])
    return _PeoplesGrades(
        figures=figures(said, "grades", seed=seed),
        among_themselves=agreed(said, "grades", seed=seed),
        with_judge=compare_judges(read[0], people_judgements(said)),
    )


async def _read(
    path: Path, layout: ReportLayout | None, reference: Path | None, asking: _Grading, rules: _Rules
) -> tuple[list[Judgement], RunStopped | None]:
    if (layout or _layout_of(path)) is ReportLayout.POLYCLINIC:
        judgements = read_judgements(path)
        judges = dict.fromkeys((one.judge, one.version, one.prompts) for one in judgements)
        if len(judges) > 1:
            named = "; ".join(f"{judge} version {version}, {prompts}" for judge, version, prompts in judges)
            raise BadInput(f"{len(judges)} judges or versions of one in a file: {named}; one a file", path=path)
        if judgements[0].judge == "rules":
            rules.check_mind("judge", f"the judge of {path}", "rules", "rules")
        return judgements, None
    found = read_recorded(path, None if reference is None else read_references(reference))
    lettered = any(letter for one in found.reports for letter in one.letters.values())
    if not lettered:
        rules.check_mind("judge", "--judge", asking.judge, mind_kind(asking.judge))
    if found.without_reference:
        note(f"{path}: left out, as without a reference: {counted(len(found.without_reference), 'case')}")
    if lettered:
        return recorded_judgements(found.reports), None
    return await _graded(found.reports, asking)


class _Grading(NamedTuple):
    """How reports without letters are graded: by whom, what its calls came to, and where the ids of batches are."""

    judge: str
    run: RunOptions
    ledger: Ledger
    batches: Path | str | None


async def _graded(reports: Sequence[RecordedReport], asking: _Grading) -> tuple[list[Judgement], RunStopped | None]:
    """Returns the grades of reports without letters, which a judge of ours gives; its calls go to the ledger.

    Where that was stopped, it is those that it gave, and what stopped it.
    """
    judge, run, ledger, batches = asking
    # Neither is needed where the letters are there.
    from polyclinic.judging.director import (  # noqa: PLC0415 - not needed where the letters are there
        ModelJudge,
        grade_recorded,
    )
    from polyclinic.judging.director_by_rules import RulesJudge  # noqa: PLC0415
    from polyclinic.knowledge.knowledge import read_knowledge  # noqa: PLC0415

    if judge == "rules":
        return await grade_recorded(RulesJudge(read_knowledge()), reports)
    async with open_judge(judge, run, named="director", episode="director", what="grading", batches=batches) as asked:
        graded, stopped = await grade_recorded(ModelJudge(asked.model, temperature=run.models.temperature), reports)
    ledger.include(asked.ledger)
    if stopped is not None:
        stopped = type(stopped)(f"{stopped}; {len(graded)} of {len(reports)} reports are graded")
    return graded, stopped


def _layout_of(path: Path) -> ReportLayout:
    line_number, line = next(read_lines(path))
    marks = {
        '"reference_diagnosis"': ReportLayout.AI_HOSPITAL,
        '"dialog_history"': ReportLayout.AI_HOSPITAL,
        '"judge"': ReportLayout.POLYCLINIC,
        '"patient_id"': ReportLayout.AI_HOSPITAL,
    }
    for mark, layout in marks.items():
        if mark in line:
            return layout
    allowed = " | ".join(ReportLayout)
    problem = f"neither a judgement of ours nor a published letter; --set score.layout={allowed} says what is wrong"
    raise BadInput(problem, path=path, line=line_number)


def _show(screen: Console, graded: _FileGrades) -> None:
    judge = graded.judge
    hashed = f", prompts {judge['prompts']}" if judge["prompts"] else ""
    title = f"{graded.file}: {graded.n} reports, judged by {judge['name']}, version {judge['version']}{hashed}"
    screen.print(plain(title), style="bold")
    whole = GradeSummary(metrics=graded.metrics, grades=graded.grades, length=graded.length, failed=graded.failed)
    for doctor, summary in (graded.doctors or {"": whole}).items():
        _show_grades(screen, summary, doctor)
    if graded.protocol == "paper":
        screen.print("protocol paper: a missing grade counts as 1", style="dim")
    show_problems(screen, ((f"without a grade on {one.aspect}: {one.problem}", one.case) for one in graded.unreadable))
    if graded.ties:
        _show_ties(screen, graded.ties)
    screen.print()


def _show_grades(screen: Console, summary: GradeSummary, doctor: str) -> None:
    """Prints the means of one doctor by aspect, with what the judge gave and the effect of length."""
    columns = (
        "aspect",
        "mean ± se",
        "(bracket)",
        "95 % interval",
        "n",
        "unreadable",
        "A",
        "B",
        "C",
        "D",
        "with length",
    )
    shown = table(doctor or None, columns)
    for aspect, graded in summary.metrics.items():
        counts = (graded.n, graded.unreadable, *summary.grades[aspect].values())
        figures = (
            mean_and_error(graded, ".3f"),
            number(graded.bracket, ".3f"),
            interval(graded, ".3f"),
            *map(str, counts),
        )
        shown.add_row(aspect, *figures, number(summary.length[aspect], "+.2f"))
    screen.print(shown)
    if summary.failed:
        failures = ", ".join(f"{n} {plain(name)}" for name, n in summary.failed.items())
        screen.print(f"not judged, and outside every mean: {failures}", style="yellow")


def _show_ties(screen: Console, tied: Sequence[Ties]) -> None:
    rows = (
        (
            plain(f"{one.first}, {one.second}"),
            one.aspect,
            number(one.percent, ".0f", " %"),
            str(one.n),
            ShownFigure(f"{one.low:.0f}-{one.high:.0f} %", {"low": one.low, "high": one.high}),
        )
        for one in tied
        if one.percent is not None
    )
    screen.print(table("one grade for both doctors", ("doctors", "aspect", "ties", "n", "95 % interval"), rows, left=2))


def _two_means(means: tuple[float, float] | None) -> str:
    if means is None:
        return NOTHING
    first, second = means
    return ShownFigure(f"{first:.3f}, {second:.3f}", {"first": first, "second": second})


def _show_agreement(screen: Console, agreed: Mapping[Aspect, TwoJudges], names: str) -> None:
    columns = ("aspect", "alike", "within one", "kappa", "weighted kappa", "Spearman", "means", "n", "ungraded")
    shown = table(f"{names}, on the reports of both", columns)
    for aspect, two in agreed.items():
        means = _two_means(two.means)
        shares = [number(value, ".1f", " %") for value in (two.exact.percent, two.within_one)]
        numbers = [number(value, ".3f") for value in (two.exact.kappa, two.weighted_kappa, two.spearman)]
        shown.add_row(aspect, *shares, *numbers, means, str(two.exact.n), str(two.ungraded))
    screen.print(shown)
    for aspect, two in agreed.items():
        if two.exact.n:
            screen.print(f"\n{aspect}: the first judge's grades by row, the second's by column")
            lines = zip(two.exact.labels, two.exact.confusion, strict=True)
            screen.print(table(None, ("", *two.exact.labels), ((row, *map(str, line)) for row, line in lines), left=0))
