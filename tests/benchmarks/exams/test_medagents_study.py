"""The MedAgents paper's tables in one run: nothing is asked twice, and the average is over sets."""

import json

import msgspec
import pytest

from polyclinic.cases.presentation import Question
from polyclinic.errors import UserError
from polyclinic.evaluations.exams.medagents_study import average, document_of, errors_of, plan, run_study
from polyclinic.evaluations.exams.runs import Learning
from polyclinic.evaluations.exams.study_tables import medagents_output
from polyclinic.models.answers import Completion
from polyclinic.models.model import Usage
from polyclinic.models.provider import Provider
from polyclinic.protocols.following import follow
from polyclinic.protocols.papers import MedAgentsSettings
from polyclinic.questions.exam import ExamQuestion
from polyclinic.seeds import derive
from polyclinic.statistics.uncertainty import Estimate
from polyclinic.testing.instances import instance

PAPER = follow(MedAgentsSettings, "paper")


def asked(name, *subjects):
    return [
        ExamQuestion(
            question=Question(id=f"{name}-{n}", stem=f"{name} {n}?", options={"A": "a", "B": "b"}),
            key=("A",),
            subject=subject,
        )
        for n, subject in enumerate(subjects)
    ]


QUESTIONS = {
    "medqa": asked("medqa", "", ""),
    "mmlu": asked("mmlu", "college biology", "anatomy", "anatomy"),
}


class Candidate(Provider):
    """Says A in text, and what the schema allows else; a vote is a yes."""

    name, repairs = "direct/candidate", 0

    async def complete(self, said, form, options):
        usage = Usage(tokens_in=1000, tokens_out=100, cost=0.01)
        if form is None:
            return Completion("Answer: A", usage=usage)
        if form.text == '{"enum":["yes","no"]}' or "yes" in form.text:
            return Completion('{"answer": "yes"}', usage=usage)
        value = instance(msgspec.json.decode(form.text), derive(0, options["purpose"]))
        return Completion(msgspec.json.encode(value).decode(), usage=usage)


@pytest.fixture(scope="module")
def study():
    import asyncio

    planned = plan(list(QUESTIONS), PAPER, question_experts=(4, 5), option_experts=(1, 2))
    labels = []

    def models(label):
        labels.append(label)
        return lambda question: Candidate()

    result = asyncio.run(run_study(QUESTIONS, planned, PAPER, models, learning=Learning()))
    return planned, result, labels


def test_nothing_is_asked_twice(study):
    """MedAgents of Table 2 is also the last row of Table 3 and a point of both curves; direct and CoT stand in both."""
    planned, result, labels = study
    assert len(labels) == len(set(labels))
    # Seven methods; two stages more on the first data set; one more number of experts of each kind.
    assert {name: len(methods) for name, methods in planned.methods.items()} == {"medqa": 7 + 2 + 2, "mmlu": 7 + 2}
    team = result.teams["medqa"]
    assert result.table_3[-1] is team
    assert all(any(one is team for _, one in curve.numbers) for curve in result.figure_3["medqa"])
    assert {one.settings["temperature"] for one in planned.table_3} == {1.0}


def test_the_tables(study):
    _, result, _ = study
    row = next(row for row in result.table_2 if row.method == "zero_shot")
    assert list(row.sets) == ["medqa", "anatomy", "college biology"]
    assert (row.average.mean, row.average.n) == (100, 3)
    assert [(best.dataset, best.question in (4, 5), best.options in (1, 2)) for best in result.table_4] == [
        ("medqa", True, True),
        ("mmlu", True, True),
    ]
    cost = {one.method: one for one in result.cost}
    assert cost["zero_shot"].per_hundred == pytest.approx(1.0)
    assert (cost["self_consistency"].calls, cost["self_consistency"].tokens) == (5, 5500)
    document = json.loads(msgspec.json.encode(document_of(result, about={"study": "medagents"})))
    assert document["sets_of_nine"] == 3 and len(document["table_3"]) == 5
    wrong = errors_of(result, QUESTIONS, most=1, seed=0)
    assert set(wrong) == {"medqa"} and len(wrong["medqa"].answers) <= 1
    output = medagents_output(result, {}, title="", about={})
    assert len(output.files) == 20


def test_the_average_counts_every_set_once():
    def estimate(mean, stderr, n):
        return Estimate(mean=mean, stderr=stderr, low=None, high=None, n=n)

    both = average([estimate(50.0, 3.0, 300), estimate(80.0, 4.0, 100)])
    assert (both.mean, both.stderr, both.n) == (65.0, 2.5, 2)
    assert (both.low, both.high) == pytest.approx((60.1, 69.9))
    assert average([estimate(50.0, None, 1)]).stderr is None
    assert average([]).mean is None


def test_a_part_alone_and_what_contradicts_the_paper():
    only = plan(["pubmedqa"], PAPER, parts=["table-3"])
    assert [one.name for one in only.methods["pubmedqa"]] == ["zero_shot", "chain_of_thought", *["medagents"] * 3]
    assert only.methods["pubmedqa"][-1].settings["question_experts"] == 4
    with pytest.raises(UserError, match=r"temperature is 0\.2"):
        plan(["medqa"], PAPER, temperature=0.2)
    ours = plan(["medqa"], follow(MedAgentsSettings), parts=["table-2", "table-3"], temperature=0.2)
    assert {one.settings["temperature"] for one in ours.table_3} == {0.2}
