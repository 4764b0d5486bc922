"""The walk through the rooms passes through every room, and what any page or comment names is there."""

import importlib
import re
from pathlib import Path
from typing import get_args

import pytest

from polyclinic.plugins import Group

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "polyclinic"
NAMED = re.findall(r"`([\w/]+\.py)`", (ROOT / "docs" / "rooms.md").read_text("utf-8"))


def test_every_file_that_the_walk_names_is_there():
    assert len(NAMED) > 50
    assert [name for name in NAMED if not (SOURCE / name).is_file()] == []


def is_there(name: str) -> bool:
    """Whether a dotted name is that of a module, or of something in one."""
    module = name
    while not ((at := SOURCE.parent.joinpath(*module.split("."))).is_dir() or at.with_suffix(".py").is_file()):
        module = module.rpartition(".")[0]
    found = importlib.import_module(module)
    for part in name.removeprefix(module).split(".")[1:]:
        found = getattr(found, part, None)
    return found is not None


@pytest.mark.slow
def test_what_pages_docstrings_and_comments_name_is_there():
    """`polyclinic.room.thing`, and `room/file.py` or a file beside."""
    doors = {f"polyclinic.{group}" for group in get_args(Group)}
    missing = []
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]:
        text = path.read_text("utf-8")
        names = set(re.findall(r"(?<![\w/.-])polyclinic(?:\.\w+)+", text)) - doors
        missing += [(path.name, name) for name in names if not is_there(name)]
        files = re.findall(r"`([\w/]+\.py)`", text if path.name not in ("extend.md", "start-method.md") else "")
        beside = (ROOT, SOURCE, ROOT / "docs", path.parent)
        missing += [
            (path.name, file)
            for file in files
            if not file.startswith("path/to/") and not any((folder / file).is_file() for folder in beside)
        ]
    assert missing == []


def test_the_walk_and_the_layers_name_the_rooms():
    design = (ROOT / "docs" / "design.md").read_text("utf-8")
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    layers = set(re.findall(r"`(\w+)`", design.partition("## The layers")[2].partition("\n## ")[0]))
    assert rooms <= layers
    # Not passed by a visit, a question, a record or a day: Inspect, and what is for tests.
    assert rooms - {name.partition("/")[0] for name in NAMED} <= {"evals", "testing", "language"}
