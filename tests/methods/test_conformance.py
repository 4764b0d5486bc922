"""Every method of the table keeps the same promises: any question in, a valid outcome out, whatever the model does."""

import asyncio
import hashlib
import inspect
import itertools
import re

import msgspec
import pytest
from tests.tables import each_row

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, Refused, ScriptError, TimedOut, Unreachable, UserError
from polyclinic.evaluations.exams.evaluation import Entrant, exam
from polyclinic.methods.own import of_user
from polyclinic.methods.table import METHODS, answering, choose, settable
from polyclinic.models.answers import Completion
from polyclinic.models.model import Usage
from polyclinic.models.provider import Provider
from polyclinic.models.schema import form_of
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.shown import write_answer
from polyclinic.seeds import derive
from polyclinic.testing.instances import instance

FOUR = {"A": "Aortic stenosis", "B": "Mitral stenosis", "C": "Pulmonary stenosis", "D": "Tricuspid stenosis"}
QUESTIONS = {
    "english": Question(id="en", stem="Which valve is affected?", options=FOUR),
    "chinese": Question(
        id="zh", stem="最可能受累的瓣膜是？", options={"A": "主动脉瓣", "B": "二尖瓣", "C": "肺动脉瓣"}, language="zh"
    ),
    "ten options": Question(id="ten", stem="Which?", options={k: f"finding {n}" for n, k in enumerate("ABCDEFGHIJ")}),
    "one option": Question(id="one", stem="Which?", options={"A": "the only one"}),
    "several": Question(id="several", stem="Which are right?", options=FOUR, several=True),
    "words as keys": Question(
        id="words", stem="Does it help?", options={"yes": "yes", "no": "no", "maybe": "maybe"}, context="A trial."
    ),
    "chinese decision": Question(
        id="zh-words", stem="有效吗？", options={"是": "是", "否": "否", "不确定": "不确定"}, language="zh"
    ),
    "numbers as keys": Question(id="numbers", stem="Which?", options={str(n): f"finding {n}" for n in range(1, 6)}),
    "roman keys": Question(id="roman", stem="Which?", options={"i": "iron", "ii": "zinc", "iii": "tin"}),
    "long context": Question(id="long", stem="Which?", options=FOUR, context="She has a murmur. " * 4000),
}
# What a method does depends on these; every other setting changes how often it does it.
SETTINGS = {
    "mdagents": (["level=low"], ["level=moderate"], ["level=high"], ["level=high", "diagnostic_teams=2"], []),
    "medagents": ([], ["votes=separate"], ["stages=analysis"], ["stages=summary"], ["option_experts=0"]),
    "tree_of_thought": ([], ["evaluation=vote"]),
}
VARIANTS = [(name, settings) for name in METHODS for settings in SETTINGS.get(name, ([],))]
IDS = [" ".join([name, *settings]) for name, settings in VARIANTS]
variants = pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=IDS)

FAILURES = {
    "unreadable": ("", OutcomeEnd.UNREADABLE),
    "refused": (Refused("I may not"), OutcomeEnd.REFUSED),
    "cut off": (CutOff("too long"), OutcomeEnd.CUT_OFF),
    "unreachable": (Unreachable("nobody there"), OutcomeEnd.FAILED),
    "timed out": (TimedOut("slow"), OutcomeEnd.FAILED),
    "no script": (ScriptError("nothing written"), OutcomeEnd.FAILED),
}


class Once(Provider):
    """Says one thing, at a cost."""

    repairs = 0

    def __init__(self, text, usage):
        self._completion = Completion(text, usage=usage)

    async def complete(self, said, form, options):
        return self._completion


class Willing:
    """Answers every question in the form that is asked for; always the same to the same question.

    Args:
        question: what it is asked about.
        fails: the calls that fail, by number from 0; None for all.
        failure: what they end in: a text, or an exception.
        dissents: votes no wherever there is a vote.
        patience: what comes back last; "first" and "last" turn the order of answers around.
    """

    name = "willing"

    def __init__(self, question, *, fails=(), failure="", dissents=False, patience=""):
        self._question, self._fails, self._failure = question, fails, failure
        self._dissents, self._patience = dissents, patience
        self.prompts = []

    async def ask(self, messages, *, answer=None, seed=None, purpose="", **options):
        number = len(self.prompts)
        self.prompts.append(list(messages))
        for _ in range({"first": max(20 - number, 0), "last": number}.get(self._patience, 0)):
            await asyncio.sleep(0)
        failing = self._fails is None or number in self._fails
        if failing and isinstance(self._failure, Exception):
            raise self._failure
        rng = derive(0, hashlib.blake2b(repr((messages, seed, purpose)).encode()).hexdigest())
        text = self._failure if failing else self._said(answer, rng)

        usage = Usage(tokens_in=len(repr(messages)), tokens_out=7, cost=0.25)
        return await Once(text, usage).ask(messages, answer=answer)

    def _said(self, answer, rng):
        question = self._question
        if answer is None:
            keys = rng.sample(list(question.options), rng.randint(1, 2) if question.several else 1)
            return f"I looked at it.\n\n{write_answer(sorted(keys), language=question.language)}"
        schema = msgspec.json.decode(form_of(answer).text)
        while True:
            value = instance(schema, rng)
            if not (self._dissents and _agrees(value)):
                return msgspec.json.encode(value).decode()


