"""A PostgreSQL server of our own, for tests and measurements: that of the package `pgserver`, or Debian's."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Self

_DEBIANS = Path("/usr/lib/postgresql")
_SECONDS = 60

PASSWORD = "not/so:secret@all"


def postgres_programs() -> Path | None:
    """Returns the folder of initdb and pg_ctl; None where there is no PostgreSQL."""
    found = importlib.util.find_spec("pgserver")
    places = [Path(place) / "pginstall" / "bin" for place in (found.submodule_search_locations or () if found else ())]
    if _DEBIANS.is_dir():
        places += sorted((one / "bin" for one in _DEBIANS.iterdir()), reverse=True)
    on_path = shutil.which("initdb")
    places += [] if on_path is None else [Path(on_path).resolve().parent]
    return next((one for one in places if (one / "initdb").is_file() and (one / "pg_ctl").is_file()), None)


class PostgresProcess:
    """A server on a port of this machine, with databases in a folder that goes away with it. Use it with `with`.

    PostgreSQL does not run as root: root has it run as `nobody`.
    """

    def __init__(self, *, durable: bool = False) -> None:
        programs = postgres_programs()
        if programs is None:
            raise FileNotFoundError("there is no PostgreSQL here: pip install pgserver, or apt install postgresql")
        self._programs, self._durable = programs, durable
        self._folder = Path(tempfile.mkdtemp(prefix="polyclinic-postgres-"))
        self._data = self._folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    @property
    def url(self) -> str:
        """Where it is, with the password."""
        return self.url_with(PASSWORD)

    def url_with(self, password: str, *, user: str = "postgres", database: str = "postgres") -> str:
        """Returns where it is for somebody; nothing of a password where it is ""."""
        signs = {"%": "%25", "/": "%2F", ":": "%3A", "@": "%40"}
        told = "".join(signs.get(one, one) for one in password)
        return f"postgresql://{user}{f':{told}' if told else ''}@127.0.0.1:{self.port}/{database}"

    def __enter__(self) -> Self:
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        if os.geteuid() == 0:
            for one in (self._folder, secret):
                shutil.chown(one, "nobody")
        self._run("initdb", "--pgdata", self._data, "--username=postgres", "--auth=scram-sha-256",
                  f"--pwfile={secret}", "--encoding=UTF8", "--locale=C", "--no-sync")  # fmt: skip
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Starts it, and returns when it answers."""
        told = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1"
        told += "" if self._durable else " -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
        self._run("pg_ctl", "--pgdata", self._data, "--wait", f"--log={self._folder / 'log'}", f"--options={told}",
                  "start")  # fmt: skip

    def stop(self, how: str = "fast") -> None:
        """Ends it: fast, which throws clients out, or immediate, as a crash would; nothing where it does not run."""
        if (self._data / "postmaster.pid").is_file():
            self._run("pg_ctl", "--pgdata", self._data, "--wait", f"--mode={how}", "stop")

    def kill(self) -> None:
        """Kills it outright."""
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)

    def _run(self, program: str, *words: object) -> None:
        user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        # A server keeps the files that it is started with: they must not be a pipe that somebody reads to its end.
        with (self._folder / f"{program}.out").open("w+") as out:
            came = subprocess.run(
                [str(self._programs / program), *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=False,
                cwd="/",
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
                user=None if user is None else user.pw_uid,
                group=None if user is None else user.pw_gid,
                extra_groups=None if user is None else [],
            )
            if came.returncode:
                out.seek(0)
                raise RuntimeError(f"{program}: {out.read().strip()}")
