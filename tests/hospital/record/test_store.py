"""A run on disk: whatever ends a process, nothing is lost and nothing is done twice; whatever is wrong has one line."""

import asyncio
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from polyclinic.errors import BadInput, UserError
from polyclinic.hospital.record.account import Account, account_of
from polyclinic.hospital.record.episodes import ConsultationHeld, Episode
from polyclinic.hospital.record.happenings import Happening, ShiftBegan, WentHome
from polyclinic.hospital.record.recorded import LOCK, CannotResume, DiskFull, NotStored, RecordedRun, is_locked, lock
from polyclinic.hospital.record.store import SNAPSHOT_EVERY, Store
from polyclinic.models.journal import open_journal

ACCOUNT = Account()
"""Of a log that nobody reads."""

CHILD = f"""
import importlib.util, os, sys
from pathlib import Path
from polyclinic.hospital.record.store import Store
spec = importlib.util.spec_from_file_location("lived", {str(Path(__file__).with_name("conftest.py"))!r})
lived = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lived)
folder = Path(sys.argv[1])
computed = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
live = lived.make_live()
async def compute(request):
    os.write(computed, request.key.encode() + b"\\n")
    return await lived.drawn_episode(request)
with Store.open(folder) if folder.exists() else Store.create(folder, {{"seed": 11}}) as store:
    class Loud:
        def add(self, happening, account):
            store.add(happening, account)
            os.write(1, b".")
    run = live(Loud(), compute=store.remember(compute))
    store.finish({{"visits": run.summary['arrived'], "log_hash": run.log_hash}})
"""


def rows(folder):
    with sqlite3.connect(folder / "run.sqlite") as connection:
        found = {
            table: connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            for table in ("about", "happenings", "snapshots", "episodes")
        }
    connection.close()
    return found


def began(seq, t=None, who="dr"):
    return Happening(seq=seq, t=seq if t is None else t, who=who, what=ShiftBegan(area="room"))


@pytest.mark.slow
def test_a_run_comes_back_as_it_was_written(lived, lived_run):
    with RecordedRun(lived_run) as recorded:
        assert len(recorded) == len(lived) > 2 * SNAPSHOT_EVERY
        assert list(recorded.happenings()) == lived
        assert list(recorded.happenings(begin=1500, end=3700)) == lived[1500:3700]
        assert recorded.configuration == {"seed": 11}
        assert recorded.summary["log_hash"] == account_of(lived).log_hash
        assert recorded.summary["happenings"] == len(lived)
        assert msgspec.json.decode((lived_run / "summary.json").read_bytes()) == recorded.summary
        episodes = [recorded.episode(key) for key in recorded.episode_keys()]
        assert len(episodes) >= 250
        assert recorded.episode(episodes[7].key) == episodes[7]
        assert recorded.episode("nobody/1") is None


@pytest.mark.slow
def test_killed_again_and_again_a_run_ends_as_one_that_never_was(lived, lived_run, tmp_path):
    folder, log = tmp_path / "run", tmp_path / "computed"
    draw = random.Random(5)
    stored, ended = set(), False
    for kill_after in (draw.randrange(300, len(lived)), draw.randrange(1, 900), len(lived) + 1):
        already = log.read_text().splitlines() if log.exists() else []
        with subprocess.Popen([sys.executable, "-c", CHILD, folder, log], stdout=subprocess.PIPE) as child:
            seen = 0
            while seen < kill_after and (some := child.stdout.read1(64)):
                seen += len(some)
            if seen >= kill_after:
                child.kill()
            ended = child.wait() == 0
        again = set(log.read_text().splitlines()[len(already) :])
        assert not again & stored
        with RecordedRun(folder) as recorded:
            stored = set(recorded.episode_keys())
            assert list(recorded.happenings()) == lived[: len(recorded)]
    assert ended
    assert rows(folder) == rows(lived_run)


