"""`--on`: the parts of a command, each in a process of its own, on this machine or on others.

The runs of a plan are asked in parts, and then held where the command was given: every answer is there by then, and
nothing is asked again. Runs of the hospital are made each in its folder, and then summed up. What comes is what would
have come without parts.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from polyclinic import stopping
from polyclinic.cli.case_generate import WRITER_ANSWERS
from polyclinic.cli.evolve_folder import ANSWERS, RESULTS, ReplicaPlaces, made_here
from polyclinic.cli.evolve_options import SHUFFLED
from polyclinic.cluster.jobs import ClusterJob, Here, JobEnded, Site, shipped, unpack
from polyclinic.cluster.left import name_of
from polyclinic.cluster.opening import check_site, open_site
from polyclinic.cluster.running import run_jobs
from polyclinic.errors import PlayFailure, StoppedByHand, UserError
from polyclinic.files import make_folder
from polyclinic.hospital.record.recorded import CALLS, RUN, RecordedRun
from polyclinic.models.journal_parts import JournalPart, JournalRow, rows_of
from polyclinic.models.ledger import spending
from polyclinic.models.model_file import read_model_file
from polyclinic.models.share import Share, part_of, parts_of
from polyclinic.run.options import check_new
from polyclinic.run.words import asks_by_batches, value_of, without
from polyclinic.storage.server import KEY_PASSWORD, PASSWORD, read_address
from polyclinic.terminal.screen import note, progress_of_parts

_JOURNAL = "journal.sqlite"
_RUN = "run"
_STUDY = "journal"
_MOST_DRAWN = 20_000  # patients of a part, which comes home in one piece


@contextmanager
def in_parts(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Makes or asks everything in parts; yields the words of the command that finds all of it there.

    What is asked by batches is asked by that command itself. Its limits are held against what all parts asked.

    Raises:
        UserError: --on names no place, nobody is there, or a part says that its input is wrong.
        WorkerLost: the workers of one part were lost again and again.
        ClusterLost: the cluster is gone.
    """
    where, rest = value_of(words, "--on"), without(words, "--on")
    if where is None or words[0] not in _WHOLES or _is_one_run(words):
        yield words  # which says that the option has no value, or spreads its items itself
        return
    check_site(where)
    if asks_by_batches(rest) and words[0] == "study":
        note(f"models.batch-api: asked from here, in one file; no worker of --on {where} is kept waiting for it")
        yield rest
        return
    with tempfile.TemporaryDirectory(prefix="polyclinic-") as scratch, spending():
        stopping.begin()
        yield _WHOLES[words[0]](rest, where, Path(scratch))


def _is_one_run(words: Sequence[str]) -> bool:
    """Whether these words make one run of the hospital here, whose visits are computed by several processes."""
    where, several = value_of(words, "--on") or "", value_of(words, "--replicas") or "1"
    return words[0] == "run" and where.startswith("local") and several in ("1", "auto")


def _study(words: Sequence[str], where: str, scratch: Path) -> Sequence[str]:
    """Asks every part of every run of a plan."""
    out = value_of(words, "--out")
    if out is None:
        return words  # which says what is wrong
    make_folder(Path(out))
    stored = value_of(words, "--store") is not None  # which every part writes to itself
    own: list[str | Here] = [*without(words, "--out", switches=("--json",)), "--out", Here(_RUN)]
    kept = (scratch if stored else Path(out)) / _STUDY
    _ask_in_parts(own, where, kept, answers=f"{_RUN}/{_STUDY}", quiet="--json" in words, goes_on=not stored)
    return words


def _patients(words: Sequence[str], where: str, scratch: Path) -> Sequence[str]:
    """Draws every part of the patients, or has their histories written."""
    out = value_of(words, "--out")
    if words[1:2] != ["generate"] or out is None or not _is_divided(words):
        return [*words, "--on", where]  # which says what is wrong
    own = without(words, "--out", switches=("--force",))
    if value_of(words, "--writer") is None:
        check_new(Path(out), force="--force" in words)
        return _drawn(words, own, where, scratch)
    make_folder(Path(out))
    stored = value_of(words, "--store") is not None  # which every part writes to itself
    kept, answers = (scratch if stored else Path(out)) / WRITER_ANSWERS, f"{_RUN}/{WRITER_ANSWERS}"
    _ask_in_parts([*own, "--out", Here(_RUN)], where, kept, answers=answers, quiet=False, goes_on=not stored)
    return words


def _is_divided(words: Sequence[str]) -> bool:
    if value_of(words, "--writer") is not None:
        return value_of(words, "--preset") is not None
    return value_of(words, "--preset") is None and value_of(words, "--format") in (None, "polyclinic")


