"""The folder of a run of the hospital as results that last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import UserError
from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.record.comparison import MEASURES, run_rows
from polyclinic.hospital.record.memories import memories_of
from polyclinic.hospital.record.recorded import RUN, RecordedRun, answers_file
from polyclinic.models.journal import calls_of
from polyclinic.models.ledger import KeptCall, KeptCalls, Ledger
from polyclinic.models.model_file import NOTHING_SAID, read_model_file
from polyclinic.models.settings import Address
from polyclinic.players.mind_names import model_of
from polyclinic.results.folder import CALLS, AskedModel, CallSum
from polyclinic.results.provenance import asked_models, call_sums, versions
from polyclinic.run.options import KeptOptions
from polyclinic.run.output import record_of, write_record
from polyclinic.run.storing import keep_results
from polyclinic.terminal.screen import note


def write_run_results(folder: Path, kept: KeptOptions) -> None:
    """Writes what each run of a folder was, and what came of each of its illnesses; keeps those in a store, too."""
    below = [one for one in folder.iterdir() if one.is_dir() and (one / RUN).is_file()]
    in_order = sorted(below, key=lambda one: (len(one.name), one.name))
    for run in [folder] if (folder / RUN).is_file() else in_order:
        with RecordedRun(run) as recorded:
            _write(run, recorded, kept)
        keep_results(kept.database, run, may_lack=[RUN])


def tell_where(folder: Path, seed: int | None) -> None:
    """Says where runs are kept and how to read them; `seed` is the first of several."""
    run = folder if seed is None else folder / f"seed-{seed}"
    kept = f"Kept in {folder}." if seed is None else f"Kept in {folder}, each run in a folder of its own."
    memories = f" Memories: polyclinic memory show {run}" if memories_of(run) else ""
    note(f"{kept} Pictures: polyclinic report {run}. Visits: polyclinic replay {run}.{memories}")
    if seed is not None:
        note(f"Beside runs of the same seeds: polyclinic results compare {folder} OTHER")


def _write(folder: Path, run: RecordedRun, kept: KeptOptions) -> None:
    this, begun, summary = kept.invocation, run.configuration, run.summary or {}
    setup = begun.get("setup", {})
    seed, doctor = begun.get("seed", 0), setup.get("doctor", "rules")
    ledger = _ledger(folder, calls_of_run(folder, begun, kept.database))
    record = record_of(
        this,
        msgspec.to_builtins(begun),
        kind="run",
        versions=versions() | {"polyclinic": run.package},
        seed=seed,
        models=_models(setup),
        measures=MEASURES,
        calls=call_sums(ledger)
        or [CallSum(role="all", purpose="", calls=summary.get("calls", 0), cost=summary.get("cost"))],
    )
    rows = run_rows(run, seed=seed, doctor=doctor, warm_up=begun.get("warm_up", 0))
    write_record(folder, record, rows)


def calls_of_run(folder: Path, begun: Mapping[str, Any], store: str | None) -> Iterable[KeptCall]:
    """Returns every call whose answer a run keeps, in its folder or in a store."""
    if store is not None:
        return calls_of(store, msgspec.convert(begun, Configuration, strict=False).shared_as)
    answers = answers_file(folder)
    return calls_of(answers) if answers.is_file() else ()


def _ledger(folder: Path, calls: Iterable[KeptCall]) -> Ledger:
    """Returns the sums of the calls of a run; writes the calls to its folder."""
    kept = KeptCalls()
    ledger = Ledger(calls=kept)
    for call in calls:
        ledger.add(call)
    if kept.n:
        kept.write(folder / CALLS)
    return ledger


def _model_of(mind: str) -> str | None:
    try:
        return model_of(mind)
    except UserError:  # its file is gone since the run
        return None


def _models(setup: Mapping[str, Any]) -> list[AskedModel]:
    """Returns who played which role with a model, and how it was asked."""
    file = setup.get("model_file")
    said = read_model_file(Path(file)) if file and Path(file).is_file() else NOTHING_SAID
    roles = ("doctor", "patient", "nurse", "examiner", "pharmacist")
    named = Ledger()
    named.asked_of |= {(role, name) for role in roles if (name := _model_of(setup.get(role, ""))) is not None}
    how = {key: setup.get(key) for key in ("temperature", "concurrency", "timeout")}
    return asked_models(named, said, base_urls=Address(base_url=setup.get("base_url")).base_urls, **how)
