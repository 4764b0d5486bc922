"""A run of the hospital that stops before its end, and the same command that goes on with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from polyclinic import __version__
from polyclinic.cli.run_tables import show_so_far
from polyclinic.errors import BudgetSpent, PersonLeft, PolyclinicError, StoppedByHand, UserError
from polyclinic.fingerprints import of_file, of_package, others
from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.record.comparison import configuration_differences
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.report import figures
from polyclinic.hospital.record.store import Store
from polyclinic.run.invocation import ASIDE, alters_answers
from polyclinic.stopping import is_stopped
from polyclinic.terminal.screen import console, note
from polyclinic.terminal.tables import counted

_MOST_READ = 500_000  # happenings of a run that is stopped by hand
_AGAIN = "the same command goes on from there"

_MAY_DIFFER = {"model_file", *ASIDE}
"""Of the setup: with what else a run goes on. A model file is compared by its fingerprint."""


def made_of(configuration: Configuration) -> dict[str, str]:
    """Returns the fingerprints of the code and data of a run."""
    prints = {"polyclinic": __version__, **of_package()}
    setup = configuration.setup
    if not (setup.asks_models or configuration.profiles or configuration.course):
        del prints["prompts"]
    if setup.model_file is not None:
        prints["models.model-file"] = of_file(Path(setup.model_file))
    return prints


def check_as_begun(run: RecordedRun, configuration: Configuration) -> None:
    """Refuses a configuration that is not the one of a run; the `UserError` names what differs."""
    try:
        began = msgspec.convert(run.configuration, Configuration, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"{run.folder}: its configuration cannot be read by this version: {error}") from None
    if alters_answers("base_url", began.setup.base_url, configuration.setup.base_url):
        was, now = began.setup.base_url, configuration.setup.base_url
        raise UserError(f"{run.folder} holds a run with base-url {was}, not {now}; name another folder with --out")
    for path, (before, now) in configuration_differences(_compared(began), _compared(configuration)).items():
        name = path.removeprefix("setup.").replace("_", "-")
        raise UserError(f"{run.folder} holds a run with {name} {before}, not {now}; name another folder with --out")
    if changed := others(began.made_of, configuration.made_of):
        was = f"; it was polyclinic {began.made_of['polyclinic']}" if "polyclinic" in changed else ""
        problem = f"was begun with another version of {' and '.join(changed)}{was}"
        raise UserError(f"{run.folder} {problem}; name another folder with --out")


def _compared(configuration: Configuration) -> dict[str, Any]:
    """Returns what must be the same in a run that goes on, as JSON keeps it."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(configuration))
    del found["made_of"]
    found["setup"] = {name: value for name, value in found["setup"].items() if name not in _MAY_DIFFER}
    return found


@contextmanager
def goes_on_later(store: Store | None, *, quiet: bool) -> Iterator[None]:
    """Says how a run goes on that stops meanwhile, and, unless it is to be `quiet`, shows what is over of it."""
    how = "--out DIR keeps a run" if store is None else _AGAIN
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
