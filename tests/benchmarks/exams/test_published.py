"""Methods as the MedAgents paper ran them: temperatures by method, in every call that is sent."""

import pytest

from polyclinic.errors import UserError
from polyclinic.evaluations.exams.declaration import as_published, check_limit, limit_of
from polyclinic.evaluations.exams.evaluation import Learning, run_methods
from polyclinic.methods.table import METHODS, choose
from polyclinic.models.scripted import Scripted
from polyclinic.protocols.following import follow
from polyclinic.protocols.papers import MedAgentsSettings
from polyclinic.questions.exam import ExamQuestion, Question

PAPER, OURS = follow(MedAgentsSettings, "paper"), follow(MedAgentsSettings)
ASKED = [
    ExamQuestion(question=Question(id="1", stem="Which valve?", options={"A": "aortic", "B": "mitral"}), key=("B",))
]


class Heard:
    """A model that says B, and writes down at which temperature it was asked."""

    name = "heard"

    def __init__(self, temperatures):
        self.temperatures = temperatures

    async def ask(self, messages, *, temperature=None, **options):
        self.temperatures.add(temperature)
        return await Scripted(["Answer: B"]).ask(messages)


async def temperatures(chosen, **learning):
    heard = {one.label: set() for one in chosen}
    models = {label: Heard(temperatures) for label, temperatures in heard.items()}
    await run_methods(ASKED, chosen, lambda label: lambda _: models[label], learning=Learning(**learning), match="none")
    return {label.partition(" (")[0]: temperatures for label, temperatures in heard.items()}


def test_ours_is_what_the_methods_do_by_themselves():
    """The file says of ours what holds where nothing is set."""
    import inspect

    for name, drawing in OURS.settings.methods.items():
        for key, setting in (("temperature", drawing.temperature), ("samples", drawing.samples)):
            parameters = inspect.signature(METHODS[name].run).parameters
            assert setting is None or parameters[key].default == OURS.of(setting), (name, key)
    team = inspect.signature(METHODS["medagents"].run).parameters
    assert team["votes"].default == OURS.of(OURS.settings.votes)
    assert team["max_rounds"].default == OURS.of(OURS.settings.rounds)


async def test_table_2_at_once():
    """Every method at 1.0 and self-consistency at 0.7, in one run."""
    names = ["zero_shot", "few_shot", "chain_of_thought", "self_consistency", "few_shot_self_consistency"]
    chosen = as_published(choose(names), PAPER, dataset="medqa")
    found = await temperatures(chosen)
    assert found == {name: {0.7 if "consistency" in name else 1.0} for name in names}
    by_hand = choose(names, ["self_consistency.temperature=0.7", "few_shot_self_consistency.temperature=0.7"])
    assert await temperatures(by_hand, temperature=1.0) == found


async def test_what_medprompt_prepares_is_asked_at_its_temperature():
    assert await temperatures(choose(["medprompt"]), temperature=0.3) == {"medprompt": {0.3}}


def test_the_team_is_the_papers():
    for dataset, experts in (("medqa", 5), ("pubmedqa", 4)):
        (team,) = as_published(choose(["medagents"]), PAPER, dataset=dataset)
        assert team.settings == {
            "temperature": 1.0, "top_p": 1.0, "max_rounds": 3, "votes": "separate",
            "question_experts": experts, "option_experts": 2,
        }  # fmt: skip
    rows = as_published(
        choose(["zero_shot", "chain_of_thought", "medagents stages=analysis|summary|consultation"]),
        PAPER,
        dataset="medqa",
    )
    assert {row.settings["temperature"] for row in rows} == {1.0}
    (other,) = as_published(choose(["mdagents"]), PAPER, dataset="medqa")
    assert other.settings == {}
    assert as_published(rows, OURS, dataset="medqa", temperature=0.2) == rows


@pytest.mark.parametrize(
    ("given", "temperature", "problem"),
    [
        (["temperature=0.5"], None, "--set temperature is 0.5"),
        ([], 0.5, "--temperature is 0.5"),
        (["question_experts=3"], None, "has question_experts 5 for medagents"),
        (["votes=combined"], None, "votes separate"),
    ],
)
def test_what_is_not_the_papers_is_refused(given, temperature, problem):
    with pytest.raises(UserError, match=problem):
        as_published(choose(["medagents"], given), PAPER, dataset="medqa", temperature=temperature)


def test_the_sample_is_the_papers():
    assert (limit_of(PAPER, "medqa"), limit_of(OURS, "mmlu")) == (300, None)
    check_limit(PAPER, "medqa", 300)
    check_limit(PAPER, "mmlu", "all")
    check_limit(OURS, "medqa", 3)
    for given in (20, "all"):
        with pytest.raises(UserError, match="300 questions of medqa"):
            check_limit(PAPER, "medqa", given)