def _drawn(words: Sequence[str], own: Sequence[str], where: str, scratch: Path) -> Sequence[str]:
    n = value_of(words, "--n") or ""
    if not n.isdecimal() or not int(n):
        return words

    async def draw() -> None:
        async with open_site(where) as site:
            of = max(site.workers, -(-int(n) // _MOST_DRAWN))
            jobs = [
                _job(f"part {number + 1:06d} of {of}", site, own, (
                    "--share", f"{number + 1}/{of}", "--out", Here(f"{_RUN}/cases.jsonl"),
                ), answers=_JOURNAL, tails=_JOURNAL, brings=_RUN)
                for number in range(of)
            ]  # fmt: skip

            def ended(job: ClusterJob, end: JobEnded) -> None:
                if end.code:
                    raise PlayFailure(f"{job.name}: {end.said}")
                unpack(end.brought, scratch / _RUN)
                (scratch / _RUN / "cases.jsonl").rename(drawn / f"{job.name}.jsonl")
                advance(job.name, 1, 1)

            with progress_of_parts("drawing", len(jobs), quiet=False) as advance:
                await run_jobs(site, jobs, answered=lambda _: [], keep=lambda *_: None, ended=ended)

    drawn = scratch / "drawn"
    drawn.mkdir()
    stopping.run(draw())
    return [*words, "--parts", str(drawn)]


def _ask_in_parts(
    own: Sequence[str | Here], where: str, kept: Path, *, answers: str, quiet: bool, goes_on: bool = True
) -> None:
    """Has the models of every part asked; the answers are kept in files beside `kept`, which is of all.

    Args:
        own: the words of a part, beside which part it is.
        where: as `--on` says.
        kept: the journal of all.
        answers: where a part keeps its own, in the folder of its job.
        quiet: without a progress bar.
        goes_on: whether the journal is there when the command is given again.

    Where somebody stops it, nobody is asked from then on; what was answered by then is there.
    """

    async def ask() -> dict[str, JobEnded]:
        async with open_site(where) as site:
            shares = {
                f"part {number + 1} of {site.workers}": Share(number, site.workers) for number in range(site.workers)
            }
            # One that is all of it writes to the journal itself.
            tails = answers
            if site.workers > 1:
                tails = str(Path(answers).with_suffix(f".*-of-*[0-9]{Path(answers).suffix}"))
            jobs = [
                _job(name, site, own, ("--share", f"{share.number + 1}/{share.of}"), answers=answers, tails=tails,
                     kept=name_of(kept) if goes_on else "")
                for name, share in shares.items()
            ]  # fmt: skip
            there = parts_of(kept)

            def answered(job: ClusterJob) -> list[JournalRow]:
                return rows_of({*parts_of(kept), part_of(kept, shares[job.name])})  # which is there from now on

            def take(_name: str, rows: Sequence[JournalRow]) -> None:
                if there:
                    _keep(there[0], rows)

            def keep(job: ClusterJob, rows: Sequence[JournalRow]) -> None:
                _keep(part_of(kept, shares[job.name]), rows)

            with progress_of_parts("asking", len(jobs), quiet=quiet) as advance:
                return await run_jobs(
                    site, jobs, answered=answered, keep=keep, take=take,
                    advance=lambda job, *far: advance(job.name, *far),
                )  # fmt: skip

    with spending() as all_of_it:
        try:
            ends = stopping.run(ask())
        except KeyboardInterrupt:
            if not stopping.was_stopped():
                raise
            stopping.sum_up()
            all_of_it.stopped = StoppedByHand("interrupted")
            return
    for name, end in ends.items():
        all_of_it.elsewhere(end.spent)
        if end.code:
            note(f"{name}: {end.said}")


@dataclass(frozen=True)
class _SeededKind:
    """What a command keeps in the folder of each of several, which differ in their seeds.

    Attributes:
        things: what they are.
        answers: the file with what models answered.
        is_over: whether what is in such a folder has come to its end.
        otherwise: a setting, and its value to each where it is not given.
        home: called with a folder that came from a worker, and the words of the command.
        check: called with the folder of all, the address of a store, and their folders, before anything begins.
    """

    things: str
    answers: str
    is_over: Callable[[Path], bool]
    otherwise: tuple[str, str] | None = None
    home: Callable[[Path, Sequence[str]], None] = lambda _folder, _words: None
    check: Callable[[Path, str | None, Iterable[Path]], None] = lambda _out, _store, _folders: None


def _replicas(words: Sequence[str], where: str, _: Path) -> Sequence[str]:
    """Makes everything that is not there yet, each in its folder."""
    kind = _KINDS[words[0]]
    out, several, first = (value_of(words, name) for name in ("--out", "--replicas", "--seed"))
    if not (several or "").isdecimal() or int(several or 0) < 2:
        raise UserError(f"--on {where} makes several {kind.things} at once; say how many with --replicas N, 2 or more")
    if out is None:
        raise UserError(f"--on {where} makes {kind.things} that are kept; say where with --out DIR")
    if first is not None and not first.isdecimal():
        return words  # which says what is wrong
    seeds = range(int(first or 0), int(first or 0) + int(several or 0))
    folders = {f"seed {seed}": Path(out) / f"seed-{seed}" for seed in seeds}

    kind.check(Path(out), value_of(words, "--store"), folders.values())

    async def make() -> dict[str, JobEnded]:
        if all(map(kind.is_over, folders.values())):
            return {}
        async with open_site(where) as site:
            own = without(words, "--replicas", "--seed", "--out", switches=("--csv",))
            if kind.otherwise is not None and value_of(own, f"--{kind.otherwise[0].rpartition('.')[2]}") is None:
                own += ("--set", "=".join(kind.otherwise))
            answers = f"{_RUN}/{kind.answers}"
            jobs = [
                _job(name, site, own, (
                    "--seed", name.split()[1], "--share", f"{number}/{len(folders)}", "--out", Here(_RUN),
                ), answers=answers, tails=answers, brings=_RUN, kept=name_of(Path(out)))
                for number, (name, folder) in enumerate(folders.items(), 1)
                if not kind.is_over(folder)
            ]  # fmt: skip

            def answered(job: ClusterJob) -> list[JournalRow]:
                folders[job.name].mkdir(parents=True, exist_ok=True)
                return rows_of([folders[job.name] / kind.answers])  # which is there from now on

            def keep(job: ClusterJob, rows: Sequence[JournalRow]) -> None:
                _keep(folders[job.name] / kind.answers, rows)

            def take(name: str, rows: Sequence[JournalRow]) -> None:
                if any(job.name == name for job in jobs) and (folders[name] / kind.answers).is_file():
                    _keep(folders[name] / kind.answers, rows)

            def ended(job: ClusterJob, end: JobEnded) -> None:
                unpack(end.brought, folders[job.name])
                kind.home(folders[job.name], words)
                advance(job.name, 1, 1)

            with progress_of_parts(kind.things, len(jobs), quiet="--json" in words) as advance:
                return await run_jobs(site, jobs, answered=answered, keep=keep, take=take, ended=ended)

    make_folder(Path(out))
    ends = stopping.run(make())
    for name, end in ends.items():
        if not kind.is_over(folders[name]):
            raise PlayFailure(f"{name}: {end.said}; the same command goes on from there")
    return words


def _run_is_over(folder: Path) -> bool:
    """Whether a run is there that has come to its end."""
    if not (folder / RUN).is_file():
        return False
    with RecordedRun(folder) as run:
        return run.summary is not None


_KINDS = {
    "run": _SeededKind("runs", CALLS, _run_is_over),
    "evolve": _SeededKind(
        "practices",
        ANSWERS,
        lambda folder: (folder / RESULTS).is_file(),
        otherwise=("practice.order", SHUFFLED),
        home=lambda folder, words: made_here(
            folder, {name: value_of(words, f"--{name.replace('_', '-')}") for name in ("train", "test", "model_file")}
        ),
        check=lambda out, store, folders: ReplicaPlaces(out, store).check(folders),
    ),
}

_WHOLES = {"study": _study, "run": _replicas, "evolve": _replicas, "cases": _patients}
"""Commands that can be divided, by their first word."""


def _job(
    name: str,
    site: Site,
    words: Sequence[str | Here],
    own: Sequence[str | Here],
    *,
    answers: str,
    tails: str,
    brings: str = "",
    kept: str = "",
) -> ClusterJob:
    said = [word for word in words if isinstance(word, str)]
    store = value_of(said, "--store")
    address = None if store is None else read_address(store)
    if store is not None and address is not None:  # whoever lists the processes of a machine sees their words
        words = [word.replace(store, address.kept) if isinstance(word, str) else word for word in words]
    told = [shipped(word) if isinstance(word, str) else word for word in words] if site.ships else words
    keys = _keys(said) if site.ships else {}
    if address is not None:
        keys |= address.secrets
    return ClusterJob(
        name=name, words=[*told, *own], folder=str(Path.cwd()), answers=answers, tails=tails, brings=brings,
        environment=keys, kept=kept,
    )  # fmt: skip


def _keep(file: Path, rows: Sequence[JournalRow]) -> None:
    if rows:
        with JournalPart(file) as part:
            part.add(rows)


def _keys(words: Sequence[str]) -> dict[str, str]:
    """Returns the variables that hold keys of models, for machines that do not have them."""
    file, named = value_of(words, "--model-file"), {value_of(words, "--api-key-env")}
    if file is not None:
        said = read_model_file(Path(file))
        named |= {one.api_key_env for one in (*said.models.values(), *said.roles.values())}
    named |= {PASSWORD, KEY_PASSWORD} if value_of(words, "--store") is not None else set()
    return {name: key for name, key in os.environ.items() if name.endswith("_API_KEY") or name in named}
