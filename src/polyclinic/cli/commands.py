"""Which commands there are, and where each stands.

A command's module is imported when it runs, so that --help is quick.
"""

from __future__ import annotations

from cyclopts import App, Parameter

from polyclinic import __version__

_NEVER = "For research and teaching only; never for the care of real people."
_FLAGS = Parameter(negative=())  # --json has no --no-json


def _group(name: str, summary: str, **commands: str) -> App:
    """Returns a group of commands; each stands in `polyclinic.cli`, named as `MODULE:FUNCTION its help`."""
    app = App(name=name, help=f"{summary}\n\n{_NEVER}", default_parameter=_FLAGS, version_flags=[])
    _add(app, commands)
    return app


def _add(app: App, commands: dict[str, str]) -> None:
    for command, line in commands.items():
        place, _, told = line.partition(" ")
        app.command(f"polyclinic.cli.{place}", name=command.replace("_", "-"), help=told)


APP = App(
    name="polyclinic",
    help="Language models practise medicine on simulated patients, so that they can be watched, measured and "
    f"improved.\n\n{_NEVER}",
    version=f"polyclinic {__version__}",
    version_flags=["--version"],
    default_parameter=_FLAGS,
    result_action="return_value",
)
_add(
    APP,
    {
        "check": "check:check Check models: reachable, answers, structured answers, latency; and which extras are "
        "installed.",
    },
)
