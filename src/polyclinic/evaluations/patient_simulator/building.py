"""A test set for simulated patients, made of cases: 50 of them, 10 rounds, 8 questions a round (aie-saps §2.2.1).

1. A model writes a dialogue for each case; offline the rules play it.
2. Before the first round and after each but the last, it writes a question of each of eight kinds with the right
   answer; offline these are the knowledge's questions and set phrases.
3. The answer to an effective question must be a passage of the patient's information: other words are matched to the
   nearest passage, and counted. Offline, ineffective questions are checked to be about something unknown.

The set has AIE's labelled layout, and the dialogue (`dialogue`). Its labels (`human_state`) are the kinds the questions
were written to be; people still have to check them, as in the paper, and to reply themselves (`human_answer`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import read_out
from polyclinic.evaluations.patient_simulator.evaluation import LabelledRecord, LabelledTest, Round, Vignette
from polyclinic.events import EFFECTIVE, Role, Said, State
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import lexicon_of
from polyclinic.language.language import Language
from polyclinic.metrics.dialogue import information_of
from polyclinic.models.model import Message, Model
from polyclinic.players.language_model.speaking import named as with_name
from polyclinic.players.language_model.speaking import nearest, standing
from polyclinic.players.minds import Minds
from polyclinic.players.staging import Staging
from polyclinic.prompts import read_prompts
from polyclinic.seeds import derive
from polyclinic.visits.visit import see
from polyclinic.yaml_files import read_yaml

CASES, ROUNDS = 50, 10
"""The paper's set: with eight questions a round, 4,000."""

KINDS = tuple(state for state in State if state not in (State.OPENING, State.CONCLUSION))
"""The eight kinds that a question is written to be."""

PROMPTS = Path(__file__).with_suffix(".md")

_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]


class WrittenRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a doctor and a patient say to each other."""

    doctor: _Line
    patient: _Line


class WrittenDialogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dialogue that a model wrote."""

    rounds: tuple[WrittenRound, ...]


class WrittenTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A doctor's turn of one kind, and the patient's right answer."""

    question: _Line
    answer: _Line


_QUESTIONS = msgspec.defstruct(
    "WrittenQuestions",
    [("analysis", str), *((state.name.lower(), WrittenTest) for state in KINDS)],
    frozen=True,
    forbid_unknown_fields=True,
)


class BuiltCase(msgspec.Struct, frozen=True, kw_only=True):
    """One case of the set, as the file has it; `matched` counts answers that were in other words than the information.

    `lacking` counts questions that could not be asked of this case: it has no result, or none is left to ask for.
    """

    record: dict[str, Any]
    questions: int
    matched: int = 0
    lacking: int = 0


def _built(case: Case, rounds: Sequence[WrittenRound], tests: Mapping[int, Mapping[State, WrittenTest]]) -> BuiltCase:
    """Returns a case in AIE's layout, what is effective in the information's own words."""
    information, matched = information_of(case), 0
    by_length: dict[str, dict[str, LabelledTest]] = {str(length): {} for length in tests}
    for length, asked in tests.items():
        for state, one in asked.items():
            answer = one.answer
            if state in EFFECTIVE and not standing([answer], information):
                answer, matched = nearest(answer, information), matched + 1
            test = LabelledTest(question=one.question, answer=answer, human_answer="", human_state=state)
            by_length[str(length)][str(state)] = test
    said = [Round(one.doctor, one.patient) for one in rounds]
    record = LabelledRecord(id=case.id, raw_data=Vignette(information), patient_test=by_length, dialogue=said)
    questions = sum(map(len, tests.values()))
    return BuiltCase(
        record=msgspec.to_builtins(record),
        questions=questions,
        matched=matched,
        lacking=len(tests) * len(KINDS) - questions,
    )


async def build_by_model(
    case: Case, model: Model, *, rounds: int = ROUNDS, temperature: float | None = None
) -> BuiltCase:
    """Has a model write a case's dialogue and questions, a call for the dialogue and one behind each round.

    Fails as `Model.ask`.
    """
    prompts = read_prompts(PROMPTS)[case.presentation.language]
    known = prompts("information", information=information_of(case))
    messages: list[Message] = [("system", prompts("dialogue", rounds=rounds)), ("user", known)]
    reply = await model.ask(messages, answer=WrittenDialogue, temperature=temperature, purpose="dialogue")
    written: tuple[WrittenRound, ...] = reply.value.rounds[:rounds]
    tests: dict[int, dict[State, WrittenTest]] = {}
    for length in range(len(written)):
        lines = [
            with_name(Said(seq=0, turn=0, who=who, to=Role.PATIENT, text=text), case.presentation.language)
            for one in written[:length]
            for who, text in ((Role.DOCTOR, one.doctor), (Role.PATIENT, one.patient))
        ]
        said = "\n".join(lines) or prompts("nothing said")
        messages = [("system", prompts("questions")), ("user", f"{known}\n\n{prompts('so far', said=said)}")]
        reply = await model.ask(messages, answer=_QUESTIONS, temperature=temperature, purpose="questions")
        tests[length] = {state: getattr(reply.value, state.name.lower()) for state in KINDS}
    return _built(case, written, tests)


async def build_by_rules(case: Case, knowledge: Knowledge, *, rounds: int = ROUNDS, seed: int = 0) -> BuiltCase:
    """Makes a case's dialogue and questions without a model: for generated cases, whose words the knowledge has.

    Where the rules' doctor has finished before the last round, questions and their answers go on from there.
    """
    visit = await see(case, Minds(knowledge=knowledge, seed=seed), max_turns=rounds, staging=Staging(online=True))
    said: dict[int, dict[Role, str]] = {}
    for event in visit.trace:
        if isinstance(event, Said) and event.turn:
            said.setdefault(event.turn, {})[event.who] = event.text
    # The doctor's last words, with which it ends, have no reply.
    written = [WrittenRound(turn[Role.DOCTOR], turn[Role.PATIENT]) for turn in said.values() if len(turn) > 1][:rounds]
    further = _questions(case, knowledge, derive(seed, case.id, "dialogue"))
    for number, asked in zip(range(len(written), rounds), further, strict=False):
        state = State.EFFECTIVE_INQUIRY if number % 2 else State.INEFFECTIVE_INQUIRY
        one = asked.get(state) or asked[State.AMBIGUOUS_INQUIRY]
        written.append(WrittenRound(one.question, one.answer))
    tests = zip(range(len(written)), _questions(case, knowledge, derive(seed, case.id, "patient test")), strict=False)
    return _built(case, written, dict(tests))


class _Phrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ambiguous_inquiry: list[str]
    ambiguous_advice: list[str]
    demand: list[str]
    other_topic: list[str]
    advice: list[str]
    answers: dict[str, str]


def _questions(case: Case, knowledge: Knowledge, rng: random.Random) -> Iterator[dict[State, WrittenTest]]:
    """Yields a question of each kind for one patient, without end, none twice while there are others."""
    language, person, history = case.presentation.language, case.presentation, case.record.history
    lexicon, symptoms = lexicon_of(knowledge, language), knowledge.symptoms
    read = lexicon.read_all([text for _, text in history.sections()])
    told = {id: text for text in history.symptoms for id, has in lexicon.read(text).items() if has}
    done = {finding.examination for finding in case.record.findings}
    results = read_out(case.record.findings, language)
    advised = {name: text for text in results for name in done if text.startswith(name)}
    named = [one.name.get(language) for one in knowledge.examinations.values()]
    undone = [name for name in named if name not in done]
    possible = [id for id, one in symptoms.items() if id not in read and one.possible(person.age, person.sex)]
    phrases = read_yaml(Path(__file__).with_suffix(".yaml"), dict[Language, _Phrases])[language]
    advice, answers = phrases.advice, phrases.answers
    stocks: dict[State, list[tuple[str, str]]] = {
        State.EFFECTIVE_INQUIRY: [(symptoms[id].question.get(language), text) for id, text in told.items()],
        State.INEFFECTIVE_INQUIRY: [(symptoms[id].question.get(language), answers["no"]) for id in possible],
        State.AMBIGUOUS_INQUIRY: [(text, answers["which question"]) for text in phrases.ambiguous_inquiry],
        State.EFFECTIVE_ADVICE: [(rng.choice(advice).format(name), text) for name, text in advised.items()],
        State.INEFFECTIVE_ADVICE: [(rng.choice(advice).format(name), answers["not done"]) for name in undone],
        State.AMBIGUOUS_ADVICE: [(text, answers["which advice"]) for text in phrases.ambiguous_advice],
        State.DEMAND: [(text, answers["online"]) for text in phrases.demand],
        State.OTHER_TOPIC: [(text, answers["back"]) for text in phrases.other_topic],
    }
    for stock in stocks.values():
        rng.shuffle(stock)
    for place in itertools.count():
        yield {state: WrittenTest(*stock[place % len(stock)]) for state, stock in stocks.items() if stock}
