"""What stands wrong in a disease's file is named by file, line and field."""

import shutil

import pytest

from polyclinic.errors import BadInput
from polyclinic.knowledge.data import DATA
from polyclinic.knowledge.knowledge import read_knowledge

WRONG = [
    ("\ncriteria:", "\nkriteria:", "unknown field"),
    ("{symptom: chronic_productive_cough}", "{quantity: nonsense, at_least: 3}", "$.criteria"),
    ("{symptom: chronic_productive_cough}", "{symptom: fever}", "follows from temperature"),
    ("{symptom: chronic_productive_cough}", "{quantity: fev1, at_least: 500}", "no patient can meet the criteria"),
    ("drug: tiotropium", "drug: nothing", "no drug 'nothing'"),
]


@pytest.mark.slow
def test_each_is_one_line_that_names_its_place(tmp_path):
    told = []
    for number, (text, instead, expected) in enumerate(WRONG):
        folder = tmp_path / str(number)
        shutil.copytree(DATA, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__", "disease_names", "orders"))
        file = folder / "diseases" / "chronic-bronchitis.yaml"
        before = file.read_text("utf-8")
        assert text in before
        file.write_text(before.replace(text, instead, 1), "utf-8")
        with pytest.raises(BadInput) as caught:
            read_knowledge(folder)
        said = str(caught.value)
        if "chronic-bronchitis.yaml" not in said or expected.partition(",")[0] not in said or "\n" in said:
            told.append((expected, said))
    assert not told
