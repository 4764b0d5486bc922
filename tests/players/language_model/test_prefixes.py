"""What is stable comes first in the prompts of a visit, so that a server's prefix cache has most of them."""

from functools import partial

import msgspec
import pytest
from bench.scale import PromptPrefixes, talks_on

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.shipped import SHIPPED
from polyclinic.evaluations.aie.distractors import with_questions
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.answers import Completion
from polyclinic.models.provider import Provider
from polyclinic.players.minds import Minds
from polyclinic.visits.visit import see

CASES = 8
KNOWLEDGE = read_knowledge()


class Counted(Provider):
    """Says what anybody would, and counts how much of what it is told it was told before."""

    name = "direct/test"

    def __init__(self):
        self.prefixes = PromptPrefixes()

    async def complete(self, said, form, options):
        messages = [{"role": role, "content": text} for role, text in said]
        self.prefixes.add(messages)
        schema = {"json_schema": {"schema": msgspec.json.decode(form.text)}} if form is not None else None
        return Completion(msgspec.json.encode(talks_on({"messages": messages, "response_format": schema})).decode())


@pytest.mark.parametrize("sees", [see, partial(see, max_turns=14, put_question=True)])
async def test_most_of_what_is_sent_was_sent_before(sees):
    model = Counted()
    minds = Minds(doctor=model.name, patient=model.name, knowledge=KNOWLEDGE, seed=1, models={model.name: model})
    cases = list(read_cases(SHIPPED["shipped"]))[:CASES]
    for case in with_questions(cases, KNOWLEDGE, seed=1):
        await sees(case, minds)
    assert model.prefixes.characters > 100_000
    assert model.prefixes.share >= 0.85


def test_a_prefix_counts_with_all_before_it():
    prefixes = PromptPrefixes()
    long, other = "a" * 64, "b" * 64
    assert prefixes.add([{"role": "user", "content": long}]) == 0
    assert prefixes.add([{"role": "user", "content": long + other}]) > 0.4
    assert prefixes.add([{"role": "user", "content": "c" + long}]) < 0.1
    assert 0 < prefixes.share < 0.3
