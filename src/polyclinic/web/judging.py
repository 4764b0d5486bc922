"""The routes of studies: for the organiser, and by link for annotators.

GET  /api/judging/settings                  forms, what can be judged, sets of cases
GET  /api/judging/studies                   studies; POST makes one
GET  /api/judging/studies/ID                how it stands; also /verdicts.jsonl and /verdicts.csv
GET  /api/judging/by-link/KEY               an annotator's work
GET  /api/judging/by-link/KEY/items/N       an item; POST keeps what is said of it
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from anyio.to_thread import run_sync
from starlette.responses import Response
from starlette.routing import BaseRoute

from polyclinic.judging.verdicts import form_named, write_verdicts
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts import read_exam
from polyclinic.web.browse.holdings import folders_below, recording_kind
from polyclinic.web.chair.visits import TRACES
from polyclinic.web.refused import NotFound
from polyclinic.web.replies import download, get, post
from polyclinic.web.serving import Serving
from polyclinic.web.studies import JUDGED_HERE, AnnotatorsDesk, GivenAnswers, JudgingTask, NewStudy, Studies

_ENDINGS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """A file that can be judged."""

    name: str
    kind: str  # "traces" or "outcomes"


PLAYED = "played visits"
"""All visits that people played here, as one."""

_KINDS = {"visits": "traces", "outcomes": "outcomes"}
_MOST = 300


class MaterialShelf:
    """The traces and outcomes in some folders, each under a name that is no path; they are looked for at each listing.

    Args:
        practice: the folder with the visits that are played here, which are offered together.
    """

    def __init__(self, folders: Sequence[Path], practice: Path) -> None:
        self._folders = tuple(dict.fromkeys(folder.resolve() for folder in folders))
        self._practice = practice.resolve()

    def listed(self) -> list[Material]:
        """Returns what is there."""
        played = [Material(name=PLAYED, kind="traces")] if self._played() else []
        return [*(Material(name=name, kind=kind) for name, (_, kind) in self._look().items()), *played]

    def _played(self) -> list[Path]:
        return sorted(one for one in (self._practice / TRACES).glob("*.trace.jsonl") if one.is_file())

    def paths(self, names: Iterable[str]) -> list[Path]:
        """Returns the files of these names."""
        found = self._look()
        if missing := [name for name in names if name not in found and name != PLAYED]:
            raise NotFound(f"{missing[0][:80]!r} is not among what can be judged here")
        return [path for name in names for path in ([found[name][0]] if name in found else self._played())]

    def _look(self) -> dict[str, tuple[Path, str]]:
        found: dict[str, tuple[Path, str]] = {}
        for number, folder in enumerate(self._folders):
            for path in (path for _, entries in folders_below(folder, without=(self._practice,)) for path in entries):
                kind = _KINDS.get(recording_kind(path) or "")
                name = path.relative_to(folder).as_posix()
                name = f"{number + 1}/{name}" if name in found else name
                if kind is not None and len(found) < _MOST:
                    found[name] = path, kind
        return found


def judging(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the annotator's desk."""
    catalogue, studies = serving.catalogue, Studies(serving.practice)
    shelf = MaterialShelf(serving.folders, serving.practice.folder)

    async def settings() -> Any:
        told = [
            {"name": name, "source": form_named(name).source, "questions": form_named(name).questions}
            for name in JUDGED_HERE
            if name != "errors" or serving.exams
        ]
        return {"forms": told, "material": await run_sync(shelf.listed), "sets": catalogue.sets()}

    def listed() -> Any:
        told = [
            {"id": kept.id, "title": kept.set.title, "items": len(kept.items), "people": len(kept.people)}
            for kept in (study.kept for study in studies.all())
        ]
        return {"studies": told}

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

    def work(key: str) -> AnnotatorsDesk:
        study, person = studies.person(key)
        return study.desk(person)

    def task(key: str, n: int) -> JudgingTask:
        study, person = studies.person(key)
        return study.task(person, n)

    def judge(given: GivenAnswers, key: str, n: int) -> AnnotatorsDesk:
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
