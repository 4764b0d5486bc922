"""`polyclinic run`: a town, its hospital, and what happens there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from cyclopts import Group, Parameter

from polyclinic import stopping
from polyclinic.cli.live import PORT, Live, Port, stay, watch, where_kept
from polyclinic.cli.replicas import ReplicaOptions, replicated
from polyclinic.cli.run_progress import watching
from polyclinic.cli.run_tables import show_replicas, show_run, show_so_far
from polyclinic.errors import BudgetSpent, PersonLeft, PlayFailure, PolyclinicError, StoppedByHand, UserError
from polyclinic.evaluations.protocol import followed, say
from polyclinic.files import make_folder
from polyclinic.fingerprints import of_file, others
from polyclinic.hospital.care.remembering import about_memories, check_learns
from polyclinic.hospital.care.setup import Feedback, LearningSetup, MemoryHolder, Setup
from polyclinic.hospital.configuration import Configuration, read_configuration
from polyclinic.hospital.learning import read_whole
from polyclinic.hospital.plan.events import read_events
from polyclinic.hospital.plan.file import PRESETS, read_hospital
from polyclinic.hospital.plan.plan import MOST_RESIDENTS, Job
from polyclinic.hospital.record.comparison import MEASURES, configuration_differences, run_rows
from polyclinic.hospital.record.happenings import DAY
from polyclinic.hospital.record.memories import bring, memories_of, open_brought
from polyclinic.hospital.record.recorded import RUN, RecordedRun, answers_file, has_begun
from polyclinic.hospital.record.report import figures
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.running import document_of
from polyclinic.hospital.running import run as run_hospital
from polyclinic.hospital.simulation import LOOKAHEAD
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.language.language import Language
from polyclinic.memory.opening import version_of
from polyclinic.models.journal import calls_of, servers_of
from polyclinic.models.ledger import KeptCalls, Ledger
from polyclinic.models.model_file import NOTHING_SAID, read_model_file
from polyclinic.models.settings import ASIDE, Address, ModelSettings
from polyclinic.parallel.pool import check_site
from polyclinic.players.mind_names import HUMAN, model_of
from polyclinic.players.patient_trust import trust_in
from polyclinic.protocols.papers import AgentHospitalSettings
from polyclinic.results.folder import CALLS, AskedModel, CallSum
from polyclinic.results.provenance import asked_models, call_sums, made_of, versions
from polyclinic.run import options
from polyclinic.run.invocation import alters_answers
from polyclinic.run.options import Protocol
from polyclinic.run.output import record_of, write_record
from polyclinic.run.run import AGAIN
from polyclinic.run.storing import check_database, keep_results, results_folder
from polyclinic.settings import setting
from polyclinic.stopping import is_stopped
from polyclinic.terminal.screen import console, note, print_json
from polyclinic.terminal.tables import counted
from polyclinic.terminal.usage import show_by_server

_STAFF = "rules, scripted:FILE, a model, or FILE.py:NAME."

_RESIDENTS = options.between(1, MOST_RESIDENTS)
_MOST_AHEAD = 366 * 24 * 60  # minutes
_DAYS = 5  # from Monday to Friday

_READ = 2_000
"""Expected visits up to which dialogues are kept where nobody says otherwise: by rules some 2 KiB each on disk."""

_MOST_DAYS = 100 * 365
"""With --visits and without --days a run goes on until so many have come; a town that small never ends it otherwise."""


@Parameter(name="*", group=Group("The town and its hospital", sort_key=5))
@dataclass(frozen=True, kw_only=True)
class TownOptions:
    """The town and the hospital of a run."""

    residents: Annotated[int | None, _RESIDENTS, Parameter(show_default="the hospital's, 36,000 in ours")] = None
    """Residents of the town; the number of illnesses a day stays the same."""
    load: Annotated[float, options.between(0.0), setting("run")] = 1.0
    """Illnesses a day, as a multiple of the usual."""
    event: Annotated[
        list[str] | None,
        Parameter(
            metavar="EVENT",
            negative="",
            help='An event, such as "mass arrival 40 at day 3 10:00", "outage laboratory 4 h", "absent doctor '
            'neurology" or "epidemic influenza-a 5 for 14 d"; may be repeated.',
        ),
    ] = None
    days: Annotated[
        int | None, options.between(1, _MOST_DAYS), Parameter(show_default=f"{_DAYS}; any with --visits")
    ] = None
    """Number of days on which people fall ill."""
    warm_up: Annotated[int, options.between(0), Parameter(metavar="DAYS"), setting("run")] = 0
    """Warm-up period in days, which the figures leave out."""
    visits: Annotated[int | None, options.POSITIVE] = None
    """Maximum number of visits."""
    seed: int = 0
    """Random seed."""
    hospital: Annotated[str | None, options.FILE] = None
    """Hospital file, or agent-hospital for that paper's diseases, examinations and outcomes; ours by default."""
    language: Language = "en"
    """Language of the town."""
    examinations: Annotated[int | None, options.POSITIVE, Parameter(show_default="the hospital's"), setting("run")] = (
        None
    )
    """Maximum number of examinations per visit; the paper has 1."""
    lookahead: Annotated[int, options.between(0, _MOST_AHEAD), setting("run")] = LOOKAHEAD
    """Simulated minutes by which visits are computed ahead."""


