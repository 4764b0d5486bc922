"""Every way a file can be wrong has one clear line, and nothing is half-written."""

import os
import sqlite3
import stat

import msgspec
import pytest

from polyclinic import files
from polyclinic.errors import BadInput


def problem(call) -> str:
    with pytest.raises(BadInput) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_lines_are_numbered_and_blank_ones_left_out(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes("\ufeffeins\n\n  \nzwei\r\ndrei".encode())
    assert list(files.read_lines(path)) == [(1, "eins\n"), (4, "zwei\r\n"), (5, "drei")]


def test_missing_directory_empty_and_blank(tmp_path):
    assert "no such file" in problem(lambda: list(files.read_lines(tmp_path / "none")))
    assert "directory" in problem(lambda: list(files.read_lines(tmp_path)))
    (tmp_path / "empty").touch()
    assert "empty" in problem(lambda: list(files.read_lines(tmp_path / "empty")))
    (tmp_path / "blank").write_text("\n \n")
    assert "blank lines only" in problem(lambda: list(files.read_lines(tmp_path / "blank")))


def test_not_utf8_names_line_and_byte(tmp_path):
    path = tmp_path / "latin"
    path.write_bytes(b"fine\ncaf\xe9\n")
    text = problem(lambda: list(files.read_lines(path)))
    assert "line 2" in text and "byte 4" in text and "0xe9" in text


def test_a_line_that_is_too_long_is_not_read_into_memory(tmp_path):
    path = tmp_path / "long"
    with path.open("wb") as file:
        file.write(b"short\n")
        file.truncate(50 * 2**20)
    text = problem(lambda: list(files.read_lines(path)))
    assert "line 2" in text and "16 MiB" in text


def test_write_is_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "out"
    path.write_text("before")

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.Path, "replace", broken)
    assert "No space left" in problem(lambda: files.write_text(path, "after"))
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_written_files_have_the_rights_of_any_new_file(tmp_path):
    files.write_text(tmp_path / "ours", "x")
    (tmp_path / "theirs").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


def test_where_a_run_will_write_is_checked_first(tmp_path):
    source = tmp_path / "in"
    source.write_text("x")
    files.check_writable(tmp_path / "new", unlike=source)
    assert "no folder" in problem(lambda: files.check_writable(tmp_path / "no" / "out", unlike=source))
    assert "directory" in problem(lambda: files.check_writable(tmp_path, unlike=source))
    assert "file that is read" in problem(lambda: files.check_writable(source, unlike=source))


class Named(msgspec.Struct):
    name: str


def test_records_come_with_their_lines(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"name": "a"}\n\n{"name": "b"}\n', encoding="utf-8")
    assert list(files.read_records(path, Named, "a name")) == [(1, Named("a")), (3, Named("b"))]


@pytest.mark.parametrize(
    ("line", "problem", "field"),
    [
        ('{"name": 3}', "not a name: Expected `str`, got `int`", "$.name"),
        ("{]", "not JSON .*; there is one object a line", ""),
        ('{"x": ' + "[" * 100_000, "nested too deeply", ""),
    ],
)
def test_what_is_no_record_says_why(tmp_path, line, problem, field):
    path = tmp_path / "x.jsonl"
    path.write_text('{"name": "a"}\n' + line, encoding="utf-8")
    with pytest.raises(BadInput, match=problem) as raised:
        list(files.read_records(path, Named, "a name"))
    assert (raised.value.line, raised.value.field) == (2, field)


def test_a_folder_for_results_holds_those_of_no_other_run(tmp_path):
    folder = tmp_path / "out"
    files.make_empty_folder(folder)
    files.make_empty_folder(folder)  # a run that broke off left it empty
    for name in (".DS_Store", "journal", "journal-wal"):
        (folder / name).touch()
    files.make_empty_folder(folder, besides=["journal", "journal-wal"])
    assert "holds journal, journal-wal; name another" in problem(lambda: files.make_empty_folder(folder))
    for name in "abcd":
        (folder / name).touch()
    said = problem(lambda: files.make_empty_folder(folder, besides=["journal", "journal-wal"]))
    assert "holds a, b, c and 1 more;" in said


def test_no_database_is_written_over(tmp_path):
    run = tmp_path / "run.sqlite"
    sqlite3.connect(run).execute("CREATE TABLE t (x)").connection.close()
    before = run.read_bytes()
    with pytest.raises(BadInput, match="a run, a journal or another database"):
        files.write_text(run, "page")
    assert run.read_bytes() == before


def test_nothing_that_a_run_has_left_is_written_over(tmp_path):
    (tmp_path / "items.jsonl").write_text("{}\n")
    (tmp_path / "rules.jsonl").write_text("{}\n")
    (tmp_path / "results.json").write_text('{"kind": "eval aie", "files": ["rules.jsonl"]}')
    (tmp_path / "run.lock").touch()
    (tmp_path / "link").symlink_to(tmp_path / "items.jsonl")
    for name in ("items.jsonl", "rules.jsonl", "results.json", "run.lock", "link"):
        assert "a part of what a run has left" in problem(lambda: files.check_writable(tmp_path / name))  # noqa: B023
    files.check_writable(tmp_path / "report.html")


def test_what_is_of_another_kind_is_not_written_over(tmp_path):
    page = tmp_path / "page.html"
    files.check_writable(page, begins=b"<!DOCTYPE")
    for text in ("", "<!doctype html>"):
        page.write_text(text)
        files.check_writable(page, begins=b"<!DOCTYPE")
    page.write_text('{"id": 1}')
    assert "of another kind" in problem(lambda: files.check_writable(page, begins=b"<!DOCTYPE"))


def test_toml_that_cannot_be_read_is_one_line(tmp_path):
    path = tmp_path / "a.toml"
    for text, said in (
        ("a = 1\nb = \n", "a.toml, line 2: not TOML: Invalid value"),
        ("a=" + "[" * 20_000 + "]" * 20_000, "a.toml: not TOML that can be read: it is nested too deeply"),
        ("a=" + "9" * 5_000, "a.toml: not TOML that can be read: Exceeds the limit"),
    ):
        path.write_text(text)
        with pytest.raises(BadInput, match=said):
            files.read_toml(path)


def test_a_device_or_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.write_text(pipe, "all of it")
    assert os.read(reader, 99) == b"all of it"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]
