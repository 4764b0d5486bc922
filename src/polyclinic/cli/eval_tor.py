"""`polyclinic eval tor` and `polyclinic study tor`: methods on whole records, and what each part of one brings."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from polyclinic import __version__
from polyclinic.cases.shipped import shipped_path
from polyclinic.cli.evaluation import check_looks_up, finish, judge_of, underway, within_budget
from polyclinic.cli.sessions import session_of
from polyclinic.errors import RunStopped, StoppedEarly, UserError
from polyclinic.evaluations.as_paper import as_paper
from polyclinic.evaluations.people import read_people, with_agreement
from polyclinic.evaluations.protocol import mind_kind, say
from polyclinic.evaluations.tor.ablations import shown_by, tables
from polyclinic.evaluations.tor.evaluation import RecordScores
from polyclinic.evaluations.tor.inpatients import Inpatient, read_inpatients
from polyclinic.evaluations.tor.runs import RULES, RecordsAndMinds, run_on_records, with_ratings
from polyclinic.evaluations.tor.tables import ablation_output, outcome_names, records_output
from polyclinic.judging.explanations import read_ratings
from polyclinic.judging.model_judging import UntilStopped
from polyclinic.judging.people import MeansByPeople, figures
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.methods.table import ChosenMethod, ModelFor, choose
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker, Tuning, with_hooks
from polyclinic.models.session import Session
from polyclinic.players.rules.specialists import RulesDoctors
from polyclinic.protocols.following import FollowedProtocol, follow
from polyclinic.protocols.papers import TorSettings
from polyclinic.retrieval.library import open_library
from polyclinic.retrieval.retriever import PASSAGES, LookingUp
from polyclinic.run.batching import batches_beside
from polyclinic.run.case_files import note_share
from polyclinic.run.options import (
    FILE,
    LIBRARY,
    POSITIVE,
    RUN,
    BatchApi,
    Cases,
    Layout,
    Library,
    Limit,
    Protocol,
    RunOptions,
    Several,
    StrictSetting,
)
from polyclinic.run.parts import end_of_part
from polyclinic.settings import setting
from polyclinic.stopping import is_stopped
from polyclinic.terminal.tables import counted


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """Which records are put to whom."""

    cases: Cases
    layout: Layout = None
    strict: StrictSetting = False
    limit: Limit = None
    model: Annotated[list[str] | None, Several, Parameter(metavar="MODEL")] = None
    """local, direct/NAME (with --base-url), or a name that Inspect knows; several stand beside one another."""
    doctor: Annotated[str | None, Parameter(metavar="rules")] = None
    """The doctors by rules, in a model's place: rules."""
    library: Library = LIBRARY
    answer_tokens: Annotated[int | None, POSITIVE] = None
    """The longest answer to a call; a longer one is cut off. The server's where left out."""

    def minds(self) -> list[str]:
        """Returns the models, or the doctors by rules.

        Raises:
            UserError: neither is named, or both, or other doctors.
        """
        if self.model is None and self.doctor is None:
            raise UserError("name who thinks: --model MODEL, or --doctor rules")
        if self.model is not None and self.doctor is not None:
            raise UserError("--model and --doctor are both named; one of them says who thinks")
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
        setting(""),
        Parameter(name="--method-settings", help="Settings of the methods, KEY=VALUE, or METHOD.KEY=VALUE of one."),
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
    verdicts: Annotated[
        list[Path] | None,
        Several,
        Parameter(
            metavar="FILE...",
            help="People's verdicts of the form explanations ('polyclinic verdicts'); they stand beside the judge's.",
        ),
    ] = None,
    protocol: Protocol = "ours",
    batch_api: BatchApi = False,
    run: RunOptions = RUN,
) -> None:
    """Puts records to methods, and prints what they chose of the options, and what bears it."""
    rules = _followed(options, protocol)
    chosen = choose(method or ["tree_of_reasoning"], settings or [])
    _check_settings(chosen, options, run)
    chosen = [_as_paper(one, rules) for one in chosen]
    patients = _patients(options, run)
    say(rules, here := _departures(rules, options, patients))
    people = read_ratings(ratings) if ratings is not None else {}
    called = outcome_names({mind: [one.label for one in chosen] for mind in options.minds()})
    explained = {(patient.id, name): None for patient in patients for name in called.values()}
    said = read_people(verdicts, {"explanations": explained})
    results: dict[str, dict[str, RecordScores]] = {}
    named = f"tor {Path(options.cases).name}"
    asked = [*options.minds(), judge]
    batches = batches_beside(run, asked, wanted=batch_api, methods=chosen)
    async with _open(options, run, named=named, judges=judge_of(judge), batches=batches) as (session, library):
        wards = {mind: _ward(session, library, options, mind, patients, run) for mind in options.minds()}
        stopped = await _put(wards, chosen, results, run)
        for mind, result in results.items():
            until = UntilStopped(is_stopped=is_stopped)
            model = None if judge is None else until.of(session.model(judge, Asker("judge", f"judge {mind}")))
            results[mind] = await with_ratings(result, patients, judge=model, people=people, seed=run.seed)
            stopped = stopped or until.ending
        end_of_part(run, stopped)
    title = f"tor, {counted(len(patients), 'record')}"
    about = _about(options, run, patients) | {
        "methods": {one.label: {"method": one.name, "settings": one.settings} for one in chosen},
        "judge": judge,
        "protocol": protocol,
        "departures": here,
        "ratings": None if ratings is None else str(ratings),
    }
    means = figures(said, "explanations", seed=run.seed)
    beside = {name: one for name, one in means.items() if isinstance(one, MeansByPeople)}
    output = records_output(results, patients, title, about, people=beside, seed=run.seed)
    output = with_agreement(output, said, seed=run.seed)
    output = replace(output, departures=here)
    failure = _unjudged([one for methods in results.values() for one in methods.values()], run)
    finish(output, run, session.ledger, purposes=False, stopped=stopped, failure=failure)


