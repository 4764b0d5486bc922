"""What the doctors of a run remember, a line each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from polyclinic.errors import BadInput
from polyclinic.hospital.record.memories import BROUGHT
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.memory.entries import ClinicalTask
from polyclinic.memory.memory import has_memory, open_memory
from polyclinic.memory.reading import has_read, open_reading
from polyclinic.terminal.figures import ShownFigure, number
from polyclinic.terminal.screen import console, note, plain, print_json
from polyclinic.terminal.tables import table

_TASKS = tuple(ClinicalTask)


def show_several(run: Path, folders: Sequence[Path], *, json: bool) -> None:
    """Prints how much is in each of the memories of a run."""
    names = _names(run)
    memories = {unquote(folder.name): _counted(folder) for folder in folders}
    if json:
        print_json({"memories": memories})
        return
    read = any(counted["questions"] for counted in memories.values())
    heads = ("memory", "of", "patients", *(task.value for task in _TASKS), *(["questions"] if read else []))
    shown = table("what the doctors of the run remember: of each task, records and experience", heads, left=2)
    for holder, counted in memories.items():
        cells: list[str] = [
            ShownFigure(f"{one['records']:,} + {one['experience']:,}", one) for one in counted["tasks"].values()
        ]
        cells += [number(counted["questions"], ",")] if read else []
        name = "brought by all" if holder == BROUGHT else names.get(holder, "")
        shown.add_row(plain(holder), plain(name), number(counted["patients"], ","), *cells)
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


def _names(run: Path) -> dict[str, str]:
    """Returns what the run calls its doctors and departments, in English."""
    try:
        hospital = RecordedRun(run).configuration["hospital"]
    except (BadInput, KeyError):
        return {}
    staff = {id: f"{one['name']['en']}, {', '.join(one['departments'])}" for id, one in hospital["staff"].items()}
    return staff | {id: name["en"] for id, name in hospital["departments"].items()}
