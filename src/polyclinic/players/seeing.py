"""Who among the doctors sees: a model of which somebody says so, a person, a mind of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

import msgspec

from polyclinic.cases.pictures import CasePictures, SeenPicture, is_address, words_of_place
from polyclinic.cases.withhold import withhold
from polyclinic.players.human.doctor import HumanDoctor
from polyclinic.players.language_model.mind import ModelMind
from polyclinic.players.own_mind import OwnMind
from polyclinic.players.player import Mind
from polyclinic.players.roles.doctor import Doctor


def shown_to(
    doctor: Mind[Doctor], pictures: CasePictures | None, urls: Sequence[str], *, secret: Sequence[str] = ()
) -> tuple[SeenPicture, ...]:
    """Returns those of a case's pictures that a doctor's mind is shown, by where they lie.

    One whose file is named by a `secret`, a name of what the visit is to find out, is told of by its number alone. One
    whose address on the network is, is not shown: the endpoint would be sent the name.

    Raises:
        BadInput: one of them cannot be shown.
    """
    sees = doctor.sees if isinstance(doctor, ModelMind) else isinstance(doctor, HumanDoctor | OwnMind)
    seen = pictures.of(urls) if pictures is not None and sees else ()
    return tuple(
        _without(picture, number, secret)
        for number, picture in enumerate(seen, start=1)
        if not tells_in_address(picture.url, secret)
    )


def tells_in_address(url: str, secret: Sequence[str]) -> bool:
    """Whether a picture lies somewhere on the network at an address in which a `secret` stands."""
    place = words_of_place(unquote(url))
    return is_address(url) and withhold(place, secret) != place


def _without(picture: SeenPicture, number: int, secret: Sequence[str]) -> SeenPicture:
    place = words_of_place(picture.shown.name)
    if withhold(place, secret) == place:
        return picture
    return msgspec.structs.replace(picture, shown=msgspec.structs.replace(picture.shown, name=f"picture {number}"))
