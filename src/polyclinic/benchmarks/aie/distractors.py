"""Wrong options beside the right one, for cases whose source gives none (aie-saps §4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_uppercase

import msgspec
from rapidfuzz import fuzz

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Question
from polyclinic.knowledge.disease_names.known import known_relation
from polyclinic.knowledge.disease_names.relation import Relation
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.metrics.accuracy import identity
from polyclinic.seeds import derive

WRONG_OPTIONS = 4

_STEM = {"en": "Which diagnosis fits best?", "zh": "根据病人的情况，最可能的诊断是什么？"}


def with_questions(cases: Sequence[Case], knowledge: Knowledge, *, seed: int) -> list[Case]:
    """Returns the cases, each with a question: its own, or one made of its diagnosis and four like it.

    The wrong options are the names most like the right one among the diagnoses of the other cases and of the knowledge.
    None of them is the right one by another name, a kind or a part of it, or another diagnosis of the same case. The
    seed gives the order of the options.
    """
    named: dict[str, list[str]] = {"en": [], "zh": []}
    for case in cases:
        named[case.presentation.language] += [d.name for d in case.truth.diagnoses[:1]]
    for disease in knowledge.diseases.values():
        named["en"].append(disease.name.en)
        named["zh"].append(disease.name.zh)
    return [_with_question(case, named[case.presentation.language], knowledge, seed) for case in cases]


def _with_question(case: Case, names: Iterable[str], knowledge: Knowledge, seed: int) -> Case:
    if case.question is not None or not case.truth.diagnoses:
        return case
    right = case.truth.diagnoses[0].name
    taken = {identity(d.name, knowledge) for d in case.truth.diagnoses}
    near = [d.name for d in case.truth.diagnoses]
    wrong: list[str] = []
    for name in sorted(dict.fromkeys(names), key=lambda n: (-fuzz.WRatio(n, right), n)):
        same = identity(name, knowledge)
        if len(wrong) == WRONG_OPTIONS:
            break
        if any(same in other or other in same for other in taken):
            continue
        if all(known_relation(name, other, knowledge) is Relation.DIFFERENT for other in near):
            wrong.append(name)
            taken.add(same)
            near.append(name)
    options = [right, *wrong]
    derive(seed, case.id, "options").shuffle(options)
    keyed = dict(zip(ascii_uppercase, options, strict=False))
    language = case.presentation.language
    question = Question(id=case.id, stem=_STEM[language], options=keyed, language=language)
    answers = tuple(key for key, text in keyed.items() if text == right)
    truth = msgspec.structs.replace(case.truth, answers=answers)
    return msgspec.structs.replace(case, question=question, truth=truth)
