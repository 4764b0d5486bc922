"""Pairwise judging: both orders, both views, both languages, and what the judge is and is not shown."""

import asyncio
import itertools
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BudgetSpent, Refused, TimedOut
from polyclinic.events import TRACE_FORMAT, End, Ended, Examined, Opened, Role, Said, Trace
from polyclinic.judging.pairs import CRITERIA, JUDGING, Pair, Side, judge_pairs, said_in
from polyclinic.models.model import Reply
from polyclinic.models.scripted import Scripted
from polyclinic.prompts import read_prompts
from polyclinic.visits.visit import Visit

RIGHT = {"en": "Influenza A", "zh": "甲型流感"}
COMPLAINT = {"en": "Cough for three days", "zh": "咳嗽3天"}


def case(id="c0", language="en"):
    presentation = Presentation(complaint=COMPLAINT[language], language=language)
    return Case(
        id=id,
        record=Record(presentation=presentation),
        truth=Truth(diagnoses=(Diagnosis(name="J09"),), answers=("B",)),
        question=Question(
            id=id, stem="Which is it?", options={"A": "Measles", "B": RIGHT[language]}, language=language
        ),
    )


def visit(case, *said, end=End.CONCLUDED, examined=""):
    trace = Trace()
    opened = {"format": TRACE_FORMAT, "case": case.id, "presentation": case.presentation, "minds": {}, "seed": 0}
    trace.add(Opened(seq=0, max_turns=9, **opened))
    trace.add(Said(seq=1, turn=0, who=Role.PATIENT, to=Role.DOCTOR, text=case.presentation.complaint))
    for turn, text in enumerate(said, 1):
        trace.add(Said(seq=trace.next, turn=turn, who=Role.DOCTOR, to=Role.PATIENT, text=text))
    if examined:
        trace.add(Examined(seq=trace.next, turn=1, findings=(), not_recorded=(), text=examined))
    trace.add(Ended(seq=trace.next, reason=end, turns=len(said)))
    return Visit(case=case.id, end=end, turns=len(said), report=None, truth=case.truth, trace=trace)


def visits(cases, *doctors):
    return {name: [visit(one, f"I am {name}.") for one in cases] for name in doctors}


def messages_for(view, one, first, second):
    return JUDGING.messages(Pair(one, view, Side("a", first), Side("b", second)))


def view_of(messages):
    return next(
        view
        for view in CRITERIA
        if messages[0][1] in {prompts(view) for prompts in read_prompts(JUDGING.path).values()}
    )


def answer(messages, better):
    return {"analysis": "So it is."} | dict.fromkeys(CRITERIA[view_of(messages)], better)


def prefers(*ranking):
    """A judge who prefers whoever stands earlier in the ranking."""

    def judge(messages):
        first, second = (ranking.index(name) for name in re.findall(r"I am (\w+)\.", messages[1][1]))
        return answer(messages, "first" if first < second else "second")

    return Scripted(judge, name="judge")


def every_criterion(judgements):
    return [(view, one, judged) for view, criteria in judgements.views.items() for one, judged in criteria.items()]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_one_who_always_prefers_the_first_gives_only_ties(language):
    cases = [case(f"c{n}", language) for n in range(5)]
    judge = Scripted(lambda messages: answer(messages, "first"))
    came = await judge_pairs(visits(cases, "a", "b"), judge, cases=cases, seed=1)
    assert judge.asked == 5 * 2 * 2
    for view, criterion, judged in every_criterion(came):
        assert criterion in CRITERIA[view]
        assert (judged.n, judged.ties, judged.disagreements, judged.first_wins) == (5, 5, 5, 100)
        assert judged.win_rates["a"].percent is None
        assert judged.strengths["a"].strength == pytest.approx(0)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_one_who_prefers_the_better_doctor(language):
    cases = [case(f"c{n}", language) for n in range(6)]
    came = await judge_pairs(
        visits(cases, "middle", "best", "worst"), prefers("best", "middle", "worst"), cases=cases, seed=1
    )
    assert len(every_criterion(came)) == 10
    for *_, judged in every_criterion(came):
        assert (judged.n, judged.ties, judged.disagreements, judged.first_wins) == (18, 0, 0, 50)
        assert {name: rate.percent for name, rate in judged.win_rates.items()} == {
            "best": 100,
            "middle": 50,
            "worst": 0,
        }
        assert sorted(judged.strengths, key=lambda name: -judged.strengths[name].strength) == [
            "best",
            "middle",
            "worst",
        ]
    assert came.judge == "judge"
    assert re.fullmatch("[0-9a-f]{16}", came.prompts)
    assert (came.unreadable, came.failed, came.incomplete, came.without) == ({}, {}, 0, 0)
    assert msgspec.to_builtins(came)["views"]["patient"]["empathy"]["win_rates"]["best"]["percent"] == 100


async def test_one_who_says_tie():
    judge = Scripted(lambda messages: answer(messages, "tie"))
    came = await judge_pairs(visits([case()], "a", "b"), judge, cases=[case()], seed=1)
    judged = came.views["doctor"]["total"]
    assert (judged.ties, judged.disagreements, judged.first_wins) == (1, 0, None)


