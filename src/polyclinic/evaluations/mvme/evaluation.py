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

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations

import msgspec

from polyclinic.answering.calls import needed, together
from polyclinic.cases.case import Case
from polyclinic.evaluations.evaluation import Plays
from polyclinic.evaluations.mvme.results import Entrant, EntrantResult, MvmePlay, entrant_result, examined, pair_of
from polyclinic.events import Failed, Order, Role, Shared
from polyclinic.frames import Tabular
from polyclinic.judging.director import Judge, without_report
from polyclinic.judging.disease_names import Extracted, extract_diseases
from polyclinic.judging.failure_reasons import FailureReason, Missed, find_reasons, is_missed
from polyclinic.judging.sorting import Words
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language
from polyclinic.metrics.grades import Aspect, Judgement
from polyclinic.metrics.icd.linking import Linker
from polyclinic.metrics.icd.scores import texts_of
from polyclinic.metrics.recorded_reports import MissingGrade, Ties, ties
from polyclinic.models.model import Model
from polyclinic.models.tally import CallTally, SharedAnswers
from polyclinic.players.minds import Minds
from polyclinic.players.player import ALONE, Seat
from polyclinic.players.roles.examiner import Missing
from polyclinic.statistics.uncertainty import Difference, holm, paired_difference
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.dispute_resolution import MAX_ROUNDS
from polyclinic.visits.team import TeamVisit, joining, meet, team_name
from polyclinic.visits.visit import OURS, Attended, Staging, Visit, attend


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

    `judge_prompts` is the hash of its prompts, or of the numbers that its rules were fitted to; `names_by` the model
    that read the diseases out of the diagnoses, "" where they are as typed, and `names_by_rules` how often rules had
    to, by the name of the failure.
    """

    judge: str
    judge_version: int
    judge_prompts: str
    entrants: tuple[EntrantResult, ...]
    comparisons: tuple[Versus, ...]
    ties: tuple[Ties, ...]
    names_by: str = ""
    names_by_rules: dict[str, int] = {}


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
    missing: Missing = "not recorded",
    missing_grade: MissingGrade = "left out",
    names_by: Model | None = None,
    staging: Staging = OURS,
    seed: int = 0,
) -> Plays[Case, Entrant, Visit | TeamVisit, Judgement | None, MvmeResult]:
    """Returns the evaluation; its players are the entrants, the reference the cases' diagnoses, rationale, treatment.

    Why a diagnosis graded 1 went wrong is what people say (`words`), else `reason_judge`, else rules that need the
    knowledge. `linkers` link names to ICD-10, which `names_by` reads out of the diagnoses first, where that is a model;
    `missing` is what an examiner says of what is not recorded, and `missing_grade` what becomes of an aspect that the
    judge did not grade.

    A doctor sees a patient once: alone and in every team it is the same consultation, of which each team hears. What
    two teams ask alike (one may be the other's ablation) is asked once. The calls of a case are an entrant's where its
    report would not be there without them, whoever asked first, and as many as were shared stand beside.
    """
    shared = SharedAnswers()
    tallies: defaultdict[tuple[str, Entrant], CallTally] = defaultdict(CallTally)
    consulted = _Consultations(max_turns=max_turns, missing=missing, staging=staging)

    async def play(case: Case, entrant: Entrant) -> Visit | TeamVisit:
        tally = tallies[case.id, entrant]
        if len(entrant.minds) == 1:
            return (await consulted.of(case, entrant.minds[0], tally, one_step=entrant.one_step)).visit
        # A mind that sits in a team twice sees the patient twice: else it would hear itself.
        places = [entrant.minds[:place].count(minds) for place, minds in enumerate(entrant.minds)]
        seen = [
            needed(one)
            for one in await together(
                *(
                    consulted.of(case, minds, tally, one_step=entrant.one_step, again=again)
                    for minds, again in zip(entrant.minds, places, strict=True)
                )
            )
        ]
        team = team_name(entrant.minds, order=order)

        async def discuss() -> tuple[TeamVisit, CallTally]:
            # Teams of the same doctors are asked the same until their discussions part.
            made = CallTally(for_others=True)
            minds = [one.sharing(shared).tallied(made) for one in entrant.minds]
            met = await meet(
                case,
                minds,
                joining(case, minds, seen, team=team),
                team=team,
                in_one_step=entrant.one_step,
                order=order,
                max_rounds=max_rounds,
                disputes=entrant.disputes,
                missing=missing,
                staging=staging,
            )
            return met, made

        # Held once more where a person takes back a line, it counts the calls of the last time alone.
        met, made = await entrant.minds[0].desk.play(case.id, discuss)
        tally.take(made)
        return met

    async def score(case: Case, entrant: Entrant, visit: Visit | TeamVisit) -> Judgement | None:
        judged = await grade(case, visit, judge, one_step=entrant.one_step)
        return None if judged is None else msgspec.structs.replace(judged, doctor=entrant.name)

    async def result(name: str, plays: Sequence[MvmePlay], read: Extracted | None) -> EntrantResult:
        said = {key: word for key, word in (words or {}).items() if key[1] == name}
        reasons = await find_reasons(_misses(name, plays), judge=reason_judge, knowledge=knowledge, words=said)
        return entrant_result(
            name,
            plays,
            reasons,
            linkers=linkers or {},
            missing_grade=missing_grade,
            names=None if read is None else read.names,
            calls={play.item.id: tallies[play.item.id, play.player].total() for play in plays},
            seed=seed,
        )

    async def summarise(plays: Mapping[str, Sequence[MvmePlay]]) -> MvmeResult:
        read = None
        if names_by is not None and linkers:
            pairs = [pair_of(play.item, play.played) for theirs in plays.values() for play in theirs]
            read = await extract_diseases(texts_of(pairs), names_by)
        entrants = tuple([await result(name, theirs, read) for name, theirs in plays.items()])
        return MvmeResult(
            judge=judge.name,
            judge_version=judge.version,
            judge_prompts=judge.prompts,
            entrants=entrants,
            comparisons=_compared(entrants, seed),
            ties=tuple(ties([judgement for one in entrants for judgement in one.judgements])),
            names_by="" if names_by is None or read is None else names_by.name,
            names_by_rules={} if read is None else read.by_rules,
        )

    return Plays(items=cases, play=play, score=score, summarise=summarise, sums_up_parts=True)


class _Consultations:
    """Each doctor's visit to each case, held once, whoever asks for it first."""

    def __init__(self, *, max_turns: int, missing: Missing, staging: Staging) -> None:
        self._max_turns: int = max_turns
        self._missing: Missing = missing
        self._staging = staging
        self._held: dict[tuple[str, int, bool, int], tuple[Attended, CallTally]] = {}
        self._holding: defaultdict[tuple[str, int, bool, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, case: Case, minds: Minds, tally: CallTally, *, one_step: bool, again: int = 0) -> Attended:
        """Returns the visit of a doctor, whose calls go to the `tally` of who needs it.

        `again` counts how often the same one has seen the patient before.
        """
        key = (case.id, id(minds), one_step, again)
        async with self._holding[key]:
            if key not in self._held:
                attending = partial(self._attended, case, minds, one_step=one_step, seat=_seat(minds, again))
                self._held[key] = await minds.desk.play(case.id, attending)
            attended, made = self._held[key]
            tally.take(made)
            return attended

    async def _attended(self, case: Case, minds: Minds, *, one_step: bool, seat: Seat) -> tuple[Attended, CallTally]:
        made = CallTally(for_others=True)
        attended = await attend(
            case,
            minds.tallied(made),
            max_turns=self._max_turns,
            in_one_step=one_step,
            missing=self._missing,
            seat=seat,
            staging=self._staging,
        )
        return attended, made


def _seat(minds: Minds, again: int) -> Seat:
    name = minds.names[Role.DOCTOR]
    return Seat(again + 1, "the same doctor again", f"{name}, time {again + 1}") if again else ALONE


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
