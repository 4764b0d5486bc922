"""States of a plain model's dialogue, asked afterwards; dialogues cut behind each of their turns."""

import pytest

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import History, Opening, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.evaluations.aie.declaration import aie
from polyclinic.evaluations.aie.evaluation import CutVisit, truncated_at
from polyclinic.evaluations.aie.tracking import with_states
from polyclinic.events import Role, Said, State
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.players.player import Choice, DoctorTurn, Purpose
from polyclinic.visits.visit import see

VIGNETTE = "A woman has coughed for three days. She has no fever."
CASE = Case(
    id="1",
    record=Record(
        presentation=Presentation(complaint="I cough."),
        history=History(present=VIGNETTE),
        opening=Opening(said="I cough."),
        vignette=VIGNETTE,
    ),
    truth=Truth(diagnoses=(Diagnosis("a cold"),), answers=("A",)),
    setting="online",
    question=Question(id="1", stem="What is it?", options={"A": "a cold", "B": "asthma"}),
)
TURNS = ["Since when?", "How are you?", "Any fever?", "Goodbye."]


def doctor(ask, role):
    """Chooses rightly once it has heard of the fever."""
    if ask.purpose is Purpose.CHOOSE:
        heard = [e for e in role.seen if isinstance(e, Said) and e.who is Role.DOCTOR]
        return Choice("A" if role.record is not None or len(heard) >= 3 else "B")
    return DoctorTurn(TURNS[role.max_turns - role.turns_left()])


class Model:
    """Plays the patient, making up states where it can, and tracks."""

    def __init__(self):
        self.asked = []
        self.model = Scripted(self.answer)

    def answer(self, messages):
        system, last = messages[0][1], messages[-1][1]
        if "Play the person" in system:
            self.asked.append("patient")
            return {"say": "For three days.", "leave": "Goodbye" in last, "state": "C"}
        if "say what it is" in system:
            self.asked.append("tracker")
            return "conclusion" if "Goodbye" in last else "inquiry"
        if "specific or ambiguous" in system:
            return "ambiguous" if last.endswith("How are you?") else "specific"
        held = "fever" in last
        return {"analysis": "", "relevant": held, "texts": ["without any fever"] if held else []}


def minds(model):
    return Minds(
        doctor=doctor, patient="direct/x", models={"direct/x": model.model}, knowledge=read_knowledge(), seed=1
    )


async def test_a_plain_models_states_are_the_trackers():
    model = Model()
    visit = await see(CASE, minds(model), put_question=True)
    replies = [e for e in visit.trace if isinstance(e, Said) and e.who is Role.PATIENT]
    assert [e.state for e in replies] == [State.OPENING, None, None, None, None]
    tracked = await with_states(CASE, visit, minds(model))
    replies = [e for e in tracked.trace if isinstance(e, Said) and e.who is Role.PATIENT]
    states = [State.OPENING, State.INEFFECTIVE_INQUIRY, State.AMBIGUOUS_INQUIRY, State.EFFECTIVE_INQUIRY]
    assert [e.state for e in replies] == [*states, State.CONCLUSION]
    assert [(e.recalled, e.near) for e in replies] == [(0, 0)] * 3 + [(1, 1), (0, 0)]
    assert model.asked == ["patient"] * 4 + ["tracker"] * 4
    # Whoever tracks for itself is not asked again.
    rules = Minds(doctor=doctor, knowledge=read_knowledge(), seed=1)
    assert await with_states(CASE, visit, rules) is visit


@pytest.mark.parametrize("asks", [True, False])
async def test_dialogues_cut_behind_each_turn(asks):
    pytest.importorskip("nltk", reason="cuts text into words; of the extra 'evals'")
    came = await aie([CASE], truncated=asks).hold({"one": minds(Model())})
    (one,) = came.doctors
    assert (one.recalled, one.near, one.summary.metrics["AVG_TURN"].mean) == (1, 1, 5)
    cut = one.truncated
    assert list(cut) == [1, 2, 3, 4, 5]
    coverage = [length["coverage"].mean for length in cut.values()]
    assert coverage == sorted(coverage)
    assert coverage[2] < coverage[3] == one.summary.metrics["COVERAGE"].mean
    assert [length["diagnosis"].n for length in cut.values()] == [asks] * 5
    if asks:
        assert [length["diagnosis"].mean for length in cut.values()] == [0, 0, 0, 100, 100]


def test_a_shorter_dialogue_counts_as_it_ended():
    cut = truncated_at([CutVisit((10.0,), (True,)), CutVisit((0.0, 20.0, 30.0), (False, None, True))], seed=0)
    assert [(n, one["coverage"].mean, one["diagnosis"].mean, one["diagnosis"].n) for n, one in cut.items()] == [
        (1, 5, 50, 2),
        (2, 15, 100, 1),
        (3, 20, 100, 2),
    ]
