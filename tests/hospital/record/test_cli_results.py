"""`polyclinic results compare` as a user meets it."""

import json
import shutil

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def other(lived_run, tmp_path):
    return shutil.copytree(lived_run, tmp_path / "other")


def test_a_run_beside_its_copy_differs_in_nothing(run, lived_run, other):
    document = json.loads(run("results", "compare", lived_run, other, "--json").stdout)
    assert document["seeds"] == [11]
    assert document["onsets"] > 100
    assert (document["only_first"], document["only_second"], document["differs"]) == (0, 0, {})
    assert all(not one["difference"]["mean"] for one in document["measures"])
    assert all(one["p_holm"] in (None, 1.0) for one in document["measures"])


def test_what_is_printed(run, lived_run, other):
    shown = run("results", "compare", lived_run, other).stdout
    for words in ("onsets are the same in both", "begun alike", "patient by patient", "right diagnosis"):
        assert words in shown


def test_what_is_wrong_has_one_line(complaint, lived_run, tmp_path):
    assert "there is no run here" in complaint("results", "compare", lived_run, tmp_path)
    assert "are the same run" in complaint("results", "compare", lived_run, lived_run)
    assert "no such folder" in complaint("results", "compare", tmp_path / "nowhere", lived_run)


def test_what_is_compared_goes_into_a_paper(run, lived_run, other):
    text = run("results", "compare", lived_run, other, "--format", "latex").stdout
    assert r"\caption{patient by patient" in text and "right diagnosis" in text and text.count("adjusted over") == 1
    assert run("results", "compare", lived_run, other, "--format", "csv").stdout.startswith("name,by,first,second,")
