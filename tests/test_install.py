"""What the Makefile installs with: uv is told what pip has been told, and pip installs where that cannot be."""

import importlib.util
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

FILE = Path(__file__).parents[1] / ".ci" / "install.py"


@pytest.fixture
def install(monkeypatch):
    """The program, beside a pip that has been told `install.told`; what is run is kept, and ends as `install.ends`."""
    spec = importlib.util.spec_from_file_location("install", FILE)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    program.told, program.ends, program.ran = "", 0, []

    def run(command, **options):
        if command[-2:] == ["config", "list"]:
            return SimpleNamespace(stdout=program.told)
        program.ran.append((command, options.get("env", {})))
        return subprocess.CompletedProcess(command, program.ends)

    monkeypatch.setattr(program, "subprocess", SimpleNamespace(run=run))
    monkeypatch.setattr(program.shutil, "which", lambda name, path=None: f"/bin/{name}")
    return program


def test_uv_looks_where_pip_looks(install):
    install.told = (
        ":env:.find-links='/wheels /more'\n:env:.timeout='5'\nglobal.extra-index-url='https://a/simple\\nhttps://b/simple'\n"
        "global.index-url='https://global/simple'\ninstall.index-url='https://mine/simple'\n"
    )
    assert install.by_uv(["--editable", "."])
    [(command, told)] = install.ran
    assert command[:3] == ["/bin/uv", "pip", "install"]
    assert command[-2:] == ["--editable", "."]
    assert told["UV_DEFAULT_INDEX"] == "https://mine/simple"
    assert told["UV_INDEX"] == "https://a/simple https://b/simple"
    assert told["UV_FIND_LINKS"] == "/wheels,/more"
    assert told["UV_INDEX_STRATEGY"] == "unsafe-best-match"


def test_pip_installs_what_uv_would_install_otherwise_or_not_at_all(install, monkeypatch):
    install.told = "global.require-hashes='1'\n"
    assert not install.by_uv(["."])
    assert not install.ran
    install.told, install.ends = "", 1
    assert not install.by_uv(["."])
    monkeypatch.setattr(install.shutil, "which", lambda name, path=None: None)
    assert not install.by_uv(["."])
    assert install.ran[-1][0][-1] == "uv"  # pip was asked for it
