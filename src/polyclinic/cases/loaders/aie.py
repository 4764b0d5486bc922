"""AIE's layouts, HospitalCases and MedicalExam (Liao et al., arXiv:2403.08495): one vignette, one question.

There is no examiner in this world: the whole vignette is the patient's, as history of the present illness. The dialogue
opens with the words that stand in the file, `history[0]`: every published dialogue of a case begins with them.
"""

from __future__ import annotations

import re
from typing import Any

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.fields import age_in_years, as_object, as_text, read_keys, read_options, sex_of
from polyclinic.cases.loaders.layout import Layout
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import History, Opening, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.language.language import language_of

# Who the vignette is about is said at its beginning; later people are relatives.
_BEGINNING = 160
_LAST_QUESTION = re.compile(r"(?:(?<=[.!?。！？])\s*|\n)[^.!?。！？\n]*[?？]\s*$")
# For vignettes whose question the source has lost.
_STEM = {"en": "Which of these is right?", "zh": "下列哪一项正确？"}
_LETTER = re.compile(r"^\s*\(?[A-Z][).．]\s*")


def load(record: dict[str, Any], order: int) -> Case:
    """Reads an AIE record; `question` is asked after the dialogue and is cut out of the vignette."""
    identifier, patient = record_of(record, order)
    raw = as_object(record.get("raw_data"), "$.raw_data")
    language = patient.presentation.language
    options = read_options(raw.get("options"), "$.raw_data.options")
    answers = read_keys(raw.get("answer_idx"), options) or read_keys(raw.get("answer"), options)
    if not answers:
        raise BadInput("a case needs its answer; $.raw_data.answer has none either", field="$.raw_data.answer_idx")
    # Where no key fits an option, the answer's own text counts.
    right = [options[key] for key in answers if key in options] or [_LETTER.sub("", as_text(raw.get("answer")))]
    data_set = as_text(record.get("dataset"))
    stem = _stem(record, as_text(raw.get("question"))) or _STEM[language]
    return Case(
        id=identifier,
        record=patient,
        truth=Truth(diagnoses=tuple(Diagnosis(name) for name in right if name), answers=answers),
        setting="online",
        question=Question(id=identifier, stem=stem, options=options, language=language),
        source=f"AIE (arXiv:2403.08495){f', {data_set}' if data_set else ''}",
    )


def record_of(record: dict[str, Any], order: int) -> tuple[str, Record]:
    """Returns the id and the patient of an AIE record, without the question that is asked after the dialogue."""
    raw = as_object(record.get("raw_data"), "$.raw_data")
    text = as_text(raw.get("question"))
    if not text:
        raise BadInput("a case needs its vignette", field="$.raw_data.question")
    # The first words of the dialogue as they are in the file, blanks at the ends included.
    dialogue, opening = record.get("history"), None
    first = dialogue[0] if isinstance(dialogue, list) and dialogue else None
    if isinstance(first, dict) and isinstance(said := first.get("patient"), str) and said.strip():
        opening = Opening(said=said, greeting=as_text(first.get("doctor")))
    complaint = as_text(record.get("chief_complain")) or (opening.said if opening is not None else "")
    if not complaint:
        raise BadInput("a case needs a complaint; history[0].patient has none either", field="$.chief_complain")
    identifier = next((i for i in (as_text(record.get("id")), as_text(raw.get("id"))) if i), str(order))
    language, about = language_of([complaint, text]), text[:_BEGINNING]
    presentation = Presentation(complaint=complaint, language=language, age=age_in_years(about), sex=sex_of(about))
    history = History(present=_without(text, _stem(record, text)))
    begins = Opening(said=complaint) if opening is None else opening
    # Measures of how much was collected are against the text as it stands there, blanks at its ends included.
    vignette = raw["question"] if isinstance(raw["question"], str) else text
    return identifier, Record(presentation=presentation, history=history, opening=begins, vignette=vignette)


def _stem(record: dict[str, Any], text: str) -> str:
    """Returns the question that is asked after the dialogue; "" where the source has lost it."""
    last = _LAST_QUESTION.search(text)
    return as_text(record.get("question")) or (last[0].strip() if last else "")


def _without(text: str, question: str) -> str:
    """Takes the question out of the vignette, wherever it stands and however its blanks are set."""
    if not question:
        return text
    words = r"\s+".join(map(re.escape, question.split()))
    match = re.search(words, text)
    if match is None:
        return text
    before, after = text[: match.start()].rstrip(), text[match.end() :].lstrip()
    # A vignette that is nothing but its question keeps it: the patient must know something.
    return f"{before} {after}".strip() or text


LAYOUTS = (Layout("aie", frozenset({"raw_data"}), load),)
