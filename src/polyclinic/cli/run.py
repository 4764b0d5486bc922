"""`polyclinic run`: a town, its hospital, and what happens there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyclinic.cli.minds import (
    BaseUrlOption,
    ConcurrencyOption,
    DoctorOption,
    ExaminerOption,
    JsonOption,
    KeyOption,
    MaxCostOption,
    MaxTokensOption,
    PatientOption,
    PriceOption,
    TemperatureOption,
    read_price,
)
from polyclinic.errors import BudgetSpent, PlayFailure, PolyclinicError, UserError

if TYPE_CHECKING:
    from polyclinic.hospital.configuration import Configuration
    from polyclinic.hospital.record.store import Store

_TOWN = "The town and its hospital"
_STAFF = "rules, scripted:FILE, or a model."

_DAYS, _LOOKAHEAD = 7, 720

_MOST_DAYS = 100 * 365
"""With --visits and without --days a run goes on until so many have come; a town that small never ends it otherwise."""


def run(
    residents: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many live in the town. [default: the hospital file's, 1,000 in ours]",
            rich_help_panel=_TOWN,
        ),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Days until nobody falls ill any more. [default: {_DAYS}; with --visits until they have come]",
            rich_help_panel=_TOWN,
        ),
    ] = None,
    visits: Annotated[
        int | None, typer.Option(min=1, help="Nobody sets out after so many visits.", rich_help_panel=_TOWN)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything. [default: 0]", rich_help_panel=_TOWN)] = None,
    hospital: Annotated[
        Path | None, typer.Option(help="A hospital file; ours by default.", metavar="FILE", rich_help_panel=_TOWN)
    ] = None,
    language: Annotated[
        Literal["en", "zh"] | None, typer.Option(help="Of the town. [default: en]", rich_help_panel=_TOWN)
    ] = None,
    examinations: Annotated[
        int | None,
        typer.Option(
            min=1, help="At most so many a visit; the paper has 1. [default: the hospital's]", rich_help_panel=_TOWN
        ),
    ] = None,
    lookahead: Annotated[
        int | None,
        typer.Option(min=0, help="Minutes by which visits are computed ahead. [default: 720]", rich_help_panel=_TOWN),
    ] = None,
    doctor: DoctorOption = "rules",
    patient: PatientOption = "rules",
    nurse: Annotated[
        str, typer.Option(help=f"The nurse's mind: {_STAFF} human: you, at the terminal.", metavar="MIND")
    ] = "rules",
    pharmacist: Annotated[str, typer.Option(help=f"The pharmacist's mind: {_STAFF}", metavar="MIND")] = "rules",
    examiner: ExaminerOption = "rules",
    profiles: Annotated[
        str, typer.Option(help="A model that writes those who fall ill; templates by default.", metavar="MODEL")
    ] = "",
    course: Annotated[
        str, typer.Option(help="A model that says how illnesses go on; the knowledge by default.", metavar="MODEL")
    ] = "",
    workers: Annotated[
        int, typer.Option(min=1, help="Processes that compute visits; the log is the same for any number.")
    ] = 1,
    replicas: Annotated[int, typer.Option(min=1, help="Independent runs, with seeds from --seed on.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Keep the run in this folder.", metavar="DIR")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Take up the run in this folder; needs no other option.", metavar="DIR")
    ] = None,
    json: JsonOption = False,
    max_failures: Annotated[
        float, typer.Option(min=0, max=100, help="Share of failed visits, in percent, above which the run has failed.")
    ] = 5.0,
    base_url: BaseUrlOption = None,
    api_key_env: KeyOption = "OPENAI_API_KEY",
    concurrency: ConcurrencyOption = None,
    temperature: TemperatureOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    price: PriceOption = None,
) -> None:
    """Let a town fall ill and a hospital treat it: triage, queues, consultations, recovery. One seed, one log."""
    from polyclinic.cli.run_tables import show_replicas, show_run
    from polyclinic.files import make_folder
    from polyclinic.hospital.care.compute import Setup
    from polyclinic.hospital.configuration import Configuration
    from polyclinic.hospital.plan.file import read_hospital
    from polyclinic.hospital.record.store import Store
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.terminal.screen import console, print_json

    if nurse == "human" and (workers > 1 or replicas > 1):
        raise UserError("a person plays in one process and one run; leave out --workers and --replicas")
    if resume is not None:
        given = (residents, days, visits, seed, hospital, language, examinations, lookahead, out)
        if any(value is not None for value in given) or replicas > 1:
            raise UserError("--resume takes up a run as it was begun; of what a run is made of, give nothing beside it")
        with Store.open(resume) as store:
            document = store.summary or _go_on(store, workers, quiet=json)
        documents = [document]
    else:
        described = read_hospital(hospital, read_knowledge())
        first = 0 if seed is None else seed
        documents = []
        if out is not None and replicas > 1:
            make_folder(out)
        for number in range(first, first + replicas):
            configuration = Configuration(
                hospital=described,
                residents=residents or described.residents,
                days=days or (_DAYS if visits is None else _MOST_DAYS),
                visits=visits,
                seed=number,
                language=language or "en",
                lookahead=_LOOKAHEAD if lookahead is None else lookahead,
                profiles=profiles,
                course=course,
                setup=Setup(
                    seed=number,
                    doctor=doctor,
                    patient=patient,
                    nurse=nurse,
                    examiner=examiner,
                    pharmacist=pharmacist,
                    max_examinations=examinations or described.examinations,
                    departments=described.departments,
                    base_url=base_url,
                    api_key_env=api_key_env,
                    concurrency=concurrency,
                    temperature=temperature,
                    max_tokens=max_tokens,
                    max_cost=max_cost,
                    price=read_price(price),
                ),
            )
            folder = out if out is None or replicas == 1 else out / f"seed-{number}"
            documents.append(_begin(configuration, folder, workers, quiet=json))
    if json:
        print_json(documents[0] if replicas == 1 else replicated(documents))
    else:
        screen = console()
        for document in documents[: 1 if replicas == 1 else 0]:
            show_run(screen, document)
        if replicas > 1:
            show_replicas(screen, replicated(documents))
        folder = resume or out
        if folder is not None:
            typer.echo(f"Kept in {folder}. Pictures: polyclinic report {folder}", err=True)
    _check_failures(documents, max_failures)


def _begin(configuration: Configuration, folder: Path | None, workers: int, *, quiet: bool) -> dict[str, Any]:
    """Runs from the beginning, and keeps the run where a folder is given."""
    import msgspec

    from polyclinic.hospital.record.store import Store

    if folder is None:
        return _held(configuration, None, workers, quiet=quiet)
    with Store.create(folder, msgspec.to_builtins(configuration, str_keys=True)) as store:
        return _held(configuration, store, workers, quiet=quiet)


def _go_on(store: Store, workers: int, *, quiet: bool) -> dict[str, Any]:
    """Takes up a run that has not ended."""
    import msgspec

    from polyclinic.hospital.configuration import Configuration

    try:
        configuration = msgspec.convert(store.configuration, Configuration, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"{store.folder}: its configuration cannot be read by this version: {error}") from None
    return _held(configuration, store, workers, quiet=quiet)


def _held(configuration: Configuration, store: Store | None, workers: int, *, quiet: bool) -> dict[str, Any]:
    """Runs, and returns what is printed and stored of it; says how to go on where it stops before its end."""
    from polyclinic.cli.run_progress import watching
    from polyclinic.hospital.running import document_of
    from polyclinic.hospital.running import run as run_hospital

    again = "" if store is None else f"polyclinic run --resume {store.folder}"
    try:
        with watching(configuration, quiet=quiet or configuration.setup.nurse == "human") as looks_on:
            came = asyncio.run(run_hospital(configuration, store=store, workers=workers, watching=looks_on))
    except BudgetSpent as spent:
        how = (
            f"go on, with a higher limit, in a new run; what came so far: {again}" if again else "--out DIR keeps a run"
        )
        raise BudgetSpent(f"{spent}; the run is not over; {how}") from None
    except KeyboardInterrupt:
        typer.echo(f"Go on with: {again}" if again else "Nothing was kept; --out DIR keeps a run.", err=True)
        raise
    except PolyclinicError as error:
        if again and not isinstance(error, UserError):
            typer.echo(f"When that is mended, go on with: {again}", err=True)
        raise
    document = document_of(configuration, came)
    return document if store is None else store.finish(document)


def replicated(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns several runs and the means of what they say, with intervals over runs."""
    from polyclinic.statistics.uncertainty import estimate

    shares = list(documents[0]["accuracy"])
    values = {f"accuracy.{name}": [d["accuracy"][name] for d in documents] for name in shares}
    values |= {name: [d[name] for d in documents] for name in ("visits", "recovered", "failed", "events")}
    means = {name: estimate([float(v) for v in some if v is not None]) for name, some in values.items()}
    return {"replicas": len(documents), "seeds": [d["seed"] for d in documents], "means": means, "runs": documents}


def _check_failures(documents: list[dict[str, Any]], max_failures: float) -> None:
    visits, failed = (sum(d[name] for d in documents) for name in ("visits", "failed"))
    if failed * 100 > max_failures * visits:
        raise PlayFailure(f"{failed} of {visits} visits failed; --max-failures allows {max_failures:g} %")
