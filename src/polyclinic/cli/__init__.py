"""The command line.

Results go to stdout (with `--json` as one document), everything else to stderr. Exit code 0: done; 1: the run failed;
2: the input is wrong, with one line that says what came, what was allowed, and what to do.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from cyclopts import CycloptsError

from polyclinic.cli.calling import parse
from polyclinic.cli.commands import APP
from polyclinic.cli.calling import complaint
from polyclinic.errors import PolyclinicError, StoppedByHand, UserError
from polyclinic.lazy import collect_seldom
from polyclinic.stopping import INTERRUPTED, Stoppable, is_over, take_last_word, was_stopped
from polyclinic.terminal.screen import Screen, documents_alone, plain, tables_as_csv

_HOME = re.compile(r"(?<![^=:,])~(?=/)")
"""What the shell leaves as it is behind `--out=`, `scripted:` and a comma."""

_MARKUP = re.compile(
    r"\[/?(?:bold|dim|italic|underline|(?:red|green|blue|yellow|cyan|magenta|white|black))\b[a-z_ ]*\]|\[/\]"
)
"""Styles that other packages write into their errors for a terminal of their own."""

_SHOWN = 80  # letters of a name
_MUCH = "there is not enough memory for so much; ask for less"
_DEEP = "what was read is nested too deeply"
_NO_OUTPUT = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF))
_NO_PLACE = frozenset((errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EROFS))
"""What is wrong with a place that somebody named, and with no file that is there."""


def program() -> None:
    """Runs the command line as a program of its own."""
    try:
        main()
    except SystemExit as ended:
        is_over(ended.code)
        raise


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits; every error that has a name ends in one line on stderr."""
    collect_seldom()
    came = sys.argv[1:] if arguments is None else arguments
    words = [_HOME.sub(lambda _: str(Path("~").expanduser()), word) for word in came]
    _prepare_output()
    code: object = 0
    try:
        with Stoppable():
            code = _command(words)
        sys.stdout.flush()
    except SystemExit:
        raise
    except BaseException as error:
        if not (told := _told(error)):
            raise
        _fail(*told)
    sys.exit(code if isinstance(code, int) else 0)


def _command(words: list[str]) -> object:
    """Runs a command with its output where it belongs, and returns what came of it."""
    chain, app, rest = APP.parse_commands(words)
    if not rest and app[-1].default_command is None and len(chain) == len(words):  # a group of commands
        APP.help_print(words, console=Screen(stderr=True))
        return 2
    help_on = Screen(file=sys.stdout)
    as_csv, words = "--csv" in words, [word for word in words if word != "--csv"]
    with documents_alone() if "--json" in words else tables_as_csv() if as_csv else nullcontext():
        command = parse(words, help_on)
        if "--dry-run" not in words:
            return command()
        from polyclinic.cli.dry_run import estimate  # noqa: PLC0415 - for those who want it alone

        return estimate(command, json="--json" in words)


def _told(error: BaseException) -> tuple[str, int] | None:
    """Returns what is said of an error, and the exit code; None of a mistake of ours."""
    told: tuple[str, int] | None = None
    if isinstance(error, StoppedByHand):
        told = str(error), INTERRUPTED
    elif was_stopped() or isinstance(error, KeyboardInterrupt):
        # Whatever a library has made of the stop: it comes of it.
        told = "interrupted", INTERRUPTED
    elif isinstance(error, UserError):
        told = str(error), 2
    elif isinstance(error, PolyclinicError):
        told = f"{type(error).__name__}: {error}", 1
    elif isinstance(error, CycloptsError):
        told = complaint(error), 2
    elif isinstance(error, MemoryError | RecursionError):
        told = _DEEP if isinstance(error, RecursionError) else _MUCH, 1
    elif isinstance(error, BrokenPipeError):
        # Whoever read our output has stopped reading (`| head`): nothing is wrong, and nothing is left to say.
        _say_no_more()
        sys.exit(0)
    elif isinstance(error, OSError) and error.errno in _NO_OUTPUT:
        _say_no_more()
        told = f"the output cannot be written ({error.strerror})", 1
    elif isinstance(error, UnicodeEncodeError):
        # Bytes of the command line that are no UTF-8 come as halves of letters.
        told = f"{error.object[:_SHOWN]!r} is no UTF-8, in which what is kept is written; name it otherwise", 2
    elif refused := _refused_place(error):
        told = f"{refused.filename}: the system says: {refused.strerror}; name another place", 2
    return told


def _refused_place(error: BaseException) -> OSError | None:
    """Returns what the system said of a place that somebody named, if that is what the error comes from.

    Of links that lead to one another pathlib makes a RuntimeError.
    """
    said = error.__context__ if isinstance(error, RuntimeError) else error
    return said if isinstance(said, OSError) and said.errno in _NO_PLACE and said.filename else None


def _prepare_output() -> None:
    if sys.stdout is None:  # closed by whoever started it
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):  # a letter that their encoding lacks is written by its number
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _say_no_more() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> None:
    if "postgres" in message or "password" in message:
        from polyclinic.storage.server import without_passwords  # noqa: PLC0415 - for those who share a store

        message = without_passwords(message)
    take_last_word()
    print(f"polyclinic: {' '.join(plain(_MARKUP.sub('', message)).split())}", file=sys.stderr)  # noqa: T201
    sys.exit(code)
