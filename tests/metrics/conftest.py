"""Invented consultations, and what cuts text into words."""

import pytest

from polyclinic.events import State
from polyclinic.metrics.dialogue import Dialogue, Turn

TURNS = (
    ("Hello, what brings you here?", "O", "I have a cough."),
    ("Do you have a fever?", "A-A-A", "Yes, a fever of 39 degrees."),
    ("Have you travelled?", "A-A-B", "No, I have not."),
    ("How are you?", "A-B", "Could you be more specific?"),
    ("Please have a chest X-ray.", "B-A-A", "The X-ray shows a shadow."),
    ("See a specialist.", "B-B", "Which one?"),
    ("Goodbye.", "E", ""),
)
INFORMATION = "A man has a cough and a fever of 39 degrees. The X-ray shows a shadow in the left lung."


@pytest.fixture(scope="session")
def words():
    for name in ("rjieba", "nltk"):
        pytest.importorskip(name, reason=f"{name} of the extra 'evals' is not installed")


@pytest.fixture
def dialogue():
    return Dialogue(
        id="a",
        language="en",
        turns=tuple(Turn(doctor, State(state), patient) for doctor, state, patient in TURNS),
        information=INFORMATION,
        options={"A": "influenza", "B": "pneumonia"},
        answers=("B",),
        chosen="B",
    )


@pytest.fixture
def record():
    """The same in the layout that AIE published; each call gives a record of its own."""

    def make(id=1, **changes):
        return {
            "id": id,
            "raw_data": {
                "question": INFORMATION,
                "options": {"A": "influenza", "B": "pneumonia"},
                "answer_idx": "B",
            },
            "history": [
                {"doctor": doctor, "state": state, **({"patient": patient} if patient else {})}
                for doctor, state, patient in TURNS
            ],
            "diagnosis": "B",
        } | changes

    return make
