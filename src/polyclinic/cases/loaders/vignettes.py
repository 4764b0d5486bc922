"""Patients of whom a source has a text and nothing else: the first sentence is how they come through the door."""

from __future__ import annotations

import re

from polyclinic.cases.loaders.demographics import age_in_years, sex_of
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.language.language import language_of

# A full stop behind a title, an initial or "vs" ends no sentence.
_SENTENCE_END = re.compile(r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bvs)(?<!\b[A-Z])[.!?](?=\s)|[。！？]")


def record_of_text(text: str, *, told: tuple[str, ...] = (), complaint: str = "") -> Record:
    """Returns the record of a vignette.

    Args:
        text: the vignette, which stays whole.
        told: its facts one by one, which then are what the patient tells, in place of the text.
        complaint: what the patient comes with; the first sentence where it is left out.
    """
    complaint = complaint or first_sentence(text)
    # Who the text is about is said at its beginning; later people are relatives.
    presentation = Presentation(
        complaint=complaint, language=language_of([text]), age=age_in_years(complaint), sex=sex_of(complaint)
    )
    history = History(symptoms=told) if told else History(present=text)
    return Record(presentation=presentation, history=history, vignette=text)


def first_sentence(text: str) -> str:
    """Returns the first sentence of a text, with the mark that ends it."""
    end = _SENTENCE_END.search(text)
    return text[: end.end()].strip() if end else text.strip()
