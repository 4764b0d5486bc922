"""What can be looked up: corpora of passages, found by words, by meaning, or by both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.retrieval.retriever import Passage as Passage, Retriever as Retriever
    from polyclinic.retrieval.scripted import ScriptedRetriever as ScriptedRetriever

__getattr__, __all__ = lazily(__name__, __file__)
