"""MVME: interns and teams of them see patients, and the medical director grades their reports (ai-hospital §3-6).

1. Every entrant (a doctor, or a team that settles its disputes) sees every patient, or reads every whole record.
2. The director grades each report in five aspects, 1 to 4 (Table 2).
3. The diagnoses are linked to ICD-10 and compared with the reference's as sets (Table 3).
4. Also by department, why diagnoses graded 1 went wrong (Table 5), rounds to consensus (Figure 4), and how many
   questions and examinations a visit took (#QA, #Test).

A doctor whose answer cannot be used has handed in no report: it is graded 1 in every aspect and names nothing. A visit
that failed otherwise (an endpoint, the patient, the examiner) is outside every mean, and counted.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

import msgspec

from polyclinic.answering.calls import needed, together
from polyclinic.cases.case import Case
from polyclinic.evaluations.evaluation import Play, Plays
from polyclinic.events import Examined, Failed, Order, Role, Said, Shared
from polyclinic.frames import Tabular
from polyclinic.judging.director import Judge, without_report
from polyclinic.judging.disease_names import Extracted, extract_diseases
from polyclinic.judging.failure_reasons import FailureReason, Missed, Reasons, find_reasons, is_missed
from polyclinic.judging.sorting import Words
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language
from polyclinic.metrics.grades import Aspect, Judgement
from polyclinic.metrics.icd.linking import Linker
from polyclinic.metrics.icd.scores import IcdSummary, NamedPair, score_names, texts_of, with_names
from polyclinic.metrics.recorded_reports import GradeSummary, MissingGrade, Ties, ties
from polyclinic.metrics.recorded_reports import summarise as summarise_grades
from polyclinic.models.model import Model
from polyclinic.models.tally import CallTally, CallTotal, SharedAnswers
from polyclinic.players.minds import Minds
from polyclinic.players.player import ALONE, Seat
from polyclinic.statistics.comparison import Compared, compare_values, of_means
from polyclinic.statistics.uncertainty import Estimate, estimate, share
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.dispute_resolution import MAX_ROUNDS
from polyclinic.visits.team import TeamVisit, confer, joining, team_name
from polyclinic.visits.visit import OURS, Attended, Staging, Visit, attend


class TablePart(StrEnum):
    """The three parts of the paper's tables."""

    INTERACTION = "interaction"
    COLLABORATION = "collaboration"
    ONE_STEP = "one-step"


class Entrant(NamedTuple):
    """One doctor, or a team; a team whose `disputes` are not shown is the paper's ablation."""

    name: str
    minds: tuple[Minds, ...]
    one_step: bool = False
    disputes: bool = True

    @property
    def setting(self) -> TablePart:
        """Which part of the tables it belongs to."""
        if len(self.minds) > 1:
            return TablePart.COLLABORATION
        return TablePart.ONE_STEP if self.one_step else TablePart.INTERACTION


MvmePlay = Play[Case, Entrant, Visit | TeamVisit, Judgement | None]
"""A case as an entrant saw it, and the judgement on the report; None where the visit failed."""


class DepartmentResult(msgspec.Struct, frozen=True, kw_only=True):
    """The graded reports of one department; F1 of their codes is pooled, in percent, None without a table."""

    n: int
    verdicts: GradeSummary
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
    """How one entrant did.

    Attributes:
        verdicts: the director's grades (Table 2).
        icd: by language, the codes named (Table 3); nothing for a language without a table.
        qa: questions and answers a visit; of a team, of all its doctors together.
        tests: requests that reached the examiner a visit, likewise.
        told_as_normal: examinations that are not recorded and that the examiner called normal, over all graded visits.
        rounds: of a team: rounds to consensus (§6.2, Figure 4).
        departments: by the cases' department, where they name any.
        reasons: why the diagnoses that are graded 1 went wrong (Table 5).
        no_report: visits in which the doctor's answer could not be used: graded 1, and counted.
        failed: visits that failed otherwise, by what failed; outside every mean.
        calls: by case, those that its report needed, also if they served other entrants.
    """

    name: str
    setting: TablePart
    verdicts: GradeSummary
    icd: dict[Language, IcdSummary]
    qa: Estimate
    tests: Estimate
    told_as_normal: int
    rounds: Rounds | None
    departments: dict[str, DepartmentResult]
    reasons: Reasons
    no_report: int
    failed: dict[str, int]
    judgements: tuple[Judgement, ...]
    visits: tuple[Visit | TeamVisit, ...]
    calls: dict[str, CallTotal] = {}


