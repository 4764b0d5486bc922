"""`polyclinic score`: recorded dialogues, grades and diagnoses, as AIE and AI Hospital score them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from polyclinic.cases.case import Case
from polyclinic.cases.shipped import shipped_path
from polyclinic.cli.sessions import open_judge
from polyclinic.errors import BadInput, RunStopped, UserError
from polyclinic.evaluations.aie.declaration import show_comparisons, show_left_out
from polyclinic.evaluations.people import show_agreement, show_figures
from polyclinic.evaluations.protocol import followed, mind_kind, with_temperatures
from polyclinic.judging.people import agreed, figures, people_judgements
from polyclinic.judging.verdicts import read_verdicts
from polyclinic.metrics import conversation
from polyclinic.metrics import recorded_reports as recorded
from polyclinic.metrics.dialogue import read_dialogues
from polyclinic.metrics.disease_names import split_names
from polyclinic.metrics.grades import LETTERS, Aspect, Judgement, read_judgements
from polyclinic.metrics.icd import linking
from polyclinic.metrics.icd import scores as icd_scores
from polyclinic.models.ledger import Ledger
from polyclinic.protocols.papers import MvmeSettings
from polyclinic.results.folder import traces_in
from polyclinic.run import options
from polyclinic.run.batching import check_batches
from polyclinic.run.case_files import read_case_file
from polyclinic.run.options import FILE, Json, KeptOptions, RunOptions
from polyclinic.run.output import keep_outcome, short_names
from polyclinic.run.run import resume_hint
from polyclinic.run.storing import check_place
from polyclinic.settings import setting
from polyclinic.stopping import is_stopped
from polyclinic.terminal.figures import ShownFigure, number
from polyclinic.terminal.screen import console, note, plain, print_json, progress
from polyclinic.terminal.tables import counted, interval, mean_and_error, show_problems, table

Reference = Annotated[
    Path | None,
    FILE,
    Parameter(help="References of recorded dialogues and collaborations: published evaluations of the same cases."),
]


async def aie(
    files: Annotated[
        list[Path],
        Parameter(
            metavar="FILE...",
            help="Traces of ours, a folder of them, or dialogues in the layout that AIE published; one doctor a file.",
        ),
    ],
    /,
    *,
    cases: Annotated[
        str | None, FILE, Parameter(help="The case file of the traces; COVERAGE and INQUIRY_LOGIC need it.")
    ] = None,
    strict: options.Strict = False,
    metric: options.Metrics = None,
    seed: options.BootstrapSeed = 0,
    json: Json = False,
) -> None:
    """Scores the dialogues of each file, and compares the doctors."""
    metrics = conversation.choose_metrics(metric or ())
    files = [one for path in files for one in (traces_in(path) if path.is_dir() else [path])]
    read = [] if cases is None else read_case_file(shipped_path(cases), strict=strict)
    known = {case.id: case for case in read}
    summaries = {name: await _summary(path, known, metrics, seed) for name, path in _names(files).items()}
    if not any(summary.scores for summary in summaries.values()):
        left_out = [one for summary in summaries.values() for one in summary.left_out]
        because = f"; the first, {left_out[0].id}: {left_out[0].problem}" if left_out else ""
        raise BadInput(f"none of the {len(left_out)} dialogues can be scored{because}", path=files[0])
    compared = conversation.compare(summaries, seed=seed)
    if json:
        documents = [
            {
                "file": str(path),
                "n": len(one.scores),
                "metrics": one.metrics,
                "second": one.second,
                "cases": [{"id": score.id, **score.values} for score in one.scores],
                "left_out": one.left_out,
                "unreadable": one.unreadable,
                "failed": one.failed,
            }
            for path, one in zip(files, summaries.values(), strict=True)
        ]
        print_json(documents[0] if len(files) == 1 else {"files": documents, "comparisons": compared})
    else:
        screen = console()
        for name, summary in summaries.items():
            _show_summary(screen, name, summary)
        if len(summaries) > 1:
            names = next(iter(summaries.values())).metrics
            rows = ((plain(name), *(mean_and_error(one.metrics[name]) for one in summaries.values())) for name in names)
            screen.print(table("side by side, mean ± se", ("metric", *summaries), rows), "")
            show_comparisons(screen, compared)
    conversation.check_measured(metrics, (one.scores for one in summaries.values()))


async def _summary(
    path: Path, known: Mapping[str, Case], metrics: conversation.Wanted, seed: int
) -> conversation.ConversationSummary:
    dialogues, left_out = read_dialogues(path, cases=known)
    scores = [await conversation.measure(dialogue, metrics) for dialogue in dialogues]
    return conversation.summarise(scores, names=metrics.names, left_out=left_out, seed=seed)


def _show_summary(screen: Console, name: str, summary: conversation.ConversationSummary) -> None:
    shown = table(name, ("metric", "mean ± se", "95 % interval", "n"))
    for metric, one in summary.metrics.items():
        n = ShownFigure(f"{one.n}{' turns' if metric == 'AVG_LEN' else ''}", {"": one.n})
        shown.add_row(plain(metric), mean_and_error(one), interval(one), n)
    shown.add_section()
    for metric, one in summary.second.items():
        shown.add_row(metric, mean_and_error(one), interval(one), str(one.n), style="dim")
    screen.print(shown)
    wholly = [problem for problem in summary.left_out if not problem.metrics]
    counts = f"{counted(len(summary.scores), 'dialogue')}; {len(wholly)} left out, {summary.failed} of them failed; "
    screen.print(Text(f"{counts}{summary.unreadable} diagnoses unreadable (counted as wrong)", style="bold"))
    show_left_out(screen, summary.left_out)
    screen.print()


def _names(files: Sequence[Path]) -> dict[str, Path]:
    """Returns the files by the shortest ends of their paths that differ."""
    if len({file.with_suffix("") for file in files}) < len(files):
        raise BadInput("a file is named twice, or two differ in their ending only; each is one doctor", path=files[0])
    return dict(zip(short_names(files), files, strict=True))


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScoreOptions(KeptOptions):
    """The options of the commands that may ask a model about recorded reports."""

    protocol: options.Protocol = "ours"
    seed: options.BootstrapSeed = 0
    json: Json = False
    models: options.Models = options.MODELS
    batch_api: options.BatchApi = False


_SCORE = ScoreOptions()


class _Scoring:
    """The scoring of recorded reports, with the model that may be asked, the calls to it, and a stop."""

    def __init__(self, how: ScoreOptions, model: str | None, what: str) -> None:
        self.how, self.model, self.what = how, model, what
        self.rules = followed(MvmeSettings, how.protocol)
        models, _ = with_temperatures(self.rules, how.models, {"judge": [model]})
        kept: dict[str, Any] = {"out": how.out, "reuse": how.reuse, "invocation": how.invocation}
        self.run = RunOptions(seed=how.seed, json=how.json, models=models, **kept)
        check_place(how)
        self.batches = check_batches(how, [model], wanted=how.batch_api)
        self.ledger = Ledger()
        self.stopped: RunStopped | None = None

    def check_any(self, scored: Sequence[object]) -> None:
        """Ends a command that was stopped before anything was scored."""
        if self.stopped is not None and not scored:
            raise resume_hint(self.stopped, self.how, self.what)

    def finish(self, document: dict[str, Any], show: Callable[[Console], None]) -> None:
        """Keeps and prints the results; a command that was stopped ends with how to resume it."""
        run, stopped = self.run, self.stopped
        if stopped is not None:
            note("stopped early; what is over:")
            document["stopped"] = str(stopped)
        keep_outcome(self.how, document, models=run.models, ledger=self.ledger, seed=run.seed, stopped=stopped)
        if run.json:
            print_json(document)
        else:
            show(console())
        if stopped is not None:
            raise resume_hint(stopped, self.how, self.what)


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
    reference: Reference = None,
    judge: Annotated[
        str, options.MIND, Parameter(help="The director for recorded reports without grades: rules, or a model.")
    ] = "rules",
    verdicts: Annotated[
        list[Path] | None,
        options.FILES,
        Parameter(help="People's grades of the same reports ('polyclinic verdicts export grades')."),
    ] = None,
    how: ScoreOptions = _SCORE,
) -> None:
    """Scores the grades of one file, or of two and how far they agree."""
    if len(files) > 2:
        raise BadInput(f"{len(files)} files; one judge's, or two judges' to compare them, are allowed", path=files[2])
    scoring = _Scoring(how, judge, "grading")
    read: list[list[Judgement]] = []
    for path in files:
        if scoring.stopped is None and (judgements := await _read_grades(path, reference, scoring)):
            read.append(judgements)
    scoring.check_any(read)
    graded = [_grades_document(path, one, scoring) for path, one in zip(files, read, strict=False)]
    document: dict[str, Any] = dict(graded[0])
    between = recorded.compare_judges(*read) if len(read) > 1 else None
    if between is not None:
        document = {"files": graded, "agreement": between}
    if verdicts:
        document["people"] = _people(verdicts, read, how.seed)

    def show(screen: Console) -> None:
        for one in graded:
            _show_grades(screen, one)
        if between is not None:
            _show_two_judges(screen, between, f"{files[0]} and {files[1]}")
        if people := document.get("people"):
            show_agreement(screen, "grades", people["among_themselves"])
            show_figures(screen, people["figures"])
            _show_two_judges(screen, people["with_judge"], f"{files[0]} and people, most of whom say")

    scoring.finish(document, show)


async def _read_grades(path: Path, reference: Path | None, scoring: _Scoring) -> list[Judgement]:
    """Reads the grades of a file; reports without any are graded now, until that is stopped."""
    judge, rules = scoring.model or "rules", scoring.rules
    if recorded.is_ours(path, "judge"):
        judgements = read_judgements(path)
        if len({(one.judge, one.version, one.prompts) for one in judgements}) > 1:
            raise BadInput("grades of several judges, or of versions of one; a file holds those of one", path=path)
        if judgements[0].judge == "rules":
            rules.check_mind("judge", f"the judge of {path}", "rules", "rules")
        return judgements
    found = recorded.read_recorded(path, None if reference is None else recorded.read_references(reference))
    lettered = any(letter for one in found.reports for letter in one.letters.values())
    if not lettered:
        rules.check_mind("judge", "--judge", judge, mind_kind(judge))
    if found.without_reference:
        note(f"{path}: left out, as without a reference: {counted(len(found.without_reference), 'case')}")
    return recorded.recorded_judgements(found.reports) if lettered else await _grade(found.reports, judge, scoring)


async def _grade(reports: Sequence[recorded.RecordedReport], judge: str, scoring: _Scoring) -> list[Judgement]:
    from polyclinic.judging import director as directors  # noqa: PLC0415 - not needed if the letters are there
    from polyclinic.judging.director_by_rules import RulesJudge  # noqa: PLC0415
    from polyclinic.knowledge.knowledge import read_knowledge  # noqa: PLC0415

    run = scoring.run
    if judge == "rules":
        graded, scoring.stopped = await directors.grade_recorded(RulesJudge(read_knowledge()), reports)
        return graded
    opening = open_judge(judge, run, named="director", episode="director", what="grading", batches=scoring.batches)
    async with opening as (asked, ledger):
        model = directors.ModelJudge(asked, temperature=run.models.temperature)
        graded, stopped = await directors.grade_recorded(model, reports)
    scoring.ledger.include(ledger)
    if stopped is not None:
        scoring.stopped = type(stopped)(f"{stopped}; {len(graded)} of {len(reports)} reports are graded")
    return graded


def _grades_document(path: Path, judgements: Sequence[Judgement], scoring: _Scoring) -> dict[str, Any]:
    """Returns the figures of one file, as `--json` prints them; by doctor if there are several."""
    first, doctors, rules = judgements[0], recorded.by_doctor(judgements), scoring.rules
    missing_grade = rules.of(rules.settings.missing_grade)
    of = partial(recorded.summarise, missing_grade=missing_grade, seed=scoring.run.seed)
    whole = of(judgements)
    return {
        "file": str(path),
        "judge": {"name": first.judge, "version": first.version, "prompts": first.prompts},
        "protocol": rules.given,
        "missing_grade": missing_grade,
        "n": len(judgements),
        **msgspec.structs.asdict(whole),
        "brackets": recorded.brackets(whole.metrics),
        "unreadable": recorded.unreadable(judgements),
        "doctors": {name: of(theirs) for name, theirs in doctors.items()} if len(doctors) > 1 else {},
        "ties": recorded.ties(judgements),
    }


def _people(paths: Sequence[Path], read: Sequence[Sequence[Judgement]], seed: int) -> dict[str, Any]:
    """Returns what people grade of the same reports, how far they agree, and how far the judge of the first file does.

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