TOWN = TownOptions()
ONE = ReplicaOptions()


@Parameter(name="*", group=Group("Learning", sort_key=8))
@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """How doctors learn from their patients; None where it was left out."""

    learn: Annotated[bool, Parameter(negative="")] = False
    """Let doctors learn from their patients; they remember it from the next day on."""
    memory: Annotated[Path | None, options.DIR, setting("learning")] = None
    """Memory that all doctors start with, such as the folder of 'polyclinic evolve --out'."""
    memory_of: Annotated[MemoryHolder | None, setting("learning")] = None
    """Whose a memory is: each doctor's (default), or one of all in its department."""
    feedback: Annotated[Feedback | None, setting("learning")] = None
    """What is learnt of a patient: what was right, after the visit (default), or only how it went on."""

    read: Annotated[str | None, Parameter(metavar="NAME"), setting("learning")] = None
    """Off their shifts doctors read this corpus (see polyclinic corpus search), or its folder; for models."""
    passages_a_day: Annotated[int | None, options.POSITIVE, Parameter(show_default="1"), setting("learning")] = None
    """So many passages of it each reads a day, or each department."""

    def setup(self, knowledge: Knowledge, language: Language, doctor: str, *, kept: bool) -> LearningSetup | None:
        """Returns how doctors learn in a run; None where they neither learn nor remember."""
        if not self.learn:
            idle = {"learning.feedback": self.feedback, "learning.read": self.read}
            if self.memory is None:
                idle["learning.memory-of"] = self.memory_of
            for option, value in idle.items():
                if value is not None:
                    raise UserError(f"{option} says how doctors learn; it needs --learn, or leave it out")
            if self.memory is None:
                return None
        if self.passages_a_day is not None and self.read is None:
            raise UserError("learning.passages-a-day has no effect without learning.read; leave it out")
        if self.read is not None:
            if model_of(doctor) is None:
                raise UserError(f"learning.read is for a doctor who reads, a language model, and not for {doctor}")
            if not kept:
                raise UserError("learning.read keeps what is read with the run; say where with --out DIR")
            read_whole(self.read, language)
        check_learns(doctor)
        setup = LearningSetup(
            learns=self.learn,
            holder=self.memory_of or "doctor",
            feedback=self.feedback or "truth",
            language=language,
            version=version_of(None),
            reads=self.read or "",
            passages=self.passages_a_day or 1,
        )
        if self.memory is None:
            return setup
        if doctor == "rules":
            raise UserError("learning.memory is for a doctor who reads: recall, a model, or a mind of your own")
        with open_brought(self.memory, about_memories(knowledge, setup), language) as brought:
            return msgspec.structs.replace(setup, version=version_of(brought))


LEARNING = LearningOptions()


