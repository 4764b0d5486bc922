"""The ways to meet criteria: together they are what the criteria allow, and no two of them overlap."""

import itertools
import math
import random

import pytest

from polyclinic.knowledge.data import Name
from polyclinic.knowledge.disease_body import meets, variants
from polyclinic.knowledge.entries import Criterion, Item

NAME = Name(en="x", zh="x")
ITEMS = {id: Item(id=id, name=NAME, usual=(0.0, 1.0), low=-2, high=2, decimals=2) for id in "abcd"}
ITEMS["t"] = Item(id="t", name=NAME, values=dict.fromkeys(("no", "some", "much"), NAME), usual={"no": 1.0})
TEXTS = {"no": 0.5, "some": 0.3, "much": 0.2}


def found(criterion):
    def distribution(item):
        return TEXTS if item.id == "t" else (0.0, 1.0)

    return variants((criterion,), ITEMS, distribution, lambda _: 0.3)


def high(id):
    return Criterion(quantity=id, at_least=0.5)


THREE_OF_FOUR = Criterion(count=3, of=tuple(map(high, "abcd")))
NESTED = Criterion(
    all=(
        Criterion(any=(high("a"), Criterion(quantity="a", below=-1.0), Criterion(symptom="s"))),
        Criterion(quantity="t", one_of=("some", "much")),
    )
)


@pytest.mark.parametrize("criterion", [THREE_OF_FOUR, NESTED, high("a"), Criterion(quantity="a", abnormal="high")])
def test_drawn_patients_lie_in_exactly_one_way_if_they_meet_the_criteria_and_in_none_otherwise(criterion):
    ways, rng, met = found(criterion), random.Random(1), 0
    for _ in range(4000):
        values = {id: rng.gauss(0, 1) for id in "abcd"}
        values |= {"t": rng.choices(list(TEXTS), list(TEXTS.values()))[0], "s": rng.random() < 0.3}
        inside = [
            all(low <= values[id] < end for id, (low, end) in way.numbers.items())
            and all(values[id] in states for id, states in way.states.items())
            and all(values[id] == there for id, there in way.symptoms.items())
            for way in ways
        ]
        assert inside.count(True) == bool(meets(criterion, ITEMS, values))
        met += any(inside)
    assert met / 4000 == pytest.approx(math.fsum(way.weight for way in ways), abs=0.03)


def test_three_of_four_has_a_way_for_each_that_may_be_missing():
    assert len(found(THREE_OF_FOUR)) == 4
    p = 0.5 * math.erfc(0.495 / math.sqrt(2))
    exact = sum(
        math.prod(p if there else 1 - p for there in four)
        for four in itertools.product([True, False], repeat=4)
        if sum(four) >= 3
    )
    assert math.fsum(way.weight for way in found(THREE_OF_FOUR)) == pytest.approx(exact)


def test_what_nobody_can_meet_is_refused():
    with pytest.raises(ValueError, match="no patient"):
        found(Criterion(all=(high("a"), Criterion(quantity="a", below=0.0))))


@pytest.mark.parametrize(
    "criterion",
    [
        Criterion(),
        Criterion(quantity="a"),
        Criterion(quantity="a", at_least=1, abnormal="high"),
        Criterion(symptom="s", at_least=1),
        Criterion(count=3, of=(high("a"),)),
        Criterion(all=(high("a"),), any=(high("b"),)),
        Criterion(quantity="a", abnormal="odd"),
    ],
)
def test_a_criterion_has_one_form(criterion):
    assert criterion.problem()
    assert not THREE_OF_FOUR.problem() and not NESTED.problem()
