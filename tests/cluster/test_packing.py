"""The folder of a job comes home whole, stays in its place, or is not there."""

import io
import shutil
import tarfile

import pytest

from polyclinic.cluster.jobs import WorkerLost, pack, unpack
from polyclinic.errors import BadInput


@pytest.mark.parametrize(
    ("name", "kind"), [("../outside", tarfile.REGTYPE), ("/tmp/outside", tarfile.REGTYPE), ("link", tarfile.SYMTYPE)]
)
def test_what_comes_from_a_worker_stays_in_its_folder(tmp_path, name, kind):
    packed, bad = io.BytesIO(), tarfile.TarInfo(name)
    bad.type, bad.linkname = kind, "/etc/passwd"
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("first"), io.BytesIO())
        tar.addfile(bad, io.BytesIO())
    with pytest.raises(WorkerLost, match="no file of its folder"):
        unpack(packed.getvalue(), tmp_path / "run")
    assert not list(tmp_path.iterdir()) and not (tmp_path.parent / "outside").exists()


def test_a_folder_comes_from_a_worker_as_it_was(tmp_path):
    source = tmp_path / "source"
    (source / "in" / "it").mkdir(parents=True)
    (source / "in" / "it" / "a.txt").write_text("a")
    (source / "empty").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").write_text("old")
    unpack(pack(source), tmp_path / "run")
    there = sorted(str(path.relative_to(tmp_path / "run")) for path in (tmp_path / "run").rglob("*"))
    assert there == ["empty", "in", "in/it", "in/it/a.txt"]


def test_where_there_is_no_room_what_was_there_stays(tmp_path, monkeypatch):
    def no_room(*_):
        raise OSError(28, "No space left on device")

    for name in ("source", "run"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    packed = pack(tmp_path / "source")
    monkeypatch.setattr(shutil, "copyfileobj", no_room)
    with pytest.raises(BadInput, match=r"run: cannot be written \(No space left on device\)"):
        unpack(packed, tmp_path / "run")
    assert (tmp_path / "run" / "a.txt").read_text() == "run" and len(list(tmp_path.iterdir())) == 2