def _show_grades(screen: Console, graded: Mapping[str, Any]) -> None:
    judge = graded["judge"]
    hashed = f", prompts {judge['prompts']}" if judge["prompts"] else ""
    title = f"{graded['file']}: {graded['n']} reports, judged by {judge['name']}, version {judge['version']}{hashed}"
    screen.print(plain(title), style="bold")
    whole = recorded.GradeSummary(**{name: graded[name] for name in recorded.GradeSummary.__struct_fields__})
    columns = "aspect", "mean ± se", "(bracket)", "95 % interval", "n", "unreadable", *LETTERS, "with length"
    for doctor, summary in (graded["doctors"] or {None: whole}).items():
        shown = table(doctor, columns)
        for aspect, one in summary.metrics.items():
            means = mean_and_error(one, ".3f"), number(one.bracket, ".3f"), interval(one, ".3f")
            counts = one.n, one.unreadable, *summary.grades[aspect].values()
            shown.add_row(aspect, *means, *map(str, counts), number(summary.length[aspect], "+.2f"))
        screen.print(shown)
        if summary.failed:
            failures = ", ".join(f"{n} {plain(name)}" for name, n in summary.failed.items())
            screen.print(f"not judged, and outside every mean: {failures}", style="yellow")
    if graded["protocol"] == "paper":
        screen.print("protocol paper: a missing grade counts as 1", style="dim")
    problems = ((f"without a grade on {one.aspect}: {one.problem}", one.case) for one in graded["unreadable"])
    show_problems(screen, problems)
    screen.print()


