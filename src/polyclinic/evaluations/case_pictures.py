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
from polyclinic.models.settings import ModelSettings
from polyclinic.players.mind_names import kind_by_prefix, model_of, name_of
from polyclinic.players.minds import tells_in_address
from polyclinic.terminal.screen import note
from polyclinic.terminal.tables import counted


def cases_with_pictures(
    read: Callable[[Callable[[Case], str]], list[Case]],
    file: str | Path,
    doctors: Sequence[str],
    models: ModelSettings,
    choice: PictureChoice | None,
) -> tuple[list[Case], CasePictures | None]:
    """Returns the cases of a file, and its pictures for those of the doctors who see; None if nobody is shown any.

    Notes on stderr who is not shown what, and which pictures nobody is shown.

    Args:
        read: reads the cases; it is given what returns why the pictures of a case cannot be shown, "" if they can.
        file: the cases.
        doctors: their minds.
        models: what is known of models.
        choice: which pictures are shown.

    Raises:
        UserError: pictures are to be shown to a model of which nobody says that it sees.
    """

    def sees(doctor: str) -> bool:
        if (model := model_of(doctor)) is not None:
            return bool(models.said.asking(model, Role.DOCTOR).sees)
        return kind_by_prefix(name_of(doctor)).sees

    seeing, pictures = [mind for mind in doctors if sees(mind)], None
    if seeing and choice != "none":
        path = shipped_path(file)
        pictures = CasePictures(path if path.is_dir() else path.parent, addresses=choice == "addresses")

    def lacks(case: Case) -> str:
        try:
            if pictures is not None:
                pictures.of([one.url for one in case.attachments])
        except BadInput as error:
            place = "" if error.path is None else f"{Path(error.path).name}: "
            return f"{place}{error.problem}; cases.pictures none: text alone"
        return ""

    cases = read(lacks)
    having = [case for case in cases if case.attachments]
    if choice == "none" or not having:
        if choice in ("local", "addresses"):
            note(f"no case of {file} has a picture")
        return cases, pictures
    blind = [mind for mind in doctors if model_of(mind) and mind not in seeing]
    if blind and choice is not None:
        problem = f"cases.pictures {choice}: nobody says that {blind[0]} sees; write sees = true of it into"
        raise UserError(f"{problem} models.model-file, or leave cases.pictures out, and it has the text alone")
    some = f"{counted(len(having), 'case')} of {len(cases)} {'has' if len(having) == 1 else 'have'} pictures"
    for mind in blind:
        note(f"{some}; {mind} has the text alone, as nobody says that it sees (models.model-file: sees = true)")
    on_network = [(case, one.url) for case in having for one in case.attachments if is_address(one.url)]
    if pictures is not None and on_network and choice != "addresses":
        note(
            f"{counted(len(on_network), 'picture')} on the network: not shown; nothing is fetched from there. "
            "cases.pictures addresses lets the endpoint of the model fetch them"
        )
    telling = sum(tells_in_address(url, diagnosis_terms(case.truth.diagnoses)) for case, url in on_network)
    if pictures is not None and telling and choice == "addresses":
        note(f"{counted(telling, 'picture')} on the network: not shown, as the address names the diagnosis")
    return cases, pictures