def _agrees(value):
    return isinstance(value, dict) and (value.get("vote") == "yes" or value.get("answer") == "yes")


async def outcome_of(name, settings, question, model, seed=3):
    (chosen,) = choose([name], settings)
    # What medprompt learns beforehand is no part of a question; its own tests have that.
    prepared = Willing(question)
    model_for = lambda episode: prepared if episode.startswith("training") else model  # noqa: E731
    return await answering(chosen, model_for, seed=seed)(question)


def check(outcome, question):
    """Asserts what holds for every outcome."""
    assert outcome.question == question.id
    assert outcome.answers <= question.options.keys()
    assert outcome.answer is None or outcome.answer in question.options
    assert bool(outcome.answers) == (outcome.end in {OutcomeEnd.ANSWERED, OutcomeEnd.TIE})
    assert bool(outcome.problem) != bool(outcome.answers)
    assert question.several or len(outcome.answers) <= 1
    trace = outcome.trace
    assert outcome.calls == len(trace) >= 1
    assert outcome.round_trips == max(call.round_trip for call in trace) >= 1
    assert [call.seq for call in trace] == list(range(len(trace)))
    assert [call.round_trip for call in trace] == sorted(call.round_trip for call in trace)
    purposes = [call.purpose for call in trace]
    assert all(purposes) and len(set(purposes)) == len(purposes)
    assert {call.round_trip for call in trace} == set(range(1, outcome.round_trips + 1))
    assert outcome.usage.tokens_in == sum(call.usage.tokens_in for call in trace)
    assert outcome.usage.tokens_out == sum(call.usage.tokens_out for call in trace)
    assert (outcome.usage.cost or 0) == sum(call.usage.cost or 0 for call in trace)
    assert all(bool(call.error) == bool(call.problem) for call in trace)
    # What is written to a file comes back from it.
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=type(outcome)) == outcome


@pytest.mark.slow
@variants
@each_row("kind", QUESTIONS)
async def test_any_question_is_answered(name, settings, kind):
    question, model = QUESTIONS[kind], Willing(QUESTIONS[kind])
    outcome = await outcome_of(name, settings, question, model)
    check(outcome, question)
    assert outcome.answers, (outcome.end, outcome.problem)
    assert outcome.rationale
    assert outcome.calls == len(model.prompts)
    assert all(call.usage.tokens_out == 7 for call in outcome.trace)
    assert not any(call.error for call in outcome.trace)
    # The question reaches the model whole: stem and context, and in some call every option.
    shown = ["\n".join(text for _, text in prompt) for prompt in model.prompts]
    assert all(question.stem in text and question.context.strip() in text for text in shown)
    assert any(all(option in text for option in question.options.values()) for text in shown)


@pytest.mark.slow
@variants
@each_row("kind", ["english", "chinese", "several"])
async def test_who_never_agrees_is_heard_out(name, settings, kind):
    question = QUESTIONS[kind]
    calm = await outcome_of(name, settings, question, Willing(question))
    outcome = await outcome_of(name, settings, question, Willing(question, dissents=True))
    check(outcome, question)
    assert outcome.answers
    if name == "medagents" and not any(setting.startswith("stages") for setting in settings):
        assert outcome.round_trips >= calm.round_trips
        votes = {call.purpose.split(",")[0] for call in outcome.trace if call.purpose.startswith("vote")}
        assert votes == {"vote 1", "vote 2", "vote 3"}


@variants
@each_row("kind", FAILURES)
async def test_a_model_that_never_answers_gives_no_answer(name, settings, kind):
    failure, end = FAILURES[kind]
    question = QUESTIONS["english"]
    outcome = await outcome_of(name, settings, question, Willing(question, fails=None, failure=failure))
    check(outcome, question)
    assert (outcome.end, outcome.answers) == (end, frozenset())


