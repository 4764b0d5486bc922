"""Which of the pictures of cases are shown to whom, and what is said of the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polyclinic.cases.case import Case
from polyclinic.cases.pictures import CasePictures, PictureChoice
from polyclinic.cases.shipped import shipped_path
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.errors import BadInput, UserError
from polyclinic.events import Role
from polyclinic.models.model_file import ModelFile
from polyclinic.models.session import ModelOptions
from polyclinic.players.mind_names import model_of, name_of
from polyclinic.players.recalling import RecallMind
from polyclinic.players.seeing import tells_in_address
from polyclinic.terminal.screen import note
from polyclinic.terminal.tables import counted


def pictures_of(
    file: str | Path,
    cases: Sequence[Case],
    doctors: Sequence[str],
    models: ModelOptions,
    choice: PictureChoice | None,
) -> CasePictures | None:
    """Returns the pictures that are shown to those doctors who see, None where nobody is shown any.

    Every one is read once before anything begins. Who is not shown what there is, is named on stderr.

    Raises:
        UserError: pictures are to be shown to a model of which nobody says that it sees.
        BadInput: one of them cannot be read.
    """
    having = [case for case in cases if case.attachments]
    if choice == "none" or not having:
        if choice in ("local", "addresses"):
            note(f"no case of {file} has a picture")
        return None
    blind = [mind for mind in doctors if model_of(mind) and not _sees(mind, models.said)]
    some = f"{counted(len(having), 'case')} of {len(cases)} {'has' if len(having) == 1 else 'have'} pictures"
    if blind and choice is not None:
        problem = f"--pictures {choice}: nobody says that {blind[0]} sees; write sees = true of it into --model-file"
        raise UserError(f"{problem}, or leave --pictures out, and it has the text alone")
    for mind in blind:
        note(f"{some}; {mind} has the text alone, as nobody says that it sees (--model-file: sees = true)")
    if not any(_sees(mind, models.said) for mind in doctors):
        return None
    path = shipped_path(file)
    pictures = CasePictures(path if path.is_dir() else path.parent, addresses=choice == "addresses")
    hidden = telling = 0
    for case in having:
        urls = [one.url for one in case.attachments]
        if choice == "addresses":
            telling += sum(tells_in_address(url, diagnosis_terms(case.truth.diagnoses)) for url in urls)
        try:
            hidden += len(urls) - len(pictures.of(urls))
        except BadInput as error:
            problem = f"case {case.id!r}: {error.problem}; --pictures none: text alone"
            raise BadInput(problem, path=error.path) from None
    if hidden:
        note(
            f"{counted(hidden, 'picture')} on the network: not shown; nothing is fetched from there. --pictures "
            "addresses lets the endpoint of the model fetch them"
        )
    if telling:
        note(f"{counted(telling, 'picture')} on the network: not shown, as the address names the diagnosis")
    return pictures


def _sees(doctor: str, said: ModelFile) -> bool:
    if (model := model_of(doctor)) is not None:
        return bool(said.asking(model, Role.DOCTOR).sees)
    return name_of(doctor).partition(":")[0] not in ("rules", "scripted", RecallMind.name)
