"""The command line.

Results go to stdout (with `--json` as one document), everything else to stderr. Exit code 0: done; 1: the run failed;
2: the input is wrong, with one line that says what came, what was allowed, and what to do.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from polyclinic import __version__
from polyclinic.cli import evaluate, study
from polyclinic.errors import PolyclinicError, UserError

INTERRUPTED = 130
"""Exit code of a command that was stopped by Ctrl-C."""

# Typer carries its own copy of click, and exports of its errors this one only.
_UsageError: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="polyclinic",
    help="Language models practise medicine on simulated patients, so that they can be watched, measured and improved."
    "\n\nFor research and teaching only; never for the care of real people.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(evaluate.app, name="eval")
app.add_typer(study.app, name="study")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"polyclinic {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Takes the options that come before a command."""


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and exits; every error that has a name ends in one line on stderr."""
    try:
        code = app(args=arguments, prog_name="polyclinic", standalone_mode=False)
    except UserError as error:
        _fail(str(error), 2)
    except PolyclinicError as error:
        _fail(f"{type(error).__name__}: {error}", 1)
    except _UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else "polyclinic"
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            sys.exit(2)
        _fail(f"{error.format_message().rstrip('.')}; see '{where} --help'", 2)
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has stopped reading (`| head`): nothing is wrong, and nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    if code == INTERRUPTED:
        _fail("interrupted", INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> None:
    print(f"polyclinic: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    sys.exit(code)
