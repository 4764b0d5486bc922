"""One worker: the process of a job is started, watched, and heard of. The same on this machine and on another."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue

import msgspec

from polyclinic.cluster.child import SPENT, WARNED
from polyclinic.cluster.jobs import Advanced, AnswersCame, ClusterJob, Here, JobEnded, News, Shipped, Warned, pack
from polyclinic.cluster.left import locked, make_kept_folder
from polyclinic.models.journal_parts import JournalPart, JournalRow
from polyclinic.models.model import Usage
from polyclinic.parallel.alike import Installed, looking

_MOMENT = 0.02  # seconds between two looks
_TIMES, _LONGEST = 10, 5.0  # how much longer than a look at the answers the pause after it is; seconds at most
_GRACE = 6.0  # seconds in which a command that is stopped writes what it has
_SAID = 4_000  # letters of what it says at its end

LEASE = 5.0
"""Seconds without a question for news after which the one who gave the job is taken to be gone, and it is ended."""

PROGRESS = "part"
"""The word before `DONE TOTAL` on a line of standard output that says how far a job is."""


class JobWorker:
    """Runs a job, one after another."""

    def ready(self) -> Installed:
        """Tells that it is there, and what it runs."""
        return looking()()

    def begin(self, job: ClusterJob, answered: Sequence[JournalRow], of: int = 1) -> None:
        """Starts the process of a job, one of so many that are at work at once."""
        self._job, self._parts, self._ended = job, dict[Path, JournalPart](), False
        if job.kept:
            self._here = make_kept_folder(job.kept, name=job.name, tails=job.tails)
        else:
            self._here = Path(tempfile.mkdtemp(prefix="polyclinic-"))
        if answered:
            path = self._here / job.answers
            path.parent.mkdir(parents=True, exist_ok=True)
            with JournalPart(path) as part:
                part.add(answered)
        words = [self._word(word, number) for number, word in enumerate(job.words)]
        self._errors, self._next_look = (self._here / "said").open("w+b"), 0.0
        self._done: tuple[int, int] | None = None
        self._warned: SimpleQueue[str] = SimpleQueue()
        self._spent = Usage()
        with locked(self._here) as lock:
            self._process = subprocess.Popen(  # noqa: S603 - our own command line
                [sys.executable, "-m", "polyclinic.cluster.child", str(of), *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                cwd=job.folder if Path(job.folder).is_dir() else self._here,
                env={**os.environ, **job.environment},
                pass_fds=lock,
            )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        self._asked = time.monotonic()
        threading.Thread(target=self._end_unasked, args=(self._process,), daemon=True).start()

    def news(self, within: float = 0.0) -> list[News]:
        """Returns what happened since the last call; nothing after the end. Waits so many seconds for something."""
        until = time.monotonic() + within
        while not (heard := self._news()) and not self._ended and time.monotonic() < until:
            time.sleep(_MOMENT)
        return heard

    def _news(self) -> list[News]:
        self._asked = time.monotonic()
        if self._ended:
            return []
        code = self._process.poll()
        if code is not None:
            self._reader.join(_GRACE)
        heard: list[News] = []
        if (code is not None or time.monotonic() >= self._next_look) and (rows := self._new_rows()):
            heard.append(AnswersCame(rows))
        if self._done is not None:
            heard.append(Advanced(*self._done))
            self._done = None
        while not self._warned.empty():
            heard.append(Warned(self._warned.get()))
        if code is not None:
            heard.append(JobEnded(code, self._said(), self._brought() if code >= 0 else b"", self._spent))
            self._close()
        return heard

    def divide(self, of: int) -> None:
        """Says how many processes are at work at once from now on."""
        if not self._ended and self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it has ended, and the news will say so
                self._process.stdin.write(f"{of}\n".encode())
                self._process.stdin.flush()

    def stop(self) -> list[JournalRow]:
        """Ends the process, gently first; returns the answers that were not heard of yet."""
        if self._ended:
            return []
        self._process.terminate()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        rows = self._new_rows()
        self._close()
        return rows

    def release(self) -> None:
        """Removes the folder of a job that is over, when all that was heard of it is stored."""
        if self._ended:
            shutil.rmtree(self._here, ignore_errors=True)

    def _word(self, word: str | Here | Shipped, number: int) -> str:
        if isinstance(word, Here):
            return str(self._here / word.path)
        if isinstance(word, str):
            return word
        there = Path(word.path)
        if not there.is_file() or there.read_bytes() != word.content:
            there = self._here / "files" / str(number) / Path(word.path).name
            there.parent.mkdir(parents=True)
            there.write_bytes(word.content)
        return f"{word.before}{there}{word.after}"

    def _end_unasked(self, process: subprocess.Popen[bytes]) -> None:
        # A cluster goes on for a while with the jobs of a command that was killed, and nobody would hear the answers.
        while process.poll() is None:
            if time.monotonic() - self._asked > LEASE:
                process.kill()
            time.sleep(LEASE / 10)

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101
        for line in process.stdout:
            match line.split():
                case [word, done, total] if word == PROGRESS.encode() and done.isdigit() and total.isdigit():
                    self._done = int(done), int(total)
                case [word, *_] if word == WARNED.encode():
                    self._warned.put(line.decode(errors="replace").removeprefix(WARNED).strip())
                case [word, usage] if word == SPENT.encode():
                    with contextlib.suppress(msgspec.DecodeError):  # a line of somebody else's code
                        self._spent = msgspec.json.decode(usage, type=Usage)

    def _new_rows(self) -> list[JournalRow]:
        began, rows = time.monotonic(), []
        for path in self._here.glob(self._job.tails):
            if path not in self._parts:
                self._parts[path] = JournalPart(path)
            rows += self._parts[path].new()
        now = time.monotonic()
        # All rows are read to find those that are new: of a long file that takes a while.
        self._next_look = now + min(_LONGEST, _TIMES * (now - began))
        return rows

    def _said(self) -> str:
        self._errors.seek(max(0, self._errors.seek(0, io.SEEK_END) - _SAID))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1].removeprefix("polyclinic: ") if lines else ""

    def _brought(self) -> bytes:
        folder = self._here / self._job.brings
        return pack(folder) if self._job.brings and folder.is_dir() else b""

    def _close(self) -> None:
        self._ended = True
        for part in self._parts.values():
            part.__exit__()
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._errors.close()
