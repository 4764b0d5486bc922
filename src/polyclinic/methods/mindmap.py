"""MindMap: a question's entities are found in a knowledge graph, and what the graph says of them is reasoned with.

Paper: Wen et al., MindMap: Knowledge Graph Prompting Sparks Graph of Thoughts in Large Language Models,
arXiv:2308.09729, §3; a baseline in the table of Tree-of-Reasoning.
Defaults: at most 12 entities, 10 paths and 8 neighbours of an entity.
The card `docs/methods/mindmap.md` has the cost and where we differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from polyclinic.answering.calls import Asker, at_least, together, usable
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import PlayFailure
from polyclinic.knowledge.graph import Edge, Graph, Node, Relation, graph_of
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import Language
from polyclinic.models.model import Model

PROMPTS = Path(__file__).with_suffix(".md")

_RELATIONS: dict[Language, dict[Relation, str]] = {
    "en": {r: r for r in ("has symptom", "shows", "is shown by", "is treated with")},
    "zh": {"has symptom": "有症状", "shows": "表现为", "is shown by": "检查为", "is treated with": "用药为"},
}


class MapEdge(msgspec.Struct, frozen=True):
    """A step of the reasoning, and where it is from: the evidence out of the graph, or the model's own knowledge."""

    begin: str
    relation: str
    end: str
    source: Literal["evidence", "own"]


class MindGraph(msgspec.Struct, frozen=True):
    """The reasoning as a graph, and in words."""

    edges: tuple[MapEdge, ...]
    reasoning: str


async def mindmap(
    question: Question,
    model: Model,
    *,
    entities: int = 12,
    paths: int = 10,
    neighbours: int = 8,
    temperature: float | None = None,
    top_p: float | None = None,
) -> Outcome:
    """Answers a question with what a knowledge graph says of the entities that it names.

    A failure is the outcome's end; it is not raised.

    Raises:
        UserError: a number that is below 1, or a question without options.
    """
    at_least(1, entities=entities, paths=paths, neighbours=neighbours)
    asker = Asker(PROMPTS, question, model, why=("graph", MindGraph), temperature=temperature, top_p=top_p)
    graph, language = graph_of(read_knowledge()), question.language
    try:
        # 1. The entities of the question, and which of them the graph knows.
        asker.trip += 1
        wanted = Annotated[tuple[str, ...], msgspec.Meta(max_length=entities)]
        named: tuple[str, ...] = await asker.ask("entities", "entities", answer=wanted, number=entities)
        nodes = list(dict.fromkeys(node for one in named if (node := graph.link(one)) is not None))
        # 2. What the graph holds of them: paths between them, and what each is joined to; both retold at once.
        evidence = {
            "paths": _paths(graph, nodes, paths, language),
            "neighbours": [_said(edge, language) for edge in _beside(graph, nodes, neighbours)],
        }
        told = {kind: lines for kind, lines in evidence.items() if lines}
        asker.trip += bool(told)
        retold = await together(
            *(asker.ask(kind, f"retell {kind}", "\n".join(lines), options=False) for kind, lines in told.items())
        )
        # 3. The answer, its reasoning as a graph in which every edge names its source.
        return await asker.decide(*map(str.strip, usable(retold)), rationale=lambda decided: _shown(decided.graph))
    except PlayFailure as failure:
        return asker.calls.failed(question.id, failure)


def _paths(graph: Graph, nodes: Sequence[Node], most: int, language: Language) -> list[str]:
    """Returns the shortest paths between every two entities, the shortest first."""
    found = [path for begin, end in combinations(nodes, 2) if (path := graph.path(begin, end))]
    kept = list(dict.fromkeys(sorted(found, key=len)))[:most]
    return ["; ".join(_said(edge, language) for edge in path) for path in kept]


def _beside(graph: Graph, nodes: Sequence[Node], most: int) -> list[Edge]:
    return list(dict.fromkeys(edge for node in nodes for edge in graph.neighbours(node)[:most]))


def _said(edge: Edge, language: Language) -> str:
    relation = _RELATIONS[language][edge.relation]
    return f"{edge.disease.called(language)} → {relation} → {edge.other.called(language)}"


def _shown(graph: MindGraph) -> str:
    lines = [f"{one.begin} → {one.relation} → {one.end} [{one.source}]" for one in graph.edges]
    return "\n".join([*lines, graph.reasoning])
