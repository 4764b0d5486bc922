"""Taking up a run of the hospital: as it was begun, or as a new run that begins with what the two have in common."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from polyclinic import __version__
from polyclinic.cli.run_tables import show_so_far
from polyclinic.errors import BadInput, BudgetSpent, PersonLeft, PolyclinicError, StoppedByHand, UserError
from polyclinic.fingerprints import of_file, of_package, others
from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.record.recorded import RUN, RecordedRun
from polyclinic.hospital.record.report import Figures, figures
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.record.store import fork as begin_fork
from polyclinic.models.session import ModelSettings, read_price
from polyclinic.run.words import OF_THIS_COMMAND, is_given, said, said_again
from polyclinic.stopping import is_stopped
from polyclinic.storage.server import is_store, read_address
from polyclinic.terminal.screen import console, note
from polyclinic.terminal.tables import counted

_MOST_READ = 500_000  # happenings of a run that is stopped by hand

_MINDS = ("doctor", "nurse", "pharmacist", "examiner", "patient")
_NATURE = ("profiles", "course")
WHO_PLAYS = (*_MINDS, *_NATURE)
"""The options of a run that say who plays."""

_ENDPOINT = ("base_url", "model_file", "temperature")
_OF_THIS_COMMAND = tuple(option.removeprefix("--").replace("-", "_") for option in OF_THIS_COMMAND)


def made_of(configuration: Configuration) -> dict[str, str]:
    """Returns the fingerprints of what a run is made of beside its configuration."""
    prints = {"polyclinic": __version__, **of_package()}
    setup = configuration.setup
    if not (setup.asks_models or configuration.profiles or configuration.course):
        del prints["prompts"]
    if setup.model_file is not None:
        prints["models.model-file"] = of_file(Path(setup.model_file))
    return prints


def finished(folder: Path, configuration: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns what a run said that was made so and is over; None where there is none, or it was made otherwise."""
    if not (folder / RUN).is_file():
        return None
    with RecordedRun(folder) as run:
        return run.summary if _made(run.configuration) == _made(configuration) else None


