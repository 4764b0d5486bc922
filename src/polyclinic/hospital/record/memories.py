"""The memories of a run on disk: what its doctors brought, and what each of them has learnt in it.

    memory/brought/memory.sqlite     what all of them remembered from before
    memory/d03/memory.sqlite         what a doctor, or a department, has learnt
    memory/d03/reading.sqlite        what it has read

A run that goes on learns the same again. Versions are compared with those on disk, and nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec

from polyclinic.errors import BadInput
from polyclinic.hospital.record.recorded import CannotResume
from polyclinic.language.language import Language
from polyclinic.memory.memory import PATIENTS, READ, About, DoctorMemory, Note, open_memory, snapshot_of
from polyclinic.memory.opening import Publication, version_of
from polyclinic.memory.reading import PassageRead, ReadingLibrary, open_reading
from polyclinic.memory.remembering import language_of_memory

MEMORY = "memory"
"""The folder, in that of a run."""

BROUGHT = "brought"

_PUBLISHED = "published"
"""What the notes in the memories are of."""


class KeptMemories:
    """The memories of a run in its folder; their files are open until `files` is closed."""

    def __init__(self, run: Path, about: About, files: ExitStack) -> None:
        self._folder, self._about = run / MEMORY, about
        self._files = files
        self._open: dict[str, DoctorMemory] = {}
        self._read: dict[str, ReadingLibrary] = {}

    def keep(self, publication: Publication) -> None:
        """Writes the new entries of each memory, all or none of them."""
        version = publication.version.encode()
        for holder, new in publication.by_holder().items():
            if holder not in self._open:
                self._open[holder] = self._files.enter_context(open_memory(self._of(holder), self._about))
            memory, number = self._open[holder], max(one.entry.asked.number for one in new)
            notes = {note.patients: note.came for note in memory.notes() if note.what == _PUBLISHED}
            if number not in notes:
                memory.commit(new, [Note(number, _PUBLISHED, version)])
            elif notes[number] != version:
                raise CannotResume(f"{self._folder}: {holder} learns something else than before; start the run anew")

    def keep_read(self, holder: str, read: Sequence[PassageRead]) -> None:
        """Writes passages that were read, except those that are there already."""
        if holder not in self._read:
            about = msgspec.structs.replace(self._about, knowledge="")
            self._read[holder] = self._files.enter_context(open_reading(self._of(holder), about))
        self._read[holder].commit(read)

    def _of(self, holder: str) -> Path:
        return self._folder / quote(holder, safe="")


@contextmanager
def open_brought(folder: Path, about: About, language: Language | None = None) -> Iterator[DoctorMemory]:
    """Opens what doctors bring to a run."""
    there, _ = snapshot_of(folder)
    if not PATIENTS.is_in(there) and (several := memories_of(there)):
        names = ", ".join(str(one) for one in several[:3])
        more = ", ..." if len(several) > 3 else ""
        raise BadInput(f"holds the memories of {len(several)}; name one ({names}{more}), or merge them", path=there)
    with open_memory(folder) as memory:
        spoken = language_of_memory(memory)
        if language is not None and spoken not in (None, language):
            raise BadInput(f"is in {spoken!r}, and the town in {language!r}; give --language {spoken}", path=folder)
        if problem := memory.about.difference(about):
            raise BadInput(problem, path=folder)
        yield memory


def memories_of(run: Path) -> list[Path]:
    """Returns the folders of the memories of a run, or of several practices; what doctors brought first."""
    places = [f"{place}/{name}" for place in (f"{MEMORY}/*", "seed-*") for name in (PATIENTS.file, READ.file)]
    found = {path.parent for place in places for path in run.glob(place)}
    return sorted(found, key=lambda folder: (folder.name != BROUGHT, folder.name))


def bring(memory: DoctorMemory, run: Path) -> None:
    """Copies what doctors bring into the folder of a run that begins."""
    with open_memory(run / MEMORY / BROUGHT, memory.about) as copy:
        copy.commit(memory.news())


def brought_to(run: Path, about: About, version: str) -> str:
    """Returns the folder of what doctors brought into a run; "" where they brought nothing."""
    if version == version_of(None):
        return ""
    folder = run / MEMORY / BROUGHT
    with open_memory(folder, about) as memory:
        if version_of(memory) != version:
            raise CannotResume(f"{folder}: is another memory than the run was begun with; start the run anew")
    return str(folder)
