"""Who lives in the town: each resident depends on the seed and its own number alone, and is made when asked for.

Ages and sexes of all residents are two small arrays, as whoever draws the town's illness needs them all at once.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from polyclinic.cases.presentation import Sex
from polyclinic.cases.record import History
from polyclinic.generation.draw import Person, read_people
from polyclinic.knowledge.ages import AGE_BANDS
from polyclinic.knowledge.data import Name
from polyclinic.language.language import Language
from polyclinic.seeds import derive
from polyclinic.yaml_files import read_yaml

TEMPLATES = Path(__file__).parent / "profiles.yaml"

BANDS = tuple(AGE_BANDS)
SEXES: tuple[Sex, ...] = ("female", "male")

_HABITS = 2


class _Medication(Name, frozen=True, kw_only=True):
    atc: str


class _Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: Name
    share: dict[str, float]
    sex: Sex | None = None
    drug: _Medication | None = None


class _Intolerance(Name, frozen=True, kw_only=True):
    share: float
    atc: tuple[str, ...]


class Demography(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How old people are: the share of each age band, and of women in it."""

    age: dict[str, float]
    female: dict[str, float]

    def shares(self) -> npt.NDArray[np.float64]:
        """Returns the share of the town by age band and sex, (bands, 2), women first."""
        age = np.array([self.age[b] for b in BANDS])
        female = np.array([self.female[b] for b in BANDS])
        return np.stack([age * female, age * (1 - female)], axis=1)


class ProfileTemplates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What residents are put together from."""

    town: Demography
    households: dict[str, tuple[Name, ...]]
    habits: dict[str, tuple[Name, ...]]
    conditions: tuple[_Condition, ...]
    intolerances: tuple[_Intolerance, ...]


@functools.cache
def read_templates(path: Path = TEMPLATES) -> ProfileTemplates:
    """Reads what residents are put together from; the same object for the same path."""
    return read_yaml(path, ProfileTemplates)


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be said of a resident in other words than the templates'."""

    about: str = ""  # one line on the person, which everybody sees at the door
    household: str  # whom it lives with, a sentence
    habits: tuple[str, ...]  # what it likes and does, a sentence each
    past: str = ""  # what happened in its life before, beside its conditions


class Resident(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who lives in the town. Texts are in its language."""

    id: str  # "r00001" is the first
    name: str  # made up
    age: int  # in years
    sex: Sex  # as recorded
    language: Language  # in which it speaks
    occupation: str  # what it does all day
    about: str = ""  # one line on the person; "" where nothing is known
    household: str  # whom it lives with
    habits: tuple[str, ...]  # what it likes and does
    conditions: tuple[str, ...] = ()  # what was so before, a sentence each
    medications: tuple[str, ...] = ()  # what it takes, a sentence each
    allergies: tuple[str, ...] = ()  # what it does not tolerate, a sentence each
    takes: tuple[str, ...] = ()  # ATC codes of what it takes
    avoid: tuple[str, ...] = ()  # beginnings of the ATC codes of drugs that it does not tolerate

    @property
    def history(self) -> History:
        """What was so before any illness, for a record."""
        between = "" if self.language == "zh" else " "
        return History(
            past=between.join(self.conditions),
            medications=between.join(self.medications),
            allergies=between.join(self.allergies),
            personal=between.join((self.household, *self.habits)),
        )

    @property
    def person(self) -> Person:
        """The resident as whoever draws its cases needs it."""
        comma, stop = ("，", "。") if self.language == "zh" else (", ", ". ")
        about = f"{self.name}{comma}{self.occupation}"
        about = f"{about}{stop}{self.about}" if self.about else about
        return Person(age=self.age, sex=self.sex, about=about, history=self.history)


class Residents:
    """All residents; each is made anew whenever it is asked for, always the same, and resident i whatever `n`."""

    def __init__(
        self, n: int, seed: int, *, language: Language = "en", profiles: Mapping[str, Profile] | None = None
    ) -> None:
        self._n, self._seed, self._language, self._profiles = n, seed, language, profiles or {}
        self._templates, self._people = read_templates(), read_people()[language]
        self.town = self._templates.town  # how ages and sexes were drawn
        drawn = uniforms(seed, "residents", n=3 * n).reshape(n, 3)
        shares = np.array([self.town.age[b] for b in BANDS])
        # The age band of each resident and its sex, as their places in `BANDS` and `SEXES`
        self.bands = np.searchsorted(np.cumsum(shares)[:-1], drawn[:, 0], side="right").astype(np.uint8)
        female = np.array([self.town.female[b] for b in BANDS])[self.bands]
        self.sexes = (drawn[:, 1] >= female).astype(np.uint8)
        first, last = (np.array([AGE_BANDS[b][side] for b in BANDS])[self.bands] for side in (0, 1))
        self.ages = (first + drawn[:, 2] * (last - first + 1)).astype(np.uint8)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, number: int) -> Resident:
        if not 0 <= number < self._n:
            raise IndexError(f"resident {number}; there are {self._n}")
        resident = self._make(number)
        profile = self._profiles.get(resident.id)
        if profile is None:
            return resident
        return msgspec.structs.replace(
            resident,
            about=profile.about,
            household=profile.household,
            habits=profile.habits,
            conditions=(*resident.conditions, *filter(None, [profile.past])),
        )

    def having(self, more: int = 0, profiles: Mapping[str, Profile] | None = None) -> Residents:
        """Returns the residents with so many more, or with other profiles by id; the others stay as they are."""
        profiles = {**self._profiles, **(profiles or {})}
        return Residents(self._n + more, self._seed, language=self._language, profiles=profiles)

    def _make(self, number: int) -> Resident:
        rng, language, templates = derive(self._seed, "resident", number), self._language, self._templates
        band, sex = BANDS[self.bands[number]], SEXES[self.sexes[number]]
        given, family = rng.choice(getattr(self._people, sex)), rng.choice(self._people.family)
        occupation = rng.choice(self._people.occupied(int(self.ages[number])))
        household, habits = rng.choice(templates.households[band]), rng.sample(templates.habits[band], _HABITS)
        conditions = [
            condition
            for condition in templates.conditions
            # The draw comes first, so that the generator goes on in the same way for everybody.
            if rng.random() < condition.share.get(band, 0.0) and condition.sex in (None, sex)
        ]
        intolerances = [kind for kind in templates.intolerances if rng.random() < kind.share]
        drugs = [condition.drug for condition in conditions if condition.drug is not None]
        return Resident(
            id=f"r{number + 1:05d}",
            name=f"{family}{given}" if language == "zh" else f"{given} {family}",
            age=int(self.ages[number]),
            sex=sex,
            language=language,
            occupation=occupation,
            household=household.get(language),
            habits=tuple(habit.get(language) for habit in habits),
            conditions=tuple(condition.text.get(language) for condition in conditions),
            medications=tuple(drug.get(language) for drug in drugs),
            allergies=tuple(kind.get(language) for kind in intolerances),
            takes=tuple(drug.atc for drug in drugs),
            avoid=tuple(atc for kind in intolerances for atc in kind.atc),
        )


def uniforms(seed: int, *purpose: str | int, n: int) -> npt.NDArray[np.float64]:
    """Returns n numbers from 0 to 1 (excluded); number i is the same whatever `n`, on every machine."""
    # NumPy promises the raw bits of a generator for good, and not what its distributions make of them.
    raw = np.random.PCG64(derive(seed, *purpose).getrandbits(128)).random_raw(n)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
