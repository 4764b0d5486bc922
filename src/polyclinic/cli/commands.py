"""Which commands there are, and where each stands.

A command's module is imported when it runs, so that --help is quick.
"""

from __future__ import annotations

from cyclopts import App, Group, Parameter

from polyclinic import __version__

_NEVER = "For research and teaching only; never for the care of real people."


def _default(value: object) -> str | None:
    """Returns how a default is shown; None where it says nothing."""
    if value is None or value is False or value == "":
        return None
    return f"{value:g}" if isinstance(value, float) else str(value)


_DEFAULTS = Parameter(negative=(), show_default=_default)  # --json has no --no-json


def _group(name: str, summary: str, **commands: str) -> App:
    """Returns a group of commands; each stands in `polyclinic.cli`, named as `MODULE:FUNCTION its help`."""
    app = App(name=name, help=f"{summary}\n\n{_NEVER}", default_parameter=_DEFAULTS, version_flags=[])
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
    group_parameters=Group("Options", sort_key=0),
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
    default_parameter=_DEFAULTS,
    result_action="return_value",
)
_add(
    APP,
    {
        "consult": "consult:consult One doctor sees one patient, printed as it goes; without #ID, every case of the "
        "file.\n\nWith --doctors several see the patient each alone, and then settle what they disagree on.",
        "replay": "replay:replay Show recorded visits again.",
        "check": "check:check Check models: reachable, answers, structured answers, latency; and which extras are "
        "installed.",
    },
)
