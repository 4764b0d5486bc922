"""The embedders of memories, by name: `case-words`, made for patients, and those that things are looked up with."""

from __future__ import annotations

from polyclinic.errors import UserError
from polyclinic.memory.case_words import CaseWordsEmbedder
from polyclinic.models.session import Session
from polyclinic.retrieval.embedders import BUILT_IN, ENDPOINT, Embedder, built_in
from polyclinic.retrieval.opening import endpoint_embedder

CASE_WORDS = CaseWordsEmbedder.name

_PROBE = "a cough"


def check_memory_embedder(name: str) -> None:
    """Raises a UserError where no embedder of memories has that name."""
    if name not in (CASE_WORDS, *BUILT_IN) and not (name.startswith(ENDPOINT) and name != ENDPOINT):
        raise UserError(f"no embedder {name!r}; there are: {CASE_WORDS}, {', '.join(BUILT_IN)}, direct/NAME")


def asked_for(name: str) -> list[str]:
    """Returns what must be opened with a session for that embedder: the model of an endpoint's, else nothing."""
    return [name] if name.startswith(ENDPOINT) else []


def memory_embedder(name: str, session: Session) -> Embedder:
    """Returns an embedder by its name; an endpoint's is asked, journalled and counted in the session.

    Raises:
        MissingExtra: it is not installed.
        UserError: there is none of that name.
    """
    check_memory_embedder(name)
    if name == CASE_WORDS:
        return CaseWordsEmbedder()
    return endpoint_embedder(session.models[name], session) if name in asked_for(name) else built_in(name)


async def dimensions_of(embedder: Embedder) -> int:
    """Returns how many numbers a vector has."""
    return len(await embedder.query(_PROBE))
