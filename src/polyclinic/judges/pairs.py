"""Two doctors' dialogues of one case side by side before a judge (aie-saps §2.4, §4.4.3).

1. Every pair of doctors on every case that both have seen, as a doctor judges it and as a patient does.
2. Each in both orders; orders that disagree are a tie. A comparison that lacks an order counts for nobody.
3. By view and criterion: win rates without ties, Bradley-Terry strengths, and how much the order alone decides.

The judge sees what was said, and neither the doctors' names nor the options they chose. Only as a doctor it is told
what is right, for the criterion `diagnosis` (the paper does not say what its judge was told).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import EndpointError, PlayFailure, ScriptError
from polyclinic.events import End, Examined, Opened, Role, Said, Trace
from polyclinic.judges.pair_judgements import CRITERIA, Better, Call, Judgements, View, judgements_of
from polyclinic.language.language import Language
from polyclinic.models.model import Message, Model
from polyclinic.prompts import read_prompts
from polyclinic.tasks import run_all
from polyclinic.visits.visit import Visit

PROMPTS = Path(__file__).with_suffix(".md")


_ANSWERS = {
    view: msgspec.defstruct(
        f"As{view.title()}",
        [("analysis", str), *((criterion, Better) for criterion in criteria)],
        frozen=True,
        forbid_unknown_fields=True,
    )
    for view, criteria in CRITERIA.items()
}
_WHO: dict[Language, dict[Role, str]] = {
    "en": {Role.DOCTOR: "Doctor", Role.PATIENT: "Patient", Role.EXAMINER: "Examination department"},
    "zh": {Role.DOCTOR: "医生", Role.PATIENT: "病人", Role.EXAMINER: "检查科"},
}
_RULE = re.compile("={3,}")


async def judge_pairs(
    visits_by_doctor: Mapping[str, Sequence[Visit]],
    judge: Model,
    *,
    cases: Sequence[Case],
    seed: int,
    temperature: float | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Judgements:
    """Lets a judge compare all pairs of doctors, all questions at once.

    Args:
        visits_by_doctor: by the doctor's name; of several visits to one case, the first meets the first, and so on.
        judge: a model, best of another family than every doctor.
        cases: those that are judged; they say what is right.
        seed: of the bootstrap.
        temperature: of the judge; None leaves it to the server.
        advance: called after each question.

    Raises:
        WrongKey: the endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    questions, without = _questions(visits_by_doctor, cases)

    async def ask(question: _Question) -> Call:
        call = question.call
        messages = messages_for(call.view, question.case, question.first, question.second)
        answer = _ANSWERS[call.view]
        try:
            reply = await judge.ask(messages, answer=answer, temperature=temperature, purpose=question.purpose)
        except PlayFailure as failure:
            failed = isinstance(failure, EndpointError | ScriptError)
            return msgspec.structs.replace(call, error=type(failure).__name__, failed=failed)
        finally:
            advance()
        better = msgspec.structs.asdict(reply.value)
        return msgspec.structs.replace(call, analysis=better.pop("analysis"), better=better)

    calls = tuple(await run_all(partial(ask, question) for question in questions))
    texts = b"".join(path.read_bytes() for path in (PROMPTS, PROMPTS.with_suffix(".zh.md")))
    return judgements_of(judge.name, hashlib.sha256(texts).hexdigest()[:16], calls, without=without, seed=seed)


class _Question(NamedTuple):
    call: Call
    case: Case
    first: str
    second: str
    purpose: str


def _questions(visits_by_doctor: Mapping[str, Sequence[Visit]], cases: Sequence[Case]) -> tuple[list[_Question], int]:
    """Returns every question, both orders in a row, and how many pairs there is nothing to show of."""
    said: dict[tuple[str, str], list[str | None]] = {}
    for doctor, visits in visits_by_doctor.items():
        for visit in visits:
            dialogue = None if visit.end is End.FAILED else said_in(visit.trace)
            said.setdefault((doctor, visit.case), []).append(dialogue)
    questions: list[_Question] = []
    without = 0
    for case, (a, b) in product(cases, combinations(visits_by_doctor, 2)):
        for one, other in zip(said.get((a, case.id), []), said.get((b, case.id), []), strict=False):
            if one is None or other is None:
                without += 1
                continue
            for view in CRITERIA:
                forth = Call(case=case.id, view=view, first=a, second=b)
                back = Call(case=case.id, view=view, first=b, second=a)
                # A purpose an order: two doctors who said the same would have one question put twice at a time.
                questions.append(_Question(forth, case, one, other, f"judge as {view}"))
                questions.append(_Question(back, case, other, one, f"judge as {view}, turned"))
    return questions, without


def said_in(trace: Trace) -> str | None:
    """Returns a dialogue for the judge, an utterance a line; None where the doctor said nothing.

    A line break in what is said becomes a blank, and a row of equals signs one: no utterance can end its line or look
    like the end of its dialogue.
    """
    opened = trace.last(Opened)
    who = _WHO[opened.presentation.language if opened is not None else "en"]
    lines, spoke = [], False
    for event in trace:
        if isinstance(event, Said | Examined):
            speaker = event.who if isinstance(event, Said) else Role.EXAMINER
            lines.append(f"{who[speaker]}: {_on_one_line(event.text)}")
            spoke = spoke or speaker is Role.DOCTOR
    return "\n".join(lines) if spoke else None


def _on_one_line(text: str) -> str:
    return _RULE.sub("=", " ".join(text.split()))


def messages_for(view: View, case: Case, first: str, second: str) -> list[Message]:
    """Returns what the judge is told; what is right, only as a doctor."""
    prompts = read_prompts(PROMPTS)[case.presentation.language]
    blanks = {"first": first, "second": second}
    if view == "doctor":
        blanks["truth"] = _right(case)
    return [("system", prompts(view)), ("user", prompts(f"{view}_shown", **blanks))]


def _right(case: Case) -> str:
    """Returns the case's question with its right option, as not every one asks for a diagnosis; else the diagnoses."""
    if case.question is not None:
        right = [case.question.options[key] for key in case.truth.answers if key in case.question.options]
        if right:
            return _on_one_line(f"{case.question.stem} {'; '.join(right)}")
    return _on_one_line("; ".join(diagnosis.name for diagnosis in case.truth.diagnoses))
