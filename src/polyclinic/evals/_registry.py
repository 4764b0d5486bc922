"""What Inspect finds by the entry point group `inspect_ai`: our provider, tasks and scorers, and a solver a method."""

from polyclinic.evals.aie import aie, aie_mcqe, choice, consultation, conversation
from polyclinic.evals.exams import answers, exam, medmcqa, medqa, mmlu, pubmedqa
from polyclinic.evals.methods import SOLVERS
from polyclinic.evals.mvme import director, grader_is_there, intern, mvme
from polyclinic.evals.patient_simulator import patient, patient_simulator, states_and_replies
from polyclinic.evals.recorded_turns import recorded_patient, recorded_states, recorded_turns
from polyclinic.evals.tor import diagnoses, diagnosing, tor
from polyclinic.models.inspect_provider import DirectAPI

__all__ = [
    "SOLVERS",
    "DirectAPI",
    "aie",
    "aie_mcqe",
    "answers",
    "choice",
    "consultation",
    "conversation",
    "diagnoses",
    "diagnosing",
    "director",
    "exam",
    "grader_is_there",
    "intern",
    "medmcqa",
    "medqa",
    "mmlu",
    "mvme",
    "patient",
    "patient_simulator",
    "pubmedqa",
    "recorded_patient",
    "recorded_states",
    "recorded_turns",
    "states_and_replies",
    "tor",
]
