"""What is looked up reaches every method and every doctor who reads, with its source in the trace."""

import json

import pytest
from tests.tables import each_row

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Question
from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import TimedOut, UserError
from polyclinic.evaluations.exams.evaluation import run_methods
from polyclinic.events import Failed, Retrieved, Trace
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.methods.table import METHODS, choose
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.shown import show
from polyclinic.retrieval.retriever import MOST, LibraryOptions, LookingUp, Passage, ScriptedRetriever
from polyclinic.visits.visit import see

ASTHMA = Passage(id="7", score=2.5, title="Asthma", text="Wheezing,\n" + "often " * 400, corpus="book")
QUESTION = Question(id="q", stem="Wheezing at night: what is it?", options={"A": "asthma", "B": "gout"})


def library(**found):
    return LookingUp(ScriptedRetriever(found or {"wheezing": [ASTHMA, ASTHMA]}), passages=1)


async def test_a_question_is_shown_with_what_fits_cut_and_with_its_source():
    (found,) = (await library().question(QUESTION)).references
    assert (found.source, found.title, found.score) == ("book#7", "Asthma", 2.5)
    assert len(found.text) <= MOST + 4 and found.text.endswith("often ...") and "\n" not in found.text
    text = show(await library().question(QUESTION))
    assert text.startswith("Passages from a library, which may or may not help:\n[1] Asthma: Wheezing, often")
    assert text.endswith("(book#7)\n\n" + show(QUESTION))
    assert show(await library(toe=[ASTHMA]).question(QUESTION)) == show(QUESTION)


async def test_words_that_say_nothing_and_options_are_not_looked_for():
    looking = LookingUp(retriever := ScriptedRetriever({}))
    await looking.question(QUESTION)
    await looking.references("晚上喘不过气")
    assert retriever.queries == ["Wheezing night:", "晚上喘不过气"]


@each_row("name", [name for name in METHODS if name not in {"tree_of_reasoning", "mindmap", "mma"}])
async def test_every_method_is_shown_it_and_the_outcome_says_where_it_stands(name):
    pytest.importorskip("tantivy", reason="medprompt's neighbours need the extra 'retrieval'")
    shown = []

    def said(messages):
        shown.append("\n".join(str(text) for _, text in messages))
        return "Answer: A"

    exam = [ExamQuestion(question=QUESTION, key=("A",))]
    results = await run_methods(
        exam, choose(name), lambda _: lambda _: Scripted(said), match="none", looking_up=library()
    )
    assert [one.source for one in results[0].answered[0].references] == ["book#7"]
    assert any("(book#7)" in text for text in shown)


@pytest.fixture
def case():
    """Somebody who does not come for a fever, and has one."""
    cases = read_cases(shipped_path("shipped"))
    return next(
        case
        for case in cases
        if not any(word in case.presentation.complaint.casefold() for word in ("fever", "temperature"))
        and any("fever" in said for said in case.record.history.symptoms)
    )


def minds(doctor, looking_up, **more):
    return Minds(doctor=doctor, knowledge=read_knowledge(), seed=1, looking_up=looking_up, **more)


async def test_a_doctor_who_is_a_model_is_given_passages_and_the_trace_says_which(case, tmp_path):
    shown = []

    def said(messages):
        shown.append(messages[-1][1])
        text = messages[-1][1]
        if "turns left" in text:
            last = "9 turns left" in text
            return {"say": "Do you have a fever?", "conclude": last}
        return {"symptoms": [], "examinations": [], "diagnoses": [], "rationale": ["x"], "treatment": []}

    looking = library(fever=[Passage(id="f", score=1, text="Fever.", corpus="book")], **{"": [ASTHMA]})
    model = Scripted(said, name="local")
    visit = await see(case, minds("local", looking, models={"local": model}))
    assert visit.report is not None
    assert len(shown) == 3 and all("Passages from a library" in text for text in shown)
    found = [event for event in visit.trace if isinstance(event, Retrieved)]
    assert [one.source for event in found for one in event.references] == ["book#7", "book#f"]
    assert [event.turn for event in found] == [0, 1]
    visit.trace.write(tmp_path / "trace.jsonl")
    assert Trace.read(tmp_path / "trace.jsonl") == [visit.trace]