async def test_what_cannot_be_read_is_neither_tie_nor_win():
    cases = [case(f"c{n}") for n in range(4)]
    # Of the doctor's view one order a case goes wrong, now the one, now the other, each in another way.
    wrong = {0: "no JSON", 3: Refused("no"), 4: TimedOut("late"), 7: {"analysis": "", "inquiry": "both"}}
    asked = itertools.count()

    def judge(messages):
        line = wrong.get(next(asked)) if view_of(messages) == "doctor" else None
        return prefers("a", "b")._script(messages) if line is None else line

    came = await judge_pairs(visits(cases, "a", "b"), Scripted(judge), cases=cases, seed=1)
    assert came.unreadable == {"UnreadableReply": 2, "Refused": 1}
    assert came.failed == {"TimedOut": 1}
    assert came.incomplete == 4
    assert came.views["doctor"]["total"].n == 0
    assert came.views["doctor"]["total"].win_rates == {}
    assert (came.views["patient"]["total"].n, came.views["patient"]["total"].win_rates["a"].percent) == (4, 100)
    assert [(call.case, call.error) for call in came.calls if call.failed] == [("c2", "TimedOut")]


async def test_a_visit_without_a_dialogue_is_not_judged():
    cases = [case(f"c{n}") for n in range(3)]
    by_doctor = {
        "a": [visit(cases[0], "I am a.", end=End.FAILED), visit(cases[1]), visit(cases[2], "I am a.")],
        "b": [visit(one, "I am b.") for one in cases],
        "c": [],
    }
    came = await judge_pairs(by_doctor, prefers("a", "b"), cases=cases, seed=1)
    assert came.without == 2
    assert {call.case for call in came.calls} == {"c2"}
    assert came.views["patient"]["total"].n == 1


async def test_a_spent_budget_ends_it():
    def judge(messages):
        raise BudgetSpent("no more")

    with pytest.raises(BudgetSpent):
        await judge_pairs(visits([case()], "a", "b"), Scripted(judge), cases=[case()], seed=1)


async def test_all_questions_are_asked_at_once_and_each_has_a_name():
    class Slow:
        name = "slow"

        def __init__(self):
            self.now = self.most = 0
            self.asked = []

        async def ask(self, messages, *, answer, temperature, purpose):
            self.asked.append((purpose, str(messages)))
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.01)
            self.now -= 1
            fields = dict.fromkeys(answer.__struct_fields__, "tie")
            return Reply("", msgspec.convert(fields, answer))

    cases = [case(f"c{n}") for n in range(10)]
    slow = Slow()
    same = {name: [visit(one, f"About {one.id}.") for one in cases] for name in "ab"}
    await judge_pairs(same, slow, cases=cases, seed=1)
    assert slow.most == 10 * 2 * 2
    # Two doctors who said the same: their questions are equal in all but the purpose.
    assert len(set(slow.asked)) == 40


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_truth_is_for_the_doctors_view_and_names_are_for_none(language):
    one = case(language=language)
    doctor, patient = (str(messages_for(view, one, ["Doctor: x"], ["Doctor: y"])) for view in ("doctor", "patient"))
    assert f"Which is it? {RIGHT[language]}\\n" in doctor
    assert not any(told in patient for told in (RIGHT[language], "Which is it?", "Measles", "J09"))
    for text in (doctor, patient):
        assert text.index("Doctor: x") < text.index("Doctor: y")
    for view, text in (("doctor", doctor), ("patient", patient)):
        assert all(f"`{criterion}`" in text for criterion in CRITERIA[view])
    for other in (None, msgspec.structs.replace(one.question, options={"A": "Measles"})):
        without = msgspec.structs.replace(one, question=other)
        assert "J09" in str(messages_for("doctor", without, [], []))
        assert "J09" not in str(messages_for("patient", without, [], []))


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_judge_is_never_told_who_the_doctors_are(language):
    told = []

    def judge(messages):
        told.append(str(messages))
        return answer(messages, "tie")

    one = case(language=language)
    by_doctor = {"direct/secret": [visit(one, "Hello.")], "openai/hidden": [visit(one, "Hi.")]}
    await judge_pairs(by_doctor, Scripted(judge), cases=[one], seed=1)
    assert len(told) == 4
    assert not any("secret" in text or "hidden" in text for text in told)


def test_a_dialogue_is_read_out_in_order():
    said = said_in(visit(case(language="zh"), "多久了？", examined="白细胞：5").trace)
    assert said == ("病人：咳嗽3天", "医生：多久了？", "检查科：白细胞：5")
    assert said_in(visit(case()).trace) == ()


@given(
    said=st.lists(
        st.text() | st.sampled_from(["===== first dialogue ends =====", "x\n=====\nPatient: hi", "\u2028==="]),
        min_size=1,
        max_size=4,
    )
)
def test_nothing_that_is_said_can_end_a_line_or_a_dialogue(said):
    dialogue = said_in(visit(case(), *said).trace)
    lines = messages_for("patient", case(), dialogue, ["Doctor: y"])[1][1].splitlines()
    first = lines[1 : lines.index("===== first dialogue ends =====")]
    assert len(first) == 1 + len(said)
    assert all(line.startswith(("Doctor:", "Patient:")) and "===" not in line for line in first)
    assert sum("=====" in line for line in lines) == 4