class Versus(Compared, frozen=True, kw_only=True, rename={"measure": "aspect"}):
    """The first entrant's grades less the second's in one aspect, on the cases on which both have a grade."""

    measure: str


class MvmeResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """All entrants, every two of them compared, and what the judge cannot tell apart.

    Attributes:
        judge_prompts: the hash of its prompts, or of the numbers that its rules were fitted to.
        names_by: the model that read the diseases out of the diagnoses, "" if they are as typed.
        names_by_rules: how often rules had to, by failure.
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
    missing_grade: MissingGrade = "left out",
    names_by: Model | None = None,
    staging: Staging = OURS,
    seed: int = 0,
) -> Plays[Case, Entrant, Visit | TeamVisit, Judgement | None, MvmeResult]:
    """Returns the evaluation; its players are the entrants, the reference the cases' diagnoses, rationale, treatment.

    People say why a diagnosis graded 1 went wrong (`words`), else `reason_judge`, else rules. `linkers` link names to
    ICD-10, which the model `names_by`, if given, reads out of the diagnoses first. `missing_grade` says what becomes of
    an aspect without a grade.

    A doctor sees a patient once: alone and in every team it is the same consultation. What two teams ask alike (one may
    be the other's ablation) is asked once. Shared calls count for every entrant that needed them.
    """
    shared = SharedAnswers()
    tallies: defaultdict[tuple[str, Entrant], CallTally] = defaultdict(CallTally)
    held: dict[tuple[str, int, bool, int], tuple[Attended, CallTally]] = {}
    holding: defaultdict[tuple[str, int, bool, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def consult(case: Case, minds: Minds, tally: CallTally, *, one_step: bool, again: int = 0) -> Attended:
        """Returns the visit of a doctor, held once; its calls go to the `tally` of each who needs it.

        `again` counts how often the same one has seen the patient before.
        """
        key, name = (case.id, id(minds), one_step, again), minds.names[Role.DOCTOR]
        seat = Seat(again + 1, "the same doctor again", f"{name}, time {again + 1}") if again else ALONE

        async def attended() -> tuple[Attended, CallTally]:
            made = CallTally(for_others=True)
            seen = await attend(
                case, minds.having(tally=made), max_turns=max_turns, in_one_step=one_step, seat=seat, staging=staging
            )
            return seen, made

        async with holding[key]:
            if key not in held:
                held[key] = await minds.desk.play(case.id, attended)
            seen, made = held[key]
            tally.take(made)
            return seen

    async def play(case: Case, entrant: Entrant) -> Visit | TeamVisit:
        tally = tallies[case.id, entrant]
        if len(entrant.minds) == 1:
            return (await consult(case, entrant.minds[0], tally, one_step=entrant.one_step)).visit
        # A mind that sits in a team twice sees the patient twice: else it would hear itself.
        places = [entrant.minds[:place].count(minds) for place, minds in enumerate(entrant.minds)]
        seen = [
            needed(one)
            for one in await together(
                *(
                    consult(case, minds, tally, one_step=entrant.one_step, again=again)
                    for minds, again in zip(entrant.minds, places, strict=True)
                )
            )
        ]
        team = team_name(entrant.minds, order=order)

        async def discuss() -> tuple[TeamVisit, CallTally]:
            # Teams of the same doctors are asked the same until their discussions part.
            made = CallTally(for_others=True)
            minds = [one.having(answers=shared, tally=made) for one in entrant.minds]
            met = await confer(
                case,
                minds,
                seen=joining(case, minds, seen, team=team),
                team=team,
                in_one_step=entrant.one_step,
                order=order,
                max_rounds=max_rounds,
                disputes=entrant.disputes,
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

    def linked(plays: Sequence[MvmePlay], read: Extracted | None) -> dict[Language, IcdSummary]:
        names = None if read is None else read.names
        return linked_by(linkers or {}, [(play.item, play.played) for play in plays], names=names, seed=seed)

    def graded_by(plays: Sequence[MvmePlay]) -> GradeSummary:
        return summarise_grades([one.scored for one in plays if one.scored], missing_grade=missing_grade, seed=seed)

    def department(plays: Sequence[MvmePlay], read: Extracted | None) -> DepartmentResult:
        of_codes = list(linked(plays, read).values())
        return DepartmentResult(
            n=len(plays),
            verdicts=graded_by(plays),
            # Of two languages, the figure would be of two tables.
            icd_f1=of_codes[0].metrics["f1"] if len(of_codes) == 1 else None,
        )

    async def result(name: str, plays: Sequence[MvmePlay], read: Extracted | None) -> EntrantResult:
        said = {key: word for key, word in (words or {}).items() if key[1] == name}
        graded = [play for play in plays if play.scored is not None]
        setting = plays[0].player.setting if plays else TablePart.INTERACTION
        visits = [consultations_of(play.played) for play in graded]
        missed = [
            Missed(
                case=play.item,
                doctor=name,
                report=play.played.report,
                done=None if play.player.one_step else examined(play.played),
            )
            for play in graded
            if play.scored is not None and play.played.report is not None and is_missed(play.scored)
        ]
        failures = [(play.played, play.played.trace.last(Failed)) for play in plays if play.scored is None]
        departments = Counter(play.item.department for play in graded if play.item.department)
        return EntrantResult(
            name=name,
            setting=setting,
            verdicts=graded_by(graded),
            icd=linked(graded, read),
            qa=estimate([float(sum(map(answers_in, some))) for some in visits], seed=seed),
            tests=estimate([float(sum(map(examinations_in, some))) for some in visits], seed=seed),
            told_as_normal=sum(visit.told_as_normal for some in visits for visit in some),
            rounds=_rounds([play.played for play in graded if isinstance(play.played, TeamVisit)])
            if setting is TablePart.COLLABORATION
            else None,
            departments={
                place: department([play for play in graded if play.item.department == place], read)
                for place, _ in departments.most_common()
            },
            reasons=await find_reasons(missed, judge=reason_judge, knowledge=knowledge, words=said),
            no_report=sum(play.played.report is None for play in graded),
            failed=dict(
                Counter(f"{one.who}: {one.error}" if one is not None else str(visit.end) for visit, one in failures)
            ),
            judgements=tuple(play.scored for play in graded if play.scored is not None),
            visits=tuple(play.played for play in plays),
            calls={play.item.id: tallies[play.item.id, play.player].total() for play in plays},
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

    return Plays(items=cases, play=play, score=score, summarise=summarise)


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


def _compared(entrants: Sequence[EntrantResult], seed: int) -> tuple[Versus, ...]:
    grades = {
        str(aspect): {
            one.name: {j.case: float(grade) for j in one.judgements if (grade := j.grades.get(aspect)) is not None}
            for one in entrants
        }
        for aspect in Aspect
    }
    pairs = combinations((one.name for one in entrants), 2)
    compared = compare_values(Versus, grades, pairs, lambda _: of_means(seed))
    return tuple(one for one in compared if one.difference.n)


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
    visits: Sequence[tuple[Case, Visit | TeamVisit]],
    *,
    names: Mapping[str, tuple[str, ...]] | None = None,
    seed: int = 0,
) -> dict[Language, IcdSummary]:
    """Returns by language how the diagnoses of visits compare with the cases', as codes.

    A language without a linker is left out, and a visit without a report names nothing. The `names` are what a
    model read out of each side's diagnoses (`scores.texts_of`); without them they are as typed.
    """
    found: dict[Language, IcdSummary] = {}
    for language, linker in linkers.items():
        pairs = [pair_of(case, visit) for case, visit in visits if case.presentation.language == language]
        if pairs and names is not None:
            pairs = [with_names(pair, names) for pair in pairs]
        if pairs:
            found[language] = score_names(pairs, linker, seed=seed)
    return found


def pair_of(case: Case, visit: Visit | TeamVisit) -> NamedPair:
    """Returns what a visit's report and the case name."""
    given = () if visit.report is None else visit.report.diagnoses
    return NamedPair(id=case.id, given=given, reference=case.truth.diagnoses)


def answers_in(visit: Visit) -> int:
    """Returns how many of the doctor's turns the patient answered (#QA), once where it went to the examiner between."""
    said = (e for e in visit.trace if isinstance(e, Said) and e.who is Role.PATIENT)
    return len({e.turn for e in said if e.turn > 0})


def examinations_in(visit: Visit) -> int:
    """Returns how often a request reached the examiner (#Test)."""
    return sum(isinstance(e, Examined) for e in visit.trace)


def consultations_of(visit: Visit | TeamVisit) -> tuple[Visit, ...]:
    """Returns the doctors' own visits; of one doctor, that one."""
    return (visit,) if isinstance(visit, Visit) else visit.consultations


def examined(visit: Visit | TeamVisit) -> tuple[str, ...]:
    """Returns the names of the examinations that were done, by whichever doctor."""
    found = (
        f.examination for v in consultations_of(visit) for e in v.trace if isinstance(e, Examined) for f in e.findings
    )
    return tuple(dict.fromkeys(found))
