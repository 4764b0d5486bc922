"""Whatever is named as a file: one clear line, in bounded time and memory, and pipes are read."""

import gzip
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from polyclinic import opened_files
from polyclinic.errors import BadInput
from polyclinic.files import read_lines, read_toml
from polyclinic.fingerprints import of_file
from polyclinic.opened_files import opened, read_at_once
from polyclinic.sqlite_file import connect
from polyclinic.yaml_files import read_yaml

LINE = b'{"id": 1}\n'
READERS = {
    "lines": lambda path: list(read_lines(path)),
    "whole": read_at_once,
    "TOML": read_toml,
    "YAML": lambda path: read_yaml(path, dict[str, str]),
}


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(opened_files, "_WRITER", 0.2)
    monkeypatch.setattr(opened_files, "MAX_PIPE_BYTES", 2**20)


@pytest.fixture(params=["device", "pipe", "sparse", "folder", "socket"])
def strange(request, tmp_path):
    """Something that is no file that ends, and what must be said of it."""
    path = tmp_path / "given"
    if request.param == "device":
        yield Path("/dev/zero"), "more than 1 MiB came"
    elif request.param == "pipe":
        os.mkfifo(path)
        yield path, "nobody has written to this pipe"
    elif request.param == "sparse":
        with path.open("wb") as file:
            file.truncate(10 * 2**30)
        yield path, "at most"
    elif request.param == "folder":
        path.mkdir()
        yield path, "this is a directory"
    else:
        with socket.socket(socket.AF_UNIX) as there:
            there.bind(str(path))
            yield path, "this is a socket"


@pytest.mark.slow
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_what_is_no_file_that_ends_is_one_line(strange, read):
    path, said = strange
    with pytest.raises(BadInput, match=said) as refused:
        read(path)
    assert "\n" not in str(refused.value)


def test_a_database_is_a_file(strange):
    path, _ = strange
    if not path.is_file():
        with pytest.raises(BadInput, match="name a file"):
            connect(path)


def written(path, *chunks, begin=0.0):
    """Writes to a pipe from another thread."""

    def write():
        with suppress(BrokenPipeError), path.open("wb", buffering=0) as pipe:
            for chunk in chunks:
                pipe.write(chunk)

    thread = threading.Timer(begin, write)
    thread.daemon = True
    thread.start()


def test_a_pipe_is_read_to_its_end_by_whoever_names_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    written(tmp_path / "pipe", LINE, LINE * 9_000, begin=0.1)
    assert len(list(read_lines(tmp_path / "pipe"))) == 9_001
    written(tmp_path / "pipe", LINE * 9_000)
    assert read_at_once(tmp_path / "pipe") == LINE * 9_000


def test_a_pipe_without_an_end_is_read_so_far(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    written(tmp_path / "pipe", *[LINE * 1_000] * 1_000)
    with pytest.raises(BadInput, match=r"more than 1 MiB came.*save it as a file"):
        for _ in read_lines(tmp_path / "pipe"):
            pass


def test_standard_input_is_read_and_may_be_empty(tmp_path):
    code = (
        "import sys; from pathlib import Path\nfrom polyclinic.errors import BadInput\n"
        "from polyclinic.opened_files import opened\nwith opened(Path('/dev/stdin')) as file: print(len(file.read()))"
    )
    for given in (b"", LINE * 20_000):
        ended = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, check=False, timeout=60)
        assert (int(ended.stdout), ended.stderr) == (len(given), b"")
    assert read_at_once(Path(os.devnull)) == b""


def test_what_is_packed_is_bounded_by_what_comes_out_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(opened_files, "MAX_FILE_BYTES", 2**20)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(LINE * 200_000))
    with pytest.raises(BadInput, match="more than 1 MiB came"):
        for _ in read_lines(path):
            pass


def test_files_are_closed(tmp_path):
    (tmp_path / "lines.gz").write_bytes(gzip.compress(LINE))
    before = len(list(Path("/dev/fd").iterdir()))
    assert [text for _, text in read_lines(tmp_path / "lines.gz")] == [LINE.decode()]
    with pytest.raises(BadInput):
        opened(tmp_path)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_pipe_has_no_fingerprint(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="save it as a file"):
        of_file(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(LINE)
    assert len(of_file(tmp_path / "file")) == 16
