"""The knowledge as a graph: diseases, symptoms, findings, examinations and drugs, and what joins them.

Made from what the knowledge says in numbers: a symptom or a result joins a disease that often brings it.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from rapidfuzz import fuzz, process

from polyclinic.knowledge.data import SEVERITIES, Name
from polyclinic.knowledge.entries import Disease, Distribution, Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.several import off_usual
from polyclinic.language.language import Language

Relation = Literal["has symptom", "shows", "is shown by", "is treated with"]

_OFTEN = 0.3  # share of a disease's patients from which it has a symptom, or shows a text
_FAR = 1.5  # spreads from the usual from which a number is high or low
_LIKE = 88.0  # of 100: the least at which a name is linked that is not spelled the same
_SHORTEST = 4  # letters of a name that is linked by likeness

_SIDES: dict[Literal["high", "low"], Name] = {
    "high": Name(en="high {}", zh="{}升高"),
    "low": Name(en="low {}", zh="{}降低"),
}


class Node(NamedTuple):
    """A thing of the graph: its kind and id, and what it is called."""

    kind: Literal["disease", "symptom", "finding", "examination", "drug"]
    id: str
    name: Name

    def called(self, language: Language) -> str:
        """Returns its name in one language."""
        return self.name.get(language)


class Edge(NamedTuple):
    """A disease and what it is joined to."""

    disease: Node
    relation: Relation
    other: Node


Path = tuple[Edge, ...]
"""Edges that lead from one node to another."""


class Graph:
    """The graph of one knowledge; `graph_of` makes it once."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.edges = tuple(_edges(knowledge))
        self._at: dict[Node, list[Edge]] = {}
        for edge in self.edges:
            self._at.setdefault(edge.disease, []).append(edge)
            self._at.setdefault(edge.other, []).append(edge)
        self._names: dict[str, Node] = {}
        for disease in knowledge.diseases.values():
            self._call(Node("disease", disease.id, disease.name), disease.names())
        for symptom in knowledge.symptoms.values():
            self._call(Node("symptom", symptom.id, symptom.name), symptom.names())
        for examination in knowledge.examinations.values():
            self._call(Node("examination", examination.id, examination.name), examination.names())
        for node in list(self._at):
            self._call(node, (node.name.en, node.name.zh))

    def _call(self, node: Node, names: Iterable[str]) -> None:
        if node in self._at:
            for name in names:
                self._names.setdefault(name.casefold(), node)

    def link(self, entity: str) -> Node | None:
        """Returns what an entity of a text is in the graph: of its name, or of one that is spelled nearly so."""
        wanted = " ".join(entity.casefold().split())
        if wanted in self._names or len(wanted) < _SHORTEST:
            return self._names.get(wanted)
        near = process.extractOne(wanted, list(self._names), scorer=fuzz.ratio, score_cutoff=_LIKE)
        return None if near is None else self._names[near[0]]

    def neighbours(self, node: Node) -> list[Edge]:
        """Returns the edges at a node."""
        return list(self._at.get(node, ()))

    def path(self, begin: Node, end: Node, *, longest: int = 4) -> Path:
        """Returns the shortest path between two nodes, of so many edges at most; empty where there is none."""
        before: dict[Node, tuple[Node, Edge] | None] = {begin: None}
        waiting = deque([(begin, 0)])
        while waiting:
            node, length = waiting.popleft()
            if node == end:
                break
            if length == longest:
                continue
            for edge in self._at.get(node, ()):
                other = edge.other if edge.disease == node else edge.disease
                if other not in before:
                    before[other] = node, edge
                    waiting.append((other, length + 1))
        found: list[Edge] = []
        step = before.get(end)
        while step is not None:
            node, edge = step
            found.append(edge)
            step = before[node]
        return tuple(reversed(found))


@functools.cache
def graph_of(knowledge: Knowledge) -> Graph:
    """Returns the graph of a knowledge, made once."""
    return Graph(knowledge)


def _edges(knowledge: Knowledge) -> Iterator[Edge]:
    for disease in knowledge.diseases.values():
        node = Node("disease", disease.id, disease.name)
        for symptom, shares in disease.symptoms.items():
            if max(shares) >= _OFTEN:
                known = knowledge.symptoms[symptom]
                yield Edge(node, "has symptom", Node("symptom", known.id, known.name))
        for finding in _findings(disease, knowledge):
            yield Edge(node, "shows", finding)
        for examination in disease.examinations:
            shown = knowledge.examinations[examination]
            yield Edge(node, "is shown by", Node("examination", shown.id, shown.name))
        drugs = dict.fromkeys(drug for severity in SEVERITIES for drug in disease.plan(severity).drug_ids())
        for drug in drugs:
            yield Edge(node, "is treated with", Node("drug", drug, knowledge.drugs[drug].name))


def _findings(disease: Disease, knowledge: Knowledge) -> Iterator[Node]:
    for examination, items in disease.findings.items():
        known = {item.id: item for item in knowledge.examinations[examination].items}
        for id in items:
            item = known[id]
            distributions = [disease.distribution(examination, item, severity) for severity in SEVERITIES]
            for what, name in _abnormal(item, distributions):
                yield Node("finding", f"{examination}.{id}.{what}", name)


def _abnormal(item: Item, distributions: Sequence[Distribution]) -> Iterator[tuple[str, Name]]:
    """Yields what is often not usual of an item: its texts that are not normal, or the side to which a number lies."""
    if not item.numeric:
        for value in list(item.values)[1:]:
            if max(d.get(value, 0.0) for d in distributions if isinstance(d, dict)) >= _OFTEN:
                name = item.values[value]
                yield value, Name(en=f"{item.name.en}: {name.en}", zh=f"{item.name.zh}：{name.zh}")
        return
    for distribution in distributions:
        if off_usual(item, distribution) > _FAR:
            side: Literal["high", "low"] = "high" if distribution[0] > item.usual[0] else "low"  # type: ignore[index]
            word = _SIDES[side]
            yield side, Name(en=word.en.format(item.name.en), zh=word.zh.format(item.name.zh))
            return
