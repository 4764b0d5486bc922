"""How entrants of MVME see patients, how their reports are graded, and what the grades come to (ai-hospital §3-6).

A doctor whose answer cannot be used has handed in no report: it is graded 1 in every aspect and names nothing. A visit
that failed otherwise (an endpoint, the patient, the examiner) is outside every mean, and counted.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

import msgspec

from polyclinic.answering.calls import needed, together
from polyclinic.cases.case import Case
from polyclinic.events import Examined, Failed, Order, Role, Said, Shared, Trace
from polyclinic.frames import Tabular
from polyclinic.judging.director import Judge, without_report
from polyclinic.judging.failure_reasons import Missed, Reasons, is_missed
from polyclinic.language.language import Language
from polyclinic.metrics.grades import Aspect, Judgement
from polyclinic.metrics.icd.linking import Linker
from polyclinic.metrics.icd.scores import IcdSummary, NamedPair, score_names, with_names
from polyclinic.metrics.recorded_reports import AspectMean, GradeSummary
from polyclinic.models.tally import CallTally, CallTotal, SharedAnswers
from polyclinic.players.minds import Minds
from polyclinic.players.player import ALONE, Seat
from polyclinic.players.staging import Staging
from polyclinic.statistics.uncertainty import Estimate, estimate, share
from polyclinic.visits.team import TeamVisit, confer, joining, team_name
from polyclinic.visits.visit import Attended, Visit, attend


class TablePart(StrEnum):
    """The three parts of the paper's tables."""

    INTERACTION = "interaction"
    COLLABORATION = "collaboration"
    ONE_STEP = "one-step"


M = TypeVar("M")


class Entrant(NamedTuple, Generic[M]):
    """One doctor, or a team; a team whose `disputes` are not shown is the paper's ablation."""

    name: str
    minds: tuple[M, ...]  # or their names, before anything is opened
    one_step: bool = False
    disputes: bool = True

    @property
    def setting(self) -> TablePart:
        """Which part of the tables it belongs to."""
        if len(self.minds) > 1:
            return TablePart.COLLABORATION
        return TablePart.ONE_STEP if self.one_step else TablePart.INTERACTION


class DepartmentResult(msgspec.Struct, frozen=True, kw_only=True):
    """The graded reports of one department; F1 of their codes is pooled, in percent, None without a table."""

    n: int
    metrics: dict[Aspect, AspectMean]
    icd_f1: Estimate | None


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """How many discussions came to a consensus within so many rounds, and percent of all with its 95 % interval."""

    n: int
    percent: float | None
    low: float | None
    high: float | None


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """Discussions by rounds to consensus; `kept` counts answers that could not be used, so the last report stood."""

    discussions: int
    within: dict[int, Reached]
    without: int
    kept: int


class EntrantResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How one entrant did."""

    name: str
    setting: TablePart
    verdicts: GradeSummary  # the director's grades (Table 2)
    icd: dict[Language, IcdSummary]  # the codes named (Table 3); nothing for a language without a table
    qa: Estimate  # questions and answers a visit; of a team, of all its doctors together
    tests: Estimate  # requests that reached the examiner a visit, likewise
    told_as_normal: int  # examinations that are not recorded and were called normal, over all graded visits
    rounds: Rounds | None  # of a team: rounds to consensus (§6.2, Figure 4)
    departments: dict[str, DepartmentResult]  # by the cases' department, where they name any
    reasons: Reasons  # why the diagnoses that are graded 1 went wrong (Table 5)
    no_report: int  # visits in which the doctor's answer could not be used: graded 1, and counted
    failed: dict[str, int]  # visits that failed otherwise, by what failed; outside every mean
    judgements: tuple[Judgement, ...]
    visits: tuple[Visit | TeamVisit, ...]
    values: dict[str, dict[str, float]] = {}  # the grades by case and aspect, as numbers
    calls: dict[str, CallTotal] = {}  # by case, those that its report needed, also if they served other entrants


class Consultations:
    """The consultations of every doctor: one with the same patient is held once, whoever needs it.

    What two teams ask alike (one may be the other's ablation) is asked once. Shared calls count for every entrant that
    needed them.
    """

    def __init__(self, *, max_turns: int, order: Order, max_rounds: int, staging: Staging) -> None:
        self.tallies: defaultdict[tuple[str, Entrant[Minds]], CallTally] = defaultdict(CallTally)
        self._max_turns, self._order, self._max_rounds, self._staging = max_turns, order, max_rounds, staging
        self._shared = SharedAnswers()
        self._held: dict[tuple[str, int, bool, int], tuple[Attended, CallTally]] = {}
        self._holding: defaultdict[tuple[str, int, bool, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def see(self, case: Case, entrant: Entrant[Minds]) -> Visit | TeamVisit:
        """Lets an entrant see the patient of a case."""
        tally = self.tallies[case.id, entrant]
        # A mind that sits in a team twice sees the patient twice: else it would hear itself.
        places = [entrant.minds[:place].count(minds) for place, minds in enumerate(entrant.minds)]
        seats = zip(entrant.minds, places, strict=True)
        consultations = (self._consult(case, minds, tally, entrant.one_step, again) for minds, again in seats)
        seen = [needed(one) for one in await together(*consultations)]
        if len(seen) == 1:
            return seen[0].visit
        team = team_name(entrant.minds, order=self._order)

        async def discuss() -> tuple[TeamVisit, CallTally]:
            # Teams of the same doctors are asked the same until their discussions part.
            made = CallTally(for_others=True)
            minds = [one.having(answers=self._shared, tally=made) for one in entrant.minds]
            met = await confer(
                case,
                minds,
                seen=joining(case, minds, seen, team=team),
                team=team,
                in_one_step=entrant.one_step,
                order=self._order,
                max_rounds=self._max_rounds,
                disputes=entrant.disputes,
                staging=self._staging,
            )
            return met, made

        # Held once more where a person takes back a line, it counts the calls of the last time alone.
        met, made = await entrant.minds[0].desk.play(case.id, discuss)
        tally.take(made)
        return met

    async def _consult(self, case: Case, minds: Minds, tally: CallTally, one_step: bool, again: int) -> Attended:
        """Returns the visit of a doctor, held once; its calls go to the `tally` of each who needs it.

        `again` counts how often the same one has seen the patient before.
        """
        key, name = (case.id, id(minds), one_step, again), minds.names[Role.DOCTOR]
        seat = Seat(again + 1, "the same doctor again", f"{name}, time {again + 1}") if again else ALONE

        async def attended() -> tuple[Attended, CallTally]:
            made = CallTally(for_others=True)
            having, turns = minds.having(tally=made), self._max_turns
            seen = await attend(case, having, max_turns=turns, in_one_step=one_step, seat=seat, staging=self._staging)
            return seen, made

        async with self._holding[key]:
            if key not in self._held:
                self._held[key] = await minds.desk.play(case.id, attended)
            seen, made = self._held[key]
            tally.take(made)
            return seen


async def sum_up(
    entrant: Entrant[Minds],
    played: Sequence[tuple[Case, Visit | TeamVisit, Judgement | None]],
    *,
    grades: Callable[[Sequence[Judgement]], GradeSummary],
    codes: Callable[[Sequence[tuple[Case, Visit | TeamVisit]]], dict[Language, IcdSummary]],
    reasons: Callable[[Sequence[Missed]], Awaitable[Reasons]],
    calls: dict[str, CallTotal],
    seed: int,
) -> EntrantResult:
    """Sums up the visits of an entrant, by the means of grades, the codes of diagnoses, and the reasons of misses."""
    graded = [(case, visit, judged) for case, visit, judged in played if judged is not None]
    failures = [(visit, visit.trace.last(Failed)) for _, visit, judged in played if judged is None]
    questions, examinations, missed = list[float](), list[list[Examined]](), list[Missed]()
    for case, visit, judged in graded:
        questions.append(float(sum(map(answers_in, visit.traces))))
        examinations.append([event for trace in visit.traces for event in trace if isinstance(event, Examined)])
        if visit.report is not None and is_missed(judged):
            done = tuple(dict.fromkeys(one.examination for event in examinations[-1] for one in event.findings))
            seen = None if entrant.one_step else done
            missed.append(Missed(case=case, doctor=entrant.name, report=visit.report, done=seen))
    departments = {}
    for place, n in Counter(case.department for case, *_ in graded if case.department).most_common():
        there = [one for one in graded if one[0].department == place]
        linked = list(codes([(case, visit) for case, visit, _ in there]).values())
        departments[place] = DepartmentResult(
            n=n,
            metrics=grades([judged for *_, judged in there]).metrics,
            # Of two languages, the figure would be of two tables.
            icd_f1=linked[0].metrics["f1"] if len(linked) == 1 else None,
        )
    teams = [visit for _, visit, _ in graded if isinstance(visit, TeamVisit)]
    judgements = tuple(judged for *_, judged in graded)
    return EntrantResult(
        name=entrant.name,
        setting=entrant.setting,
        verdicts=grades(judgements),
        icd=codes([(case, visit) for case, visit, _ in graded]),
        qa=estimate(questions, seed=seed),
        tests=estimate([float(len(some)) for some in examinations], seed=seed),
        told_as_normal=sum(len(event.told_as_normal) for some in examinations for event in some),
        rounds=_rounds(teams) if entrant.setting is TablePart.COLLABORATION else None,
        departments=departments,
        reasons=await reasons(missed),
        no_report=sum(visit.report is None for _, visit, _ in graded),
        failed=dict(Counter(f"{one.who}: {one.error}" if one else str(visit.end) for visit, one in failures)),
        judgements=judgements,
        visits=tuple(visit for _, visit, _ in played),
        values={
            one.case: {str(aspect): float(grade) for aspect, grade in one.grades.items() if grade is not None}
            for one in judgements
        },
        calls=calls,
    )


async def grade(case: Case, visit: Visit | TeamVisit, judge: Judge, *, one_step: bool) -> Judgement | None:
    """Returns the director's judgement on a visit; None where it failed and no doctor is to blame for the report."""
    if visit.report is not None:
        return await judge.grade(case, visit.report, one_step=one_step)
    failures = [event for event in visit.trace if isinstance(event, Failed)]
    if visit.trace.last(Shared) is not None or isinstance(visit, Visit):
        # The last one ended it. Before a discussion, all doctors failed.
        failures = failures[-1:]
    if not failures or not all(one.answered and one.who in (Role.DOCTOR, Role.DIRECTOR) for one in failures):
        return None
    return without_report(case, judge, failures[0].error, one_step=one_step)


def _rounds(visits: Sequence[TeamVisit]) -> Rounds:
    """Counts the rounds of the visits that came to a report."""
    held = [visit for visit in visits if visit.report is not None]
    after = Counter(visit.consensus for visit in held if visit.consensus is not None)
    within, reached = {}, 0
    for number in range(1, max((visit.rounds for visit in held), default=0) + 1):
        # A doctor who was left alone held no round, and disputes with nobody.
        reached = sum(n for round_number, n in after.items() if round_number <= number)
        percent, low, high = share(reached, len(held))
        within[number] = Reached(n=reached, percent=percent, low=low, high=high)
    return Rounds(
        discussions=len(held),
        within=within,
        without=sum(visit.consensus is None for visit in held),
        kept=sum(visit.kept for visit in visits),
    )


def linked_by(
    linkers: Mapping[Language, Linker],
    visits: Iterable[tuple[Case, Visit | TeamVisit]],
    *,
    names: Mapping[str, tuple[str, ...]] | None = None,
    seed: int = 0,
) -> dict[Language, IcdSummary]:
    """Returns by language how the diagnoses of visits compare with the cases', as codes.

    A language without a linker is left out, and a visit without a report names nothing. The `names` are what a
    model read out of each side's diagnoses (`scores.texts_of`); without them they are as typed.
    """
    pairs: dict[Language, list[NamedPair]] = {language: [] for language in linkers}
    for case, visit in visits:
        if (language := case.presentation.language) in pairs:
            pair = pair_of(case, visit)
            pairs[language].append(pair if names is None else with_names(pair, names))
    return {language: score_names(some, linkers[language], seed=seed) for language, some in pairs.items() if some}


def pair_of(case: Case, visit: Visit | TeamVisit) -> NamedPair:
    """Returns what a visit's report and the case name."""
    given = () if visit.report is None else visit.report.diagnoses
    return NamedPair(id=case.id, given=given, reference=case.truth.diagnoses)


def answers_in(trace: Trace) -> int:
    """Returns how many of the doctor's turns the patient answered (#QA), once where it went to the examiner between."""
    return len({e.turn for e in trace if isinstance(e, Said) and e.who is Role.PATIENT and e.turn > 0})