def run(
    *,
    town: TownOptions = TOWN,
    doctor: options.Doctor = "rules",
    patient: options.Patient = "rules",
    nurse: Annotated[
        str, options.MIND, Parameter(help=f"The nurse's mind: {_STAFF} human: you, at the terminal."), setting("run")
    ] = "rules",
    pharmacist: Annotated[
        str, options.MIND, Parameter(help=f"The pharmacist's mind: {_STAFF}"), setting("run")
    ] = "rules",
    examiner: Annotated[options.Examiner, setting("run")] = "rules",
    profiles: Annotated[str, Parameter(metavar="MODEL"), setting("run")] = "",
    course: Annotated[str, Parameter(metavar="MODEL"), setting("run")] = "",
    learning: LearningOptions = LEARNING,
    protocol: Protocol = "ours",
    replicas: ReplicaOptions = ONE,
    traces: Annotated[
        bool | None,
        Parameter(negative="--no-traces", show_default=f"with --out, up to {_READ:,} visits"),
        setting("run"),
    ] = None,
    live: Live = False,
    port: Port = PORT,
    json: options.Json = False,
    max_failures: options.MaxFailures = 5.0,
    models: options.Models = options.MODELS,
    kept: options.KeptOptions = options.NOWHERE,
) -> None:
    """Runs the hospital once or several times, or resumes a run that was kept.

    Args:
        profiles: Model that writes the residents who fall ill; templates by default.
        course: Model that decides the course of illnesses; the knowledge by default.
        traces: Keep every dialogue, for 'polyclinic replay'.
    """
    if HUMAN in (doctor, patient, nurse) and (replicas.on is not None or replicas.several):
        raise UserError("a person plays in one process and one run; leave out --on and --replicas")
    if replicas.on is not None:
        check_site(replicas.on)
    check_database(kept)
    keeps = kept.out is not None or live
    if traces and not keeps:
        raise UserError("--traces keeps dialogues on disk; say where with --out DIR")
    days = town.days or (_DAYS if town.visits is None else _MOST_DAYS)
    if town.warm_up >= days:
        raise UserError(f"run.warm-up {town.warm_up} leaves nothing of {days} days; give fewer, or more --days")
    town, profiles, course = town_of(protocol, town, profiles, course, doctor=doctor, patient=patient, nurse=nurse)
    knowledge = read_knowledge()
    described = read_hospital(town.hospital, knowledge)
    known = knowledge.select(described.illness.diseases)
    learns = learning.setup(known, town.language, doctor, kept=keeps)
    events = read_events(town.event or (), described, knowledge)
    if late := next((event for event in events if event.begin >= days * DAY), None):
        told = f"--event {late.said!r} comes after the run's end, {counted(days, 'day')}"
        raise UserError(f"{told}; leave it out, or give --days")
    setup = Setup(
        seed=town.seed,
        doctor=doctor,
        patient=patient,
        nurse=nurse,
        examiner=examiner,
        pharmacist=pharmacist,
        max_examinations=town.examinations or described.examinations,
        free_examinations=described.free_examinations,
        candidates=described.candidates,
        diseases=described.illness.diseases,
        departments=described.departments,
        learning=learns,
        hospital=described.name,
        staff={one.id: one for one in described.staff.values() if one.job is Job.DOCTOR},
        models=_settings_of(models),
    )
    first = Configuration(
        hospital=described,
        residents=town.residents or described.residents,
        load=town.load,
        days=days,
        warm_up=town.warm_up,
        visits=town.visits,
        seed=town.seed,
        events=events,
        language=town.language,
        lookahead=town.lookahead,
        profiles=profiles,
        course=course,
        setup=setup,
    )
    setup = msgspec.structs.replace(setup, traces=keeps and (worth_reading(first) if traces is None else traces))
    with results_folder(kept) as folder_of_run:
        out = where_kept(folder_of_run, live=live, several=replicas.several)
        if out is not None and replicas.several:
            make_folder(out)
        how = _How(replicas.on, json, kept.database or "")
        held: list[tuple[dict[str, Any], str]] = []
        for seed in replicas.seeds(town.seed, held, quiet=json):
            own = msgspec.structs.replace(setup, seed=seed)
            configuration = msgspec.structs.replace(first, seed=seed, setup=own)
            configuration = msgspec.structs.replace(configuration, made_of=fingerprints_of(configuration))
            if (folder := out / f"seed-{seed}" if out is not None and replicas.several else out) is None:
                held.append(_hold(configuration, None, how, str(learning.memory or "")))
            elif has_begun(folder):
                watch(folder if live else None, port)
                held.append(_go_on(folder, configuration, how))
            else:
                with Store.create(folder, configuration.kept()) as store:
                    if learning.memory is not None and learns is not None:
                        with open_brought(learning.memory, about_memories(known, learns)) as memory:
                            bring(memory, store.folder)
                    watch(folder if live else None, port)
                    held.append(_hold(configuration, store, how))
        _show([document for document, _ in held], replicas, out, json=json, kept=kept)
        stay()
        _check_failures(held, max_failures, quiet=json)


