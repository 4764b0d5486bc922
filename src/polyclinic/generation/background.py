"""What a patient brings along whatever it comes with: older illnesses, their medicines, operations, habits.

It is drawn by age, sex and region alone, so that it speaks neither for nor against a disease; but for what a symptom
of the knowledge stands for, whose medicines are named here.

Where patients live counts where it is published how usual circumstances and older illnesses are in a region. The
knowledge as it is read is that of `HOME`; `in_region` returns it as it is elsewhere, for drawing and for reading
alike.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from polyclinic.cases.presentation import Sex
from polyclinic.cases.record import History
from polyclinic.errors import BadInput
from polyclinic.knowledge.ages import YOUNGEST_ADOLESCENT, Prevalence, usual_at
from polyclinic.knowledge.body import read_body
from polyclinic.knowledge.data import DATA, Data, Name, Share, Texts
from polyclinic.knowledge.entries import Source
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import MARKS, Language
from polyclinic.yaml_files import read_yaml

RegionName = Literal["europe", "north-america", "east-asia", "sub-saharan-africa"]
HOME: RegionName = "europe"


class Region(Data):
    """A part of the world.

    Attributes:
        circumstances: by the id of the symptom rows of first year, last year, sex or "both", and how usual it is.
        background: the same by the id of the condition of `background.yaml`.
    """

    name: Name
    sources: tuple[Source, ...] = ()
    circumstances: dict[str, Prevalence] = msgspec.field(default_factory=dict)
    background: dict[str, Prevalence] = msgspec.field(default_factory=dict)


@functools.cache
def read_regions(path: Path = DATA / "regions.yaml") -> dict[str, Region]:
    """Reads the regions, by id."""
    return read_yaml(path, dict[str, Region])


def in_region(knowledge: Knowledge, region: str) -> Knowledge:
    """Returns the knowledge as it is in a region."""
    regions = read_regions()
    if region not in regions:
        raise BadInput(f"no region {region!r}; there are: {', '.join(regions)}")
    rows = regions[region].circumstances
    symptoms = {
        id: msgspec.structs.replace(symptom, prevalence=rows[id]) if id in rows else symptom
        for id, symptom in knowledge.symptoms.items()
    }
    return msgspec.structs.replace(knowledge, symptoms=symptoms, region=region)


class Medicine(Data):
    """A medicine that somebody takes, with its dose; `share` of those who are treated, from an age on."""

    en: str
    zh: str
    share: Share
    from_age: int = 0


class BackgroundCondition(Data):
    """An older illness, or an operation; one that a `symptom` stands for is there where that is.

    With `one_medicine`, who is treated takes one of the medicines, otherwise each by its share. It is not there with
    any of `unless`, ids of symptoms and diseases. Of a child it is told in the words `past_of_child`, where there are
    any. `beside` is the id of what the body knows of it as well, and `stages` for each text of `past` that of a stage
    of it ("": none).
    """

    id: str
    symptom: str = ""
    beside: str = ""
    unless: tuple[str, ...] = ()
    prevalence: Prevalence = ()
    past: Texts = Texts()
    past_of_child: Texts = Texts()
    stages: tuple[str, ...] = ()
    treated: Share = 0
    one_medicine: bool = False
    medicines: tuple[Medicine, ...] = ()

    def told(self, language: Language) -> tuple[str, ...]:
        """Returns how it is told of somebody of any age."""
        return (*self.past.get(language), *self.past_of_child.get(language))

    def told_at(self, age: float) -> Texts:
        """Returns how it is told of somebody of an age (years)."""
        return self.past_of_child if age < YOUNGEST_ADOLESCENT and self.past_of_child.en else self.past


class ToldOfBackground(Data):
    """A sentence, and how many say it; nobody who has one of the medicines, conditions or symptoms `unless`."""

    prevalence: Prevalence
    text: Texts
    unless: tuple[str, ...] = ()


class BackgroundFile(Data):
    """What `background.yaml` holds."""

    sources: tuple[Source, ...]
    conditions: tuple[BackgroundCondition, ...]
    allergies: tuple[ToldOfBackground, ...]
    habits: tuple[ToldOfBackground, ...]


class BroughtAlong(NamedTuple):
    """What somebody brings along: the history, without symptoms, and the ids of the conditions."""

    history: History
    conditions: frozenset[str]


@functools.cache
def read_background(path: Path = DATA / "background.yaml") -> BackgroundFile:
    """Reads what people bring along."""
    return read_yaml(path, BackgroundFile)


def draw_background(
    age: float, sex: Sex, present: Collection[str], rng: random.Random, language: Language, *, region: str = HOME
) -> BroughtAlong:
    """Draws what somebody brings along."""
    known, marks, there = read_background(), MARKS[language], set[str]()
    past: list[str] = []
    medicines: list[str] = []
    for condition in known.conditions:
        if condition.symptom:
            is_there = condition.symptom in present
        else:
            is_there = rng.random() < share_of(condition, age, sex, region)
        if not is_there or not _free(condition.unless, present):
            continue
        treated, texts = rng.random(), condition.told_at(age).get(language)
        there.add(condition.id)
        if texts:
            past.append(rng.choice(texts))
        if condition.stages:
            there.add(condition.stages[texts.index(past[-1])])
        if treated < condition.treated:
            taken = list(_taken(condition, age, rng))
            # One who has two reasons for a medicine takes it once.
            kinds = {one.split()[0] for one in medicines}
            medicines += [
                one for one in (getattr(medicine, language) for medicine in taken) if one.split()[0] not in kinds
            ]

    def text(sentences: Sequence[str]) -> str:
        return marks.blank.join(sentence + marks.stop for sentence in sentences)

    has = [*there, *medicines, *present]
    history = History(
        past=text(past),
        medications=text(medicines),
        allergies=text(_told(known.allergies, (age, sex), has, rng, language)),
        personal=text(_told(known.habits, (age, sex), has, rng, language)),
    )
    return BroughtAlong(history, frozenset(there))


def _free(unless: Collection[str], present: Collection[str]) -> bool:
    """Returns whether nothing is present that excludes something."""
    return not any(id in present for id in unless)


def share_of(condition: BackgroundCondition, age: float, sex: Sex, region: str) -> float:
    """Returns how many people of an age and sex have a condition in a region."""
    there = read_regions()[region].background
    if condition.id in there:
        return usual_at(there[condition.id], age, sex)
    return (
        read_body().beside[condition.beside].share(age, sex)
        if condition.beside
        else usual_at(condition.prevalence, age, sex)
    )


def _taken(condition: BackgroundCondition, age: float, rng: random.Random) -> Iterator[Medicine]:
    """Yields what those take who are treated; at least one medicine, where there are any for the age."""
    medicines = [medicine for medicine in condition.medicines if age >= medicine.from_age]
    chances = [rng.random() for _ in condition.medicines]
    if condition.one_medicine and medicines:
        yield from rng.choices(medicines, [medicine.share for medicine in medicines])
    else:
        yield from [one for one, chance in zip(medicines, chances, strict=False) if chance < one.share] or medicines[:1]


def _told(
    said: Sequence[ToldOfBackground], who: tuple[float, Sex], has: Sequence[str], rng: random.Random, language: Language
) -> list[str]:
    texts = []
    for one in said:
        is_said = rng.random() < usual_at(one.prevalence, *who)
        if is_said and not any(word in known for word in one.unless for known in has):
            texts.append(rng.choice(one.text.get(language)))
    return texts
