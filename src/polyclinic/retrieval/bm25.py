"""Finds passages by their words: BM25 over title and text, by tantivy.

The score of a passage is the sum, over its two fields and the different words of the query, of

    ln(1 + (N - n + 0.5) / (n + 0.5)) · f · 2.2 / (f + 1.2 · (0.25 + 0.75 · L / M))

N passages, n of them hold the word in that field; f times it stands in this one, which is L words long, M on average.
tantivy keeps a length above 40 in steps of an eighth at most, rounded down, and counts a passage that was taken out
until it next merges the segment that held it.

Words are stems of English, and Chinese cut as jieba does. There are no stop words: "all" is a leukaemia, and a word
that every passage holds weighs next to nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from polyclinic.errors import BadInput
from polyclinic.language.language import CHINESE
from polyclinic.retrieval.retriever import library

LONGEST = 60  # Bytes of a word; what is longer is no word

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

NUMBER = "n"

_ANALYZER = "words"
_PANIC = "PanicException"  # what pyo3 makes of Rust's panics; it offers the class nowhere
_HEAP = 15_000_001
"""Bytes of words that are gathered before they are written: the least that tantivy takes, so that a commit is quick."""
_LARGE_HEAP = 128_000_000
_LARGE = 2_000
"""Passages from which on the large heap is worth its while: it makes one segment, where the small one makes many."""
_MOST_TERMS = 512  # Different words of a query; a whole record may be one
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
        self._is_swept = folder is None
        if folder is not None:
            folder.mkdir(exist_ok=True)
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
        self._searcher = self._index.searcher()

    def search(self, query: str, k: int) -> Ranked:
        """Returns the best `k` passages that hold a word of the query."""
        t, searcher = tantivy(), self._searcher
        wanted = list(dict.fromkeys(terms(query)))[:_MOST_TERMS]
        if not wanted or k < 1 or not len(self):
            return []
        with _damage(self._folder):
            either = [
                (t.Occur.Should, t.Query.term_query(self._schema, field, word, "freq"))
                for word in wanted
                for field in FIELDS
            ]
            together, limit = t.Query.boolean_query(either), k + 8
            while True:
                hits = searcher.search(together, limit, count=False).hits
                scores = [round(score, _DECIMALS) for score, _ in hits]
                # Of hits that equal the last one, tantivy takes any: look at as many as there are.
                if len(hits) < limit or scores[-1] < scores[k - 1]:
                    break
                limit *= 4
            numbers: Sequence[int] = searcher.fast_field_values(NUMBER, [place for _, place in hits])
        return sorted(zip(numbers, scores, strict=True), key=lambda hit: (-hit[1], hit[0]))[:k]

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
        if not self._is_swept:
            # A process that was killed leaves files that the next commit would give the same names.
            self._writer.garbage_collect_files()
            self._is_swept = True
        return self._writer
