"""The routes of studies below `/api/judging`: for the organiser, and by link for annotators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync
from starlette.responses import Response
from starlette.routing import BaseRoute

from polyclinic.judging.verdicts import form_named, write_verdicts
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts import read_exam
from polyclinic.web.browse.holdings import Holdings
from polyclinic.web.chair.visits import TRACES
from polyclinic.web.refused import NotFound
from polyclinic.web.replies import download, get, post
from polyclinic.web.serving import Serving
from polyclinic.web.studies import JUDGED_HERE, GivenAnswers, NewStudy, Studies

_ENDINGS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


PLAYED = "played visits"
"""All visits that people played here, as one."""

_KINDS = {"visits": "traces", "outcomes": "outcomes"}
_MOST = 300


class MaterialShelf:
    """The files of traces and outcomes that can be judged, each under a name that is not a path.

    The visits in the folder of practice are offered together.
    """

    def __init__(self, holdings: Holdings, practice: Path) -> None:
        self._holdings, self._practice = holdings, practice

    def listed(self) -> list[dict[str, str]]:
        """Returns the name and kind of each file."""
        return [{"name": name, "kind": kind} for name, (_, kind) in self._look().items()]

    def paths(self, names: Iterable[str]) -> list[Path]:
        """Returns the files of these names."""
        found = self._look()
        if missing := [name for name in names if name not in found and name != PLAYED]:
            raise NotFound(f"{missing[0][:80]!r} is not among what can be judged here")
        return [path for name in names if name in found for path in found[name][0]]

    def _look(self) -> dict[str, tuple[list[Path], str]]:
        files = [file for one in self._holdings.look().values() for file in one.files if file.kind in _KINDS]
        found: dict[str, tuple[list[Path], str]] = {}
        for file in files[:_MOST]:
            name, number = file.name, 2
            while name in found:
                name, number = f"{number}/{file.name}", number + 1
            found[name] = [file.path], _KINDS[file.kind]
        played = sorted(one for one in (self._practice / TRACES).glob("*.trace.jsonl") if one.is_file())
        return found | ({PLAYED: (played, "traces")} if played else {})


def judging(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the annotator's desk."""
    catalogue, studies = serving.catalogue, Studies(serving.practice)
    shelf = MaterialShelf(serving.holdings, serving.practice.folder)

    async def settings() -> Any:
        told = [
            {"name": name, "source": form_named(name).source, "questions": form_named(name).questions}
            for name in JUDGED_HERE
            if name != "errors" or serving.exams
        ]
        return {"forms": told, "material": await run_sync(shelf.listed), "sets": catalogue.sets()}

    def listed() -> Any:
        return {"studies": [study.listed() for study in studies.all()]}

    async def make(new: NewStudy) -> Any:
        files = await run_sync(shelf.paths, new.material)
        cases = {case.id: case for case in catalogue.cases(new.cases)}
        questions = await run_sync(asked) if "errors" in new.forms else {}
        study = await run_sync(studies.make, new, files, cases, questions)
        return study.state()

    def asked() -> dict[str, ExamQuestion]:
        """Returns the questions that were asked, by their ids."""
        return {one.question.id: one for path in serving.exams for one in read_exam(path)}

    def verdicts(id: str, ending: str) -> Response:
        study = studies.named(id)
        if ending not in _ENDINGS:
            return Response("There are verdicts.jsonl and verdicts.csv.\n", 404, media_type="text/plain")
        return download(write_verdicts(study.verdicts(), f".{ending}"), f"verdicts.{ending}", _ENDINGS[ending])

    def work(key: str) -> Any:
        study, person = studies.person(key)
        return study.desk(person)

    def task(key: str, n: int) -> Any:
        study, person = studies.person(key)
        return study.task(person, n)

    def judge(given: GivenAnswers, key: str, n: int) -> Any:
        study, person = studies.person(key)
        study.judge(person, n, given)
        return study.desk(person)

    one, item = "/studies/{id}", "/by-link/{key}/items/{n:int}"
    return [
        get("/settings", settings),
        get("/studies", listed),
        post("/studies", NewStudy, make, status=201),
        get(one, lambda id: run_sync(studies.named(id).state)),
        get(f"{one}/verdicts.{{ending}}", verdicts),
        get("/by-link/{key}", work),
        get(item, task),
        post(item, GivenAnswers, judge),
    ]
