"""Two doctors' dialogues of one case, compared by a judge (aie-saps §2.4, §4.4.3).

1. Every pair of doctors is judged on every case that both have seen, as a doctor and as a patient would.
2. Each is judged in both orders; if these disagree it is a tie. If an order is missing the comparison does not count.
3. By view and criterion: win rates without ties, Bradley-Terry strengths, and the effect of the order.

The judge sees the dialogue, but not the doctors' names or the options they chose. As a doctor it also sees the truth,
for the criterion `diagnosis` (the paper does not say what its judge was told).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.events import End, Examined, Opened, Role, Said, Trace
from polyclinic.judging.model_judging import Exhibit, Judging, answer_type, failures, spoken
from polyclinic.models.model import Model
from polyclinic.statistics.pairwise import Comparison, Standings, standings
from polyclinic.visits.visit import Visit

View = Literal["doctor", "patient"]
Better = Literal["first", "second", "tie"]

CRITERIA: dict[View, tuple[str, ...]] = {
    "doctor": ("inquiry", "logic", "diagnosis", "patient", "total"),
    "patient": ("effective", "clear", "understand", "empathy", "total"),
}

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
    is_turned: bool = False

    @property
    def turned(self) -> Pair:
        """The same with the other dialogue first."""
        return self._replace(first=self.second, second=self.first, is_turned=True)


def _shown(pair: Pair) -> Exhibit:
    case, language = pair.case, pair.case.presentation.language
    truth = "; ".join(diagnosis.name for diagnosis in case.truth.diagnoses)
    if case.question is not None:  # not every question asks for a diagnosis
        right = [case.question.options[key] for key in case.truth.answers if key in case.question.options]
        truth = f"{case.question.stem} {'; '.join(right)}" if right else truth
    texts = {"first": pair.first.said, "second": pair.second.said, "truth": [truth]}
    # A purpose an order: two doctors who said the same would have one question put twice at a time.
    purpose = f"judge as {pair.view}{', turned' if pair.is_turned else ''}"
    return Exhibit(language, pair.view, (f"{pair.view}_shown",), texts, _ANSWERS[pair.view], purpose)


JUDGING = Judging(Path(__file__).with_suffix(".md"), _shown, bullet="")


class Preference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A judge's preference between two dialogues in one order, by criterion; empty if no answer could be used."""

    case: str
    view: View
    first: str
    second: str
    analysis: str = ""
    better: dict[str, Better] = {}
    error: str = ""
    failed: bool = False

    def winner(self, criterion: str) -> str | None:
        """Returns the doctor who is better by a criterion; None is a tie."""
        return {"first": self.first, "second": self.second}.get(self.better[criterion])


class CriterionResult(Standings, frozen=True, kw_only=True):
    """The result of one criterion; each comparison was judged in both orders, and disagreements are ties."""

    disagreements: int  # comparisons in which the orders did not agree
    first_wins: float | None  # percent of decided answers for the dialogue shown first; 50 if the order does not matter


class Judgements(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a judge said, and the hash of its prompts."""

    judge: str
    prompts: str
    views: dict[View, dict[str, CriterionResult]]
    unreadable: dict[str, int]  # as in `failures`, and so is `failed`
    failed: dict[str, int]
    incomplete: int  # comparisons of a view that lack an order for that, and count for nobody
    without: int  # pairs of doctors on a case that were not judged, as a visit failed or its doctor said nothing
    calls: tuple[Preference, ...]  # every question; the two orders of a comparison follow each other

    def comparisons(self, view: View, criterion: str) -> list[Comparison]:
        """Returns who won against whom by a criterion, in both orders of asking."""
        return _compared(_complete(self.calls, view), criterion)


async def judge_pairs(
    visits_by_doctor: Mapping[str, Sequence[Visit]],
    judge: Model,
    *,
    cases: Sequence[Case],
    seed: int,
) -> Judgements:
    """Has a judge compare all pairs of doctors; see `Judging.judge`. The seed is the bootstrap's.

    If doctors see a case several times, first visits are compared with first visits, and so on.
    """
    pairs, without = _pairs(visits_by_doctor, cases)
    orders = [order for pair in pairs for order in (pair, pair.turned)]
    calls = []
    for pair, ruling in zip(orders, await JUDGING.judge(orders, judge), strict=True):
        said = ruling.said
        names: dict[str, Any] = {"case": pair.case.id, "view": pair.view}
        names |= {"first": pair.first.doctor, "second": pair.second.doctor}
        better = {criterion: said.pop(criterion) for criterion in CRITERIA[pair.view] if criterion in said}
        calls.append(Preference(**names, **said, better=better))
    return judgements_of(judge.name, JUDGING.prompts, tuple(calls), without=without, seed=seed)


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


def _complete(calls: Sequence[Preference], view: View) -> list[tuple[Preference, Preference]]:
    pairs = zip(calls[::2], calls[1::2], strict=True)
    return [(one, other) for one, other in pairs if one.view == view and one.better and other.better]


def _compared(pairs: Sequence[tuple[Preference, Preference]], criterion: str) -> list[Comparison]:
    found = []
    for one, other in pairs:
        winner = one.winner(criterion)
        agreed = winner if winner == other.winner(criterion) else None
        found.append(Comparison(one.first, one.second, agreed, one.case))
    return found


def judgements_of(judge: str, prompts: str, calls: tuple[Preference, ...], *, without: int, seed: int) -> Judgements:
    """Returns what a judge's answers come to; the two orders of a comparison follow each other among the calls."""
    unreadable, failed = failures(calls)
    complete = {view: _complete(calls, view) for view in CRITERIA}
    views: dict[View, dict[str, CriterionResult]] = {view: {} for view in CRITERIA}
    for view, pairs in complete.items():
        for criterion in CRITERIA[view]:
            said = [call.better[criterion] for pair in pairs for call in pair]
            decided = len(said) - said.count("tie")
            views[view][criterion] = CriterionResult(
                **msgspec.structs.asdict(standings(_compared(pairs, criterion), seed=seed)),
                disagreements=sum(one.winner(criterion) != other.winner(criterion) for one, other in pairs),
                first_wins=100 * said.count("first") / decided if decided else None,
            )
    return Judgements(
        judge=judge,
        prompts=prompts,
        views=views,
        unreadable=unreadable,
        failed=failed,
        incomplete=len(calls) // 2 - sum(map(len, complete.values())),
        without=without,
        calls=calls,
    )
