"""What is said of a memory whose answers are among others than this knowledge has."""

from __future__ import annotations

from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import LANGUAGES
from polyclinic.memory.entries import name_of_choices
from polyclinic.memory.memory import PATIENTS, about_memory, snapshot_of
from polyclinic.memory.options import MemoryOptions
from polyclinic.terminal.screen import note, plain


def say_other_knowledge(memory: MemoryOptions) -> None:
    """Names a memory that was made with another knowledge; where it is read as text, it is used all the same."""
    if memory.memory is None or not PATIENTS.is_in(snapshot_of(memory.memory)[0]):
        return
    made_with, knowledge = about_memory(memory.memory).knowledge, read_knowledge()
    known = [
        name_of_choices(some, language)
        for some in (knowledge.select("respiratory"), knowledge)
        for language in LANGUAGES
    ]
    if made_with not in known:
        told = (
            f"{memory.memory}: was made with another knowledge ({made_with}; here: {known[0]}); what it remembers may "
        )
        note(plain(f"{told}speak of what this one does not know"))
