"""Patients of whom a source has a text and nothing else.

A vignette begins with what the patient comes through the door with. A sentence that says only who the patient is is no
complaint; it gives age and sex.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from polyclinic.cases.loaders.fields import (
    WORDS,
    age_in_years,
    sex_of,
)
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.language.folding import stands_in
from polyclinic.language.language import Language, language_of
from polyclinic.language.word_lists import Pattern

_MOST = 4
"""Sentences in which who it is, is looked for."""

_patterns = WORDS.section("vignettes", dict[str, Pattern])

_CHINESE_MARKS = " ，,、；;。"
_CHINESE_PART = re.compile(r"[，,、；;。]")


def complaint_in(sentences: Sequence[str], language: Language) -> tuple[str, str]:
    """Returns the beginning of a vignette up to what the patient comes with, and that, of the vignette's sentences.

    What it comes with is the first sentence that says more than who it is, with the one before it where that tells of
    something that the patient has ("a woman with diabetes came to the clinic"). Where none says more it is the first.
    """
    for number, sentence in enumerate(sentences[:_MOST]):
        if language == "zh":
            reason = _behind_chinese(sentence)
        else:
            reason = "" if _says_who(_plain(sentence)) else sentence
            if reason and number and _tells_of_history(_plain(sentences[number - 1])):
                reason = f"{sentences[number - 1]} {sentence}"
        if reason:
            return " ".join(sentences[: number + 1]), reason
    return sentences[0], sentences[0]


def _plain(sentence: str) -> str:
    return sentence.strip(" .!?")


def _says_who(sentence: str) -> bool:
    """Whether an English sentence says who the patient is, perhaps that it came, and not with what it came."""
    words = _patterns("en")
    found = words["person"].match(sentence)
    if found is None:
        return False
    rest = sentence[found.end() :].strip()
    while rest.startswith(","):
        part, comma, after = rest[1:].strip().partition(",")
        more = words["more"].match(part.strip())
        if more is None:
            rest = rest[1:].strip()
            break
        rest = part.strip()[more.end() :].strip() + (f"{comma}{after}" if comma else "")
    if not rest or words["comes"].match(rest) or words["no_history"].match(rest):
        return True
    return _tells_of_history(sentence)


def _tells_of_history(sentence: str) -> bool:
    """Whether a sentence names somebody with something that it has, and says of it at most that it came."""
    words = _patterns("en")
    found = words["person"].match(sentence)
    rest = "" if found is None else sentence[found.end() :].strip(" ,")
    if not rest or words["no_history"].match(rest):
        return False
    if words["with_and_comes"].match(rest):
        return True
    attribute = words["with"].match(rest)
    return attribute is not None and not words["finite"].search(attribute["what"])


def _behind_chinese(sentence: str) -> str:
    """Returns what stands in a Chinese sentence behind the parts that say who it is, "" where nothing does."""
    at = 0
    for end in [*(found.start() for found in _CHINESE_PART.finditer(sentence)), len(sentence)]:
        part = sentence[at:end].strip(_CHINESE_MARKS)
        if not _patterns("zh")["person"].fullmatch(part):
            return sentence[at:].lstrip(_CHINESE_MARKS)
        at = end
    return ""


# A full stop behind a title, an initial or "vs" ends no sentence.
_SENTENCE_END = re.compile(r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bvs)(?<!\b[A-Z])[.!?](?=\s)|[。！？]")


def record_of_text(text: str, diagnoses: tuple[Diagnosis, ...] = ()) -> Record:
    """Returns the record of a vignette."""
    language = language_of([text])
    sentences = sentences_of(text)
    beginning, complaint = complaint_in(sentences, language)
    if stands_in(complaint, diagnosis_terms(diagnoses)):
        beginning = complaint = sentences[0]
    # Who the text is about is said at its beginning; later people are relatives.
    presentation = Presentation(
        complaint=complaint, language=language, age=age_in_years(beginning), sex=sex_of(beginning)
    )
    return Record(presentation=presentation, history=History(present=text), vignette=text)


def sentences_of(text: str) -> list[str]:
    """Returns the sentences of a text, each with the mark that ends it."""
    ends = [0, *(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]
    return [one for at, end in pairwise(ends) if (one := text[at:end].strip())]
