"""Two doctors' dialogues of one case side by side before a judge (aie-saps §2.4, §4.4.3).

1. Every pair of doctors on every case that both have seen, as a doctor judges it and as a patient does.
2. Each in both orders; orders that disagree are a tie. A comparison that lacks an order counts for nobody.
3. By view and criterion: win rates without ties, Bradley-Terry strengths, and how much the order alone decides.

The judge sees what was said, and neither the doctors' names nor the options they chose. Only as a doctor it is told
what is right, for the criterion `diagnosis` (the paper does not say what its judge was told).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.events import End, Examined, Opened, Role, Said, Trace
from polyclinic.judges.judging import Exhibit, Judging, Ruling, answer_type, spoken
from polyclinic.judges.pair_judgements import CRITERIA, Better, Judgements, Preference, View, judgements_of
from polyclinic.models.model import Model
from polyclinic.visits.visit import Visit

_ANSWERS = {
    view: answer_type(f"As{view.title()}", [("analysis", str), *((criterion, Better) for criterion in criteria)])
    for view, criteria in CRITERIA.items()
}


class Side(NamedTuple):
    """A doctor and what was said, an utterance each."""

    doctor: str
    said: Sequence[str]


class Pair(NamedTuple):
    """Two dialogues of one case, and as whom they are judged."""

    case: Case
    view: View
    first: Side
    second: Side


def _shown(pair: Pair) -> Exhibit:
    texts = {"first": pair.first.said, "second": pair.second.said, "truth": [_right(pair.case)]}
    language = pair.case.presentation.language
    return Exhibit(language, pair.view, (f"{pair.view}_shown",), texts, _ANSWERS[pair.view], f"judge as {pair.view}")


def _right(case: Case) -> str:
    """Returns the case's question with its right option, as not every one asks for a diagnosis; else the diagnoses."""
    if case.question is not None:
        right = [case.question.options[key] for key in case.truth.answers if key in case.question.options]
        if right:
            return f"{case.question.stem} {'; '.join(right)}"
    return "; ".join(diagnosis.name for diagnosis in case.truth.diagnoses)


def _turned(pair: Pair) -> Pair:
    return pair._replace(first=pair.second, second=pair.first)


JUDGING = Judging(Path(__file__).with_suffix(".md"), _shown, bullet="", turn=_turned)


async def judge_pairs(
    visits_by_doctor: Mapping[str, Sequence[Visit]],
    judge: Model,
    *,
    cases: Sequence[Case],
    seed: int,
    temperature: float | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Judgements:
    """Lets a judge, best of another family than every doctor, compare all pairs of doctors; see `Judging.judge`.

    Of two doctors' several visits to one case the first meets the first, and so on. The seed is the bootstrap's.
    """
    pairs, without = _pairs(visits_by_doctor, cases)
    rulings = await JUDGING.judge(pairs, judge, temperature=temperature, advance=advance)
    orders = (order for pair in pairs for order in (pair, _turned(pair)))
    preferences = tuple(_preference(pair, ruling) for pair, ruling in zip(orders, rulings, strict=True))
    return judgements_of(judge.name, JUDGING.prompts, preferences, without=without, seed=seed)


def _preference(pair: Pair, ruling: Ruling) -> Preference:
    better = {} if ruling.value is None else msgspec.structs.asdict(ruling.value)
    return Preference(
        case=pair.case.id,
        view=pair.view,
        first=pair.first.doctor,
        second=pair.second.doctor,
        analysis=better.pop("analysis", ""),
        better=better,
        error=ruling.error,
        failed=ruling.failed,
    )


def _pairs(visits_by_doctor: Mapping[str, Sequence[Visit]], cases: Sequence[Case]) -> tuple[list[Pair], int]:
    """Returns every pair as every view sees it, and how many pairs there is nothing to show of."""
    said: dict[tuple[str, str], list[Side]] = {}
    for doctor, visits in visits_by_doctor.items():
        for visit in visits:
            dialogue = () if visit.end is End.FAILED else said_in(visit.trace)
            said.setdefault((doctor, visit.case), []).append(Side(doctor, dialogue))
    pairs: list[Pair] = []
    without = 0
    for case, (a, b) in product(cases, combinations(visits_by_doctor, 2)):
        for one, other in zip(said.get((a, case.id), []), said.get((b, case.id), []), strict=False):
            if one.said and other.said:
                pairs += [Pair(case, view, one, other) for view in CRITERIA]
            else:
                without += 1
    return pairs, without


def said_in(trace: Trace) -> tuple[str, ...]:
    """Returns a dialogue for the judge, utterance by utterance; nothing where the doctor said nothing."""
    opened = trace.last(Opened)
    language = opened.presentation.language if opened is not None else "en"
    told = [
        (event.who if isinstance(event, Said) else Role.EXAMINER, event.text)
        for event in trace
        if isinstance(event, Said | Examined)
    ]
    spoke = any(who is Role.DOCTOR for who, _ in told)
    return tuple(spoken(who, text, language) for who, text in told) if spoke else ()
