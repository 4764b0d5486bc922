"""`polyclinic memory near`: what a doctor remembers of patients like one who is described."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from polyclinic.cli.memory import entry_document, entry_line
from polyclinic.cli.options import DIR, MODELS, POSITIVE, Json, Models
from polyclinic.errors import UserError
from polyclinic.memory.embedding import asked_for, memory_embedder
from polyclinic.memory.entries import ClinicalTask
from polyclinic.memory.memory import about_memory
from polyclinic.memory.nearness import look_up
from polyclinic.models.session import open_session
from polyclinic.terminal.screen import console, note, plain, print_json


async def near(
    folder: Annotated[
        Path,
        DIR,
        Parameter(
            help="The folder of a memory, also of one in a store; DIR@2000 is it as it was after 2,000 patients."
        ),
    ],
    said: Annotated[
        list[str], Parameter(help="What is said of the patient, each statement in quotes: 'a cough' 'a fever'.")
    ],
    /,
    *,
    task: Annotated[ClinicalTask | None, Parameter(help="Only of this task.")] = None,
    k: Annotated[
        int, POSITIVE, Parameter(name="--k", help="So many records, and so much experience, of each task.")
    ] = 3,
    json: Json = False,
    models: Models = MODELS,
) -> None:
    """Prints what was remembered of the patients that are most like one, by the words alone.

    A doctor that plays weighs what it finds like this by what it has learnt since.
    """
    text = "\n".join(line for one in said for line in map(str.strip, one.splitlines()) if line)
    if not text:
        raise UserError("nothing is said of the patient; say what there is, such as 'a cough' 'a fever'")
    about = about_memory(folder)
    async with open_session(asked_for(about.embedder), models, journal=None, run="near") as session:
        vector = await memory_embedder(about.embedder, session).query(text)
    came = look_up(folder, vector, [task] if task is not None else list(ClinicalTask), k)
    if json:
        found = [entry_document(one.task, one.entry) | {"cosine": round(one.cosine, 6)} for one in came.found]
        print_json({"about": msgspec.to_builtins(about), "searched": came.searched, "near": found})
        return
    screen = console()
    for one in came.found:
        screen.print(plain(f"{one.cosine:.3f}  {entry_line(one.task, one.entry)}\n"), soft_wrap=True)
    note(f"{len(came.found)} found by the cosine of {about.embedder}; looked through: {came.searched}")
