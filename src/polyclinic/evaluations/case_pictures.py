"""Which of the pictures of cases are shown to whom, which cases cannot be used for theirs, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from polyclinic.cases.case import Case
from polyclinic.cases.pictures import CasePictures, PictureChoice, is_address
from polyclinic.cases.shipped import shipped_path
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.errors import BadInput, UserError
from polyclinic.events import Role
from polyclinic.models.model_file import ModelFile
from polyclinic.models.settings import ModelSettings
from polyclinic.players.mind_names import RECALL, model_of, name_of
from polyclinic.players.minds import tells_in_address
from polyclinic.terminal.screen import note
from polyclinic.terminal.tables import counted


def pictures_seen(
    file: str | Path, doctors: Sequence[str], models: ModelSettings, choice: PictureChoice | None
) -> CasePictures | None:
    """Returns the pictures beside a case file for those of the doctors who see, None where nobody is shown any."""
    if choice == "none" or not any(_sees(mind, models.said) for mind in doctors):
        return None
    path = shipped_path(file)
    return CasePictures(path if path.is_dir() else path.parent, addresses=choice == "addresses")


def lacking_pictures(pictures: CasePictures | None) -> Callable[[Case], str]:
    """Returns what says of a case which of its pictures cannot be shown, and why; "" of one that lacks nothing."""

    def lacks(case: Case) -> str:
        if pictures is None:
            return ""
        try:
            pictures.of([one.url for one in case.attachments])
        except BadInput as error:
            place = "" if error.path is None else f"{Path(error.path).name}: "
            return f"{place}{error.problem}; cases.pictures none: text alone"
        return ""

    return lacks


def note_pictures(
    file: str | Path,
    cases: Sequence[Case],
    doctors: Sequence[str],
    models: ModelSettings,
    choice: PictureChoice | None,
) -> None:
    """Names on stderr who is not shown what there is of these cases, and which pictures nobody is shown.

    Raises:
        UserError: pictures are to be shown to a model of which nobody says that it sees.
    """
    having = [case for case in cases if case.attachments]
    if choice == "none" or not having:
        if choice in ("local", "addresses"):
            note(f"no case of {file} has a picture")
        return
    blind = [mind for mind in doctors if model_of(mind) and not _sees(mind, models.said)]
    some = f"{counted(len(having), 'case')} of {len(cases)} {'has' if len(having) == 1 else 'have'} pictures"
    if blind and choice is not None:
        problem = (
            f"cases.pictures {choice}: nobody says that {blind[0]} sees; write sees = true of it into models.model-file"
        )
        raise UserError(f"{problem}, or leave cases.pictures out, and it has the text alone")
    for mind in blind:
        note(f"{some}; {mind} has the text alone, as nobody says that it sees (models.model-file: sees = true)")
    if not any(_sees(mind, models.said) for mind in doctors):
        return
    on_network = [(case, one.url) for case in having for one in case.attachments if is_address(one.url)]
    if on_network and choice != "addresses":
        note(
            f"{counted(len(on_network), 'picture')} on the network: not shown; nothing is fetched from there. "
            "cases.pictures addresses lets the endpoint of the model fetch them"
        )
    telling = sum(tells_in_address(url, diagnosis_terms(case.truth.diagnoses)) for case, url in on_network)
    if telling and choice == "addresses":
        note(f"{counted(telling, 'picture')} on the network: not shown, as the address names the diagnosis")


def _sees(doctor: str, said: ModelFile) -> bool:
    if (model := model_of(doctor)) is not None:
        return bool(said.asking(model, Role.DOCTOR).sees)
    return name_of(doctor).partition(":")[0] not in ("rules", "scripted", RECALL)
