"""The walk through the rooms names files that are there, and passes through every room."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "polyclinic"
NAMED = re.findall(r"`([\w/]+\.py)`", (ROOT / "docs" / "rooms.md").read_text("utf-8"))


def test_every_file_that_the_walk_names_is_there():
    assert len(NAMED) > 50
    assert [name for name in NAMED if not (SOURCE / name).is_file()] == []


def test_the_walk_and_the_layers_name_the_rooms():
    design = (ROOT / "docs" / "design.md").read_text("utf-8")
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    layers = set(re.findall(r"`(\w+)`", design.partition("## The layers")[2].partition("\n## ")[0]))
    assert rooms <= layers
    # Not passed by a visit, a question or a day: judges, Inspect, and what is for tests.
    assert rooms - {name.partition("/")[0] for name in NAMED} <= {"judges", "evals", "testing", "language"}
