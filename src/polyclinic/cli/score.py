"""`polyclinic score`: recorded dialogues, grades and diagnoses, as AIE and AI Hospital score them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.cases.shipped import shipped_path
from polyclinic.cli.sessions import judge_session
from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.aie.declaration import show_comparisons, show_left_out
from polyclinic.evaluations.people import show_agreement, show_figures
from polyclinic.evaluations.protocol import followed, with_temperatures
from polyclinic.judging.people import agreed, figures, people_judgements
from polyclinic.judging.verdicts import read_verdicts
from polyclinic.metrics import conversation
from polyclinic.metrics import recorded_reports as recorded
from polyclinic.metrics.dialogue import read_dialogues
from polyclinic.metrics.disease_names import split_names
from polyclinic.metrics.grades import LETTERS, Aspect, Judgement, read_judgements
from polyclinic.metrics.icd import linking
from polyclinic.metrics.icd import scores as icd_scores
from polyclinic.models.model import Model
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import MvmeSettings
from polyclinic.results.folder import traces_in
from polyclinic.run import options
from polyclinic.run.case_files import read_case_file
from polyclinic.run.options import FILE, Json
from polyclinic.run.output import DOCUMENT, Output, finish, short_names
from polyclinic.run.run import Run, resume_hint
from polyclinic.settings import setting
from polyclinic.stopping import is_stopped
from polyclinic.terminal.figures import ShownFigure, number
from polyclinic.terminal.screen import console, note, print_json, progress
from polyclinic.terminal.tables import Column, cell, counted, interval, show_problems, table, table_of

Reference = Annotated[
    Path | None,
    FILE,
    Parameter(help="References of recorded dialogues and collaborations: published evaluations of the same cases."),
]


async def aie(
    files: Annotated[list[Path], Parameter(metavar="FILE...")],
    /,
    *,
    cases: Annotated[str | None, FILE] = None,
    strict: options.Strict = False,
    metric: options.Metrics = None,
    seed: options.BootstrapSeed = 0,
    json: Json = False,
) -> None:
    """Scores the dialogues of each file, and compares the doctors.

    Args:
        files: Traces of ours, a folder of them, or dialogues in the layout that AIE published; one doctor a file.
        cases: The case file of the traces; COVERAGE and INQUIRY_LOGIC need it.
    """
    metrics = conversation.choose_metrics(metric or ())
    files = [one for path in files for one in (traces_in(path) if path.is_dir() else [path])]
    if len({file.with_suffix("") for file in files}) < len(files):
        raise BadInput("a file is named twice, or two differ in their ending only; each is one doctor", path=files[0])
    read = [] if cases is None else read_case_file(shipped_path(cases), strict=strict)
    known = {case.id: case for case in read}
    summaries = {}
    for name, path in zip(short_names(files), files, strict=True):
        dialogues, left_out = read_dialogues(path, cases=known)
        scores = [await conversation.measure(dialogue, metrics) for dialogue in dialogues]
        summaries[name] = conversation.summarise(scores, names=metrics.names, left_out=left_out, seed=seed)
    if not any(summary.scores for summary in summaries.values()):
        lost = [one for summary in summaries.values() for one in summary.left_out]
        because = f"; the first, {lost[0].id}: {lost[0].problem}" if lost else ""
        raise BadInput(f"none of the {len(lost)} dialogues can be scored{because}", path=files[0])
    compared = conversation.compare(summaries, seed=seed)
    if json:
        documents = []
        for path, one in zip(files, summaries.values(), strict=True):
            document = {"file": str(path), "n": len(one.scores), **msgspec.structs.asdict(one)}
            document["cases"] = [{"id": score.id, **score.values} for score in document.pop("scores")]
            documents.append(document)
        print_json(documents[0] if len(files) == 1 else {"files": documents, "comparisons": compared})
    else:
        screen = console()
        for name, summary in summaries.items():
            _show_summary(screen, name, summary)
        if len(summaries) > 1:
            names = next(iter(summaries.values())).metrics
            rows = ((name, *(one.metrics[name] for one in summaries.values())) for name in names)
            screen.print(table("side by side, mean ± se", ("metric", *summaries), rows), "")
            show_comparisons(screen, compared)
    conversation.check_measured(metrics, (one.scores for one in summaries.values()))


def _show_summary(screen: Console, name: str, summary: conversation.ConversationSummary) -> None:
    shown = table(name, ("metric", "mean ± se", "95 % interval", "n"))
    for metric, one in summary.metrics.items():
        n = ShownFigure(f"{one.n} turns", {"": one.n}) if metric == "AVG_LEN" else one.n
        shown.add_row(metric, one, interval(one), n)
    shown.add_section()
    for metric, one in summary.second.items():
        shown.add_row(metric, one, interval(one), one.n, style="dim")
    screen.print(shown)
    wholly = [problem for problem in summary.left_out if not problem.metrics]
    counts = f"{counted(len(summary.scores), 'dialogue')}; {len(wholly)} left out, {summary.failed} of them failed; "
    screen.print(f"{counts}{summary.unreadable} diagnoses unreadable (counted as wrong)", style="bold")
    show_left_out(screen, summary.left_out)
    screen.print()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScoreOptions(options.AskOptions):
    """The options of the commands that may ask a model about recorded reports."""

    protocol: options.Protocol = "ours"
    seed: options.BootstrapSeed = 0
    batch_api: options.BatchApi = False


_SCORE = ScoreOptions()
Rules = FollowedProtocol[MvmeSettings]


def _begin(how: ScoreOptions, model: str | None, what: str) -> tuple[Run, Rules]:
    """Returns the run of a command that may ask a model, and the protocol that it follows."""
    rules = followed(MvmeSettings, how.protocol)
    models, _ = with_temperatures(rules, how.models, {"judge": [model]})
    return Run(replace(how, models=models), what=what), rules


class GradesOfFile(recorded.GradeSummary, frozen=True, kw_only=True):
    """The figures of a file of grades, as `--json` prints them; by doctor if there are several."""

    file: str
    judge: dict[str, Any]
    protocol: str
    missing_grade: str
    n: int
    brackets: dict[Aspect, float | None]
    unreadable: list[recorded.Unreadable]
    doctors: dict[str, recorded.GradeSummary]
    ties: list[recorded.Ties]


async def director(
    files: Annotated[list[Path], Parameter(metavar="FILE...")],
    /,
    *,
    reference: Reference = None,
    judge: Annotated[str, options.MIND] = "rules",
    verdicts: Annotated[list[Path] | None, options.FILES] = None,
    how: ScoreOptions = _SCORE,
) -> None:
    """Scores the grades of one file, or of two and how far they agree.

    Args:
        files: Grades of one judge; of two files the second holds another judge's, on the same reports.
        judge: The director for recorded reports without grades: rules, or a model.
        verdicts: People's grades of the same reports ('polyclinic verdicts export grades').
    """
    if len(files) > 2:
        raise BadInput(f"{len(files)} files; one judge's, or two judges' to compare them, are allowed", path=files[2])
    run, rules = _begin(how, judge, "grading")
    read: list[list[Judgement]] = []
    asked = None if judge == "rules" else judge
    opening = judge_session(run, asked, named="director", episode="director", batch_api=how.batch_api)
    async with opening as (model, ledger):
        for path in files:
            if run.stopped is None and (judgements := await _read_grades(path, reference, judge, model, run, rules)):
                read.append(judgements)
    if run.stopped is not None and not read:
        raise resume_hint(run.stopped, how, run.what)
    graded = [_grades_of(path, one, rules, how.seed) for path, one in zip(files, read, strict=False)]
    between = recorded.compare_judges(*read) if len(read) > 1 else None
    document: dict[str, Any] = msgspec.structs.asdict(graded[0])
    if between is not None:
        document = {"files": graded, "agreement": between}
    people = _people(verdicts, read, how.seed) if verdicts else {}

    def show(screen: Console) -> None:
        for one in graded:
            _show_grades(screen, one)
        if between is not None:
            _show_two_judges(screen, between, f"{files[0]} and {files[1]}")
        if people:
            show_agreement(screen, "grades", people["among_themselves"])
            show_figures(screen, people["figures"])
            _show_two_judges(screen, people["with_judge"], f"{files[0]} and people, most of whom say")

    document |= {"people": people} if people else {}
    finish(run, Output(document=document, show=show, document_file=DOCUMENT, written=""), ledger, purposes=False)


async def _read_grades(
    path: Path, reference: Path | None, judge: str, model: Model | None, run: Run, rules: Rules
) -> list[Judgement]:
    """Reads the grades of a file; reports without any are graded now, until that is stopped."""
    from polyclinic.judging import director as directors  # noqa: PLC0415 - not needed if the letters are there
    from polyclinic.judging.director_by_rules import RulesJudge  # noqa: PLC0415
    from polyclinic.knowledge.knowledge import read_knowledge  # noqa: PLC0415

    if recorded.is_ours(path, "judge"):
        judgements = read_judgements(path)
        if len({(one.judge, one.version, one.prompts) for one in judgements}) > 1:
            raise BadInput("grades of several judges, or of versions of one; a file holds those of one", path=path)
        if judgements[0].judge == "rules":
            rules.check_mind("judge", f"the judge of {path}", "rules")
        return judgements
    found = recorded.read_recorded(path, None if reference is None else recorded.read_references(reference))
    lettered = any(letter for one in found.reports for letter in one.letters.values())
    if not lettered:
        rules.check_mind("judge", "--judge", judge)
    if found.without_reference:
        note(f"{path}: left out, as without a reference: {counted(len(found.without_reference), 'case')}")
    if lettered:
        return recorded.recorded_judgements(found.reports)
    temperature = run.config.models.temperature
    by = RulesJudge(read_knowledge()) if model is None else directors.ModelJudge(model, temperature=temperature)
    graded, stopped = await directors.grade_recorded(by, found.reports)
    if stopped is not None:
        run.stopped = type(stopped)(f"{stopped}; {len(graded)} of {len(found.reports)} reports are graded")
    return graded


def _grades_of(path: Path, judgements: Sequence[Judgement], rules: Rules, seed: int) -> GradesOfFile:
    first, doctors = judgements[0], recorded.by_doctor(judgements)
    missing_grade = rules.of(rules.settings.missing_grade)
    of = partial(recorded.summarise, missing_grade=missing_grade, seed=seed)
    whole = of(judgements)
    return GradesOfFile(
        **msgspec.structs.asdict(whole),
        file=str(path),
        judge={"name": first.judge, "version": first.version, "prompts": first.prompts},
        protocol=rules.given,
        missing_grade=missing_grade,
        n=len(judgements),
        brackets=recorded.brackets(whole.metrics),
        unreadable=recorded.unreadable(judgements),
        doctors={name: of(theirs) for name, theirs in doctors.items()} if len(doctors) > 1 else {},
        ties=recorded.ties(judgements),
    )


def _people(paths: Sequence[Path], read: Sequence[Sequence[Judgement]], seed: int) -> dict[str, Any]:
    """Returns people's grades of the same reports, how far they agree, and how far the judge of the first file does.

    Their verdicts may be on no other reports than those of the files.
    """
    known = {(one.case, one.doctor): None for judgements in read for one in judgements}
    said = read_verdicts(paths, form="grades", known={"grades": known})
    if not any(verdict.form == "grades" for verdict in said):
        raise BadInput("no grades in it: what is wanted is the form 'grades'", path=paths[0])
    return {
        "figures": figures(said, "grades", seed=seed),
        "among_themselves": agreed(said, "grades", seed=seed),
        "with_judge": recorded.compare_judges(read[0], people_judgements(said)),
    }


def _show_grades(screen: Console, graded: GradesOfFile) -> None:
    judge = graded.judge
    hashed = f", prompts {judge['prompts']}" if judge["prompts"] else ""
    title = f"{graded.file}: {graded.n} reports, judged by {judge['name']}, version {judge['version']}{hashed}"
    screen.print(title, style="bold")
    columns = "aspect", "mean ± se", "(bracket)", "95 % interval", "n", "unreadable", *LETTERS, "with length"
    for doctor, summary in graded.doctors.items() or [(None, graded)]:
        rows = (
            (
                aspect,
                cell(one, ".3f"),
                number(one.bracket, ".3f"),
                interval(one, ".3f"),
                *(one.n, one.unreadable, *summary.grades[aspect].values()),
                number(summary.length[aspect], "+.2f"),
            )
            for aspect, one in summary.metrics.items()
        )
        screen.print(table(doctor, columns, rows))
        if summary.failed:
            failures = ", ".join(f"{n} {name}" for name, n in summary.failed.items())
            screen.print(f"not judged, and outside every mean: {failures}", style="yellow")
    if graded.protocol == "paper":
        screen.print("protocol paper: a missing grade counts as 1", style="dim")
    show_problems(screen, ((f"without a grade on {one.aspect}: {one.problem}", one.case) for one in graded.unreadable))
    screen.print()


def _show_two_judges(screen: Console, agreed: Mapping[Aspect, recorded.TwoJudges], names: str) -> None:
    columns: dict[str, Column] = {
        "aspect": lambda row: row[0],
        "alike": lambda row: number(row[1].exact.percent, ".1f", " %"),
        "within one": lambda row: number(row[1].within_one, ".1f", " %"),
        "kappa": (lambda row: row[1].exact.kappa, ".3f"),
        "weighted kappa": (lambda row: row[1].weighted_kappa, ".3f"),
        "Spearman": (lambda row: row[1].spearman, ".3f"),
        "first": (lambda row: row[1].means and row[1].means[0], ".3f"),
        "second": (lambda row: row[1].means and row[1].means[1], ".3f"),
        "n": lambda row: row[1].exact.n,
        "ungraded": lambda row: row[1].ungraded,
    }
    screen.print(table_of(f"{names}, on the reports of both", agreed.items(), columns))


async def icd(
    file: Path,
    /,
    *,
    reference: Reference = None,
    table: Annotated[Path | None, setting("icd"), FILE] = None,
    plain: Annotated[bool, setting("icd")] = False,
    nearest: Annotated[bool, Parameter(negative=()), setting("icd")] = False,
    names_by: Annotated[str | None, Parameter(metavar="MODEL"), setting("icd")] = None,
    how: ScoreOptions = _SCORE,
) -> None:
    """Links the diagnoses of the reports to ICD-10, and scores them.

    Args:
        file: Traces of ours, or recorded reports; one doctor a file.
        table: Table of ICD-10 (.xls, .csv, .tsv: code, title); by default the English one.
        plain: The baseline: cut at punctuation, plain edit distance.
        nearest: As the authors of AI Hospital: two names are the same if one of their ten nearest titles is.
        names_by: A model that reads the diseases out of the diagnoses, in place of rules.
    """
    begun = time.perf_counter()
    run, rules = _begin(how, names_by, "scoring")
    names = rules.settings.names
    rules.check_switch("icd.plain", plain, "compares the names that a model reads", names.section)
    if names_by is None and rules.side == "paper" and names.paper == "model":
        raise UserError(
            f"--protocol {how.protocol} has names that a model reads ({names.section}); add icd.names-by, or take "
            "--protocol ours"
        )
    if names_by is not None and plain:
        raise UserError("icd.names-by has no effect with icd.plain; leave one of them out")
    nearest = nearest or rules.of(rules.settings.links) == "ten nearest titles"
    references = None if reference is None else recorded.read_references(reference)
    split = icd_scores.whole_text if names_by is not None else linking.split_plainly if plain else split_names
    reports = icd_scores.read_named_reports(file, references=references, split=split)
    by_rules: dict[str, int] = {}
    named = {"named": "disease names", "episode": "disease extraction", "option": "--names-by"}
    async with judge_session(run, names_by, **named, batch_api=how.batch_api) as (model, ledger):
        if model is not None:
            reports, by_rules = await _named_by(model, reports, run)
    if run.stopped is not None and not reports.pairs:
        raise resume_hint(run.stopped, how, run.what)
    if table is None and reports.language == "zh":
        raise UserError(
            "the cases are Chinese, and so must be the titles of ICD-10: name a table with --set icd.table=FILE"
        )
    entries = linking.english_entries() if table is None else linking.read_entries(table)
    linker: linking.Linker = (
        partial(linking.link_plainly, entries=entries) if plain else linking.Titles(entries).link_all
    )
    linker = linking.with_nearest(entries, linker) if nearest else linker
    summary = icd_scores.score_names(reports.pairs, linker, seed=how.seed)
    as_they_are = ("per_case", "reference_number", "names", "unlinked", "without_names", "cases")
    document = {
        "file": str(file),
        "layout": reports.layout,
        "n": len(summary.cases),
        "metrics": {name: {"mean": e.mean, "low": e.low, "high": e.high} for name, e in summary.metrics.items()},
        "standard_errors": {name: e.stderr for name, e in summary.metrics.items()},
        **{name: getattr(summary, name) for name in as_they_are},
        "table": len(entries),
        "ties": summary.tied,
        "ties_across_categories": summary.tied_categories,
        "unreadable": reports.unreadable,
        "failed": sum(problem.failed for problem in reports.left_out),
        "left_out": reports.left_out,
        "seconds": round(time.perf_counter() - begun, 2),
        "protocol": how.protocol,
        "nearest": nearest,
        "names_by": names_by,
        "names_by_rules": by_rules,
    }
    if by_rules and not how.json:
        lost = ", ".join(f"{n} {error}" for error, n in by_rules.items())
        note(f"diagnoses that {names_by} gave no usable names of, read by rules: {lost}")
    show = partial(_show_codes, document=document, summary=summary)
    finish(run, Output(document=document, show=show, document_file=DOCUMENT, written=""), ledger, purposes=False)


async def _named_by(
    model: Model, reports: icd_scores.NamedReports, run: Run
) -> tuple[icd_scores.NamedReports, dict[str, int]]:
    """Returns the reports with the names that a model reads; of a run that was stopped, those that it has read."""
    from polyclinic.judging.disease_names import extract_diseases  # noqa: PLC0415 - only if a model reads names
    from polyclinic.judging.model_judging import NotAsked, UntilStopped  # noqa: PLC0415

    texts, until = icd_scores.texts_of(reports.pairs), UntilStopped(is_stopped=is_stopped)
    with progress("reading names", len(set(texts)), quiet=run.config.json) as advance:
        temperature = run.config.models.temperature
        found = await extract_diseases(texts, until.of(model), temperature=temperature, advance=advance)
    read = [pair for pair in reports.pairs if not found.left & set(icd_scores.texts_of([pair]))]
    by_rules = dict(found.by_rules)
    if until.stopped is not None:
        by_rules.pop(NotAsked.__name__, None)
        said = f"{until.stopped}; {len(read)} of {len(reports.pairs)} reports are read"
        run.stopped = type(until.stopped)(said)
    pairs = tuple(icd_scores.with_names(pair, found.names) for pair in read)
    return msgspec.structs.replace(reports, pairs=pairs), by_rules


def _show_codes(screen: Console, *, document: Mapping[str, Any], summary: icd_scores.IcdSummary) -> None:
    shown = table(document["file"], ("metric", "pooled ± se", "95 % interval", "mean of cases ± se", "n"))
    for name, one in summary.metrics.items():
        shown.add_row(name.replace("_", " "), one, interval(one), summary.per_case.get(name, ""), one.n)
    screen.print(shown)
    counts = (
        f"{counted(document['n'], 'report')}; {document['unreadable']} unreadable and {summary.without_names} in which "
        f"no disease is named (counted, with no code); {len(document['left_out'])} left out, {document['failed']} of "
        "them failed"
    )
    linked = (
        f"{summary.names} different names against {document['table']} titles in {document['seconds']:.1f} s: "
        f"{summary.unlinked} unlinked, {summary.tied} fit several codes equally well ({summary.tied_categories} in "
        "several categories)"
    )
    screen.print(counts, style="bold", soft_wrap=True)
    screen.print(linked, style="dim", soft_wrap=True)
    show_left_out(screen, document["left_out"])
