"""A new option of every command that asks a model is one field of `models/settings.py`, and nothing else."""

import subprocess
import sys

import pytest

RUN = ("run", "--residents", "30", "--days", "1", "--visits", "1", "--json")

NEW = '''
    patience: int | None = None
    """It alters answers."""
    colour: int | None = field(default=None, metadata=_ASIDE)
    """It alters none."""
'''

WITH_NEW_OPTIONS = f"""
import importlib.util
import sys
from importlib.machinery import SourceFileLoader

class Longer(SourceFileLoader):
    def get_code(self, name):
        source = self.get_data(self.path).decode()
        before, last, after = source.partition("    dry_run: bool")
        assert last
        return compile(before + {NEW!r}.lstrip(chr(10)) + last + after, self.path, "exec", dont_inherit=True)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "polyclinic.models.settings":
            file = path[0] + "/settings.py"
            return importlib.util.spec_from_file_location(name, file, loader=Longer(name, file))

sys.meta_path.insert(0, Finder())
from polyclinic.__main__ import program
program()
"""


@pytest.mark.slow
def test_a_new_option_is_one_field(run, tmp_path):
    def with_new(*options, out="run"):
        command = [sys.executable, "-c", WITH_NEW_OPTIONS, *RUN, "--out", out, *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)

    began = run(*RUN, "--out", "run", cwd=tmp_path)
    resumed = with_new()
    assert (resumed.returncode, resumed.stdout) == (0, began.stdout), resumed.stderr
    assert with_new("--colour", "3").returncode == 0
    refused = with_new("--patience", "3")
    assert refused.returncode == 2
    assert "holds a run with patience null, not 3; name another folder with --out" in refused.stderr
    for _ in "began", "resumed":
        patient = with_new("--patience", "3", out="other")
        assert patient.returncode == 0, patient.stderr
