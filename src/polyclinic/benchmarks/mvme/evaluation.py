"""MVME: interns and teams of them see patients, and the medical director grades their reports (ai-hospital §3-6).

1. Every entrant (a doctor, or a team that settles its disputes) sees every patient, or reads every whole record.
2. The director grades each report in five aspects, 1 to 4 (Table 2).
3. The diagnoses are linked to ICD-10 and compared with the reference's as sets (Table 3).
4. Beside: by department, why diagnoses graded 1 went wrong (Table 5), rounds to consensus (Figure 4), and how many
   questions and examinations a visit took (#QA, #Test).

Visits do not depend on one another and run at once, and so do the gradings. A doctor whose answer cannot be used has
handed in no report: it is graded 1 in every aspect and names nothing, as nobody gains by being unreadable. A visit that
failed otherwise (an endpoint, the patient, the examiner) is outside every mean, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec

from polyclinic.benchmarks.benchmark import Benchmark
from polyclinic.benchmarks.mvme.results import Entrant, EntrantResult, MvmePlay, entrant_result, examined
from polyclinic.cases.case import Case
from polyclinic.events import Failed, Order, Role, Shared
from polyclinic.frames import Tabular
from polyclinic.judges.director import Judge, without_report
from polyclinic.judges.failure_reasons import FailureReason, Missed, find_reasons, is_missed
from polyclinic.judges.sorting import Words
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language
from polyclinic.metrics.director import Protocol, Ties, ties
from polyclinic.metrics.grades import Aspect, Judgement
from polyclinic.metrics.icd.linking import Linker
from polyclinic.models.model import Model
from polyclinic.players.roles.examiner import Missing
from polyclinic.statistics.uncertainty import Difference, holm, paired_difference
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.dispute_resolution import MAX_ROUNDS
from polyclinic.visits.team import TeamVisit, confer
from polyclinic.visits.visit import Visit, see


class Versus(msgspec.Struct, frozen=True, kw_only=True):
    """The first entrant's grades less the second's in one aspect, on the cases that both have a grade on.

    `p_holm` is corrected for everything that was compared at once.
    """

    first: str
    second: str
    aspect: Aspect
    difference: Difference
    p_holm: float | None = None


class MvmeResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """All entrants, every two of them compared, and what the judge cannot tell apart.

    `judge_prompts` is the hash of its prompts, or of the numbers that its rules were fitted to.
    """

    judge: str
    judge_version: int
    judge_prompts: str
    entrants: tuple[EntrantResult, ...]
    comparisons: tuple[Versus, ...]
    ties: tuple[Ties, ...]


def mvme(
    cases: Sequence[Case],
    *,
    judge: Judge,
    knowledge: Knowledge,
    linkers: Mapping[Language, Linker] | None = None,
    reason_judge: Model | None = None,
    words: Words[FailureReason] | None = None,
    max_turns: int = MAX_TURNS,
    order: Order = Order.PARALLEL,
    max_rounds: int = MAX_ROUNDS,
    disputes: bool = True,
    missing: Missing = "not recorded",
    protocol: Protocol = "readable",
    seed: int = 0,
) -> Benchmark[Case, Entrant, Visit | TeamVisit, Judgement | None, MvmeResult]:
    """Returns the evaluation; its players are the entrants, the reference the cases' diagnoses, rationale, treatment.

    Why a diagnosis graded 1 went wrong is what people say (`words`), else `reason_judge`, else rules that need the
    knowledge. `linkers` link names to ICD-10; a team is shown the points of dispute where `disputes` says so; `missing`
    is what an examiner says of what is not recorded; the `protocol` of the paper counts a missing grade as 1.
    """

    async def play(case: Case, entrant: Entrant) -> Visit | TeamVisit:
        if len(entrant.minds) == 1:
            minds = entrant.minds[0]
            return await see(case, minds, max_turns=max_turns, in_one_step=entrant.one_step, missing=missing)
        return await confer(
            case,
            entrant.minds,
            max_turns=max_turns,
            in_one_step=entrant.one_step,
            order=order,
            max_rounds=max_rounds,
            disputes=disputes,
            missing=missing,
        )

    async def score(case: Case, entrant: Entrant, visit: Visit | TeamVisit) -> Judgement | None:
        judged = await grade(case, visit, judge, one_step=entrant.one_step)
        return None if judged is None else msgspec.structs.replace(judged, doctor=entrant.name)

    async def result(name: str, plays: Sequence[MvmePlay]) -> EntrantResult:
        said = {key: word for key, word in (words or {}).items() if key[1] == name}
        reasons = await find_reasons(_misses(name, plays), judge=reason_judge, knowledge=knowledge, words=said)
        return entrant_result(name, plays, reasons, linkers=linkers or {}, protocol=protocol, seed=seed)

    async def summarise(plays: Mapping[str, Sequence[MvmePlay]]) -> MvmeResult:
        entrants = tuple([await result(name, theirs) for name, theirs in plays.items()])
        return MvmeResult(
            judge=judge.name,
            judge_version=judge.version,
            judge_prompts=judge.prompts,
            entrants=entrants,
            comparisons=_compared(entrants, seed),
            ties=tuple(ties([judgement for one in entrants for judgement in one.judgements])),
        )

    return Benchmark(items=cases, play=play, score=score, summarise=summarise)


async def grade(case: Case, visit: Visit | TeamVisit, judge: Judge, *, one_step: bool) -> Judgement | None:
    """Returns the director's judgement on a visit; None where it failed and no doctor is to blame for the report."""
    if visit.report is not None:
        return await judge.grade(case, visit.report, one_step=one_step)
    failure = _to_blame(visit)
    return None if failure is None else without_report(case, judge, failure.error, one_step=one_step)


def _to_blame(visit: Visit | TeamVisit) -> Failed | None:
    """Returns the failure where a doctor, or who chairs, gave no usable answer, and so no report; else None."""
    failures = [event for event in visit.trace if isinstance(event, Failed)]
    if visit.trace.last(Shared) is not None or isinstance(visit, Visit):
        # The last one ended it. Before a discussion, all doctors failed.
        failures = failures[-1:]
    blamed = all(f.answered and f.who in (Role.DOCTOR, Role.DIRECTOR) for f in failures)
    return failures[0] if failures and blamed else None


def _misses(name: str, plays: Sequence[MvmePlay]) -> list[Missed]:
    return [
        Missed(
            case=play.item,
            doctor=name,
            report=play.played.report,
            done=None if play.player.one_step else examined(play.played),
        )
        for play in plays
        if play.scored is not None and play.played.report is not None and is_missed(play.scored)
    ]


def _compared(entrants: Sequence[EntrantResult], seed: int) -> tuple[Versus, ...]:
    found = []
    for first, second in combinations(entrants, 2):
        theirs = {judgement.case: judgement.grades for judgement in second.judgements}
        for aspect in Aspect:
            graded = [(one.grades.get(aspect), theirs.get(one.case, {}).get(aspect)) for one in first.judgements]
            both = [(float(a), float(b)) for a, b in graded if a is not None and b is not None]
            if both:
                difference = paired_difference([a for a, _ in both], [b for _, b in both], seed=seed)
                found.append(Versus(first=first.name, second=second.name, aspect=aspect, difference=difference))
    corrected = holm([one.difference.p for one in found])
    return tuple(msgspec.structs.replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True))
