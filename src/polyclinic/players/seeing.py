"""Who among the doctors sees: a model of which somebody says so, a person, a mind of one's own."""

from __future__ import annotations

from collections.abc import Sequence

from polyclinic.cases.pictures import CasePictures, SeenPicture
from polyclinic.players.human.doctor import HumanDoctor
from polyclinic.players.language_model.mind import ModelMind
from polyclinic.players.own_mind import OwnMind
from polyclinic.players.player import Mind
from polyclinic.players.roles.doctor import Doctor


def shown_to(doctor: Mind[Doctor], pictures: CasePictures | None, urls: Sequence[str]) -> tuple[SeenPicture, ...]:
    """Returns those of a case's pictures that a doctor's mind is shown, by where they lie.

    Raises:
        BadInput: one of them cannot be shown.
    """
    sees = doctor.sees if isinstance(doctor, ModelMind) else isinstance(doctor, HumanDoctor | OwnMind)
    return pictures.of(urls) if pictures is not None and sees else ()
