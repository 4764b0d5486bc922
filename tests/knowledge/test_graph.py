"""The knowledge as a graph: what joins what, how names are linked, and the shortest paths."""

import pytest
from tests.tables import each_row

from polyclinic.knowledge.graph import graph_of
from polyclinic.knowledge.knowledge import read_knowledge

GRAPH = graph_of(read_knowledge())


def test_a_disease_is_joined_to_what_it_often_brings():
    gout = GRAPH.link("gout")
    joined = {(edge.relation, edge.other.id) for edge in GRAPH.neighbours(gout)}
    assert ("shows", "biochemistry.urate.high") in joined
    assert ("is shown by", "synovial-fluid") in joined
    assert {relation for relation, _ in joined} == {"has symptom", "shows", "is shown by", "is treated with"}
    assert not any("urate.low" in id for _, id in joined)
    assert graph_of(read_knowledge()) is GRAPH


@each_row(
    ("entity", "kind"),
    [
        ("Congestive heart failure", "disease"),
        ("dyspnoea", "symptom"),
        ("low ferritin", "finding"),
        ("铁蛋白降低", "finding"),
        ("gastroscopy", "examination"),
        ("bisoprolol", "drug"),
        ("rheumatoid artritis", "disease"),
    ],
)
def test_names_are_linked(entity, kind):
    assert GRAPH.link(entity).kind == kind


@pytest.mark.parametrize("entity", ["", "xyz", "dragon pox", "the"])
def test_what_is_not_there_is_not_linked(entity):
    assert GRAPH.link(entity) is None


def test_paths_are_the_shortest_and_lead_there():
    begin, end = GRAPH.link("orthopnoea"), GRAPH.link("furosemide")
    path = GRAPH.path(begin, end)
    assert len(path) == 2
    assert path[0].disease == path[1].disease
    assert {path[0].other, path[1].other} == {begin, end}
    assert GRAPH.path(begin, begin) == ()
    assert GRAPH.path(begin, end, longest=1) == ()
