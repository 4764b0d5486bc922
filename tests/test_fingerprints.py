"""What was installed is what is loaded."""

from importlib.metadata import PackagePath

import pytest

from polyclinic import fingerprints
from polyclinic.errors import BadInput


def test_a_file_that_is_not_the_one_that_was_installed_is_refused_by_name(monkeypatch, tmp_path):
    def files(_):
        for name, hashed in (("a.bin", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"), ("b.txt", "x")):
            path = PackagePath(name)
            path.hash = type("Hash", (), {"mode": "sha256", "value": hashed})
            path.dist = type("Dist", (), {"locate_file": lambda _, name: tmp_path / name})()
            yield path

    monkeypatch.setattr("importlib.metadata.files", files)
    (tmp_path / "a.bin").write_bytes(b"abc")
    fingerprints.check_installed("friend", ".bin")
    (tmp_path / "a.bin").write_bytes(b"abd")
    fingerprints.check_installed.cache_clear()
    with pytest.raises(BadInput, match=r"a.bin.*sha256 is another.*pip install --force-reinstall --no-deps friend"):
        fingerprints.check_installed("friend", ".bin")
