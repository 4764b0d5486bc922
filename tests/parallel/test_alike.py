"""Machines that would compute something else are refused in one line, whatever polyclinic they have."""

import marshal
import subprocess
import sys

import pytest

import polyclinic
from polyclinic.errors import UserError
from polyclinic.parallel.alike import looking, refuse_others

HERE = looking()()
LOOK = "import marshal, sys, types; print(types.FunctionType(marshal.load(sys.stdin.buffer), globals())())"
OURS = f"polyclinic {polyclinic.__version__}"


def told_by(folder):
    """Returns what the function tells where `folder` is all that is installed; it travels there by itself."""
    words = [sys.executable, "-S", "-P", "-c", LOOK]
    environment = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    code = marshal.dumps(looking().__code__)
    done = subprocess.run(words, input=code, capture_output=True, check=True, env=environment)
    return eval(done.stdout)


def installed(folder, text):
    (folder / "polyclinic").mkdir(parents=True)
    (folder / "polyclinic" / "__init__.py").write_text(text)
    return told_by(folder)


def refused(machines):
    with pytest.raises(UserError) as raised:
        refuse_others("ray://head:10001", machines)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_the_same_is_let_in():
    refuse_others("ray://head:10001", {"a": HERE, "b": dict(HERE)})


def test_another_version_is_told_with_where_it_is_and_what_is_needed(tmp_path):
    there = installed(tmp_path, '__version__ = "9.9"')
    assert there["polyclinic"] == "9.9"
    said = refused({"node a": HERE, "node b": there, "node c": {**there, "polyclinic": "8.8"}})
    assert "--on ray://head:10001: polyclinic 9.9 on node b, polyclinic 8.8 on node c" in said
    assert f"{OURS} here; install {OURS} there" in said
    assert "node a" not in said


def test_a_version_without_a_number_and_none_are_told(tmp_path):
    assert "polyclinic none on node b" in refused({"node b": installed(tmp_path / "old", "")})
    (tmp_path / "empty").mkdir()
    assert "polyclinic none on node b" in refused({"node b": told_by(tmp_path / "empty")})
    assert "of another version on node b" in refused({"node b": True})  # what an older worker says that it is there


def test_another_python_is_told_first():
    assert "Python 3.99 on node b, Python" in refused({"node b": {"Python": "3.99", "polyclinic": "0"}})


def test_the_same_version_with_edited_files_is_told(tmp_path):
    same = f"__version__ = {polyclinic.__version__!r}"
    one, other = installed(tmp_path / "one", same), installed(tmp_path / "other", f"{same}\n# edited")
    assert one["polyclinic"] == other["polyclinic"] == polyclinic.__version__
    assert one["files"] != other["files"]
    said = refused({"node b": one})
    assert f"{OURS} on node b has other files than the same version here; install the same there" in said


def test_few_of_many_are_named():
    said = refused({f"n{number}": {**HERE, "polyclinic": "9.9"} for number in range(9)})
    assert "on n0, n1, n2 and 6 more" in said
