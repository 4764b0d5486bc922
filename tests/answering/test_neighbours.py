"""Neighbours are found by words, by meaning or by both, the same each time, and never the question itself."""

import pytest

from polyclinic.answering.neighbours import Nearest
from polyclinic.cases.presentation import Question
from polyclinic.errors import MissingExtra
from polyclinic.methods.few_shot import few_shot
from polyclinic.methods.medprompt import Pool, medprompt
from polyclinic.models.scripted import Scripted
from polyclinic.questions.examples import Example
from polyclinic.retrieval.retriever import library

OPTIONS = {"A": "yes", "B": "no", "C": "perhaps", "D": "never"}
STEMS = (
    "A red and swollen big toe at night?",
    "Wheezing and a tight chest after exercise?",
    "Pressure in the chest while climbing stairs?",
    "Itching between the fingers?",
    "A rash after penicillin?",
    "Blood in the urine?",
)
EXAMPLES = [
    Example(question=Question(id=str(n), stem=stem, options=OPTIONS), key=("A",), reasoning="So it is.")
    for n, stem in enumerate(STEMS)
]


@pytest.fixture(autouse=True)
def _libraries():
    for name in ("tantivy", "wordllama"):
        pytest.importorskip(name, reason=f"{name} of the extra 'retrieval' is not installed")


def asked(stem, **more):
    return Question(id="q", stem=stem, options=OPTIONS, **more)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["bm25", "dense", "hybrid"])
async def test_the_most_like_come_first(by):
    nearest = Nearest(EXAMPLES, by)
    for _ in range(2):
        found = await nearest.to(asked("A painful red toe at night, what is it?"), 9)
        assert found[0].question.id == "0" and len(found) == len(EXAMPLES)
    same = await nearest.to(asked("a RED and swollen big toe, at night"), 9)
    assert "0" not in {one.question.id for one in same} and len(same) == 5
    assert await nearest.to(asked("Toe?"), 0) == [] == await Nearest([], by).to(asked("Toe?"), 3)


async def test_what_shares_nothing_comes_in_the_order_of_the_file():
    assert [one.question.id for one in await Nearest(EXAMPLES).to(asked("Zebra"), 3)] == ["0", "1", "2"]


@pytest.mark.parametrize("by", ["bm25", "hybrid"])
async def test_medprompt_and_few_shot_show_the_nearest_last(by):
    shown = []
    question = asked("A painful red toe at night, what is it?")
    model = Scripted(lambda said: shown.append(said) or "Answer: A")
    await medprompt(question, model, pool=Pool(EXAMPLES, reasoned=True), neighbours=2, shuffles=1, neighbours_by=by)
    await few_shot(question, model, examples=EXAMPLES, neighbours_by=by)
    for said, number in zip(shown, (2, 5), strict=True):
        stems = [text for role, text in said if role == "user"]
        assert len(stems) == number + 1 and STEMS[0] in stems[-2]


async def test_without_the_extra_one_line_says_the_way_out(monkeypatch):
    library.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "tantivy", None)
    with pytest.raises(MissingExtra, match=r"pip install 'polyclinic\[retrieval\]'"):
        await medprompt(asked("Toe?"), Scripted(["Answer: A"]), pool=Pool(EXAMPLES, reasoned=True))
    library.cache_clear()
