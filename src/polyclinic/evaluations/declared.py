"""Our evaluations: each is one declaration and one line here; its command and its task of Inspect are made of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyclinic.evaluations.evaluation import Evaluation

DECLARATIONS = {
    "aie": "aie.declaration:AIE AIE: doctors question patients in turns, then choose a diagnosis; ten metrics, and "
    "MCQE.\n\nCases without a question get one: their diagnosis and four similar ones.",
    "patient-simulator": "patient_simulator.declaration:PATIENT_SIMULATOR How well a simulated patient understands "
    "what doctors say: questions labelled by people, or recorded dialogues turn by turn.",
    "examiner": "examiner.declaration:EXAMINER How an examiner reads recorded requests: does it give every recorded "
    "result that was ordered, and nothing else?",
    "mvme": "mvme.declaration:MVME MVME: interns see patients, alone or as a team; a director grades their reports, "
    "and their diagnoses are compared as ICD-10 codes.",
    "reliability": "reliability.declaration:RELIABILITY AI Hospital's reliability: are patient and examiner relevant, "
    "true to the record, and robust against fishing?",
    "exam": "exams.declaration:EXAM Exams: methods answer the questions of MedQA, MedMCQA, PubMedQA, MMLU, or any "
    "other file.",
    "tor": "tor.declaration:TOR Tree-of-Reasoning: methods choose among several diagnoses from an inpatient's whole "
    "record.",
}
"""By name, in the order of the help: the place of the declaration, and its help. Only what runs is imported."""


def declaration(name: str) -> Evaluation[Any, Any]:
    """Returns one of our evaluations."""
    module, _, attribute = DECLARATIONS[name].partition(" ")[0].partition(":")
    found: Evaluation[Any, Any] = getattr(import_module(f"polyclinic.evaluations.{module}"), attribute)
    return found