async def ablation(*, options: RecordOptions, protocol: Protocol = "ours", run: RunOptions = RUN) -> None:
    """Puts records to Tree-of-Reasoning without one part after the other, and prints its Tables 2 and 3."""
    rules = _followed(options, protocol)
    patients = _patients(options, run)
    minds = options.minds()
    if len(minds) > 1:
        raise UserError(f"--model names {len(minds)} models; the ablation is of one")
    _check_settings([], options, run)
    every = {
        name: [msgspec.structs.replace(row, settings=_as_paper(row.method, rules).settings) for row in rows]
        for name, rows in tables().items()
    }
    say(rules, here := _departures(rules, options, patients))
    methods: dict[str, ChosenMethod] = {row.method.label: row.method for rows in every.values() for row in rows}
    came: dict[str, dict[str, RecordScores]] = {}
    async with _open(options, run, named=f"tor ablation {Path(options.cases).name}") as (session, library):
        ward = _ward(session, library, options, minds[0], patients, run)
        stopped = await _put({minds[0]: ward}, list(methods.values()), came, run)
        end_of_part(run, stopped)
    results = came[minds[0]]
    shown = shown_by(results, patients, read_knowledge(), every=every, seed=run.seed)
    title = counted(len(patients), "record")
    about = _about(options, run, patients) | {"study": "tor", "protocol": protocol, "departures": here}
    output = ablation_output(results, every, shown, model=minds[0], title=title, about=about, seed=run.seed)
    output = replace(output, departures=here)
    finish(output, run, session.ledger, purposes=False, stopped=stopped, what="study")


async def _put(
    wards: Mapping[str, RecordsAndMinds],
    chosen: Sequence[ChosenMethod],
    results: dict[str, dict[str, RecordScores]],
    run: RunOptions,
) -> RunStopped | None:
    """Puts the records to one mind after the other, and adds what came; returns what ended that early, if anything.

    Raises:
        StoppedEarly: it ended before anything was over.
    """
    total = sum(len(ward.patients) for ward in wards.values()) * len(chosen)
    with underway("diagnosing", total, run) as advance:
        for mind, ward in wards.items():
            try:
                results[mind] = await run_on_records(ward, chosen, advance=advance)
            except StoppedEarly as stopped:
                if stopped.summary is not None:
                    results[mind] = stopped.summary
                if not results:
                    raise
                later = [*wards][[*wards].index(mind) + 1 :]
                left = f"; not begun: {', '.join(later)}" if later else ""
                return StoppedEarly(stopped, f"of {mind}{left}" if len(wards) > 1 else "")
    return None


def _followed(options: RecordOptions, protocol: str) -> FollowedProtocol[TorSettings]:
    """Returns what is followed, after a look at who thinks and how things are looked up."""
    rules = follow(TorSettings, protocol)
    if options.doctor is not None:
        rules.check_mind("doctors", "--doctor", options.doctor, mind_kind(options.doctor))
    if options.library.corpus is not None:
        rules.check_value("--by", options.library.by, rules.settings.by)
        rules.check_value("--passages", options.library.passages, rules.settings.passages)
    return rules


def _departures(
    rules: FollowedProtocol[TorSettings], options: RecordOptions, patients: Sequence[Inpatient]
) -> list[str]:
    """Returns what of a run that follows the paper is not the paper's, beside what never is."""
    if rules.side == "ours":
        return []
    found = [f"records ({rules.settings.records.paper}; here {len(patients)})"]
    if options.library.corpus is None:
        found.append(f"nothing looked up ({', '.join(rules.settings.corpora.paper)}; here no --corpus)")
    return found + rules.changed