def _show_two_judges(screen: Console, agreed: Mapping[Aspect, recorded.TwoJudges], names: str) -> None:
    measures = "alike", "within one", "kappa", "weighted kappa", "Spearman", "first", "second", "n", "ungraded"
    shown = table(f"{names}, on the reports of both", ("aspect", *measures))
    for aspect, two in agreed.items():
        shares = [number(value, ".1f", " %") for value in (two.exact.percent, two.within_one)]
        numbers = (two.exact.kappa, two.weighted_kappa, two.spearman, *(two.means or (None, None)))
        shown.add_row(
            aspect, *shares, *(number(value, ".3f") for value in numbers), str(two.exact.n), str(two.ungraded)
        )
    screen.print(shown)


async def icd(
    file: Annotated[Path, Parameter(help="Traces of ours, or recorded reports; one doctor a file.")],
    /,
    *,
    reference: Reference = None,
    table: Annotated[
        Path | None,
        setting("icd"),
        FILE,
        Parameter(help="Table of ICD-10 (.xls, .csv, .tsv: code, title); by default the English one."),
    ] = None,
    plain: Annotated[
        bool, Parameter(help="The baseline: cut at punctuation, plain edit distance."), setting("icd")
    ] = False,
    nearest: Annotated[
        bool,
        Parameter(
            negative=(),
            help="As the authors of AI Hospital: two names are the same if one of their ten nearest titles is.",
        ),
        setting("icd"),
    ] = False,
    names_by: Annotated[
        str | None,
        Parameter(metavar="MODEL", help="A model that reads the diseases out of the diagnoses, in place of rules."),
        setting("icd"),
    ] = None,
    how: ScoreOptions = _SCORE,
) -> None:
    """Links the diagnoses of the reports to ICD-10, and scores them."""
    begun = time.perf_counter()
    scoring = _Scoring(how, names_by, "scoring")
    rules, names = scoring.rules, scoring.rules.settings.names
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
    if names_by is not None:
        reports, by_rules = await _named_by(names_by, reports, scoring)
        scoring.check_any(reports.pairs)
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
    document = {
        "file": str(file),
        "layout": reports.layout,
        "n": len(summary.cases),
        "metrics": {name: {"mean": e.mean, "low": e.low, "high": e.high} for name, e in summary.metrics.items()},
        "standard_errors": {name: e.stderr for name, e in summary.metrics.items()},
        "per_case": summary.per_case,
        "reference_number": summary.reference_number,
        "table": len(entries),
        "names": summary.names,
        "unlinked": summary.unlinked,
        "ties": summary.tied,
        "ties_across_categories": summary.tied_categories,
        "without_names": summary.without_names,
        "unreadable": reports.unreadable,
        "failed": sum(problem.failed for problem in reports.left_out),
        "left_out": reports.left_out,
        "cases": summary.cases,
        "seconds": round(time.perf_counter() - begun, 2),
        "protocol": how.protocol,
        "nearest": nearest,
        "names_by": names_by,
        "names_by_rules": by_rules,
    }
    if by_rules and not how.json:
        lost = ", ".join(f"{n} {error}" for error, n in by_rules.items())
        note(f"diagnoses that {names_by} gave no usable names of, read by rules: {lost}")
    scoring.finish(document, partial(_show_codes, document=document, summary=summary))


