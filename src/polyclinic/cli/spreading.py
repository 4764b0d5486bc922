"""`--on`: the parts of a command, each in a process of its own, on this machine or on others.

An evaluation is asked in parts, and then held where the command was given: every answer is there by then, and nothing
is asked again. Runs of the hospital are made each in its folder, and then summed up. What comes is what would have come
without parts.
"""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from polyclinic.cluster.jobs import ClusterJob, Here, JobEnded, Site
from polyclinic.cluster.opening import check_site, open_site
from polyclinic.cluster.running import run_jobs
from polyclinic.cluster.shipping import shipped
from polyclinic.errors import PlayFailure, UserError
from polyclinic.files import make_folder
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.run_file import CALLS, RUN
from polyclinic.models.journal_parts import JournalPart, JournalRow, rows_of
from polyclinic.models.model_file import read_model_file
from polyclinic.models.session import Share, part_of, parts_of
from polyclinic.terminal.screen import note, progress_of_parts

_JOURNAL = "journal.sqlite"
_RUN = "run"


@contextmanager
def in_parts(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Makes or asks everything in parts; yields the words of the command that finds all of it there.

    Raises:
        UserError: --on names no place, nobody is there, or a part says that its input is wrong.
        WorkerLost: the workers of one part were lost again and again.
    """
    where, rest = value_of(words, "--on"), without(words, "--on")
    if where is None or words[0] not in _WHOLES:
        yield words  # which says that the option has no value, or is none of the command's
        return
    check_site(where)
    with tempfile.TemporaryDirectory(prefix="polyclinic-") as scratch:
        yield _WHOLES[words[0]](rest, where, Path(scratch))


def _evaluation(words: Sequence[str], where: str, scratch: Path) -> Sequence[str]:
    """Asks every part of an evaluation; its answers are kept beside the journal, or for as long as the command runs."""
    journal = value_of(words, "--journal")
    kept = scratch / _JOURNAL if journal is None else Path(journal)

    async def ask() -> dict[str, JobEnded]:
        async with open_site(where) as site:
            shares = {
                f"part {number + 1} of {site.workers}": Share(number, site.workers) for number in range(site.workers)
            }
            jobs = [
                _job(name, site, without(words, "--journal", "--out", switches=("--json", "--csv")), (
                    "--journal", Here(_JOURNAL), "--share", f"{share.number + 1}/{share.of}",
                ), answers=_JOURNAL, tails="journal.*-of-*.sqlite")
                for name, share in shares.items()
            ]  # fmt: skip
            before = rows_of(parts_of(kept))

            def answered(job: ClusterJob) -> list[JournalRow]:
                own = part_of(kept, shares[job.name])
                return before + rows_of([own] if own.is_file() else [])

            def keep(job: ClusterJob, rows: Sequence[JournalRow]) -> None:
                _keep(part_of(kept, shares[job.name]), rows)

            with progress_of_parts("asking", len(jobs), quiet="--json" in words) as advance:
                return await run_jobs(
                    site, jobs, answered=answered, keep=keep, advance=lambda job, *far: advance(job.name, *far)
                )

    _tell(asyncio.run(ask()))
    return [*without(words, "--journal"), "--journal", str(kept)]


def _replicas(words: Sequence[str], where: str, _: Path) -> Sequence[str]:
    """Makes every run that is not there yet, each in its folder."""
    out, several, first = (value_of(words, name) for name in ("--out", "--replicas", "--seed"))
    if not (several or "").isdecimal() or int(several or 0) < 2:
        raise UserError(f"--on {where} makes several runs at once; say how many with --replicas N, 2 or more")
    if out is None:
        raise UserError(f"--on {where} makes runs that are kept; say where with --out DIR")
    if first is not None and not first.isdecimal():
        return words  # which says what is wrong
    seeds = range(int(first or 0), int(first or 0) + int(several or 0))
    folders = {f"seed {seed}": Path(out) / f"seed-{seed}" for seed in seeds}

    async def make() -> dict[str, JobEnded]:
        async with open_site(where) as site:
            own = without(words, "--replicas", "--seed", "--out", switches=("--csv",))
            jobs = [
                _job(name, site, own, ("--seed", name.split()[1], "--out", Here(_RUN)),
                     answers=f"{_RUN}/{CALLS}", tails=f"{_RUN}/{CALLS}", brings=_RUN)
                for name, folder in folders.items()
                if not _is_over(folder)
            ]  # fmt: skip

            def answered(job: ClusterJob) -> list[JournalRow]:
                there = folders[job.name] / CALLS
                return rows_of([there] if there.is_file() else [])

            def keep(job: ClusterJob, rows: Sequence[JournalRow]) -> None:
                folders[job.name].mkdir(parents=True, exist_ok=True)
                _keep(folders[job.name] / CALLS, rows)

            def ended(job: ClusterJob, end: JobEnded) -> None:
                _unpack(end.brought, folders[job.name])
                advance(job.name, 1, 1)

            with progress_of_parts("runs", len(jobs), quiet="--json" in words) as advance:
                return await run_jobs(site, jobs, answered=answered, keep=keep, ended=ended)

    make_folder(Path(out))
    ends = asyncio.run(make())
    for name, end in ends.items():
        if not _is_over(folders[name]):
            raise PlayFailure(f"{name}: {end.said}; the same command goes on from there")
    return words


_WHOLES = {"eval": _evaluation, "run": _replicas}
"""Commands that can be divided, by their first word."""


def _job(
    name: str,
    site: Site,
    words: Sequence[str],
    own: Sequence[str | Here],
    *,
    answers: str,
    tails: str,
    brings: str = "",
) -> ClusterJob:
    told = [shipped(word) for word in words] if site.ships else words
    keys = _keys(words) if site.ships else {}
    return ClusterJob(
        name=name, words=[*told, *own], folder=str(Path.cwd()), answers=answers, tails=tails, brings=brings,
        environment=keys,
    )  # fmt: skip


def _keep(file: Path, rows: Sequence[JournalRow]) -> None:
    if rows:
        with JournalPart(file) as part:
            part.add(rows)


def _is_over(folder: Path) -> bool:
    """Whether a run is there that has come to its end."""
    if not (folder / RUN).is_file():
        return False
    with RecordedRun(folder) as run:
        return run.summary is not None


def _unpack(packed: bytes, folder: Path) -> None:
    """Puts a folder that came from a worker in the place of what was heard of it before."""
    if not packed:
        return
    beside = folder.with_name(f".{folder.name}.coming")
    for old in (beside, folder):
        shutil.rmtree(old, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(beside, filter="data")
    beside.rename(folder)


def _tell(ends: Mapping[str, JobEnded]) -> None:
    for name, end in ends.items():
        if end.code:
            note(f"{name}: {end.said}")


def value_of(words: Sequence[str], option: str) -> str | None:
    """Returns the value that an option is given, the last where it is given more than once."""
    found = None
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == option and (equals or at + 1 < len(words)):
            found = value if equals else words[at + 1]
    return found


def without(words: Sequence[str], *options: str, switches: Sequence[str] = ()) -> list[str]:
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
    file, named = value_of(words, "--model-file"), {value_of(words, "--api-key-env")}
    if file is not None:
        said = read_model_file(Path(file))
        named |= {one.api_key_env for one in (*said.models.values(), *said.roles.values())}
    return {name: key for name, key in os.environ.items() if name.endswith("_API_KEY") or name in named}
