"""What Inspect finds by the entry point group `inspect_ai`: the provider `direct/` and the tasks `polyclinic/…`."""

from polyclinic.evals.patient_simulator import patient, patient_simulator, states_and_replies
from polyclinic.evals.scorers import choice, conversation
from polyclinic.evals.solvers import consultation
from polyclinic.evals.tasks import aie, aie_mcqe
from polyclinic.models.inspect_provider import DirectAPI

__all__ = [
    "DirectAPI",
    "aie",
    "aie_mcqe",
    "choice",
    "consultation",
    "conversation",
    "patient",
    "patient_simulator",
    "states_and_replies",
]