async def _named_by(
    model: str, reports: icd_scores.NamedReports, scoring: _Scoring
) -> tuple[icd_scores.NamedReports, dict[str, int]]:
    """Returns the reports with the names that a model reads; of a run that was stopped, those that it has read."""
    from polyclinic.judging.disease_names import extract_diseases  # noqa: PLC0415 - only if a model reads names
    from polyclinic.judging.model_judging import NotAsked, UntilStopped  # noqa: PLC0415

    run, texts, until = scoring.run, icd_scores.texts_of(reports.pairs), UntilStopped(is_stopped=is_stopped)
    named = {"named": "disease names", "episode": "disease extraction", "option": "--names-by"}
    async with open_judge(model, run, **named, what="scoring", batches=scoring.batches) as (asked, ledger):
        with progress("reading names", len(set(texts)), quiet=run.json) as advance:
            reader, temperature = until.of(asked), run.models.temperature
            found = await extract_diseases(texts, reader, temperature=temperature, advance=advance)
    scoring.ledger.include(ledger)
    read = [pair for pair in reports.pairs if not found.left & set(icd_scores.texts_of([pair]))]
    by_rules = dict(found.by_rules)
    if until.stopped is not None:
        by_rules.pop(NotAsked.__name__, None)
        said = f"{until.stopped}; {len(read)} of {len(reports.pairs)} reports are read"
        scoring.stopped = type(until.stopped)(said)
    pairs = tuple(icd_scores.with_names(pair, found.names) for pair in read)
    return msgspec.structs.replace(reports, pairs=pairs), by_rules


def _show_codes(screen: Console, *, document: Mapping[str, Any], summary: Any) -> None:
    shown = table(document["file"], ("metric", "pooled ± se", "95 % interval", "mean of cases ± se", "n"))
    for name, e in summary.metrics.items():
        mean = mean_and_error(summary.per_case[name]) if name in summary.per_case else ""
        shown.add_row(name.replace("_", " "), mean_and_error(e), interval(e), mean, str(e.n))
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
    screen.print(Text(counts, style="bold"), soft_wrap=True)
    screen.print(linked, style="dim", soft_wrap=True)
    show_left_out(screen, document["left_out"])
