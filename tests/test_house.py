"""No circular imports; every package has a docstring; the lock file names every dependency."""

import ast
import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest
from tests.tables import each_row

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


def test_nothing_is_imported_in_circles():
    """Imports inside functions and those for types alone count as well."""
    graph = grimp.build_graph("polyclinic", cache_dir=None)
    TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}).prepare()


@pytest.mark.slow
@each_row("room", sorted(path.name for path in (SOURCE / "polyclinic").iterdir() if (path / "__init__.py").exists()))
def test_every_room_says_what_it_holds(room):
    said = ast.get_docstring(ast.parse((SOURCE / "polyclinic" / room / "__init__.py").read_text("utf-8")))
    assert said and said.endswith(".")


def test_the_lock_names_whatever_the_package_and_its_tests_need():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    every = re.findall(r"[\w-]+", re.search(r"\[(.*)\]", extras["all"][0])[1])
    needed = [*project["dependencies"], *extras["dev"], *(one for name in every for one in extras[name])]
    names = {re.match(r"[\w.-]+", one)[0].lower().replace("_", "-").replace(".", "-") for one in needed} - {
        "polyclinic"
    }
    lock = (ROOT / "requirements-dev.lock").read_text("utf-8")
    locked = {name.replace(".", "-") for name in re.findall(r"^([\w.-]+)==", lock, re.M)}
    assert names - locked == set()
