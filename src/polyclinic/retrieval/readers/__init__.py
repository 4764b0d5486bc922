"""Reading passages out of files: JSON lines in several layouts, plain text and Markdown, and our own knowledge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from polyclinic.errors import BadInput, UserError
from polyclinic.files import read_lines
from polyclinic.retrieval.readers.naming import called
from polyclinic.retrieval.readers.our_knowledge import knowledge_passages
from polyclinic.retrieval.readers.prose import read_prose
from polyclinic.retrieval.readers.records import LAYOUTS, read_passage_records
from polyclinic.retrieval.store import NewPassage, PassageFile

KNOWLEDGE = "knowledge"
"""Stands for the medical knowledge that comes with polyclinic, in place of a file."""

FIELDS = ("id", "title", "text")

_PROSE = (".txt", ".text", ".md", ".markdown")
_RECORDS = (".jsonl", ".ndjson", ".json")
_JUDGEMENT = re.compile(r"\d+\s+(?:(?:0|Q0)\s+\S+\s+-?\d+|-?\d+\S*\s+\S+)", re.IGNORECASE)
_LOOKED_AT = 20
"""Lines that say whether a file holds judgements."""


def read_passages(
    files: Iterable[str | Path], *, layout: str | None = None, fields: Mapping[str, str] | None = None
) -> Iterator[NewPassage]:
    """Yields the passages of files, in their order.

    Args:
        files: JSON lines, text (.txt), Markdown (.md), each perhaps packed (.gz); folders of such; or `KNOWLEDGE`.
        layout: of JSON lines, one of `LAYOUTS`; recognised by the first record where left out.
        fields: of any other JSON lines, which of their fields is `id`, `title` and `text`; see `parse_passage_fields`.

    Raises:
        BadInput: a file or a line of it cannot be used, or an id stands twice; says where, and what was allowed.
    """
    for file in _read_files(files, layout, fields, {}):
        yield from file.passages


def read_passage_files(
    files: Iterable[str | Path],
    *,
    layout: str | None = None,
    fields: Mapping[str, str] | None = None,
    known: Mapping[str, str] | None = None,
) -> list[PassageFile]:
    """Returns files with their passages, as `Corpus.add_files` takes them; the rest is as in `read_passages`.

    Args:
        files: as there; one that is named twice is read once.
        layout: as there.
        fields: as there.
        known: the files that the corpus has, `Corpus.files`: they keep their names, and no other file takes one.
    """
    return [file._replace(passages=list(file.passages)) for file in _read_files(files, layout, fields, known or {})]


def _read_files(
    files: Iterable[str | Path], layout: str | None, fields: Mapping[str, str] | None, known: Mapping[str, str]
) -> Iterator[PassageFile]:
    """Yields files, the passages of each to be read before the next."""
    if layout is not None and fields is not None:
        raise UserError("a layout and a field map were both given; one of them says how the file is read")
    if layout is not None and layout not in LAYOUTS:
        raise UserError(f"no layout of passages is called {layout!r}; there are: {', '.join(LAYOUTS)}")
    seen: dict[str, tuple[Path | str, int | None]] = {}

    def passages(path: Path | str, name: str) -> Iterator[NewPassage]:
        for line, passage in _read(path, name, layout, fields):
            if passage.id in seen:
                where, number = seen[passage.id]
                earlier = f"line {number}" if where == path and number is not None else f"{where}"
                raise BadInput(f"the id {passage.id!r} stands in {earlier} already", path=path, line=line)
            seen[passage.id] = (path, line)
            yield passage

    for path, key, name in called(_files(files), known):
        yield PassageFile(name, key, passages(path, name))


def _read(
    path: Path | str, name: str, layout: str | None, fields: Mapping[str, str] | None
) -> Iterator[tuple[int | None, NewPassage]]:
    if isinstance(path, str):
        return ((None, passage) for passage in knowledge_passages())
    suffix = _suffix(path)
    if suffix in _PROSE:
        if _is_judgements(path):
            raise BadInput("judgements of answers (topic, grade, document), and no passages; leave it out", path=path)
        return read_prose(path, name)
    if suffix and suffix not in _RECORDS:
        allowed = ", ".join((*_RECORDS, *_PROSE))
        raise BadInput(f"a name that ends in {suffix}; allowed: {allowed}, each perhaps packed (.gz)", path=path)
    return read_passage_records(path, name, layout=layout, fields=fields)


def _files(names: Iterable[str | Path]) -> Iterator[Path | str]:
    for name in names:
        path = Path(name)
        if str(name) == KNOWLEDGE and not path.exists():
            yield KNOWLEDGE
        elif _is_folder(path):
            inside = [one for one in sorted(path.iterdir()) if _taken(one)]
            if not inside:
                allowed = ", ".join((*_RECORDS, *_PROSE))
                raise BadInput(f"no file in this folder ends in {allowed}, judgements of answers apart", path=path)
            yield from inside
        else:
            yield path


def _taken(path: Path) -> bool:
    """Whether a file of a folder is read; one that is named by itself always is."""
    return path.is_file() and _suffix(path) in (*_PROSE, *_RECORDS) and not _is_judgements(path)


def passed_over(files: Iterable[str | Path]) -> list[Path]:
    """Returns what `read_passages` leaves unread of the folders among the files, in order.

    These are files of other endings, folders within, and judgements of answers (qrels); hidden ones are not told.
    """
    folders = (Path(name) for name in files if not (str(name) == KNOWLEDGE and not Path(name).exists()))
    return [
        one
        for folder in folders
        if _is_folder(folder)
        for one in sorted(folder.iterdir())
        if not one.name.startswith(".") and not _taken(one)
    ]


def _is_judgements(path: Path) -> bool:
    """Whether a text holds judgements: lines of topic, grade and document, with or without TREC's second column."""
    if _suffix(path) not in _PROSE:
        return False
    try:
        first = [line.strip() for _, line in islice(read_lines(path), _LOOKED_AT)]
    except BadInput:
        return False  # Whoever reads it says what is wrong with it.
    return all(_JUDGEMENT.fullmatch(line) for line in first)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def parse_passage_fields(text: str) -> dict[str, str]:
    """Reads `id=KEY,title=KEY,text=KEY`, which fields of a record are a passage's; `text` is needed.

    Raises:
        UserError: it says something else.
    """
    fields: dict[str, str] = {}
    for part in text.split(","):
        ours, sign, theirs = (word.strip() for word in part.partition("="))
        if not sign or not theirs or ours not in FIELDS or ours in fields:
            raise UserError(f"--fields {text}; allowed: {', '.join(f'{name}=KEY' for name in FIELDS)}, each once")
        fields[ours] = theirs
    if "text" not in fields:
        raise UserError(f"--fields {text}; text=KEY is missing")
    return fields
