"""`polyclinic eval tor` and `polyclinic study tor`: methods on whole records, and what each part of one brings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.benchmarks.tor.ablations import shown_by, tables
from polyclinic.benchmarks.tor.evaluation import RecordScores
from polyclinic.benchmarks.tor.inpatients import Inpatient, inpatients
from polyclinic.benchmarks.tor.runs import RULES, RecordsAndMinds, run_on_records, with_ratings
from polyclinic.benchmarks.tor.tables import ablation_output, records_output
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.shipped import shipped_path
from polyclinic.cli.evaluation import finish, judge_of, within_budget
from polyclinic.cli.options import FILE, POSITIVE, RUN, Cases, Layout, Limit, RunOptions, Several
from polyclinic.errors import UserError
from polyclinic.judges.explanations import read_ratings
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.methods.table import ChosenMethod, ModelFor, choose
from polyclinic.models.model import Bounded, Model
from polyclinic.models.session import Session, open_session
from polyclinic.players.rules.specialists import RulesDoctors
from polyclinic.retrieval.library import find_corpus
from polyclinic.retrieval.opening import open_corpus
from polyclinic.retrieval.retriever import Retriever
from polyclinic.terminal.screen import progress
from polyclinic.terminal.tables import counted


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """Which records are put to whom."""

    cases: Cases
    layout: Layout = None
    limit: Limit = None
    model: Annotated[list[str] | None, Several, Parameter(metavar="MODEL")] = None
    """local, direct/NAME (with --base-url), or a name that Inspect knows; several stand beside one another."""
    doctor: Annotated[str | None, Parameter(metavar="rules")] = None
    """The doctors by rules, in a model's place: rules."""
    corpus: Annotated[str | None, Parameter(metavar="NAME")] = None
    """Where the doctors look things up: a corpus of 'polyclinic corpus add'; nowhere where left out."""
    answer_tokens: Annotated[int | None, POSITIVE] = None
    """The longest answer to a call; a longer one is cut off. The server's where left out."""

    def minds(self) -> list[str]:
        """Returns the models, or the doctors by rules.

        Raises:
            UserError: neither is named, or both, or other doctors.
        """
        if (self.model is None) == (self.doctor is None):
            raise UserError("name who thinks: --model MODEL, or --doctor rules")
        if self.doctor not in (None, RULES):
            raise UserError(f"--doctor {self.doctor!r}; by itself there is rules, and a model is named with --model")
        return list(dict.fromkeys(self.model or [RULES]))


async def tor(
    *,
    options: RecordOptions,
    method: Annotated[
        list[str] | None,
        Several,
        Parameter(metavar="NAME", help="A method by name, or FILE.py:NAME; several may be named."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Parameter(
            name="--set", metavar="KEY=VALUE", help="A setting of the methods, or METHOD.KEY=VALUE; may be repeated."
        ),
    ] = None,
    judge: Annotated[
        str | None, Parameter(metavar="MODEL", help="Who marks relevance and completeness; nobody where left out.")
    ] = None,
    ratings: Annotated[
        Path | None,
        FILE,
        Parameter(
            help="Marks of people, a line of JSON each: case, method, rater, relevance, completeness. They go before "
            "the judge's."
        ),
    ] = None,
    run: RunOptions = RUN,
) -> None:
    """Puts records to methods, and prints what they chose of the options, and what bears it."""
    chosen = choose(method or ["tree_of_reasoning"], settings or [])
    patients = _patients(options)
    people = read_ratings(ratings) if ratings is not None else {}
    results: dict[str, dict[str, RecordScores]] = {}
    named = f"tor {Path(options.cases).name}"
    async with _open(options, run, named=named, judges=judge_of(judge)) as (session, library):
        total = len(patients) * len(chosen) * len(options.minds())
        with progress("diagnosing", total, quiet=run.json) as advance:
            for mind in options.minds():
                results[mind] = await run_on_records(
                    _ward(session, library, options, mind, patients, run), chosen, advance=advance
                )
        for mind, result in results.items():
            model = None if judge is None else session.metered(judge, role="judge", episode=f"judge {mind}")
            results[mind] = await with_ratings(result, patients, judge=model, people=people, seed=run.seed)
    title = f"tor, {counted(len(patients), 'record')}"
    finish(records_output(results, patients, title), run, session.ledger, purposes=False)


async def ablation(*, options: RecordOptions, run: RunOptions = RUN) -> None:
    """Puts records to Tree-of-Reasoning without one part after the other, and prints its Tables 2 and 3."""
    patients = _patients(options)
    minds = options.minds()
    if len(minds) > 1:
        raise UserError(f"--model names {len(minds)} models; the ablation is of one")
    every = tables()
    methods: dict[str, ChosenMethod] = {row.method.label: row.method for rows in every.values() for row in rows}
    async with _open(options, run, named=f"tor ablation {Path(options.cases).name}") as (session, library):
        with progress("diagnosing", len(patients) * len(methods), quiet=run.json) as advance:
            ward = _ward(session, library, options, minds[0], patients, run)
            results = await run_on_records(ward, list(methods.values()), advance=advance)
    shown = shown_by(results, patients, read_knowledge(), seed=run.seed)
    title = counted(len(patients), "record")
    finish(ablation_output(results, every, shown, model=minds[0], title=title), run, session.ledger, purposes=False)


def _patients(options: RecordOptions) -> list[Inpatient]:
    cases = list(read_cases(shipped_path(options.cases), layout=options.layout))
    return inpatients(cases[: options.limit], read_knowledge())


@asynccontextmanager
async def _open(
    options: RecordOptions, run: RunOptions, *, named: str, judges: Sequence[str] = ()
) -> AsyncIterator[tuple[Session, Retriever | None]]:
    names = [mind for mind in options.minds() if mind != RULES]
    opening = open_session(
        [*names, *judges], run.models, journal=run.journal, run=f"seed={run.seed} {named}", seed=run.seed
    )
    with within_budget(run):
        async with opening as session, AsyncExitStack() as stack:
            library = None
            if options.corpus is not None:
                library = await stack.enter_async_context(open_corpus(find_corpus(options.corpus)))
            yield session, library


def _ward(
    session: Session,
    library: Retriever | None,
    options: RecordOptions,
    mind: str,
    patients: Sequence[Inpatient],
    run: RunOptions,
) -> RecordsAndMinds:
    knowledge = read_knowledge()
    return RecordsAndMinds(
        patients=patients,
        knowledge=knowledge,
        models=None if mind == RULES else _models(session, options, mind),
        doctors=RulesDoctors(knowledge) if mind == RULES else None,
        retriever=library,
        temperature=run.models.temperature,
        seed=run.seed,
    )


def _models(session: Session, options: RecordOptions, name: str) -> Callable[[str], ModelFor]:
    """Returns the model for each method and record, its answers kept under both and no longer than is allowed."""

    def models(label: str) -> ModelFor:
        def model_for(case: str) -> Model:
            model = session.metered(name, role=label, episode=f"{label} {case}")
            return model if options.answer_tokens is None else Bounded(model, options.answer_tokens)

        return model_for

    return models
