"""Cases as questions on whole records: which of these diagnoses hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.check import unanswerable
from polyclinic.cases.presentation import Question
from polyclinic.cases.record import Record
from polyclinic.errors import BadInput
from polyclinic.evidence_tree.sources import divide
from polyclinic.evidence_tree.tree import same_words
from polyclinic.knowledge.knowledge import Knowledge


class Inpatient(NamedTuple):
    """A case, its question with the whole record as context, and the keys of the options that hold."""

    case: Case
    question: Question
    key: frozenset[str]

    @property
    def id(self) -> str:
        """The case's id."""
        return self.case.id

    @property
    def record(self) -> Record:
        """The case's record."""
        return self.case.record


def inpatients(cases: Iterable[Case], knowledge: Knowledge) -> list[Inpatient]:
    """Returns the cases as they are put to a method, each with its record in the same form."""
    made: list[Inpatient] = []
    seen: set[str] = set()
    for case in cases:
        if problem := lacking(case, knowledge):
            raise BadInput(f"case {case.id!r}: {problem}")
        if case.id in seen:
            raise BadInput(f"two cases have the id {case.id!r}; every case needs its own")
        seen.add(case.id)
        assert case.question is not None  # noqa: S101
        context = "\n".join(part.read_out() for part in divide(case.record, knowledge).values())
        question = msgspec.structs.replace(case.question, id=case.id, context=context, several=True)
        made.append(Inpatient(case, question, frozenset(case.truth.answers)))
    if not made:
        raise BadInput("there is no case; a file with at least one is needed")
    return made


def lacking(case: Case, knowledge: Knowledge) -> str:
    """Returns why a case cannot be put to anybody; "" where it can."""
    question, answers = case.question, case.truth.answers
    if question is None:
        return "no question with options (Options: 'A. ..., B. ...')"
    several = msgspec.structs.replace(question, several=True)
    if problem := unanswerable(msgspec.structs.replace(case, question=several)):
        return problem
    if twice := _twice([same_words(text) for text in question.options.values()]) or _twice(answers):
        return f"{twice!r} is named twice; each once"
    if not case.record.findings:
        return "no examination is recorded; a record with at least one finding is needed"
    right, told = [question.options[key] for key in answers], [one.name for one in case.truth.diagnoses]
    known = [{None if d is None else d.id for d in map(knowledge.disease_named, names)} for names in (right, told)]
    if all(known) and None not in known[0] | known[1] and known[0].isdisjoint(known[1]):
        return f"the right options ({', '.join(right)}) and the diagnoses ({', '.join(told)}) have nothing in common"
    return ""


def _twice(names: Sequence[str]) -> str:
    return next((name for name, n in Counter(names).items() if n > 1), "")
