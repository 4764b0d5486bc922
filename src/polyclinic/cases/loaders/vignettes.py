"""Patients of whom a source has a text and nothing else, and three layouts of such sources.

A vignette begins with what the patient comes through the door with. A sentence that says only who the patient is is no
complaint; it gives age and sex. In MediQ (Li et al., arXiv:2406.00922) the doctor begins with the first sentence, and
the patient answers from the facts; without facts, from the text. CRAFT-MD (Johri et al., Nature Medicine 2025) asks
for the diagnosis among choices. AgentClinic's image sets (`agentclinic_nejm*.jsonl`) have a picture as an attachment:
a doctor who sees can be shown it, and all others have the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from polyclinic.cases.case import Attachment, Case
from polyclinic.cases.loaders.fields import (
    WORDS,
    age_in_years,
    as_text,
    literal,
    nested_findings,
    read_options,
    right_options,
    sex_of,
    split_outside,
)
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
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


def record_of_text(text: str, diagnoses: tuple[Diagnosis, ...] = (), *, told: tuple[str, ...] = ()) -> Record:
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
    history = History(symptoms=told) if told else History(present=text)
    return Record(presentation=presentation, history=history, vignette=text)


def sentences_of(text: str) -> list[str]:
    """Returns the sentences of a text, each with the mark that ends it."""
    ends = [0, *(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]
    return [one for at, end in pairwise(ends) if (one := text[at:end].strip())]


def _case(
    identifier: str,
    patient: Record,
    stem: str,
    options: dict[str, str],
    answers: tuple[str, ...],
    **others: Any,
) -> Case:
    """Returns the case of a question; the right options count as the diagnoses."""
    language = patient.presentation.language
    return Case(
        id=identifier,
        record=patient,
        truth=Truth(diagnoses=tuple(Diagnosis(options[key]) for key in answers), answers=answers),
        question=Question(id=identifier, stem=stem, options=options, language=language, several=len(answers) > 1),
        **others,
    )


def load_mediq(record: dict[str, Any], order: int) -> Case:
    """Reads a MediQ record."""
    sentences, facts, others = (_texts(record.get(key)) for key in ("context", "facts", "atomic_facts"))
    facts = facts or others
    text, stem = " ".join(sentences or facts), as_text(record.get("question"))
    if not text:
        raise BadInput("a case needs its sentences; $.facts has none either", field="$.context")
    if not stem:
        raise BadInput("a case needs its question", field="$.question")
    options = read_options(record.get("options"), "$.options")
    answers = right_options(options, (record.get("answer_idx"), record.get("answer")), "$.answer_idx")
    patient = record_of_text(text, tuple(Diagnosis(options[key]) for key in answers), told=facts)
    identifier = as_text(record.get("id")) or str(order)
    return _case(identifier, patient, stem, options, answers, setting="online", source="MediQ (arXiv:2406.00922)")


def _texts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(text for text in map(as_text, values) if text)


_STEM = {"en": "What is the most likely diagnosis?", "zh": "最可能的诊断是什么？"}


def load_craft_md(record: dict[str, Any], order: int) -> Case:
    """Reads a CRAFT-MD record; `category`, the field of medicine, is the department."""
    identifier = as_text(record.get("case_id")) or str(order)
    text, answer = as_text(record.get("case_vignette")), as_text(record.get("answer"))
    if not text:
        raise BadInput("a case needs its vignette", field="$.case_vignette")
    if not answer:
        raise BadInput("a case needs its diagnosis", field="$.answer")
    others: dict[str, Any] = {
        "setting": "online",
        "department": as_text(record.get("category")),
        "source": "CRAFT-MD (doi:10.1038/s41591-024-03328-5)",
    }
    if not record.get("choices"):
        diagnoses = (Diagnosis(answer),)
        patient = record_of_text(text, diagnoses)
        return Case(id=identifier, record=patient, truth=Truth(diagnoses=diagnoses), **others)
    options = read_options(_choices(record["choices"]), "$.choices")
    answers = right_options(options, (answer,), "$.answer")[:1]
    patient = record_of_text(text, (Diagnosis(options[answers[0]]),))
    return _case(identifier, patient, _STEM[patient.presentation.language], options, answers, **others)


def _choices(value: Any) -> Any:
    """Returns the choices; a cell of a table has them as a literal, with letters, or between commas or semicolons."""
    value = literal(value) if isinstance(value, str) else value
    if not isinstance(value, str) or "\n" in value:
        return value
    try:
        return read_options(value, "$.choices")
    except BadInput:
        parts = split_outside(value, ";；|") if any(mark in value for mark in ";；|") else split_outside(value, ",，")
        return [part.strip() for part in parts if part.strip()]


_EXAMINATION = {"en": "physical examination", "zh": "体格检查"}


def load_agentclinic_images(record: dict[str, Any], order: int) -> Case:
    """Reads a record with a picture; the id is its number in the file."""
    info, stem, image, kind = (as_text(record.get(key)) for key in ("patient_info", "question", "image_url", "type"))
    if not (info or stem):
        raise BadInput("a case needs to say who the patient is; $.question does not either", field="$.patient_info")
    listed = literal(record.get("answers"))
    given = (record.get("answer"), record.get("correct_answer"))
    if isinstance(listed, list) and listed and all(isinstance(one, dict) and "text" in one for one in listed):
        right = [as_text(one.get("correct")).lower() in ("true", "yes", "1") for one in listed]
        options = read_options([as_text(one["text"]) for one in listed], "$.answers")
        given = ([key for key, is_right in zip(options, right, strict=True) if is_right], None)
    else:
        options = read_options(listed, "$.answers")
    answers = right_options(options, given, "$.answers")
    patient = record_of_text(info or stem, tuple(Diagnosis(options[key]) for key in answers))
    examination = _EXAMINATION[patient.presentation.language]
    patient = msgspec.structs.replace(
        patient, findings=tuple(nested_findings(literal(record.get("physical_exams")), examination))
    )
    source = f"AgentClinic (arXiv:2405.07960), images{f', {kind}' if kind else ''}"
    attachments = (Attachment(url=image),) if image else ()
    identifier = as_text(record.get("id")) or str(order)
    return _case(identifier, patient, stem or info, options, answers, source=source, attachments=attachments)
