"""What a patient brings along whatever it comes with: older illnesses, their medicines, operations, habits.

It is drawn by age and sex alone, so that it speaks neither for nor against a disease; but for what a symptom of the
knowledge stands for, whose medicines are named here.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

from polyclinic.cases.presentation import Sex
from polyclinic.cases.record import History
from polyclinic.knowledge.data import DATA, Data, Share, Texts
from polyclinic.knowledge.entries import Source
from polyclinic.language.language import MARKS, Language
from polyclinic.yaml_files import read_yaml

Prevalence = tuple[tuple[int, int, Sex | Literal["both"], Share], ...]


class Medicine(Data, frozen=True, kw_only=True):
    """A medicine that somebody takes, with its dose; `share` of those who are treated."""

    en: str
    zh: str
    share: Share


class BackgroundCondition(Data, frozen=True, kw_only=True):
    """An older illness, or an operation; one that a `symptom` stands for is there where that is.

    With `one_medicine`, who is treated takes one of the medicines, otherwise each by its share.
    """

    id: str
    symptom: str = ""
    prevalence: Prevalence = ()
    past: Texts = Texts()
    treated: Share = 0
    one_medicine: bool = False
    medicines: tuple[Medicine, ...] = ()


class ToldOfBackground(Data, frozen=True, kw_only=True):
    """A sentence, and how many say it."""

    prevalence: Prevalence
    text: Texts


class BackgroundFile(Data, frozen=True, kw_only=True):
    """What `background.yaml` holds."""

    sources: tuple[Source, ...]
    conditions: tuple[BackgroundCondition, ...]
    allergies: tuple[ToldOfBackground, ...]
    habits: tuple[ToldOfBackground, ...]


@functools.cache
def read_background(path: Path = DATA / "background.yaml") -> BackgroundFile:
    """Reads what people bring along."""
    return read_yaml(path, BackgroundFile)


def draw_background(age: float, sex: Sex, present: Collection[str], rng: random.Random, language: Language) -> History:
    """Draws what somebody brings along; its symptoms are empty.

    Args:
        age: in years.
        sex: of the patient.
        present: ids of the symptoms and circumstances that are there.
        rng: where chance comes from.
        language: of the case.
    """
    known, marks = read_background(), MARKS[language]
    past: list[str] = []
    medicines: list[str] = []
    for condition in known.conditions:
        chance, treated = rng.random(), rng.random()
        there = condition.symptom in present if condition.symptom else chance < _share(condition.prevalence, age, sex)
        texts = condition.past.get(language)
        told = rng.choice(texts) if texts else ""
        taken = _taken(condition, rng)
        if not there:
            continue
        past += [told] if told else []
        if condition.medicines and treated < condition.treated:
            medicines += [getattr(medicine, language) for medicine in taken]

    def text(sentences: Sequence[str]) -> str:
        return marks.blank.join(sentence + marks.stop for sentence in sentences)

    return History(
        past=text(past),
        medications=text(medicines),
        allergies=text(_told(known.allergies, age, sex, rng, language)),
        personal=text(_told(known.habits, age, sex, rng, language)),
    )


def _taken(condition: BackgroundCondition, rng: random.Random) -> Sequence[Medicine]:
    """Returns what those take who are treated; at least one medicine, where there are any."""
    medicines = condition.medicines
    if condition.one_medicine:
        return rng.choices(medicines, [medicine.share for medicine in medicines])
    return [medicine for medicine in medicines if rng.random() < medicine.share] or medicines[:1]


def _told(said: Sequence[ToldOfBackground], age: float, sex: Sex, rng: random.Random, language: Language) -> list[str]:
    texts = []
    for one in said:
        chance, text = rng.random(), rng.choice(one.text.get(language))
        if chance < _share(one.prevalence, age, sex):
            texts.append(text)
    return texts


def _share(prevalence: Prevalence, age: float, sex: Sex) -> float:
    return next((s for first, last, whose, s in prevalence if first <= age < last + 1 and whose in ("both", sex)), 0.0)
