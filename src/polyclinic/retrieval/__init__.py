"""What can be looked up: corpora of passages, found by words, by meaning, or by both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.retrieval.corpus import Corpus as Corpus
    from polyclinic.retrieval.embedders import Embedder as Embedder
    from polyclinic.retrieval.library import Library as Library, find_corpus as find_corpus
    from polyclinic.retrieval.passage_files import (
        read_passage_files as read_passage_files,
        read_passages as read_passages,
    )
    from polyclinic.retrieval.retriever import By as By, Passage as Passage, Retriever as Retriever
    from polyclinic.retrieval.retriever import ScriptedRetriever as ScriptedRetriever
    from polyclinic.retrieval.store import NewPassage as NewPassage, PassageFile as PassageFile

__getattr__ = lazily(__name__, __file__)
