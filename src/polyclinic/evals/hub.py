"""The published data sets as the Hugging Face hub has them, read by Inspect's `hf_dataset`.

The same questions as in the local files that `polyclinic.questions.layouts` reads, under the fields of the hub.
What gives an answer away (`exp`, `long_answer`, the text of the right option) is dropped here as there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from inspect_ai.dataset import Sample, hf_dataset

from polyclinic.errors import BadInput
from polyclinic.evals.questions import as_sample, exam_question_of
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts import Fields, mapped
from polyclinic.questions.layouts.published import check, load_medqa

Record = dict[str, Any]


class HubSet(NamedTuple):
    """Where a data set lies on the hub: the split with public answers, and its configurations, None for the only one.

    `read` makes a question of a record, whose number in its configuration counts from 1.
    """

    path: str
    split: str
    read: Callable[[Record, int], ExamQuestion]
    configurations: tuple[str | None, ...] = (None,)


# Here `cop` counts from 0, and is -1 in the split whose answers are kept; in the published files it counts from 1.
_MEDMCQA = Fields(
    question="question", options="opa+opb+opc+opd", answer="cop", id="id", subject="subject_name", answer_base=0
)
_PUBMEDQA = Fields(question="question", options="options", answer="final_decision", id="pubid", context="context")
_MMLU = Fields(question="question", options="choices", answer="answer", id="id", subject="subject", answer_base=0)
_DECISIONS = ("yes", "no", "maybe")


def _pubmedqa(record: Record, number: int) -> ExamQuestion:
    context = record.get("context")
    paragraphs = context.get("contexts") if isinstance(context, dict) else None
    if not isinstance(paragraphs, list) or not all(isinstance(part, str) for part in paragraphs):
        raise BadInput("a list of paragraphs is needed here", field="$.context.contexts")
    text = "\n\n".join(map(str.strip, paragraphs))
    options = {decision: decision for decision in _DECISIONS}
    return mapped.load({**record, "context": text, "options": options}, number, _PUBMEDQA)


def _mmlu(record: Record, number: int) -> ExamQuestion:
    subject = str(record.get("subject") or "")
    id = f"mmlu-{subject}-{number:04}"
    return mapped.load({**record, "id": id, "subject": subject.replace("_", " ")}, number, _MMLU)


HUB = {
    "medqa": HubSet("GBaker/MedQA-USMLE-4-options", "test", load_medqa),
    "medmcqa": HubSet("openlifescienceai/medmcqa", "validation", partial(mapped.load, fields=_MEDMCQA)),
    "pubmedqa": HubSet("qiaojin/PubMedQA", "train", _pubmedqa, ("pqa_labeled",)),
    "mmlu": HubSet(
        "cais/mmlu",
        "test",
        _mmlu,
        (
            "anatomy",
            "clinical_knowledge",
            "college_biology",
            "college_medicine",
            "medical_genetics",
            "professional_medicine",
        ),
    ),
}
"""The data sets, by the names of their tasks."""


def read_hub(name: str) -> list[ExamQuestion]:
    """Reads a data set of `HUB` from the hub; Inspect keeps a copy of it. Needs the package `datasets`.

    Raises:
        BadInput: a record cannot be used; says which.
    """
    return [
        exam_question_of(sample)
        for configuration in HUB[name].configurations
        for sample in hf_dataset(
            HUB[name].path, HUB[name].split, name=configuration, sample_fields=converter(name, configuration)
        )
    ]


def converter(name: str, configuration: str | None = None) -> Callable[[Record], Sample]:
    """Returns what makes samples of a data set's records, one after the other."""
    numbers = count(1)
    place = "/".join(part for part in (HUB[name].path, configuration, HUB[name].split) if part)

    def convert(record: Record) -> Sample:
        number = next(numbers)
        try:
            return as_sample(check(HUB[name].read(record, number)))
        except BadInput as error:
            raise BadInput(error.problem, path=place, line=number, part="record", field=error.field) from None

    return convert
