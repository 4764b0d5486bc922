"""What the documentation shows is run."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from polyclinic.knowledge.knowledge import read_knowledge

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
USAGE = "command-line.md"  # what can be given, and no command that is


def blocks(language: str) -> list:
    found = []
    for page in PAGES:
        texts = re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
        if page.name.startswith("start-") and language == "console":
            texts = ["".join(texts)]  # one after the other, in one folder
        found += [pytest.param(text, id=f"{page.name}-{number}") for number, text in enumerate(texts)]
    return [block for block in found if not block.id.startswith(USAGE)]


PYTHON = blocks("python")
# How much of everything is enough to see that a command runs.
MOST = {"--residents": 25, "--n": 8, "--limit": 2, "--visits": 12}
OF_INSPECT = [block for block in PYTHON if "inspect_ai" in block.values[0]]


@pytest.mark.slow
@pytest.mark.parametrize("code", [block for block in PYTHON if block not in OF_INSPECT])
def test_python_blocks_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "block", "exec"), {"__name__": "block"})


@pytest.mark.slow
async def test_the_readme_s_python_runs_in_a_notebook():
    """Where a loop runs already, as it does here."""
    found = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.S | re.M)
    assert len(found) > 1
    for code in found:
        exec(compile(code, "cell", "exec"), {"__name__": "cell"})


@pytest.mark.slow
def test_python_blocks_of_inspect_run(tmp_path):
    """In a process of their own, as Inspect takes over loop and terminal; in one, as it takes seconds to begin."""
    assert OF_INSPECT
    program = (
        "import json, sys\n"
        "for name, code in json.loads(sys.argv[1]).items():\n"
        "    exec(compile(code, name, 'exec'), {'__name__': 'block'})\n"
    )
    codes = json.dumps({block.id: block.values[0] for block in OF_INSPECT})
    done = subprocess.run(
        [sys.executable, "-c", program, codes], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def endpoint(serving):
    with serving() as endpoint:
        yield endpoint


def files_of(page: Path) -> dict[str, str]:
    """Returns the files that a page shows: blocks under a line that names them."""
    return dict(re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```", page.read_text("utf-8"), re.S | re.M))


@pytest.mark.slow
@pytest.mark.parametrize("text", blocks("console"))
def test_commands_run(text, tmp_path, run, endpoint, request, monkeypatch):
    monkeypatch.setattr("polyclinic.cli.demo.DAYS", 1)
    monkeypatch.setattr("polyclinic.cli.demo.RESIDENTS", MOST["--residents"])
    page = next(page for page in PAGES if page.name == request.node.callspec.id.rpartition("-")[0])
    for name, content in files_of(page).items():
        (tmp_path / name).write_text(content.replace("http://127.0.0.1:8000/v1", endpoint.url), "utf-8")
    for line in text.splitlines():
        if re.search(r"openai/|local\b(?!:)", line):
            continue  # needs a network or weights that are not here; tests/models has these doors
        command = line.partition("  #")[0].removeprefix("$ ").replace("#ID", "#p1-00001").replace("FILE", "shipped")
        words = shlex.split(command.replace("http://127.0.0.1:8000/v1", endpoint.url))
        assert words.pop(0) == "polyclinic", line
        if words[0] == "run" and "--residents" not in words:
            words += ["--residents", str(MOST["--residents"])]
        if "local:2" in words:  # what workers do, tests/hospital/care and tests/parallel ask
            del words[words.index("local:2") - 1 : words.index("local:2") + 1]
        for option, most in MOST.items():
            if option in words:
                at = words.index(option) + 1
                words[at] = str(min(int(words[at]), most))
        run(*words, cwd=tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_no_path_of_any_machine_stands_in_the_project():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], check=False, capture_output=True, text=True, cwd=ROOT
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".yaml", ".cff", ""} and path.is_file():
            assert not re.search(r"/(?:home|work|root|Users)/\w", path.read_text("utf-8", errors="replace")), name


def test_the_readme_counts_what_there_is():
    knowledge = read_knowledge()
    counted = f"{len(knowledge.diseases)} diseases of {len(knowledge.departments)} departments"
    for page in ("README.md", "CHANGELOG.md"):
        assert counted in (ROOT / page).read_text("utf-8"), page
