"""`polyclinic score icd`: the diseases of reports against those of the reference, as codes of ICD-10."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from polyclinic.cli.evaluation import goes_on
from polyclinic.cli.sessions import open_judge
from polyclinic.errors import RunStopped, UserError
from polyclinic.evaluations.aie.tables import show_left_out
from polyclinic.evaluations.protocol import at_temperatures, followed
from polyclinic.judging.disease_names import extract_diseases
from polyclinic.judging.model_judging import NotAsked, UntilStopped
from polyclinic.metrics.disease_names import split_names
from polyclinic.metrics.icd.linking import (
    IcdEntry,
    NearestTitles,
    Titles,
    english_entries,
    link_plainly,
    read_entries,
    split_plainly,
)
from polyclinic.metrics.icd.scores import (
    IcdSummary,
    NamedReports,
    ReportLayout,
    read_named_reports,
    score_names,
    texts_of,
    whole_text,
    with_names,
)
from polyclinic.metrics.recorded_reports import read_references
from polyclinic.models.ledger import Ledger
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import MvmeSettings
from polyclinic.run.batching import batches_beside
from polyclinic.run.options import (
    FILE,
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
from polyclinic.stopping import is_stopped
from polyclinic.terminal.screen import console, note, print_json, progress
from polyclinic.terminal.tables import interval, mean_and_error
from polyclinic.terminal.tables import table as table_of

_ROWS = (
    ("names a report", "number", None),
    ("precision", "precision", "precision"),
    ("recall", "recall", "recall"),
    ("F1", "f1", "f1"),
    ("categories a report", "category_number", None),
    ("precision by category", "category_precision", "category_precision"),
    ("recall by category", "category_recall", "category_recall"),
    ("F1 by category", "category_f1", "category_f1"),
)


async def icd(
    file: Annotated[Path, Parameter(help="Traces of ours, or recorded reports; one doctor a file.")],
    /,
    *,
    layout: Annotated[
        ReportLayout | None,
        setting("score"),
        Parameter(help="Layout of the file; recognised by its first record."),
    ] = None,
    reference: Annotated[
        Path | None,
        FILE,
        Parameter(help="References of recorded dialogues and collaborations: published evaluations of the same cases."),
    ] = None,
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
    known_codes: Annotated[
        bool, Parameter(help="Take the codes that typed diagnoses have, instead of their names."), setting("icd")
    ] = False,
    protocol: Protocol = "ours",
    seed: BootstrapSeed = 0,
    json: Json = False,
    models: Models = MODELS,
    batch_api: BatchApi = False,
    kept: KeptOptions = NOWHERE,
) -> None:
    """Links the diagnoses of the reports to ICD-10, and scores them."""
    begun, batches = time.perf_counter(), batches_beside(kept, [names_by], wanted=batch_api)
    references = None if reference is None else read_references(reference)
    rules = _followed(protocol, names_by, plain=plain, known_codes=known_codes)
    models = at_temperatures(rules, models, {"judge": [names_by]})
    nearest = nearest or rules.of(rules.settings.links) == "ten nearest titles"
    if nearest and known_codes:
        raise UserError("icd.nearest compares names and no codes; leave icd.known-codes out")
    if names_by is not None and (plain or known_codes):
        raise UserError(
            f"--names-by has no effect with {'icd.plain' if plain else 'icd.known-codes'}; leave one of them out"
        )
    split = whole_text if names_by is not None else split_plainly if plain else split_names
    reports = read_named_reports(file, layout=layout, references=references, split=split)
    by_rules: dict[str, int] = {}
    ledger, stopped = None, None
    if names_by is not None:
        run = RunOptions(seed=seed, json=json, models=models, journal=kept.journal, store=kept.store)
        reports, by_rules, ledger, stopped = await _named_by(names_by, reports, run, batches)
    if stopped is not None:
        if not reports.pairs:
            raise goes_on(stopped, kept, "scoring")
        note("stopped early; what is over:")
    entries = _entries(reports, table)
    linker = partial(link_plainly, entries=entries) if plain else Titles(entries).link_all
    linker = NearestTitles(entries, linker).link_all if nearest else linker
    summary = score_names(reports.pairs, linker, known_codes=known_codes, seed=seed)
    seconds = time.perf_counter() - begun
    document = _document(file, reports, entries, summary, seconds)
    document |= {"protocol": protocol, "nearest": nearest, "names_by": names_by, "names_by_rules": by_rules}
    if stopped is not None:
        document["stopped"] = str(stopped)
    keep_outcome(kept, document, models=models, ledger=ledger, seed=seed, stopped=stopped)
    if json:
        print_json(document)
    else:
        _show(console(), file, reports, entries, summary, seconds)
        if by_rules:
            lost = ", ".join(f"{n} {error}" for error, n in by_rules.items())
            note(f"diagnoses that {names_by} gave no usable names of, read by rules: {lost}")
    if stopped is not None:
        raise goes_on(stopped, kept, "scoring")


def _followed(
    protocol: str,
    names_by: str | None,
    *,
    plain: bool,
    known_codes: bool,
) -> FollowedProtocol[MvmeSettings]:
    """Returns what is followed, after a look at how names are read and compared."""
    rules = followed(MvmeSettings, protocol)
    names = rules.settings.names
    for option, given in (("icd.plain", plain), ("icd.known-codes", known_codes)):
        rules.check_switch(option, given, "compares the names that a model reads", names.section)
    if names_by is None and rules.side == "paper" and names.paper == "model":
        raise UserError(
            f"--protocol {protocol} has names that a model reads ({names.section}); add --names-by MODEL, or take "
            "--protocol ours"
        )
    return rules


async def _named_by(
    model: str, reports: NamedReports, run: RunOptions, batches: Path | str | None
) -> tuple[NamedReports, dict[str, int], Ledger, RunStopped | None]:
    """Returns the reports with the names that a model reads; of a run that was stopped, those that it has read."""
    opening = open_judge(
        model,
        run,
        named="disease names",
        episode="disease extraction",
        what="scoring",
        option="--names-by",
        batches=batches,
    )
    texts = texts_of(reports.pairs)
    async with opening as asked:
        with progress("reading names", len(set(texts)), quiet=run.json) as advance:
            until = UntilStopped(is_stopped=is_stopped)
            reader, temperature = until.of(asked.model), run.models.temperature
            found = await extract_diseases(texts, reader, temperature=temperature, advance=advance)
    pairs = tuple(with_names(pair, found.names) for pair in reports.pairs if not found.left & set(texts_of([pair])))
    stopped, by_rules = None, dict(found.by_rules)
    if until.stopped is not None:
        by_rules.pop(NotAsked.__name__, None)
        stopped = type(until.stopped)(f"{until.stopped}; {len(pairs)} of {len(reports.pairs)} reports are read")
    return msgspec.structs.replace(reports, pairs=pairs), by_rules, asked.ledger, stopped


def _entries(reports: NamedReports, table: Path | None) -> Sequence[IcdEntry]:
    if table is not None:
        return read_entries(table)
    if reports.language == "zh":
        raise UserError(
            "the cases are Chinese, and so must be the titles of ICD-10: name a table with --set score.table=FILE"
        )
    return english_entries()


def _document(
    file: Path, reports: NamedReports, entries: Sequence[IcdEntry], summary: IcdSummary, seconds: float
) -> dict[str, Any]:
    return {
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
        "seconds": round(seconds, 2),
    }


def _show(
    screen: Console, file: Path, reports: NamedReports, entries: Sequence[IcdEntry], summary: IcdSummary, seconds: float
) -> None:
    shown = table_of(str(file), ("metric", "pooled ± se", "95 % interval", "mean of cases ± se", "n"))
    for label, name, case in _ROWS:
        e = summary.metrics[name]
        mean = mean_and_error(summary.per_case[case]) if case is not None else ""
        shown.add_row(label, mean_and_error(e), interval(e), mean, str(e.n))
    screen.print(shown)
    n, empty = len(summary.cases), summary.without_names
    failed = sum(problem.failed for problem in reports.left_out)
    counts = (
        f"{n} report{'s' if n != 1 else ''}; {reports.unreadable} unreadable and {empty} in which no disease is named "
        f"(counted, with no code); {len(reports.left_out)} left out, {failed} of them failed"
    )
    screen.print(Text(counts, style="bold"), soft_wrap=True)
    linked = (
        f"{summary.names} different names against {len(entries)} titles in {seconds:.1f} s: {summary.unlinked} "
        f"unlinked, {summary.tied} fit several codes equally well ({summary.tied_categories} in several categories)"
    )
    screen.print(linked, style="dim", soft_wrap=True)
    show_left_out(screen, reports.left_out)
