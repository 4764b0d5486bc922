"""Diseases in groups of five that are hard to tell apart.

All names that may be an answer are divided into groups; a case's options are the group with its diagnosis. The group
would be the same had any other of them been the answer, so the options alone say nothing, even after many cases. What
cannot be divided by five is left out by turns. There are several divisions, and a case takes the first, in an order of
its own, in which its patient might have the others of the group.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import lexicon_of
from polyclinic.language.language import Language
from polyclinic.seeds import derive

SIZE = 5
"""Options of a question."""

_DIVISIONS = 24
_SWAPS = 6  # tries of a better place, for each name
_CHANCE = 0.25  # of the likeness, how much is drawn for each division
_RECURS = 3  # cases of a disease from which on a file's diseases are all that its cases have
_MANY = 50  # diseases of a file that need no others beside them
_RARE = 0.0  # share of a disease's patients of an age below which it is none of theirs

_GAIN = 1e-9

Likeness = npt.NDArray[np.float64]
"""How alike diseases are, by two places."""


class OptionName(NamedTuple):
    """A name that may be an option.

    Attributes:
        disease: the knowledge's; None where it has none.
        symptoms: how often its patients have each; of a name that the knowledge has not, those of the file's cases.
        department: whose it is; "" where nobody says.
    """

    name: str
    disease: Disease | None
    symptoms: Mapping[str, float]
    department: str


class OptionGroups:
    """The divisions of all names of a language, made from a seed."""

    def __init__(self, names: Sequence[OptionName], alike: Likeness, *, seed: int) -> None:
        self._names, self._alike = names, alike
        self._place = {one.name: place for place, one in enumerate(names)}
        self._seed = seed
        self._few = len(self._names) < _MANY // 2  # too few to choose from
        self._divisions: dict[int, dict[int, tuple[int, ...]]] = {}

    def beside(self, name: str, case: Case) -> Iterator[list[str]]:
        """Yields the names beside a name in its groups: first those that the patient might all have."""
        place = self._place.get(name)
        if place is None:
            return
        # As many as there are names, where that is few: then each name is left out as often as the others.
        order = list(range(len(self._names) if self._few else _DIVISIONS))
        derive(self._seed, case.id, "division").shuffle(order)
        others: list[list[str]] = []
        for number in order:
            group = self._division(number).get(place)
            if group is None:
                continue
            beside = [self._names[at] for at in group if at != place]
            if self._few or _fit(case.presentation, [one.disease for one in beside if one.disease is not None]):
                yield [one.name for one in beside]
            else:
                others.append([one.name for one in beside])
        yield from others

    def _division(self, number: int) -> dict[int, tuple[int, ...]]:
        if number not in self._divisions:
            order = list(range(len(self._names)))
            derive(self._seed, "left out").shuffle(order)
            left_out = len(order) % SIZE
            order = [order[(number * left_out + at) % len(order)] for at in range(left_out, len(order))]
            groups = _divide(self._alike, order, seed=(self._seed, number))
            self._divisions[number] = {at: group for group in groups for at in group}
        return self._divisions[number]


def groups_of(cases: Sequence[Case], language: Language, knowledge: Knowledge, *, seed: int) -> OptionGroups:
    """Returns the groups of all names that may be an answer of these cases.

    They are the cases' diagnoses, where these recur or are many; else the knowledge's diseases by the cases' names.
    """
    own = [c for c in cases if c.presentation.language == language and c.truth.diagnoses]
    counted = Counter(c.truth.diagnoses[0].name for c in own)
    closed = SIZE <= len(counted) <= len(own) / _RECURS or len(counted) >= _MANY
    known = {d.name.get(language): d for d in knowledge.diseases.values()}
    names = tuple(sorted(counted if closed else known))
    # What patients with a diagnosis that the knowledge has not tell of, with the case's department.
    told: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for case in own if closed else ():
        name = case.truth.diagnoses[0].name
        if knowledge.disease_named(name) is None:
            told[name] += [(symptom, case.department) for symptom in symptoms_told(case, knowledge)]
    if not told:
        return OptionGroups(*_known_options(names, language, knowledge), seed=seed)
    options = [_option(name, known.get(name), told, knowledge) for name in names]
    return OptionGroups(options, _likeness(options), seed=seed)


def symptoms_told(case: Case, knowledge: Knowledge) -> tuple[str, ...]:
    """Returns the symptoms that the patient has by its complaint and its history."""
    history = case.record.history
    texts = (case.presentation.complaint, *history.symptoms, history.present)
    return _read_texts(texts, case.presentation.language, knowledge)


@functools.lru_cache(maxsize=4096)
def _read_texts(texts: tuple[str, ...], language: Language, knowledge: Knowledge) -> tuple[str, ...]:
    found = lexicon_of(knowledge, language).read_all(texts)
    return tuple(symptom for symptom, has in found.items() if has)


@functools.lru_cache(maxsize=16)
def _known_options(
    names: tuple[str, ...], language: Language, knowledge: Knowledge
) -> tuple[list[OptionName], Likeness]:
    known = {d.name.get(language): d for d in knowledge.diseases.values()}
    options = [_option(name, known.get(name), {}, knowledge) for name in names]
    return options, _likeness(options)


def _option(
    name: str, disease: Disease | None, told: Mapping[str, list[tuple[str, str]]], knowledge: Knowledge
) -> OptionName:
    disease = disease or knowledge.disease_named(name)
    if disease is not None:
        usual = {symptom: shares[1] for symptom, shares in disease.symptoms.items()}
        return OptionName(name, disease, usual, disease.department)
    said = told.get(name, [])
    return OptionName(name, None, {symptom: 1.0 for symptom, _ in said}, said[0][1] if said else "")


def _likeness(names: Sequence[OptionName]) -> Likeness:
    """Returns how alike all names are, twice as much by the symptoms that patients of both have."""
    places = {symptom: place for place, symptom in enumerate(sorted({s for one in names for s in one.symptoms}))}
    has = np.zeros((len(names), len(places) + 1))
    for row, one in enumerate(names):
        for symptom, share in one.symptoms.items():
            has[row, places[symptom]] = share
    both = np.stack([np.minimum(row, has).sum(axis=1) for row in has])
    either = np.stack([np.maximum(row, has).sum(axis=1) for row in has])
    alike: Likeness = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    for (i, one), (j, other) in itertools.combinations(enumerate(names), 2):
        alike[i, j] = alike[j, i] = 2 * alike[i, j] + _alike(one, other)
    return alike


def _alike(one: OptionName, other: OptionName) -> float:
    """Returns how alike two are beside their symptoms."""
    found = 0.7 * (one.department == other.department != "")
    a, b = one.disease, other.disease
    if a is None or b is None:
        # Of names alone, those of one organ share a word.
        return found + fuzz.token_set_ratio(one.name, other.name) / 100 - (a is not b)
    found += a.id in b.differential or b.id in a.differential
    first, second = a.epidemiology, b.epidemiology
    ages = sum(abs(first.age.get(band, 0) - second.age.get(band, 0)) for band in first.age.keys() | second.age.keys())
    # Neither may give itself away by a sex or an age that the others do not have.
    return found - 4 * (first.female - second.female) ** 2 - ages


def _divide(alike: Likeness, order: list[int], *, seed: tuple[int, int]) -> list[tuple[int, ...]]:
    """Returns groups of those in `order` that are alike; some of the likeness is drawn."""
    rng = derive(*seed, "groups")
    rng.shuffle(order)
    drawn = np.random.default_rng(rng.getrandbits(64)).random(alike.shape) * _CHANCE
    alike = alike + drawn + drawn.T
    np.fill_diagonal(alike, 0)
    left, groups = list(order), list[list[int]]()
    while left:
        group = [left.pop(0)]
        while len(group) < SIZE:
            nearest = left[int(alike[np.ix_(left, group)].sum(axis=1).argmax())]
            left.remove(nearest)
            group.append(nearest)
        groups.append(group)
    return _improved(groups, alike, order)


def _improved(groups: list[list[int]], alike: Likeness, order: Sequence[int]) -> list[tuple[int, ...]]:
    """Swaps members of groups as long as both groups together gain."""
    placed = np.array(order)
    of = np.zeros(len(alike), dtype=int)
    for number, group in enumerate(groups):
        of[group] = number
    near = np.stack([alike[:, group].sum(axis=1) for group in groups], axis=1)  # to all of a group, itself among them
    for _ in range(_SWAPS):
        for one in order:
            mine, theirs = of[one], of[placed]
            now = near[one, mine] + near[placed, theirs]
            gains = near[placed, mine] + near[one, theirs] - 2 * alike[placed, one] - now
            gains[theirs == mine] = 0
            best = int(gains.argmax())
            if gains[best] > _GAIN:
                other = placed[best]
                yours = of[other]
                near[:, mine] += alike[:, other] - alike[:, one]
                near[:, yours] += alike[:, one] - alike[:, other]
                of[one], of[other] = yours, mine
    return [tuple(int(at) for at in placed[of[placed] == number]) for number in range(len(groups))]


def _fit(patient: Presentation, diseases: Sequence[Disease]) -> bool:
    """Whether a patient might have diseases, by sex, and by age most of them.

    The stricter this is, the more the options tell of the patient, and that of the answer.
    """
    woman = {"female": 1.0, "male": 0.0}.get(patient.sex or "")
    if woman is not None and any(disease.epidemiology.female == 1 - woman for disease in diseases):
        return False
    return patient.age is None or sum(d.epidemiology.share_at(patient.age) <= _RARE for d in diseases) <= 2