def _settings_of(models: options.AskedModels) -> ModelSettings:
    """Returns how models are asked, wherever a worker runs."""
    settings = {option.name: getattr(models, option.name) for option in fields(ModelSettings)}
    if models.model_file is not None:
        settings["model_file"] = models.model_file.resolve()
    return ModelSettings(**settings)


def worth_reading(configuration: Configuration) -> bool:
    """Returns whether a run is so small that somebody may want to read what was said."""
    fall_ill = configuration.at_work.illness.per_day * configuration.residents * configuration.days
    return (configuration.visits or fall_ill) <= _READ


def _check_failures(held: Sequence[tuple[dict[str, Any], str]], max_failures: float, *, quiet: bool) -> None:
    visits, failed = (sum(document[name] for document, _ in held) for name in ("visits", "failed"))
    first = next((f" (the first: {why})" for _, why in held if why), "")
    if failed * 100 > max_failures * visits:
        raise PlayFailure(f"{failed} of {visits} visits failed{first}; run.max-failures allows {max_failures:g} %")
    if failed and not quiet:
        note(f"{failed} of {visits} visits failed{first}")


class _How(NamedTuple):
    """Where visits are computed, whether nothing is printed, and the database of answers, "" for none."""

    on: str | None
    quiet: bool
    answers: str


def _hold(
    configuration: Configuration, store: Store | None, how: _How, brought: str = ""
) -> tuple[dict[str, Any], str]:
    """Runs; returns what is printed and stored of it, and why a visit failed first, "" if none did.

    A run that is stopped before its end says how to resume it.
    """
    setup = configuration.setup
    silent = how.quiet or HUMAN in (setup.doctor, setup.patient, setup.nurse)
    with goes_on_later(store, quiet=how.quiet), watching(configuration, quiet=silent) as looks_on:
        going = run_hospital(
            configuration,
            store=store,
            on=how.on,
            watching=looks_on,
            brought=brought,
            answers=how.answers,
            report=note,
        )
        came = stopping.run(going)
    document = document_of(configuration, came)
    return document if store is None else store.finish(document), came.run.first_failure


def _go_on(folder: Path, configuration: Configuration, how: _How) -> tuple[dict[str, Any], str]:
    """Resumes a run that has not ended, or returns the document of one that has."""
    with RecordedRun(folder) as run:
        check_as_begun(run, configuration)
        if run.summary is not None:
            return run.summary, ""
    with Store.open(folder) as store:
        return _hold(configuration, store, how)


def _show(
    documents: list[dict[str, Any]],
    replicas: ReplicaOptions,
    kept_in: Path | None,
    *,
    json: bool,
    kept: options.KeptOptions,
) -> None:
    """Writes the results of runs and prints them, with where they are kept and how to read them."""
    first, several = documents[0], replicas.several
    if kept_in is not None:
        _write_results(kept_in, kept)
    minds = first["minds"]
    if any(document["failed"] < document["visits"] for document in documents):
        trust = trust_in(minds["patient"], [minds["doctor"]])
        if trust is not None:
            note(trust.line)
    document = first if len(documents) == 1 else replicated(documents, replicas)
    if json:
        print_json(document)
        return
    show = show_run if len(documents) == 1 else show_replicas
    show(console(), document)
    if kept_in is None:
        return
    folders = [kept_in / f"seed-{one['seed']}" for one in documents] if several else [kept_in]
    show_by_server(console(), servers_of(path for path in map(answers_file, folders) if path.is_file()))
    if kept.database is None:
        run = folders[0]
        memories = f" Memories: polyclinic memory show {run}" if memories_of(run) else ""
        each = ", each run in a folder of its own" if several else ""
        note(f"Kept in {kept_in}{each}. Pictures: polyclinic report {run}. Visits: polyclinic replay {run}.{memories}")
        if several:
            note(f"Beside runs of the same seeds: polyclinic results compare {kept_in} OTHER")


