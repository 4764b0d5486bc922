"""Wrong options beside the right one, for cases whose source gives none (aie-saps §2.2.2).

They are the other four of a group of diseases that are hard to tell apart (see `groups`), or a model makes them, as in
the paper. If there are too few, names are ranked: for a disease of the knowledge its differential diagnoses, then
those of its department that share the most symptoms; for another what the case calls its differential, other cases'
diagnoses, and the knowledge's diseases that fit the patient's complaint and history best.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated

import msgspec
from rapidfuzz import fuzz

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Question
from polyclinic.errors import PlayFailure
from polyclinic.evaluations.aie.groups import SIZE, groups_of, symptoms_told
from polyclinic.knowledge.disease_names.relation import Relation, known_relation
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.metrics.accuracy import identity
from polyclinic.models.model import Message, Model
from polyclinic.players.language_model.mind import describe
from polyclinic.prompts import read_prompts
from polyclinic.seeds import derive

WRONG_OPTIONS = SIZE - 1

_STEM = {"en": "Which diagnosis fits best?", "zh": "根据病人的情况，最可能的诊断是什么？"}
_SPELLED = 80  # percent of the letters from which on a name that the knowledge has not is one it has, spelled otherwise
_SOME = 0.2  # of the symptoms that either patient tells of, the share that both have from which on they are alike

Rank = tuple[float, ...]
"""Where a wrong option stands: the smallest first."""


def with_questions(cases: Sequence[Case], knowledge: Knowledge, *, seed: int) -> list[Case]:
    """Returns the cases, each with a question: its own, or one made of its diagnosis and four like it.

    No wrong option is the right one by another name, a kind or a part of it, or another diagnosis of the case.
    """
    options = _Options(cases, knowledge, seed)
    return [options.question(case, options.beside(case)) if _lacks(case) else case for case in cases]


def _lacks(case: Case) -> bool:
    """Whether a question can be made for a case, and has to be."""
    return case.question is None and bool(case.truth.diagnoses)


class _Options:
    """The options of cases that have a diagnosis and no question."""

    def __init__(self, cases: Sequence[Case], knowledge: Knowledge, seed: int) -> None:
        self._cases, self._knowledge, self._seed = cases, knowledge, seed
        languages = {case.presentation.language for case in cases}
        self._groups = {language: groups_of(cases, language, knowledge, seed=seed) for language in languages}

    def beside(self, case: Case) -> list[str]:
        """Returns names for the wrong options of a case: of a group, or the nearest where none can be used."""
        right, language = case.truth.diagnoses[0].name, case.presentation.language
        known = self._knowledge.disease_named(right)
        for name in dict.fromkeys((right, right if known is None else known.name.get(language))):
            for beside in self._groups[language].beside(name, case):
                if len(found := self.distinct(case, beside)) == WRONG_OPTIONS:
                    return found
        return self._ranked(case, known)

    def _ranked(self, case: Case, known: Disease | None) -> list[str]:
        """Returns all names that may stand beside the right one, the best first; `known` is its disease, if any."""
        right, language = case.truth.diagnoses[0].name, case.presentation.language
        told = () if known is not None else symptoms_told(case, self._knowledge)
        names: dict[str, Rank] = {}
        for disease in self._knowledge.diseases.values():
            names[disease.name.get(language)] = _fits(disease, told) if known is None else _looks_like(disease, known)
        for name in case.truth.differential:
            # Names of the knowledge go first beside one of its own: a name in another style tells itself from them.
            names.setdefault(name, (2.5 if known is not None else 0.0, 0.0))
        for other in self._cases:
            if other.presentation.language == language and other.truth.diagnoses and other is not case:
                theirs = () if known is not None else symptoms_told(other, self._knowledge)
                alike = len({*told} & {*theirs}) / len({*told} | {*theirs}) if told and theirs else 0.0
                names.setdefault(other.truth.diagnoses[0].name, (1.0, -alike) if alike > _SOME else (4.0, -alike))
        near = {name: fuzz.WRatio(name, right) for name in names}
        return sorted(names, key=lambda n: (*names[n], -near[n], n))

    def question(self, case: Case, names: Iterable[str]) -> Case:
        """Returns a case with a question, made of the first of these names that can be wrong options."""
        right, language = case.truth.diagnoses[0].name, case.presentation.language
        options = [right, *self.distinct(case, names)]
        derive(self._seed, case.id, "options").shuffle(options)
        keyed = dict(zip(ascii_uppercase, options, strict=False))
        question = Question(id=case.id, stem=_STEM[language], options=keyed, language=language)
        answers = tuple(key for key, text in keyed.items() if text == right)
        truth = msgspec.structs.replace(case.truth, answers=answers)
        return msgspec.structs.replace(case, question=question, truth=truth)

    def distinct(self, case: Case, names: Iterable[str]) -> list[str]:
        """Returns the first names that are other diseases than those of the case and than those before them."""
        near, found = [diagnosis.name for diagnosis in case.truth.diagnoses], list[str]()
        taken = {identity(name, self._knowledge) for name in near}
        for name in names:
            if len(found) == WRONG_OPTIONS:
                break
            same = identity(name, self._knowledge)
            if not same or any(same in other or other in same for other in taken):
                continue
            if any(self._one_name(name, other) for other in near):
                continue
            if all(known_relation(name, other, self._knowledge) is Relation.DIFFERENT for other in near):
                found.append(name)
                taken.add(same)
                near.append(name)
        return found

    def _one_name(self, a: str, b: str) -> bool:
        """Whether one name is a part of the other, or the other in another spelling."""
        plain, other = a.casefold(), b.casefold()
        if self._knowledge.disease_named(a) is not None and self._knowledge.disease_named(b) is not None:
            return False
        return plain in other or other in plain or fuzz.ratio(plain, other) >= _SPELLED


def _looks_like(disease: Disease, right: Disease) -> Rank:
    """Returns where a disease stands beside the right one: differential diagnoses, its department, all others."""
    looks_like_it = disease.id in right.differential or right.id in disease.differential
    usual = [{name: shares[1] for name, shares in one.symptoms.items()} for one in (right, disease)]
    pairs = [(usual[0].get(name, 0), usual[1].get(name, 0)) for name in usual[0].keys() | usual[1].keys()]
    whole = sum(map(max, pairs))
    alike = sum(map(min, pairs)) / whole if whole else 0.0
    return (0.0 if looks_like_it else 2.0 if disease.department == right.department else 3.0, -alike)


def _fits(disease: Disease, told: Sequence[str]) -> Rank:
    """Returns where a disease stands beside one that the knowledge has not: by how well it fits the patient."""
    fit = sum(disease.symptoms[symptom][1] for symptom in told if symptom in disease.symptoms) / max(len(told), 1)
    return (1.0, -fit) if fit > 0 else (5.0, 0.0)


PROMPTS = Path(__file__).with_suffix(".md")

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class LookAlikes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Diseases that come close to one, and before them why."""

    analysis: str
    diseases: Annotated[tuple[_Name, ...], msgspec.Meta(max_length=12)]


class MadeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Cases with questions, and how they got them."""

    cases: tuple[Case, ...]  # all, those that had no question with one
    made: int = 0  # cases that got one
    dropped: int = 0  # names that the model gave and that could not be used
    filled: int = 0  # options that are the knowledge's, as the model gave too few
    alone: int = 0  # how often the right option was taken from the options alone, of `asked`
    asked: int = 0


COUNTS = ("made", "dropped", "filled", "alone", "asked")


async def with_made_questions(cases: Sequence[Case], model: Model, knowledge: Knowledge, *, seed: int) -> MadeOptions:
    """Returns the cases, each with a question: its own, or one whose wrong options the model made.

    If a model gives no usable answer, the knowledge makes the options.
    """
    options, counts = _Options(cases, knowledge, seed), dict.fromkeys(COUNTS, 0)

    async def make(case: Case) -> Case:
        if not _lacks(case):
            return case
        prompts = read_prompts(PROMPTS)[case.presentation.language]
        shown = prompts("shown", presentation=describe(case.presentation), diagnosis=case.truth.diagnoses[0].name)
        messages: list[Message] = [("system", prompts("look-alikes")), ("user", shown)]
        named = await _named(model, messages)
        used = options.distinct(case, named)
        if named and len(used) < WRONG_OPTIONS:
            unusable = "; ".join(name for name in named if name not in used) or "-"
            named += await _named(model, [*messages, ("user", prompts("again", unusable=unusable))])
            used = options.distinct(case, named)
        dropped = {*named} - {*used}
        if (
            len(used) == WRONG_OPTIONS
        ):  # enough: those are dropped that cannot stand beside the right ones by themselves
            dropped = {name for name in named if not options.distinct(case, [name])}
        asked = options.question(case, [*used, *options.beside(case)])
        assert asked.question is not None  # noqa: S101
        counts["made"] += 1
        counts["dropped"] += len(dropped)
        counts["filled"] += WRONG_OPTIONS - len(used)
        listed = "\n".join(f"{key}. {text}" for key, text in asked.question.options.items())
        alone: list[Message] = [("system", prompts("alone")), ("user", listed)]
        with suppress(PlayFailure):
            reply = await model.ask(alone, answer=tuple(asked.question.options), purpose="options alone")
            counts["asked"] += 1
            counts["alone"] += reply.value in asked.truth.answers
        return asked

    made = await asyncio.gather(*map(make, cases))
    return MadeOptions(cases=tuple(made), **counts)


async def _named(model: Model, messages: list[Message]) -> list[str]:
    try:
        reply = await model.ask(messages, answer=LookAlikes, purpose="distractors")
    except PlayFailure:
        return []
    return [name.strip() for name in reply.value.diseases if name.strip()]
