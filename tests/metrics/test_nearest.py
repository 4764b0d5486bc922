"""Names compared by their ten nearest titles, as AI Hospital's authors do."""

import pytest

pytest.importorskip("rapidfuzz", reason="the extra 'evals' is not installed")

from polyclinic.metrics.icd.linking import IcdEntry, Titles, with_nearest
from polyclinic.metrics.icd.scores import NamedPair, named, score_names

TITLES = ("acute gastritis", "chronic gastritis", "gastritis", "migraine", "gout", "fracture of the wrist")
ENTRIES = [IcdEntry(code=f"A{n:02}.0", title=title) for n, title in enumerate(TITLES)]
LINKER = with_nearest(ENTRIES, Titles(ENTRIES).link_all)


def pair(id, given, reference):
    return NamedPair(id=id, given=named(given), reference=named(reference))


def test_the_nearest_titles_of_a_name():
    (link,) = LINKER(["chronic gastritis"])["chronic gastritis"]
    assert link.code == "A01.0" and link.nearest >= {"acute gastritis", "chronic gastritis", "gastritis"}
    assert "gout" not in link.nearest
    many = [IcdEntry(code=f"B{n:02}.0", title=f"gastritis {n}") for n in range(20)]
    (link,) = with_nearest(many, Titles(many).link_all)(["gastritis"])["gastritis"]
    assert link.nearest == {f"gastritis {n}" for n in range(10)}  # of equals the first of the table


def test_a_title_in_common_is_enough_and_counts_once():
    pairs = [
        pair("1", ["acute gastritis"], ["chronic gastritis", "gout"]),
        pair("2", ["gastritis", "acute gastritis"], ["chronic gastritis"]),
        pair("3", [], ["migraine"]),
    ]
    found = score_names(pairs, LINKER)
    # Two matches; 1 + 2 names and one for the report that names none; 2 + 1 + 1 of the reference.
    assert found.metrics["precision"].mean == pytest.approx(100 * 2 / 4)
    assert found.metrics["recall"].mean == pytest.approx(100 * 2 / 4)
    assert found.metrics["f1"].mean == pytest.approx(50)
    assert found.metrics["number"].mean == pytest.approx(4 / 3) and found.metrics["number"].n == 3
    assert found.without_names == 1
    assert score_names(pairs, Titles(ENTRIES).link_all).metrics["f1"].mean == 0
