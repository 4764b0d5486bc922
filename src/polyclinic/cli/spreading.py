"""`--on`: the parts of a command, each in a process of its own, on this machine or on others.

An evaluation is asked in parts, and then held where the command was given: every answer is there by then, and nothing
is asked again. What comes is what would have come without parts, item by item.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from polyclinic.cluster.jobs import Ended, Here, Job, Site
from polyclinic.cluster.opening import check_site, open_site
from polyclinic.cluster.running import run_jobs
from polyclinic.cluster.shipping import shipped
from polyclinic.models.journal_parts import JournalPart, Row, rows_of
from polyclinic.models.model_file import read_model_file
from polyclinic.models.session import Share, part_of, parts_of
from polyclinic.terminal.screen import note, progress_of_parts

_JOURNAL = "journal.sqlite"
_VALUES = ("--on", "--journal", "--out")  # of the whole, each with a value
_SWITCHES = ("--json",)


@contextmanager
def ask_in_parts(words: Sequence[str]) -> Iterator[list[str]]:
    """Asks everything in parts; yields the words of the command that finds all answers there.

    Raises:
        UserError: --on names no place, nobody is there, or a part says that its input is wrong.
        WorkerLost: the workers of one part were lost again and again.
    """
    where, journal = _value(words, "--on") or "", _value(words, "--journal")
    check_site(where)
    with tempfile.TemporaryDirectory(prefix="polyclinic-") as scratch:
        kept = Path(journal) if journal is not None else Path(scratch) / _JOURNAL
        ended = asyncio.run(_ask(words, where, kept))
        for name, end in ended.items():
            if end.code:
                note(f"{name}: {end.said}")
        yield [*_without(words, ("--on", "--journal")), "--journal", str(kept)]


async def _ask(words: Sequence[str], where: str, kept: Path) -> dict[str, Ended]:
    async with open_site(where) as site:
        jobs = _parts(words, site)
        shares = {job.name: Share(number, len(jobs)) for number, job in enumerate(jobs)}
        before = rows_of(parts_of(kept))

        def answered(job: Job) -> list[Row]:
            own = part_of(kept, shares[job.name])
            return before + rows_of([own] if own.is_file() else [])

        def keep(job: Job, rows: Sequence[Row]) -> None:
            if rows:
                with JournalPart(part_of(kept, shares[job.name])) as part:
                    part.add(rows)

        with progress_of_parts("asking", len(jobs), quiet="--json" in words) as advance:
            return await run_jobs(
                site, jobs, answered=answered, keep=keep, advance=lambda job, *how: advance(job.name, *how)
            )


def _parts(words: Sequence[str], site: Site) -> list[Job]:
    own = _without(words, _VALUES, _SWITCHES)
    told = [shipped(word) for word in own] if site.ships else own
    return [
        Job(
            name=f"part {number + 1} of {site.workers}",
            words=[*told, "--journal", Here(_JOURNAL), "--share", f"{number + 1}/{site.workers}"],
            folder=str(Path.cwd()),
            answers=_JOURNAL,
            tails="journal.*-of-*.sqlite",
            environment=_keys(words) if site.ships else {},
        )
        for number in range(site.workers)
    ]


def _value(words: Sequence[str], option: str) -> str | None:
    """Returns the value that an option is given, the last where it is given more than once."""
    found = None
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == option and (equals or at + 1 < len(words)):
            found = value if equals else words[at + 1]
    return found


def _without(words: Sequence[str], options: Sequence[str], switches: Sequence[str] = ()) -> list[str]:
    """Returns the words without some options, each with its value, and without some that have none."""
    left, passes = [], False
    for word in words:
        if passes:
            passes = False
        elif word in options:
            passes = True
        elif word.partition("=")[0] not in options and word not in switches:
            left.append(word)
    return left


def _keys(words: Sequence[str]) -> dict[str, str]:
    """Returns the variables that hold keys of models, for machines that do not have them."""
    file, named = _value(words, "--model-file"), {_value(words, "--api-key-env")}
    if file is not None:
        said = read_model_file(Path(file))
        named |= {one.api_key_env for one in (*said.models.values(), *said.roles.values())}
    return {name: key for name, key in os.environ.items() if name.endswith("_API_KEY") or name in named}