@pytest.mark.slow
def test_nothing_is_computed_twice_and_a_finished_run_comes_out_the_same(live, drawn, lived_run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(lived_run, folder)
    calls = []

    async def counted(request):
        calls.append(request)
        return await drawn(request)

    with Store.open(folder) as store:
        assert store.summary["visits"] >= 250
        live(store, compute=store.remember(counted))
        store.finish({name: store.summary[name] for name in ("visits", "log_hash")})
    assert not calls
    assert rows(folder) == rows(lived_run)


def test_an_episode_is_known_at_once_and_after_the_run_is_taken_up(tmp_path):
    seen = ConsultationHeld(department="heart", turns=3, trace='{"kind":"said"}\n' * 500)
    kept = Episode(key="r1/1", department="heart", seen=(seen,))
    with Store.create(tmp_path / "run", {}) as store:
        assert store.episode("r1/1") is None
        store.keep(kept)
        assert store.episode("r1/1") == kept
        store.flush()
        assert store.episode("r1/1") == kept
    with Store.open(tmp_path / "run") as store:
        assert store.episode("r1/1") == kept

        async def never(request):
            raise AssertionError("computed twice")

        asked = SimpleNamespace(key="r1/1")
        # What was said is read from the disk, and goes no further.
        assert asyncio.run(store.remember(never)(asked)).seen == (ConsultationHeld(department="heart", turns=3),)


def test_another_history_is_refused_by_name(live, lived_run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(lived_run, folder)
    before = rows(folder)
    with (
        Store.open(folder) as store,
        pytest.raises(CannotResume, match=r"happening \d+ \(day 1 \d\d:\d\d\) is another"),
    ):
        live(store, seed=12)
    with Store.open(folder) as store, pytest.raises(CannotResume, match="code or configuration changed"):
        store.finish({})
    assert rows(folder) == before
    assert issubclass(CannotResume, UserError)


def test_only_the_next_happening_is_taken(tmp_path):
    with Store.create(tmp_path / "run", {}) as store:
        store.add(began(0, 50), ACCOUNT)
        for wrong in (began(0), began(2, 60), began(1, 49)):
            with pytest.raises(ValueError, match="not the next one"):
                store.add(wrong, ACCOUNT)
        store.add(began(1, 50), ACCOUNT)


def test_a_run_that_goes_on_can_be_read(tmp_path):
    with Store.create(tmp_path / "run", {"seed": 3}) as store:
        store.add(began(0), ACCOUNT)
        store.flush()
        with RecordedRun(tmp_path / "run") as recorded:
            assert (len(recorded), recorded.summary, list(recorded.seek(0).duty)) == (1, None, ["dr"])
            store.add(began(1, who="nurse"), ACCOUNT)
            store.flush()
            assert (len(recorded), list(recorded.seek(1).duty)) == (2, ["dr", "nurse"])
    with RecordedRun(tmp_path / "run"):
        pass
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["run.sqlite"]


@pytest.mark.slow
def test_one_process_at_a_time(tmp_path):
    folder = tmp_path / "run"
    with Store.create(folder, {}):
        with pytest.raises(BadInput, match="another process is at this run"):
            Store.open(folder)
        code = (
            "import sys; from pathlib import Path\nfrom polyclinic.hospital.record.store import Store\n"
            "Store.open(Path(sys.argv[1]))"
        )
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=False)
        assert "another process is at this run" in done.stderr
    Store.open(folder).close()


@pytest.mark.slow
def test_who_looks_at_a_run_for_long_keeps_nobody_from_it(tmp_path):
    """On a busy machine, whoever asks whether a run goes on may stand still in the midst of that."""
    folder = tmp_path / "run"
    Store.create(folder, {}).close()
    looks = sqlite3.connect(folder / LOCK, isolation_level=None, check_same_thread=False)
    with closing(looks):
        looks.execute("BEGIN")
        looks.execute("PRAGMA schema_version").fetchone()
        assert not is_locked(folder)
        ending = threading.Timer(1.0, looks.commit)
        ending.start()
        with closing(lock(folder)):
            assert is_locked(folder)
        ending.join()


def test_what_is_no_run_is_refused_in_one_line(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(BadInput, match="no such folder"):
        Store.open(folder)
    folder.mkdir()
    with pytest.raises(BadInput, match="there is no run here"):
        RecordedRun(folder)
    assert not list(folder.iterdir())  # looking leaves nothing behind
    (folder / "run.sqlite").write_bytes(b"This is no SQLite file, but quite some text." * 30)
    for use in (Store.open, RecordedRun, lambda f: Store.create(f, {})):
        with pytest.raises(BadInput, match="cannot be used as a run"):
            use(folder)
    (folder / "run.sqlite").unlink()

    open_journal(folder / "run.sqlite").close()
    with pytest.raises(BadInput, match="no run of polyclinic"):
        Store.open(folder)


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BadInput, match=r"something else \(thesis.tex\)"):
        Store.create(tmp_path, {})
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(BadInput, match="this is a file"):
        Store.create(tmp_path / "thesis.tex", {})


def test_a_run_is_not_begun_twice(tmp_path):
    Store.create(tmp_path / "run", {"seed": 1}).close()
    with pytest.raises(BadInput, match="there is a run here; name another folder"):
        Store.create(tmp_path / "run", {"seed": 2})
    with Store.open(tmp_path / "run") as store:
        assert store.configuration == {"seed": 1}


def test_a_creation_that_was_killed_is_no_run_and_no_obstacle(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    sqlite3.connect(folder / "run.sqlite").execute("PRAGMA journal_mode = WAL").connection.close()
    (folder / "run.lock").touch()
    with pytest.raises(BadInput, match="ended before it began"):
        Store.open(folder)
    Store.create(folder, {}).close()


def test_another_format_is_named(tmp_path):
    Store.create(tmp_path / "run", {}).close()
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.execute("UPDATE about SET value = '9.1' WHERE name = 'package'")
    connection.commit()
    connection.close()
    for use in (Store.open, RecordedRun):
        with pytest.raises(BadInput, match=r"in format 99, written by polyclinic 9.1; polyclinic \S+ reads format 8"):
            use(tmp_path / "run")


def test_a_damaged_row_is_named(tmp_path):
    with Store.create(tmp_path / "run", {}) as store:
        store.add(began(0), ACCOUNT)
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    connection.execute("UPDATE happenings SET what = X'78'")
    connection.execute("INSERT INTO snapshots VALUES (3, 90, X'78')")
    connection.execute("INSERT INTO episodes VALUES ('r1/1', X'78')")
    connection.commit()
    connection.close()
    with RecordedRun(tmp_path / "run") as recorded:
        for what, use in (
            ("happening 0 is damaged", lambda: list(recorded.happenings())),
            ("snapshot before 90 is damaged", lambda: recorded.seek(90)),
            ("episode r1/1 is damaged", lambda: recorded.episode("r1/1")),
        ):
            with pytest.raises(BadInput, match=what):
                use()


def test_the_file_holds_neither_paths_nor_keys(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with Store.create(tmp_path / "a-private-place", {"api_key_env": "OPENAI_API_KEY"}) as store:
        store.add(began(0), ACCOUNT)
        store.finish({})
    for name in ("run.sqlite", "summary.json"):
        whole = (tmp_path / "a-private-place" / name).read_bytes()
        assert b"a-private-place" not in whole
        assert str(Path.home()).encode() not in whole
        assert b"sk-very-secret" not in whole


def fill(folder, n=200_000):
    with Store.create(folder, {}) as store:
        for seq in range(n):
            store.add(Happening(seq=seq, t=seq, who="r1", what=WentHome()), ACCOUNT)
        store.finish({})


def taken_up(folder):
    """Goes on where there is room again; returns how much had been kept."""
    with RecordedRun(folder) as recorded:
        kept = len(recorded)
    with Store.open(folder) as store:
        for seq in range(kept + 10):
            store.add(Happening(seq=seq, t=seq, who="r1", what=WentHome()), ACCOUNT)
        store.finish({})
    with RecordedRun(folder) as recorded:
        assert len(recorded) == kept + 10
    return kept


@pytest.mark.slow
def test_a_full_disk_ends_the_run_by_name_and_it_goes_on_afterwards(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=False, capture_output=True
    ) if shutil.which("mount") else None  # fmt: skip
    if mounted is None or mounted.returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        with pytest.raises(DiskFull, match=r"the disk is full.*the same command resumes"):
            fill(disk / "run")
        shutil.copytree(disk / "run", tmp_path / "roomy")
    finally:
        subprocess.run(["umount", disk], check=True)
    assert taken_up(tmp_path / "roomy") > 1000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_a_file_that_may_not_grow_ends_the_run_by_name_and_it_goes_on_afterwards(tmp_path):
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2**21, 2**21))\n"
        "from pathlib import Path\nfrom polyclinic.errors import PolyclinicError\n"
        "from polyclinic.hospital.record.happenings import Happening, WentHome\n"
        "from polyclinic.hospital.record.store import Store\n"
        "from polyclinic.hospital.record.account import Account\naccount = Account()\n"
        "try:\n"
        "    with Store.create(Path(sys.argv[1]), {}) as store:\n"
        "        for seq in range(200_000):\n"
        "            store.add(Happening(seq=seq, t=seq, who='r1', what=WentHome()), account)\n"
        "        store.finish({})\n"
        "except PolyclinicError as error:\n    print(type(error).__name__, error)\n"
    )
    child = [sys.executable, "-c", code, tmp_path / "run"]
    done = subprocess.run(child, capture_output=True, text=True, check=True, env=dict(os.environ), timeout=60)
    assert done.stdout.startswith(("NotStored", "DiskFull"))
    assert "the same command resumes" in done.stdout
    assert done.stderr == ""
    assert taken_up(tmp_path / "run") > 1000
    assert issubclass(DiskFull, NotStored)


def test_a_folder_of_replications_says_which_runs_are_in_it(tmp_path):
    for seed in (9, 10):
        (tmp_path / f"seed-{seed}").mkdir()
        (tmp_path / f"seed-{seed}" / "run.sqlite").touch()
    with pytest.raises(
        BadInput, match=r"2 runs with --replicas \(seed-9 to seed-10\); name one of them, such as .*seed-9"
    ):
        RecordedRun(tmp_path)