def _write_results(folder: Path, kept: options.KeptOptions) -> None:
    """Writes what each run of a folder was, and what came of each of its illnesses; keeps those in a store, too."""
    below = [one for one in folder.iterdir() if one.is_dir() and (one / RUN).is_file()]
    in_order = sorted(below, key=lambda one: (len(one.name), one.name))
    for path in [folder] if (folder / RUN).is_file() else in_order:
        with RecordedRun(path) as run:
            begun, summary = run.configuration, run.summary or {}
            setup, seed = begun.get("setup", {}), begun.get("seed", 0)
            ledger = _ledger(path, begun, kept.database)
            nobody = CallSum(role="all", purpose="", calls=summary.get("calls", 0), cost=summary.get("cost"))
            record = record_of(
                kept.invocation,
                msgspec.to_builtins(begun),
                kind="run",
                versions=versions() | {"polyclinic": run.package},
                seed=seed,
                models=_models(setup),
                measures=MEASURES,
                calls=call_sums(ledger) or [nobody],
            )
            doctor, warm_up = setup.get("doctor", "rules"), begun.get("warm_up", 0)
            write_record(path, record, run_rows(run, seed=seed, doctor=doctor, warm_up=warm_up))
        keep_results(kept.database, path, may_lack=[RUN])


def _ledger(folder: Path, begun: Mapping[str, Any], store: str | None) -> Ledger:
    """Returns the sums of the calls of a run, whose answers are in its folder or in a store; writes the calls."""
    answers, calls = answers_file(folder), KeptCalls()
    ledger = Ledger(calls=calls)
    if store is not None:
        for call in calls_of(store, read_configuration(begun).shared_as):
            ledger.add(call)
    elif answers.is_file():
        for call in calls_of(answers):
            ledger.add(call)
    if calls.n:
        calls.write(folder / CALLS)
    return ledger


def _models(setup: Mapping[str, Any]) -> list[AskedModel]:
    """Returns who played which role with a model, and how it was asked."""
    file = setup.get("model_file")
    said = read_model_file(Path(file)) if file and Path(file).is_file() else NOTHING_SAID
    named = Ledger()
    for role in ("doctor", "patient", "nurse", "examiner", "pharmacist"):
        with suppress(UserError):  # its file is gone since the run
            if (name := model_of(setup.get(role, ""))) is not None:
                named.asked_of.add((role, name))
    how = {key: setup.get(key) for key in ("temperature", "concurrency", "timeout")}
    return asked_models(named, said, base_urls=Address(base_url=setup.get("base_url")).base_urls, **how)


def town_of(
    protocol: str, town: TownOptions, profiles: str, course: str, *, doctor: str, patient: str, nurse: str
) -> tuple[TownOptions, str, str]:
    """Returns the town of a protocol and who writes residents and courses; says what still differs from the paper.

    If no model is named that writes them, it is the patient's.
    """
    rules = followed(AgentHospitalSettings, protocol, doctor=doctor, patient=patient, nurse=nurse)
    if rules.side == "ours":
        return town, profiles, course
    settings, model = rules.settings, model_of(patient) or ""
    own_hospital = town.hospital is not None and town.hospital not in PRESETS
    rules.check_switch("--hospital", own_hospital, "has a hospital of its own", settings.hospital.section)
    rules.check_value("run.examinations", town.examinations, settings.examinations)
    hospital, examinations = rules.of(settings.hospital), rules.of(settings.examinations)
    say(rules)
    town = replace(
        town,
        hospital=hospital if hospital in PRESETS else town.hospital,
        examinations=examinations if isinstance(examinations, int) else None,
    )
    profiles = profiles or (model if rules.of(settings.profiles) == "model" else "")
    return town, profiles, course or (model if rules.of(settings.course) == "model" else "")


