"""How a patient's replies go with people's, question by question (Figure 3b), and the figure of all metrics (3a)."""

import pytest

from polyclinic.evaluations.patient_simulator.evaluation import LabelledQuestion, LabelledReply, like_people
from polyclinic.events import State

KNOWN = "A woman has coughed for three days and smokes a lot."


def row(number, reply, replied, state=State.EFFECTIVE_INQUIRY):
    question = LabelledQuestion(
        key="A-A-A", turn=number, text="?", state=state, answer="coughed for three days", replied=replied
    )
    return LabelledReply(case=str(number), question=question, language="en", information=KNOWN, reply=reply)


def test_instances_go_together_as_their_scores_do():
    pytest.importorskip("nltk", reason="cuts text into words; of the extra 'evals'")
    replies = ["coughed", "coughed for", "coughed for three", "coughed for three days"]
    same = like_people([row(n, text, text) for n, text in enumerate(replies)])
    assert (same["ACCURACY"].coefficient, same["ACCURACY"].n) == (pytest.approx(1), 4)
    turned = like_people(
        [row(n, text, other) for n, (text, other) in enumerate(zip(replies, replies[::-1], strict=True))]
    )
    assert turned["ACCURACY"].coefficient == pytest.approx(-1)
    # Nobody was asked off the subject; and where nobody replied there is no pair.
    assert (same["FOCUS"].coefficient, same["FOCUS"].n) == (None, 0)
    assert like_people([row(0, "coughed", "")])["ACCURACY"].n == 0
