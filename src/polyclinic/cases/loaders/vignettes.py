"""Patients of whom a source has a text and nothing else: with what it begins, they come through the door.

A sentence that says only who the patient is (see `introductions`) is no complaint; it gives age and sex.
"""

from __future__ import annotations

import re
from itertools import pairwise

from polyclinic.cases.loaders.demographics import age_in_years, sex_of
from polyclinic.cases.loaders.introductions import complaint_in
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.language.folding import stands_in
from polyclinic.language.language import language_of

# A full stop behind a title, an initial or "vs" ends no sentence.
_SENTENCE_END = re.compile(r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bvs)(?<!\b[A-Z])[.!?](?=\s)|[。！？]")


def record_of_text(text: str, diagnoses: tuple[Diagnosis, ...] = (), *, told: tuple[str, ...] = ()) -> Record:
    """Returns the record of a vignette.

    Args:
        text: the vignette, which stays whole.
        diagnoses: what the patient has. A later sentence that names it is no complaint, which the doctor is told.
        told: its facts one by one, which then are what the patient tells, in place of the text.
    """
    language = language_of([text])
    sentences = sentences_of(text)
    beginning, complaint = complaint_in(sentences, language)
    if stands_in(complaint, diagnosis_terms(diagnoses)):
        beginning = complaint = sentences[0]
    # Who the text is about is said at its beginning; later people are relatives.
    presentation = Presentation(
        complaint=complaint, language=language, age=age_in_years(beginning), sex=sex_of(beginning)
    )
    history = History(symptoms=told) if told else History(present=text)
    return Record(presentation=presentation, history=history, vignette=text)


def sentences_of(text: str) -> list[str]:
    """Returns the sentences of a text, each with the mark that ends it."""
    ends = [0, *(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]
    return [one for at, end in pairwise(ends) if (one := text[at:end].strip())]
