"""MedQA's layout (Jin et al., arXiv:2009.13081): four or five options by letter, USMLE or other boards.

`answer` repeats the right option's text and `metamap_phrases` comes from another tool; both are dropped.
"""

from __future__ import annotations

from typing import Any

from polyclinic.cases.loaders.choices import read_options
from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.language.language import language_of
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts.checking import text_field


def load(record: dict[str, Any], order: int) -> ExamQuestion:
    """Reads a MedQA record; the id is its number in the file, the subject the exam's step.

    Raises:
        BadInput: a part is missing or of the wrong type, or letter and text of the answer disagree; names it.
    """
    stem = text_field(record, "question")
    if not record.get("options"):
        raise BadInput("the options are missing", field="$.options")
    options = read_options(record["options"], "$.options")
    letter = text_field(record, "answer_idx")
    text = record.get("answer")
    if isinstance(text, str) and letter in options and text.strip() != options[letter].strip():
        raise BadInput(f"answer_idx is {letter}, and answer is not the text of option {letter}", field="$.answer_idx")
    if letter not in options:
        raise BadInput(f"the right answer is {letter!r}; the options are {', '.join(options)}", field="$.answer_idx")
    question = Question(
        id=f"medqa-{order:04}", stem=stem, options=options, language=language_of([stem, *options.values()])
    )
    return ExamQuestion(question=question, key=(letter,), subject=str(record.get("meta_info") or ""))