_MOST_READ = 500_000  # happenings of a run that is stopped by hand

_MAY_DIFFER = {"model_file", *ASIDE}
"""Of the setup: with what else a run goes on. A model file is compared by its fingerprint."""


def fingerprints_of(configuration: Configuration) -> dict[str, str]:
    """Returns the fingerprints of the code and data of a run."""
    prints, setup = made_of(), configuration.setup
    if not (setup.asks_models or configuration.profiles or configuration.course):
        del prints["prompts"]
    if setup.models.model_file is not None:
        prints["models.model-file"] = of_file(setup.models.model_file)
    return prints


def check_as_begun(run: RecordedRun, configuration: Configuration) -> None:
    """Refuses a configuration that is not the one of a run; the `UserError` names what differs."""
    try:
        began = read_configuration(run.configuration)
    except msgspec.ValidationError as error:
        raise UserError(f"{run.folder}: its configuration cannot be read by this version: {error}") from None
    compared: list[dict[str, Any]] = []
    for one in (began, configuration):
        found = msgspec.json.decode(msgspec.json.encode(one.kept()))
        del found["made_of"]
        found["setup"] = {name: value for name, value in found["setup"].items() if name not in _MAY_DIFFER}
        compared.append(found)
    differs: dict[str, tuple[Any, Any]] = {**configuration_differences(*compared)}
    urls = began.setup.models.base_url, configuration.setup.models.base_url
    if alters_answers("base_url", *urls):
        differs = {"base-url": urls, **differs}
    for path, (before, now) in differs.items():
        name = path.removeprefix("setup.").replace("_", "-")
        raise UserError(f"{run.folder} holds a run with {name} {before}, not {now}; name another folder with --out")
    if changed := others(began.made_of, configuration.made_of):
        was = f"; it was polyclinic {began.made_of['polyclinic']}" if "polyclinic" in changed else ""
        problem = f"was begun with another version of {' and '.join(changed)}{was}"
        raise UserError(f"{run.folder} {problem}; name another folder with --out")


@contextmanager
def goes_on_later(store: Store | None, *, quiet: bool) -> Iterator[None]:
    """Says how a run goes on that stops meanwhile, and, unless it is to be `quiet`, shows what is over of it."""
    how = "--out DIR keeps a run" if store is None else AGAIN
    try:
        yield
    except (BudgetSpent, PersonLeft) as stopped:
        over = _what_is_over(store, quiet=quiet) if isinstance(stopped, BudgetSpent) else ""
        raise type(stopped)(f"{stopped}; {over}the run is not over; {how}") from None
    except KeyboardInterrupt:
        if store is None or not is_stopped():
            note(f"Nothing was kept; {how}." if store is None else f"Stopped; {how}.")
            raise
        over = _what_is_over(store, quiet=quiet)
        raise StoppedByHand(f"interrupted; {over}the run is not over; {how}") from None
    except PolyclinicError as error:
        if store is not None and not isinstance(error, UserError):
            note(f"When that is mended, {how}.")
        raise


def _what_is_over(store: Store | None, *, quiet: bool) -> str:
    """Says how far a run has come, and, unless it is to be `quiet`, shows what is over of it; "" where none is kept.

    A long run is not read, as that would take too long.
    """
    if store is None:
        return ""
    with RecordedRun(store.folder) as kept:
        if not len(kept) or len(kept) > _MOST_READ:
            return ""
        came = figures(kept)
    if not quiet:
        note("stopped early; what is over:")
        show_so_far(console(), came["summary"])
    if visits := store.configuration.get("visits"):
        return f"{came['summary']['arrived']:,} of {counted(visits, 'visit')} have begun; "
    day = max((one["day"] for one in came["series"]["days"]), default=1)
    return f"it is day {day} of {store.configuration.get('days')}; "
