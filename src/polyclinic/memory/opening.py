"""Opening what doctors remember, and what they have read, for whoever plays them."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import msgspec

from polyclinic.errors import BadInput
from polyclinic.language.language import Language
from polyclinic.memory.cases_in_mind import CaseMemory
from polyclinic.memory.embedding import asked_for, memory_embedder
from polyclinic.memory.memory import DoctorMemory, has_memory, open_memory, snapshot_of
from polyclinic.memory.options import MemoryOptions
from polyclinic.memory.published import version_of
from polyclinic.memory.reading import ReadingLibrary, has_read, open_reading
from polyclinic.memory.remembering import Recollection, language_of_memory
from polyclinic.models.session import Session


class OpenedMemory:
    """A folder's memory of patients, and what was read beside it; either may be missing, not both.

    Attributes:
        folder: where it is, with its snapshot.
        source: what traces call it: the folder's name, with its snapshot.
    """

    def __init__(self, folder: Path, memory: DoctorMemory | None, reading: ReadingLibrary | None) -> None:
        self.folder, self.memory, self.reading = folder, memory, reading
        self.source = folder.name

    @property
    def asked(self) -> list[str]:
        """The models that make its vectors; a session must open them."""
        names = [one.about.embedder for one in (self.memory, self.reading) if one is not None]
        return [model for name in dict.fromkeys(names) for model in asked_for(name)]

    def check_language(self, languages: Iterable[Language]) -> None:
        """Raises BadInput where somebody is to be seen in another language than the memory's."""
        there = None if self.memory is None else language_of_memory(self.memory)
        for here in sorted({*languages} - {there}):
            if there is not None:
                how = f"is in {there!r}, and the visit in {here!r}; let a doctor practise in {here!r} for it"
                raise BadInput(how, path=self.folder)

    def recollection(self, session: Session, *, records: int, experience: int) -> Recollection:
        """Returns it as what doctors remember.

        Raises:
            MissingExtra: what made the vectors is not installed.
        """
        reading = self.reading
        if reading is None and self.memory is not None:
            embedder = memory_embedder(self.memory.about.embedder, session)
            return CaseMemory(self.memory, embedder, records=records, experience=experience, source=self.source)
        return Recollection(
            self.memory,
            None if self.memory is None else memory_embedder(self.memory.about.embedder, session),
            records=records,
            experience=experience,
            reading=reading,
            read_with=None if reading is None else memory_embedder(reading.about.embedder, session),
            source=self.source,
        )


@asynccontextmanager
async def open_what_is_remembered(options: MemoryOptions) -> AsyncIterator[OpenedMemory | None]:
    """Opens the folder of a memory, as long as it is needed; None where none is named.

    Raises:
        BadInput: there is no such memory, or it cannot be read.
    """
    if options.memory is None:
        yield None
        return
    with _opened(options.memory) as opened:
        yield opened


def version_at(folder: Path) -> str:
    """Returns the name of what a folder's memory holds, as it was then (`FOLDER@2000`): the same for the same content.

    Raises:
        BadInput: there is no such memory, or it cannot be read.
    """
    with _opened(folder) as opened:
        version = version_of(opened.memory)
        if opened.reading is None:
            return version
        read = version.encode() + msgspec.msgpack.encode(opened.reading.records)
        return hashlib.blake2b(read, digest_size=len(version) // 2).hexdigest()


@contextmanager
def _opened(named: Path) -> Iterator[OpenedMemory]:
    with ExitStack() as stack:
        folder, until = snapshot_of(named)
        reads = has_read(folder)
        memory = None
        if not reads or until is not None or has_memory(folder):
            memory = stack.enter_context(open_memory(named))
        reading = stack.enter_context(open_reading(folder)) if reads else None
        yield OpenedMemory(named, memory, reading)