def _made(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a configuration as JSON keeps it, without the place of a file whose fingerprint stands in it."""
    kept: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(configuration))
    return {**kept, "setup": {**kept.get("setup", {}), "model_file": None}}


def taken_up(store: Store, minds: Mapping[str, str], models: ModelSettings, *, fork: bool = False) -> Configuration:
    """Returns the configuration with which a run goes on: its own, with the limits that are given now.

    Args:
        store: the run.
        minds: who plays by this command, by option; `profiles` and `course` among them.
        models: how models are asked by this command.
        fork: it becomes another run, with the minds and the endpoint that are given.

    Raises:
        UserError: something is given that is another than the run's, or the run was begun with another knowledge,
            other prompts, another version or model file; names it.
    """
    try:
        began = msgspec.convert(store.configuration, Configuration, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"{store.folder}: its configuration cannot be read by this version: {error}") from None
    given = _given(minds, models)
    if not fork:
        now = made_of(began)
        _refuse_others(store.folder, store.configuration, given)
        if changed := others(began.made_of, now):
            was = f"; it was polyclinic {began.made_of['polyclinic']}" if "polyclinic" in changed else ""
            raise UserError(
                f"{store.folder} was begun with another {' and another '.join(changed)}{was}; {_fork(store.folder)}"
            )
    of_run = {name: value for name, value in given.items() if name in _NATURE}
    of_setup = {name: value for name, value in given.items() if name not in _NATURE}
    going = msgspec.structs.replace(began, setup=msgspec.structs.replace(began.setup, **of_setup), **of_run)
    return msgspec.structs.replace(going, made_of=made_of(going)) if fork else going


def forked(folder: Path, to: Path, minds: Mapping[str, str], models: ModelSettings) -> Path:
    """Begins a new run that has what another has so far; returns its folder. Raises as `taken_up`."""
    with Store.open(folder) as store:
        going = taken_up(store, minds, models, fork=True)
        begin_fork(folder, to, msgspec.to_builtins(going, str_keys=True))
    return to


def go_on(folder: Path, *, on: str | None) -> str:
    """Returns the command that takes up a run as this one held it."""
    at_once = f" --on {on}" if on else ""
    stores = [read_address(value).kept for option, value in said() if option == "--out" and is_store(value)]
    stored = "".join(f" --out {shlex.quote(one)}" for one in stores)
    return f"polyclinic run --resume {shlex.quote(str(folder))}{at_once}{stored}{said_again()}"


@contextmanager
def goes_on_later(store: Store | None, *, on: str | None, quiet: bool) -> Iterator[None]:
    """Says how a run goes on that stops meanwhile, and, unless it is to be `quiet`, shows what is over of it.

    Raises:
        BudgetSpent: the run has cost what it may cost.
        StoppedByHand: somebody stopped it.
        PersonLeft: who plays in it has gone.
    """
    again = "" if store is None else go_on(store.folder, on=on)
    keeps = "--out DIR keeps a run"
    try:
        yield
    except BudgetSpent as spent:
        how = f"go on, with as much again or another limit, with: {again}" if again else keeps
        raise BudgetSpent(f"{spent}; {_what_is_over(store, quiet=quiet)}the run is not over; {how}") from None
    except KeyboardInterrupt:
        if store is None or not is_stopped():
            note(f"Nothing was kept; {keeps}." if store is None else f"Go on with: {again}")
            raise
        over = _what_is_over(store, quiet=quiet)
        raise StoppedByHand(f"interrupted; {over}the run is not over; go on with: {again}") from None
    except PersonLeft as left:
        raise PersonLeft(f"{left}; the run is not over; {f'go on with: {again}' if again else keeps}") from None
    except PolyclinicError as error:
        if again and not isinstance(error, UserError):
            note(f"When that is mended, go on with: {again}")
        raise


def _what_is_over(store: Store | None, *, quiet: bool) -> str:
    """Says how far a run has come, and, unless it is to be `quiet`, shows what is over of it; "" where none is kept.

    A long run is not read then: whoever stops it does not wait so long.
    """
    if store is None:
        return ""
    with RecordedRun(store.folder) as kept:
        if not len(kept) or len(kept) > _MOST_READ:
            return ""
        came = figures(kept)
    if not quiet:
        note("stopped early; what is over:")
        show_so_far(console(), msgspec.to_builtins(came.summary))
    return f"{_so_far(came, store.configuration)}; "


def _so_far(came: Figures, configuration: Mapping[str, Any]) -> str:
    """Says how far a run has come."""
    if visits := configuration.get("visits"):
        return f"{came.summary.arrived:,} of {counted(visits, 'visit')} have begun"
    day = max((one.day for one in came.series.days), default=1)
    return f"it is day {day} of {configuration.get('days')}"


def _plain(models: ModelSettings) -> dict[str, Any]:
    values = {name: getattr(models, name) for name in (*_ENDPOINT, *_OF_THIS_COMMAND)}
    values["price"] = read_price(models.price)
    values["model_file"] = None if models.model_file is None else str(models.model_file.resolve())
    return values


def check_as_begun(run: RecordedRun, minds: Mapping[str, str], models: ModelSettings) -> None:
    """Refuses to show a run that is over as what another would have been; a UserError names what is given."""
    _refuse_others(run.folder, run.configuration, _given(minds, models))


def _given(minds: Mapping[str, str], models: ModelSettings) -> dict[str, Any]:
    return {
        name: value for name, value in {**minds, **_plain(models)}.items() if is_given(f"--{name.replace('_', '-')}")
    }


def _refuse_others(folder: Path, began: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    for name in (*_MINDS, *_NATURE, *_ENDPOINT):
        if name not in given:
            continue
        own = (began if name in _NATURE else began.get("setup", {})).get(name)
        if own != given[name]:
            has = f"has {own}" if own not in (None, "") else "has none"
            raise UserError(
                f"{_option(name)} {given[name]}: the run in {folder} {has}; leave it out, or {_fork(folder)}"
            )


def _option(name: str) -> str:
    if name in ("nurse", "pharmacist", "profiles", "course"):
        return f"run.{name}"
    return "models.model-file" if name == "model_file" else f"--{name.replace('_', '-')}"


def _fork(folder: Path) -> str:
    return f"go on from here in a new run: --resume {shlex.quote(str(folder))} --fork --out NEW"


def check_fork(fork: bool, out: Path | None, resume: Path | None) -> None:
    """Refuses a fork that comes from nowhere or goes nowhere.

    Raises:
        UserError: it does.
        BadInput: where it is to go is where it comes from.
    """
    if not fork:
        return
    if resume is None:
        raise UserError("--fork begins a new run with what another has; say which with --resume DIR")
    if out is None:
        raise UserError("--fork keeps the new run in a folder of its own; say where with --out DIR")
    if out.exists() and out.resolve() == resume.resolve():
        raise BadInput("the new run cannot be kept where the old one is; name another folder", path=out)