def _as_paper(chosen: ChosenMethod, rules: FollowedProtocol[TorSettings]) -> ChosenMethod:
    """Returns Tree-of-Reasoning with the paper's settings where those are followed, and any other method as it is."""
    if chosen.name != "tree_of_reasoning":
        return chosen
    own = {key: getattr(rules.settings, key) for key in ("rounds", "turns", "form", "update_from", "targets")}
    # What the ablation leaves out has no form, and nobody whom it could be said to.
    idle = {"form"} if chosen.settings.get("tree") is False else set()
    idle |= {*own} - {"form"} if chosen.settings.get("cross_verification") is False else set()
    return as_paper(chosen, {key: one for key, one in own.items() if key not in idle}, rules)


def _check_settings(chosen: Sequence[ChosenMethod], options: RecordOptions, run: RunOptions) -> None:
    """Refuses settings that change nothing without a corpus, or where doctors by rules think."""
    of_models = {"--answer-tokens": options.answer_tokens, "--temperature": run.models.temperature}
    if options.doctor is not None and (idle := [name for name, value in of_models.items() if value is not None]):
        raise UserError(f"{idle[0]} has no effect on --doctor rules; it needs --model MODEL, or leave it out")
    if (corpus := options.library.corpus) is not None:
        if options.doctor is not None:
            raise UserError(
                f"--corpus {corpus} has no effect on --doctor rules, who look nothing up; it needs --model MODEL, or "
                "leave it out"
            )
        check_looks_up(chosen, corpus)
    for one in chosen:
        if one.name != "tree_of_reasoning":
            continue
        for names, there, needed in (
            (("passages", "retrieval"), options.library.corpus is not None, "--corpus NAME beside it"),
            (("form", "top_p"), options.doctor is None, "--model in the place of --doctor"),
        ):
            if not there and (given := [name for name in names if name in one.settings]):
                raise UserError(f"setting {one.name}.{given[0]} has no effect here; it needs {needed}, or leave it out")


def _about(options: RecordOptions, run: RunOptions, patients: Sequence[Inpatient]) -> dict[str, Any]:
    """Returns what a run was of, for whoever finds its results."""
    library = options.library
    looked_up = {"by": library.by, "passages": library.passages or PASSAGES} if library.corpus is not None else {}
    return {
        "cases": options.cases,
        "cases_sha256": hashlib.sha256(shipped_path(options.cases).read_bytes()).hexdigest(),
        "layout": options.layout,
        "limit": options.limit,
        "records": len(patients),
        "models": options.minds(),
        "seed": run.seed,
        "temperature": run.models.temperature,
        "answer_tokens": options.answer_tokens,
        "corpus": library.corpus,
        **looked_up,
        "version": __version__,
    }


def _unjudged(results: Sequence[RecordScores], run: RunOptions) -> str:
    """Says how the judge had no marks for more explanations than may fail; "" where it had."""
    lost = sum(sum(one.unjudged.values()) for one in results)
    asked = lost + sum(one.judged for one in results)
    if 100 * lost <= run.max_failures * asked:
        return ""
    names = ", ".join(dict.fromkeys(name for one in results for name in one.unjudged))
    problem = f"{lost} of {asked} explanations have no marks of the judge's ({names})"
    return f"{problem}, more than run.max-failures {run.max_failures:g} allows"


def _patients(options: RecordOptions, run: RunOptions) -> Sequence[Inpatient]:
    found, share = read_inpatients(
        options.cases, read_knowledge(), layout=options.layout, limit=options.limit, strict=options.strict
    )
    note_share(share)
    return run.part.mine(found)


@asynccontextmanager
async def _open(
    options: RecordOptions,
    run: RunOptions,
    *,
    named: str,
    judges: Sequence[str] = (),
    batches: Path | str | None = None,
) -> AsyncIterator[tuple[Session, LookingUp | None]]:
    names = [mind for mind in options.minds() if mind != RULES]
    opening = session_of(run, [*names, *judges], named=f"seed={run.seed} {named}", batches=batches)
    with within_budget(run):
        async with opening as session, open_library(options.library, session, run.models) as library:
            yield session, library


def _ward(
    session: Session,
    library: LookingUp | None,
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
        looking_up=library,
        temperature=run.models.temperature,
        seed=run.seed,
    )


def _models(session: Session, options: RecordOptions, name: str) -> Callable[[str], ModelFor]:
    """Returns the model for each method and record, its answers kept under both and no longer than is allowed."""

    def models(label: str) -> ModelFor:
        def model_for(case: str) -> Model:
            model = session.model(name, Asker(label, f"{label} {case}", item=case, player=label))
            return (
                model if options.answer_tokens is None else with_hooks(model, Tuning(max_tokens=options.answer_tokens))
            )

        return model_for

    return models
