"""Whose calls the calls of MVME are, where consultations and discussions serve several entrants."""

from functools import partial

import msgspec
import pytest

from polyclinic.evaluations.measuring import item_row
from polyclinic.evaluations.mvme.declaration import mvme
from polyclinic.evaluations.mvme.evaluation import Entrant
from polyclinic.generation.draw import generate
from polyclinic.judging.director_by_rules import RulesJudge
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.ledger import KeptCalls, Ledger
from polyclinic.models.model import Usage
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


def answer(name, messages):
    text = messages[-1][1]
    if "`points`" in text:
        return {"analysis": "", "points": ["one"]}
    if "`ask_patient`" in text:
        return {"symptoms": ["cough"], "examinations": []}
    if "`differential`" in "\n".join(said for _, said in messages):
        lists = {of: ["x"] for of in ("symptoms", "examinations", "rationale", "treatment")}
        return lists | {"diagnoses": [{"name": f"Gout, says {name}"}]}
    return {"say": "Goodbye.", "conclude": True, "to": "doctor", "leave": True}


class Counting(Scripted):
    """A scripted model that says how many tokens it took."""

    async def ask(self, messages, **options):
        reply = await super().ask(messages, **options)
        return msgspec.structs.replace(reply, usage=Usage(tokens_in=10, tokens_out=5, cost=0.25))


def rows_of(entrant):
    return [item_row({}, item=case, **msgspec.structs.asdict(calls)) for case, calls in entrant.calls.items()]


async def held(knowledge, entrants_of, cases=2):
    """Returns the rows of each entrant on some cases, and every call that was made."""
    kept = KeptCalls()
    ledger = Ledger(calls=kept)

    def minds(name):
        models = {one: Counting(partial(answer, one), name=one) for one in (name, "direct/chair")}
        return Minds(doctor=name, director="direct/chair", knowledge=knowledge, seed=1, models=models, ledger=ledger)

    entrants = entrants_of(*(minds(f"direct/{letter}") for letter in "abc"))
    cases = list(generate(knowledge, n=cases, seed=3, language="en"))
    benchmark = mvme(cases, judge=RulesJudge(knowledge), knowledge=knowledge, max_rounds=1)
    result = await benchmark.hold({one.name: one for one in entrants})
    assert all(not one.failed and not one.no_report for one in result.entrants)
    return {one.name: [*rows_of(one)] for one in result.entrants}, [*kept]


async def test_a_teams_calls_are_its_doctors_visits_and_its_discussion(knowledge):
    rows, calls = await held(knowledge, lambda a, b, _: [Entrant("a", (a,)), Entrant("a and b", (a, b))])
    of = {name: [call for call in calls if call.player == name] for name in {call.player for call in calls}}
    assert set(of) == {"direct/a", "direct/b", "direct/a, direct/b; parallel"}
    # What the director asks is the team's, though the first doctor brings the director.
    assert {call.role for call in of["direct/a"]} == {"doctor"}
    for row in rows["a and b"]:
        assert row.calls == sum(call.item == row.item for call in calls)
        assert row.shared == sum(call.item == row.item for call in of["direct/a"]) > 0
    for row in rows["a"]:
        assert row.calls == row.shared == sum(call.item == row.item for call in of["direct/a"])
    assert sum(row.tokens for row in rows["a and b"]) == 15 * len(calls)
    assert sum(row.cost for row in rows["a"]) == len(of["direct/a"]) / 4


async def test_whom_nobody_shares_with_shares_nothing(knowledge):
    rows, calls = await held(knowledge, lambda a, b, _: [Entrant("a and b", (a, b))])
    assert sum(row.calls for row in rows["a and b"]) == len(calls) > 0
    assert [row.shared for row in rows["a and b"]] == [0, 0]


async def test_what_a_team_and_its_ablation_ask_alike_is_of_both(knowledge):
    """The first answers are asked once for both, whichever asks first."""
    both, _ = await held(knowledge, lambda a, b, _: [Entrant("full", (a, b)), Entrant("less", (a, b), disputes=False)])
    full, made_alone = await held(knowledge, lambda a, b, _: [Entrant("full", (a, b))])
    less, _ = await held(knowledge, lambda a, b, _: [Entrant("less", (a, b), disputes=False)])
    assert [(row.item, row.calls, row.tokens) for row in both["full"]] == [
        (row.item, row.calls, row.tokens) for row in full["full"]
    ]
    assert [(row.item, row.calls, row.tokens) for row in both["less"]] == [
        (row.item, row.calls, row.tokens) for row in less["less"]
    ]
    shared = {name: sum(row.shared for row in theirs) for name, theirs in both.items()}
    consultations = [call for call in made_alone if call.player in ("direct/a", "direct/b")]
    assert shared["full"] == shared["less"] > len(consultations)


async def test_every_call_is_somebodys_and_the_run_counts_each_once(knowledge):
    rows, calls = await held(
        knowledge,
        lambda a, b, c: [
            Entrant("a", (a,)), Entrant("twice", (a, a)), Entrant("b", (b,)), Entrant("c", (c,), one_step=True)
        ],
    )  # fmt: skip
    assert "direct/a, time 2" in {call.player for call in calls}
    needed = sum(row.calls for theirs in rows.values() for row in theirs)
    # The visit of the first doctor is needed alone, and by the team in which the doctor sits twice.
    first = sum(call.player == "direct/a" for call in calls)
    assert needed == len(calls) + first
    assert {(row.calls, row.shared) for row in rows["c"]} == {(1, 0)}


async def test_what_failed_has_its_calls_too(knowledge):
    kept = KeptCalls()
    models = {"direct/a": Scripted(lambda _: "no form that was asked for", name="direct/a")}
    minds = Minds(doctor="direct/a", knowledge=knowledge, seed=1, models=models, ledger=Ledger(calls=kept))
    benchmark = mvme(
        list(generate(knowledge, n=1, seed=3, language="en")), judge=RulesJudge(knowledge), knowledge=knowledge
    )
    result = await benchmark.hold({"a": Entrant("a", (minds,))})
    (entrant,) = result.entrants
    (row,) = rows_of(entrant)
    assert row.calls == kept.n > 0