@pytest.mark.slow
@variants
@each_row("kind", FAILURES)
async def test_any_one_call_may_fail(name, settings, kind):
    failure, end = FAILURES[kind]
    question = QUESTIONS["english"]
    whole = (await outcome_of(name, settings, question, Willing(question))).trace
    # Of calls that differ in their numbers alone ("turn 3, expert 2"), the first and the last.
    kinds = [re.sub(r"\d+", "", call.purpose) for call in whole]
    chosen = sorted(
        {kinds.index(kind) for kind in kinds} | {len(kinds) - 1 - kinds[::-1].index(kind) for kind in kinds}
    )
    met = set()
    for number in chosen:
        model = Willing(question, fails={number}, failure=failure)
        outcome = await outcome_of(name, settings, question, model)
        check(outcome, question)
        (failed,) = [call for call in outcome.trace if call.error]
        met.add(failed.purpose)
        if end is OutcomeEnd.FAILED:
            # An endpoint's failure is never made up for by the other calls.
            assert (outcome.end, outcome.answers) == (OutcomeEnd.FAILED, frozenset()), number
        else:
            assert outcome.answers or outcome.end is end, number
            # What it cost is written down all the same.
            assert failed.usage.tokens_out == (7 if failure == "" else 0)
    assert met == {whole[number].purpose for number in chosen}  # each of them failed once


@pytest.mark.slow
@variants
async def test_the_same_seed_gives_the_same_outcome_in_whatever_order_answers_come(name, settings):
    question = QUESTIONS["english"]
    first, second, third = [
        await outcome_of(name, settings, question, Willing(question, patience=patience))
        for patience in ("", "first", "last")
    ]
    assert first == second == third


@variants
async def test_inside_a_method_of_the_user_s_it_costs_as_much(name, settings):
    question = QUESTIONS["english"]
    ours = await outcome_of(name, settings, question, Willing(question))

    async def mine(question, model):
        return await outcome_of(name, settings, question, model)

    outcome = await of_user(mine, "mine")(question, Willing(question))
    check(outcome, question)
    assert (outcome.answers, outcome.calls, outcome.round_trips) == (ours.answers, ours.calls, ours.round_trips)
    assert outcome.usage == ours.usage


@each_row("name", METHODS)
async def test_no_key_reaches_a_prompt(name):
    asked = []
    for key in FOUR:
        model = Willing(QUESTIONS["english"])
        (chosen,) = choose([name])
        put = answering(chosen, lambda _, model=model: model)
        await exam([ExamQuestion(question=QUESTIONS["english"], key=(key,), subject="hearts")]).hold(
            {"m": Entrant(label="m", puts=[put])}
        )
        asked.append(sorted(map(repr, model.prompts)))
    assert all(prompts == asked[0] for prompts in asked)


async def test_every_setting_can_be_given_as_text():
    """Each setting of each method takes its own default, written as a user would, and changes nothing."""
    question = QUESTIONS["english"]
    for name, method in METHODS.items():
        defaults = {k: p.default for k, p in inspect.signature(method.run).parameters.items() if k in settable(name)}
        texts = [f"{k}={'none' if v is None else '' if v == () else v}" for k, v in defaults.items()]
        plain = await outcome_of(name, [], question, Willing(question))
        assert await outcome_of(name, texts, question, Willing(question)) == plain, name
    assert set(itertools.chain.from_iterable(map(settable, METHODS))) >= {"max_rounds", "samples", "shuffles", "depth"}


def test_a_setting_that_changes_nothing_is_refused_and_one_that_may_be_few_lists_them():
    for name, given, told in (
        ("tree_of_reasoning", ["removed=withheld"], "needs without=laboratory"),
        ("tree_of_reasoning", ["cross_verification=false", "turns=3"], "needs cross_verification=true"),
        ("tree_of_reasoning", ["tree=false", "evidence=supported"], "needs tree=true"),
        ("medagents", ["stages=summary", "votes=separate"], "needs stages=consultation"),
        ("tree_of_thought", ["voters=5"], "needs evaluation=vote"),
        ("mdagents", ["level=low", "experts=3"], "needs level=moderate"),
        ("mdagents", ["level=moderate", "members=3"], "needs level=high"),
        ("medagents", ["votes=each"], "allowed: "),
        ("few_shot", ["neighbours_by=luck"], "none"),
    ):
        with pytest.raises(UserError, match=re.escape(told)):
            choose([name], given)
    choose(["tree_of_reasoning"], ["removed=withheld", "without=radiology"])
    choose(["mdagents"], ["level=high", "members=3"])