async def test_rules_read_nothing(case):
    visit = await see(case, minds("rules", looking := library()))
    assert not any(isinstance(event, Retrieved) for event in visit.trace)
    assert looking.retriever.queries == []


async def test_an_endpoint_that_gives_no_vector_fails_the_visit(case):
    class Silent:
        async def search(self, query, k):
            raise TimedOut("no vector")

    visit = await see(case, minds(lambda ask, role: "Hello", LookingUp(Silent())))
    assert visit.trace.last(Failed).error == "TimedOut"


def test_numbers_that_cannot_be():
    with pytest.raises(UserError, match=r"retrieval\.passages 0; allowed: 1 to 50"):
        LibraryOptions(corpus="book", passages=0)


DOCTOR = """
def doctor(ask, role):
    if ask.purpose == "speak":
        return {"say": "Thank you.", "conclude": True}
    return [one.title for one in role.references]
"""


@pytest.mark.slow
def test_on_the_command_line(run, complaint, serving, tmp_path):
    pytest.importorskip("tantivy", reason="tantivy of the extra 'retrieval' is not installed")
    home = {"XDG_DATA_HOME": str(tmp_path)}
    text = f"{next(read_cases('shipped')).presentation.complaint}, number"
    (tmp_path / "book.jsonl").write_text(json.dumps({"id": "7", "title": "Flu", "text": text}))
    (tmp_path / "doc.py").write_text(DOCTOR)
    run("corpus", "add", "book", tmp_path / "book.jsonl", env=home)
    consult = ("consult", "shipped#p1-00001", "--corpus", "book")
    done = json.loads(run(*consult, "--doctor", f"{tmp_path}/doc.py:doctor", "--json", env=home).stdout)
    assert done["report"]["diagnoses"][0]["name"] == "Flu"
    assert "book#7" in run(*consult, "--doctor", f"{tmp_path}/doc.py:doctor", env=home).stdout
    assert "--corpus is for a doctor who reads" in complaint(*consult, "--doctor", "rules", env=home)
    assert "no corpus 'nobody'" in complaint(
        "consult", "shipped#p1-00001", "--doctor", f"{tmp_path}/doc.py:doctor", "--corpus", "nobody", env=home
    )
    record = {"question": "This is number 1", "options": {"A": "a", "B": "b", "C": "c", "D": "d"}, "answer_idx": "A"}
    (tmp_path / "medqa.jsonl").write_text(json.dumps(record) + "\n")
    with serving("A") as endpoint:
        asked = (
            "eval",
            "exam",
            "medqa",
            tmp_path / "medqa.jsonl",
            "--model",
            "direct/a",
            "--corpus",
            "book",
        )
        out = tmp_path / "out"
        done = run(*asked, "--base-url", endpoint.url, "--json", "--out", out, env=home)
        document = json.loads(done.stdout)
        assert (document["corpus"], document["by"]) == ("book", "bm25")
        assert document["methods"][0]["questions"][0]["sources"] == ["book#7"]
        assert f"[1] Flu: {text} (book#7)" in endpoint.bodies[0]["messages"][-1]["content"]
        (line,) = (out / "zero_shot.jsonl").read_text().splitlines()
        assert json.loads(line)["references"][0]["source"] == "book#7"
        run("corpus", "add", "book", "--embedder", "direct/e5", "--base-url", endpoint.url, env=home)
        with serving("A") as models:  # which are elsewhere than what makes the vectors
            done = run(*asked, "--set", "retrieval.by=hybrid", "--base-url", models.url, "--json", env=home)
            assert json.loads(done.stdout)["methods"][0]["questions"][0]["sources"] == ["book#7"]
            assert ["input" in body for body in models.bodies] == [False]
