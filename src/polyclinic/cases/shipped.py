"""The cases that come with the package: drawn from its own medical knowledge."""

from __future__ import annotations

from pathlib import Path

from polyclinic.errors import BadInput, meant

SHIPPED = {
    "shipped": Path(__file__).parent / "data" / "respiratory.jsonl",
    "shipped-zh": Path(__file__).parent / "data" / "respiratory.zh.jsonl",
    "inpatients": Path(__file__).parent / "data" / "inpatients.jsonl",
    "inpatients-zh": Path(__file__).parent / "data" / "inpatients.zh.jsonl",
}
"""Their names on the command line, and their files."""


def shipped_path(name: str | Path) -> Path:
    """Returns the file of shipped cases that a name means, or the name as a path."""
    path = Path(name).expanduser()
    if str(name) in SHIPPED and not path.is_file():
        return SHIPPED[str(name)]
    if path.exists():
        return path
    if near := meant(str(name), SHIPPED):
        raise BadInput(f"no such file{near}", path=path)
    return path


def named_path(path: str | Path) -> Path:
    """Returns the name of shipped cases where this is their file, as messages say it, or the path."""
    return next((Path(name) for name, file in SHIPPED.items() if file == Path(path)), Path(path))
