"""Finds passages by their words: BM25 over title and text, by tantivy.

The score of a passage is the sum, over its two fields and the different words of the query, of

    ln(1 + (N - n + 0.5) / (n + 0.5)) · f · 2.2 / (f + 1.2 · (0.25 + 0.75 · L / M))

N passages, n of them hold the word in that field; f times it stands in this one, which is L words long, M on average.
tantivy keeps a length above 40 in steps of an eighth at most, rounded down, and counts a passage that was taken out
until it next merges the segment that held it.

A commit of the index costs as much as dozens of searches. So the few passages that were added or taken out of late are
kept beside it (`Fresh`) and scored by the same formula, with the numbers and lengths of the index.

Words are stems of English, and Chinese cut as jieba does. There are no stop words: "all" is a leukaemia, and a word
that every passage holds weighs next to nothing.
"""

from __future__ import annotations

import math
import re
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from polyclinic.errors import BadInput
from polyclinic.language.language import CHINESE
from polyclinic.retrieval.retriever import library

LONGEST = 60
"""Bytes of a word; what is longer is no word."""

_CHINESE_RUN = re.compile(rf"[{CHINESE}]+")


def tantivy() -> Any:
    """Returns the library that finds words; MissingExtra where it is not installed."""
    return library("tantivy", "finds passages by their words")


@lru_cache(maxsize=1)
def analyzer() -> Any:
    """Returns what makes words of a text that went through `cut`: letters and digits, folded and stemmed."""
    t = tantivy()
    builder = t.TextAnalyzerBuilder(t.Tokenizer.simple()).filter(t.Filter.remove_long(LONGEST))
    return (
        builder.filter(t.Filter.lowercase()).filter(t.Filter.ascii_fold()).filter(t.Filter.stemmer("english")).build()
    )


def cut(text: str) -> str:
    """Returns a text with blanks around each Chinese word.

    A long word is followed by the shorter ones in it, so that it is found by these too.
    """
    if text.isascii() or _CHINESE_RUN.search(text) is None:
        return text
    jieba = library("rjieba", "cuts Chinese into words")
    return _CHINESE_RUN.sub(lambda run: f" {' '.join(jieba.cut_for_search(run[0]))} ", text)


def terms(text: str) -> list[str]:
    """Returns the words of a text, in order, each as often as it stands there."""
    found: list[str] = analyzer().analyze(cut(text))
    return found


TITLE, TEXT = "title", "text"
FIELDS = (TITLE, TEXT)

K1, B = 1.2, 0.75

_STEPS = (step for doubled in range(1, 28) for step in repeat(2**doubled, 8))
_LENGTHS = [*range(40), *accumulate(_STEPS, initial=40)]
"""The lengths that tantivy knows: each up to 40, then in steps that double every eight of them."""


class Statistics(NamedTuple):
    """What a score depends on beside the passage: how many there are, and how long each field is on average."""

    passages: float
    mean: Mapping[str, float]


class Posting(NamedTuple):
    """How often a word stands in a field of a passage, and how long that field is."""

    number: int
    often: int
    length: int


class Fresh:
    """Passages beside the index, by their words.

    Attributes:
        numbers: what the index holds of these is not as it is now: they were added, changed or taken out.
    """

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self._postings: defaultdict[tuple[str, str], dict[int, Posting]] = defaultdict(dict)
        self._held: dict[int, list[tuple[str, str]]] = {}

    def put(self, number: int, title: str, text: str) -> None:
        """Takes a passage in, in place of what has its number."""
        self.forget(number)
        keys = self._held[number] = []
        for field, said in zip(FIELDS, (title, text), strict=True):
            counts = Counter(terms(said))
            length = _LENGTHS[bisect_right(_LENGTHS, counts.total()) - 1]
            for word, often in counts.items():
                self._postings[field, word][number] = Posting(number, often, length)
                keys.append((field, word))

    def forget(self, number: int) -> None:
        """Takes a passage out, here and in what the index holds."""
        self.numbers.add(number)
        for key in self._held.pop(number, ()):
            del self._postings[key][number]

    def scores(
        self, words: Sequence[str], statistics: Statistics, holding: Callable[[str, str], int]
    ) -> Iterable[tuple[int, float]]:
        """Returns the passages that hold one of these different words, with their scores; `holding` counts a word's."""
        found: defaultdict[int, float] = defaultdict(float)
        for word in words:
            for field in FIELDS:
                postings = self._postings.get((field, word))
                if not postings:
                    continue
                n = holding(field, word)
                rarity = math.log(1 + (statistics.passages - n + 0.5) / (n + 0.5))
                for number, often, length in postings.values():
                    fit = often + K1 * (1 - B + B * length / statistics.mean[field])
                    found[number] += rarity * often * (1 + K1) / fit
        return found.items()


