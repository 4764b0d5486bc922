"""How readers are given what is right, and which modules of the package read nothing of the user's."""

import base64
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polyclinic
from bench.attack_files import call

_HERE = Path(polyclinic.__file__).parent


class ReaderTried(NamedTuple):
    """A reader: what it reads, the modules of the package whose reading that is, a file that is right, and the call."""

    what: str
    modules: tuple[str, ...]
    name: str
    made: Callable[[Path], None]
    read: Callable[[Path], object]


def records(*given: object) -> Callable[[Path], None]:
    return lambda path: put(path, "".join(json.dumps(record) + "\n" for record in given))


def text(said: str) -> Callable[[Path], None]:
    return lambda path: put(path, said)


def of_package(name: str) -> Callable[[Path], None]:
    return lambda path: put(path, (_HERE / name).read_text(encoding="utf-8"))


def put(path: Path, said: str) -> None:
    path.write_text(said, encoding="utf-8")


def made_by(*words: object) -> Callable[[Path], None]:
    """The file is what a command writes, whose name stands where it has "{}"."""

    def make(path: Path) -> None:
        code, _, errors = call(*(path if word == "{}" else word for word in words))
        assert code == 0, errors

    return make


def in_command(*words: object) -> Callable[[Path], object]:
    """Reads by a command; what it lets through comes out, and what it prints is one line."""

    def read(path: Path) -> object:
        code, _, errors = call(*(path if word == "{}" else word for word in words))
        if "Traceback" in errors:
            raise AssertionError(errors[-200:])
        return code

    return read


def read(module: str, name: str, *more: object, **given: object) -> Callable[[Path], object]:
    """Reads by a function of the package, which is imported then; what it yields is taken."""

    def read(path: Path) -> object:
        found: Any = __import__(f"polyclinic.{module}", fromlist=["_"])
        for part in name.split("."):
            found = getattr(found, part)
        came = found(path, *more, **given)
        return list(came) if isinstance(came, Iterator) else came

    return read


def labelled() -> dict[str, Any]:
    asked = {"human_state": "A-A-A", "human_answer": "Yes."}
    return {
        "id": 1,
        "raw_data": {"question": "A man has a cough."},
        "patient_test": {"1": {"A-A-A": asked | {"question": "Fever?"}}},
    }


def results(path: Path) -> None:
    """A folder of results."""
    with tempfile.TemporaryDirectory() as held:
        call("eval", "aie", "--cases", "shipped", "--limit", 1, "--doctor", "rules", "--out", held)
        for one in Path(held).iterdir():
            shutil.copyfile(one, path.parent / one.name)


def meetings(path: Path) -> None:
    """Meetings of doctors by rules."""
    with tempfile.TemporaryDirectory() as held:
        call("eval", "tor", "--cases", "inpatients", "--doctor", "rules", "--limit", 1, "--out", held)
        shutil.copyfile(Path(held) / path.name, path)


def practice(path: Path) -> object:
    from polyclinic.web.chair.classes import KeptClass
    from polyclinic.web.practice import Practice

    there = Practice(path.parent)
    try:
        return there.get("class", "a", KeptClass)
    finally:
        there.close()


def one_class(path: Path) -> None:
    """A file of the pages with a class in it."""
    from polyclinic.web.practice import Practice

    there = Practice(path.parent)
    asked = {"title": "t", "cases": [{"set": "shipped", "key": "1"}], "students": ["a"]}
    document = {"id": "a", "made": 1.0, "set": asked, "students": [{"name": "a", "key": "k"}]}
    there.put("class", "a", document)
    there.close()


def picture(path: Path) -> object:
    from polyclinic.cases.pictures import CasePictures

    return CasePictures(path.parent).of([path.name])


def png(path: Path) -> None:

    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    path.write_bytes(base64.b64decode(dot))


OF_THE_PACKAGE = set(
    """
    storage/server.py
    evaluations/evolution/page.py
    evaluations/patient_simulator/building.py
    evaluations/reliability/declaration.py
    generation/background.py
    cases/loaders/fhir.py
    cli/calling.py
    cli/replay.py
    compiled.py
    generation/checks.py
    generation/draw.py
    generation/inpatients.py
    hospital/town/residents.py
    knowledge/body.py
    knowledge/disease_names/giveaways.py
    knowledge/disease_names/spelling.py
    knowledge/disease_names/vocabulary.py
    knowledge/knowledge.py
    knowledge/orders/concepts.py
    knowledge/pathology.py
    knowledge/treatment.py
    knowledge/prescribed.py
    knowledge/quantities.py
    knowledge/safety.py
    knowledge/stays.py
    language/disguises.py
    language/word_lists.py
    metrics/patient_replies.py
    metrics/prescribing.py
    players/language_model/mind.py
    players/language_model/personas.py
    players/language_model/speaking.py
    players/patient_trust.py
    players/rules/recall.py
    players/rules/lay_vocabulary.py
    prompts.py
    terminal/html.py
    visits/visit.py
    web/browse/site.py
    metrics/reasoning.py
    players/staging.py
    web/pages.py
    """.split()
)
"""Modules that read files of the package alone."""

NOT_TRIED = {
    "run/storing.py": "the configuration that a run of ours has begun with",
    "cli/configuration.py": "TOML; see tests/cli/test_configuration.py",
    "evaluations/tor/declaration.py": "takes a hash",
    "cli/evolve.py": "takes a hash",
    "cli/study_run.py": "takes a hash",
    "parallel/shipping.py": "sends a file as it is",
    "parallel/worker.py": "messages of the command itself",
    "plugins.py": "a program of the user's",
    "files.py": "by which the others read",
    "fingerprints.py": "takes a hash",
    "judging/model_judging.py": "takes a hash",
    "knowledge/disease_names/running_text.py": "sealed, and corrupted as a whole",
    "models/local.py": "weights, which are held against their hash or run with all rights",
    "seals.py": "the sums of a folder, which is corrupted as a whole",
    "storage/memory.py": "a file of a memory, which is corrupted as a whole",
    "storage/results.py": "keeps files as they are",
}
"""Every other module that reads a file, and why no reader of the user's files stands in it."""
