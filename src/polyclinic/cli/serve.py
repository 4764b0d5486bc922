"""`polyclinic serve`: the pages."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from polyclinic import stopping
from polyclinic.cases.loaders import read_cases
from polyclinic.cli.live import PORT, need_pages
from polyclinic.errors import BadInput, UserError
from polyclinic.events import Role
from polyclinic.files import no_folder
from polyclinic.models.session import open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.players.mind_names import HUMAN, model_of
from polyclinic.players.minds import check_mind
from polyclinic.questions.layouts import read_exam
from polyclinic.run import options
from polyclinic.run.options import between
from polyclinic.settings import setting
from polyclinic.terminal.screen import note
from polyclinic.web.chair.staff import OfferedPlayers

_GROUP = Group("Doctor's chair", sort_key=12)


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class ChairOptions:
    """What can be played in the doctor's chair, and with whom."""

    cases: Annotated[list[Path] | None, options.FILES] = None
    """Case files to play, beside those installed with polyclinic."""
    exams: Annotated[list[Path] | None, options.FILES, setting("serve")] = None
    """Files of the exam questions whose wrong answers people judge."""
    patient: Annotated[list[str] | None, Parameter(metavar="MIND...", consume_multiple=1)] = None
    """Patients to choose from, the first by default: rules, a model, saps:MODEL, or FILE.py:NAME."""
    beside: Annotated[list[str] | None, Parameter(metavar="MIND...", consume_multiple=1), setting("serve")] = None
    """Doctors who see the same patient, for comparison; rules by default."""
    judge: Annotated[str, Parameter(metavar="MODEL")] = ""
    """A model that grades the reports; rules by default."""
    practice: Annotated[Path | None, options.DIR, setting("serve")] = None
    """Folder for visits, classes and studies; DIR/practice by default."""

    def players(self, models: ModelSettings) -> OfferedPlayers:
        """Returns who may play."""
        if models.dry_run:
            raise UserError("--dry-run: nobody knows what people will ask; --cost-budget limits the cost")
        offered = OfferedPlayers(
            patients=tuple(self.patient or ["rules"]),
            beside=tuple(self.beside or ["rules"]),
            judge=self.judge,
            models=models,
        )
        for option, role, names in (
            ("--patient", Role.PATIENT, offered.patients),
            ("serve.beside", Role.DOCTOR, offered.beside),
        ):
            for name in names:
                if name == HUMAN:
                    raise UserError(f"{option} human: nobody sits here")
                if model_of(name) is None:
                    check_mind(role, name)
        if self.judge and model_of(self.judge) is None:
            raise UserError(f"--judge {self.judge!r} is not a model; leave it out, and rules grade the reports")
        asked = filter(None, map(model_of, (*offered.patients, *offered.beside, self.judge)))
        # What runs here takes a while to load, and is opened when somebody plays.
        stopping.run(_check_models([name for name in asked if not name.startswith("local")], models))
        return offered

    def check_files(self) -> None:
        """Reads each file once."""
        for read, files in ((read_cases, self.cases), (read_exam, self.exams)):
            for path in files or ():
                list(read(path))


async def _check_models(names: list[str], models: ModelSettings) -> None:
    """Raises a UserError where a model has no address or no key; nobody is asked anything."""
    async with open_models(names, models):
        pass


CHAIR = ChairOptions()


def serve(
    folders: Annotated[list[Path] | None, Parameter(name="DIR")] = None,
    /,
    *,
    port: Annotated[int, between(0, 65_535)] = PORT,
    host: str = "127.0.0.1",
    chair: ChairOptions = CHAIR,
    models: options.Models = options.MODELS,
) -> None:
    """Serves the pages until Ctrl-C.

    Args:
        folders: Runs, evaluations, recordings, or folders of them; the current folder by default.
        port: Port of the server; 0 takes any free one.
        host: Address to listen on; 0.0.0.0 admits other machines, which need the printed token.
    """
    need_pages()
    from polyclinic.web.practice import PracticeTaken  # noqa: PLC0415
    from polyclinic.web.server import address, bound  # noqa: PLC0415
    from polyclinic.web.server import serve as serve_pages  # noqa: PLC0415
    from polyclinic.web.serving import LOOPBACK, Serving  # noqa: PLC0415

    shown = folders or [Path()]
    for folder in shown:
        if not folder.is_dir():
            raise BadInput(f"{no_folder(folder)}; name a run, or a folder of runs", path=folder)
    token = "" if host in LOOPBACK else secrets.token_urlsafe(18)
    chair.check_files()
    serving = Serving(
        shown,
        host=host,
        token=token,
        practice=chair.practice,
        cases=chair.cases or (),
        exams=chair.exams or (),
        players=chair.players(models),
    )
    if chair.practice is not None or serving.practice.folder.is_dir():
        try:
            serving.practice.hold()
        except PracticeTaken as taken_already:
            note(f"{serving.practice.folder}: {taken_already}. Until then the pages show, and keep nothing.")
    with bound(host, port) as taken:
        if not serving.runs():
            note(
                "There is no run of the hospital here; the page Results shows everything else."
                if serving.holdings.known()
                else "There is no run here yet; polyclinic run --out DIR makes one."
            )
        note(f"The pages are at {address(taken, host, token=token)}  (Ctrl-C ends)")
        serve_pages(serving, taken)
        note("The pages are closed.")
