"""The cases that can be played, in sets, each case under a key that reveals nothing.

Ids, departments and sources may name the disease, so only the presentation is offered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.pictures import CasePictures, SeenPicture, is_address
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.shipped import SHIPPED, shipped_path
from polyclinic.web.browse.holdings import unused_name
from polyclinic.web.refused import NotFound

_MOST = 50


class CaseAt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a case is: its set, and its key there."""

    set: str
    key: str


class _CaseSet:
    def __init__(self, name: str, path: str | Path) -> None:
        where = shipped_path(path)
        self.folder = where if where.is_dir() else where.parent
        self.cases: dict[str, Case] = {}
        for case in read_cases(path):
            digest = hashlib.blake2b(f"{name}\n{case.id}".encode(), digest_size=6).hexdigest()
            self.cases[digest] = case


class Catalogue:
    """Sets of cases by name, read when they are first needed: those of the package, and the user's `files`."""

    def __init__(self, files: Sequence[Path] = ()) -> None:
        self._paths: dict[str, str | Path] = {name: name for name in SHIPPED}
        for path in files:
            self._paths[unused_name(path.stem, self._paths)] = path
        self._read: dict[str, _CaseSet] = {}

    def sets(self) -> list[dict[str, Any]]:
        """Returns name, number of cases and languages of each set."""
        return [
            {
                "name": name,
                "cases": len(cases := self.cases(name)),
                "languages": sorted({case.presentation.language for case in cases}),
            }
            for name in self._paths
        ]

    def offered(self, name: str, words: str, start: int) -> dict[str, Any]:
        """Returns some cases of a set from one on, those whose presentation has all words, and their number."""
        found = []
        for number, (key, case) in enumerate(self._set(name).cases.items(), start=1):
            person = case.presentation
            shown = f"{person.complaint} {person.about} {person.sex or ''} {person.age or ''}".casefold()
            if all(word in shown for word in words.casefold().split()):
                found.append({"key": key, "number": number, "presentation": person})
        return {"cases": found[start : start + _MOST], "found": len(found)}

    def case(self, at: CaseAt) -> Case:
        """Returns a case."""
        case = self._set(at.set).cases.get(at.key)
        if case is None:
            raise NotFound("there is no such case in that set; the list of cases says which there are")
        return case

    def picture(self, at: CaseAt, number: int) -> SeenPicture:
        """Returns a picture of a case, the first as 1."""
        urls = [one.url for one in self.case(at).attachments]
        if not 1 <= number <= len(urls) or is_address(urls[number - 1]):
            raise NotFound("the case has no such picture")
        # Read anew each time: what is kept would grow with the cases that are played.
        return CasePictures(self._set(at.set).folder).of([urls[number - 1]])[0]

    def cases(self, name: str) -> list[Case]:
        """Returns the cases of a set, for who may know all of them."""
        return list(self._set(name).cases.values())

    def keys(self, name: str) -> list[str]:
        """Returns the keys of a set's cases."""
        return list(self._set(name).cases)

    def at_the_door(self, at: CaseAt) -> Presentation | None:
        """Returns what is known of a case at the door; None where it is not offered any more."""
        try:
            return self.case(at).presentation
        except NotFound:
            return None

    def _set(self, name: str) -> _CaseSet:
        if name not in self._paths:
            raise NotFound(f"there is no such set of cases; there are: {', '.join(self._paths)}")
        if name not in self._read:
            self._read[name] = _CaseSet(name, self._paths[name])
        return self._read[name]
