"""Symptoms that a report names less particularly than the record: who writes "fever" has not missed a fever above 39.

A doctor notes in a word what a record writes out. As with drugs without their doses, what is named counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.report import Report
from polyclinic.knowledge.entries import Symptom
from polyclinic.knowledge.lexicon import Lexicon


def by_symptom(case: Case, report: Report, symptoms: Mapping[str, Symptom], lexicon: Lexicon) -> Case:
    """Returns a case in whose history each symptom stands as particularly as the report names it.

    What the report does not name at all stays as it is; so does all that the lexicon does not know.
    """
    known = {id for item in report.symptoms for id in _there(lexicon, item)}
    language, history = case.presentation.language, case.record.history

    def point(text: str) -> str:
        meant = _there(lexicon, text)
        named = {id: next((one for one in _line(id, symptoms) if one in known), "") for id in sorted(meant)}
        if meant <= known or not all(named.values()):
            return text
        return ", ".join(dict.fromkeys(symptoms[id].name.get(language) for id in named.values()))

    points = tuple(point(text) for text in history.symptoms)
    record = msgspec.structs.replace(case.record, history=msgspec.structs.replace(history, symptoms=points))
    return msgspec.structs.replace(case, record=record)


def _there(lexicon: Lexicon, text: str) -> set[str]:
    """Returns the symptoms that a text says are there."""
    return {id for id, there in lexicon.read(text).items() if there}


def _line(id: str, symptoms: Mapping[str, Symptom]) -> Iterator[str]:
    """Yields a symptom, and then what it is a kind of, to the broadest."""
    line: str | None = id
    while line is not None:
        yield line
        line = symptoms[line].parent