NUMBER = "n"

_ANALYZER = "words"
_PANIC = "PanicException"  # what pyo3 makes of Rust's panics; it offers the class nowhere
_HEAP = 15_000_001
"""Bytes of words that are gathered before they are written: the least that tantivy takes, so that a commit is quick."""
_LARGE_HEAP = 128_000_000
_LARGE = 2_000
"""Passages from which on the large heap is worth its while: it makes one segment, where the small one makes many."""
_MOST_TERMS = 512
"""Different words of a query; a whole record may be one."""
_DECIMALS = 4
"""Of a score. Beyond, sums differ by the order in which tantivy adds, which depends on how its segments lie."""

Ranked = list[tuple[int, float]]
"""Numbers of passages with their scores, the best first; of equals, the lower number first."""


@contextmanager
def _damage(folder: Path | None) -> Iterator[None]:
    """Gives what tantivy does with a damaged index a name: it raises, or panics where it relies on what it wrote."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, ValueError | OSError) or type(error).__name__ == _PANIC:
            raise BadInput(
                f"cannot be used as an index of words ({error}); `polyclinic corpus add NAME --rebuild` makes it anew",
                path=folder,
            ) from None
        raise


class WordIndex:
    """An index of words, in a folder, or in memory where none is named. It can be searched while it is added to.

    Raises:
        BadInput: the folder holds something else, or not what was written there.
    """

    def __init__(self, folder: Path | None = None) -> None:
        t = tantivy()
        builder = t.SchemaBuilder()
        # Of an unsigned field, a term that is to be deleted is not found.
        builder.add_integer_field(NUMBER, indexed=True, fast=True)
        for field in FIELDS:
            builder.add_text_field(field, tokenizer_name=_ANALYZER, index_option="freq")
        self._schema, self._folder = builder.build(), folder
        self._writer: Any = None
        if folder is not None:
            folder.mkdir(exist_ok=True)
        self._statistics: Statistics | None = None
        with _damage(folder):
            self._index: Any = t.Index(self._schema, path=None if folder is None else str(folder))
            self._index.register_tokenizer(_ANALYZER, analyzer())
            self._index.config_reader("manual")
            self.reload()

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def update(
        self, put: Collection[tuple[int, str, str]], forget: Iterable[int] = (), *, patience: float = 10.0
    ) -> None:
        """Takes passages in, as number, title and text, and others out, and commits: all of it, or nothing.

        What is put under a number that is there takes its place if the number is forgotten too. Another process that
        writes is waited for so many seconds.

        Raises:
            BadInput: another process goes on writing, or the disk takes nothing more.
        """
        large = len(put) >= _LARGE
        if large:
            self.close()
        writer, document = self._open_writer(patience, _LARGE_HEAP if large else _HEAP), tantivy().Document
        try:
            for number in forget:
                writer.delete_documents_by_term(NUMBER, number)
            for number, title, text in put:
                made = document()
                made.add_integer(NUMBER, number)
                made.add_text(TITLE, cut(title))
                made.add_text(TEXT, cut(text))
                writer.add_document(made)
            writer.commit()
        except (ValueError, OSError) as error:
            self._writer = None
            raise BadInput(f"cannot be written ({error})", path=self._folder) from None
        except BaseException:
            writer.rollback()
            raise
        if large:
            self.close()
        self.reload()

    def reload(self) -> None:
        """Sees what another process committed."""
        self._index.reload()
        self._searcher, self._statistics = self._index.searcher(), None

    def search(self, query: str, k: int, fresh: Fresh | None = None) -> Ranked:
        """Returns the best `k` passages that hold a word of the query, of those in the index and beside it."""
        wanted = list(dict.fromkeys(terms(query)))[:_MOST_TERMS]
        if not wanted or k < 1:
            return []
        beside = fresh if fresh is not None and fresh.numbers else None
        with _damage(self._folder):
            found = self._search(wanted, k, set() if beside is None else beside.numbers)
        if beside is not None:
            scores = beside.scores(wanted, self.statistics(), self._searcher.doc_freq)
            found = _best([*found, *((number, round(score, _DECIMALS)) for number, score in scores)], k)
        return found

    def _search(self, words: Sequence[str], k: int, without: Collection[int]) -> Ranked:
        """Returns the best `k` in the index that hold one of the words, without those of some numbers."""
        t, searcher = tantivy(), self._searcher
        if not len(self):
            return []
        either = [
            (t.Occur.Should, t.Query.term_query(self._schema, field, word, "freq"))
            for word in words
            for field in FIELDS
        ]
        together, k = t.Query.boolean_query(either), k + len(without)
        limit = k + 8
        while True:
            hits = searcher.search(together, limit, count=False).hits
            scores = [round(score, _DECIMALS) for score, _ in hits]
            # Of those that are equal to the last one, tantivy takes any: as many are looked at as there are.
            if len(hits) < limit or scores[-1] < scores[k - 1]:
                break
            limit *= 4
        numbers: Sequence[int] = searcher.fast_field_values(NUMBER, [place for _, place in hits])
        pairs = zip(numbers, scores, strict=True)
        return _best([hit for hit in pairs if hit[0] not in without], k - len(without))

    def statistics(self) -> Statistics:
        """Returns what the scores of the index depend on, beside a passage and how many hold a word."""
        if self._statistics is None:
            passages, mean = float(len(self)), dict.fromkeys(FIELDS, 1.0)
            for field in FIELDS:
                # tantivy tells these numbers where it explains a score, and nowhere else.
                for word, _ in self._searcher.terms_with_prefix(field, "", limit=1):
                    query = tantivy().Query.term_query(self._schema, field, word, "freq")
                    for _, place in self._searcher.search(query, 1).hits:
                        told = msgspec.json.decode(query.explain(self._searcher, place).to_json())
                        passages, mean[field] = _number(told, "N, "), _number(told, "avgdl, ")
            self._statistics = Statistics(passages, mean)
        return self._statistics

    def clear(self) -> None:
        """Forgets all passages, and commits."""
        writer = self._open_writer(10.0)
        writer.delete_all_documents()
        writer.commit()
        self.reload()

    def close(self) -> None:
        """Lets others write."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.wait_merging_threads()

    def _open_writer(self, patience: float, heap: int = _HEAP) -> Any:
        until = time.monotonic() + patience
        while self._writer is None:
            try:
                self._writer = self._index.writer(heap_size=heap, num_threads=1)
            except ValueError as error:
                if "Lock" not in str(error):
                    raise BadInput(f"cannot be written ({error})", path=self._folder) from None
                if time.monotonic() > until:
                    problem = "another process is adding to this corpus; wait until it has ended"
                    raise BadInput(problem, path=self._folder) from None
                time.sleep(0.05)
        return self._writer


def _best(hits: Iterable[tuple[int, float]], k: int) -> Ranked:
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]


def _number(told: dict[str, Any], name: str) -> float:
    """Returns a number that an explanation of tantivy's names, 0 where it does not."""
    if str(told["description"]).startswith(name):
        return float(told["value"])
    return max((_number(part, name) for part in told.get("details") or ()), default=0.0)
