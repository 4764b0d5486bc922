"""MindMap: what it costs, what the graph tells it, and where each step is from."""

import pytest

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import Refused, UserError
from polyclinic.methods.mindmap import mindmap

QUESTION = Question(
    id="q",
    stem="A man of 60 cannot lie flat and has swollen legs. What helps?",
    options={"A": "Furosemide", "B": "Antihistamines"},
)
GRAPH = {
    "edges": [
        {"begin": "orthopnoea", "relation": "points to", "end": "heart failure", "source": "evidence"},
        {"begin": "heart failure", "relation": "needs", "end": "a diuretic", "source": "own"},
    ],
    "reasoning": "Fluid has to go.",
}


def answers(named, **given):
    def answer(purpose, text):
        if purpose in given:
            return given[purpose]
        if purpose == "entities":
            return list(named)
        return f"Retold {purpose}." if purpose.startswith("retell") else {"graph": GRAPH, "answer": "A"}

    return answer


async def test_four_calls_in_three_round_trips(by_purpose):
    model = by_purpose(answers(["orthopnoea", "leg swelling", "furosemide"]))
    outcome = await mindmap(QUESTION, model)
    assert (outcome.answer, outcome.calls, outcome.round_trips) == ("A", 4, 3)
    paths, neighbours = model.shown("retell paths")[0].user, model.shown("retell neighbours")[0].user
    assert "Heart Failure → has symptom → " in paths
    assert "Heart Failure → is treated with → furosemide" in paths
    assert neighbours.count("→") >= 6
    assert "Antihistamines" not in paths + neighbours
    (decision,) = model.shown("decision")
    assert "Retold retell paths." in decision.user
    assert "Retold retell neighbours." in decision.user


async def test_every_step_names_its_source(by_purpose):
    outcome = await mindmap(QUESTION, by_purpose(answers(["orthopnoea"])))
    assert "orthopnoea → points to → heart failure [evidence]" in outcome.rationale
    assert "heart failure → needs → a diuretic [own]" in outcome.rationale
    assert "Fluid has to go." in outcome.rationale


async def test_where_the_graph_knows_nothing_the_model_answers_alone(by_purpose):
    outcome = await mindmap(QUESTION, by_purpose(answers(["a thing nobody knows"])))
    assert (outcome.answer, outcome.calls, outcome.round_trips) == ("A", 2, 2)


async def test_one_retelling_is_enough(by_purpose):
    model = by_purpose(answers(["orthopnoea", "furosemide"], **{"retell paths": Refused("no")}))
    outcome = await mindmap(QUESTION, model)
    assert outcome.answer == "A"
    assert "Retold retell neighbours." in model.shown("decision")[0].user


async def test_no_retelling_ends_the_question(by_purpose):
    refused = {"retell paths": Refused("no"), "retell neighbours": Refused("no")}
    outcome = await mindmap(QUESTION, by_purpose(answers(["orthopnoea", "furosemide"], **refused)))
    assert (outcome.end, outcome.answers) == (OutcomeEnd.REFUSED, frozenset())


async def test_in_chinese_the_graph_speaks_chinese(by_purpose):
    question = Question(
        id="q", stem="端坐呼吸、下肢水肿，用什么药？", options={"A": "呋塞米", "B": "抗生素"}, language="zh"
    )
    model = by_purpose(answers(["端坐呼吸", "呋塞米"]))
    assert (await mindmap(question, model)).answer == "A"
    assert "心力衰竭 → 用药为 → 呋塞米" in model.shown("retell paths")[0].user


@pytest.mark.parametrize("wrong", [{"entities": 0}, {"paths": 0}, {"neighbours": 0}])
async def test_too_few_are_refused(by_purpose, wrong):
    with pytest.raises(UserError):
        await mindmap(QUESTION, by_purpose(answers([])), **wrong)
