"""The worked example of docs/knowledge.md is a disease that can be added as it stands."""

import shutil
from pathlib import Path

import pytest

from polyclinic.generation.checks import check_all
from polyclinic.knowledge.check import check_knowledge
from polyclinic.knowledge.data import DATA
from polyclinic.knowledge.knowledge import read_knowledge

EXAMPLE = Path(__file__).parents[2] / "docs" / "knowledge" / "acute-laryngitis.yaml"


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory):
    folder = tmp_path_factory.mktemp("knowledge")
    for file in DATA.glob("*.yaml"):
        shutil.copy(file, folder)
    shutil.copytree(DATA / "diseases", folder / "diseases")
    shutil.copy(EXAMPLE, folder / "diseases")
    return read_knowledge(folder)


@pytest.mark.slow
def test_the_example_has_no_problems(knowledge):
    assert [flaw for flaw in check_knowledge(knowledge) if "laryngitis" in flaw.where + flaw.problem] == []


@pytest.mark.slow
def test_its_patients_hold_what_is_checked(knowledge):
    found = check_all(knowledge.select("acute-laryngitis"), n=90, seed=5)
    met = found.checks["definition of disease and severity met"]
    assert (met.tried, met.failed) == (90, 0)
    assert not found.checks["leading symptom in the complaint"].failed
    assert not found.checks["one value of a quantity in a visit"].failed
